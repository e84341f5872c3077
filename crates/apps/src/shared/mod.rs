//! What several apps need, one idea a file.

pub(crate) mod bytecode;
pub(crate) mod filtering;
pub(crate) mod host;
pub(crate) mod linktype;
pub(crate) mod names;
pub(crate) mod outer;
pub(crate) mod outlet;
pub(crate) mod random;
pub(crate) mod responder;
pub(crate) mod set_changes;
pub(crate) mod set_files;
pub(crate) mod text;
pub(crate) mod tpid;
pub(crate) mod whole;
