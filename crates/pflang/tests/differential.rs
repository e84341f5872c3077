//! Every engine against libpcap: generated expressions on generated, real, walked, damaged and cut packets.
//!
//! `SLUSS_SEED` and `SLUSS_PAIRS` change what is drawn and how much; `make fuzz` runs it for long. `SLUSS_EXPRESSIONS` names a file of
//! further expressions, such as those of another project's tests.

use testkit::differential::{self, Settings};
use testkit::engines::Engines;
use testkit::linktype::ETHERNET;
use testkit::oracle;
use testkit::packet::Packet;

#[test]
fn every_engine_agrees_with_libpcap() {
    let Some(pcap) = oracle::libpcap("the differential test") else { return };
    let settings = Settings { seed: 20_261_121, pairs: 100_000, seconds: None }.from_env();
    testkit::say(format_args!(
        "SLUSS_SEED={} SLUSS_PAIRS={}, {}",
        settings.seed,
        settings.pairs,
        pcap.version()
    ));
    match differential::run(pcap, settings) {
        Ok(report) => testkit::say(report),
        Err(difference) => panic!("{difference}"),
    }
}

/// In each line a link type by name, a tab and an expression.
#[test]
fn every_engine_agrees_with_libpcap_on_a_list() {
    let Some(path) = std::env::var_os("SLUSS_EXPRESSIONS") else {
        return testkit::say(
            "SKIPPED: no list of further expressions (set SLUSS_EXPRESSIONS to a file of them)",
        );
    };
    let Some(pcap) = oracle::libpcap("a list of expressions") else { return };
    let list = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    match differential::run_list(pcap, &list, 20_261_121) {
        Ok(report) => testkit::say(report),
        Err(difference) => panic!("{difference}"),
    }
}

/// libpcap goes on for as long as the headers last, and for some packets for ever; we stop.
#[test]
fn protochain_stops_after_32_headers() {
    let engines = Engines::strict(ETHERNET, "ip6 protochain 6", None).expect("it compiles");
    let chain = |headers: usize| {
        let line = format!("eth / ip6 / {}tcp / pad(40)", "dest / ".repeat(headers));
        Packet::parse(&line).expect("it builds")
    };
    for headers in [0, 1, 2, 31, 32] {
        assert_eq!(engines.disagreement(&chain(headers), true), None, "{headers} headers");
    }
    for headers in [33, 34, 60] {
        assert_eq!(engines.disagreement(&chain(headers), false), None, "{headers} headers");
    }
}

/// Why the reference is libpcap's unoptimised code: its optimiser drops loads whose value is not needed, and with them
/// the rejection of packets that are too short.
#[test]
fn libpcap_optimised_is_another_language() {
    let Some(pcap) = oracle::libpcap("the test of libpcap's optimiser") else { return };
    let short = Packet::parse("eth / ip4 / tcp").expect("it builds");
    for filter in ["tcp[100] = 1 or ip", "tcp[100] & 0 = 0"] {
        let compile = |optimise| {
            let options = oracle::Options { optimise, ..oracle::Options::default() };
            pcap.compile(ETHERNET, filter, options).expect("it compiles")
        };
        let accepts = |optimise| compile(optimise).accepts(&short.bytes, short.wire_len);
        assert!(accepts(true) && !accepts(false), "{filter}");
        let engines = Engines::strict(ETHERNET, filter, None).expect("it compiles");
        assert_eq!(engines.disagreement(&short, false), None, "{filter}");
    }
}
