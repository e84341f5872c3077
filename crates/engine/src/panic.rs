//! Panics of apps. What an app does runs guarded: if it panics, it fails alone.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

/// What a panic left: a message, or anything of the app's, whose destructor may panic as well.
pub(crate) struct Panic(Option<Box<dyn Any + Send>>);

impl Panic {
    /// What it said.
    pub(crate) fn message(&self) -> String {
        let text = self.0.as_ref().and_then(|payload| {
            let text = payload.downcast_ref::<&str>().map(|text| (*text).to_owned());
            text.or_else(|| payload.downcast_ref::<String>().cloned())
        });
        text.unwrap_or_else(|| "a panic without a message".to_owned())
    }

    /// Goes on with it.
    pub(crate) fn resume(mut self) -> ! {
        resume_unwind(self.0.take().unwrap_or_else(|| Box::new(())))
    }
}

impl Drop for Panic {
    fn drop(&mut self) {
        if let Some(payload) = self.0.take()
            && let Err(again) = catch_unwind(AssertUnwindSafe(|| drop(payload)))
        {
            // There is no end to that.
            std::mem::forget(again);
        }
    }
}

/// Drops something of an app's, whose destructor may panic.
pub(crate) fn let_go<T>(thing: T) {
    let _ = guarded(|| drop(thing));
}

/// Does something that may panic. Whatever it was at work on is not used again, or is still whole.
#[inline(always)]
pub(crate) fn guarded<T>(work: impl FnOnce() -> T) -> Result<T, Panic> {
    catch_unwind(AssertUnwindSafe(work)).map_err(|payload| Panic(Some(payload)))
}
