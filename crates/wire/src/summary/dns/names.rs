//! Numbers of DNS that have names (IANA, "DNS Parameters").

use super::TYPE_OPT;
use super::answer::{
    TYPE_A, TYPE_AAAA, TYPE_CNAME, TYPE_MX, TYPE_NS, TYPE_PTR, TYPE_SOA, TYPE_SRV, TYPE_TXT,
};

/// OpCodes.
pub(super) fn opcode_name(opcode: u16) -> Option<&'static str> {
    Some(match opcode {
        2 => "status",
        4 => "notify",
        5 => "update",
        6 => "stateful",
        _ => return None,
    })
}

/// RCODEs, of which those above 15 need an OPT record.
pub(super) fn code_name(code: u16) -> Option<&'static str> {
    Some(match code {
        1 => "FORMERR",
        2 => "SERVFAIL",
        3 => "NXDOMAIN",
        4 => "NOTIMP",
        5 => "REFUSED",
        6 => "YXDOMAIN",
        7 => "YXRRSET",
        8 => "NXRRSET",
        9 => "NOTAUTH",
        10 => "NOTZONE",
        11 => "DSOTYPENI",
        16 => "BADVERS",
        17 => "BADKEY",
        18 => "BADTIME",
        19 => "BADMODE",
        20 => "BADNAME",
        21 => "BADALG",
        22 => "BADTRUNC",
        23 => "BADCOOKIE",
        _ => return None,
    })
}

/// Types of resource records; others are written as RFC 3597 has it.
pub(super) fn type_name(kind: u16) -> Option<&'static str> {
    Some(match kind {
        TYPE_A => "A",
        TYPE_NS => "NS",
        TYPE_CNAME => "CNAME",
        TYPE_SOA => "SOA",
        10 => "NULL",
        TYPE_PTR => "PTR",
        13 => "HINFO",
        TYPE_MX => "MX",
        TYPE_TXT => "TXT",
        TYPE_AAAA => "AAAA",
        29 => "LOC",
        TYPE_SRV => "SRV",
        35 => "NAPTR",
        37 => "CERT",
        39 => "DNAME",
        TYPE_OPT => "OPT",
        43 => "DS",
        44 => "SSHFP",
        46 => "RRSIG",
        47 => "NSEC",
        48 => "DNSKEY",
        50 => "NSEC3",
        52 => "TLSA",
        59 => "CDS",
        60 => "CDNSKEY",
        64 => "SVCB",
        65 => "HTTPS",
        99 => "SPF",
        249 => "TKEY",
        250 => "TSIG",
        251 => "IXFR",
        252 => "AXFR",
        255 => "ANY",
        256 => "URI",
        257 => "CAA",
        _ => return None,
    })
}
