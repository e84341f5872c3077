//! Network namespaces for tests against the kernel's own stack.
//!
//! A namespace lives as long as a process that sleeps in it, ten minutes at most: nothing is left behind, whatever happens,
//! and no device of the machine's own namespace is touched.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// How long anything may take.
pub const PATIENCE: Duration = Duration::from_secs(20);

/// Held by the test that runs. A process that another test starts would hold the open devices of all until it runs its own program, and a
/// TAP device that was closed would still be busy.
static TURN: Mutex<()> = Mutex::new(());

/// Whose turn it is.
pub type Turn = MutexGuard<'static, ()>;

/// A network namespace, without anything in it. It ends with this value.
#[derive(Debug)]
pub struct Namespace(Child);

/// Whether a program is absent, said aloud.
fn is_absent(test: &str, tool: &str, package: &str) -> bool {
    let is_absent = Command::new(tool).arg("-V").output().is_err();
    if is_absent {
        crate::say(format_args!("SKIPPED: {test} needs `{tool}`: install {package} (Debian)"));
    }
    is_absent
}

impl Namespace {
    /// A turn, and some namespaces; `None`, said aloud, where that is not possible.
    pub fn some<const N: usize>(test: &str) -> Option<(Turn, [Namespace; N])> {
        let packages = [("ip", "iproute2"), ("sysctl", "procps"), ("nsenter", "util-linux")];
        if packages.into_iter().any(|(tool, package)| is_absent(test, tool, package)) {
            return None;
        }
        let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
        let made: Option<Vec<Namespace>> = (0..N).map(|_| Namespace::new()).collect();
        let made = made.and_then(|made| <[Namespace; N]>::try_from(made).ok());
        if made.is_none() {
            crate::say(format_args!(
                "SKIPPED: {test} needs root and /dev/net/tun, to make network namespaces"
            ));
        }
        made.map(|made| (turn, made))
    }

    /// As [`Namespace::some`], for a test that lets one kernel ping another.
    pub fn some_with_ping<const N: usize>(test: &str) -> Option<(Turn, [Namespace; N])> {
        if is_absent(test, "ping", "iputils-ping") { None } else { Namespace::some(test) }
    }

    fn new() -> Option<Self> {
        if !Path::new("/dev/net/tun").exists() {
            return None;
        }
        let mut command = Command::new("unshare");
        command
            .args(["--net", "sleep", "600"])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let mut namespace = Namespace(command.spawn().ok()?);
        let own = std::fs::read_link("/proc/self/ns/net").ok()?;
        let begin = Instant::now();
        // Until the process has left our namespace, its namespace is ours.
        while std::fs::read_link(namespace.path()).ok().is_none_or(|theirs| theirs == own) {
            if namespace.0.try_wait().ok()?.is_some() || begin.elapsed() > PATIENCE {
                return None;
            }
            std::thread::sleep(Duration::from_millis(2));
        }
        let quiet = namespace
            .command("sysctl -qw net.ipv6.conf.all.disable_ipv6=1 net.ipv6.conf.default.disable_ipv6=1");
        { quiet }.status().ok()?.success().then_some(namespace)
    }

    /// The number of the process that it lives with, as `ip link set netns` takes it.
    pub fn pid(&self) -> u32 {
        self.0.id()
    }

    fn path(&self) -> PathBuf {
        format!("/proc/{}/ns/net", self.0.id()).into()
    }

    /// A command in the namespace, without input; `words` are separated by single spaces.
    pub fn command(&self, words: &str) -> Command {
        let mut command = Command::new("nsenter");
        command.arg(format!("--net={}", self.path().display())).arg("--").args(words.split(' '));
        command.stdin(Stdio::null());
        command
    }

    /// Runs a command in the namespace.
    ///
    /// # Panics
    /// If it fails.
    pub fn run(&self, words: &str) {
        let output = self.command(words).output().expect("nsenter");
        assert!(output.status.success(), "{words}: {}", String::from_utf8_lossy(&output.stderr));
    }

    /// Runs a test in the namespace, on a thread of its own.
    ///
    /// # Panics
    /// If the test does, or the namespace cannot be entered.
    pub fn enter<R: Send>(&self, test: impl FnOnce() -> R + Send) -> R {
        let file = std::fs::File::open(self.path()).expect("the namespace");
        let entered = std::thread::scope(|scope| {
            let thread = scope.spawn(move || {
                use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};
                use std::os::fd::AsFd;
                move_into_link_name_space(file.as_fd(), Some(LinkNameSpaceType::Network)).expect("setns");
                test()
            });
            thread.join()
        });
        entered.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }
}

impl Drop for Namespace {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
