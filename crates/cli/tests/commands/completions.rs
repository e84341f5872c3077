//! What shells offer, from the scripts that they are given, and what help says of each command.

use crate::common::{self, run, scratch, sluss, stdout};
use std::process::Command;

/// What is offered for the last of these words, and what is said of files.
fn offered(script: &str, words: &[&str]) -> String {
    const ASK: &str = r#"
        compopt() { told="$told $*"; }
        source "$script"
        COMP_WORDS=(sluss "$@") COMP_CWORD=$#
        _sluss sluss "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
        echo "${COMPREPLY[*]}$told"
    "#;
    let mut bash = Command::new("bash");
    let file = scratch("bash-completion").join("sluss.bash");
    std::fs::write(&file, script).expect("a file");
    bash.env("script", &file).args(["-c", ASK, "bash"]).args(words);
    stdout(&bash.output().expect("bash")).trim_end().to_owned()
}

#[test]
fn bash_offers_files_only_where_they_can_stand() {
    let script = stdout(&run(&["completions", "bash"]));
    let offered = |words: &[&str]| offered(&script, words);
    // Nothing, which bash takes for files.
    for words in
        [&["filter", ""][..], &["filter", "tcp", ""], &["run", ""], &["trace", "tcp", "x"], &["blast", ""]]
    {
        assert_eq!(offered(words), "", "{words:?}");
    }
    const NO_FILES: &str = "+o default +o bashdefault";
    for words in [&["top", ""][..], &["ps", ""], &["explain", ""], &["bench", "engine", ""]] {
        let offered = offered(words);
        assert!(offered.starts_with("-") && offered.ends_with(NO_FILES), "{words:?}: {offered}");
    }
    assert_eq!(offered(&["top", "x"]), format!(" {NO_FILES}"));
    assert_eq!(offered(&["man", ""]), " +o default -o dirnames");
    for words in
        [&["top", "--interval", ""][..], &["filter", "-c", ""], &["filter", "-f", ""], &["run", "--cpu", ""]]
    {
        assert_eq!(offered(words), " -o nospace", "{words:?}");
    }
    assert_eq!(offered(&["apps", "rou"]), "router");
    assert_eq!(offered(&["completions", ""]), "bash elvish fish powershell zsh");
    assert_eq!(offered(&["bench", "e"]), "engine");
    assert_eq!(offered(&["top", "--on"]), "--once");
    // Three words to bash.
    assert_eq!(offered(&["compile", "--stage", "=", "as"]), "ast asm");
    assert_eq!(offered(&["compile", "--to", ""]), "c lua cbpf");
    assert_eq!(offered(&["--color", "=", "al"]), "always");
}

#[test]
fn fish_offers_values_behind_flags() {
    let script = stdout(&run(&["completions", "fish"]));
    let offered = |words: &str| {
        let ask = format!("printf '%s' \"$script\" | source; complete -C '{words}'");
        let output = Command::new("fish").env("script", &script).args(["-N", "-c", &ask]).output();
        // Those before 3.2 do not know `-N`.
        output.ok().filter(|output| output.status.success()).map(|output| stdout(&output))
    };
    let Some(colours) = offered("sluss --color ") else {
        return common::say("SKIPPED: what fish offers: install fish 3.2 or later (Debian)");
    };
    assert_eq!(colours, "always\nauto\nnever\n");
    for (words, first) in [
        ("sluss filter --color ", "always\n"),
        ("sluss compile --stage a", "allocated\n"),
        ("sluss --color auto to", "top\t"),
    ] {
        let offered = offered(words).unwrap_or_default();
        assert!(offered.starts_with(first), "{words}: {offered}");
    }
}

/// A terminal of 24 lines and 80 columns, with a line for the next command.
#[test]
fn short_help_fits_a_screen_and_long_help_has_all() {
    let help = |words: &[&str]| stdout(&sluss(words).env("COLUMNS", "80").output().unwrap());
    for command in [
        "",
        "filter",
        "info",
        "compile",
        "explain",
        "trace",
        "blast",
        "run",
        "new",
        "new app",
        "new annotations",
        "snsh",
        "apps",
        "bench",
        "bench engine",
        "bench io",
        "bench rules",
        "bench wall",
        "ps",
        "top",
        "doctor",
        "completions",
        "man",
        "wall",
        "wall spy",
        "wall filter",
        "wall import",
        "wall run",
        "wall check",
        "wall test",
        "wall why",
        "wall reload",
        "wall stats",
        "wall protocols",
        "set",
        "set build",
        "set check",
        "set test",
        "set stats",
    ] {
        let words = || command.split_whitespace();
        let [long, short, same] = [
            words().chain(["--help"]).collect::<Vec<_>>(),
            words().chain(["-h"]).collect(),
            ["help"].into_iter().chain(words()).collect(),
        ]
        .map(|words| help(&words));
        assert_eq!(long, same, "{command}");
        assert!(short.lines().count() <= 23, "{command}: {} lines\n{short}", short.lines().count());
        assert!(!short.contains("--color") && long.contains("--color"), "{command}\n{short}\n{long}");
        assert!(short.lines().chain(long.lines()).all(|line| line.chars().count() <= 80), "{command}");
    }
    assert!(help(&["help", "filter"]).contains("\n      --dialect <NAME>  Depart from libpcap's meaning"));
}
