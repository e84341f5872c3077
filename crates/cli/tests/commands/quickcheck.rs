//! `sluss quickcheck`: what it prints, and its exit codes.

use crate::common::{code, run, stderr, stdout};

/// Answers nothing but filters with `&`, and those always with 0.
const LIAR: &str = r#"no-and=while IFS= read -r line; do case "$line" in match*) echo -;; *'&'*) echo 0;; *) echo -;; esac; done"#;

#[test]
fn a_short_run_agrees() {
    let output = run(&["quickcheck", "--seed", "1", "--pairs", "20000", "--json"]);
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    let result: serde_json::Value = serde_json::from_slice(&output.stdout).expect("a line of JSON");
    assert_eq!((&result["seed"], &result["disagreement"]), (&1.into(), &serde_json::Value::Null));
    assert!(result["pairs"].as_u64() >= Some(20_000), "{result}");
    assert_eq!(result["engines"][0]["engine"], "interpreter");
    let again = run(&["quickcheck", "--seed", "1", "--pairs", "20000", "--json"]);
    assert_eq!(stdout(&output), stdout(&again), "a seed means the same each time");
}

#[test]
fn a_disagreement_is_told_and_can_be_repeated() {
    let output = run(&["quickcheck", "--seed", "1", "--seconds", "60", "-y", "EN10MB", "--engine", LIAR]);
    let text = stdout(&output);
    assert_eq!(code(&output), 1, "{text}{}", stderr(&output));
    for part in ["\ndisagreement: no-and\n", "  filter: ", "  link type: EN10MB\n", "  packet: "] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let repeat =
        text.lines().find_map(|line| line.strip_prefix("  repeat: sluss quickcheck ")).expect("a line");
    let seed = repeat.split(' ').nth(1).expect("a seed");
    let again =
        run(&["quickcheck", "--seed", seed, "--pairs", "1", "-y", "EN10MB", "--json", "--engine", LIAR]);
    assert_eq!(code(&again), 1);
    let result: serde_json::Value = serde_json::from_slice(&again.stdout).expect("a line of JSON");
    let found = &result["disagreement"];
    assert_eq!((&found["engine"], &found["answers"]["no-and"]), (&"no-and".into(), &"0".into()), "{found}");
    assert!(text.contains(found["packet"].as_str().expect("hexadecimal digits")));
}

#[test]
fn an_engine_needs_a_name() {
    let output = run(&["quickcheck", "--engine", "./mine"]);
    assert_eq!(code(&output), 2);
    assert!(stderr(&output).contains("a name, `=`, and a command"), "{}", stderr(&output));
}
