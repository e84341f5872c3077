//! Reading pcapng: every block that carries packets, sections, interfaces, options, damage.

mod common;

use capture::{BlockProblem, ByteOrder, ErrorKind};
use common::*;
use wire::LinkType;

fn seen(data: &[u8], wire_len: u32, timestamp_ns: i64, linktype: u32, interface: u32) -> Seen {
    Seen { data: data.to_vec(), wire_len, timestamp_ns, linktype, interface }
}

/// One of everything.
fn zoo(order: ByteOrder) -> Bytes {
    Bytes::new(order)
        .section()
        .interface(1, 0)
        .block(INTERFACE, |b| {
            b.u16(101).u16(0).u32(64).option(2, b"tun0").option(9, &[9]).option(13, &[4]).u32(0)
        })
        .block(NAMES, |b| b.u16(1).u16(7).raw(&[10, 0, 0, 1, b'h', b'i', 0, 0]).u32(0))
        .enhanced(0, 1_500_000, b"abcde", 60)
        .block(CUSTOM, |b| b.u32(4242).raw(b"payload!"))
        .enhanced(1, 7, b"E", 1)
        .block(OLD, |b| b.u16(0).u16(3).u32(0).u32(9).u32(2).u32(2).raw(b"ol"))
        .block(SIMPLE, |b| b.u32(6).raw(b"simple"))
        .block(SECRETS, |b| b.u32(0x544c_534b).u32(4).raw(b"keys"))
        .block(STATISTICS, |b| b.u32(0).u32(0).u32(0))
        .block(0x7777, |b| b.raw(b"unheard of"))
}

fn zoo_packets() -> Vec<Seen> {
    vec![
        seen(b"abcde", 60, 1_500_000_000, 1, 0),
        seen(b"E", 1, 7, 101, 1),
        seen(b"ol", 2, 9000, 1, 0),
        seen(b"simple", 6, 0, 1, 0),
    ]
}

#[test]
fn every_packet_block_in_both_orders() {
    for order in ORDERS {
        assert_eq!(packets(&zoo(order).bytes), zoo_packets(), "{order:?}");
    }
}

#[test]
fn a_packet_says_which_way_it_went() {
    let line = "192.0.2.1 > 192.0.2.2 ip protocol 99 len 0";
    let ip = [0x45, 0, 0, 20, 0, 0, 0, 0, 64, 99, 0, 0, 192, 0, 2, 1, 192, 0, 2, 2];
    for order in ORDERS {
        for (flags, expected) in
            [(0, ""), (1, "In "), (2, "Out "), (3, ""), (5, "In "), (0x8000_0002, "Out ")]
        {
            let flags = match order {
                ByteOrder::Little => u32::to_le_bytes(flags),
                ByteOrder::Big => u32::to_be_bytes(flags),
            };
            let bytes = Bytes::new(order)
                .section()
                .interface(101, 0)
                .block(6, |b| {
                    let b = b.u32(0).u32(0).u32(0).u32(20).u32(20).raw(&ip);
                    b.option(1, b"a comment").option(2, &flags).u32(0)
                })
                .block(OLD, |b| {
                    let b = b.u16(0).u16(3).u32(0).u32(9).u32(20).u32(20).raw(&ip);
                    b.option(2, &flags)
                })
                // Of another length, and one that its block has no room for.
                .block(6, |b| b.u32(0).u32(0).u32(0).u32(20).u32(20).raw(&ip).option(2, &[1, 1]))
                .block(6, |b| b.u32(0).u32(0).u32(0).u32(20).u32(20).raw(&ip).u16(2).u16(4))
                .bytes;
            let mut reader = reader(&bytes).unwrap();
            let mut lines = Vec::new();
            while let Some(packet) = reader.next_packet().unwrap() {
                lines.push(capture::Line::from(&packet).to_string().split_off(28));
            }
            assert_eq!(lines[..2], [format!("{expected}{line}"), format!("{expected}{line}")]);
            assert_eq!(lines[2..], [line, line]);
        }
    }
}

#[test]
fn sections_have_their_own_order_and_interfaces() {
    let mut bytes = zoo(ByteOrder::Big).bytes;
    bytes.extend(zoo(ByteOrder::Little).bytes);
    bytes.extend(Bytes::new(ByteOrder::Big).section().interface(113, 0).enhanced(0, 1, b"x", 1).bytes);
    let mut expected = zoo_packets();
    expected.extend(zoo_packets());
    expected.push(seen(b"x", 1, 1000, 113, 0));
    assert_eq!(packets(&bytes), expected);
}

#[test]
fn a_batch_has_one_section_and_one_linktype() {
    let mut bytes = zoo(ByteOrder::Big).bytes;
    bytes.extend(zoo(ByteOrder::Little).bytes);
    let mut reader = reader(&bytes).unwrap();
    let mut starts = 0;
    while let Some(batch) = reader.next_batch().unwrap() {
        starts += usize::from(batch.starts_section());
        for packet in batch.packets() {
            assert_eq!(Some(batch.interface(packet).linktype), batch.linktype());
        }
    }
    assert_eq!(starts, 2);
}

#[test]
fn blocks_come_with_the_packets_around_them() {
    let bytes = zoo(ByteOrder::Little).bytes;
    let mut reader = reader(&bytes).unwrap();
    let mut kinds = Vec::new();
    let mut rebuilt = Vec::new();
    while let Some(batch) = reader.next_batch().unwrap() {
        kinds.extend(batch.blocks().iter().map(|block| block.kind));
        let mut pieces: Vec<_> = batch.packets().iter().map(|p| (p.raw_offset, batch.raw(p))).collect();
        pieces.extend(batch.blocks().iter().map(|b| (b.raw_offset, batch.block(b))));
        pieces.sort_unstable();
        pieces.iter().for_each(|(_, piece)| rebuilt.extend_from_slice(piece));
    }
    assert_eq!(kinds, [SECTION, INTERFACE, INTERFACE, NAMES, CUSTOM, SECRETS, STATISTICS, 0x7777]);
    assert_eq!(rebuilt, bytes);
}

/// Both options, and each alone (section 4.2 of the draft); what is beyond nanoseconds is cut off.
#[test]
fn timestamps_follow_resolution_and_offset() {
    const SECOND: i64 = 1_000_000_000;
    for (tsresol, ticks, since_offset_ns) in [
        (None, 1_500_000, SECOND * 3 / 2),
        (Some(0), 3, 3 * SECOND),
        (Some(3), 1500, SECOND * 3 / 2),
        (Some(9), 5, 5),
        (Some(12), 5999, 5),
        (Some(19), 25_000_000_000, 2),
        (Some(0x80), 3, 3 * SECOND),
        (Some(0x80 | 1), 3, SECOND * 3 / 2),
        (Some(0x80 | 10), 1024 + 256, SECOND * 5 / 4),
        (Some(0x80 | 32), 3 << 31, SECOND * 3 / 2),
        (Some(0x80 | 63), 1 << 62, SECOND / 2),
    ] {
        for (offset_s, order) in
            [0_i64, 100, -1, -86_400, i64::from(u32::MAX)].into_iter().zip(ORDERS.into_iter().cycle())
        {
            let offset = match order {
                ByteOrder::Little => offset_s.to_le_bytes(),
                ByteOrder::Big => offset_s.to_be_bytes(),
            };
            let bytes = Bytes::new(order)
                .section()
                .block(INTERFACE, |b| {
                    let b = b.u16(1).u16(0).u32(0);
                    let b = if let Some(tsresol) = tsresol { b.option(9, &[tsresol]) } else { b };
                    if offset_s == 0 { b } else { b.option(14, &offset).u32(0) }
                })
                .enhanced(0, ticks, b"x", 1)
                .bytes;
            let expected = since_offset_ns + offset_s * SECOND;
            assert_eq!(packets(&bytes)[0].timestamp_ns, expected, "{tsresol:?} {offset_s}");
        }
    }
}

/// What a section says of its length is not needed, and may be anything.
#[test]
fn a_stated_section_length_changes_nothing() {
    let stating = |length: [u32; 2]| {
        Bytes::new(ByteOrder::Little)
            .block(SECTION, |b| b.u32(0x1a2b_3c4d).u16(1).u16(0).u32(length[0]).u32(length[1]))
            .interface(1, 0)
            .enhanced(0, 0, b"abcd", 4)
            .bytes
    };
    let two = [stating([20 + 36, 0]), stating([7, 0])].concat();
    assert_eq!(packets(&two).len(), 2);
    for length in [[0, 0], [3, 0], [u32::MAX, u32::MAX], [u32::MAX, 0x7fff_ffff], [0, 0x8000_0000]] {
        assert_eq!(packets(&stating(length)).len(), 1, "{length:?}");
    }
}

/// A journal of systemd, secrets, a custom block, one for local use and one that nobody knows: none has packets, all are handed out.
#[test]
fn blocks_of_every_type_are_handed_out() {
    const JOURNAL: u32 = 9;
    let kinds = [JOURNAL, SECRETS, NAMES, STATISTICS, CUSTOM, CUSTOM_NO_COPY, 11, 0x8000_0001, u32::MAX];
    for order in ORDERS {
        let mut file = Bytes::new(order).section().interface(1, 0);
        for kind in kinds {
            file = file.block(kind, |b| b.u32(0)).enhanced(0, 0, b"x", 1);
        }
        let mut reader = reader(&file.bytes).unwrap();
        let (mut seen, mut count) = (Vec::new(), 0);
        while let Some(batch) = reader.next_batch().unwrap() {
            seen.extend(batch.blocks().iter().map(|block| block.kind));
            count += batch.len();
        }
        assert_eq!((&seen[2..], count), (&kinds[..], kinds.len()));
    }
}

#[test]
fn interfaces_have_a_limit() {
    let described = |count: usize| {
        let interface = Bytes::new(ByteOrder::Little).interface(1, 0).bytes;
        Bytes::new(ByteOrder::Little).section().raw(&interface.repeat(count))
    };
    const LIMIT: u32 = 1 << 16;
    let most = described(LIMIT as usize).enhanced(LIMIT - 1, 0, b"x", 1).enhanced(0xffff, 0, b"y", 1);
    assert_eq!(packets(&most.bytes)[0].interface, LIMIT - 1);
    let unknown = described(LIMIT as usize).enhanced(LIMIT, 0, b"x", 1);
    assert_eq!(problem(&unknown.bytes).2, BlockProblem::UnknownInterface { id: LIMIT, known: LIMIT });
    let more = described(LIMIT as usize + 1).enhanced(0, 0, b"x", 1);
    assert_eq!(problem(&more.bytes).2, BlockProblem::TooManyInterfaces { limit: LIMIT });
}

#[test]
fn simple_packets_end_at_the_snap_length() {
    let bytes = Bytes::new(ByteOrder::Little)
        .section()
        .interface(1, 4)
        .block(SIMPLE, |b| b.u32(9).raw(b"abcd"))
        .block(SIMPLE, |b| b.u32(2).raw(b"ab"))
        .bytes;
    let all = packets(&bytes);
    assert_eq!((&all[0].data[..], all[0].wire_len), (&b"abcd"[..], 9));
    assert_eq!((&all[1].data[..], all[1].wire_len), (&b"ab"[..], 2));
}

#[test]
fn simple_packets_have_no_time() {
    let offset = 1_700_000_000_u64.to_le_bytes();
    let file = Bytes::new(ByteOrder::Little)
        .section()
        .block(INTERFACE, |b| b.u16(1).u16(0).u32(0).option(14, &offset))
        .block(SIMPLE, |b| b.u32(4).raw(b"abcd"));
    assert_eq!(packets(&file.bytes)[0].timestamp_ns, 0);
}

/// libpcap refuses such files; here each interface stands for itself.
#[test]
fn snap_lengths_may_differ_and_be_exceeded() {
    let bytes = Bytes::new(ByteOrder::Little)
        .section()
        .interface(1, 2)
        .interface(1, 9)
        .enhanced(0, 0, b"abc", 3)
        .bytes;
    assert_eq!(packets(&bytes)[0].data, b"abc");
}

/// libpcap reads on behind the first section header of a file, and stops at any other.
#[test]
fn the_length_at_the_end_of_a_section_header_may_be_wrong() {
    let section = |end: u32| {
        let mut header = Bytes::new(ByteOrder::Little).section().bytes;
        let at = header.len() - 4;
        header[at..].copy_from_slice(&end.to_le_bytes());
        Bytes::new(ByteOrder::Little).raw(&header).interface(1, 0).enhanced(0, 0, b"abcd", 4).bytes
    };
    for end in [0, 27, 1 << 31] {
        let two = section(end).repeat(2);
        assert_eq!(packets(&two).len(), 2);
        // What is written says it right.
        assert_eq!(copy(&[&two], |_| true).unwrap(), section(28).repeat(2));
    }
}

/// libpcap does not look at it.
#[test]
fn a_frame_check_sequence_of_no_length_is_passed_over() {
    for (value, expected) in [(&[][..], None), (&[4], Some(4)), (&[4, 0], None)] {
        let file = Bytes::new(ByteOrder::Little)
            .section()
            .block(INTERFACE, |b| b.u16(1).u16(0).u32(0).option(13, value))
            .enhanced(0, 0, b"abcd", 4);
        let mut reader = reader(&file.bytes).unwrap();
        let batch = reader.next_batch().unwrap().unwrap();
        assert_eq!((batch.len(), batch.interfaces()[0].fcs_len), (1, expected));
    }
}

fn problem(bytes: &[u8]) -> (usize, Option<u64>, BlockProblem) {
    let (seen, error) = read_all(bytes);
    let error = error.expect("an error");
    match error.kind() {
        ErrorKind::Block { problem, .. } => (seen.len(), error.offset(), *problem),
        other => panic!("{other:?}"),
    }
}

#[test]
fn damage_is_named_with_its_offset() {
    let start = || Bytes::new(ByteOrder::Little).section().interface(1, 0).enhanced(0, 0, b"good", 4);
    let at = start().bytes.len() as u64;
    for (damaged, expected) in [
        (start().u32(6).u32(8).u32(8), BlockProblem::TooShort { length: 8, least: 12 }),
        (start().u32(6).u32(33).raw(&[0; 40]), BlockProblem::Unaligned { length: 33 }),
        (start().block(ENHANCED, |b| b.u32(0)), BlockProblem::TooShort { length: 16, least: 32 }),
        (start().block(OLD, |b| b.u32(0)), BlockProblem::TooShort { length: 16, least: 32 }),
        (start().block(SIMPLE, |b| b), BlockProblem::TooShort { length: 12, least: 16 }),
        (start().block(INTERFACE, |b| b.u32(0)), BlockProblem::TooShort { length: 16, least: 20 }),
        (start().block(SECTION, |b| b.u32(0x1a2b_3c4d)), BlockProblem::TooShort { length: 16, least: 28 }),
        (
            start().block(SECTION, |b| b.u32(7).u32(0).u32(0).u32(0)),
            BlockProblem::ByteOrder { magic: 0x0700_0000 },
        ),
        (start().u32(9).u32(16).u32(0).u32(12), BlockProblem::LengthsDiffer { start: 16, end: 12 }),
        (start().enhanced(1, 0, b"", 0), BlockProblem::UnknownInterface { id: 1, known: 1 }),
        (
            start().block(ENHANCED, |b| b.u32(0).u32(0).u32(0).u32(5).u32(5).raw(b"four")),
            BlockProblem::DataPastEnd { captured: 5, room: 4 },
        ),
        (
            start().block(SIMPLE, |b| b.u32(5).raw(b"four")),
            BlockProblem::DataPastEnd { captured: 5, room: 4 },
        ),
        (
            start().block(INTERFACE, |b| b.u16(1).u16(0).u32(0).u16(2).u16(99)),
            BlockProblem::Option { code: 2, length: 99 },
        ),
        (
            start().block(INTERFACE, |b| b.u16(1).u16(0).u32(0).option(9, &[6]).option(9, &[9]).u32(0)),
            BlockProblem::OptionTwice { code: 9 },
        ),
        (
            start().block(INTERFACE, |b| b.u16(1).u16(0).u32(0).option(14, &[0; 8]).option(14, &[0; 8])),
            BlockProblem::OptionTwice { code: 14 },
        ),
        (
            start().block(INTERFACE, |b| b.u16(1).u16(0).u32(0).option(9, &[6, 6])),
            BlockProblem::Option { code: 9, length: 2 },
        ),
        (
            start().block(INTERFACE, |b| b.u16(1).u16(0).u32(0).option(9, &[20])),
            BlockProblem::Resolution { tsresol: 20 },
        ),
    ] {
        assert_eq!(problem(&damaged.bytes), (1, Some(at), expected));
    }
}

#[test]
fn packets_before_any_interface_are_damage() {
    for block in [ENHANCED, OLD, SIMPLE] {
        let bytes = Bytes::new(ByteOrder::Big).section().block(block, |b| b.raw(&[0; 20])).bytes;
        assert_eq!(problem(&bytes).2, BlockProblem::UnknownInterface { id: 0, known: 0 });
    }
}

#[test]
fn blocks_beyond_the_limit_are_refused() {
    let bytes = Bytes::new(ByteOrder::Little).section().u32(9).u32((16 << 20) + 4).u32(0).bytes;
    let (_, error) = read_all(&bytes);
    assert!(matches!(error.unwrap().kind(), ErrorKind::TooLong { .. }));
}

#[test]
fn an_interface_without_packets_says_nothing_of_the_first_packets() {
    let described = Bytes::new(ByteOrder::Little).section().interface(113, 0).interface(1, 0);
    let names = |b: Bytes| b.block(NAMES, |b| b.u32(0));
    for blocks in [0, 300] {
        let mut file = Bytes::new(ByteOrder::Little).raw(&described.bytes);
        for _ in 0..blocks {
            file = names(file);
        }
        assert_eq!(reader(&file.bytes).unwrap().first_linktype(), None);
        let mut without = reader(&file.bytes).unwrap();
        assert_eq!(without.seek_linktype(), None);
        let described: Vec<LinkType> = without.batch().interfaces().iter().map(|i| i.linktype).collect();
        assert_eq!(described, [LinkType::LINUX_SLL, LinkType::EN10MB]);
        let file = file.enhanced(1, 5, b"E", 1).bytes;
        let mut reader_of = reader(&file).unwrap();
        assert_eq!(reader_of.first_linktype(), (blocks == 0).then_some(LinkType::EN10MB));
        assert_eq!(drain(reader_of).0.len(), 1);
        assert_eq!(reader(&file).unwrap().seek_linktype(), Some(LinkType::EN10MB));
    }
}

#[test]
fn versions_other_than_1_0_and_1_2_are_refused() {
    let of = |major, minor| {
        Bytes::new(ByteOrder::Little)
            .block(SECTION, |b| b.u32(0x1a2b_3c4d).u16(major).u16(minor).raw(&[0xff; 8]))
            .bytes
    };
    assert!(packets(&of(1, 2)).is_empty());
    for (major, minor) in [(1, 1), (2, 0), (0, 0)] {
        let later = [of(1, 0), of(major, minor)].concat();
        for file in [of(major, minor), later] {
            assert!(matches!(read_all(&file).1.unwrap().kind(), ErrorKind::Version { .. }));
        }
    }
}

/// Cut at every byte: every whole packet comes out, then an error unless the cut is between blocks.
#[test]
fn truncation_anywhere_loses_nothing_before_it() {
    for order in ORDERS {
        let whole = zoo(order).bytes;
        // Where blocks end, and how many packets are whole there.
        let mut ends = vec![];
        let mut reader = reader(&whole).unwrap();
        while let Some(batch) = reader.next_batch().unwrap() {
            let base = batch.window_offset();
            ends.extend(batch.blocks().iter().map(|b| (base + u64::from(b.raw_offset + b.raw_len), 0)));
            ends.extend(batch.packets().iter().map(|p| (base + u64::from(p.raw_end()), 1)));
        }
        ends.sort_unstable();
        for cut in 1..whole.len() {
            let (seen, error) = read_all(&whole[..cut]);
            let before: Vec<_> = ends.iter().filter(|&&(end, _)| end <= cut as u64).collect();
            assert_eq!(seen.len(), before.iter().map(|(_, packets)| packets).sum::<usize>(), "cut at {cut}");
            assert_eq!(seen, zoo_packets()[..seen.len()]);
            let last = before.last().map_or(0, |&&(end, _)| end);
            match error {
                None => assert_eq!(last, cut as u64),
                Some(error) => assert_eq!(error.offset().unwrap_or(0), last, "cut at {cut}: {error}"),
            }
        }
    }
}
