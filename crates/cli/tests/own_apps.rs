//! The command with an app of its own: the example `own_apps`.

mod common;

use common::{code, root, say, stderr, stdout};
use std::path::Path;
use std::process::{Command, Output};

/// What the example does with these arguments; none where it was not built, which is said aloud.
fn own(args: &[&str]) -> Option<Output> {
    let example = Path::new(env!("CARGO_BIN_EXE_sluss")).with_file_name("examples").join("own_apps");
    if !example.exists() {
        say("SKIPPED: a program with apps of its own: `cargo build -p sluss --example own_apps` builds it");
        return None;
    }
    Some(Command::new(example).args(args).current_dir(root()).output().unwrap())
}

#[test]
fn a_program_with_apps_of_its_own_is_the_command() {
    let Some(output) = own(&["run", "crates/cli/examples/own_apps.toml"]) else { return };
    assert_eq!(
        (code(&output), stdout(&output).lines().filter(|line| line.starts_with("2026-")).count()),
        (0, 3),
        "{}",
        stderr(&output)
    );
    let check = own(&["run", "--check", "crates/cli/examples/own_apps.toml"]).unwrap();
    assert!(code(&check) == 0 && stdout(&check).contains("3 apps, 2 links"), "{}", stdout(&check));
    // The standard apps are there, and errors have the line.
    assert!(stdout(&own(&["apps"]).unwrap()).contains("pcap_writer"));
    let graph = std::fs::read_to_string(root().join("crates/cli/examples/own_apps.toml")).unwrap();
    let wrong = common::scratch("own-apps").join("wrong.toml");
    std::fs::write(&wrong, graph.replace("every = 50", "every = 0")).unwrap();
    let wrong = own(&["run", common::arg(&wrong)]).unwrap();
    assert!(code(&wrong) == 2 && stderr(&wrong).contains("`every` of app `some`"), "{}", stderr(&wrong));
    let svg = own(&["run", "--svg", "crates/cli/examples/own_apps.toml"]).unwrap();
    assert!(stdout(&svg).contains("<svg"), "{}", stderr(&svg));
    // The command itself does not know it.
    let standard = common::run(&["run", "--check", "crates/cli/examples/own_apps.toml"]);
    assert!(code(&standard) == 2 && stderr(&standard).contains("sample"), "{}", stderr(&standard));
}

#[test]
fn the_page_quotes_the_example() {
    let page = std::fs::read_to_string(root().join("docs/book/src/how-to/write-an-app.md")).unwrap();
    let example = std::fs::read_to_string(root().join("crates/cli/examples/own_apps.rs")).unwrap();
    let quoted = page.split("```rust,no_run\n").nth(1).and_then(|rest| rest.split("```").next()).unwrap();
    let program = quoted.replace("Dedup", "Sample");
    assert!(example.contains(program.trim_start_matches("use std::process::ExitCode;\n\n")), "{program}");
}
