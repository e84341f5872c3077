//! `tap`: a TAP device, that is an Ethernet port of the kernel: what the kernel sends there comes out of the app, what is sent
//! to the app the kernel receives.
//!
//! | inputs | `input`: frames for the kernel |
//! |---|---|
//! | outputs | `output`: frames of the kernel |
//! | `name` | of the device; it is made, and goes with the app, unless it was there before |
//! | `mtu` | its longest IP packet, 68 to 65517 bytes; left as it is unless set |
//! | `delivered` | counts frames that the kernel has taken |
//! | `copies` | counts frames that the kernel has copied, in both directions |
//! | `too_short` | drops: less than an Ethernet header |
//! | `too_long` | drops: frames of the kernel of more than 65535 bytes, or frames that the kernel finds too long |
//! | `no_packet` | drops: frames of the kernel of more than 10240 bytes when the pool had no large packet |
//! | `down` | drops: the device was not switched on, or is gone |
//! | `no_buffers` | drops: the kernel had no room |
//! | `send_error` | drops: the kernel refused for another reason |
//! | `kernel_drops` | counts frames of the kernel that its queue for us had no room for |
//! | `absences` | counts how often the device has disappeared |
//!
//! The device is switched on. Its addresses are the user's: `ip address add 192.0.2.1/24 dev NAME`. Frames of the
//! kernel have the time of their breath. An output with little room, and an exhausted pool, leave frames in the device's
//! queue, where the kernel drops what is too much.
//!
//! A device that somebody removes is not made again, as it may be in the way of another: it is used again when there is one of its name.

mod losses;
#[allow(unsafe_code)]
pub(crate) mod tun;

use crate::device::{self as port, Refusal, Refusals, Sight, Watch};
use crate::interfaces;
use crate::netdev;
use engine::shm::Counter;
use engine::{
    App, Class, Device, DeviceFacts, Io, MAX_LARGE_PAYLOAD, OptionError, Output, Packet, Passage, Pool,
    Reporting, Roles, Setup, Use, Wakeable,
};
use losses::Losses;
use serde::Deserialize;
use std::fs::File;
use std::io::{self, IoSliceMut, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use wire::LinkType;

/// Bytes of an Ethernet header.
const ETHERNET_HEADER_LEN: usize = 14;
/// Ethernet header and one VLAN tag, which the longest IP packet leaves room for.
const FRAMING: usize = ETHERNET_HEADER_LEN + 4;

/// Options of `tap`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Tap {
    /// Name of the device.
    pub name: String,
    /// Its longest IP packet.
    pub mtu: Option<u16>,
}

/// A running `tap`.
#[derive(Debug)]
pub struct Running {
    options: Tap,
    file: Arc<File>,
    left: Arc<Mutex<Option<Left>>>,
    watch: Watch,
    /// What stands for the device in metadata.
    interface: u32,
    losses: Losses,
    next_look_ns: u64,
    /// A packet to read into.
    spare: Option<Packet>,
    /// Room for what does not fit into that, and one byte more: if that is written, the frame was too long.
    rest: Box<[u8]>,
    is_listening: bool,
    counters: Counters,
}

/// A device that stays open for an app that takes the place of another, with its addresses and whatever else is known of it.
#[derive(Debug)]
struct Left {
    options: Tap,
    file: Arc<File>,
}

#[derive(Debug)]
struct Counters {
    delivered: Counter,
    copies: Counter,
    refusals: Refusals,
}

impl Class for Tap {
    const TYPE: &'static str = "tap";
    const PASSAGE: Passage = Passage::World;
    type App = Running;

    fn check(&self) -> Result<(), OptionError> {
        let range = 68..=(MAX_LARGE_PAYLOAD - FRAMING) as u16;
        let mtu = self.mtu.map_or(Ok(()), |mtu| OptionError::check_range("mtu", mtu, range));
        OptionError::all([port::check_name("name", &self.name), mtu])
    }

    /// The device as it is.
    fn claim(&self) -> Option<String> {
        Some(format!("{} {:?}", self.name, self.mtu))
    }

    fn uses(&self) -> Vec<Use> {
        vec![Use {
            option: "name",
            identity: format!("TAP {}", self.name),
            name: self.name.clone(),
            verb: "has",
            is_shared: false,
            remedy: "a TAP device has one app",
        }]
    }

    fn start(&self, setup: &mut Setup<'_>) -> Result<Running, OptionError> {
        let left: Arc<Mutex<Option<Left>>> = setup.legacy();
        // One with other options is closed before the device is opened again.
        let known = lock(&left).take().filter(|left| left.options == *self && tun::is_there(&left.file));
        let file = match known {
            Some(left) => left.file,
            None => Arc::new(self.open()?),
        };
        self.leave(&left, &file);
        let interface = interfaces::number_of_device(&self.name);
        note_index(interface, &self.name);
        Ok(Running {
            losses: Losses::new(&file, setup.missed("kernel_drops")),
            options: self.clone(),
            file,
            left,
            watch: Watch::new(&self.name, setup),
            interface,
            next_look_ns: 0,
            spare: None,
            rest: vec![0; port::REST_MAX + 1].into(),
            is_listening: true,
            counters: Counters {
                delivered: setup.delivered(),
                copies: setup.counter("copies"),
                refusals: Refusals::new(setup),
            },
        })
    }
}

impl Tap {
    fn open(&self) -> Result<File, OptionError> {
        let name = &self.name;
        let file = tun::open(name).map_err(|error| OptionError::refused("name", refused(name, &error)))?;
        if let Some(mtu) = self.mtu {
            let message =
                |error| format!("{name}: cannot set it: {error}; try `sudo ip link set {name} mtu {mtu}`");
            netdev::set_mtu(name, mtu).map_err(|error| OptionError::refused("mtu", message(error)))?;
        }
        // Who may use a device that was made for them need not be allowed to switch it on.
        let _ = netdev::set_up(name);
        Ok(file)
    }

    /// Leaves an open device for an app that may take the place of this one.
    fn leave(&self, left: &Mutex<Option<Left>>, file: &Arc<File>) {
        *lock(left) = Some(Left { options: self.clone(), file: Arc::clone(file) });
    }
}

/// Notes which device of the kernel the number in metadata stands for.
fn note_index(interface: u32, device: &str) {
    if let Ok(index) = netdev::index(device) {
        engine::note_kernel_index(interface, index);
    }
}

fn lock(left: &Mutex<Option<Left>>) -> MutexGuard<'_, Option<Left>> {
    left.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The error when the kernel does not give us the device.
fn refused(name: &str, error: &io::Error) -> String {
    let help = match error.raw_os_error() {
        Some(libc::EPERM) => format!(
            "make it for this user with `sudo ip tuntap add dev {name} mode tap user $USER`, or allow sluss to: \
             `sudo setcap cap_net_admin+ep $(command -v sluss)`"
        ),
        Some(libc::EACCES) => "allow it with `sudo chmod 666 /dev/net/tun`".to_owned(),
        Some(libc::ENOENT | libc::ENODEV | libc::ENXIO) => {
            "the kernel has no TAP devices: try `sudo modprobe tun`".to_owned()
        }
        Some(libc::EBUSY) => "another program has it open".to_owned(),
        Some(libc::EINVAL) => format!("`{name}` exists and is no TAP device: choose another name"),
        _ => "`ip tuntap` shows the TAP devices that there are".to_owned(),
    };
    format!("cannot open the TAP device {name}: {error}; {help}")
}

impl App for Running {
    fn roles(&self) -> Roles {
        Roles::PULL.and(Roles::PUSH).and(Roles::TICK).and(Roles::ROOM)
    }

    fn pull(&mut self, io: &mut Io<'_>) {
        let output = &mut io.outputs[0];
        self.is_listening = output.is_linked();
        if !self.is_listening {
            return self.put_spare_back(io.pool);
        }
        for _ in 0..io.burst.min(output.room()) {
            if !self.receive(output, io.pool) {
                return;
            }
        }
    }

    fn push(&mut self, io: &mut Io<'_>) {
        while let Some(burst) = io.inputs[0].burst() {
            for packet in burst {
                let counter = self.send(&packet);
                io.pool.free(packet, counter);
            }
        }
    }

    fn tick(&mut self, io: &mut Io<'_>) {
        self.losses.count_if_due(&self.file, io.now_ns);
        if io.now_ns < self.next_look_ns {
            return;
        }
        self.next_look_ns = io.now_ns.saturating_add(port::EVERY_NS);
        if self.watch.look(io.now_ns, || tun::is_there(&self.file)) == Sight::Back
            && let Some(file) = self.watch.note(io.now_ns, self.options.open())
        {
            note_index(self.interface, &self.options.name);
            self.file = Arc::new(file);
            self.losses.begin_again(&self.file);
            self.options.leave(&self.left, &self.file);
        }
    }

    fn stop(&mut self, io: &mut Io<'_>) {
        self.put_spare_back(io.pool);
        self.losses.count(&self.file);
    }

    fn held(&self) -> usize {
        usize::from(self.spare.is_some())
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
    fn wakes_on(&self) -> Option<BorrowedFd<'_>> {
        self.is_listening.then(|| self.file.as_fd())
    }
}

impl Device for Running {
    fn facts(&self) -> DeviceFacts {
        port::facts(&self.options.name, "TAP device, the kernel copies", false)
    }
}

impl Reporting for Running {
    fn report(&self) -> Option<String> {
        self.watch.report()
    }
}

impl Running {
    /// Reads a frame; `false` if there is none.
    fn receive(&mut self, output: &mut Output, pool: &mut Pool) -> bool {
        let Some(mut packet) = self.spare.take().or_else(|| port::roomy(pool)) else { return false };
        let room = packet.len();
        let mut parts = [IoSliceMut::new(packet.data_mut()), IoSliceMut::new(&mut self.rest)];
        let len = match (&*self.file).read_vectored(&mut parts) {
            Ok(len) if len > 0 => len,
            // Nothing there, or the device is down: whoever switched it off knows.
            _ => {
                self.spare = Some(packet);
                return false;
            }
        };
        self.counters.copies.add(1);
        if len > room
            && let Err(long) = port::complete(&mut packet, len, &self.rest, 0, pool)
        {
            pool.free(packet, self.counters.refusals.long(long));
            return true;
        }
        packet.truncate(len);
        pool.describe(&mut packet, port::metadata(pool.timestamp_ns(), self.interface, LinkType::EN10MB));
        output.put(packet);
        true
    }

    /// Writes a frame; returns what counts its fate.
    fn send(&self, packet: &Packet) -> &Counter {
        if packet.len() < ETHERNET_HEADER_LEN {
            return self.counters.refusals.counter(Refusal::TooShort);
        }
        loop {
            match (&*self.file).write(packet.data()) {
                Ok(_) => {
                    self.counters.copies.add(1);
                    return &self.counters.delivered;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return self.counters.refusals.counter(Refusal::of(&error)),
            }
        }
    }

    fn put_spare_back(&mut self, pool: &mut Pool) {
        self.spare.take().into_iter().for_each(|packet| pool.take_back(packet));
    }
}
