//! The programs in `examples/lua` do what their first lines say.

mod common;

use common::run;
use testkit::files::Scratch;

/// What `sluss run examples/lua/NAME ARGS…` prints.
fn printed(name: &str, arguments: &[&str]) -> String {
    let program = format!("examples/lua/{name}");
    let output = run(&[&["run", program.as_str()], arguments].concat());
    let (stdout, stderr) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{name}: {}\n{stdout}{stderr}", output.status);
    stdout.into_owned()
}

/// How many packets a capture has.
fn packets(path: &str) -> String {
    let output = run(&["filter", "--count", "", path]);
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

#[test]
fn spray_drops_every_other_packet() {
    let folder = Scratch::new();
    let to = folder.path("out.pcap").display().to_string();
    let all: u32 = packets("captures/web.pcap").parse().expect("a number");
    let told = printed("spray.lua", &["captures/web.pcap", &to]);
    assert!(told.contains(&format!("dropped {} packets\n", all / 2)), "{told}");
    assert_eq!(packets(&to), all.div_ceil(2).to_string());
}

#[test]
fn count_counts_by_protocol() {
    let counted = printed("count.lua", &["captures/mixed.pcap"]);
    let of = |filter: &str| {
        let output = run(&["filter", "--count", filter, "captures/mixed.pcap"]);
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    };
    for (name, filter) in [("tcp", "tcp"), ("udp", "udp and not tcp"), ("arp", "arp")] {
        assert!(counted.contains(&format!("{name:<6} {}\n", of(filter))), "{name}: {counted}");
    }
}

#[test]
fn dump_prints_a_line_for_each_packet() {
    let dumped = printed("dump.lua", &["captures/web.pcap", "tcp port 80"]);
    let first = dumped.lines().next().expect("a line");
    assert!(first.starts_with("1  ") && first.contains(" | tcp "), "{first}");
    assert!(dumped.lines().all(|line| line.contains("80 > ") || line.contains("> 80 ")), "{dumped}");
}

#[test]
fn pcap_copy_cuts_packets() {
    let folder = Scratch::new();
    let to = folder.path("out.pcap").display().to_string();
    let all = packets("captures/web.pcap");
    let told = printed("pcap-copy.lua", &["captures/web.pcap", &to, "60"]);
    assert!(told.starts_with(&format!("copied {all} packets, cut ")), "{told}");
    assert_eq!(run(&["filter", "--count", "greater 61", &to]).stdout, b"0\n");
    assert_eq!(packets(&to), all);
}

#[test]
fn counters_are_seen() {
    assert_eq!(printed("counters.lua", &["1000"]), "1000 packets, of both sizes: true\n");
}

#[test]
fn timers_run() {
    let told = printed("timers.lua", &[]);
    assert!(told.starts_with("the repeating timer ran between 5 and 10 times: "), "{told}");
}

#[test]
fn reconfigure_keeps_what_stays() {
    let told = "start with label one\nlabel one becomes two\nstill the same app: true\npackets in each part: true\nstop with label two\n";
    assert_eq!(printed("reconfigure.lua", &[]), told);
}

#[test]
fn a_program_without_arguments_says_what_it_wants() {
    for name in ["spray.lua", "replay.lua", "count.lua", "dump.lua", "pcap-copy.lua", "at-least.lua"] {
        let output = run(&["run", &format!("examples/lua/{name}")]);
        assert_eq!(output.status.code(), Some(2), "{name}");
        assert!(output.stdout.starts_with(b"usage: "), "{name}");
    }
}
