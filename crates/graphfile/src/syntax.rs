//! Errors of the TOML reader, as far as they help.
//!
//! The reader goes on after an error, and most of its later errors are about the first one again: after a list without its end
//! every line is wrong. So one error a line is reported, and none after an unclosed list, nor in one that was not opened.

use super::problem::{GraphCode, GraphFileError, shown};
use std::ops::Range;
use toml::de::Error;

/// Whether an error only says that a key appears twice, in a text that is otherwise TOML.
pub(super) fn is_repetition(error: &Error) -> bool {
    error.message().starts_with("duplicate key")
}

/// The errors of a text that are to be reported.
pub(super) fn problems(text: &str, errors: &[Error]) -> Vec<GraphFileError> {
    let (twice, mut other): (Vec<&Error>, Vec<&Error>) =
        errors.iter().partition(|error| is_repetition(error));
    if other.is_empty() {
        return repetitions(text, &twice);
    }
    other.sort_by_key(|error| place(error).start);
    if other.iter().any(|error| error.message().contains("unclosed array")) {
        let problem = syntax(other[0]).help("is a list without its `]` above?");
        return vec![problem];
    }
    other.dedup_by_key(|error| line_start(text, place(error).start));
    without_items(text, &other)
}

/// Without the errors in lists that were not opened: the error where such a list begins says so.
fn without_items(text: &str, errors: &[&Error]) -> Vec<GraphFileError> {
    let mut told: Vec<GraphFileError> = Vec::new();
    let mut last = None;
    // Where the first of them stands.
    let mut has_value = true;
    for error in errors {
        let at = place(error).start;
        match told.last_mut() {
            Some(begin) if !has_value && last.is_some_and(|last| is_list(text, last..at)) => {
                begin.help = Some("is this a list without its `[`?".to_owned());
            }
            _ => {
                told.push(syntax(error));
                has_value = has_value_at(text, at);
            }
        }
        last = Some(at);
    }
    told
}

/// Whether more than a comment stands on the rest of a line.
fn has_value_at(text: &str, at: usize) -> bool {
    let rest = text.get(at..).and_then(|rest| rest.lines().next()).unwrap_or_default().trim_start();
    !rest.is_empty() && !rest.starts_with('#')
}

/// Whether all lines below the first of this part, one at least, are items or the end of a list.
fn is_list(text: &str, part: Range<usize>) -> bool {
    let end = text.get(part.end..).and_then(|rest| rest.find('\n')).map_or(text.len(), |len| part.end + len);
    let mut below =
        text.get(part.start..end).unwrap_or_default().lines().skip(1).map(str::trim_start).peekable();
    below.peek().is_some() && below.all(|line| line.is_empty() || line.starts_with(['"', '\'', ']', '#']))
}

fn place(error: &Error) -> Range<usize> {
    error.span().unwrap_or(0..0)
}

fn line_start(text: &str, at: usize) -> usize {
    let before = &text[..text.floor_char_boundary(at)];
    before.rfind('\n').map_or(0, |newline| newline + 1)
}

fn syntax(error: &Error) -> GraphFileError {
    GraphFileError::new(GraphCode::Syntax, place(error), format!("this is not TOML: {}", error.message()))
}

/// Keys that appear twice; if whole apps do, so do the keys in them, which are not reported.
fn repetitions(text: &str, errors: &[&Error]) -> Vec<GraphFileError> {
    let key = |error: &Error| shown(text.get(place(error)).unwrap_or_default());
    let apps = errors.iter().filter(|error| names_app(text, place(error).start)).map(|error| {
        let name = key(error);
        GraphFileError::new(GraphCode::Twice, place(error), format!("two apps are called `{name}`"))
            .help("give each a name of its own")
            .of(&name, None)
    });
    let apps: Vec<GraphFileError> = apps.collect();
    if !apps.is_empty() {
        return apps;
    }
    let twice = |error: &&Error| {
        GraphFileError::new(GraphCode::Twice, place(error), format!("`{}` stands twice", key(error)))
    };
    errors.iter().map(twice).collect()
}

/// Whether a key is the name in a header `[app.NAME]`.
fn names_app(text: &str, at: usize) -> bool {
    let before = &text[line_start(text, at)..text.floor_char_boundary(at)];
    let words: String = before.chars().filter(|c| !c.is_whitespace()).collect();
    words == "[app."
}
