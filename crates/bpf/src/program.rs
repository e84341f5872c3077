//! A program: a list of instructions, and the formats that it is exchanged in.

use crate::Insn;
use std::fmt;
use std::str::FromStr;

/// A program of classic BPF. It may be wrong: see [`Program::check`].
///
/// ```
/// use bpf::{Format, Insn, Program};
///
/// let reject = Program::from(vec![Insn { code: 6, jt: 0, jf: 0, k: 0 }]);
/// assert_eq!(reject.write(Format::Listing), b"(000) ret      #0\n");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Program {
    insns: Vec<Insn>,
}

impl From<Vec<Insn>> for Program {
    fn from(insns: Vec<Insn>) -> Program {
        Program { insns }
    }
}

impl Program {
    /// The instructions.
    ///
    /// ```
    /// let program = bpf::read(b"1,6 0 0 0")?;
    /// assert_eq!(program.insns().len(), 1);
    /// # Ok::<(), bpf::Error>(())
    /// ```
    pub fn insns(&self) -> &[Insn] {
        &self.insns
    }
}

/// How a program is written down.
///
/// ```
/// use bpf::Format;
///
/// assert_eq!("xt_bpf".parse(), Ok(Format::XtBpf));
/// assert_eq!(Format::Listing.name(), "d");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Format {
    /// Decimal numbers, as `tcpdump -ddd` prints them: how many, then one instruction a line.
    #[default]
    Decimal,
    /// Elements of an array in C, as `tcpdump -dd` prints them.
    CArray,
    /// Mnemonics, as `tcpdump -d` prints them.
    Listing,
    /// `struct sock_filter`, 8 bytes each, in the order of this machine.
    Raw,
    /// One line, as `bpf_asm` prints and xt_bpf of iptables takes it: `N,code jt jf k,…`.
    XtBpf,
}

impl Format {
    /// Every format.
    ///
    /// ```
    /// assert!(bpf::Format::ALL.iter().all(|format| format.name().parse() == Ok(*format)));
    /// ```
    pub const ALL: [Format; 5] =
        [Format::Decimal, Format::CArray, Format::Listing, Format::Raw, Format::XtBpf];

    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Format::Decimal => "ddd",
            Format::CArray => "dd",
            Format::Listing => "d",
            Format::Raw => "raw",
            Format::XtBpf => "xt_bpf",
        }
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Format {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        let found = Format::ALL.into_iter().find(|format| format.name() == name);
        found.ok_or_else(|| format!("`{name}` is no format; there are ddd, dd, d, raw and xt_bpf"))
    }
}
