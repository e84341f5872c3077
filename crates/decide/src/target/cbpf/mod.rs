//! Classic BPF.

mod insn;

pub use insn::{Insn, op};
