//! Segments in any order.

use super::Stream;
use crate::Message;
use crate::tier1::STREAM_MAX;
use crate::tier1::pieces::APART_MAX;

fn add(stream: &mut Stream, sequence: u32, start: Option<u32>, payload: &[u8]) -> bool {
    let (forward, ipv6, source_port, destination_port) = (true, false, 1, 2);
    stream
        .add(&Message {
            transport: 6,
            ipv6,
            forward,
            source_port,
            destination_port,
            sequence,
            start,
            payload,
            cut: false,
        })
        .is_ok()
}

#[test]
fn three_segments_in_any_order_are_one_stream() {
    let segments: [(u32, &[u8]); 3] = [(0, b"GET "), (4, b"/ HT"), (8, b"TP/1.1")];
    for order in [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
        for start in [Some(u32::MAX - 2), None] {
            let mut stream = Stream::default();
            for (offset, bytes) in order.map(|which| segments[which]) {
                assert!(add(&mut stream, (u32::MAX - 2).wrapping_add(offset), start, bytes));
            }
            assert_eq!(stream.prefix(), b"GET / HTTP/1.1", "{order:?} {start:?}");
            assert!(!stream.has_hole());
        }
    }
}

#[test]
fn what_came_first_stands() {
    let mut stream = Stream::default();
    add(&mut stream, 104, Some(100), b"efgh");
    add(&mut stream, 99, Some(100), b"-abXXXXXXij");
    assert_eq!(stream.prefix(), b"abXXefghij");
    add(&mut stream, 100, Some(100), b"##########k");
    assert_eq!(stream.prefix(), b"abXXefghijk");
    // A keep-alive.
    add(&mut stream, 99, Some(100), b"\0");
    assert_eq!(stream.prefix(), b"abXXefghijk");
}

#[test]
fn memory_is_bounded() {
    let mut stream = Stream::default();
    for k in 0..40 {
        add(&mut stream, k * 1460, Some(0), &[7; 1460]);
    }
    assert_eq!(stream.prefix().len(), STREAM_MAX);
    assert!(stream.capacity() < 3 * STREAM_MAX);
    let mut stream = Stream::default();
    let kept = (0..40).take_while(|k| add(&mut stream, 2 * k, Some(0), b"x")).count();
    assert_eq!(kept, APART_MAX);
    let mut stream = Stream::default();
    add(&mut stream, 50_000, None, b"x");
    add(&mut stream, 10, None, b"early");
    assert_eq!(stream.prefix(), b"early");
}
