//! A second of the fuzz target `shim`, from a seed. This process loads nDPI, which no other of ours does.

use dpi::worker::inline::{Inline, fuzz};
use dpi::worker::{Options, WorkerError};
use std::collections::HashMap;

/// Beginnings of payloads that lead into nDPI's parsers.
const SEEDS: [&[u8]; 7] = [
    b"GET / HTTP/1.1\r\nHost: example.org\r\n\r\n",
    b"\x16\x03\x01\x00\xf4\x01\x00\x00\xf0\x03\x03",
    b"\x12\x34\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00\x03www\x07example\x03org\x00\x00\x01\x00\x01",
    b"\x13BitTorrent protocol",
    b"SSH-2.0-OpenSSH_9.2\r\n",
    b"220 mail.example.org ESMTP\r\n",
    b"\x00\x01\x00\x08\x21\x12\xa4\x42",
];

#[test]
fn random_packets_do_not_crash_the_shim() {
    let options = Options { flows: 4, states: 4, ..Options::default() };
    let mut inline = match Inline::load(&options) {
        Err(WorkerError::Ndpi(why)) => return println!("SKIPPED: {why}"),
        loaded => loaded.unwrap(),
    };
    let mut random = 0x9e37_79b9_7f4a_7c15_u64;
    let mut next = move |most: usize| {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (random >> 33) as usize % most
    };
    let mut answers: HashMap<u16, u32> = HashMap::new();
    for _ in 0..3000 {
        let mut data: Vec<u8> =
            [80, 443, 53, 3478].iter().flat_map(|port: &u16| port.to_be_bytes()).collect();
        for _ in 0..next(12) {
            let mut payload = SEEDS[next(SEEDS.len())].to_vec();
            payload.extend((0..next(200)).map(|_| next(256) as u8));
            if next(2) == 0 {
                let at = next(payload.len());
                payload[at] = next(256) as u8;
            }
            data.extend([next(8) as u8, 0x18]);
            data.extend((payload.len() as u16).to_be_bytes());
            data.append(&mut payload);
        }
        fuzz(&mut inline, &data, &mut |answer| *answers.entry(answer.app).or_default() += 1);
    }
    assert!(answers.len() > 4, "few protocols were met: {answers:?}");
}
