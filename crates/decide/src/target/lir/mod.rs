//! The low-level form between graph and machine code, which any register machine can take.
//!
//! ```text
//! graph -> layout, uses -> select -> Program<VReg> -> allocate -> Program<Place>
//!          order of blocks  (switch: many-way branches; chain: the last tests)
//! ```
//! Only graphs that the verifier has passed come in. A value that a guard was about is never computed twice (see [`select`]).
//!
//! It knows no machine: what a machine is like comes in as [`select::Machine`] and as a pool of registers.

#![forbid(unsafe_code)]

pub mod allocate;
mod chain;
pub(crate) mod held;
pub(crate) mod layout;
pub(crate) mod named;
pub mod program;
pub mod select;
pub(crate) mod switch;
pub(crate) mod uses;
pub(crate) mod values;

use std::fmt;

/// Why a graph was not compiled. The interpreter can run it all the same.
///
/// ```
/// let error = decide::NoCode::TooLarge { limit: 1000 };
/// assert_eq!(error.to_string(), "the machine code would exceed its limit of 1000 bytes");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum NoCode {
    /// Code and tables would exceed the limit.
    TooLarge {
        /// The limit, in bytes.
        limit: usize,
    },
    /// More values must be available at once than a stack frame holds.
    TooComplex,
    /// It asks a large set ([`crate::Members`]), which this target cannot call.
    Members,
}

impl fmt::Display for NoCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NoCode::TooLarge { limit } => {
                write!(f, "the machine code would exceed its limit of {limit} bytes")
            }
            NoCode::Members => f.write_str("a set of this size is looked up in a table of sluss, which only code that sluss runs itself can do"),
            NoCode::TooComplex => f.write_str("too many values must be kept at once for machine code"),
        }
    }
}

impl std::error::Error for NoCode {}
