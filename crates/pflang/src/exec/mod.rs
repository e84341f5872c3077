//! Running machine code: the one place of this crate where memory is trusted.

mod packet;

pub use packet::Packet;
