//! The control socket of a wall, of whom anybody may ask anything who may open it. Damaged requests are sent in `crates/testkit/tests/fuzz_smoke.rs`.

#[test]
fn whatever_comes_is_answered() {
    sluss::fuzz_control(&[0xff, 0, 0xfe, b'\n', b'{']);
    sluss::fuzz_control("[".repeat(1 << 20).as_bytes());
    sluss::fuzz_control(format!("{{\"cmd\":\"stats\"}}\n{}", "x".repeat(1 << 20)).as_bytes());
}

#[test]
fn a_request_has_a_longest() {
    sluss::fuzz_control(&vec![b' '; (64 << 20) + 1]);
}
