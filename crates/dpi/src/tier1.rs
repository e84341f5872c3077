//! Tier 1: identification in safe Rust, in the thread that forwards packets.
//!
//! ```text
//!  payload ─► dispatch on its first byte ─► detectors of that byte ─┬─ Yes ────────► Decided
//!                ▲                                                  ├─ Maybe, Likely: kept, more is waited for
//!                └── what the flow sent so far, in order ───────────┴─ No, of both directions ─► NotOurs: tier 2's
//! ```
//!
//! A detector is a function from bytes to an answer. Over TCP it sees the beginning of a direction's stream and that of the other direction, whatever segments they came in;
//! over UDP a datagram. Most flows are decided by the first packet with payload, and have no state here at all. A state begins when more must be waited
//! for, and ends with the answer.
//!
//! Bounds: [`Limits`] caps states and the bytes that they keep; a stream is kept up to [`STREAM_MAX`] bytes, a flow for [`PACKETS_MAX`] packets, or
//! [`PACKETS_LIKELY_MAX`] if it began as one of our protocols does, or a segment is missing. Ports never decide: they choose between names of one format (DNS, mDNS, LLMNR).
//!
//! ```
//! use dpi::tier1::{Step, Tier1};
//! use dpi::{Message, Protocol};
//! let mut tier1 = Tier1::default();
//! let (transport, ipv6, forward, source_port, destination_port) = (6, false, true, 50_000, 8_080);
//! let payload = b"GET /index.html HTTP/1.1\r\nHost: example.org\r\n\r\n";
//! let message =
//!     Message { transport, ipv6, forward, source_port, destination_port, sequence: 1, start: Some(1), payload, cut: false };
//! let Step::Decided(verdict, details) = tier1.inspect(&mut None, &message) else { panic!() };
//! assert_eq!(verdict.protocol, Protocol::HTTP);
//! assert_eq!(details.sni.as_deref(), Some("example.org"));
//! ```

use crate::{Details, Message, Verdict};
use pool::{Pool, State};
use tcp::Tcp;
use udp::Udp;

mod answer;
mod bittorrent;
mod dhcp;
mod dhcpv6;
mod dns;
mod ftp;
mod h323;
mod hello;
mod http;
mod imap;
mod irc;
mod ja4;
mod mysql;
mod ntp;
mod pieces;
mod pool;
mod pop3;
mod quic;
mod reader;
mod rtcp;
mod rtmp;
mod rtp;
mod rtsp;
mod sip;
mod smtp;
mod ssh;
mod startline;
mod stream;
mod stun;
mod tcp;
mod teamspeak;
mod telnet;
mod tls;
mod udp;

pub use pool::StateId;

/// Bytes of a stream that are kept: a ClientHello of 16 KiB, and the headers of its records.
pub const STREAM_MAX: usize = 17 * 1024;
/// Packets with payload after which a flow that none of our protocols begins like is tier 2's.
pub const PACKETS_MAX: u8 = 8;
/// Packets with payload that are waited for when a flow began as one of our protocols does, or a segment is missing.
pub const PACKETS_LIKELY_MAX: u8 = 64;

/// How much memory tier 1 may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Flows at a time that wait for more packets. Each takes some 300 bytes.
    pub states: usize,
    /// Bytes of their streams, together.
    pub bytes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Limits { states: 16 * 1024, bytes: 16 * 1024 * 1024 }
    }
}

/// What became of a packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// The flow is identified.
    Decided(Verdict, Details),
    /// More packets must be seen.
    Undecided,
    /// None of our protocols: tier 2 may know it.
    NotOurs,
}

/// What tier 1 holds, and what it had no room for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Flows that wait.
    pub states: usize,
    /// Bytes of their streams.
    pub bytes: usize,
    /// Flows handed on since there was no room for another state, or for more bytes.
    pub full: u64,
}

/// Identification in safe Rust, with bounded memory.
#[derive(Default)]
pub struct Tier1 {
    pool: Pool,
    scratch: quic::Scratch,
}

impl Tier1 {
    /// With these limits. Memory is taken as flows need it.
    #[must_use]
    pub fn new(limits: Limits) -> Self {
        Tier1 { pool: Pool::new(limits), scratch: quic::Scratch::default() }
    }

    /// Looks at a packet with payload. `state` is the flow's, `None` at its first; after [`Step::Decided`] and [`Step::NotOurs`] it is `None`.
    pub fn inspect(&mut self, state: &mut Option<StateId>, message: &Message) -> Step {
        if message.payload.is_empty() {
            return Step::Undecided;
        }
        let Tier1 { pool, scratch } = self;
        let fresh = match message.transport {
            6 => || State::Tcp(Tcp::default()),
            17 => || State::Udp(Udp::default()),
            _ => return Step::NotOurs,
        };
        let step = pool.look(state, fresh, |state| match state {
            State::Tcp(tcp) => tcp.add(message),
            State::Udp(udp) => udp.add(scratch, message),
        });
        if !matches!(step, Step::Undecided) {
            self.forget(state);
        }
        step
    }

    /// What a flow most likely was that ends before it is decided, or whose time is up; its state is given back.
    pub fn conclude(&mut self, state: &mut Option<StateId>) -> Option<Verdict> {
        let likely = state.and_then(|id| self.pool.get(id)?.likely());
        self.forget(state);
        likely
    }

    /// Gives back the state of a flow that is not looked at any more.
    pub fn forget(&mut self, state: &mut Option<StateId>) {
        if let Some(id) = state.take() {
            self.pool.release(id);
        }
    }

    /// What is held.
    #[must_use]
    pub fn usage(&self) -> Usage {
        self.pool.usage()
    }
}
