//! The `sluss` command.
fn main() {}
