//! Bytes as two captures that are merged.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| testkit::fuzz::merge(data));
