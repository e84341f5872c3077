//! Devices that disappear while an app uses them: it waits until there is one of the same name again.

use engine::shm::Counter;
use engine::{Notifier, OptionError, Setup};
use rustix::net::{AddressFamily, SocketType, netdevice, socket};

/// How often a device is looked after, in nanoseconds.
pub(crate) const EVERY_NS: u64 = 100_000_000;
/// How long a device that could not be opened is left alone at most, in nanoseconds.
const REST_MAX_NS: u64 = 1_000_000_000;

/// Looks after a device now and then.
#[derive(Debug)]
pub(crate) struct Watch {
    device: String,
    /// Whether there is one of its name as soon as it is opened.
    is_made: bool,
    state: State,
    absences: Counter,
    notifier: Notifier,
}

#[derive(Debug)]
enum State {
    There,
    Gone,
    /// There is one of the name again, which could not be opened: why, and when that is tried again.
    Refused {
        why: String,
        rest_ns: u64,
        until_ns: u64,
    },
}

/// How a device was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sight {
    /// It is there: the one that is open.
    There,
    /// It is gone, or the one of its name was refused a moment ago. Whatever is open of it is of no use any more.
    Gone,
    /// It is gone, and there is one of its name to open.
    Back,
}

impl Watch {
    /// Of a device that has just been opened.
    pub(crate) fn new(device: &str, setup: &mut Setup<'_>) -> Self {
        let (absences, notifier) = (setup.counter("absences"), setup.notifier());
        Watch { device: device.to_owned(), is_made: false, state: State::There, absences, notifier }
    }

    /// Of a device that has just been opened, and is made where there is none of its name.
    pub(crate) fn of_made(device: &str, setup: &mut Setup<'_>) -> Self {
        Watch { is_made: true, ..Self::new(device, setup) }
    }

    /// Looks whether the device that is open `is_there` still, or one of its name.
    pub(crate) fn look(&mut self, now_ns: u64, is_there: impl FnOnce() -> bool) -> Sight {
        let was_there = matches!(self.state, State::There);
        if was_there && is_there() {
            return Sight::There;
        }
        if was_there {
            self.absences.add(1);
            self.state = State::Gone;
            self.warn();
        }
        if !self.is_made && !exists(&self.device) {
            self.state = State::Gone;
            return Sight::Gone;
        }
        match self.state {
            State::Refused { until_ns, .. } if now_ns < until_ns => Sight::Gone,
            _ => Sight::Back,
        }
    }

    /// Notes whether the device that is back could be opened, and returns it. If not, that is tried again, less and less often.
    pub(crate) fn note<T>(&mut self, now_ns: u64, opened: Result<T, OptionError>) -> Option<T> {
        match opened {
            Ok(device) => {
                self.state = State::There;
                self.notifier.note(format!("device {} is back", self.device));
                Some(device)
            }
            Err(error) => {
                let rest_ns = match self.state {
                    State::Refused { rest_ns, .. } => REST_MAX_NS.min(2 * rest_ns),
                    State::There | State::Gone => EVERY_NS,
                };
                let until_ns = now_ns.saturating_add(rest_ns);
                let why = without_right(&error.message).unwrap_or(error.message);
                let is_known = matches!(&self.state, State::Refused { why: known, .. } if *known == why);
                self.state = State::Refused { why, rest_ns, until_ns };
                if !is_known {
                    self.warn();
                }
                None
            }
        }
    }

    /// Tells at once what the report says.
    fn warn(&self) {
        self.report().into_iter().for_each(|text| self.notifier.warn(text));
    }

    /// What is said of a device that is gone.
    pub(crate) fn report(&self) -> Option<String> {
        let device = &self.device;
        match &self.state {
            State::There => None,
            State::Gone => {
                Some(format!("device {device} is gone; sluss waits until there is one of that name"))
            }
            State::Refused { why, .. } => {
                Some(format!("device {device} was gone, and sluss cannot use the one that came: {why}"))
            }
        }
    }
}

/// Why a device was refused, if a right is missing that was there when it was opened before: advice for who begins sluss is none then.
fn without_right(why: &str) -> Option<String> {
    let denied = std::io::Error::from_raw_os_error(libc::EPERM).to_string();
    let (what, _) = why.split_once(&denied)?;
    Some(format!(
        "{what}{denied}; the right to was given up when all devices were open: restart sluss, or begin the wall with `--keep-capabilities`"
    ))
}

/// Whether there is a device of this name.
fn exists(device: &str) -> bool {
    // A socket of any kind will do to ask.
    socket(AddressFamily::UNIX, SocketType::DGRAM, None)
        .is_ok_and(|socket| netdevice::name_to_index(socket, device).is_ok())
}

#[cfg(test)]
mod tests {
    use super::{Counter, Notifier, OptionError, Sight, State, Watch, without_right};

    #[test]
    fn a_right_that_was_given_up_is_told() {
        let denied = "cannot open a packet socket: Operation not permitted (os error 1)";
        let told = without_right(&format!("{denied}; run as root, or allow sluss to"));
        assert!(told.is_some_and(|text| text.starts_with(denied) && !text.contains("run as root")));
        assert_eq!(without_right("its link type is RAW, and was EN10MB"), None);
    }

    #[test]
    fn a_device_that_is_refused_is_tried_less_and_less_often() {
        // There is a loopback device wherever there are devices.
        let mut watch = Watch {
            device: "lo".to_owned(),
            is_made: false,
            state: State::There,
            absences: Counter::hidden(),
            notifier: Notifier::unheard(),
        };
        let mut tried_ms = Vec::new();
        for now_ms in (0..4000).step_by(100) {
            if watch.look(now_ms * 1_000_000, || false) == Sight::Back {
                tried_ms.push(now_ms);
                assert_eq!(watch.note::<()>(now_ms * 1_000_000, Err(OptionError::new("device", "no"))), None);
            }
        }
        assert_eq!(tried_ms, [0, 100, 300, 700, 1500, 2500, 3500]);
        assert!(watch.report().is_some_and(|text| text.ends_with("cannot use the one that came: no")));
        assert_eq!(watch.look(4_500_000_000, || false), Sight::Back);
        assert_eq!(watch.note(4_500_000_000, Ok(7)), Some(7));
        assert_eq!((watch.look(4_600_000_000, || true), watch.absences.get()), (Sight::There, 1));
    }
}
