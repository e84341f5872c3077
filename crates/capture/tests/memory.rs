//! What a decoder's history takes: alone in its process, whose memory it measures.
#![cfg(target_os = "linux")]

mod common;

use std::io::Write;
use std::sync::Arc;

use capture::{ByteOrder, Input};
use common::*;

const MIB: usize = 1 << 20;

/// Bytes of memory that the process has had since it was asked to forget.
fn peak() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<usize>().unwrap() << 10
}

/// Where the system does not let it, nothing can be measured.
fn forget_peak() -> std::io::Result<()> {
    std::fs::write("/proc/self/clear_refs", "5")
}

/// By how much it grows while something is done.
fn growth(act: impl FnOnce()) -> usize {
    forget_peak().unwrap();
    let before = peak();
    act();
    peak() - before
}

/// A capture of about so many bytes, in zstd with a history of 128 MiB.
fn with_long_history(len: usize) -> Vec<u8> {
    let mut encoder = zstd::Encoder::new(Vec::new(), 1).unwrap();
    encoder.window_log(27).unwrap();
    encoder.write_all(&pcap_header(ByteOrder::Little, MICRO, (2, 4), 262_144, 1).bytes).unwrap();
    let packet = Bytes::new(ByteOrder::Little).u32(0).u32(0).u32(65_520).u32(65_520).raw(&[7; 65_520]);
    (0..len / packet.bytes.len()).for_each(|_| encoder.write_all(&packet.bytes).unwrap());
    encoder.finish().unwrap()
}

#[test]
fn a_long_history_takes_what_was_decoded_and_once_for_many_inputs() {
    if let Err(error) = forget_peak() {
        drop(writeln!(std::io::stderr(), "SKIPPED: memory is not measured: /proc/self/clear_refs: {error}"));
        return;
    }
    let folder = std::env::temp_dir().join(format!("sluss-memory-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let (short, long) = (folder.join("short"), folder.join("long"));
    std::fs::write(&short, with_long_history(MIB)).unwrap();
    std::fs::write(&long, with_long_history(80 * MIB)).unwrap();
    let read = |path: &std::path::Path| {
        let mut reader = Input::File(path.to_owned()).open_asking(Arc::new(|| {})).unwrap();
        while reader.next_batch().unwrap().is_some() {}
    };
    let growths = [growth(|| read(&short)), growth(|| read(&long))];
    assert!(growths[0] < 8 * MIB && growths[1] > 64 * MIB && growths[1] < 96 * MIB, "{growths:?}");
    // Each in a thread of its own, one after the other, as where they take turns.
    let more = growth(|| (0..4).for_each(|_| std::thread::scope(|scope| _ = scope.spawn(|| read(&long)))));
    assert!(more < 32 * MIB, "{more}");
    std::fs::remove_dir_all(&folder).unwrap();
}
