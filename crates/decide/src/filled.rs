//! Tables that begin with one value everywhere.

/// `vec![value; count]`, whatever the value.
///
/// PERF: for zeros that macro asks for zeroed memory, for which the C library of most systems (glibc before 2.41) keeps no
/// freed blocks at hand: 150 instructions more for a table of a small filter, and a compilation has ten.
pub fn filled<T: Clone>(value: T, count: usize) -> Vec<T> {
    let mut table = Vec::with_capacity(count);
    table.resize(count, value);
    table
}
