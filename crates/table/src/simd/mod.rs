//! Tables that are read with vector instructions.

pub mod lanes;
