//! Every case of `testdata/pflang/*.toml`, on libpcap and on every engine of ours.

use std::path::Path;
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
