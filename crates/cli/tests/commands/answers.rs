//! Answers about many captures and over time, and bytes below lines.

use crate::common::{self, arg, code, root, run, say, scratch, stderr, stdout};
use std::process::Command;

#[test]
fn each_capture_is_counted_by_itself() {
    let files = ["captures/web.pcap", "captures/tls.pcap", "captures/arp.pcap", "captures/web.pcap"];
    let files: Vec<&str> = files.into_iter().filter(|file| root().join(file).exists()).collect();
    let output = run(&[&["filter", "--per-file", "tcp port 80"], &files[..]].concat());
    let lines: Vec<String> = stdout(&output).lines().map(str::to_owned).collect();
    assert_eq!(lines.len(), files.len());
    for (line, file) in lines.iter().zip(&files) {
        let alone = stdout(&run(&["filter", "--count", "tcp port 80", file]));
        assert_eq!(*line, format!("{}\t{file}", alone.trim()));
    }
    // In one thread, and with a limit.
    let alone = run(&[&["filter", "-j1", "--per-file", "tcp port 80"], &files[..]].concat());
    assert_eq!(stdout(&alone), stdout(&output));
    let limited = run(&["filter", "--per-file", "-c", "3", "", "captures/web.pcap", "captures/tls.pcap"]);
    assert_eq!(stdout(&limited), "3\tcaptures/web.pcap\n");
    let two = run(&["filter", "--per-file", "captures/web.pcap", "-f", "ip", "-f", "ip6"]);
    assert_eq!(stdout(&two), "66\tcaptures/web.pcap\tip\n53\tcaptures/web.pcap\tip6\n");
    let json = run(&["filter", "--per-file", "--json", "captures/web.pcap", "-f", "ip"]);
    let first: serde_json::Value = serde_json::from_str(stdout(&json).lines().next().unwrap()).unwrap();
    assert_eq!((&first["file"], &first["filters"][0]["matched"]), (&"captures/web.pcap".into(), &66.into()));
    // What cannot be opened has no line.
    let output = run(&["filter", "--per-file", "arp", "captures/web.pcap", "captures/absent.pcap"]);
    assert_eq!((code(&output), stdout(&output).lines().count()), (5, 1), "{}", stderr(&output));
}

#[test]
fn captures_with_a_match_are_named() {
    let folder = scratch("with-matches");
    for (name, filter) in [("a.pcap", "tcp port 80"), ("b.pcap", "arp"), ("c.pcap", "tcp port 80")] {
        run(&["filter", filter, "captures/web.pcap", "-o", arg(&folder.join(name))]);
    }
    for jobs in ["-j1", "-j2"] {
        let output = run(&["filter", jobs, "--files-with-matches", "tcp", arg(&folder)]);
        let expected = ["a.pcap", "c.pcap"].map(|name| format!("{}\n", arg(&folder.join(name)))).concat();
        assert_eq!((code(&output), stdout(&output)), (0, expected));
        let output = run(&["filter", jobs, "--files-with-matches", "udp port 9", arg(&folder)]);
        assert_eq!((code(&output), stdout(&output)), (1, String::new()));
    }
}

#[test]
fn intervals_hold_all_that_matches() {
    let table = |flags: &[&str]| {
        let output = run(&[&["filter", "tcp", "captures/web.pcap", "captures/tls.pcap"], flags].concat());
        stdout(&output)
    };
    let lines = stdout(&run(&[
        "filter",
        "--fields",
        "frame.time_epoch,frame.len",
        "tcp",
        "captures/web.pcap",
        "captures/tls.pcap",
    ]));
    let mut expected: std::collections::BTreeMap<u64, (u64, u64)> = Default::default();
    for line in lines.lines() {
        let (time, len) = line.split_once('\t').unwrap();
        let sum = expected.entry(time.split_once('.').unwrap().0.parse().unwrap()).or_default();
        *sum = (sum.0 + 1, sum.1 + len.parse::<u64>().unwrap());
    }
    let expected: Vec<(u64, u64)> = expected.into_values().collect();
    let read = |text: String, separator| {
        let numbers = |line: &str| {
            let mut parts = line.split(separator).skip(1).map(|part: &str| part.parse().unwrap());
            (parts.next().unwrap(), parts.next().unwrap())
        };
        text.lines().map(numbers).collect::<Vec<(u64, u64)>>()
    };
    assert_eq!(read(table(&["--per-interval", "1s"]), '\t'), expected);
    assert_eq!(read(table(&["--per-interval", "1s", "-j1"]), '\t'), expected);
    let csv = table(&["--per-interval", "1s", "--csv"]);
    assert_eq!(csv.lines().next(), Some("time,packets,bytes"));
    assert_eq!(read(csv.lines().skip(1).map(|line| format!("{line}\n")).collect(), ','), expected);
    let json = table(&["--per-interval", "1000000", "--json"]);
    let first: serde_json::Value = serde_json::from_str(json.lines().next().unwrap()).unwrap();
    assert_eq!(first["packets"], expected.iter().map(|(packets, _)| packets).sum::<u64>());
    for wrong in ["0", "-1", "soon", "1e300"] {
        assert_eq!(
            code(&run(&["filter", "--per-interval", wrong, "tcp", "captures/web.pcap"])),
            2,
            "{wrong}"
        );
    }
}

/// The lines of bytes that a command prints.
fn bytes(mut command: Command) -> Vec<String> {
    let text = stdout(&command.current_dir(root()).output().unwrap());
    text.lines().filter(|line| line.starts_with("\t0x")).map(str::to_owned).collect()
}

#[test]
fn bytes_are_those_that_tcpdump_prints() {
    if Command::new("tcpdump").arg("--version").output().is_err() {
        return say("SKIPPED: bytes as tcpdump prints them: install tcpdump (Debian)");
    }
    for capture in [
        "web",
        "tls",
        "mixed",
        "vlan",
        "qinq",
        "icmp",
        "lan",
        "fragments",
        "loopback",
        "raw",
        "cooked-sll",
        "cooked-sll2",
        "mpls",
        "gre",
    ] {
        let path = format!("captures/{capture}.pcap");
        assert!(root().join(&path).exists(), "{path}");
        for flag in ["-x", "-X", "-xx", "-XX"] {
            let mut theirs = Command::new("tcpdump");
            theirs.args(["-nr", &path, flag]);
            let mut ours = common::sluss(&["filter", "", &path, flag]);
            ours.env_remove("NO_COLOR");
            let (ours, theirs) = (bytes(ours), bytes(theirs));
            let differs = ours.iter().zip(&theirs).position(|(ours, theirs)| ours != theirs);
            assert!(
                ours == theirs,
                "{path} {flag}: {differs:?} of {} and {}\n{:?}\n{:?}",
                ours.len(),
                theirs.len(),
                differs.map(|at| &ours[at]),
                differs.map(|at| &theirs[at])
            );
        }
    }
    // Text has no marks of its own: all of it behind the line of one packet.
    let behind = |mut command: Command| {
        let text = stdout(&command.current_dir(root()).output().unwrap());
        text.split_once('\n').map(|(_, behind)| behind.trim_end().to_owned())
    };
    for flag in ["-A", "-AA"] {
        let mut theirs = Command::new("tcpdump");
        theirs.args(["-nr", "captures/web.pcap", flag, "-c1", "tcp port 80 and tcp[32:4] = 0x47455420"]);
        let ours = common::sluss(&[
            "filter",
            "-c1",
            "tcp port 80 and tcp[32:4] = 0x47455420",
            "captures/web.pcap",
            flag,
        ]);
        assert_eq!(behind(ours), behind(theirs), "{flag}");
    }
}

#[test]
fn tags_that_are_in_the_way_are_told() {
    let told = |args: &[&str]| stderr(&run(&[&["filter", "--count"], args].concat()));
    let folder = scratch("tagged");
    // With packets that have tags only.
    let tagged = |capture: &str, tag: &str| {
        let out = folder.join(capture);
        run(&["filter", "-q", tag, &format!("captures/{capture}.pcap"), "-o", arg(&out)]);
        out
    };
    let (vlan, qinq) = (tagged("vlan", "vlan"), tagged("qinq", "vlan"));
    for (filter, capture, behind) in [
        ("tcp port 80", &vlan, "`vlan and (tcp port 80)` looks behind it"),
        ("icmp", &vlan, "`vlan and icmp` looks"),
        ("tcp port 80", &qinq, "a VLAN tag: `vlan and vlan and (tcp port 80)`"),
        (
            "icmp or udp port 9",
            &tagged("mpls", "mpls"),
            "an MPLS label: `mpls and mpls and (icmp or udp port 9)`",
        ),
    ] {
        let text = told(&[filter, arg(capture)]);
        assert!(text.contains("nothing matches") && text.contains(behind), "{filter} {capture:?}: {text}");
    }
    // Not where it would not match there, untagged packets are among them, or warnings are not wanted.
    for args in [
        &["sctp", arg(&vlan)][..],
        &["udp port 9", "captures/web.pcap"],
        &["tcp port 80", "captures/vlan.pcap"],
        &["tcp port 80", "-q", arg(&vlan)],
        &["udp port 9", arg(&vlan), "captures/web.pcap"],
    ] {
        assert!(!told(args).contains("nothing matches"), "{args:?}");
    }
}
