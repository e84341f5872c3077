//! The words of the language: keywords, their aliases, and the constants, which are names of numbers.
//!
//! A keyword is lower case and reserved everywhere; `\word` makes a name of it. The spelling that comes first
//! in a table is the one that printers use.

use super::ast::{AtmField, AtmType, Dir, Kind, Mtp2Type, Mtp3Field, Proto};
use std::collections::HashMap;
use std::sync::LazyLock;

/// A reserved word, aliases folded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Word {
    Proto(Proto),
    Dir(Dir),
    Kind(Kind),
    Mask,
    Type,
    Subtype,
    WlanDir,
    Less,
    Greater,
    Byte,
    Broadcast,
    Multicast,
    And,
    Or,
    Not,
    Len,
    Inbound,
    Outbound,
    Ifindex,
    Vlan,
    Mpls,
    Pppoed,
    Pppoes,
    Geneve,
    Llc,
    Atm(AtmType),
    AtmField(AtmField),
    Ifname,
    Ruleset,
    Rulenum,
    Subrulenum,
    Reason,
    Action,
    Mtp2(Mtp2Type),
    Mtp3(Mtp3Field),
}

/// Every keyword; of several spellings of one word the preferred comes first.
#[rustfmt::skip]
pub static WORDS: &[(&str, Word)] = &[
    ("src", Word::Dir(Dir::Src)), ("dst", Word::Dir(Dir::Dst)),
    ("addr1", Word::Dir(Dir::Addr1)), ("address1", Word::Dir(Dir::Addr1)),
    ("addr2", Word::Dir(Dir::Addr2)), ("address2", Word::Dir(Dir::Addr2)),
    ("addr3", Word::Dir(Dir::Addr3)), ("address3", Word::Dir(Dir::Addr3)),
    ("addr4", Word::Dir(Dir::Addr4)), ("address4", Word::Dir(Dir::Addr4)),
    ("ra", Word::Dir(Dir::Ra)), ("ta", Word::Dir(Dir::Ta)),

    ("host", Word::Kind(Kind::Host)), ("net", Word::Kind(Kind::Net)), ("port", Word::Kind(Kind::Port)),
    ("portrange", Word::Kind(Kind::Portrange)), ("proto", Word::Kind(Kind::Proto)),
    ("protochain", Word::Kind(Kind::Protochain)), ("gateway", Word::Kind(Kind::Gateway)),
    ("mask", Word::Mask),

    ("ether", Word::Proto(Proto::Link)), ("link", Word::Proto(Proto::Link)), ("ppp", Word::Proto(Proto::Link)),
    ("slip", Word::Proto(Proto::Link)), ("fddi", Word::Proto(Proto::Link)), ("tr", Word::Proto(Proto::Link)),
    ("wlan", Word::Proto(Proto::Link)),
    ("ip", Word::Proto(Proto::Ip)), ("ip6", Word::Proto(Proto::Ip6)), ("arp", Word::Proto(Proto::Arp)),
    ("rarp", Word::Proto(Proto::Rarp)), ("tcp", Word::Proto(Proto::Tcp)), ("udp", Word::Proto(Proto::Udp)),
    ("sctp", Word::Proto(Proto::Sctp)), ("icmp", Word::Proto(Proto::Icmp)),
    ("icmp6", Word::Proto(Proto::Icmp6)), ("igmp", Word::Proto(Proto::Igmp)),
    ("igrp", Word::Proto(Proto::Igrp)), ("pim", Word::Proto(Proto::Pim)), ("vrrp", Word::Proto(Proto::Vrrp)),
    ("carp", Word::Proto(Proto::Carp)), ("ah", Word::Proto(Proto::Ah)), ("esp", Word::Proto(Proto::Esp)),
    ("atalk", Word::Proto(Proto::Atalk)), ("aarp", Word::Proto(Proto::Aarp)),
    ("decnet", Word::Proto(Proto::Decnet)), ("lat", Word::Proto(Proto::Lat)), ("sca", Word::Proto(Proto::Sca)),
    ("moprc", Word::Proto(Proto::Moprc)), ("mopdl", Word::Proto(Proto::Mopdl)),
    ("iso", Word::Proto(Proto::Iso)), ("esis", Word::Proto(Proto::Esis)), ("es-is", Word::Proto(Proto::Esis)),
    ("isis", Word::Proto(Proto::Isis)), ("is-is", Word::Proto(Proto::Isis)),
    ("clnp", Word::Proto(Proto::Clnp)), ("l1", Word::Proto(Proto::IsisL1)), ("l2", Word::Proto(Proto::IsisL2)),
    ("iih", Word::Proto(Proto::IsisIih)), ("lsp", Word::Proto(Proto::IsisLsp)),
    ("snp", Word::Proto(Proto::IsisSnp)), ("psnp", Word::Proto(Proto::IsisPsnp)),
    ("csnp", Word::Proto(Proto::IsisCsnp)), ("stp", Word::Proto(Proto::Stp)), ("ipx", Word::Proto(Proto::Ipx)),
    ("netbeui", Word::Proto(Proto::Netbeui)), ("radio", Word::Proto(Proto::Radio)),

    ("and", Word::And), ("or", Word::Or), ("not", Word::Not),
    ("less", Word::Less), ("greater", Word::Greater), ("len", Word::Len), ("length", Word::Len),
    ("byte", Word::Byte), ("broadcast", Word::Broadcast), ("multicast", Word::Multicast),
    ("inbound", Word::Inbound), ("outbound", Word::Outbound), ("ifindex", Word::Ifindex),
    ("vlan", Word::Vlan), ("mpls", Word::Mpls), ("pppoed", Word::Pppoed), ("pppoes", Word::Pppoes),
    ("geneve", Word::Geneve), ("llc", Word::Llc),
    ("type", Word::Type), ("subtype", Word::Subtype), ("dir", Word::WlanDir), ("direction", Word::WlanDir),

    ("ifname", Word::Ifname), ("on", Word::Ifname), ("ruleset", Word::Ruleset), ("rset", Word::Ruleset),
    ("rulenum", Word::Rulenum), ("rnr", Word::Rulenum), ("subrulenum", Word::Subrulenum),
    ("srnr", Word::Subrulenum), ("reason", Word::Reason), ("action", Word::Action),

    ("lane", Word::Atm(AtmType::Lane)), ("metac", Word::Atm(AtmType::Metac)), ("bcc", Word::Atm(AtmType::Bcc)),
    ("oamf4ec", Word::Atm(AtmType::Oamf4ec)), ("oamf4sc", Word::Atm(AtmType::Oamf4sc)),
    ("sc", Word::Atm(AtmType::Sc)), ("ilmic", Word::Atm(AtmType::Ilmic)), ("oam", Word::Atm(AtmType::Oam)),
    ("oamf4", Word::Atm(AtmType::Oamf4)), ("connectmsg", Word::Atm(AtmType::Connectmsg)),
    ("metaconnect", Word::Atm(AtmType::Metaconnect)),
    ("vpi", Word::AtmField(AtmField::Vpi)), ("vci", Word::AtmField(AtmField::Vci)),

    ("fisu", Word::Mtp2(Mtp2Type::Fisu)), ("lssu", Word::Mtp2(Mtp2Type::Lssu)),
    ("lsu", Word::Mtp2(Mtp2Type::Lssu)), ("msu", Word::Mtp2(Mtp2Type::Msu)),
    ("hfisu", Word::Mtp2(Mtp2Type::Hfisu)), ("hlssu", Word::Mtp2(Mtp2Type::Hlssu)),
    ("hmsu", Word::Mtp2(Mtp2Type::Hmsu)),
    ("sio", Word::Mtp3(Mtp3Field::Sio)), ("opc", Word::Mtp3(Mtp3Field::Opc)),
    ("dpc", Word::Mtp3(Mtp3Field::Dpc)), ("sls", Word::Mtp3(Mtp3Field::Sls)),
    ("hsio", Word::Mtp3(Mtp3Field::Hsio)), ("hopc", Word::Mtp3(Mtp3Field::Hopc)),
    ("hdpc", Word::Mtp3(Mtp3Field::Hdpc)), ("hsls", Word::Mtp3(Mtp3Field::Hsls)),
];

/// Names of numbers: header offsets, ICMP types (RFC 792, RFC 4443 and later), TCP flags.
#[rustfmt::skip]
pub static CONSTANTS: &[(&str, u32)] = &[
    ("icmptype", 0), ("icmpcode", 1),
    ("icmp-echoreply", 0), ("icmp-unreach", 3), ("icmp-sourcequench", 4), ("icmp-redirect", 5),
    ("icmp-echo", 8), ("icmp-routeradvert", 9), ("icmp-routersolicit", 10), ("icmp-timxceed", 11),
    ("icmp-paramprob", 12), ("icmp-tstamp", 13), ("icmp-tstampreply", 14), ("icmp-ireq", 15),
    ("icmp-ireqreply", 16), ("icmp-maskreq", 17), ("icmp-maskreply", 18),
    ("icmp6type", 0), ("icmp6code", 1),
    ("icmp6-destinationunreach", 1), ("icmp6-packettoobig", 2), ("icmp6-timeexceeded", 3),
    ("icmp6-parameterproblem", 4), ("icmp6-echo", 128), ("icmp6-echoreply", 129),
    ("icmp6-multicastlistenerquery", 130), ("icmp6-multicastlistenerreportv1", 131),
    ("icmp6-multicastlistenerdone", 132), ("icmp6-routersolicit", 133), ("icmp6-routeradvert", 134),
    ("icmp6-neighborsolicit", 135), ("icmp6-neighboradvert", 136), ("icmp6-redirect", 137),
    ("icmp6-routerrenum", 138), ("icmp6-nodeinformationquery", 139), ("icmp6-nodeinformationresponse", 140),
    ("icmp6-ineighbordiscoverysolicit", 141), ("icmp6-ineighbordiscoveryadvert", 142),
    ("icmp6-multicastlistenerreportv2", 143), ("icmp6-homeagentdiscoveryrequest", 144),
    ("icmp6-homeagentdiscoveryreply", 145), ("icmp6-mobileprefixsolicit", 146),
    ("icmp6-mobileprefixadvert", 147), ("icmp6-certpathsolicit", 148), ("icmp6-certpathadvert", 149),
    ("icmp6-multicastrouteradvert", 151), ("icmp6-multicastroutersolicit", 152),
    ("icmp6-multicastrouterterm", 153),
    ("tcpflags", 13), ("tcp-fin", 0x01), ("tcp-syn", 0x02), ("tcp-rst", 0x04), ("tcp-push", 0x08),
    ("tcp-ack", 0x10), ("tcp-urg", 0x20), ("tcp-ece", 0x40), ("tcp-cwr", 0x80),
];

/// The keyword that `text` spells.
pub fn word(text: &str) -> Option<Word> {
    static INDEX: LazyLock<Index<Word>> = LazyLock::new(|| WORDS.iter().copied().collect());
    INDEX.get(text).copied()
}

/// The number that `text` names.
pub fn constant(text: &str) -> Option<u32> {
    static INDEX: LazyLock<Index<u32>> = LazyLock::new(|| CONSTANTS.iter().copied().collect());
    INDEX.get(text).copied()
}

/// PERF: filters of 10,000 terms look up 20,000 words; a search through the table costs ten times as much.
type Index<T> = HashMap<&'static str, T, foldhash::fast::FixedState>;

/// The preferred spelling of a keyword.
pub fn spelling(word: Word) -> &'static str {
    WORDS.iter().find(|(_, candidate)| *candidate == word).map_or("?", |(name, _)| name)
}

impl Proto {
    /// The keyword.
    pub fn name(self) -> &'static str {
        spelling(Word::Proto(self))
    }
}

impl Kind {
    /// The keyword.
    pub fn name(self) -> &'static str {
        spelling(Word::Kind(self))
    }
}

impl Dir {
    /// The words as written before an identifier.
    pub fn name(self) -> &'static str {
        match self {
            Dir::SrcOrDst => "src or dst",
            Dir::SrcAndDst => "src and dst",
            one => spelling(Word::Dir(one)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_word_is_listed_twice() {
        let mut names: Vec<_> = WORDS.iter().map(|w| w.0).chain(CONSTANTS.iter().map(|c| c.0)).collect();
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count);
    }

    #[test]
    fn aliases_are_one_word() {
        for (alias, name) in [("length", "len"), ("es-is", "esis"), ("on", "ifname"), ("lsu", "lssu")] {
            assert_eq!(spelling(word(alias).unwrap()), name);
        }
        assert_eq!(word("TCP"), None, "keywords are lower case");
    }
}
