//! Frames that are authenticated and not encrypted (IEEE 802.1AE-2018, 9.3 to 9.9): flags, a short length, a number, perhaps the name of a channel, then
//! what the frame would begin with without all this. What authenticates it follows at the end.

use super::Network;
use crate::bytes::{u8_at, u16_at};
use crate::ether::ethertype;

const IS_OTHER_VERSION: u8 = 0x80;
const HAS_CHANNEL: u8 = 0x20;
const IS_ENCRYPTED_OR_CHANGED: u8 = 0x0c;
/// Bytes behind the EtherType of the tag, without and with a channel.
const LEN: usize = 6;
const LEN_WITH_CHANNEL: usize = 14;

/// What stands behind a tag as it is.
pub(super) fn payload(bytes: &[u8]) -> Option<(Network, &[u8])> {
    let end = open_end(u8_at(bytes, 0)?)?;
    let ethertype = u16_at(bytes, end).filter(|&ethertype| ethertype >= ethertype::LEAST)?;
    Some((Network::Ethertype(ethertype), &bytes[end + 2..]))
}

/// Whether more bytes would show what stands behind the tag, or that it is encrypted.
pub(crate) fn is_short(bytes: &[u8]) -> bool {
    bytes.first().is_none_or(|&flags| open_end(flags).is_some_and(|end| bytes.len() < end + 2))
}

/// Where a tag with these flags ends, if what follows can be read.
fn open_end(flags: u8) -> Option<usize> {
    let is_open = flags & (IS_OTHER_VERSION | IS_ENCRYPTED_OR_CHANGED) == 0;
    is_open.then_some(if flags & HAS_CHANNEL == 0 { LEN } else { LEN_WITH_CHANNEL })
}
