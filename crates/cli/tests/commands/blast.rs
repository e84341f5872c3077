//! `sluss blast`: what it sends, and what it says of it.

use crate::common;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

fn capture(name: &str) -> String {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../captures").join(name).display().to_string()
}

fn blast(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_sluss")).arg("blast").args(args).output().expect("sluss")
}

/// The summary of a run that went well.
fn summary(args: &[&str]) -> Value {
    let output = blast(&[args, &["--json"]].concat());
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    let text = String::from_utf8(output.stdout).expect("UTF-8");
    let summary: Value = serde_json::from_str(text.lines().last().expect("a line")).expect("JSON");
    assert_eq!(
        (&summary["v"], &summary["type"], &summary["balanced"]),
        (&1.into(), &"blast".into(), &true.into())
    );
    assert_eq!(summary["drops"], serde_json::json!({}));
    summary
}

fn packets(path: &Path) -> Vec<Vec<u8>> {
    let mut reader = capture::Reader::open(path).expect("a capture");
    let mut packets = Vec::new();
    while let Some(packet) = reader.next_packet().expect("a packet") {
        packets.push(packet.data.to_vec());
    }
    packets
}

fn scratch(name: &str) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("blast-{}-{name}", std::process::id()))
}

#[test]
fn a_capture_is_sent_as_often_as_asked() {
    let out = scratch("thrice.pcap");
    let once = packets(Path::new(&capture("icmp.pcap")));
    let summary = summary(&[&capture("icmp.pcap"), "--loop", "3", "--to", &out.display().to_string()]);
    let sent = packets(&out);
    let _ = std::fs::remove_file(&out);
    assert_eq!(sent, [&once[..], &once[..], &once[..]].concat());
    assert_eq!(summary["packets"], sent.len());
    assert_eq!(summary["bytes"], sent.iter().map(Vec::len).sum::<usize>());
}

#[test]
fn packets_that_were_cut_are_told_once() {
    let [whole, cut] = ["whole.pcap", "cut.pcap"].map(scratch);
    let mut capture = common::pcap(1, 5);
    std::fs::write(&whole, &capture).expect("a file");
    // Of the second packet, as it was on the wire, 100 bytes.
    let second = 24 + (16 + 60);
    capture[second + 12..second + 16].copy_from_slice(&100_u32.to_le_bytes());
    std::fs::write(&cut, &capture).expect("a file");
    let copy = scratch("copy.pcap");
    let file = copy.display().to_string();
    // Only a device has no place for the length that a packet had.
    for (path, to, count) in [(&whole, "lo", 0), (&cut, "lo", 3), (&cut, "null", 0), (&cut, file.as_str(), 0)]
    {
        let path = path.display().to_string();
        let args = [&path, "--loop", "3", "--to", to, "--json"];
        let output = if to == "lo" {
            let Some(mut command) = in_own_network(Loopback::Up, &args) else { continue };
            command.output().expect("sluss")
        } else {
            blast(&args)
        };
        let summary: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        assert_eq!([&summary["cut"], &summary["packets"]], [count, 15], "{to}");
        assert_eq!(summary["offered"], serde_json::json!({ "packets": 15, "bytes": 900 }));
        let errors = common::stderr(&output);
        let told =
            format!("{path}: 3 of 15 packets were sent shorter than they had been: the capture has only");
        assert_eq!((errors.contains(&told), errors.lines().count()), (count > 0, usize::from(count > 0)));
        assert_eq!(output.status.code(), Some(0));
    }
    let mut reader = capture::Reader::open(&copy).expect("a capture");
    let mut lengths = Vec::new();
    while let Some(packet) = reader.next_packet().expect("a packet") {
        lengths.push(packet.wire_len);
    }
    assert_eq!(lengths, [60, 100, 60, 60, 60].repeat(3));
    [whole, cut, copy].iter().for_each(|path| drop(std::fs::remove_file(path)));
}

#[test]
fn made_up_packets_are_as_asked() {
    let out = scratch("made.pcapng");
    let to = out.display().to_string();
    let args = ["--synth", "--size", "64,200", "--count", "1000", "--vlan", "7", "--proto", "tcp", "--sport"];
    let summary = summary(&[&args[..], &["5-9", "--random", "--to", &to]].concat());
    let made = packets(&out);
    let _ = std::fs::remove_file(&out);
    assert_eq!((made.len(), &summary["packets"]), (1000, &1000.into()));
    assert_eq!(made.iter().filter(|packet| packet.len() == 64).count(), 500);
    assert!(made.iter().all(|packet| packet[12..16] == [0x81, 0, 0, 7]));
}

#[test]
fn packets_have_room_for_their_headers() {
    let args = ["--synth", "--src", "2001:db8::1", "--dst", "2001:db8::2", "--count", "10", "--to", "null"];
    let summary = summary(&args);
    assert_eq!((&summary["packets"], &summary["bytes"]), (&10.into(), &620.into()));
}

#[test]
fn made_up_packets_may_be_long() {
    let out = scratch("long.pcap");
    let to = out.display().to_string();
    summary(&["--synth", "--size", "65535,60,10241", "--count", "600", "--to", &to]);
    let made = packets(&out);
    let _ = std::fs::remove_file(&out);
    assert_eq!(made.iter().map(Vec::len).collect::<Vec<_>>(), [65_535, 60, 10_241].repeat(200));
    assert!(
        made[..3]
            .iter()
            .all(|packet| usize::from(packet[16]) << 8 | usize::from(packet[17]) == packet.len() - 14)
    );
}

#[test]
fn a_rate_and_a_duration_are_kept() {
    let summary = summary(&["--synth", "--to", "null", "--rate", "10kpps", "--duration", "500ms"]);
    let packets = summary["packets"].as_u64().expect("a number");
    // Less where the machine has other work, never more.
    assert!((100..=5100).contains(&packets), "{packets} packets");
    assert!(summary["seconds"].as_f64().expect("a number") >= 0.5);
}

#[test]
fn what_is_wrong_is_told_as_flags() {
    let raw = capture("raw.pcap");
    let no_ethernet =
        format!("error: {raw}: its packets are of link type RAW, and sluss-x0 takes Ethernet frames");
    let capture = capture("icmp.pcap");
    for (args, code, message) in [
        (&["none.pcap", "--to", "null"][..], 3, "error: none.pcap: cannot open"),
        (&[&raw, "--to", "tap:sluss-x0"], 2, no_ethernet.as_str()),
        (&[&raw, "--to", "none0"], 3, "error: there is no device none0"),
        (&[&capture, "--to", "none0"], 3, "error: there is no device none0"),
        (&[&capture, "--to", "out.pcap"], 2, "error: this would fill the disk with out.pcap: say how much"),
        (&[&capture, "--to", "null", "--rate", "fast"], 2, "error: --rate fast: write a number and a unit"),
        (&[&capture, "--to", "null", "--rate", "0pps"], 2, "error: --rate: 0 is not between"),
        (&["--synth", "--to", "null", "--size", "9"], 2, "error: --size: 9 is not between 42 and 65535"),
        (&["--synth", "--to", "null", "--sport", "x"], 2, "error: --sport: `x` is no port"),
        (&["--synth", "--to", ""], 2, "error: `--to ` has no name"),
        (&["--synth", "--to", "tap:"], 2, "error: `--to tap:` has no name: write `eth0`, `tap:NAME`"),
        (&["--to", "null"], 2, "error: no capture given\nhelp: `sluss blast trace.pcap"),
        (&[&capture, "--synth", "--to", "null"], 2, "`CAPTURE` and `--synth` exclude each other"),
        (&[&capture, "--size", "60", "--to", "null"], 2, "`CAPTURE` and `--size` exclude"),
    ] {
        let output = blast(args);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{args:?}: {errors}");
        assert!(errors.contains(message), "{args:?}: {errors}");
    }
}

/// Without an end, as long as nobody asks for one.
#[test]
fn what_is_on_no_disk_does_not_fill_it() {
    let child = common::sluss(&["blast", &capture("icmp.pcap"), "--to", "/dev/null"])
        .stderr(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    std::thread::sleep(std::time::Duration::from_millis(500));
    common::signal(&child, "INT");
    let output = child.wait_with_output().unwrap();
    assert_eq!(common::code(&output), 130, "{}", common::stderr(&output));
}

/// As often as it can, and no end of a capture is an end.
#[test]
fn forever_ends_with_a_whole_account() {
    let args = ["blast", &capture("icmp.pcap"), "--loop", "forever", "--to", "null", "--json"];
    let child = common::sluss(&args).stderr(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    std::thread::sleep(std::time::Duration::from_millis(500));
    common::signal(&child, "INT");
    let output = child.wait_with_output().unwrap();
    assert_eq!((common::code(&output), common::stderr(&output).as_str()), (130, ""));
    let last: Value = common::stdout(&output).lines().last().unwrap().parse().unwrap();
    assert!(last["packets"].as_u64() > Some(1000) && last["balanced"] == true, "{last}");
    let out = scratch("endless.pcap");
    let output = blast(&[&capture("icmp.pcap"), "--loop", "forever", "--to", &out.display().to_string()]);
    assert_eq!((common::code(&output), out.exists()), (2, false), "it would fill the disk");
    // An end that was asked for counts.
    let args = [&capture("icmp.pcap"), "--loop", "forever", "--count", "20", "--to", "null"];
    assert_eq!(summary(&args)["packets"], 20);
}

#[test]
fn a_capture_that_is_not_ethernet_is_refused_for_ethernet_devices_only() {
    let raw = capture("raw.pcap");
    if Path::new("/sys/class/net/lo/type").exists() {
        let output = blast(&[&raw, "--to", "lo", "--count", "1"]);
        let expected = format!(
            "error: {raw}: its packets are of link type RAW, and lo takes Ethernet frames (EN10MB)\n"
        );
        assert_eq!(
            (output.status.code(), String::from_utf8_lossy(&output.stderr)),
            (Some(2), expected.into())
        );
    } else {
        common::say("skipped in part: /sys does not tell what lo is");
    }
    let output = blast(&[&raw, "--to", "null", "--count", "1"]);
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(0), "{errors}");
    assert!(errors.starts_with(&format!("warning: {raw}: packets of link type RAW, which")), "{errors}");
}

/// In a network of its own, whose devices `/sys` tells of.
#[test]
fn a_tun_device_takes_ip_packets_only() {
    let script = "mount -t sysfs none /sys && ip tuntap add dev n0 mode tun && ip link set dev n0 up || exit 77\n\
                  for what in \"--synth\" \"$2\" \"$3\"; do \"$1\" blast \"$what\" --to n0 --count 3; echo $? >&2; done";
    let output = Command::new("unshare")
        .args(["--net", "--mount", "sh", "-c", script, "sh", env!("CARGO_BIN_EXE_sluss")])
        .args([capture("web.pcap"), capture("raw.pcap")])
        .output();
    let made = output.as_ref().is_ok_and(|output| output.status.success());
    let Some(output) = output.ok().filter(|_| made) else {
        common::say("skipped: a_tun_device_takes_ip_packets_only: cannot make a TUN device (needs root)");
        return;
    };
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    let lines: Vec<&str> = errors.lines().collect();
    let taken = "n0 takes IP packets without an Ethernet header (RAW)";
    assert_eq!(lines[0], format!("error: --synth makes Ethernet frames, and {taken}"));
    assert!(lines[2].ends_with(&format!(": its packets are of link type EN10MB, and {taken}")), "{errors}");
    assert_eq!((lines[1], lines[3], lines.last()), ("2", "2", Some(&"0")), "{errors}");
}

#[test]
fn a_capture_is_not_sent_into_itself() {
    let whole = std::fs::read(capture("icmp.pcap")).expect("a capture");
    let [path, link] = ["itself.pcap", "link.pcap"].map(scratch);
    std::fs::write(&path, &whole).expect("a file");
    let _ = std::fs::remove_file(&link);
    std::os::unix::fs::symlink(&path, &link).expect("a link");
    let names = [&path, &link].map(|path| path.display().to_string());
    for (from, to) in [(0, 0), (0, 1), (1, 0)] {
        for more in [&["--loop", "1"][..], &["--count", "3"], &[]] {
            let output = blast(&[&[&names[from][..], "--to", &names[to]], more].concat());
            let errors = String::from_utf8_lossy(&output.stderr);
            let expected = format!("--to {} is the capture that is read, {}: ", names[to], names[from]);
            assert!(output.status.code() == Some(2) && errors.contains(&expected), "{errors}");
            assert!(std::fs::read(&path).expect("a file") == whole);
        }
    }
    let output = Command::new(env!("CARGO_BIN_EXE_sluss"))
        .args(["blast", "-", "--loop", "1", "--to", &names[0]])
        .stdin(std::fs::File::open(&path).expect("a file"))
        .output()
        .expect("sluss");
    assert_eq!(output.status.code(), Some(2));
    assert!(std::fs::read(&path).expect("a file") == whole);
    [path, link].iter().for_each(|path| drop(std::fs::remove_file(path)));
}

#[test]
fn what_comes_through_a_pipe_is_sent_once() {
    let out = scratch("piped.pcap");
    for to in ["null", &out.display().to_string()] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_sluss"));
        let file = std::fs::File::open(capture("icmp.pcap")).expect("a capture");
        let output = command.args(["blast", "-", "--json", "--to", to]).stdin(file).output().expect("sluss");
        let summary: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        assert_eq!(summary["packets"], packets(Path::new(&capture("icmp.pcap"))).len());
    }
    let _ = std::fs::remove_file(&out);
}

#[test]
fn damage_is_told_after_what_stands_before_it() {
    let path = scratch("cut.pcap");
    let whole = std::fs::read(capture("icmp.pcap")).expect("a capture");
    std::fs::write(&path, &whole[..whole.len() - 1]).expect("a file");
    let output = blast(&[&path.display().to_string(), "--loop", "1", "--to", "null", "--json"]);
    let _ = std::fs::remove_file(&path);
    let summary: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(output.status.code(), Some(5));
    assert_eq!(summary["packets"], packets(Path::new(&capture("icmp.pcap"))).len() - 1);
    assert!(String::from_utf8_lossy(&output.stderr).contains("the file ends inside a packet record"));
}

/// How the loopback device is in a network of its own.
#[derive(Clone, Copy)]
enum Loopback {
    Down,
    Up,
}

/// `sluss blast` in a network of its own; `None` where no network can be made.
fn in_own_network(loopback: Loopback, args: &[&str]) -> Option<Command> {
    let before = match loopback {
        Loopback::Down => "true",
        Loopback::Up => "ip link set lo up",
    };
    let made = Command::new("unshare").args(["--net", "--map-root-user", "sh", "-c", before]).status();
    if !made.is_ok_and(|status| status.success()) {
        common::say("skipped: unshare cannot make a network");
        return None;
    }
    let mut command = Command::new("unshare");
    let script = format!("{before} && exec \"$0\" blast \"$@\"");
    command.args(["--net", "--map-root-user", "sh", "-c", &script, env!("CARGO_BIN_EXE_sluss")]).args(args);
    Some(command)
}

const DOWN: &str = "packets were not sent: 1000 down (the device is not up, or is gone)";

#[test]
fn what_was_dropped_is_no_rate() {
    let args = ["--synth", "--count", "1000", "--to", "lo", "--json"];
    let Some(mut command) = in_own_network(Loopback::Down, &args) else { return };
    let output = command.output().expect("sluss");
    assert_eq!(output.status.code(), Some(5));
    let error: Value = serde_json::from_slice(&output.stderr).expect("JSON");
    assert_eq!(error["error"]["message"], format!("lo: 1000 of 1000 {DOWN}"));
    let summary: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(summary["drops"], serde_json::json!({ "down": 1000 }));
    assert_eq!(["packets", "bytes", "pps"].map(|key| summary[key].as_u64()), [Some(0); 3], "{summary}");
    assert_eq!(summary["offered"], serde_json::json!({ "packets": 1000, "bytes": 60_000 }));
    assert_eq!((&summary["mbps"], &summary["estimated"]), (&0.0.into(), &false.into()));
}

/// That its time is over is not why a device that is down takes nothing.
#[test]
fn what_was_dropped_before_the_time_was_over_is_told() {
    let args = ["--synth", "--to", "lo", "--duration", "1s"];
    let Some(mut command) = in_own_network(Loopback::Down, &args) else { return };
    let output = command.output().expect("sluss");
    assert_eq!(output.status.code(), Some(5), "{}", common::stderr(&output));
    assert!(common::stderr(&output).contains(" down (the device is not up"), "{}", common::stderr(&output));
}

/// Nobody reads what it has come to, but packets that were not written were not written.
#[test]
fn a_full_disk_is_told_where_nobody_reads_the_summary() {
    if !Path::new("/dev/full").exists() {
        return common::say("SKIPPED: there is no /dev/full");
    }
    let mut child = Command::new(env!("CARGO_BIN_EXE_sluss"))
        .args(["blast", "--synth", "--count", "100000", "--to", "/dev/full"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("sluss");
    drop(child.stdout.take());
    let output = child.wait_with_output().expect("an end");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(5), "{errors}");
    assert!(errors.contains("error: /dev/full: "), "{errors}");
}

/// What an app tells of a file has its name.
#[test]
fn a_warning_names_its_file_once() {
    let output = common::run(&["blast", "captures/web.pcap", "--to", "/dev/full", "-c", "5"]);
    let told = common::stderr(&output);
    assert!(told.starts_with("warning: /dev/full: cannot write: "), "{told}");
}
