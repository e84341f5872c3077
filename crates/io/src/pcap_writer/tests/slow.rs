//! Disks that are slow, or fail late: a seam between the thread that writes and the file.

use super::*;
use engine::Reconfigured;
use std::io;
use std::sync::{Arc, Condvar};

/// A disk that takes so many bytes at most in one call, so many in all for now, and so many ever.
#[derive(Debug)]
struct Disk {
    call_max: usize,
    now: Mutex<usize>,
    more: Condvar,
    room: usize,
}

impl Disk {
    fn new(call_max: usize, now: usize, room: usize) -> Arc<Self> {
        Arc::new(Disk { call_max, now: Mutex::new(now), more: Condvar::new(), room })
    }

    /// From now on it takes what it gets.
    fn let_go(&self) {
        *self.now.lock().unwrap() = usize::MAX;
        self.more.notify_all();
    }
}

/// A file on such a disk.
struct SlowFile {
    file: File,
    disk: Arc<Disk>,
    written: usize,
}

impl Write for SlowFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let now = self.disk.now.lock().unwrap();
        let now = *self.disk.more.wait_while(now, |now| *now <= self.written).unwrap();
        let room = (self.disk.room.min(now) - self.written).min(self.disk.call_max);
        if room == 0 {
            return Err(ErrorKind::StorageFull.into());
        }
        let taken = self.file.write(&bytes[..bytes.len().min(room)])?;
        self.written += taken;
        Ok(taken)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A writer to such a disk.
#[derive(Clone, Debug, serde::Deserialize)]
struct Slow {
    writer: PcapWriter,
    #[serde(skip)]
    disk: Option<Arc<Disk>>,
}

impl PartialEq for Slow {
    fn eq(&self, other: &Self) -> bool {
        self.writer == other.writer
    }
}

impl Class for Slow {
    const TYPE: &'static str = "slow";
    const OUTPUTS: Ports = Ports::NONE;
    type App = Running;

    fn start(&self, setup: &mut Setup<'_>) -> Result<Running, OptionError> {
        let mut running = self.writer.start(setup)?;
        let disk = Arc::clone(self.disk.as_ref().unwrap());
        let file = File::options().write(true).open(&self.writer.path).unwrap();
        running.output.target.write_through(SlowFile { file, disk, written: 0 });
        Ok(running)
    }

    fn reconfigure(
        &self,
        app: &mut Running,
        old: &Self,
        setup: &mut Setup<'_>,
    ) -> Result<Reconfigured, OptionError> {
        self.writer.reconfigure(app, &old.writer, setup)
    }
}

fn slow(writer: PcapWriter, disk: &Arc<Disk>) -> Slow {
    Slow { writer, disk: Some(Arc::clone(disk)) }
}

/// While the disk takes nothing, an app of the same worker that has nothing to do with it gets as many turns, and as long ones, as without the
/// writer. In the end the file holds what counts as delivered.
#[test]
fn a_slow_disk_holds_up_nobody_else() {
    let scratch = Scratch::new();
    for (slow_reader, name) in
        [(SlowReader::Wait, "a.pcap"), (SlowReader::Drop, "b.pcapng"), (SlowReader::Wait, "c.pcap.zst")]
    {
        let path = scratch.path(name);
        let disk = Disk::new(usize::MAX, 0, usize::MAX);
        let mut graph = Graph::new();
        for name in ["source", "other"] {
            graph.app(name, apps::Source { size: 1000, count: None }).unwrap();
        }
        graph.app("w", slow(PcapWriter { slow_reader, ..writer(&path) }, &disk)).unwrap();
        graph.app("sink", apps::Sink {}).unwrap();
        graph.link("source.output -> w.input").unwrap();
        graph.link("other.output -> sink.input").unwrap();
        let mut engine = Engine::new(Settings::new().unwrap()).unwrap();
        engine.configure(&graph).unwrap();
        for _ in 0..20_000 {
            engine.breathe();
        }
        let report = engine.report();
        let rest = |name: &str| report.links.iter().find(|link| link.link.to.app == name).unwrap();
        assert_eq!(rest("sink").rxpackets, 20_000 * 64, "{name}");
        let dropped = report.drops.get("slow_reader").copied().unwrap_or(0);
        // 4 MiB.
        let kept = rest("w").rxpackets - dropped;
        assert!((4000..4500).contains(&kept), "{name}: {kept} of {report:?}");
        match slow_reader {
            SlowReader::Wait => assert_eq!(dropped, 0, "{name}"),
            SlowReader::Drop => assert_eq!(rest("w").txpackets, 20_000 * 64, "{name}"),
        }
        disk.let_go();
        engine.stop();
        let report = engine.report();
        assert!(report.balanced(), "{:?}", report.imbalances);
        assert_eq!(records(&path).len() as u64, report.delivered - 20_000 * 64, "{name}");
    }
}

/// A run that reads a capture and writes it waits for the disk, and loses nothing.
#[test]
fn what_is_read_waits_for_a_slow_disk() {
    let scratch = Scratch::new();
    let packets: Vec<_> = (0..9000_u32).map(|n| (n, 1000, n.to_be_bytes().repeat(250))).collect();
    let from = scratch.file("in.pcap", &pcap(&packets));
    for name in ["out.pcap", "out.pcapng", "out.pcap.gz", "out.pcapng.zst"] {
        let out = scratch.path(name);
        // It ends within records, and has taken some of them when the reader is done.
        let disk = Disk::new(10_007, 100_000, usize::MAX);
        let mut graph = between("r", &from, "w", &out);
        graph.get_mut("w").unwrap().config = engine::Config::new(slow(writer(&out), &disk));
        let mut engine = Engine::new(Settings::new().unwrap()).unwrap();
        engine.configure(&graph).unwrap();
        (0..1000).for_each(|_| _ = engine.breathe());
        disk.let_go();
        engine.run_for(Duration::from_secs(20)).unwrap();
        engine.stop();
        let report = engine.report();
        assert!(report.balanced() && report.drops.values().all(|&count| count == 0), "{name}: {report:?}");
        // The lock is gone with the thread: the next can have the file.
        File::open(&out).unwrap().try_lock().unwrap();
        assert_eq!(records(&out), records(&from), "{name}");
    }
}

/// What the file lacks is counted, however much of it was on its way, and told.
#[test]
fn a_disk_that_is_full_late_ends_with_a_whole_packet() {
    let scratch = Scratch::new();
    // What does not shrink.
    let mut noise = 1_u64;
    let mut next = || {
        noise = noise.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (noise >> 33) as u8
    };
    let packets: Vec<_> = (0..2000).map(|n| (n, 1000, (0..1000).map(|_| next()).collect())).collect();
    let from = scratch.file("in.pcap", &pcap(&packets));
    let all = records(&from);
    for name in ["out.pcap", "out.pcapng", "out.pcap.gz", "out.pcap.zst"] {
        for room in [0, 30, 100_000, 131_072, 1_000_003] {
            let out = scratch.path(&format!("{room}-{name}"));
            let mut graph = between("r", &from, "w", &out);
            let disk = Disk::new(50_000, usize::MAX, room);
            graph.get_mut("w").unwrap().config = engine::Config::new(slow(writer(&out), &disk));
            let mut engine = Engine::new(Settings::new().unwrap()).unwrap();
            engine.configure(&graph).unwrap();
            engine.run_for(Duration::from_secs(20)).unwrap();
            engine.stop();
            let report = engine.report();
            assert!(report.balanced(), "{name}: {:?}", report.imbalances);
            let len = out.metadata().unwrap().len();
            let kept = if len > 0 { records(&out) } else { Vec::new() };
            assert!(kept == all[..kept.len()] && len <= room as u64 + 3, "{name}, {room}: {len} bytes");
            // A part of what is compressed may be missing as a whole.
            let part = if name.contains("cap.") { 256 << 10 } else { 1100 };
            assert!(len + part > room as u64, "{name}, {room}: {len} bytes");
            assert_eq!(report.delivered, kept.len() as u64, "{name}, {room}");
            assert_eq!(report.drops["write_error"], (all.len() - kept.len()) as u64, "{name}, {room}");
        }
    }
}

/// Whether a writer has a file open.
fn is_locked(path: &Path) -> bool {
    File::open(path).unwrap().try_lock().is_err()
}

/// However slow its disk, the file before is ended while the next is written. What it lacks is counted and told.
#[test]
fn another_path_waits_for_no_disk() {
    let scratch = Scratch::new();
    for (name, room) in [("old.pcap", usize::MAX), ("old.pcapng.gz", usize::MAX), ("full.pcap", 0)] {
        let (old, new) = (scratch.path(name), scratch.path(&format!("after-{name}")));
        let disk = Disk::new(997, 0, room);
        let mut rig = Rig::new(slow(writer(&old), &disk), &["input"], &[]);
        (0..100).for_each(|_| rig.send("input", [1; 1000]));
        rig.breathe();
        // While the disk takes nothing.
        rig.reconfigure(slow(writer(&new), &disk));
        rig.send("input", [2; 60]);
        (0..10).for_each(|_| rig.advance(10_000_000));
        assert!(is_locked(&old) && is_locked(&new), "{name}");
        assert_eq!((rig.counter("delivered"), rig.counter("write_error")), (101, 0), "{name}");
        disk.let_go();
        let begin = Instant::now();
        while is_locked(&old) {
            assert!(begin.elapsed() < Duration::from_secs(20), "{name} is not ended");
            std::thread::sleep(Duration::from_millis(1));
            rig.advance(10_000_000);
        }
        let kept = if room > 0 { records(&old).len() } else { 0 };
        assert_eq!(kept, if room > 0 { 100 } else { 0 }, "{name}");
        assert_eq!(rig.counter("delivered"), 1 + kept as u64, "{name}");
        assert_eq!(rig.counter("write_error"), 100 - kept as u64, "{name}");
        let told: Vec<String> = rig.notices().into_iter().map(|notice| notice.text).collect();
        assert_eq!(told.iter().any(|text| text.contains("full.pcap: cannot write: ")), room == 0, "{told:?}");
        drop(rig);
        assert_eq!(records(&new).iter().map(|record| record.data[0]).collect::<Vec<_>>(), [2], "{name}");
    }
}

/// More of them than are ended at a time, and one that comes again, which is emptied as any other that was there.
#[test]
fn one_path_after_the_other() {
    let scratch = Scratch::new();
    let names = ["a.pcap", "b.pcapng", "c.pcap.gz", "d.pcap", "e.pcap.zst", "f.pcap", "g.pcap", "f.pcap"];
    let mut rig = Rig::new(writer(scratch.path("first.pcap")), &["input"], &[]);
    for (number, name) in names.iter().enumerate() {
        rig.reconfigure(writer(scratch.path(name)));
        rig.send("input", [number as u8; 60]);
        rig.breathe();
    }
    drop(rig);
    assert_eq!(records(&scratch.path("first.pcap")), []);
    for (number, name) in names.iter().enumerate().filter(|&(number, _)| number != 5) {
        let first: Vec<u8> = records(&scratch.path(name)).iter().map(|record| record.data[0]).collect();
        assert_eq!(first, [number as u8], "{name}");
    }
}

/// Packets that come one by one are compressed together, those of a second.
#[test]
fn slow_traffic_is_compressed_as_well() {
    let scratch = Scratch::new();
    let [plain, packed] = ["out.pcap", "out.pcap.gz"].map(|name| {
        let out = scratch.path(name);
        let mut rig = Rig::new(writer(&out), &["input"], &[]);
        for number in 0..200 {
            rig.send("input", [number; 200]);
            // Each is followed by ticks without packets.
            (0..5).for_each(|_| rig.advance(1_000_000));
        }
        drop(rig);
        assert_eq!(records(&out).len(), 200, "{name}");
        out.metadata().unwrap().len()
    });
    assert!(packed * 10 < plain, "{packed} bytes, {plain} without compression");
}

/// A compressed capture goes on as any other: what comes later is a member or frame of its own.
#[test]
fn a_compressed_capture_goes_on() {
    let scratch = Scratch::new();
    for name in ["out.pcap.gz", "out.pcap.zst", "out.pcapng.gz", "out.pcapng.zst"] {
        let out = scratch.path(name);
        let mut rig = Rig::new(Fragile(writer(&out)), &["input"], &[]);
        for number in 1..=3 {
            rig.send("input", [number; 60]);
            rig.breathe();
        }
        await_restart(&mut rig);
        rig.send("input", [4; 60]);
        rig.breathe();
        drop(rig);
        assert_eq!(
            records(&out).iter().map(|record| record.data[0]).collect::<Vec<_>>(),
            [1, 2, 4],
            "{name}"
        );
        let magic = if name.ends_with("gz") { [0x1f, 0x8b] } else { [0x28, 0xb5] };
        assert_eq!(std::fs::read(&out).unwrap()[..2], magic, "{name}");
    }
}
