//! The members of sets in a trace: which line of a file each is, and of large sets those that hold only.

use super::run::{Packet, Sets, run};
use super::{Trace, TracedLine, TracedPrimitive};
use crate::lower::{FileMember, Parts};
use crate::syntax::ast::Ast;

/// Of a set with more members than this, those that do not hold are counted.
const MEMBERS_SHOWN: usize = 8;

/// Runs a packet through a filter whose members in files have places of their own.
pub(crate) fn of_parts(ast: &Ast, parts: Parts, data: &[u8], wire_len: u32) -> Trace {
    let Parts { tree, root, record } = parts;
    let packet = Packet { data, wire_len, inputs: &[] };
    let mut trace = run(&tree, root, Sets::new(ast, &record.members), packet);
    for primitive in &mut trace.primitives {
        let member = FileMember::number(primitive.span).and_then(|number| record.members.get(number));
        if let Some(FileMember { text, path, line, named }) = member {
            primitive.span = *named;
            primitive.line = Some(TracedLine { text: text.clone(), path: path.clone(), number: *line });
        }
    }
    trace.primitives = shortened(trace.primitives);
    trace
}

/// Without the members of large sets that do not hold.
pub(super) fn shortened(primitives: Vec<TracedPrimitive>) -> Vec<TracedPrimitive> {
    let mut shown: Vec<TracedPrimitive> = Vec::new();
    let mut rest = primitives.into_iter().peekable();
    while let Some(mut set) = rest.next() {
        let mut members = Vec::new();
        while let Some(member) = rest.next_if(|next| next.is_member) {
            members.push(member);
        }
        if members.len() > MEMBERS_SHOWN {
            let before = members.len();
            members.retain(|member| !member.is_asked || member.holds != Some(false));
            set.misses = before - members.len();
        }
        shown.push(set);
        shown.extend(members);
    }
    shown
}
