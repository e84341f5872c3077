//! Bytes as packets, and their flows.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| testkit::fuzz::flows(data));
