//! Names for tests: those of this machine, which libpcap asks too.

use crate::linktype::LinkType;
use pflang::{Compiler, FileNames};
use std::fs;
use std::sync::{Arc, LazyLock};

/// Where there is no protocols(5).
const PROTOCOLS: &str = "icmp 1 ICMP\nigmp 2 IGMP\ntcp 6 TCP\nudp 17 UDP\nesp 50\nah 51\nsctp 132\n";
/// Where there is no services(5).
const SERVICES: &str =
    "ssh 22/tcp\ndomain 53/tcp\ndomain 53/udp\nhttp 80/tcp www\nntp 123/udp\nsnmp 161/tcp\nsnmp 161/udp\n";

/// The names in this machine's files; of protocols and services a handful where it has no files.
pub fn of_this_machine() -> FileNames {
    let read = |path: &str| fs::read_to_string(path).ok();
    FileNames::new()
        .protocols(read("/etc/protocols").as_deref().unwrap_or(PROTOCOLS))
        .services(read("/etc/services").as_deref().unwrap_or(SERVICES))
        .hosts(&read("/etc/hosts").unwrap_or_default())
        .networks(&read("/etc/networks").unwrap_or_default())
        .ethers(&read("/etc/ethers").unwrap_or_default())
}

/// A compiler that knows these names.
pub(crate) fn compiler(linktype: LinkType, netmask: Option<u32>) -> Compiler {
    static NAMES: LazyLock<Arc<FileNames>> = LazyLock::new(|| Arc::new(of_this_machine()));
    let compiler = Compiler::new(linktype).names(NAMES.clone());
    match netmask {
        Some(mask) => compiler.netmask(mask.into()),
        None => compiler,
    }
}
