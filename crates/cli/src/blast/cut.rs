//! `cut`: counts packets that a capture has only in part, on their way from it to a device.

use crate::message::Message;
use crate::plural::{self, counted};
use engine::shm::Counter;
use engine::{App, Class, Io, OptionError, Packet, Report, Roles, Setup};
use serde::Deserialize;
use std::path::Path;

/// Its name in the graph.
pub(super) const CUT: &str = "cut";

/// The app, which there is one of.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(super) struct Cut {}

/// A running `cut`.
pub(super) struct Running {
    cut: Counter,
}

impl Class for Cut {
    const TYPE: &'static str = "cut";
    type App = Running;

    fn start(&self, setup: &mut Setup<'_>) -> Result<Running, OptionError> {
        Ok(Running { cut: setup.counter("cut") })
    }
}

impl App for Running {
    fn roles(&self) -> Roles {
        Roles::PUSH.and(Roles::METADATA)
    }

    fn push(&mut self, io: &mut Io<'_>) {
        while let Some(burst) = io.inputs[0].burst() {
            let is_cut = |packet: &&Packet| packet.metadata().cut_len > 0;
            self.cut.add(burst.iter().filter(is_cut).count() as u64);
            io.outputs[0].send(burst);
        }
    }
}

/// Warns of a capture whose packets were sent shorter than they had been.
pub(super) fn warning(capture: &Path, report: &Report) -> Option<Message> {
    let cut = Some(cut(report)).filter(|&cut| cut > 0)?;
    let sent: u64 =
        report.links.iter().filter(|link| link.link.from.app == CUT).map(|link| link.txpackets).sum();
    let sent = counted(sent, "packet");
    let words =
        plural::choose(cut, "was sent shorter than it had been", "were sent shorter than they had been");
    Some(Message::warning(format_args!(
        "{}: {cut} of {sent} {words}: the capture has only the first bytes (snap length)",
        capture.display()
    )))
}

/// How many packets were shorter than they had been.
pub(super) fn cut(report: &Report) -> u64 {
    let counts = report.apps.values().filter(|app| app.class == Cut::TYPE).flat_map(|app| app.counts());
    counts.filter(|&(counter, _)| counter == "cut").map(|(_, count)| count).sum()
}
