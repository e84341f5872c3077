//! From a program to a decision graph, by symbolic execution.
//!
//! ```text
//! node(pc, A, X, M):                        known by pc and what lives of A, X, M: programs that join are joined
//!     run instructions on values, up to where ways part or join:
//!         load     A = the value, behind a guard that its bytes are captured; where they are not: reject
//!         divide   likewise, behind a guard that the divisor is not 0
//!     return       leaf, or A != 0
//!     goto, join   node(there)
//!     jump         branch(test, node(yes), node(no))
//!     the guards, last to first, in front of that
//! ```
//! Registers and cells hold pure values, so nothing of the machine is left in the graph. Guards stand where the program loads, whether or
//! not it uses what it loads, since a load outside the packet rejects.
//!
//! The walk has a stack of its own, and each node is built behind its successors.

use crate::ancillary::{Ancillary, KernelPlace};
use crate::check::{no_cell, outside};
use crate::decode::{CELLS, Op, Operand, Register, Returned, Source, Test, decode, jumps_back, successors};
use crate::liveness::{Live, liveness};
use crate::{Error, ErrorKind, Insn, Program};
use decide::{
    BinOp, Budget, CmpOp, Cond, CondId, Graph, NodeId, Options, Pool, REJECT, Size, Span, Spans, Value,
    ValueId,
};
use std::collections::HashMap;

/// The leaf of a program that returns anything but 0.
const ACCEPT: u32 = 1;

/// A state takes as much memory as so many nodes of a graph.
const NODES_PER_STATE: usize = 32;

/// The cells, A and X.
const PLACES: usize = CELLS + 2;
const A: usize = CELLS;
const X: usize = CELLS + 1;

/// The registers and cells in front of an instruction.
type State = [ValueId; PLACES];

/// Builds the graph. What the caller knows of `known` is its row; `spans` has the place of each instruction in a text.
pub(crate) fn graph(
    program: &Program,
    known: &[Ancillary],
    spans: &[Span],
    options: &Options,
) -> Result<Graph, Error> {
    let insns = program.insns();
    if insns.is_empty() {
        return Err(Error::whole(ErrorKind::Refused, "the program is empty"));
    }
    let budget = Budget::new(options.nodes_max / NODES_PER_STATE, options.time_ms_max);
    let mut pool = Pool::default();
    pool.widen_row(known.len() as u32);
    let zero = pool.zero();
    let mut graph = Graph::new(pool);
    let reject = graph.leaf(REJECT);
    let mut walk = Walk {
        insns,
        known,
        spans,
        live: liveness(insns),
        is_joined: joins(insns),
        reject,
        graph,
        nodes: HashMap::new(),
    };
    walk.graph.root = walk.run([zero; PLACES], &budget)?;
    Ok(walk.graph)
}

struct Walk<'p> {
    insns: &'p [Insn],
    known: &'p [Ancillary],
    spans: &'p [Span],
    live: Vec<Live>,
    /// By instruction: whether several ways lead to it.
    is_joined: Vec<bool>,
    reject: NodeId,
    graph: Graph,
    nodes: HashMap<Key, NodeId>,
}

/// An instruction, and what lives in front of it.
type Key = (usize, Vec<ValueId>);

/// Something to be done, the next one last.
enum Task {
    /// Find the node of a state.
    Enter(usize, State),
    /// Build it; those of its successors have been found.
    Build(Stretch),
}

/// Instructions up to where ways part or join.
struct Stretch {
    key: Option<Key>,
    /// Conditions, whether they must hold, and the instructions that they are of.
    guards: Vec<(CondId, bool, usize)>,
    end: End,
}

/// How a stretch ends.
enum End {
    Leaf(u32),
    /// In A: what is not 0 accepts.
    Return {
        is_zero: CondId,
        pc: usize,
    },
    /// In the node of another stretch.
    Goes,
    /// In a question, and the nodes of two stretches.
    Parts {
        cond: CondId,
        pc: usize,
    },
}

impl Walk<'_> {
    /// The node of a program that begins with this state.
    fn run(&mut self, start: State, budget: &Budget) -> Result<NodeId, Error> {
        let mut tasks = vec![Task::Enter(0, start)];
        let mut found: Vec<NodeId> = Vec::new();
        while let Some(task) = tasks.pop() {
            match task {
                Task::Enter(pc, state) => {
                    let key =
                        self.is_joined.get(pc).is_some_and(|joined| *joined).then(|| self.key(pc, &state));
                    match key.as_ref().and_then(|key| self.nodes.get(key)) {
                        Some(node) => found.push(*node),
                        None => self.stretch(pc, state, key, &mut tasks)?,
                    }
                }
                Task::Build(stretch) => {
                    let node = self.build(&stretch, &mut found);
                    found.push(node);
                    if let Some(key) = stretch.key {
                        self.nodes.insert(key, node);
                    }
                    let states = self.nodes.len() + self.graph.node_count() / NODES_PER_STATE;
                    let span = Span::default();
                    let within = budget.check_nodes(states, span);
                    let within = within
                        .and_then(|()| if states.is_multiple_of(64) { budget.check(span) } else { Ok(()) });
                    within.map_err(|exceeded| Error::from(decide::Error::from(exceeded)))?;
                }
            }
        }
        Ok(found.pop().unwrap_or(self.reject))
    }

    fn key(&self, pc: usize, state: &State) -> Key {
        let live = self.live[pc];
        let places = if live.is_empty() { 0 } else { PLACES };
        (pc, (0..places).filter(|place| live.has(*place)).map(|place| state[place]).collect())
    }

    /// Runs a stretch, and puts down what remains to be done for it.
    fn stretch(
        &mut self,
        mut pc: usize,
        mut state: State,
        key: Option<Key>,
        tasks: &mut Vec<Task>,
    ) -> Result<(), Error> {
        let mut guards = Vec::new();
        let start = pc;
        let (end, next) = loop {
            let Some(&insn) = self.insns.get(pc) else {
                let before = pc.saturating_sub(1).min(self.insns.len() - 1);
                return Err(Error::at(before, ErrorKind::Refused, outside(pc as u64)));
            };
            let Some(decoded) = decode(insn) else {
                let message = format!("{:#x} is no instruction", insn.code);
                return Err(Error::at(pc, ErrorKind::Refused, message));
            };
            if jumps_back(insn) {
                let message = "it jumps backwards; a program must end on every packet";
                return Err(Error::at(pc, ErrorKind::Loop, message)
                    .with_help("libpcap compiles `protochain` to such; the filter's text compiles here"));
            }
            // What the instruction does to the state.
            let is_possible = match decoded {
                Op::Return(returned) => break (self.returned(returned, insn, &state, pc), Vec::new()),
                Op::Goto => true,
                Op::Jump(test, operand) => {
                    let [yes, no] = successors(pc, insn, decoded);
                    let (cond, holds) = self.asks(test, operand, insn, &state);
                    let (then, els) = if holds { (yes, no) } else { (no, yes) };
                    let next = |target: Option<usize>| (target.unwrap_or(usize::MAX), state);
                    break match cond {
                        Ask::Known(true) => (End::Goes, vec![next(then)]),
                        Ask::Known(false) => (End::Goes, vec![next(els)]),
                        Ask::Cond(_) if then == els => (End::Goes, vec![next(then)]),
                        Ask::Cond(cond) => (End::Parts { cond, pc }, vec![next(then), next(els)]),
                    };
                }
                _ => self.step(decoded, insn, pc, &mut state, &mut guards)?,
            };
            if !is_possible {
                break (End::Leaf(REJECT), Vec::new());
            }
            let [next, _] = successors(pc, insn, decoded);
            pc = next.unwrap_or(usize::MAX);
            if self.is_joined.get(pc).is_some_and(|joined| *joined) && pc != start {
                break (End::Goes, vec![(pc, state)]);
            }
        };
        tasks.push(Task::Build(Stretch { key, guards, end }));
        tasks.extend(next.into_iter().map(|(pc, state)| Task::Enter(pc, state)));
        Ok(())
    }

    /// Does what an instruction does that goes on behind itself; `false` where it rejects every packet.
    fn step(
        &mut self,
        decoded: Op,
        insn: Insn,
        pc: usize,
        state: &mut State,
        guards: &mut Vec<(CondId, bool, usize)>,
    ) -> Result<bool, Error> {
        let cell = |number: u32| {
            let cell = usize::try_from(number).ok().filter(|cell| *cell < CELLS);
            cell.ok_or_else(|| Error::at(pc, ErrorKind::Refused, no_cell(number)))
        };
        let pool = &mut self.graph.pool;
        match decoded {
            Op::Load(to, source) => {
                let address = match source {
                    Source::Constant => Ok(pool.constant(insn.k)),
                    Source::Len => Ok(pool.value(Value::Len)),
                    Source::Cell => Ok(state[cell(insn.k)?]),
                    Source::Absolute(size) => match KernelPlace::of(insn.k) {
                        Some(place) => Ok(self.kernel(place, pc)?),
                        None => Err((None, size)),
                    },
                    Source::Indirect(size) => Err((Some(state[X]), size)),
                    Source::HeaderLength => Err((None, Size::B1)),
                };
                let value = match address {
                    Ok(value) => value,
                    Err((base, size)) => match self.load(base, insn.k, size) {
                        Some((value, guard)) => {
                            guards.push((guard, true, pc));
                            value
                        }
                        None => return Ok(false),
                    },
                };
                let value = if source == Source::HeaderLength {
                    let pool = &mut self.graph.pool;
                    let (mask, two) = (pool.constant(0xf), pool.constant(2));
                    let words = pool.op(BinOp::And, value, mask);
                    pool.op(BinOp::Shl, words, two)
                } else {
                    value
                };
                state[register(to)] = value;
            }
            Op::Store(from, number) => state[cell(number)?] = state[register(from)],
            Op::Move(to) => state[register(to)] = state[if to == Register::A { X } else { A }],
            Op::Neg => {
                let zero = pool.zero();
                state[A] = op(pool, BinOp::Sub, zero, state[A]);
            }
            Op::Alu(kind, operand) => {
                let right = match operand {
                    Operand::K => pool.constant(insn.k),
                    Operand::X => state[X],
                };
                if matches!(kind, BinOp::Div | BinOp::Mod) {
                    match pool.as_const(right) {
                        Some(0) => return Ok(false),
                        Some(_) => {}
                        None => {
                            let zero = pool.zero();
                            guards.push((pool.cond(Cond::Cmp(CmpOp::Eq, right, zero)), false, pc));
                        }
                    }
                }
                state[A] = op(pool, kind, state[A], right);
            }
            Op::Jump(..) | Op::Goto | Op::Return(_) => {}
        }
        Ok(true)
    }

    /// A load and its guard; `None` where no packet has such an address.
    fn load(&mut self, base: Option<ValueId>, offset: u32, size: Size) -> Option<(ValueId, CondId)> {
        let pool = &mut self.graph.pool;
        let zero = pool.zero();
        let base = base.unwrap_or(zero);
        let (base, offset) = match pool.as_const(base) {
            Some(k) => (zero, offset.checked_add(k)?),
            None => (base, offset),
        };
        let end = offset.checked_add(size.bytes())?;
        Some((pool.load(base, offset, size), pool.cond(Cond::Bounds { base, end })))
    }

    /// What the kernel knows, if the caller knows it too.
    fn kernel(&mut self, place: KernelPlace, pc: usize) -> Result<ValueId, Error> {
        let only = |message: String| Error::at(pc, ErrorKind::KernelOnly, message);
        match place {
            KernelPlace::Data(data) => match self.known.iter().position(|known| *known == data) {
                Some(slot) => Ok(self.graph.pool.input(slot as u32)),
                None => {
                    let message = format!("it loads what the kernel keeps beside a packet: {data}");
                    let help = "a program for captures loads bytes of the packet only: `tcpdump -r FILE -ddd FILTER` prints one";
                    Err(Error::at(pc, ErrorKind::Ancillary(data), message).with_help(help))
                }
            },
            KernelPlace::NetworkHeader => Err(only(
                "it loads from behind the network header, which only the kernel knows (SKF_NET_OFF)".into(),
            )),
            KernelPlace::LinkHeader => Err(only(
                "it loads from behind the link-layer header as the kernel knows it (SKF_LL_OFF)".into(),
            )),
        }
    }

    /// The question of a jump, and whether its yes is that of the condition.
    fn asks(&mut self, test: Test, operand: Operand, insn: Insn, state: &State) -> (Ask, bool) {
        let pool = &mut self.graph.pool;
        let (left, right) = (
            state[A],
            match operand {
                Operand::K => pool.constant(insn.k),
                Operand::X => state[X],
            },
        );
        let (cond, holds) = match test {
            Test::Equal => (Cond::Cmp(CmpOp::Eq, left, right), true),
            Test::Greater => (Cond::Cmp(CmpOp::Lt, right, left), true),
            Test::GreaterOrEqual => (Cond::Cmp(CmpOp::Lt, left, right), false),
            Test::AnyBit => (Cond::Test(left, right), true),
        };
        let ask = match (pool.as_const(left), pool.as_const(right)) {
            (Some(a), Some(b)) => Ask::Known(match cond {
                Cond::Cmp(CmpOp::Eq, ..) => a == b,
                Cond::Cmp(CmpOp::Lt, ..) if holds => b < a,
                Cond::Cmp(CmpOp::Lt, ..) => a < b,
                _ => a & b != 0,
            }),
            _ => Ask::Cond(pool.cond(cond)),
        };
        (ask, holds)
    }

    fn returned(&mut self, returned: Returned, insn: Insn, state: &State, pc: usize) -> End {
        let pool = &mut self.graph.pool;
        let constant = match returned {
            Returned::K => Some(insn.k),
            Returned::A => pool.as_const(state[A]),
        };
        match constant {
            Some(0) => End::Leaf(REJECT),
            Some(_) => End::Leaf(ACCEPT),
            None => {
                let zero = pool.zero();
                End::Return { is_zero: pool.cond(Cond::Cmp(CmpOp::Eq, state[A], zero)), pc }
            }
        }
    }

    /// The node of a stretch; those that it leads to are the last found.
    fn build(&mut self, stretch: &Stretch, found: &mut Vec<NodeId>) -> NodeId {
        let mut next = || found.pop().unwrap_or(self.reject);
        let mut node = match stretch.end {
            End::Leaf(leaf) => self.graph.leaf(leaf),
            End::Goes => next(),
            End::Return { is_zero, pc } => {
                let accept = self.graph.leaf(ACCEPT);
                self.branch(is_zero, self.reject, accept, pc)
            }
            End::Parts { cond, pc } => {
                // The task of the first was put down first and done last.
                let then = next();
                let els = next();
                self.branch(cond, then, els, pc)
            }
        };
        for &(cond, must_hold, pc) in stretch.guards.iter().rev() {
            let (then, els) = if must_hold { (node, self.reject) } else { (self.reject, node) };
            node = self.branch(cond, then, els, pc);
        }
        node
    }

    fn branch(&mut self, cond: CondId, then: NodeId, els: NodeId, pc: usize) -> NodeId {
        let node = self.graph.branch(cond, then, els);
        if then != els
            && let Some(span) = self.spans.get(pc)
        {
            let mut spans = Spans::default();
            spans.add(*span);
            self.graph.add_spans(node, &spans);
        }
        node
    }
}

/// The answer of a test, or its question.
enum Ask {
    Known(bool),
    Cond(CondId),
}

fn register(register: Register) -> usize {
    match register {
        Register::A => A,
        Register::X => X,
    }
}

/// An operation, of constants its result.
fn op(pool: &mut Pool, kind: BinOp, left: ValueId, right: ValueId) -> ValueId {
    let constants = pool.as_const(left).zip(pool.as_const(right));
    match constants.and_then(|(a, b)| kind.eval(a, b)) {
        Some(k) => pool.constant(k),
        None => pool.op(kind, left, right),
    }
}

/// By instruction: whether several ways lead to it.
fn joins(insns: &[Insn]) -> Vec<bool> {
    let mut ways = vec![0_u8; insns.len()];
    for (pc, insn) in insns.iter().enumerate() {
        let Some(decoded) = decode(*insn) else { continue };
        let mut targets = successors(pc, *insn, decoded);
        if targets[0] == targets[1] {
            targets[1] = None;
        }
        for target in targets.into_iter().flatten() {
            if let Some(ways) = ways.get_mut(target) {
                *ways = ways.saturating_add(1);
            }
        }
    }
    ways.into_iter().map(|ways| ways > 1).collect()
}
