//! Bytes as a program of BPF.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| testkit::fuzz::bytecode(data));
