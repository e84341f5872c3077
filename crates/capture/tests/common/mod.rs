//! Captures built in memory, and readers that take them apart again.
#![allow(dead_code, unreachable_pub, reason = "every test file uses its own share")]

use std::io::Cursor;

use capture::{ByteOrder, Error, Reader, Writer};

/// Numbers in a byte order, appended.
pub struct Bytes {
    pub order: ByteOrder,
    pub bytes: Vec<u8>,
}

impl Bytes {
    pub fn new(order: ByteOrder) -> Bytes {
        Bytes { order, bytes: Vec::new() }
    }

    pub fn u16(mut self, value: u16) -> Bytes {
        self.bytes.extend(if self.order == ByteOrder::Big {
            value.to_be_bytes()
        } else {
            value.to_le_bytes()
        });
        self
    }

    pub fn u32(mut self, value: u32) -> Bytes {
        self.bytes.extend(if self.order == ByteOrder::Big {
            value.to_be_bytes()
        } else {
            value.to_le_bytes()
        });
        self
    }

    pub fn raw(mut self, bytes: &[u8]) -> Bytes {
        self.bytes.extend(bytes);
        self
    }

    pub fn option(self, code: u16, value: &[u8]) -> Bytes {
        let padding = value.len().next_multiple_of(4) - value.len();
        self.u16(code).u16(value.len() as u16).raw(value).raw(&[0; 3][..padding])
    }

    /// A pcapng block with this body, which is padded.
    pub fn block(self, kind: u32, body: impl FnOnce(Bytes) -> Bytes) -> Bytes {
        let mut body = body(Bytes::new(self.order)).bytes;
        body.resize(body.len().next_multiple_of(4), 0);
        let length = body.len() as u32 + 12;
        self.u32(kind).u32(length).raw(&body).u32(length)
    }

    /// A section header of version 1.0 and unknown length.
    pub fn section(self) -> Bytes {
        self.block(SECTION, |b| b.u32(0x1a2b_3c4d).u16(1).u16(0).raw(&[0xff; 8]))
    }

    /// An interface without options.
    pub fn interface(self, linktype: u16, snaplen: u32) -> Bytes {
        self.block(INTERFACE, |b| b.u16(linktype).u16(0).u32(snaplen))
    }

    /// An enhanced packet block.
    pub fn enhanced(self, interface: u32, ticks: u64, data: &[u8], wire_len: u32) -> Bytes {
        self.block(ENHANCED, |b| {
            b.u32(interface)
                .u32((ticks >> 32) as u32)
                .u32(ticks as u32)
                .u32(data.len() as u32)
                .u32(wire_len)
                .raw(data)
        })
    }
}

pub const SECTION: u32 = 0x0a0d_0d0a;
pub const INTERFACE: u32 = 1;
pub const OLD: u32 = 2;
pub const SIMPLE: u32 = 3;
pub const NAMES: u32 = 4;
pub const STATISTICS: u32 = 5;
pub const ENHANCED: u32 = 6;
pub const SECRETS: u32 = 10;
pub const CUSTOM: u32 = 0xbad;
pub const CUSTOM_NO_COPY: u32 = 0x4000_0bad;

pub const MICRO: u32 = 0xa1b2_c3d4;
pub const NANO: u32 = 0xa1b2_3c4d;
pub const MODIFIED: u32 = 0xa1b2_cd34;

pub const ORDERS: [ByteOrder; 2] = [ByteOrder::Little, ByteOrder::Big];

/// A pcap file header with nonsense in the fields nobody reads.
pub fn pcap_header(order: ByteOrder, magic: u32, version: (u16, u16), snaplen: u32, link: u32) -> Bytes {
    Bytes::new(order).u32(magic).u16(version.0).u16(version.1).u32(0).u32(0).u32(snaplen).u32(link)
}

/// One packet as a test sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen {
    pub data: Vec<u8>,
    pub wire_len: u32,
    pub timestamp_ns: i64,
    pub linktype: u32,
    pub interface: u32,
}

pub fn reader(bytes: &[u8]) -> Result<Reader, Error> {
    Reader::new(Cursor::new(bytes.to_vec()), "test")
}

/// Every packet, and the error that ended it.
pub fn read_all(bytes: &[u8]) -> (Vec<Seen>, Option<Error>) {
    match reader(bytes) {
        Ok(reader) => drain(reader),
        Err(error) => (Vec::new(), Some(error)),
    }
}

pub fn drain(mut reader: Reader) -> (Vec<Seen>, Option<Error>) {
    let mut seen = Vec::new();
    loop {
        match reader.next_packet() {
            Ok(Some(packet)) => seen.push(Seen {
                data: packet.data.to_vec(),
                wire_len: packet.wire_len,
                timestamp_ns: packet.timestamp_ns,
                linktype: packet.linktype.value(),
                interface: packet.interface,
            }),
            Ok(None) => return (seen, None),
            Err(error) => return (seen, Some(error)),
        }
    }
}

/// Every packet of a capture that must be sound.
pub fn packets(bytes: &[u8]) -> Vec<Seen> {
    let (seen, error) = read_all(bytes);
    assert!(error.is_none(), "{error:?}");
    seen
}

/// Writes what `keep` selects, by a number that counts over all inputs, and returns the output file.
pub fn copy(inputs: &[&[u8]], keep: impl Fn(usize) -> bool) -> Result<Vec<u8>, Error> {
    let mut file = Vec::new();
    let mut writer = Writer::new(&mut file, "out");
    let mut count = 0;
    for input in inputs {
        let mut reader = reader(input)?;
        while let Some(batch) = reader.next_batch()? {
            writer.write(&batch, (0..batch.len()).filter(|i| keep(count + i)))?;
            count += batch.len();
        }
    }
    writer.finish()?;
    Ok(file)
}
