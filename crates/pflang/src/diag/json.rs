//! A finding as a JSON object (RFC 8259), for programs.

use super::{Error, Finding};
use crate::Span;
use std::fmt::Write;

/// `{"code":…,"severity":…,"message":…,"span":…,"label":…,"also":…,"help":…}`: every key always there, absent
/// values null, offsets in bytes.
pub(super) fn object(found: &Finding<'_>) -> String {
    let also = match found.also {
        Some((at, label)) => format!("{{\"span\":{},\"label\":{}}}", span(at), string(label)),
        None => "null".to_owned(),
    };
    format!(
        "{{\"code\":\"{}\",\"severity\":\"{}\",\"message\":{},\"span\":{},\"label\":{},\"also\":{also},\"help\":{}}}",
        found.code,
        found.severity.name(),
        string(found.message),
        span(found.span),
        optional(found.label),
        optional(found.help),
    )
}

/// The same, with `"source":…,"entry":…` in front.
pub(super) fn error(error: &Error) -> String {
    let entry = error.entry.map_or_else(|| "null".to_owned(), |entry| entry.to_string());
    let found = object(&error.diagnostic.finding());
    format!("{{\"source\":{},\"entry\":{entry},{}", string(&error.source), &found[1..])
}

fn span(span: Span) -> String {
    format!("{{\"start\":{},\"end\":{}}}", span.start, span.end)
}

fn optional(text: Option<&str>) -> String {
    text.map_or_else(|| "null".to_owned(), string)
}

/// A string in quotes. Beyond what the standard asks for, DEL, the C1 controls and the two line separators that
/// JavaScript dislikes are escaped.
fn string(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for character in text.chars() {
        match character {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            _ if character.is_control() || matches!(character, '\u{2028}' | '\u{2029}') => {
                let _ = write!(out, "\\u{:04x}", character as u32);
            }
            _ => out.push(character),
        }
    }
    out.push('"');
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diag::{Code, Diagnostic};

    #[test]
    fn every_key_is_there() {
        let mut found = Diagnostic::new(Code::BadToken, Span::new(1, 2), "a \"b\"\u{1b}\\\u{7f}é\n");
        assert_eq!(
            found.to_json(),
            r#"{"code":"PF001","severity":"error","message":"a \"b\"\u001b\\\u007fé\n","span":{"start":1,"end":2},"label":null,"also":null,"help":null}"#
        );
        found.code = Code::Precedence;
        found.also = Some((Span::new(3, 4), "x".into()));
        let found = found.label("l").help("h");
        assert!(
            found
                .to_json()
                .ends_with(r#""label":"l","also":{"span":{"start":3,"end":4},"label":"x"},"help":"h"}"#)
        );
        assert!(found.to_json().contains(r#""severity":"warning""#));
        let error = Error::new(Box::new(found), "a \"b\"".into());
        assert_eq!(
            error.to_json(),
            format!(r#"{{"source":"a \"b\"","entry":null,{}"#, &error.diagnostic.to_json()[1..])
        );
    }
}
