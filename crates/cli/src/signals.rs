//! Signals, as flags that are looked at between two steps of the work.

use crate::exit::Failure;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize};

/// The number of the signal that asked for an end, 0 for none, and whether there was one. A second signal kills.
pub(crate) fn caught() -> Result<(Arc<AtomicUsize>, Arc<AtomicBool>), Failure> {
    let (caught, again) = (Arc::default(), Arc::default());
    catch(&caught, &again)?;
    Ok((caught, again))
}

/// From now on, signals that ask for an end are told by `caught` and `again`, as [`caught`] has them.
pub(crate) fn catch(caught: &Arc<AtomicUsize>, again: &Arc<AtomicBool>) -> Result<(), Failure> {
    for signal in [SIGINT, SIGTERM] {
        let registered = signal_hook::flag::register_conditional_default(signal, Arc::clone(again))
            .and_then(|_| signal_hook::flag::register(signal, Arc::clone(again)))
            .and_then(|_| signal_hook::flag::register_usize(signal, Arc::clone(caught), signal as usize));
        registered.map_err(|error| refused(signal, &error))?;
    }
    Ok(())
}

/// Whether somebody has asked for the configuration to be read again.
pub(crate) fn hangup() -> Result<Arc<AtomicBool>, Failure> {
    let hangup = Arc::new(AtomicBool::new(false));
    signal_hook::flag::register(SIGHUP, Arc::clone(&hangup)).map_err(|error| refused(SIGHUP, &error))?;
    Ok(hangup)
}

fn refused(signal: i32, error: &std::io::Error) -> Failure {
    Failure::world(format!("error: cannot watch for signal {signal}: {error}"))
}
