//! What can be asked where a link type lacks what a primitive asks for: the suggestions of such errors.
//!
//! Linux's cooked headers say part of it, in fields of their own: <https://www.tcpdump.org/linktypes/LINKTYPE_LINUX_SLL.html> and
//! <https://www.tcpdump.org/linktypes/LINKTYPE_LINUX_SLL2.html>.

use super::lowerer::Lowerer;
use super::numbers::ethertype;
use crate::diag::Diagnostic;
use wire::LinkType;

/// Where the fields of a cooked header stand, as `link[…]` reads them.
struct Cooked {
    protocol: &'static str,
    /// To whom the frame went.
    packet_type: &'static str,
    /// The first byte of the sender's address.
    address: u32,
}

const SLL: Cooked = Cooked { protocol: "link[14:2]", packet_type: "link[0:2]", address: 6 };
const SLL2: Cooked = Cooked { protocol: "link[0:2]", packet_type: "link[10]", address: 12 };

/// The packet types of <linux/if_packet.h>: PACKET_BROADCAST and PACKET_MULTICAST.
const TO_ALL: u32 = 1;
const TO_GROUP: u32 = 2;

impl Lowerer<'_> {
    /// `vlan` where there are no tags.
    pub(super) fn no_vlan(&self) -> Box<Diagnostic> {
        self.no_type("`vlan`", ethertype::VLAN, "EN10MB or IEEE802_11")
    }

    /// `mpls` where there is no type for it.
    pub(super) fn no_mpls(&self) -> Box<Diagnostic> {
        self.no_type("`mpls`", ethertype::MPLS, "EN10MB, C_HDLC or PPP")
    }

    fn no_type(&self, what: &str, ethertype: u32, places: &str) -> Box<Diagnostic> {
        match self.cooked() {
            Some(header) => {
                let field = header.protocol;
                self.or_instead(what, &format!("its header has the type: `{field} = {ethertype:#x}`"))
            }
            None => self.or_instead(what, &format!("it is for link type {places}")),
        }
    }

    /// An address of Ethernet, known or only by name, where there is none.
    pub(super) fn no_ether_host(&self, address: Option<[u8; 6]>) -> Box<Diagnostic> {
        let instead = match (self.cooked(), address) {
            (Some(header), Some([a, b, c, d, e, f])) => {
                let (first, second) = (u32::from_be_bytes([a, b, c, d]), u16::from_be_bytes([e, f]));
                let [at, behind] = [header.address, header.address + 4];
                format!(
                    "its header has the sender's: `link[{at}:4] = {first:#010x} and link[{behind}:2] = {second:#06x}`"
                )
            }
            _ => "its packets have none: ask for addresses of IP, as in `host 192.0.2.1`".to_owned(),
        };
        self.or_instead("an Ethernet address", &instead)
    }

    /// `broadcast` where there are no addresses.
    pub(super) fn no_broadcast(&self) -> Box<Diagnostic> {
        self.no_group_address("link-layer `broadcast`", TO_ALL, "IP's is `dst host 255.255.255.255`")
    }

    /// `multicast` where there are no addresses.
    pub(super) fn no_multicast(&self) -> Box<Diagnostic> {
        self.no_group_address("link-layer `multicast`", TO_GROUP, "IP's is `ip multicast or ip6 multicast`")
    }

    fn no_group_address(&self, what: &str, packet_type: u32, of_ip: &str) -> Box<Diagnostic> {
        match self.cooked() {
            Some(header) => {
                let field = header.packet_type;
                self.or_instead(what, &format!("its header says so: `{field} = {packet_type}`"))
            }
            None => self.or_instead(what, of_ip),
        }
    }

    fn cooked(&self) -> Option<&'static Cooked> {
        match self.layers.linktype {
            LinkType::LINUX_SLL => Some(&SLL),
            LinkType::LINUX_SLL2 => Some(&SLL2),
            _ => None,
        }
    }

    /// With this help, where nothing is said of all that the link type can be asked.
    fn or_instead(&self, what: &str, instead: &str) -> Box<Diagnostic> {
        let mut error = self.linktype_error(what);
        error.help.get_or_insert_with(|| instead.to_owned());
        error
    }
}
