//! The system calls that make a TAP device (Documentation/networking/tuntap.rst of the kernel).
//!
//! Reading and writing are those of [`File`]; what is unsafe here is three kinds of ioctl(2), each with a request that
//! lives on the stack.

use crate::netdev::{check, request};
use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;

/// Opens the device of a name, which the kernel makes if it is not there. Reads and writes never wait.
pub(super) fn open(name: &str) -> io::Result<File> {
    open_as(name, libc::IFF_TAP)
}

fn open_as(name: &str, kind: libc::c_int) -> io::Result<File> {
    let file =
        OpenOptions::new().read(true).write(true).custom_flags(libc::O_NONBLOCK).open("/dev/net/tun")?;
    let mut request = request(name);
    request.ifr_ifru.ifru_flags = (kind | libc::IFF_NO_PI) as libc::c_short;
    // SAFETY: the request is an initialised `ifreq` that this thread owns; the kernel reads and writes no more than that.
    check(unsafe { libc::ioctl(file.as_raw_fd(), libc::TUNSETIFF, &raw mut request) })?;
    Ok(file)
}

/// Makes a TUN device for a test, whose packets have no header, and says that it is of this type (linux/if_arp.h).
#[cfg(test)]
pub(crate) fn open_tun(name: &str, hardware: u16) -> io::Result<File> {
    let file = open_as(name, libc::IFF_TUN)?;
    // SAFETY: the type is passed as a number, and no memory.
    check(unsafe { libc::ioctl(file.as_raw_fd(), libc::TUNSETLINK, libc::c_int::from(hardware)) })?;
    crate::netdev::set_up(name)?;
    Ok(file)
}

/// Whether the device of an open file has not been removed.
pub(super) fn is_there(file: &File) -> bool {
    name(file).is_ok()
}

/// What the device of an open file is called now.
pub(super) fn name(file: &File) -> io::Result<String> {
    let mut request = request("");
    // SAFETY: as in `open`.
    check(unsafe { libc::ioctl(file.as_raw_fd(), libc::TUNGETIFF, &raw mut request) })?;
    let name = request.ifr_name.iter().map(|&c| c as u8).take_while(|&c| c != 0).collect();
    String::from_utf8(name).map_err(io::Error::other)
}
