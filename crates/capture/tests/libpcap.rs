//! Odd files that are read here otherwise than by libpcap: lines of COMPAT.md. Where tcpdump is at hand it is asked too.

mod common;

use std::process::Command;

use capture::{BlockProblem, ByteOrder, ErrorKind};
use common::*;

const LITTLE: ByteOrder = ByteOrder::Little;

fn pcap(order: ByteOrder) -> Vec<u8> {
    pcap_header(order, MICRO, (2, 4), 65_535, 1).u32(1).u32(0).u32(4).u32(4).raw(b"abcd").bytes
}

fn pcapng(order: ByteOrder) -> Vec<u8> {
    Bytes::new(order).section().interface(1, 0).enhanced(0, 5, b"abcd", 4).bytes
}

/// An interface with these options, and one packet.
fn with_options(options: impl FnOnce(Bytes) -> Bytes) -> Vec<u8> {
    let file = Bytes::new(LITTLE).section().block(INTERFACE, |b| options(b.u16(1).u16(0).u32(0)));
    file.enhanced(0, 5, b"abcd", 4).bytes
}

fn say_skipped() {
    use std::io::Write;
    let text = "SKIPPED: libpcap is not asked about odd files: install tcpdump (Debian)";
    drop(writeln!(std::io::stderr(), "{text}"));
}

/// Whether libpcap reads this file to its end; what it says of it otherwise holds these words. Without tcpdump nobody is asked.
#[track_caller]
fn assert_libpcap(file: &[u8], expected: Result<(), &str>) {
    let place = std::panic::Location::caller().line();
    let path = std::env::temp_dir().join(format!("sluss-libpcap-{}-{place}", std::process::id()));
    std::fs::write(&path, file).unwrap();
    let output = Command::new("tcpdump").args(["-n", "-w", "/dev/null", "-r"]).arg(&path).output();
    std::fs::remove_file(&path).unwrap();
    let Ok(output) = output else { return say_skipped() };
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    match expected {
        Ok(()) => assert!(output.status.success(), "{told}"),
        Err(words) => assert!(!output.status.success() && told.contains(words), "{told}"),
    }
}

#[test]
fn joined_files_are_one_to_libpcap() {
    for second in [pcap(LITTLE), pcapng(LITTLE)] {
        let joined = [pcap(LITTLE), second].concat();
        assert_eq!(packets(&joined).len(), 2);
        assert_libpcap(&joined, Err("pcap"));
    }
}

#[test]
fn sections_may_differ_in_byte_order() {
    assert_eq!(packets(&[pcapng(LITTLE), pcapng(ByteOrder::Big)].concat()).len(), 2);
    assert_libpcap(&[pcapng(LITTLE), pcapng(ByteOrder::Big)].concat(), Err("block size"));
    assert_libpcap(&[pcapng(LITTLE), pcapng(LITTLE)].concat(), Ok(()));
}

#[test]
fn a_section_without_an_interface_has_no_packets() {
    let file = Bytes::new(LITTLE).section().bytes;
    assert_eq!(packets(&file), []);
    assert_libpcap(&file, Err("no Interface Description Blocks"));
}

/// Not a difference: nobody knows which of two counts.
#[test]
fn what_times_depend_on_is_said_once() {
    let file = with_options(|b| b.option(9, &[6]).option(9, &[9]).u32(0));
    let error = read_all(&file).1.unwrap();
    let told = "test: byte 28: bad interface description block: option 9 stands there twice, and the times of packets depend on it";
    assert_eq!(error.to_string(), told);
    assert_libpcap(&file, Err("more than one if_tsresol"));
    let file = with_options(|b| b.option(14, &[0; 8]).option(14, &[0; 8]).u32(0));
    assert!(read_all(&file).1.is_some());
    assert_libpcap(&file, Err("more than one if_tsoffset"));
}

#[test]
fn the_end_of_options_may_have_a_length() {
    let file = with_options(|b| b.option(9, &[6]).option(0, &[0; 4]));
    assert_eq!(packets(&file).len(), 1);
    assert_libpcap(&file, Err("opt_endofopt"));
}

#[test]
fn interfaces_beyond_65536_are_refused() {
    let interfaces = Bytes::new(LITTLE).interface(1, 0).bytes.repeat(65_537);
    let file = Bytes::new(LITTLE).section().raw(&interfaces).enhanced(0, 5, b"abcd", 4).bytes;
    let problem = BlockProblem::TooManyInterfaces { limit: 65_536 };
    let error = read_all(&file).1.unwrap();
    assert!(matches!(error.kind(), ErrorKind::Block { problem: p, .. } if *p == problem), "{error}");
    assert_libpcap(&file, Ok(()));
}

#[test]
fn packets_of_pcapng_may_be_longer_than_the_snap_length_and_any_in_pcap() {
    let file = |snaplen: u32, len: u32| {
        let data = vec![7; len as usize];
        let file = Bytes::new(LITTLE).section().interface(1, snaplen);
        file.enhanced(0, 5, &data, len).enhanced(0, 6, b"abcd", 4).bytes
    };
    for (snaplen, len) in [(3, 4), (0, 262_145), (1 << 20, 262_145)] {
        let file = file(snaplen, len);
        assert_eq!(
            packets(&file).iter().map(|packet| packet.data.len()).collect::<Vec<_>>(),
            [len as usize, 4]
        );
        assert_eq!(copy(&[&file], |_| true).unwrap(), file);
    }
    assert_libpcap(&file(0, 262_144), Ok(()));
    assert_libpcap(&file(3, 4), Err("bigger than snaplen of 3"));
    assert_libpcap(&file(0, 262_145), Err("bigger than snaplen of 262144"));
}

/// libpcap cuts them: what tcpdump writes is shorter than the file.
#[test]
fn records_of_pcap_may_be_longer_than_the_snap_length() {
    let file = pcap_header(LITTLE, MICRO, (2, 4), 3, 1).u32(1).u32(0).u32(5).u32(9).raw(b"abcde").bytes;
    assert_eq!(packets(&file)[0].data, b"abcde");
    assert_eq!(copy(&[&file], |_| true).unwrap(), file);
    let path = std::env::temp_dir().join(format!("sluss-libpcap-{}-snap", std::process::id()));
    std::fs::write(&path, &file).unwrap();
    let output = Command::new("tcpdump").args(["-w", "-", "-r"]).arg(&path).output();
    std::fs::remove_file(&path).unwrap();
    match output {
        Ok(output) => assert_eq!(packets(&output.stdout)[0].data, b"abc"),
        Err(_) => say_skipped(),
    }
}
