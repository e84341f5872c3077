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

impl Watch {
    /// Of a device that has just been opened.
    pub(crate) fn new(device: &str, setup: &mut Setup<'_>) -> Self {
        Watch { device: device.to_owned(), state: State::There, absences: setup.counter("absences") }
    }

    /// Whether the device was gone when it was last looked after.
    pub(crate) fn is_gone(&self) -> bool {
        !matches!(self.state, State::There)
    }

    /// Looks whether the device that is open `is_there` still. If not, `open`s the one of its name, as soon as there is one, and returns it.
    pub(crate) fn look<T>(
        &mut self,
        is_there: impl FnOnce() -> bool,
        open: impl FnOnce() -> Result<T, OptionError>,
    ) -> Option<T> {
        if !self.is_gone() && is_there() {
            return None;
        }
        if !self.is_gone() {
            self.absences.add(1);
            self.state = State::Gone;
        }
        if !exists(&self.device) {
            self.state = State::Gone;
            return None;
        }
        match open() {
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
