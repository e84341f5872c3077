//! Address families: BSD loopback and IPsec, Solaris ipnet, pf log.
//!
//! Every system has 2 for IPv4; for IPv6 each chose a number of its own.

use crate::ir::tree::TreeId;
use crate::ir::{BinOp, Size};
use crate::lower::layers::{Offset, Rel};
use crate::lower::lowerer::Lowerer;
use crate::lower::numbers::ethertype;

/// `AF_INET`, everywhere.
const INET: u32 = 2;
/// `AF_INET6` of Darwin; of NetBSD, OpenBSD and BSD/OS; of FreeBSD.
const INET6_BSD: [u32; 3] = [30, 24, 28];
/// `AF_INET6` of Linux, which libpcap on Linux looks for in pf logs too.
const INET6_LINUX: u32 = 10;
/// `AF_INET6` of Solaris.
const INET6_SOLARIS: u32 = 26;

impl Lowerer<'_> {
    /// The four bytes of a BSD loopback header; `order` turns a family into what a big-endian load sees.
    ///
    /// NOTE: host order is taken to be that of this machine. A `NULL` file from a machine of the other order is
    /// the same as a `LOOP` file, and is to be compiled for as such by whoever opened it.
    pub(super) fn bsd_family(&mut self, proto: u32, order: impl Fn(u32) -> u32) -> TreeId {
        let families: &[u32] = match proto {
            ethertype::IP => &[INET],
            ethertype::IPV6 => &INET6_BSD,
            _ => &[],
        };
        let tests: Vec<TreeId> =
            families.iter().map(|&family| self.eq(Rel::LinkHdr, 0, Size::B4, order(family))).collect();
        self.any(&tests)
    }

    pub(super) fn solaris_family(&mut self, proto: u32) -> TreeId {
        self.one_byte_family(Rel::LinkType, 0, proto, INET6_SOLARIS)
    }

    pub(super) fn pflog_family(&mut self, proto: u32) -> TreeId {
        self.one_byte_family(Rel::LinkHdr, 1, proto, INET6_LINUX)
    }

    fn one_byte_family(&mut self, rel: Rel, offset: u32, proto: u32, inet6: u32) -> TreeId {
        match proto {
            ethertype::IP => self.eq(rel, offset, Size::B1, INET),
            ethertype::IPV6 => self.eq(rel, offset, Size::B1, inet6),
            _ => self.truth(false),
        }
    }

    /// A pf log header tells its length in its first byte; it is padded to a multiple of four.
    pub(super) fn pflog_layers(&mut self) {
        let length = self.load(Rel::Packet, 0, Size::B1);
        let up = self.op_k(BinOp::Add, length, 3);
        let padded = self.op_k(BinOp::And, up, !3);
        self.layers.payload = Offset::varying(0, padded);
        self.early.push((padded, false));
    }
}
