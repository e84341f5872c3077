//! What the kernel has, and how it is set up.

use super::{Check, State, as_root, install, program_path};
use landlock::{ABI, Access, AccessFs, CompatLevel, Compatible, Ruleset, RulesetAttr};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketType, socket};
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

/// Pages of 2 MiB that are asked for: memory for some ten thousand packets, and what DPDK keeps beside them.
const HUGE_PAGES: u64 = 64;
const HUGE_PAGES_FOLDER: &str = "/sys/kernel/mm/hugepages/hugepages-2048kB";

/// Whether packet sockets can be opened.
pub(super) fn af_packet() -> Check {
    let check = |found: &str| Check::ok("af_packet", found, "present", "packets of devices (af_packet)");
    match socket(AddressFamily::PACKET, SocketType::RAW, None) {
        // Without the capability, the kernel has found the family first.
        Ok(_) | Err(Errno::PERM) => check("present"),
        Err(error) => {
            let fix = program_path("modprobe").map(|_| as_root("modprobe af_packet"));
            check(&format!("the kernel has no packet sockets: {error}")).but(State::Fail, fix)
        }
    }
}

/// Whether huge pages are reserved.
pub(super) fn hugepages() -> Check {
    let wanted = format!("{HUGE_PAGES} free pages of 2 MiB");
    let check = |found: String| {
        Check::ok("hugepages", found, &wanted, "DPDK at full speed; without them it uses usual pages")
    };
    let count = |name: &str| -> Option<u64> {
        fs::read_to_string(Path::new(HUGE_PAGES_FOLDER).join(name)).ok()?.trim().parse().ok()
    };
    let (Some(free), Some(all)) = (count("free_hugepages"), count("nr_hugepages")) else {
        return check(format!("{HUGE_PAGES_FOLDER} is not there")).but(State::Warn, None);
    };
    let found = check(format!("{free} free of {all} pages of 2 MiB"));
    if free >= HUGE_PAGES {
        return found;
    }
    let more = all + HUGE_PAGES - free;
    found.but(State::Warn, Some(as_root(&format!("sysctl -w vm.nr_hugepages={more}"))))
}

/// Whether there is the program that gives packets to a queue.
pub(super) fn iptables(program: &'static str) -> Check {
    let check = |found: String| Check::ok(program, found, "present", "rules that give packets to nfqueue");
    match program_path(program) {
        None => check("absent".to_owned()).but(State::Fail, install("iptables")),
        Some(path) => check(version_of(&path).unwrap_or_else(|| path.display().to_string())),
    }
}

/// What a program says of its version.
fn version_of(program: &Path) -> Option<String> {
    let output = Command::new(program).arg("--version").stdin(Stdio::null()).output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout).lines().next()?.trim().to_owned();
    output.status.success().then_some(text)
}

/// Whether a rule can give packets to a queue: tried in a network namespace of its own, which goes at once.
pub(super) fn nfqueue() -> Check {
    let check = |found: String| Check::ok("nfqueue", found, "present", "packets from iptables (nfqueue)");
    if !Path::new("/proc/self/net/netfilter/nfnetlink_queue").exists() {
        let fix = program_path("modprobe").map(|_| as_root("modprobe nfnetlink_queue"));
        return check("the kernel has no nfnetlink_queue".to_owned()).but(State::Fail, fix);
    }
    let (Some(unshare), Some(iptables)) = (program_path("unshare"), program_path("iptables")) else {
        let lacking =
            "the kernel has queues; whether rules can name them is not known without iptables and unshare";
        return check(lacking.to_owned()).but(State::Unknown, None);
    };
    let mut command = Command::new(unshare);
    command.arg("--net").arg(iptables).args(["-A", "INPUT", "-j", "NFQUEUE", "--queue-num", "0"]);
    match command.stdin(Stdio::null()).output() {
        Ok(output) if output.status.success() => check("present".to_owned()),
        Ok(_) if !rustix::process::geteuid().is_root() => {
            check("not known: to try a rule takes root".to_owned()).but(State::Unknown, None)
        }
        Ok(output) => {
            let told = String::from_utf8_lossy(&output.stderr);
            let told = told.lines().next().unwrap_or("no reason").to_owned();
            let fix = program_path("modprobe").map(|_| as_root("modprobe xt_NFQUEUE"));
            check(format!("iptables refuses the target: {told}")).but(State::Fail, fix)
        }
        Err(error) => check(format!("not known: {error}")).but(State::Unknown, None),
    }
}

/// Whether processes can be kept from files.
pub(super) fn landlock() -> Check {
    let made = Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(AccessFs::from_all(ABI::V1))
        .and_then(Ruleset::create);
    let needed_for = "a running wall that reads and writes no files but its own";
    let check = |found: String| Check::ok("landlock", found, "present", needed_for);
    match made {
        Ok(_) => check("present".to_owned()),
        Err(error) => check(format!("absent: {error}")).but(State::Fail, None),
    }
}

/// Whether processes can be kept from system calls.
pub(super) fn seccomp() -> Check {
    let actions = fs::read_to_string("/proc/sys/kernel/seccomp/actions_avail");
    let needed_for = "the process of nDPI, and a running wall, which are kept from system calls";
    let check = |found: &str| Check::ok("seccomp", found, "present", needed_for);
    match actions {
        Ok(actions) if actions.split_whitespace().any(|action| action == "errno") => check("present"),
        _ => check("absent").but(State::Fail, None),
    }
}

/// Which drivers have the network devices on PCI.
pub(super) fn pci_drivers() -> Check {
    let needed_for = "hardware that DPDK drives; virtual devices take none";
    let devices = network_devices(Path::new("/sys/bus/pci/devices"));
    let found = match &devices[..] {
        [] => "no network device on PCI".to_owned(),
        devices => devices.join(", "),
    };
    Check::ok("pci_drivers", found, "vfio-pci for devices that DPDK is to drive", needed_for)
}

/// Network devices on PCI, with their drivers.
fn network_devices(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut devices: Vec<String> = entries
        .filter_map(|entry| {
            let class = fs::read_to_string(entry.path().join("class")).ok()?;
            // Base class 2 (PCI Code and ID Assignment Specification).
            let is_network = class.starts_with("0x02");
            let driver = fs::read_link(entry.path().join("driver")).ok();
            let driver = driver.as_deref().and_then(Path::file_name).map(|name| name.to_string_lossy());
            let driver = driver.unwrap_or("no driver".into());
            is_network.then(|| format!("{} {driver}", entry.file_name().to_string_lossy()))
        })
        .collect();
    devices.sort();
    devices
}
