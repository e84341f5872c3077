//! How a header is described: fields in order, each with a kind and a value for when none is given.

/// A header.
pub(super) struct Spec {
    pub(super) name: &'static str,
    pub(super) fields: &'static [Field],
    /// The fields that arguments without a name fill, in order.
    pub(super) positional: &'static [&'static str],
    /// Fields fill each byte from its least significant bit, as the little-endian standards count.
    pub(super) lsb_first: bool,
}

/// A field of a header.
pub(super) struct Field {
    pub(super) name: &'static str,
    pub(super) kind: Kind,
    pub(super) default: Default,
}

/// How the value of a field is written in text and in bytes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// So many bits of a number, most significant first.
    Bits(u32),
    /// A number of so many whole bytes, least significant first.
    LittleBytes(u32),
    Mac,
    Ip4,
    Ip6,
    /// One bit for each letter, the first letter being the least significant bit.
    Flags(&'static str),
    /// As many bytes as are given, in hexadecimal or as quoted text.
    Bytes,
    /// Text in so many bytes, filled up with zeros.
    Text(u32),
}

impl Kind {
    /// The width in bits, where it does not depend on the value.
    pub(super) fn bits(self) -> Option<u32> {
        match self {
            Kind::Bits(bits) => Some(bits),
            Kind::LittleBytes(bytes) | Kind::Text(bytes) => Some(bytes * 8),
            Kind::Mac => Some(48),
            Kind::Ip4 => Some(32),
            Kind::Ip6 => Some(128),
            Kind::Flags(letters) => Some(letters.len() as u32),
            Kind::Bytes => None,
        }
    }
}

/// What a field holds when nobody says.
#[derive(Clone, Copy)]
pub(super) enum Default {
    Num(u128),
    /// Written as an argument would be.
    Text(&'static str),
    /// The number of the next layer in a space of numbers, or this one when it has none.
    Next(Space, u128),
    /// The EtherType of the next layer, or the payload's length before 802.2.
    TypeOrLength,
    /// The payload's length plus this.
    PayloadLen(i64),
    /// The header's and the payload's length plus this.
    TotalLen(i64),
    /// The header's length in units of so many bytes, minus this.
    HeaderLen {
        unit: usize,
        minus: usize,
    },
    /// One, unless the same header follows.
    IsLast,
    Sum(Sum),
}

/// The spaces in which protocols have numbers.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Space {
    EtherType,
    IpProto,
    Ppp,
    LlcSap,
    Nlpid,
    LoopbackAf,
    PflogAf,
    IpnetAf,
    Arcnet,
    SllProto,
}

/// The checksums.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Sum {
    Header,
    HeaderAndPayload,
    /// With the addresses of the enclosing IP header.
    Pseudo,
    /// CRC-32C over header and payload.
    Crc32c,
}

impl Spec {
    /// The field called `name`.
    pub(super) fn field(&self, name: &str) -> Option<usize> {
        self.fields.iter().position(|field| field.name == name)
    }
}
