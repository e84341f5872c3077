//! The programs in `examples/lua` do what their first lines say.

use crate::common::{self, code, run, signal, stderr, stdout};
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::Stdio;
use testkit::files::Scratch;
use testkit::netns::Namespace;

/// What `sluss run examples/lua/NAME ARGS…` prints.
fn printed(name: &str, arguments: &[&str]) -> String {
    let program = format!("examples/lua/{name}");
    let output = run(&[&["run", program.as_str()], arguments].concat());
    let (stdout, stderr) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{name}: {}\n{stdout}{stderr}", output.status);
    stdout.into_owned()
}

/// How many packets a capture has.
fn packets(path: &str) -> String {
    let output = run(&["filter", "--count", "", path]);
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

#[test]
fn spray_drops_every_other_packet() {
    let folder = Scratch::new();
    let to = folder.path("out.pcap").display().to_string();
    let all: u32 = packets("captures/web.pcap").parse().expect("a number");
    let told = printed("spray.lua", &["captures/web.pcap", &to]);
    assert!(told.contains(&format!("dropped {} packets\n", all / 2)), "{told}");
    assert_eq!(packets(&to), all.div_ceil(2).to_string());
}

/// A program in the form of Snabb's own: a module with a function `run`, and a report at the end.
const REPLAY: &str = "
module(..., package.seeall)
local pcap, raw = require('apps.pcap.pcap'), require('apps.socket.raw')
function run (parameters)
   local c = config.new()
   config.app(c, 'capture', pcap.PcapReader, parameters[1])
   config.app(c, 'playback', raw.RawSocket, parameters[2])
   config.link(c, 'capture.output -> playback.rx')
   engine.configure(c)
   engine.main({ duration = 1, report = { showlinks = true } })
end
";

/// The packets of a capture.
fn bytes(path: &Path) -> Vec<Vec<u8>> {
    let mut reader = capture::Reader::open(path).unwrap_or_else(|error| panic!("{error}"));
    let mut packets = Vec::new();
    while let Some(packet) = reader.next_packet().expect("a packet") {
        packets.push(packet.data.to_vec());
    }
    packets
}

/// What goes in at one end of a cable comes out at the other: each packet of a capture, in order.
#[test]
fn replay_sends_a_capture_to_an_interface() {
    let Some((_turn, [here, there])) = Namespace::some::<2>("replay_sends_a_capture_to_an_interface") else {
        return;
    };
    here.run(&format!("ip link add va type veth peer name vb netns {}", there.pid()));
    here.run("ip link set va up");
    there.run("ip link set vb up");
    let folder = Scratch::new();
    let (module, seen) = (folder.path("example_replay.lua"), folder.path("seen.pcap"));
    std::fs::write(&module, REPLAY).expect("a file");
    let sent = common::root().join("captures/web.pcap");
    let all = bytes(&sent);
    let example = common::root().join("examples/lua/replay.lua");
    for (program, told) in [
        (&example, format!("sent {} packets, ", all.len())),
        (&module, format!("{} sent on capture.output -> playback.rx (loss rate: 0%)", all.len())),
    ] {
        let mut listener = there.command(env!("CARGO_BIN_EXE_sluss"));
        listener.args(["filter", "-i", "vb", "-w", common::arg(&seen)]);
        let mut listener = listener.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("a process");
        let mut lines = BufReader::new(listener.stderr.take().expect("it is piped")).lines();
        assert!(lines.any(|line| line.expect("text").contains("listening on")), "it does not listen");

        let mut replay = here.command(env!("CARGO_BIN_EXE_sluss"));
        replay.args(["run", common::arg(program), common::arg(&sent), "va"]);
        let output = replay.env("SNABB_SHM_ROOT", folder.path("shm")).output().expect("the command starts");
        assert_eq!(code(&output), 0, "{}", stderr(&output));
        assert!(stdout(&output).contains(&told), "{told}: {}", stdout(&output));

        // The kernel keeps packets of a block that is not full for a while.
        std::thread::sleep(std::time::Duration::from_millis(400));
        signal(&listener, "INT");
        assert!(listener.wait().expect("it ends").success());
        assert!(
            bytes(&seen) == all,
            "{}: {} of {} packets",
            program.display(),
            bytes(&seen).len(),
            all.len()
        );
    }
}

#[test]
fn count_counts_by_protocol() {
    let counted = printed("count.lua", &["captures/mixed.pcap"]);
    let of = |filter: &str| {
        let output = run(&["filter", "--count", filter, "captures/mixed.pcap"]);
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    };
    for (name, filter) in [("tcp", "tcp"), ("udp", "udp and not tcp"), ("arp", "arp")] {
        assert!(counted.contains(&format!("{name:<6} {}\n", of(filter))), "{name}: {counted}");
    }
}

#[test]
fn dump_prints_a_line_for_each_packet() {
    let dumped = printed("dump.lua", &["captures/web.pcap", "tcp port 80"]);
    let first = dumped.lines().next().expect("a line");
    assert!(first.starts_with("1  ") && first.contains(" | tcp "), "{first}");
    assert!(dumped.lines().all(|line| line.contains("80 > ") || line.contains("> 80 ")), "{dumped}");
}

#[test]
fn pcap_copy_cuts_packets() {
    let folder = Scratch::new();
    let to = folder.path("out.pcap").display().to_string();
    let all = packets("captures/web.pcap");
    let told = printed("pcap-copy.lua", &["captures/web.pcap", &to, "60"]);
    assert!(told.starts_with(&format!("copied {all} packets, cut ")), "{told}");
    assert_eq!(run(&["filter", "--count", "greater 61", &to]).stdout, b"0\n");
    assert_eq!(packets(&to), all);
}

#[test]
fn counters_are_seen() {
    assert_eq!(printed("counters.lua", &["1000"]), "1000 packets, of both sizes: true\n");
}

#[test]
fn timers_run() {
    let told = printed("timers.lua", &[]);
    assert!(told.starts_with("the repeating timer ran between 5 and 10 times: "), "{told}");
}

#[test]
fn reconfigure_keeps_what_stays() {
    let told = "start with label one\nlabel one becomes two\nstill the same app: true\npackets in each part: true\nstop with label two\n";
    assert_eq!(printed("reconfigure.lua", &[]), told);
}

#[test]
fn a_program_without_arguments_says_what_it_wants() {
    for name in ["spray.lua", "replay.lua", "count.lua", "dump.lua", "pcap-copy.lua", "at-least.lua"] {
        let output = run(&["run", &format!("examples/lua/{name}")]);
        assert_eq!(output.status.code(), Some(2), "{name}");
        assert!(output.stdout.starts_with(b"usage: "), "{name}");
    }
}
