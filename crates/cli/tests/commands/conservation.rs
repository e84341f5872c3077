//! Whatever is asked for, no packet is lost: those read are those written, those left out as duplicates, and those that do not match.
//!
//! `SLUSS_SEED` changes what is drawn, `SLUSS_ROUNDS` how much.

use crate::common::{arg, code, root, run, scratch, stderr, stdout};
use std::path::Path;
use testkit::rng::Rng;

const CAPTURES: [&str; 9] = [
    "web.pcap",
    "mixed.pcap",
    "lan.pcap",
    "icmp.pcap",
    "vlan.pcap",
    "smtp.pcap.gz",
    "dns.pcap.zst",
    "router.pcapng",
    "ntp-nano.pcap",
];

fn number(name: &str, otherwise: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(otherwise)
}

fn count(filter: &str, files: &[String]) -> u64 {
    let files: Vec<&str> = files.iter().map(String::as_str).collect();
    let output = run(&[&["filter", "-q", "--count", "--no-fail", filter], &files[..]].concat());
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    stdout(&output).trim().parse().unwrap()
}

fn files_in(folder: &Path) -> Vec<String> {
    std::fs::read_dir(folder).unwrap().map(|entry| arg(&entry.unwrap().path()).to_owned()).collect()
}

#[test]
fn every_packet_is_written_left_out_or_does_not_match() {
    let seed = number("SLUSS_SEED", 20_261_127);
    testkit::say(format_args!("SLUSS_SEED={seed}"));
    let mut rng = Rng::new(seed);
    for round in 0..number("SLUSS_ROUNDS", 30) {
        let folder = scratch(&format!("conservation-{round}"));
        let inputs: Vec<String> = (0..1 + rng.below(4))
            .map(|_| arg(&root().join("captures").join(rng.pick(&CAPTURES))).to_owned())
            .collect();
        let filter = *rng.pick(&["", "tcp", "udp port 53", "ip6 or arp", "not tcp", "len < 100", "icmp"]);
        let name = *rng.pick(&["o.pcapng", "o.pcapng.gz", "o.pcapng.zst"]);
        let out = folder.join(name);
        let mut flags: Vec<String> = Vec::new();
        let draw = |rng: &mut Rng, flag: String| rng.chance(1, 2).then_some(flag);
        flags.extend(draw(&mut rng, "--merge=time".into()));
        let window = *rng.pick(&[0, 2, 5, 1000]);
        flags.extend(draw(&mut rng, format!("--dedup={window}")));
        let limit = 1 + rng.below(400);
        let split = match rng.below(4) {
            0 => format!("--split-packets={limit}"),
            1 => format!("--split-bytes={}", 500 * limit),
            2 => format!("--split-seconds={limit}ms"),
            _ => String::new(),
        };
        let is_split = !split.is_empty();
        flags.extend(is_split.then_some(split));
        let snaplen = 1 + rng.below(200);
        flags.extend(draw(&mut rng, format!("-s{snaplen}")));
        let words: Vec<&str> = flags.iter().chain(&inputs).map(String::as_str).collect();
        let output =
            run(&[&["filter", "-q", "--no-fail", "--json", filter, "-o", arg(&out)], &words[..]].concat());
        assert_eq!(code(&output), 0, "{words:?}: {}", stderr(&output));
        let summary: serde_json::Value = serde_json::from_str(&stdout(&output)).unwrap();
        let number = |value: &serde_json::Value| value.as_u64().unwrap_or(0);
        let of_filter = &summary["filters"][0];
        let (matched, duplicates) = (number(&of_filter["matched"]), number(&of_filter["duplicates"]));
        let chosen = count(filter, &inputs);
        assert_eq!(matched + duplicates, chosen, "`{filter}` {words:?}: {summary}");
        assert_eq!(number(&summary["packets"]), count("", &inputs), "{words:?}: {summary}");
        assert_eq!(count("", &files_in(&folder)), matched, "`{filter}` {words:?}");
        if flags.iter().any(|flag| flag.starts_with("--split-packets")) {
            for file in files_in(&folder) {
                assert!(count("", std::slice::from_ref(&file)) <= limit as u64, "{file} {words:?}");
            }
        }
    }
}
