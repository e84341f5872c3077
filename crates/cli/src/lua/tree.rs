//! Where Snabb's sources are, and which words of a command line belong to a program in Lua.

use super::is_program;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

/// The folder with Snabb's sources: the one that was named, or that of `SLUSS_SNABB`; in a checkout, its `src`.
///
/// The variable may name Snabb's executable instead, for `sluss bench`: that is no folder.
pub(crate) fn tree(named: Option<&Path>) -> Option<PathBuf> {
    let of_environment = || std::env::var_os("SLUSS_SNABB").map(PathBuf::from).filter(|path| path.is_dir());
    let folder = named.map(Path::to_owned).or_else(of_environment)?;
    let sources = folder.join("src");
    Some(if sources.join("core").is_dir() { sources } else { folder })
}

/// Puts `--` behind the name of a Lua program, so that the words after it are the program's own; `takes_value` says whether an option of
/// `sluss run` takes the word behind it.
pub(crate) fn ends_options(words: Vec<OsString>, takes_value: impl Fn(&OsStr) -> bool) -> Vec<OsString> {
    let named = words.iter().position(|word| word == "--snabb").and_then(|at| words.get(at + 1));
    let has_tree = tree(named.map(Path::new)).is_some();
    let Some(command) = command_at(&words) else { return words };
    let Some(program) = program_at(&words, command, takes_value) else { return words };
    let name = Path::new(&words[program]);
    let is_name = has_tree && words[command] == "run" && name.extension().is_none();
    if !is_program(name) && !is_name && words[command] != "snsh" {
        return words;
    }
    let mut words = words;
    if words.get(program + 1).is_none_or(|word| word != "--") {
        words.insert(program + 1, "--".into());
    }
    words
}

/// Where `run` or `snsh` stands.
fn command_at(words: &[OsString]) -> Option<usize> {
    let mut at = 1;
    while words.get(at)?.as_encoded_bytes().starts_with(b"-") {
        at += if words[at] == "--snabb" || words[at] == "--color" { 2 } else { 1 };
    }
    (words.get(at)? == "run" || words[at] == "snsh").then_some(at)
}

/// The first word behind the command that is neither an option nor its value.
fn program_at(words: &[OsString], command: usize, takes_value: impl Fn(&OsStr) -> bool) -> Option<usize> {
    let mut at = command + 1;
    loop {
        let word = words.get(at)?;
        if word == "--" {
            return None;
        }
        if !word.as_encoded_bytes().starts_with(b"-") || word == "-" {
            return Some(at);
        }
        at += if takes_value(word) { 2 } else { 1 };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ended(line: &str) -> String {
        let words = line.split(' ').map(OsString::from).collect();
        ends_options(words, |word| word == "--workers" || word == "-e")
            .join(OsStr::new(" "))
            .into_string()
            .unwrap()
    }

    #[test]
    fn what_follows_a_program_is_its_own() {
        assert_eq!(ended("sluss run a.lua -x --help"), "sluss run a.lua -- -x --help");
        assert_eq!(ended("sluss run --workers 2 a.lua b"), "sluss run --workers 2 a.lua -- b");
        assert_eq!(ended("sluss run a.lua -- b"), "sluss run a.lua -- b");
        assert_eq!(ended("sluss snsh -e x a.lua -i"), "sluss snsh -e x a.lua -- -i");
    }

    #[test]
    fn what_follows_a_graph_is_ours() {
        assert_eq!(ended("sluss run net.toml --workers 2"), "sluss run net.toml --workers 2");
        assert_eq!(ended("sluss filter a.lua -r b"), "sluss filter a.lua -r b");
    }

    #[test]
    fn with_a_tree_a_name_is_a_program() {
        assert_eq!(
            ended("sluss --snabb /tmp run lwaftr bench -D 1"),
            "sluss --snabb /tmp run lwaftr -- bench -D 1"
        );
        assert_eq!(
            ended("sluss --snabb /tmp run net.toml --workers 1"),
            "sluss --snabb /tmp run net.toml --workers 1"
        );
    }
}
