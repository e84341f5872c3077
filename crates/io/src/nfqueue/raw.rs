//! Raw sockets, by which packets leave that the graph has made: raw(7), with a mark by which rules know them.
//!
//! What is unsafe here is setsockopt(2) with a number that lives on the stack.

use crate::netdev::check;
use rustix::net::{AddressFamily, SendFlags, SocketFlags, SocketType, ipproto, sendto, socket_with};
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddrV4, SocketAddrV6};
use std::os::fd::{AsRawFd, OwnedFd};

/// A socket for each version of IP.
#[derive(Debug)]
pub(super) struct RawSockets {
    v4: OwnedFd,
    /// `None` where the kernel has no IPv6.
    v6: Option<OwnedFd>,
}

impl RawSockets {
    /// Opens them; what they send has this mark.
    pub(super) fn open(mark: u32) -> io::Result<Self> {
        let open = |family| -> io::Result<OwnedFd> {
            let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
            // With this protocol, packets come with their headers.
            let fd = socket_with(family, SocketType::RAW, flags, Some(ipproto::RAW))?;
            set_mark(&fd, mark)?;
            Ok(fd)
        };
        let v4 = open(AddressFamily::INET)?;
        let v6 = match open(AddressFamily::INET6) {
            Err(error) if error.raw_os_error() == Some(libc::EAFNOSUPPORT) => None,
            opened => Some(opened?),
        };
        Ok(RawSockets { v4, v6 })
    }

    /// Sends an IP packet to the address in its header.
    pub(super) fn send(&self, packet: &[u8]) -> io::Result<()> {
        let flags = SendFlags::DONTWAIT;
        let short = || io::Error::from_raw_os_error(libc::EINVAL);
        match packet.first().map(|first| first >> 4) {
            Some(4) => {
                let octets: [u8; 4] = *packet.get(16..).and_then(<[u8]>::first_chunk).ok_or_else(short)?;
                sendto(&self.v4, packet, flags, &SocketAddrV4::new(Ipv4Addr::from(octets), 0))?;
            }
            Some(6) => {
                let octets: [u8; 16] = *packet.get(24..).and_then(<[u8]>::first_chunk).ok_or_else(short)?;
                let socket = self.v6.as_ref().ok_or_else(|| io::Error::from_raw_os_error(libc::ENETDOWN))?;
                sendto(socket, packet, flags, &SocketAddrV6::new(Ipv6Addr::from(octets), 0, 0, 0))?;
            }
            _ => return Err(short()),
        }
        Ok(())
    }
}

fn set_mark(fd: &OwnedFd, mark: u32) -> io::Result<()> {
    let (value, len) = ((&raw const mark).cast(), size_of_val(&mark) as libc::socklen_t);
    // SAFETY: the kernel reads `len` bytes, which the number has, during the call.
    check(unsafe { libc::setsockopt(fd.as_raw_fd(), libc::SOL_SOCKET, libc::SO_MARK, value, len) })
}
