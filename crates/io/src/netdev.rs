//! What the kernel knows of a network device, asked by its name: ioctl(2), as netdevice(7) and linux/ethtool.h have it.
//!
//! The device is that of the network namespace of the thread that asks, as files of sysfs need not be. What is unsafe here are the calls: each
//! request, and the value that it points to, lives on the stack for the time of one call.

use std::ffi::CString;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

/// The kernel's number for a type of device: `ARPHRD_…` of linux/if_arp.h, `/sys/class/net/*/type`.
pub type Hardware = u16;

/// The type of a loopback device.
pub const LOOPBACK: Hardware = libc::ARPHRD_LOOPBACK;

/// What a device does to packets on its own, or lets the kernel leave undone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Offload {
    /// Generic receive offload: the kernel joins packets that came.
    Gro,
    /// Large receive offload: the device joins packets that came.
    Lro,
    /// TCP segments are left to the device to be cut.
    Tso,
    /// Checksums of packets that are sent are left to the device.
    TxChecksum,
}

impl Offload {
    /// All of them.
    pub const ALL: [Offload; 4] = [Offload::Gro, Offload::Lro, Offload::Tso, Offload::TxChecksum];

    /// What `ethtool -K` calls it.
    pub fn name(self) -> &'static str {
        match self {
            Offload::Gro => "gro",
            Offload::Lro => "lro",
            Offload::Tso => "tso",
            Offload::TxChecksum => "tx",
        }
    }

    /// The command of linux/ethtool.h that asks for it, and the bits of the answer that mean it.
    fn question(self) -> (u32, u32) {
        match self {
            Offload::Gro => (ETHTOOL_GGRO, u32::MAX),
            Offload::Lro => (ETHTOOL_GFLAGS, ETH_FLAG_LRO),
            Offload::Tso => (ETHTOOL_GTSO, u32::MAX),
            Offload::TxChecksum => (ETHTOOL_GTXCSUM, u32::MAX),
        }
    }
}

/// Whether a device is on, and has something at the other end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkState {
    /// It is off.
    Down,
    /// It is on, without a carrier.
    NoCarrier,
    /// It is on.
    Up,
}

/// Whether there is a device of this name.
///
/// # Errors
/// `ENODEV` if there is none.
pub fn index(device: &str) -> io::Result<u32> {
    let name = CString::new(device).map_err(|_| io::Error::from_raw_os_error(libc::ENODEV))?;
    // SAFETY: the name ends with a zero, and is only read.
    match unsafe { libc::if_nametoindex(name.as_ptr()) } {
        0 => Err(io::Error::last_os_error()),
        index => Ok(index),
    }
}

/// The longest packet that a device sends, without its link header.
///
/// # Errors
/// What the kernel says.
pub fn mtu(device: &str) -> io::Result<u32> {
    let answer = ask(libc::SIOCGIFMTU as _, request(device))?;
    // SAFETY: the kernel has written the number; besides, all bytes of the union were initialised.
    Ok(u32::try_from(unsafe { answer.ifr_ifru.ifru_mtu }).unwrap_or(0))
}

/// Sets it.
///
/// # Errors
/// What the kernel says.
pub fn set_mtu(device: &str, mtu: u16) -> io::Result<()> {
    let mut request = request(device);
    request.ifr_ifru.ifru_mtu = mtu.into();
    ask(libc::SIOCSIFMTU as _, request).map(drop)
}

/// Of which type a device is.
///
/// # Errors
/// What the kernel says.
pub fn hardware(device: &str) -> io::Result<Hardware> {
    let answer = ask(libc::SIOCGIFHWADDR as _, request(device))?;
    // SAFETY: the kernel has written the address; besides, all bytes of the union were initialised.
    Ok(unsafe { answer.ifr_ifru.ifru_hwaddr }.sa_family)
}

/// `IFF_…` of a device, those of the lower 16 bits.
fn flags(device: &str) -> io::Result<libc::c_int> {
    let answer = ask(libc::SIOCGIFFLAGS as _, request(device))?;
    // SAFETY: as in `mtu`.
    Ok(unsafe { answer.ifr_ifru.ifru_flags }.into())
}

/// Whether a device has one other end.
///
/// # Errors
/// What the kernel says.
pub fn is_point_to_point(device: &str) -> io::Result<bool> {
    Ok(flags(device)? & libc::IFF_POINTOPOINT != 0)
}

/// Whether a device is on.
///
/// # Errors
/// What the kernel says.
pub fn link_state(device: &str) -> io::Result<LinkState> {
    let flags = flags(device)?;
    Ok(match (flags & libc::IFF_UP != 0, flags & libc::IFF_RUNNING != 0) {
        (false, _) => LinkState::Down,
        (true, false) => LinkState::NoCarrier,
        (true, true) => LinkState::Up,
    })
}

/// Switches a device on, unless it is.
///
/// # Errors
/// What the kernel says.
pub fn set_up(device: &str) -> io::Result<()> {
    let flags = flags(device)?;
    if flags & libc::IFF_UP != 0 {
        return Ok(());
    }
    let mut request = request(device);
    request.ifr_ifru.ifru_flags = (flags | libc::IFF_UP) as libc::c_short;
    ask(libc::SIOCSIFFLAGS as _, request).map(drop)
}

/// Whether an offload is switched on.
///
/// # Errors
/// What the kernel says: `EOPNOTSUPP` where the device knows none.
pub fn has_offload(device: &str, offload: Offload) -> io::Result<bool> {
    let (command, bits) = offload.question();
    let mut value = [command, 0_u32];
    let mut request = request(device);
    request.ifr_ifru.ifru_data = (&raw mut value).cast();
    ask(SIOCETHTOOL, request)?;
    Ok(value[1] & bits != 0)
}

/// The driver of a device.
///
/// # Errors
/// What the kernel says: `EOPNOTSUPP` where it has no name.
pub fn driver(device: &str) -> io::Result<String> {
    let mut info = DriverInfo { command: ETHTOOL_GDRVINFO, driver: [0; 32], rest: [0; 160] };
    let mut request = request(device);
    request.ifr_ifru.ifru_data = (&raw mut info).cast();
    ask(SIOCETHTOOL, request)?;
    let name: Vec<u8> = info.driver.iter().copied().take_while(|&byte| byte != 0).collect();
    Ok(String::from_utf8_lossy(&name).into_owned())
}

/// `struct ethtool_drvinfo`, of which the first field is of interest.
#[repr(C)]
struct DriverInfo {
    command: u32,
    driver: [u8; 32],
    rest: [u8; 160],
}

const SIOCETHTOOL: libc::c_ulong = 0x8946;
const ETHTOOL_GDRVINFO: u32 = 0x03;
const ETHTOOL_GTXCSUM: u32 = 0x16;
const ETHTOOL_GTSO: u32 = 0x1e;
const ETHTOOL_GFLAGS: u32 = 0x25;
const ETHTOOL_GGRO: u32 = 0x2b;
const ETH_FLAG_LRO: u32 = 1 << 15;

/// A request about a device, otherwise zero.
pub(crate) fn request(device: &str) -> libc::ifreq {
    // SAFETY: an `ifreq` is plain numbers and a union of plain numbers and pointers, for which zeroes will do.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    // The last byte stays zero.
    for (to, &from) in request.ifr_name[..libc::IFNAMSIZ - 1].iter_mut().zip(device.as_bytes()) {
        *to = from as libc::c_char;
    }
    request
}

/// Asks through a socket, of whichever kind: requests about devices need one. What a request points to must live as long as the call.
fn ask(what: libc::c_ulong, mut request: libc::ifreq) -> io::Result<libc::ifreq> {
    // SAFETY: no memory is passed.
    let fd = unsafe { libc::socket(libc::AF_INET, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, 0) };
    check(fd)?;
    // SAFETY: the descriptor was opened above, and nobody else has it.
    let socket = unsafe { OwnedFd::from_raw_fd(fd) };
    // SAFETY: the request is an initialised `ifreq` that this thread owns; what it points to, if anything, is a value of the callers above, which
    // is as long as the kernel writes for the command in it.
    check(unsafe { libc::ioctl(socket.as_raw_fd(), what as _, &raw mut request) })?;
    Ok(request)
}

/// The result of a system call.
pub(crate) fn check(result: libc::c_int) -> io::Result<()> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_loopback_device_is_as_it_is_everywhere() {
        assert_eq!(index("lo").ok(), Some(1));
        assert_eq!(hardware("lo").ok(), Some(libc::ARPHRD_LOOPBACK));
        assert!(mtu("lo").is_ok_and(|mtu| mtu >= 1500));
        for offload in Offload::ALL {
            assert!(has_offload("lo", offload).is_ok(), "{offload:?}");
        }
        let absent = "a-long-name-that-no-device-has";
        assert_eq!(index(absent).unwrap_err().raw_os_error(), Some(libc::ENODEV));
        assert!(mtu(absent).is_err() && driver(absent).is_err() && link_state(absent).is_err());
    }
}
