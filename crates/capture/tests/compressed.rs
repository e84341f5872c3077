//! gzip and zstd: members and frames, damage, hostile sizes.

mod common;

use std::io::{Read, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use capture::{ByteOrder, Compression, ErrorKind, Input, Reader};
use common::*;
use flate2::write::GzEncoder;

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn zstd(bytes: &[u8]) -> Vec<u8> {
    zstd::encode_all(bytes, 1).unwrap()
}

/// A capture of a few thousand packets that do not compress to nothing.
fn plain() -> Vec<u8> {
    let mut file = pcap_header(ByteOrder::Little, MICRO, (2, 4), 1500, 1);
    let mut state = 1_u32;
    for i in 0..5000_u32 {
        let len = i * 31 % 200;
        file = file.u32(i).u32(0).u32(len).u32(len);
        for _ in 0..len {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            file.bytes.push((state >> 27) as u8);
        }
    }
    file.bytes
}

#[test]
fn both_read_like_the_plain_file() {
    let plain = plain();
    let expected = packets(&plain);
    for (compress, compression) in
        [(gzip as fn(&[u8]) -> Vec<u8>, Compression::Gzip), (zstd, Compression::Zstd)]
    {
        let one = compress(&plain);
        assert_eq!(packets(&one), expected);
        assert_eq!(reader(&one).unwrap().compression(), Some(compression));
        // Members and frames follow each other without regard to records.
        let many: Vec<u8> = plain.chunks(70_001).flat_map(compress).collect();
        assert_eq!(packets(&many), expected);
    }
}

/// A frame without a checksum has nothing left to decode behind the last byte, which may be the one that fills the window: that takes
/// 132 KiB, and most often 128 KiB a time from there on.
#[test]
fn a_zstd_frame_may_end_where_the_window_is_full() {
    for full in [128, 132, 260, 264, 388, 396] {
        for len in (full << 10) - 2..=(full << 10) + 2 {
            let mut file = pcap_header(ByteOrder::Little, MICRO, (2, 4), 1500, 1);
            while file.bytes.len() < len {
                let left = len - file.bytes.len() - 16;
                let captured = if left <= 300 { left } else { 100 };
                let size = captured as u32;
                file = file.u32(0).u32(0).u32(size).u32(size).raw(&vec![7; captured]);
            }
            assert_eq!(file.bytes.len(), len);
            let expected = packets(&file.bytes);
            for has_checksum in [false, true] {
                let mut encoder = zstd::Encoder::new(Vec::new(), 1).unwrap();
                encoder.include_checksum(has_checksum).unwrap();
                encoder.write_all(&file.bytes).unwrap();
                let (seen, error) = read_all(&encoder.finish().unwrap());
                assert!(error.is_none(), "{len}: {}", error.unwrap());
                assert_eq!(seen, expected, "{len}");
            }
        }
    }
}

#[test]
fn skippable_zstd_frames_are_skipped() {
    let plain = plain();
    let mut file = vec![0x5e, 0x2a, 0x4d, 0x18, 3, 0, 0, 0, 1, 2, 3];
    file.extend(zstd(&plain));
    assert_eq!(packets(&file), packets(&plain));
}

#[test]
fn damage_ends_a_file_after_what_came_before() {
    let plain = plain();
    let expected = packets(&plain);
    for compress in [gzip, zstd] {
        let whole = compress(&plain);
        // Two streams, the second cut: all of the first comes out.
        let mut cut = whole.clone();
        cut.extend(&compress(b"lost")[..9]);
        let (seen, error) = read_all(&cut);
        assert_eq!(seen, expected);
        let error = error.unwrap();
        assert!(matches!(error.kind(), ErrorKind::Decompress { .. }), "{error}");
        assert_eq!(error.offset(), Some(plain.len() as u64));
        assert!(error.to_string().contains("(decompressed)"), "{error}");

        let (seen, error) = read_all(&whole[..whole.len() / 2]);
        assert!(!seen.is_empty() && seen == expected[..seen.len()]);
        assert!(matches!(error.unwrap().kind(), ErrorKind::Decompress { .. }));
    }
}

/// All of it lies in one window, and comes with the call that meets the damage.
#[test]
fn what_was_inflated_before_the_damage_is_delivered() {
    let plain = &plain()[..100_000];
    let expected = read_all(plain).0;
    let mut encoder = GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(plain).unwrap();
    encoder.flush().unwrap();
    // A block of type 3, which there is not, in the place of the last.
    let damaged = [encoder.get_ref(), &[7; 100][..]].concat();
    let mut wrong_sum = gzip(plain);
    let at_sum = wrong_sum.len() - 8;
    wrong_sum[at_sum] ^= 1;
    for file in [damaged, wrong_sum] {
        let (seen, error) = read_all(&file);
        assert!(seen == expected, "{} packets of {}", seen.len(), expected.len());
        let error = error.unwrap();
        assert!(matches!(error.kind(), ErrorKind::Decompress { .. }), "{error}");
        assert!(error.offset().is_some_and(|at| plain.len() as u64 - at < 300), "{error}");
    }
}

/// A call of the decoder that meets damage forgets the blocks before it: of a file of small blocks all would be lost.
#[test]
fn blocks_of_zstd_before_the_damage_are_delivered() {
    let plain = &plain()[..8000];
    let mut encoder = zstd::Encoder::new(Vec::new(), 1).unwrap();
    // How long the file is, and how much is in its blocks until there.
    let mut blocks = vec![];
    for (i, piece) in plain.chunks(700).enumerate() {
        encoder.write_all(piece).unwrap();
        encoder.flush().unwrap();
        blocks.push((encoder.get_ref().len(), plain.len().min((i + 1) * 700)));
    }
    let whole = encoder.finish().unwrap();
    assert_eq!(read_all(&whole).0, read_all(plain).0);
    for at in 9..whole.len() {
        let mut damaged = whole.clone();
        // A block of type 3, which there is not, or whatever else stands there.
        damaged[at] ^= 6;
        let before = blocks.iter().rev().find(|&&(end, _)| end <= at).map_or(0, |&(_, plain)| plain);
        let expected = read_all(&plain[..before]).0;
        let (seen, _) = read_all(&damaged);
        assert!(seen.starts_with(&expected), "{} packets of {} at {at}", seen.len(), expected.len());
    }
}

#[test]
fn damage_before_the_first_packet_has_its_place() {
    for compress in [gzip, zstd] {
        let (seen, error) = read_all(&compress(&plain())[..8]);
        assert_eq!((seen.len(), error.unwrap().offset()), (0, Some(0)));
    }
    for len in [1, 3, 4, 23] {
        assert_eq!(read_all(&plain()[..len]).1.unwrap().offset(), Some(0), "{len}");
    }
}

#[test]
fn zero_bytes_behind_gzip_are_padding() {
    let plain = plain();
    assert_eq!(packets(&[gzip(&plain), vec![0; 512]].concat()), packets(&plain));
}

#[test]
fn truncation_anywhere_gives_a_prefix_and_an_error() {
    let plain = &plain()[..3000];
    let all = read_all(plain).0;
    for compress in [gzip, zstd] {
        let whole = compress(plain);
        for cut in 1..whole.len() {
            let (seen, error) = read_all(&whole[..cut]);
            assert_eq!(seen, all[..seen.len()]);
            assert!(error.is_some(), "cut at {cut}");
        }
    }
}

#[test]
fn compressed_twice_is_said_to_be() {
    let (_, error) = read_all(&gzip(&zstd(&plain())));
    assert!(error.unwrap().to_string().contains("compressed twice"));
}

fn zstd_with_window(log: u32, bytes: &[u8]) -> Vec<u8> {
    let mut encoder = zstd::Encoder::new(Vec::new(), 1).unwrap();
    encoder.long_distance_matching(true).unwrap();
    encoder.window_log(log).unwrap();
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

#[test]
fn a_zstd_window_beyond_the_limit_is_refused() {
    let (_, error) = read_all(&zstd_with_window(28, &plain()));
    let error = error.unwrap();
    assert!(matches!(error.kind(), ErrorKind::ZstdWindow { limit: 0x800_0000 }), "{error}");
    let told = "test: byte 0 (decompressed): the zstd data needs more than 128 MiB of history: \
                pipe it in, `zstd -dc --long=31 FILE |`";
    assert_eq!(error.to_string(), told);
}

/// `zstd --long` and `zstd --ultra -22` make such frames, and `zstd -dc` takes them.
#[test]
fn a_history_of_128_mib_is_read() {
    const COUNT: usize = 300;
    const LEN: usize = 128 << 10;
    let short = plain();
    assert_eq!(packets(&zstd_with_window(27, &short)), packets(&short));
    // The second half is the first one, further back than a history of 32 MiB reaches.
    let mut long = pcap_header(ByteOrder::Little, MICRO, (2, 4), 262_144, 1);
    let mut state = 1_u64;
    let noise: Vec<u8> = std::iter::repeat_with(|| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 56) as u8
    })
    .take(COUNT * LEN)
    .collect();
    for _ in 0..2 {
        for data in noise.chunks(LEN) {
            long = long.u32(0).u32(0).u32(LEN as u32).u32(LEN as u32).raw(data);
        }
    }
    let packed = zstd_with_window(27, &long.bytes);
    assert!(packed.len() < long.bytes.len() * 2 / 3, "it refers far back");
    let mut reader = reader(&packed).unwrap();
    let mut count = 0;
    while let Some(packet) = reader.next_packet().unwrap() {
        assert!(packet.data == &noise[count % COUNT * LEN..][..LEN], "packet {count}");
        count += 1;
    }
    assert_eq!(count, 2 * COUNT);
}

/// How often an input asks for leave while it is read.
fn asks(name: &str, file: &[u8]) -> usize {
    let path = std::env::temp_dir().join(format!("sluss-asks-{}-{name}", std::process::id()));
    std::fs::write(&path, file).unwrap();
    let count = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&count);
    let ask = Arc::new(move || _ = counted.fetch_add(1, Ordering::Relaxed));
    let mut reader = Input::File(path.clone()).open_asking(ask).unwrap();
    while reader.next_batch().unwrap().is_some() {}
    std::fs::remove_file(&path).unwrap();
    count.load(Ordering::Relaxed)
}

#[test]
fn inputs_ask_before_they_take_much_memory() {
    let with_block = |len: usize| {
        Bytes::new(ByteOrder::Little)
            .section()
            .interface(1, 0)
            .enhanced(0, 0, &vec![7; len], len as u32)
            .bytes
    };
    let zstd_with_window = |log: u32| zstd_with_window(log, &plain());
    assert_eq!(asks("small", &with_block(500_000)), 0);
    assert_ne!(asks("large", &with_block(5_000_000)), 0);
    assert_ne!(asks("large.gz", &gzip(&with_block(5_000_000))), 0);
    assert_eq!(asks("history-23", &zstd_with_window(23)), 0);
    assert_eq!(asks("history-24", &zstd_with_window(24)), 1);
    assert_eq!(asks("history-27", &zstd_with_window(27)), 1);
    assert_eq!(asks("histories", &[zstd_with_window(10), zstd_with_window(24)].concat()), 1);
}

/// A stream that gives less than asked, as pipes do.
struct Slow(std::io::Cursor<Vec<u8>>, usize);

impl Read for Slow {
    fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
        self.1 = self.1 * 7 % 61 + 1;
        let len = out.len().min(self.1);
        self.0.read(&mut out[..len])
    }
}

#[test]
fn short_reads_change_nothing() {
    let plain = plain();
    let expected = packets(&plain);
    for file in [plain.clone(), gzip(&plain), zstd(&plain)] {
        let reader = Reader::new(Slow(std::io::Cursor::new(file), 1), "slow").unwrap();
        assert_eq!(drain(reader).0, expected);
    }
}
