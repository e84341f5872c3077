//! An output whose last write failed, because the disk is full say, and so perhaps within a record: a file is cut back to where its
//! last whole record ends.
//!
//! Writing only notes, once a block, a place where a record ends. From there on the records are found once it has failed, in the file
//! itself: to follow them before would cost each block as much as a fifth of filtering it.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};

use super::Target;
use super::spans::RecordSpans;
use crate::order::ByteOrder;

/// An output that has failed. Places in it count from its first byte, which need not be that of the file.
#[derive(Clone, Copy, Debug)]
pub(super) struct Torn {
    /// Its format, if that was fixed.
    pub(super) target: Option<Target>,
    /// Where in the file its first byte is.
    pub(super) begin: u64,
    /// A place where a record ends, or 0.
    pub(super) whole: u64,
    /// How many bytes the system took.
    pub(super) taken: u64,
}

/// Where in its file an output begins whose first bytes, so many, have just been written. Before they were, a file that is appended to did not
/// say: its position is set by the write.
pub(super) fn begin(file: &mut File, taken: u64) -> Option<u64> {
    file.stream_position().ok()?.checked_sub(taken)
}

impl Torn {
    /// Ends a file behind the last whole record, and says how many bytes it then has of this output.
    ///
    /// Bytes of others are left alone, unless they come in the moment between the look at the file and the cut.
    ///
    /// # Errors
    /// If it is no file, if others have written to it since this output began, or the system refuses.
    pub(super) fn cut(self, file: &mut File) -> io::Result<u64> {
        let metadata = file.metadata()?;
        let end = self.begin + self.taken;
        // What others have written is behind ours or, where all append, perhaps between: then ours ends further on.
        let is_ours = file.stream_position()? == end && metadata.len() == end;
        if !metadata.is_file() || !is_ours {
            return Err(io::ErrorKind::Unsupported.into());
        }
        // Where that cannot be read, some whole records go as well.
        let behind = read_again(file, self.begin + self.whole, self.taken - self.whole).unwrap_or_default();
        let kept = self.whole + self.whole_len(&behind) as u64;
        file.set_len(self.begin + kept)?;
        file.seek(SeekFrom::Start(self.begin + kept))?;
        Ok(kept)
    }

    /// How many of these bytes, which stand at the place where a record ends, are whole records.
    fn whole_len(self, bytes: &[u8]) -> usize {
        let end = |spans: RecordSpans<'_>| spans.last().map_or(0, |span| span.range.end);
        match self.target {
            None => 0,
            Some(Target::Pcap { order, .. }) if self.whole == 0 => {
                end(RecordSpans::of_pcap_file(order, bytes))
            }
            Some(Target::Pcap { order, .. }) => end(RecordSpans::of_records(order, bytes)),
            // The order of the section is not known here. In the wrong one, lengths lead nowhere.
            Some(Target::Pcapng) => {
                let orders = [ByteOrder::Little, ByteOrder::Big];
                orders.map(|order| end(RecordSpans::of_blocks(order, bytes))).into_iter().max().unwrap_or(0)
            }
        }
    }
}

/// Reads a part of a file that was opened to be written only.
#[cfg(unix)]
fn read_again(file: &File, at: u64, len: u64) -> io::Result<Vec<u8>> {
    use std::os::fd::AsRawFd;
    let mut again = File::open(format!("/proc/self/fd/{}", file.as_raw_fd()))?;
    again.seek(SeekFrom::Start(at))?;
    let mut bytes = Vec::new();
    again.take(len).read_to_end(&mut bytes)?;
    Ok(bytes)
}

#[cfg(not(unix))]
fn read_again(_: &File, _: u64, _: u64) -> io::Result<Vec<u8>> {
    Err(io::ErrorKind::Unsupported.into())
}

#[cfg(test)]
mod tests {
    use crate::order::ByteOrder;
    use crate::time::Precision;
    use crate::write::{Encoded, Target, Writer, layout};
    use std::fs::File;
    use std::io::{self, Read, Write};
    use wire::LinkType;

    /// A file in a file system that is full after so many bytes.
    struct Full {
        file: File,
        room: usize,
    }

    impl Write for Full {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let taken = self.file.write(&bytes[..bytes.len().min(self.room)])?;
            self.room -= taken;
            if taken == 0 && !bytes.is_empty() { Err(io::ErrorKind::StorageFull.into()) } else { Ok(taken) }
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn pcap(order: ByteOrder) -> Target {
        let linktype = LinkType::EN10MB;
        Target::Pcap { order, precision: Precision::Micro, snaplen: 65_535, linktype, link_bits: 0 }
    }

    /// The records that calls append, of lengths that differ, and where each ends.
    fn records(target: Target, order: ByteOrder) -> (Vec<Vec<u8>>, Vec<u64>) {
        let mut ends = vec![0];
        let mut at = target.file_header().len() as u64;
        ends.extend((at > 0).then_some(at));
        let calls = (0..60_usize).map(|call| {
            let mut out = Vec::new();
            for i in 0..call % 7 {
                let before = out.len();
                let data = vec![i as u8; (call * 1_009 + i * 313) % 40_000];
                match target {
                    Target::Pcap { .. } => layout::put_record(order, (1, 2), 9, &data, &mut out),
                    Target::Pcapng if i == 0 => layout::put_section(order, &mut out),
                    Target::Pcapng => layout::put_enhanced(order, 0, 1, 9, &data, &mut out),
                }
                at += (out.len() - before) as u64;
                ends.push(at);
            }
            out
        });
        (calls.collect(), ends)
    }

    #[test]
    fn a_file_that_takes_no_more_ends_with_a_whole_record() {
        let path = std::env::temp_dir().join(format!("sluss-torn-{}", std::process::id()));
        let formats = [ByteOrder::Little, ByteOrder::Big];
        let formats = formats.into_iter().flat_map(|order| [(pcap(order), order), (Target::Pcapng, order)]);
        for (target, order) in formats {
            let (calls, ends) = records(target, order);
            let mut all = target.file_header();
            calls.iter().for_each(|call| all.extend(call));
            let near = ends.iter().step_by(17).flat_map(|&end| [end.saturating_sub(1), end, end + 1]);
            for room in near.chain([10, 262_143, 262_144, 262_145, 1 << 20]).map(|room| room as usize) {
                let mut file = File::options().write(true).create(true).truncate(true).open(&path).unwrap();
                // As where a shell has opened it for several commands.
                file.write_all(b"before").unwrap();
                let mut writer =
                    Writer::new(Full { file, room }, "the disk").with_file(|full| Some(&mut full.file));
                writer.begin(target);
                let result = calls.iter().try_for_each(|call| match room % 2 {
                    0 => writer.write_encoded(call, Encoded::default()),
                    _ => writer.write_through(call, Encoded::default()),
                });
                let result = result.and_then(|()| writer.flush());
                let mut is = Vec::new();
                File::open(&path).unwrap().read_to_end(&mut is).unwrap();
                let kept = *ends.iter().rfind(|&&end| end <= room as u64).unwrap();
                assert!(is.strip_prefix(b"before").unwrap() == &all[..kept as usize], "{target:?} {room}");
                match result {
                    Ok(()) => assert!(room >= all.len()),
                    Err(error) => {
                        let told = match kept {
                            0 => "; nothing was written".to_owned(),
                            _ => format!("; it holds the packets before that, {kept} bytes"),
                        };
                        assert!(error.to_string().ends_with(&told), "{error}");
                        // Told once, and no success.
                        let error = writer.finish().unwrap_err().to_string();
                        assert!(error.ends_with("an earlier write failed"), "{error}");
                    }
                }
            }
        }
        std::fs::remove_file(path).unwrap();
    }

    #[test]
    fn a_compressed_file_that_takes_no_more_ends_with_a_whole_part() {
        use crate::{Compression, Reader};
        let path = std::env::temp_dir().join(format!("sluss-torn-packed-{}", std::process::id()));
        let order = ByteOrder::Little;
        // What does not shrink.
        let mut noise = 1_u64;
        let mut next = || {
            noise = noise.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (noise >> 33) as u8
        };
        let data: Vec<Vec<u8>> = (0..200).map(|i| (0..20_000 + i).map(|_| next()).collect()).collect();
        for compression in [Compression::Gzip, Compression::Zstd] {
            let write = |room: usize| {
                let sink = Full { file: File::create(&path).unwrap(), room };
                let mut writer = Writer::new(sink, "the disk").with_file(|full| Some(&mut full.file));
                writer = writer.compressed(Some(compression));
                writer.begin(pcap(order));
                let mut records = Vec::new();
                let result = data.iter().try_for_each(|data| {
                    records.clear();
                    layout::put_record(order, (1, 2), 9, data, &mut records);
                    writer.write_encoded(&records, Encoded::default())
                });
                result.and_then(|()| writer.complete())
            };
            let count = || {
                let mut reader = Reader::open(&path).unwrap();
                assert_eq!(reader.compression(), Some(compression));
                let mut seen = 0;
                while let Some(packet) = reader.next_packet().unwrap() {
                    assert!(packet.data == data[seen], "packet {seen}");
                    seen += 1;
                }
                seen
            };
            write(usize::MAX).unwrap();
            let all = std::fs::metadata(&path).unwrap().len() as usize;
            assert_eq!(count(), data.len());
            for room in [all - 1, all * 9 / 10, all / 2, 1_400_000] {
                let error = write(room).unwrap_err().to_string();
                let len = std::fs::metadata(&path).unwrap().len();
                assert!(
                    error.ends_with(&format!("; it holds the packets before that, {len} bytes")),
                    "{error}"
                );
                let seen = count();
                // A MiB of records is between two places, and half a MiB may wait to be written.
                assert!(seen > 0 && seen * 20_016 + (2 << 20) > room * 99 / 100, "{seen} of {room}");
            }
            // Less than that: it stays, and readers take what is there.
            let error = write(300_000).unwrap_err().to_string();
            assert!(
                error.ends_with("; 300000 bytes were written, and the last packet may be torn"),
                "{error}"
            );
            let mut reader = Reader::open(&path).unwrap();
            assert!(std::iter::from_fn(|| reader.next_packet().ok().flatten().map(drop)).count() > 0);
        }
        std::fs::remove_file(path).unwrap();
    }

    /// Full, and then somebody else writes to the file.
    struct Shared {
        full: Full,
        others: Option<File>,
    }

    impl Write for Shared {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let result = self.full.write(bytes);
            if let Some(mut others) = self.others.take_if(|_| result.is_err()) {
                others.write_all(b"theirs")?;
            }
            result
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn what_others_append_is_not_cut() {
        let path = std::env::temp_dir().join(format!("sluss-torn-others-{}", std::process::id()));
        let append = || File::options().append(true).open(&path).unwrap();
        let order = ByteOrder::Little;
        let mut records = Vec::new();
        (0..10).for_each(|_| layout::put_record(order, (1, 2), 9, &[1; 30_000], &mut records));
        let ours = [pcap(order).file_header(), records.clone()].concat();
        // The first block ends within the ninth record, and the disk is full within the last.
        let (block, whole, taken) = (256 << 10, ours.len() - records.len() / 10, ours.len() - 100);
        for (is_between, is_behind) in [(false, false), (true, false), (false, true), (true, true)] {
            std::fs::write(&path, b"before").unwrap();
            let sink = Shared { full: Full { file: append(), room: taken }, others: is_behind.then(append) };
            let mut writer = Writer::new(sink, "the disk").with_file(|sink| Some(&mut sink.full.file));
            writer.begin(pcap(order));
            writer.write_encoded(&records, Encoded::default()).unwrap();
            let mut expected = [b"before", &ours[..block]].concat();
            if is_between {
                append().write_all(b"theirs").unwrap();
                expected.extend(b"theirs");
            }
            let error = writer.flush().unwrap_err().to_string();
            let (left, told) = if is_between || is_behind {
                (taken, format!("; {taken} bytes were written, and the last packet may be torn"))
            } else {
                (whole, format!("; it holds the packets before that, {whole} bytes"))
            };
            assert!(error.ends_with(&told), "{error}");
            expected.extend(&ours[block..left]);
            if is_behind {
                expected.extend(b"theirs");
            }
            assert!(std::fs::read(&path).unwrap() == expected, "{is_between} {is_behind}");
        }
        std::fs::remove_file(path).unwrap();
    }
}
