//! Rules as data: written as iptables-save and as nft, and evaluated one by one.

use std::fmt::Write;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Family {
    V4,
    V6,
}

/// Numbers from a seed (SplitMix64).
pub(crate) struct Dice(u64);

impl Dice {
    pub(crate) fn new(seed: u64) -> Dice {
        Dice(seed)
    }

    pub(crate) fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ z >> 31) % n
    }

    fn chance(&mut self, one_in: u64) -> bool {
        self.below(one_in) == 0
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Packet {
    pub(crate) src: IpAddr,
    pub(crate) dst: IpAddr,
    pub(crate) proto: u8,
    pub(crate) sport: u16,
    pub(crate) dport: u16,
    /// Of TCP.
    pub(crate) flags: u8,
    /// Fragment offset, of IPv4.
    pub(crate) fragment: u16,
    pub(crate) ttl: u8,
    pub(crate) state: u32,
    pub(crate) iif: u32,
    pub(crate) mark: u32,
}

impl Packet {
    pub(crate) fn tcp(src: &str, dport: u16) -> Packet {
        let src: IpAddr = src.parse().unwrap();
        let dst = if src.is_ipv4() { "10.9.9.9" } else { "2001:db8:9::9" }.parse().unwrap();
        let (proto, sport, flags, ttl) = (6, 40_000, 0x10, 64);
        Packet { src, dst, proto, sport, dport, flags, fragment: 0, ttl, state: 0, iif: 0, mark: 0 }
    }

    pub(crate) fn input(&self, name: &str) -> u32 {
        match name {
            "ct_state" => self.state,
            "iif" => self.iif,
            "mark" => self.mark,
            _ => 0,
        }
    }

    /// The packet in an Ethernet frame.
    pub(crate) fn frame(&self) -> Vec<u8> {
        let mut transport = vec![0; 20];
        transport[..2].copy_from_slice(&self.sport.to_be_bytes());
        transport[2..4].copy_from_slice(&self.dport.to_be_bytes());
        if self.proto == 6 {
            transport[12] = 0x50;
            transport[13] = self.flags;
        }
        if matches!(self.proto, 1 | 58) {
            // The type of ICMP is what stands for the upper byte of the source port.
            transport[0] = self.sport as u8;
        }
        let mut frame = vec![2; 12];
        match (self.src, self.dst) {
            (IpAddr::V4(src), IpAddr::V4(dst)) => {
                frame.extend([8, 0, 0x45, 0, 0, 40, 0, 0]);
                frame.extend(self.fragment.to_be_bytes());
                frame.extend([self.ttl, self.proto, 0, 0]);
                frame.extend(src.octets());
                frame.extend(dst.octets());
            }
            (IpAddr::V6(src), IpAddr::V6(dst)) => {
                frame.extend([0x86, 0xdd, 0x60, 0, 0, 0, 0, 20, self.proto, self.ttl]);
                frame.extend(src.octets());
                frame.extend(dst.octets());
            }
            _ => unreachable!("one family"),
        }
        frame.extend(transport);
        frame
    }
}

fn random_address(family: Family, dice: &mut Dice) -> IpAddr {
    let low = dice.below(16) as u8;
    match family {
        Family::V4 => Ipv4Addr::new(10, dice.below(2) as u8, 0, low).into(),
        Family::V6 => Ipv6Addr::new(0x2001, 0xdb8, dice.below(2) as u16, 0, 0, 0, 0, low.into()).into(),
    }
}

pub(crate) fn random_packet(family: Family, seed: u64) -> Packet {
    let mut dice = Dice(seed);
    let icmp = if family == Family::V4 { 1 } else { 58 };
    Packet {
        src: random_address(family, &mut dice),
        dst: random_address(family, &mut dice),
        proto: [6, 6, 17, icmp][dice.below(4) as usize],
        sport: [1, 8, 128, 53, 4000][dice.below(5) as usize],
        dport: [22, 53, 80, 81, 443][dice.below(5) as usize],
        flags: dice.below(64) as u8,
        fragment: if family == Family::V4 && dice.chance(6) { 7 } else { 0 },
        ttl: dice.below(256) as u8,
        state: 1 << dice.below(4),
        iif: dice.below(4) as u32,
        mark: dice.below(4) as u32,
    }
}

#[derive(Clone, Debug)]
enum Action {
    Verdict(&'static str),
    Jump(usize),
    Goto(usize),
    Return,
    Log,
}

/// A match, and whether it is turned.
#[derive(Clone, Debug)]
enum Match {
    Address {
        is_src: bool,
        address: IpAddr,
        len: u8,
    },
    /// Of the protocol of the rule.
    Ports {
        is_src: bool,
        ranges: Vec<(u16, u16)>,
    },
    Flags {
        mask: u8,
        value: u8,
    },
    State(u32),
    /// The interface of this bit.
    Interface(u32),
    Icmp(u8),
    Mark {
        value: u32,
        mask: u32,
    },
    Hops(u8),
}

#[derive(Clone, Debug)]
struct Rule {
    /// The protocol, and whether it is turned.
    proto: Option<(u8, bool)>,
    matches: Vec<(Match, bool)>,
    action: Action,
}

/// Chains of rules, the first of which is the base chain.
#[derive(Clone, Debug)]
pub(crate) struct Model {
    pub(crate) family: Family,
    policy: &'static str,
    chains: Vec<Vec<Rule>>,
}

const FLAG_NAMES: [&str; 6] = ["fin", "syn", "rst", "psh", "ack", "urg"];
const STATES: [&str; 4] = ["invalid", "established", "related", "new"];

impl Model {
    pub(crate) fn random(seed: u64, family: Family) -> Model {
        let mut dice = Dice(seed);
        let count = 1 + dice.below(4) as usize;
        let mut chain = |at: usize| {
            let rules = 1 + dice.below(6);
            (0..rules).map(|_| random_rule(family, at, count, &mut dice)).collect()
        };
        let chains: Vec<Vec<Rule>> = (0..count).map(&mut chain).collect();
        let mut model = Model { family, policy: if dice.chance(2) { "drop" } else { "accept" }, chains };
        // Interfaces have their bits in the order in which rules name them: both are named first.
        for bit in [1, 0] {
            let rule =
                Rule { proto: None, matches: vec![(Match::Interface(1 << bit), false)], action: Action::Log };
            model.chains[0].insert(0, rule);
        }
        model
    }

    /// The verdict about a packet.
    pub(crate) fn decide(&self, packet: &Packet) -> String {
        self.walk(0, packet).unwrap_or(self.policy).to_owned()
    }

    /// What a chain says; nothing where it comes to its end.
    fn walk(&self, chain: usize, packet: &Packet) -> Option<&'static str> {
        for rule in self.chains[chain].iter().filter(|rule| rule.matches(packet)) {
            match rule.action {
                Action::Verdict(verdict) => return Some(verdict),
                Action::Jump(to) => {
                    if let Some(verdict) = self.walk(to, packet) {
                        return Some(verdict);
                    }
                }
                Action::Goto(to) => return self.walk(to, packet),
                Action::Return => return None,
                Action::Log => {}
            }
        }
        None
    }

    pub(crate) fn as_iptables(&self) -> String {
        let tool = if self.family == Family::V4 { "iptables" } else { "ip6tables" };
        let mut text =
            format!("# Generated by {tool}-save\n*filter\n:INPUT {} [1:2]\n", self.policy.to_uppercase());
        (1..self.chains.len()).for_each(|chain| _ = writeln!(text, ":c{chain} - [0:0]"));
        for (at, chain) in self.chains.iter().enumerate() {
            for rule in chain {
                let name = if at == 0 { "INPUT".to_owned() } else { format!("c{at}") };
                let _ = writeln!(text, "-A {name}{}", rule.as_iptables(self.family));
            }
        }
        text + "COMMIT\n"
    }

    pub(crate) fn as_nft(&self) -> String {
        let family = if self.family == Family::V4 { "ip" } else { "ip6" };
        let mut text = format!("table {family} fw {{\n");
        for (at, chain) in self.chains.iter().enumerate() {
            let name = if at == 0 { "input".to_owned() } else { format!("c{at}") };
            let _ = writeln!(text, "\tchain {name} {{");
            if at == 0 {
                let _ = writeln!(text, "\t\ttype filter hook input priority filter; policy {};", self.policy);
            }
            for rule in chain {
                let _ = writeln!(text, "\t\t{}", rule.as_nft(self.family));
            }
            text += "\t}\n";
        }
        text + "}\n"
    }
}

fn random_rule(family: Family, at: usize, chains: usize, dice: &mut Dice) -> Rule {
    let icmp = if family == Family::V4 { 1 } else { 58 };
    let proto = (!dice.chance(4)).then(|| ([6, 6, 17, icmp][dice.below(4) as usize], dice.chance(6)));
    let mut matches = Vec::new();
    for is_src in [true, false] {
        if dice.chance(2) {
            let full = if family == Family::V4 { 32 } else { 128 };
            let len = full - [0, 1, 2, 8, 20][dice.below(5) as usize];
            matches.push((
                Match::Address { is_src, address: random_address(family, dice), len },
                dice.chance(4),
            ));
        }
    }
    if let Some((number, false)) = proto {
        if matches!(number, 6 | 17) && dice.chance(2) {
            let mut port = || [22, 53, 80, 443][dice.below(4) as usize];
            let one = port();
            let ranges = match port() {
                22 => vec![(one, one)],
                53 => vec![(one, one + 30)],
                _ => vec![(22, 22), (80, 81), (400, 500)],
            };
            let is_src = dice.chance(5);
            matches.push((Match::Ports { is_src, ranges }, dice.chance(3)));
        }
        if number == 6 && dice.chance(3) {
            let mask = dice.below(63) as u8 + 1;
            matches.push((Match::Flags { mask, value: mask & dice.below(64) as u8 }, dice.chance(3)));
        }
        if number == icmp && dice.chance(2) {
            matches.push((Match::Icmp([8, 128][dice.below(2) as usize]), dice.chance(4)));
        }
    }
    if dice.chance(4) {
        matches.push((Match::State(2 * (1 + dice.below(7) as u32)), dice.chance(4)));
    }
    if dice.chance(5) {
        matches.push((Match::Interface(1 << dice.below(2)), dice.chance(3)));
    }
    if dice.chance(6) {
        matches.push((Match::Mark { value: dice.below(4) as u32, mask: 3 }, dice.chance(3)));
    }
    if dice.chance(6) {
        matches.push((Match::Hops(dice.below(256) as u8), false));
    }
    let deeper = (at + 1 < chains).then(|| at + 1 + dice.below((chains - at - 1) as u64) as usize);
    let action = match (dice.below(8), deeper) {
        (0 | 1, Some(to)) => Action::Jump(to),
        (2, Some(to)) => Action::Goto(to),
        (3, _) => Action::Return,
        (4, _) => Action::Log,
        (5, _) => Action::Verdict("reject"),
        (6, _) => Action::Verdict("accept"),
        _ => Action::Verdict("drop"),
    };
    Rule { proto, matches, action }
}

/// Whether an address is in a prefix.
fn is_in(address: IpAddr, prefix: IpAddr, len: u8) -> bool {
    let number = |address: IpAddr| match address {
        IpAddr::V4(address) => u128::from(u32::from(address)) << 96,
        IpAddr::V6(address) => address.into(),
    };
    let mask = u128::MAX
        << (if address.is_ipv4() { 32 } else { 128 } - len)
        << if address.is_ipv4() { 96 } else { 0 };
    (number(address) ^ number(prefix)) & mask == 0
}

impl Rule {
    fn matches(&self, packet: &Packet) -> bool {
        if self.proto.is_some_and(|(number, turned)| (packet.proto == number) == turned) {
            return false;
        }
        let has_transport = packet.fragment == 0;
        self.matches.iter().all(|(one, turned)| match one {
            Match::Address { is_src, address, len } => {
                is_in(if *is_src { packet.src } else { packet.dst }, *address, *len) != *turned
            }
            Match::Ports { is_src, ranges } => {
                let port = if *is_src { packet.sport } else { packet.dport };
                has_transport && ranges.iter().any(|(low, high)| (*low..=*high).contains(&port)) != *turned
            }
            Match::Flags { mask, value } => has_transport && (packet.flags & mask == *value) != *turned,
            Match::State(states) => (packet.state & states != 0) != *turned,
            Match::Interface(bit) => (packet.iif & bit != 0) != *turned,
            Match::Icmp(kind) => has_transport && (packet.sport as u8 == *kind) != *turned,
            Match::Mark { value, mask } => (packet.mark & mask == *value) != *turned,
            Match::Hops(least) => packet.ttl > *least,
        })
    }

    fn as_iptables(&self, family: Family) -> String {
        let mut text = String::new();
        if let Some((number, turned)) = self.proto {
            let name = match number {
                6 => "tcp",
                17 => "udp",
                1 => "icmp",
                _ => "ipv6-icmp",
            };
            text += &format!("{} -p {name}", if turned { " !" } else { "" });
        }
        for (one, turned) in &self.matches {
            let not = if *turned { " !" } else { "" };
            text += &match one {
                Match::Address { is_src, address, len } => {
                    format!("{not} -{} {address}/{len}", if *is_src { 's' } else { 'd' })
                }
                Match::Ports { is_src, ranges } => {
                    let end = if *is_src { 's' } else { 'd' };
                    let range = |&(low, high): &(u16, u16)| {
                        if low == high { low.to_string() } else { format!("{low}:{high}") }
                    };
                    let list: Vec<String> = ranges.iter().map(range).collect();
                    match &list[..] {
                        [one] => format!(" -m tcp{not} --{end}port {one}"),
                        many => format!(" -m multiport{not} --{end}ports {}", many.join(",")),
                    }
                }
                Match::Flags { mask, value } => {
                    format!(
                        " -m tcp{not} --tcp-flags {} {}",
                        flags(*mask, ","),
                        flags(*value, ",").replace("none", "NONE")
                    )
                }
                Match::State(bits) => {
                    format!(" -m conntrack{not} --ctstate {}", states(*bits).to_uppercase())
                }
                Match::Interface(bit) => format!("{not} -i {}", if *bit == 1 { "eth0" } else { "wl+" }),
                Match::Icmp(kind) if family == Family::V4 => format!(" -m icmp{not} --icmp-type {kind}"),
                Match::Icmp(kind) => format!(" -m icmp6{not} --icmpv6-type {kind}"),
                Match::Mark { value, mask } => format!(" -m mark{not} --mark {value:#x}/{mask:#x}"),
                Match::Hops(least) if family == Family::V4 => format!(" -m ttl --ttl-gt {least}"),
                Match::Hops(least) => format!(" -m hl --hl-gt {least}"),
            };
        }
        text + &match &self.action {
            Action::Verdict(verdict) => format!(" -j {}", verdict.to_uppercase()),
            Action::Jump(to) => format!(" -j c{to}"),
            Action::Goto(to) => format!(" -g c{to}"),
            Action::Return => " -j RETURN".to_owned(),
            Action::Log => " -j LOG --log-prefix \"a b\"".to_owned(),
        }
    }

    fn as_nft(&self, family: Family) -> String {
        let (ip, hops) = if family == Family::V4 { ("ip", "ip ttl") } else { ("ip6", "ip6 hoplimit") };
        let mut text = String::new();
        let mut transport = "tcp";
        if let Some((number, turned)) = self.proto {
            let name = match number {
                6 => "tcp",
                17 => "udp",
                1 => "icmp",
                _ => "ipv6-icmp",
            };
            transport = name;
            text += &format!("meta l4proto {}{name} ", if turned { "!= " } else { "" });
        }
        for (one, turned) in &self.matches {
            let not = if *turned { "!= " } else { "" };
            text += &match one {
                Match::Address { is_src, address, len } => {
                    format!("{ip} {} {not}{address}/{len} ", if *is_src { "saddr" } else { "daddr" })
                }
                Match::Ports { is_src, ranges } => {
                    let end = if *is_src { "sport" } else { "dport" };
                    let range = |&(low, high): &(u16, u16)| {
                        if low == high { low.to_string() } else { format!("{low}-{high}") }
                    };
                    let list: Vec<String> = ranges.iter().map(range).collect();
                    match &list[..] {
                        [one] => format!("{transport} {end} {not}{one} "),
                        many => format!("{transport} {end} {not}{{ {} }} ", many.join(", ")),
                    }
                }
                Match::Flags { mask, value } => {
                    let value = if *value == 0 { "0x0".to_owned() } else { flags(*value, " | ") };
                    let operator = if *turned { "!=" } else { "==" };
                    format!("tcp flags & ({}) {operator} {value} ", flags(*mask, " | "))
                }
                Match::State(bits) if *turned => {
                    let others = !*bits & 15;
                    // nft has no short form; what is not one of these is one of the others.
                    format!("ct state {} ", states(others))
                }
                Match::State(bits) => format!("ct state {} ", states(*bits)),
                Match::Interface(bit) => {
                    format!("iifname {not}\"{}\" ", if *bit == 1 { "eth0" } else { "wl*" })
                }
                Match::Icmp(kind) if family == Family::V4 => format!("icmp type {not}{kind} "),
                Match::Icmp(kind) => format!("icmpv6 type {not}{kind} "),
                Match::Mark { value, mask } => {
                    format!("meta mark & {mask:#x} {} {value:#x} ", if *turned { "!=" } else { "==" })
                }
                Match::Hops(least) => format!("{hops} > {least} "),
            };
        }
        text + &match &self.action {
            Action::Verdict(verdict) => (*verdict).to_owned(),
            Action::Jump(to) => format!("jump c{to}"),
            Action::Goto(to) => format!("goto c{to}"),
            Action::Return => "return".to_owned(),
            Action::Log => "log prefix \"a b\"".to_owned(),
        }
    }
}

/// Names of flags.
fn flags(bits: u8, between: &str) -> String {
    let names: Vec<&str> = (0..6).filter(|bit| bits >> bit & 1 == 1).map(|bit| FLAG_NAMES[bit]).collect();
    if names.is_empty() { "none".to_owned() } else { names.join(between) }
}

fn states(bits: u32) -> String {
    let names: Vec<&str> = (0..4).filter(|bit| bits >> bit & 1 == 1).map(|bit| STATES[bit]).collect();
    names.join(",")
}
