//! `$name` in a program: replaced by what it stands for before anything else is read.

use crate::Span;
use crate::diag::{Code, Diagnostic};
use crate::options::Limits;
use crate::syntax::lex::begins_comment;
use std::collections::BTreeMap;
use std::ops::Range;

/// A program with its names replaced.
#[derive(Clone)]
pub(super) struct Substituted {
    pub(super) text: String,
    /// Where a name was replaced: in the text, and in the text as written.
    replaced: Vec<(Range<usize>, Range<usize>)>,
}

impl Substituted {
    /// Replaces each `$name` outside of comments. `$` and a digit that is no name is left: it is an ARCnet address.
    pub(super) fn of(
        source: &str,
        table: &BTreeMap<String, String>,
        limits: &Limits,
    ) -> Result<Substituted, Box<Diagnostic>> {
        let mut substituted = Substituted { text: String::new(), replaced: Vec::new() };
        let bytes = source.as_bytes();
        let (mut copied, mut at) = (0, 0);
        while let Some(&byte) = bytes.get(at) {
            if begins_comment(bytes, at) {
                at += source[at..].find('\n').unwrap_or(source.len() - at);
                continue;
            }
            let len = if byte == b'$' { name_len(&bytes[at + 1..]) } else { 0 };
            let name = source.get(at + 1..at + 1 + len).unwrap_or_default();
            match table.get(name) {
                Some(value) => {
                    substituted.text.push_str(&source[copied..at]);
                    let begin = substituted.text.len();
                    limits.check_source(begin + value.len(), "program with its names replaced")?;
                    substituted.text.push_str(value);
                    substituted.replaced.push((begin..substituted.text.len(), at..at + 1 + len));
                    copied = at + 1 + len;
                    at = copied;
                }
                None if name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_') => {
                    return Err(unknown(name, at, table));
                }
                None => at += 1,
            }
        }
        substituted.text.push_str(&source[copied..]);
        Ok(substituted)
    }

    /// Where a place of the text stands in the text as written.
    pub(super) fn as_written(&self, span: Span) -> Span {
        let [start, end] = [(span.start, false), (span.end, true)].map(|(at, is_end)| {
            let at = at as usize;
            let before = self.replaced.partition_point(|(of, _)| of.end + usize::from(is_end) <= at);
            let (mut text, mut written) = (0, 0);
            if let Some((of, to)) = before.checked_sub(1).map(|last| &self.replaced[last]) {
                (text, written) = (of.end, to.end);
            }
            match self.replaced.get(before) {
                Some((of, to)) if of.start + usize::from(is_end) <= at => {
                    if is_end {
                        to.end
                    } else {
                        to.start
                    }
                }
                _ => written + (at - text),
            }
        });
        Span::new(start as u32, end.max(start) as u32)
    }

    /// What the names stand for that a place of the text came from, if it came from one.
    pub(super) fn origin(&self, span: Span) -> Option<&str> {
        let (start, end) = (span.start as usize, span.end as usize);
        let (of, _) =
            self.replaced.iter().find(|(of, _)| of.start <= start && end <= of.end && start < end)?;
        self.text.get(of.clone())
    }
}

fn name_len(text: &[u8]) -> usize {
    text.iter().take_while(|byte| byte.is_ascii_alphanumeric() || **byte == b'_').count()
}

fn unknown(name: &str, at: usize, table: &BTreeMap<String, String>) -> Box<Diagnostic> {
    let span = Span::new(at as u32, (at + 1 + name.len()) as u32);
    let found = Diagnostic::new(Code::UnknownName, span, format!("`${name}` stands for nothing"));
    let known: Vec<String> = table.keys().take(8).map(|name| format!("`${name}`")).collect();
    Box::new(match &known[..] {
        [] => found.help("no names have been given values"),
        known => found.help(format!("known are {}", known.join(", "))),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> BTreeMap<String, String> {
        [("a", "tcp port 80"), ("b", ""), ("long_name", "x")]
            .map(|(name, value)| (name.into(), value.into()))
            .into()
    }

    #[test]
    fn names_are_replaced_outside_of_comments() {
        for (source, text) in [
            ("match { $a => w }", "match { tcp port 80 => w }"),
            ("$a$b-$long_name", "tcp port 80-x"),
            ("-- $nothing\n$long_name -- $nothing", "-- $nothing\nx -- $nothing"),
            ("host a--$long_name", "host a--x"),
            ("$5 $ é", "$5 $ é"),
        ] {
            assert_eq!(
                Substituted::of(source, &table(), &Limits::default()).map(|of| of.text).unwrap_or_default(),
                text
            );
        }
        let error = Substituted::of("match { $nope => w }", &table(), &Limits::default()).err().unwrap();
        assert_eq!((error.code, error.span), (Code::UnknownName, Span::new(8, 13)));
    }

    #[test]
    fn a_text_that_grows_too_large_is_refused_before_it_does() {
        let limits = Limits { source_bytes: 1000, ..Limits::default() };
        let text = |names: usize| Substituted::of(&"$a".repeat(names), &table(), &limits);
        assert!(text(90).is_ok());
        assert_eq!(text(91).err().map(|error| error.code), Some(Code::Limit));
    }

    #[test]
    fn places_are_told_as_written() {
        let source = "match { $a and $long_name => w }";
        let of = Substituted::of(source, &table(), &Limits::default()).unwrap();
        let place = |part: &str| {
            let at = of.text.find(part).unwrap();
            of.as_written(Span::new(at as u32, (at + part.len()) as u32)).text(source)
        };
        assert_eq!(
            ["match", "port", "80 and", "and", "x", "tcp port 80", "=> w", "{ tcp"].map(place),
            ["match", "$a", "$a and", "and", "$long_name", "$a", "=> w", "{ $a"]
        );
        let end = of.text.len() as u32;
        assert_eq!(of.as_written(Span::new(end, end)), Span::new(source.len() as u32, source.len() as u32));
    }
}
