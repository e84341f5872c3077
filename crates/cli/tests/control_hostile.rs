//! The control socket of a wall, of whom anybody may ask anything who may open it.

use testkit::rng::Rng;

const REQUESTS: &[&str] = &[
    r#"{"cmd":"stats"}"#,
    r#"{"cmd":"reload"}"#,
    r#"{"cmd":"set","set":"known","add":["192.0.2.7","2001:db8::/32"],"timeout_s":1e308}"#,
    r#"{"cmd":"set","set":"known","del":["192.0.2.1"],"timeout_s":-1}"#,
    r#"{"cmd":"set","set":"unknown","add":[null,{},[]],"timeout_s":"x"}"#,
    r#"{"cmd":{"cmd":["stats"]}}"#,
    "null",
    "[]",
    "\u{1f98a}",
    "",
];

#[test]
fn whatever_comes_is_answered() {
    REQUESTS.iter().for_each(|request| sluss::fuzz_control(request.as_bytes()));
    sluss::fuzz_control(&[0xff, 0, 0xfe, b'\n', b'{']);
    sluss::fuzz_control("[".repeat(1 << 20).as_bytes());
    sluss::fuzz_control(format!("{}\n{}", REQUESTS[0], "x".repeat(1 << 20)).as_bytes());
    let mut rng = Rng::new(7);
    for _ in 0..300 {
        let mut bytes = rng.pick(REQUESTS).as_bytes().to_vec();
        for _ in 0..rng.below(6) {
            let at = rng.below(bytes.len() + 1);
            match rng.below(3) {
                0 if at < bytes.len() => bytes[at] = rng.below(256) as u8,
                1 if at < bytes.len() => drop(bytes.remove(at)),
                _ => bytes.insert(at, b"{}[]\"\\:,0-e\n"[rng.below(12)]),
            }
        }
        sluss::fuzz_control(&bytes);
    }
}

#[test]
fn a_request_has_a_longest() {
    sluss::fuzz_control(&vec![b' '; (64 << 20) + 1]);
}
