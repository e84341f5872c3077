//! `dpdk`: a device of DPDK, physical or virtual.
//!
//! | inputs | `input`: frames to the wire |
//! |---|---|
//! | outputs | `output`: frames from the wire |
//! | `device` | as DPDK names it, with its arguments: `net_tap0,iface=t0`, or its place on PCI |
//! | `queues` | how many queues it has in each direction; 1 unless set |
//! | `queue` | which of them is the app's, from 0; 0 unless set |
//! | `mtu` | its longest IP packet; left as it is unless set |
//! | `promiscuous` | whether it brings in frames for other stations; `false` unless set |
//! | `buffers` | how many frames DPDK has room for; 4095 unless set |
//! | `delivered` | counts frames that the device has taken |
//! | `copies` | counts frames that were copied between DPDK's memory and the graph's |
//! | `too_long` | drops: frames that a buffer, or a packet, has no room for |
//! | `no_buffers` | drops: frames that the device had no room for to the end |
//! | `wrong_linktype` | drops: packets that are not Ethernet, where the graph keeps metadata |
//! | `missed` | counts frames that the device has lost, since we did not fetch them in time, or it had no buffers |
//! | `device_errors` | counts frames that were broken, or that the device could not send |
//!
//! DPDK is loaded when an app first asks for it. EAL is started once a process, with huge pages where some are free, and without where not; the report says
//! which. Several apps may have queues of one device: the device spreads flows over them (RSS).
//!
//! When the device has no room, packets wait, and then the link: so a source before it is slowed down. The device is polled: a worker with one has no rest.

mod eal;
#[allow(unsafe_code)]
mod shim;

use crate::device::{self, Attempt, Outbox, Sender};
use crate::interfaces;
use eal::Memory;
use engine::shm::Counter;
use engine::{
    App, Class, Device, DeviceFacts, Io, OptionError, Output, Packet, Passage, Pool, Roles, Setup, Use,
};
use serde::Deserialize;
use shim::{BURST_MAX, Counts, Queue};
use wire::LinkType;

/// Options of `dpdk`.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Dpdk {
    /// The device, with its arguments.
    pub device: String,
    /// How many queues it has.
    pub queues: u16,
    /// Which is the app's.
    pub queue: u16,
    /// Its longest IP packet.
    pub mtu: Option<u16>,
    /// Whether it brings in frames for other stations.
    pub promiscuous: bool,
    /// How many frames DPDK has room for.
    pub buffers: u32,
}

impl Default for Dpdk {
    fn default() -> Self {
        Dpdk { device: String::new(), queues: 1, queue: 0, mtu: None, promiscuous: false, buffers: 4095 }
    }
}

/// How often the device is asked what it has counted, in nanoseconds.
const LOOK_EVERY_NS: u64 = 100_000_000;
/// The longest name that DPDK takes, with its arguments.
const DEVICE_MAX: usize = 1000;

/// A running `dpdk`.
#[derive(Debug)]
pub struct Running {
    options: Dpdk,
    queue: Queue,
    memory: Memory,
    interface: u32,
    spare: Vec<Packet>,
    outbox: Outbox,
    known: Counts,
    next_look_ns: u64,
    is_listening: bool,
    counters: Counters,
}

#[derive(Debug)]
struct Counters {
    delivered: Counter,
    copies: Counter,
    too_long: Counter,
    no_buffers: Counter,
    wrong_linktype: Counter,
    missed: Counter,
    device_errors: Counter,
}

/// The version of the DPDK that is loaded.
///
/// # Errors
/// Why none can be.
pub fn version() -> Result<String, &'static str> {
    eal::version()
}

/// Whether the headers of DPDK were there when this was built.
pub fn is_built_in() -> bool {
    cfg!(dpdk_headers)
}

impl Class for Dpdk {
    const TYPE: &'static str = "dpdk";
    const PASSAGE: Passage = Passage::World;
    type App = Running;

    fn check(&self) -> Result<(), OptionError> {
        let device = match self.device.as_str() {
            "" => Err(OptionError::new("device", "is not set: which device?")),
            device if device.len() > DEVICE_MAX || device.contains('\0') => Err(OptionError::new(
                "device",
                format!("is no name for a device: more than {DEVICE_MAX} bytes, or a zero"),
            )),
            _ => Ok(()),
        };
        let queue = if self.queue < self.queues {
            Ok(())
        } else {
            Err(OptionError::new(
                "queue",
                format!("is {}, of {} queues, which are counted from 0", self.queue, self.queues),
            ))
        };
        let mtu = self.mtu.map_or(Ok(()), |mtu| OptionError::check_range("mtu", mtu, 68..=9200));
        OptionError::all([
            device,
            OptionError::check_range("queues", self.queues, 1..=64),
            queue,
            mtu,
            OptionError::check_range("buffers", self.buffers, 1023..=1 << 20),
        ])
    }

    fn uses(&self) -> Vec<Use> {
        vec![Use {
            option: "device",
            identity: format!("DPDK {} {}", self.device, self.queue),
            name: self.device.clone(),
            verb: "has",
            is_shared: false,
            remedy: "a queue of a device has one app: give each another `queue`",
        }]
    }

    fn start(&self, setup: &mut Setup<'_>) -> Result<Running, OptionError> {
        let (queue, memory) = eal::open(self)?;
        let name = self.device.split(',').next().unwrap_or_default();
        Ok(Running {
            options: self.clone(),
            queue,
            memory,
            interface: interfaces::number_of_device(name),
            spare: Vec::with_capacity(BURST_MAX),
            outbox: Outbox::default(),
            known: Counts::default(),
            next_look_ns: 0,
            is_listening: true,
            counters: Counters {
                delivered: setup.delivered(),
                copies: setup.counter("copies"),
                too_long: setup.drops("too_long"),
                no_buffers: setup.drops("no_buffers"),
                wrong_linktype: setup.drops("wrong_linktype"),
                missed: setup.missed("missed"),
                device_errors: setup.counter("device_errors"),
            },
        })
    }
}

impl App for Running {
    fn roles(&self) -> Roles {
        Roles::PULL.and(Roles::PUSH).and(Roles::TICK).and(Roles::ROOM)
    }

    fn pull(&mut self, io: &mut Io<'_>) {
        eal::register_thread();
        self.send_waiting(io.pool);
        let output = &mut io.outputs[0];
        self.is_listening = output.is_linked();
        let mut left = if self.is_listening { io.burst.min(output.allowance()) } else { 0 };
        while left > 0 {
            let asked = left.min(BURST_MAX);
            let got = self.receive(asked, output, io.pool);
            left -= got;
            if got < asked {
                break;
            }
        }
    }

    fn push(&mut self, io: &mut Io<'_>) {
        eal::register_thread();
        let mut outbox = std::mem::take(&mut self.outbox);
        outbox.push(self, &mut io.inputs[0], io.pool);
        self.outbox = outbox;
    }

    fn tick(&mut self, io: &mut Io<'_>) {
        if io.now_ns >= self.next_look_ns {
            self.next_look_ns = io.now_ns.saturating_add(LOOK_EVERY_NS);
            self.count();
        }
    }

    fn stop(&mut self, io: &mut Io<'_>) {
        self.send_waiting(io.pool);
        self.outbox.abandon(io.pool, &self.counters.no_buffers);
        self.count();
    }

    fn is_finished(&self) -> bool {
        !self.is_listening
    }

    fn device(&self) -> Option<&dyn Device> {
        Some(self)
    }

    fn held(&self) -> usize {
        self.spare.len() + self.outbox.len()
    }
}

impl Device for Running {
    fn facts(&self) -> DeviceFacts {
        let port = &self.queue.port;
        // What nobody has tried on hardware is told apart.
        let tried = if eal::is_pci(&self.options.device) { ", unverified" } else { "" };
        DeviceFacts {
            mode: format!("DPDK {}, packets are copied, {}{tried}", port.driver(), self.memory.name()),
            memory: Some(self.memory.name()),
            queues: 1,
            is_up: port.is_up(),
            ..DeviceFacts::default()
        }
    }
}

impl Sender for Running {
    const BURST_MAX: usize = BURST_MAX;

    #[inline]
    fn ours(&self, packets: &[Packet], pool: &Pool) -> usize {
        if !pool.uses_metadata() {
            return packets.len();
        }
        let is_ours = |packet: &&Packet| u32::from(packet.metadata().linktype) == LinkType::EN10MB.value();
        packets.iter().take_while(is_ours).count()
    }

    fn wrong_linktype(&self) -> &Counter {
        &self.counters.wrong_linktype
    }

    fn attempt(&self, packets: &[Packet]) -> Attempt<'_> {
        let frame_max = self.queue.port.frame_max();
        let fitting = packets.iter().take_while(|packet| packet.len() <= frame_max).count();
        if fitting == 0 {
            return Attempt::Taken(1, &self.counters.too_long);
        }
        match self.queue.send(&packets[..fitting]) {
            0 => Attempt::Full,
            sent => {
                self.counters.copies.add(sent as u64);
                Attempt::Taken(sent, &self.counters.delivered)
            }
        }
    }
}

impl Running {
    fn send_waiting(&mut self, pool: &mut Pool) {
        let mut outbox = std::mem::take(&mut self.outbox);
        outbox.send_waiting(self, pool);
        self.outbox = outbox;
    }

    /// Receives up to `asked` frames; returns how many there were.
    fn receive(&mut self, asked: usize, output: &mut Output, pool: &mut Pool) -> usize {
        while self.spare.len() < asked {
            let Some(packet) = device::roomy(pool) else { break };
            self.spare.push(packet);
        }
        let mut lens = [0; BURST_MAX];
        let got = self.queue.receive(&mut self.spare, &mut lens);
        self.spare.drain(got..).for_each(|packet| pool.take_back(packet));
        let metadata = device::metadata(pool.timestamp_ns(), self.interface, LinkType::EN10MB);
        for (mut packet, len) in self.spare.drain(..).zip(lens) {
            let len = len as usize;
            if len > packet.len() {
                pool.free(packet, &self.counters.too_long);
                continue;
            }
            packet.truncate(len);
            pool.describe(&mut packet, metadata);
            output.put(packet);
        }
        self.counters.copies.add(got as u64);
        got
    }

    /// Counts what the device has counted. Of several queues, the first one tells.
    fn count(&mut self) {
        let Some(now) = (self.options.queue == 0).then(|| self.queue.port.counts()).flatten() else { return };
        let lost = |counts: &Counts| counts.missed + counts.no_buffer;
        self.counters.missed.add(lost(&now).saturating_sub(lost(&self.known)));
        self.counters.device_errors.add(now.errors.saturating_sub(self.known.errors));
        self.known = now;
    }
}
