//! Texts drawn from the grammar itself, production by production: what libpcap's `grammar.y` and `scanner.l` (1.10.3) allow,
//! with the odd spellings of each token, whether or not it makes sense on a link type.
//!
//! [`Generator`](super::Generator) makes what is valid and interacts; this makes what is rare. Names that libpcap would ask a name
//! server for do not occur, nor does what COMPAT.md lists as a difference.

use crate::rng::Rng;
use std::collections::BTreeSet;

/// How deep expressions and arithmetic go.
const DEPTH: usize = 3;

/// A rule and what it can be: `<…>` stands for a rule, `~` for white space. The first alternative of a rule that contains
/// itself does not, so that texts come to an end.
#[rustfmt::skip]
static GRAMMAR: &[(&str, &[&str])] = &[
    ("expr", &["<term>", "<expr>~<join>~<term>"]),
    ("term", &["<primitive>", "<not>~<term>", "(<expr>)", "(~<expr>~)"]),
    ("join", &["and", "or", "&&", "||"]),
    ("not", &["not", "!"]),
    ("primitive", &[
        "<host>", "<net>", "<mac>", "<port>", "<range>", "<protocol>", "<decnet>", "<arcnet>", "<abbreviation>", "<cast>", "<length>", "<shift>",
        "<llc>", "<wlan>", "<meta>", "<pf>", "<atm>", "<ss7>", "<relation>",
    ]),

    ("dir", &["src", "dst", "src~or~dst", "dst~or~src", "src~and~dst", "dst~and~src", "src~||~dst", "dst~&&~src"]),
    ("anydir", &["", "<dir>~"]),
    ("carrier4", &["", "ip~", "arp~", "rarp~"]),
    ("transport", &["", "tcp~", "udp~", "sctp~"]),
    ("link", &["link", "ether", "ppp", "slip", "fddi", "tr", "wlan"]),

    ("host", &[
        "<carrier4><anydir>host~<ids4>", "<carrier4><dir>~<ids4>", "<anydir>host~<ids6>", "<dir>~<ids6>", "ip6~<anydir>host~<ids6>",
    ]),
    ("ids4", &["<v4>", "<v4>~<join>~<v4>", "(<v4>)", "(<v4>~<join>~<v4>)", "<not>~<v4>", "(<v4>~<join>~(<v4>~<join>~<v4>))", "(<pnum>~<join>~<v4>)"]),
    ("v4", &[
        "10.0.0.1", "192.0.2.1", "255.255.255.255", "0.0.0.0", "10.1", "10.1.2", "010.001.2.3", "<pnum>", "\\10.0.0.1", "\\0x7f000001",
        "\\10.1", "\\017.1", "\\80",
    ]),
    ("ids6", &["<v6>", "<v6>~<join>~<v6>", "(<v6>~<join>~<not>~<v6>)", "<not>~<v6>"]),
    ("v6", &[
        "::", "::1", "1::", "fe80::1", "FE80::aBcD", "1:2:3:4:5:6:7:8", "1:2:3:4:5:6:7::", "::2:3:4:5:6:7:8", "1:2:3:4:5:6:1.2.3.4", "::1.2.3.4",
        "1::2:3.4.5.6", "0001::000a", "::1/128", "\\2001:db8::1", "1:2:3:4::5:6", "1::5:6:1.2.3.4",
    ]),

    ("net", &["<carrier4><anydir>net~<ids4net>", "<anydir>net~<ids6net>", "ip6~<anydir>net~<ids6net>"]),
    ("ids4net", &["<net4>", "<net4>~<join>~<net4>", "(<net4>~<join>~<not>~<net4>)"]),
    ("net4", &[
        "10", "10.1", "10.1.2", "10.1.2.3", "10.0.0.0/8", "10.1/16", "10.1.2/24", "0.0/0", "10.0.0.0/010", "10.0.0.0/0x8", "10.1.2.3/32",
        "10.1~mask~255.255", "10.0.0.1~mask~255.0.0.255", "0.0~mask~0.0", "0", "256", "0xa000000", "(167772160)", "10.0.0.0~/~8",
    ]),
    ("ids6net", &["<net6>", "<net6>~<join>~<net6>", "(<net6>~<join>~<net6>)"]),
    ("net6", &["::/0", "::1", "fe80::/10", "fe80::/012", "::/0x80", "2001:db8:8000::/33", "::ffff:0:0/96", "2001:db8::~/~32"]),

    ("mac", &[
        "<link>~<anydir>host~<idsmac>", "<link>~<dir>~<idsmac>", "<link>~<addr>~<idsmac>", "<link>~<addr>~host~<idsmac>",
    ]),
    ("addr", &["addr1", "addr2", "addr3", "addr4", "address1", "address2", "address3", "address4", "ra", "ta"]),
    ("idsmac", &["<eid>", "<eid>~<join>~<eid>", "(<eid>~<join>~<not>~<eid>)"]),
    ("eid", &[
        "1:2:3:4:5:6", "02:00:00:00:00:01", "aA-bB-cC-dD-eE-fF", "1.2.3.4.5.6", "a.b.c.d.e.f", "0123.4567.89ab", "0123456789AB", "000000000001",
    ]),
    ("arcnet", &["<link>~<anydir>host~<aid>", "<link>~<dir>~<aid>", "link~host~<aid>~<join>~<aid>"]),
    ("aid", &["$1", "$f", "$1f", "$A0"]),

    ("port", &["<transport><anydir>port~<idsport>"]),
    ("idsport", &["<portid>", "<portid>~<join>~<portid>", "(<portid>~<join>~<portid>)", "((<portno>))", "<not>~<portid>"]),
    ("portid", &["<portno>", "(<portno>)", "<service>", "\\80"]),
    ("portno", &["80", "0", "65535", "0x50", "0120", "tcp-syn", "icmptype", "53"]),
    ("service", &["http", "domain", "ssh", "www", "\\http", "ntp"]),
    ("range", &["<transport><anydir>portrange~<idsrange>"]),
    ("idsrange", &["<portrange>", "<portrange>~<join>~<portrange>", "(<portrange>~<join>~<portno>)"]),
    ("portrange", &[
        "80-90", "90-80", "0-65535", "80", "(80)", "010-020", "1-2-3", "80-90a", "http-8080", "80-http", "ssh-http", "\\80-90", "domain-ntp",
    ]),

    ("protocol", &[
        "<ipcarrier>proto~<idsproto>", "<ipcarrier>protochain~<idsproto>", "<link>~proto~<idsether>", "iso~proto~<idsiso>", "isis~proto~<pnum>",
    ]),
    ("ipcarrier", &["", "ip~", "ip6~"]),
    ("idsproto", &["<ipproto>", "<ipproto>~<join>~<ipproto>", "(<ipproto>~<join>~<ipproto>)"]),
    ("ipproto", &["6", "17", "0", "255", "(58)", "0x11", "021", "\\tcp", "\\udp", "\\icmp", "\\esp", "TCP", "44", "300"]),
    ("idsether", &["<ethertype>", "<ethertype>~<join>~<ethertype>", "(<ethertype>~<join>~<not>~<ethertype>)"]),
    ("ethertype", &[
        "0", "1", "0x42", "0xaa", "0xe0", "0xf0", "0xfe", "255", "1500", "1501", "1536", "0x800", "0x86dd", "0x8100", "65535", "65536", "4294967295",
        "0x21", "0x57", "0x281", "0x8847", "\\ip", "\\ip6", "\\arp", "\\rarp", "\\atalk", "\\aarp", "\\decnet", "\\iso", "\\stp", "\\ipx",
        "\\netbeui", "\\lat", "\\moprc", "\\mopdl", "\\sca", "\\loopback", "loopback",
    ]),
    ("idsiso", &["<isoid>", "<isoid>~<join>~<isoid>"]),
    ("isoid", &["0x81", "130", "\\clnp", "\\esis", "\\isis", "256"]),
    ("decnet", &["decnet~<anydir>host~<area>", "decnet~<dir>~<area>", "decnet~<anydir>net~<area>", "decnet~host~<area>~<join>~<area>"]),
    ("area", &["1.5", "63.1023", "64.1024", "1.0x5", "1.2.3", "99999999999.1", "1.99999999999", "<pnum>", "01.02"]),

    ("abbreviation", &[
        "ip", "ip6", "arp", "rarp", "tcp", "udp", "sctp", "icmp", "icmp6", "igmp", "igrp", "pim", "vrrp", "carp", "ah", "esp", "atalk", "aarp", "decnet",
        "lat", "sca", "moprc", "mopdl", "iso", "esis", "es-is", "isis", "is-is", "clnp", "l1", "l2", "iih", "lsp", "snp", "csnp", "psnp", "stp", "ipx",
        "netbeui",
    ]),
    ("cast", &["broadcast", "multicast", "<link>~broadcast", "<link>~multicast", "ip~multicast", "ip6~multicast", "ip~broadcast"]),
    ("length", &["less~<num>", "greater~<num>", "byte~<num>~<byteop>~<num>"]),
    ("byteop", &["=", "==", "<", ">"]),
    ("shift", &["vlan<tag>", "mpls<tag>", "pppoed", "pppoes<tag>", "geneve<tag>"]),
    ("tag", &["", "~<pnum>", "~1~and~ip", "~(2)~and~tcp", "~0~or~ip6", "~(10~)"]),
    ("llc", &["llc", "llc~<llctype>"]),
    ("llctype", &[
        "i", "s", "u", "I", "S", "U", "rr", "rnr", "\\rnr", "rej", "RR", "ui", "ua", "disc", "dm", "sabme", "test", "xid", "frmr", "FRMR", "\\ui",
    ]),
    ("meta", &["inbound", "outbound", "ifindex~<num>"]),

    ("wlan", &["<wlanqual>type~<type>", "<wlanqual>type~<typed>", "<wlanqual>subtype~<subtype>", "<wlanqual>dir~<wlandir>", "direction~<wlandir>"]),
    ("wlanqual", &["", "wlan~", "link~", "tcp~"]),
    ("type", &["mgt", "ctl", "data", "management", "control", "MGT", "0", "4", "8", "12", "0x0C", "\\data"]),
    ("typed", &[
        "mgt~subtype~<mgt>", "0~subtype~<mgt>", "ctl~subtype~<ctl>", "4~subtype~<ctl>", "data~subtype~<data>", "12~subtype~<bits>",
        "mgt~subtype~<bits>",
    ]),
    ("subtype", &["<mgt>", "<ctl>", "<data>"]),
    ("mgt", &[
        "assoc-req", "assoc-resp", "assocreq", "assocresp", "reassoc-req", "reassoc-resp", "probe-req", "probe-resp", "beacon", "atim", "disassoc",
        "disassociation", "auth", "authentication", "deauth", "deauthentication", "Beacon",
    ]),
    ("ctl", &["ps-poll", "rts", "cts", "ack", "cf-end", "cf-end-ack", "ACK"]),
    ("data", &[
        "data", "data-cf-ack", "data-cf-poll", "data-cf-ack-poll", "null", "cf-ack", "cf-poll", "cf-ack-poll", "qos-data", "qos-data-cf-ack",
        "qos-data-cf-poll", "qos-data-cf-ack-poll", "qos", "qos-cf-poll", "qos-cf-ack-poll",
    ]),
    ("bits", &["0", "0x10", "0xf0", "020"]),
    ("wlandir", &["nods", "tods", "fromds", "dstods", "ToDS", "0", "1", "2", "3", "4", "256"]),

    ("pf", &["on~<ifname>", "ifname~<ifname>", "rset~<ifname>", "ruleset~<ifname>", "rnr~<num>", "rulenum~<num>", "srnr~<num>", "subrulenum~<num>",
        "reason~<reason>", "action~<action>"]),
    ("ifname", &["em0", "lo0", "a.b", "\\tcp", "\\a&b", "\\:1", "em_0", "abcdefghijklmno"]),
    ("reason", &[
        "match", "bad-offset", "fragment", "short", "normalize", "memory", "bad-timestamp", "congestion", "ip-option", "proto-cksum", "state-mismatch",
        "state-insert", "state-limit", "src-limit", "synproxy", "Match", "<num>",
    ]),
    ("action", &[
        "pass", "accept", "drop", "block", "rdr", "nat", "nonat", "binat", "nobinat", "scrub", "noscrub", "nordr", "synproxy-drop", "PASS",
    ]),

    ("atm", &["<channel>", "vpi~<field>", "vci~<field>"]),
    ("channel", &["lane", "metac", "bcc", "oamf4ec", "oamf4sc", "sc", "ilmic", "oam", "oamf4", "connectmsg", "metaconnect"]),
    ("field", &["<small>", "<relop>~<small>", "(<small>)", "(<small>~or~<small>)", "(<small>~||~<small>~or~<small>)"]),
    ("small", &["0", "1", "5", "0x7", "010", "15"]),
    ("relop", &["=", "==", ">", ">=", "<", "<=", "!="]),
    ("ss7", &["<unit>", "<routing>~<field>"]),
    ("unit", &["fisu", "lssu", "lsu", "msu", "hfisu", "hlssu", "hmsu"]),
    ("routing", &["sio", "opc", "dpc", "sls", "hsio", "hopc", "hdpc", "hsls"]),

    ("relation", &["<arith>~<relop>~<arith>", "<arith><relop><number>"]),
    ("arith", &[
        "<operand>", "<arith>~<op>~<arith>", "<operand><sign><arith>", "-<arith>", "-~<arith>", "(<operand>~<op>~<arith>)", "(<load>)", "<base>[<arith>]",
        "<base>[<arith>:<size>]", "<base>~[~<arith>~:~<size>~]",
    ]),
    ("operand", &["<number>", "<load>", "len", "length"]),
    ("load", &["<base>[<index>]", "<base>[<index>:<size>]"]),
    ("index", &["0", "9", "tcpflags", "0x10", "017", "(4)"]),
    ("size", &["1", "2", "4", "04", "0x2", "tcp-fin"]),
    ("op", &["+", "-", "*", "/", "%", "&", "|", "^", "<<", ">>"]),
    ("sign", &["+", "*", "/", "%", "&", "|", "^", "<<", ">>"]),
    ("base", &[
        "ip", "ip6", "tcp", "udp", "icmp", "icmp6", "igmp", "igrp", "pim", "vrrp", "carp", "sctp", "arp", "rarp", "atalk", "decnet", "lat", "sca", "moprc",
        "mopdl", "<link>",
    ]),

    ("pnum", &["<number>", "(<number>)", "(~(<number>)~)"]),
    ("number", &["<num>", "<constant>"]),
    ("num", &["1", "0", "2", "7", "010", "0x1F", "0X1f", "00", "0377", "255", "256", "1023", "65535", "0xffffffff", "4294967295", "03777777777", "64"]),
    ("constant", &["icmptype", "icmpcode", "tcpflags", "tcp-syn", "tcp-cwr", "icmp-echo", "icmp6type", "icmp6-echo", "icmp6-redirect"]),
];

/// Makes texts from a rule.
#[derive(Debug)]
pub struct Productions {
    rng: Rng,
    has_services: bool,
    space: &'static str,
    used: BTreeSet<Alternative>,
}

/// A rule and one of its alternatives.
pub type Alternative = (&'static str, &'static str);

impl Productions {
    /// Texts from a seed.
    pub fn new(seed: u64) -> Self {
        let has_services = std::path::Path::new("/etc/services").exists();
        Productions { rng: Rng::new(seed), has_services, space: " ", used: BTreeSet::new() }
    }

    /// An expression.
    pub fn expression(&mut self) -> String {
        self.text("expr")
    }

    /// A text of one rule.
    ///
    /// # Panics
    ///
    /// When there is no such rule.
    pub fn text(&mut self, rule: &str) -> String {
        self.used.clear();
        self.space = *self.rng.pick(&[" ", " ", " ", " ", "  ", "\t", "\n", "\r\n"]);
        let mut text = String::new();
        self.expand(rule, DEPTH, &mut text);
        text
    }

    /// What the last text is made of.
    pub fn used(&self) -> &BTreeSet<Alternative> {
        &self.used
    }

    /// Every alternative of every rule.
    pub fn all() -> impl Iterator<Item = Alternative> {
        GRAMMAR.iter().flat_map(|(rule, alternatives)| alternatives.iter().map(|one| (*rule, *one)))
    }

    fn expand(&mut self, rule: &str, depth: usize, text: &mut String) {
        let (rule, alternatives) =
            GRAMMAR.iter().find(|(name, _)| *name == rule).unwrap_or_else(|| panic!("no rule <{rule}>"));
        let is_nested =
            alternatives.iter().any(|one| one.contains(&format!("<{rule}>")) || one.contains("<expr>"));
        let alternative = match *rule {
            _ if is_nested && depth == 0 => alternatives[0],
            "service" if !self.has_services => "\\80",
            _ => self.rng.pick(alternatives),
        };
        self.used.insert((rule, alternative));
        let depth = depth.saturating_sub(usize::from(is_nested));
        let mut rest = alternative;
        while let Some(at) = rest.find(['<', '~']) {
            text.push_str(&rest[..at]);
            let inside = &rest[at + 1..];
            rest = match inside.find('>') {
                _ if rest[at..].starts_with('~') => {
                    text.push_str(self.space);
                    inside
                }
                Some(end) if inside[..end].bytes().all(|b| b.is_ascii_alphanumeric()) && end > 0 => {
                    self.expand(&inside[..end], depth, text);
                    &inside[end + 1..]
                }
                // An operator.
                _ => {
                    text.push('<');
                    inside
                }
            };
        }
        text.push_str(rest);
    }
}
