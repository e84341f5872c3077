//! Lengths, and the words that only some link types have.

use super::Generator;

#[rustfmt::skip]
const WLAN_TYPES: &[&str] = &[
    "type mgt", "type ctl", "type data", "type management", "type control", "wlan type data", "type 0", "type 8",
    "type mgt subtype beacon", "type mgt subtype probe-req", "type ctl subtype ack", "type data subtype qos-data",
    "wlan type data subtype null", "type 0 subtype 0x80", "subtype beacon", "subtype assoc-req", "subtype rts",
    "wlan subtype qos", "subtype data", "subtype cf-ack-poll", "dir nods", "dir tods", "direction fromds",
    "wlan dir dstods", "dir 1", "dir 3",
];
#[rustfmt::skip]
const ATM_WORDS: &[&str] = &[
    "lane", "metac", "bcc", "oam", "oamf4", "oamf4ec", "oamf4sc", "sc", "ilmic", "connectmsg", "metaconnect", "vpi 0",
    "vci 5", "vpi > 1", "vci <= 33", "vci != 32", "vci (1 or 2 or 32)", "vpi (0 or 7)",
];
const SS7_TYPES: &[&str] = &["fisu", "lssu", "lsu", "msu", "hfisu", "hlssu", "hmsu"];
const SS7_FIELDS: &[(&str, u32)] = &[
    ("sio", 255),
    ("opc", 16_383),
    ("dpc", 16_383),
    ("sls", 15),
    ("hsio", 255),
    ("hopc", 16_383),
    ("hdpc", 16_383),
    ("hsls", 15),
];
#[rustfmt::skip]
const PF_WORDS: &[&str] = &[
    "on em0", "ifname lo0", "ruleset main", "rset web", "rulenum 3", "rnr 0", "srnr 1", "subrulenum 2", "reason match",
    "reason 0", "reason short", "reason memory", "action pass", "action block", "action nat", "action synproxy-drop",
];

impl Generator {
    /// `less 64`, `greater 1000`, `byte 3 > 7`.
    pub(super) fn length(&mut self) -> String {
        let len = self.rng.pick(&[0, 14, 34, 42, 54, 60, 64, 100, 128, 576, 1500]);
        match self.rng.below(5) {
            0 | 1 => format!("less {len}"),
            2 | 3 => format!("greater {len}"),
            _ => {
                format!("byte {} {} {}", self.rng.below(40), self.pick(&["=", "<", ">"]), self.rng.below(256))
            }
        }
    }

    /// `broadcast` and `multicast` of the link and of IP.
    pub(super) fn cast(&mut self) -> String {
        let words = [
            "broadcast",
            "multicast",
            "ether broadcast",
            "link multicast",
            "ip multicast",
            "ip6 multicast",
            "ip broadcast",
        ];
        let known = if self.rng.chance(1, 8) { 7 } else { 6 };
        self.pick(&words[..known]).to_string()
    }

    /// The words that shift what follows, often followed by something to be shifted.
    pub(super) fn shift(&mut self) -> String {
        let everywhere = ["geneve", "geneve", "geneve", "mpls"];
        let ethernet = ["vlan", "vlan", "mpls", "pppoes", "pppoed", "geneve"];
        let word = if self.family.shifts { self.pick(&ethernet) } else { self.pick(&everywhere) };
        let number = match word {
            "pppoed" => String::new(),
            _ if self.rng.chance(1, 2) => String::new(),
            _ => format!(" {}", self.rng.pick(&[0, 1, 2, 5, 10, 100, 4095])),
        };
        format!("{word}{number}")
    }

    /// 802.2 types.
    pub(super) fn llc(&mut self) -> String {
        #[rustfmt::skip]
        let types = [
            "", " i", " s", " u", " rr", " rnr", " rej", " ui", " ua", " disc", " dm", " sabme", " test", " xid", " frmr",
        ];
        format!("llc{}", self.pick(&types))
    }

    /// 802.11 types, subtypes and directions.
    pub(super) fn wlan(&mut self) -> String {
        self.pick(WLAN_TYPES).to_string()
    }

    /// ATM channels and messages.
    pub(super) fn atm(&mut self) -> String {
        self.pick(ATM_WORDS).to_string()
    }

    /// Signal units and the fields of their routing label.
    pub(super) fn ss7(&mut self) -> String {
        if self.rng.chance(1, 3) {
            return self.pick(SS7_TYPES).to_string();
        }
        let &(field, max) = self.rng.pick(SS7_FIELDS);
        let value =
            |g: &mut Self| g.rng.below(max as usize + 1).min(g.rng.below(40) * (max as usize / 39).max(1));
        if self.rng.chance(1, 4) {
            return format!("{field} ({} or {} or {})", value(self), value(self), value(self));
        }
        format!("{field} {}{}", self.pick(&["", "= ", "> ", "< ", ">= ", "<= ", "!= "]), value(self))
    }

    /// What capturing programs note about a packet.
    pub(super) fn meta(&mut self) -> String {
        if self.family.pflog && self.rng.chance(3, 4) {
            return self.pick(PF_WORDS).to_string();
        }
        if self.family.ifindex && self.rng.chance(1, 2) {
            return format!("ifindex {}", self.rng.below(4));
        }
        self.pick(&["inbound", "outbound"]).to_string()
    }
}
