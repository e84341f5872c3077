//! Looking for instances, and what is said where there are none.

use crate::exit::Failure;
use crate::message::Message;
use crate::terminal::Terminal;
use engine::shm::{Segment, runtime};
use observe::{Found, Instance, State};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

/// What an instance is called that runs this file, unless it is told otherwise; `none` where that has no name.
pub(crate) fn name_after(file: &Path, none: &str) -> String {
    let stem = file.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
    let good = |c: char| if c.is_ascii_alphanumeric() || c == '_' { c } else { '-' };
    let name: String = stem.chars().map(good).collect();
    match name.trim_start_matches('-') {
        "" => none.to_owned(),
        name => name.chars().take(64).collect(),
    }
}

/// Counters that others see under this name. Where they cannot be, that is told, and nobody sees them.
pub(crate) fn counters(name: &str, terminal: &Terminal) -> Result<Segment, Failure> {
    Segment::of_instance(name).or_else(|error| {
        let hint = match error.kind() {
            io::ErrorKind::ResourceBusy => "; choose another --name",
            _ => "",
        };
        let unseen = format_args!("`sluss top` will not see this: no counters: {error}{hint}");
        terminal.tell(&Message::warning(unseen));
        Segment::private().map_err(Failure::no_engine)
    })
}

/// The instances of these folders.
pub(crate) fn find(folders: &[PathBuf]) -> Result<Found, Failure> {
    observe::find(folders).map_err(|error| {
        Failure::world(format!("cannot look for instances in {error}; SLUSS_RUNTIME_DIR says where they are"))
    })
}

/// What starts one, and where others may be.
const HOW_TO_START: &str = "`sluss run GRAPH` starts one; SLUSS_RUNTIME_DIR says where else they are";

/// Says where there is nothing.
pub(crate) fn nothing_in(folders: &[PathBuf]) -> Message {
    let names = joined(folders.iter().map(|folder| folder.display().to_string()));
    Message::note(format_args!("no instances: there are no counters in {names}; {HOW_TO_START}"))
}

/// As many of those that there are in place of one that is not are named.
const NAMES_MAX: usize = 10;

/// It is the user's fault that what was named is not there. Of those that there are, crashed ones are named only if no other is there.
pub(crate) fn none_called(which: &str) -> Failure {
    let failure = Failure::user(format_args!("no instance has the name or process number `{which}`"));
    let mut there_are = find(&runtime::folders()).map(|found| found.instances).unwrap_or_default();
    if there_are.iter().any(|one| one.state != State::Crashed) {
        there_are.retain(|one| one.state != State::Crashed);
    }
    if there_are.is_empty() {
        return failure.help(format_args!("there are no instances: {HOW_TO_START}"));
    }
    let named = |one: &Instance| match one.state {
        State::Crashed => format!("{} ({}, crashed)", one.name, one.pid),
        _ => format!("{} ({})", one.name, one.pid),
    };
    let names = joined(there_are.iter().take(NAMES_MAX).map(named));
    let more = if there_are.len() > NAMES_MAX { ", …: `sluss ps` lists all" } else { "" };
    failure.help(format_args!("there are {names}{more}"))
}

fn joined(names: impl Iterator<Item = String>) -> String {
    names.collect::<Vec<_>>().join(", ")
}

/// The time, in nanoseconds since 1970.
pub(crate) fn unix_ns() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos() as u64)
}
