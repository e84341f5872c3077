//! Every engine against libpcap: generated expressions on generated, real, walked, damaged and cut packets.
//!
//! `SLUSS_SEED` and `SLUSS_PAIRS` change what is drawn and how much; `make fuzz` runs it for long.

use testkit::differential::{self, Settings};
use testkit::oracle;

#[test]
fn every_engine_agrees_with_libpcap() {
    let Some(pcap) = oracle::libpcap("the differential test") else { return };
    let settings = Settings { seed: 20_261_121, pairs: 60_000 }.from_env();
    println!("SLUSS_SEED={} SLUSS_PAIRS={}, {}", settings.seed, settings.pairs, pcap.version());
    match differential::run(pcap, settings) {
        Ok(report) => println!("{report}"),
        Err(difference) => panic!("{difference}"),
    }
}
