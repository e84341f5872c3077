//! Devices that disappear while an app uses them: it waits until there is one of the same name again.

use engine::shm::Counter;
use engine::{OptionError, Setup};
use rustix::net::{AddressFamily, SocketType, netdevice, socket};

/// How often a device is looked after, in nanoseconds.
pub(crate) const EVERY_NS: u64 = 100_000_000;

/// Looks after a device now and then.
#[derive(Debug)]
pub(crate) struct Watch {
    device: String,
    state: State,
    absences: Counter,
}

#[derive(Debug)]
enum State {
    There,
    Gone,
    /// There is one of the name again, which cannot be used: why.
    Refused(String),
}

/// How a device was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sight {
    /// It is there: the one that is open.
    There,
    /// It is gone. Whatever is open of it is of no use any more.
    Gone,
    /// It is gone, and there is one of its name to open.
    Back,
}

impl Watch {
    /// Of a device that has just been opened.
    pub(crate) fn new(device: &str, setup: &mut Setup<'_>) -> Self {
        Watch { device: device.to_owned(), state: State::There, absences: setup.counter("absences") }
    }

    /// Looks whether the device that is open `is_there` still, or one of its name.
    pub(crate) fn look(&mut self, is_there: impl FnOnce() -> bool) -> Sight {
        let was_there = matches!(self.state, State::There);
        if was_there && is_there() {
            return Sight::There;
        }
        if was_there {
            self.absences.add(1);
            self.state = State::Gone;
        }
        if exists(&self.device) {
            return Sight::Back;
        }
        self.state = State::Gone;
        Sight::Gone
    }

    /// Notes whether the device that is back could be opened, and returns it.
    pub(crate) fn note<T>(&mut self, opened: Result<T, OptionError>) -> Option<T> {
        match opened {
            Ok(device) => {
                self.state = State::There;
                Some(device)
            }
            Err(error) => {
                self.state = State::Refused(error.message);
                None
            }
        }
    }

    /// What is said of a device that is gone.
    pub(crate) fn report(&self) -> Option<String> {
        let device = &self.device;
        match &self.state {
            State::There => None,
            State::Gone => {
                Some(format!("device {device} is gone; sluss waits until there is one of that name"))
            }
            State::Refused(why) => {
                Some(format!("device {device} was gone, and sluss cannot use the one that came: {why}"))
            }
        }
    }
}

/// Whether there is a device of this name.
fn exists(device: &str) -> bool {
    // A socket of any kind will do to ask.
    socket(AddressFamily::UNIX, SocketType::DGRAM, None)
        .is_ok_and(|socket| netdevice::name_to_index(socket, device).is_ok())
}
