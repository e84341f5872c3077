//! The packets of a network device, as a capture that is read while it is made: without a graph.
//!
//! ```text
//!  Device::open ──► attach (a filter in the kernel) ──► start ──► Live: a pcap stream, from shared memory of the kernel
//! ```
//!
//! Nothing is received before [`Device::start`], so that no packet comes which the filter has not seen. The kernel takes the outer VLAN tag out
//! of a frame before its filter sees it; [`Live`] puts it back.

use crate::af_packet::ring::{FIRST_AT, FRAMES_AT, Ring, Unbound};
pub use crate::af_packet::ring::{Instruction, Step};
use crate::af_packet::{Framing, Peers};
use capture::{ByteOrder, Precision, Target};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::cell::Cell;
use std::io::{self, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use wire::LinkType;
use wire::ether::ethertype;

/// All devices, as libpcap calls them.
pub const ANY: &str = "any";
/// The most bytes of a packet that are captured unless less is asked for, as tcpdump has it.
pub const SNAPLEN_MAX: u32 = 262_144;
/// Bytes of shared memory unless another size is asked for.
pub const BUFFER_LEN: u64 = 8 << 20;

/// How long the kernel keeps frames of a block that is not full, in milliseconds.
const BLOCK_TIMEOUT_MS: u32 = 50;
/// How often who waits for frames looks whether it is to end.
const LOOK: Timespec = Timespec { tv_sec: 0, tv_nsec: 100_000_000 };

/// Bytes of a block that are no frame's: headers, and what the kernel leaves free.
const BLOCK_OVERHEAD: u32 = 4096;
const BLOCK_MIN: u32 = 128 << 10;
const BLOCK_MAX: u32 = 512 << 10;

/// Which packets are wanted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Way {
    /// Those that come in and those that leave.
    #[default]
    Both,
    /// Those that come in.
    In,
    /// Those that leave.
    Out,
}

/// How a device is captured from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// Its name, or [`ANY`].
    pub device: String,
    /// Whether frames for other stations are captured too.
    pub promiscuous: bool,
    /// Which way packets go.
    pub way: Way,
    /// Bytes of shared memory.
    pub buffer_len: u64,
    /// The most bytes of each packet.
    pub snaplen: u32,
}

/// What the kernel has refused.
#[derive(Debug)]
pub struct Refused {
    /// The step.
    pub step: Step,
    /// Why.
    pub error: io::Error,
}

impl From<(Step, io::Error)> for Refused {
    fn from((step, error): (Step, io::Error)) -> Self {
        Refused { step, error }
    }
}

/// What the kernel says of the frames of a capture: kept up to date while it is read.
#[derive(Debug, Default)]
pub struct Counts {
    received: AtomicU64,
    dropped: AtomicU64,
    read: AtomicU64,
    undecided_end: AtomicU64,
}

impl Counts {
    /// Frames that the filter in the kernel has let through, with those dropped.
    #[must_use]
    pub fn received(&self) -> u64 {
        self.received.load(Ordering::Relaxed)
    }

    /// Frames that the kernel has dropped, since there was no room for them.
    #[must_use]
    pub fn dropped(&self) -> u64 {
        self.dropped.load(Ordering::Relaxed)
    }

    /// Frames that were read, or left out since they went another way than was asked for.
    #[must_use]
    pub fn read(&self) -> u64 {
        self.read.load(Ordering::Relaxed)
    }

    /// Where in the stream of [`Live`] the last record ends whose frame the kernel's filter saw otherwise than it stands in the stream: without its VLAN
    /// tag, or with bytes that were cut off. Of each record from there on, the verdict of the kernel's filter is that of the record; 0 if there was
    /// no such frame.
    #[must_use]
    pub fn undecided_end(&self) -> u64 {
        self.undecided_end.load(Ordering::Relaxed)
    }
}

/// A device that is about to be captured from.
#[derive(Debug)]
pub struct Device {
    socket: Unbound,
    options: Options,
    linktype: LinkType,
}

impl Device {
    /// Opens a device. Nothing is received yet.
    ///
    /// # Errors
    /// If there is no such device, it is of a type without a link type, or the rights are missing.
    pub fn open(options: Options) -> Result<Device, Refused> {
        let name = Some(options.device.as_str()).filter(|name| *name != ANY);
        let socket = Unbound::open(name)?;
        let linktype = match name {
            None => LinkType::LINUX_SLL2,
            Some(name) => {
                let facts = socket.facts(name).map_err(|error| (Step::Device, error))?;
                if facts.hardware == libc::ARPHRD_LOOPBACK {
                    // What leaves comes in again.
                    socket.ignore_outgoing();
                }
                let peers = if facts.is_point_to_point { Peers::One } else { Peers::Several };
                let framing = Framing::of(facts.hardware, peers);
                let unsupported = || (Step::Hardware(facts.hardware), io::ErrorKind::Unsupported.into());
                framing.ok_or_else(unsupported)?.linktype()
            }
        };
        Ok(Device { socket, options, linktype })
    }

    /// What its packets begin with.
    #[must_use]
    pub fn linktype(&self) -> LinkType {
        self.linktype
    }

    /// Has the kernel ask a program about each frame, without its outer VLAN tag, and without a link header where packets of all devices are
    /// captured. It returns how many bytes are kept.
    ///
    /// # Errors
    /// If the kernel does not take the program.
    pub fn attach(&self, program: &[Instruction]) -> io::Result<()> {
        self.socket.attach(program)
    }

    /// Receives from now on.
    ///
    /// # Errors
    /// If the kernel refuses.
    pub fn start(self) -> Result<Live, Refused> {
        let Device { socket, options, linktype } = self;
        // Packets of all devices come as each device is set.
        if options.promiscuous && options.device != ANY {
            socket.be_promiscuous().map_err(|error| (Step::Promiscuous, error))?;
        }
        if options.way == Way::In {
            socket.ignore_outgoing();
        }
        // Four blocks at least: with two, frames are lost as soon as a reader is late for the time after which a block is handed over.
        let quarter = (options.buffer_len / 4).clamp(BLOCK_MIN.into(), BLOCK_MAX.into()).ilog2();
        let block_len = options.snaplen.saturating_add(BLOCK_OVERHEAD).next_power_of_two();
        let block_len = block_len.clamp(BLOCK_MIN, 1 << quarter);
        let blocks = (options.buffer_len / u64::from(block_len)).clamp(2, 1 << 20) as u32;
        let ring = socket.start((block_len, blocks), BLOCK_TIMEOUT_MS)?;
        let header = Target::Pcap {
            order: ByteOrder::NATIVE,
            precision: Precision::Micro,
            snaplen: options.snaplen,
            linktype,
            link_bits: 0,
        }
        .file_header();
        let frames = Frames {
            ring,
            place: Place::default(),
            is_cooked: options.device == ANY,
            takes_tags: linktype == LinkType::EN10MB,
            options,
        };
        let encoded = header.len() as u64;
        Ok(Live { frames, encoded, pending: header, taken: 0, failure: None, counts: Arc::default() })
    }
}

/// The packets of a device, as a pcap file in the byte order of the machine, with times in microseconds.
///
/// A read waits for packets, and returns [`io::ErrorKind::Interrupted`] ten times a second meanwhile, so that whoever reads can look whether to
/// end.
#[derive(Debug)]
pub struct Live {
    frames: Frames,
    /// Bytes of the stream that were made so far, with those that are pending.
    encoded: u64,
    /// What had no room in a buffer: the header of the file at first.
    pending: Vec<u8>,
    /// Bytes of it that are read.
    taken: usize,
    /// What the next read fails with.
    failure: Option<io::Error>,
    counts: Arc<Counts>,
}

/// The frames in the memory that is shared with the kernel, in turn.
#[derive(Debug)]
struct Frames {
    ring: Ring,
    place: Place,
    is_cooked: bool,
    takes_tags: bool,
    options: Options,
}

/// How far the current block is read.
#[derive(Clone, Copy, Debug, Default)]
struct Place {
    /// Whether there is one.
    is_begun: bool,
    /// Where the next frame begins.
    next: usize,
    /// Frames from there on.
    left: u32,
}

impl Live {
    /// What the kernel says of the frames.
    #[must_use]
    pub fn counts(&self) -> Arc<Counts> {
        Arc::clone(&self.counts)
    }

    /// Asks the kernel for its counts, which begin from 0 then.
    fn count(&self) {
        if let Ok((received, dropped)) = self.frames.ring.counts() {
            self.counts.received.fetch_add(received.into(), Ordering::Relaxed);
            self.counts.dropped.fetch_add(dropped.into(), Ordering::Relaxed);
        }
    }

    /// Waits for a block, a tenth of a second at most.
    fn wait(&self) -> io::Result<()> {
        let mut asked = [PollFd::new(&self.frames.ring, PollFlags::IN | PollFlags::ERR)];
        let told = poll(&mut asked, Some(&LOOK));
        let is_error = asked[0].revents().contains(PollFlags::ERR);
        if is_error && let Ok(Err(error)) = rustix::net::sockopt::socket_error(&self.frames.ring) {
            // A device that goes down may come up again.
            if error != rustix::io::Errno::NETDOWN {
                return Err(error.into());
            }
            if self.frames.options.device != ANY && !self.frames.ring.has_device() {
                return Err(io::Error::new(io::ErrorKind::NotConnected, "the device is gone"));
            }
        }
        match told {
            Ok(1..) if !is_error => Ok(()),
            Ok(_) => {
                self.count();
                if self.frames.options.device != ANY && !self.frames.ring.has_device() {
                    return Err(io::Error::new(io::ErrorKind::NotConnected, "the device is gone"));
                }
                Err(io::ErrorKind::Interrupted.into())
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Puts whole records of the blocks that are there into a buffer; of one for which there is no room, nothing. Returns how many bytes.
    fn copy(&mut self, out: &mut [u8]) -> usize {
        let (mut filled, mut undecided_end) = (0, None);
        let Live { frames, encoded, pending, taken, .. } = self;
        let read = frames.each(|record, is_decided| {
            // Nothing comes behind a record that is pending.
            if *taken < pending.len() {
                return false;
            }
            let end = filled + record.len();
            match out.get_mut(filled..end) {
                Some(room) => {
                    record.write(room);
                    filled = end;
                }
                None if filled > 0 => return false,
                // The buffer is shorter than this record alone.
                None => {
                    pending.clear();
                    pending.resize(record.len(), 0);
                    record.write(pending);
                    *taken = 0;
                }
            }
            if !is_decided {
                undecided_end = Some(*encoded + end as u64);
            }
            true
        });
        let made = if filled > 0 { filled } else { pending.len() - *taken };
        *encoded += made as u64;
        self.counts.read.fetch_add(read, Ordering::Relaxed);
        if let Some(end) = undecided_end {
            self.counts.undecided_end.store(end, Ordering::Relaxed);
        }
        filled
    }

    /// Takes records out of the stream, up to the first that the kernel has not decided about ([`Counts::undecided_end`]), or until there are about
    /// `len` bytes, and puts them behind `out`. Waits for a tenth of a second at most. Returns how many; 0 as well where a read is to be made:
    /// it has more to say, or waits longer.
    pub fn take_decided(&mut self, out: &mut Vec<u8>, len: usize) -> u64 {
        if self.taken < self.pending.len() {
            return 0;
        }
        let (records, is_behind) = (Cell::new(0), Cell::new(false));
        let mut take = |frames: &mut Frames| {
            frames.each(|record, is_decided| {
                is_behind.set(!is_decided);
                let takes = is_decided && out.len() < len;
                if takes {
                    record.append(out);
                    records.set(records.get() + 1);
                }
                takes
            })
        };
        let mut read = take(&mut self.frames);
        if records.get() == 0 && !is_behind.get() {
            match self.wait() {
                Ok(()) => read += take(&mut self.frames),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => self.failure = Some(error),
            }
        }
        self.counts.read.fetch_add(read, Ordering::Relaxed);
        records.get()
    }

    /// Copies what had no room before.
    fn copy_pending(&mut self, out: &mut [u8]) -> usize {
        let rest = &self.pending[self.taken..];
        let len = rest.len().min(out.len());
        out[..len].copy_from_slice(&rest[..len]);
        self.taken += len;
        len
    }
}

impl Frames {
    /// Hands on the record of each frame that is there and wanted, and whether the kernel has decided about it, until one is refused: that comes again.
    /// Returns how many frames were passed.
    fn each(&mut self, mut take: impl FnMut(&FrameRecord<'_>, bool) -> bool) -> u64 {
        let mut passed = 0;
        while let Some(block) = self.ring.block() {
            if !self.place.is_begun {
                self.place = Place {
                    is_begun: true,
                    next: u32_at(block, FIRST_AT) as usize,
                    left: u32_at(block, FRAMES_AT),
                };
            }
            while self.place.left > 0 {
                let Some(frame) = Frame::at(block, self.place.next) else {
                    // The kernel writes no such block.
                    self.place.left = 0;
                    break;
                };
                if frame.is_wanted(self.options.way) {
                    let record = frame.record(self.is_cooked, self.takes_tags, self.options.snaplen);
                    if !take(&record, frame.is_decided(self.is_cooked)) {
                        return passed;
                    }
                }
                passed += 1;
                self.place.pass(frame.next);
            }
            self.place.is_begun = false;
            self.ring.give_back();
        }
        passed
    }
}

impl Place {
    /// Goes on behind a frame.
    fn pass(&mut self, next: usize) {
        self.next = self.next.saturating_add(next);
        self.left -= 1;
    }
}

impl Read for Live {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if out.is_empty() {
            return Ok(0);
        }
        if let Some(error) = self.failure.take() {
            return Err(error);
        }
        loop {
            if self.taken < self.pending.len() {
                return Ok(self.copy_pending(out));
            }
            let copied = self.copy(out);
            if copied > 0 {
                return Ok(copied);
            }
            if self.taken == self.pending.len() {
                self.wait()?;
            }
        }
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        self.count();
    }
}

/// A frame in a block: `tpacket3_hdr`, and behind it `sockaddr_ll`.
#[derive(Clone, Copy, Debug)]
struct Frame<'a> {
    /// Where the next begins, from this one.
    next: usize,
    seconds: u32,
    nanoseconds: u32,
    /// Bytes that it had.
    wire_len: u32,
    data: &'a [u8],
    /// The tag that the kernel took out.
    vlan: Option<(u16, u16)>,
    /// The rest of the header, from the family of the address on.
    address: &'a [u8],
}

const HEADER_LEN: usize = 48;
const ADDRESS_LEN: usize = 20;
/// Bytes of LINKTYPE_LINUX_SLL2.
const COOKED_LEN: usize = 20;
/// Bytes of a record's header in pcap.
const RECORD_LEN: usize = 16;
/// Where a VLAN tag is, and how long: after both addresses.
const TAG_AT: usize = 12;
const TAG_LEN: usize = 4;

impl<'a> Frame<'a> {
    /// The frame that begins there in a block, if it lies in it.
    fn at(block: &'a [u8], at: usize) -> Option<Frame<'a>> {
        let bytes = block.get(at..)?;
        let header = bytes.get(..HEADER_LEN + ADDRESS_LEN)?;
        let status = u32_at(header, 20);
        let (captured, begin) = (u32_at(header, 12) as usize, usize::from(u16_at(header, 24)));
        let vlan = (status & libc::TP_STATUS_VLAN_VALID != 0).then(|| {
            let is_known = status & libc::TP_STATUS_VLAN_TPID_VALID != 0;
            let tpid = if is_known { u16_at(header, 36) } else { 0x8100 };
            (tpid, u32_at(header, 32) as u16)
        });
        Some(Frame {
            next: u32_at(header, 0) as usize,
            seconds: u32_at(header, 4),
            nanoseconds: u32_at(header, 8),
            wire_len: u32_at(header, 16),
            data: bytes.get(begin..begin.checked_add(captured)?)?,
            vlan,
            address: &header[HEADER_LEN..],
        })
    }

    /// Whether it goes that way. What leaves by a loopback device comes in again, and is seen then.
    fn is_wanted(&self, way: Way) -> bool {
        let is_outgoing = self.address[10] == libc::PACKET_OUTGOING;
        if is_outgoing && native_u16_at(self.address, 8) == libc::ARPHRD_LOOPBACK {
            return false;
        }
        match way {
            Way::Both => true,
            Way::In => !is_outgoing,
            Way::Out => is_outgoing,
        }
    }

    /// Whether the kernel's filter saw it as its record has it: the same bytes, with no tag taken out. Without link headers a tag may be in the
    /// protocol alone, and its rest at the beginning of the data.
    fn is_decided(&self, is_cooked: bool) -> bool {
        let protocol = u16::from_be_bytes([self.address[2], self.address[3]]);
        let is_tag = is_cooked && matches!(protocol, ethertype::VLAN | ethertype::QINQ);
        self.vlan.is_none() && !is_tag && self.data.len() == self.wire_len as usize
    }

    /// Its record in a pcap file.
    ///
    /// PERF: out of line it would go through memory, written in halves and read as a whole, for which the processor waits.
    #[inline(always)]
    fn record(&self, is_cooked: bool, takes_tags: bool, snaplen: u32) -> FrameRecord<'a> {
        let mut before = [0; COOKED_LEN];
        let (before_len, data, split) = match self.vlan {
            _ if is_cooked => {
                let address = self.address;
                before[..2].copy_from_slice(&address[2..4]);
                before[4..8].copy_from_slice(&native_u32_at(address, 4).to_be_bytes());
                before[8..10].copy_from_slice(&native_u16_at(address, 8).to_be_bytes());
                before[10..12].copy_from_slice(&address[10..12]);
                before[12..].copy_from_slice(&address[12..20]);
                // The kernel may have longer ones.
                before[11] = before[11].min(8);
                (COOKED_LEN, self.data, 0)
            }
            Some((tpid, tci)) if takes_tags && self.data.len() >= TAG_AT => {
                before[..2].copy_from_slice(&tpid.to_be_bytes());
                before[2..4].copy_from_slice(&tci.to_be_bytes());
                (TAG_LEN, self.data, TAG_AT)
            }
            _ => (0, self.data, 0),
        };
        let captured = (data.len() + before_len).min(snaplen as usize);
        let wire_len = self.wire_len.saturating_add(before_len as u32);
        let time = (self.seconds, self.nanoseconds / 1000);
        FrameRecord { time, wire_len, captured, data, split, before, before_len }
    }
}

/// A frame as a record of pcap: so many bytes of its data, then what was put in, then the rest.
#[derive(Clone, Copy, Debug)]
struct FrameRecord<'a> {
    time: (u32, u32),
    wire_len: u32,
    captured: usize,
    data: &'a [u8],
    split: usize,
    before: [u8; COOKED_LEN],
    before_len: usize,
}

impl FrameRecord<'_> {
    fn len(&self) -> usize {
        RECORD_LEN + self.captured
    }

    /// Its header, and what stands behind it in order; all together is as long as the record, or longer.
    fn parts(&self) -> ([u8; RECORD_LEN], [&[u8]; 3]) {
        let mut header = [0; RECORD_LEN];
        let fields = [self.time.0, self.time.1, self.captured as u32, self.wire_len];
        header
            .chunks_exact_mut(4)
            .zip(fields)
            .for_each(|(to, field)| to.copy_from_slice(&field.to_ne_bytes()));
        (header, [&self.data[..self.split], &self.before[..self.before_len], &self.data[self.split..]])
    }

    /// Writes it to as many bytes as it has.
    fn write(&self, out: &mut [u8]) {
        let (header, parts) = self.parts();
        let (to, mut rest) = out.split_at_mut(RECORD_LEN);
        to.copy_from_slice(&header);
        if self.before_len == 0 {
            // PERF: one copy for most frames, where the loop below makes three.
            return rest.copy_from_slice(&self.data[..rest.len()]);
        }
        for part in parts {
            let len = part.len().min(rest.len());
            let (to, behind) = rest.split_at_mut(len);
            to.copy_from_slice(&part[..len]);
            rest = behind;
        }
    }

    /// Puts it behind others.
    fn append(&self, out: &mut Vec<u8>) {
        let (header, parts) = self.parts();
        let end = out.len() + self.len();
        out.reserve(self.len());
        out.extend_from_slice(&header);
        if self.before_len == 0 {
            return out.extend_from_slice(&self.data[..self.captured]);
        }
        parts.into_iter().for_each(|part| out.extend_from_slice(part));
        out.truncate(end);
    }
}

fn native_u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_ne_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

fn native_u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_ne_bytes([bytes[at], bytes[at + 1]])
}

/// Numbers of the kernel's headers, which are in the byte order of the machine.
fn u32_at(bytes: &[u8], at: usize) -> u32 {
    native_u32_at(bytes, at)
}

fn u16_at(bytes: &[u8], at: usize) -> u16 {
    native_u16_at(bytes, at)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(data: &[u8], status: u32, (tpid, tci): (u16, u16), kind: u8) -> Vec<u8> {
        let mut block = vec![0; 80];
        block.extend_from_slice(data);
        let mut put = |at: usize, bytes: &[u8]| block[at..at + bytes.len()].copy_from_slice(bytes);
        put(4, &7_u32.to_ne_bytes());
        put(8, &8_999_u32.to_ne_bytes());
        put(12, &(data.len() as u32).to_ne_bytes());
        put(16, &100_u32.to_ne_bytes());
        put(20, &status.to_ne_bytes());
        put(24, &80_u16.to_ne_bytes());
        put(32, &u32::from(tci).to_ne_bytes());
        put(36, &tpid.to_ne_bytes());
        put(50, &0x0800_u16.to_be_bytes());
        put(52, &3_u32.to_ne_bytes());
        put(56, &1_u16.to_ne_bytes());
        put(58, &[kind, 6, 2, 0, 0, 0, 0, 9]);
        block
    }

    fn written(record: &FrameRecord<'_>) -> Vec<u8> {
        let mut out = vec![0; record.len()];
        record.write(&mut out);
        let mut appended = vec![7];
        record.append(&mut appended);
        assert_eq!(appended[1..], out);
        out
    }

    #[test]
    fn a_tag_is_put_back_where_it_was() {
        let data: Vec<u8> = (0..20).collect();
        let valid = libc::TP_STATUS_VLAN_VALID | libc::TP_STATUS_VLAN_TPID_VALID;
        let block = frame(&data, valid, (0x88a8, 0x1234), 0);
        let frame = Frame::at(&block, 0).unwrap();
        let out = written(&frame.record(false, true, SNAPLEN_MAX));
        let expected = [&data[..12], &[0x88, 0xa8, 0x12, 0x34], &data[12..]].concat();
        assert_eq!(out[RECORD_LEN..], expected);
        let fields = [7, 8, 24, 104_u32].map(u32::to_ne_bytes).concat();
        assert_eq!(out[..RECORD_LEN], fields);
        // No longer than asked for.
        assert_eq!(written(&frame.record(false, true, 14))[RECORD_LEN..], expected[..14]);
        assert_eq!(written(&frame.record(false, false, 100))[RECORD_LEN..], data);
    }

    #[test]
    fn packets_of_all_devices_have_a_header_of_their_own() {
        let block = frame(&[0x45, 1, 2], 0, (0, 0), libc::PACKET_OUTGOING);
        let frame = Frame::at(&block, 0).unwrap();
        let out = written(&frame.record(true, false, SNAPLEN_MAX));
        let expected = [8, 0, 0, 0, 0, 0, 0, 3, 0, 1, 4, 6, 2, 0, 0, 0, 0, 9, 0, 0, 0x45, 1, 2];
        assert_eq!(out[RECORD_LEN..], expected);
        assert!(frame.is_wanted(Way::Both) && frame.is_wanted(Way::Out) && !frame.is_wanted(Way::In));
    }

    #[test]
    fn the_kernel_has_decided_for_frames_that_it_saw_as_they_are() {
        let data = [1; 100];
        let is_decided = |bytes: &[u8], status, is_cooked| {
            let block = frame(bytes, status, (0x8100, 7), 0);
            Frame::at(&block, 0).unwrap().is_decided(is_cooked)
        };
        assert!(is_decided(&data, 0, false) && is_decided(&data, 0, true));
        assert!(!is_decided(&data, libc::TP_STATUS_VLAN_VALID, false));
        assert!(!is_decided(&data[..99], 0, false), "it had 100 bytes");
        // An older kernel says of a tag in a cooked frame nothing but the protocol.
        let mut block = frame(&data, 0, (0, 0), 0);
        block[50..52].copy_from_slice(&0x88a8_u16.to_be_bytes());
        let frame = Frame::at(&block, 0).unwrap();
        assert!(frame.is_decided(false) && !frame.is_decided(true));
    }

    #[test]
    fn a_frame_beyond_its_block_is_none() {
        let mut block = frame(&[1, 2, 3], 0, (0, 0), 0);
        assert!(Frame::at(&block, 0).is_some());
        block[12] = 4;
        assert!(Frame::at(&block, 0).is_none());
        assert!(Frame::at(&block, 60).is_none() && Frame::at(&block, usize::MAX).is_none());
    }
}
