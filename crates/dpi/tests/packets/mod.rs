//! IP datagrams for tests of the worker.
#![allow(dead_code)]

/// A datagram over UDP from 10.0.0.1 to 10.0.0.2.
pub(crate) fn udp(source: u16, destination: u16, payload: &[u8]) -> Vec<u8> {
    let length = (8 + payload.len()) as u16;
    let header = [source.to_be_bytes(), destination.to_be_bytes(), length.to_be_bytes(), [0, 0]].concat();
    ipv4(17, &[&header, payload].concat())
}

/// A segment over TCP, with these flags.
pub(crate) fn tcp(source: u16, destination: u16, sequence: u32, flags: u8, payload: &[u8]) -> Vec<u8> {
    let mut header = [source.to_be_bytes(), destination.to_be_bytes()].concat();
    header.extend(sequence.to_be_bytes());
    header.extend([0, 0, 0, 1, 0x50, flags, 0xff, 0xff, 0, 0, 0, 0]);
    ipv4(6, &[&header, payload].concat())
}

fn ipv4(protocol: u8, payload: &[u8]) -> Vec<u8> {
    let [high, low] = (20 + payload.len() as u16).to_be_bytes();
    let header = [0x45, 0, high, low, 0, 1, 0, 0, 64, protocol, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2];
    [&header, payload].concat()
}

/// A question for an address, as DNS has it.
pub(crate) fn dns_question(name: &str) -> Vec<u8> {
    let mut question = vec![0x12, 0x34, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0];
    for label in name.split('.') {
        question.push(label.len() as u8);
        question.extend(label.as_bytes());
    }
    question.extend([0, 0, 1, 0, 1]);
    question
}

/// A message of DNS that makes nDPI 4.2 loop for ever: so many labels of 63 bytes that a 16-bit index wraps.
pub(crate) fn endless_dns() -> Vec<u8> {
    let mut payload = vec![0x12, 0x34, 0x01, 0, 0, 1, 0, 0, 0, 0, 0, 0];
    while payload.len() < 65_490 {
        payload.push(63);
        payload.extend([b'a'; 63]);
    }
    payload.truncate(65_490);
    udp(53, 40_000, &payload)
}
