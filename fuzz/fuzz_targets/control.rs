//! Bytes to the control socket of a wall: there is an answer. `crates/testkit/tests/fuzz_smoke.rs` runs the same body.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| sluss::fuzz_control(data));
