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
//! | `buffers` | how many frames DPDK has room for, where they are copied; 4095 unless set |
//! | `eal` | other arguments of EAL, for all apps of the process; none unless set |
//! | `delivered` | counts frames that the device has taken |
//! | `copies` | counts frames that were copied between DPDK's memory and the graph's |
//! | `too_long` | drops: frames that a buffer, or a packet, has no room for |
//! | `no_buffers` | drops: frames that the device had no room for to the end |
//! | `down` | drops: frames for a device that is gone |
//! | `wrong_linktype` | drops: packets that are not Ethernet, where the graph keeps metadata |
//! | `missed` | counts frames that the device has lost, since we did not fetch them in time, or it had no buffers |
//! | `device_errors` | counts frames that were broken, or that the device could not send |
//! | `absences` | counts how often the device was gone |
//! | `stalls` | counts how often it took no frame for a second while some waited |
//!
//! DPDK is loaded when an app first asks for it. EAL is started once a process, with huge pages where some are free, and without where not; the report says
//! which. Several apps may have queues of one device: the device spreads flows over them (RSS).
//!
//! Frames of drivers that leave memory alone, such as `net_ring`, are in packets, and not copied: `uncopied`. Other drivers have buffers of DPDK's: `copied`.
//!
//! When the device has no room, packets wait, and then the link: so a source before it is slowed down. The device is polled: a worker with one has no rest. A device
//! that is gone is opened again as soon as that can be done.

mod arguments;
mod copied;
mod eal;
#[allow(unsafe_code)]
mod shim;
#[cfg(test)]
mod tests;
mod uncopied;

use crate::device::{self, Sight, StallWatch, Watch};
use crate::interfaces;
use copied::Copied;
use eal::Memory;
use engine::shm::Counter;
use engine::{
    App, Burst, Class, Device, DeviceFacts, Input, Io, Metadata, OptionError, Output, Packet, Passage, Pool,
    Reporting, Roles, Setup, Use,
};
use serde::Deserialize;
use shim::{BURST_MAX, Counts, Queue};
use uncopied::Uncopied;
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
    /// How many frames DPDK has room for, where they are copied.
    pub buffers: u32,
    /// Other arguments of EAL.
    pub eal: Vec<String>,
}

impl Default for Dpdk {
    fn default() -> Self {
        Dpdk {
            device: String::new(),
            queues: 1,
            queue: 0,
            mtu: None,
            promiscuous: false,
            buffers: 4095,
            eal: Vec::new(),
        }
    }
}

impl Dpdk {
    /// The name of the device, without its arguments: what DPDK knows it by.
    fn name(&self) -> &str {
        self.device.split(',').next().unwrap_or_default()
    }
}

/// The longest name that DPDK takes, with its arguments.
const DEVICE_MAX: usize = 1000;

/// A running `dpdk`.
#[derive(Debug)]
pub struct Running {
    options: Dpdk,
    /// `None` while it is gone.
    opened: Option<Opened>,
    interface: u32,
    watch: Watch,
    stall: StallWatch,
    next_look_ns: u64,
    is_listening: bool,
    counters: Counters,
}

/// A device that is there.
#[derive(Debug)]
struct Opened {
    frames: Frames,
    queue: Queue,
    memory: Memory,
    known: Counts,
}

/// Where frames are while the device has them.
#[derive(Debug)]
enum Frames {
    Copied(Copied),
    Uncopied(Uncopied),
}

#[derive(Debug)]
struct Counters {
    delivered: Counter,
    copies: Counter,
    too_long: Counter,
    no_buffers: Counter,
    down: Counter,
    wrong_linktype: Counter,
    missed: Counter,
    device_errors: Counter,
}

/// Where received frames go.
struct Arrivals<'a> {
    output: &'a mut Output,
    pool: &'a mut Pool,
    counters: &'a Counters,
    metadata: Metadata,
}

impl Arrivals<'_> {
    fn put(&mut self, mut packet: Packet) {
        self.pool.describe(&mut packet, self.metadata);
        self.output.put(packet);
    }

    fn put_all(&mut self, packets: &mut Vec<Packet>) {
        if self.pool.uses_metadata() {
            packets.iter_mut().for_each(|packet| self.pool.describe(packet, self.metadata));
        }
        self.output.send(Burst::from(packets));
    }
}

/// Whether a packet is an Ethernet frame, in graphs that keep metadata.
fn is_ethernet(packet: &Packet) -> bool {
    u32::from(packet.metadata().linktype) == LinkType::EN10MB.value()
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
    const COMMON: &'static [&'static str] = &["eal"];
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
            arguments::check(&self.eal),
        ])
    }

    fn uses(&self) -> Vec<Use> {
        vec![Use {
            option: "device",
            identity: format!("DPDK {} {}", self.name(), self.queue),
            name: self.device.clone(),
            verb: "has",
            is_shared: false,
            remedy: "a queue of a device has one app: give each another `queue`",
        }]
    }

    fn start(&self, setup: &mut Setup<'_>) -> Result<Running, OptionError> {
        let opened = Opened::new(self)?;
        let name = self.name();
        Ok(Running {
            options: self.clone(),
            opened: Some(opened),
            interface: interfaces::number_of_device(name),
            watch: Watch::of_made(name, setup),
            stall: StallWatch::new(name, setup),
            next_look_ns: 0,
            is_listening: true,
            counters: Counters {
                delivered: setup.delivered(),
                copies: setup.counter("copies"),
                too_long: setup.drops("too_long"),
                no_buffers: setup.drops("no_buffers"),
                down: setup.drops("down"),
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
        let output = &mut io.outputs[0];
        self.is_listening = output.is_linked();
        let Some(opened) = &mut self.opened else { return };
        eal::register_thread();
        opened.send_waiting(io.pool, &self.counters);
        let left = if self.is_listening { io.burst.min(output.allowance()) } else { 0 };
        let metadata = device::metadata(io.pool.timestamp_ns(), self.interface, LinkType::EN10MB);
        opened.receive(left, &mut Arrivals { output, pool: io.pool, counters: &self.counters, metadata });
    }

    fn push(&mut self, io: &mut Io<'_>) {
        let input = &mut io.inputs[0];
        let Some(opened) = &mut self.opened else {
            while let Some(burst) = input.burst() {
                io.pool.free_burst(burst, &self.counters.down);
            }
            return;
        };
        eal::register_thread();
        opened.push(input, io.pool, &self.counters);
    }

    fn tick(&mut self, io: &mut Io<'_>) {
        if io.now_ns < self.next_look_ns {
            return;
        }
        self.next_look_ns = io.now_ns.saturating_add(device::EVERY_NS);
        let is_there = || self.opened.as_ref().is_some_and(|opened| eal::is_there(&opened.queue.port));
        match self.watch.look(io.now_ns, is_there) {
            Sight::There => self.count(),
            Sight::Gone => self.leave(io.now_ns, io.pool),
            Sight::Back => {
                self.leave(io.now_ns, io.pool);
                self.opened = self.watch.note(io.now_ns, Opened::new(&self.options));
            }
        }
        if let Some(opened) = &self.opened {
            self.stall.look(io.now_ns, self.counters.delivered.get(), opened.waiting());
        }
    }

    fn stop(&mut self, io: &mut Io<'_>) {
        self.count();
        if let Some(mut opened) = self.opened.take() {
            opened.send_waiting(io.pool, &self.counters);
            opened.abandon(io.pool, &self.counters.no_buffers);
        }
    }

    fn is_finished(&self) -> bool {
        !self.is_listening
    }

    fn device(&self) -> Option<&dyn Device> {
        Some(self)
    }

    fn reporting(&self) -> Option<&dyn Reporting> {
        Some(self)
    }

    fn held(&self) -> usize {
        match self.opened.as_ref().map(|opened| &opened.frames) {
            Some(Frames::Copied(copied)) => copied.held(),
            Some(Frames::Uncopied(uncopied)) => uncopied.held(),
            None => 0,
        }
    }
}

impl Reporting for Running {
    fn report(&self) -> Option<String> {
        self.watch.report().or_else(|| self.stall.report())
    }
}

impl Device for Running {
    fn facts(&self) -> DeviceFacts {
        let Some(Opened { queue, memory, .. }) = &self.opened else {
            let mode = "DPDK, the device is gone".to_owned();
            return DeviceFacts { mode, is_up: Some(false), queues: 1, ..DeviceFacts::default() };
        };
        let (port, memory) = (&queue.port, memory.name());
        // What nobody has tried on hardware is told apart.
        let tried = if eal::is_pci(&self.options.device) { ", unverified" } else { "" };
        let copies = if port.is_zero_copy() { "zero copy" } else { "packets are copied" };
        DeviceFacts {
            mode: format!("DPDK {}, {copies}, {memory}{tried}", port.driver()),
            memory: Some(memory),
            queues: 1,
            is_zero_copy: port.is_zero_copy(),
            is_up: port.is_up(),
            ..DeviceFacts::default()
        }
    }
}

impl Opened {
    fn new(options: &Dpdk) -> Result<Self, OptionError> {
        let (queue, memory) = eal::open(options)?;
        let frames = if queue.port.is_zero_copy() {
            Frames::Uncopied(Uncopied::default())
        } else {
            Frames::Copied(Copied::new())
        };
        Ok(Opened { frames, queue, memory, known: Counts::default() })
    }

    /// Receives up to `left` frames.
    fn receive(&mut self, mut left: usize, arrivals: &mut Arrivals<'_>) {
        while left > 0 {
            let asked = left.min(BURST_MAX);
            let got = match &mut self.frames {
                Frames::Copied(copied) => copied.receive(asked, &self.queue, arrivals),
                Frames::Uncopied(uncopied) => uncopied.receive(asked, &self.queue, arrivals),
            };
            left -= got;
            if got < asked {
                return;
            }
        }
    }

    fn send_waiting(&mut self, pool: &mut Pool, counters: &Counters) {
        match &mut self.frames {
            Frames::Copied(copied) => copied.send_waiting(&self.queue, pool, counters),
            Frames::Uncopied(uncopied) => uncopied.send_waiting(&self.queue, pool, counters),
        }
    }

    fn push(&mut self, input: &mut Input, pool: &mut Pool, counters: &Counters) {
        match &mut self.frames {
            Frames::Copied(copied) => copied.push(input, &self.queue, pool, counters),
            Frames::Uncopied(uncopied) => uncopied.push(input, &self.queue, pool, counters),
        }
    }

    fn waiting(&self) -> usize {
        match &self.frames {
            Frames::Copied(copied) => copied.waiting(),
            Frames::Uncopied(uncopied) => uncopied.waiting(),
        }
    }

    /// Drops what waits, and gives back what is to receive into.
    fn abandon(&mut self, pool: &mut Pool, counter: &Counter) {
        match &mut self.frames {
            Frames::Copied(copied) => copied.abandon(pool, counter),
            Frames::Uncopied(uncopied) => uncopied.abandon(&self.queue, pool, counter),
        }
    }
}

impl Running {
    /// Lets go of a device that is gone.
    fn leave(&mut self, now_ns: u64, pool: &mut Pool) {
        self.stall.reset(now_ns);
        if let Some(mut opened) = self.opened.take() {
            opened.abandon(pool, &self.counters.down);
        }
    }

    /// Counts what the device has counted. Of several queues, the first one tells.
    fn count(&mut self) {
        let Some(opened) = self.opened.as_mut().filter(|_| self.options.queue == 0) else { return };
        let Some(now) = opened.queue.port.counts() else { return };
        let lost = |counts: &Counts| counts.missed + counts.no_buffer;
        self.counters.missed.add(lost(&now).saturating_sub(lost(&opened.known)));
        self.counters.device_errors.add(now.errors.saturating_sub(opened.known.errors));
        opened.known = now;
    }
}
