//! Bytes as rules of the wall.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| testkit::fuzz::rules(data));
