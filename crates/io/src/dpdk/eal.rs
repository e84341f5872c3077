//! EAL, DPDK's own set-up, which is done once in a process, and the ports that are open.

use super::Dpdk as Options;
use super::shim::{Dpdk, DpdkError, Port, PortSettings, Queue};
use crate::device;
use engine::OptionError;
use std::cell::RefCell;
use std::collections::HashMap;
use std::fs;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

/// The driver that shares the memory of DPDK with a host, and connects to that as it is probed.
const GUEST: &str = "net_virtio_user";
/// The driver of such a host.
const HOST: &str = "net_vhost";
/// Free huge pages of 2 MiB without which usual pages are taken.
const HUGE_PAGES_MIN: u64 = 32;
/// MiB of usual pages, which are used as far as they are touched.
const USUAL_MIB: u32 = 512;

/// The argument by which a user, too, chooses usual pages.
const NO_HUGE: &str = "--no-huge";

/// Which memory DPDK keeps its buffers in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Memory {
    HugePages,
    UsualPages,
}

impl Memory {
    pub(super) fn name(self) -> &'static str {
        match self {
            Memory::HugePages => "huge pages",
            Memory::UsualPages => "no huge pages",
        }
    }

    /// What can be had now.
    fn available() -> Self {
        let free = fs::read_to_string("/sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages");
        let free = free.ok().and_then(|text| text.trim().parse::<u64>().ok());
        if free >= Some(HUGE_PAGES_MIN) { Memory::HugePages } else { Memory::UsualPages }
    }
}

/// EAL, which runs.
#[derive(Debug)]
struct Eal {
    memory: Memory,
    has_pci: bool,
    /// What a user has added to our arguments.
    added: Vec<String>,
    /// By the name of the device, without its arguments.
    ports: HashMap<String, Open>,
}

impl Eal {
    /// A port that is open, with which this device may wait for ever. In huge pages the memory of DPDK grows: it is locked then until the host has mapped
    /// what is new, for which the host allocates memory of its own process. Usual pages are set aside at the start.
    fn deadlocks_with(&self, device: &str) -> Option<&str> {
        let other = match device {
            _ if self.memory == Memory::UsualPages => return None,
            guest if guest.starts_with(GUEST) => HOST,
            host if host.starts_with(HOST) => GUEST,
            _ => return None,
        };
        let is_open = |open: &Open| open.port.strong_count() > 0;
        self.ports
            .iter()
            .find(|(name, open)| name.starts_with(other) && is_open(open))
            .map(|(name, _)| &**name)
    }
}

/// A port that some apps have queues of.
#[derive(Debug)]
struct Open {
    port: Weak<Port>,
    /// The device, with its arguments.
    device: String,
    settings: (u16, Option<u16>, bool),
}

static EAL: Mutex<Option<Eal>> = Mutex::new(None);

fn lock() -> MutexGuard<'static, Option<Eal>> {
    EAL.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A queue of a device, which is probed and set up for the first app that asks.
pub(super) fn open(options: &Options) -> Result<(Queue, Memory), OptionError> {
    let (device, name) = (&options.device, options.name());
    let dpdk = Dpdk::load().map_err(|why| OptionError::refused("device", missing(why)))?;
    let is_pci = is_pci(device);
    let mut eal = lock();
    let eal = match &mut *eal {
        Some(eal) => eal,
        none => none.insert(start(dpdk, is_pci.then_some(device), &options.eal)?),
    };
    if is_pci && !eal.has_pci {
        let why = "DPDK was started without PCI for another device: name devices of PCI first, and start sluss anew";
        return Err(OptionError::refused("device", why));
    }
    if let Some(other) = eal.deadlocks_with(device) {
        let why = format!(
            "{device} cannot be in one process with {other} in huge pages: add `eal = [\"{NO_HUGE}\"]` below a line [dpdk], or run one of them in a sluss of its own"
        );
        return Err(OptionError::refused("device", why));
    }
    if !options.eal.is_empty() && options.eal != eal.added {
        let why = match &*eal.added.join(" ") {
            "" => "DPDK was started without them".to_owned(),
            others => format!("DPDK was started with others, `{others}`"),
        };
        let why = format!("{why}: it is set up once, so start sluss anew");
        return Err(OptionError::refused("eal", why));
    }
    let settings = (options.queues, options.mtu, options.promiscuous);
    if let Some(open) = eal.ports.get(name)
        && let Some(port) = open.port.upgrade()
    {
        if !is_there(&port) {
            return Err(OptionError::refused(
                "device",
                format!("{device} is gone, and another app has yet to see that"),
            ));
        }
        if open.device != *device {
            let why = format!(
                "another app has {name} as `{}`: write the same for all queues of it, or choose another name",
                open.device
            );
            return Err(OptionError::new("device", why));
        }
        if open.settings != settings {
            let why = format!("another app has {device} with other `queues`, `mtu` or `promiscuous`");
            return Err(OptionError::new("device", why));
        }
        return Ok((Queue::new(port, options.queue), eal.memory));
    }
    let asked = PortSettings {
        queues: options.queues,
        mtu: options.mtu.unwrap_or(0),
        promiscuous: options.promiscuous,
        buffers: options.buffers,
    };
    let port = Arc::new(dpdk.open_port(device, &asked).map_err(|error| refused(options, &error))?);
    let open = Open { port: Arc::downgrade(&port), device: device.clone(), settings };
    eal.ports.insert(name.to_owned(), open);
    Ok((Queue::new(port, options.queue), eal.memory))
}

/// Whether a device has not been removed, as far as DPDK and the kernel know. A TAP device in another network namespace is there.
pub(super) fn is_there(port: &Port) -> bool {
    let Some((number, name)) = port.interface().filter(|_| port.is_known()) else { return port.is_known() };
    device::name_of(number).is_some() || (port.driver() == "net_tap" && has_tap(name))
}

/// Whether this process has a TAP device of this name open, in whatever namespace that is (proc(5), `fdinfo`).
fn has_tap(name: &str) -> bool {
    let files = fs::read_dir("/proc/self/fdinfo").into_iter().flatten().flatten();
    let mut texts = files.filter_map(|file| fs::read_to_string(file.path()).ok());
    texts.any(|text| {
        text.lines().any(|line| line.strip_prefix("iff:").is_some_and(|found| found.trim() == name))
    })
}

/// What mends that DPDK cannot be loaded.
fn missing(why: &str) -> String {
    format!(
        "{why}; to have it: `sudo apt-get install libdpdk-dev`, then build sluss anew; `sluss doctor dpdk` says what is missing"
    )
}

fn refused(options: &Options, DpdkError { number, text }: &DpdkError) -> OptionError {
    let device = &options.device;
    match *number {
        libc::ERANGE => OptionError::new("queues", format!("{device} has fewer than {}", options.queues)),
        libc::ENODEV => OptionError::refused(
            "device",
            format!("DPDK finds no device {device}; `sluss doctor dpdk` lists those on PCI"),
        ),
        // What it says of a name that no bus knows.
        libc::EFAULT => OptionError::refused(
            "device",
            format!(
                "DPDK has no driver for {device}; the name of a device in software begins with that of its driver, such as `net_tap0`, and a card is \
                 known by its address on PCI, such as `0000:01:00.0`: `sluss doctor dpdk` lists these"
            ),
        ),
        libc::EEXIST => OptionError::refused(
            "device",
            format!("DPDK has a device {} already: choose another name", options.name()),
        ),
        libc::ENOMEM => OptionError::refused(
            "buffers",
            format!("no memory for {} buffers of {device}: {text}; `sluss doctor dpdk`", options.buffers),
        ),
        // Which of the two is set up first is decided by the names of their apps.
        _ if device.starts_with(GUEST) => OptionError::refused(
            "device",
            format!(
                "DPDK cannot use {device}: {text} (error {number}); nobody listens at its `path`? A `net_vhost` of the same graph must come first: give its app a \
                 name that is before this one's in the alphabet"
            ),
        ),
        _ => OptionError::refused("device", format!("DPDK cannot use {device}: {text} (error {number})")),
    }
}

/// Starts EAL, on a thread of its own: it sets the processors of the thread that starts it, which would be those of all that this one starts later.
fn start(dpdk: Dpdk, pci: Option<&String>, added: &[String]) -> Result<Eal, OptionError> {
    let wants_usual = added.iter().any(|argument| argument == NO_HUGE);
    let memory = if wants_usual { Memory::UsualPages } else { Memory::available() };
    let arguments = arguments(memory, pci, added);
    let thread = std::thread::Builder::new().name("dpdk".to_owned());
    let started = thread.spawn({
        let arguments = arguments.clone();
        move || dpdk.init(&arguments)
    });
    let started =
        started.map_err(|error| OptionError::refused("device", format!("no thread for DPDK: {error}")))?;
    match started.join() {
        Ok(Ok(())) => {
            Ok(Eal { memory, has_pci: pci.is_some(), added: added.to_vec(), ports: HashMap::new() })
        }
        Ok(Err(error)) => Err(OptionError::refused(
            if added.is_empty() { "device" } else { "eal" },
            format!(
                "DPDK does not start: {}; it was started with `{}`; `sluss doctor dpdk`",
                error.text,
                arguments.join(" ")
            ),
        )),
        Err(_) => Err(OptionError::refused("device", "DPDK does not start: it panicked")),
    }
}

fn arguments(memory: Memory, pci: Option<&String>, added: &[String]) -> Vec<String> {
    let mut arguments = ["sluss", "--no-telemetry", "--log-level=error"].map(str::to_owned).to_vec();
    arguments.push(format!("--lcores=0@({})", processors()));
    match memory {
        // No files are left behind, whatever happens. A guest can share eight files with its host, and each page would be one.
        Memory::HugePages => {
            arguments.extend(["--in-memory", "--single-file-segments"].map(str::to_owned));
        }
        // The two exclude each other in 22.11.
        Memory::UsualPages => {
            arguments.extend([NO_HUGE, "--no-shconf"].map(str::to_owned));
            arguments.extend(["-m".to_owned(), USUAL_MIB.to_string()]);
        }
    }
    match pci {
        Some(device) => arguments.extend(["-a".to_owned(), device.clone()]),
        None => arguments.push("--no-pci".to_owned()),
    }
    arguments.extend(added.iter().filter(|argument| *argument != NO_HUGE).cloned());
    arguments
}

/// All that this process may use.
fn processors() -> String {
    let all = rustix::thread::sched_getaffinity(None).ok();
    let numbers = (0..rustix::thread::CpuSet::MAX_CPU)
        .filter(|&number| all.as_ref().is_some_and(|all| all.is_set(number)))
        .map(|number| number.to_string());
    let numbers: Vec<String> = numbers.collect();
    if numbers.is_empty() { "0".to_owned() } else { numbers.join(",") }
}

/// Whether a device is named by its place on PCI: `0000:03:00.0` or `03:00.0`.
pub(super) fn is_pci(device: &str) -> bool {
    let name = device.split(',').next().unwrap_or_default();
    let is_hex = |part: &str| !part.is_empty() && part.chars().all(|c| c.is_ascii_hexdigit());
    let parts: Vec<&str> = name.split([':', '.']).collect();
    (3..=4).contains(&parts.len()) && name.contains(':') && parts.into_iter().all(is_hex)
}

/// Gives this thread a cache of buffers, for as long as it lives.
pub(super) fn register_thread() {
    thread_local! {
        static REGISTERED: RefCell<Option<Registered>> = const { RefCell::new(None) };
    }
    let _ = REGISTERED.try_with(|registered| {
        let mut registered = registered.borrow_mut();
        if registered.is_none()
            && let Ok(dpdk) = Dpdk::load()
        {
            // Without it, it is slower.
            *registered = Some(Registered(dpdk.register_thread().is_ok().then_some(dpdk)));
        }
    });
}

/// A thread that DPDK knows.
struct Registered(Option<Dpdk>);

impl Drop for Registered {
    fn drop(&mut self) {
        self.0.into_iter().for_each(Dpdk::unregister_thread);
    }
}

/// Whether DPDK can be loaded, and its version; or why not.
pub(super) fn version() -> Result<String, &'static str> {
    Dpdk::load().map(Dpdk::version)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn devices_of_pci_are_known_by_their_names() {
        for (device, is) in [
            ("0000:03:00.0", true),
            ("03:00.1,queues=2", true),
            ("net_null0,size=64", false),
            ("net_tap0,iface=a:b.c", false),
            ("", false),
            ("dead.beef.0", false),
        ] {
            assert_eq!(is_pci(device), is, "{device}");
        }
    }
}
