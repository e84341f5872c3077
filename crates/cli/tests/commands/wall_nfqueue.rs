//! `sluss wall run --nfqueue`: a client, a router and a server, each in a network namespace of its own, and the wall behind a queue of the router or
//! of the server.

use crate::common::inline::{errors_in, has, wait};
use crate::common::{arg, scratch};
use serde_json::Value;
use std::fs;
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};
use testkit::netns::Namespace;

/// Where the wall stands.
#[derive(Clone, Copy, PartialEq, Eq)]
enum At {
    Router,
    Server,
}

struct Bench {
    client: Namespace,
    router: Namespace,
    server: Namespace,
    at: At,
    folder: PathBuf,
    wall: Option<Child>,
    server_process: Option<Child>,
}

const SERVERS: [&str; 2] = ["198.51.100.2", "[2001:db8:2::2]"];

impl Bench {
    /// Lays cables, and runs a wall with this policy while `test` runs; `flags` are more of its own, and the end of the rules'.
    fn run(name: &str, at: At, policy: &str, (flags, bypass): (&str, &str), test: impl FnOnce(&mut Bench)) {
        let tools = [("curl", "curl"), ("python3", "python3"), ("iptables", "iptables")];
        if !has(name, &tools) {
            return;
        }
        let Some((_turn, [client, router, server])) = Namespace::some(name) else { return };
        let folder = scratch(name);
        fs::write(folder.join("policy.toml"), policy).unwrap();
        let mut bench = Bench { client, router, server, at, folder, wall: None, server_process: None };
        bench.cables();
        bench.rules(bypass);
        bench.start(flags);
        bench.serve();
        test(&mut bench);
    }

    fn cables(&self) {
        let ends = [
            (
                &self.client,
                "c0",
                "lan",
                ["192.0.2.1/24", "2001:db8:1::1/64"],
                ["192.0.2.254/24", "2001:db8:1::fe/64"],
            ),
            (
                &self.server,
                "s0",
                "wan",
                ["198.51.100.2/24", "2001:db8:2::2/64"],
                ["198.51.100.254/24", "2001:db8:2::fe/64"],
            ),
        ];
        for (end, outer, inner, outer_addresses, inner_addresses) in ends {
            self.router.run(&format!("ip link add {inner} type veth peer name {outer}"));
            self.router.run(&format!("ip link set dev {outer} netns {}", end.pid()));
            for (namespace, device, addresses) in
                [(&self.router, inner, inner_addresses), (end, outer, outer_addresses)]
            {
                namespace.run(&format!("sysctl -qw net.ipv6.conf.{device}.disable_ipv6=0"));
                namespace.run(&format!("ip address add {} dev {device}", addresses[0]));
                namespace.run(&format!("ip link set dev {device} up"));
                namespace.run(&format!("ip address add {} dev {device} nodad", addresses[1]));
                namespace.run("ip link set dev lo up");
            }
            for address in inner_addresses {
                let (gateway, _) = address.split_once('/').unwrap();
                end.run(&format!("ip route add default via {gateway}"));
            }
        }
        self.router.run("sysctl -qw net.ipv4.ip_forward=1 net.ipv6.conf.all.forwarding=1");
    }

    /// The rules that the wall prints, in the chains where the packets pass.
    fn rules(&self, bypass: &str) {
        let (namespace, chains) = match self.at {
            At::Router => (&self.router, &["FORWARD"][..]),
            At::Server => (&self.server, &["INPUT", "OUTPUT"][..]),
        };
        for program in ["iptables", "ip6tables"] {
            for chain in chains {
                let rule = format!(
                    "{program} -w -I {chain} -p tcp -m mark ! --mark 0x736c -j NFQUEUE --queue-num 5 {bypass}"
                );
                namespace.run(rule.trim_end());
            }
        }
    }

    fn start(&mut self, flags: &str) {
        let control = self.folder.join("control");
        let words = format!(
            "{} wall run {} --nfqueue 5 --control {} --json {flags}",
            env!("CARGO_BIN_EXE_sluss"),
            arg(&self.folder.join("policy.toml")),
            arg(&control),
        );
        let [output, errors] =
            ["output", "errors"].map(|name| fs::File::create(self.folder.join(name)).unwrap());
        let namespace = if self.at == At::Router { &self.router } else { &self.server };
        let mut wall = namespace.command(words.trim_end());
        self.wall = Some(wall.stdout(output).stderr(errors).spawn().unwrap());
        self.wait("the control socket", || control.exists());
    }

    fn errors(&self) -> String {
        errors_in(&self.folder)
    }

    fn wait(&self, what: &str, is_so: impl FnMut() -> bool) {
        wait(&self.folder, what, is_so);
    }

    fn serve(&mut self) {
        let mut command = self.server.command("python3 -m http.server 8080 --bind ::");
        let child = command.current_dir(&self.folder).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
        self.server_process = Some(child.unwrap());
        self.wait("a server", || self.server.enter(|| TcpStream::connect("127.0.0.1:8080").is_ok()));
    }

    fn curl(&self, words: &str) -> (Output, Duration) {
        let begin = Instant::now();
        let output = self.client.command(&format!("curl -sS -g {words}")).output().unwrap();
        (output, begin.elapsed())
    }

    /// Ends the wall; gives what it prints.
    fn stop(&mut self) -> Value {
        let mut wall = self.wall.take().unwrap();
        assert!(Command::new("kill").args(["-TERM", &wall.id().to_string()]).status().unwrap().success());
        assert_eq!(wall.wait().unwrap().code(), Some(143), "{}", self.errors());
        let text = fs::read_to_string(self.folder.join("output")).unwrap();
        serde_json::from_str(text.lines().last().unwrap()).unwrap()
    }

    /// Kills the wall: it can do nothing more.
    fn kill(&mut self) {
        let mut wall = self.wall.take().unwrap();
        wall.kill().unwrap();
        wall.wait().unwrap();
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        for child in self.server_process.iter_mut().chain(&mut self.wall) {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

const ALL: &str = "dpi = 'own'\nrules = 'otherwise => accept'";
const NO_HTTP: &str = "dpi = 'own'\nrules = '''\napp HTTP => VERDICT\notherwise => accept\n'''";
const USUAL: (&str, &str) = ("", "");

#[test]
fn what_is_accepted_passes_whole_in_both_versions_of_ip() {
    for (name, at) in [("nfqueue-passes-router", At::Router), ("nfqueue-passes-server", At::Server)] {
        Bench::run(name, at, ALL, USUAL, |bench| {
            let bytes: Vec<u8> =
                (0..20_000_000_u32).map(|at| (at.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
            fs::write(bench.folder.join("large"), &bytes).unwrap();
            for server in SERVERS {
                let to = bench.folder.join("fetched");
                let (output, _) =
                    bench.curl(&format!("--max-time 20 http://{server}:8080/large -o {}", arg(&to)));
                assert!(output.status.success(), "{server}: {}", String::from_utf8_lossy(&output.stderr));
                assert!(fs::read(&to).unwrap() == bytes, "{server}: the file differs");
            }
            let errors = bench.errors();
            assert!(
                errors.contains("iptables -I FORWARD -m mark ! --mark 0x736c -j NFQUEUE --queue-num 5"),
                "{errors}"
            );
            let last = bench.stop();
            assert_eq!((last["dropped"].as_u64(), last["rejected"].as_u64()), (Some(0), Some(0)), "{last}");
            assert!(last["accepted"].as_u64().unwrap() > 100, "{last}");
        });
    }
}

#[test]
fn an_application_is_rejected_and_its_connection_reset_at_once() {
    let policy = NO_HTTP.replace("VERDICT", "reject");
    for (name, at) in [("nfqueue-rejects-router", At::Router), ("nfqueue-rejects-server", At::Server)] {
        Bench::run(name, at, &policy, USUAL, |bench| {
            for server in SERVERS {
                let (output, after) = bench.curl(&format!("--max-time 15 http://{server}:8080/policy.toml"));
                let errors = String::from_utf8_lossy(&output.stderr);
                assert_eq!(output.status.code(), Some(56), "{server}: {errors}; {}", bench.errors());
                assert!(errors.contains("reset"), "{server}: {errors}");
                assert!(after < Duration::from_secs(5), "{server}: after {after:?}");
            }
            assert!(bench.stop()["rejected"].as_u64().unwrap() >= 2);
        });
    }
}

#[test]
fn an_application_is_dropped() {
    let policy = NO_HTTP.replace("VERDICT", "drop");
    Bench::run("nfqueue-drops", At::Server, &policy, USUAL, |bench| {
        for server in SERVERS {
            let (output, _) = bench.curl(&format!("--max-time 2 http://{server}:8080/policy.toml"));
            assert_eq!(output.status.code(), Some(28), "{}", String::from_utf8_lossy(&output.stderr));
        }
        assert!(bench.stop()["dropped"].as_u64().unwrap() >= 2);
    });
}

#[test]
fn a_wall_that_was_killed_leaves_what_the_rules_say() {
    for (name, flags, bypass, code) in
        [("nfqueue-killed-open", "--fail-open", "--queue-bypass", 0), ("nfqueue-killed-closed", "", "", 28)]
    {
        Bench::run(name, At::Router, ALL, (flags, bypass), |bench| {
            let errors = bench.errors();
            assert_eq!(errors.contains("--queue-bypass"), !bypass.is_empty(), "{errors}");
            let url = "--max-time 3 http://198.51.100.2:8080/policy.toml";
            assert_eq!(bench.curl(url).0.status.code(), Some(0));
            bench.kill();
            assert_eq!(bench.curl(url).0.status.code(), Some(code), "{name}");
        });
    }
}
