//! Link types: what the first byte of a captured packet is.
//!
//! Two numberings exist for the same things. A *file* stores a `LINKTYPE_` value, the same on every system; a
//! *live handle* (and every libpcap function) speaks `DLT_` values, which differ between systems and differ
//! from the file's in a handful of old cases:
//!
//! ```text
//!            LINKTYPE_ (file)   DLT_ (Linux)
//! ATM_RFC1483     100               11
//! RAW             101               12
//! SLIP_BSDOS      102               15
//! PPP_BSDOS       103               16
//! ATM_CLIP        106               19
//! ```
//!
//! [`LinkType`] holds the file's value; [`LinkType::from_dlt`] and [`LinkType::to_dlt`] translate, with Linux's
//! DLT values. The names are those that `tcpdump -y` and `-L` use; the file names of tcpdump.org's list
//! (`ETHERNET` for `EN10MB`) are understood too.
//!
//! The list is <https://www.tcpdump.org/linktypes.html> as of libpcap 1.10.3. One table below holds it all: a
//! new link type is one line.

use std::fmt;
use std::str::FromStr;

/// The kind of header a captured packet starts with: a `LINKTYPE_` value, as capture files store it.
///
/// ```
/// use wire::LinkType;
/// assert_eq!("en10mb".parse(), Ok(LinkType::EN10MB));
/// assert_eq!("DLT_RAW".parse(), Ok(LinkType::RAW));
/// assert_eq!("113".parse(), Ok(LinkType::LINUX_SLL));
/// assert_eq!(LinkType::RAW.to_dlt(), 12);
/// assert_eq!(LinkType::RAW.to_string(), "RAW");
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LinkType(u32);

/// One line of the table: a link type that has a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkTypeInfo {
    /// The link type.
    pub linktype: LinkType,
    /// The name `tcpdump -y` takes, without `DLT_`.
    pub name: &'static str,
    /// The name in tcpdump.org's list, without `LINKTYPE_`; mostly the same.
    pub file_name: &'static str,
    /// What it is, in a few words.
    pub description: &'static str,
}

macro_rules! linktypes {
    (@file $name:ident) => { stringify!($name) };
    (@file $name:ident $file:ident) => { stringify!($file) };
    ($($name:ident $(/ $file:ident)? = $value:literal, $description:literal;)*) => {
        impl LinkType {
            $(#[doc = concat!($description, ".")] pub const $name: LinkType = LinkType($value);)*
        }

        /// Every link type that has a name, by rising value.
        static TABLE: &[LinkTypeInfo] = &[$(LinkTypeInfo {
            linktype: LinkType($value),
            name: stringify!($name),
            file_name: linktypes!(@file $name $($file)?),
            description: $description,
        },)*];
    };
}

linktypes! {
    NULL = 0, "BSD loopback, address family in the sender's byte order";
    EN10MB / ETHERNET = 1, "Ethernet";
    EN3MB / EXP_ETHERNET = 2, "Experimental 3 Mbit/s Ethernet";
    AX25 = 3, "Amateur radio AX.25";
    PRONET = 4, "Proteon ProNET token ring";
    CHAOS = 5, "MIT Chaosnet";
    IEEE802 / IEEE802_5 = 6, "IEEE 802.5 token ring";
    ARCNET / ARCNET_BSD = 7, "ARCNET with the BSD header";
    SLIP = 8, "Serial line IP";
    PPP = 9, "Point-to-point protocol";
    FDDI = 10, "FDDI";
    PPP_SERIAL / PPP_HDLC = 50, "PPP in HDLC-like framing (RFC 1662)";
    PPP_ETHER = 51, "PPPoE session header, without Ethernet";
    SYMANTEC_FIREWALL = 99, "Symantec Enterprise Firewall";
    ATM_RFC1483 = 100, "ATM with LLC encapsulation (RFC 1483)";
    RAW = 101, "Raw IP, version 4 or 6";
    SLIP_BSDOS = 102, "SLIP as BSD/OS writes it";
    PPP_BSDOS = 103, "PPP as BSD/OS writes it";
    C_HDLC = 104, "Cisco HDLC";
    IEEE802_11 = 105, "IEEE 802.11";
    ATM_CLIP = 106, "Linux classical IP over ATM";
    FRELAY = 107, "Frame relay";
    LOOP = 108, "OpenBSD loopback, address family in network byte order";
    ENC = 109, "OpenBSD IPsec encapsulation";
    LANE8023 = 110, "ATM LAN emulation, 802.3";
    HIPPI = 111, "NetBSD HIPPI";
    HDLC / NETBSD_HDLC = 112, "HDLC framing as NetBSD writes it";
    LINUX_SLL = 113, "Linux cooked capture, version 1";
    LTALK = 114, "Apple LocalTalk";
    ECONET = 115, "Acorn Econet";
    IPFILTER = 116, "OpenBSD ipfilter";
    PFLOG = 117, "OpenBSD pf log";
    CISCO_IOS = 118, "Cisco internal use";
    PRISM_HEADER / IEEE802_11_PRISM = 119, "IEEE 802.11 behind a Prism header";
    AIRONET_HEADER / IEEE802_11_AIRONET = 120, "IEEE 802.11 behind an Aironet header";
    HHDLC = 121, "Siemens HiPath HDLC";
    IP_OVER_FC = 122, "IP over Fibre Channel (RFC 2625)";
    SUNATM = 123, "ATM as SunATM writes it";
    RIO = 124, "RapidIO";
    PCI_EXP = 125, "PCI Express";
    AURORA = 126, "Xilinx Aurora";
    IEEE802_11_RADIO / IEEE802_11_RADIOTAP = 127, "IEEE 802.11 behind a radiotap header";
    TZSP = 128, "Tazmen sniffer protocol";
    ARCNET_LINUX = 129, "ARCNET with the Linux header";
    JUNIPER_MLPPP = 130, "Juniper multi-link PPP";
    JUNIPER_MLFR = 131, "Juniper multi-link frame relay";
    JUNIPER_ES = 132, "Juniper encryption services";
    JUNIPER_GGSN = 133, "Juniper GGSN";
    JUNIPER_MFR = 134, "Juniper multi-link frame relay, FRF.16";
    JUNIPER_ATM2 = 135, "Juniper ATM2";
    JUNIPER_SERVICES = 136, "Juniper advanced services";
    JUNIPER_ATM1 = 137, "Juniper ATM1";
    APPLE_IP_OVER_IEEE1394 = 138, "IP over FireWire with Apple's header";
    MTP2_WITH_PHDR = 139, "SS7 MTP2 behind a pseudo-header";
    MTP2 = 140, "SS7 MTP2";
    MTP3 = 141, "SS7 MTP3";
    SCCP = 142, "SS7 SCCP";
    DOCSIS = 143, "DOCSIS MAC frames";
    LINUX_IRDA = 144, "Linux IrDA";
    IBM_SP = 145, "IBM SP switch";
    IBM_SN = 146, "IBM Next Federation switch";
    USER0 = 147, "Private use 0";
    USER1 = 148, "Private use 1";
    USER2 = 149, "Private use 2";
    USER3 = 150, "Private use 3";
    USER4 = 151, "Private use 4";
    USER5 = 152, "Private use 5";
    USER6 = 153, "Private use 6";
    USER7 = 154, "Private use 7";
    USER8 = 155, "Private use 8";
    USER9 = 156, "Private use 9";
    USER10 = 157, "Private use 10";
    USER11 = 158, "Private use 11";
    USER12 = 159, "Private use 12";
    USER13 = 160, "Private use 13";
    USER14 = 161, "Private use 14";
    USER15 = 162, "Private use 15";
    IEEE802_11_RADIO_AVS / IEEE802_11_AVS = 163, "IEEE 802.11 behind an AVS header";
    JUNIPER_MONITOR = 164, "Juniper passive monitoring";
    BACNET_MS_TP = 165, "BACnet MS/TP";
    PPP_PPPD = 166, "PPP from pppd, direction in the first byte";
    JUNIPER_PPPOE = 167, "Juniper PPPoE";
    JUNIPER_PPPOE_ATM = 168, "Juniper PPPoE over ATM";
    GPRS_LLC = 169, "GPRS LLC";
    GPF_T = 170, "Transparent generic framing (ITU-T G.7041)";
    GPF_F = 171, "Frame-mapped generic framing (ITU-T G.7041)";
    GCOM_T1E1 = 172, "Gcom T1/E1 line monitoring";
    GCOM_SERIAL = 173, "Gcom serial line monitoring";
    JUNIPER_PIC_PEER = 174, "Juniper messages between interface cards";
    ERF_ETH = 175, "Ethernet behind an Endace ERF header";
    ERF_POS = 176, "Packet over SONET behind an Endace ERF header";
    LINUX_LAPD = 177, "ISDN LAPD from Linux vISDN";
    JUNIPER_ETHER = 178, "Juniper Ethernet";
    JUNIPER_PPP = 179, "Juniper PPP";
    JUNIPER_FRELAY = 180, "Juniper frame relay";
    JUNIPER_CHDLC = 181, "Juniper Cisco HDLC";
    MFR = 182, "Multi-link frame relay (FRF.16)";
    JUNIPER_VP = 183, "Juniper voice";
    A429 = 184, "ARINC 429";
    A653_ICM = 185, "ARINC 653 messages between partitions";
    USB_FREEBSD = 186, "USB behind FreeBSD's header";
    BLUETOOTH_HCI_H4 = 187, "Bluetooth HCI, UART transport";
    IEEE802_16_MAC_CPS = 188, "IEEE 802.16 MAC common part";
    USB_LINUX = 189, "USB behind Linux's header";
    CAN20B = 190, "CAN 2.0B";
    IEEE802_15_4_LINUX = 191, "IEEE 802.15.4 with Linux's padding";
    PPI = 192, "Per-packet information header";
    IEEE802_16_MAC_CPS_RADIO = 193, "IEEE 802.16 MAC common part behind a radio header";
    JUNIPER_ISM = 194, "Juniper integrated services module";
    IEEE802_15_4 / IEEE802_15_4_WITHFCS = 195, "IEEE 802.15.4 with its checksum";
    SITA = 196, "SITA pseudo-header";
    ERF = 197, "Endace ERF records";
    RAIF1 = 198, "Ethernet behind a u10 Networks pseudo-header";
    IPMB_KONTRON = 199, "IPMB behind Kontron's pseudo-header";
    JUNIPER_ST = 200, "Juniper secure tunnel";
    BLUETOOTH_HCI_H4_WITH_PHDR = 201, "Bluetooth HCI behind a pseudo-header";
    AX25_KISS = 202, "AX.25 behind a KISS header";
    LAPD = 203, "ISDN LAPD";
    PPP_WITH_DIR = 204, "PPP behind a direction byte";
    C_HDLC_WITH_DIR = 205, "Cisco HDLC behind a direction byte";
    FRELAY_WITH_DIR = 206, "Frame relay behind a direction byte";
    LAPB_WITH_DIR = 207, "X.25 LAPB behind a direction byte";
    IPMB_LINUX = 209, "IPMB behind Linux's pseudo-header";
    FLEXRAY = 210, "FlexRay";
    MOST = 211, "MOST automotive bus";
    LIN = 212, "LIN automotive bus";
    X2E_SERIAL = 213, "X2E serial line capture";
    X2E_XORAYA = 214, "X2E Xoraya loggers";
    IEEE802_15_4_NONASK_PHY = 215, "IEEE 802.15.4 with the non-ASK physical header";
    LINUX_EVDEV = 216, "Linux input events";
    GSMTAP_UM = 217, "GSM Um interface behind GSMTAP";
    GSMTAP_ABIS = 218, "GSM Abis interface behind GSMTAP";
    MPLS = 219, "MPLS, label first";
    USB_LINUX_MMAPPED = 220, "USB behind Linux's padded header";
    DECT = 221, "DECT";
    AOS = 222, "CCSDS AOS space data link";
    WIHART = 223, "WirelessHART";
    FC_2 = 224, "Fibre Channel FC-2";
    FC_2_WITH_FRAME_DELIMS = 225, "Fibre Channel FC-2 with its delimiters";
    IPNET = 226, "Solaris ipnet";
    CAN_SOCKETCAN = 227, "CAN bus behind a SocketCAN header";
    IPV4 = 228, "Raw IPv4";
    IPV6 = 229, "Raw IPv6";
    IEEE802_15_4_NOFCS = 230, "IEEE 802.15.4 without its checksum";
    DBUS = 231, "D-Bus messages";
    JUNIPER_VS = 232, "Juniper virtual server";
    JUNIPER_SRX_E2E = 233, "Juniper SRX end to end";
    JUNIPER_FIBRECHANNEL = 234, "Juniper Fibre Channel";
    DVB_CI = 235, "DVB common interface";
    MUX27010 = 236, "Multiplexing after 3GPP TS 27.010";
    STANAG_5066_D_PDU = 237, "STANAG 5066 D_PDUs";
    JUNIPER_ATM_CEMIC = 238, "Juniper ATM CEMIC";
    NFLOG = 239, "Linux netfilter log";
    NETANALYZER = 240, "Ethernet behind a netANALYZER header";
    NETANALYZER_TRANSPARENT = 241, "Ethernet from its preamble on, behind a netANALYZER header";
    IPOIB = 242, "IP over InfiniBand (RFC 4391)";
    MPEG_2_TS = 243, "MPEG-2 transport stream";
    NG40 = 244, "ng40 protocol tester";
    NFC_LLCP = 245, "NFC LLCP behind a pseudo-header";
    PFSYNC = 246, "OpenBSD pf state synchronisation";
    INFINIBAND = 247, "InfiniBand";
    SCTP = 248, "SCTP without a network header";
    USBPCAP = 249, "USB behind USBPcap's header";
    RTAC_SERIAL = 250, "SEL RTAC serial line";
    BLUETOOTH_LE_LL = 251, "Bluetooth low energy link layer";
    WIRESHARK_UPPER_PDU = 252, "Upper-layer data exported by Wireshark";
    NETLINK = 253, "Linux netlink";
    BLUETOOTH_LINUX_MONITOR = 254, "Linux Bluetooth monitor";
    BLUETOOTH_BREDR_BB = 255, "Bluetooth BR/EDR baseband";
    BLUETOOTH_LE_LL_WITH_PHDR = 256, "Bluetooth low energy link layer behind a pseudo-header";
    PROFIBUS_DL = 257, "PROFIBUS data link";
    PKTAP = 258, "Apple PKTAP";
    EPON = 259, "Ethernet behind the EPON preamble";
    IPMI_HPM_2 = 260, "IPMI traces (PICMG HPM.2)";
    ZWAVE_R1_R2 = 261, "Z-Wave radio, profiles R1 and R2";
    ZWAVE_R3 = 262, "Z-Wave radio, profile R3";
    WATTSTOPPER_DLM = 263, "WattStopper lighting management";
    ISO_14443 = 264, "ISO 14443 contactless cards";
    RDS = 265, "Radio data system (IEC 62106)";
    USB_DARWIN = 266, "USB behind Darwin's header";
    OPENFLOW = 267, "OpenBSD OpenFlow";
    SDLC = 268, "IBM SDLC";
    TI_LLN_SNIFFER = 269, "Texas Instruments LLN sniffer";
    LORATAP = 270, "LoRa behind a LoRaTap header";
    VSOCK = 271, "Linux vsock monitor";
    NORDIC_BLE = 272, "Nordic Bluetooth low energy sniffer";
    DOCSIS31_XRA31 = 273, "DOCSIS 3.1 from an Excentis XRA-31";
    ETHERNET_MPACKET = 274, "IEEE 802.3br mPackets";
    DISPLAYPORT_AUX = 275, "DisplayPort AUX channel";
    LINUX_SLL2 = 276, "Linux cooked capture, version 2";
    SERCOS_MONITOR = 277, "Sercos monitor";
    OPENVIZSLA = 278, "OpenVizsla USB sniffer";
    EBHSCR = 279, "Elektrobit high-speed capture and replay";
    VPP_DISPATCH = 280, "VPP graph dispatch trace";
    DSA_TAG_BRCM = 281, "Ethernet with a Broadcom switch tag";
    DSA_TAG_BRCM_PREPEND = 282, "Ethernet behind a Broadcom switch tag";
    IEEE802_15_4_TAP = 283, "IEEE 802.15.4 behind a TAP header";
    DSA_TAG_DSA = 284, "Ethernet with a Marvell DSA tag";
    DSA_TAG_EDSA = 285, "Ethernet with a Marvell EtherType DSA tag";
    ELEE = 286, "ELEE lawful interception";
    Z_WAVE_SERIAL = 287, "Z-Wave serial line between host and chip";
    USB_2_0 = 288, "USB 1.0, 1.1 and 2.0 as seen on the cable";
    ATSC_ALP = 289, "ATSC link-layer protocol (A/330)";
}

/// Other names for entries of the table that old scripts use.
const ALIASES: &[(&str, LinkType)] = &[
    ("CHDLC", LinkType::C_HDLC),
    ("USB", LinkType::USB_FREEBSD),
    ("PPP_WITH_DIRECTION", LinkType::PPP_PPPD),
    ("LINUX_PPP_WITHDIRECTION", LinkType::PPP_PPPD),
];

/// Where Linux's DLT value is not the file's value: `(dlt, linktype)`.
const DLT_DIFFERS: &[(u32, LinkType)] = &[
    (11, LinkType::ATM_RFC1483),
    (12, LinkType::RAW),
    (15, LinkType::SLIP_BSDOS),
    (16, LinkType::PPP_BSDOS),
    (19, LinkType::ATM_CLIP),
];

/// From this value on a DLT and its `LINKTYPE_` are the same by agreement (with `ATM_CLIP` the one exception).
const MATCHING_MIN: u32 = 104;

impl LinkType {
    /// Ethernet, by its name in tcpdump.org's list; the same as [`LinkType::EN10MB`].
    ///
    /// ```
    /// # use wire::LinkType;
    /// assert_eq!(LinkType::ETHERNET, LinkType::EN10MB);
    /// ```
    pub const ETHERNET: LinkType = LinkType::EN10MB;

    /// The link type with this `LINKTYPE_` value, known or not.
    ///
    /// ```
    /// # use wire::LinkType;
    /// assert_eq!(LinkType::new(1), LinkType::EN10MB);
    /// assert_eq!(LinkType::new(65_535).name(), None);
    /// ```
    #[must_use]
    pub const fn new(value: u32) -> LinkType {
        LinkType(value)
    }

    /// The `LINKTYPE_` value, as capture files store it.
    ///
    /// ```
    /// # use wire::LinkType;
    /// assert_eq!(LinkType::RAW.value(), 101);
    /// ```
    #[must_use]
    pub const fn value(self) -> u32 {
        self.0
    }

    /// The link type for one of Linux's `DLT_` values, or `None` where libpcap has no file value for it.
    ///
    /// ```
    /// # use wire::LinkType;
    /// // Linux calls raw IP 12, files call it 101.
    /// assert_eq!(LinkType::from_dlt(12), Some(LinkType::RAW));
    /// assert_eq!(LinkType::from_dlt(101), None);
    /// ```
    #[must_use]
    pub fn from_dlt(dlt: u32) -> Option<LinkType> {
        if let Some(&(_, linktype)) = DLT_DIFFERS.iter().find(|&&(d, _)| d == dlt) {
            return Some(linktype);
        }
        let same = LinkType(dlt);
        (dlt >= MATCHING_MIN || same.info().is_some_and(|_| same.to_dlt() == dlt)).then_some(same)
    }

    /// Linux's `DLT_` value for this link type. A value nobody knows is returned unchanged, as libpcap does,
    /// since it may be newer than this table.
    ///
    /// ```
    /// # use wire::LinkType;
    /// assert_eq!(LinkType::RAW.to_dlt(), 12);
    /// assert_eq!(LinkType::EN10MB.to_dlt(), 1);
    /// ```
    #[must_use]
    pub fn to_dlt(self) -> u32 {
        DLT_DIFFERS.iter().find(|&&(_, l)| l == self).map_or(self.0, |&(dlt, _)| dlt)
    }

    /// The same link type with a proper file value.
    ///
    /// Some old programs wrote their system's DLT into the file; a file of type 12, which is not a file value,
    /// is raw IP. libpcap reads it so and writes 101 when it copies the packets.
    ///
    /// ```
    /// # use wire::LinkType;
    /// assert_eq!(LinkType::new(12).canonical(), LinkType::RAW);
    /// assert_eq!(LinkType::EN10MB.canonical(), LinkType::EN10MB);
    /// ```
    #[must_use]
    pub fn canonical(self) -> LinkType {
        LinkType::from_dlt(self.to_dlt()).unwrap_or(self)
    }

    /// The table's line for this link type, if it has one.
    ///
    /// ```
    /// # use wire::LinkType;
    /// assert_eq!(LinkType::EN10MB.info().map(|info| info.file_name), Some("ETHERNET"));
    /// ```
    #[must_use]
    pub fn info(self) -> Option<&'static LinkTypeInfo> {
        TABLE.binary_search_by_key(&self, |info| info.linktype).ok().map(|i| &TABLE[i])
    }

    /// The name that `tcpdump -y` takes, if this link type has one.
    ///
    /// ```
    /// # use wire::LinkType;
    /// assert_eq!(LinkType::LINUX_SLL2.name(), Some("LINUX_SLL2"));
    /// ```
    #[must_use]
    pub fn name(self) -> Option<&'static str> {
        self.info().map(|info| info.name)
    }

    /// What it is, in a few words, if it is known.
    ///
    /// ```
    /// # use wire::LinkType;
    /// assert_eq!(LinkType::EN10MB.description(), Some("Ethernet"));
    /// ```
    #[must_use]
    pub fn description(self) -> Option<&'static str> {
        self.info().map(|info| info.description)
    }

    /// Every link type that has a name, by rising value.
    ///
    /// ```
    /// # use wire::LinkType;
    /// assert!(LinkType::all().iter().any(|info| info.name == "EN10MB"));
    /// ```
    #[must_use]
    pub fn all() -> &'static [LinkTypeInfo] {
        TABLE
    }
}

/// The name, or the number for a link type without one.
impl fmt::Display for LinkType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => f.pad(name),
            None => fmt::Display::fmt(&self.0, f),
        }
    }
}

impl fmt::Debug for LinkType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => write!(f, "LinkType({name} = {})", self.0),
            None => write!(f, "LinkType({})", self.0),
        }
    }
}

/// The text names no link type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseLinkTypeError {
    text: String,
}

impl ParseLinkTypeError {
    /// What was given.
    ///
    /// ```
    /// # use wire::LinkType;
    /// let error = "EN10GB".parse::<LinkType>().unwrap_err();
    /// assert_eq!(error.text(), "EN10GB");
    /// ```
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }
}

impl fmt::Display for ParseLinkTypeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "unknown link type `{}`: expected a name such as EN10MB, RAW or LINUX_SLL2, or a number",
            self.text
        )
    }
}

impl std::error::Error for ParseLinkTypeError {}

impl FromStr for LinkType {
    type Err = ParseLinkTypeError;

    /// Reads a name of either list in any case, with or without `DLT_` or `LINKTYPE_`, or a number.
    ///
    /// A number is a `LINKTYPE_` value unless only DLTs have it, so `12` and `101` both are `RAW`.
    fn from_str(text: &str) -> Result<LinkType, ParseLinkTypeError> {
        if let Some(value) = parse_number(text) {
            return Ok(LinkType(value).canonical());
        }
        let bare = ["DLT_", "LINKTYPE_"].iter().find_map(|prefix| strip_prefix_ignore_case(text, prefix));
        let name = bare.unwrap_or(text);
        let in_table =
            TABLE.iter().find(|i| i.name.eq_ignore_ascii_case(name)).map(|i| i.linktype).or_else(|| {
                TABLE.iter().find(|i| i.file_name.eq_ignore_ascii_case(name)).map(|i| i.linktype)
            });
        in_table
            .or_else(|| ALIASES.iter().find(|(alias, _)| alias.eq_ignore_ascii_case(name)).map(|&(_, l)| l))
            .ok_or_else(|| ParseLinkTypeError { text: text.to_owned() })
    }
}

/// Only digits: `u32::from_str` alone would take `+1`.
fn parse_number(text: &str) -> Option<u32> {
    text.bytes().all(|b| b.is_ascii_digit()).then(|| text.parse().ok()).flatten()
}

fn strip_prefix_ignore_case<'a>(text: &'a str, prefix: &str) -> Option<&'a str> {
    let (head, rest) = text.split_at_checked(prefix.len())?;
    head.eq_ignore_ascii_case(prefix).then_some(rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn table_is_sorted_without_doubles() {
        assert!(TABLE.is_sorted_by(|a, b| a.linktype < b.linktype));
    }

    #[test]
    fn names_read_back() {
        for info in TABLE {
            for text in [info.name, info.file_name] {
                assert_eq!(text.parse(), Ok(info.linktype), "{text}");
                assert_eq!(text.to_lowercase().parse(), Ok(info.linktype), "{text}");
                assert_eq!(format!("dlt_{text}").parse(), Ok(info.linktype));
                assert_eq!(format!("LINKTYPE_{text}").parse(), Ok(info.linktype));
            }
            assert_eq!(info.linktype.value().to_string().parse(), Ok(info.linktype));
            assert_eq!(info.linktype.to_string(), info.name);
        }
    }

    #[test]
    fn dlt_and_back() {
        for info in TABLE {
            assert_eq!(LinkType::from_dlt(info.linktype.to_dlt()), Some(info.linktype), "{}", info.name);
            assert_eq!(info.linktype.canonical(), info.linktype);
        }
        assert_eq!(LinkType::from_dlt(12), Some(LinkType::RAW));
        assert_eq!(LinkType::from_dlt(1), Some(LinkType::EN10MB));
        assert_eq!(LinkType::from_dlt(228), Some(LinkType::IPV4));
        assert_eq!(LinkType::from_dlt(100), None, "100 is a file value only");
        assert_eq!(LinkType::from_dlt(32), None, "a DLT without a file value");
        assert_eq!(LinkType::new(9999).to_dlt(), 9999);
    }

    #[test]
    fn numbers_and_nonsense() {
        assert_eq!("12".parse(), Ok(LinkType::RAW));
        assert_eq!("9999".parse(), Ok(LinkType::new(9999)));
        for bad in ["", "ethernot", "-1", "+1", "99999999999", "DLT_", "1x", "\u{e9}\u{e9}\u{e9}"] {
            assert!(bad.parse::<LinkType>().is_err(), "{bad}");
        }
        assert_eq!(LinkType::new(9999).to_string(), "9999");
        assert_eq!(format!("{:?}", LinkType::EN10MB), "LinkType(EN10MB = 1)");
    }
}
