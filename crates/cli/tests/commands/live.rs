//! `sluss filter -i`, on devices of namespaces of the tests' own, beside tcpdump.

use crate::common::{self, arg, say, scratch, signal};
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;
use testkit::netns::Namespace;

/// Longer than the kernel keeps packets of a block that is not full.
const SETTLED: Duration = Duration::from_millis(400);

/// Two namespaces with a cable between them.
fn cable(test: &str) -> Option<(testkit::netns::Turn, [Namespace; 2])> {
    if Command::new("tcpdump").arg("--version").output().is_err() {
        say(&format!("SKIPPED: {test} needs `tcpdump`: install tcpdump (Debian)"));
        return None;
    }
    let (turn, [a, b]) = Namespace::some_with_ping::<2>(test)?;
    a.run(&format!("ip link add va type veth peer name vb netns {}", b.pid()));
    for (here, device, end) in [(&a, "va", "1"), (&b, "vb", "2")] {
        here.run("ip link set lo up");
        here.run(&format!("ip link set {device} up"));
        here.run(&format!("ip address add 10.9.0.{end}/24 dev {device}"));
        // No question in between whether a neighbour is still there: of two captures only one may have begun.
        here.run(&format!("sysctl -qw net.ipv4.neigh.{device}.base_reachable_time_ms=3600000"));
    }
    Some((turn, [a, b]))
}

/// A capture that runs.
struct Capture {
    child: Child,
    stderr: BufReader<std::process::ChildStderr>,
    /// What it has said until it listened.
    said: String,
}

impl Capture {
    fn start(mut command: Command, args: &[&str]) -> Capture {
        command.args(args).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut stderr = BufReader::new(child.stderr.take().unwrap());
        let mut said = String::new();
        while !said.contains("listening on") && stderr.read_line(&mut said).unwrap() > 0 {}
        assert!(said.contains("listening on"), "{args:?}: {said}");
        Capture { child, stderr, said }
    }

    fn sluss(namespace: &Namespace, args: &[&str]) -> Capture {
        let mut command = namespace.command(env!("CARGO_BIN_EXE_sluss"));
        command.arg("filter");
        Capture::start(command, args)
    }

    fn tcpdump(namespace: &Namespace, args: &[&str]) -> Capture {
        let mut command = namespace.command("tcpdump -n -U");
        command.args(["-Z", "root"]);
        Capture::start(command, args)
    }

    /// The end, after a signal.
    fn end(self, name: &str) -> Output {
        std::thread::sleep(SETTLED);
        signal(&self.child, name);
        self.wait()
    }

    fn wait(mut self) -> Output {
        let mut said = std::mem::take(&mut self.said);
        let mut output = self.child.wait_with_output().unwrap();
        self.stderr.read_to_string(&mut said).unwrap();
        output.stderr = said.into_bytes();
        output
    }
}

fn code(output: &Output) -> i32 {
    output.status.code().expect("it ends by itself")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Packets of a capture, without their times.
fn packets(path: &Path) -> Vec<String> {
    let output = Command::new("tcpdump").args(["-ntxxr", arg(path)]).output().unwrap();
    let text = text(&output.stdout);
    let mut packets: Vec<String> = Vec::new();
    for line in text.lines() {
        match packets.last_mut() {
            Some(packet) if line.starts_with('\t') => packet.push_str(line),
            _ => packets.push(line.to_owned()),
        }
    }
    packets
}

/// Frames with VLAN tags, some with two, and others. In those that come the kernel takes the outer tag out, in those that leave it does not.
fn send(from: &Namespace, device: &str) {
    for capture in ["vlan", "qinq", "web"] {
        let mut command = from.command(env!("CARGO_BIN_EXE_sluss"));
        command.args([
            "blast",
            "--to",
            device,
            "--rate",
            "20000",
            "--loop",
            "1",
            &format!("captures/{capture}.pcap"),
        ]);
        let output = command.current_dir(common::root()).output().unwrap();
        assert_eq!(code(&output), 0, "{}", text(&output.stderr));
    }
}

/// Waits until files grow no more: on a busy machine, captures come late.
fn settle(files: &[&Path]) {
    let sizes =
        || files.iter().map(|file| std::fs::metadata(file).map_or(0, |file| file.len())).collect::<Vec<_>>();
    let mut before = sizes();
    for _ in 0..100 {
        std::thread::sleep(SETTLED);
        let now = sizes();
        if now == before {
            return;
        }
        before = now;
    }
}

fn ping(from: &Namespace) {
    for to in ["10.9.0.2", "10.9.0.1"] {
        from.run(&format!("ping -q -c 3 -i 0.05 -W 2 {to}"));
    }
}

#[test]
fn what_is_captured_is_what_tcpdump_captures() {
    let Some((_turn, [a, b])) = cable("what_is_captured_is_what_tcpdump_captures") else { return };
    let folder = scratch("live");
    for (number, (flags, filter, place)) in [
        (&["-i", "va"][..], "", "there is no filter"),
        (&["-i", "va"], "icmp", "in the kernel"),
        (&["-i", "va", "-p", "-Q", "in"], "icmp or arp", "in the kernel"),
        (&["-i", "va", "-Q", "out"], "ip host 10.9.0.2", "in the kernel"),
        (&["-i", "va", "-s", "60"], "icmp[icmptype] = icmp-echo", "in the kernel"),
        (&["-i", "va"], "vlan and icmp", "runs here: it asks for VLAN tags"),
        (&["-i", "va"], "not icmp", "in the kernel"),
        (&["-i", "lo"], "icmp", "in the kernel"),
        (&["-i", "any"], "icmp", "in the kernel"),
        (&["-i", "any"], "greater 20", "runs here"),
        (&["-i", "va", "-B", "512"], "len <= 98", "in the kernel"),
        (&["-i", "va"], "vlan and vlan", "runs here"),
        (&["-i", "va"], "tcp port 80", "in the kernel"),
        (&["-i", "va"], "ether[12:2] = 0x8100", "in the kernel"),
        (&["-i", "va", "-s", "30"], "not tcp", "in the kernel"),
    ]
    .into_iter()
    .enumerate()
    {
        let [ours, all, theirs] =
            ["ours", "all", "theirs"].map(|name| folder.join(format!("{name}-{number}.pcap")));
        let sluss = Capture::sluss(&a, &[&["-w", arg(&ours)], flags, &[filter]].concat());
        let tcpdump = Capture::tcpdump(&a, &[&["-w", arg(&all)], flags].concat());
        assert!(sluss.said.contains(place), "{flags:?} {filter}: {}", sluss.said);
        ping(&a);
        send(&a, "va");
        send(&b, "vb");
        settle(&[&ours, &all]);
        let (sluss, tcpdump) = (sluss.end("INT"), tcpdump.end("INT"));
        assert_eq!(code(&sluss), 0, "{flags:?} {filter}: {}", text(&sluss.stderr));
        assert!(sluss.stdout.is_empty(), "{flags:?}: lines beside a file");
        // A filter in a kernel that has taken tags out means something else to tcpdump than one of a file.
        let filtered =
            Command::new("tcpdump").args(["-r", arg(&all), "-w", arg(&theirs), filter]).output().unwrap();
        assert!(filtered.status.success(), "{}", text(&filtered.stderr));
        let (ours, theirs) = (packets(&ours), packets(&theirs));
        let differs = ours.iter().zip(&theirs).find(|(ours, theirs)| ours != theirs);
        let numbers = (ours.len(), theirs.len());
        assert!(
            ours == theirs && !ours.is_empty(),
            "{flags:?} {filter}: {numbers:?} {differs:#?}\n{}\n{}",
            text(&sluss.stderr),
            text(&tcpdump.stderr)
        );
    }
}

#[test]
fn a_filter_reads_beyond_what_is_kept() {
    let Some((_turn, [a, b])) = cable("a_filter_reads_beyond_what_is_kept") else { return };
    let folder = scratch("live-cut");
    for (number, (filter, place)) in [
        ("", "there is no filter"),
        ("icmp[icmptype] = icmp-echo", "in the kernel"),
        ("vlan and icmp", "runs here"),
        ("tcp port 80", "in the kernel"),
    ]
    .into_iter()
    .enumerate()
    {
        let [ours, all, cut] =
            ["ours", "all", "cut"].map(|name| folder.join(format!("{name}-{number}.pcap")));
        let sluss = Capture::sluss(&a, &["-i", "va", "-s", "20", "-w", arg(&ours), filter]);
        let tcpdump = Capture::tcpdump(&a, &["-i", "va", "-w", arg(&all)]);
        assert!(sluss.said.contains(place) && sluss.said.contains("snap length 20;"), "{}", sluss.said);
        ping(&a);
        send(&a, "va");
        send(&b, "vb");
        settle(&[&ours, &all]);
        let (sluss, _) = (sluss.end("INT"), tcpdump.end("INT"));
        assert_eq!(code(&sluss), 0, "{filter}: {}", text(&sluss.stderr));
        let mut command = Command::new(env!("CARGO_BIN_EXE_sluss"));
        let output =
            command.args(["filter", "-s", "20", "-o", arg(&cut), filter, arg(&all)]).output().unwrap();
        assert_eq!(code(&output), 0, "{filter}: {}", text(&output.stderr));
        let bytes = std::fs::read(&ours).unwrap();
        let (ours, cut) = (packets(&ours), packets(&cut));
        assert!(ours == cut && !ours.is_empty(), "{filter}: {} {}", ours.len(), cut.len());
        assert_eq!(bytes.len(), 24 + ours.len() * (16 + 20), "{filter}: a header, and 20 bytes of each");
        assert_eq!(bytes[16..20], 20_u32.to_ne_bytes(), "{filter}: the snap length");
    }
}

/// What tcpdump compiles for a device asks for tags as only the kernel can answer.
#[test]
fn a_program_that_asks_the_kernel_runs_there() {
    let Some((_turn, [a, b])) = cable("a_program_that_asks_the_kernel_runs_there") else { return };
    let folder = scratch("live-bytecode");
    let [program, ours, theirs] = ["program.ddd", "ours.pcap", "theirs.pcap"].map(|name| folder.join(name));
    let filter = "vlan and icmp";
    let compiled = a.command("tcpdump -i va -ddd").arg(filter).output().unwrap();
    std::fs::write(&program, &compiled.stdout).unwrap();
    let sluss = Capture::sluss(&a, &["-w", arg(&ours), "-i", "va", "--bytecode", arg(&program)]);
    assert!(sluss.said.contains("; the program runs in the kernel ("), "{}", sluss.said);
    let tcpdump = Capture::tcpdump(&a, &["-w", arg(&theirs), "-i", "va", filter]);
    ping(&a);
    send(&b, "vb");
    settle(&[&ours, &theirs]);
    let (sluss, _) = (sluss.end("INT"), tcpdump.end("INT"));
    assert_eq!(code(&sluss), 0, "{}", text(&sluss.stderr));
    let (ours, theirs) = (packets(&ours), packets(&theirs));
    assert!(ours == theirs && !ours.is_empty(), "{} {}", ours.len(), theirs.len());
    // A file has no kernel beside it, and packets of all devices have no one link header.
    for place in [&["captures/vlan.pcap"][..], &["-i", "any", "-c", "1"]] {
        let mut command = a.command(env!("CARGO_BIN_EXE_sluss"));
        command.args(["filter", "--bytecode", arg(&program)]).args(place).current_dir(common::root());
        let output = command.output().unwrap();
        assert_eq!(code(&output), 2);
        assert!(text(&output.stderr).contains("VLAN tag present"), "{}", text(&output.stderr));
    }
}

#[test]
fn a_signal_and_a_number_are_a_normal_end() {
    let Some((_turn, [a, _b])) = cable("a_signal_and_a_number_are_a_normal_end") else { return };
    for (name, filter, expected) in
        [("INT", "icmp", 0), ("TERM", "icmp", 0), ("HUP", "icmp", 0), ("TERM", "sctp", 1)]
    {
        let capture = Capture::sluss(&a, &["-i", "va", filter]);
        a.run("ping -q -c 1 -W 2 10.9.0.2");
        let output = capture.end(name);
        assert_eq!(code(&output), expected, "{name} {filter}: {}", text(&output.stderr));
        let lines = text(&output.stdout).lines().count();
        assert_eq!(lines, if expected == 0 { 2 } else { 0 });
        let told = format!("{} packets captured\n", if expected == 0 { 2 } else { 0 });
        assert!(text(&output.stderr).contains(&told), "{}", text(&output.stderr));
    }
    let capture = Capture::sluss(&a, &["-ni", "va", "-c", "3", "--json", "icmp"]);
    a.run("ping -q -c 3 -i 0.05 -W 2 10.9.0.2");
    let output = capture.wait();
    assert_eq!(code(&output), 0);
    let numbers: Vec<serde_json::Value> =
        text(&output.stdout).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(numbers.len(), 3);
    assert!(numbers.iter().all(|packet| packet["file"] == "va" && packet["linktype"] == "EN10MB"));
    let summary = text(&output.stderr);
    let summary: serde_json::Value = serde_json::from_str(summary.lines().last().unwrap()).unwrap();
    let live = &summary["live"];
    assert_eq!((&live["filter_at"], &live["kernel_drops"]), (&"kernel".into(), &0.into()), "{summary}");
    let sum = ["read", "kernel_drops", "unread"].map(|name| live[name].as_u64().unwrap()).iter().sum::<u64>();
    assert_eq!(live["received"].as_u64(), Some(sum), "{summary}");
    // Lines beside a file.
    let out = scratch("live-print").join("out.pcap");
    let capture = Capture::sluss(&a, &["-i", "va", "-lUw", arg(&out), "--print", "-c", "2", "icmp"]);
    a.run("ping -q -c 1 -W 2 10.9.0.2");
    let output = capture.wait();
    assert_eq!((code(&output), text(&output.stdout).lines().count(), packets(&out).len()), (0, 2, 2));
}

#[test]
fn files_rotate_as_those_of_tcpdump() {
    let Some((_turn, [a, _b])) = cable("files_rotate_as_those_of_tcpdump") else { return };
    let folder = scratch("live-rotation");
    // tcpdump that is asked for less than a million bytes is of another time: sizes are counted in packets that are large.
    let names = |name: &str| {
        let entries = std::fs::read_dir(folder.join(name)).unwrap();
        let mut names: Vec<(String, usize)> = entries
            .map(|entry| entry.unwrap())
            .map(|entry| (entry.file_name().to_string_lossy().into_owned(), packets(&entry.path()).len()))
            .collect();
        names.sort();
        names
    };
    for args in [&["-C", "1"][..], &["-C", "1", "-W", "2"], &["-C", "1", "-W", "11"]] {
        for name in ["ours", "theirs"] {
            drop(std::fs::remove_dir_all(folder.join(name)));
            std::fs::create_dir(folder.join(name)).unwrap();
        }
        let [ours, theirs] = ["ours", "theirs"].map(|name| folder.join(name).join("out.pcap"));
        let sluss =
            Capture::sluss(&a, &[&["-i", "lo", "-B", "32768", "-w", arg(&ours)], args, &["icmp"]].concat());
        let tcpdump = Capture::tcpdump(
            &a,
            &[&["-i", "lo", "-B", "32768", "-w", arg(&theirs)], args, &["icmp"]].concat(),
        );
        a.run("ping -q -c 30 -i 0.01 -s 60000 -W 2 127.0.0.1");
        let (sluss, _) = (sluss.end("INT"), tcpdump.end("INT"));
        assert_eq!(code(&sluss), 0, "{}", text(&sluss.stderr));
        assert_eq!(names("ours"), names("theirs"), "{args:?}: {}", text(&sluss.stderr));
        assert!(names("ours").len() > 1, "{args:?}");
    }
    // By time: an end after so many files.
    let out = folder.join("t-%s.pcap");
    let capture = Capture::sluss(&a, &["-i", "lo", "-G", "1", "-W", "2", "-w", arg(&out), "icmp"]);
    let mut pings = a.command("ping -q -c 60 -i 0.1 127.0.0.1").stdout(Stdio::null()).spawn().unwrap();
    let output = capture.wait();
    drop(pings.kill());
    drop(pings.wait());
    assert_eq!(code(&output), 0, "{}", text(&output.stderr));
    let files: Vec<_> = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    let files: Vec<_> = files.iter().filter(|path| arg(path).contains("/t-")).collect();
    assert_eq!(files.len(), 2, "{files:?}");
    let written: usize = files.iter().map(|path| packets(path).len()).sum();
    assert!(
        text(&output.stderr).contains(&format!("{written} packets captured")),
        "{written}: {}",
        text(&output.stderr)
    );
}

#[test]
fn what_the_kernel_drops_is_told() {
    let Some((_turn, [a, _b])) = cable("what_the_kernel_drops_is_told") else { return };
    for (flags, expected) in [(&[][..], 0), (&["--max-loss", "0"], 5), (&["--max-loss", "100%"], 0)] {
        let capture =
            Capture::sluss(&a, &[&["-i", "lo", "-B", "1", "--json", "--count", "icmp"], flags].concat());
        // It stands still while more comes than the buffer has room for.
        signal(&capture.child, "STOP");
        a.run("ping -q -c 60 -i 0.005 -s 60000 -W 2 127.0.0.1");
        signal(&capture.child, "CONT");
        let output = capture.end("INT");
        assert_eq!(code(&output), expected, "{flags:?}: {}", text(&output.stderr));
        let summary: serde_json::Value = serde_json::from_str(text(&output.stdout).trim()).unwrap();
        let live = &summary["live"];
        assert!(live["kernel_drops"].as_u64() > Some(0), "{summary}");
        let sum =
            ["read", "kernel_drops", "unread"].map(|name| live[name].as_u64().unwrap()).iter().sum::<u64>();
        assert_eq!(live["received"].as_u64(), Some(sum), "{summary}");
    }
}

#[test]
fn a_device_that_goes_ends_the_capture() {
    let Some((_turn, [a, _b])) = cable("a_device_that_goes_ends_the_capture") else { return };
    let capture = Capture::sluss(&a, &["-i", "va", "icmp"]);
    a.run("ping -q -c 1 -W 2 10.9.0.2");
    std::thread::sleep(SETTLED);
    a.run("ip link delete va");
    let output = capture.wait();
    assert_eq!(code(&output), 5, "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains("the device is gone"), "{}", text(&output.stderr));
    assert_eq!(text(&output.stdout).lines().count(), 2);
}

#[test]
fn what_cannot_be_captured_is_told_before_anything_is_written() {
    let test = "what_cannot_be_captured_is_told_before_anything_is_written";
    let Some((_turn, [a])) = Namespace::some::<1>(test) else { return };
    let folder = scratch("live-errors");
    let out = folder.join("out.pcap");
    for (args, expected, words) in [
        (&["-i", "nix", "icmp"][..], 3, "there is no device nix"),
        (&["-i", "lo", "tcp prot 80"], 2, "PF003"),
        (&["-i", "lo", "captures/web.pcap"], 2, "is a capture, and packets come from lo"),
        (&["-i", "lo", "-r", "captures/web.pcap"], 2, "exclude each other"),
        (&["-i", "lo", "-W", "3"], 2, "nothing begins another one"),
        (&["-i", "lo", "-Q", "up"], 2, "in, out, inout"),
        (&["-i", "lo", "--max-loss", "much"], 2, "a share"),
        (&["-i", "lo", "-C", "0"], 2, "million bytes"),
        (&["-i", "lo", "-s", "300000"], 2, "whole number from 0 to 262144"),
    ] {
        let mut command = a.command(env!("CARGO_BIN_EXE_sluss"));
        command.arg("filter").args(args).args(["-w", arg(&out)]).current_dir(common::root());
        let output = command.output().unwrap();
        assert_eq!(code(&output), expected, "{args:?}: {}", text(&output.stderr));
        assert!(text(&output.stderr).contains(words), "{args:?}: {}", text(&output.stderr));
        assert!(!out.exists(), "{args:?}");
    }
    let listed = a.command(&format!("{} filter -D", env!("CARGO_BIN_EXE_sluss"))).output().unwrap();
    assert!(text(&listed.stdout).starts_with("1.lo") && text(&listed.stdout).contains("2.any"));
}
