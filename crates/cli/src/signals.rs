//! Signals, as flags that are looked at between two steps of the work.

use crate::exit::Failure;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

/// What comes so soon after the first signal says no more than that: timeout(1) signals a process and then its whole group.
const ONCE_MORE: Duration = Duration::from_millis(500);

/// The number of the signal that asked for an end, 0 for none, and whether there was one. A later signal kills.
pub(crate) fn caught() -> Result<(Arc<AtomicUsize>, Arc<AtomicBool>), Failure> {
    let (caught, again) = (Arc::default(), Arc::default());
    catch(&caught, &again, &Arc::default())?;
    Ok((caught, again))
}

/// From now on, signals that ask for an end are told by `caught` and `again`, as [`caught`] has them. While `kills` is set, which it is
/// for good some time after the first, a signal kills.
pub(crate) fn catch(
    caught: &Arc<AtomicUsize>,
    again: &Arc<AtomicBool>,
    kills: &Arc<AtomicBool>,
) -> Result<(), Failure> {
    for signal in [SIGINT, SIGTERM] {
        let registered = signal_hook::flag::register_conditional_default(signal, Arc::clone(kills))
            .and_then(|_| signal_hook::flag::register(signal, Arc::clone(again)))
            .and_then(|_| signal_hook::flag::register_usize(signal, Arc::clone(caught), signal as usize));
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
