//! Writing: raw copies, translations, several inputs into one output.

mod common;

use std::fs;

use capture::{
    ByteOrder, Class, Compression, Encoded, Encoder, ErrorKind, Reader, SnapLength, Target, Writer,
};
use common::*;

fn pcap(order: ByteOrder, magic: u32, link: u32, packets: &[(u32, u32, &[u8])]) -> Vec<u8> {
    let mut file = pcap_header(order, magic, (2, 4), 100, link);
    for &(seconds, fraction, data) in packets {
        file = file.u32(seconds).u32(fraction).u32(data.len() as u32).u32(data.len() as u32 + 1).raw(data);
    }
    file.bytes
}

const THREE: &[(u32, u32, &[u8])] = &[(1, 10_001, b"one"), (2, 20_002, b"second"), (3, 30_003, b"3")];

#[test]
fn pcap_is_kept_byte_for_byte() {
    for order in ORDERS {
        for magic in [MICRO, NANO] {
            let file = pcap(order, magic, 0x2400_0001, THREE);
            assert_eq!(copy(&[&file], |_| true).unwrap(), file);
            let middle = pcap(order, magic, 0x2400_0001, &THREE[1..2]);
            assert_eq!(copy(&[&file], |i| i == 1).unwrap(), middle);
            let none = pcap(order, magic, 0x2400_0001, &[]);
            assert_eq!(copy(&[&file], |_| false).unwrap(), none);
        }
    }
}

/// Through a pipe, a reader has every packet as soon as the writer is flushed.
#[test]
fn compressed_output_reads_back_and_a_flush_hands_all_of_it_on() {
    let many: Vec<(u32, u32, Vec<u8>)> =
        (0..30_000_u32).map(|i| (i, 0, vec![(i >> 7) as u8; 20 + (i % 90) as usize])).collect();
    let many: Vec<(u32, u32, &[u8])> = many.iter().map(|(s, f, data)| (*s, *f, &data[..])).collect();
    let file = pcap(ByteOrder::NATIVE, MICRO, 1, &many);
    for target in [None, Some(Target::Pcapng)] {
        for compression in [Compression::Gzip, Compression::Zstd] {
            for flushes in [false, true] {
                let mut writer = Writer::new(Vec::new(), "out").compressed(Some(compression));
                target.into_iter().for_each(|target| writer.begin(target));
                let mut reader = Reader::new(std::io::Cursor::new(file.clone()), "in").unwrap();
                let mut written = 0;
                while let Some(batch) = reader.next_batch().unwrap() {
                    writer.write(&batch, 0..batch.len()).unwrap();
                    written += batch.len();
                    if flushes && written % 5_000 < batch.len() {
                        writer.flush().unwrap();
                        writer.flush().unwrap();
                        let (seen, _) = read_all(writer.sink_mut());
                        assert_eq!(seen.len(), written);
                    }
                }
                writer.complete().unwrap();
                let packed = std::mem::take(writer.sink_mut());
                let (seen, error) = read_all(&packed);
                assert!(error.is_none(), "{error:?}");
                assert!(packed.len() < file.len() * 3 / 4, "{} {compression:?}", packed.len());
                assert_eq!(seen.len(), many.len());
                assert!(seen.iter().zip(&many).all(|(seen, wanted)| seen.data == wanted.2));
            }
        }
    }
}

#[test]
fn what_is_written_through_is_there_at_once() {
    let order = ByteOrder::NATIVE;
    let target = Target::Pcap {
        order,
        precision: capture::Precision::Micro,
        snaplen: 100,
        linktype: wire::LinkType::EN10MB,
        link_bits: 0,
    };
    let record = |byte: u8| {
        let mut record = Vec::new();
        capture::layout::put_record(order, (1, 2), 60, &[byte; 60], &mut record);
        record
    };
    for compression in [None, Some(Compression::Gzip), Some(Compression::Zstd)] {
        let mut writer = Writer::new(Vec::new(), "out").compressed(compression);
        writer.begin(target);
        writer.write_encoded(&record(1), Encoded::default()).unwrap();
        assert!(writer.sink_mut().is_empty(), "{compression:?}: it waits");
        for byte in 2..5 {
            writer.write_through(&record(byte), Encoded::default()).unwrap();
            let (seen, _) = read_all(writer.sink_mut());
            let expected: Vec<Vec<u8>> = (1..=byte).map(|byte| vec![byte; 60]).collect();
            assert!(seen.iter().map(|packet| &packet.data).eq(&expected), "{compression:?}");
        }
    }
}

#[test]
fn old_and_odd_pcap_becomes_plain() {
    let order = ByteOrder::Big;
    let plain = pcap(order, MICRO, 113, THREE);
    for (magic, version) in [(MICRO, (2, 2)), (MICRO, (2, 3)), (MICRO, (543, 0)), (MODIFIED, (2, 4))] {
        let mut odd = pcap_header(order, magic, version, 100, 113);
        for &(seconds, fraction, data) in THREE {
            let (captured, wire) = (data.len() as u32, data.len() as u32 + 1);
            let (first, second) = if magic == MODIFIED { (captured, wire) } else { (wire, captured) };
            odd = odd.u32(seconds).u32(fraction).u32(first).u32(second);
            if magic == MODIFIED {
                odd = odd.raw(&[9; 8]);
            }
            odd = odd.raw(data);
        }
        assert_eq!(copy(&[&odd.bytes], |_| true).unwrap(), plain, "{magic:x} {version:?}");
    }
}

#[test]
fn later_inputs_take_the_first_ones_form() {
    let first = pcap(ByteOrder::Little, NANO, 1, &[(1, 5, b"x")]);
    let second = pcap(ByteOrder::Big, MICRO, 1, &[(2, 7, b"y")]);
    let expected = pcap(ByteOrder::Little, NANO, 1, &[(1, 5, b"x"), (2, 7000, b"y")]);
    assert_eq!(copy(&[&first, &second], |_| true).unwrap(), expected);
    let expected = pcap(ByteOrder::Big, MICRO, 1, &[(2, 7, b"y"), (1, 0, b"x")]);
    assert_eq!(copy(&[&second, &first], |_| true).unwrap(), expected);
}

#[test]
fn pcapng_joins_a_pcap_file_where_the_linktype_agrees() {
    let first = pcap(ByteOrder::Little, MICRO, 1, &[(1, 5, b"x")]);
    let ng = |linktype| {
        Bytes::new(ByteOrder::Big).section().interface(linktype, 0).enhanced(0, 2_000_007, b"y", 2).bytes
    };
    let expected = pcap(ByteOrder::Little, MICRO, 1, &[(1, 5, b"x"), (2, 7, b"y")]);
    assert_eq!(copy(&[&first, &ng(1)], |_| true).unwrap(), expected);
    let error = copy(&[&first, &ng(101)], |_| true).unwrap_err();
    assert!(error.to_string().contains("RAW") && error.to_string().contains("EN10MB"), "{error}");
}

#[test]
fn two_linktypes_in_one_pcap_are_refused_by_name() {
    let first = pcap(ByteOrder::Little, MICRO, 1, THREE);
    let second = pcap(ByteOrder::Little, MICRO, 113, THREE);
    let error = copy(&[&first, &second], |_| true).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::MixedLinkTypes { .. }));
    assert!(error.to_string().contains("EN10MB") && error.to_string().contains("LINUX_SLL"), "{error}");
    // By the name of the input that does not fit.
    assert_eq!(error.input(), Some("test"));
}

/// A pcap file has more bits for the link type than pcapng: 65536 above Ethernet is not Ethernet.
#[test]
fn a_linktype_that_pcapng_has_no_room_for_is_refused() {
    let high = pcap(ByteOrder::Little, MICRO, 0x1_0001, THREE);
    assert_eq!(copy(&[&high], |_| true).unwrap(), high);
    let ng = Bytes::new(ByteOrder::Big).section().interface(1, 0).enhanced(0, 7, b"y", 2).bytes;
    let error = copy(&[&ng, &high], |_| true).unwrap_err();
    assert_eq!((error.class(), error.input()), (Class::Request, Some("test")));
    let text = "test: link type 65537 does not fit pcapng, which goes up to 65535: write to a pcap file";
    assert_eq!(error.to_string(), text);
    assert_eq!(copy(&[&ng, &high], |i| i == 0).unwrap(), copy(&[&ng], |_| true).unwrap());
}

/// Whatever its header says: readers of pcap take such a length for damage.
#[test]
fn a_packet_of_pcapng_may_be_too_long_for_any_pcap() {
    for (linktype, most) in [(1, 256 << 10), (249, 1 << 20), (231, 8 << 20)] {
        let first = pcap_header(ByteOrder::Little, MICRO, (2, 4), i32::MAX as u32, linktype.into()).bytes;
        let of_length = |len: u32| {
            let file = Bytes::new(ByteOrder::Little).section().interface(linktype, 0);
            copy(&[&first, &file.enhanced(0, 5, &vec![7; len as usize], len).bytes], |_| true)
        };
        assert_eq!(packets(&of_length(most).unwrap())[0].data.len(), most as usize);
        if linktype != 231 {
            let error = of_length(most + 1).unwrap_err();
            assert!(
                matches!(error.kind(), ErrorKind::TooLongForPcap { limit, .. } if *limit == most),
                "{error}"
            );
        }
    }
}

#[test]
fn what_is_not_written_need_not_fit() {
    let first = pcap(ByteOrder::Little, MICRO, 1, THREE);
    let empty = pcap(ByteOrder::Little, MICRO, 113, &[]);
    let other = pcap(ByteOrder::Little, MICRO, 0x2400_0071, THREE);
    let blocks = Bytes::new(ByteOrder::Big).section().interface(113, 0).interface(1, 0);
    let later = Bytes::new(ByteOrder::Big).section().interface(113, 0).interface(1, 0);
    let later = later.enhanced(1, 4_000_000, b"4", 2).enhanced(0, 0, b"other", 5);
    let inputs = [&first[..], &empty, &blocks.bytes, &other, &later.bytes];
    let expected = pcap(ByteOrder::Little, MICRO, 1, &[THREE, &[(4, 0, b"4")]].concat());
    assert_eq!(copy(&inputs, |i| i < 3 || i == 6).unwrap(), expected);
}

#[test]
fn two_lengths_of_check_sequences_in_one_pcap_are_refused() {
    let (none, zero, two, four) = (1, 0x0400_0001, 0x1400_0001, 0x2400_0001);
    let file = |link| pcap(ByteOrder::Little, MICRO, link, THREE);
    let ng = |fcs| {
        let interface = |b: Bytes| b.u16(1).u16(0).u32(100).option(13, &[fcs]).u32(0);
        Bytes::new(ByteOrder::Big).section().block(INTERFACE, interface).enhanced(0, 5, b"x", 1).bytes
    };
    for (first, second) in [(none, zero), (zero, none), (two, two)] {
        assert_eq!(packets(&copy(&[&file(first), &file(second)], |_| true).unwrap()).len(), 6);
    }
    assert_eq!(packets(&copy(&[&file(four), &ng(4)], |_| true).unwrap()).len(), 4);
    for (first, second, expected) in [
        (none, file(four), (0, 4)),
        (four, file(none), (4, 0)),
        (four, file(two), (4, 2)),
        (none, ng(4), (0, 4)),
    ] {
        let error = copy(&[&file(first), &second], |_| true).unwrap_err();
        let &ErrorKind::MixedFcsLengths { first, second: other } = error.kind() else { panic!("{error}") };
        assert_eq!(((first, other), error.class()), (expected, capture::Class::Request));
        // None of them is written.
        assert!(copy(&[&file(four), &second], |i| i < 3).is_ok());
    }
}

/// A pcap file of one packet of so many bytes whose header states this snap length.
fn one_of_length(order: ByteOrder, snaplen: u32, len: u32) -> Vec<u8> {
    let data = vec![7; len as usize];
    pcap_header(order, MICRO, (2, 4), snaplen, 1).u32(1).u32(0).u32(len).u32(len + 9).raw(&data).bytes
}

/// Copies into a file that may only be appended to, or any, and returns it with what is told of its snap length.
fn copied_to_file(inputs: &[&[u8]], is_appended: bool) -> (Vec<u8>, Option<SnapLength>) {
    let place = format!("sluss-snap-{}-{:?}", std::process::id(), std::thread::current().id());
    let path = std::env::temp_dir().join(place);
    let mut options = fs::File::options();
    let file = if is_appended { options.append(true) } else { options.write(true) };
    let file = file.create(true).open(&path).unwrap();
    let mut writer = Writer::new(file, "out").with_file(|file| Some(file));
    for input in inputs {
        let mut reader = reader(input).unwrap();
        while let Some(batch) = reader.next_batch().unwrap() {
            writer.write(&batch, 0..batch.len()).unwrap();
        }
    }
    writer.complete().unwrap();
    let bytes = fs::read(&path).unwrap();
    fs::remove_file(path).unwrap();
    (bytes, writer.exceeded_snaplen())
}

#[test]
fn a_packet_beyond_the_snap_length_raises_that_of_the_file() {
    let first = pcap(ByteOrder::Little, MICRO, 1, THREE);
    let blocks = |len: u32| {
        let file = Bytes::new(ByteOrder::Big).section().interface(1, 0);
        file.enhanced(0, 5, &vec![7; len as usize], len).bytes
    };
    for (second, longest) in [
        // Copied as it is, translated, and out of blocks; the header of the first says 100.
        (one_of_length(ByteOrder::Little, 50, 101), 101),
        (one_of_length(ByteOrder::Big, 50, 1000), 1000),
        (one_of_length(ByteOrder::Little, 65_535, 70_000), 70_000),
        (blocks(262_144), 262_144),
    ] {
        let all = copy(&[&first, &second], |_| true).unwrap();
        assert_eq!(packets(&all)[3].data.len(), longest as usize);
        assert_eq!(&all[16..20], &100_u32.to_le_bytes(), "a stream is not changed any more");
        for is_appended in [false, true] {
            let (file, told) = copied_to_file(&[&first, &second], is_appended);
            let is_raised = !is_appended;
            assert_eq!(told, Some(SnapLength { stated: 100, longest, is_raised }));
            let mut expected = all.clone();
            if is_raised {
                expected[16..20].copy_from_slice(&longest.to_le_bytes());
            }
            assert!(file == expected);
        }
    }
    // It is left as it is where it suffices, also in big endian.
    assert_eq!(copied_to_file(&[&first, &one_of_length(ByteOrder::Little, 50, 100)], false).1, None);
    let big = one_of_length(ByteOrder::Big, 5, 6);
    assert_eq!(copied_to_file(&[&big], false).0[16..20], [0, 0, 0, 6]);
}

/// Readers refuse a packet that is longer than its interface says.
#[test]
fn an_interface_whose_packets_exceed_its_snap_length_has_no_limit() {
    let first = zoo(ByteOrder::Little).bytes;
    for (len, snaplen) in [(50, 50), (51, 0)] {
        let both = copy(&[&first, &one_of_length(ByteOrder::Little, 50, len)], |_| true).unwrap();
        assert_eq!(packets(&both).last().unwrap().data.len(), len as usize);
        let mut reader = reader(&both[first.len()..]).unwrap();
        assert_eq!(reader.next_batch().unwrap().unwrap().interfaces()[0].snaplen, snaplen);
    }
}

/// The times of pcap begin in 1970 and end in 2106.
#[test]
fn times_that_pcap_cannot_hold_are_the_nearest_and_counted() {
    const END_S: u64 = 1 << 32;
    let file = |ticks: u64, offset_s: i64| {
        let options = |b: Bytes| b.option(14, &offset_s.to_be_bytes()).u32(0);
        let file = Bytes::new(ByteOrder::Big).section();
        let file = file.block(INTERFACE, |b| options(b.u16(1).u16(0).u32(100)));
        file.enhanced(0, ticks, b"x", 1).enhanced(0, 1_000_000, b"y", 1).bytes
    };
    for (magic, digits, last) in [(MICRO, 6, 999_999), (NANO, 9, 999_999_999)] {
        let first = pcap(ByteOrder::Little, magic, 1, THREE);
        for (ticks, offset_s, expected, changed) in [
            (END_S * 1_000_000 - 1, 0, (u32::MAX, 10_u32.pow(digits - 6) * 999_999), 0),
            (END_S * 1_000_000, 0, (u32::MAX, last), 1),
            (7_258_118_400_000_000, 0, (u32::MAX, last), 1),
            (u64::MAX, 0, (u32::MAX, last), 1),
            (0, -2, (0, 0), 2),
            (999_999, -1, (0, 0), 1),
            (1_000_000, -1, (0, 0), 0),
        ] {
            let mut out = Vec::new();
            let mut writer = Writer::new(&mut out, "out");
            for input in [&first, &file(ticks, offset_s)] {
                let mut reader = reader(input).unwrap();
                while let Some(batch) = reader.next_batch().unwrap() {
                    writer.write(&batch, 0..batch.len()).unwrap();
                }
            }
            assert_eq!(writer.encoded().changed_times, changed, "{ticks} {offset_s}");
            writer.finish().unwrap();
            let record = &out[first.len()..];
            let number = |at: usize| u32::from_le_bytes(record[at..at + 4].try_into().unwrap());
            assert_eq!((number(0), number(4)), expected, "{ticks} {offset_s}");
        }
    }
}

/// Everything a pcapng file may hold, in one order.
fn zoo(order: ByteOrder) -> Bytes {
    Bytes::new(order)
        .block(SECTION, |b| {
            b.u32(0x1a2b_3c4d).u16(1).u16(0).raw(&[0xff; 8]).option(4, b"some program").u32(0)
        })
        .block(INTERFACE, |b| b.u16(1).u16(0).u32(96).option(2, b"eth0").option(9, &[9]).u32(0))
        .block(NAMES, |b| b.u16(1).u16(7).raw(&[10, 0, 0, 1, b'h', b'i', 0, 0]).u32(0))
        .block(ENHANCED, |b| {
            b.u32(0).u32(1).u32(2).u32(3).u32(9).raw(b"abc\0").option(1, b"a comment").u32(0)
        })
        .block(SECRETS, |b| b.u32(0x544c_534b).u32(4).raw(b"keys"))
        .interface(101, 0)
        .enhanced(1, 5, b"E", 1)
        .block(CUSTOM, |b| b.u32(4242).raw(b"payload!"))
        .block(SIMPLE, |b| b.u32(6).raw(b"simple"))
        .block(STATISTICS, |b| b.u32(0).u32(0).u32(0))
        .block(0x7777, |b| b.raw(b"unheard of"))
}

#[test]
fn pcapng_is_kept_byte_for_byte() {
    for order in ORDERS {
        let file = zoo(order).bytes;
        assert_eq!(copy(&[&file], |_| true).unwrap(), file);
        let twice = copy(&[&file, &zoo(ByteOrder::Big).bytes], |_| true).unwrap();
        assert_eq!(twice, [file, zoo(ByteOrder::Big).bytes].concat());
    }
}

#[test]
fn unselected_packets_leave_everything_else() {
    let file = zoo(ByteOrder::Little).bytes;
    let without = copy(&[&file], |i| i == 1).unwrap();
    assert_eq!(packets(&without), packets(&file)[1..2]);
    assert_eq!(file.len() - without.len(), (12 + 20 + 4 + 16 + 4) + (12 + 4 + 8));
}

#[test]
fn a_stated_section_length_is_forgotten() {
    let stated = |length: &[u8]| {
        Bytes::new(ByteOrder::Little)
            .block(SECTION, |b| b.u32(0x1a2b_3c4d).u16(1).u16(0).raw(length))
            .interface(1, 0)
            .enhanced(0, 5, b"E", 1)
            .bytes
    };
    assert_eq!(copy(&[&stated(&[60, 0, 0, 0, 0, 0, 0, 0])], |_| true).unwrap(), stated(&[0xff; 8]));
}

#[test]
fn custom_blocks_that_must_not_be_copied_are_not() {
    let with = |custom: bool| {
        let file = Bytes::new(ByteOrder::Little).section().interface(1, 0);
        let file = if custom { file.block(CUSTOM_NO_COPY, |b| b.u32(1).raw(b"mine")) } else { file };
        file.enhanced(0, 5, b"E", 1).bytes
    };
    assert_eq!(copy(&[&with(true)], |_| true).unwrap(), with(false));
}

/// Whatever block they are in, and whatever stands around them.
#[test]
fn custom_options_that_must_not_be_copied_are_not() {
    let options = |b: Bytes, custom: bool| {
        let b = b.option(1, b"a comment").option(2988, b"\0\0\0\x01mine");
        if !custom {
            return b.option(2989, b"\0\0\0\x01yours").u32(0);
        }
        let b = b.option(19372, b"\0\0\0\x01secret").option(2989, b"\0\0\0\x01yours");
        b.option(19373, b"\0\0\0\x01s").u32(0)
    };
    for order in ORDERS {
        let file = |custom: bool| {
            Bytes::new(order)
                .block(SECTION, |b| options(b.u32(0x1a2b_3c4d).u16(1).u16(0).raw(&[0xff; 8]), custom))
                .block(INTERFACE, |b| options(b.u16(1).u16(0).u32(0), custom))
                .block(NAMES, |b| {
                    options(b.u16(1).u16(7).raw(&[10, 0, 0, 1, b'h', b'i', 0, 0]).u32(0), custom)
                })
                .block(ENHANCED, |b| options(b.u32(0).u32(1).u32(2).u32(3).u32(9).raw(b"abc\0"), custom))
                .block(OLD, |b| options(b.u16(0).u16(0).u32(1).u32(2).u32(4).u32(9).raw(b"abcd"), custom))
                .block(SECRETS, |b| options(b.u32(0x544c_534b).u32(5).raw(b"keys!\0\0\0"), custom))
                .block(STATISTICS, |b| options(b.u32(0).u32(0).u32(0), custom))
                .block(ENHANCED, |b| b.u32(0).u32(1).u32(2).u32(3).u32(9).raw(b"abc"))
                .bytes
        };
        assert_eq!(copy(&[&file(true)], |_| true).unwrap(), file(false));
        assert_eq!(copy(&[&file(false)], |_| true).unwrap(), file(false));
    }
}

/// What is written of it is as odd as what was read, and as long.
#[test]
fn odd_blocks_are_copied_as_they_are() {
    let order = ByteOrder::Little;
    for odd in [
        Bytes::new(order).block(SECRETS, |b| b.u32(1)),
        Bytes::new(order).block(SECRETS, |b| b.u32(1).u32(u32::MAX)),
        Bytes::new(order).block(NAMES, |b| b.u16(1).u16(u16::MAX).u32(19372)),
        Bytes::new(order).block(NAMES, |b| b),
        Bytes::new(order).block(STATISTICS, |b| b),
        Bytes::new(order).block(STATISTICS, |b| b.u32(0).u32(0).u32(0).u16(19372).u16(9).u32(0)),
        Bytes::new(order).block(SIMPLE, |b| b.u32(1).raw(b"s\0\0\0").option(19372, b"none").u32(0)),
    ] {
        let file = Bytes::new(order).section().interface(1, 0).raw(&odd.bytes).enhanced(0, 5, b"E", 1).bytes;
        assert_eq!(copy(&[&file], |_| true).unwrap(), file);
    }
}

#[test]
fn pcap_joins_pcapng_as_a_section() {
    let first = zoo(ByteOrder::Little).bytes;
    for (magic, seconds_ns) in [(MICRO, 1000), (NANO, 1)] {
        let second = pcap(ByteOrder::Big, magic, 0x2400_0071, THREE);
        let both = copy(&[&first, &second], |_| true).unwrap();
        let (mut expected, added) = (packets(&first), packets(&second));
        assert_eq!(added[0].timestamp_ns, 1_000_000_000 + 10_001 * seconds_ns);
        expected.extend(added);
        assert_eq!(packets(&both), expected);
        // And the section is itself sound enough to be copied unchanged.
        assert_eq!(copy(&[&both], |_| true).unwrap(), both);
        let mut reader = reader(&both[first.len()..]).unwrap();
        let batch = reader.next_batch().unwrap().unwrap();
        assert_eq!((batch.interfaces()[0].snaplen, batch.interfaces()[0].fcs_len), (100, Some(4)));
    }
}

/// As where a signal comes before anything is read.
#[test]
fn a_file_that_nothing_was_put_into_is_a_capture() {
    let empty = pcap(ByteOrder::NATIVE, MICRO, 1, &[]);
    let like_pcap = Target::like(Reader::new(std::io::Cursor::new(empty), "").unwrap().format());
    for (target, len) in [(Target::Pcapng, 28), (like_pcap, 24)] {
        let mut out = Vec::new();
        let mut writer = Writer::new(&mut out, "out");
        writer.begin(target);
        writer.finish().unwrap();
        assert_eq!(out.len(), len);
        let mut reader = Reader::new(std::io::Cursor::new(out), "out").unwrap();
        assert!(reader.next_packet().unwrap().is_none());
    }
}

#[test]
fn large_outputs_are_whole() {
    let data = [9; 90];
    let many: Vec<_> = (0..20_000).map(|i| (i, 0, &data[..])).collect();
    let file = pcap(ByteOrder::Little, MICRO, 1, &many);
    assert_eq!(copy(&[&file], |_| true).unwrap(), file);
    let odd: Vec<_> = many.iter().copied().filter(|(i, _, _)| i % 2 == 1).collect();
    assert_eq!(copy(&[&file], |i| i % 2 == 1).unwrap(), pcap(ByteOrder::Little, MICRO, 1, &odd));
}

/// What workers do: encode apart, write in order.
#[test]
fn encoded_apart_equals_written_at_once() {
    let files = [pcap(ByteOrder::Little, MICRO, 1, THREE), pcap(ByteOrder::Big, NANO, 1, THREE)];
    let target = Target::like(reader(&files[0]).unwrap().format());
    let mut out = Vec::new();
    let mut writer = Writer::new(&mut out, "out");
    writer.begin(target);
    let encoder = Encoder::new(target);
    for file in &files {
        let mut reader = reader(file).unwrap();
        let mut records = Vec::new();
        let mut encoded = Encoded::default();
        while let Some(batch) = reader.next_batch().unwrap() {
            encoded += encoder.encode(&batch, 0..batch.len(), &mut records).unwrap();
        }
        writer.write_encoded(&records, encoded).unwrap();
    }
    writer.finish().unwrap();
    assert_eq!(out, copy(&[&files[0], &files[1]], |_| true).unwrap());
}

/// Takes at most so many bytes a call, and notes where in the output each call ended.
struct Blocks {
    most: usize,
    out: Vec<u8>,
    ends: Vec<usize>,
}

impl std::io::Write for Blocks {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.write_vectored(&[std::io::IoSlice::new(bytes)])
    }

    fn write_vectored(&mut self, slices: &[std::io::IoSlice<'_>]) -> std::io::Result<usize> {
        let before = self.out.len();
        let bytes = slices.iter().flat_map(|slice| slice.iter());
        self.out.extend(bytes.take(self.most));
        self.ends.push(self.out.len());
        Ok(self.out.len() - before)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[test]
fn writes_end_at_multiples_of_a_block_whatever_comes() {
    const BLOCK: usize = 256 << 10;
    let records: Vec<u8> = (0..9 * BLOCK).map(|i| (i / 7) as u8).collect();
    for most in [usize::MAX, 100_000] {
        let mut sink = Blocks { most, out: Vec::new(), ends: Vec::new() };
        let mut writer = Writer::new(&mut sink, "out");
        let mut left = &records[..];
        for len in [1, BLOCK - 1, BLOCK, BLOCK + 1, 5, 3 * BLOCK - 7, 90_000, 200_000] {
            writer.write_encoded(&left[..len], Encoded::default()).unwrap();
            left = &left[len..];
        }
        writer.finish().unwrap();
        assert_eq!(sink.out, records[..records.len() - left.len()]);
        if most == usize::MAX {
            let (_, whole) = sink.ends.split_last().unwrap();
            assert!(whole.iter().all(|end| end % BLOCK == 0), "{whole:?}");
            assert_eq!(whole.len(), 6);
        }
    }
}

#[test]
fn a_failing_sink_is_reported_with_its_name() {
    struct Full;
    impl std::io::Write for Full {
        fn write(&mut self, _: &[u8]) -> std::io::Result<usize> {
            Err(std::io::ErrorKind::BrokenPipe.into())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let mut writer = Writer::new(Full, "the pipe");
    writer.begin(Target::Pcapng);
    writer.write_encoded(b"1234", Encoded::default()).unwrap();
    let error = writer.finish().unwrap_err();
    assert!(error.is_broken_pipe());
    assert!(error.to_string().starts_with("the pipe: "), "{error}");
}

/// What followed half a record could not be read.
#[test]
fn nothing_is_written_after_a_failure() {
    /// Takes some bytes, then fails once.
    struct FullOnce(Vec<u8>, usize);
    impl std::io::Write for &mut FullOnce {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            if self.0.len() == self.1 {
                self.1 = usize::MAX;
                return Err(std::io::ErrorKind::StorageFull.into());
            }
            let taken = bytes.len().min(self.1 - self.0.len());
            self.0.extend(&bytes[..taken]);
            Ok(taken)
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let file = pcap(ByteOrder::Little, MICRO, 1, THREE);
    for room in 0..file.len() {
        let mut sink = FullOnce(vec![], room);
        let mut reader = reader(&file).unwrap();
        let mut writer = Writer::new(&mut sink, "the disk");
        let batch = reader.next_batch().unwrap().unwrap();
        let all = 0..batch.packets().len();
        writer.write(&batch, all.clone()).unwrap();
        let error = writer.flush().unwrap_err();
        assert!(!error.is_broken_pipe());
        let torn = format!("; {room} bytes were written, and the last packet may be torn");
        let written = if room > 0 { &torn } else { "; nothing was written" };
        assert!(error.to_string().ends_with(written), "{error}");
        let error = writer.write(&batch, all).unwrap_err().to_string();
        assert!(error.starts_with("the disk: ") && error.ends_with("an earlier write failed"), "{error}");
        writer.write_encoded(&[7; 600 << 10], Encoded::default()).unwrap_err();
        writer.finish().unwrap_err();
        assert_eq!(sink.0, file[..room]);
    }
}

#[test]
fn files_are_created_and_refused() {
    let folder = std::env::temp_dir().join(format!("sluss-writing-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let path = folder.join("out.pcap");
    let file = pcap(ByteOrder::Little, MICRO, 1, THREE);
    let mut reader = reader(&file).unwrap();
    let mut writer = Writer::create(&path).unwrap();
    while let Some(batch) = reader.next_batch().unwrap() {
        writer.write(&batch, 0..batch.len()).unwrap();
    }
    writer.finish().unwrap();
    assert_eq!(fs::read(&path).unwrap(), file);
    let reader = Reader::open(&path).unwrap();
    assert_eq!(reader.input_len(), Some(file.len() as u64));
    assert!(Writer::create(folder.join("no/such/folder.pcap")).is_err());
    fs::remove_dir_all(&folder).unwrap();
}
