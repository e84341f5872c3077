//! Bytes as messages of the kernel's packet queues.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| testkit::fuzz::queue(data));
