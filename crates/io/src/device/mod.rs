//! What devices have in common: names, why the kernel refuses a frame, packets to receive into, what to do when they disappear.

mod outbox;
mod watch;

pub(crate) use outbox::{Attempt, Outbox, Sender};
pub(crate) use watch::{EVERY_NS, Sight, Watch};

use engine::shm::Counter;
use engine::{MAX_LARGE_PAYLOAD, MAX_PAYLOAD, Metadata, OptionError, Packet, Pool, Setup};
use rustix::net::{AddressFamily, SocketType, netdevice};
use std::io;
use wire::LinkType;

/// Bytes of the longest name of a device (IFNAMSIZ, without the zero).
const NAME_MAX: usize = 15;
/// Timestamps are in nanoseconds.
const PRECISION: u8 = 9;

/// Whether this can be the name of a device.
pub(crate) fn check_name(option: &str, name: &str) -> Result<(), OptionError> {
    let good = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    match name {
        "" => Err(OptionError::new(option, "is not set: which device?")),
        "." | ".." => Err(OptionError::new(option, format!("`{name}` is no name for a device"))),
        _ if name.len() > NAME_MAX || !name.chars().all(good) => Err(OptionError::new(
            option,
            format!(
                "`{name}` is no name for a device: use 1 to {NAME_MAX} letters, digits, `_`, `-` and `.`"
            ),
        )),
        _ => Ok(()),
    }
}

/// What a device is called, by the kernel's number.
pub(crate) fn name_of(index: u32) -> Option<String> {
    // A socket of any kind will do to ask.
    let socket = rustix::net::socket(AddressFamily::UNIX, SocketType::DGRAM, None).ok()?;
    netdevice::index_to_name(socket, index).ok()
}

/// A packet with room for all but the longest frames.
pub(crate) fn roomy(pool: &mut Pool) -> Option<Packet> {
    let mut packet = pool.allocate()?;
    // A new packet is empty, so the longest payload fits.
    packet.open_back(MAX_PAYLOAD).ok()?;
    Some(packet)
}

/// Bytes of the longest frame that a usual packet has no room for: they are received apart, and joined to the others in a large one.
pub(crate) const REST_MAX: usize = MAX_LARGE_PAYLOAD - MAX_PAYLOAD;

/// Makes a packet in whose room a frame of `len` bytes began as long as that; `rest` begins with what had no room there, and `more` bytes
/// are going to be put before. If it cannot be done, says why.
#[cold]
pub(crate) fn complete(
    packet: &mut Packet,
    len: usize,
    rest: &[u8],
    more: usize,
    pool: &mut Pool,
) -> Result<(), Long> {
    if len + more > pool.max_len() {
        return Err(Long::TooLong);
    }
    if !pool.make_room(packet, len + more) {
        return Err(Long::NoPacket);
    }
    // All of a usual packet was opened for the frame.
    let count = len.saturating_sub(packet.len());
    packet.append(&rest[..count]).map_err(|_| Long::TooLong)
}

/// Why a long frame is dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Long {
    /// It is longer than any packet.
    TooLong,
    /// The pool has no large packet.
    NoPacket,
}

/// What is known of a frame that a device has received just now.
pub(crate) fn metadata(timestamp_ns: u64, interface: u32, linktype: LinkType) -> Metadata {
    Metadata {
        timestamp_ns,
        linktype: u16::try_from(linktype.value()).unwrap_or(u16::MAX),
        interface,
        precision: PRECISION,
        ..Metadata::default()
    }
}

/// Why the kernel does not take a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    TooShort,
    TooLong,
    Down,
    NoBuffers,
    Other,
}

impl Refusal {
    pub(crate) fn of(error: &io::Error) -> Self {
        match error.raw_os_error() {
            Some(libc::EINVAL) => Refusal::TooShort,
            Some(libc::EMSGSIZE) => Refusal::TooLong,
            Some(libc::ENETDOWN | libc::ENXIO | libc::EIO | libc::ENODEV | libc::EBADFD) => Refusal::Down,
            Some(libc::ENOBUFS | libc::ENOMEM | libc::EAGAIN) => Refusal::NoBuffers,
            _ => Refusal::Other,
        }
    }
}

/// A counter for each reason.
#[derive(Debug)]
pub(crate) struct Refusals {
    too_short: Counter,
    too_long: Counter,
    no_packet: Counter,
    down: Counter,
    no_buffers: Counter,
    other: Counter,
}

impl Refusals {
    pub(crate) fn new(setup: &mut Setup<'_>) -> Self {
        Refusals {
            too_short: setup.drops("too_short"),
            too_long: setup.drops("too_long"),
            no_packet: setup.drops("no_packet"),
            down: setup.drops("down"),
            no_buffers: setup.drops("no_buffers"),
            other: setup.drops("send_error"),
        }
    }

    /// The counter of a frame that came, and was too long for its packet.
    pub(crate) fn long(&self, long: Long) -> &Counter {
        match long {
            Long::TooLong => &self.too_long,
            Long::NoPacket => &self.no_packet,
        }
    }

    pub(crate) fn counter(&self, refusal: Refusal) -> &Counter {
        match refusal {
            Refusal::TooShort => &self.too_short,
            Refusal::TooLong => &self.too_long,
            Refusal::Down => &self.down,
            Refusal::NoBuffers => &self.no_buffers,
            Refusal::Other => &self.other,
        }
    }
}
