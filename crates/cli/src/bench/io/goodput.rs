//! TCP over a queue of the kernel: bytes a second that arrive while sluss accepts its packets, and while the least C does, in turns.
//!
//! ```text
//!   sender ──► OUTPUT: a rule gives packets to the queue ──► sluss, or C ──► accepted ──► receiver
//! ```
//! All of it is on the loopback device of the namespace, with packets as on an Ethernet.

use super::{QUEUE_OF_TCP, TCP_PORT, quantile};
use crate::exit::Failure;
use engine::{Config, Engine, Graph, Settings};
use io::Nfqueue;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, JoinHandle, sleep};
use std::time::{Duration, Instant};

const SOURCE: &str = include_str!("accept_all.c");
/// What it is called in results.
pub(super) const PEER: &str = "accept-all in C";

/// How long a connection runs before bytes are counted, and how long they are.
const WARM_UP: Duration = Duration::from_millis(300);
const TURN: Duration = Duration::from_secs(1);
/// How long a connection may take to come about.
const CONNECT_MAX: Duration = Duration::from_secs(3);
/// How long a thread waits for its socket before it looks whether it is to end.
const LOOK: Duration = Duration::from_millis(100);

/// Gigabits a second that arrived, the medians of all turns.
pub(super) struct Goodput {
    pub(super) gbit_s: f64,
    /// Of the peer, and the median of how many times as much sluss had in turns next to each other; `None` where there is no C compiler.
    pub(super) peer: Option<(f64, f64)>,
}

/// Measures so many turns of each. To be called in the namespace.
pub(super) fn run(turns: u16) -> Result<Goodput, Failure> {
    let no_tcp = |error: std::io::Error| Failure::world(format_args!("no TCP in the namespace: {error}"));
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, TCP_PORT)).map_err(no_tcp)?;
    let peer = Program::compile();
    let (mut ours, mut theirs, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..turns {
        let our = with_sluss(&listener)?;
        ours.push(our);
        let Some(peer) = &peer else { continue };
        let their = peer.accept(&listener).map_err(no_tcp)?;
        theirs.push(their);
        ratios.push(our / their);
    }
    let median = |mut values: Vec<f64>| {
        values.sort_by(f64::total_cmp);
        quantile(&values, 0.5)
    };
    let peer = peer.is_some().then(|| (median(theirs), median(ratios)));
    Ok(Goodput { gbit_s: median(ours), peer })
}

/// Gigabits a second while a graph accepts all packets.
fn with_sluss(listener: &TcpListener) -> Result<f64, Failure> {
    let mut graph = Graph::new();
    let queue = Nfqueue { queue: Some(QUEUE_OF_TCP), changes: false, ..Nfqueue::default() };
    let refused = |error: &dyn std::fmt::Display| Failure::internal(format!("{error}"));
    graph.add("queue", Config::new(queue)).map_err(|error| refused(&error))?;
    graph.link("queue.output -> queue.input").map_err(|error| refused(&error))?;
    let settings = Settings::new().map_err(Failure::no_engine)?;
    let mut engine = Engine::new(Settings { workers: 1, ..settings }).map_err(Failure::no_engine)?;
    engine.configure(&graph).map_err(|error| Failure::configuring(&error))?;
    let no_tcp = |error: std::io::Error| Failure::world(format_args!("no TCP in the namespace: {error}"));
    let flow = Flow::begin(listener).map_err(no_tcp)?;
    let mut run_for = |time| engine.run_for(time).map_err(Failure::no_engine);
    run_for(WARM_UP)?;
    let (before, begin) = (flow.arrived(), Instant::now());
    run_for(TURN)?;
    let rate = gbit_s(flow.arrived() - before, begin.elapsed());
    flow.end();
    engine.stop();
    Ok(rate)
}

fn gbit_s(bytes: u64, time: Duration) -> f64 {
    bytes as f64 * 8e-9 / time.as_secs_f64()
}

/// The program in C, compiled into a folder of its own.
struct Program {
    folder: PathBuf,
}

impl Program {
    /// `None` without a C compiler.
    fn compile() -> Option<Self> {
        let folder = std::env::temp_dir().join(format!("sluss-accept-all-{}", std::process::id()));
        fs::create_dir_all(&folder).ok()?;
        let program = Program { folder };
        let source = program.folder.join("accept_all.c");
        fs::write(&source, SOURCE).ok()?;
        let mut compiler = Command::new("cc");
        compiler.arg("-O2").arg("-o").arg(program.path()).arg(&source);
        let compiled = compiler.stdout(Stdio::null()).stderr(Stdio::null()).status();
        compiled.is_ok_and(|status| status.success()).then_some(program)
    }

    fn path(&self) -> PathBuf {
        self.folder.join("accept_all")
    }

    /// Gigabits a second while it accepts all packets.
    fn accept(&self, listener: &TcpListener) -> std::io::Result<f64> {
        let running = Running::start(&self.path())?;
        let flow = Flow::begin(listener)?;
        sleep(WARM_UP);
        let (before, begin) = (flow.arrived(), Instant::now());
        sleep(TURN);
        let rate = gbit_s(flow.arrived() - before, begin.elapsed());
        flow.end();
        drop(running);
        Ok(rate)
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// The program, which has the queue.
struct Running(Child);

impl Running {
    fn start(path: &Path) -> std::io::Result<Self> {
        let mut command = Command::new(path);
        command.arg(QUEUE_OF_TCP.to_string()).stdin(Stdio::null()).stdout(Stdio::piped());
        let mut running = Running(command.stderr(Stdio::null()).spawn()?);
        let mut line = String::new();
        if let Some(stdout) = running.0.stdout.take() {
            BufReader::new(stdout).read_line(&mut line)?;
        }
        if line.trim() == "ready" {
            Ok(running)
        } else {
            Err(std::io::Error::other(format!("{PEER} does not get queue {QUEUE_OF_TCP}")))
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A connection over which bytes go, as many as can.
struct Flow {
    arrived: Arc<AtomicU64>,
    is_over: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl Flow {
    /// Begins with a thread that sends and one that receives. The connection comes about when somebody accepts its packets.
    fn begin(listener: &TcpListener) -> std::io::Result<Self> {
        let listener = listener.try_clone()?;
        listener.set_nonblocking(true)?;
        let mut flow = Flow { arrived: Arc::default(), is_over: Arc::default(), threads: Vec::new() };
        let (arrived, is_over) = (Arc::clone(&flow.arrived), Arc::clone(&flow.is_over));
        flow.threads.push(thread::spawn(move || {
            let to = (Ipv4Addr::LOCALHOST, TCP_PORT).into();
            let Ok(mut stream) = TcpStream::connect_timeout(&to, CONNECT_MAX) else { return };
            let _ = stream.set_write_timeout(Some(LOOK));
            let block = vec![7; 256 << 10];
            while !is_over.load(Ordering::Relaxed) {
                let _ = stream.write(&block);
            }
        }));
        let is_over = Arc::clone(&flow.is_over);
        flow.threads.push(thread::spawn(move || {
            let Some(mut stream) = accept(&listener, &is_over) else { return };
            let _ = stream.set_read_timeout(Some(LOOK));
            let mut block = vec![0; 256 << 10];
            while !is_over.load(Ordering::Relaxed) {
                let count = stream.read(&mut block).unwrap_or(0);
                arrived.fetch_add(count as u64, Ordering::Relaxed);
            }
        }));
        Ok(flow)
    }

    fn arrived(&self) -> u64 {
        self.arrived.load(Ordering::Relaxed)
    }

    /// Ends it, while its packets are still accepted.
    fn end(self) {
        self.is_over.store(true, Ordering::Relaxed);
        self.threads.into_iter().for_each(|thread| drop(thread.join()));
    }
}

/// Waits for the connection.
fn accept(listener: &TcpListener, is_over: &AtomicBool) -> Option<TcpStream> {
    while !is_over.load(Ordering::Relaxed) {
        match listener.accept() {
            Ok((stream, _)) => return Some(stream),
            Err(_) => sleep(Duration::from_millis(5)),
        }
    }
    None
}
