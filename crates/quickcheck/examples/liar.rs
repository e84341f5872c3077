//! An engine for `sluss quickcheck --engine`: classic BPF in the reference interpreter. With the argument `jset` it takes that
//! instruction for `jeq`, with `crash` it ends at the first one.
//!
//! ```sh
//! sluss quickcheck --engine liar='target/debug/examples/liar jset'
//! ```

use bpf::{Insn, machine, op};
use pflang::Compiler;
use std::io::{BufRead, Write};

fn main() {
    let lie = std::env::args().nth(1).unwrap_or_default();
    let mut known = (String::new(), None);
    for line in std::io::stdin().lock().lines() {
        let Ok(line) = line else { return };
        let [filter, linktype, wire_len, hex] = line.split('\t').collect::<Vec<_>>()[..] else {
            panic!("four fields are expected: {line}");
        };
        let about = format!("{filter}\t{linktype}");
        if known.0 != about {
            known = (about, program(filter, linktype, &lie));
        }
        let answer = match &known.1 {
            Some(insns) => {
                let run = machine::run(insns, &bytes(hex), wire_len.parse().unwrap_or(0), 100_000, &mut ());
                u8::from(run.accepts()).to_string()
            }
            None => "-".to_owned(),
        };
        // Flushed at each line end, as standard output is.
        if writeln!(std::io::stdout(), "{answer}").is_err() {
            return;
        }
    }
}

fn program(filter: &str, linktype: &str, lie: &str) -> Option<Vec<Insn>> {
    let mut insns = Compiler::new(linktype.parse().ok()?).to_cbpf(filter).ok()?;
    for insn in &mut insns {
        if insn.class() == op::JMP && insn.operation() == op::JSET {
            match lie {
                "jset" => insn.code = insn.code & !0xf0 | op::JEQ,
                "crash" => std::process::exit(3),
                _ => {}
            }
        }
    }
    Some(insns)
}

fn bytes(hex: &str) -> Vec<u8> {
    let digit = |digit: u8| char::from(digit).to_digit(16).unwrap_or(0) as u8;
    hex.as_bytes().chunks_exact(2).map(|pair| digit(pair[0]) << 4 | digit(pair[1])).collect()
}
