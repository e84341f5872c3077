//! Records of a running wall: EVE JSON to a file or a Unix socket, and lines to the system log.

use super::eve::{Eve, EveTo};
use crate::exit::Failure;
use crate::message::Message;
use crate::plural::passive;
use crate::terminal::Terminal;
use std::path::PathBuf;
use wall::Syslog;
use wall::control::Control;
use wall::policy::Policy;
use wall::report;

/// Where records go.
pub(super) struct Records {
    eve: Option<Eve>,
    syslog: Option<Syslog>,
    /// Lines that could not be written.
    lost: u64,
    has_told: bool,
}

impl Records {
    /// Opens what the policy names, and where EVE goes. It stays what it is when the policy changes.
    pub(super) fn open(eve: Option<&PathBuf>, policy: &Policy) -> Result<Records, Failure> {
        let records = &policy.settings().records;
        let open = |to: &PathBuf| {
            Eve::open(&EveTo::of(to), records)
                .map_err(|error| Failure::writing(&to.display().to_string(), &error))
        };
        let eve = eve.map(open).transpose()?;
        Ok(Records { eve, syslog: records.syslog.then(Syslog::new), lost: 0, has_told: false })
    }

    /// Writes what has happened since.
    pub(super) fn write(&mut self, control: &Control, terminal: &Terminal) {
        let (events, ended) = (control.take_events(), control.ledger().take_ended());
        if let Some(syslog) = &mut self.syslog {
            self.lost += events.iter().filter(|event| !syslog.tell(&event.line())).count() as u64;
        }
        let Some(eve) = &mut self.eve else { return };
        let events = events.iter().map(wall::control::Event::eve);
        let objects = events.chain(ended.iter().map(report::eve));
        let failed = eve.write(objects.map(|object| format!("{object}\n")));
        if let Some(error) = failed
            && !std::mem::replace(&mut self.has_told, true)
        {
            terminal.tell(&Message::warning(format_args!(
                "records cannot be written to {}: {error}; the wall goes on",
                eve.name()
            )));
        }
    }

    /// Tells what was lost.
    pub(super) fn close(mut self, terminal: &Terminal) {
        let lost = self.lost + self.eve.as_mut().map_or(0, Eve::close);
        if lost > 0 {
            terminal.tell(&Message::warning(format_args!("{}", passive(lost, "record", "lost"))));
        }
    }
}
