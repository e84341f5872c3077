use super::*;

fn build(line: &str) -> Packet {
    Packet::parse(line).unwrap_or_else(|e| panic!("{line}: {e}"))
}

fn error(line: &str) -> String {
    Packet::parse(line).unwrap_err().to_string()
}

#[test]
fn fills_in_types_lengths_and_checksums() {
    let packet = build("eth / ip4(src=10.0.0.1,dst=10.0.0.2) / udp(53,53) / 'hi'");
    assert_eq!(packet.bytes[12..14], [0x08, 0x00]);
    assert_eq!(packet.bytes[14..18], [0x45, 0, 0, 30]);
    assert_eq!(packet.bytes[23], 17);
    assert_eq!(packet.bytes[38..40], [0, 10]);
    // RFC 1071: the words of what a checksum covers, the checksum included, add up to all ones.
    let words = |bytes: &[u8]| {
        let mut sum: u32 =
            bytes.chunks(2).map(|w| u32::from(w[0]) << 8 | u32::from(*w.get(1).unwrap_or(&0))).sum();
        while sum > 0xffff {
            sum = (sum & 0xffff) + (sum >> 16);
        }
        sum
    };
    assert_eq!(words(&packet.bytes[14..34]), 0xffff);
    let mut pseudo = packet.bytes[26..34].to_vec();
    pseudo.extend([0, 17, 0, 10]);
    pseudo.extend(&packet.bytes[34..]);
    assert_eq!(words(&pseudo), 0xffff);
}

#[test]
fn extension_headers_chain() {
    let packet = build("ip6 / hopopt / routing / frag(offset=1) / dest / ah / tcp");
    let at = |i: usize| packet.bytes[i];
    assert_eq!((at(6), at(40), at(48), at(56), at(64), at(72)), (0, 43, 44, 60, 51, 6));
    assert_eq!(packet.bytes[73], 4, "AH counts words of four bytes, less two");
    assert_eq!(packet.bytes[58..60], [0, 8]);
}

#[test]
fn length_or_type() {
    assert_eq!(build("eth / llc / stp").bytes[12..17], [0, 7, 0x42, 0x42, 3]);
    assert_eq!(build("eth / llc / snap / ip4").bytes[14..22], [0xaa, 0xaa, 3, 0, 0, 0, 8, 0]);
    assert_eq!(build("mpls(5) / mpls(6) / ip4").bytes[..8], [0, 0, 0x50, 64, 0, 0, 0x61, 64]);
}

#[test]
fn signalling_bits_run_backwards() {
    let packet = build("mtp2 / mtp3(sio=0x85,dpc=0x1234,opc=0x2abc,sls=5)");
    let label = u32::from_le_bytes(packet.bytes[4..8].try_into().unwrap());
    assert_eq!((label & 0x3fff, label >> 14 & 0x3fff, label >> 28), (0x1234, 0x2abc, 5));
}

#[test]
fn known_checksums() {
    // The check value that catalogues of CRCs give for CRC-32C.
    assert_eq!(encode::crc32c(b"123456789"), 0xe306_9283);
}

#[test]
fn cut_and_wire() {
    let packet = build("eth / pad(50) / cut(20) / wire(1500)");
    assert_eq!((packet.bytes.len(), packet.wire_len), (20, 1500));
    assert_eq!(Packet::parse(&packet.to_line()), Ok(packet));
}

#[test]
fn every_layer_builds_alone() {
    for name in layer_names() {
        assert!(!build(name).bytes.is_empty(), "{name}");
    }
}

#[test]
fn errors_help() {
    assert_eq!(error("eth / ip5"), "unknown layer `ip5`: did you mean `ip4`?");
    assert!(error("tcp(dprt=80)").contains("did you mean `dport`?"), "{}", error("tcp(dprt=80)"));
    assert_eq!(error("vlan(4096)"), "`vlan(id)`: 4096 does not fit into 12 bits");
    assert_eq!(error("tcp(flags=Z)"), "`tcp(flags)`: `Z` is no flag: the flags are `FSRPAUEC`");
    assert_eq!(
        error("eth(dst=1.2.3.4)"),
        "`eth(dst)`: `1.2.3.4` is no MAC address (write 02:00:00:00:00:01)"
    );
    assert_eq!(error("hex(abc)"), "`abc` is no list of bytes (write de ad be ef)");
    assert_eq!(error("'open"), "no closing quote in `'open`");
    assert_eq!(error("pad(9999999)"), "`pad(9999999)` wants one number, at most 1048576");
}
