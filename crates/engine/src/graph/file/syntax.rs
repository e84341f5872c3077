//! Errors of the TOML reader, as far as they help.
//!
//! The reader goes on after an error, and most of its later errors are about the first one again: after a list without its end
//! every line is wrong. So one error a line is reported, and none after an unclosed list.

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
    other.into_iter().map(syntax).collect()
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
