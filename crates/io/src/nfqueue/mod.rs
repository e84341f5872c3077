//! `nfqueue`: packets of this machine's own stack, which the kernel holds until they are answered: a queue of netfilter.
//!
//! | inputs | `input`: what goes on, as it is then; `drop`: what ends here; `send`: packets that the graph has made |
//! |---|---|
//! | outputs | `output`: packets that wait in the kernel |
//! | `queue` | the number of the queue, 0 to 65535, as rules of iptables name it |
//! | `fail` | `"open"`: packets pass that nobody has answered in time, or that the queue has no room for; `"closed"`, unless set: they are dropped |
//! | `answer_ms` | how long an answer may take, 1 to 60000; 1000 unless set |
//! | `changes` | whether bytes of packets may have changed when they come back, and go to the kernel again; `true` unless set |
//! | `queue_len` | packets that the kernel holds at most; 4096 unless set |
//! | `mark` | what packets are marked with that the graph has made; without it, they are not sent |
//! | `delivered` | counts packets that go on |
//! | `copies` | counts packets that were copied, in both directions |
//! | `sent` | counts packets that the graph has made, and that were sent |
//! | `dropped` | drops: packets that came to `drop` |
//! | `late` | drops: packets that were answered before |
//! | `foreign` | drops: packets that the graph has made, without a `mark` |
//! | `send_error` | drops: packets that the graph has made, and that the kernel does not send |
//! | `unanswered` | counts packets that were treated as `fail` says, since no answer came in time |
//! | `no_packet` | counts packets that were treated as `fail` says, since the pool had none for them |
//! | `kernel_drops` | counts packets that the kernel has dropped, since the queue was full |
//! | `refused` | counts answers that the kernel did not take |
//! | `no_checksum` | counts packets that go on changed and without a checksum that was left to a device |
//!
//! ```text
//! iptables -A INPUT -p tcp --dport 80 -j NFQUEUE --queue-num 5 --queue-bypass
//! ```
//!
//! gives packets to queue 5; with `--queue-bypass` they pass while nobody reads it, without it they are dropped. Kernels whose nft knows no queues
//! have them by iptables.
//!
//! Packets have link type RAW. Their metadata have the mark that the kernel gives them, which goes back when it has changed, and their number in the
//! queue, by which they are answered: so it is the packet that counts, whatever its bytes have become, and the first answer of several copies. A packet
//! without such a number was made by the graph, and leaves by a raw socket, with `mark`, for a rule to know it by.
//!
//! TCP segments come before they are cut, up to 65531 bytes, and the kernel cuts what comes back. Checksums of TCP and UDP that were left to a device
//! are completed where `changes` is set; otherwise packets go on as the kernel has them, and these are wrong here. So do packets whose other
//! checksums were left to a device (of SCTP, of what a tunnel carries, of what is behind extension headers of IPv6), unless their bytes have
//! changed: then nobody completes them any more, and `no_checksum` counts them.
//!
//! Answers go to the kernel several in one call, those of the packets that one turn has brought. Those that are waited for would hold up TCP.

mod netlink;
mod pending;
mod queue;
#[allow(unsafe_code)]
mod raw;

use crate::af_packet::{Framing, complete_checksum, prepared_checksum};
use crate::device;
use crate::interfaces;
use engine::shm::Counter;
use engine::{
    App, Burst, Class, Device, DeviceFacts, Input, Io, Metadata, OptionError, Output, Packet, Passage, Pool,
    Ports, Roles, Setup, Use, Wakeable,
};
#[doc(hidden)]
pub use netlink::{Event, Queued, events};
use netlink::{FLAG_FAIL_OPEN, FLAG_GSO, PAYLOAD_MAX, Verdict};
use pending::{Pending, Waiting};
use queue::{MESSAGE_MAX, OpenError, Queue};
use raw::RawSockets;
use serde::Deserialize;
use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::os::fd::{AsFd, BorrowedFd};
use wire::LinkType;

/// Options of `nfqueue`.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Nfqueue {
    /// The number of the queue.
    pub queue: Option<u16>,
    /// What becomes of packets that nobody answers.
    pub fail: Fail,
    /// How long an answer may take.
    pub answer_ms: u32,
    /// Whether bytes may have changed.
    pub changes: bool,
    /// Packets that the kernel holds.
    pub queue_len: u32,
    /// The mark of packets that the graph has made.
    pub mark: Option<u32>,
}

impl Default for Nfqueue {
    fn default() -> Self {
        Nfqueue {
            queue: None,
            fail: Fail::Closed,
            answer_ms: 1000,
            changes: true,
            queue_len: 4096,
            mark: None,
        }
    }
}

/// What becomes of packets that nobody answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Fail {
    /// They pass.
    Open,
    /// They are dropped.
    Closed,
}

/// Bytes of answers that are sent in one call, and one answer more.
const ANSWERS_MAX: usize = 64 << 10;
/// How often the kernel is asked what it has dropped, in nanoseconds.
const LOOK_EVERY_NS: u64 = 1_000_000_000;
/// Ports, in the order of the class: `input` is the first.
const DROP: usize = 1;
const SEND: usize = 2;

/// A running `nfqueue`.
#[derive(Debug)]
pub struct Running {
    options: Nfqueue,
    number: u16,
    queue: Queue,
    raw: Option<RawSockets>,
    buffer: Box<[u8]>,
    pending: Pending,
    answers: Vec<u8>,
    /// What stands for devices in metadata, by the kernel's number.
    interfaces: HashMap<u32, u32>,
    hashes: RandomState,
    spare: Option<Packet>,
    known_drops: u64,
    next_look_ns: u64,
    counters: Counters,
}

#[derive(Debug)]
struct Counters {
    delivered: Counter,
    copies: Counter,
    sent: Counter,
    dropped: Counter,
    late: Counter,
    foreign: Counter,
    send_error: Counter,
    unanswered: Counter,
    no_packet: Counter,
    kernel_drops: Counter,
    refused: Counter,
    no_checksum: Counter,
}

impl Counters {
    fn new(setup: &mut Setup<'_>) -> Self {
        Counters {
            delivered: setup.delivered(),
            copies: setup.counter("copies"),
            sent: setup.consumed("sent"),
            dropped: setup.rejects("dropped"),
            late: setup.drops("late"),
            foreign: setup.drops("foreign"),
            send_error: setup.drops("send_error"),
            unanswered: setup.counter("unanswered"),
            no_packet: setup.missed("no_packet"),
            kernel_drops: setup.missed("kernel_drops"),
            refused: setup.counter("refused"),
            no_checksum: setup.counter("no_checksum"),
        }
    }
}

impl Class for Nfqueue {
    const TYPE: &'static str = "nfqueue";
    const INPUTS: Ports = Ports::Named(&["input", "drop", "send"]);
    const PASSAGE: Passage = Passage::World;
    type App = Running;

    fn check(&self) -> Result<(), OptionError> {
        let number = self.queue.ok_or_else(|| OptionError::new("queue", "is not set: which queue?"));
        OptionError::all([
            number.map(drop),
            OptionError::check_range("answer_ms", self.answer_ms, 1..=60_000),
            OptionError::check_range("queue_len", self.queue_len, 1..=1 << 20),
        ])
    }

    fn uses(&self) -> Vec<Use> {
        let Some(number) = self.queue else { return Vec::new() };
        vec![Use {
            option: "queue",
            identity: format!("NFQUEUE {number}"),
            name: number.to_string(),
            verb: "has",
            is_shared: false,
            remedy: "a queue has one app",
        }]
    }

    fn start(&self, setup: &mut Setup<'_>) -> Result<Running, OptionError> {
        let number = self.queue.unwrap_or(0);
        let flags = FLAG_GSO | if self.fail == Fail::Open { FLAG_FAIL_OPEN } else { 0 };
        let queue = Queue::open(number, self.queue_len, flags).map_err(|error| refused(number, &error))?;
        let raw = self.mark.map(RawSockets::open).transpose().map_err(|error| {
            OptionError::refused(
                "mark",
                format!("cannot open a raw socket: {error}; `sluss doctor nfqueue` says what is missing"),
            )
        })?;
        Ok(Running {
            options: self.clone(),
            number,
            known_drops: queue.dropped().unwrap_or(0),
            queue,
            raw,
            buffer: vec![0; MESSAGE_MAX].into(),
            pending: Pending::default(),
            answers: Vec::with_capacity(2 * ANSWERS_MAX),
            interfaces: HashMap::new(),
            hashes: RandomState::new(),
            spare: None,
            next_look_ns: 0,
            counters: Counters::new(setup),
        })
    }
}

/// The error when the kernel does not give us the queue.
fn refused(number: u16, error: &OpenError) -> OptionError {
    const DOCTOR: &str = "`sluss doctor nfqueue` says what is missing";
    OptionError::refused(
        "queue",
        match error {
            OpenError::Socket(error) => format!("the kernel has no sockets of netfilter: {error}; {DOCTOR}"),
            // The kernel refuses as not permitted what is another's.
            OpenError::Bind(error) => match error.raw_os_error() {
                Some(libc::EPERM | libc::EBUSY) => queue::reader(number),
                _ => None,
            }
            .map_or_else(
                || format!("cannot take queue {number}: {error}; {DOCTOR}"),
                |reader| format!("another program reads queue {number}: {reader}"),
            ),
        },
    )
}

impl App for Running {
    fn roles(&self) -> Roles {
        Roles::PULL.and(Roles::PUSH).and(Roles::TICK).and(Roles::METADATA)
    }

    fn pull(&mut self, io: &mut Io<'_>) {
        let output = &mut io.outputs[0];
        let mut left = if output.is_linked() { io.burst.min(output.allowance()) } else { 0 };
        while left > 0 && self.receive(io.now_ns, output, io.pool) {
            left -= 1;
        }
        self.put_spare_back(io.pool);
        self.answer_all();
    }

    fn push(&mut self, io: &mut Io<'_>) {
        for (port, input) in io.inputs.iter_mut().enumerate() {
            self.take(port, input, io.pool);
        }
        self.answer_all();
    }

    fn tick(&mut self, io: &mut Io<'_>) {
        self.give_up(io.now_ns.saturating_sub(u64::from(self.options.answer_ms) * 1_000_000));
        self.answer_all();
        if io.now_ns >= self.next_look_ns {
            self.next_look_ns = io.now_ns.saturating_add(LOOK_EVERY_NS);
            self.count_drops();
        }
    }

    /// What waits in the kernel is treated as `fail` says; it would drop all of it.
    fn stop(&mut self, io: &mut Io<'_>) {
        self.give_up(u64::MAX);
        self.answer_all();
        let rest = self.options.queue_len;
        for _ in 0..rest {
            match self.queue.receive(&mut self.buffer) {
                Ok(Some(bytes)) => {
                    let ids = netlink::events(bytes).filter_map(|event| match event {
                        Event::Packet(packet) => Some(packet.id),
                        Event::Answer(_) => None,
                    });
                    for id in ids {
                        netlink::put_verdict(
                            &mut self.answers,
                            self.number,
                            id,
                            failing(&self.options),
                            None,
                            None,
                        );
                        self.counters.unanswered.add(1);
                    }
                    self.answer_all();
                }
                Ok(None) => break,
                Err(_) => {}
            }
        }
        self.count_drops();
        self.put_spare_back(io.pool);
    }

    fn held(&self) -> usize {
        usize::from(self.spare.is_some())
    }

    fn device(&self) -> Option<&dyn Device> {
        Some(self)
    }

    fn wakeable(&self) -> Option<&dyn Wakeable> {
        Some(self)
    }
}

impl Device for Running {
    fn facts(&self) -> DeviceFacts {
        let back = if self.options.changes { "both ways" } else { "on the way in" };
        DeviceFacts {
            mode: format!("queue {} of netfilter, packets are copied {back}", self.number),
            queues: 1,
            ..DeviceFacts::default()
        }
    }
}

impl Wakeable for Running {
    fn wakes_on(&self) -> Option<BorrowedFd<'_>> {
        Some(self.queue.as_fd())
    }
}

/// Completes the checksum of TCP or UDP that was left to a device; `false` if it is another that is missing.
fn complete(packet: &mut [u8]) -> bool {
    prepared_checksum(packet, Framing::Bare).is_some_and(|place| complete_checksum(packet, place))
}

/// What becomes of packets that nobody answers.
fn failing(options: &Nfqueue) -> Verdict {
    match options.fail {
        Fail::Open => Verdict::Accept,
        Fail::Closed => Verdict::Drop,
    }
}

impl Running {
    /// Reads what comes next; `false` if there is nothing, or no packet to read it into.
    fn receive(&mut self, now_ns: u64, output: &mut Output, pool: &mut Pool) -> bool {
        let Some(spare) = self.spare.take().or_else(|| device::roomy(pool)) else { return false };
        self.spare = Some(spare);
        let mut buffer = std::mem::take(&mut self.buffer);
        let is_more = match self.queue.receive(&mut buffer) {
            Ok(Some(bytes)) => {
                for event in netlink::events(bytes) {
                    match event {
                        Event::Packet(packet) => self.take_in(&packet, now_ns, output, pool),
                        Event::Answer(0) => {}
                        Event::Answer(_) => self.counters.refused.add(1),
                    }
                }
                true
            }
            Ok(None) => false,
            // The socket had no room for a message: the kernel has dropped the packet, and counts it.
            Err(error) => error.raw_os_error() == Some(libc::ENOBUFS),
        };
        self.buffer = buffer;
        is_more
    }

    fn take_in(&mut self, queued: &Queued<'_>, now_ns: u64, output: &mut Output, pool: &mut Pool) {
        let Queued { id, payload, .. } = *queued;
        let roomy = self.spare.take().filter(|spare| spare.len() >= payload.len());
        let Some(mut packet) = roomy.or_else(|| pool.allocate_for(payload.len())) else {
            netlink::put_verdict(&mut self.answers, self.number, id, failing(&self.options), None, None);
            return self.counters.no_packet.add(1);
        };
        if packet.len() >= payload.len() {
            packet.data_mut()[..payload.len()].copy_from_slice(payload);
            packet.truncate(payload.len());
        } else if packet.append(payload).is_err() {
            debug_assert!(false, "it has room for that");
        }
        let is_unfinished = queued.lacks_checksum && self.options.changes && !complete(packet.data_mut());
        let unfinished = is_unfinished.then(|| self.hashes.hash_one(packet.data()));
        let cut_len = queued.len - payload.len() as u32;
        self.pending.add(id, now_ns, Waiting { mark: queued.mark, is_whole: cut_len == 0, unfinished });
        let interface = self.interface(queued.devices);
        pool.describe(
            &mut packet,
            Metadata {
                mark: queued.mark,
                cut_len,
                queue: self.number,
                queue_id: id,
                ..device::metadata(pool.timestamp_ns(), interface, LinkType::RAW)
            },
        );
        self.counters.copies.add(1);
        output.put(packet);
    }

    /// What stands for the device that a packet came by, or else leaves by.
    fn interface(&mut self, devices: [u32; 2]) -> u32 {
        let Some(index) = devices.into_iter().find(|&index| index != 0) else { return 0 };
        *self.interfaces.entry(index).or_insert_with(|| {
            let Some(name) = device::name_of(index) else { return 0 };
            let interface = interfaces::number_of_device(&name);
            engine::note_kernel_index(interface, index);
            interface
        })
    }

    /// Answers the packets of an input.
    fn take(&mut self, port: usize, input: &mut Input, pool: &mut Pool) {
        while let Some(burst) = input.burst() {
            self.answer_burst(port, burst, pool);
        }
    }

    fn answer_burst(&mut self, port: usize, burst: Burst<'_>, pool: &mut Pool) {
        for packet in burst {
            let metadata = *packet.metadata();
            let is_ours = metadata.queue_id != 0 && metadata.queue == self.number && port != SEND;
            let counter = if !is_ours {
                if port == DROP { self.counters.dropped.clone() } else { self.send(&packet) }
            } else {
                match (self.pending.take(metadata.queue_id), port) {
                    (None, _) => self.counters.late.clone(),
                    (Some(_), DROP) => {
                        self.answer(metadata.queue_id, Verdict::Drop, None, None);
                        self.counters.dropped.clone()
                    }
                    (Some(waiting), _) => {
                        let hash = || self.hashes.hash_one(packet.data());
                        let is_as_it_was = waiting.unfinished.is_some_and(|before| before == hash());
                        let is_sent = self.options.changes
                            && waiting.is_whole
                            && packet.len() <= PAYLOAD_MAX
                            && !is_as_it_was;
                        self.counters.copies.add(is_sent.into());
                        self.counters.no_checksum.add((is_sent && waiting.unfinished.is_some()).into());
                        let mark = Some(metadata.mark).filter(|&mark| mark != waiting.mark);
                        self.answer(metadata.queue_id, Verdict::Accept, is_sent.then(|| packet.data()), mark);
                        self.counters.delivered.clone()
                    }
                }
            };
            pool.free(packet, &counter);
        }
    }

    fn answer(&mut self, id: u32, verdict: Verdict, bytes: Option<&[u8]>, mark: Option<u32>) {
        netlink::put_verdict(&mut self.answers, self.number, id, verdict, bytes, mark);
        if self.answers.len() >= ANSWERS_MAX {
            self.answer_all();
        }
    }

    /// Sends a packet that the graph has made; gives what counts its fate.
    fn send(&self, packet: &Packet) -> Counter {
        match &self.raw {
            None => self.counters.foreign.clone(),
            Some(raw) => match raw.send(packet.data()) {
                Ok(()) => self.counters.sent.clone(),
                Err(_) => self.counters.send_error.clone(),
            },
        }
    }

    /// Answers those that came before a time as `fail` says.
    fn give_up(&mut self, before_ns: u64) {
        while let Some(id) = self.pending.take_older(before_ns) {
            self.counters.unanswered.add(1);
            self.answer(id, failing(&self.options), None, None);
        }
    }

    /// Sends the answers that there are, in one call.
    fn answer_all(&mut self) {
        if self.answers.is_empty() {
            return;
        }
        if self.queue.send(&self.answers).is_err() {
            self.counters.refused.add(1);
        }
        self.answers.clear();
    }

    fn count_drops(&mut self) {
        if let Some(dropped) = self.queue.dropped() {
            self.counters.kernel_drops.add(dropped.saturating_sub(self.known_drops));
            self.known_drops = dropped;
        }
    }

    fn put_spare_back(&mut self, pool: &mut Pool) {
        self.spare.take().into_iter().for_each(|packet| pool.take_back(packet));
    }
}

#[cfg(test)]
mod tests {
    use super::complete;
    use wire::checksum::Sum;

    /// UDP over IPv4, from port 1 to this port.
    fn datagram(port: u16, payload: &[u8]) -> Vec<u8> {
        let len = 28 + payload.len() as u16;
        let mut packet = vec![0; 28];
        (packet[0], packet[9], packet[21]) = (0x45, 17, 1);
        packet[2..4].copy_from_slice(&len.to_be_bytes());
        packet[12..20].copy_from_slice(&[192, 0, 2, 1, 192, 0, 2, 2]);
        packet[22..24].copy_from_slice(&port.to_be_bytes());
        packet[24..26].copy_from_slice(&(len - 20).to_be_bytes());
        packet.extend_from_slice(payload);
        packet
    }

    fn pseudo(packet: &[u8]) -> Sum {
        let len = packet.len() as u16 - 20;
        Sum::new().add_pseudo_v4([192, 0, 2, 1].into(), [192, 0, 2, 2].into(), 17, len)
    }

    #[test]
    fn a_checksum_that_was_left_to_a_device_is_completed_where_it_is_missing() {
        let mut plain = datagram(4789, b"payload");
        let sum = pseudo(&plain).partial();
        plain[26..28].copy_from_slice(&sum.to_be_bytes());
        assert!(complete(&mut plain), "that is so for each port");
        assert_eq!(pseudo(&plain).add_bytes(&plain[20..]).finish(), 0);
        // In a tunnel, the inner one is missing: the outer one is none, or is right already.
        let mut tunnel = datagram(4789, &[&[8, 0, 0, 0, 0, 0, 1, 0][..], &[0; 14], &plain].concat());
        for outer in [0, 0x1234] {
            tunnel[26..28].copy_from_slice(&u16::to_be_bytes(outer));
            let before = tunnel.clone();
            assert!(!complete(&mut tunnel));
            assert_eq!(tunnel, before);
        }
        // SCTP, and IPv4 within IPv4.
        for protocol in [132, 4] {
            let mut other = plain.clone();
            other[9] = protocol;
            let before = other.clone();
            assert!(!complete(&mut other));
            assert_eq!(other, before);
        }
    }
}
