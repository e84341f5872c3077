//! What a reader knows between batches: the format, and the interfaces.

use wire::LinkType;

use crate::found::Interface;
use crate::order::ByteOrder;
use crate::pcap::PcapHeader;

/// The format of an input, or of the section of it that is being read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// The classic format: one header, one interface.
    Pcap(PcapHeader),
    /// Blocks, in this byte order until the next section header.
    Pcapng(ByteOrder),
}

impl Format {
    /// What packets of a link type are on this machine. The address family before a packet of BSD loopback is in the byte
    /// order of the machine that captured it: on one of the other order it reads as that of an OpenBSD loopback, which is
    /// in network order.
    #[must_use]
    pub fn as_read_here(self, linktype: LinkType) -> LinkType {
        let order = match self {
            Format::Pcap(header) => header.order,
            Format::Pcapng(order) => order,
        };
        if linktype == LinkType::NULL && order != ByteOrder::NATIVE { LinkType::LOOP } else { linktype }
    }
}

/// What a reader knows between batches: the current section.
#[derive(Debug)]
pub(crate) struct Section {
    pub(crate) format: Format,
    pub(crate) interfaces: Vec<Interface>,
}
