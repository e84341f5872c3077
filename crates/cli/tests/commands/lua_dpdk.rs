//! Programs in Lua over devices of DPDK, on one worker and on two. Skipped aloud where DPDK is not there.

use crate::common::{code, run, say, sluss, stderr, stdout};
use testkit::files::Scratch;

/// What `sluss run examples/lua/dpdk/NAME ARGUMENTS…` prints, on so many workers; `None` where DPDK is not there.
fn printed(workers: &str, name: &str, arguments: &[&str]) -> Option<String> {
    if let Err(why) = io::dpdk::version() {
        say(&format!("SKIPPED: {name}: {why}: install libdpdk-dev (Debian), `make packages-dpdk`"));
        return None;
    }
    let folder = Scratch::new();
    let program = format!("examples/lua/dpdk/{name}");
    let mut command = sluss(&[&["run", "--workers", workers, &program], arguments].concat());
    let output = command.env("SNABB_SHM_ROOT", folder.path("shm")).output().expect("the command starts");
    assert_eq!(code(&output), 0, "{name}: {}{}", stdout(&output), stderr(&output));
    Some(stdout(&output))
}

/// The packets of a capture.
fn packets(path: &str) -> Vec<Vec<u8>> {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path);
    let mut reader = capture::Reader::open(&path).unwrap_or_else(|error| panic!("{error}"));
    let mut packets = Vec::new();
    while let Some(packet) = reader.next_packet().unwrap() {
        packets.push(packet.data.to_vec());
    }
    packets
}

/// How many packets of a capture match.
fn number(path: &str, filter: &str) -> u64 {
    stdout(&run(&["filter", "--count", filter, path])).trim().parse().expect("a number")
}

// DPDK takes some tenths of a second to start, which count in the seconds that programs run.
const DHCP: &str = "captures/dhcp.pcap";
const GRE: &str = "captures/gre.pcap";

#[test]
fn packets_of_two_devices_are_counted() {
    for workers in ["1", "2"] {
        let devices = [DHCP, GRE].map(|path| format!("rx_pcap={path}"));
        let devices = [format!("net_pcap0,{}", devices[0]), format!("net_pcap1,{}", devices[1])];
        let Some(told) = printed(workers, "packet_count.lua", &[&devices[0], &devices[1], "1.5"]) else {
            return;
        };
        for (name, path) in [("counter1", DHCP), ("counter2", GRE)] {
            assert!(told.contains(&format!("{name}: {} packets, ", number(path, ""))), "{workers}: {told}");
        }
    }
}

#[test]
fn packets_go_around_in_a_ring() {
    let mut sums = Vec::new();
    for workers in ["1", "2"] {
        let Some(told) = printed(workers, "packet_loop.lua", &[DHCP, "net_ring0", "net_ring0", "1.5"]) else {
            return;
        };
        assert!(told.starts_with(&format!("{} packets, sum ", number(DHCP, ""))), "{workers}: {told}");
        sums.push(told);
    }
    assert_eq!(sums[0], sums[1]);
}

#[test]
fn packets_are_sent_back_and_replayed() {
    for workers in ["1", "2"] {
        let folder = Scratch::new();
        let out = |name: &str| folder.path(name).display().to_string();
        let (echo, replay) = (out("echo.pcap"), out("replay.pcap"));
        let device = format!("net_pcap0,rx_pcap={GRE},tx_pcap={echo}");
        if printed(workers, "echo.lua", &[&device, "3", "1.5"]).is_none() {
            return;
        }
        assert!(packets(&echo) == packets(GRE), "{workers} workers");
        printed(workers, "replay.lua", &[DHCP, &format!("net_pcap0,tx_pcap={replay}"), "1.5"]);
        assert!(packets(&replay) == packets(DHCP), "{workers} workers");
    }
}

#[test]
fn packets_are_made_and_sent() {
    for workers in ["1", "2"] {
        let folder = Scratch::new();
        let out = folder.path("out.pcap").display().to_string();
        let Some(told) = printed(workers, "pktgen.lua", &[&format!("net_pcap0,tx_pcap={out}"), "1"]) else {
            return;
        };
        let all = number(&out, "");
        assert!(
            all > 100 && all == number(&out, "udp src port 2000 and dst port 3000 and len = 60"),
            "{workers}: {all}"
        );
        assert!(told.contains("DPDKDevice 'dpdk' sent "), "{workers}: {told}");
    }
}

/// As programs for libmoon have them.
#[test]
fn devices_have_numbers() {
    if io::dpdk::version().is_err() {
        return say("SKIPPED: devices_have_numbers: DPDK is not there");
    }
    let run = |devices: &str, number: &str| {
        let folder = Scratch::new();
        let mut command = sluss(&["run", "examples/lua/dpdk/pktgen.lua", number, "0.1"]);
        command.env("SNABB_SHM_ROOT", folder.path("shm")).env("SLUSS_DPDK_DEVICES", devices).output().unwrap()
    };
    let output = run("net_null0;net_null1,size=60", "1");
    assert!(code(&output) == 0 && stdout(&output).contains("DPDKDevice 'dpdk' sent "), "{}", stderr(&output));
    let output = run("net_null0", "1");
    assert_eq!(code(&output), 1);
    assert!(stderr(&output).contains("there is no device 1: SLUSS_DPDK_DEVICES"), "{}", stderr(&output));
}
