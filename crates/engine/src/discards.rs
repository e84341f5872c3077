//! What is of no use any more, and takes long to drop: it is dropped when the workers run again.
//!
//! Giving back the memory of a million routes takes as long as some hundred thousand packets.

use crate::panic::let_go;
use std::any::Any;
use std::fmt;

/// Things to be dropped.
#[derive(Default)]
pub(crate) struct Discards(Vec<Box<dyn Any + Send>>);

impl Discards {
    pub(crate) fn add(&mut self, thing: impl Send + 'static) {
        self.0.push(Box::new(thing));
    }

    pub(crate) fn append(&mut self, other: &mut Discards) {
        self.0.append(&mut other.0);
    }

    /// Drops them on a thread of their own, which stands back behind all that run packets. Where there can be no such thread, they are dropped here.
    pub(crate) fn drop_aside(&mut self) {
        let things = std::mem::take(self);
        if things.0.is_empty() {
            return;
        }
        let aside = std::thread::Builder::new().name("discards".to_owned());
        // A thread that cannot be made drops what it was given.
        let _ = aside.spawn(move || {
            stand_back();
            drop(things);
        });
    }
}

/// The destructors of an app's things may panic.
impl Drop for Discards {
    fn drop(&mut self) {
        self.0.drain(..).for_each(let_go);
    }
}

impl fmt::Debug for Discards {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} discarded", self.0.len())
    }
}

/// From now on, the calling thread has a core only when nothing else wants one: for work beside workers, such as reading another graph. There is no way back
/// without privileges.
///
/// ```
/// let made = std::thread::spawn(|| {
///     engine::stand_back();
///     (1..=20_u64).product::<u64>()
/// });
/// assert_eq!(made.join().unwrap() % 10, 0);
/// ```
pub fn stand_back() {
    // Of this thread alone, on Linux (nice(2), C library/kernel differences). Refused, it is only less polite.
    let _ = rustix::process::nice(19);
}
