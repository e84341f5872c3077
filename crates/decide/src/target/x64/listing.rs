//! Machine code as text.

use super::assembler::Line;
use super::inst::Inst;
use super::label::AsmLabel;
use super::reg::{Base, Mem};
use crate::ir::{Graph, NodeId};
use crate::target::x64::MachineCode;
use std::fmt::Write;

impl<W> MachineCode<W> {
    /// The `asm` stage: address, bytes, mnemonic, and the source fragment where it changes. Empty unless
    /// [`Options::listing`] was [`Listing::Kept`].
    pub fn print_asm(&self, graph: &Graph, source: &str) -> String {
        let mut out = String::new();
        let mut origin = None;
        let ends = self.assembled.lines.iter().skip(1).map(|line| line.at).chain([self.assembled.code_len]);
        for (line, end) in self.assembled.lines.iter().zip(ends) {
            if line.at == self.one {
                out.push_str("one packet:\n");
            } else if line.at == self.burst {
                out.push_str("burst:\n");
            }
            let changed = std::mem::replace(&mut origin, line.origin) != line.origin;
            let fragment =
                line.origin.filter(|_| changed).map_or(String::new(), |node| fragment(graph, source, node));
            self.print_line(&mut out, line, end, &fragment);
        }
        out
    }

    fn print_line(&self, out: &mut String, line: &Line<usize>, end: usize, fragment: &str) {
        // What lies between functions is no part of the instruction before.
        let padding =
            self.assembled.bytes[line.at..end].iter().rev().take_while(|&&byte| byte == 0xcc).count();
        let bytes = &self.assembled.bytes[line.at..end - padding];
        let hex: Vec<String> = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        let text = self.mnemonic(line);
        let comment = if fragment.is_empty() { String::new() } else { format!("; {fragment}") };
        let row = format!("{:6x}  {:<24} {text:<36} {comment}", line.at, hex.join(" "));
        let _ = writeln!(out, "{}", row.trim_end());
    }

    /// The instruction, labels as addresses.
    fn mnemonic(&self, line: &Line<usize>) -> String {
        let address = |label: AsmLabel| self.assembled.offset(label);
        match line.inst {
            Inst::Jmp(to) => format!("jmp {:#x}", address(to)),
            Inst::Jcc(cc, to) => format!("j{cc} {:#x}", address(to)),
            Inst::Lea(_, to, Mem { base: Base::Label(label), .. }) => {
                format!("lea {to}, [rip -> {:#x}]", address(label))
            }
            inst => inst.to_string(),
        }
    }
}

/// The part of the source that a node came from.
fn fragment(graph: &Graph, source: &str, node: NodeId) -> String {
    let spans = graph.spans(node).as_slice();
    let mut texts: Vec<&str> =
        spans.iter().map(|span| span.text(source)).filter(|text| !text.is_empty()).collect();
    texts.dedup();
    texts.join(" | ")
}
