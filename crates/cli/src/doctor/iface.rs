//! A network device: whether packets come from it as they are on the wire.

use super::{Check, State, with_program};
use crate::exit::Failure;
use crate::shell::shell_word;
use io::af_packet::{Framing, Peers};
use io::netdev::{self, LinkState, Offload};
use std::io::ErrorKind;

/// The longest packet of an Ethernet, without its header.
const MTU_MAX: u32 = 1500;

/// All that is asked of a device.
pub(super) fn checks(device: &str) -> Result<Vec<Check>, Failure> {
    netdev::index(device).map_err(|_| {
        Failure::world(format_args!("there is no device {device}"))
            .help("`ip link` shows those that there are; other subjects are `dpdk`, `nfqueue` and `wall`")
    })?;
    let hardware =
        netdev::hardware(device).map_err(|error| Failure::world(format_args!("{device}: {error}")))?;
    let is_loopback = hardware == netdev::LOOPBACK;
    let offloads = Offload::ALL.map(|which| offload(device, which, is_loopback));
    let before = [link_type(device, hardware), link(device), driver(device), mtu(device, is_loopback)];
    Ok(before.into_iter().chain(offloads).collect())
}

fn link_type(device: &str, hardware: u16) -> Check {
    let wanted = "Ethernet, or packets that begin with IP";
    let check = |found: String| Check::ok("link_type", found, wanted, "packets of the device (af_packet)");
    let is_point_to_point = netdev::is_point_to_point(device).unwrap_or(false);
    let peers = if is_point_to_point { Peers::One } else { Peers::Several };
    match Framing::of(hardware, peers) {
        Some(framing) => check(framing.linktype().to_string()),
        None => check(format!("type {hardware} of the kernel")).but(State::Fail, None),
    }
}

fn link(device: &str) -> Check {
    let check = |found: &str| Check::ok("link", found, "up", "any packets at all");
    match netdev::link_state(device) {
        Ok(LinkState::Up) => check("up"),
        Ok(LinkState::Down) => {
            let fix = with_program("ip", "iproute2", &format!("ip link set dev {} up", shell_word(device)));
            check("switched off").but(State::Fail, fix)
        }
        Ok(LinkState::NoCarrier) => {
            check("on, without a carrier: the cable, or the device at the other end").but(State::Fail, None)
        }
        Err(error) => check(&error.to_string()).but(State::Unknown, None),
    }
}

fn driver(device: &str) -> Check {
    let check =
        |found: &str| Check::ok("driver", found, "any", "whoever looks for the device's own counters");
    match netdev::driver(device) {
        Ok(driver) => check(&driver),
        Err(error) if error.kind() == ErrorKind::Unsupported => check("without a name"),
        Err(error) => check(&error.to_string()).but(State::Unknown, None),
    }
}

fn mtu(device: &str, is_loopback: bool) -> Check {
    let needed_for = "frames that any other device can send on";
    let check = |found: String| Check::ok("mtu", found, "1500 or less", needed_for);
    match netdev::mtu(device) {
        Ok(mtu) if mtu <= MTU_MAX || is_loopback => check(mtu.to_string()),
        Ok(mtu) => {
            let command = format!("ip link set dev {} mtu {MTU_MAX}", shell_word(device));
            check(mtu.to_string()).but(State::Warn, with_program("ip", "iproute2", &command))
        }
        Err(error) => check(error.to_string()).but(State::Unknown, None),
    }
}

fn offload(device: &str, offload: Offload, is_loopback: bool) -> Check {
    let needed_for = match offload {
        Offload::Gro | Offload::Lro => "packets as they were on the wire: it joins several to one",
        Offload::Tso => "packets as they will be on the wire: they are seen before they are cut",
        Offload::TxChecksum => {
            "checksums that are right when packets are seen: a veth or a bridge hands them on incomplete"
        }
    };
    let name = offload.name();
    let check = |found: &str| Check::ok(name, found, "off", needed_for);
    match netdev::has_offload(device, offload) {
        Ok(false) => check("off"),
        // No packet leaves it, and the kernel does not let its offloads be changed.
        Ok(true) if is_loopback => {
            check("on, which a loopback device cannot do without").but(State::Warn, None)
        }
        Ok(true) => {
            let command = format!("ethtool -K {} {name} off", shell_word(device));
            let state = if offload == Offload::Lro { State::Fail } else { State::Warn };
            check("on").but(state, with_program("ethtool", "ethtool", &command))
        }
        Err(error) if error.kind() == ErrorKind::Unsupported => check("not known to the device"),
        Err(error) => check(&error.to_string()).but(State::Unknown, None),
    }
}
