//! Firewalls of the kernel: what a packet costs on its way through a rule list, in a network namespace of its own.
//!
//! A raw socket sends; the kernel takes each packet through the list of the hook `output` before the call ends, and the call fails when the last rule drops the packet, as it
//! must. So the thread's time is that of the call and the list; of that, the same with the last rule alone is taken off, measured in turns.

use crate::race::{Lap, median, thread_cpu_ns};
use std::io;
use std::net::Ipv4Addr;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::process::{Command, Stdio};
use testkit::netns::{Namespace, Turn};

/// Turns of a list and of the last rule alone.
const ROUNDS: usize = 7;
/// What a turn may take, about.
const TURN_NS: usize = 40_000_000;
/// Packets that are timed together; the chunk in the middle counts, so that interrupts do not.
const CHUNK: usize = 32;
/// Chunks of a turn, at least.
const CHUNKS_MIN: usize = 5;

/// How a firewall is given a list of addresses whose packets are dropped, none of which is met, and a last rule that drops the rest.
pub(crate) struct Firewall {
    pub(crate) name: &'static str,
    /// The program that loads it.
    program: &'static str,
    package: &'static str,
    /// Programs, each with its input, that bring the list in.
    load: fn(&[Ipv4Addr]) -> Vec<(&'static str, String)>,
    /// What takes it away.
    clear: &'static [&'static str],
    /// Whether a packet costs about the same however long the list is.
    is_flat: bool,
}

/// The peers.
pub(crate) const FIREWALLS: [Firewall; 4] = [
    Firewall {
        name: "nftables, rules",
        program: "nft",
        package: "nftables",
        load: |addresses| {
            let rules: String =
                addresses.iter().map(|address| format!("ip saddr {address} drop\n")).collect();
            vec![("nft -f -", nft("", &rules))]
        },
        clear: &["nft flush ruleset"],
        is_flat: false,
    },
    Firewall {
        name: "nftables, a set",
        program: "nft",
        package: "nftables",
        load: |addresses| {
            let Some(elements) = joined(addresses) else { return vec![("nft -f -", nft("", ""))] };
            let set = format!("set refused {{ type ipv4_addr; elements = {{ {elements} }}; }}\n");
            vec![("nft -f -", nft(&set, "ip saddr @refused drop\n"))]
        },
        clear: &["nft flush ruleset"],
        is_flat: true,
    },
    Firewall {
        name: "iptables, rules",
        program: "iptables-legacy-restore",
        package: "iptables",
        load: |addresses| {
            let rules: String =
                addresses.iter().map(|address| format!("-A OUTPUT -s {address} -j DROP\n")).collect();
            vec![("iptables-legacy-restore", iptables(&rules))]
        },
        clear: &["iptables-legacy -t raw -F"],
        is_flat: false,
    },
    Firewall {
        name: "iptables with ipset",
        program: "ipset",
        package: "ipset",
        load: |addresses| {
            let mut set = String::from("create list hash:ip maxelem 1048576\n");
            addresses.iter().for_each(|address| set += &format!("add list {address}\n"));
            let rule = "-A OUTPUT -m set --match-set list src -j DROP\n";
            vec![
                ("ipset -exist restore", set),
                ("iptables-legacy-restore", iptables(if addresses.is_empty() { "" } else { rule })),
            ]
        },
        clear: &["iptables-legacy -t raw -F", "ipset destroy"],
        is_flat: true,
    },
];

fn nft(set: &str, rules: &str) -> String {
    format!(
        "table ip bench {{\n{set}chain in {{\ntype filter hook output priority raw;\n{rules}tcp dport 80 counter drop\n}}\n}}\n"
    )
}

fn iptables(rules: &str) -> String {
    format!("*raw\n:OUTPUT ACCEPT\n{rules}-A OUTPUT -p tcp --dport 80 -j DROP\nCOMMIT\n")
}

fn joined(addresses: &[Ipv4Addr]) -> Option<String> {
    let texts: Vec<String> = addresses.iter().map(Ipv4Addr::to_string).collect();
    (!texts.is_empty()).then(|| texts.join(", "))
}

/// A namespace in which packets leave by the loopback device.
pub(crate) struct Kernel {
    _turn: Turn,
    namespace: Namespace,
}

impl Kernel {
    /// `None`, said aloud, where namespaces cannot be made.
    pub(crate) fn new() -> Option<Kernel> {
        let (turn, [namespace]) = Namespace::some("the bench of the kernel's firewalls")?;
        namespace.run("ip link set lo up");
        namespace.run("ip route add 198.19.0.0/24 dev lo");
        Some(Kernel { _turn: turn, namespace })
    }

    /// Nanoseconds that a list costs a packet, beyond the last rule alone. `None`, said aloud, where the firewall is not installed.
    pub(crate) fn measure(&self, firewall: &Firewall, addresses: &[Ipv4Addr]) -> Option<Lap> {
        if Command::new(firewall.program).arg("--version").output().is_err() {
            eprintln!("SKIPPED: {}: install {} (Debian)", firewall.name, firewall.package);
            return None;
        }
        let per_packet = if firewall.is_flat { 2000 } else { 2000 + 10 * addresses.len() };
        let chunks = (TURN_NS / per_packet / CHUNK).max(CHUNKS_MIN);
        let times = (0..ROUNDS).map(|_| {
            let [base, whole] = [&[][..], addresses].map(|addresses| {
                (firewall.load)(addresses).iter().for_each(|(words, input)| self.load(words, input));
                let took = self.namespace.enter(|| sent(chunks)).expect("a raw socket in the namespace");
                firewall.clear.iter().for_each(|words| self.namespace.run(words));
                took
            });
            whole - base
        });
        Some(Lap::of(firewall.name, times.collect()))
    }

    fn load(&self, words: &str, input: &str) {
        use std::io::Write;
        let mut child = self.namespace.command(words).stdin(Stdio::piped()).spawn().expect("nsenter");
        let mut stdin = child.stdin.take().expect("it is piped");
        stdin.write_all(input.as_bytes()).expect("the firewall reads its list");
        drop(stdin);
        assert!(child.wait().expect("it was started").success(), "{words}");
    }
}

/// Sends packets to port 80 from addresses that no list has; nanoseconds for each. All must be dropped.
fn sent(chunks: usize) -> io::Result<f64> {
    let socket = raw_socket()?;
    let mut packet = [0_u8; 40];
    // IPv4 without options, TCP, to port 80; the kernel writes length and checksum of IP.
    packet[0] = 0x45;
    packet[8] = 64;
    packet[9] = 6;
    packet[16..20].copy_from_slice(&[198, 19, 0, 1]);
    packet[20..24].copy_from_slice(&[0x40, 0, 0, 80]);
    packet[32] = 0x50;
    packet[33] = 2;
    let mut draw = 1_u32;
    // The first chunk fills the caches.
    let times = (0..=chunks).map(|_| {
        let begin = thread_cpu_ns();
        for _ in 0..CHUNK {
            draw = draw.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let source = 0xc612_0000 | draw >> 16;
            packet[12..16].copy_from_slice(&source.to_be_bytes());
            let refused = send(&socket, &packet).expect_err("the last rule drops every packet");
            assert!(
                refused.raw_os_error() == Some(libc::EPERM),
                "a packet was not dropped by a rule: {refused}"
            );
        }
        (thread_cpu_ns() - begin) as f64 / CHUNK as f64
    });
    Ok(median(times.skip(1).collect()))
}

fn raw_socket() -> io::Result<OwnedFd> {
    // SAFETY: no memory is passed.
    let descriptor =
        unsafe { libc::socket(libc::AF_INET, libc::SOCK_RAW | libc::SOCK_CLOEXEC, libc::IPPROTO_RAW) };
    if descriptor < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the descriptor was just opened, and nobody else has it.
    Ok(unsafe { OwnedFd::from_raw_fd(descriptor) })
}

fn send(socket: &OwnedFd, packet: &[u8]) -> io::Result<()> {
    // SAFETY: zeros are a valid address.
    let mut to: libc::sockaddr_in = unsafe { std::mem::zeroed() };
    to.sin_family = libc::AF_INET as libc::sa_family_t;
    to.sin_addr.s_addr = u32::from_ne_bytes([198, 19, 0, 1]);
    // SAFETY: both pointers are to live values of the lengths that are given.
    let sent = unsafe {
        libc::sendto(
            socket.as_raw_fd(),
            packet.as_ptr().cast(),
            packet.len(),
            0,
            (&raw const to).cast(),
            size_of::<libc::sockaddr_in>() as libc::socklen_t,
        )
    };
    if sent < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}
