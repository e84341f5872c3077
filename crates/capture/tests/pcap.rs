//! Reading the classic format: every magic, order, version and kind of damage.

mod common;

use capture::{BATCH_MAX, ByteOrder, ErrorKind, Format, Precision};
use common::*;

/// Three packets in a file of this kind, the lengths as the version wants them.
fn file(order: ByteOrder, magic: u32, version: (u16, u16)) -> Bytes {
    let mut file = pcap_header(order, magic, version, 100, 1);
    for (seconds, fraction, data, wire_len) in
        [(1, 2, &b"abcd"[..], 60), (3, 999_999, b"", 0), (0xffff_fff0, 0, b"0123456789", 10)]
    {
        let captured = data.len() as u32;
        let (first, second) =
            if version < (2, 3) || version.0 == 543 { (wire_len, captured) } else { (captured, wire_len) };
        file = file.u32(seconds).u32(fraction).u32(first).u32(second);
        if magic == MODIFIED {
            file = file.u32(7).u16(0x0800).raw(&[1, 0]);
        }
        file = file.raw(data);
    }
    file
}

fn expected(ns_per_unit: i64) -> Vec<Seen> {
    [(1, 2, &b"abcd"[..], 60), (3, 999_999, b"", 0), (0xffff_fff0_i64, 0, b"0123456789", 10)]
        .map(|(seconds, fraction, data, wire_len)| Seen {
            data: data.to_vec(),
            wire_len,
            timestamp_ns: seconds * 1_000_000_000 + fraction * ns_per_unit,
            linktype: 1,
            interface: 0,
        })
        .to_vec()
}

#[test]
fn every_magic_order_and_version() {
    for order in ORDERS {
        for (magic, ns_per_unit) in [(MICRO, 1000), (NANO, 1), (MODIFIED, 1000)] {
            for version in [(2, 0), (2, 1), (2, 2), (2, 3), (2, 4), (543, 0)] {
                let bytes = file(order, magic, version).bytes;
                assert_eq!(packets(&bytes), expected(ns_per_unit), "{order:?} {magic:x} {version:?}");
            }
        }
    }
}

/// Version 2.3 was written with the lengths either way round.
#[test]
fn version_2_3_takes_the_smaller_length_as_captured() {
    let bytes =
        pcap_header(ByteOrder::Little, MICRO, (2, 3), 100, 1).u32(0).u32(0).u32(60).u32(2).raw(b"ab").bytes;
    let seen = packets(&bytes);
    assert_eq!((&seen[0].data[..], seen[0].wire_len), (&b"ab"[..], 60));
}

#[test]
fn other_versions_are_refused() {
    for version in [(1, 0), (2, 5), (3, 0), (543, 1)] {
        let (_, error) = read_all(&file(ByteOrder::Little, MICRO, version).bytes);
        assert!(matches!(error.unwrap().kind(), ErrorKind::Version { .. }), "{version:?}");
    }
}

#[test]
fn header_is_understood() {
    for (stored, link, magic, snaplen, linktype) in [
        (65_535, 1, MICRO, 65_535, 1),
        (0, 1, MICRO, 262_144, 1),
        (0xffff_ffff, 249, MICRO, 1 << 20, 249),
        (0, 279, MICRO, 8 << 20, 279),
        (100, 12, MICRO, 100, 101),
        (100, 0x2400_0001, NANO, 100, 1),
        (100, 1, MODIFIED, 114, 1),
        (100, 113, MODIFIED, 100, 113),
    ] {
        let bytes = pcap_header(ByteOrder::Big, magic, (2, 4), stored, link).bytes;
        let Format::Pcap(header) = reader(&bytes).unwrap().format() else { panic!("not pcap") };
        assert_eq!((header.snaplen, header.linktype.value()), (snaplen, linktype));
        assert_eq!(header.precision, if magic == NANO { Precision::Nano } else { Precision::Micro });
        assert_eq!(header.link_bits, link & 0xfc00_0000);
    }
}

#[test]
fn fcs_length_comes_from_the_upper_bits() {
    let bytes = pcap_header(ByteOrder::Little, MICRO, (2, 4), 100, 0x2400_0001).bytes;
    let mut reader = reader(&bytes).unwrap();
    let batch = reader.next_batch().unwrap().unwrap();
    assert_eq!(batch.interfaces()[0].fcs_len, Some(4));
}

#[test]
fn records_beyond_the_snap_length_keep_all_that_they_hold() {
    let bytes = pcap_header(ByteOrder::Little, MICRO, (2, 4), 3, 1)
        .u32(1)
        .u32(0)
        .u32(5)
        .u32(9)
        .raw(b"abcde")
        .u32(2)
        .u32(0)
        .u32(2)
        .u32(2)
        .raw(b"xy")
        .bytes;
    let seen = packets(&bytes);
    assert_eq!((&seen[0].data[..], seen[0].wire_len), (&b"abcde"[..], 9));
    assert_eq!(&seen[1].data[..], b"xy");
}

#[test]
fn insane_lengths_end_the_file_with_their_offset() {
    for (linktype, limit) in [(1, 262_144), (249, 1 << 20), (231, 16 << 20)] {
        let bytes = pcap_header(ByteOrder::Little, MICRO, (2, 4), 0x7fff_ffff, linktype)
            .u32(1)
            .u32(0)
            .u32(1)
            .u32(1)
            .raw(b"a")
            .u32(2)
            .u32(0)
            .u32(limit + 1)
            .u32(9)
            .bytes;
        let (seen, error) = read_all(&bytes);
        let error = error.unwrap();
        assert_eq!(seen.len(), 1);
        assert_eq!(error.offset(), Some(24 + 17));
        assert!(
            matches!(error.kind(), ErrorKind::TooLong { limit: l, .. } if *l == u64::from(limit)),
            "{error}"
        );
    }
}

/// Cut at every byte: every whole record comes out, then an error unless the cut is between records.
#[test]
fn truncation_anywhere_loses_nothing_before_it() {
    let whole = file(ByteOrder::Big, NANO, (2, 4)).bytes;
    let all = packets(&whole);
    let ends = [24, 24 + 20, 24 + 36, 24 + 62];
    assert_eq!(whole.len(), ends[3]);
    for cut in 0..whole.len() {
        let (seen, error) = read_all(&whole[..cut]);
        let whole_records = ends.iter().filter(|&&end| end <= cut).count().saturating_sub(1);
        assert_eq!(seen, all[..whole_records], "cut at {cut}");
        if ends.contains(&cut) {
            assert!(error.is_none());
            continue;
        }
        let error = error.unwrap();
        assert!(matches!(error.kind(), ErrorKind::Truncated { .. } | ErrorKind::Empty), "{error}");
        let at = ends.iter().rev().find(|&&end| end < cut).map(|&end| end as u64);
        assert_eq!(error.offset().unwrap_or(0), at.unwrap_or(0), "cut at {cut}");
    }
}

#[test]
fn after_an_error_there_is_nothing() {
    let whole = file(ByteOrder::Little, MICRO, (2, 4)).bytes;
    let mut reader = reader(&whole[..whole.len() - 1]).unwrap();
    assert_eq!(reader.next_batch().unwrap().unwrap().len(), 2);
    assert!(reader.next_batch().is_err());
    assert!(reader.next_batch().unwrap().is_none());
}

#[test]
fn what_is_no_capture_says_so() {
    for (bytes, hint) in [
        (&b"hello world"[..], ""),
        (b"\xfd7zXZ\0...", "xz -dc"),
        (b"BZh91AY", "bzip2 -dc"),
        (b"snoop\0\0\0", "editcap"),
        (&[0xa1, 0xb2, 0x34, 0xcd, 0, 2, 0, 4], ""),
    ] {
        let (_, error) = read_all(bytes);
        let error = error.unwrap();
        assert!(matches!(error.kind(), ErrorKind::UnknownFormat { .. }));
        assert!(error.to_string().contains(hint), "{error}");
    }
    assert!(matches!(read_all(b"").1.unwrap().kind(), ErrorKind::Empty));
}

#[test]
fn a_capture_without_packets_yields_one_batch() {
    let bytes = pcap_header(ByteOrder::Little, MICRO, (2, 4), 100, 1).bytes;
    let mut reader = reader(&bytes).unwrap();
    let batch = reader.next_batch().unwrap().unwrap();
    assert!(batch.is_empty() && batch.starts_section());
    assert!(reader.next_batch().unwrap().is_none());
}

/// Enough packets, of sizes up to the largest, to slide and to grow the window many times.
#[test]
fn windows_and_batches_join_without_a_seam() {
    let mut file = pcap_header(ByteOrder::Little, MICRO, (2, 4), 262_144, 1);
    let sizes: Vec<u32> =
        (0..3000_u32).map(|i| if i % 500 == 499 { 262_144 } else { i * 7919 % 1500 }).collect();
    for (i, &size) in sizes.iter().enumerate() {
        file = file.u32(i as u32).u32(0).u32(size).u32(size).raw(&vec![i as u8; size as usize]);
    }
    let mut reader = reader(&file.bytes).unwrap();
    let mut count = 0;
    while let Some(batch) = reader.next_batch().unwrap() {
        assert!(batch.len() <= BATCH_MAX);
        for packet in batch.packets() {
            let data = batch.data(packet);
            assert_eq!(data.len(), sizes[count] as usize);
            assert!(data.iter().all(|&b| b == count as u8));
            assert_eq!(batch.timestamp_ns(packet), count as i64 * 1_000_000_000);
            assert_eq!(batch.raw(packet).len(), data.len() + 16);
            count += 1;
        }
    }
    assert_eq!(count, sizes.len());
}

#[test]
fn offsets_are_those_of_the_file() {
    let whole = file(ByteOrder::Little, MICRO, (2, 4)).bytes;
    let mut reader = reader(&whole).unwrap();
    let offsets: Vec<u64> =
        reader.next_batch().unwrap().unwrap().iter().map(|packet| packet.offset).collect();
    assert_eq!(offsets, [24, 44, 60]);
}

/// `cat a.pcap b.pcapng c.pcap` in any order and byte order is one capture after the other, with its own times and link type.
#[test]
fn joined_files_are_read_one_after_the_other() {
    let pcap = |order, magic: u32, linktype: u32, mark: u8| {
        let file = pcap_header(order, magic, (2, 4), 100, linktype);
        file.u32(1_700_000_000).u32(5).u32(1).u32(1).raw(&[mark]).bytes
    };
    let pcapng =
        |order, mark: u8| Bytes::new(order).section().interface(113, 0).enhanced(0, 5, &[mark], 1).bytes;
    let empty = |order| pcap_header(order, MICRO, (2, 4), 100, 1).bytes;
    // With the length on the wire before the other one.
    let old = |order, mark: u8| {
        let file = pcap_header(order, MICRO, (2, 2), 100, 1);
        file.u32(1_700_000_000).u32(5).u32(60).u32(1).raw(&[mark]).bytes
    };
    let seconds = 1_700_000_000_000_000_000;
    for first in ORDERS {
        for second in ORDERS {
            let pieces = [
                pcap(first, MICRO, 1, 0),
                pcap(second, NANO, 101, 1),
                empty(first),
                empty(second),
                pcapng(first, 2),
                pcap(second, MODIFIED, 1, 3)[..24].to_vec(),
                pcapng(second, 4),
                pcapng(first, 5),
                pcap(second, MICRO, 1, 6),
                old(first, 7),
                pcapng(second, 8),
                old(second, 9),
                pcap(first, MICRO, 1, 10),
            ];
            let expected = [
                (0, seconds + 5000, 1),
                (1, seconds + 5, 101),
                (2, 5000, 113),
                (4, 5000, 113),
                (5, 5000, 113),
                (6, seconds + 5000, 1),
                (7, seconds + 5000, 1),
                (8, 5000, 113),
                (9, seconds + 5000, 1),
                (10, seconds + 5000, 1),
            ];
            let joined = pieces.concat();
            let seen: Vec<_> =
                packets(&joined).iter().map(|p| (p.data[0], p.timestamp_ns, p.linktype)).collect();
            assert_eq!(seen, expected, "{first:?} {second:?}");
            let mut reader = reader(&joined).unwrap();
            let mut starts = 0;
            while let Some(batch) = reader.next_batch().unwrap() {
                starts += usize::from(batch.starts_section());
            }
            assert_eq!(starts, pieces.len());
        }
    }
}

/// Where the second header falls must not matter: at the end of a batch, or of what was read so far.
#[test]
fn files_are_joined_at_any_place() {
    for count in [0, 1, BATCH_MAX - 1, BATCH_MAX, BATCH_MAX + 1, 20_000] {
        let mut file = pcap_header(ByteOrder::Big, MICRO, (2, 4), 100, 1);
        for _ in 0..count {
            file = file.u32(1_700_000_000).u32(0).u32(0).u32(0);
        }
        let joined = [&file.bytes[..], &file.bytes].concat();
        let seen = packets(&joined);
        assert_eq!(seen.len(), 2 * count);
        assert!(
            seen.iter()
                .all(|packet| packet.data.is_empty() && packet.timestamp_ns == 1_700_000_000_000_000_000)
        );
    }
}

/// Captures that programs make begin with second 0 as often as not. Read as the length of a packet it makes sense.
#[test]
fn a_joined_file_may_be_of_the_first_days_of_1970() {
    let file = |order, first: u32, count: usize, byte: u8| {
        let mut file = pcap_header(order, MICRO, (2, 4), 262_144, 1);
        for index in 0..count as u32 {
            file = file.u32(first + index).u32(index).u32(60).u32(60).raw(&[byte; 60]);
        }
        file.bytes
    };
    for (first, second) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
        for count in [0, 1, 7, BATCH_MAX - 3, BATCH_MAX - 2, BATCH_MAX - 1, BATCH_MAX, 3000] {
            // The last two are few seconds in the other byte order.
            for time in [0_u32, 1, 2, 300, 100_000, 0x0100_0000, 0x2c01_0000] {
                for byte in [0, 0x55] {
                    let joined = [
                        file(ORDERS[first], 1_700_000_000, count, byte),
                        file(ORDERS[second], time, 5, byte),
                        file(ORDERS[first], 0, 5, byte),
                    ];
                    let joined = joined.concat();
                    let (seen, error) = read_all(&joined);
                    assert!(error.is_none(), "{first} {second} {count} {time} {byte}: {error:?}");
                    let times: Vec<i64> =
                        seen.iter().map(|packet| packet.timestamp_ns / 1_000_000_000).collect();
                    let begin =
                        |first: u32, count: usize| (0..count as i64).map(move |n| i64::from(first) + n);
                    let expected: Vec<i64> =
                        begin(1_700_000_000, count).chain(begin(time, 5)).chain(begin(0, 5)).collect();
                    assert!(times == expected, "{first} {second} {count} {time} {byte}");
                    assert!(seen.iter().all(|packet| packet.data == [byte; 60]));
                }
            }
        }
    }
}

/// A file of zeros from second 0 reads as packets without a byte, more than a batch of them.
#[test]
fn a_joined_file_may_make_sense_throughout() {
    let file = |seconds: u32, count: usize| {
        let mut file = pcap_header(ByteOrder::Little, MICRO, (2, 4), 262_144, 1);
        for _ in 0..count {
            file = file.u32(seconds).u32(0).u32(64).u32(64).raw(&[0; 64]);
        }
        file.bytes
    };
    for count in [0, 1, 100, BATCH_MAX - 20, BATCH_MAX - 1] {
        let joined = [file(1_700_000_000, count), file(0, 1000)].concat();
        let seen = packets(&joined);
        assert_eq!(seen.len(), count + 1000, "{count}");
        assert!(seen.iter().all(|packet| packet.data == [0; 64]), "{count}");
        assert!(seen[count..].iter().all(|packet| packet.timestamp_ns == 0), "{count}");
    }
}

#[test]
fn a_joined_file_that_is_wrong_is_told_with_its_place() {
    let whole = file(ByteOrder::Little, MICRO, (2, 4)).bytes;
    let header = pcap_header(ByteOrder::Big, NANO, (2, 4), 100, 1).bytes;
    let (seen, error) = read_all(&[&whole[..], &header[..20]].concat());
    let expected = format!(
        "test: byte {}: the file ends inside a file header: 24 bytes expected, 20 found",
        whole.len()
    );
    assert_eq!((seen.len(), error.unwrap().to_string()), (packets(&whole).len(), expected));
    let too_long = Bytes::new(ByteOrder::Big).u32(1_700_000_000).u32(0).u32(1 << 30).u32(1).bytes;
    let joined = [&whole[..], &header, &too_long].concat();
    assert_eq!(read_all(&joined).1.unwrap().offset(), Some(whole.len() as u64 + 24));
    // Packets without a byte, whose time or length is not that of a header.
    let empty = |second: u32, wire_len: u32| {
        let file = pcap_header(ByteOrder::Little, MICRO, (2, 4), 100, 1);
        packets(&file.u32(second).u32(0x0004_0002).u32(0).u32(wire_len).bytes).len()
    };
    assert_eq!([empty(MICRO + 1, 0), empty(MICRO, 60)], [1, 1]);
}

/// tcpdump shows such a time as it is in the file: the second, and a fraction of seven digits.
#[test]
fn fractions_of_more_than_a_second_are_carried() {
    for (magic, fraction, expected) in [
        (MICRO, 1_500_000, 8_500_000_000),
        (NANO, 1_500_000_000, 8_500_000_000),
        (MICRO, u32::MAX, 4_301_967_295_000),
    ] {
        let file = pcap_header(ByteOrder::Little, magic, (2, 4), 100, 1);
        let file = file.u32(7).u32(fraction).u32(4).u32(4).raw(b"abcd").bytes;
        assert_eq!(packets(&file)[0].timestamp_ns, expected);
        assert_eq!(copy(&[&file], |_| true).unwrap()[24..], file[24..], "a copy keeps it");
    }
}
