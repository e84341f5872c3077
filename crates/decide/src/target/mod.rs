//! Back ends: from a verified graph to something that runs.

pub(crate) mod lir;
pub(crate) mod x64;
