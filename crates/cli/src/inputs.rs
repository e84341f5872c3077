//! The captures that the words of a command line stand for.

use crate::exit::Failure;
use crate::message::Message;
use capture::{Expansion, Input};
use std::path::PathBuf;

/// As many names of files that are left out are told.
const NAMES_MAX: usize = 3;

/// What the words of a command line stand for.
pub(crate) struct Found {
    pub(crate) inputs: Vec<Input>,
    /// What could not be read on the way to them.
    pub(crate) unread: Vec<capture::Error>,
    /// Which files in folders are left out, since they are not captures.
    pub(crate) left_out: Option<Message>,
}

/// Finds the inputs.
pub(crate) fn expand(words: &[PathBuf]) -> Result<Found, Failure> {
    let expanded = capture::expand(words).map_err(|error| Failure::capture(&error))?;
    let Expansion { inputs, left_out, unread } = expanded;
    let left_out = (!left_out.is_empty()).then(|| Message::note(told(&left_out)));
    Ok(Found { inputs, unread, left_out })
}

fn told(left_out: &[PathBuf]) -> String {
    let names: Vec<String> = left_out.iter().take(NAMES_MAX).map(|path| path.display().to_string()).collect();
    let names = names.join(", ");
    match left_out.len() {
        1 => format!("left out: {names} is not a capture"),
        ..=NAMES_MAX => format!("left out: {names} are not captures"),
        count => format!("left out: {names} and {} more are not captures", count - NAMES_MAX),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_few_of_many_are_named() {
        let paths = ["a", "b c", "d", "e", "f"].map(PathBuf::from);
        for (count, expected) in [
            (1, "left out: a is not a capture"),
            (3, "left out: a, b c, d are not captures"),
            (5, "left out: a, b c, d and 2 more are not captures"),
        ] {
            assert_eq!(told(&paths[..count]), expected);
        }
    }
}
