//! What to know about a mistake for which no filter can be suggested.

use super::Mistake;
use super::cursor::has_ports;
use super::suggest::SUGGESTION_MAX;
use crate::diag::{Code, Diagnostic};
use crate::options::Dialect;
use crate::syntax::lex::{Sign, TokenKind, Tokens};
use crate::syntax::parser::expected::Expected;
use crate::syntax::parser::is_filter;
use crate::syntax::words::Word;

/// The whole filter without the quotes around it and the full stop behind it, if that is all that is wrong.
pub(super) fn repaired(tokens: &Tokens<'_>, found: &Diagnostic, dialect: &Dialect) -> Option<String> {
    let source = tokens.source.trim();
    if found.code != Code::BadToken || source.len() > SUGGESTION_MAX {
        return None;
    }
    let is_quote = |c| matches!(c, '"' | '\'' | '`' | '“' | '”' | '‘' | '’');
    let plain = source.replace(is_quote, "").replace(['–', '—', '−'], "-");
    let plain = plain.trim().trim_end_matches(|c: char| matches!(c, ';' | '?') || c.is_whitespace());
    (plain != source && !plain.is_empty() && is_filter(plain, dialect)).then(|| plain.to_owned())
}

/// What other tools ask of a packet that is not in it.
#[rustfmt::skip]
static OUTSIDE: &[&str] = &[
    "iif", "iifname", "oif", "oifname", "interface", "dev", "device", "pid", "process", "uid", "user", "fib",
];

/// Words of other languages, near to words of this one by chance.
pub(super) fn is_foreign(word: &str) -> bool {
    OUTSIDE.contains(&word) || matches!(word, "mtu" | "any" | "all" | "in" | "is" | "to" | "rtp" | "rt")
}

impl Mistake<'_> {
    /// What is advised about a finding.
    pub(super) fn hint(&self, found: &Diagnostic) -> Option<String> {
        let tokens = self.tokens;
        let text = found.span.text(tokens.source);
        let at = tokens.list.partition_point(|token| token.span.start < found.span.start);
        let back = |by| at.checked_sub(by).and_then(|at| tokens.list.get(at)).copied();
        let before = back(1).map_or("", |token| tokens.text(token));
        // Behind a protocol it is qualifiers that are expected.
        let is_behind_protocol =
            matches!(back(1).map(|token| token.kind), Some(TokenKind::Word(Word::Proto(_))));
        let expects_join = self.expected == Some(Expected::Join) && !is_behind_protocol;
        let hint = match (found.code, text) {
            (Code::BadToken, "\"" | "\'" | "“" | "‘") => return quoted(tokens, found),
            (Code::BadToken, "~") => "the bits of a number are turned over by `0xffffffff ^ …`",
            (Code::BadToken, "$") => {
                "variables are filled in by the shell, outside of single quotes, and not by a filter"
            }
            (Code::BadToken, "@") => "a file with the members of a set is written `in {@file}`",
            (Code::BadToken, ";") => "a filter is one expression: join its parts by `and` or `or`",
            (Code::UnknownWord, "meta") => metadata(tokens),
            (Code::UnknownWord, "mtu") => {
                "`len` counts the link header, too: of Ethernet, packets larger than 1500 bytes are `len > 1514`"
            }
            (Code::UnknownWord, "ct" | "ctstate" | "state" | "established") => {
                "this has no counterpart: a filter looks at one packet, and connections are not tracked"
            }
            (Code::UnknownWord, text) if OUTSIDE.contains(&text) => {
                "this has no counterpart: a packet says nothing of the device, process or user that it belongs to"
            }
            (Code::UnknownWord, "limit" | "rate" | "sample") => {
                "this has no counterpart: a filter looks at one packet alone"
            }
            (Code::UnknownWord, "bytes" | "byte" | "octets" | "bits") => {
                "numbers have no unit, and lengths are in bytes: leave the word out"
            }
            (
                Code::UnknownWord,
                "accept" | "drop" | "reject" | "counter" | "log" | "queue" | "return" | "apply" | "match"
                | "deny" | "allow" | "permit",
            ) => "a filter only says which packets match, not what becomes of them: leave the word out",
            (Code::UnknownWord, "alert" | "pass") => {
                "this looks like a rule of Suricata: its head is written `tcp and src net 10.0.0.0/8 and dst port 80`"
            }
            (Code::UnknownWord, "true" | "everything" | "always") => "every packet matches the empty filter",
            (Code::Unexpected, "*") if at == 0 => "every packet matches the empty filter",
            (Code::UnknownWord, "false" | "none" | "nothing" | "never") => "no packet matches `1 = 0`",
            (Code::UnknownWord, "tcpdump" | "tshark") => {
                "only what stands behind the flags of a command is the filter"
            }
            (Code::UnknownWord, "rtp") => {
                "RTP has no port of its own: name the one that it uses, as in `udp portrange 16384-32767`"
            }
            (Code::Unexpected | Code::UnknownWord, _)
                if begins_with_flag(tokens) || (text == "-" && next_is_letter(tokens, at)) =>
            {
                "this looks like a flag of a command, which is no part of a filter"
            }
            (Code::Unexpected | Code::UnknownWord, _) if is_list_of_tags(tokens, at) => {
                return tags(tokens, at);
            }
            (Code::Unexpected, "and" | "&&" | "or" | "||")
                if matches!(self.expected, Some(Expected::Operator { .. })) =>
            {
                "numbers are joined by `|` and `&`, as in `tcp[tcpflags] & (tcp-syn|tcp-ack) != 0`"
            }
            (Code::Unexpected, ":") if expects_join && before.contains('.') => {
                "a port is a primitive of its own, as in `host 10.0.0.1 and port 80`"
            }
            (Code::Unexpected, ":") if expects_join => {
                "an IPv6 address has eight parts, or once `::` in the place of zeros, as in `host 2001:db8::1`"
            }
            (Code::Unexpected, "and" | "&&" | "or" | "||") => {
                return Some(format!("`{text}` stands between two primitives: one is missing here"));
            }
            (Code::Unexpected, "") if matches!(before, "and" | "&&" | "or" | "||" | "not" | "!") => {
                return Some(format!("a primitive such as `port 80` is missing behind `{before}`"));
            }
            (Code::Unexpected, "") if matches!(before, "len" | "length") => "compare it, as in `len > 100`",
            (Code::UnknownWord, "option" | "options") => {
                "options stand in another place in every packet, where a filter cannot look for them"
            }
            (Code::Unexpected, "=" | "==" | "!=" | "<" | "<=" | ">" | ">=") if has_ports(before) => {
                return Some(format!("a port is written `{before} port 80`"));
            }
            (Code::Unexpected, "=" | "==" | "!=" | "<" | "<=" | ">" | ">=") if expects_join => {
                "only numbers are compared, two at a time: `len > 100`, `tcp[13] = 2`"
            }
            (Code::Unexpected, ",") if self.expected == Some(Expected::Sign("]")) => {
                "a size stands behind a colon, as in `tcp[0:2]`"
            }
            (Code::UnknownWord, _)
                if found.help.is_none()
                    && found.suggestion.is_none()
                    && self.expected == Some(Expected::Arith) =>
            {
                if text.starts_with(|first: char| first.is_ascii_digit()) {
                    "numbers are whole, decimal or hexadecimal as in 0x1f, and have no unit"
                } else {
                    "only numbers can be compared, and constants such as `tcp-syn` and `icmp-echo`"
                }
            }
            _ => return None,
        };
        Some(hint.to_owned())
    }
}

/// `-i eth0 port 80`.
fn begins_with_flag(tokens: &Tokens<'_>) -> bool {
    matches!(tokens.list.first().map(|token| token.kind), Some(TokenKind::Sign(Sign::Minus)))
        && next_is_letter(tokens, 0)
}

/// Whether a letter or word follows without a blank between: `-w`, `--dport`.
fn next_is_letter(tokens: &Tokens<'_>, at: usize) -> bool {
    let Some([sign, next, ..]) = tokens.list.get(at..) else { return false };
    let is_flag = match next.kind {
        TokenKind::Name => true,
        TokenKind::Sign(Sign::Minus) => next_is_letter(tokens, at + 1),
        _ => false,
    };
    is_flag && sign.span.end == next.span.start
}

/// `vlan 10,20`, `vlan 10-20`, `vlan in {10, 20}`, `vlan != 10`.
fn is_list_of_tags(tokens: &Tokens<'_>, at: usize) -> bool {
    let Some(tag) = tag_before(tokens, at) else { return false };
    match tokens.list.get(at).map(|token| (token.kind, tokens.text(*token))) {
        Some((
            TokenKind::Sign(
                Sign::Comma
                | Sign::Minus
                | Sign::LBrace
                | Sign::Ne
                | Sign::Lt
                | Sign::Gt
                | Sign::Le
                | Sign::Ge,
            ),
            _,
        )) => true,
        Some((TokenKind::Name, text)) => {
            text == "in" || crate::syntax::range::numbers(text).is_some() || (text == "id" && tag == "vlan")
        }
        Some((TokenKind::Number(_), _)) => true,
        _ => false,
    }
}

/// The word that is asked for its number right before this place.
fn tag_before<'a>(tokens: &Tokens<'a>, at: usize) -> Option<&'a str> {
    let words = (1..=2).filter_map(|by| tokens.list.get(at.checked_sub(by)?));
    words
        .map(|token| token.span.text(tokens.source))
        .find(|text| matches!(*text, "vlan" | "mpls" | "pppoes" | "geneve" | "vxlan"))
}

fn tags(tokens: &Tokens<'_>, at: usize) -> Option<String> {
    let word = tag_before(tokens, at)?;
    Some(match word {
        "vlan" => "`vlan` takes one number; in Ethernet the tag can be compared, \
                   as in `vlan and ether[14:2] & 0xfff >= 10 and ether[14:2] & 0xfff <= 20`"
            .to_owned(),
        word => format!("`{word}` takes one number, and what stands to its right is looked for inside of it"),
    })
}

/// A text in quotes, which a comparison would have as a number.
fn quoted(tokens: &Tokens<'_>, found: &Diagnostic) -> Option<String> {
    let rest = tokens.source.get(found.span.end as usize..)?;
    let text: String = rest.chars().take_while(|c| !matches!(c, '"' | '\'' | '”' | '’')).collect();
    let is_compared =
        tokens.list.iter().rev().find(|token| token.kind != TokenKind::End).is_some_and(|token| {
            matches!(
                token.kind,
                TokenKind::Sign(Sign::Eq | Sign::Ne | Sign::Lt | Sign::Le | Sign::Gt | Sign::Ge)
            )
        });
    let is_text = is_compared && text.is_ascii() && matches!(text.len(), 1 | 2 | 4);
    is_text.then(|| {
        let digits: String = text.bytes().map(|byte| format!("{byte:02x}")).collect();
        format!("text is compared as the number of its bytes: this is 0x{digits}")
    })
}

/// What becomes of `meta`, which has no general counterpart.
fn metadata(tokens: &Tokens<'_>) -> &'static str {
    let mut words = tokens.list.iter().map(|token| tokens.text(*token)).skip_while(|word| *word != "meta");
    match words.nth(1) {
        // How long the link header is, the parser does not know.
        Some("length") => {
            "`len` counts the link header, too: of Ethernet, `meta length > 1000` is `len > 1014`"
        }
        _ => "most of `meta` has no counterpart: a filter sees the bytes and the length of a packet",
    }
}
