//! Bytes as what a flow says.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| testkit::fuzz::tier1(data));
