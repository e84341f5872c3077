//! Which words of a command line are the filter and which are captures; and the command as it was meant, where they are
//! mixed up.

use crate::args::LanguageArgs;
use crate::exit::Failure;
use crate::missing;
pub(crate) use crate::shell::{file_word, quoted, shell_word};
use clap::ValueEnum;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

/// What is known of words: injected, so that planning needs neither file system nor compiler.
#[derive(Clone, Copy)]
pub(crate) struct Known<'a> {
    /// Which exist as inputs.
    pub(crate) exists: &'a dyn Fn(&OsStr) -> bool,
    /// Which texts are filters, on an Ethernet.
    pub(crate) is_filter: &'a dyn Fn(&str) -> bool,
    /// Which words begin filters, or go on with them (`and`).
    pub(crate) begins_filter: &'a dyn Fn(&str) -> bool,
}

/// Whether a word is an input that is there.
pub(crate) fn exists(word: &OsStr) -> bool {
    word == "-" || Path::new(word).exists()
}

/// A command line that has a filter and captures.
pub(crate) struct Words<'a> {
    /// `sluss filter`.
    pub(crate) command: &'static str,
    /// The filter, then captures.
    pub(crate) words: &'a [OsString],
    /// The captures of `-r`.
    pub(crate) read: &'a [PathBuf],
    /// What the result depends on besides, as it was written.
    pub(crate) flags: Vec<String>,
}

impl Words<'_> {
    /// The failure for a filter that was given as several words, or behind the captures.
    pub(crate) fn check(&self, known: Known<'_>) -> Result<(), Failure> {
        let Some(first) = self.words.first() else { return Ok(()) };
        let parted = || parted(self.words, known, !self.read.is_empty());
        if self.looks_unquoted(known) {
            return Err(self.unquoted(&self.words[1], parted(), known));
        }
        let is_filter = first.to_str().is_some_and(known.is_filter);
        let is_capture = !is_filter && (is_called_capture(first) || (known.exists)(first));
        let (before, behind) = self.words.split_at(1);
        let filter = if is_capture { &[] } else { before };
        match strays(filter, behind, known).first() {
            None => Ok(()),
            Some(stray) if is_capture => Err(self.unquoted(stray, parted(), known)),
            Some(stray) => Err(self.unquoted(stray, [&[], before, behind], known)),
        }
    }

    /// Whether a filter was given as several words: the second word is no input, nor the name of one that is missing.
    fn looks_unquoted(&self, known: Known<'_>) -> bool {
        let Some(second) = self.words.get(1) else { return false };
        let text = second.to_string_lossy();
        let is_place =
            (known.exists)(second) || text.contains(['/', '*', '?', '[']) || is_called_capture(second);
        !is_place && !self.is_no_part(known)
    }

    /// Whether the second word cannot belong to the filter before it, although it is no input that is there.
    fn is_no_part(&self, known: Known<'_>) -> bool {
        let [before, leading, _] = parted(self.words, known, !self.read.is_empty());
        let [Some(first), Some(second)] = [self.words[0].to_str(), self.words[1].to_str()] else {
            return false;
        };
        before.is_empty()
            && leading.len() == 2
            && !second.contains(char::is_whitespace)
            && (known.is_filter)(first)
            && !(known.is_filter)(&format!("{first} {second}"))
    }

    /// The command as it was meant: the filter, in one piece and in front, and all the rest. `word` is the one that is told to be no capture.
    fn unquoted(&self, word: &OsStr, parts: [&[OsString]; 3], known: Known<'_>) -> Failure {
        let [before, filter, after] = parts;
        let strays = strays(filter, after, known);
        let mut rest: Vec<String> = self.read.iter().map(|file| format!("-r {}", file_word(file))).collect();
        let captures = before.iter().chain(after.iter().filter(|word| !strays.contains(word)));
        rest.extend(captures.map(file_word));
        let filter: Vec<&OsString> = filter.iter().chain(strays).collect();
        if rest.is_empty() {
            rest.push("FILE".to_owned());
        }
        rest.extend_from_slice(&self.flags);
        let command = command_with(self.command, &quoted(joined(&filter)), &rest);
        let rule = match filter.as_slice() {
            [_] => "the filter stands before the captures",
            _ => "a filter of several words is one quoted argument",
        };
        Failure::user(format!("`{}` is not a capture: {rule}", word.display())).help(command)
    }
}

/// The words behind a filter, among captures, that belong to it: those that are not there, if they make a filter with it, or one of them is a word
/// of the language.
fn strays<'w>(filter: &[OsString], behind: &'w [OsString], known: Known<'_>) -> Vec<&'w OsString> {
    let missing: Vec<&OsString> =
        behind.iter().filter(|&word| !(known.exists)(word) && !is_called_capture(word)).collect();
    if missing.is_empty() || filter.iter().any(|word| word.as_encoded_bytes().starts_with(b"@")) {
        return Vec::new();
    }
    let is_filter = |more: &[&OsString]| {
        let words: Vec<&OsString> = filter.iter().chain(more.iter().copied()).collect();
        joined(&words).to_str().is_some_and(known.is_filter)
    };
    // A name that looks like a file's may be one, or an address.
    let plain = |word: &OsStr| !word.to_string_lossy().contains(['.', '/', '*', '?', '[']);
    let plain: Vec<&OsString> = missing.iter().copied().filter(|&word| plain(word)).collect();
    let is_word =
        |word: &str| !word.starts_with(|first: char| first.is_ascii_digit()) && (known.begins_filter)(word);
    let has_word = || plain.iter().any(|word| word.to_str().is_some_and(is_word));
    if is_filter(&missing) {
        missing
    } else if is_filter(&plain) {
        plain
    } else if has_word() {
        missing
    } else {
        Vec::new()
    }
}

/// The failure for the name of a capture that is not there, where only a filter is given.
pub(crate) fn missing_capture(command: &str, words: &[OsString], known: Known<'_>) -> Result<(), Failure> {
    let [word] = words else { return Ok(()) };
    let is_meant = |text: &str| !text.contains(char::is_whitespace) && !(known.is_filter)(text);
    if !is_called_capture(word) || (known.exists)(word) || !word.to_str().is_none_or(is_meant) {
        return Ok(());
    }
    let near = missing::help(Path::new(word)).map_or(String::new(), |near| format!("{near} "));
    let help = format_args!("{near}a filter stands in front of a capture: `{command} 'tcp port 80' FILE`");
    Err(Failure::user(format_args!("`{}` does not exist, and is taken for the filter", word.display()))
        .help(help))
}

/// The captures in front of a filter of several words, the filter, and what is behind it. A word of a filter may be the name of a folder
/// (`src`) as well: one that only exists is a capture at either end, where none is named by a flag, and with which there is no filter.
pub(crate) fn parted<'w, T: AsRef<OsStr>>(
    words: &'w [T],
    known: Known<'_>,
    are_named_by_flag: bool,
) -> [&'w [T]; 3] {
    let is_called = |word: &T| is_called_capture(word.as_ref());
    let is_input = |word: &T| is_called(word) || !are_named_by_flag && (known.exists)(word.as_ref());
    let mut begin = words.iter().take_while(|&word| is_input(word)).count();
    let before_called = words[begin..].iter().take_while(|&word| !is_called(word)).count();
    let behind = words[begin..][..before_called].iter().rev().take_while(|&word| is_input(word)).count();
    let end = begin + before_called - behind;
    if end > begin && (known.is_filter)(&joined(&words[..end]).to_string_lossy()) {
        begin = 0;
    }
    [&words[..begin], &words[begin..end], &words[end..]]
}

/// Words as one. An empty one says nothing.
pub(crate) fn joined<T: AsRef<OsStr>>(words: &[T]) -> OsString {
    let parts: Vec<_> = words.iter().map(AsRef::as_ref).filter(|part| !part.is_empty()).collect();
    parts.join(OsStr::new(" "))
}

/// Whether a word ends as names of captures do, be they there or not.
pub(crate) fn is_called_capture(word: &OsStr) -> bool {
    const ENDS: [&str; 7] = ["pcap", "pcapng", "cap", "dump", "dmp", "gz", "zst"];
    let end = Path::new(word).extension().map(OsStr::to_ascii_lowercase);
    end.is_some_and(|end| ENDS.iter().any(|known| end == *known)) || word.to_string_lossy().contains(".pcap")
}

/// The failure for words after `--` beside a filter that a flag gives: one of them would be lost.
pub(crate) fn two_filters(flag: &str, words: &[OsString]) -> Failure {
    let words = words.join(OsStr::new(" "));
    let message =
        format_args!("two filters: {flag} gives one, and `{}` after `--` is another", words.display());
    Failure::user(message).help("leave one of them out; captures stand before `--`")
}

/// The flags for what a text means, as they were written.
pub(crate) fn language_flags(language: &LanguageArgs) -> Vec<String> {
    let mut flags: Vec<String> = language.netmask.iter().map(|mask| format!("--netmask {mask}")).collect();
    flags.extend(language.dialect.iter().filter_map(|name| {
        let value = name.to_possible_value()?;
        Some(format!("--dialect {}", value.get_name()))
    }));
    flags.extend(switches(&[(language.strict, "--strict"), (language.resolve, "--resolve")]));
    flags
}

/// The flags that are on.
pub(crate) fn switches(switches: &[(bool, &str)]) -> impl Iterator<Item = String> {
    switches.iter().filter(|(is_on, _)| *is_on).map(|(_, flag)| (*flag).to_owned())
}

/// A command with a filter, in quotes, and what else there is: captures, then flags. A filter that begins with a `-` would be a flag in front.
pub(crate) fn command_with(command: &str, filter: &str, rest: &[String]) -> String {
    let rest = rest.join(" ");
    let is_like_flag = filter.trim_start_matches('$').starts_with("'-");
    if is_like_flag { format!("{command} {rest} -- {filter}") } else { format!("{command} {filter} {rest}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_filters_may_be_names_of_folders() {
        let exists = |word: &OsStr| word == "src" || word == "folder" || word == "-";
        let is_filter = |text: &str| text == "src host 10.0.0.1";
        let parted = |line: &'static str, are_named_by_flag| {
            let words: Vec<&str> = line.split(' ').collect();
            let known = Known { exists: &exists, is_filter: &is_filter, begins_filter: &|_| false };
            super::parted(&words, known, are_named_by_flag).map(|words| words.join(" "))
        };
        for (line, parts) in [
            ("src host 10.0.0.1 x.pcap", ["", "src host 10.0.0.1", "x.pcap"]),
            ("tcp and src port 80 folder x.pcap", ["", "tcp and src port 80", "folder x.pcap"]),
            ("tcp port 80 x.pcap missing -", ["", "tcp port 80", "x.pcap missing -"]),
            ("folder x.pcap tcp port 80", ["folder x.pcap", "tcp port 80", ""]),
            ("folder -", ["folder -", "", ""]),
        ] {
            assert_eq!(parted(line, false), parts, "{line}");
        }
        assert_eq!(parted("tcp and src", true), ["", "tcp and src", ""]);
        let unquoted = |words: &[&str]| {
            let words: Vec<OsString> = words.iter().map(OsString::from).collect();
            let words = Words { command: "sluss filter", words: &words, read: &[], flags: Vec::new() };
            let known =
                Known { exists: &exists, is_filter: &|text| text == "tcp", begins_filter: &|_| false };
            words.looks_unquoted(known)
        };
        assert!(unquoted(&["tcp", "and", "src", "port", "80", "x.pcap"]));
        assert!(!unquoted(&["tcp", "missing", "folder", "x.pcap"]));
        assert_eq!(parted("tcp x.pcap", true), ["", "tcp", "x.pcap"]);
    }
}
