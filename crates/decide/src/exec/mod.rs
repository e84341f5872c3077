//! Running filters as machine code or in the mask VM: the one place of this crate where memory is trusted.
//!
//! An unsafe island: nothing else in this crate may use `unsafe`. What makes the calls sound is written where
//! they are made, in [`native`]; what makes vector loads sound, in [`mask`].

#![deny(unsafe_op_in_unsafe_fn)]

mod count;
pub mod mask;
mod memory;
pub mod native;
mod packet;

pub use count::count_ones;
pub use memory::Refusal;
pub use native::{NativeFilter, NativeList, NativeWithInputs, NoExec};
pub(crate) use native::{NativeValues, member_entry};
pub use packet::Packet;

#[cfg(test)]
mod tests;
