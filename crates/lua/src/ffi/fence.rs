//! The limits of a sandboxed state, which hold from outside of LuaJIT: memory, and the CPU time of a turn.
//!
//! Memory: the state's allocator is [`allocate`]. What is a little over the limit it gives, out of a reserve, and sets a hook, at which the next
//! instruction of the program collects garbage, and raises an error if that was not enough. So neither the compiler of LuaJIT nor our own code is refused
//! memory in the middle of what it does. What is over the reserve as well is refused; LuaJIT raises an error then. Native functions may go over
//! it, since an error must not pass through their frames.
//!
//! Time: a thread watches a number that changes as turns begin and end. When one turn has taken too much CPU time, it sends a signal to the thread
//! that runs the turn. The signal's handler sets a hook, at which the next instruction of the program raises an error. Compiled loops
//! notice the hook as well: `crates/luajit/build.rs` makes LuaJIT check for it in states that have an allocator of their own. Functions in C do not:
//! a search for a hostile pattern takes as long as it takes. Where a turn goes on for twice the limit, the process says which and ends.

use crate::error::Error;
use luajit::*;
use std::cell::Cell;
use std::ffi::{CStr, CString, c_int, c_void};
use std::path::PathBuf;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU64, Ordering};
use std::sync::{Arc, Once};
use std::thread::JoinHandle;
use std::time::Duration;

/// How often the watch looks at least, and at most.
const LOOKS: [Duration; 2] = [Duration::from_millis(1), Duration::from_millis(50)];
/// Bytes over the limit that are given all the same. LuaJIT's compiler needs less than one MiB for a trace.
const RESERVE: usize = 4 << 20;
/// What the program is told when it has taken too much, as LuaJIT says it.
const NO_MEMORY: &CStr = c"not enough memory";
/// Bytes of an app's name that a message has.
const NAME: usize = 64;
/// The source of this library's modules, to whose code no error is raised at once: it might have changed one thing of two.
const OWN: &[u8] = b"@sluss/";
/// Instructions of it after which one is raised, since it does not return to the program.
const OWN_MAX: u64 = 100_000;

/// The limits of one state, and what it takes of them.
pub(super) struct Fence {
    memory: Box<Memory>,
    watch: Arc<Watch>,
    watcher: Option<JoinHandle<()>>,
    limits: Limits,
}

/// The limits, for messages.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    pub(super) memory_bytes: usize,
    pub(super) turn: Duration,
    /// What the process ends with when a turn cannot be ended.
    pub(super) exit_code: i32,
}

/// What the allocator is given. A state belongs to one thread.
struct Memory {
    used: Cell<usize>,
    max: Cell<usize>,
    is_enforced: Cell<bool>,
}

impl Memory {
    /// Bytes over the limit, if so many more were in use.
    fn over(&self, more: usize) -> usize {
        self.used.get().saturating_add(more).saturating_sub(self.max.get())
    }
}

/// What the watch sees of a state.
struct Watch {
    /// Changes as a turn begins or ends; odd while Lua code runs.
    beat: AtomicU64,
    /// The thread that runs the turn, and the clock of its CPU time.
    thread: AtomicI32,
    clock: AtomicI32,
    /// The app whose turn it is, as text that ends with 0.
    name: [AtomicU64; NAME / 8],
    /// What a turn that takes too long is told.
    text: CString,
    /// The memory of the state.
    memory: *const Memory,
    /// Whether a hook was set in this turn, and how many instructions of our own it has let through.
    is_interrupted: AtomicBool,
    /// Whether it was set since the turn takes too long.
    is_late: AtomicBool,
    let_through: AtomicU64,
    is_over: AtomicBool,
}

// SAFETY: the memory is looked at by the thread of the state alone, in the hook; all else is atomic, or does not change.
unsafe impl Send for Watch {}
// SAFETY: as above.
unsafe impl Sync for Watch {}

/// What a turn interrupts, to go on after it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Outer {
    state: *mut lua_State,
    is_enforced: bool,
}

thread_local! {
    /// The state whose turn this thread runs, for the signal's handler, and its watch.
    static RUNNING: Cell<(*mut lua_State, *const Watch)> = const { Cell::new((ptr::null_mut(), ptr::null())) };
    /// This thread, for the kernel, and the clock of its CPU time.
    static THREAD: (i32, i32) = this_thread();
}

impl Fence {
    /// Limits that do not hold yet.
    pub(super) fn new(limits: Limits) -> Self {
        static HANDLER: Once = Once::new();
        HANDLER.call_once(install_handler);
        let memory = Box::new(Memory {
            used: Cell::new(0),
            max: Cell::new(usize::MAX),
            is_enforced: Cell::new(false),
        });
        let watch = Arc::new(Watch {
            beat: AtomicU64::new(0),
            thread: AtomicI32::new(0),
            clock: AtomicI32::new(0),
            name: Default::default(),
            text: CString::new(format!(
                "its turn takes too long: the sandbox gives it {:?} of CPU time",
                limits.turn
            ))
            .expect("a text without zeros"),
            memory: ptr::from_ref(&*memory),
            is_interrupted: AtomicBool::new(false),
            is_late: AtomicBool::new(false),
            let_through: AtomicU64::new(0),
            is_over: AtomicBool::new(false),
        });
        Fence { memory, watch, watcher: None, limits }
    }

    /// A state whose memory is counted here.
    pub(super) fn new_state(&self) -> *mut lua_State {
        // SAFETY: the box stays where it is as long as the state lives.
        unsafe { lua_newstate(allocate, ptr::from_ref::<Memory>(&self.memory).cast_mut().cast()) }
    }

    /// From now on, the limits hold. `folder` is removed before the process ends, if it has to.
    ///
    /// # Errors
    /// When the system starts no thread.
    pub(super) fn close(&mut self, folder: PathBuf) -> Result<(), Error> {
        // The environment is not the program's.
        self.memory.max.set(self.memory.used.get().saturating_add(self.limits.memory_bytes));
        let (watch, limits) = (self.watch.clone(), self.limits);
        let builder = std::thread::Builder::new().name("lua watch".into());
        let refused = |source| Error::System { what: "cannot start the watch of a sandbox".into(), source };
        self.watcher = Some(builder.spawn(move || watch_over(&watch, limits, &folder)).map_err(refused)?);
        Ok(())
    }

    pub(super) fn limits(&self) -> Limits {
        self.limits
    }

    /// A turn of an app, or of the program if the name is empty, begins.
    pub(super) fn begin(&self, state: *mut lua_State, name: &str) -> Outer {
        let (outer, _) = RUNNING.get();
        let outer = Outer { state: outer, is_enforced: self.memory.is_enforced.get() };
        self.watch.set_name(name);
        self.enter(state);
        self.memory.is_enforced.set(true);
        outer
    }

    /// The turn ends, and that around it begins anew.
    pub(super) fn end(&self, state: *mut lua_State, outer: Outer) {
        self.leave(state);
        self.memory.is_enforced.set(outer.is_enforced);
        if !outer.state.is_null() {
            self.watch.set_name("");
            self.enter(outer.state);
        }
    }

    /// Suspends the turn: what runs now is not the program's.
    pub(super) fn suspend(&self, state: *mut lua_State) -> Outer {
        let (outer, _) = RUNNING.get();
        if !outer.is_null() {
            self.leave(state);
        }
        Outer { state: outer, is_enforced: self.memory.is_enforced.replace(false) }
    }

    /// Goes on with a turn that was suspended, as a new one.
    pub(super) fn resume(&self, outer: Outer) {
        self.memory.is_enforced.set(outer.is_enforced);
        if !outer.state.is_null() {
            self.enter(outer.state);
        }
    }

    /// Lets a native function allocate what it needs. Returns what is to be given to [`Fence::forbid`].
    pub(super) fn permit(&self) -> bool {
        self.memory.is_enforced.replace(false)
    }

    pub(super) fn forbid(&self, was_enforced: bool) {
        self.memory.is_enforced.set(was_enforced);
    }

    fn enter(&self, state: *mut lua_State) {
        let watch = &*self.watch;
        let (thread, clock) = THREAD.with(|&thread| thread);
        watch.thread.store(thread, Ordering::Relaxed);
        watch.clock.store(clock, Ordering::Relaxed);
        watch.beat.store(watch.beat.load(Ordering::Relaxed).wrapping_add(1) | 1, Ordering::Release);
        RUNNING.set((state, watch));
    }

    fn leave(&self, state: *mut lua_State) {
        // From now on, the handler does nothing.
        RUNNING.set((ptr::null_mut(), ptr::null()));
        let watch = &*self.watch;
        watch.beat.store((watch.beat.load(Ordering::Relaxed) | 1).wrapping_add(1), Ordering::Release);
        if watch.is_interrupted.load(Ordering::Relaxed) {
            // SAFETY: the state is this thread's.
            unsafe { watch.let_go_on(state) };
        }
    }
}

impl Drop for Fence {
    fn drop(&mut self) {
        self.watch.is_over.store(true, Ordering::Relaxed);
        if let Some(watcher) = self.watcher.take() {
            watcher.thread().unpark();
            let _ = watcher.join();
        }
    }
}

impl Watch {
    /// Sets the hook, as LuaJIT's own command does when it is interrupted.
    ///
    /// # Safety
    /// The state is this thread's, which runs its code; a hook may be set at any time.
    unsafe fn interrupt(&self, state: *mut lua_State) {
        self.is_interrupted.store(true, Ordering::Relaxed);
        // SAFETY: what the caller promises.
        unsafe { lua_sethook(state, Some(on_instruction), LUA_MASKCOUNT, 1) };
    }

    /// Takes the hook away.
    ///
    /// # Safety
    /// As for [`Watch::interrupt`].
    unsafe fn let_go_on(&self, state: *mut lua_State) {
        self.is_interrupted.store(false, Ordering::Relaxed);
        self.is_late.store(false, Ordering::Relaxed);
        self.let_through.store(0, Ordering::Relaxed);
        // SAFETY: what the caller promises.
        unsafe { lua_sethook(state, None, 0, 0) };
    }

    fn set_name(&self, name: &str) {
        let mut bytes = [0_u8; NAME];
        let len = name.len().min(NAME - 1);
        bytes[..len].copy_from_slice(&name.as_bytes()[..len]);
        for (word, part) in self.name.iter().zip(bytes.chunks_exact(8)) {
            word.store(u64::from_ne_bytes(part.try_into().expect("8 bytes")), Ordering::Relaxed);
        }
    }

    fn name(&self) -> String {
        let bytes: Vec<u8> = self
            .name
            .iter()
            .flat_map(|word| word.load(Ordering::Relaxed).to_ne_bytes())
            .take_while(|&byte| byte != 0)
            .collect();
        String::from_utf8_lossy(&bytes).into_owned()
    }
}

/// LuaJIT's allocator of a sandboxed state.
///
/// # Safety
/// LuaJIT calls it, with a block that it got here, or null, and its size.
unsafe extern "C" fn allocate(
    memory: *mut c_void,
    old: *mut c_void,
    old_size: usize,
    size: usize,
) -> *mut c_void {
    // SAFETY: `new_state` has given this address, which lives as long as the state; so do all blocks.
    unsafe {
        let memory = &*memory.cast::<Memory>();
        let old_size = if old.is_null() { 0 } else { old_size };
        let used = memory.used.get() - old_size;
        if size == 0 {
            libc::free(old);
            memory.used.set(used);
            return ptr::null_mut();
        }
        if size > old_size && memory.is_enforced.get() {
            let over = memory.over(size - old_size);
            let (state, watch) = RUNNING.get();
            if over > RESERVE || (over > 0 && state.is_null()) {
                return ptr::null_mut();
            }
            if over > 0 {
                (*watch).interrupt(state);
            }
        }
        let new = libc::realloc(old, size);
        if new.is_null() {
            // LuaJIT counts on a block that becomes smaller.
            return if size <= old_size { old } else { new };
        }
        memory.used.set(used + size);
        new
    }
}

/// The signal by which a thread is told that its turn is over. The first ones belong to the C library.
fn signal() -> c_int {
    libc::SIGRTMIN() + 5
}

fn install_handler() {
    // SAFETY: all zeros are an action; the handler does what a handler may do.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = on_signal as extern "C" fn(c_int) as usize;
        action.sa_flags = libc::SA_RESTART;
        libc::sigaction(signal(), &raw const action, ptr::null_mut());
    }
}

/// Interrupts a turn that takes too long.
extern "C" fn on_signal(_: c_int) {
    let (state, watch) = RUNNING.get();
    // One of them alone: a turn is about to begin or to end.
    if state.is_null() || watch.is_null() {
        return;
    }
    // SAFETY: the state is this thread's, which runs its code; a hook may be set at any time. The watch lives as long as the state.
    unsafe {
        (*watch).is_late.store(true, Ordering::Relaxed);
        (*watch).interrupt(state);
    }
}

/// Raises the error that ends a turn, or that memory is short, at the next instruction of the program.
///
/// # Safety
/// LuaJIT calls it, as a hook.
unsafe extern "C-unwind" fn on_instruction(state: *mut lua_State, at: *mut lua_Debug) {
    // SAFETY: LuaJIT says which function runs. Nothing is to be dropped when the error passes.
    unsafe {
        let (running, watch) = RUNNING.get();
        if running.is_null() || watch.is_null() {
            lua_sethook(state, None, 0, 0);
            return;
        }
        lua_getinfo(state, c"S".as_ptr(), at);
        let is_own = CStr::from_ptr((*at).source).to_bytes().starts_with(OWN);
        if is_own && (*watch).let_through.fetch_add(1, Ordering::Relaxed) < OWN_MAX {
            return;
        }
        let (watch, memory) = (&*watch, &*(*watch).memory);
        if !watch.is_late.load(Ordering::Relaxed) {
            lua_gc(state, LUA_GCCOLLECT, 0);
            // What is left of the reserve is for what must not fail: from here on the program does nothing more in this turn.
            if memory.over(0) < RESERVE / 2 {
                watch.let_go_on(state);
            }
            if memory.over(memory.max.get() / 16) == 0 {
                return;
            }
            lua_pushlstring(state, NO_MEMORY.as_ptr(), NO_MEMORY.count_bytes());
            lua_error(state);
        }
        luaL_where(state, 0);
        let text = &watch.text;
        lua_pushlstring(state, text.as_ptr(), text.count_bytes());
        lua_concat(state, 2);
        lua_error(state);
    }
}

fn this_thread() -> (i32, i32) {
    let mut clock = 0;
    // SAFETY: this thread, and a place for its clock's number.
    unsafe { libc::pthread_getcpuclockid(libc::pthread_self(), &raw mut clock) };
    (rustix::thread::gettid().as_raw_nonzero().get(), clock)
}

/// The CPU time of a thread, or `None` if there is no such thread.
fn cpu_time(clock: i32) -> Option<Duration> {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: a place for the time.
    let done = unsafe { libc::clock_gettime(clock, &raw mut time) };
    (done == 0).then(|| Duration::new(time.tv_sec as u64, time.tv_nsec as u32))
}

/// Watches over the turns of a state until it is closed.
fn watch_over(watch: &Watch, limits: Limits, folder: &std::path::Path) {
    let pause = (limits.turn / 8).clamp(LOOKS[0], LOOKS[1]);
    // The turn that was seen last, and the CPU time of its thread then.
    let mut seen = (0, None);
    while !watch.is_over.load(Ordering::Relaxed) {
        std::thread::park_timeout(pause);
        let beat = watch.beat.load(Ordering::Acquire);
        let now = cpu_time(watch.clock.load(Ordering::Relaxed));
        if beat != seen.0 || beat.is_multiple_of(2) {
            seen = (beat, now);
            continue;
        }
        let (Some(now), Some(began)) = (now, seen.1) else { continue };
        let taken = now.saturating_sub(began);
        if taken > limits.turn * 2 + LOOKS[1] * 2 {
            end_process(watch, limits, folder);
        } else if taken > limits.turn {
            // Once more each time, since what runs may have changed what the hook had changed.
            let thread = watch.thread.load(Ordering::Relaxed);
            // SAFETY: a signal to a thread of this process, or to none.
            unsafe { libc::syscall(libc::SYS_tgkill, libc::getpid(), thread, signal()) };
        }
    }
}

/// Ends the process, since a turn cannot be ended: it is in a function in C.
fn end_process(watch: &Watch, limits: Limits, folder: &std::path::Path) {
    let name = watch.name();
    let who = if name.is_empty() { "the program".to_owned() } else { format!("app `{name}`") };
    let limit = limits.turn;
    eprintln!(
        "error: {who}: its turn takes too long: more than twice the {limit:?} that the sandbox gives it, in a function that cannot be interrupted\n\
         help: it searches for a pattern, or sorts or joins a large table; `--sandbox-turn` gives a turn more time"
    );
    if std::env::var_os("SNABB_SHM_KEEP").is_none() {
        let _ = std::fs::remove_dir_all(folder);
    }
    // SAFETY: nothing runs at the end that would wait for the turn.
    unsafe { libc::_exit(limits.exit_code) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_over_the_limit_is_refused_while_the_program_runs_only() {
        let limits = Limits { memory_bytes: 0, turn: Duration::from_secs(1), exit_code: 1 };
        let fence = Fence::new(limits);
        fence.memory.max.set(1000);
        let memory = ptr::from_ref::<Memory>(&fence.memory).cast_mut().cast();
        // SAFETY: blocks that come from there go back there, with their sizes.
        unsafe {
            fence.forbid(true);
            let block = allocate(memory, ptr::null_mut(), 0, 600);
            assert!(!block.is_null());
            // No turn runs that could be told.
            assert!(allocate(memory, ptr::null_mut(), 0, 401).is_null());
            assert!(allocate(memory, block, 600, 1001).is_null());
            let was = fence.permit();
            let other = allocate(memory, ptr::null_mut(), 0, 500);
            assert!(was && !other.is_null());
            fence.forbid(was);
            let block = allocate(memory, block, 600, 300);
            assert_eq!((block.is_null(), fence.memory.used.get()), (false, 800));
            allocate(memory, block, 300, 0);
            allocate(memory, other, 500, 0);
            assert_eq!(fence.memory.used.get(), 0);
        }
    }
}
