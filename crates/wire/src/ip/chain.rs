//! Where the headers of an IPv6 packet end, those of the upper layer included: its first fragment has to hold them all (RFC 7112), so that who
//! filters packets by them need not put fragments together.

use super::v6::extension_len;
use super::{EXTENSIONS_MAX, Ipv4, Ipv6, protocol};
use crate::bytes::u8_at;

/// Bytes of the rest of a header chain (RFC 7112, 3), of which these bytes begin with the header that `next_header` announces: extension
/// headers, and the header of the upper layer, which that of an IPv6 packet within the packet counts as. `None` if the chain does not
/// end within these bytes, or has more than [`EXTENSIONS_MAX`] headers before that of the upper layer.
///
/// ```
/// use wire::ip::{header_chain_len, protocol};
/// let udp = [0; 8];
/// let options = [&[protocol::UDP, 0, 1, 4, 0, 0, 0, 0][..], &udp].concat();
/// assert_eq!(header_chain_len(protocol::DESTINATION, &options), Some(16));
/// assert_eq!(header_chain_len(protocol::DESTINATION, &options[..15]), None);
/// ```
#[must_use]
pub fn header_chain_len(mut next_header: u8, bytes: &[u8]) -> Option<usize> {
    let mut off = 0;
    for _ in 0..=EXTENSIONS_MAX {
        let header = bytes.get(off..)?;
        let Some(len) = extension_len(next_header, header) else {
            return Some(off + upper_len(next_header, header)?).filter(|&end| end <= bytes.len());
        };
        next_header = u8_at(header.get(..len)?, 0)?;
        off += len;
    }
    None
}

/// The length of the header of an upper layer, or what has to be there of it; `None` where that cannot be told.
fn upper_len(protocol: u8, header: &[u8]) -> Option<usize> {
    // Layers above are none of this one's business but in this; so their lengths stand here again.
    Some(match protocol {
        protocol::TCP => (usize::from(u8_at(header, 12)? >> 4) * 4).max(20),
        protocol::UDP => 8,
        // Type, code and checksum (RFC 7112, 3).
        protocol::ICMPV6 => 4,
        protocol::SCTP => 12,
        protocol::IPIP => Ipv4::LEN,
        // What is in it has a chain of its own (RFC 7112, 3).
        protocol::IPV6 => Ipv6::LEN,
        protocol::ESP => 8,
        protocol::GRE => 4,
        _ => 0,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chains_end_behind_the_upper_layer() {
        let options = |next: u8| [next, 0, 1, 4, 0, 0, 0, 0];
        let mut tcp = [0; 28];
        tcp[12] = 0x70;
        let mut inner = [0; 40];
        (inner[0], inner[6]) = (0x60, protocol::TCP);
        let chains: [(u8, Vec<u8>); 9] = [
            (protocol::TCP, tcp.to_vec()),
            (protocol::UDP, vec![0; 8]),
            (protocol::ICMPV6, vec![0; 4]),
            (protocol::NO_NEXT, vec![]),
            (99, vec![]),
            (protocol::IPV6, inner.to_vec()),
            (protocol::HOP_BY_HOP, [options(protocol::ROUTING), options(protocol::NO_NEXT)].concat()),
            (protocol::AH, [&[protocol::TCP, 1][..], &[0; 10], &tcp].concat()),
            (protocol::DESTINATION, options(99).to_vec()),
        ];
        for (next_header, chain) in chains {
            for len in 0..chain.len() {
                assert_eq!(header_chain_len(next_header, &chain[..len]), None, "{next_header}, {len}");
            }
            let more = [&chain[..], &[7; 9]].concat();
            assert_eq!(header_chain_len(next_header, &more), Some(chain.len()), "{next_header}");
        }
        let many = |count: usize| vec![options(protocol::DESTINATION); count].concat();
        for (count, is_chain) in [(15, true), (16, false), (8000, false)] {
            let chain = [&many(count)[..], &options(99)].concat();
            assert_eq!(header_chain_len(protocol::DESTINATION, &chain).is_some(), is_chain, "{count}");
        }
    }
}
