//! Lists about one field: a graph that finds the field and switches on it.
//!
//! Such a list needs no table beside the program. What the optimiser would make of its tests is built at once: the program that finds the fields of packets, in
//! which each leaf that has the field becomes a switch over the pieces of its numbers.

use super::Divided;
use super::index::{SURE, cut, is_sure, port_number};
use super::plan::Shape;
use super::summary::{LookedUp, TableSummary, field_name};
use super::term::{Dim, Term};
use crate::clock::{Clock, worded};
use crate::compiler::Compiler;
use crate::diag::Diagnostic;
use crate::ir::verify::Checked;
use crate::ir::{self, Arm, BinOp, Graph, Node, NodeId, Pool, Switch, ValueId};
use crate::lower::{self, Class, Wanted};
use classify::set::Pieces;

/// Clauses of a switch at most: all passes of the compiler look at them.
pub(super) const CLAUSES_MAX: usize = 1 << 15;

impl Divided<'_> {
    /// A graph whose leaves are those of the clauses, if all that are looked up are about one field and `default` is where all others lead, behind them.
    pub(crate) fn switch(
        &self,
        compiler: &Compiler,
        clock: Clock,
        leaf: impl Fn(usize) -> u32,
        (open, default): (u32, u32),
        inputs: &[String],
    ) -> Result<Option<(Checked, LookedUp)>, Box<Diagnostic>> {
        let [group] = &self.plan.groups[..] else { return Ok(None) };
        let Shape::Pieces(dim) = group.shape else { return Ok(None) };
        let flats = &self.plan.flats;
        let is_about_it = |term: &Term| is_sure(&Term { kinds: (0, 0), ..term.clone() }, &[dim]);
        let terms = || flats.iter().flat_map(|flat| &flat.terms);
        if matches!(dim, Dim::V6(_)) || flats.len() > CLAUSES_MAX || !terms().all(is_about_it) {
            return Ok(None);
        }
        // Where each clause leads, by its number.
        let leaves: Vec<u32> = flats.iter().map(|flat| flat.target.leaf(&leaf, open)).collect();
        let pieces = |class: Class| -> Option<Pieces<u32>> {
            let spans = (0..).zip(flats).flat_map(|(clause, flat)| {
                let of_class = flat.terms.iter().filter(move |term| term.is_of(class));
                of_class.filter_map(move |term| {
                    let (low, high) = term.range_of(dim)?;
                    Some((
                        low as u32 & number_mask(dim),
                        high as u32 & number_mask(dim),
                        (clause, super::NONE),
                    ))
                })
            });
            cut(spans.collect(), |x: u32| x.checked_add(1)).map(|(pieces, _)| pieces)
        };
        let mut out;
        if let Dim::Input(slot) = dim {
            let mut pool = Pool::default();
            pool.widen_row(inputs.len() as u32);
            let value = pool.input(slot);
            out = Graph::new(pool);
            let Some(pieces) = pieces(Class::default()) else { return Ok(None) };
            out.root = switch(&mut out, value, &pieces, &leaves, default);
        } else {
            let is_address = matches!(dim, Dim::V4(_));
            let wanted = Wanted { addresses4: is_address, addresses6: false, ports: !is_address };
            let program = lower::lower_key(wanted, &compiler.lower_options(), clock)?;
            let Some(program) = program else { return Ok(None) };
            let fields: Vec<(u32, Vec<ValueId>)> =
                program.leaves.iter().map(|(answer, values)| (answer, values.to_vec())).collect();
            let built = ir::build::build_within(program.tree, &program.clauses, clock.budget());
            let built = built.map_err(|exceeded| worded(exceeded.into(), crate::Span::default()))?;
            let mut pool = built.pool.clone();
            pool.widen_row(inputs.len() as u32);
            out = Graph::new(pool);
            let nothing = out.leaf(default);
            let mut new = vec![nothing; built.node_count()];
            for &id in built.topological().iter().rev() {
                let at = |old: NodeId| new[old.index()];
                new[id.index()] = match built.node(id) {
                    Node::Leaf(number) => {
                        let found = number.checked_sub(1).and_then(|at| fields.get(at as usize));
                        let class = found.map(|(answer, _)| Class::of_answer(*answer)).unwrap_or_default();
                        let value = found.and_then(|(_, values)| field(&mut out.pool, dim, class, values));
                        match value {
                            None => nothing,
                            Some(value) => {
                                let Some(pieces) = pieces(class) else { return Ok(None) };
                                switch(&mut out, value, &pieces, &leaves, default)
                            }
                        }
                    }
                    Node::Branch { cond, then, els } => out.branch(*cond, at(*then), at(*els)),
                    Node::Switch(switch) => {
                        let arm = |arm: &Arm| Arm { target: at(arm.target), ..*arm };
                        let arms = switch.arms.iter().map(arm).collect();
                        out.switch(Switch { value: switch.value, arms, default: at(switch.default) })
                    }
                };
            }
            out.root = new[built.root.index()];
        }
        let checked = decide::internals::checked_graph(out, compiler.passes(), clock.budget());
        let checked = checked.map_err(|error| worded(error, crate::Span::default()))?;
        let count = terms().count();
        let table = TableSummary {
            fields: field_name(dim, inputs),
            boxes: count,
            bytes: 0,
            worst: "a switch of the program".into(),
        };
        let looked_up = LookedUp {
            clauses: flats.len(),
            boxes: count,
            checks: 0,
            residuals: 0,
            outside: usize::from(default != ir::REJECT),
            tables: vec![table],
            bytes: 0,
        };
        Ok(Some((checked, looked_up)))
    }
}

/// The bits of a range that are its number: ports have their protocol in front.
fn number_mask(dim: Dim) -> u32 {
    if let Dim::Port(_) = dim { port_number(0, u16::MAX) } else { u32::MAX }
}

/// The value of a field, where a packet of a class has it.
fn field(pool: &mut Pool, dim: Dim, class: Class, values: &[ValueId]) -> Option<ValueId> {
    match dim {
        Dim::V4(end) if class.kind != Class::IP6 && usize::from(class.addresses) > end => {
            values.get(end).copied()
        }
        Dim::Port(end) if usize::from(class.ports) > end => {
            let ports = *values.last()?;
            let k = pool.constant(if end == 0 { 16 } else { 0xffff });
            Some(match (class.ports, end) {
                (1, _) => ports,
                (_, 0) => pool.op(BinOp::Shr, ports, k),
                _ => pool.op(BinOp::And, ports, k),
            })
        }
        _ => None,
    }
}

/// A switch over pieces, each of which one clause has for sure, or none.
fn switch(graph: &mut Graph, value: ValueId, pieces: &Pieces<u32>, leaves: &[u32], default: u32) -> NodeId {
    let mut arms = Vec::with_capacity(pieces.starts.len());
    for (at, (&low, &piece)) in pieces.starts.iter().zip(&pieces.values[1..]).enumerate() {
        if piece == super::NONE {
            continue;
        }
        let high = pieces.starts.get(at + 1).map_or(u32::MAX, |next| next - 1);
        let target = graph.leaf(leaves[(piece & !SURE) as usize]);
        arms.push(Arm { low, high, target });
    }
    let default = graph.leaf(default);
    if arms.is_empty() { default } else { graph.switch(Switch { value, arms, default }) }
}
