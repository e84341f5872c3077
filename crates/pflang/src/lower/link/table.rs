//! The table of link types: where the fields of each header are, and how it says what it carries.
//!
//! The formats are described at <https://www.tcpdump.org/linktypes.html>. Offsets are those that libpcap 1.10.3
//! takes for granted, even where a header can be longer than it believes (ARCNET, source-routed token ring,
//! Juniper's cookies): the meaning of a filter is what libpcap makes of it.

use self::Carries::*;
use crate::lower::layers::NOT_SET;
use crate::lower::numbers::ethertype;
use wire::LinkType;

/// How a link layer says what it carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Carries {
    /// A type field that is a length where an LLC header follows (IEEE 802.3).
    Ethernet,
    /// A type field with values of its own for LLC and for bare IPX (Linux's `if_ether.h`).
    Cooked,
    /// An Ethernet type and nothing else.
    EtherType,
    /// An LLC header always (IEEE 802.2, RFC 1042, RFC 1483, RFC 2625).
    Llc,
    /// An LLC header in the data frames of 802.11, behind this.
    Wlan(Radio),
    /// An LLC header, where the ATM pseudo-header says so.
    SunAtm,
    /// A PPP protocol number (RFC 1661).
    Ppp,
    /// A PPP protocol number; IP may be compressed.
    PppBsdos,
    /// An Ethernet type, except for OSI.
    Hdlc,
    /// The version nibble of IP.
    VersionNibble,
    /// Always this Ethernet type.
    Only(u32),
    /// A BSD address family in the byte order of the machine that captured.
    FamilyHostOrder,
    /// A BSD address family in network byte order.
    FamilyNetworkOrder,
    /// An ARCNET system code.
    Arcnet,
    /// An OSI network layer protocol id (RFC 2427).
    FrameRelay,
    /// Solaris's address family.
    Ipnet,
    /// OpenBSD's pf log header, with an address family.
    Pflog,
    /// Nothing that libpcap looks at: any protocol is taken for granted where a magic number is in its place.
    Magic {
        /// The value of the first four bytes under `mask`.
        value: u32,
        /// Which bits of them matter.
        mask: u32,
    },
    /// Nothing: no protocol can be asked for.
    Nothing,
}

/// The header before an 802.11 header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Radio {
    /// Nothing.
    None,
    /// A Prism header, or an AVS header that a driver passed off as one.
    Prism,
    /// An AVS header.
    Avs,
    /// A radiotap header.
    Radiotap,
    /// A per-packet information header.
    Ppi,
}

/// One line of the table. All offsets but `net` and `net_nosnap` count from the first captured byte; those two
/// count from `payload`. Where headers vary in length, what is here is the part that does not.
#[derive(Clone, Copy, Debug)]
pub(super) struct Link {
    pub(super) linktype: LinkType,
    pub(super) carries: Carries,
    /// Start of the link-layer header.
    pub(super) header: u32,
    /// The field that says what is carried.
    pub(super) type_field: u32,
    /// The payload.
    pub(super) payload: u32,
    /// The network header, behind LLC and SNAP where they are always there.
    pub(super) net: u32,
    /// The network header behind LLC alone.
    pub(super) net_nosnap: u32,
}

/// What can be asked about packets of a link type about which little can: the suggestion of an error.
pub(crate) fn possible(linktype: LinkType, is_strict: bool) -> Option<&'static str> {
    if is_strict && !is_known(linktype) {
        return Some("nothing can be compiled for it, as in libpcap");
    }
    match linktype {
        LinkType::MTP2 | LinkType::MTP2_WITH_PHDR | LinkType::ERF => Some(
            "what works on it: `fisu`, `sio` and the other SS7 words, `link[…]`, `len`, `less`, `greater`",
        ),
        _ if link(linktype).carries == Carries::Nothing => {
            Some("what works on it: `link[…]`, `len`, `less`, `greater`, `byte`")
        }
        _ => None,
    }
}

/// The table's line for a link type; a line that knows nothing for one that is not in the table.
pub(super) fn link(linktype: LinkType) -> Link {
    match place(linktype) {
        Some(place) => LINKS[place],
        None => row(linktype, Carries::Nothing, NOT_SET, NOT_SET, NOT_SET, NOT_SET),
    }
}

fn place(linktype: LinkType) -> Option<usize> {
    let place = PLACES.get(linktype.value() as usize).copied()?;
    (place != NO_PLACE).then_some(usize::from(place))
}

/// Whether libpcap compiles anything at all for a link type: those before the range in which live and file
/// values agree must be in the table, those of the range need not.
pub(super) fn is_known(linktype: LinkType) -> bool {
    (104..=289).contains(&linktype.value()) || place(linktype).is_some()
}

const fn row(
    linktype: LinkType,
    carries: Carries,
    type_field: u32,
    payload: u32,
    net: u32,
    net_nosnap: u32,
) -> Link {
    Link { linktype, carries, header: 0, type_field, payload, net, net_nosnap }
}

/// Ethernet behind a header of a fixed length.
const fn ethernet(linktype: LinkType, header: u32) -> Link {
    Link {
        linktype,
        carries: Carries::Ethernet,
        header,
        type_field: header + 12,
        payload: header + 14,
        net: 0,
        net_nosnap: 3,
    }
}

/// 802.11, whose header (and the header before it) varies in length.
const fn wlan(linktype: LinkType, radio: Radio) -> Link {
    row(linktype, Carries::Wlan(radio), 24, 0, 8, 3)
}

/// The start of every header of Juniper's: "MGC" and a byte of flags.
const JUNIPER: Carries = Carries::Magic { value: 0x4d47_4300, mask: 0xffff_ff00 };
/// The preamble of a BACnet MS/TP frame.
const BACNET: Carries = Carries::Magic { value: 0x55ff_0000, mask: 0xffff_0000 };
const IPV4: Carries = Carries::Only(ethertype::IP);
const IPV6: Carries = Carries::Only(ethertype::IPV6);
/// LocalTalk tells short from long DDP headers, and carries nothing else.
const DDP: Carries = Carries::Only(ethertype::ATALK);

/// By rising value.
#[rustfmt::skip]
static LINKS: &[Link] = &[
    //  link type                             carries             type     payload  net      net without SNAP
    row(LinkType::NULL,                       FamilyHostOrder,    0,       4,       0,       0),
    ethernet(LinkType::EN10MB, 0),
    row(LinkType::IEEE802,                    Llc,                14,      14,      8,       3),
    row(LinkType::ARCNET,                     Arcnet,             2,       6,       0,       0),
    row(LinkType::SLIP,                       VersionNibble,      NOT_SET, 16,      0,       0),
    row(LinkType::PPP,                        Ppp,                2,       4,       0,       0),
    row(LinkType::FDDI,                       Llc,                13,      13,      8,       3),
    row(LinkType::PPP_SERIAL,                 Ppp,                2,       4,       0,       0),
    row(LinkType::PPP_ETHER,                  Ppp,                6,       8,       0,       0),
    row(LinkType::SYMANTEC_FIREWALL,          EtherType,          6,       44,      0,       0),
    row(LinkType::ATM_RFC1483,                Llc,                0,       0,       8,       3),
    row(LinkType::RAW,                        VersionNibble,      NOT_SET, 0,       0,       0),
    row(LinkType::SLIP_BSDOS,                 VersionNibble,      NOT_SET, 24,      0,       0),
    row(LinkType::PPP_BSDOS,                  PppBsdos,           5,       24,      0,       0),
    row(LinkType::C_HDLC,                     Hdlc,               2,       4,       0,       0),
    wlan(LinkType::IEEE802_11, Radio::None),
    row(LinkType::ATM_CLIP,                   Llc,                0,       0,       8,       3),
    row(LinkType::FRELAY,                     FrameRelay,         NOT_SET, 0,       0,       0),
    row(LinkType::LOOP,                       FamilyNetworkOrder, 0,       4,       0,       0),
    row(LinkType::ENC,                        FamilyHostOrder,    0,       12,      0,       0),
    row(LinkType::HDLC,                       Hdlc,               2,       4,       0,       0),
    row(LinkType::LINUX_SLL,                  Cooked,             14,      16,      0,       0),
    row(LinkType::LTALK,                      DDP,                NOT_SET, 0,       0,       0),
    row(LinkType::PFLOG,                      Pflog,              0,       0,       0,       0),
    wlan(LinkType::PRISM_HEADER, Radio::Prism),
    row(LinkType::IP_OVER_FC,                 Llc,                16,      16,      8,       3),
    row(LinkType::SUNATM,                     SunAtm,             4,       4,       8,       3),
    wlan(LinkType::IEEE802_11_RADIO, Radio::Radiotap),
    row(LinkType::ARCNET_LINUX,               Arcnet,             4,       8,       0,       0),
    row(LinkType::JUNIPER_MLPPP,              JUNIPER,            4,       4,       0,       NOT_SET),
    row(LinkType::JUNIPER_MLFR,               JUNIPER,            4,       4,       0,       NOT_SET),
    row(LinkType::JUNIPER_ES,                 JUNIPER,            6,       NOT_SET, NOT_SET, NOT_SET),
    row(LinkType::JUNIPER_GGSN,               JUNIPER,            6,       12,      0,       NOT_SET),
    row(LinkType::JUNIPER_MFR,                JUNIPER,            4,       4,       0,       NOT_SET),
    row(LinkType::JUNIPER_ATM2,               JUNIPER,            8,       8,       0,       10),
    row(LinkType::JUNIPER_SERVICES,           JUNIPER,            12,      NOT_SET, NOT_SET, NOT_SET),
    row(LinkType::JUNIPER_ATM1,               JUNIPER,            4,       4,       0,       10),
    row(LinkType::APPLE_IP_OVER_IEEE1394,     EtherType,          16,      18,      0,       0),
    wlan(LinkType::IEEE802_11_RADIO_AVS, Radio::Avs),
    row(LinkType::JUNIPER_MONITOR,            JUNIPER,            12,      12,      0,       NOT_SET),
    row(LinkType::BACNET_MS_TP,               BACNET,             NOT_SET, NOT_SET, NOT_SET, NOT_SET),
    row(LinkType::PPP_PPPD,                   Ppp,                2,       4,       0,       0),
    row(LinkType::JUNIPER_PPPOE,              JUNIPER,            16,      14,      18,      21),
    row(LinkType::JUNIPER_PPPOE_ATM,          JUNIPER,            4,       6,       0,       NOT_SET),
    row(LinkType::JUNIPER_ETHER,              JUNIPER,            16,      14,      18,      21),
    row(LinkType::JUNIPER_PPP,                JUNIPER,            4,       4,       0,       NOT_SET),
    row(LinkType::JUNIPER_FRELAY,             JUNIPER,            4,       4,       0,       NOT_SET),
    row(LinkType::JUNIPER_CHDLC,              JUNIPER,            4,       4,       0,       NOT_SET),
    row(LinkType::JUNIPER_VP,                 JUNIPER,            18,      NOT_SET, NOT_SET, NOT_SET),
    wlan(LinkType::PPI, Radio::Ppi),
    row(LinkType::JUNIPER_ISM,                JUNIPER,            8,       NOT_SET, NOT_SET, NOT_SET),
    row(LinkType::JUNIPER_ST,                 JUNIPER,            18,      NOT_SET, NOT_SET, NOT_SET),
    row(LinkType::IPNET,                      Ipnet,              1,       24,      0,       NOT_SET),
    row(LinkType::IPV4,                       IPV4,               NOT_SET, 0,       0,       0),
    row(LinkType::IPV6,                       IPV6,               NOT_SET, 0,       0,       0),
    row(LinkType::JUNIPER_VS,                 JUNIPER,            8,       NOT_SET, NOT_SET, NOT_SET),
    row(LinkType::JUNIPER_SRX_E2E,            JUNIPER,            8,       NOT_SET, NOT_SET, NOT_SET),
    row(LinkType::JUNIPER_FIBRECHANNEL,       JUNIPER,            8,       NOT_SET, NOT_SET, NOT_SET),
    row(LinkType::JUNIPER_ATM_CEMIC,          JUNIPER,            8,       NOT_SET, NOT_SET, NOT_SET),
    ethernet(LinkType::NETANALYZER, 4),
    // Behind the pseudo-header: the preamble and the start-of-frame delimiter.
    ethernet(LinkType::NETANALYZER_TRANSPARENT, 12),
    row(LinkType::LINUX_SLL2,                 EtherType,          0,       20,      0,       0),
];

/// By the value of a link type: its place in the table.
///
/// PERF: each protocol that a filter asks for looks here, three times for `host`; a search took a twentieth of the time that
/// 10,000 hosts take to compile.
static PLACES: [u8; 290] = {
    let mut places = [NO_PLACE; 290];
    let mut place = 0;
    while place < LINKS.len() {
        places[LINKS[place].linktype.value() as usize] = place as u8;
        place += 1;
    }
    places
};

const NO_PLACE: u8 = u8::MAX;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn is_sorted_without_doubles() {
        assert!(LINKS.is_sorted_by(|a, b| a.linktype < b.linktype));
    }

    #[test]
    fn knows_what_is_outside_of_it() {
        assert_eq!(link(LinkType::MTP2).carries, Nothing);
        assert!(is_known(LinkType::MTP2), "raw loads work");
        assert!(is_known(LinkType::EN10MB));
        assert!(!is_known(LinkType::EN3MB), "libpcap compiles nothing for it");
        assert!(!is_known(LinkType::new(290)));
    }
}
