//! Bytes as a list of addresses, in each form in which lists are published.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| testkit::fuzz::list(data));
