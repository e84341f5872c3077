//! The language's words for qualifiers, for messages.

use crate::syntax::ast::{Dir, Kind, Proto};

/// As the grammar spells it.
#[rustfmt::skip]
pub(crate) fn proto(proto: Proto) -> &'static str {
    match proto {
        Proto::Link => "ether", Proto::Ip => "ip", Proto::Ip6 => "ip6", Proto::Arp => "arp", Proto::Rarp => "rarp",
        Proto::Tcp => "tcp", Proto::Udp => "udp", Proto::Sctp => "sctp", Proto::Icmp => "icmp",
        Proto::Icmp6 => "icmp6", Proto::Igmp => "igmp", Proto::Igrp => "igrp", Proto::Pim => "pim",
        Proto::Vrrp => "vrrp", Proto::Carp => "carp", Proto::Ah => "ah", Proto::Esp => "esp",
        Proto::Atalk => "atalk", Proto::Aarp => "aarp", Proto::Decnet => "decnet", Proto::Lat => "lat",
        Proto::Sca => "sca", Proto::Moprc => "moprc", Proto::Mopdl => "mopdl", Proto::Iso => "iso",
        Proto::Esis => "esis", Proto::Isis => "isis", Proto::Clnp => "clnp", Proto::IsisL1 => "l1",
        Proto::IsisL2 => "l2", Proto::IsisIih => "iih", Proto::IsisLsp => "lsp", Proto::IsisSnp => "snp",
        Proto::IsisPsnp => "psnp", Proto::IsisCsnp => "csnp", Proto::Stp => "stp", Proto::Ipx => "ipx",
        Proto::Netbeui => "netbeui", Proto::Radio => "radio",
    }
}

/// As the grammar spells it.
#[rustfmt::skip]
pub(crate) fn dir(dir: Dir) -> &'static str {
    match dir {
        Dir::Src => "src", Dir::Dst => "dst", Dir::SrcOrDst => "src or dst", Dir::SrcAndDst => "src and dst",
        Dir::Addr1 => "addr1", Dir::Addr2 => "addr2", Dir::Addr3 => "addr3", Dir::Addr4 => "addr4",
        Dir::Ra => "ra", Dir::Ta => "ta",
    }
}

/// As the grammar spells it; `host` is what no word means.
#[rustfmt::skip]
pub(crate) fn kind(kind: Option<Kind>) -> &'static str {
    match kind {
        None | Some(Kind::Host) => "host", Some(Kind::Net) => "net", Some(Kind::Port) => "port",
        Some(Kind::Portrange) => "portrange", Some(Kind::Proto) => "proto",
        Some(Kind::Protochain) => "protochain", Some(Kind::Gateway) => "gateway",
    }
}
