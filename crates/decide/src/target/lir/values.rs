//! Selection for the values of a leaf: the checks of each, one behind the other, then the values handed out.
//!
//! ```text
//! check, check, … -> store, store, …, accept            any check that fails: reject
//! ```
//! There is one way through, so each value is computed once, where it is needed first, and kept to the end.

use super::NoCode;
use super::layout::layout;
use super::program::{Exit, Inst, Operand, Program};
use super::select::{Machine, Selector, VReg};
use crate::ir::verify::CheckedLeaves;
use crate::ir::{ACCEPT, Node, REJECT};

/// Selects instructions that hand out values and accept, or reject where they cannot be computed.
///
/// # Errors
/// [`NoCode::TooComplex`] where there is more than one way through the graph.
pub(crate) fn select_values(checked: &CheckedLeaves, machine: Machine) -> Result<Program<VReg>, NoCode> {
    let graph = checked.verified().graph();
    let layout = layout(graph);
    // What is compared in memory would be read again.
    let mut selector = Selector::new(graph, &layout, Machine { compares_memory: &[], ..machine });
    for (i, &node) in layout.order.iter().enumerate() {
        let label = selector.label(node);
        let exit = match graph.node(node) {
            Node::Branch { cond, then, els } => {
                let rejects = |node| *graph.node(node) == Node::Leaf(REJECT);
                let goes_on = if rejects(*els) { *then } else { *els };
                let is_one_way = rejects(*els) || rejects(*then);
                if !is_one_way || layout.order.get(i + 1) != Some(&goes_on) {
                    return Err(NoCode::TooComplex);
                }
                let test = selector.test(graph.pool.get_cond(*cond));
                Exit::Branch { test, then: selector.label(*then), els: selector.label(*els) }
            }
            Node::Leaf(REJECT) => Exit::Leaf(REJECT),
            Node::Leaf(_) => {
                for (at, &value) in (0..).zip(checked.verified().outputs().of(ACCEPT)) {
                    let src = match graph.pool.as_const(value) {
                        Some(k) => Operand::Const(k),
                        None => Operand::Reg(selector.reg(value)),
                    };
                    selector.push(Inst::Store { at, src });
                }
                Exit::Leaf(ACCEPT)
            }
            Node::Switch(_) => return Err(NoCode::TooComplex),
        };
        selector.finish_block(node, label, exit);
    }
    selector.program.outputs = checked.verified().outputs().of(ACCEPT).len() as u32;
    Ok(selector.program)
}
