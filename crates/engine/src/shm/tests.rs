//! Counters: what one side writes, the other reads; what is damaged is an error.

use super::*;

#[test]
fn a_file_says_what_was_counted() {
    let folder = std::env::temp_dir().join(format!("sluss-shm-test-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let path = folder.join("counters");
    let segment = Segment::create(&path, "test").expect("a file");
    assert!(Segment::create(&path, "test").is_err(), "a file of another instance is left alone");
    let mut record = segment
        .record(RecordKind::App, "an_app", "tee", RecordSize { entries: 4, numbers: 4 + Histogram::BUCKETS })
        .expect("room");
    let counter = record.number("discarded", EntryKind::Drop);
    counter.add(41);
    record.number("discarded", EntryKind::Drop).add(1);
    let histogram = record.histogram("turn_ns");
    [3, 100, 100, 5000].iter().for_each(|&ns| histogram.record(ns));
    record.set_worker(3);
    let (link, counters) = segment.link("a.x -> b.y").expect("room");
    counters.sent(7, 700);
    counters.received(5);

    let snapshot = Snapshot::read(&path).expect("counters");
    assert_eq!(
        (snapshot.pid, snapshot.name.as_str(), snapshot.records.len()),
        (std::process::id(), "test", 2)
    );
    assert_eq!(snapshot.start_ticks, Process::own().map_or(0, |own| own.start_ticks));
    let app = &snapshot.records[0];
    assert_eq!(
        (app.kind, app.name.as_str(), app.what.as_str(), app.worker),
        (RecordKind::App, "an_app", "tee", 3)
    );
    assert_eq!(app.drops().collect::<Vec<_>>(), [("discarded", EntryKind::Drop, 42)]);
    let buckets = &app.entry("turn_ns").expect("a histogram").values;
    assert_eq!(
        (Histogram::quantile(buckets, 0.5), Histogram::quantile(buckets, 1.0)),
        (Some(112), Some(5120))
    );
    let first_epoch = snapshot.records[1].epoch;
    assert_eq!(
        ["txpackets", "txbytes", "link_full", "rxpackets"].map(|name| snapshot.records[1].value(name)),
        [7, 700, 0, 5]
    );

    drop((link, counters));
    assert_eq!(Snapshot::read(&path).expect("counters").records.len(), 1);
    let _again = segment.link("c.x -> d.y").expect("room");
    let snapshot = Snapshot::read(&path).expect("counters");
    assert_eq!(snapshot.records[1].name, "c.x -> d.y");
    assert!(snapshot.records[1].epoch > first_epoch);
    assert_eq!(snapshot.records[1].value("txpackets"), 0);

    drop((record, counter, histogram, _again, segment));
    assert!(!path.exists());
    std::fs::remove_dir(&folder).expect("it is empty");
}

#[test]
fn damage_is_an_error_never_a_panic() {
    let folder = std::env::temp_dir().join(format!("sluss-shm-damage-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let path = folder.join("counters");
    let segment = Segment::create(&path, "test").expect("a file");
    let mut record = segment
        .record(RecordKind::App, "an_app", "tee", RecordSize { entries: 4, numbers: 4 + Histogram::BUCKETS })
        .expect("room");
    record.number("discarded", EntryKind::Drop).add(41);
    let used = format::HEADER + (192 + 4 * 32 + (4 + Histogram::BUCKETS) * 8).next_multiple_of(64);
    let whole = std::fs::read(&path).expect("a file")[..used].to_vec();
    assert_eq!(Snapshot::parse(&whole).expect("counters").records.len(), 1);
    for len in 0..whole.len() {
        let _ = Snapshot::parse(&whole[..len]);
    }
    for at in 0..whole.len() {
        for value in [0, 1, 0x7f, 0xff] {
            let mut damaged = whole.clone();
            damaged[at] = value;
            let _ = Snapshot::parse(&damaged);
        }
    }
    drop((record, segment));
    std::fs::remove_dir(&folder).expect("it is empty");
}

#[test]
fn numbers_that_do_not_fit_are_counted_unseen() {
    let segment = Segment::private().expect("memory");
    let mut record =
        segment.record(RecordKind::App, "a", "b", RecordSize { entries: 1, numbers: 1 }).expect("room");
    record.number("first", EntryKind::Counter).add(1);
    let second = record.number("second", EntryKind::Counter);
    second.add(2);
    assert_eq!(second.get(), 2);
    assert_eq!(record.entries().collect::<Vec<_>>(), [("first", EntryKind::Counter, 1)]);
}

#[test]
fn buckets_hold_what_they_say() {
    for ns in (0..4096).chain([u64::MAX, 1 << 39, (1 << 40) - 1]) {
        let bucket = Histogram::bucket(ns);
        assert!(Histogram::bucket_ns(bucket) <= ns.max(4), "{ns}");
        assert!(bucket == Histogram::BUCKETS - 1 || ns < Histogram::bucket_ns(bucket + 1), "{ns}");
    }
    assert_eq!(Histogram::quantile(&[0; 8], 0.5), None);
}

#[test]
fn entries_that_share_numbers_are_damage() {
    // A record of 64 KiB with 2000 entries of 4000 numbers, all the same ones: 64 MB, were they believed.
    let (size, entries) = (64 * 1024_u32, 2000_u32);
    let mut bytes = vec![0; format::HEADER + size as usize];
    bytes[..8].copy_from_slice(&format::MAGIC);
    bytes[8..12].copy_from_slice(&format::VERSION.to_ne_bytes());
    let mut put = |at: usize, value: u32| {
        bytes[format::HEADER + at..][..4].copy_from_slice(&value.to_ne_bytes());
    };
    put(0, size);
    put(4, RecordKind::App.code());
    put(16, entries);
    for entry in 0..entries as usize {
        let [low, high] = 4000_u16.to_ne_bytes();
        let kind = u32::from_ne_bytes([EntryKind::Histogram.code(), 0, low, high]);
        put(format::RECORD + entry * format::ENTRY + format::ENTRY_NAME_LEN + 4, kind);
    }
    let result = Snapshot::parse(&bytes);
    assert!(matches!(result, Err(SnapshotError::Damaged(at)) if at == format::HEADER), "{result:?}");
}

#[test]
#[cfg_attr(miri, ignore = "looks at files")]
fn hostile_files_are_refused() {
    let folder = std::env::temp_dir().join(format!("sluss-shm-hostile-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let path = folder.join("counters");
    let header = |used: u64| {
        let mut bytes = vec![0; format::HEADER];
        bytes[..8].copy_from_slice(&format::MAGIC);
        bytes[8..12].copy_from_slice(&format::VERSION.to_ne_bytes());
        bytes[format::USED..][..8].copy_from_slice(&used.to_ne_bytes());
        bytes
    };
    let read = |bytes: &[u8]| {
        std::fs::write(&path, bytes).expect("a file");
        Snapshot::read(&path)
    };
    assert!(matches!(read(b""), Err(SnapshotError::NotCounters)));
    assert!(matches!(read(b"slussctr"), Err(SnapshotError::NotCounters)));
    assert!(matches!(read(&[0xff; 4096]), Err(SnapshotError::NotCounters)));
    assert!(matches!(read(&header(u64::MAX)), Err(SnapshotError::TooLong(u64::MAX))));
    assert!(matches!(read(&header(format::FILE_MAX + 1)), Err(SnapshotError::TooLong(_))));
    assert!(
        read(&header(format::FILE_MAX)).is_ok_and(|found| found.records.is_empty()),
        "shorter than it says"
    );
    assert!(read(&header(0)).is_ok_and(|found| found.records.is_empty()));
    assert!(matches!(Snapshot::read(&folder), Err(SnapshotError::NotCounters)), "a folder");
    std::fs::remove_file(&path).expect("it is ours");
    let made = std::process::Command::new("mkfifo").arg(&path).status();
    if made.is_ok_and(|status| status.success()) {
        assert!(matches!(Snapshot::read(&path), Err(SnapshotError::NotCounters)), "a pipe nobody writes to");
    }
    std::fs::remove_dir_all(&folder).expect("it is ours");
}

#[test]
fn hostile_histograms_have_quantiles() {
    assert_eq!(Histogram::quantile(&[u64::MAX; 4], 1.0), Some(Histogram::bucket_ns(4)));
    assert!(Histogram::quantile(&[1; 65_535], 1.0).is_some_and(|ns| ns <= 1 << 40));
    assert_eq!(Histogram::quantile(&[], 0.5), None);
}

#[test]
#[cfg_attr(miri, ignore = "looks at files")]
fn a_file_is_held_as_long_as_its_segment() {
    let folder = std::env::temp_dir().join(format!("sluss-shm-held-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let [path, copy] = ["counters", "copy"].map(|name| folder.join(name));
    let segment = Segment::create(&path, "test").expect("a file");
    std::fs::copy(&path, &copy).expect("a file");
    assert!(is_held(&path) && !is_held(&copy) && !is_held(&folder.join("absent")));
    let busy = remove_dead(&path).expect_err("it is held");
    assert_eq!(busy.kind(), std::io::ErrorKind::ResourceBusy);
    assert!(path.exists());

    // Whoever removed the file all the same made another in its place, which stays.
    std::fs::rename(&copy, &path).expect("it is ours");
    drop(segment);
    assert!(path.exists(), "it was none of the segment's");
    remove_dead(&path).expect("nobody holds it");
    assert!(!path.exists());

    // A link is removed, not what it leads to.
    let segment = Segment::create(&path, "test").expect("a file");
    std::os::unix::fs::symlink(&path, &copy).expect("a link");
    assert!(!is_held(&copy));
    remove_dead(&copy).expect("it is a link");
    assert!(path.exists() && std::fs::symlink_metadata(&copy).is_err());
    drop(segment);
    std::fs::remove_dir(&folder).expect("it is empty");
}

#[test]
#[cfg_attr(miri, ignore = "looks at files")]
fn the_file_system_keeps_room_for_what_is_used() {
    use std::os::unix::fs::MetadataExt;
    let path = std::env::temp_dir().join(format!("sluss-shm-room-{}", std::process::id()));
    let segment = Segment::create(&path, "test").expect("a file");
    let kept = || path.metadata().expect("a file").blocks() * 512;
    assert!(kept() >= 64 << 10, "{} bytes", kept());
    let record = segment
        .record(RecordKind::App, "large", "", RecordSize { entries: 1, numbers: 20_000 })
        .expect("room");
    assert!(kept() >= 192 << 10, "{} bytes", kept());
    assert_eq!(
        path.metadata().expect("a file").len(),
        192 << 10,
        "no longer than needed: limits of file sizes are kept"
    );
    drop((record, segment));
}
