//! Apps that only measurements need.

use engine::shm::Counter;
use engine::{App, Class, Io, OptionError, Packet, Ports, Roles, Setup};
use serde::Deserialize;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// `idle`: pulls nothing.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(super) struct Idle {}

impl Class for Idle {
    const TYPE: &'static str = "idle";
    const INPUTS: Ports = Ports::NONE;
    const OUTPUTS: Ports = Ports::NONE;
    type App = Idling;

    fn start(&self, _: &mut Setup<'_>) -> Result<Idling, OptionError> {
        Ok(Idling { pulls: 0 })
    }
}

/// A running `idle`.
pub(super) struct Idling {
    pulls: u64,
}

impl App for Idling {
    fn roles(&self) -> Roles {
        Roles::PULL
    }

    fn pull(&mut self, _: &mut Io<'_>) {
        self.pulls += 1;
    }
}

/// `trace`: copies of the packets of a trace, over and over.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Trace {
    #[serde(skip)]
    pub(super) packets: Arc<[Vec<u8>]>,
}

impl PartialEq for Trace {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.packets, &other.packets)
    }
}

impl Class for Trace {
    const TYPE: &'static str = "trace";
    const INPUTS: Ports = Ports::NONE;
    type App = Replaying;

    fn start(&self, _: &mut Setup<'_>) -> Result<Replaying, OptionError> {
        Ok(Replaying { trace: Arc::clone(&self.packets), packets: Vec::new(), next: 0 })
    }
}

/// A running `trace`.
pub(super) struct Replaying {
    trace: Arc<[Vec<u8>]>,
    /// The trace, in packets of the pool.
    packets: Vec<Packet>,
    next: usize,
}

impl App for Replaying {
    fn roles(&self) -> Roles {
        Roles::PULL
    }

    fn pull(&mut self, io: &mut Io<'_>) {
        if self.packets.is_empty() {
            self.packets = self.trace.iter().map_while(|packet| io.pool.packet(packet)).collect();
        }
        let output = &mut io.outputs[0];
        let mut left = io.burst.min(output.room());
        while left > 0 && !self.packets.is_empty() {
            let part = &self.packets[self.next..(self.next + left).min(self.packets.len())];
            output.send_copies_of(io.pool, part);
            left -= part.len();
            self.next = (self.next + part.len()) % self.packets.len();
        }
    }

    fn held(&self) -> usize {
        self.packets.len()
    }
}

/// `touch`: reads of each packet its length and a few bytes, and counts for another thread.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Touch {
    #[serde(skip)]
    pub(super) arrived: Arc<Arrived>,
}

/// Packets that have arrived, and something of what was in them.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(super) struct Arrived {
    pub(super) packets: AtomicU64,
    bytes: AtomicU64,
}

impl PartialEq for Touch {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.arrived, &other.arrived)
    }
}

impl Class for Touch {
    const TYPE: &'static str = "touch";
    const OUTPUTS: Ports = Ports::NONE;
    type App = Touching;

    fn start(&self, setup: &mut Setup<'_>) -> Result<Touching, OptionError> {
        Ok(Touching { arrived: Arc::clone(&self.arrived), delivered: setup.delivered() })
    }
}

/// A running `touch`.
pub(super) struct Touching {
    arrived: Arc<Arrived>,
    delivered: Counter,
}

impl App for Touching {
    fn push(&mut self, io: &mut Io<'_>) {
        while let Some(burst) = io.inputs[0].burst() {
            let touched =
                |packet: &Packet| packet.len() as u64 + u64::from(packet.data().last().copied().unwrap_or(0));
            let bytes = burst.iter().map(touched).sum();
            self.arrived.bytes.fetch_add(bytes, Ordering::Relaxed);
            self.arrived.packets.fetch_add(burst.len() as u64, Ordering::Relaxed);
            io.pool.free_burst(burst, &self.delivered);
        }
    }
}

/// `swap`: exchanges both addresses of Ethernet frames.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(super) struct Swap {}

impl Class for Swap {
    const TYPE: &'static str = "swap";
    type App = Swap;

    fn start(&self, _: &mut Setup<'_>) -> Result<Swap, OptionError> {
        Ok(Swap {})
    }
}

impl App for Swap {
    fn push(&mut self, io: &mut Io<'_>) {
        let (input, output) = io.through();
        while let Some(mut burst) = input.burst() {
            for packet in burst.iter_mut() {
                if let Some(addresses) = packet.data_mut().first_chunk_mut::<12>() {
                    let (destination, source) = addresses.split_at_mut(6);
                    destination.swap_with_slice(source);
                }
            }
            output.send(burst);
        }
    }
}
