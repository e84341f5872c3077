//! What goes into pipes and files that standard output is: lines, unless a capture is asked for.

use crate::common::{code, run, run_with_input, scratch, sluss, stderr, stdout};
use std::fs::File;

#[test]
fn lines_go_into_a_pipe_and_a_capture_on_request() {
    let lines = run(&["filter", "tcp port 80", "captures/web.pcap"]);
    assert!(stdout(&lines).lines().all(|line| line.starts_with("2026-") && line.contains(" > ")));
    assert_eq!(stdout(&lines), stdout(&run(&["filter", "--lines", "tcp port 80", "captures/web.pcap"])));
    let capture = run(&["filter", "tcp port 80", "captures/web.pcap", "-o", "-"]);
    let count = run_with_input(&["filter", "--count", "", "-"], &capture.stdout);
    assert_eq!(stdout(&count).trim(), stdout(&lines).lines().count().to_string());
}

#[test]
fn lines_that_are_read_as_a_capture_are_told_how_to_write_one() {
    let all: [&[&str]; 5] = [&[], &["-#"], &["--json"], &["--csv"], &["--fields", "ip.src"]];
    for how in all {
        let lines = run(&[&["filter", "tcp port 80", "captures/web.pcap"], how].concat());
        let output = run_with_input(&["filter", "tcp", "-"], &lines.stdout);
        assert_eq!(code(&output), 5, "{how:?}");
        assert!(stderr(&output).contains("not a pcap or pcapng capture"), "{}", stderr(&output));
        assert!(
            stderr(&output).contains("`sluss filter FILTER FILE -o - | …`"),
            "{how:?}: {}",
            stderr(&output)
        );
    }
    // None that match.
    let output = run_with_input(&["filter", "tcp", "-"], b"");
    assert!(stderr(&output).contains("-o - |"), "{}", stderr(&output));
    let output = run_with_input(&["filter", "tcp", "-"], b"\x7f\x01\x02\x03 no text");
    assert!(!stderr(&output).contains("-o - |"), "{}", stderr(&output));
}

#[test]
fn a_file_that_is_called_a_capture_and_gets_lines_is_warned_of() {
    let folder = scratch("stdout-names");
    for (name, flags, is_warned) in [
        ("out.pcap", &[][..], true),
        ("out.pcapng.zst", &["--json"], true),
        ("out.cap", &["--fields", "ip.src"], true),
        ("out.txt", &[], false),
        ("out.pcap", &["-q"], false),
        ("out.pcap", &["-o", "-"], false),
        ("out.pcap", &["--count"], false),
    ] {
        let mut command = sluss(&[&["filter", "tcp port 80", "captures/web.pcap"], flags].concat());
        let output = command.stdout(File::create(folder.join(name)).unwrap()).output().unwrap();
        assert_eq!(code(&output), 0);
        let told = stderr(&output).contains(&format!("-o {name}"));
        assert_eq!(told, is_warned, "{name} {flags:?}: {}", stderr(&output));
    }
}
