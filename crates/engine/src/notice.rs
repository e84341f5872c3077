//! What apps tell whoever runs the engine, as it happens: a device is gone, a device is back. What is so at the end, a
//! [report](crate::Reporting::report) says.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, Thread};
use wire::in_one_line;

/// Something that an app tells.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Notice {
    /// The name of the app in the graph.
    pub app: String,
    /// Whether it is a warning.
    pub level: NoticeLevel,
    /// One line, without a full stop: control characters are escaped.
    pub text: String,
}

/// How much a notice matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum NoticeLevel {
    /// Good to know.
    Note,
    /// Something does not work as it should.
    Warning,
}

/// The notices of all apps of an engine, which wait for somebody to [take](Notices::take) them, on whatever thread.
#[derive(Clone, Debug, Default)]
pub struct Notices(Arc<Mutex<Waiting>>);

#[derive(Debug, Default)]
struct Waiting {
    notices: VecDeque<Notice>,
    lost: u64,
    /// Who is to look at them.
    reader: Option<Thread>,
}

/// As long as it is there, notices wake the thread that made it.
pub(crate) struct Woken<'a>(&'a Notices);

impl Drop for Woken<'_> {
    fn drop(&mut self) {
        self.0.lock().reader = None;
    }
}

impl Notices {
    /// Notices that wait at most. Those that come later are lost.
    pub const MAX: usize = 64;

    /// Takes the notices that wait, the oldest first, and how many were lost since they were last taken.
    pub fn take(&self) -> (Vec<Notice>, u64) {
        let mut waiting = self.lock();
        (waiting.notices.drain(..).collect(), std::mem::take(&mut waiting.lost))
    }

    fn put(&self, notice: Notice) {
        let mut waiting = self.lock();
        if waiting.notices.len() < Self::MAX {
            waiting.notices.push_back(notice);
        } else {
            waiting.lost += 1;
        }
        if let Some(reader) = &waiting.reader {
            reader.unpark();
        }
    }

    /// From now on, each notice wakes this thread.
    pub(crate) fn wake_this_thread(&self) -> Woken<'_> {
        self.lock().reader = Some(thread::current());
        Woken(self)
    }

    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The end of one app. For what happens now and then, not for each packet.
#[derive(Clone, Debug)]
pub struct Notifier {
    app: String,
    notices: Notices,
}

impl Notifier {
    pub(crate) fn new(app: &str, notices: &Notices) -> Self {
        Notifier { app: app.to_owned(), notices: notices.clone() }
    }

    /// One that nobody listens to, for tests of what an app consists of. An app gets its own from [`Setup::notifier`](crate::Setup::notifier).
    pub fn unheard() -> Self {
        Self::new("", &Notices::default())
    }

    /// Tells something that is good to know, in one line: control characters are escaped.
    pub fn note(&self, text: impl Into<String>) {
        self.put(NoticeLevel::Note, text.into());
    }

    /// Tells something that does not work as it should, in one line: control characters are escaped.
    pub fn warn(&self, text: impl Into<String>) {
        self.put(NoticeLevel::Warning, text.into());
    }

    fn put(&self, level: NoticeLevel, text: String) {
        let text = in_one_line(&text).into_owned();
        self.notices.put(Notice { app: self.app.clone(), level, text });
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::{NoticeLevel, Notices, Notifier};

    #[test]
    fn notices_that_nobody_takes_are_counted() {
        let notices = Notices::default();
        let [one, two] = ["one", "two"].map(|name| Notifier::new(name, &notices));
        one.warn("a");
        (0..Notices::MAX).for_each(|_| two.note("b"));
        let (taken, lost) = notices.take();
        assert_eq!((taken.len(), lost), (Notices::MAX, 1));
        assert_eq!((&*taken[0].app, taken[0].level, &*taken[0].text), ("one", NoticeLevel::Warning, "a"));
        assert_eq!((&*taken[1].app, taken[1].level, &*taken[1].text), ("two", NoticeLevel::Note, "b"));
        assert_eq!(notices.take(), (Vec::new(), 0));
    }

    #[test]
    fn a_notice_has_one_line() {
        let notices = Notices::default();
        let notifier = Notifier::new("one", &notices);
        ["two\nlines.pcap: cannot write", "it runs", ""].into_iter().for_each(|text| notifier.warn(text));
        let texts: Vec<String> = notices.take().0.into_iter().map(|notice| notice.text).collect();
        assert_eq!(texts, ["two\\nlines.pcap: cannot write", "it runs", ""]);
    }
}
