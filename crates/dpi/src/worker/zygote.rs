//! The warm process: it loads nDPI once, and forks a worker whenever it is told to. It never sees a packet.
//!
//! It has one thread, so a fork copies all of it. It talks with the data plane over a socket, and ends when that does.

use super::memory::{Shared, check};
use super::messages::{Command, Message};
use super::serve;
use super::settings::Settings;
use crate::ndpi::Module;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::time::Duration;

/// Runs until the data plane closes its end of the socket, which is standard input; standard output is the shared memory.
pub(super) fn run(settings: &Settings) -> io::Result<()> {
    // SAFETY: descriptors from 3 on are nobody's: this process has just begun.
    unsafe { libc::syscall(libc::SYS_close_range, 3, libc::c_uint::MAX, 0) };
    let mut socket = UnixStream::from(io::stdin().as_fd().try_clone_to_owned()?);
    let memory = io::stdout().as_fd().try_clone_to_owned()?;
    let shared = Shared::map(&memory, settings.layout)?;
    drop(memory);
    // What the library prints must not go into the shared memory.
    let null = File::options().read(true).write(true).open("/dev/null")?;
    for standard in 0..=1 {
        // SAFETY: both are open, and nothing else uses the standard ones.
        check(unsafe { libc::dup2(null.as_raw_fd(), standard) })?;
    }
    drop(null);
    // nDPI formats dates of certificates. Without the name of a zone, which the data plane has set, that would open a file in the sandbox.
    unsafe extern "C" {
        fn tzset();
    }
    // SAFETY: there is one thread.
    unsafe { tzset() };

    let mut module = match Module::load(settings.library.as_deref()) {
        Ok(module) => Some(module),
        Err(why) => return socket.write_all(&Message::Failed(why).write()),
    };
    if let Some(module) = &module {
        let (protocols, categories) = (module.protocols(), module.categories());
        socket.write_all(
            &Message::Ready { revision: module.revision().into(), protocols, categories }.write(),
        )?;
    }
    let mut child: Option<Child> = None;
    loop {
        wait_for_event(&socket, child.as_ref())?;
        if let Some(message) = child.as_ref().and_then(|child| child.ended(false)) {
            child = None;
            socket.write_all(&message.write())?;
        }
        match command(&mut socket)? {
            None => {}
            Some(Command::Kill) => {
                if let Some(message) = child.take().and_then(|child| child.ended(true)) {
                    socket.write_all(&message.write())?;
                }
            }
            Some(Command::Start { tail }) => {
                if let Some(old) = child.take() {
                    old.ended(true);
                }
                child = Some(Child::fork(&shared, &mut module, settings, tail)?);
                let pid = child.as_ref().map_or(0, |child| child.pid);
                socket.write_all(&Message::Started { pid: pid as u32 }.write())?;
            }
            Some(Command::Leave) => {
                child.take().and_then(|child| child.ended(true));
                return Ok(());
            }
        }
    }
}

/// Waits for a command, or for the end of the worker.
fn wait_for_event(socket: &UnixStream, child: Option<&Child>) -> io::Result<()> {
    let entry = |fd| libc::pollfd { fd, events: libc::POLLIN, revents: 0 };
    // A negative descriptor is passed over. Kernels before 5.3 have none for processes: there the worker is looked after now and then.
    let watched = child.and_then(|child| child.fd.as_ref());
    let mut entries = [entry(socket.as_raw_fd()), entry(watched.map_or(-1, |fd| fd.as_raw_fd()))];
    let timeout = if child.is_some() && watched.is_none() { 10 } else { -1 };
    // SAFETY: the entries live until the call is over.
    match check(unsafe { libc::poll(entries.as_mut_ptr(), entries.len() as libc::nfds_t, timeout) }) {
        Err(error) if error.kind() != io::ErrorKind::Interrupted => Err(error),
        _ => Ok(()),
    }
}

/// A command that has come, if any has. The end of the data plane is one.
fn command(socket: &mut UnixStream) -> io::Result<Option<Command>> {
    let mut bytes = [0; Command::BYTES];
    socket.set_nonblocking(true)?;
    let first = socket.read(&mut bytes);
    socket.set_nonblocking(false)?;
    match first {
        Ok(0) => Ok(Some(Command::Leave)),
        Ok(count) => {
            socket.read_exact(&mut bytes[count..])?;
            Ok(Some(Command::read(bytes)))
        }
        Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => {
            Ok(None)
        }
        Err(_) => Ok(Some(Command::Leave)),
    }
}

/// A worker.
struct Child {
    pid: libc::pid_t,
    /// Becomes readable when it ends.
    fd: Option<OwnedFd>,
}

impl Child {
    fn fork(
        shared: &Shared,
        module: &mut Option<Module>,
        settings: &Settings,
        tail: u32,
    ) -> io::Result<Child> {
        // SAFETY: a question about this process.
        let parent = unsafe { libc::getpid() };
        // SAFETY: this process has one thread, so the copy is whole.
        let pid = check(unsafe { libc::fork() })?;
        if pid == 0 {
            // SAFETY: calls on values. A parent that has ended before the first is noticed by the second.
            let orphan = unsafe {
                libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) == -1 || libc::getppid() != parent
            };
            if let (false, Some(module)) = (orphan, module.take()) {
                serve::serve(shared, module, settings, tail);
            }
            // SAFETY: it ends this copy, without what its original would do at its end.
            unsafe { libc::_exit(3) };
        }
        // SAFETY: a call on values; the descriptor is new, and ours.
        let fd = unsafe {
            let fd = libc::syscall(libc::SYS_pidfd_open, pid, 0);
            (fd >= 0).then(|| OwnedFd::from_raw_fd(fd as libc::c_int))
        };
        Ok(Child { pid, fd })
    }

    /// How it has ended, killed or not. `None`: it has not.
    fn ended(&self, kill: bool) -> Option<Message> {
        if kill {
            // SAFETY: it is our child, which nobody has waited for yet.
            unsafe { libc::kill(self.pid, libc::SIGKILL) };
        }
        let mut status = 0;
        // SAFETY: zeros are a value of it.
        let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
        let options = if kill { 0 } else { libc::WNOHANG };
        // SAFETY: both places live until the call is over.
        let pid = unsafe { libc::wait4(self.pid, &raw mut status, options, &raw mut usage) };
        let time = |time: libc::timeval| {
            Duration::from_secs(time.tv_sec as u64) + Duration::from_micros(time.tv_usec as u64)
        };
        let cpu = time(usage.ru_utime) + time(usage.ru_stime);
        (pid == self.pid).then_some(Message::Ended { killed: kill, status, cpu })
    }
}
