//! `sluss bench`: its flags.

use crate::common::{self, code, run, scratch, stderr};

#[test]
fn every_network_is_measured_with_the_same_flags() {
    let nets = [
        "source-sink",
        "tee",
        "chain10",
        "idle50",
        "filter",
        "match",
        "vlan",
        "bridge",
        "tunnel",
        "frag",
        "rss",
        "pcap",
        "pair",
    ];
    for net in nets {
        let flags =
            ["bench", "engine", "--net", net, "--size", "64", "--burst", "64", "--runs", "1", "--json"];
        let output = run(&flags);
        assert_eq!(code(&output), 0, "{net}: {}", stderr(&output));
        let result: serde_json::Value = serde_json::from_slice(&output.stdout).expect("a line of JSON");
        let size = if net == "idle50" { 0 } else { 64 };
        assert_eq!((&result["net"], &result["size"]), (&net.into(), &size.into()), "{result}");
    }
}

#[test]
fn flags_that_say_nothing_about_a_network_are_told() {
    let told = |net: &str, flags: &[&str]| {
        let output = run(&[&["bench", "engine", "--net", net, "--runs", "1"], flags].concat());
        assert_eq!(code(&output), 0, "{}", stderr(&output));
        stderr(&output)
    };
    let capture = ["--pcap", "captures/web.pcap"];
    let not_read = "warning: --pcap captures/web.pcap: not read: the network `tee` makes its own packets\n";
    assert_eq!(told("tee", &capture), not_read);
    let of_the_capture = "warning: --size 64: the packets are those of captures/web.pcap\n";
    assert_eq!(told("rss", &[&capture[..], &["--size", "64"]].concat()), of_the_capture);
    assert_eq!(
        told("idle50", &["--size", "64"]),
        "warning: --size 64: the network `idle50` has no packets\n"
    );
}

#[test]
fn a_size_that_no_packet_has_is_refused() {
    for (net, size) in [("rss", "59"), ("bridge", "14"), ("frag", "10241")] {
        let output = run(&["bench", "engine", "--net", net, "--runs", "1", "--size", size]);
        let told = format!("error: --size: {size} is not between 60 and 10240, as in the network `{net}`\n");
        assert_eq!((code(&output), stderr(&output)), (2, told));
    }
    let output = run(&["bench", "engine", "--net", "tee", "--runs", "1", "--size", "1"]);
    let told = (code(&output), stderr(&output));
    assert_eq!(told, (2, "error: --size: 1 is not between 14 and 65535\n".to_owned()));
}

#[test]
fn the_wall_is_measured_in_each_mode() {
    for (mode, new_flows) in [("cached", false), ("churn", true), ("synflood", true)] {
        let output =
            run(&["bench", "wall", "--mode", mode, "captures/web.pcap", "--flows", "1000", "--json"]);
        assert_eq!(code(&output), 0, "{mode}: {}", stderr(&output));
        let result: serde_json::Value = serde_json::from_slice(&output.stdout).expect("a line of JSON");
        let number = |key: &str| result[key].as_f64().unwrap();
        assert_eq!((&result["suite"], &result["mode"]), (&"wall".into(), &mode.into()));
        assert_eq!(number("new_flows") > 0.0, new_flows, "{result}");
        assert!(
            number("decided") > 0.0 && number("ring_full") == 0.0 && number("dp_cpu_s") > 1.0,
            "{result}"
        );
        let undecided = if mode == "churn" { number("new_flows") - number("decided") } else { 0.0 };
        assert_eq!(number("undecided"), undecided, "{result}");
    }
}

#[test]
fn new_flows_are_written_into_a_capture() {
    let path = scratch("bench-wall-churn").join("new.pcap");
    let path = path.to_str().unwrap();
    let output = run(&["bench", "wall", "--mode", "churn", "--write", path, "captures/web.pcap"]);
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    let count = run(&["filter", "--count", "tcp or not tcp", path]);
    let count: u64 = String::from_utf8_lossy(&count.stdout).trim().parse().expect("a number");
    assert!(count >= 250_000, "{count}");
    let refused = run(&["bench", "wall", "--mode", "cached", "--write", path]);
    assert_eq!(code(&refused), 2);
}

/// As the least program in C does it that accepts all packets.
#[test]
fn tcp_over_a_queue_is_measured_against_c() {
    let output = run(&["bench", "io", "--chain", "nfqueue", "--runs", "1", "--json"]);
    if code(&output) == 3 {
        return common::say(&format!("SKIPPED: tcp_over_a_queue_is_measured_against_c: {}", stderr(&output)));
    }
    let result: serde_json::Value = serde_json::from_slice(&output.stdout).expect("a line of JSON");
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    let number = |key: &str| result[key].as_f64().unwrap_or(0.0);
    assert!(number("packets") > 0.0 && number("tcp_gbit_s") > 0.0, "{result}");
    let has_compiler = std::process::Command::new("cc").arg("--version").output().is_ok();
    if !has_compiler {
        return common::say("SKIPPED: the program in C beside it: there is no cc");
    }
    assert_eq!(result["peer"], "accept-all in C");
    assert!(number("peer_tcp_gbit_s") > 0.0 && number("ratio") > 0.0, "{result}");
}

#[test]
fn a_chain_of_dpdk_is_measured() {
    let output = run(&["bench", "io", "--chain", "dpdk", "--app", "swap", "--runs", "1", "--json"]);
    if code(&output) == 3 {
        return common::say(&format!("SKIPPED: a_chain_of_dpdk_is_measured: {}", stderr(&output)));
    }
    let result: serde_json::Value = serde_json::from_slice(&output.stdout).expect("a line of JSON");
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    let told = ["type", "suite", "chain", "app"].map(|key| result[key].as_str().unwrap_or_default());
    assert_eq!(told, ["bench", "io", "dpdk", "swap"], "{result}");
    let count = |key: &str| result[key].as_u64().unwrap_or_else(|| panic!("{key}: {result}"));
    assert!(count("copies") == 0 && count("packets") > 0, "{result}");
    assert!(result["mode"].as_str().unwrap().contains(result["memory"].as_str().unwrap()), "{result}");
    assert!(result["ns_per_packet"].as_f64().unwrap() > 0.0 && result["balanced"] == true, "{result}");
    let has_peer = result["peer"].is_string();
    assert!(
        ["peer_mpps_per_cpu_s", "ratio"].into_iter().all(|key| result[key].is_f64() == has_peer),
        "{result}"
    );
}
