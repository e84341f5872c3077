//! Hosts, nets, ports and protocols, with qualifiers given, left out, or carried over.

use super::Generator;

#[rustfmt::skip]
const V4: &[&str] = &[
    "192.0.2.1", "192.0.2.2", "10.0.0.1", "10.0.0.2", "127.0.0.1", "224.0.0.1", "255.255.255.255", "0.0.0.0", "10.1",
    "172.16.5", "192.168.1.1", "239.255.255.250",
];
#[rustfmt::skip]
const V6: &[&str] = &[
    "2001:db8::1", "2001:db8::2", "fe80::1", "ff02::1", "::1", "::", "::ffff:192.0.2.1",
    "2001:db8:1:2:3:4:5:6", "1::",
];
#[rustfmt::skip]
const V4_NETS: &[&str] = &[
    "10.0.0.0/8", "192.0.2.0/24", "192.0.2.0/25", "0.0.0.0/0", "192.0.2.1/32", "224.0.0.0/4", "172.16/12", "10",
    "192.0.2.0 mask 255.255.255.0", "10.0.0.1 mask 255.0.0.255", "127", "192.168", "128.0.0.0/1", "10.0.0.0/31",
];
#[rustfmt::skip]
const V6_NETS: &[&str] = &[
    "2001:db8::/32", "fe80::/10", "ff00::/8", "::/0", "2001:db8::2/128", "2001:db8:1::/48", "2001:db8::/33",
    "2001:db8:0:0:8000::/65", "::/96",
];
#[rustfmt::skip]
const MACS: &[&str] = &[
    "02:00:00:00:00:01", "02:00:00:00:00:02", "ff:ff:ff:ff:ff:ff", "2:0:0:0:0:a", "02-00-00-00-00-0b", "0200.0000.000c",
    "02.00.00.00.00.0d", "020000000001", "01:00:5e:00:00:01",
];
const DIRS: &[&str] =
    &["", "", "", "src ", "dst ", "src or dst ", "src and dst ", "dst or src ", "dst and src "];
const IP_PROTOCOLS: &[&str] = &[
    "ip", "ip6", "arp", "rarp", "tcp", "udp", "sctp", "icmp", "icmp6", "igmp", "igrp", "pim", "vrrp", "carp",
    "ah", "esp",
];
#[rustfmt::skip]
const LINK_PROTOCOLS: &[&str] = &[
    "atalk", "aarp", "decnet", "lat", "sca", "moprc", "mopdl", "iso", "stp", "ipx", "netbeui", "clnp", "esis", "es-is",
    "isis", "is-is", "l1", "l2", "iih", "lsp", "snp", "csnp", "psnp",
];

impl Generator {
    /// `ip src host A or B`, `host (A or not B)`, a bare address.
    pub(super) fn host(&mut self) -> String {
        let v6 = self.rng.chance(1, 3);
        let proto =
            if v6 { self.pick(&["", "", "ip6 "]) } else { self.pick(&["", "", "", "ip ", "arp ", "rarp "]) };
        let (dir, kind) = self.dir_and_kind();
        let ids = self.ids(|g| if v6 { g.v6() } else { g.v4() });
        format!("{proto}{dir}{kind}{ids}")
    }

    /// A direction, `host`, or both: without either an address may not follow.
    fn dir_and_kind(&mut self) -> (&'static str, &'static str) {
        match self.pick(DIRS) {
            "" => ("", "host "),
            dir => (dir, self.pick(&["host ", ""])),
        }
    }

    /// One identifier, or several that share the qualifiers before them.
    fn ids(&mut self, mut one: impl FnMut(&mut Self) -> String) -> String {
        match self.rng.below(12) {
            0 => format!("{} or {}", one(self), one(self)),
            // Enough for tables, tries and ranges, which chains of a few are not made into.
            5 => {
                let (first, join) = *self.rng.pick(&[("", " or "), ("", " or "), ("not ", " and not ")]);
                let many: Vec<String> = (0..4 + self.rng.below(20)).map(|_| one(self)).collect();
                format!("({first}{})", many.join(join))
            }
            1 => format!("({} or {} or {})", one(self), one(self), one(self)),
            2 => format!("({} or not {})", one(self), one(self)),
            3 => format!("{} and not {}", one(self), one(self)),
            4 => format!("not {}", one(self)),
            _ => one(self),
        }
    }

    fn v4(&mut self) -> String {
        match self.rng.below(12) {
            0 => self.rng.next_u32().to_string(),
            1 => std::net::Ipv4Addr::from(self.rng.next_u32()).to_string(),
            _ => self.pick(V4).to_string(),
        }
    }

    fn v6(&mut self) -> String {
        if self.rng.chance(1, 8) {
            let bits = u128::from(self.rng.next_u64()) << 64 | u128::from(self.rng.next_u64());
            return std::net::Ipv6Addr::from(bits).to_string();
        }
        self.pick(V6).to_string()
    }

    /// `src net 10.0.0.0/8` and its other spellings.
    pub(super) fn net(&mut self) -> String {
        let v6 = self.rng.chance(1, 3);
        let proto = if v6 { self.pick(&["", "ip6 "]) } else { self.pick(&["", "", "ip ", "arp ", "rarp "]) };
        let dir = self.pick(DIRS);
        let nets = if v6 { V6_NETS } else { V4_NETS };
        let ids = self.ids(|g| g.pick(nets).to_string());
        format!("{proto}{dir}net {ids}")
    }

    /// `tcp dst port 80 or 443`, `portrange 1-1023`.
    pub(super) fn port(&mut self) -> String {
        let (proto, dir) = (self.pick(&["", "", "tcp ", "udp ", "sctp "]), self.pick(DIRS));
        if self.rng.chance(1, 3) {
            let ids = self.ids(|g| {
                let (low, high) = (g.port_number(), g.port_number());
                g.pick(&["a", "a", "b"]).replace('a', &format!("{low}-{high}")).replace('b', &low.to_string())
            });
            return format!("{proto}{dir}portrange {ids}");
        }
        let ids = self.ids(|g| g.port_number().to_string());
        format!("{proto}{dir}port {ids}")
    }

    fn port_number(&mut self) -> u32 {
        let drawn = self.rng.next_u32() % 0x1_0000;
        *self.rng.pick(&[22, 53, 53, 80, 80, 80, 443, 5060, 6081, 8080, 40_000, 0, 0xffff, drawn])
    }

    /// A protocol's name alone.
    pub(super) fn protocol(&mut self) -> String {
        let rest = if self.family.llc || self.family.mac { 4 } else { 12 };
        let list = if self.rng.chance(1, rest) { LINK_PROTOCOLS } else { IP_PROTOCOLS };
        self.pick(list).to_string()
    }

    /// `ip proto 17`, `ether proto \arp`, `ip6 protochain \tcp`, `isis proto 18`.
    pub(super) fn numbered_protocol(&mut self) -> String {
        let ip = |g: &mut Self| match g.rng.below(3) {
            0 => g.pick(&["\\tcp", "\\udp", "\\icmp", "\\sctp", "\\esp", "\\igmp"]).to_string(),
            1 => g.rng.below(256).to_string(),
            _ => g.pick(&["6", "17", "0x11", "58", "44", "0", "132", "255"]).to_string(),
        };
        match self.rng.below(12) {
            0 => {
                let (proto, ids) = (self.pick(&["ip ", "ip6 ", ""]), ip(self));
                format!("{proto}protochain {ids}")
            }
            1 | 2 if self.family.llc || self.family.mac => {
                let ids = self.ids(Self::ether_type);
                format!("ether proto {ids}")
            }
            3 => format!("{} proto {}", self.pick(&["iso", "isis"]), self.rng.below(256)),
            _ => {
                let (proto, ids) = (self.pick(&["ip ", "ip6 ", ""]), self.ids(ip));
                format!("{proto}proto {ids}")
            }
        }
    }

    fn ether_type(&mut self) -> String {
        match self.rng.below(3) {
            0 => format!("0x{:04x}", self.rng.next_u32() & 0xffff),
            1 => self
                .pick(&["0x0800", "0x86dd", "2054", "0x8100", "0x42", "0xe0", "0xf0", "0xfe", "0xaa", "1500"])
                .to_string(),
            _ => {
                #[rustfmt::skip]
                let names = [
                    "\\ip", "\\ip6", "\\arp", "\\rarp", "\\atalk", "\\aarp", "\\decnet", "\\iso", "\\lat", "\\moprc",
                    "\\mopdl", "\\sca", "\\stp", "\\ipx", "\\netbeui", "\\loopback",
                ];
                self.pick(&names).to_string()
            }
        }
    }

    /// `ether src 02:…`, in each spelling of addresses and of the qualifier.
    pub(super) fn link_host(&mut self) -> String {
        let wlan = self.family.wlan && self.rng.chance(1, 2);
        let proto = self.pick(&["ether ", "ether ", "link ", "wlan ", "fddi ", "tr "]);
        if wlan {
            let dir = self.pick(&["ra ", "ta ", "addr1 ", "addr2 ", "addr3 ", "address4 "]);
            let mac = self.pick(MACS);
            return format!("wlan {dir}{mac}");
        }
        let (dir, kind) = self.dir_and_kind();
        let ids = self.ids(|g| g.pick(MACS).to_string());
        format!("{proto}{dir}{kind}{ids}")
    }
}
