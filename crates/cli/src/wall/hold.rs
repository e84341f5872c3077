//! Which wall stands on a device: of two on the same one, either would let pass what the other drops.
//!
//! A wall holds each of its devices by an abstract Unix socket. Names of these are those of a network namespace, as names of devices are, and go with the process.

use crate::exit::Failure;
use rustix::net::sockopt::socket_peercred;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, connect, socket_with};
use rustix::process::geteuid;
use std::io::ErrorKind;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener};

/// Holds a device as long as what is returned is kept; `None` where that cannot be, which hinders nobody.
pub(super) fn hold(device: &str) -> Result<Option<UnixListener>, Failure> {
    let name = format!("sluss-inline-{device}");
    let bound = SocketAddr::from_abstract_name(&name).and_then(|address| UnixListener::bind_addr(&address));
    match bound {
        Err(error) if error.kind() == ErrorKind::AddrInUse && is_held_by_a_wall(&name) => {
            let why =
                format_args!("another wall stands on {device}: what either of the two accepts would pass");
            Err(Failure::world(why).help("end that one first: `sluss ps` lists what runs"))
        }
        bound => Ok(bound.ok()),
    }
}

/// Whether whoever has the name is root or ourselves: it is free to anybody, who could keep walls from starting. Where so many have asked that there is no room for
/// another, it is taken to be one.
fn is_held_by_a_wall(name: &str) -> bool {
    let holder = || -> rustix::io::Result<_> {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
        connect(&socket, &SocketAddrUnix::new_abstract_name(name.as_bytes())?)?;
        socket_peercred(&socket)
    };
    match holder() {
        Ok(holder) => holder.uid.is_root() || holder.uid == geteuid(),
        Err(error) => error == rustix::io::Errno::AGAIN,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_has_one_wall() {
        let device = format!("t{}", std::process::id());
        let first = hold(&device).unwrap();
        assert!(first.is_some());
        let error = hold(&device).unwrap_err().message.to_string();
        assert!(error.contains(&format!("another wall stands on {device}")), "{error}");
        drop(first);
        assert!(hold(&device).unwrap().is_some());
    }
}
