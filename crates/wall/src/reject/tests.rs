use super::*;
use wire::transport::Icmp;

const A: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 1);
const B: Ipv4Addr = Ipv4Addr::new(198, 51, 100, 2);
const HERE: Mac = Mac([2, 0, 0, 0, 0, 9]);

/// A frame from A to B, with a VLAN tag.
fn frame(protocol: u8, payload: &[u8]) -> Vec<u8> {
    let mut frame = b"\x02\0\0\0\0\x0b\x02\0\0\0\0\x0a\x81\0\0\x07\x08\0".to_vec();
    frame.extend(Ipv4Header::carrying(protocol, payload.len(), A, B).unwrap().to_bytes());
    frame.extend(payload);
    frame
}

fn segment(flags: u8, seq: u32, ack: u32, payload: &[u8]) -> Vec<u8> {
    let header = TcpHeader { src_port: 40000, dst_port: 80, seq, ack, flags: TcpFlags(flags), window: 100 };
    frame(protocol::TCP, &[&header.to_bytes()[..], payload].concat())
}

fn replies(frame: &[u8]) -> (Option<Vec<u8>>, Option<Vec<u8>>) {
    let mut replies = Replies::default();
    replies.answer(LinkType::EN10MB, frame, &Source::default());
    (replies.to_sender().map(<[u8]>::to_vec), replies.to_receiver().map(<[u8]>::to_vec))
}

/// Source and destination port, sequence and acknowledgement number, flags; with the checksums right.
fn told(frame: &[u8]) -> (u16, u16, u32, u32, u8) {
    let ip = Ipv4::new(&frame[18..]).unwrap();
    assert!(ip.is_checksum_right());
    let tcp = Tcp::new(ip.payload()).unwrap();
    assert!(tcp.is_checksum_right(ip.addresses()));
    (tcp.src_port(), tcp.dst_port(), tcp.seq(), tcp.ack(), tcp.flags().0)
}

const SYN: u8 = TcpFlags::SYN;
const ACK: u8 = TcpFlags::ACK;
const RST: u8 = TcpFlags::RST;

#[test]
fn both_ends_are_reset_with_the_numbers_that_they_wait_for() {
    let (sender, receiver) = replies(&segment(ACK, 1000, 2000, b"GET /"));
    let (sender, receiver) = (sender.unwrap(), receiver.unwrap());
    assert_eq!(told(&sender), (80, 40000, 2000, 0, RST));
    assert_eq!(told(&receiver), (40000, 80, 1000, 2000, RST | ACK));
    assert_eq!(sender[..18], *b"\x02\0\0\0\0\x0a\x02\0\0\0\0\x0b\x81\0\0\x07\x08\0", "back, in its VLAN");
    assert_eq!(receiver[..18], *b"\x02\0\0\0\0\x0b\x02\0\0\0\0\x0a\x81\0\0\x07\x08\0");
    let ip = Ipv4::new(&sender[18..]).unwrap();
    assert_eq!((ip.src(), ip.dst()), (B, A), "in the name of the original destination");
}

#[test]
fn a_connection_that_begins_is_refused() {
    let (sender, receiver) = replies(&segment(SYN, u32::MAX, 0, b""));
    assert_eq!(told(&sender.unwrap()), (80, 40000, 0, 0, RST | ACK), "the number goes round");
    assert_eq!(receiver, None);
    // The answer to a SYN: the client takes what acknowledges it.
    let (sender, receiver) = replies(&segment(SYN | ACK, 5, 77, b""));
    assert_eq!(told(&sender.unwrap()), (80, 40000, 77, 0, RST));
    assert_eq!(told(&receiver.unwrap()), (40000, 80, 5, 77, RST | ACK));
}

#[test]
fn a_segment_that_was_captured_in_part_counts_whole() {
    let whole = segment(TcpFlags::FIN, 100, 0, &[0; 50]);
    let (sender, receiver) = replies(&whole[..whole.len() - 40]);
    assert_eq!(told(&sender.unwrap()), (80, 40000, 0, 151, RST | ACK));
    assert_eq!(told(&receiver.unwrap()), (40000, 80, 100, 0, RST));
}

#[test]
fn what_is_no_connection_gets_an_error_from_who_is_named() {
    let udp = frame(protocol::UDP, b"\0\x35\0\x35\0\x0c\0\0abcd");
    let mut replies = Replies::default();
    let source = Source { mac: Some(HERE), ipv4: Some(Ipv4Addr::new(10, 0, 0, 1)), ipv6: None };
    assert!(replies.answer(LinkType::EN10MB, &udp, &source));
    assert_eq!(replies.to_receiver(), None);
    let error = replies.to_sender().unwrap();
    assert_eq!(error[6..12], HERE.0);
    let ip = Ipv4::new(&error[18..]).unwrap();
    assert_eq!((ip.src(), ip.dst(), ip.protocol()), (Ipv4Addr::new(10, 0, 0, 1), A, protocol::ICMP));
    let icmp = Icmp::new(ip.payload()).unwrap();
    assert!(icmp.is_checksum_right(ip.addresses()));
    assert_eq!((icmp.kind(), icmp.code(), icmp.payload()), (3, 13, &udp[18..]));
    // In the name of the destination, where nobody is named.
    replies.answer(LinkType::EN10MB, &udp, &Source::default());
    assert_eq!(Ipv4::new(&replies.to_sender().unwrap()[18..]).unwrap().src(), B);
}

#[test]
fn ipv6_is_told_the_same() {
    let (a, b): (Ipv6Addr, Ipv6Addr) = ("2001:db8::1".parse().unwrap(), "2001:db8::2".parse().unwrap());
    let packet = |next, payload: &[u8]| {
        let header = Ipv6Header::carrying(next, payload.len(), a, b).unwrap();
        [&header.to_bytes()[..], payload].concat()
    };
    let mut replies = Replies::default();
    assert!(replies.answer(
        LinkType::RAW,
        &packet(protocol::UDP, b"\0\x35\0\x35\0\x08\0\0"),
        &Source::default()
    ));
    let ip = Ipv6::new(replies.to_sender().unwrap()).unwrap();
    let icmp = Icmp::new(ip.payload()).unwrap();
    assert!(icmp.is_checksum_right(ip.addresses()));
    assert_eq!((ip.src(), ip.dst(), icmp.kind(), icmp.code()), (b, a, 1, 1));
    let header = TcpHeader { src_port: 1, dst_port: 2, seq: 3, ack: 4, flags: TcpFlags(ACK), window: 0 };
    assert!(replies.answer(LinkType::RAW, &packet(protocol::TCP, &header.to_bytes()), &Source::default()));
    for (reply, seq) in [(replies.to_sender(), 4), (replies.to_receiver(), 3)] {
        let ip = Ipv6::new(reply.unwrap()).unwrap();
        let tcp = Tcp::new(ip.payload()).unwrap();
        assert!(tcp.is_checksum_right(ip.addresses()));
        assert_eq!(tcp.seq(), seq);
    }
}

#[test]
fn nobody_is_told_of_what_must_not_be_answered() {
    let mut later = segment(ACK, 1, 1, b"");
    later[18 + 7] = 1;
    let mut to_group = frame(protocol::UDP, &[0; 8]);
    to_group[18 + 16] = 224;
    let mut to_group_of_link = segment(ACK, 1, 1, b"");
    to_group_of_link[0] |= 1;
    let tunnel = frame(protocol::IPIP, &segment(ACK, 1, 1, b"")[18..]);
    let error = frame(protocol::ICMP, &[3, 1, 0, 0, 0, 0, 0, 0]);
    for frame in [later, to_group, to_group_of_link, tunnel, error, segment(RST, 1, 1, b""), b"\x02".to_vec()]
    {
        assert_eq!(replies(&frame), (None, None), "{frame:02x?}");
    }
    let mut none = Replies::default();
    assert!(!none.answer(LinkType::IEEE802_11, &segment(ACK, 1, 1, b""), &Source::default()));
}

#[test]
fn no_bytes_panic() {
    let whole = segment(ACK, 1, 2, b"abc");
    for cut in 0..whole.len() {
        let _ = replies(&whole[..cut]);
        for byte in [0, 1, 0x45, 0x4f, 0x60, 0xff] {
            let mut frame = whole.clone();
            frame[cut] = byte;
            let _ = replies(&frame);
        }
    }
}
