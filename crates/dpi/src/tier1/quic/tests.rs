//! The examples of RFC 9001 and RFC 9369, appendix A: a client's Initial with a ClientHello, protected under keys that are published.

use super::keys::{Keys, Version};
use super::{Pieces, Scratch, detect, frames};
use crate::tier1::answer::Answer;
use crate::{Message, Protocol};
use aes_gcm::aes::Aes128;
use aes_gcm::aes::cipher::BlockCipherEncrypt;
use aes_gcm::{AeadInOut, Aes128Gcm, KeyInit};

/// Connection of the examples.
const CONNECTION: &str = "8394c8f03e515708";
/// The CRYPTO frame of both.
const FRAME: &str = "060040f1010000ed0303ebf8fa56f12939b9584a3896472ec40bb863cfd3e86804fe3a47f06a2b69484c00000413011302010000c0\
    00000010000e00000b6578616d706c652e636f6dff01000100000a00080006001d0017001800100007000504616c706e000500050100000000003300260024\
    001d00209370b2c9caa47fbabaf4559fedba753de171fa71f50f1ce15d43e994ec74d748002b0003020304000d0010000e0403050306030203080408050806\
    002d00020101001c00024001003900320408ffffffffffffffff05048000ffff07048000ffff0801100104800075300901100f088394c8f03e51570806048000ffff";

struct Example {
    version: Version,
    key: &'static str,
    iv: &'static str,
    header_key: &'static str,
    /// The header without protection.
    header: &'static str,
    /// How the protected packet begins and ends.
    ends: [&'static str; 2],
}

const EXAMPLES: [Example; 2] = [
    Example {
        version: Version::V1,
        key: "1f369613dd76d5467730efcbe3b1a22d",
        iv: "fa044b2f42a3fd3b46fb255c",
        header_key: "9f50449e04a0e810283a1e9933adedd2",
        header: "c300000001088394c8f03e5157080000449e00000002",
        ends: [
            "c000000001088394c8f03e5157080000449e7b9aec34d1b1c98dd7689fb8ec11",
            "e221af44860018ab0856972e194cd934",
        ],
    },
    Example {
        version: Version::V2,
        key: "8b1a0bc121284290a29e0971b5cd045d",
        iv: "91f73e2351d8fa91660e909f",
        header_key: "45b95e15235d6f45a6b19cbcb0294ba9",
        header: "d36b3343cf088394c8f03e5157080000449e00000002",
        ends: [
            "d76b3343cf088394c8f03e5157080000449ea0c95e82ffe67b6abcdb4298b485",
            "a18b2faa745b6fe189cf772a9f84cbfc",
        ],
    },
];

fn hex(digits: &str) -> Vec<u8> {
    let digits: Vec<u8> = digits.bytes().filter(u8::is_ascii_hexdigit).collect();
    let digits = std::str::from_utf8(&digits).unwrap();
    (0..digits.len()).step_by(2).map(|at| u8::from_str_radix(&digits[at..at + 2], 16).unwrap()).collect()
}

fn array<const N: usize>(digits: &str) -> [u8; N] {
    hex(digits).try_into().unwrap()
}

/// Protects a packet: the header ends with a packet number of four bytes.
fn protect(key: [u8; 16], iv: [u8; 12], header_key: [u8; 16], header: &[u8], payload: &[u8]) -> Vec<u8> {
    let number_off = header.len() - 4;
    let mut nonce = iv;
    (0..4).for_each(|at| nonce[8 + at] ^= header[number_off + at]);
    let mut body = payload.to_vec();
    let tag = Aes128Gcm::new(&key.into())
        .encrypt_inout_detached(&nonce.into(), header, body.as_mut_slice().into())
        .unwrap();
    let mut packet = [header, &body, &tag].concat();
    let mut mask = <[u8; 16]>::try_from(&packet[number_off + 4..number_off + 20]).unwrap().into();
    Aes128::new(&header_key.into()).encrypt_block(&mut mask);
    packet[0] ^= mask[0] & 0x0f;
    (0..4).for_each(|at| packet[number_off + at] ^= mask[1 + at]);
    packet
}

impl Example {
    /// The packet of the RFC, which begins and ends as it does there.
    fn packet(&self) -> Vec<u8> {
        let mut payload = hex(FRAME);
        payload.resize(1162, 0);
        let header = hex(self.header);
        let packet = protect(array(self.key), array(self.iv), array(self.header_key), &header, &payload);
        assert!(packet.starts_with(&hex(self.ends[0])) && packet.ends_with(&hex(self.ends[1])));
        assert_eq!(packet.len(), 1200);
        packet
    }
}

fn ask(state: &mut Option<Box<super::Quic>>, payload: &[u8], forward: bool) -> Answer {
    let (transport, ipv6, source_port, destination_port) = (17, true, 50_000, 9);
    let message = Message {
        transport,
        ipv6,
        forward,
        source_port,
        destination_port,
        sequence: 0,
        start: None,
        payload,
        cut: false,
    };
    detect(&message, state, &mut Scratch::default())
}

#[track_caller]
fn is_example(answer: &Answer) {
    let Answer::Yes(verdict, details) = answer else { panic!("{answer:?}") };
    assert_eq!(verdict.protocol, Protocol::QUIC);
    assert_eq!((details.sni.as_deref(), details.alpn.as_deref()), (Some("example.com"), Some("alpn")));
    // Counted and sorted by hand from the frame, and hashed by another program.
    assert_eq!(details.ja4.as_deref(), Some("q13d0211an_62ed6f6ca7ad_4d634acda6c0"));
}

#[test]
fn keys_are_those_of_the_examples() {
    for example in EXAMPLES {
        let keys = Keys::client(example.version, &hex(CONNECTION));
        assert_eq!(keys.key, array(example.key));
        assert_eq!(keys.iv, array(example.iv));
        assert_eq!(keys.header, array(example.header_key));
    }
}

#[test]
fn the_examples_are_decrypted() {
    for example in EXAMPLES {
        let packet = example.packet();
        is_example(&ask(&mut None, &packet, true));
        // No bit of it may differ.
        for bit in (0..8 * packet.len()).step_by(5) {
            let mut other = packet.clone();
            other[bit / 8] ^= 1 << (bit % 8);
            assert!(!matches!(ask(&mut None, &other, true), Answer::Yes(..)), "bit {bit}");
        }
        for len in 0..packet.len() {
            assert!(matches!(ask(&mut None, &packet[..len], true), Answer::No), "{len} bytes");
        }
    }
}

#[test]
fn a_hello_may_come_in_any_frames_of_several_packets() {
    let hello = &hex(FRAME)[4..];
    let example = &EXAMPLES[0];
    // Parts of the hello, out of order, over two datagrams, with PING, padding and ACK between.
    let part = |range: std::ops::Range<usize>| {
        let (offset, len) = (range.start as u16, range.len() as u16);
        [&[6][..], &(0x4000 | offset).to_be_bytes(), &(0x4000 | len).to_be_bytes(), &hello[range]].concat()
    };
    let first = [part(200..hello.len()), vec![1], part(0..40), vec![0; 20]].concat();
    let second = [hex("0205040000"), part(90..200), vec![0, 0, 1], part(30..95)].concat();
    let packet = |number: u8, frames: &[u8]| {
        let len = (0x4000 | (4 + frames.len() + 16) as u16).to_be_bytes();
        let header = [&hex("c300000001088394c8f03e5157080000")[..], &len, &[0, 0, 0, number]].concat();
        protect(array(example.key), array(example.iv), array(example.header_key), &header, frames)
    };
    let (first, second) = (packet(1, &first), packet(2, &second));
    for order in [[&first, &second], [&second, &first]] {
        let mut state = None;
        assert!(matches!(ask(&mut state, order[0], true), Answer::Likely(_)));
        // The server speaks in between.
        assert!(matches!(ask(&mut state, &example.packet(), false), Answer::Maybe));
        is_example(&ask(&mut state, order[1], true));
    }
    // 0-RTT has overtaken them.
    let mut state = None;
    let early = [&hex("d000000001088394c8f03e51570800 4040")[..], &[7; 64]].concat();
    assert!(matches!(ask(&mut state, &early, true), Answer::Likely(_)));
    assert!(matches!(ask(&mut state, &first, true), Answer::Likely(_)));
    is_example(&ask(&mut state, &second, true));
    // Both in one datagram.
    is_example(&ask(&mut None, &[first, second].concat(), true));
}

#[test]
fn frames_that_an_initial_cannot_have_end_it() {
    for frames_of in ["08", "1e", "02ffffffff", "06ff", "0600ff01", "1c"] {
        assert!(frames(&hex(frames_of), &mut Pieces::default()).is_none(), "{frames_of}");
    }
    assert!(frames(&hex("0000010001"), &mut Pieces::default()).is_some());
}
