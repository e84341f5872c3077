//! Panics of apps. What an app does runs guarded: if it panics, it fails alone.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// What a panic left.
pub(crate) type Panic = Box<dyn Any + Send>;

/// Does something that may panic. Whatever it was at work on is not used again, or is still whole.
#[inline(always)]
pub(crate) fn guarded<T>(work: impl FnOnce() -> T) -> Result<T, Panic> {
    catch_unwind(AssertUnwindSafe(work))
}

/// What a panic said.
pub(crate) fn message(payload: &(dyn Any + Send)) -> String {
    let text = payload.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| payload.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "a panic without a message".to_owned())
}
