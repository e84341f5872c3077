//! A folder for a test's files, and captures made by hand.

use std::path::{Path, PathBuf};
pub(crate) use testkit::files::Scratch;

/// A capture of the repository.
pub(crate) fn capture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../captures").join(name)
}

/// A packet as a capture holds it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Record {
    pub(crate) timestamp_ns: i64,
    pub(crate) wire_len: u32,
    pub(crate) linktype: wire::LinkType,
    pub(crate) data: Vec<u8>,
}

/// Every packet of a capture.
pub(crate) fn records(path: &Path) -> Vec<Record> {
    let mut reader = capture::Reader::open(path).unwrap_or_else(|error| panic!("{error}"));
    let mut records = Vec::new();
    while let Some(packet) = reader.next_packet().unwrap_or_else(|error| panic!("{error}")) {
        records.push(Record {
            timestamp_ns: packet.timestamp_ns,
            wire_len: packet.wire_len,
            linktype: packet.linktype,
            data: packet.data.to_vec(),
        });
    }
    records
}

/// A pcap file of microseconds, of packets given by timestamp in microseconds, length on the wire, and bytes.
pub(crate) fn pcap(packets: &[(u32, u32, Vec<u8>)]) -> Vec<u8> {
    let header = [0xa1b2_c3d4_u32, 4 << 16 | 2, 0, 0, 1 << 18, 1];
    let mut file: Vec<u8> = header.iter().flat_map(|field| field.to_le_bytes()).collect();
    for (us, wire_len, data) in packets {
        let fields = [us / 1_000_000, us % 1_000_000, data.len() as u32, *wire_len];
        file.extend(fields.iter().flat_map(|field| field.to_le_bytes()));
        file.extend_from_slice(data);
    }
    file
}
