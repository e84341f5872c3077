//! The memory of an engine: packets, links and counters, at addresses that do not change while it lives.

use super::breath::Plan;
use super::fence::{Fence, Limits};
use super::guest::GuestState;
use super::layout::{Counter, Freelist, Link, MAX_PACKETS, RawPacket, SentCounter, Shared};
use super::natives::Natives;
use super::team::Member;
use super::turn_watch::{TurnWatch, Watching};
use crate::error::{Error, Failure};
use crate::options::Options;
use engine::Pool;
use engine::host::Host;
use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::ffi::c_void;
use std::num::NonZero;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::ptr::{self, NonNull};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::{env, fs, io};

/// Packets that are made ready at once.
pub(super) const STEP: usize = 1024;
/// Packets of a pool; more are in another.
const POOL: usize = 64 * 1024;
/// Bytes of memory from which counters, links and `dma_alloc` are served.
const ARENA: usize = 2 << 20;
/// A file in the folder of each engine, also of Snabb's.
const MARK: &str = "engine/packets.freelist";
/// What the process ends with when a turn of a sandboxed state cannot be ended: as when a program has raised an error.
const FAILED: i32 = 1;

/// An engine's memory and its order of breaths. Lua knows its address, so it stays in its box.
#[repr(C)]
pub(crate) struct Core {
    pub(super) shared: Shared,
    pub(super) plan: Plan,
    /// The handler of errors of the state, once it was needed.
    pub(super) handler: Option<luajit::Value>,
    /// What happened when a method raised an error: kept until somebody tells it.
    pub(super) failure: Option<Failure>,
    /// Whether the error that is raised now says that a text is not Lua.
    pub(super) is_not_lua: bool,
    pub(super) options: Options,
    /// The limits of a sandboxed state.
    pub(super) fence: Option<Fence>,
    pub(super) packets_max: usize,
    /// Apps that have failed, and were told of.
    pub(super) failures: u64,
    _watching: Option<Watching>,
    /// The folder for shared memory, with the folders of processes in it.
    pub(super) shm_root: PathBuf,
    /// The name of the folder that is this engine's own: the process id, for the first engine of a process.
    pub(super) own_name: String,
    pools: Vec<Pool>,
    pub(super) natives: Natives,
    pub(super) guest: GuestState,
    pub(super) member: Option<Member>,
    /// Packets that are in use by Lua, in links, or on the list.
    pub(super) packets: usize,
    /// Blocks of memory, and how much of the last is in use.
    arenas: Vec<NonNull<u8>>,
    used: usize,
    free_counters: Vec<*mut Counter>,
    free_links: Vec<*mut Link>,
    /// Links that were given up during a breath, whose apps may still hold them.
    pub(super) released_links: Vec<*mut Link>,
    /// Counters, and where each is published.
    published: Vec<(Published, *mut Counter)>,
    freelist_bytes: usize,
    /// The lock by which processes of other PID namespaces see that the engine lives.
    _held: fs::File,
}

impl Core {
    pub(crate) fn new(options: &Options) -> Result<Box<Self>, Error> {
        let shm_root = shm_root(options);
        remove_dead(&shm_root);
        let own_name = own_name(&shm_root);
        let folder = shm_root.join(&own_name).join("engine");
        let refused = |path: &Path| {
            let what = format!(
                "cannot use {} for shared memory (SNABB_SHM_ROOT names another folder)",
                path.display()
            );
            move |source| Error::System { what, source }
        };
        fs::create_dir_all(&folder).map_err(refused(&shm_root))?;
        if let Some(group) = env::var_os("SLUSS_GROUP") {
            // A worker shares a folder with the process that has started it.
            let _ = std::os::unix::fs::symlink(group, folder.with_file_name("group"));
        }
        let bytes = size_of::<Freelist>();
        let list = shm_root.join(&own_name).join(MARK);
        // Another engine of a process with this id may have left one.
        let _ = fs::remove_file(&list);
        let free: *mut Freelist = map(&list, bytes, Mode::Create).map_err(refused(&list))?.cast();
        let held = fs::File::open(&list).map_err(refused(&list))?;
        // Whoever looks whether it is held has it for a moment only. Where there are no locks, the process id alone says that it lives.
        let _ = held.lock();
        // SAFETY: it was mapped, of this size, a moment ago.
        unsafe { (*free).max = MAX_PACKETS as i32 };
        let shared = Shared {
            free,
            breaths: ptr::null_mut(),
            frees: ptr::null_mut(),
            freebytes: ptr::null_mut(),
            freebits: ptr::null_mut(),
            now: 0.0,
            sleep_us: 0.0,
            latency: ptr::null_mut(),
            running: 0,
            timers: 0,
            stamps: 0,
        };
        let limits = options.sandbox.as_ref().map(|sandbox| Limits {
            memory_bytes: sandbox.memory_bytes,
            turn: sandbox.turn,
            exit_code: FAILED,
        });
        let watch = options.restarts.map(|_| Arc::new(TurnWatch::default()));
        let mut core = Box::new(Core {
            shared,
            _watching: watch.clone().map(Watching::begin),
            plan: Plan::default(),
            handler: None,
            failures: 0,
            failure: None,
            is_not_lua: false,
            options: options.clone(),
            fence: limits.map(Fence::new),
            packets_max: [options.packets, options.sandbox.as_ref().map(|sandbox| sandbox.packets)]
                .into_iter()
                .flatten()
                .fold(MAX_PACKETS, usize::min),
            shm_root,
            own_name,
            pools: Vec::new(),
            natives: Natives::default(),
            guest: GuestState::default(),
            member: None,
            packets: 0,
            arenas: Vec::new(),
            used: ARENA,
            free_counters: Vec::new(),
            free_links: Vec::new(),
            released_links: Vec::new(),
            published: Vec::new(),
            freelist_bytes: bytes,
            _held: held,
        });
        core.plan.watch = watch;
        // Apps may free packets before the engine has its counters.
        core.shared.frees = core.new_counter();
        core.shared.freebytes = core.new_counter();
        core.shared.freebits = core.new_counter();
        core.shared.breaths = core.new_counter();
        Ok(core)
    }

    /// Packets that are in links, or that apps have; of a worker that frees packets of others, less those.
    #[inline]
    pub(super) fn in_use(&self) -> i64 {
        // SAFETY: the list is mapped while the engine lives.
        self.packets as i64 - i64::from(unsafe { (*self.shared.free).free })
    }

    /// Removes the process's folder of shared memory.
    pub(super) fn leave(&self) {
        if env::var_os("SNABB_SHM_KEEP").is_none() {
            let own = self.shm_root.join(&self.own_name);
            // A name that the process was given, which leads here.
            if let Ok(name) = fs::read_link(own.join("name")) {
                let _ = fs::remove_file(name);
            }
            let _ = fs::remove_dir_all(own);
        }
    }

    /// Puts more packets onto the list of free ones. Returns how many; 0 when there is no memory.
    pub(super) fn more_packets(&mut self) -> usize {
        if let Some(mut pool) = self.guest.pool {
            // SAFETY: the pool is lent for this turn, in which nobody else uses it.
            let count = self.put_on_list(unsafe { pool.as_mut() }, STEP / 4);
            // SAFETY: the list is mapped while the engine lives.
            let freelist = unsafe { &*self.shared.free };
            for &packet in &freelist.list[freelist.free as usize - count..freelist.free as usize] {
                self.guest.ledger.enter(NonNull::new(packet).expect("a packet on the list").cast());
            }
            return count;
        }
        let stocked = self.take_stock();
        if stocked > 0 {
            return stocked;
        }
        // What native apps have freed is used before other memory.
        let hosts = self.natives.host.as_mut().map(Host::pool).filter(|pool| pool.available() > 4 * STEP);
        let pool = match hosts {
            Some(pool) => pool,
            None => {
                if self.pools.last().is_none_or(|pool| pool.available() < STEP) {
                    let Ok(pool) = Pool::new(POOL).and_then(|pool| pool.with_large(0)) else { return 0 };
                    self.pools.push(pool);
                }
                let pool = self.pools.last_mut().expect("one was just made");
                pool.warm(STEP);
                pool
            }
        };
        // SAFETY: the pool is another part of the engine than what is used with it.
        let pool = unsafe { &mut *ptr::from_mut(pool) };
        self.put_on_list(pool, STEP)
    }

    /// Puts packets of a pool onto the list of free ones. Returns how many.
    fn put_on_list(&mut self, pool: &mut Pool, count: usize) -> usize {
        let mut addresses: Vec<*mut RawPacket> = Vec::with_capacity(count);
        while addresses.len() < count && self.packets + addresses.len() < self.packets_max {
            let Some(packet) = pool.allocate() else { break };
            addresses.push(home(packet.into_address()).as_ptr().cast());
        }
        self.packets += addresses.len();
        // SAFETY: the list is mapped while the engine lives, and has room for all packets there are.
        let freelist = unsafe { &mut *self.shared.free };
        // The first in memory is used first: it lies in a huge page, where there are any.
        for &address in addresses.iter().rev() {
            freelist.list[freelist.free as usize] = address;
            freelist.free += 1;
        }
        addresses.len()
    }

    /// Zero bytes that stay where they are while the engine lives, or null.
    pub(super) fn memory(&mut self, bytes: usize, align: usize) -> *mut c_void {
        if !align.is_power_of_two() || align > ARENA || bytes > ARENA {
            return ptr::null_mut();
        }
        let start = self.used.next_multiple_of(align);
        if self.arenas.is_empty() || start + bytes > ARENA {
            let layout = Layout::from_size_align(ARENA, ARENA).expect("a size and alignment that fit");
            // SAFETY: the layout is not empty.
            let Some(arena) = NonNull::new(unsafe { alloc_zeroed(layout) }) else { return ptr::null_mut() };
            self.arenas.push(arena);
            self.used = bytes;
            return arena.as_ptr().cast();
        }
        self.used = start + bytes;
        let arena = self.arenas.last().expect("one was just seen");
        // SAFETY: the bytes lie within the arena.
        unsafe { arena.as_ptr().add(start).cast() }
    }

    pub(super) fn new_counter(&mut self) -> *mut Counter {
        let counter = self.free_counters.pop().unwrap_or_else(|| self.memory(size_of::<Counter>(), 8).cast());
        // SAFETY: it is memory of the engine that nobody else uses.
        unsafe { (*counter).count = 0 };
        counter
    }

    /// From now on, `commit` copies a counter to a mapped file.
    pub(super) fn publish(&mut self, counter: Published, to: *mut Counter) {
        self.published.push((counter, to));
    }

    /// From now on, a counter is not copied. Whether it was.
    pub(super) fn unpublish(&mut self, counter: *const c_void) -> bool {
        let index = self.published.iter().position(|(own, _)| own.address() == counter);
        index.map(|index| self.published.swap_remove(index)).is_some()
    }

    pub(super) fn delete_counter(&mut self, counter: *mut Counter) {
        if self.unpublish(counter.cast()) {
            self.free_counters.push(counter);
        }
    }

    /// Copies all counters to where other processes read them.
    pub(super) fn commit(&self) {
        for &(counter, to) in &self.published {
            // SAFETY: the counter is memory of the engine, and the file is mapped until the counter is deleted.
            unsafe {
                (*to).count = match counter {
                    Published::Counter(counter) => (*counter).count,
                    Published::Sent(counter) => (*counter).count as u64,
                    Published::ReceivedPackets(link) => (*link).received_packets(),
                    Published::ReceivedBytes(link) => (*link).received_bytes(),
                }
            };
        }
    }

    /// An empty link; its counters lie in it. PERF: its size is an odd number of cache lines, so that slots of the same number in many links are in
    /// different sets of the cache.
    pub(super) fn new_link(&mut self) -> *mut Link {
        let link: *mut Link =
            self.free_links.pop().unwrap_or_else(|| self.memory(size_of::<Link>(), 64).cast());
        // SAFETY: it is memory of the engine that nobody else uses; all zeros are a link.
        unsafe { link.write_bytes(0, 1) };
        link
    }

    pub(super) fn free_link(&mut self, link: *mut Link) {
        if self.shared.running != 0 { self.released_links.push(link) } else { self.free_links.push(link) }
    }

    /// Takes back the links that were given up during a breath.
    pub(super) fn reuse_links(&mut self) {
        self.free_links.append(&mut self.released_links);
    }
}

impl Drop for Core {
    fn drop(&mut self) {
        let layout = Layout::from_size_align(ARENA, ARENA).expect("a size and alignment that fit");
        for arena in self.arenas.drain(..) {
            // SAFETY: it was allocated with this layout, and Lua, which knew of it, is closed.
            unsafe { dealloc(arena.as_ptr(), layout) };
        }
        // SAFETY: it was mapped with this size. Packets that are not on the list keep the memory of their pool: pools see to that.
        unsafe { libc::munmap(self.shared.free.cast(), self.freelist_bytes) };
        self.leave();
    }
}

/// Where Lua puts a packet that is free, in the chunk of a packet: as `free_internal` of `core.packet`, with 192 to 384 bytes before it.
#[inline]
pub(super) fn home(packet: NonNull<u8>) -> NonNull<u8> {
    packet.map_addr(|address| {
        let chunk = address.get() & !511;
        NonZero::new(chunk + 192 + ((chunk >> 13) & 3) * 64).expect("no packet lies at address 0")
    })
}

/// A counter that other processes see a copy of.
#[derive(Clone, Copy, Debug)]
pub(super) enum Published {
    Counter(*const Counter),
    Sent(*const SentCounter),
    /// The counter `rxpackets` of a link.
    ReceivedPackets(*const Link),
    /// Its counter `rxbytes`.
    ReceivedBytes(*const Link),
}

impl Published {
    /// Where Lua sees the counter.
    fn address(self) -> *const c_void {
        match self {
            Published::Counter(counter) => counter.cast(),
            Published::Sent(counter) => counter.cast(),
            Published::ReceivedPackets(link) => link.wrapping_byte_add(Link::RXPACKETS).cast(),
            Published::ReceivedBytes(link) => link.wrapping_byte_add(Link::RXBYTES).cast(),
        }
    }
}

/// How a file is mapped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    Read,
    Write,
    /// Made, or made longer, if need be.
    Create,
}

/// Maps a file, of at least so many bytes.
pub(super) fn map(path: &Path, bytes: usize, mode: Mode) -> io::Result<*mut c_void> {
    let mut open = fs::OpenOptions::new();
    open.read(true).write(mode != Mode::Read).create(mode == Mode::Create);
    let file = open.open(path)?;
    if mode == Mode::Create {
        file.set_len(bytes as u64)?;
    } else if file.metadata()?.len() < bytes as u64 {
        return Err(io::Error::from_raw_os_error(libc::EINVAL));
    }
    let protection = libc::PROT_READ | if mode == Mode::Read { 0 } else { libc::PROT_WRITE };
    let fd = std::os::fd::AsRawFd::as_raw_fd(&file);
    // SAFETY: a new mapping, where the kernel finds room; the file is open.
    let address = unsafe { libc::mmap(ptr::null_mut(), bytes.max(1), protection, libc::MAP_SHARED, fd, 0) };
    if address == libc::MAP_FAILED { Err(io::Error::last_os_error()) } else { Ok(address) }
}

/// The folder for shared memory: the one that is asked for, else Snabb's if we may write there, else one of the user's.
fn shm_root(options: &Options) -> PathBuf {
    let asked = options.shm_root.clone();
    let named = || env::var_os("SNABB_SHM_ROOT").filter(|name| !name.is_empty()).map(PathBuf::from);
    asked.or_else(named).unwrap_or_else(|| {
        let usual = PathBuf::from("/var/run/snabb");
        let is_ours = fs::create_dir_all(&usual).is_ok()
            && rustix::fs::access(&usual, rustix::fs::Access::WRITE_OK).is_ok();
        let own = || {
            let runtime = env::var_os("XDG_RUNTIME_DIR").map(|folder| PathBuf::from(folder).join("snabb"));
            runtime.unwrap_or_else(|| format!("/dev/shm/snabb-{}", rustix::process::getuid().as_raw()).into())
        };
        if is_ours { usual } else { own() }
    })
}

/// A name for an engine's folder that no other of this process has, and no folder of anybody.
fn own_name(root: &Path) -> String {
    static ENGINES: AtomicU32 = AtomicU32::new(0);
    let pid = std::process::id();
    loop {
        let name = match ENGINES.fetch_add(1, Ordering::Relaxed) {
            0 => pid.to_string(),
            number => format!("{pid}-{number}"),
        };
        let folder = root.join(&name);
        if fs::symlink_metadata(&folder).is_err() || is_left(&folder) {
            return name;
        }
    }
}

/// Removes the folders of processes that are no more: one that was killed could not do so itself. What else is there stays, whatever its name.
fn remove_dead(root: &Path) {
    let Ok(device) = fs::metadata(root).map(|root| root.dev()) else { return };
    if env::var_os("SNABB_SHM_KEEP").is_some() {
        return;
    }
    for entry in fs::read_dir(root).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let pid = name.to_str().and_then(process_of).and_then(rustix::process::Pid::from_raw);
        let is_dead =
            pid.is_some_and(|pid| rustix::process::test_kill_process(pid) == Err(rustix::io::Errno::SRCH));
        let is_folder = || entry.metadata().is_ok_and(|found| found.is_dir() && found.dev() == device);
        if is_dead && is_folder() && is_left(&entry.path()) {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

/// The process of a folder by its name, `PID` or `PID-NUMBER`.
fn process_of(name: &str) -> Option<i32> {
    let (pid, number) = name.split_once('-').unwrap_or((name, "0"));
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    (is_number(pid) && is_number(number)).then_some(pid)?.parse().ok()
}

/// Whether a folder is an engine's that nobody holds.
fn is_left(folder: &Path) -> bool {
    let mark = folder.join(MARK);
    let is_file = fs::symlink_metadata(&mark).is_ok_and(|mark| mark.is_file());
    let is_held = |mark: fs::File| matches!(mark.try_lock(), Err(fs::TryLockError::WouldBlock));
    is_file && fs::File::open(&mark).is_ok_and(|mark| !is_held(mark))
}
