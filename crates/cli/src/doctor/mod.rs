//! `sluss doctor`: what this machine lacks for what sluss is to do, and the command that mends it.
//!
//! A check asks one thing, without changing anything. Its `fix` is one command for `sh -c`, after which the check is `ok`; where there is none, the
//! text says why.

mod iface;
mod kernel;
mod libraries;
mod rights;

use crate::args::DoctorArgs;
use crate::exit::{Failure, Outcome};
use crate::shell::quoted;
use crate::terminal::{Terminal, print};
use serde_json::{Value, json};
use std::path::PathBuf;

/// Runs the command.
pub(crate) fn run(args: &DoctorArgs, terminal: &Terminal) -> Result<Outcome, Failure> {
    let (subject, checks) = match args.subject.as_deref() {
        None => ("host", host()),
        Some(subject @ "dpdk") => (subject, dpdk()),
        Some(subject @ "nfqueue") => (subject, nfqueue()),
        Some(subject @ "wall") => (subject, wall()),
        Some(device) => (device, device_checks(device)?),
    };
    let text: String = if args.json {
        checks.iter().map(|check| format!("{}\n", check.object(subject))).collect()
    } else {
        let width = checks.iter().map(|check| check.name.len()).max().unwrap_or(0);
        checks.iter().map(|check| check.text(width, terminal.colour_stdout)).collect()
    };
    print(&text)?;
    let is_broken = checks.iter().any(|check| matches!(check.state, State::Warn | State::Fail));
    Ok(if is_broken { Outcome::ToMend } else { Outcome::Done })
}

/// How a check ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// As wanted.
    Ok,
    /// What it is needed for works, but not as well, or only some of it.
    Warn,
    /// What it is needed for does not work.
    Fail,
    /// It could not be found out.
    Unknown,
}

impl State {
    fn name(self) -> &'static str {
        match self {
            State::Ok => "ok",
            State::Warn => "warn",
            State::Fail => "fail",
            State::Unknown => "unknown",
        }
    }

    fn colour(self) -> &'static str {
        match self {
            State::Ok => "\x1b[32m",
            State::Warn => "\x1b[33m",
            State::Fail => "\x1b[31m",
            State::Unknown => "\x1b[36m",
        }
    }
}

/// One thing that was asked.
#[derive(Clone, Debug)]
struct Check {
    name: &'static str,
    state: State,
    found: String,
    wanted: String,
    needed_for: &'static str,
    /// One shell command that mends it.
    fix: Option<String>,
}

impl Check {
    /// One that is as wanted.
    fn ok(name: &'static str, found: impl Into<String>, wanted: &str, needed_for: &'static str) -> Check {
        let (found, wanted) = (found.into(), wanted.to_owned());
        Check { name, state: State::Ok, found, wanted, needed_for, fix: None }
    }

    /// The same where it is `state` instead.
    fn but(self, state: State, fix: Option<String>) -> Check {
        Check { state, fix, ..self }
    }

    /// The same in a state that is `state` at worst.
    fn at_worst(self, state: State) -> Check {
        if self.state == State::Fail { Check { state, ..self } } else { self }
    }

    fn object(&self, subject: &str) -> Value {
        json!({
            "v": 1,
            "type": "doctor",
            "subject": subject,
            "check": self.name,
            "state": self.state.name(),
            "found": self.found,
            "wanted": self.wanted,
            "needed_for": self.needed_for,
            "fix": self.fix,
        })
    }

    fn text(&self, width: usize, has_colour: bool) -> String {
        let (name, state, found) = (self.name, self.state.name(), &self.found);
        let (colour, reset) = if has_colour { (self.state.colour(), "\x1b[0m") } else { ("", "") };
        let mut text = format!("{colour}{state:<7}{reset}  {name:<width$}  {found}");
        if self.state != State::Ok {
            text += &format!("; wanted {}, for {}", self.wanted, self.needed_for);
        }
        text.push('\n');
        if let Some(fix) = &self.fix {
            // Typed into a shell, it is to change that shell.
            let fix = if fix.contains("$PPID") { format!("sh -c {}", quoted(fix)) } else { fix.clone() };
            text += &format!("         {:width$}  fix: {fix}\n", "");
        }
        text
    }
}

/// Of the machine as a whole: nothing is needed for all that sluss does.
fn host() -> Vec<Check> {
    let rights = rights::ALL.map(rights::capability);
    let rest = [
        rights::memlock(),
        kernel::af_packet(),
        kernel::hugepages(),
        kernel::iptables("iptables"),
        kernel::nfqueue(),
        kernel::landlock(),
        kernel::seccomp(),
        libraries::libpcap(),
        libraries::libndpi(),
        libraries::libdpdk(),
    ];
    rights.into_iter().chain(rest).map(|check| check.at_worst(State::Warn)).collect()
}

fn dpdk() -> Vec<Check> {
    vec![libraries::libdpdk(), kernel::hugepages(), rights::memlock(), kernel::pci_drivers()]
}

fn nfqueue() -> Vec<Check> {
    vec![
        rights::capability(rights::NET_ADMIN),
        rights::capability(rights::NET_RAW),
        kernel::iptables("iptables"),
        kernel::iptables("ip6tables"),
        kernel::nfqueue(),
    ]
}

fn wall() -> Vec<Check> {
    vec![
        rights::capability(rights::NET_RAW),
        kernel::af_packet(),
        kernel::landlock().at_worst(State::Warn),
        kernel::seccomp().at_worst(State::Warn),
        libraries::libndpi().at_worst(State::Warn),
    ]
}

fn device_checks(device: &str) -> Result<Vec<Check>, Failure> {
    let mut checks = iface::checks(device)?;
    checks.insert(0, rights::capability(rights::NET_RAW));
    Ok(checks)
}

/// A command of the system's administrator.
fn as_root(command: &str) -> String {
    if rustix::process::geteuid().is_root() { command.to_owned() } else { format!("sudo {command}") }
}

/// A command that needs a program, which is installed first where it is not there. `None` where that cannot be done.
fn with_program(program: &str, package: &str, command: &str) -> Option<String> {
    if program_path(program).is_some() {
        return Some(as_root(command));
    }
    install(package).map(|install| format!("{install} && {}", as_root(command)))
}

/// How a package is installed here.
fn install(package: &str) -> Option<String> {
    program_path("apt-get").map(|_| as_root(&format!("apt-get install -y {package}")))
}

/// Where a program is, also one of the administrator that `PATH` may lack.
fn program_path(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::env::split_paths(&path).chain(["/usr/sbin", "/sbin"].map(PathBuf::from));
    folders.map(|folder| folder.join(program)).find(|path| path.is_file())
}
