//! The command of ours that does what a command line of tcpdump asks for, where there is one.

use crate::words::{Known, command_with, file_word, joined, parted, quoted, shell_word};
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;

/// Flags that change nothing, or no more than how much of each packet is printed.
const LEFT_OUT: &[u8] = b"#eKlnNOpqStUv";
/// The same with a value: how large the buffer is, who runs it.
const LEFT_OUT_WITH_VALUE: &[u8] = b"BZ";

/// Flags that print bytes of packets, as ours do.
const OF_BYTES: &[u8] = b"xXA";

/// Whether a flag of one letter has a counterpart, or changes nothing.
pub(super) fn is_known(letter: char) -> bool {
    u8::try_from(letter).is_ok_and(|letter| {
        LEFT_OUT.contains(&letter)
            || OF_BYTES.contains(&letter)
            || LEFT_OUT_WITH_VALUE.contains(&letter)
            || b"rFiswc".contains(&letter)
    })
}

/// What there is in a command line.
#[derive(Default)]
pub(super) struct Line<'a> {
    /// The filter and, here only, captures.
    pub(super) words: Vec<&'a OsStr>,
    pub(super) files: Vec<&'a OsStr>,
    pub(super) filter_file: Option<&'a OsStr>,
    /// What is captured from.
    pub(super) device: Option<&'a OsStr>,
    pub(super) output: Option<&'a OsStr>,
    /// Our flags, as they are written, with that for the output.
    flags: Vec<String>,
    /// Whether there are others than that.
    pub(super) has_more: bool,
}

/// The command for these words; none where a flag has no counterpart.
pub(super) fn translated(words: &[OsString], known: Known<'_>) -> Option<String> {
    let Line { words, files, filter_file, flags, device: None, .. } = line(words)? else { return None };
    let [before, filter, behind] = parted(&words, known, !files.is_empty());
    let inputs = [&files, before, behind].concat();
    let mut rest: Vec<String> = inputs.iter().map(file_word).collect();
    if rest.is_empty() {
        rest.push("FILE".to_owned());
    }
    rest.extend(flags);
    match filter_file {
        Some(_) if !filter.is_empty() => None,
        Some(file) => Some(format!("sluss filter -F {} {}", file_word(file), rest.join(" "))),
        // One capture alone is no filter.
        None if filter.is_empty() && inputs.len() == 1 => Some(format!("sluss filter {}", rest.join(" "))),
        None => Some(command_with("sluss filter", &quoted(joined(filter)), &rest)),
    }
}

/// What is in the words of a command line; nothing where a flag has no counterpart.
pub(super) fn line(words: &[OsString]) -> Option<Line<'_>> {
    let mut line = Line::default();
    let mut words = words.iter().map(OsString::as_os_str);
    while let Some(word) = words.next() {
        match word.as_bytes() {
            b"--" => line.words.extend(words.by_ref()),
            b"--count" | b"--json" | b"--lines" => {
                line.flags.push(word.display().to_string());
                line.has_more = true;
            }
            [b'-', b'-', ..] => return None,
            [b'-', letters @ ..] if !letters.is_empty() => letters_of(letters, &mut words, &mut line)?,
            _ => line.words.push(word),
        }
    }
    Some(line)
}

/// Flags of one letter in one word, of which the last may have a value: in the word or behind it.
fn letters_of<'a>(
    letters: &'a [u8],
    words: &mut impl Iterator<Item = &'a OsStr>,
    line: &mut Line<'a>,
) -> Option<()> {
    let is_bare = |letter: &u8| LEFT_OUT.contains(letter) || OF_BYTES.contains(letter);
    let at = letters.iter().position(|letter| !is_bare(letter));
    let shown: String = letters[..at.unwrap_or(letters.len())]
        .iter()
        .filter(|letter| OF_BYTES.contains(letter))
        .map(|&letter| char::from(letter))
        .collect();
    if !shown.is_empty() {
        line.flags.push(format!("-{shown}"));
        line.has_more = true;
    }
    let Some((&letter, value)) = at.and_then(|at| letters[at..].split_first()) else { return Some(()) };
    let value = if value.is_empty() { words.next()? } else { OsStr::from_bytes(value) };
    match letter {
        b'r' => line.files.push(value),
        b'F' => line.filter_file = Some(value),
        b'i' => line.device = Some(value),
        b's' => {}
        b'w' => {
            line.flags.push(format!("-o {}", file_word(value)));
            line.output = Some(value);
        }
        b'c' => {
            line.flags.push(format!("-c {}", shell_word(value)));
            line.has_more = true;
        }
        _ if LEFT_OUT_WITH_VALUE.contains(&letter) => {}
        _ => return None,
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_tcpdump_keep_their_meaning() {
        let of = |line: &str| {
            let words: Vec<OsString> = line.split(' ').map(OsString::from).collect();
            let exists = |word: &OsStr| word == "src" || word == "-";
            let known = Known { exists: &exists, is_filter: &|_| false, begins_filter: &|_| false };
            translated(&words, known)
        };
        for (line, command) in [
            ("-r x.pcap -nn port 80", "sluss filter 'port 80' x.pcap"),
            ("-nnvvr x.pcap", "sluss filter x.pcap"),
            ("-rx.pcap -s0 -w o.pcap -c5 host it's", r"sluss filter 'host it'\''s' x.pcap -o o.pcap -c 5"),
            ("tcp port 80", "sluss filter 'tcp port 80' FILE"),
            ("tcp x.pcap y.pcap", "sluss filter 'tcp' x.pcap y.pcap"),
            ("x.pcap y.pcap", "sluss filter '' x.pcap y.pcap"),
            ("-F rules -r x.pcap --count", "sluss filter -F rules x.pcap --count"),
            ("-r x.pcap src host ::1", "sluss filter 'src host ::1' x.pcap"),
            ("ip and src host ::1 -", "sluss filter 'ip and src host ::1' -"),
            ("-r - -- tcp[13] = -1", "sluss filter 'tcp[13] = -1' -"),
            ("-r -x.pcap -w -y -- -1 = 2", "sluss filter ./-x.pcap -o ./-y -- '-1 = 2'"),
            ("-r =x -F -f", "sluss filter -F ./-f '=x'"),
            ("-nXXr x.pcap tcp", "sluss filter 'tcp' x.pcap -XX"),
        ] {
            assert_eq!(of(line).as_deref(), Some(command), "{line}");
        }
        assert_eq!(of("-r x.pcap -w -").as_deref(), Some("sluss filter x.pcap -o -"));
        // What would do something else, or is not whole.
        for line in ["-i eth0 tcp", "-r", "-F rules -r x.pcap tcp", "--number tcp"] {
            assert_eq!(of(line), None, "{line}");
        }
    }
}
