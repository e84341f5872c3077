//! Words as a shell takes them, for commands that are proposed.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// The name of a file, which is no flag either.
pub(crate) fn file_word(name: impl AsRef<OsStr>) -> String {
    let name = name.as_ref();
    let is_like_flag = name != "-" && name.as_bytes().starts_with(b"-");
    if is_like_flag { shell_word(Path::new(".").join(name)) } else { shell_word(name) }
}

/// In quotes only where a shell would make something else of it: zsh takes `=x` for a command.
pub(crate) fn shell_word(word: impl AsRef<OsStr>) -> String {
    let word = word.as_ref();
    let is_plain = |c: char| c.is_alphanumeric() || "_-./:,+=@%".contains(c);
    match word.to_str() {
        Some(text) if !text.is_empty() && !text.starts_with('=') && text.chars().all(is_plain) => {
            text.to_owned()
        }
        _ => quoted(word),
    }
}

/// As a shell takes it. Control characters, which cannot be typed, and what is not UTF-8 are as bash, zsh and ksh take them.
pub(crate) fn quoted(word: impl AsRef<OsStr>) -> String {
    let word = word.as_ref();
    if let Some(text) = word.to_str().filter(|text| !text.contains(char::is_control)) {
        return format!("'{}'", text.replace('\'', r"'\''"));
    }
    let mut out = "$'".to_owned();
    for chunk in word.as_bytes().utf8_chunks() {
        for c in chunk.valid().chars() {
            if c == '"' || !c.is_ascii() && !c.is_control() {
                out.push(c);
            } else {
                out.push_str(&escaped(c.encode_utf8(&mut [0; 4]).as_bytes()));
            }
        }
        out.push_str(&escaped(chunk.invalid()));
    }
    out + "'"
}

fn escaped(bytes: &[u8]) -> String {
    bytes.escape_ascii().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shell_takes_words_as_they_were() {
        for (word, told) in [
            (&b"in.pcap"[..], "in.pcap"),
            (b"", "''"),
            (b"=x", "'=x'"),
            (b"a=x", "a=x"),
            (b"it's *", r"'it'\''s *'"),
            (b"it's\xff\n.pcap", r"$'it\'s\xff\n.pcap'"),
            ("é \u{9b}2\\\"J\x1b".as_bytes(), r#"$'é \xc2\x9b2\\"J\x1b'"#),
        ] {
            assert_eq!(shell_word(OsStr::from_bytes(word)), told);
        }
        assert_eq!(["-x", "-", "- y", "=x"].map(file_word), ["./-x", "-", "'./- y'", "'=x'"]);
    }
}
