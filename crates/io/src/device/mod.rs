//! What devices have in common: names, why the kernel refuses a frame, packets to receive into, what to do when they disappear, or take
//! no packets.

mod outbox;
mod stall;
mod watch;

pub(crate) use outbox::{Attempt, Outbox, Sender};
pub(crate) use stall::StallWatch;
pub(crate) use watch::{EVERY_NS, Sight, Watch};

use crate::netdev::{self, LinkState, Offload};
use engine::shm::Counter;
use engine::{DeviceFacts, MAX_LARGE_PAYLOAD, MAX_PAYLOAD, Metadata, OptionError, Packet, Pool, Setup};
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

/// What the kernel knows of a device, and how it is used.
pub(crate) fn facts(device: &str, mode: &str, has_timestamps: bool) -> DeviceFacts {
    let is_on = |offload: &Offload| netdev::has_offload(device, *offload).unwrap_or(false);
    DeviceFacts {
        mode: mode.to_owned(),
        queues: 1,
        has_timestamps,
        is_up: netdev::link_state(device).ok().map(|state| state == LinkState::Up),
        offloads: Offload::ALL.into_iter().filter(is_on).map(Offload::name).collect(),
        ..DeviceFacts::default()
    }
}

/// How many bytes a text means: `4MB`, `512KB`, `1000`; MB and KB are powers of 1024.
pub(crate) fn check_size(option: &str, text: &str) -> Result<usize, OptionError> {
    let digits = text.trim_end_matches(|c: char| !c.is_ascii_digit());
    let unit = match text[digits.len()..].trim() {
        "" | "B" => Some(1),
        "KB" | "K" | "KiB" => Some(1 << 10),
        "MB" | "M" | "MiB" => Some(1 << 20),
        "GB" | "G" | "GiB" => Some(1 << 30),
        _ => None,
    };
    let bytes = unit.and_then(|unit: usize| digits.parse::<usize>().ok()?.checked_mul(unit));
    bytes.filter(|bytes| (4 << 10..=1 << 30).contains(bytes)).ok_or_else(|| {
        OptionError::new(option, format!("`{text}` is no size: write `4MB` or `512KB`, 4KB to 1GB"))
    })
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

#[cfg(test)]
mod tests {
    use super::check_size;

    #[test]
    fn sizes_are_read_in_their_units() {
        for (text, bytes) in [
            ("4MB", Some(4 << 20)),
            ("512 KiB", Some(512 << 10)),
            ("8192", Some(8192)),
            ("1G", Some(1 << 30)),
            ("2GB", None),
            ("1KB", None),
            ("MB", None),
            ("", None),
            ("4mb", None),
            ("-4MB", None),
            ("99999999999999999999GB", None),
            ("4\u{fc}", None),
        ] {
            assert_eq!(check_size("queue", text).ok(), bytes, "{text}");
        }
    }
}
