//! DPDK's own forwarding program, in the same modes: packets that it sends, by the CPU time of the thread that forwards.

use crate::args::ChainApp;
use std::fs;
use std::io::{Read, Write};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// How long it forwards.
const WINDOW: Duration = Duration::from_secs(2);
/// How long it may take to start, and to end.
const PATIENCE: Duration = Duration::from_secs(20);

/// What was measured of another program.
pub(super) struct Peer {
    pub(super) name: &'static str,
    pub(super) mpps_per_cpu_s: f64,
}

/// Runs it; `None` where it is not installed, or has failed.
pub(super) fn run(app: Option<ChainApp>, has_huge_pages: bool) -> Option<Peer> {
    let mut command = Command::new("dpdk-testpmd");
    command.args(["-l", "0,1", "--no-pci"]);
    command.args(if has_huge_pages {
        &["--in-memory"][..]
    } else {
        &["--no-huge", "--no-shconf", "-m", "512"]
    });
    command.args(["--vdev=net_null0,size=64,copy=0", "--vdev=net_null1,size=64,copy=0"]);
    let mode = if app == Some(ChainApp::Swap) { "macswap" } else { "io" };
    command.args(["--", "-i", &format!("--forward-mode={mode}"), "--burst=32"]);
    // By default it asks for more memory than a machine may have set aside.
    command.arg("--total-num-mbufs=16384");
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().ok()?;
    let said = Arc::new(Mutex::new(String::new()));
    let reader = child.stdout.take().map(|stdout| {
        let said = Arc::clone(&said);
        std::thread::spawn(move || listen(stdout, &said))
    });
    let cpu_s = forward(&mut child, &said);
    if cpu_s.is_none() {
        let _ = child.kill();
    }
    let _ = child.wait();
    reader?.join().ok()?;
    let packets = sent(&lock(&said))?;
    let mpps_per_cpu_s = packets as f64 / cpu_s.filter(|&cpu_s| cpu_s > 0.0)? / 1e6;
    (packets > 0).then_some(Peer { name: "testpmd", mpps_per_cpu_s })
}

/// Keeps all that it says.
fn listen(mut stdout: ChildStdout, said: &Mutex<String>) {
    let mut bytes = [0; 4096];
    while let Ok(count @ 1..) = stdout.read(&mut bytes) {
        lock(said).push_str(&String::from_utf8_lossy(&bytes[..count]));
    }
}

fn lock(said: &Mutex<String>) -> MutexGuard<'_, String> {
    said.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Waits until it has asked for a command so many times. What else it says comes late: it keeps that until it has enough.
fn await_prompt(child: &mut Child, said: &Mutex<String>, times: usize) -> Option<()> {
    let begin = Instant::now();
    while lock(said).matches("testpmd>").count() < times {
        if begin.elapsed() > PATIENCE || child.try_wait().ok()?.is_some() {
            return None;
        }
        sleep(Duration::from_millis(20));
    }
    Some(())
}

/// Lets it forward for a while, and end. Gives the CPU time of the thread that did.
fn forward(child: &mut Child, said: &Mutex<String>) -> Option<f64> {
    let mut stdin = child.stdin.take()?;
    await_prompt(child, said, 1)?;
    let worker = worker(child)?;
    let before = cpu_s(&worker)?;
    stdin.write_all(b"start\n").ok()?;
    sleep(WINDOW);
    stdin.write_all(b"stop\n").ok()?;
    await_prompt(child, said, 3)?;
    let after = cpu_s(&worker)?;
    stdin.write_all(b"quit\n").ok()?;
    Some(after - before)
}

/// What stands before the sums in the end.
const TOTAL: &str = "Accumulated forward statistics for all ports";

/// The folder of the thread that forwards.
fn worker(child: &Child) -> Option<String> {
    let tasks = fs::read_dir(format!("/proc/{}/task", child.id())).ok()?.flatten();
    let mut folders = tasks.map(|task| task.path().to_string_lossy().into_owned());
    folders.find(|folder| {
        let name = fs::read_to_string(format!("{folder}/comm")).unwrap_or_default();
        // What releases of the last years call it.
        ["rte-worker-1", "lcore-worker-1", "dpdk-worker1"].contains(&name.trim())
    })
}

fn cpu_s(task: &str) -> Option<f64> {
    let text = fs::read_to_string(format!("{task}/schedstat")).ok()?;
    Some(text.split_whitespace().next()?.parse::<u64>().ok()? as f64 / 1e9)
}

/// Packets that all ports have sent, as it says in the end.
fn sent(output: &str) -> Option<u64> {
    let (_, all) = output.split_once(TOTAL)?;
    let (_, rest) = all.split_once("TX-packets:")?;
    rest.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::sent;

    #[test]
    fn what_testpmd_says_in_the_end() {
        let text = "  RX-packets: 5 TX-packets: 6\n +++ Accumulated forward statistics for all ports+++\n  \
                    RX-packets: 1200           RX-dropped: 0             RX-total: 1200\n  \
                    TX-packets: 1184           TX-dropped: 0             TX-total: 1184\n";
        assert_eq!((sent(text), sent("TX-packets: 3")), (Some(1184), None));
    }
}
