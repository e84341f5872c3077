//! The processes: what they may do, and that none is left.

use crate::faults::{signal, works};
use crate::{Test, absent};
use dpi::worker::{Options, Worker, WorkerError};
use std::collections::BTreeSet;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

pub(crate) const TESTS: &[Test] = &[
    ("the_worker_is_in_a_sandbox", the_worker_is_in_a_sandbox),
    ("an_idle_worker_uses_no_processor", an_idle_worker_uses_no_processor),
    ("nothing_is_left_of_a_worker", nothing_is_left_of_a_worker),
    ("workers_end_with_their_data_plane", workers_end_with_their_data_plane),
    ("the_warm_process_is_replaced", the_warm_process_is_replaced),
    ("the_thread_that_started_a_worker_may_end", the_thread_that_started_a_worker_may_end),
    ("a_library_that_is_absent_is_told", a_library_that_is_absent_is_told),
    ("a_program_without_the_call_is_told", a_program_without_the_call_is_told),
    ("nothing_is_linked_with_the_library", nothing_is_linked_with_the_library),
];

/// A line of `/proc/PID/status`.
fn status(pid: u32, name: &str) -> Option<String> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
    Some(line.trim().to_string())
}

fn parent(pid: u32) -> u32 {
    status(pid, "PPid").unwrap().parse().unwrap()
}

/// Whether a process runs: it exists, and is no zombie.
fn runs(pid: u32) -> bool {
    status(pid, "State").is_some_and(|state| !state.starts_with(['Z', 'X']))
}

fn eventually(what: &str, is_true: impl Fn() -> bool) {
    let begin = Instant::now();
    while !is_true() {
        assert!(begin.elapsed() < Duration::from_secs(5), "{what}");
        std::thread::sleep(Duration::from_millis(1));
    }
}

fn descriptors() -> BTreeSet<String> {
    let entries = std::fs::read_dir("/proc/self/fd").unwrap().flatten();
    entries.filter_map(|entry| Some(std::fs::read_link(entry.path()).ok()?.display().to_string())).collect()
}

fn the_worker_is_in_a_sandbox() {
    if absent() {
        return;
    }
    let worker = Worker::start(Options::default()).unwrap();
    let pid = worker.process_id().unwrap();
    assert_eq!(status(pid, "Seccomp").as_deref(), Some("2"));
    assert_eq!(status(pid, "NoNewPrivs").as_deref(), Some("1"));
    assert_eq!(status(pid, "Threads").as_deref(), Some("1"));
    assert_eq!(std::fs::read_dir(format!("/proc/{pid}/fd")).unwrap().count(), 0);
    let limits = std::fs::read_to_string(format!("/proc/{pid}/limits")).unwrap();
    let limit =
        |name: &str| limits.lines().find_map(|line| line.strip_prefix(name)).unwrap().trim().to_string();
    assert!(limit("Max open files").starts_with("0 "), "{limits}");
    assert!(limit("Max file size").starts_with("0 "), "{limits}");
    assert!(!limit("Max address space").starts_with("unlimited"), "{limits}");
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    let niceness: i32 = stat.rsplit_once(')').unwrap().1.split_whitespace().nth(16).unwrap().parse().unwrap();
    assert!(niceness >= 5, "{niceness}");
}

fn an_idle_worker_uses_no_processor() {
    if absent() {
        return;
    }
    let mut worker = Worker::start(Options::default()).unwrap();
    works(&mut worker, 0);
    std::thread::sleep(Duration::from_millis(20));
    let before = worker.cpu_seconds();
    assert!(before > 0.0);
    std::thread::sleep(Duration::from_millis(300));
    worker.poll(|_| ());
    let used = worker.cpu_seconds() - before;
    assert!(used < 0.003, "{used} s");
}

fn nothing_is_left_of_a_worker() {
    if absent() {
        return;
    }
    let before = descriptors();
    for _ in 0..3 {
        let mut worker = Worker::start(Options::default()).unwrap();
        works(&mut worker, 0);
        let pid = worker.process_id().unwrap();
        let warm = parent(pid);
        assert_eq!(parent(warm), std::process::id());
        drop(worker);
        assert!(status(warm, "State").is_none(), "the warm process was waited for");
        assert!(status(pid, "State").is_none(), "the worker was waited for");
    }
    assert_eq!(descriptors(), before);
}

/// What [`workers_end_with_their_data_plane`] runs: starts a worker, tells its process ids, and waits to be killed.
pub(crate) fn data_plane() {
    let worker = Worker::start(Options::default()).unwrap();
    let pid = worker.process_id().unwrap();
    println!("{pid} {}", parent(pid));
    std::thread::sleep(Duration::from_secs(60));
}

fn workers_end_with_their_data_plane() {
    if absent() {
        return;
    }
    let program = std::env::current_exe().unwrap();
    let mut data_plane = Command::new(program).arg("--data-plane").stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(data_plane.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let pids: Vec<u32> = line.split_whitespace().map(|word| word.parse().unwrap()).collect();
    assert!(pids.len() == 2 && pids.iter().all(|&pid| runs(pid)), "{line}");
    data_plane.kill().unwrap();
    data_plane.wait().unwrap();
    for pid in pids {
        eventually("the process ends", || !runs(pid));
    }
}

fn the_warm_process_is_replaced() {
    if absent() {
        return;
    }
    let mut worker = Worker::start(Options::default()).unwrap();
    let warm = parent(worker.process_id().unwrap());
    signal("-KILL", warm);
    eventually("the worker ends", || !worker.process_id().is_some_and(runs));
    works(&mut worker, 0);
    assert_ne!(parent(worker.process_id().unwrap()), warm);
    assert_eq!(worker.counters().respawns, 1);
    let replaced = worker.process_id().unwrap();
    drop(worker);
    assert!(!runs(replaced));
}

fn the_thread_that_started_a_worker_may_end() {
    if absent() {
        return;
    }
    let mut worker = std::thread::spawn(|| Worker::start(Options::default()).unwrap()).join().unwrap();
    std::thread::sleep(Duration::from_millis(20));
    works(&mut worker, 0);
    assert_eq!(worker.counters().respawns, 0);
}

fn start_with_library(library: &str) -> String {
    let before = descriptors();
    let options = Options { library: Some(library.into()), ..Options::default() };
    let Err(error) = Worker::start(options) else { panic!("{library} is none") };
    assert!(matches!(error, WorkerError::Ndpi(_)), "{error:?}");
    assert_eq!(descriptors(), before);
    error.to_string()
}

fn a_library_that_is_absent_is_told() {
    if absent() {
        return;
    }
    let told = start_with_library("libndpi-that-is-not-there.so.9");
    assert!(told.contains("cannot be loaded") && told.contains("libndpi-that-is-not-there.so.9"), "{told}");
    let told = start_with_library("libm.so.6");
    assert!(told.contains("lacks ndpi_revision"), "{told}");
}

fn a_program_without_the_call_is_told() {
    if absent() {
        return;
    }
    let options = Options { program: Some("/bin/true".into()), ..Options::default() };
    assert!(matches!(Worker::start(options), Err(WorkerError::NoAnswer)));
    let options = Options { program: Some("/nonexistent".into()), ..Options::default() };
    assert!(matches!(Worker::start(options), Err(WorkerError::Start(_))));
    let options = Options { jobs: 3, ..Options::default() };
    assert!(matches!(Worker::start(options), Err(WorkerError::Options)));
}

fn nothing_is_linked_with_the_library() {
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
    assert!(!maps.contains("libndpi"), "the library was loaded into the data plane");
}
