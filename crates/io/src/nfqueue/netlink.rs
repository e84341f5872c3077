//! Messages of the kernel's packet queues: what linux/netfilter/nfnetlink_queue.h says, over netlink(7).
//!
//! ```text
//! length 4 | type 2 | flags 2 | sequence 4 | port 4 │ family 1 | version 1 | queue 2 │ attributes: length 2 | type 2 | value, padded to 4
//! ```
//!
//! Headers and lengths are in the machine's byte order, values in the network's.

/// Bytes of both headers.
const HEADER_LEN: usize = 20;
const ATTRIBUTE_LEN: usize = 4;

const NLM_F_REQUEST: u16 = 1;
const NLM_F_ACK: u16 = 4;
const NLMSG_ERROR: u16 = 2;
/// `NFNL_SUBSYS_QUEUE`, above the kind of message.
const SUBSYSTEM: u16 = 3 << 8;
const MSG_PACKET: u16 = SUBSYSTEM;
const MSG_VERDICT: u16 = SUBSYSTEM | 1;
const MSG_CONFIG: u16 = SUBSYSTEM | 2;

const CFG_CMD: u16 = 1;
const CFG_PARAMS: u16 = 2;
const CFG_QUEUE_MAXLEN: u16 = 3;
const CFG_MASK: u16 = 4;
const CFG_FLAGS: u16 = 5;
const CMD_BIND: u8 = 1;
const COPY_PACKET: u8 = 2;
/// The kernel lets packets pass when the queue is full.
pub(super) const FLAG_FAIL_OPEN: u32 = 1;
/// Segments come before they are cut.
pub(super) const FLAG_GSO: u32 = 4;

const PACKET_HDR: u16 = 1;
const VERDICT_HDR: u16 = 2;
const MARK: u16 = 3;
const INDEV: u16 = 5;
const OUTDEV: u16 = 6;
const PAYLOAD: u16 = 10;
const CAP_LEN: u16 = 13;
const SKB_INFO: u16 = 14;
const CHECKSUM_NOT_READY: u32 = 1;

/// Bytes of the longest packet that comes whole: the length of an attribute has 16 bits.
pub(super) const PAYLOAD_MAX: usize = u16::MAX as usize - ATTRIBUTE_LEN;

/// What becomes of a packet (linux/netfilter.h).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    Drop = 0,
    Accept = 1,
}

/// A message that is being put together behind others.
struct Message<'m> {
    out: &'m mut Vec<u8>,
    start: usize,
}

impl<'m> Message<'m> {
    fn begin(out: &'m mut Vec<u8>, kind: u16, flags: u16, queue: u16) -> Self {
        let start = out.len();
        out.extend_from_slice(&[0; 4]);
        out.extend_from_slice(&kind.to_ne_bytes());
        out.extend_from_slice(&(NLM_F_REQUEST | flags).to_ne_bytes());
        // Sequence, port, family, version.
        out.extend_from_slice(&[0; 10]);
        out.extend_from_slice(&queue.to_be_bytes());
        Message { out, start }
    }

    fn attribute(self, kind: u16, parts: &[&[u8]]) -> Self {
        let len = ATTRIBUTE_LEN + parts.iter().map(|part| part.len()).sum::<usize>();
        debug_assert!(len <= usize::from(u16::MAX), "an attribute of {len} bytes");
        self.out.extend_from_slice(&(len as u16).to_ne_bytes());
        self.out.extend_from_slice(&kind.to_ne_bytes());
        parts.iter().for_each(|part| self.out.extend_from_slice(part));
        self.out.resize(self.out.len() + len.next_multiple_of(4) - len, 0);
        self
    }

    fn end(self) {
        let len = (self.out.len() - self.start) as u32;
        self.out[self.start..self.start + 4].copy_from_slice(&len.to_ne_bytes());
    }
}

/// Asks for all packets of a queue, which holds `len` of them. The kernel answers each of both messages.
pub(super) fn bind(queue: u16, len: u32, flags: u32) -> [Vec<u8>; 2] {
    let mut messages = [Vec::new(), Vec::new()];
    let [bind, settings] = &mut messages;
    Message::begin(bind, MSG_CONFIG, NLM_F_ACK, queue).attribute(CFG_CMD, &[&[CMD_BIND, 0, 0, 0]]).end();
    Message::begin(settings, MSG_CONFIG, NLM_F_ACK, queue)
        .attribute(CFG_PARAMS, &[&(PAYLOAD_MAX as u32).to_be_bytes(), &[COPY_PACKET]])
        .attribute(CFG_QUEUE_MAXLEN, &[&len.to_be_bytes()])
        .attribute(CFG_FLAGS, &[&flags.to_be_bytes()])
        .attribute(CFG_MASK, &[&(FLAG_FAIL_OPEN | FLAG_GSO).to_be_bytes()])
        .end();
    messages
}

/// Adds what becomes of a packet; with other bytes, or another mark, where these are given.
pub(super) fn put_verdict(
    out: &mut Vec<u8>,
    queue: u16,
    id: u32,
    verdict: Verdict,
    bytes: Option<&[u8]>,
    mark: Option<u32>,
) {
    let mut message = Message::begin(out, MSG_VERDICT, 0, queue)
        .attribute(VERDICT_HDR, &[&(verdict as u32).to_be_bytes(), &id.to_be_bytes()]);
    if let Some(mark) = mark {
        message = message.attribute(MARK, &[&mark.to_be_bytes()]);
    }
    if let Some(bytes) = bytes {
        message = message.attribute(PAYLOAD, &[bytes]);
    }
    message.end();
}

/// What the kernel sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event<'b> {
    /// A packet that waits for its verdict.
    Packet(Queued<'b>),
    /// The answer to a message: 0, or the number of an error.
    Answer(i32),
}

/// A packet in a queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Queued<'b> {
    /// Its number in the queue.
    pub id: u32,
    /// The queue.
    pub queue: u16,
    /// The bytes that came.
    pub payload: &'b [u8],
    /// Bytes that it has in all.
    pub len: u32,
    /// Its mark.
    pub mark: u32,
    /// The device it came by, and that it leaves by; 0 for none.
    pub devices: [u32; 2],
    /// Whether its checksum was left to the device.
    pub lacks_checksum: bool,
}

/// The messages in what one read brought, as far as they are whole.
pub fn events(mut bytes: &[u8]) -> impl Iterator<Item = Event<'_>> {
    std::iter::from_fn(move || {
        loop {
            let len = u32_ne(bytes, 0)? as usize;
            let message = bytes.get(..len).filter(|message| message.len() >= HEADER_LEN)?;
            bytes = bytes.get(len.next_multiple_of(4)..).unwrap_or_default();
            match u16_ne(message, 4)? {
                NLMSG_ERROR => return Some(Event::Answer(u32_ne(message, 16)?.cast_signed())),
                MSG_PACKET => {
                    if let Some(packet) = queued(message) {
                        return Some(Event::Packet(packet));
                    }
                }
                _ => {}
            }
        }
    })
}

/// Reads the message of a packet; `None` for one without a number.
fn queued(message: &[u8]) -> Option<Queued<'_>> {
    let mut packet = Queued { queue: u16::from_be_bytes(array(message, 18)?), ..Queued::default() };
    let (mut has_id, mut len) = (false, None);
    let mut rest = &message[HEADER_LEN..];
    while let Some(attribute_len) = u16_ne(rest, 0).map(usize::from) {
        let Some(attribute) = rest.get(ATTRIBUTE_LEN..attribute_len) else { break };
        let number = || array(attribute, 0).map(u32::from_be_bytes);
        // The two highest bits say something of the value's form.
        match u16_ne(rest, 2).unwrap_or(0) & 0x3fff {
            PACKET_HDR => (packet.id, has_id) = (number()?, true),
            MARK => packet.mark = number()?,
            INDEV => packet.devices[0] = number()?,
            OUTDEV => packet.devices[1] = number()?,
            PAYLOAD => packet.payload = attribute,
            CAP_LEN => len = number(),
            SKB_INFO => packet.lacks_checksum = number()? & CHECKSUM_NOT_READY != 0,
            _ => {}
        }
        rest = rest.get(attribute_len.next_multiple_of(4)..).unwrap_or_default();
    }
    packet.len = len.unwrap_or(0).max(packet.payload.len() as u32);
    has_id.then_some(packet)
}

fn u16_ne(bytes: &[u8], at: usize) -> Option<u16> {
    array(bytes, at).map(u16::from_ne_bytes)
}

fn u32_ne(bytes: &[u8], at: usize) -> Option<u32> {
    array(bytes, at).map(u32::from_ne_bytes)
}

fn array<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..)?.first_chunk().copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As the kernel writes it.
    fn packet(id: u32, payload: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        Message::begin(&mut out, MSG_PACKET, 0, 7)
            .attribute(PACKET_HDR, &[&id.to_be_bytes(), &[8, 0, 2]])
            .attribute(OUTDEV, &[&3_u32.to_be_bytes()])
            .attribute(SKB_INFO, &[&3_u32.to_be_bytes()])
            .attribute(PAYLOAD | 0x8000, &[payload])
            .end();
        out
    }

    #[test]
    fn packets_are_read_one_behind_the_other() {
        let bytes = [packet(1, b"abcde"), packet(2, b"")].concat();
        let first = Queued {
            id: 1,
            queue: 7,
            payload: b"abcde",
            len: 5,
            devices: [0, 3],
            lacks_checksum: true,
            ..Queued::default()
        };
        let second = Queued { id: 2, payload: b"", len: 0, ..first };
        assert_eq!(events(&bytes).collect::<Vec<_>>(), [Event::Packet(first), Event::Packet(second)]);
    }

    #[test]
    fn verdicts_of_several_packets_are_one_text() {
        let mut out = Vec::new();
        put_verdict(&mut out, 7, 1, Verdict::Accept, Some(b"abc"), Some(9));
        assert_eq!(out.len(), 20 + 12 + 8 + 8);
        put_verdict(&mut out, 7, 2, Verdict::Drop, None, None);
        assert_eq!(out.len(), 48 + 20 + 12);
        assert_eq!((u32_ne(&out, 0), u32_ne(&out, 48)), (Some(48), Some(32)));
        assert_eq!(&out[48 + 24..], [0, 0, 0, 0, 0, 0, 0, 2]);
    }

    #[test]
    fn any_bytes_will_do() {
        let good = [packet(1, b"abcde"), packet(2, &[7; 90])].concat();
        for len in 0..good.len() {
            assert!(events(&good[..len]).count() <= 2);
        }
        for at in 0..good.len() {
            for byte in [0, 1, 3, 16, 0x7f, 0xff] {
                let mut bad = good.clone();
                bad[at] = byte;
                assert!(events(&bad).count() <= good.len());
            }
        }
        assert_eq!(events(&[0; 64]).count(), 0, "a message of no length ends them");
    }
}
