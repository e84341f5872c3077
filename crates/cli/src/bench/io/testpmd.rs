//! DPDK's own forwarding program, in the same modes: packets that it sends, by the CPU time of the thread that forwards.

use crate::args::ChainApp;
use std::fs;
use std::io::Write;
use std::process::{Child, Command, Stdio};
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
    command.args(if has_huge_pages { &["--in-memory"][..] } else { &["--no-huge", "--no-shconf", "-m", "512"] });
    command.args(["--vdev=net_null0,size=64,copy=0", "--vdev=net_null1,size=64,copy=0"]);
    let mode = if app == Some(ChainApp::Swap) { "macswap" } else { "io" };
    command.args(["--", "-i", &format!("--forward-mode={mode}"), "--burst=32"]);
    if !has_huge_pages {
        // By default it asks for more than there is.
        command.arg("--total-num-mbufs=16384");
    }
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().ok()?;
    let cpu_s = forward(&mut child);
    if cpu_s.is_none() {
        let _ = child.kill();
    }
    let output = child.wait_with_output().ok()?;
    let packets = sent(&String::from_utf8_lossy(&output.stdout))?;
    let mpps_per_cpu_s = packets as f64 / cpu_s? / 1e6;
    Some(Peer { name: "testpmd", mpps_per_cpu_s })
}

/// Lets it forward for a while, and end. Gives the CPU time of the thread that did.
fn forward(child: &mut Child) -> Option<f64> {
    let worker = worker(child)?;
    let mut stdin = child.stdin.take()?;
    // Until then it waits.
    let before = cpu_s(&worker)?;
    stdin.write_all(b"start\n").ok()?;
    sleep(WINDOW);
    stdin.write_all(b"stop\n").ok()?;
    // It has stopped once its time stands still.
    let begin = Instant::now();
    let mut last = cpu_s(&worker)?;
    let after = loop {
        sleep(Duration::from_millis(50));
        let now = cpu_s(&worker)?;
        if now - last < 0.001 {
            break now;
        }
        last = now;
        if begin.elapsed() > PATIENCE {
            return None;
        }
    };
    stdin.write_all(b"quit\n").ok()?;
    Some(after - before)
}

/// The folder of the thread that forwards, once the program waits for commands.
fn worker(child: &mut Child) -> Option<String> {
    let begin = Instant::now();
    while begin.elapsed() < PATIENCE && child.try_wait().ok()?.is_none() {
        let tasks = fs::read_dir(format!("/proc/{}/task", child.id())).ok()?.flatten();
        for task in tasks {
            let folder = task.path().to_string_lossy().into_owned();
            let name = fs::read_to_string(format!("{folder}/comm")).unwrap_or_default();
            // What releases of the last years call it.
            if ["rte-worker-1", "lcore-worker-1", "dpdk-worker1"].contains(&name.trim()) {
                sleep(Duration::from_millis(500));
                return Some(folder);
            }
        }
        sleep(Duration::from_millis(20));
    }
    None
}

fn cpu_s(task: &str) -> Option<f64> {
    let text = fs::read_to_string(format!("{task}/schedstat")).ok()?;
    Some(text.split_whitespace().next()?.parse::<u64>().ok()? as f64 / 1e9)
}

/// Packets that all ports have sent, as it says in the end.
fn sent(output: &str) -> Option<u64> {
    let (_, all) = output.split_once("Accumulated forward statistics for all ports")?;
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
