//! Frames of 802.11.

use super::*;

#[test]
fn management_and_data() {
    let addresses =
        [&[0, 0][..], &[2, 0, 0, 0, 0, 1], &[2, 0, 0, 0, 0, 2], &[2, 0, 0, 0, 0, 3], &[0, 0]].concat();
    let beacon = packet(&[&[0x80, 0], &addresses]);
    let data = packet(&[&[0x08, 2], &addresses, &[0xaa, 0xaa, 3, 0, 0, 0, 8, 0], &ipv4(17, 0, UDP)]);
    let radiotap = [0, 0, 8, 0, 0, 0, 0, 0];
    assert_eq!(
        line(LinkType::IEEE802_11, &beacon),
        "02:00:00:00:00:02 > 02:00:00:00:00:01 802.11 beacon len 24"
    );
    let ack = packet(&[&[0xd4, 0], &addresses[..18]]);
    for len in [10, 14, 20] {
        let expected = format!("to 02:00:00:00:00:01 802.11 ack len {len}");
        assert_eq!(line(LinkType::IEEE802_11, &ack[..len]), expected);
    }
    let expected = "192.0.2.1:5353 > 192.0.2.2:5353 udp len 2";
    assert_eq!(line(LinkType::IEEE802_11, &data), expected);
    assert_eq!(line(LinkType::IEEE802_11_RADIO, &packet(&[&radiotap, &data])), expected);
}

/// A card may put the body where a processor reads it best, and says so in the radiotap header.
#[test]
fn frames_that_are_padded() {
    let udp = "192.0.2.1:5353 > 192.0.2.2:5353 udp len 2";
    let ip = packet(&[SNAP, &[0], &ipv4(17, 0, UDP)]);
    let qos = |padding: &[u8]| packet(&[&[0x88, 2, 0, 0], WIFI_ADDRESSES, &[0, 0], padding, &ip]);
    for (radiotap, padding) in [
        (&[0, 0, 9, 0, 2, 0, 0, 0, 0x20][..], &[9, 9][..]),
        (&[0, 0, 9, 0, 2, 0, 0, 0, 0x10], &[]),
        // Without flags, what stands in their place is another field.
        (&[0, 0, 9, 0, 4, 0, 0, 0, 0x20], &[]),
        (&[0, 0, 17, 0, 3, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 0x20], &[9, 9]),
        // The timer begins at a multiple of eight, behind two words, and three.
        (&[0, 0, 25, 0, 3, 0, 0, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 0x20], &[9, 9]),
        (&[0, 0, 25, 0, 3, 0, 0, 0x80, 0, 0, 0, 0x80, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 0x20], &[9, 9]),
        (&[0, 0, 8, 0, 2, 0, 0, 0], &[]),
    ] {
        let bytes = packet(&[radiotap, &qos(padding)]);
        assert_eq!(line(LinkType::IEEE802_11_RADIO, &bytes), udp, "{radiotap:?}");
    }
}

const WIFI_ADDRESSES: &[u8] = &[2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 3, 0, 0];
const SNAP: &[u8] = &[0xaa, 0xaa, 3, 0, 0, 0, 8];

/// Two frames to others than the one that the outer addresses name.
pub(super) fn amsdu() -> Vec<u8> {
    let ip = packet(&[SNAP, &[0], &ipv4(17, 0, UDP)]);
    let arp = packet(&[SNAP, &[6], &[0; 28]]);
    let header = |last, len| [2, 0, 0, 0, 0, 7, 2, 0, 0, 0, 0, last, 0, len];
    packet(&[
        &[0x88, 2, 0, 0],
        WIFI_ADDRESSES,
        &[0x80, 0],
        &header(8, 38),
        &ip,
        &[0; 2],
        &header(9, 36),
        &arp,
    ])
}

#[test]
fn frames_with_quality_of_service() {
    let udp = "192.0.2.1:5353 > 192.0.2.2:5353 udp len 2";
    let ip = packet(&[SNAP, &[0], &ipv4(17, 0, UDP)]);
    let qos = |flags, fields: &[u8]| packet(&[&[0x88, flags, 0, 0], WIFI_ADDRESSES, fields, &ip]);
    for bytes in [
        qos(2, &[0, 0]),
        // With HT control, and with a fourth address before both.
        qos(0x82, &[0, 0, 9, 9, 9, 9]),
        qos(0x83, &[2, 0, 0, 0, 0, 4, 0, 0, 9, 9, 9, 9]),
    ] {
        assert_eq!(line(LinkType::IEEE802_11, &bytes), udp);
    }
    let mut bytes = amsdu();
    assert_eq!(line(LinkType::IEEE802_11, &bytes), format!("a-msdu {udp}"));
    // What is no packet of IP has the addresses of the frame inside.
    bytes[47] = 6;
    let from_to = "02:00:00:00:00:08 > 02:00:00:00:00:07";
    assert_eq!(line(LinkType::IEEE802_11, &bytes), format!("a-msdu {from_to} arp len 130"));
    let cut = summarize(LinkType::IEEE802_11, &bytes[..38], 100).to_string();
    assert_eq!(cut, "IEEE802_11 len 100 cut");
}
