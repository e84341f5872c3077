//! What an app is asked between its turns. One that panics then has given no answer, and is taken down later.

use super::Task;
use crate::app::{App, Device, DeviceFacts, NextEvent, Reporting, Roles, Timed};
use crate::link::{Input, Output};
use crate::panic::guarded;
use rustix::event::{PollFd, PollFlags};

/// Whether an app keeps no packets but unused ones.
fn has_nothing(app: &dyn App) -> bool {
    app.held() == app.spare()
}

impl Task {
    /// Asks the app something. `None` if there is none, or if it panics, which is kept as a complaint.
    fn ask<'a, T>(&'a self, question: impl FnOnce(&'a dyn App) -> T) -> Option<T> {
        let app = self.app.as_deref()?;
        let answer = guarded(|| question(app));
        answer.map_err(|panic| self.complaint.set(Some(panic.message()))).ok()
    }

    /// The message of a panic when the app was asked something.
    pub(in crate::worker) fn take_complaint(&self) -> Option<String> {
        self.complaint.take()
    }

    /// When the app has something to do of its own accord.
    #[inline]
    pub(in crate::worker) fn next_event(&self) -> NextEvent {
        if self.is_timed { self.ask_next_event() } else { NextEvent::None }
    }

    fn ask_next_event(&self) -> NextEvent {
        let answer = self.ask(|app| app.timed().map_or(NextEvent::None, Timed::next_event));
        let next = answer.unwrap_or(NextEvent::None);
        if next == NextEvent::CaptureStart {
            self.tells_time.set(true);
        }
        next
    }

    /// Whether the app has said that it will know when capture time begins.
    pub(in crate::worker) fn tells_time(&self) -> bool {
        self.tells_time.get()
    }

    /// Packets that the app keeps.
    pub(crate) fn held(&self) -> usize {
        self.ask(App::held).unwrap_or(0)
    }

    pub(crate) fn uses_metadata(&self) -> bool {
        self.roles.has(Roles::METADATA)
    }

    /// Whether nothing will come from it unless something comes to it. One that is down is waited for; but an app that only
    /// works on what comes, or has no link to send anything on, and does not start, is not waited for without end.
    pub(in crate::worker) fn is_at_rest(&self) -> bool {
        let pulls = self.roles.has(Roles::PULL);
        let rests = if self.is_down() {
            self.outage.is_given_up() && !(pulls && self.plugs.outputs.iter().any(Output::is_linked))
        } else {
            self.ask(|app| (!pulls || app.is_finished()) && has_nothing(app)).unwrap_or(false)
        };
        rests && self.plugs.inputs.iter().all(|input| input.queued() == 0)
    }

    /// Whether nothing will move in this place before one of these devices has something, to which its own are added.
    pub(in crate::worker) fn waits_for<'a>(&'a self, devices: &mut Vec<PollFd<'a>>) -> bool {
        if self.waiting() > 0 {
            return false;
        }
        if !self.roles.has(Roles::PULL) {
            return true;
        }
        let device = self.ask(|app| app.wakeable()?.wakes_on()).flatten();
        devices.extend(device.map(|device| PollFd::from_borrowed_fd(device, PollFlags::IN)));
        device.is_some() || self.ask(|app| app.is_finished() && has_nothing(app)).unwrap_or(false)
    }

    /// Whether the app wants the run to end.
    pub(in crate::worker) fn ends_run(&self) -> bool {
        self.ask(|app| app.reporting().is_some_and(Reporting::ends_run)).unwrap_or(false)
    }

    /// Packets that wait for it.
    pub(in crate::worker) fn waiting(&self) -> usize {
        self.plugs.inputs.iter().map(Input::queued).sum()
    }

    pub(crate) fn report(&self) -> Option<String> {
        self.ask(|app| app.reporting()?.report())?
    }

    pub(crate) fn device(&self) -> Option<DeviceFacts> {
        self.ask(|app| app.device().map(Device::facts))?
    }

    pub(crate) fn has_failed(&self) -> bool {
        self.ask(|app| app.reporting().is_some_and(Reporting::has_failed)).unwrap_or(false)
    }
}
