//! Link-layer addresses, `broadcast` and `multicast`.
//!
//! Where the addresses are depends on the link type: at fixed offsets, in one of up to four places (802.11), in one byte (ARCNET), or nowhere, which is
//! an error.

use super::Result;
use super::direction::End;
use super::layers::Rel;
use super::lowerer::Lowerer;
use super::numbers::ethertype;
use crate::diag::Code;
use crate::ir::Size;
use crate::ir::tree::TreeId;
use crate::syntax::ast::{Dir, Proto, RelOp};
use wire::LinkType;

const BROADCAST: [u8; 6] = [0xff; 6];
const ARCNET_BROADCAST: u8 = 0;

/// The kinds of link-layer address that filters can name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Addressing {
    /// Two MAC addresses at fixed offsets.
    Mac {
        src: u32,
        dst: u32,
    },
    /// 802.11's up to four.
    Wlan,
    Arcnet,
    None,
}

fn addressing(linktype: LinkType) -> Addressing {
    match linktype {
        LinkType::EN10MB | LinkType::NETANALYZER | LinkType::NETANALYZER_TRANSPARENT => {
            Addressing::Mac { src: 6, dst: 0 }
        }
        LinkType::FDDI => Addressing::Mac { src: 7, dst: 1 },
        LinkType::IEEE802 => Addressing::Mac { src: 8, dst: 2 },
        LinkType::IP_OVER_FC => Addressing::Mac { src: 10, dst: 2 },
        LinkType::IEEE802_11
        | LinkType::PRISM_HEADER
        | LinkType::IEEE802_11_RADIO_AVS
        | LinkType::IEEE802_11_RADIO
        | LinkType::PPI => Addressing::Wlan,
        LinkType::ARCNET | LinkType::ARCNET_LINUX => Addressing::Arcnet,
        _ => Addressing::None,
    }
}

/// Whether frames of this type are Ethernet's, and may be inside something that needs a check of its own.
fn is_ethernet(linktype: LinkType) -> bool {
    matches!(linktype, LinkType::EN10MB | LinkType::NETANALYZER | LinkType::NETANALYZER_TRANSPARENT)
}

impl Lowerer<'_> {
    /// `ether host`.
    pub(crate) fn ether_host(&mut self, address: [u8; 6], dir: Option<Dir>) -> Result {
        match addressing(self.layers.linktype) {
            Addressing::Mac { src, dst } => {
                let check = self.ethernet_check();
                let same = self.ends(dir, "an Ethernet address", |this, end| {
                    Ok(this.bytes(Rel::LinkHdr, if end == End::Src { src } else { dst }, &address))
                })?;
                Ok(self.behind(check, same))
            }
            Addressing::Wlan => Ok(self.wlan_host(address, dir)),
            Addressing::Arcnet | Addressing::None => Err(self.no_ether_host(Some(address))),
        }
    }

    /// `ether host NAME`: ethers(5).
    pub(crate) fn named_ether_host(&mut self, name: &str, dir: Option<Dir>) -> Result {
        if matches!(addressing(self.layers.linktype), Addressing::None | Addressing::Arcnet) {
            return Err(self.no_ether_host(None));
        }
        let address = self.options.names.ether(name).ok_or_else(|| self.unknown_ether_host(name))?;
        self.ether_host(address, dir)
    }

    /// `link host $n`. The source comes first, unlike Ethernet's.
    pub(crate) fn arcnet_host(&mut self, address: u8, dir: Option<Dir>) -> Result {
        if addressing(self.layers.linktype) != Addressing::Arcnet {
            return Err(self.elsewhere("an ARCnet address", "ARCNET or ARCNET_LINUX"));
        }
        self.ends(dir, "an ARCnet address", |this, end| {
            Ok(this.eq(Rel::LinkHdr, if end == End::Src { 0 } else { 1 }, Size::B1, address.into()))
        })
    }

    /// `broadcast`, `ip broadcast`.
    pub(crate) fn broadcast(&mut self, proto: Option<Proto>) -> Result {
        match proto {
            None | Some(Proto::Link) => match addressing(self.layers.linktype) {
                Addressing::Arcnet => self.arcnet_host(ARCNET_BROADCAST, Some(Dir::Dst)),
                Addressing::None => Err(self.no_broadcast()),
                Addressing::Mac { .. } | Addressing::Wlan => self.ether_host(BROADCAST, Some(Dir::Dst)),
            },
            Some(Proto::Ip) => self.ip_broadcast(),
            Some(proto) => Err(self.no_group(proto, "broadcast", "`ether` and `ip`")),
        }
    }

    /// The host part of the destination is all zeros or all ones.
    fn ip_broadcast(&mut self) -> Result {
        // libpcap's way to say "unknown" is a mask of ones.
        let Some(netmask) = self.options.netmask.filter(|&mask| mask != u32::MAX) else {
            let mut error = self.error(Code::Netmask, "`ip broadcast` needs the netmask, which is not known");
            error.help = Some("give that of the network captured on".into());
            return Err(error);
        };
        let host = !netmask;
        let link = self.linktype(ethertype::IP)?;
        let zeros = self.compare_masked(Rel::Net, 16, Size::B4, host, RelOp::Eq, 0);
        let ones = self.compare_masked(Rel::Net, 16, Size::B4, host, RelOp::Eq, host);
        let either = self.or(zeros, ones);
        Ok(self.and(link, either))
    }

    /// `multicast`, `ip multicast`, `ip6 multicast`.
    pub(crate) fn multicast(&mut self, proto: Option<Proto>) -> Result {
        match proto {
            None | Some(Proto::Link) => match addressing(self.layers.linktype) {
                Addressing::Arcnet => self.arcnet_host(ARCNET_BROADCAST, Some(Dir::Dst)),
                Addressing::Mac { dst, .. } => {
                    let check = self.ethernet_check();
                    let group = self.group_bit(dst);
                    Ok(self.behind(check, group))
                }
                Addressing::Wlan => Ok(self.wlan_multicast()),
                Addressing::None => Err(self.no_multicast()),
            },
            Some(Proto::Ip) => {
                let link = self.linktype(ethertype::IP)?;
                let group = self.compare(Rel::Net, 16, Size::B1, RelOp::Ge, 224);
                Ok(self.and(link, group))
            }
            Some(Proto::Ip6) => {
                let link = self.linktype(ethertype::IPV6)?;
                let group = self.eq(Rel::Net, 24, Size::B1, 0xff);
                Ok(self.and(link, group))
            }
            Some(proto) => Err(self.no_group(proto, "multicast", "`ether`, `ip` and `ip6`")),
        }
    }

    fn unknown_ether_host(&self, name: &str) -> Box<crate::diag::Diagnostic> {
        let mut error = self.unknown("Ethernet host", name);
        error.help = Some(
            "write its address, as in `ether host 00:11:22:33:44:55`, or make the name known in /etc/ethers"
                .into(),
        );
        error
    }

    /// The bit of a MAC address that marks a group.
    pub(crate) fn group_bit(&mut self, offset: u32) -> TreeId {
        self.bits(Rel::LinkHdr, offset, Size::B1, 1)
    }

    fn ethernet_check(&mut self) -> Option<TreeId> {
        if is_ethernet(self.layers.linktype) { self.prev_link_check() } else { None }
    }

    fn no_group(&self, proto: Proto, word: &str, allowed: &str) -> Box<crate::diag::Diagnostic> {
        let mut error = self.error(Code::BadQualifier, format!("`{}` has no `{word}`", proto.name()));
        error.help = Some(format!("only {allowed} have one"));
        error
    }
}
