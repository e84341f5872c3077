//! The warm process, seen from the data plane.

use super::memory::check;
use super::messages::{Command, Message};
use super::names::{Names, ProtocolName};
use super::options::{Options, WorkerError};
use super::settings::Settings;
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

/// How long nDPI may take to load, or a worker to start.
const PATIENCE: Duration = Duration::from_secs(20);
/// How long the warm process may take to start or kill a worker, which takes it milliseconds.
const PATIENCE_WITH_WORKERS: Duration = Duration::from_secs(2);
/// How long the warm process may take to end.
const PATIENCE_AT_END: Duration = Duration::from_secs(5);

/// What the worker does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// The warm process loads nDPI.
    Loading,
    /// There is none, and none was asked for.
    Absent,
    /// One was asked for.
    Starting,
    Running {
        pid: u32,
    },
    /// It was asked to be killed.
    Dying {
        pid: u32,
    },
}

/// The warm process, and the state of its worker.
pub(super) struct WarmProcess {
    child: Child,
    socket: UnixStream,
    received: Vec<u8>,
    state: State,
    /// Since when.
    since: Instant,
    /// Whether the warm process itself is gone.
    gone: bool,
}

impl WarmProcess {
    /// Runs this program with the hidden argument. It does not wait until it has loaded nDPI.
    pub(super) fn spawn(options: &Options, settings: &Settings, memory: &OwnedFd) -> io::Result<WarmProcess> {
        let (ours, theirs) = UnixStream::pair()?;
        let program = match &options.program {
            Some(program) => program.clone(),
            None if std::path::Path::new("/proc/self/exe").exists() => "/proc/self/exe".into(),
            None => std::env::current_exe()?,
        };
        let name = std::env::args_os().next().unwrap_or_else(|| "sluss".into());
        let child = std::process::Command::new(program)
            .arg0(name)
            .arg(super::ARGUMENT)
            .args(settings.write())
            .env("TZ", "UTC0")
            .stdin(OwnedFd::from(theirs))
            .stdout(memory.try_clone()?)
            .stderr(Stdio::null())
            // What is typed at the terminal to end us is not meant for it: it ends when we do.
            .process_group(0)
            .spawn()?;
        Ok(WarmProcess {
            child,
            socket: ours,
            received: Vec::new(),
            state: State::Loading,
            since: Instant::now(),
            gone: false,
        })
    }

    /// Waits until it has loaded nDPI.
    pub(super) fn wait_for_names(&mut self) -> Result<Names, WorkerError> {
        let message = self.wait_for_message()?;
        self.note(&message);
        match message {
            Message::Ready { revision, protocols, categories } => {
                let protocols = protocols.into_iter().map(|(name, category)| ProtocolName { name, category });
                Ok(Names { revision, protocols: protocols.collect(), categories })
            }
            Message::Failed(why) => Err(WorkerError::Ndpi(why)),
            _ => Err(WorkerError::NoAnswer),
        }
    }

    /// Has the first worker started, and waits for it.
    pub(super) fn start_worker(&mut self, tail: u32) -> Result<(), WorkerError> {
        self.ask_to_start(tail);
        while !self.is_running() {
            let message = self.wait_for_message()?;
            if self.note(&message).is_some() {
                return Err(WorkerError::NoAnswer);
            }
        }
        Ok(())
    }

    pub(super) fn ask_to_start(&mut self, tail: u32) {
        self.enter(State::Starting);
        self.send(Command::Start { tail });
    }

    pub(super) fn kill_worker(&mut self) {
        if let State::Running { pid } = self.state {
            self.enter(State::Dying { pid });
            self.send(Command::Kill);
        }
    }

    fn enter(&mut self, state: State) {
        (self.state, self.since) = (state, Instant::now());
    }

    /// Whether it has not done in time what it was asked: it hangs, or was stopped.
    pub(super) fn is_late(&self, now: Instant) -> bool {
        let patience = match self.state {
            State::Loading => PATIENCE,
            State::Starting | State::Dying { .. } => PATIENCE_WITH_WORKERS,
            State::Absent | State::Running { .. } => return false,
        };
        !self.gone && now.saturating_duration_since(self.since) > patience
    }

    /// Ends it, and its worker with it.
    pub(super) fn kill(&mut self) {
        let _ = self.child.kill();
        self.gone = true;
    }

    /// Takes note of its end, if that has come: until then the system keeps it among its processes.
    pub(super) fn reap(&mut self) {
        let _ = self.child.try_wait();
    }

    fn send(&mut self, command: Command) {
        let sent = self.socket.set_nonblocking(false).and_then(|()| self.socket.write_all(&command.write()));
        self.gone |= sent.is_err();
    }

    /// The next message, which is waited for.
    fn wait_for_message(&mut self) -> Result<Message, WorkerError> {
        let deadline = Instant::now() + PATIENCE;
        self.socket.set_nonblocking(false).map_err(WorkerError::Start)?;
        loop {
            if let Some(message) = Message::take(&mut self.received).map_err(|()| WorkerError::NoAnswer)? {
                return Ok(message);
            }
            let left = deadline.saturating_duration_since(Instant::now()).max(Duration::from_millis(1));
            self.socket.set_read_timeout(Some(left)).map_err(WorkerError::Start)?;
            let mut bytes = [0; 4096];
            match self.socket.read(&mut bytes) {
                Ok(count) if count > 0 => self.received.extend_from_slice(&bytes[..count]),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                _ => return Err(WorkerError::NoAnswer),
            }
        }
    }

    /// A message that has come, if any has. It does not wait.
    pub(super) fn message(&mut self) -> Option<Message> {
        if self.gone {
            return None;
        }
        let mut bytes = [0; 256];
        let read = self.socket.set_nonblocking(true).and_then(|()| self.socket.read(&mut bytes));
        match read {
            Ok(0) => self.gone = true,
            Ok(count) => self.received.extend_from_slice(&bytes[..count]),
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => {}
            Err(_) => self.gone = true,
        }
        match Message::take(&mut self.received) {
            Ok(message) => message,
            Err(()) => {
                self.gone = true;
                None
            }
        }
    }

    /// Keeps the state up to date. If a worker has ended: whether that was on command, and the processor time it used.
    pub(super) fn note(&mut self, message: &Message) -> Option<(bool, Duration)> {
        match *message {
            Message::Started { pid } => {
                self.state = State::Running { pid };
                None
            }
            Message::Ended { killed, cpu, .. } => {
                self.state = State::Absent;
                Some((killed, cpu))
            }
            Message::Ready { .. } => {
                self.state = State::Absent;
                None
            }
            Message::Failed(_) => {
                self.gone = true;
                None
            }
        }
    }

    pub(super) fn is_running(&self) -> bool {
        matches!(self.state, State::Running { .. }) && !self.gone
    }

    /// Whether there is no worker, and none was asked for.
    pub(super) fn is_absent(&self) -> bool {
        self.state == State::Absent
    }

    pub(super) fn is_gone(&self) -> bool {
        self.gone
    }

    pub(super) fn worker(&self) -> Option<u32> {
        match self.state {
            State::Running { pid } | State::Dying { pid } => Some(pid),
            _ => None,
        }
    }

    /// Processor time of the warm process and of its worker, without workers that have ended.
    pub(super) fn cpu(&self) -> Duration {
        cpu_of(self.child.id()).unwrap_or_default() + self.worker().and_then(cpu_of).unwrap_or_default()
    }
}

impl Drop for WarmProcess {
    /// It ends, and its worker before it; both are waited for.
    fn drop(&mut self) {
        self.send(Command::Leave);
        let _ = self.socket.shutdown(std::net::Shutdown::Write);
        let _ = self
            .socket
            .set_nonblocking(false)
            .and_then(|()| self.socket.set_read_timeout(Some(PATIENCE_AT_END)));
        // It closes its end as it ends. If it does not, its worker ends with it all the same.
        while !self.gone && self.socket.read(&mut [0; 256]).is_ok_and(|count| count > 0) {}
        let ended =
            matches!(self.socket.read(&mut [0; 1]), Ok(0)) || matches!(self.child.try_wait(), Ok(Some(_)));
        if !ended {
            let _ = self.child.kill();
        }
        let _ = self.child.wait();
    }
}

/// Processor time that a process has used.
pub(super) fn cpu_of(pid: u32) -> Option<Duration> {
    let mut clock = 0;
    // SAFETY: zeros are a time.
    let mut time: libc::timespec = unsafe { std::mem::zeroed() };
    // SAFETY: both places live until the calls are over.
    let known = unsafe { libc::clock_getcpuclockid(pid.try_into().ok()?, &raw mut clock) } == 0;
    // SAFETY: as above.
    let read = known && check(unsafe { libc::clock_gettime(clock, &raw mut time) }).is_ok();
    read.then(|| Duration::from_secs(time.tv_sec as u64) + Duration::from_nanos(time.tv_nsec as u64))
}
