//! Bytes as the rules of a policy: what is read judges a packet, what is refused says where.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let Ok(text) = std::str::from_utf8(data) else { return };
    wall::policy::fuzz(text);
});
