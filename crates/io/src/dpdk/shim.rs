//! The shim, opened: calls into it.
//!
//! The unsafe code here opens the shared object and calls its functions, with pointers to values that the callers own for the time of the call. The
//! layout of what both sides share is compared when it is opened.

mod packets;

pub(super) use packets::INTO_MAX;

use engine::Packet;
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::marker::PhantomData;
use std::os::fd::AsRawFd;
use std::sync::{Mutex, OnceLock, PoisonError};

/// The most frames that one call moves.
pub(super) const BURST_MAX: usize = 64;

/// Ports are opened and closed one at a time: DPDK knows them by their names.
static OPENING: Mutex<()> = Mutex::new(());

/// The shared object, where there were headers at build.
#[cfg(dpdk_headers)]
const OBJECT: Option<&[u8]> = Some(include_bytes!(env!("SLUSS_DPDK_SHIM")));
#[cfg(not(dpdk_headers))]
const OBJECT: Option<&[u8]> = None;

/// How a port is to be set up: `struct settings` of the shim.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(super) struct PortSettings {
    pub(super) queues: u16,
    /// 0: as it is.
    pub(super) mtu: u16,
    pub(super) promiscuous: bool,
    pub(super) buffers: u32,
}

/// A port that was set up: `struct port` of the shim.
#[derive(Debug)]
#[repr(C)]
struct RawPort {
    pool: *mut c_void,
    number: u16,
    queues: u16,
    frame_max: u32,
    interface: u32,
    is_own: u8,
    takes_packets: u8,
    driver: [u8; 32],
    name: [u8; 64],
}

/// What a device has counted: `struct counts` of the shim.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub(super) struct Counts {
    /// Frames that came, and for which a queue had no room.
    pub(super) missed: u64,
    /// Frames that came, and for which there was no buffer.
    pub(super) no_buffer: u64,
    /// Frames that were broken, or could not be sent.
    pub(super) errors: u64,
}

/// `struct functions` of the shim.
#[derive(Debug)]
#[repr(C)]
struct Functions {
    size: u32,
    year_month: u32,
    version: extern "C" fn() -> *const c_char,
    error_text: extern "C" fn(c_int) -> *const c_char,
    init: unsafe extern "C" fn(c_int, *mut *mut c_char, unsafe extern "C" fn(*mut u8)) -> c_int,
    register_thread: extern "C" fn() -> c_int,
    unregister_thread: extern "C" fn(),
    open_port: unsafe extern "C" fn(*const c_char, *const c_char, *const PortSettings, *mut RawPort) -> c_int,
    close_port: unsafe extern "C" fn(*mut RawPort),
    places: unsafe extern "C" fn(*const u8, *mut *const u8, *mut *const u8) -> c_int,
    receive_own: unsafe extern "C" fn(
        *const RawPort,
        u16,
        u16,
        *mut Packet,
        u16,
        *mut Packet,
        *mut packets::RawReceived,
    ) -> u16,
    send_own: unsafe extern "C" fn(*const RawPort, u16, *const Packet, u16, *mut Packet, *mut u16) -> u16,
    take_all_back: unsafe extern "C" fn(*mut Packet) -> u16,
    receive_copies: unsafe extern "C" fn(*const RawPort, u16, *const *mut u8, *mut u32, u16) -> u16,
    send_copies: unsafe extern "C" fn(*const RawPort, u16, *const *const u8, *const u32, u16) -> u16,
    is_known: unsafe extern "C" fn(*const RawPort) -> c_int,
    is_up: unsafe extern "C" fn(*const RawPort) -> c_int,
    count: unsafe extern "C" fn(*const RawPort, *mut Counts) -> c_int,
}

/// DPDK, loaded. There is one in a process, which is never unloaded.
#[derive(Clone, Copy, Debug)]
pub(super) struct Dpdk(&'static Functions);

/// An error of DPDK, and what it is called.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct DpdkError {
    pub(super) number: c_int,
    pub(super) text: String,
}

impl Dpdk {
    /// Loads it, once. The error says what is missing.
    pub(super) fn load() -> Result<Self, &'static str> {
        static LOADED: OnceLock<Result<Dpdk, String>> = OnceLock::new();
        LOADED.get_or_init(open).as_ref().copied().map_err(String::as_str)
    }

    /// What the library calls its version.
    pub(super) fn version(self) -> String {
        text((self.0.version)())
    }

    /// Starts EAL; to be called once.
    pub(super) fn init(self, arguments: &[String]) -> Result<(), DpdkError> {
        let arguments: Vec<CString> =
            arguments.iter().map(|argument| CString::new(argument.as_str()).unwrap_or_default()).collect();
        let mut pointers: Vec<*mut c_char> =
            arguments.iter().map(|argument| argument.as_ptr().cast_mut()).collect();
        pointers.push(std::ptr::null_mut());
        // SAFETY: there is a pointer to a text that ends with a zero for each argument, and a null behind them. DPDK reads the texts, copies what
        // it keeps, and may change the order of the pointers. The function is called with packets whose memory a device had, once for each time that it did.
        self.checked(unsafe {
            (self.0.init)(arguments.len() as c_int, pointers.as_mut_ptr(), packets::come_back)
        })
    }

    /// Gives this thread a cache of buffers, unless it has one.
    pub(super) fn register_thread(self) -> Result<(), DpdkError> {
        self.checked((self.0.register_thread)())
    }

    /// Takes it from this thread.
    pub(super) fn unregister_thread(self) {
        (self.0.unregister_thread)();
    }

    /// Probes a device and sets up its port. EAL has been started.
    pub(super) fn open_port(self, device: &str, settings: &PortSettings) -> Result<Port, DpdkError> {
        let name = device.split(',').next().unwrap_or(device);
        let [device, name] = [device, name].map(|text| CString::new(text).unwrap_or_default());
        let mut port = RawPort {
            pool: std::ptr::null_mut(),
            number: 0,
            queues: 0,
            frame_max: 0,
            interface: 0,
            is_own: 0,
            takes_packets: 0,
            driver: [0; 32],
            name: [0; 64],
        };
        let _one_at_a_time = OPENING.lock().unwrap_or_else(PoisonError::into_inner);
        // SAFETY: the texts end with a zero; the shim reads the settings and writes the port, which have its layout, during the call.
        let opened = unsafe { (self.0.open_port)(device.as_ptr(), name.as_ptr(), settings, &raw mut port) };
        self.checked(opened)?;
        let interface = (port.interface != 0).then(|| crate::device::name_of(port.interface)).flatten();
        Ok(Port { raw: port, dpdk: self, interface })
    }

    fn checked(self, result: c_int) -> Result<(), DpdkError> {
        if result == 0 {
            return Ok(());
        }
        Err(DpdkError { number: result.abs(), text: text((self.0.error_text)(result)) })
    }
}

/// Opens the shared object, from memory.
fn open() -> Result<Dpdk, String> {
    let absent = option_env!("SLUSS_DPDK_ABSENT").unwrap_or("no reason is known");
    let object = OBJECT.ok_or_else(|| format!("sluss was built without DPDK: {absent}"))?;
    let written = rustix::fs::memfd_create(c"sluss_dpdk", rustix::fs::MemfdFlags::CLOEXEC).and_then(|file| {
        let mut rest = object;
        while !rest.is_empty() {
            let count = rustix::io::write(&file, rest)?;
            rest = &rest[count..];
        }
        Ok(file)
    });
    let file = written.map_err(|error| format!("no memory for its shim: {error}"))?;
    let path = CString::new(format!("/proc/self/fd/{}", file.as_raw_fd())).unwrap_or_default();
    // SAFETY: the path ends with a zero. Constructors of the libraries run, which is what they are opened for.
    let library = unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_NOW | libc::RTLD_GLOBAL) };
    if library.is_null() {
        // SAFETY: after a failure, this is a text that lives until the next call of this thread.
        let why = unsafe { libc::dlerror() };
        return Err(format!("its libraries cannot be loaded: {}", text(why)));
    }
    // SAFETY: the library is open, and the name ends with a zero.
    let functions = unsafe { libc::dlsym(library, c"sluss_dpdk".as_ptr()) }.cast::<Functions>();
    // SAFETY: if it is not null, it is the shim's constant, which begins with its size and lives as long as the library, which is never closed.
    let functions = unsafe { functions.as_ref() }.ok_or("its shim is broken")?;
    if functions.size as usize != size_of::<Functions>() {
        return Err("its shim is of another build".to_owned());
    }
    let dpdk = Dpdk(functions);
    packets::check_places(dpdk)?;
    let (year, month) = (functions.year_month / 100, functions.year_month % 100);
    let (built, found) = (format!("{year:02}.{month:02}"), dpdk.version());
    if !found.contains(&built) {
        return Err(format!("this sluss was built for DPDK {built}, and the library is {found}"));
    }
    Ok(dpdk)
}

/// Takes a virtual device away from below its port, as a bus does whose device is pulled out (`rte_dev_remove`). No other thread may use the port meanwhile.
#[cfg(test)]
pub(super) fn remove_virtual(device: &str) -> Result<(), DpdkError> {
    let dpdk = Dpdk::load().map_err(|why| DpdkError { number: libc::ENOSYS, text: why.to_owned() })?;
    // SAFETY: the name ends with a zero. DPDK's libraries are open for all to see, since the shim is.
    let remove = unsafe { libc::dlsym(libc::RTLD_DEFAULT, c"rte_eal_hotplug_remove".as_ptr()) };
    assert!(!remove.is_null(), "DPDK has no such function");
    // SAFETY: it is that function of DPDK, which has this type.
    let remove: extern "C" fn(*const c_char, *const c_char) -> c_int = unsafe { std::mem::transmute(remove) };
    let device = CString::new(device).unwrap_or_default();
    dpdk.checked(remove(c"vdev".as_ptr(), device.as_ptr()))
}

fn text(text: *const c_char) -> String {
    if text.is_null() {
        return "no reason is known".to_owned();
    }
    // SAFETY: what is not null here is a text of the shim or of the loader that ends with a zero, and outlives this call.
    unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
}

/// A port of a device, which goes with this value.
#[derive(Debug)]
pub(super) struct Port {
    raw: RawPort,
    dpdk: Dpdk,
    /// What the kernel calls it.
    interface: Option<String>,
}

// SAFETY: the port is only read after it was opened, and closed by its owner. DPDK lets threads use a port at once, each another queue of it: that
// is what `Queue` stands for, of which there is one for each number.
unsafe impl Send for Port {}
// SAFETY: as above.
unsafe impl Sync for Port {}

impl Port {
    /// The longest frame that it is given.
    pub(super) fn frame_max(&self) -> usize {
        self.raw.frame_max as usize
    }

    /// Whether frames are in packets, so that none is copied.
    pub(super) fn is_zero_copy(&self) -> bool {
        self.raw.is_own != 0
    }

    /// Whether it receives into packets that it is given; if not, it brings packets that were sent to it.
    pub(super) fn takes_packets(&self) -> bool {
        self.raw.takes_packets != 0
    }

    /// Whether DPDK has not removed the device.
    pub(super) fn is_known(&self) -> bool {
        // SAFETY: the port was set up.
        unsafe { (self.dpdk.0.is_known)(&raw const self.raw) != 0 }
    }

    /// What the device is to the kernel: its number, and its name.
    pub(super) fn interface(&self) -> Option<(u32, &str)> {
        self.interface.as_deref().map(|name| (self.raw.interface, name))
    }

    /// Which driver it has.
    pub(super) fn driver(&self) -> String {
        let name: Vec<u8> = self.raw.driver.iter().copied().take_while(|&byte| byte != 0).collect();
        String::from_utf8_lossy(&name).into_owned()
    }

    /// Whether it has something at the other end; `None` where it does not say.
    pub(super) fn is_up(&self) -> Option<bool> {
        // SAFETY: the port was set up.
        match unsafe { (self.dpdk.0.is_up)(&raw const self.raw) } {
            0 => Some(false),
            1 => Some(true),
            _ => None,
        }
    }

    /// What it has counted since it was opened.
    pub(super) fn counts(&self) -> Option<Counts> {
        let mut counts = Counts::default();
        // SAFETY: the port was set up; the shim writes the counts during the call.
        let failed = unsafe { (self.dpdk.0.count)(&raw const self.raw, &raw mut counts) };
        (failed == 0).then_some(counts)
    }
}

impl Drop for Port {
    fn drop(&mut self) {
        let _one_at_a_time = OPENING.lock().unwrap_or_else(PoisonError::into_inner);
        // SAFETY: the port was set up, and nobody uses it any more: each queue keeps it.
        unsafe { (self.dpdk.0.close_port)(&raw mut self.raw) };
    }
}

/// A queue of a port, in both directions. It belongs to one thread at a time.
#[derive(Debug)]
pub(super) struct Queue {
    pub(super) port: std::sync::Arc<Port>,
    number: u16,
    _one_thread: PhantomData<std::cell::Cell<()>>,
}

impl Queue {
    /// The queue of a number, of which there is no other; the port was set up with more than that.
    pub(super) fn new(port: std::sync::Arc<Port>, number: u16) -> Self {
        Queue { port, number, _one_thread: PhantomData }
    }

    /// Copies received frames into packets, of which all bytes may be overwritten; sets `lens` to the length of each. One that is longer than its packet is
    /// lost. Returns how many came.
    pub(super) fn receive_copies(&self, packets: &mut [Packet], lens: &mut [u32; BURST_MAX]) -> usize {
        let count = packets.len().min(BURST_MAX);
        let mut data = [std::ptr::null_mut::<u8>(); BURST_MAX];
        for (index, packet) in packets[..count].iter_mut().enumerate() {
            let bytes = packet.data_mut();
            (data[index], lens[index]) = (bytes.as_mut_ptr(), bytes.len() as u32);
        }
        let (raw, data, lens) = (&raw const self.port.raw, data.as_ptr(), lens.as_mut_ptr());
        // SAFETY: the port was set up. `count` pointers lead to bytes of packets that are lent to us alone, as many as their lengths say, and both
        // arrays outlive the call. Nobody else uses the queue: it is not `Sync`.
        let got = unsafe { (self.port.dpdk.0.receive_copies)(raw, self.number, data, lens, count as u16) };
        usize::from(got).min(count)
    }

    /// Sends copies of packets, none of them longer than [`Port::frame_max`]; returns how many the device has taken.
    pub(super) fn send_copies(&self, packets: &[Packet]) -> usize {
        let count = packets.len().min(BURST_MAX);
        let mut data = [std::ptr::null::<u8>(); BURST_MAX];
        let mut lens = [0_u32; BURST_MAX];
        for (index, packet) in packets[..count].iter().enumerate() {
            assert!(packet.len() <= self.port.frame_max(), "a frame that a buffer has no room for");
            (data[index], lens[index]) = (packet.data().as_ptr(), packet.len() as u32);
        }
        let raw = &raw const self.port.raw;
        // SAFETY: as in `receive_copies`; the shim only reads the bytes, and a buffer has room for each, as asserted.
        let sent = unsafe {
            (self.port.dpdk.0.send_copies)(raw, self.number, data.as_ptr(), lens.as_ptr(), count as u16)
        };
        usize::from(sent).min(count)
    }
}
