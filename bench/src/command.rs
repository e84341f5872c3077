//! The whole command: `sluss filter` against tcpdump and against the least C that does the work.

use crate::race::{median, median_ratio};
use crate::report::{Figure, Report, Target};
use crate::traffic::{Mix, packet};
use std::fs;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;
use testkit::rng::Rng;

const SUITE: &str = "command";
const PACKETS: usize = 2_000_000;
const RUNS: usize = 7;
const FILTER: &str = "tcp port 80";

/// A program by name, and how to run it.
type Peer<'p> = (&'static str, Box<dyn Fn() -> Command + 'p>);

/// What one run of a program used.
#[derive(Clone, Copy)]
pub(crate) struct Usage {
    pub(crate) cpu_s: f64,
    pub(crate) wall_s: f64,
    peak_mb: f64,
}

/// Runs the suite.
pub(crate) fn run(report: &mut Report) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("out/work");
    let prepared = fs::create_dir_all(&folder).and_then(|()| big_capture(&folder));
    let big = prepared.unwrap_or_else(|error| panic!("cannot write below {}: {error}", folder.display()));
    let Some(sluss) = built_command() else { return };
    let out = |name: &str| folder.join(name).display().to_string();
    let input = big.display().to_string();

    let filter = |input: &str, output: &str| command(&sluss, &["filter", FILTER, input, "-o", output]);
    let ours = || filter(&input, &out("sluss.pcap"));
    let floor = || command(env!("FLOOR"), &[&input, &out("floor.pcap")]);
    let tcpdump = || command("tcpdump", &["-r", &input, "-w", &out("tcpdump.pcap"), FILTER]);
    let mut peers: Vec<Peer<'_>> = vec![("sluss filter", Box::new(ours)), ("bare C loop", Box::new(floor))];
    if command("tcpdump", &["--version"]).output().is_ok() {
        peers.push(("tcpdump", Box::new(tcpdump)));
    } else {
        eprintln!("SKIPPED: the benchmark does not compare with tcpdump: install tcpdump (Debian)");
    }
    let outputs: Vec<&str> = ["floor.pcap", "tcpdump.pcap"].into_iter().take(peers.len() - 1).collect();
    let usages = interleaved(&peers, || outputs.iter().for_each(|peer| same_bytes(&folder, peer)));
    for ((name, _), usage) in peers.iter().zip(&usages) {
        tell(report, "tcp port 80, 2 million packets", name, usage);
    }
    let [ours, floor] = [&usages[0], &usages[1]];
    if let Some(tcpdump) = usages.get(2) {
        let ratio = cpu_ratio(tcpdump, ours);
        report.ratio(SUITE, "CPU: tcpdump / sluss (goal 5)", ratio, Some(Target::AtLeast(4.0)));
        report.ratio(SUITE, "CPU: tcpdump / bare C loop", cpu_ratio(tcpdump, floor), None);
    }
    report.ratio(SUITE, "CPU: sluss / bare C loop", cpu_ratio(ours, floor), None);
    let peak = usages[0].iter().map(|usage| usage.peak_mb).fold(0.0, f64::max);
    report.ratio(SUITE, "peak memory, MB", peak, Some(Target::AtMost(64.0)));
    compressed(report, &sluss, &input, &folder);
    start_to_end(report, &sluss, &folder);
}

/// The release build of the command, beside this program.
pub(crate) fn built_command() -> Option<String> {
    let path = std::env::current_exe().ok()?.with_file_name("sluss");
    if path.exists() {
        return Some(path.display().to_string());
    }
    eprintln!("SKIPPED: {} is not built: cargo build --release", path.display());
    None
}

pub(crate) fn command(program: &str, args: &[&str]) -> Command {
    let mut command = Command::new(program);
    command.args(args).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command
}

/// Runs the programs in turns, and checks what they wrote after each.
fn interleaved(peers: &[Peer<'_>], check: impl Fn()) -> Vec<Vec<Usage>> {
    let mut usages = vec![Vec::new(); peers.len()];
    for _ in 0..RUNS {
        for ((name, make), usages) in peers.iter().zip(&mut usages) {
            usages.push(measured(name, make()));
        }
        check();
    }
    usages
}

/// Runs a program to its end; CPU time and peak memory from wait4(2).
// Clippy does not know that wait4(2) waits for the child. `Child::wait` would not tell what it used.
#[allow(clippy::zombie_processes)]
pub(crate) fn measured(name: &str, mut command: Command) -> Usage {
    let start = Instant::now();
    let child = command.spawn().unwrap_or_else(|error| panic!("{name} does not start: {error}"));
    let mut status = 0;
    // SAFETY: an all-zero rusage is valid, and both pointers are to live variables; the child is ours and nobody
    // else waits for it (`child` is not used again).
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        let waited = libc::wait4(child.id() as libc::pid_t, &mut status, 0, &mut usage);
        assert!(waited > 0, "wait4: {}", std::io::Error::last_os_error());
        usage
    };
    assert!(status == 0, "{name} failed with status {status:#x}");
    let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 / 1e6;
    Usage {
        cpu_s: seconds(usage.ru_utime) + seconds(usage.ru_stime),
        wall_s: start.elapsed().as_secs_f64(),
        peak_mb: usage.ru_maxrss as f64 / 1024.0,
    }
}

fn cpu(usages: &[Usage]) -> Vec<f64> {
    usages.iter().map(|usage| usage.cpu_s).collect()
}

/// How many times as much CPU time one took as the other, which ran in turns with it.
fn cpu_ratio(one: &[Usage], other: &[Usage]) -> f64 {
    median_ratio(&cpu(one), &cpu(other))
}

fn tell(report: &mut Report, what: &str, engine: &'static str, usages: &[Usage]) {
    let min = usages.iter().map(|usage| usage.cpu_s).fold(f64::INFINITY, f64::min);
    report.figure(Figure {
        suite: "command: whole commands, CPU seconds",
        what: what.to_owned(),
        engine,
        min,
        median: median(cpu(usages)),
        unit: "s",
    });
}

/// Piece by piece: what this process has in memory would count as the peak of those that it starts.
fn same_bytes(folder: &Path, peer: &str) {
    let open =
        |name: &str| fs::File::open(folder.join(name)).unwrap_or_else(|error| panic!("{name}: {error}"));
    let (mut ours, mut theirs) = (open("sluss.pcap"), open(peer));
    let (mut our_piece, mut their_piece) = (Vec::new(), Vec::new());
    loop {
        for (file, piece) in [(&mut ours, &mut our_piece), (&mut theirs, &mut their_piece)] {
            piece.clear();
            file.take(64 << 10).read_to_end(piece).expect("a file that was just written");
        }
        assert!(our_piece == their_piece, "sluss and {peer} wrote different bytes");
        if our_piece.is_empty() {
            return;
        }
    }
}

/// 2 million small packets of the mixed traffic, as a native-order microsecond pcap.
fn big_capture(folder: &Path) -> std::io::Result<PathBuf> {
    let path = folder.join("big.pcap");
    let mut rng = Rng::new(7);
    write_capture(&path, (0..PACKETS).map(|_| packet(Mix::Mixed, &mut rng)))?;
    Ok(path)
}

/// Writes packets as a native-order microsecond pcap.
pub(crate) fn write_capture(path: &Path, packets: impl Iterator<Item = Vec<u8>>) -> std::io::Result<()> {
    let mut file = std::io::BufWriter::new(fs::File::create(path)?);
    for word in [0xa1b2_c3d4_u32, 0x0004_0002, 0, 0, 262_144, 1] {
        file.write_all(&word.to_ne_bytes())?;
    }
    for (i, packet) in (0_u32..).zip(packets) {
        let length = packet.len() as u32;
        for word in [1_700_000_000 + i / 100_000, (i % 100_000) * 10, length, length] {
            file.write_all(&word.to_ne_bytes())?;
        }
        file.write_all(&packet)?;
    }
    file.flush()
}

/// Compressed input: the filter on top of the decoder, against the decoder alone.
fn compressed(report: &mut Report, sluss: &str, big: &str, folder: &Path) {
    for (tool, ending) in [("gzip", "gz"), ("zstd", "zst")] {
        let path = folder.join(format!("big.pcap.{ending}")).display().to_string();
        let made = Command::new(tool).args(["-q", "-k", "-f", big]).status();
        if !made.is_ok_and(|status| status.success()) {
            eprintln!("SKIPPED: the benchmark has no {tool} to compress with: install {tool} (Debian)");
            continue;
        }
        let own = std::env::current_exe().expect("a running program has a path").display().to_string();
        let output = folder.join("sluss.pcap").display().to_string();
        let peers: [Peer<'_>; 2] = [
            ("sluss filter", Box::new(|| command(sluss, &["filter", FILTER, &path, "-o", &output]))),
            ("the decoder, draining", Box::new(|| command(&own, &["--drain", &path]))),
        ];
        let usages = interleaved(&peers, || same_bytes(folder, "floor.pcap"));
        for ((name, _), usage) in peers.iter().zip(&usages) {
            tell(report, &format!("tcp port 80, {tool} input"), name, usage);
        }
        let ratio = cpu_ratio(&usages[0], &usages[1]);
        report.ratio(SUITE, format!("CPU, {tool} input: sluss / decoder"), ratio, Some(Target::AtMost(1.2)));
    }
}

/// What a tiny job costs: mostly the start of the process.
fn start_to_end(report: &mut Report, sluss: &str, folder: &Path) {
    let tiny = folder.join("tiny.pcap");
    let big = fs::read(folder.join("big.pcap")).unwrap_or_default();
    if fs::write(&tiny, &big[..24 + 16 + 60]).is_err() {
        return;
    }
    let tiny = tiny.display().to_string();
    let run = || measured("sluss", command(sluss, &["filter", "--count", "ip", &tiny]));
    let wall_ms = median((0..41).map(|_| run().wall_s * 1e3).collect());
    report.ratio(
        SUITE,
        "--count ip on a tiny file, ms from start to end",
        wall_ms,
        Some(Target::AtMost(5.0)),
    );
}
