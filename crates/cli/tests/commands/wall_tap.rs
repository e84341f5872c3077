//! A wall of which one side is a TAP device, in a network namespace of its own: with a server behind it, records to a socket, and its rules in `sluss top`.

use crate::common::inline::{errors_in, wait};
use crate::common::{arg, say, scratch, sluss, stderr, stdout};
use serde_json::Value;
use std::fs;
use std::io::{BufRead, BufReader};
use std::net::UdpSocket;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::channel;
use std::thread;
use std::time::{Duration, Instant};
use testkit::netns::Namespace;

/// A machine with a TAP device, a wall from there to a cable, and a server at its other end.
struct Bench {
    machine: Namespace,
    server: Namespace,
    folder: PathBuf,
    wall: Child,
}

impl Bench {
    fn new(name: &str, policy: &str, flags: &str, [machine, server]: [Namespace; 2]) -> Bench {
        let folder = scratch(name);
        fs::write(folder.join("edge.toml"), policy).unwrap();
        machine.run("ip link add wan type veth peer name s0");
        machine.run(&format!("ip link set dev s0 netns {}", server.pid()));
        machine.run("ip link set dev wan up");
        server.run("ip address add 192.0.2.2/24 dev s0");
        server.run("ip link set dev s0 up");
        let words = format!(
            "{} wall run {} --inline tap0 wan --tap tap0 --json {flags}",
            env!("CARGO_BIN_EXE_sluss"),
            arg(&folder.join("edge.toml"))
        );
        let errors = fs::File::create(folder.join("errors")).unwrap();
        let mut command = machine.command(words.trim_end());
        command.env("SLUSS_RUNTIME_DIR", folder.join("runtime")).stdout(Stdio::null()).stderr(errors);
        let wall = command.spawn().unwrap();
        let bench = Bench { machine, server, folder, wall };
        bench.wait("the wall", || bench.errors().contains("the wall stands between tap0 and wan"));
        bench.machine.run("ip address add 192.0.2.1/24 dev tap0");
        bench
    }

    fn errors(&self) -> String {
        errors_in(&self.folder)
    }

    fn wait(&self, what: &str, is_so: impl FnMut() -> bool) {
        wait(&self.folder, what, is_so);
    }

    fn sluss(&self, words: &[&str]) -> String {
        let output = sluss(words).env("SLUSS_RUNTIME_DIR", self.folder.join("runtime")).output().unwrap();
        assert!(output.status.success(), "{words:?}: {}", stderr(&output));
        stdout(&output)
    }

    fn top(&self) -> Value {
        serde_json::from_str(&self.sluss(&["top", "edge", "--once", "--json", "--interval", "0.5"])).unwrap()
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        let killed = Command::new("kill").args(["-TERM", &self.wall.id().to_string()]).status();
        let _ = killed.and_then(|_| self.wall.wait());
    }
}

fn listen(path: &Path) -> std::sync::mpsc::Receiver<Value> {
    let (tell, told) = channel();
    let listener = UnixListener::bind(path).unwrap();
    thread::spawn(move || {
        let (stream, _) = listener.accept().unwrap();
        let lines = BufReader::new(stream).lines().map_while(Result::ok);
        lines
            .map_while(|line| serde_json::from_str(&line).ok())
            .try_for_each(|object| tell.send(object))
            .ok();
    });
    told
}

#[test]
fn a_tap_is_a_side_of_the_wall_and_its_rules_are_seen() {
    let Some((_turn, namespaces)) = Namespace::some("wall-tap") else { return };
    let socket = scratch("wall-tap-eve").join("eve.sock");
    let told = listen(&socket);
    let policy =
        "rules = '''\nudp dst port 53 => drop(log)\nudp dst port 7 => accept\notherwise => accept\n'''\n";
    let bench = Bench::new("wall-tap", policy, &format!("--eve unix:{}", arg(&socket)), namespaces);
    let server = bench.server.enter(|| UdpSocket::bind("192.0.2.2:7").unwrap());
    let client = bench.machine.enter(|| UdpSocket::bind("192.0.2.1:0").unwrap());
    client.set_read_timeout(Some(Duration::from_millis(200))).unwrap();
    server.set_read_timeout(Some(Duration::from_millis(200))).unwrap();
    let mut bytes = [0; 64];
    bench.wait("an echo", || {
        client.send_to(b"hello", "192.0.2.2:7").unwrap();
        let Ok((len, from)) = server.recv_from(&mut bytes) else { return false };
        server.send_to(&bytes[..len], from).unwrap();
        client.recv_from(&mut bytes).is_ok()
    });
    bench.wait("a record of what was dropped", || {
        client.send_to(b"no query", "192.0.2.2:53").unwrap();
        let record = told.recv_timeout(Duration::from_millis(200));
        record.is_ok_and(|record| record["event_type"] == "drop" && record["dest_port"] == 53)
    });
    // What becomes of the next packet of a flow, and why.
    let (told, stop) = channel();
    thread::scope(|scope| {
        let client = &client;
        scope.spawn(move || {
            while stop.recv_timeout(Duration::from_millis(20)).is_err() {
                client.send_to(b"no query", "192.0.2.2:53").unwrap();
            }
        });
        let why = bench.sluss(&["wall", "why", "edge", "udp dst port 53"]);
        let rules = "the rules, in their order:\n  yes line 2: udp dst port 53 => drop(log)\n";
        assert!(why.contains("is dropped: the rule of line 2\n") && why.ends_with(rules), "{why}");
        told.send(()).unwrap();
    });
    let answer = sluss(&["wall", "why", "edge", "udp prot 53"])
        .env("SLUSS_RUNTIME_DIR", bench.folder.join("runtime"))
        .output();
    let answer = stderr(&answer.unwrap());
    assert!(answer.contains("error[PF003]: unknown word `prot`"), "{answer}");
    // Of flows that are silent, what the wall knows of them; a packet that was dropped by its bytes alone belongs to none.
    let why = bench.sluss(&["wall", "why", "edge", "udp port 7", "--wait", "300ms"]);
    assert!(why.starts_with("no packet that matches has come within 0.3 s; of the "), "{why}");
    assert!(why.contains("> 192.0.2.2:7\n") && why.contains(" ago, accepted: the rule of line "), "{why}");
    let words = ["wall", "why", "edge", "udp port 7", "--wait", "300ms", "--json"];
    let why: Value = serde_json::from_str(&bench.sluss(&words)).unwrap();
    let flow = &why["flows"][0];
    assert_eq!((&flow["verdict"], &flow["basis"]["by"]), (&"accept".into(), &"rule".into()), "{why}");
    assert!(flow["age_s"].is_number() && why["is_whole"] == true, "{why}");
    let silent = sluss(&["wall", "why", "edge", "udp port 53", "--wait", "0.1"])
        .env("SLUSS_RUNTIME_DIR", bench.folder.join("runtime"))
        .output()
        .unwrap();
    assert_eq!(silent.status.code(), Some(2));
    assert!(stderr(&silent).contains("has come within 0.1 s, and none of the "), "{}", stderr(&silent));
    // The rules are in `top`, with what they count meanwhile.
    bench.wait("the rules, with a rate", || {
        (0..5).for_each(|_| _ = client.send_to(b"no query", "192.0.2.2:53").unwrap());
        let top = bench.top();
        let rules = top["rules"].as_array().unwrap();
        assert_eq!(rules.len(), 3, "{top}");
        let of = |rule: &Value| (rule["line"].as_u64(), rule["verdict"].as_str().map(str::to_owned));
        assert_eq!(of(&rules[0]), (Some(2), Some("drop".to_owned())), "{top}");
        rules[0]["packets"].as_u64() > Some(4) && rules[0]["packets_per_s"].is_number()
    });
    let text = bench.sluss(&["top", "edge", "--once", "--interval", "0.2"]);
    assert!(text.contains("RULE") && text.contains("udp dst port 53"), "{text}");
    assert!(bench.sluss(&["ps"]).contains("edge"));
    let stats: Value = serde_json::from_str(&bench.sluss(&["wall", "stats", "edge", "--json"])).unwrap();
    assert_eq!(stats["rules"].as_array().map(Vec::len), Some(3));
}

#[test]
fn of_many_rules_the_busiest_are_shown() {
    let Some((_turn, namespaces)) = Namespace::some("wall-many") else { return };
    let rule = |n: u32| format!("host 10.{}.{}.7 => drop\n", n / 256, n % 256);
    let rules: String = (0..10_000).map(rule).collect();
    let policy = format!("rules = '''\n{rules}udp dst port 7 => accept\n'''\n");
    let bench = Bench::new("wall-many", &policy, "", namespaces);
    let client = bench.machine.enter(|| UdpSocket::bind("192.0.2.1:0").unwrap());
    bench.wait("the last rule", || {
        client.send_to(b"hello", "192.0.2.2:7").unwrap();
        let top = bench.top();
        let rules = top["rules"].as_array().unwrap();
        // A wall that has not answered in time has none.
        rules.last().is_some_and(|last| rules.len() == 10_001 && last["packets"].as_u64() > Some(0))
    });
    let text = bench.sluss(&["top", "edge", "--once", "--interval", "0.2"]);
    let first = text.lines().skip_while(|line| !line.starts_with("RULE")).nth(1).unwrap_or_default();
    assert!(first.contains("udp dst port 7"), "{text}");
    assert!(text.ends_with("and 9961 rules, less busy\n"), "{text}");
    let begin = Instant::now();
    bench.sluss(&["ps"]);
    say(&format!("`sluss ps` with 10,001 rules: {:?}", begin.elapsed()));
}

#[test]
fn mistakes_are_told() {
    let folder = scratch("wall-tap-wrong");
    fs::write(folder.join("edge.toml"), "rules = 'otherwise => accept'\n").unwrap();
    for (args, told) in [
        (
            &["--inline", "a", "b", "--tap", "c"][..],
            "error: `--tap c` is neither of the devices of `--inline a b`",
        ),
        (&["--tap", "c"], "error: no --inline given"),
        (&["--eve", "unix:x", "captures/web.pcap"], "error: "),
    ] {
        let output =
            sluss(&[&["wall", "run", arg(&folder.join("edge.toml"))], args].concat()).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{args:?}: {}", stderr(&output));
        assert!(stderr(&output).starts_with(told), "{args:?}: {}", stderr(&output));
    }
}
