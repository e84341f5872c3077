//! The values of leaves: what a caller wants to know of a packet besides the leaf that it reaches.
//!
//! A graph ends in numbered leaves and computes nothing for them, so a program without values pays nothing. The values of a leaf are
//! computed by a piece of code of their own, with guards of its own, once the leaf is known.

use crate::decision::{Backend, Options};
use crate::error::{Error, ErrorKind};
use crate::exec::NativeValues;
use crate::filled::filled;
use crate::ir::interp::Interp;
use crate::ir::verify::CheckedLeaves;
use crate::ir::{ACCEPT, Arm, Graph, Node, Pool, REJECT, Switch, Value, ValueId};
use crate::target::lir::NoCode;
use crate::target::x64;
use std::collections::HashMap;
use std::sync::Arc;

/// The leaves of a program: an answer each, and values to be computed of a packet that reaches it.
///
/// ```
/// use decide::{Decision, LeafTable, Options, Size, Tree};
///
/// // Which of two rules holds, and the two bytes behind what the rule has looked at.
/// let mut tree = Tree::default();
/// let [kind, first, second] = [(0, Size::B1), (1, Size::B2), (3, Size::B2)].map(|(at, size)| tree.pool.at(at, size));
/// let mut table = LeafTable::default();
/// let arms = [
///     (tree.equals(kind, 7), table.add(70, &[first])),
///     (tree.equals(kind, 8), table.add(80, &[second])),
/// ];
/// let options = Options::default();
/// let leaves = table.compile(&tree.pool, &options)?;
/// let decision: Decision = Decision::of_tree(tree, arms.to_vec(), &options)?;
///
/// let packet = [8, 0, 0, 1, 2];
/// let leaf = decision.leaf(&packet, 5);
/// assert_eq!(leaves.answer(leaf), Some(80));
/// let mut values = [0];
/// assert!(leaves.values(leaf, &packet, 5, &[], &mut values));
/// assert_eq!(values, [0x0102]);
/// // The packet ends before the value of its leaf.
/// assert!(!leaves.values(leaf, &packet[..4], 5, &[], &mut values));
/// # Ok::<(), decide::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct LeafTable {
    leaves: Vec<(u32, Vec<ValueId>)>,
}

impl LeafTable {
    /// Adds a leaf with its answer, a number of the caller's, and its values, of the pool that is given to [`LeafTable::compile`].
    /// Gives the number of the leaf: 1, 2, ….
    ///
    /// ```
    /// let mut table = decide::LeafTable::default();
    /// assert_eq!([table.add(7, &[]), table.add(7, &[])], [1, 2]);
    /// ```
    pub fn add(&mut self, answer: u32, values: &[ValueId]) -> u32 {
        self.leaves.push((answer, values.to_vec()));
        self.leaves.len() as u32
    }

    /// The answer and the values of each leaf, in the order of their numbers.
    #[doc(hidden)]
    pub fn iter(&self) -> impl Iterator<Item = (u32, &[ValueId])> {
        self.leaves.iter().map(|(answer, values)| (*answer, &values[..]))
    }

    /// Whether a value depends on the length of a packet on the wire.
    #[doc(hidden)]
    pub fn reads_wire_len(&self, pool: &Pool) -> bool {
        let mut values: Vec<ValueId> = self.leaves.iter().flat_map(|(_, values)| values).copied().collect();
        values.sort_unstable();
        values.dedup();
        let (pool, _) = copied(pool, &values);
        (0..pool.value_count() as u32).any(|value| pool.get(ValueId(value)) == Value::Len)
    }

    /// A graph that computes the values itself: where it led to a leaf, the guards of the values of the leaf come first. It is what back ends
    /// take that write text.
    ///
    /// # Errors
    /// Where the graph does not verify.
    #[doc(hidden)]
    pub fn in_graph(&self, graph: &Graph, pool: &Pool) -> Result<CheckedLeaves, Error> {
        let mut out = Graph::new(graph.pool.clone());
        let values: Vec<Vec<ValueId>> =
            self.leaves.iter().map(|(_, values)| copy(pool, values, &mut out.pool)).collect();
        let reject = out.leaf(REJECT);
        let mut new = filled(reject, graph.node_count());
        for &id in graph.topological().iter().rev() {
            let at = |old: crate::ir::NodeId| new[old.index()];
            new[id.index()] = match graph.node(id) {
                Node::Leaf(leaf) => {
                    let values = (*leaf as usize).checked_sub(1).and_then(|leaf| values.get(leaf));
                    let leaf = out.leaf(*leaf);
                    out.guard(values.map_or(&[], |values| &values[..]), leaf, reject)
                }
                Node::Branch { cond, then, els } => {
                    let node = out.branch(*cond, at(*then), at(*els));
                    out.add_spans(node, graph.spans(id));
                    node
                }
                Node::Switch(switch) => {
                    let arms = switch.arms.iter().map(|arm| Arm { target: at(arm.target), ..*arm }).collect();
                    let switch = Switch { value: switch.value, arms, default: at(switch.default) };
                    let node = out.switch(switch);
                    out.add_spans(node, graph.spans(id));
                    node
                }
            };
        }
        out.root = new[graph.root.index()];
        CheckedLeaves::new(out, values).map_err(|violation| Error::whole(ErrorKind::Graph(violation)))
    }

    /// Makes the values ready to be computed.
    ///
    /// # Errors
    /// [`ErrorKind::Code`] where the machine code of one leaf would exceed its limit.
    ///
    /// # Panics
    /// If a value is not of this pool.
    pub fn compile(&self, pool: &Pool, options: &Options) -> Result<LeafValues, Error> {
        // Leaves that differ in constants only share the code for the other values.
        let mut sources: HashMap<Vec<ValueId>, Option<Arc<Source>>> = HashMap::new();
        let mut leaves = Vec::with_capacity(self.leaves.len());
        for (answer, values) in &self.leaves {
            let constants: Box<[Option<u32>]> = values.iter().map(|value| pool.as_const(*value)).collect();
            let computed: Vec<ValueId> =
                values.iter().copied().filter(|value| pool.as_const(*value).is_none()).collect();
            let count = computed.len();
            let source = match sources.get(&computed) {
                Some(source) => source.clone(),
                None if count == 0 => None,
                None => Some(Arc::new(Source::of(pool, &computed, options)?)),
            };
            sources.entry(computed).or_insert_with(|| source.clone());
            leaves.push(Leaf { answer: *answer, source, computed: count, constants });
        }
        let has_values = leaves.iter().any(|leaf| !leaf.constants.is_empty());
        Ok(LeafValues { leaves, has_values })
    }
}

/// The answers and values of leaves, ready to be computed. See [`LeafTable`].
#[derive(Debug)]
pub struct LeafValues {
    leaves: Vec<Leaf>,
    has_values: bool,
}

#[derive(Debug)]
struct Leaf {
    answer: u32,
    /// Of those that are computed, in their order.
    source: Option<Arc<Source>>,
    /// How many are.
    computed: usize,
    /// By value: what it is, of one that is the same for every packet.
    constants: Box<[Option<u32>]>,
}

/// What computes the values of a leaf.
#[derive(Debug)]
enum Source {
    /// Machine code.
    Native(NativeValues),
    /// The interpreter.
    Interpreted(Box<CheckedLeaves>),
}

impl LeafValues {
    /// The answer of a leaf; `None` of one that is not in the table, as the one that rejects.
    ///
    /// ```
    /// use decide::{LeafTable, Options, Pool};
    ///
    /// let mut table = LeafTable::default();
    /// let leaf = table.add(7, &[]);
    /// let leaves = table.compile(&Pool::default(), &Options::default())?;
    /// assert_eq!([leaves.answer(leaf), leaves.answer(0)], [Some(7), None]);
    /// # Ok::<(), decide::Error>(())
    /// ```
    pub fn answer(&self, leaf: u32) -> Option<u32> {
        self.leaf(leaf).map(|leaf| leaf.answer)
    }

    /// How many leaves there are: their numbers are 1 to this.
    ///
    /// ```
    /// use decide::{LeafTable, Options, Pool};
    ///
    /// let mut table = LeafTable::default();
    /// table.add(7, &[]);
    /// assert_eq!(table.compile(&Pool::default(), &Options::default())?.last(), 1);
    /// # Ok::<(), decide::Error>(())
    /// ```
    pub fn last(&self) -> u32 {
        self.leaves.len() as u32
    }

    /// Whether any leaf has values.
    ///
    /// ```
    /// use decide::{LeafTable, Options, Pool};
    ///
    /// let mut table = LeafTable::default();
    /// table.add(7, &[]);
    /// assert!(!table.compile(&Pool::default(), &Options::default())?.has_values());
    /// # Ok::<(), decide::Error>(())
    /// ```
    pub fn has_values(&self) -> bool {
        self.has_values
    }

    /// How many values a leaf has.
    ///
    /// ```
    /// use decide::{LeafTable, Options, Pool, Value};
    ///
    /// let (mut pool, mut table) = (Pool::default(), LeafTable::default());
    /// let leaf = table.add(7, &[pool.value(Value::Len), pool.constant(3)]);
    /// assert_eq!(table.compile(&pool, &Options::default())?.count(leaf), 2);
    /// # Ok::<(), decide::Error>(())
    /// ```
    pub fn count(&self, leaf: u32) -> usize {
        self.leaf(leaf).map_or(0, |leaf| leaf.constants.len())
    }

    /// Computes the values of a leaf for a packet, of which `captured` is the beginning and `inputs` what the caller gives with it.
    /// `false` where one cannot be computed, because the packet ends before it or a divisor is zero; what `to` holds then is of no use.
    ///
    /// ```
    /// use decide::{LeafTable, Options, Pool};
    ///
    /// let (mut pool, mut table) = (Pool::default(), LeafTable::default());
    /// let mark = pool.input(1);
    /// let leaf = table.add(7, &[mark]);
    /// let leaves = table.compile(&pool, &Options::default())?;
    /// let mut values = [0];
    /// assert!(leaves.values(leaf, &[], 0, &[10, 11], &mut values));
    /// assert_eq!(values, [11]);
    /// # Ok::<(), decide::Error>(())
    /// ```
    ///
    /// # Panics
    /// If there is no room for them in `to`, or not as many inputs as they read.
    pub fn values(&self, leaf: u32, captured: &[u8], wire_len: u32, inputs: &[u32], to: &mut [u32]) -> bool {
        let Some(leaf) = self.leaf(leaf) else { return true };
        let to = &mut to[..leaf.constants.len()];
        if let Some(source) = &leaf.source
            && !source.values((captured, wire_len), inputs, &mut to[..leaf.computed])
        {
            return false;
        }
        leaf.place(to);
        true
    }

    fn leaf(&self, leaf: u32) -> Option<&Leaf> {
        self.leaves.get(leaf.checked_sub(1)? as usize)
    }
}

impl Leaf {
    /// Moves the values that were computed, which come first, to their places among the constants.
    #[inline]
    fn place(&self, to: &mut [u32]) {
        let mut computed = self.computed;
        if computed == to.len() {
            return;
        }
        for (at, constant) in self.constants.iter().enumerate().rev() {
            to[at] = constant.unwrap_or_else(|| {
                computed -= 1;
                to[computed]
            });
        }
    }
}

impl Source {
    /// Computes the values; `false` where one cannot be.
    fn values(&self, packet: (&[u8], u32), inputs: &[u32], to: &mut [u32]) -> bool {
        match self {
            Source::Native(native) => native.run(packet, inputs, to),
            Source::Interpreted(checked) => {
                let mut interp = Interp::new(checked.verified().graph());
                interp.values(checked.verified().outputs().of(ACCEPT), packet, inputs, to)
            }
        }
    }

    fn of(pool: &Pool, values: &[ValueId], options: &Options) -> Result<Source, Error> {
        let (pool, values) = copied(pool, values);
        let mut graph = Graph::new(pool);
        let (accept, reject) = (graph.leaf(ACCEPT), graph.leaf(REJECT));
        graph.root = graph.guard(&values, accept, reject);
        let checked = CheckedLeaves::new(graph, vec![values])
            .map_err(|violation| Error::whole(ErrorKind::Graph(violation)))?;
        if options.backend == Backend::Auto {
            match x64::compile_values(&checked, &options.for_x64()) {
                Ok(code) => {
                    if let Ok(native) = NativeValues::new(&code) {
                        return Ok(Source::Native(native));
                    }
                }
                Err(error @ NoCode::TooLarge { .. }) => return Err(error.into()),
                Err(NoCode::TooComplex | NoCode::Members) => {}
            }
        }
        Ok(Source::Interpreted(Box::new(checked)))
    }
}

/// These values, and what they are made from, in a pool that holds nothing else.
fn copied(from: &Pool, values: &[ValueId]) -> (Pool, Vec<ValueId>) {
    let mut pool = Pool::default();
    let values = copy(from, values, &mut pool);
    (pool, values)
}

/// These values, and what they are made from, in another pool as well.
fn copy(from: &Pool, values: &[ValueId], pool: &mut Pool) -> Vec<ValueId> {
    pool.widen_row(from.inputs());
    let mut copies: HashMap<ValueId, ValueId> = HashMap::new();
    let mut pending = values.to_vec();
    // A stack of our own: a value may be as deep as its text is long.
    while let Some(&value) = pending.last() {
        let missing: Vec<ValueId> =
            from.operands(value).filter(|operand| !copies.contains_key(operand)).collect();
        if missing.is_empty() {
            pending.pop();
            let copy = from.get(value).map_operands(|operand| copies[&operand]);
            copies.insert(value, pool.value(copy));
        } else {
            pending.extend(missing);
        }
    }
    values.iter().map(|value| copies[value]).collect()
}

#[cfg(test)]
mod tests;
