//! Merging into one section of pcapng: interfaces, options and byte orders of several inputs.

mod common;

use capture::{ByteOrder, Encoder, MergingEncoder, Reader, Target, Writer};
use common::*;

/// A section whose interface has a name and an offset of its times, and whose packets have flags, a comment and an option that is not known.
fn section(order: ByteOrder, name: &[u8], packets: &[&[u8]]) -> Vec<u8> {
    let mut file = Bytes::new(order).section().block(INTERFACE, |b| {
        b.u16(1).u16(0).u32(0).option(2, name).option(9, &[9]).option(14, &[0; 8]).option(0, &[])
    });
    for (i, data) in packets.iter().enumerate() {
        file = file.block(ENHANCED, |b| {
            let b =
                b.u32(0).u32(0).u32(1000 * i as u32 + 7).u32(data.len() as u32).u32(data.len() as u32 + 1);
            let flags = if order == ByteOrder::Little { [1, 0, 0, 0] } else { [0, 0, 0, 1] };
            let padded = [data, &[0; 3][..data.len().next_multiple_of(4) - data.len()]].concat();
            b.raw(&padded).option(1, b"seen").option(2, &flags).option(30_000, b"what?").option(0, &[])
        });
    }
    file.bytes
}

fn merge(inputs: &[&[u8]], order: ByteOrder, turns: &[usize]) -> Vec<u8> {
    let mut readers: Vec<Reader> = inputs.iter().map(|bytes| reader(bytes).unwrap()).collect();
    let mut encoder = MergingEncoder::new(Encoder::new(Target::Pcapng), order);
    let mut writer = Writer::new(Vec::new(), "out");
    writer.begin(Target::Pcapng);
    let mut taken = vec![0; inputs.len()];
    let mut out = Vec::new();
    for (i, reader) in readers.iter_mut().enumerate() {
        let batch = reader.next_batch().unwrap().unwrap();
        encoder.look(i, &batch, &mut out);
    }
    for &i in turns {
        encoder.encode(i, &readers[i].batch(), [taken[i]], &mut out).unwrap();
        taken[i] += 1;
    }
    writer.write_encoded(&out, capture::Encoded::default()).unwrap();
    writer.complete().unwrap();
    std::mem::take(writer.sink_mut())
}

#[test]
fn packets_of_several_sections_become_one() {
    for to in ORDERS {
        for (first, second) in [(ORDERS[0], ORDERS[1]), (ORDERS[1], ORDERS[0]), (ORDERS[0], ORDERS[0])] {
            let a = section(first, b"eth0", &[b"one", b"three"]);
            let b = section(second, b"eth1", &[b"two", b"four!"]);
            let c = section(second, b"eth0", &[b"five"]);
            let merged = merge(&[&a, &b, &c], to, &[0, 1, 0, 1, 2]);
            let seen = packets(&merged);
            let expected: [(&[u8], i64, u32); 5] =
                [(b"one", 7, 0), (b"two", 7, 1), (b"three", 1007, 0), (b"four!", 1007, 1), (b"five", 7, 0)];
            assert_eq!(seen.len(), expected.len());
            for (seen, (data, time, interface)) in seen.iter().zip(expected) {
                assert_eq!((&seen.data[..], seen.timestamp_ns, seen.interface), (data, time, interface));
                assert_eq!(seen.wire_len as usize, data.len() + 1);
            }
            // The flags are read in the order of the section; interfaces keep their names.
            let mut reader = reader(&merged).unwrap();
            let mut names = Vec::new();
            while let Some(batch) = reader.next_batch().unwrap() {
                names.extend(batch.interface_names().map(|name| name.unwrap().into_owned()));
                for packet in batch.packets() {
                    assert_eq!(batch.direction(packet), Some(wire::link::Direction::In));
                }
            }
            assert_eq!(names, ["eth0", "eth1"]);
            let has_unknown = |bytes: &[u8]| bytes.windows(5).filter(|bytes| *bytes == b"what?").count();
            let same = [first, second, first, second, second].iter().filter(|order| **order == to).count();
            assert_eq!(has_unknown(&merged), same);
            assert_eq!(merged.windows(4).filter(|bytes| *bytes == b"seen").count(), 5);
        }
    }
}

#[test]
fn pcap_and_pcapng_go_together() {
    let order = ByteOrder::NATIVE;
    let pcap = pcap_header(order, MICRO, (2, 4), 2, 101).u32(1).u32(2).u32(3).u32(3).raw(b"raw").bytes;
    let merged = merge(&[&section(order, b"x", &[b"one"]), &pcap], order, &[1, 0]);
    let seen = packets(&merged);
    assert_eq!(
        (seen[0].linktype, seen[0].timestamp_ns, &seen[0].data[..]),
        (101, 1_000_002_000, &b"raw"[..])
    );
    assert_eq!((seen[1].linktype, seen[1].interface), (1, 1));
}
