//! What apps tell while they run, on standard error: a few lines at a time, whatever goes on.

use crate::message::Message;
use crate::plural::{self, counted};
use crate::terminal::Terminal;
use engine::{Engine, Notice, NoticeLevel, Notices};
use std::time::{Duration, Instant};

/// Lines that are printed in one [`PERIOD`] at most.
const LINES_MAX: u32 = 10;
const PERIOD: Duration = Duration::from_secs(10);

/// Prints the notices of an engine.
pub(crate) struct Announcer<'a> {
    pub(crate) terminal: &'a Terminal,
    notices: Notices,
    budget: Budget,
    /// An app, and what it is called by who has no graph.
    alias: Option<(&'a str, &'a str)>,
}

impl<'a> Announcer<'a> {
    pub(crate) fn new(engine: &Engine, terminal: &'a Terminal) -> Self {
        Announcer { terminal, notices: engine.notices(), budget: Budget::new(Instant::now()), alias: None }
    }

    /// With a name for an app that nobody knows by its own.
    pub(crate) fn calling(self, app: &'a str, name: &'a str) -> Self {
        Announcer { alias: Some((app, name)), ..self }
    }

    /// Prints what waits, as far as it is not too much.
    pub(crate) fn announce(&mut self) {
        let now = Instant::now();
        if let Some(untold) = self.budget.renew_if_due(now) {
            self.tell_untold(untold);
        }
        let (notices, lost) = self.notices.take();
        self.budget.untold += lost;
        for notice in notices {
            if self.budget.take() {
                self.terminal.tell(&message(&notice, self.name_of(&notice.app)));
            }
        }
    }

    /// The same at the end, with how many were not printed.
    pub(crate) fn announce_last(&mut self) {
        self.announce();
        let untold = std::mem::take(&mut self.budget.untold);
        self.tell_untold(untold);
    }

    fn name_of<'n>(&'n self, app: &'n str) -> &'n str {
        self.alias.filter(|(own, _)| *own == app).map_or(app, |(_, name)| name)
    }

    fn tell_untold(&self, untold: u64) {
        if untold > 0 {
            let (messages, were) = (counted(untold, "message"), plural::choose(untold, "was", "were"));
            self.terminal.tell(&Message::note(format_args!("{messages} more of apps {were} not printed")));
        }
    }
}

fn message(notice: &Notice, name: &str) -> Message {
    // What an app tells of a file begins with its name, which may be what the app is called.
    let begin = format!("{name}: ");
    let text = format!("{begin}{}", notice.text.strip_prefix(&begin).unwrap_or(&notice.text));
    let message = match notice.level {
        NoticeLevel::Note => Message::note(text),
        _ => Message::warning(text),
    };
    message.with_app(name)
}

/// How many lines may still be printed.
struct Budget {
    begin: Instant,
    left: u32,
    untold: u64,
}

impl Budget {
    fn new(now: Instant) -> Self {
        Budget { begin: now, left: LINES_MAX, untold: 0 }
    }

    /// Begins another period when one is over. Returns how many lines were left out in it.
    fn renew_if_due(&mut self, now: Instant) -> Option<u64> {
        if now.duration_since(self.begin) < PERIOD {
            return None;
        }
        Some(std::mem::replace(self, Budget::new(now)).untold)
    }

    /// Whether a line more may be printed.
    fn take(&mut self) -> bool {
        let may = self.left > 0;
        self.left -= u32::from(may);
        self.untold += u64::from(!may);
        may
    }
}

#[cfg(test)]
mod tests {
    use super::{Budget, LINES_MAX, PERIOD};
    use std::time::Instant;

    #[test]
    fn only_so_many_lines_are_printed_in_a_period() {
        let begin = Instant::now();
        let mut budget = Budget::new(begin);
        let printed = (0..2 * LINES_MAX).filter(|_| budget.take()).count();
        assert_eq!(printed, LINES_MAX as usize);
        assert_eq!(budget.renew_if_due(begin + PERIOD / 2), None);
        assert_eq!(budget.renew_if_due(begin + PERIOD), Some(LINES_MAX.into()));
        assert!(budget.take());
        assert_eq!(budget.renew_if_due(begin + 2 * PERIOD), Some(0));
    }
}
