//! What the process may do.

use super::{Check, State, as_root};
use crate::shell::shell_word;
use rustix::process::{Resource, getrlimit};
use rustix::thread::{CapabilitySet, capabilities};

/// A capability, by its name, and what takes it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Capability {
    name: &'static str,
    set: CapabilitySet,
    needed_for: &'static str,
}

pub(super) const NET_RAW: Capability = Capability {
    name: "cap_net_raw",
    set: CapabilitySet::NET_RAW,
    needed_for: "packets of devices (af_packet), and rejects of nfqueue",
};
pub(super) const NET_ADMIN: Capability = Capability {
    name: "cap_net_admin",
    set: CapabilitySet::NET_ADMIN,
    needed_for: "TAP devices, promiscuous mode, nfqueue",
};
const BPF: Capability =
    Capability { name: "cap_bpf", set: CapabilitySet::BPF, needed_for: "programs in the kernel" };

/// All that anything takes.
pub(super) const ALL: [Capability; 3] = [NET_RAW, NET_ADMIN, BPF];

/// Whether we have a capability.
pub(super) fn capability(capability: Capability) -> Check {
    let Capability { name, set, needed_for } = capability;
    let check = |found: &str| Check::ok(name, found, "present", needed_for);
    match capabilities(None) {
        Err(error) => check(&format!("the kernel does not say: {error}")).but(State::Unknown, None),
        Ok(sets) if sets.effective.contains(set) => check("present"),
        Ok(_) if rustix::process::geteuid().is_root() => {
            check("absent, though this is root: the container or unit does not give it")
                .but(State::Fail, None)
        }
        Ok(_) => check("absent").but(State::Fail, setcap()),
    }
}

/// How sluss gets all of them.
fn setcap() -> Option<String> {
    let program = std::env::current_exe().ok()?;
    let setcap = "setcap cap_net_raw,cap_net_admin,cap_bpf,cap_ipc_lock+ep";
    Some(as_root(&format!("{setcap} {}", shell_word(program))))
}

/// What the kernel gives since 5.16.
const MEMLOCK_MIN: u64 = 8 << 20;

/// How much memory may be locked.
pub(super) fn memlock() -> Check {
    let check = |found: String| {
        Check::ok("memlock", found, "8 MiB or more", "memory that devices write to: DPDK on hardware, AF_XDP")
    };
    let is_exempt = capabilities(None).is_ok_and(|sets| sets.effective.contains(CapabilitySet::IPC_LOCK));
    let limit = getrlimit(Resource::Memlock);
    match limit.current {
        _ if is_exempt => check("not limited: cap_ipc_lock is present".to_owned()),
        None => check("not limited".to_owned()),
        Some(bytes) if bytes >= MEMLOCK_MIN => check(format!("{} KiB", bytes >> 10)),
        Some(bytes) => {
            let is_below_hard = limit.maximum.is_none_or(|maximum| maximum >= MEMLOCK_MIN);
            let fix = if is_below_hard {
                // Of whoever runs this by `sh -c`, and starts sluss afterwards.
                Some(format!("prlimit --memlock={MEMLOCK_MIN}: --pid $PPID"))
            } else if rustix::process::geteuid().is_root() {
                None
            } else {
                setcap()
            };
            check(format!("{} KiB", bytes >> 10)).but(State::Fail, fix)
        }
    }
}
