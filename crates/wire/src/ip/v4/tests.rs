use super::*;
use crate::ip::protocol;

/// A datagram of 115 bytes from 192.168.0.1 to 192.168.0.199, with its checksum b861.
const HEADER: [u8; 20] = *b"\x45\x00\x00\x73\x00\x00\x40\x00\x40\x11\xb8\x61\xc0\xa8\x00\x01\xc0\xa8\x00\xc7";

#[test]
fn reads_fields() {
    let mut packet =
        vec![0x46, 0, 0, 26, 0, 1, 0x20, 3, 9, 17, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 0, 0, 0, 0, 0xaa, 0xbb];
    packet.extend([0; 4]);
    let ip = Ipv4::new(&packet).unwrap();
    assert_eq!((ip.header_len(), ip.payload_len()), (24, Some(2)));
    assert_eq!(ip.payload(), [0xaa, 0xbb], "padding is not payload");
    assert_eq!((ip.fragment_off(), ip.has_more_fragments()), (24, true));
    assert!(ip.is_fragment() && !ip.has_dont_fragment());
    assert_eq!((ip.ident(), ip.options()), (1, &[0; 4][..]));
    assert_eq!((ip.src(), ip.dst()), (Ipv4Addr::new(1, 2, 3, 4), Ipv4Addr::new(5, 6, 7, 8)));
    assert!(Ipv4::new(&packet[..19]).is_none());
}

#[test]
fn some_options_are_in_every_fragment() {
    for (options, copied) in [
        (&b""[..], &b""[..]),
        // A record of the route is not copied, a loose source route is, and so is the router alert.
        (b"\x07\x04\x04\x00", b""),
        (b"\x94\x04\x00\x00", b"\x94\x04\x00\x00"),
        (b"\x07\x03\x04\x83\x07\x04\x0a\x00\x00\x01\x01\x00", b"\x83\x07\x04\x0a\x00\x00\x01\x00"),
        (b"\x01\x94\x04\x00\x00\x01\x01\x00", b"\x94\x04\x00\x00"),
        // Lengths of nothing, of less than the length itself, and beyond the end.
        (b"\x94\x04\x00\x00\x94\x00\x00\x00", b"\x94\x04\x00\x00"),
        (b"\x94\x01\x94\x02", b""),
        (b"\x94\x05\x00\x00", b""),
        (b"\x01\x01\x01\x94", b""),
    ] {
        let mut packet = HEADER.to_vec();
        packet[0] += (options.len() / 4) as u8;
        packet.extend(options);
        let (bytes, len) = Ipv4::new(&packet).unwrap().copied_options();
        assert_eq!(bytes[..len], *copied, "{options:x?}");
    }
}

#[test]
fn writes_the_header_it_read() {
    let ip = Ipv4::new(&HEADER).unwrap();
    assert!(ip.is_checksum_right());
    assert_eq!(Ipv4Header::from(ip).to_bytes(), HEADER);
    let made = Ipv4Header::carrying(protocol::UDP, 95, ip.src(), ip.dst()).unwrap();
    assert_eq!(made.to_bytes(), HEADER);
}

#[test]
fn setters_write_what_getters_read() {
    let mut packet = [0; 30];
    (packet[0], packet[6], packet[9]) = (0x46, 0x40, protocol::TCP);
    let mut ip = Ipv4Mut::new(&mut packet).unwrap();
    ip.set_tos(0xb8);
    ip.set_total_len(1500);
    ip.set_ident(0xbeef);
    ip.set_fragment(65535, Follows::More);
    ip.set_ttl(3);
    ip.set_src(Ipv4Addr::new(10, 0, 0, 1));
    ip.set_dst(Ipv4Addr::new(10, 0, 0, 2));
    ip.fill_checksum();
    let read = ip.view();
    let header = Ipv4Header {
        tos: 0xb8,
        total_len: 1500,
        ident: 0xbeef,
        dont_fragment: true,
        more_fragments: true,
        fragment_off: 65528,
        ttl: 3,
        protocol: protocol::TCP,
        src: Ipv4Addr::new(10, 0, 0, 1),
        dst: Ipv4Addr::new(10, 0, 0, 2),
    };
    assert_eq!(Ipv4Header::from(read), header);
    assert!(read.is_checksum_right());
    ip.set_fragment(0, Follows::Nothing);
    assert!(!ip.view().is_fragment() && ip.view().has_dont_fragment());
    for (total_len, payload_len) in [(0, 6), (23, 0), (24, 0), (27, 3), (31, 6), (u16::MAX, 6)] {
        ip.set_total_len(total_len);
        assert_eq!(ip.view().payload().len(), payload_len);
        assert_eq!(ip.payload_mut().len(), payload_len, "total length {total_len}");
    }
}

#[test]
fn decrementing_keeps_the_checksum_right() {
    // Every time to live, and checksums on both sides of the end-around carry.
    for ident in (0..=u16::MAX).step_by(if cfg!(miri) { 257 } else { 1 }) {
        let header = Ipv4Header { ident, ttl: ident as u8, ..Ipv4::new(&HEADER).unwrap().into() };
        let mut bytes = header.to_bytes();
        let left = Ipv4Mut::new(&mut bytes).unwrap().decrement_ttl();
        assert_eq!(left, header.ttl.checked_sub(1).filter(|&ttl| ttl > 0));
        assert_eq!(bytes, Ipv4Header { ttl: left.unwrap_or(header.ttl), ..header }.to_bytes());
    }
}

#[test]
fn a_wrong_checksum_stays_wrong() {
    let mut bytes = HEADER;
    bytes[10] ^= 1;
    assert!(Ipv4Mut::new(&mut bytes).unwrap().decrement_ttl().is_some());
    assert!(!Ipv4::new(&bytes).unwrap().is_checksum_right());
}

#[test]
fn hostile_headers() {
    for (first, len, is_seen, is_changeable) in [
        (0x45, 20, true, true),
        (0x45, 19, false, false),
        (0x44, 20, false, false),
        (0x65, 20, false, false),
        (0x4f, 59, true, false),
        (0x4f, 60, true, true),
        (0, 0, false, false),
    ] {
        let mut bytes = [0; 60];
        bytes[0] = first;
        let seen = Ipv4::new(&bytes[..len]);
        assert_eq!(seen.is_some(), is_seen, "{first:x} {len}");
        assert!(seen.is_none_or(|ip| ip.payload().is_empty() && !ip.is_checksum_right()));
        assert_eq!(Ipv4Mut::new(&mut bytes[..len]).is_some(), is_changeable, "{first:x} {len}");
    }
}

#[test]
fn lengths_shorter_than_the_header_leave_no_payload() {
    for (total_len, payload_len, captured) in
        [(0, None, 8), (1, None, 0), (19, None, 0), (20, Some(0), 0), (21, Some(1), 1), (99, Some(79), 8)]
    {
        let header = Ipv4Header { total_len, ..Ipv4::new(&HEADER).unwrap().into() };
        let bytes = [&header.to_bytes()[..], &[7; 8]].concat();
        let ip = Ipv4::new(&bytes).unwrap();
        assert_eq!((ip.payload_len(), ip.payload().len()), (payload_len, captured), "{total_len}");
    }
}

#[test]
fn payloads_end_at_65515_bytes() {
    let any = Ipv4Addr::UNSPECIFIED;
    assert!(Ipv4Header::carrying(0, 65515, any, any).is_some_and(|header| header.total_len == 65535));
    assert_eq!(Ipv4Header::carrying(0, 65516, any, any), None);
    assert_eq!(Ipv4Header::carrying(0, usize::MAX, any, any), None);
}
