//! Looking for instances, and what is said where there are none.

use crate::exit::Failure;
use crate::message::Message;
use observe::Found;
use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};

/// The instances of these folders.
pub(crate) fn find(folders: &[PathBuf]) -> Result<Found, Failure> {
    observe::find(folders).map_err(|error| {
        Failure::world(format!("cannot look for instances in {error}; SLUSS_RUNTIME_DIR says where they are"))
    })
}

/// Says where there is nothing.
pub(crate) fn nothing_in(folders: &[PathBuf]) -> Message {
    let names: Vec<String> = folders.iter().map(|folder| folder.display().to_string()).collect();
    Message::note(format_args!("no instances: there are no counters in {}", names.join(", ")))
}

/// The time, in nanoseconds since 1970.
pub(crate) fn unix_ns() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos() as u64)
}
