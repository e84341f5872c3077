//! From syntax tree to lowered tree: what each primitive means on each link type.

pub mod tree;
