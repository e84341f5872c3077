//! Relations between arithmetic expressions: every operator, every protocol that can be indexed.

use super::Generator;

#[rustfmt::skip]
const IP_BASES: &[&str] = &[
    "ip", "ip", "tcp", "tcp", "udp", "icmp", "icmp6", "ip6", "ip6", "arp", "rarp", "igmp", "igrp", "pim", "vrrp", "carp",
    "sctp", "atalk", "decnet", "sca", "lat", "moprc", "mopdl",
];
const LINK_BASES: &[&str] = &["ether", "link", "ppp", "slip", "wlan", "fddi", "tr"];
#[rustfmt::skip]
const NAMED: &[&str] = &[
    "tcpflags", "icmptype", "icmpcode", "icmp-echo", "icmp-unreach", "tcp-syn", "tcp-ack", "tcp-fin", "tcp-rst", "tcp-push",
    "tcp-urg", "tcp-ece", "tcp-cwr", "icmp6type", "icmp6-echo", "icmp6-neighborsolicit",
];
const RELATIONS: &[&str] = &["=", "==", "!=", "<", ">", "<=", ">="];
const OPERATORS: &[&str] = &["+", "-", "*", "/", "%", "&", "&", "&", "|", "^", "<<", ">>"];

/// Deeper expressions run out of libpcap's sixteen registers.
const DEPTH: usize = 3;

impl Generator {
    /// `tcp[12] & 0xf0 >> 2 > 20`.
    pub(super) fn relation(&mut self) -> String {
        if self.rng.chance(1, 12) {
            return self.relations_of_one_field();
        }
        let left = self.value(DEPTH);
        let relation = self.pick(RELATIONS);
        let right = if self.rng.chance(3, 4) { self.number() } else { self.value(DEPTH - 1) };
        if self.rng.chance(1, 12) {
            return format!("{right} {relation} {left}");
        }
        format!("{left} {relation} {right}")
    }

    /// `(ip[8] > 3 and ip[8] <= 64 or ip[8] = 255)`: what is known of a field tells what is asked of it next.
    fn relations_of_one_field(&mut self) -> String {
        let field = self.load(0);
        let mut text = String::from("(");
        for i in 0..2 + self.rng.below(7) {
            let join = if i == 0 { "" } else { self.pick(&[" and ", " or ", " or "]) };
            let (not, relation) = (self.pick(&["", "", "", "not "]), self.pick(RELATIONS));
            let near = [self.rng.below(8), 0x0800, 255, 256];
            text.push_str(&format!("{join}{not}{field} {relation} {}", self.rng.pick(&near)));
        }
        text + ")"
    }

    fn value(&mut self, depth: usize) -> String {
        match self.rng.below(10) {
            0 | 1 if depth > 0 => {
                let (left, right) = (self.value(depth - 1), self.value(depth - 1));
                format!("{left} {} {right}", self.pick(OPERATORS))
            }
            // Parentheses go around operations, never around a lone number, which libpcap reads as another thing.
            2 | 3 if depth > 0 => {
                let left = self.load(depth - 1);
                format!("({})", self.with_operand(left, depth - 1))
            }
            4 if depth > 0 => {
                let left = self.load(depth - 1);
                self.with_operand(left, depth - 1)
            }
            5 if depth > 0 && self.rng.chance(1, 3) => format!("-{}", self.load(depth - 1)),
            6 => self.pick(&["len", "length"]).to_string(),
            _ => self.load(depth),
        }
    }

    /// `left` and an operator with what stands to its right, most often a number.
    fn with_operand(&mut self, left: String, depth: usize) -> String {
        let operator = self.pick(OPERATORS);
        let right = match operator {
            _ if self.rng.chance(1, 3) => self.value(depth),
            // Constant shifts of 32 and more are errors, so few of them are enough.
            "<<" | ">>" if self.rng.chance(15, 16) => self.rng.below(32).to_string(),
            _ => self.number(),
        };
        format!("{left} {operator} {right}")
    }

    /// `ip[0]`, `tcp[tcpflags]`, `ether[ip[0] & 3:2]`.
    fn load(&mut self, depth: usize) -> String {
        let base = if self.family.radio && self.rng.chance(1, 4) {
            "radio"
        } else if self.family.ip && self.rng.chance(4, 5) {
            self.pick(IP_BASES)
        } else {
            self.pick(LINK_BASES)
        };
        let offset = match self.rng.below(12) {
            0 if depth > 0 => self.value(depth - 1),
            1 => self.pick(NAMED).to_string(),
            2 => self.number(),
            _ => self.rng.below(24).to_string(),
        };
        let size = self.pick(&["", "", "", ":1", ":2", ":2", ":4"]);
        format!("{base}[{offset}{size}]")
    }

    /// A number in one of its spellings.
    pub(super) fn number(&mut self) -> String {
        match self.rng.below(8) {
            0 => format!("0x{:x}", self.rng.next_u32() >> self.rng.below(32)),
            1 => format!("0{:o}", self.rng.below(512)),
            2 => self.pick(NAMED).to_string(),
            3 => (self.rng.next_u32() >> self.rng.below(32)).to_string(),
            4 => self
                .rng
                .pick(&["0xf", "0xf0", "0xff", "0xfc", "0x1fff", "0xffffffff", "4294967295"])
                .to_string(),
            _ => self.rng.below(20).to_string(),
        }
    }
}
