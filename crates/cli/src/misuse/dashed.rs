//! A word that begins with a `-` and is no flag, but a file, a filter, or the value of the flag in front: how that is written.

use super::usage::Usage;
use crate::exit::Failure;
use crate::words::{file_word, quoted, shell_word};
use clap::error::{ContextKind, ContextValue, Error, ErrorKind};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// What is said of such a word; nothing where it was meant as a flag.
pub(super) fn failure(told: &Error, usage: &Usage) -> Option<Failure> {
    let Some(ContextValue::String(flag)) = told.get(ContextKind::InvalidArg) else { return None };
    let is_empty =
        matches!(told.get(ContextKind::InvalidValue), Some(ContextValue::String(value)) if value.is_empty());
    match told.kind() {
        ErrorKind::UnknownArgument => {}
        // A file behind a flag begins as other flags do.
        ErrorKind::InvalidValue if is_empty => {
            let is_file = |word: &OsStr| {
                word.as_bytes().starts_with(b"-") && word.len() > 2 && Path::new(word).exists()
            };
            let (before, word) = usage.word(&is_file)?;
            let before = before?;
            let help = format!("the value of `{before}` is written `{before}={}`", shell_word(word));
            return Some(Failure::user(format_args!("`{}` is taken for a flag", word.display())).help(help));
        }
        _ => return None,
    }
    // Letters before the one that is no flag may be flags.
    let is_file = |word: &OsStr| {
        flag.len() == 2 && word.as_bytes().starts_with(b"-") && word.len() > 2 && Path::new(word).exists()
    };
    let is_it = |word: &OsStr| word.as_bytes().starts_with(flag.as_bytes()) || is_file(word);
    let (before, word) = usage.word(&is_it).filter(|_| flag.starts_with('-'))?;
    let help = match before {
        Some(before) => format!("the value of `{before}` is written `{before}={}`", shell_word(word)),
        None if Path::new(word).exists() => format!("the file is written `{}`", file_word(word)),
        None if is_filter(word) => {
            format!("a filter that begins so stands behind `--`: `{}`", behind(usage, word)?)
        }
        None => return None,
    };
    Some(Failure::user(format_args!("`{}` is taken for a flag", word.display())).help(help))
}

/// Whether a word is a filter rather than flags: it has blanks, or begins as a number does.
fn is_filter(word: &OsStr) -> bool {
    matches!(word.as_bytes(), [b'-', b'0'..=b'9' | b'(', ..]) || word.as_bytes().contains(&b' ')
}

fn behind(usage: &Usage, word: &OsStr) -> Option<String> {
    let name = usage.name();
    // One word of several.
    let filter =
        if word.as_bytes().contains(&b' ') { quoted(word) } else { format!("{} …", shell_word(word)) };
    match name.strip_prefix("sluss ")? {
        "filter" | "trace" => Some(format!("{name} FILE -- {filter}")),
        "compile" | "explain" => Some(format!("{name} -- {filter}")),
        _ => None,
    }
}
