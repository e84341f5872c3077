//! The examples of the book and of README.md, run.
//!
//! A block of Markdown fenced as `console` holds commands, `$` before each, and what they print (standard output and
//! error as a person sees them). Here every page's commands run in order, in a folder of the page's own where
//! `captures/` and `examples/` are the repository's, and must print just that. `BLESS=1 cargo test -p sluss --test commands book` writes
//! into the pages what they print. Blocks fenced as `toml` are graphs: those of pages about `sluss run` must pass `--check`.

use crate::common;
use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the repository")
}

/// Every page of the book, and the repository's first page.
fn pages() -> Vec<PathBuf> {
    let (mut pages, mut folders) = (vec![root().join("README.md")], vec![root().join("docs/book/src")]);
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).expect("the book").flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "md") {
                pages.push(path);
            }
        }
    }
    pages.sort();
    pages
}

/// A place to run the commands of one page in.
struct Workplace(PathBuf);

impl Workplace {
    fn new(page: &Path) -> Workplace {
        let name = page.strip_prefix(root()).expect("below the root").display().to_string().replace('/', "-");
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}-{}", std::process::id()));
        fs::create_dir_all(&folder).expect("a folder");
        for shared in ["captures", "examples"] {
            symlink(root().join(shared), folder.join(shared)).expect("a link");
        }
        Workplace(folder)
    }

    /// What a command prints.
    fn run(&self, command: &str) -> String {
        let sluss = Path::new(env!("CARGO_BIN_EXE_sluss")).parent().expect("a folder");
        let path = std::env::var("PATH").unwrap_or_default();
        let output = Command::new("bash")
            .args(["-c", &format!("exec 2>&1\n{command}")])
            .current_dir(&self.0)
            .env_clear()
            .env("PATH", format!("{}:{path}", sluss.display()))
            .env("COLUMNS", "100")
            .output()
            .expect("bash");
        String::from_utf8_lossy(&output.stdout).into_owned()
    }
}

impl Drop for Workplace {
    fn drop(&mut self) {
        // What cannot be removed lies in the build folder.
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// A program that the examples of a page need, and that this machine has not.
fn missing_tool(text: &str) -> Option<&'static str> {
    let is_there =
        |tool: &str| Command::new(tool).arg("--version").output().is_ok_and(|output| output.status.success());
    let uses =
        |tool: &str| text.lines().any(|line| line.starts_with("$ ") && line.contains(&format!("| {tool} ")));
    ["jq", "tcpdump"].into_iter().find(|tool| uses(tool) && !is_there(tool))
}

/// The page with every `console` block as it should be.
fn executed(text: &str, workplace: &Workplace) -> String {
    let mut out = String::new();
    let mut in_block = false;
    for line in text.lines() {
        if in_block && line == "```" {
            in_block = false;
        } else if line == "```console" {
            in_block = true;
        } else if in_block {
            if let Some(command) = line.strip_prefix("$ ") {
                out.push_str(&format!("{line}\n{}", tidied(&workplace.run(command))));
            }
            continue;
        }
        out.push_str(line);
        out.push('\n');
    }
    out
}

/// The blocks of a page that are fenced as `language`.
fn examples(text: &str, language: &str) -> Vec<String> {
    let mut examples = Vec::new();
    let mut lines = text.lines().map(str::trim_start);
    while let Some(line) = lines.next() {
        if line.strip_prefix("```") == Some(language) {
            examples.push(
                lines.by_ref().take_while(|line| *line != "```").map(|line| format!("{line}\n")).collect(),
            );
        }
    }
    examples
}

/// Without blanks at the ends of lines, which editors and `git` do not like.
fn tidied(printed: &str) -> String {
    printed.trim_end().lines().map(|line| format!("{}\n", line.trim_end())).collect()
}

#[test]
fn examples_print_what_the_book_says() {
    let bless = std::env::var_os("BLESS").is_some_and(|value| value == "1");
    let (mut stale, mut commands) = (Vec::new(), 0);
    for page in pages() {
        let text = fs::read_to_string(&page).expect("a page");
        if !text.contains("```console") {
            continue;
        }
        if let Some(tool) = missing_tool(&text) {
            common::say(&format!("SKIPPED: the examples of {}: install {tool} (Debian)", page.display()));
            continue;
        }
        commands += text.lines().filter(|line| line.starts_with("$ sluss ")).count();
        let expected = executed(&text, &Workplace::new(&page));
        assert!(!expected.contains("internal error:"), "{}: sluss broke", page.display());
        if expected == text {
            continue;
        }
        if bless {
            fs::write(&page, expected).expect("a writable page");
        } else {
            stale.push(first_difference(&page, &text, &expected));
        }
    }
    assert!(
        stale.is_empty(),
        "{} pages differ from what sluss prints; if that is right:\n    BLESS=1 cargo test -p sluss --test commands book\n\n{}",
        stale.len(),
        stale.join("\n")
    );
    assert!(commands > 40, "only {commands} examples found");
}

#[test]
fn the_picture_is_that_of_the_graph() {
    let picture = root().join("docs/book/src/images/policy.svg");
    let drawn = Workplace::new(&picture).run("sluss run --svg examples/policy.toml");
    if std::env::var_os("BLESS").is_some_and(|value| value == "1") {
        fs::write(&picture, &drawn).expect("a writable picture");
    }
    assert!(
        fs::read_to_string(&picture).expect("the picture") == drawn,
        "run this with BLESS=1, and look at it"
    );
}

#[test]
fn examples_of_apps_are_right() {
    let has_graphs = |page: &PathBuf| {
        let name = page.file_name().unwrap_or_default().to_string_lossy();
        ["apps.md", "run.md", "use-several-cores.md"].contains(&&*name) || name.starts_with("coming-from-")
    };
    let pages = pages().into_iter().filter(has_graphs);
    let mut checked = 0;
    for page in pages {
        let workplace = Workplace::new(&page.with_extension("toml"));
        for example in examples(&fs::read_to_string(&page).expect("a page"), "toml") {
            fs::write(workplace.0.join("example.toml"), &example).expect("a file");
            // What has no apps is a policy.
            let check = if example.contains("[app.") { "run --check" } else { "wall check" };
            let printed = workplace.run(&format!("sluss {check} example.toml; echo \"exit code $?\""));
            assert!(printed.ends_with("exit code 0\n"), "{}:\n{example}\n{printed}", page.display());
            checked += 1;
        }
    }
    assert!(checked > 8, "only {checked} examples found");
}

/// Adds the reasons of drops that the sources below a folder name, except those in tests.
fn reasons_below(folder: &Path, reasons: &mut BTreeSet<String>) {
    for entry in fs::read_dir(folder).expect("sources").flatten() {
        let path = entry.path();
        if path.is_dir() && !path.ends_with("tests") {
            reasons_below(&path, reasons);
        } else if path.extension().is_some_and(|extension| extension == "rs") && !path.ends_with("tests.rs") {
            let text = fs::read_to_string(&path).expect("a source");
            let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
            for counter in [".drops(\"", ".rejects(\""] {
                let named = code.split(counter).skip(1).filter_map(|rest| rest.split('"').next());
                reasons.extend(named.map(str::to_owned));
            }
        }
    }
}

#[test]
fn the_book_says_what_to_do_about_each_drop() {
    let mut reasons: BTreeSet<String> = engine::drops::ALL.map(str::to_owned).into();
    for folder in ["crates/apps/src", "crates/io/src"] {
        reasons_below(&root().join(folder), &mut reasons);
    }
    let page = fs::read_to_string(root().join("docs/book/src/how-to/read-the-report.md")).expect("the page");
    let rows = page.lines().filter_map(|line| line.strip_prefix("| `")?.split_once("` |"));
    let told: BTreeSet<String> = rows.map(|(reason, _)| reason.to_owned()).collect();
    assert_eq!(told, reasons);
}

#[test]
fn the_book_says_for_which_reasons_packets_are_dropped() {
    let page = fs::read_to_string(root().join("docs/book/src/apps.md")).expect("the page");
    for reason in engine::drops::ALL {
        assert!(page.contains(&format!("\n| `{reason}` |")), "{reason}");
    }
}

fn first_difference(page: &Path, old: &str, new: &str) -> String {
    let same = old.lines().zip(new.lines()).take_while(|(old, new)| old == new).count();
    let line = |text: &str| text.lines().nth(same).unwrap_or("(the end of the page)").to_owned();
    format!("{}:{}\n  - {}\n  + {}", page.display(), same + 1, line(old), line(new))
}
