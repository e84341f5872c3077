//! The classic pcap format (draft-ietf-opsawg-pcap).
//!
//! ```text
//! file header, 24 bytes                    record header, 16 bytes (24 in the modified format)
//!  0 magic      a1b2c3d4 microseconds       0 seconds
//!               a1b23c4d nanoseconds        4 micro- or nanoseconds
//!               a1b2cd34 modified           8 captured length
//!  4 version    2.4 (2.0-2.3, 543.0)       12 length on the wire
//!  8 zone, accuracy: always 0             [16 interface 4, protocol 2, kind 1, padding 1]
//! 16 snap length                          then the captured bytes
//! 20 FCS bits and link type
//! ```
//!
//! The magic's byte order is the order of all numbers. Before version 2.3 the two lengths stood the other way
//! round, in 2.3 files either order occurs; version 543.0 is DG/UX, with the old order. All of this follows
//! libpcap's `sf-pcap.c`, as does refusing a record that exceeds any sane length.
//!
//! COMPAT: libpcap cuts a record that exceeds the file's snap length; here it keeps all its bytes.
//!
//! COMPAT: libpcap turns a few host-order fields inside packets of a byte-swapped file (USB, CAN in cooked
//! captures, NFLOG, the pf log's ids); packets here are the file's bytes, unchanged.

use wire::LinkType;

use crate::block_type;
use crate::error::ErrorKind;
use crate::found::{Found, Interface, Record, Stop};
use crate::order::ByteOrder;
use crate::time::{NS_PER_S, Precision, Resolution};

pub(crate) const FILE_HEADER_LEN: usize = 24;
/// Where the header states the snap length.
pub(crate) const SNAPLEN_AT: u64 = 16;
pub(crate) const RECORD_HEADER_LEN: usize = 16;
const MODIFIED_RECORD_HEADER_LEN: usize = 24;

pub(crate) const MAGIC_MICRO: u32 = 0xa1b2_c3d4;
pub(crate) const MAGIC_NANO: u32 = 0xa1b2_3c4d;
const MAGIC_MODIFIED: u32 = 0xa1b2_cd34;
const MAGICS: [u32; 3] = [MAGIC_MICRO, MAGIC_NANO, MAGIC_MODIFIED];

/// The link type's share of the last header field; what is above it describes the frame check sequence.
const LINKTYPE_MASK: u32 = 0x03ff_ffff;
/// "The next field is valid", and the field: the FCS length in units of two bytes.
const FCS_PRESENT: u32 = 0x0400_0000;

/// How far ahead of the walk a byte is touched, see [`PcapHeader::scan_plain`].
const WARM_AHEAD: usize = 1 << 10;

/// Snap lengths beyond `INT_MAX` are nonsense to libpcap.
const SNAPLEN_SANE_MAX: u32 = i32::MAX as u32;

/// The longest record of a pcap file, by link type: libpcap's limits, except for D-Bus, where libpcap allows 128 MiB.
pub(crate) fn captured_max(linktype: LinkType) -> u32 {
    match linktype {
        LinkType::DBUS => 16 << 20,
        LinkType::EBHSCR => 8 << 20,
        LinkType::USBPCAP => 1 << 20,
        _ => 256 << 10,
    }
}

/// The file header of a pcap file, understood.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PcapHeader {
    /// Byte order of the file's numbers.
    pub order: ByteOrder,
    /// The unit of the fraction of a timestamp.
    pub precision: Precision,
    /// Major and minor version.
    pub version: (u16, u16),
    /// The most bytes kept of a packet, as libpcap understands the field: 0 and nonsense mean the maximum, and
    /// the modified format gets the room of an Ethernet header on top. Some writers exceed what they state.
    pub snaplen: u32,
    /// The link type of the packets.
    pub linktype: LinkType,
    /// The bits above the link type, as they are in the file: the frame check sequence.
    pub link_bits: u32,
    /// Whether records have the longer header of magic a1b2cd34.
    pub modified: bool,
    lengths: Lengths,
}

/// In which order a record holds its two lengths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Lengths {
    CapturedFirst,
    WireFirst,
    /// Version 2.3: the smaller one is the captured one.
    Either,
}

/// The byte order and the magic, if these are the first bytes of a pcap file.
pub(crate) fn recognise(head: &[u8]) -> Option<(ByteOrder, u32)> {
    let magic = head.first_chunk::<4>()?;
    [(ByteOrder::Little, u32::from_le_bytes(*magic)), (ByteOrder::Big, u32::from_be_bytes(*magic))]
        .into_iter()
        .find(|(_, magic)| MAGICS.contains(magic))
}

/// Whether these bytes begin a pcap file, in the middle of another one: where two were joined by `cat`. As the header of a record they
/// would be that of a packet without a byte in the year 2055 or later.
pub(crate) fn begins_file(bytes: &[u8]) -> bool {
    let zone_and_accuracy = bytes.get(8..16).is_some_and(|zeros| zeros == [0; 8]);
    zone_and_accuracy
        && recognise(bytes).is_some_and(|(order, _)| lengths_of(version(bytes, order)).is_some())
}

fn version(header: &[u8], order: ByteOrder) -> (u16, u16) {
    (order.u16(header, 4), order.u16(header, 6))
}

/// How files of a version hold lengths; `None` if it is not known.
fn lengths_of(version: (u16, u16)) -> Option<Lengths> {
    match version {
        (2, 0..=2) | (543, 0) => Some(Lengths::WireFirst),
        (2, 3) => Some(Lengths::Either),
        (2, 4) => Some(Lengths::CapturedFirst),
        _ => None,
    }
}

/// Whether a pcap file may have these as its first bytes, of which there are less than a magic has.
pub(crate) fn may_begin_with(start: &[u8]) -> bool {
    MAGICS
        .iter()
        .any(|magic| magic.to_le_bytes().starts_with(start) || magic.to_be_bytes().starts_with(start))
}

impl PcapHeader {
    /// Reads a header whose magic [`recognise`] has found.
    pub(crate) fn parse(
        bytes: &[u8; FILE_HEADER_LEN],
        order: ByteOrder,
        magic: u32,
    ) -> Result<PcapHeader, ErrorKind> {
        let version = version(bytes, order);
        let (major, minor) = version;
        let lengths = lengths_of(version).ok_or(ErrorKind::Version { format: "pcap", major, minor })?;
        let link = order.u32(bytes, 20);
        let linktype = LinkType::new(link & LINKTYPE_MASK).canonical();
        let modified = magic == MAGIC_MODIFIED;
        // Cooked captures of the patched libpcap put an Ethernet header in front of what the snap length bounds.
        let faked_header_len = if modified && linktype == LinkType::EN10MB { 14 } else { 0 };
        Ok(PcapHeader {
            order,
            precision: if magic == MAGIC_NANO { Precision::Nano } else { Precision::Micro },
            version,
            snaplen: (understood_snaplen(order.u32(bytes, 16), linktype) + faked_header_len)
                .min(SNAPLEN_SANE_MAX),
            linktype,
            link_bits: link & !LINKTYPE_MASK,
            modified,
            lengths,
        })
    }

    /// Whether a record can be copied byte by byte into a new file of the same order and precision.
    pub(crate) fn is_plain(&self) -> bool {
        !self.modified && self.lengths == Lengths::CapturedFirst
    }

    /// Whether its snap length is no shorter than the longest record that a pcap file of its link type may have.
    #[must_use]
    pub fn takes_every_packet(&self) -> bool {
        self.snaplen >= captured_max(self.linktype)
    }

    fn record_header_len(&self) -> usize {
        if self.modified { MODIFIED_RECORD_HEADER_LEN } else { RECORD_HEADER_LEN }
    }

    /// The one interface of such a file.
    pub(crate) fn interface(&self) -> Interface {
        let tsresol = if self.precision == Precision::Nano { 9 } else { 6 };
        Interface {
            linktype: self.linktype,
            snaplen: self.snaplen,
            resolution: Resolution::from_tsresol(tsresol).expect("both fit 64 bits"),
            fcs_len: fcs_len(self.link_bits),
        }
    }

    #[inline]
    pub(crate) fn timestamp_ns(&self, record: &[u8]) -> i64 {
        let (seconds, fraction) = (self.order.u32(record, 0), self.order.u32(record, 4));
        i64::from(seconds) * NS_PER_S + i64::from(fraction) * i64::from(self.precision.ns_per_unit())
    }

    /// Whether these bytes begin with a whole record. Of a packet without bytes, which may be the beginning of another file, and of old versions
    /// that is not known: `false`.
    pub(crate) fn has_record(&self, bytes: &[u8]) -> bool {
        let captured = bytes.first_chunk::<RECORD_HEADER_LEN>().map_or(0, |header| self.order.u32(header, 8));
        self.is_plain() && captured > 0 && bytes.len() - RECORD_HEADER_LEN >= captured as usize
    }

    /// Finds records from `pos` on until `found` is full, the bytes run out, or another file begins; returns where it stopped.
    pub(crate) fn scan(&self, bytes: &[u8], pos: usize, found: &mut Found) -> (usize, Stop) {
        match self.order {
            _ if !self.is_plain() => self.scan_odd(bytes, pos, found),
            ByteOrder::Little => self.scan_plain::<false>(bytes, pos, found),
            ByteOrder::Big => self.scan_plain::<true>(bytes, pos, found),
        }
    }

    /// The hot loop: two loads, two compares and a push per packet.
    ///
    /// PERF: where the next header lies is known only when this one has been read, so the walk waits for the
    /// cache at every packet. Touching a byte far ahead, whose value nobody waits for, brings its line closer in
    /// time: 2 million packets, walk and a filter over them, 42.6 ms of CPU without and 39.7 with. It is a load
    /// rather than a prefetch instruction because that one is not in safe Rust.
    ///
    /// PERF: it writes into slots that are there already; a push for each packet reloads and stores the length and
    /// keeps the chain of touched bytes in memory. Filtering 2 million packets: 96 ms of CPU with
    /// pushes, 66 with slots (`tcp port 80`, a quarter matches, on a machine with other work).
    ///
    /// The header of another file, read as that of a record, is a packet without a byte. One compare finds both these and lengths beyond
    /// the limit, since 0 less 1 is the largest number.
    ///
    /// PERF: the subtraction costs nothing that could be measured (2 million packets, walks with and without it in turns in one process, four
    /// times 101 rounds: medians of the ratio 0.92 to 1.00). To look for empty packets in what a walk has found cost 2 to 7 %.
    fn scan_plain<const BIG: bool>(&self, bytes: &[u8], mut pos: usize, found: &mut Found) -> (usize, Stop) {
        let order = if BIG { ByteOrder::Big } else { ByteOrder::Little };
        let captured_max = captured_max(self.linktype);
        let mut warmed = 0;
        let mut count = 0;
        let mut stop = Stop::Full;
        for slot in found.packets.free() {
            warmed ^= bytes.get(pos + WARM_AHEAD).copied().unwrap_or_default();
            let Some(header) = bytes[pos..].first_chunk::<RECORD_HEADER_LEN>() else {
                stop = need_header(RECORD_HEADER_LEN);
                break;
            };
            let (stored, wire_len) = (order.u32(header, 8), order.u32(header, 12));
            if stored.wrapping_sub(1) >= captured_max {
                if stored == 0 && begins_file(&bytes[pos..]) {
                    stop = Stop::File;
                    break;
                }
                match self.record(bytes, pos, stored, wire_len) {
                    Ok(packet) => *slot = packet,
                    Err(bad) => {
                        stop = bad;
                        break;
                    }
                }
            } else {
                let raw_len = RECORD_HEADER_LEN + stored as usize;
                if raw_len > bytes.len() - pos {
                    stop = need_data(raw_len);
                    break;
                }
                *slot = Record {
                    offset: (pos + RECORD_HEADER_LEN) as u32,
                    captured_len: stored,
                    wire_len,
                    interface: 0,
                    raw_offset: pos as u32,
                    raw_len: raw_len as u32,
                };
            }
            pos += slot.raw_len as usize;
            count += 1;
        }
        std::hint::black_box(warmed);
        found.packets.take(count);
        (pos, stop)
    }

    /// Old versions and the modified format.
    fn scan_odd(&self, bytes: &[u8], mut pos: usize, found: &mut Found) -> (usize, Stop) {
        while !found.is_full() {
            // In these files what would follow need not be too long.
            if begins_file(&bytes[pos..]) || block_type::begins_file(&bytes[pos..]) {
                return (pos, Stop::File);
            }
            let Some(header) = bytes[pos..].get(..self.record_header_len()) else {
                return (pos, need_header(self.record_header_len()));
            };
            let (first, second) = (self.order.u32(header, 8), self.order.u32(header, 12));
            let (stored, wire_len) = match self.lengths {
                Lengths::CapturedFirst => (first, second),
                Lengths::WireFirst => (second, first),
                Lengths::Either => (first.min(second), first.max(second)),
            };
            match self.record(bytes, pos, stored, wire_len) {
                Ok(packet) => {
                    pos = packet.raw_end() as usize;
                    found.packets.push(packet);
                }
                Err(stop) => return (pos, stop),
            }
        }
        (pos, Stop::Full)
    }

    /// A record of any length; refuses a senseless one.
    fn record(&self, bytes: &[u8], pos: usize, stored: u32, wire_len: u32) -> Result<Record, Stop> {
        let limit = captured_max(self.linktype);
        if stored > limit {
            return Err(Stop::Bad(ErrorKind::TooLong {
                what: "packet record",
                claimed: stored.into(),
                limit: limit.into(),
            }));
        }
        let offset = pos + self.record_header_len();
        let next = offset + stored as usize;
        if next > bytes.len() {
            return Err(need_data(next - pos));
        }
        Ok(Record {
            offset: offset as u32,
            captured_len: stored,
            wire_len,
            interface: 0,
            raw_offset: pos as u32,
            raw_len: (next - pos) as u32,
        })
    }
}

/// Bytes of frame check sequence behind each packet, if the bits above the link type say so.
pub(crate) fn fcs_len(link_bits: u32) -> Option<u8> {
    (link_bits & FCS_PRESENT != 0).then_some((link_bits >> 28) as u8 * 2)
}

/// The bits above the link type for so many bytes of frame check sequence: an even number up to 30.
pub(crate) fn fcs_bits(len: u8) -> Option<u32> {
    (len.is_multiple_of(2) && len <= 30).then_some(u32::from(len / 2) << 28 | FCS_PRESENT)
}

/// What a snap length means to libpcap: 0 and nonsense are the maximum.
pub(crate) fn understood_snaplen(stored: u32, linktype: LinkType) -> u32 {
    match stored {
        1..=SNAPLEN_SANE_MAX => stored,
        _ => captured_max(linktype),
    }
}

fn need_header(bytes: usize) -> Stop {
    Stop::Need { bytes, what: "packet record header" }
}

fn need_data(bytes: usize) -> Stop {
    Stop::Need { bytes, what: "packet record" }
}
