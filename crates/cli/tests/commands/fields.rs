//! `filter --fields`: the values of tshark, for every field and packet of the captures at hand.

use crate::common::{arg, code, root, run, say, scratch, stderr, stdout};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

/// All names but that of the file, which is ours.
fn names() -> Vec<String> {
    let list = stdout(&run(&["filter", "--fields", "help"]));
    list.lines()
        .filter_map(|line| line.split(' ').next())
        .filter(|name| *name != "file")
        .map(String::from)
        .collect()
}

/// The cells of a table without a header.
fn cells(table: &str) -> Vec<Vec<&str>> {
    table.lines().map(|line| line.split('\t').collect()).collect()
}

/// The same table by tshark.
fn tsharks(capture: &Path, names: &[String]) -> Option<String> {
    let off = ["ip.defragment", "ipv6.defragment", "tcp.desegment_tcp_streams"];
    let output = Command::new("tshark")
        .args(["-n", "-r", arg(capture), "-T", "fields", "-E", "occurrence=f"])
        .args(off.map(|option| format!("-o{option}:FALSE")))
        .args(names.iter().map(|name| format!("-e{name}")))
        .output()
        .ok()?;
    Some(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Fields of messages that tshark puts together from segments, or leaves out where it has seen the segment before.
fn is_of_streams(name: &str) -> bool {
    ["dns.", "tls.", "http."].iter().any(|protocol| name.starts_with(protocol))
}

#[test]
fn values_are_those_of_tshark() {
    let names = names();
    let mut captures: Vec<PathBuf> = std::fs::read_dir(root().join("captures"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.to_string_lossy().contains(".pcap"))
        .collect();
    captures.sort();
    let (mut values, mut others) = (0, BTreeMap::<&str, usize>::new());
    for capture in captures {
        let Some(expected) = tsharks(&capture, &names) else {
            return say("SKIPPED: no tshark (Debian: tshark)");
        };
        let output = run(&["filter", "-q", "--fields", &names.join(","), "", arg(&capture)]);
        assert_eq!(code(&output), 0, "{}", stderr(&output));
        let table = stdout(&output);
        let (ours, expected) = (cells(&table), cells(&expected));
        assert_eq!(ours.len(), expected.len(), "{}", capture.display());
        for (number, (ours, expected)) in (1..).zip(ours.iter().zip(&expected)) {
            for ((name, ours), expected) in names.iter().zip(ours).zip(expected) {
                values += usize::from(!ours.is_empty());
                if ours == expected {
                    continue;
                }
                let how = format!("{} {number} {name}: `{ours}` and not `{expected}`", capture.display());
                assert!(is_of_streams(name) && (ours.is_empty() || expected.is_empty()), "{how}");
                *others.entry(name).or_default() += 1;
            }
        }
    }
    say(&format!("{values} values; of messages in streams: {others:?}"));
    assert!(values > 50_000, "{values}");
    assert!(others.values().sum::<usize>() < 100, "{others:?}");
}

#[test]
fn csv_is_read_back_as_it_was() {
    let folder = scratch("csv");
    let odd = folder.join("a \"b\", c.pcap");
    std::fs::copy(root().join("captures/web.pcap"), &odd).unwrap();
    let output = run(&["filter", "--csv", "--fields", "file,frame.number", "-c1", "", arg(&odd)]);
    let quoted = arg(&odd).replace('"', "\"\"");
    assert_eq!(stdout(&output), format!("file,frame.number\r\n\"{quoted}\",1\r\n"));
    let output = run(&["filter", "--csv", "--fields", "ip.src", "udp port 9", "captures/web.pcap"]);
    assert_eq!((code(&output), stdout(&output)), (1, "ip.src\r\n".to_owned()), "the header alone");
}

#[test]
fn objects_have_numbers_and_flags() {
    let output = run(&[
        "filter",
        "--json",
        "--fields",
        "ip.id,tcp.flags.syn,udp.length,ip.src",
        "-c1",
        "tcp",
        "captures/web.pcap",
    ]);
    let object: serde_json::Value = serde_json::from_str(&stdout(&output)).unwrap();
    assert!(object["ip_id"].is_u64() && object["udp_length"].is_null(), "{object}");
    assert_eq!((&object["tcp_flags_syn"], &object["ip_src"]), (&true.into(), &"192.0.2.10".into()));
}

#[test]
fn what_does_not_go_together_is_refused() {
    for line in [
        &["--fields", "ip.src", "--count"][..],
        &["--fields", "ip.src", "-o", "x.pcap"],
        &["--csv", "--lines"],
        &["--csv", "--json"],
        &["--fields", ""],
        &["--fields", "ip.src,,ip.dst"],
    ] {
        let output = run(&[&["filter", "ip", "captures/web.pcap"], line].concat());
        assert_eq!((code(&output), stdout(&output)), (2, String::new()), "{line:?}");
    }
}
