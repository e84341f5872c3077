//! A client, the wall, and a server, each in a network namespace of its own.

use super::{arg, say, scratch, sluss};
use serde_json::Value;
use std::fs;
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};
use testkit::netns::{Namespace, PATIENCE};

/// Whether programs are there, said aloud if not.
pub(crate) fn has(test: &str, tools: &[(&str, &str)]) -> bool {
    tools.iter().all(|(tool, package)| {
        let is_there = Command::new(tool).arg("--version").output().is_ok();
        if !is_there {
            say(&format!("SKIPPED: {test} needs `{tool}`: install {package} (Debian)"));
        }
        is_there
    })
}

/// What a wall has told, which is in a file of this folder.
pub(crate) fn errors_in(folder: &Path) -> String {
    fs::read_to_string(folder.join("errors")).unwrap_or_default()
}

/// Waits for what a wall is to do, with what it has told if it does not.
pub(crate) fn wait(folder: &Path, what: &str, mut is_so: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !is_so() {
        assert!(begin.elapsed() < PATIENCE, "{what} has not come; the wall says {}", errors_in(folder));
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// A client and a server, and between them a wall.
pub(crate) struct Bench {
    pub(crate) client: Namespace,
    pub(crate) middle: Namespace,
    pub(crate) server: Namespace,
    pub(crate) folder: PathBuf,
    pub(crate) wall: Option<Child>,
    pub(crate) servers: Vec<Child>,
}

pub(crate) const CLIENT: [&str; 2] = ["192.0.2.1", "2001:db8::1"];
pub(crate) const SERVER: [&str; 2] = ["192.0.2.2", "2001:db8::2"];

impl Bench {
    /// Lays cables, and runs a wall with this policy between them while `test` runs.
    #[track_caller]
    pub(crate) fn run(name: &str, policy: &str, test: impl FnOnce(&mut Bench)) {
        Bench::run_with(name, policy, &[], test);
    }

    /// The same, with more flags for the wall.
    #[track_caller]
    pub(crate) fn run_with(name: &str, policy: &str, flags: &[&str], test: impl FnOnce(&mut Bench)) {
        let tools = [("curl", "curl"), ("python3", "python3"), ("openssl", "openssl")];
        if !has(name, &tools) {
            return;
        }
        let Some((_turn, [client, middle, server])) = Namespace::some(name) else { return };
        let folder = scratch(name);
        fs::write(folder.join("policy.toml"), policy).unwrap();
        let mut bench = Bench { client, middle, server, folder, wall: None, servers: Vec::new() };
        bench.cables();
        bench.start(flags);
        test(&mut bench);
        bench.stop();
    }

    fn cables(&self) {
        for (end, outer, inner, at) in [(&self.client, "c0", "lan", 0), (&self.server, "s0", "wan", 1)] {
            self.middle.run(&format!("ip link add {inner} type veth peer name {outer}"));
            self.middle.run(&format!("ip link set dev {outer} netns {}", end.pid()));
            self.middle.run(&format!("ip link set dev {inner} up"));
            end.run(&format!("sysctl -qw net.ipv6.conf.{outer}.disable_ipv6=0"));
            let [v4, v6] = [CLIENT, SERVER][at];
            end.run(&format!("ip address add {v4}/24 dev {outer}"));
            end.run(&format!("ip link set dev {outer} up"));
            end.run(&format!("ip address add {v6}/64 dev {outer} nodad"));
            end.run("ip link set dev lo up");
        }
    }

    pub(crate) fn policy(&self) -> PathBuf {
        self.folder.join("policy.toml")
    }

    pub(crate) fn control(&self) -> PathBuf {
        self.folder.join("control")
    }

    fn start(&mut self, flags: &[&str]) {
        let words = format!(
            "{} wall run {} --inline lan wan --control {} --json{}",
            env!("CARGO_BIN_EXE_sluss"),
            arg(&self.policy()),
            arg(&self.control()),
            flags.iter().map(|flag| format!(" {flag}")).collect::<String>(),
        );
        let output = fs::File::create(self.folder.join("output")).unwrap();
        let errors = fs::File::create(self.folder.join("errors")).unwrap();
        let mut wall = self.middle.command(&words);
        self.wall = Some(wall.stdout(output).stderr(errors).spawn().unwrap());
        self.wait("the control socket", || self.control().exists());
    }

    pub(crate) fn errors(&self) -> String {
        errors_in(&self.folder)
    }

    pub(crate) fn wait(&self, what: &str, is_so: impl FnMut() -> bool) {
        wait(&self.folder, what, is_so);
    }

    /// Ends the wall; gives what it prints.
    pub(crate) fn stop(&mut self) -> Value {
        let Some(mut wall) = self.wall.take() else { return Value::Null };
        let killed = Command::new("kill").args(["-TERM", &wall.id().to_string()]).status().unwrap();
        assert!(killed.success());
        let status = wall.wait().unwrap();
        assert_eq!(status.code(), Some(143), "{}", self.errors());
        let text = fs::read_to_string(self.folder.join("output")).unwrap();
        serde_json::from_str(text.lines().last().unwrap()).unwrap()
    }

    /// Runs a server in the server's namespace, until it listens there.
    pub(crate) fn serve(&mut self, words: &str, port: u16) {
        let mut command = self.server.command(words);
        let child =
            command.current_dir(&self.folder).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        self.servers.push(child);
        let address = format!("127.0.0.1:{port}");
        self.wait("a server", || self.server.enter(|| TcpStream::connect(&address).is_ok()));
    }

    pub(crate) fn curl(&self, words: &str) -> (Output, Duration) {
        let begin = Instant::now();
        let output = self.client.command(&format!("curl -sS -k --max-time 15 {words}")).output().unwrap();
        (output, begin.elapsed())
    }

    pub(crate) fn command(&self, words: &[&str]) -> Output {
        sluss(words).output().unwrap()
    }

    pub(crate) fn stats(&self) -> Value {
        let output = self.command(&["wall", "stats", arg(&self.control()), "--json"]);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        serde_json::from_slice(&output.stdout).unwrap()
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        for child in self.servers.iter_mut().chain(&mut self.wall) {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

pub(crate) const HTTP_SERVER: &str = "python3 -m http.server 8080 --bind ::";
