//! The kernel as an engine: bytecode is attached to a socket of an AF_UNIX datagram pair, and packets are sent through it.
//!
//! Such a socket gives exactly the bytes that are sent, whatever link type they are of. It needs no privilege.

use bpf::Insn;
use std::io;
use std::os::unix::net::UnixDatagram;

/// A program that runs in the kernel.
#[derive(Debug)]
pub(crate) struct Attached {
    sender: UnixDatagram,
    receiver: UnixDatagram,
}

impl Attached {
    /// Attaches a program.
    #[cfg(target_os = "linux")]
    pub(crate) fn new(insns: &[Insn]) -> io::Result<Attached> {
        let (sender, receiver) = UnixDatagram::pair()?;
        receiver.set_nonblocking(true)?;
        let insns: Vec<_> =
            insns.iter().map(|insn| socket2::SockFilter::new(insn.code, insn.jt, insn.jf, insn.k)).collect();
        socket2::SockRef::from(&receiver).attach_filter(&insns)?;
        Ok(Attached { sender, receiver })
    }

    #[cfg(not(target_os = "linux"))]
    pub(crate) fn new(_: &[Insn]) -> io::Result<Attached> {
        Err(io::ErrorKind::Unsupported.into())
    }

    /// Whether a packet comes through.
    pub(crate) fn accepts(&self, packet: &[u8]) -> io::Result<bool> {
        match self.sender.send(packet) {
            Ok(_) => {}
            // What the filter rejects is not sent at all.
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => return Ok(false),
            Err(error) => return Err(error),
        }
        match self.receiver.recv(&mut [0]) {
            Ok(_) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(false),
            Err(error) => Err(error),
        }
    }
}
