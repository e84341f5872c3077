//! `af_packet`: a network device of the kernel, through a packet socket.
//!
//! | inputs | `input`: frames to the wire |
//! |---|---|
//! | outputs | `output`: frames from the wire, also those for the kernel, which gets them as well |
//! | `device` | its name |
//! | `promiscuous` | whether it brings in frames for other stations; `false` unless set |
//! | `outgoing` | whether frames that others on this machine send by the device come as well; `false` unless set |
//! | `fanout` | 0 to 65535: apps and programs of the same number share the frames of the device, flow by flow |
//! | `fanout_addresses` | shares them by addresses in place of flows: `{ key = 7, sockets = 4 }`; the socket that has joined as number k gets what an `rss` with `by = "addresses"`, this `key` and so many outputs puts out of its k-th |
//! | `queue` | how much the socket's queues hold, `"512KB"`; `"4MB"` unless set, and no more than the system allows |
//! | `delivered` | counts frames that the device has taken |
//! | `copies` | counts frames that the kernel has copied, in both directions |
//! | `too_short`, `too_long` | drops: frames that the device cannot send, nor the kernel cut, or longer than 65535 bytes |
//! | `wrong_linktype` | drops: packets that are not of the device's link type, where the graph keeps metadata |
//! | `no_packet` | drops: frames from the wire of more than 10240 bytes when the pool had no large packet, or too few for joined datagrams |
//! | `down` | drops: the device is not up, or is gone |
//! | `no_buffers` | drops: the device's queue was full |
//! | `send_error` | drops: the kernel refused for another reason |
//! | `absences` | counts how often the device has disappeared |
//! | `kernel_drops` | counts frames that the kernel dropped, since we did not fetch them in time, or before the socket was closed |
//! | `no_checksum` | counts frames whose checksum was left to the device, and could not be completed |
//!
//! Where the graph keeps metadata, frames have the time at which the kernel received them, and it says whom they were for (`packet_type`).
//!
//! Frames that leave by the device are not seen, unless `outgoing` asks for them: then those come as well that other programs send, or other apps
//! of the graph. What the app itself sends never comes back, nor what others of its `fanout` send. Those of a loopback device come once in
//! either case: when they come in.
//!
//! The kernel lets into a `fanout` group only who asks for the same frames (`PACKET_FANOUT_FLAG_IGNORE_OUTGOING` of linux/if_packet.h). Programs that do not
//! know this flag share frames with `outgoing = true`; those of a loopback device, not at all.
//!
//! The kernel takes the outer VLAN tag out of a frame, and we put it
//! back. When the socket's queue is full, packets wait, and then the link: so a source before it is slowed down.
//! An output with little room, and an exhausted pool, leave frames in the kernel's queue.
//!
//! Programs on this machine leave checksums and segmentation to devices, and a `veth` or a bridge does neither. The checksums of
//! such frames are completed when they come. TCP segments that were not cut, or that a device has joined (GRO), come whole, up to 65535 bytes;
//! where they are sent on by a device that takes no packets as long as that, the kernel cuts them.
//!
//! Frames have link type EN10MB, and those of a device without a link header, such as TUN, PPP and most tunnels, RAW: IP packets. Devices of other
//! types, such as CAN or a monitor of a radio, are refused.
//!
//! A device that is removed, and made again, is used again within a tenth of a second or so; meanwhile what is sent is dropped as `down`, and
//! the report says that the device is gone. If it cannot be used, that is tried again, at least every second.
//!
//! UDP datagrams that a program has left to be cut (UDP GSO), or that a device has joined, are cut when they come, as soon as the output has room
//! for them. Those in tunnels are not, and dropped as `too_long`.

mod control;
mod datagrams;
mod fanout;
mod framing;
mod intake;
mod offload;
#[allow(unsafe_code)]
pub(crate) mod ring;
#[allow(unsafe_code)]
mod socket;
#[cfg(test)]
mod tests;

pub use fanout::FanoutAddresses;
pub use framing::{Framing, Hardware, Peers};
pub(crate) use offload::{complete_checksum, prepared_checksum};

use crate::device::{self, Attempt, Outbox, Refusal, Refusals, Sender, Sight, Watch};
use crate::interfaces;
use datagrams::Datagrams;
use engine::shm::Counter;
use engine::{
    App, Class, ClockKind, Device, DeviceFacts, Io, Notifier, OptionError, Output, Packet, Passage, Pool,
    Reconfigured, Reporting, Roles, Setup, Wakeable,
};
use intake::{Frame, Intake};
use serde::Deserialize;
use socket::{BURST_MAX, OpenError, Received, Socket, Step};
use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use wire::LinkType;

/// Packets that a device is offered at least, when it has brought few.
const FEW: usize = 8;

/// Options of `af_packet`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct AfPacket {
    /// Name of the device.
    pub device: String,
    /// Whether it brings in frames for other stations.
    pub promiscuous: bool,
    /// Whether frames that others on this machine send by the device come as well.
    pub outgoing: bool,
    /// The group that shares the frames of the device.
    pub fanout: Option<u16>,
    /// How the group shares them by addresses; by flows without.
    pub fanout_addresses: Option<FanoutAddresses>,
    /// How much the socket's queues hold.
    pub queue: Option<String>,
}

/// Bytes that the socket's queues hold unless set: some thousand frames.
const QUEUE_LEN: usize = 4 << 20;
/// How long the kernel must not have dropped anything until it is told again, in nanoseconds.
const QUIET_NS: u64 = 10_000_000_000;

/// A running `af_packet`.
#[derive(Debug)]
pub struct Running {
    options: AfPacket,
    /// `None` while the device is gone.
    socket: Option<Socket>,
    framing: Framing,
    /// What stands for the device in metadata.
    interface: u32,
    watch: Watch,
    /// Packets to receive into: none between two turns, since another app may need them.
    spare: Vec<Packet>,
    /// How many frames may be there, judged by those that came before.
    expected: usize,
    /// Whether any of the frames that came last was several datagrams.
    has_joined: bool,
    /// Frames that were received, and became more packets than the output had room for.
    uncut: VecDeque<Frame>,
    /// Room for what does not fit into those, for each.
    rests: Box<[u8]>,
    /// Packets that the socket had no room for.
    outbox: Outbox,
    is_listening: bool,
    times: Times,
    next_look_ns: u64,
    /// When the kernel had dropped frames last, if that was told.
    dropping_ns: Option<u64>,
    notifier: Notifier,
    delivered: Counter,
    copies: Counter,
    kernel_drops: Counter,
    no_checksum: Counter,
    wrong_linktype: Counter,
    refusals: Refusals,
}

/// Which time frames are stamped with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Times {
    /// Nobody has asked yet, since nobody reads metadata.
    Unasked,
    /// When the kernel received them.
    Kernel,
    /// The breath in which they are fetched.
    Breath,
}

impl Times {
    /// The kernel does not know capture time.
    fn of(clock: ClockKind) -> Self {
        match clock {
            ClockKind::Wall => Times::Unasked,
            ClockKind::Capture => Times::Breath,
        }
    }
}

impl Class for AfPacket {
    const TYPE: &'static str = "af_packet";
    const PASSAGE: Passage = Passage::World;
    type App = Running;

    fn check(&self) -> Result<(), OptionError> {
        let addresses = self.fanout_addresses.map_or(Ok(()), |addresses| {
            if self.fanout.is_none() {
                return Err(OptionError::new(
                    "fanout_addresses",
                    "says how a group shares frames, and `fanout` names none",
                ));
            }
            let wrong = || {
                OptionError::new(
                    "fanout_addresses",
                    format!("a group has 1 to {} sockets", fanout::SOCKETS_MAX),
                )
            };
            (1..=fanout::SOCKETS_MAX).contains(&addresses.sockets).then_some(()).ok_or_else(wrong)
        });
        OptionError::all([device::check_name("device", &self.device), addresses, self.queue_len().map(drop)])
    }

    fn start(&self, setup: &mut Setup<'_>) -> Result<Running, OptionError> {
        let socket = self.open()?;
        let interface = interfaces::number_of_device(&self.device);
        engine::note_kernel_index(interface, socket.index());
        Ok(Running {
            options: self.clone(),
            framing: socket.framing(),
            socket: Some(socket),
            interface,
            watch: Watch::new(&self.device, setup),
            spare: Vec::with_capacity(BURST_MAX),
            expected: FEW,
            has_joined: false,
            uncut: VecDeque::new(),
            // Memory that no long frame touches is never used.
            rests: vec![0; BURST_MAX * device::REST_MAX].into(),
            outbox: Outbox::default(),
            is_listening: true,
            times: Times::of(setup.clock),
            next_look_ns: 0,
            dropping_ns: None,
            notifier: setup.notifier(),
            copies: setup.counter("copies"),
            delivered: setup.delivered(),
            kernel_drops: setup.missed("kernel_drops"),
            no_checksum: setup.counter("no_checksum"),
            wrong_linktype: setup.drops("wrong_linktype"),
            refusals: Refusals::new(setup),
        })
    }

    /// The socket stays, with the frames in its queue, where the device does; nobody leaves a group but with the socket, and what the group
    /// sees was settled by the first in it.
    fn reconfigure(
        &self,
        app: &mut Running,
        old: &Self,
        _: &mut Setup<'_>,
    ) -> Result<Reconfigured, OptionError> {
        let of_group = |options: &Self| (options.fanout, options.fanout_addresses, options.outgoing);
        if self.device != old.device || (of_group(self) != of_group(old) && old.fanout.is_some()) {
            return Ok(Reconfigured::NeedsRestart);
        }
        // A device that is gone is opened with these options when it is back.
        if let Some(socket) = &app.socket {
            self.change(socket, old)?;
        }
        app.options = self.clone();
        Ok(Reconfigured::Kept)
    }
}

impl AfPacket {
    /// Bytes that the socket's queues hold.
    fn queue_len(&self) -> Result<usize, OptionError> {
        self.queue.as_deref().map_or(Ok(QUEUE_LEN), |text| device::check_size("queue", text))
    }

    fn open(&self) -> Result<Socket, OptionError> {
        Socket::open(self).map_err(|error| self.refused(&error))
    }

    /// Opens the device again. The graph has been made for what its frames begin with.
    fn open_as(&self, framing: Framing) -> Result<Socket, OptionError> {
        let socket = self.open()?;
        if socket.framing() == framing {
            return Ok(socket);
        }
        let [now, before] = [socket.framing(), framing].map(Framing::linktype);
        Err(OptionError::refused("device", format!("its link type is {now}, and was {before}")))
    }

    /// Gives the socket of a device these options in place of `old`.
    fn change(&self, socket: &Socket, old: &Self) -> Result<(), OptionError> {
        let refused = |error| self.refused(&error);
        if self.queue != old.queue {
            socket.set_queue_len(self.queue_len()?);
        }
        if self.promiscuous != old.promiscuous {
            socket.set_promiscuous(self.promiscuous).map_err(refused)?;
        }
        let joined = match self.fanout {
            Some(_) if old.fanout.is_none() => socket.join(self),
            _ => Ok(()),
        };
        let done = joined.and_then(|()| socket.set_outgoing(self.outgoing));
        if done.is_err() && self.promiscuous != old.promiscuous {
            // The app goes on as before.
            let _ = socket.set_promiscuous(old.promiscuous);
        }
        done.map_err(refused)
    }

    /// The error when the kernel does not give us the socket.
    fn refused(&self, OpenError { step, error }: &OpenError) -> OptionError {
        let device = &self.device;
        match step {
            Step::Socket => OptionError::refused(
                "device",
                format!(
                    "cannot open a packet socket: {error}; run as root, or allow sluss to: \
                     `sudo setcap cap_net_raw+ep $(command -v sluss)`"
                ),
            ),
            Step::Device if error.raw_os_error() == Some(libc::ENODEV) => OptionError::refused(
                "device",
                format!("there is no device {device}; `ip link` shows those that there are"),
            ),
            Step::Device => OptionError::refused("device", format!("cannot use {device}: {error}")),
            Step::Hardware(hardware) => OptionError::new(
                "device",
                format!(
                    "{device} is of type {hardware} ({}), which is not supported: use an Ethernet device, or one \
                     whose packets begin with IP, such as TUN, PPP and tunnels",
                    framing::name(*hardware)
                ),
            ),
            Step::Promiscuous => OptionError::refused(
                "promiscuous",
                format!("{device} does not allow it: {error}; try `sudo ip link set {device} promisc on`"),
            ),
            Step::Fanout { could_see_outgoing } => {
                let others = if *could_see_outgoing && error.raw_os_error() == Some(libc::EINVAL) {
                    " To share it with programs that do not set PACKET_FANOUT_FLAG_IGNORE_OUTGOING, write `outgoing = true`"
                } else {
                    ""
                };
                OptionError::refused(
                    "fanout",
                    format!(
                        "cannot join the group: {error}; is {device} up, and the number used for the same device only, \
                         with the same `outgoing`?{others}"
                    ),
                )
            }
        }
    }
}

impl App for Running {
    fn roles(&self) -> Roles {
        Roles::PULL
            .and(Roles::PUSH)
            .and(Roles::TICK)
            .and(Roles::ROOM)
            .and(Roles::METADATA.when(self.framing != Framing::Ethernet))
    }

    fn pull(&mut self, io: &mut Io<'_>) {
        self.send_waiting(io.pool);
        if self.times == Times::Unasked && io.pool.uses_metadata() {
            self.ask_for_times();
        }
        let output = &mut io.outputs[0];
        if output.is_linked() != self.is_listening {
            self.set_listening(output.is_linked());
        }
        if self.is_listening {
            self.receive(output, io.pool, io.burst);
        } else {
            self.abandon_uncut(io.pool);
        }
    }

    fn push(&mut self, io: &mut Io<'_>) {
        let mut outbox = std::mem::take(&mut self.outbox);
        outbox.push(self, &mut io.inputs[0], io.pool);
        self.outbox = outbox;
    }

    fn tick(&mut self, io: &mut Io<'_>) {
        if io.now_ns < self.next_look_ns {
            return;
        }
        self.next_look_ns = io.now_ns.saturating_add(device::EVERY_NS);
        let sight = self.watch.look(io.now_ns, || self.socket.as_ref().is_some_and(Socket::is_bound));
        if sight != Sight::There {
            self.close();
        }
        if sight == Sight::Back
            && let Some(socket) = self.watch.note(io.now_ns, self.options.open_as(self.framing))
        {
            engine::note_kernel_index(self.interface, socket.index());
            self.socket = Some(socket);
            self.set_listening(self.is_listening);
            if self.times == Times::Kernel {
                self.ask_for_times();
            }
        }
        if let Some(socket) = &mut self.socket {
            let dropped = socket.dropped().unwrap_or(0);
            self.kernel_drops.add(dropped.into());
            socket.ask_mtu();
            if dropped > 0 {
                self.tell_of_drops(io.now_ns);
            }
        }
    }

    fn stop(&mut self, io: &mut Io<'_>) {
        self.abandon_uncut(io.pool);
        self.send_waiting(io.pool);
        self.outbox.abandon(io.pool, self.refusals.counter(Refusal::NoBuffers));
    }

    fn held(&self) -> usize {
        self.spare.len() + self.outbox.len() + self.uncut.len()
    }

    fn is_finished(&self) -> bool {
        !self.is_listening
    }

    fn wakeable(&self) -> Option<&dyn Wakeable> {
        Some(self)
    }

    fn device(&self) -> Option<&dyn Device> {
        Some(self)
    }

    fn reporting(&self) -> Option<&dyn Reporting> {
        Some(self)
    }
}

impl Wakeable for Running {
    /// What waits for room in the socket, or in the output, comes first.
    fn wakes_on(&self) -> Option<BorrowedFd<'_>> {
        let socket = self.socket.as_ref().filter(|_| self.is_listening)?;
        (self.outbox.is_empty() && self.uncut.is_empty()).then(|| socket.as_fd())
    }
}

impl Device for Running {
    fn facts(&self) -> DeviceFacts {
        let mode = "packet socket, the kernel copies";
        device::facts(&self.options.device, mode, self.times == Times::Kernel)
    }
}

impl Reporting for Running {
    fn report(&self) -> Option<String> {
        self.watch.report()
    }
}

/// Frames that are in the socket's queue go with it.
impl Drop for Running {
    fn drop(&mut self) {
        self.close();
    }
}

impl Sender for Running {
    const BURST_MAX: usize = BURST_MAX;

    #[inline]
    fn ours(&self, packets: &[Packet], pool: &Pool) -> usize {
        if !pool.uses_metadata() {
            return packets.len();
        }
        packets
            .iter()
            .take_while(|packet| self.framing.takes(LinkType::new(packet.metadata().linktype.into())))
            .count()
    }

    fn wrong_linktype(&self) -> &Counter {
        &self.wrong_linktype
    }

    fn attempt(&self, packets: &[Packet]) -> Attempt<'_> {
        let Some(socket) = &self.socket else {
            return Attempt::Taken(packets.len(), self.refusals.counter(Refusal::Down));
        };
        match socket.send(packets) {
            Ok(count) if count > 0 => {
                self.copies.add(count as u64);
                Attempt::Taken(count, &self.delivered)
            }
            Ok(_) => Attempt::Full,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Attempt::Full,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Attempt::Taken(0, &self.delivered),
            // The first is the one that it does not take.
            Err(error) => {
                let is_long = packets.first().is_some_and(|packet| socket.is_long(packet.data()));
                let refusal = match Refusal::of(&error) {
                    Refusal::TooShort if is_long => Refusal::TooLong,
                    refusal => refusal,
                };
                Attempt::Taken(1, self.refusals.counter(refusal))
            }
        }
    }
}

impl Running {
    /// Closes the socket, with the frames in its queue. As long as any socket of a fanout group is open, the group is bound to a device
    /// that is gone, and takes in no socket of the next one.
    fn close(&mut self) {
        if let Some(socket) = self.socket.take() {
            self.kernel_drops.add(socket.empty());
        }
    }

    /// Tells that the kernel has begun to drop frames.
    #[cold]
    fn tell_of_drops(&mut self, now_ns: u64) {
        let is_known = self.dropping_ns.is_some_and(|then_ns| now_ns.saturating_sub(then_ns) < QUIET_NS);
        self.dropping_ns = Some(now_ns);
        if !is_known {
            self.notifier.warn(format!(
                "device {}: the kernel has begun to drop frames, which are not fetched in time; a longer `queue` helps where they come in bursts",
                self.options.device
            ));
        }
    }

    fn send_waiting(&mut self, pool: &mut Pool) {
        let mut outbox = std::mem::take(&mut self.outbox);
        outbox.send_waiting(self, pool);
        self.outbox = outbox;
    }

    /// Has the kernel stamp frames. If it does not, they have the time of the breath in which they are fetched.
    fn ask_for_times(&mut self) {
        let Some(socket) = &self.socket else { return };
        self.times = if socket.ask_for_times().is_ok() { Times::Kernel } else { Times::Breath };
    }

    fn set_listening(&mut self, wanted: bool) {
        self.is_listening = wanted;
        let Some(socket) = &self.socket else { return };
        // If the kernel does not do it, frames are left to fill the queue: nothing worse.
        let _ = if wanted { socket.listen() } else { socket.ignore() };
    }

    /// Frames that wait are lost like those in the queue of a socket that is closed.
    fn abandon_uncut(&mut self, pool: &mut Pool) {
        self.kernel_drops.add(self.uncut.len() as u64);
        self.uncut.drain(..).for_each(|frame| frame.abandon(pool));
    }

    fn receive(&mut self, output: &mut Output, pool: &mut Pool, burst: usize) {
        while let Some(frame) = self.uncut.pop_front() {
            if !frame.fits(output) {
                return self.uncut.push_front(frame);
            }
            frame.put(output, pool, &self.refusals);
        }
        let mut left = burst.min(BURST_MAX);
        loop {
            let packets_max = if self.has_joined { Datagrams::MAX } else { 1 };
            let asked = left.min(output.room() / packets_max).min(self.expected);
            if asked == 0 || !self.uncut.is_empty() {
                return;
            }
            let got = self.receive_some(asked, output, pool);
            if got < asked {
                self.expected = (2 * got).clamp(FEW, BURST_MAX);
                return;
            }
            self.expected = BURST_MAX;
            left -= got;
        }
    }

    /// Receives up to `asked` frames; returns how many there were.
    fn receive_some(&mut self, asked: usize, output: &mut Output, pool: &mut Pool) -> usize {
        let Some(socket) = &self.socket else { return 0 };
        while self.spare.len() < asked {
            let Some(packet) = device::roomy(pool) else { break };
            self.spare.push(packet);
        }
        let mut received = [Received::default(); BURST_MAX];
        // Without any there is nothing there, or the device is down, and may come up again.
        let got = socket.receive(&mut self.spare, &mut self.rests, &mut received, pool.uses_metadata());
        let got = got.unwrap_or_else(|error| {
            // Segments of a kind for which there is no header (SCTP): the kernel has dropped them.
            self.kernel_drops.add(u64::from(error.raw_os_error() == Some(libc::EINVAL)));
            0
        });
        self.spare.drain(got..).for_each(|packet| pool.take_back(packet));
        self.copies.add(got as u64);
        if got > 0 {
            self.has_joined = received[..got].iter().any(|received| received.datagram_len.is_some());
        }
        let framing = self.framing;
        let mut intake = Intake {
            framing,
            metadata: device::metadata(pool.timestamp_ns(), self.interface, framing.linktype()),
            refusals: &self.refusals,
            no_checksum: &self.no_checksum,
            pool,
            output,
            waiting: &mut self.uncut,
        };
        let rests = self.rests.chunks_exact(device::REST_MAX);
        for ((packet, received), rest) in self.spare.drain(..).zip(&received).zip(rests) {
            intake.take(packet, received, rest);
        }
        got
    }
}
