//! Signals, as flags that are looked at between two steps of the work.

use crate::exit::Failure;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

/// What comes so soon after the first signal says no more than that: timeout(1) signals a process and then its whole group.
const ONCE_MORE: Duration = Duration::from_millis(500);

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

/// What is caught from now on.
pub(crate) fn caught() -> Result<Caught, Failure> {
    let caught = Caught::default();
    catch(&caught)?;
    Ok(caught)
}

/// From now on, signals that ask for an end are noted. Some time after the first, a signal kills.
pub(crate) fn catch(caught: &Caught) -> Result<(), Failure> {
    let Caught { number, is_any, kills } = caught;
    for signal in [SIGINT, SIGTERM] {
        let registered = signal_hook::flag::register_conditional_default(signal, Arc::clone(kills))
            .and_then(|_| signal_hook::flag::register(signal, Arc::clone(is_any)))
            .and_then(|_| signal_hook::flag::register_usize(signal, Arc::clone(number), signal as usize));
        registered.map_err(|error| refused(signal, &error))?;
    }
    let kills = Arc::clone(kills);
    let wait = |mut signals: Signals| {
        let wait = move || {
            signals.forever().next();
            std::thread::sleep(ONCE_MORE);
            kills.store(true, Ordering::Relaxed);
        };
        std::thread::Builder::new().name("signals".to_owned()).spawn(wait)
    };
    Signals::new([SIGINT, SIGTERM]).and_then(wait).map_err(|error| refused(SIGINT, &error))?;
    Ok(())
}

/// Whether somebody has asked for the configuration to be read again.
pub(crate) fn hangup() -> Result<Arc<AtomicBool>, Failure> {
    let hangup = Arc::new(AtomicBool::new(false));
    signal_hook::flag::register(SIGHUP, Arc::clone(&hangup)).map_err(|error| refused(SIGHUP, &error))?;
    Ok(hangup)
}

fn refused(signal: i32, error: &std::io::Error) -> Failure {
    Failure::world(format!("cannot watch for signal {signal}: {error}"))
}
