//! House-keeping of the repository.
fn main() {}
