//! The kernel as a judge of bytecode: a program is attached to a socket of an AF_UNIX datagram pair, and packets are sent through it.
//!
//! Such a socket gives exactly the bytes that are sent, whatever link type they are of. It needs no privilege.

use bpf::Insn;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixDatagram;

/// A program that runs in the kernel.
#[derive(Debug)]
pub struct Attached {
    sender: UnixDatagram,
    receiver: UnixDatagram,
}

impl Attached {
    /// Attaches a program.
    ///
    /// # Errors
    ///
    /// `EINVAL` where the kernel refuses the program.
    pub fn new(insns: &[Insn]) -> io::Result<Attached> {
        let (sender, receiver) = UnixDatagram::pair()?;
        receiver.set_nonblocking(true)?;
        let Ok(len) = insns.len().try_into() else { return Err(io::ErrorKind::InvalidInput.into()) };
        let program = libc::sock_fprog { len, filter: insns.as_ptr().cast_mut().cast() };
        // SAFETY: the program points to `len` instructions of the kernel's layout, which it copies.
        let status = unsafe {
            libc::setsockopt(
                receiver.as_raw_fd(),
                libc::SOL_SOCKET,
                libc::SO_ATTACH_FILTER,
                (&raw const program).cast(),
                size_of::<libc::sock_fprog>() as libc::socklen_t,
            )
        };
        if status == 0 { Ok(Attached { sender, receiver }) } else { Err(io::Error::last_os_error()) }
    }

    /// How many bytes of a packet come through, `None` where it is rejected.
    ///
    /// # Errors
    ///
    /// Where the packet cannot be sent or received.
    pub fn passed(&self, packet: &[u8]) -> io::Result<Option<usize>> {
        match self.sender.send(packet) {
            Ok(_) => {}
            // What the filter rejects is not sent at all.
            Err(error) if error.raw_os_error() == Some(libc::EPERM) => return Ok(None),
            Err(error) => return Err(error),
        }
        let mut buffer = vec![0; packet.len() + 1];
        match self.receiver.recv(&mut buffer) {
            Ok(len) => Ok(Some(len)),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
            Err(error) => Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_socket_runs_programs() {
        let insn = |code, jf, k| Insn { code, jt: 0, jf, k };
        // ldb [3]; jeq #7; ret #262144; ret #0
        let attached = Attached::new(&[insn(48, 0, 3), insn(21, 1, 7), insn(6, 0, 262_144), insn(6, 0, 0)]);
        let attached = attached.expect("a socket");
        assert_eq!(attached.passed(&[0, 0, 0, 7, 9]).unwrap(), Some(5));
        assert_eq!(attached.passed(&[0, 0, 0, 8, 9]).unwrap(), None);
        assert_eq!(attached.passed(&[0, 0, 0]).unwrap(), None, "the load is outside");
        let error = Attached::new(&[insn(48, 0, 3)]).unwrap_err();
        assert_eq!(error.raw_os_error(), Some(libc::EINVAL), "it does not return");
    }
}
