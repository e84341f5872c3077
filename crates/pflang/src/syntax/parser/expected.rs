//! What the grammar allows where the parser stands, and the words that are among it.

use crate::syntax::ast::Proto;
use crate::syntax::codes;
use crate::syntax::words::{self, WORDS, Word};

/// What the grammar allows at some place.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Expected {
    Term,
    /// After `and` and `or`, where identifiers could stand if there were qualifiers.
    TermAfterJoin,
    Id,
    Number,
    /// In a second parenthesis around an identifier.
    OneParenthesis,
    Arith,
    Close,
    /// After arithmetic; after a lone number it could have been meant as an identifier.
    Operator {
        number: bool,
    },
    Join,
    /// Nothing is open that `)` could close.
    NoClose,
    Protocol,
    Sign(&'static str),
    Word(&'static str),
    Size,
    ByteOperator,
    LlcType,
    WlanType,
    WlanSubtype(u8),
    AnyWlanSubtype,
    WlanDirection,
    PfReason,
    PfAction,
    Name,
    FieldValue,
    OrClose,
    PrefixLength,
    NetMask,
    SetEnd,
    SetItem,
    /// The other end of a range.
    Address,
    /// A part of a program.
    Program(&'static str),
    /// After a member on a line of a set's file.
    LineEnd,
}

impl Expected {
    /// The words that could stand there.
    pub(crate) fn words(self) -> Vec<&'static str> {
        let firsts = |table: &[(&'static str, u8)]| table.iter().map(|entry| entry.0).collect::<Vec<_>>();
        let numbers = |table: &[(&'static str, u32)]| table.iter().map(|entry| entry.0).collect::<Vec<_>>();
        match self {
            Expected::Term | Expected::TermAfterJoin => WORDS
                .iter()
                .filter(|(_, word)| !matches!(word, Word::And | Word::Or | Word::Mask))
                .map(|(name, _)| *name)
                .collect(),
            Expected::Join => vec!["and", "or"],
            Expected::OrClose => vec!["or"],
            Expected::Word(word) => vec![word],
            Expected::Protocol => WORDS
                .iter()
                .filter(|(_, word)| matches!(word, Word::Proto(_)))
                .map(|(name, _)| *name)
                .collect(),
            Expected::Arith | Expected::Number | Expected::Size => {
                words::CONSTANTS.iter().map(|(name, _)| *name).collect()
            }
            Expected::LlcType => {
                let mut names = vec!["i", "s", "u"];
                names.extend(firsts(codes::LLC_SUPERVISORY));
                names.extend(firsts(codes::LLC_UNNUMBERED));
                names
            }
            Expected::WlanType => firsts(codes::WLAN_TYPES),
            Expected::WlanSubtype(kind) => codes::WLAN_SUBTYPES
                .iter()
                .find(|(of, _)| *of == kind)
                .map_or_else(|| vec!["a type that has subtypes"], |(_, names)| firsts(names)),
            Expected::AnyWlanSubtype => {
                codes::WLAN_SUBTYPES.iter().flat_map(|(_, names)| firsts(names)).collect()
            }
            Expected::WlanDirection => numbers(codes::WLAN_DIRECTIONS),
            Expected::PfReason => numbers(codes::PF_REASONS),
            Expected::PfAction => numbers(codes::PF_ACTIONS),
            _ => Vec::new(),
        }
    }
}

/// What can follow a protocol name and makes sense there; the grammar would take any qualifier.
pub(crate) fn after_protocol(proto: Proto) -> &'static [&'static str] {
    match proto {
        _ if is_transport(proto) => &["port", "portrange", "src", "dst"],
        Proto::Ip | Proto::Ip6 => &["host", "net", "proto", "src", "dst"],
        Proto::Link => &["host", "proto", "src", "dst", "broadcast", "multicast"],
        Proto::Arp | Proto::Rarp | Proto::Decnet => &["host", "net", "src", "dst"],
        Proto::Iso | Proto::Isis => &["proto", "and", "or"],
        _ => &["and", "or"],
    }
}

pub(crate) fn is_transport(proto: Proto) -> bool {
    matches!(proto, Proto::Tcp | Proto::Udp | Proto::Sctp)
}
