//! What was probably meant by a text that is no filter.
//!
//! Runs only after the parser, or lowering, has failed. What it proposes, it has parsed.
//!
//! ```text
//! display_filter   Wireshark's other language
//! stop             the word that could stand where the parser stopped
//! habits           phrases of nftables and others
//! slips            phrases of this language, nearly
//! hints            what to know where nothing can be proposed
//! ```

mod cursor;
mod display_filter;
mod fields;
mod habits;
mod hints;
mod slips;
pub(super) mod stop;
mod suggest;
mod width;

use super::lex::{Sign, Tokens};
use super::parser::{Parser, is_filter};
use crate::Span;
use crate::diag::{Code, Diagnostic};
use crate::options::Dialect;
use cursor::{Cursor, Phrase};
use suggest::SUGGESTION_MAX;

pub(crate) use display_filter::protocol;
pub(crate) use hints::hint;

/// What the parser found, with what was meant, where that is known.
#[cold]
pub(super) fn at_stop(parser: &Parser<'_>, found: Diagnostic) -> Diagnostic {
    display_filter::recognise(parser.tokens)
        .unwrap_or_else(|| advise(parser.tokens, stop::help(parser, found), parser.dialect))
}

/// How many words in front of the place a phrase may begin: it counts only if the place lies within it.
const WORDS_BEFORE: usize = 12;

/// The finding with what was meant, where that is known and the dialect does not refuse it.
#[cold]
pub(crate) fn advise(tokens: &Tokens<'_>, found: Diagnostic, dialect: &Dialect) -> Diagnostic {
    // Of a text that ends too early the counterpart lacks a value as well.
    let is_helpful = |meant: &String| {
        meant.len() <= SUGGESTION_MAX
            && (is_filter(meant, dialect) || is_filter(&format!("{meant} 1"), dialect))
    };
    if let Some(meant) = meant(tokens, found.span, phrases(found.code)).filter(is_helpful) {
        return match width::exceeded(&meant, dialect) {
            Some(range) if found.code == Code::OutOfRange => range.instead_of(found),
            Some(range) => found.help(range.to_string()),
            None => found.suggest(meant),
        };
    }
    if (found.code == Code::BadQualifier && found.help.is_some())
        || found.meant().is_some_and(|meant| meant.contains(' '))
    {
        return found;
    }
    match (hints::repaired(tokens, &found, dialect), hints::hint(tokens, &found)) {
        (Some(meant), _) => found.suggest(meant),
        (None, Some(hint)) => found.help(hint),
        (None, None) => found,
    }
}

/// What may stand where there is such an error; the first that does is taken.
fn phrases(code: Code) -> &'static [Phrase] {
    match code {
        Code::Unexpected | Code::UnknownWord => &[
            habits::ports,
            habits::addresses,
            habits::transport,
            fields::message,
            fields::fields,
            fields::protocol_number,
            habits::flags,
            habits::joined_flags,
            slips::repeated,
            habits::kinds,
            habits::set,
            slips::range,
            slips::mask,
            slips::between,
            slips::compared,
            slips::both_ends,
            slips::commas,
            slips::socket,
            slips::carrier_behind_direction,
            slips::hardware_address,
            slips::sender,
            slips::scoped_address,
            slips::group,
            slips::protocol,
            slips::service,
            slips::length,
            slips::bounds,
            slips::rule,
            slips::arp,
            slips::wildcard,
            habits::juxtaposed,
            slips::qualified,
            slips::subtype,
            slips::bytes_of_address,
        ],
        // Types of ICMP or Ethernet that were read as types of 802.11.
        Code::OutOfRange | Code::LinkType => &[fields::message, habits::kinds, slips::bytes_of_address],
        Code::BadQualifier => &[slips::addresses_of_transport],
        _ => &[],
    }
}

/// The meaning of the phrase that `place` lies in, if it is one of these.
fn meant(tokens: &Tokens<'_>, place: Span, phrases: &[Phrase]) -> Option<String> {
    let at = tokens.list.iter().position(|token| token.span.start >= place.start)?;
    (at.saturating_sub(WORDS_BEFORE)..=at).find_map(|start| {
        phrases.iter().find_map(|phrase| {
            let mut cursor = Cursor { tokens, at: start };
            let meant = phrase(&mut cursor)?;
            // What follows a comma is part of the phrase, though not understood.
            let is_whole = cursor.at > at && cursor.sign(Sign::Comma).is_none();
            (is_whole && cursor.is_news(start, &meant)).then_some(meant)
        })
    })
}
