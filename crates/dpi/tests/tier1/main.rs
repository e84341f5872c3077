//! Tier 1 from outside: cases with a truth that was written down by hand, what may be done to them, and captures.

mod captures;
mod case;
mod datagrams;
mod flows;
mod foreign;
mod hello;
mod hostile;
mod media;
mod peers;
mod text;

/// Every case.
fn cases() -> Vec<case::Case> {
    [text::cases(), hello::cases(), datagrams::cases(), media::cases(), peers::cases()]
        .into_iter()
        .flatten()
        .collect()
}

#[test]
fn each_case_is_found() {
    let cases = cases();
    for case in &cases {
        case::check(case, &case.segments(), case::Known::Start, "as it is");
    }
    let mut names: Vec<_> = cases.iter().map(|case| case.name).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), cases.len(), "names of cases");
}
