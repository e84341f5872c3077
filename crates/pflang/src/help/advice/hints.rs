//! What to know about a mistake for which no filter can be suggested.

use super::Mistake;
use super::cursor::{Cursor, has_ports, lookup};
use crate::diag::{Code, Diagnostic};
use crate::syntax::lex::{Sign, TokenKind, Tokens};
use crate::syntax::parser::expected::Expected;
use crate::syntax::parser::relation;
use crate::syntax::range;
use crate::syntax::words::Word;

/// Words of other languages, near to words of this one by chance.
pub(super) fn is_foreign(word: &str) -> bool {
    matches!(word, "mtu" | "any" | "all" | "in" | "is" | "to" | "rtp" | "rt")
        || lookup(WORDS, word) == Some(OUTSIDE)
}

/// What other tools ask of a packet that is not in it.
const OUTSIDE: &str =
    "this has no counterpart: a packet says nothing of the device, process or user that it belongs to";

/// What there is to know about a sign that begins no token, wherever it stands.
#[rustfmt::skip]
static SIGNS: &[(&str, &str)] = &[
    ("~", "the bits of a number are turned over by `0xffffffff ^ …`"),
    ("$", "variables are filled in by the shell, outside of single quotes, and not by a filter"),
    ("@", "a file with the members of a set is written `in {@file}`"),
    (";", "a filter is one expression: join its parts by `and` or `or`"),
];

/// The same of words that are none of this language.
#[rustfmt::skip]
static WORDS: &[(&str, &str)] = &[
    ("meta", "most of `meta` has no counterpart: a filter sees the bytes and the length of a packet"),
    ("mtu", "`len` counts the link header, too: of Ethernet, packets larger than 1500 bytes are `len > 1514`"),
    ("ct|ctstate|state|established",
        "this has no counterpart: a filter looks at one packet, and connections are not tracked"),
    ("iif|iifname|oif|oifname|interface|dev|device|pid|process|uid|user|fib", OUTSIDE),
    ("limit|rate|sample", "this has no counterpart: a filter looks at one packet alone"),
    ("bytes|byte|octets|bits", "numbers have no unit, and lengths are in bytes: leave the word out"),
    ("accept|drop|reject|counter|log|queue|return|apply|match|deny|allow|permit",
        "a filter only says which packets match, not what becomes of them: leave the word out"),
    ("alert|pass",
        "this looks like a rule of Suricata: its head is written `tcp and src net 10.0.0.0/8 and dst port 80`"),
    ("true|everything|always", "every packet matches the empty filter"),
    ("false|none|nothing|never", "no packet matches `1 = 0`"),
    ("tcpdump|tshark", "only what stands behind the flags of a command is the filter"),
    ("rtp", "RTP has no port of its own: name the one that it uses, as in `udp portrange 16384-32767`"),
    ("option|options", "options stand in another place in every packet, where a filter cannot look for them"),
];

impl Mistake<'_> {
    /// What is advised about a finding.
    pub(super) fn hint(&self, found: &Diagnostic) -> Option<String> {
        let tokens = self.tokens;
        let text = found.span.text(tokens.source);
        let at = tokens.list.partition_point(|token| token.span.start < found.span.start);
        let cursor = Cursor { tokens, at };
        let before = at.checked_sub(1).map_or("", |before| tokens.text(tokens.list[before]));
        let kind = cursor.token().map_or(TokenKind::End, |token| token.kind);
        let is_join = matches!(kind, TokenKind::Word(Word::And | Word::Or));
        // Behind a protocol it is qualifiers that are expected.
        let is_behind_protocol = matches!(cursor.back(1), Some(TokenKind::Word(Word::Proto(_))));
        let expects_join = self.expected == Some(Expected::Join) && !is_behind_protocol;
        // How long the link header is, the parser does not know.
        if text == "meta" && (Cursor { tokens, at: at + 1 }).is_at("length") {
            return Some(
                "`len` counts the link header, too: of Ethernet, `meta length > 1000` is `len > 1014`".into(),
            );
        }
        let known = match found.code {
            Code::BadToken => lookup(SIGNS, text),
            Code::UnknownWord => lookup(WORDS, text),
            _ => None,
        };
        if let Some(hint) = known {
            return Some(hint.to_owned());
        }
        if found.code == Code::BadToken && matches!(text, "\"" | "\'" | "“" | "‘") {
            return quoted(tokens, found);
        }
        let (is_unexpected, is_unknown) = (found.code == Code::Unexpected, found.code == Code::UnknownWord);
        let is_word = is_unexpected || is_unknown;
        let is_compared = is_unexpected && relation(kind).is_some();
        let is_end_behind = |words: &[&str]| is_unexpected && text.is_empty() && words.contains(&before);
        let is_operand =
            found.help.is_none() && found.suggestion.is_none() && self.expected == Some(Expected::Arith);
        let is_number = text.starts_with(|first: char| first.is_ascii_digit());
        let tag = tag_of_list(&cursor).unwrap_or_default();
        #[rustfmt::skip]
        let hints = [
            (is_unexpected && text == "*" && at == 0, "every packet matches the empty filter"),
            (is_word && (is_flag(tokens, 0) || (text == "-" && is_flag(tokens, at))),
                "this looks like a flag of a command, which is no part of a filter"),
            (is_word && tag == "vlan",
                "`vlan` takes one number; in Ethernet the tag can be compared, as in \
                 `vlan and ether[14:2] & 0xfff >= 10 and ether[14:2] & 0xfff <= 20`"),
            (is_word && !tag.is_empty(),
                "`{tag}` takes one number, and what stands to its right is looked for inside of it"),
            (is_unexpected && is_join && matches!(self.expected, Some(Expected::Operator { .. })),
                "numbers are joined by `|` and `&`, as in `tcp[tcpflags] & (tcp-syn|tcp-ack) != 0`"),
            (is_unexpected && text == ":" && expects_join && before.contains('.'),
                "a port is a primitive of its own, as in `host 10.0.0.1 and port 80`"),
            (is_unexpected && text == ":" && expects_join,
                "an IPv6 address has eight parts, or once `::` in the place of zeros, as in `host 2001:db8::1`"),
            (is_unexpected && is_join, "`{text}` stands between two primitives: one is missing here"),
            (is_end_behind(&["and", "&&", "or", "||", "not", "!"]),
                "a primitive such as `port 80` is missing behind `{before}`"),
            (is_end_behind(&["len", "length"]), "compare it, as in `len > 100`"),
            (is_compared && has_ports(before), "a port is written `{before} port 80`"),
            (is_compared && expects_join, "only numbers are compared, two at a time: `len > 100`, `tcp[13] = 2`"),
            (is_unexpected && text == "," && self.expected == Some(Expected::Sign("]")),
                "a size stands behind a colon, as in `tcp[0:2]`"),
            (is_unknown && is_operand && is_number,
                "numbers are whole, decimal or hexadecimal as in 0x1f, and have no unit"),
            (is_unknown && is_operand,
                "only numbers can be compared, and constants such as `tcp-syn` and `icmp-echo`"),
        ];
        let (_, hint) = hints.into_iter().find(|(is_so, _)| *is_so)?;
        Some(hint.replace("{text}", text).replace("{before}", before).replace("{tag}", tag))
    }
}

/// Whether this is a flag of a command: `-w`, `--dport`.
fn is_flag(tokens: &Tokens<'_>, at: usize) -> bool {
    let word = tokens.list.get(at..).unwrap_or_default();
    let signs = word.iter().take_while(|token| token.kind == TokenKind::Sign(Sign::Minus)).count();
    // Without a blank between.
    let is_one = word.windows(2).take(signs).all(|pair| pair[0].span.end == pair[1].span.start);
    signs > 0 && is_one && word.get(signs).is_some_and(|name| name.kind == TokenKind::Name)
}

/// The word that is asked for its number where `vlan 10,20`, `vlan 10-20`, `vlan in {10, 20}` or `vlan != 10` asks for several.
fn tag_of_list(cursor: &Cursor<'_>) -> Option<&'static str> {
    let tag = (1..=2).find_map(|by| {
        let mut before = Cursor { tokens: cursor.tokens, at: cursor.at.checked_sub(by)? };
        before.one_of("vlan|mpls|pppoes|geneve|vxlan")
    })?;
    let token = cursor.token()?;
    let is_list = match token.kind {
        TokenKind::Number(_) | TokenKind::Sign(Sign::Comma | Sign::Minus | Sign::LBrace) => true,
        TokenKind::Name => match cursor.tokens.text(token) {
            "in" => true,
            "id" => tag == "vlan",
            text => range::numbers(text).is_some(),
        },
        kind => relation(kind).is_some() && kind != TokenKind::Sign(Sign::Eq),
    };
    is_list.then_some(tag)
}

/// A text in quotes, which a comparison would have as a number.
fn quoted(tokens: &Tokens<'_>, found: &Diagnostic) -> Option<String> {
    let rest = tokens.source.get(found.span.end as usize..)?;
    let text: String = rest.chars().take_while(|c| !matches!(c, '"' | '\'' | '”' | '’')).collect();
    let last = tokens.list.iter().rev().find(|token| token.kind != TokenKind::End)?;
    let is_text = relation(last.kind).is_some() && text.is_ascii() && matches!(text.len(), 1 | 2 | 4);
    is_text.then(|| {
        let digits: String = text.bytes().map(|byte| format!("{byte:02x}")).collect();
        format!("text is compared as the number of its bytes: this is 0x{digits}")
    })
}
