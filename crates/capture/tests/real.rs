//! Real captures and tcpdump, where they are at hand: skipped aloud where they are not.

mod common;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use capture::{Input, expand};
use common::*;

/// The folder of real captures: `$SLUSS_SHARED/captures`, or beside the repository.
fn captures() -> Option<PathBuf> {
    let shared = std::env::var_os("SLUSS_SHARED")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared"), PathBuf::from);
    let folder = shared.join("captures");
    if !folder.is_dir() {
        say(&format!("SKIPPED: no captures in {} (set SLUSS_SHARED to use others)", folder.display()));
        return None;
    }
    Some(folder)
}

/// Past the capture of the test runner, which hides what passing tests print.
fn say(text: &str) {
    use std::io::Write;
    drop(writeln!(std::io::stderr(), "{text}"));
}

fn files() -> Vec<PathBuf> {
    let Some(folder) = captures() else { return Vec::new() };
    let inputs = expand([folder]).unwrap().inputs;
    inputs
        .into_iter()
        .map(|input| if let Input::File(path) = input { path } else { unreachable!() })
        .collect()
}

fn has_tcpdump() -> bool {
    let found = Command::new("tcpdump").arg("--version").output().is_ok();
    if !found {
        say("SKIPPED: copies are not compared with tcpdump's: install tcpdump (Debian)");
    }
    found
}

#[test]
fn real_captures_read_whole_and_copy_to_the_same_packets() {
    for path in files() {
        let bytes = fs::read(&path).unwrap();
        let all = packets(&bytes);
        let copied = copy(&[&bytes], |_| true).unwrap();
        assert_eq!(packets(&copied), all, "{}", path.display());
    }
}

/// What `tcpdump -r F -w O` writes is what we write, for files of native order and microseconds.
fn check_against_tcpdump(path: &Path, folder: &Path) {
    let bytes = fs::read(path).unwrap();
    let Some(magic) = bytes.first_chunk().map(|magic| u32::from_ne_bytes(*magic)) else { return };
    if magic != MICRO && magic != MODIFIED {
        return;
    }
    let out = folder.join("tcpdump.pcap");
    let run = Command::new("tcpdump").arg("-r").arg(path).arg("-w").arg(&out).output().unwrap();
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
    assert!(copy(&[&bytes], |_| true).unwrap() == fs::read(&out).unwrap(), "{}", path.display());
}

#[test]
fn output_equals_tcpdumps() {
    if !has_tcpdump() {
        return;
    }
    let folder = std::env::temp_dir().join(format!("sluss-real-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let odd = folder.join("odd.pcap");
    for (magic, version, snaplen, link) in [
        (MICRO, (2, 4), 65_535, 1),
        (MICRO, (2, 4), 0, 1),
        (MICRO, (2, 4), 0xffff_ffff, 249),
        // As long as the longest record: libpcap cuts longer ones, and the copy keeps them.
        (MICRO, (2, 4), 6, 1),
        (MICRO, (2, 3), 100, 113),
        (MICRO, (2, 2), 100, 1),
        (MICRO, (543, 0), 100, 1),
        (MICRO, (2, 4), 100, 12),
        (MICRO, (2, 4), 100, 0x2400_0001),
        (MODIFIED, (2, 4), 100, 1),
    ] {
        let swap = version.0 == 543 || version.1 < 3;
        let mut file = pcap_header(capture::ByteOrder::NATIVE, magic, version, snaplen, link);
        for data in [&b"abcdef"[..], b"", b"xyz"] {
            let (captured, wire) = (data.len() as u32, data.len() as u32 + 5);
            let (first, second) = if swap { (wire, captured) } else { (captured, wire) };
            file = file.u32(captured).u32(999).u32(first).u32(second);
            if magic == MODIFIED {
                file = file.raw(&[7; 8]);
            }
            file = file.raw(data);
        }
        fs::write(&odd, &file.bytes).unwrap();
        check_against_tcpdump(&odd, &folder);
    }
    for path in files() {
        check_against_tcpdump(&path, &folder);
    }
    fs::remove_dir_all(&folder).unwrap();
}
