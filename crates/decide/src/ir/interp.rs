//! The reference interpreter: walks the graph, evaluating each value at most once a packet. Simple enough to be
//! obviously right; also what runs where memory cannot be made executable.

use super::{CmpOp, Cond, CondId, Graph, Node, Order, REJECT, Size, Value, ValueId, WORDS_MAX};

/// A packet: its captured bytes, its length on the wire, and what the caller gives with it.
#[derive(Clone, Copy)]
struct Seen<'p> {
    captured: &'p [u8],
    wire_len: u32,
    inputs: &'p [u32],
}

/// Runs one graph; keeps its scratch memory from packet to packet.
#[derive(Debug)]
pub struct Interp<'g> {
    graph: &'g Graph,
    memo: Vec<Option<u32>>,
    /// The values set in `memo`, to be forgotten with the packet.
    set: Vec<ValueId>,
    pending: Vec<ValueId>,
}

impl<'g> Interp<'g> {
    /// An interpreter of a verified graph.
    pub fn new(graph: &'g Graph) -> Self {
        Interp { graph, memo: vec![None; graph.pool.value_count()], set: Vec::new(), pending: Vec::new() }
    }

    /// The number of the leaf that a packet reaches of which `captured` is the beginning, from the link-layer header on,
    /// and which was `wire_len` bytes long.
    ///
    /// # Panics
    /// If the graph reads inputs: see [`Interp::run_with`].
    pub fn run(&mut self, captured: &[u8], wire_len: u32) -> u32 {
        self.run_with(captured, wire_len, &[])
    }

    /// The same of a packet with which the caller gives numbers.
    ///
    /// # Panics
    /// If these are fewer than the graph reads.
    pub fn run_with(&mut self, captured: &[u8], wire_len: u32, inputs: &[u32]) -> u32 {
        let leaf = self.reach(Seen { captured, wire_len, inputs });
        self.forget();
        leaf
    }

    /// Computes values of a packet that reaches a leaf where they may be computed; `false` where it is rejected.
    pub(crate) fn values(
        &mut self,
        values: &[ValueId],
        (captured, wire_len): (&[u8], u32),
        inputs: &[u32],
        to: &mut [u32],
    ) -> bool {
        let packet = Seen { captured, wire_len, inputs };
        let accepts = self.reach(packet) != REJECT;
        if accepts {
            for (to, value) in to.iter_mut().zip(values) {
                *to = self.value(*value, packet);
            }
        }
        self.forget();
        accepts
    }

    /// The leaf of a packet; what was computed on the way stays known.
    fn reach(&mut self, packet: Seen<'_>) -> u32 {
        let mut node = self.graph.root;
        loop {
            node = match self.graph.node(node) {
                Node::Leaf(leaf) => return *leaf,
                Node::Branch { cond, then, els } => {
                    if self.holds(*cond, packet) {
                        *then
                    } else {
                        *els
                    }
                }
                Node::Switch(switch) => {
                    let x = self.value(switch.value, packet);
                    switch.target(x)
                }
            };
        }
    }

    fn forget(&mut self) {
        self.set.drain(..).for_each(|value| self.memo[value.index()] = None);
    }

    fn holds(&mut self, cond: CondId, packet: Seen<'_>) -> bool {
        match self.graph.pool.get_cond(cond) {
            Cond::Cmp(CmpOp::Eq, a, b) => self.value(a, packet) == self.value(b, packet),
            Cond::Cmp(CmpOp::Lt, a, b) => self.value(a, packet) < self.value(b, packet),
            Cond::Test(a, mask) => self.value(a, packet) & self.value(mask, packet) != 0,
            Cond::Member(members) => {
                let words = self.graph.pool.member_words(members);
                let mut row = [0; WORDS_MAX];
                row.iter_mut().zip(words).for_each(|(number, &word)| *number = self.value(word, packet));
                self.graph.pool.members(members).contains(&row[..words.len()])
            }
            Cond::Bounds { base, end } => {
                u64::from(self.value(base, packet)) + u64::from(end) <= packet.captured.len() as u64
            }
        }
    }

    /// Operands before operators, on a stack of our own: a value may be as deep as its text is long.
    fn value(&mut self, root: ValueId, packet: Seen<'_>) -> u32 {
        self.pending.push(root);
        while let Some(&value) = self.pending.last() {
            if self.memo[value.index()].is_none() {
                let waiting = self.pending.len();
                let missing = self.graph.pool.operands(value).filter(|v| self.memo[v.index()].is_none());
                self.pending.extend(missing);
                if self.pending.len() > waiting {
                    continue;
                }
                self.memo[value.index()] = Some(self.evaluate(value, packet));
                self.set.push(value);
            }
            self.pending.pop();
        }
        self.known(root)
    }

    fn evaluate(&self, value: ValueId, packet: Seen<'_>) -> u32 {
        match self.graph.pool.get(value) {
            Value::Const(k) => k,
            Value::Len => packet.wire_len,
            Value::Input(slot) => packet.inputs[slot as usize],
            Value::Load { base, offset, size, order } => {
                load(packet.captured, self.known(base) as usize + offset as usize, size, order)
            }
            Value::Op(op, a, b) => {
                op.eval(self.known(a), self.known(b)).expect("a zero divisor is branched around")
            }
        }
    }

    fn known(&self, value: ValueId) -> u32 {
        self.memo[value.index()].expect("operands are evaluated first")
    }
}

/// The number at a place of a packet, which is inside of it.
pub fn load(data: &[u8], at: usize, size: Size, order: Order) -> u32 {
    let bytes = &data[at..at + size.bytes() as usize];
    let shift_in = |x, byte: &u8| x << 8 | u32::from(*byte);
    match order {
        Order::Network => bytes.iter().fold(0, shift_in),
        Order::Little => bytes.iter().rev().fold(0, shift_in),
    }
}
