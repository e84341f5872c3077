//! Signals, as flags that are looked at between two steps of the work.

use crate::exit::Failure;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGXFSZ};
use signal_hook::iterator::Signals;
use std::io::{self, IsTerminal};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// What comes so soon after the first signal says no more than that: timeout(1) signals a process and then its whole group.
const ONCE_MORE: Duration = Duration::from_millis(500);

/// How long after the signal a terminal has gone at the latest; the kernel does both at once.
const HANGING_UP: Duration = Duration::from_secs(1);

/// Whether there was one that was caught, for whoever waits for a reader: a signal is the process's, and so is this.
static HAS_COME: AtomicBool = AtomicBool::new(false);

/// Whether a signal that was caught has asked for an end.
pub(crate) fn has_come() -> bool {
    HAS_COME.load(Ordering::Relaxed)
}

/// What there is of signals that ask for an end.
#[derive(Debug, Default)]
pub(crate) struct Caught {
    /// The number of the last one; 0 for none.
    number: Arc<AtomicUsize>,
    /// Whether there was one: what ends a read that waits for a pipe.
    pub(crate) is_any: Arc<AtomicBool>,
    /// Whether a signal kills, since what goes on waits and nothing can be lost, or it is a later one.
    pub(crate) kills: Arc<AtomicBool>,
}

impl Caught {
    /// The signal that asked for an end.
    pub(crate) fn signal(&self) -> Option<i32> {
        match self.number.load(Ordering::Relaxed) {
            0 => None,
            number => Some(number as i32),
        }
    }
}

/// Signals that ask for an end; to a graph, [`Hangup`] says something else.
pub(crate) const ENDING: &[i32] = &[SIGINT, SIGTERM, SIGHUP];
pub(crate) const ENDING_GRAPHS: &[i32] = &[SIGINT, SIGTERM];

/// What is caught from now on.
pub(crate) fn caught(signals: &[i32]) -> Result<Caught, Failure> {
    let caught = Caught::default();
    catch(&caught, signals)?;
    Ok(caught)
}

/// From now on, these signals are noted, but for SIGHUP where nohup(1) has it ignored. The first wakes the calling thread where it is parked; some
/// time after it, a signal kills.
pub(crate) fn catch(caught: &Caught, signals: &[i32]) -> Result<(), Failure> {
    let Caught { number, is_any, kills } = caught;
    let stays = |signal: &i32| *signal != SIGHUP || !is_hangup_ignored();
    let signals: Vec<i32> = signals.iter().copied().filter(stays).collect();
    for &signal in &signals {
        let registered = signal_hook::flag::register_conditional_default(signal, Arc::clone(kills))
            .and_then(|_| signal_hook::flag::register(signal, Arc::clone(is_any)))
            .and_then(|_| signal_hook::flag::register_usize(signal, Arc::clone(number), signal as usize));
        registered.map_err(|error| refused(signal, &error))?;
    }
    let kills = Arc::clone(kills);
    let caller = std::thread::current();
    let wait = |mut signals: Signals| {
        let wait = move || {
            signals.forever().next();
            HAS_COME.store(true, Ordering::Relaxed);
            caller.unpark();
            std::thread::sleep(ONCE_MORE);
            kills.store(true, Ordering::Relaxed);
        };
        std::thread::Builder::new().name("signals".to_owned()).spawn(wait)
    };
    Signals::new(signals).and_then(wait).map_err(|error| refused(SIGINT, &error))?;
    Ok(())
}

/// Whether SIGHUP, the lowest of the bits, is ignored: proc_pid_status(5).
fn is_hangup_ignored() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let bits = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    bits.and_then(|bits| u64::from_str_radix(bits.trim(), 16).ok()).is_some_and(|bits| bits & 1 != 0)
}

/// From now on, a file that may become no longer is an error of who writes to it (EFBIG), and does not end the process in the middle of a record: setrlimit(2).
pub(crate) fn fail_at_file_size() {
    // Where that cannot be had, it ends the process, as it does others.
    let _ = signal_hook::flag::register(SIGXFSZ, Arc::default());
}

/// What SIGHUP says: that the configuration is to be read again, or that the terminal has gone.
#[derive(Debug)]
pub(crate) struct Hangup {
    is_new: Arc<AtomicBool>,
    /// When it last came.
    came: Option<Instant>,
    /// The terminal that this was started on, if it was.
    terminal: Option<OwnedFd>,
}

impl Hangup {
    /// What is caught from now on. It wakes the calling thread where that is parked.
    pub(crate) fn caught() -> Result<Hangup, Failure> {
        let is_new = Arc::new(AtomicBool::new(false));
        let caller = std::thread::current();
        let wake = |mut signals: Signals| {
            let wake = move || signals.forever().for_each(|_| caller.unpark());
            std::thread::Builder::new().name("hangups".to_owned()).spawn(wake)
        };
        // The flag first: who is woken finds it.
        signal_hook::flag::register(SIGHUP, Arc::clone(&is_new))
            .and_then(|_| Signals::new([SIGHUP]))
            .and_then(wake)
            .map_err(|error| refused(SIGHUP, &error))?;
        Ok(Hangup { is_new, came: None, terminal: terminal() })
    }

    /// Whether there was a signal since this was asked last.
    pub(crate) fn has_come(&mut self) -> bool {
        let is_new = self.is_new.swap(false, Ordering::Relaxed);
        if is_new {
            self.came = Some(Instant::now());
        }
        is_new
    }

    /// Whether the terminal may be about to go: the signal comes a moment before that can be seen.
    pub(crate) fn may_follow(&self) -> bool {
        self.terminal.is_some() && self.came.is_some_and(|came| came.elapsed() < HANGING_UP)
    }

    /// Whether the terminal has gone, and that was told, before or after. Who is not told of it, as behind `disown`, is to go on.
    pub(crate) fn is_of_terminal(&self) -> bool {
        let Some(terminal) = self.terminal.as_ref().filter(|_| self.came.is_some()) else { return false };
        // Nothing is asked for: what is told then is that it hung up.
        let mut asked = [PollFd::new(terminal, PollFlags::empty())];
        poll(&mut asked, Some(&Timespec { tv_sec: 0, tv_nsec: 0 })).is_ok_and(|told| told > 0)
    }
}

fn terminal() -> Option<OwnedFd> {
    let (stdin, stderr) = (io::stdin(), io::stderr());
    let terminal = if stdin.is_terminal() { stdin.as_fd() } else { stderr.as_fd() };
    terminal.try_clone_to_owned().ok().filter(IsTerminal::is_terminal)
}

fn refused(signal: i32, error: &std::io::Error) -> Failure {
    Failure::world(format!("cannot watch for signal {signal}: {error}"))
}
