//! Every case of `testdata/pflang/*.toml`, on libpcap and on every engine of ours.

use std::path::Path;
use testkit::engines::{Engines, words};
use testkit::oracle::{self, Options};
use testkit::table::{self, Expected, Test};

fn tests() -> Vec<Test> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/pflang");
    table::load(&folder).unwrap_or_else(|problems| panic!("{problems}"))
}

/// The tables themselves are true: libpcap gives the answers that they expect.
#[test]
fn libpcap_agrees_with_the_tables() {
    let Some(pcap) = oracle::libpcap("the table test") else { return };
    let (mut failures, mut cases) = (Vec::new(), 0);
    for test in tests().iter().filter(|test| test.same_as_libpcap) {
        let options = Options { netmask: test.netmask, ..Options::default() };
        let compiled = pcap.compile(test.linktype, &test.filter, options);
        cases += test.cases();
        match (&test.expected, compiled) {
            (Expected::Error(_), Err(_)) => {}
            (Expected::Error(code), Ok(_)) => {
                failures.push(format!("{test}\n    expected {code}, libpcap compiles it"))
            }
            (Expected::Packets(_), Err(why)) => failures.push(format!("{test}\n    libpcap: {why}")),
            (Expected::Packets(cases), Ok(program)) => {
                for case in cases {
                    if program.accepts(&case.packet.bytes, case.packet.wire_len) != case.accept {
                        failures.push(format!(
                            "{test}\n    {} is {}",
                            case.line,
                            if case.accept { "rejected" } else { "accepted" }
                        ));
                    }
                }
            }
        }
    }
    println!("{cases} cases compared with {}", pcap.version());
    assert!(failures.is_empty(), "{} differ from libpcap:\n{}", failures.len(), failures.join("\n"));
}

/// Every engine gives the answers of the tables.
#[test]
fn every_engine_agrees_with_the_tables() {
    let tests = tests();
    let failures: Vec<String> = tests.iter().flat_map(check).collect();
    let cases: usize = tests.iter().map(Test::cases).sum();
    println!("{} filters, {cases} cases, on every engine", tests.len());
    assert!(cases >= 600, "only {cases} cases: where are the tables?");
    assert!(failures.is_empty(), "{} wrong answers:\n{}", failures.len(), failures.join("\n"));
}

/// What is wrong with the answers to one test.
fn check(test: &Test) -> Vec<String> {
    let wrong = |what: String| format!("{test}\n    {what}");
    match (&test.expected, Engines::of_test(test)) {
        (Expected::Error(code), Err(error)) if error.code().name() == *code => Vec::new(),
        (Expected::Error(code), Err(error)) => vec![wrong(format!("expected {code}, not {}", words(&error)))],
        (Expected::Error(code), Ok(_)) => vec![wrong(format!("expected {code}, but it compiles"))],
        (Expected::Packets(_), Err(error)) => vec![wrong(words(&error))],
        (Expected::Packets(cases), Ok(engines)) => {
            let single = cases.iter().filter_map(|case| {
                engines
                    .disagreement(&case.packet, case.accept)
                    .map(|what| wrong(format!("{} {what}", case.line)))
            });
            let packets: Vec<_> = cases.iter().map(|case| case.packet.clone()).collect();
            let together =
                engines.bursts(&packets).into_iter().zip(cases).filter(|(is, case)| *is != case.accept);
            let together = together.map(|(_, case)| wrong(format!("{}: wrong in a burst", case.line)));
            single.chain(together).collect()
        }
    }
}

/// A test that libpcap answers differently is a line of COMPAT.md.
#[test]
fn differences_are_written_down() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../COMPAT.md");
    let page = std::fs::read_to_string(&page).expect("COMPAT.md stands beside the README");
    let missing: Vec<_> = tests()
        .into_iter()
        .filter(|test| !test.same_as_libpcap && !page.contains(&test.name))
        .map(|test| test.name)
        .collect();
    assert!(missing.is_empty(), "COMPAT.md lacks: {}", missing.join(", "));
}
