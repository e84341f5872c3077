//! Bytes as packets of a few flows, for nDPI in this process. Where it is not installed, nothing is done.
#![no_main]

use dpi::worker::Options;
use dpi::worker::inline::{self, Inline};

thread_local! {
    static NDPI: std::cell::RefCell<Option<Inline>> =
        Inline::load(&Options { flows: 4, states: 4, ..Options::default() }).ok().into();
}

libfuzzer_sys::fuzz_target!(|data: &[u8]| NDPI.with_borrow_mut(|ndpi| {
    if let Some(ndpi) = ndpi {
        inline::fuzz(ndpi, data, &mut |_| ());
    }
}));
