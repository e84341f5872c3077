//! Calls and what they carry.

use crate::case::{Case, hex};
use dpi::Protocol;

/// A datagram of RTP.
fn rtp(kind: u8, sequence: u16, time: u32, source: u32) -> Vec<u8> {
    let mut bytes = vec![0x80, kind];
    bytes.extend(sequence.to_be_bytes());
    bytes.extend(time.to_be_bytes());
    bytes.extend(source.to_be_bytes());
    // Telephone noise: nothing in it means anything.
    bytes.extend((0..160u32).map(|at| (at * 7 + u32::from(sequence)) as u8));
    bytes
}

pub(crate) fn cases() -> Vec<Case> {
    let talk = |name| Case::udp(name, Protocol::RTP, 20_006);
    let frames = |case: Case, each: &[(u8, u16, u32)]| {
        each.iter()
            .fold(case, |case, &(kind, sequence, time)| case.client(rtp(kind, sequence, time, 0xdead_beef)))
    };
    let rtcp = |name| Case::udp(name, Protocol::RTCP, 20_007);
    let report = "80c8 0006 12345678 e8a1b2c3 10000000 00001000 00000010 00000a00";
    vec![
        frames(talk("rtp"), &[(0, 100, 160), (0, 101, 320), (0, 102, 480)]),
        frames(talk("rtp-number-wraps"), &[(0x80, u16::MAX, u32::MAX - 9), (0, 0, 151), (0, 1, 311)]),
        frames(
            talk("rtp-losses"),
            &[(96, 5, 0), (96, 8, 3000), (96, 8, 3000), (96, 7, 2000), (96, 9, 3000), (96, 10, 6000)],
        ),
        frames(talk("rtp-events"), &[(0, 1, 160), (101, 2, 320), (101, 3, 320), (0, 4, 640)]),
        talk("rtp-both-ways")
            .client(rtp(8, 1, 160, 0xaaaa_0001))
            .server(rtp(8, 900, 7, 0xbbbb_0002))
            .client(rtp(8, 2, 320, 0xaaaa_0001))
            .server(rtp(8, 901, 167, 0xbbbb_0002))
            .client(rtp(8, 3, 480, 0xaaaa_0001)),
        rtcp("rtcp-report-and-name")
            .client(hex(&format!("{report} 81ca 0003 12345678 01 04 61406220 00 00"))),
        rtcp("rtcp-report").client(hex(report)),
        rtcp("rtcp-receiver").client(hex(
            "81c9 0007 12345678 deadbeef 00000000 00000102 00000003 00000000 00000000 81cb 0001 12345678",
        )),
        Case::tcp("h323-setup", Protocol::H323, 1720).client(hex(
            // TPKT; discriminator, call, SETUP; bearer capability, display, called party, user-user.
            "0300 0025 08 02 1234 05 04 03 8890a5 28 04 626f6200 70 02 8131 7e 000a 05 20b80600 08914a00 04",
        )),
        Case::tcp("h323-release", Protocol::H323, 1720)
            .server(hex("0300 0012 08 02 9234 5a 08 02 8090 7e 0002 05 25")),
        Case::tcp("h323-control", Protocol::H323, 1232)
            .client(hex("0300 0013 0270 0106 0008 8175 0007 800a 8000 00")),
        Case::udp("h323-registration", Protocol::H323, 1719)
            .client(hex("0e 40 0001 06 0008914a0004 0100 c0000201 06b8")),
        Case::udp("teamspeak-3", Protocol::TEAMSPEAK, 9987).client(
            [b"TS3INIT1".to_vec(), hex("0065 0000 88 0650bc06 00 5f5e1000 01020304 0000000000000000")]
                .concat(),
        ),
        Case::udp("teamspeak-2", Protocol::TEAMSPEAK, 8767).client(teamspeak_2(0xf4, 16)),
        Case::udp("teamspeak-2-midstream", Protocol::TEAMSPEAK, 8767).client(teamspeak_2(0xf0, 20)),
        rtmp("rtmp", 0, true),
        rtmp("rtmp-with-digests", 0x0a00_2d02, false),
    ]
}

/// A packet of a TeamSpeak 2 connection: class and kind, session, client, number, sum, and names; one with data has counts of its parts in front of the sum.
fn teamspeak_2(class: u8, sum_off: usize) -> Vec<u8> {
    let mut bytes = hex("00be 0300 00000000 00000000 01000000");
    bytes[0] = class;
    bytes.resize(sum_off + 4, 0);
    bytes.extend([&[9][..], b"TeamSpeak", &[0; 20], &[10], b"Linux 2 32", &[0; 19]].concat());
    bytes.resize(180, 0);
    let sum = crc32(&bytes);
    bytes[sum_off..sum_off + 4].copy_from_slice(&sum.to_le_bytes());
    bytes
}

/// CRC-32 by its table.
fn crc32(bytes: &[u8]) -> u32 {
    let entry =
        |byte: u32| (0..8).fold(byte, |sum, _| if sum & 1 == 1 { sum >> 1 ^ 0xedb8_8320 } else { sum >> 1 });
    let table: Vec<u32> = (0..256).map(entry).collect();
    !bytes.iter().fold(u32::MAX, |sum, byte| sum >> 8 ^ table[(sum as u8 ^ byte) as usize])
}

/// A handshake of RTMP, and the first command. Servers that do not know digests echo.
fn rtmp(name: &'static str, version: u32, echoes: bool) -> Case {
    let chunk = |time: u32, version: u32, seed: u32| {
        let mut bytes = [time.to_be_bytes(), version.to_be_bytes()].concat();
        bytes.extend((0..1528u32).map(|at| (at.wrapping_mul(seed) >> 7) as u8));
        bytes
    };
    let (c1, s1) = (chunk(1000, version, 0x9e37_79b9), chunk(2000, version, 0x85eb_ca6b));
    let s2 = if echoes { [&c1[..4], &[0, 0, 0, 9], &c1[8..]].concat() } else { chunk(3000, 0, 0xc2b2_ae35) };
    let c2 = if echoes { [&s1[..4], &[0, 0, 0, 9], &s1[8..]].concat() } else { chunk(4000, 0, 0x27d4_eb2f) };
    let connect = [
        &b"\x03\0\0\0\0\0\x25\x14\0\0\0\0"[..],
        b"\x02\0\x07connect\0\x3f\xf0\0\0\0\0\0\0\x03\0\x03app\x02\0\x04live\0\0\x09",
    ]
    .concat();
    Case::tcp(name, Protocol::RTMP, 1935)
        .client(&[&[3][..], &c1].concat()[..1460])
        .client(&c1[1459..])
        .server([&[3][..], &s1, &s2].concat())
        .client([c2, connect].concat())
}
