//! Back ends of the decision core against the reference interpreter, on packets at the edge of memory.

pub mod addresses;
pub mod agree;
pub mod graphs;
#[allow(unsafe_code)]
pub mod guarded;
pub mod inputs;
pub mod masks;
