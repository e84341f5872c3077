//! Rules that a machine can check. The allowed arrows, the order of the compiler's modules and the unsafe islands are read
//! from ARCHITECTURE.md, so that the page and the check cannot part.

use crate::house::House;
use crate::{cycles, gallery, links, notices, publish};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Licences that may be linked into the product.
const LICENCES: &[&str] = &[
    "MIT",
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "ISC",
    "Zlib",
    "Unlicense",
    "0BSD",
    "Unicode-3.0",
    "CC0-1.0",
    "MPL-2.0",
    "BSL-1.0",
];

const LINES_MAX: usize = 900;

/// Runs every check.
///
/// # Errors
/// What is wrong, one line each.
pub(crate) fn run(root: &Path) -> Result<String, Vec<String>> {
    let metadata = metadata(root).map_err(|why| vec![why])?;
    let architecture = read(&root.join("ARCHITECTURE.md"));
    let sources = rust_sources(root);
    let mut problems = Vec::new();
    problems.extend(arrows(&metadata, &table(&architecture, "crate")));
    problems.extend(licences(&metadata));
    for name in with_rooms(&architecture) {
        problems.extend(rooms(
            root,
            &sources,
            name,
            &listed(&architecture, &format!("## The rooms of `{name}`")),
        ));
    }
    problems.extend(targets(root, &sources));
    problems.extend(islands(root, &sources, &table(&architecture, "island")));
    problems.extend(file_lengths(root, &sources));
    problems.extend(cycles::check(root, &sources));
    problems.extend(pinned_differences(root));
    problems.extend(repeated_changes(&read(&root.join("CHANGELOG.md"))));
    problems.extend(publish::check(root, &metadata, &sources));
    problems.extend(links::check(root));
    problems.extend(notices::check(root));
    problems.extend(gallery::check(root));
    let house = House::of(root, &sources, &uses(&metadata));
    problems.extend(house.problems());
    if problems.is_empty() {
        Ok(format!("{}tidy: {} source files, all rules hold", house.print(), sources.len()))
    } else {
        Err(problems)
    }
}

fn metadata(root: &Path) -> Result<Value, String> {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1", "--locked"])
        .current_dir(root)
        .output()
        .map_err(|error| format!("cargo metadata: {error}"))?;
    serde_json::from_slice(&output.stdout)
        .map_err(|error| format!("cargo metadata: {error}\n{}", String::from_utf8_lossy(&output.stderr)))
}

/// The rows of the Markdown table whose first column is headed `key`: first cell -> the words of the last.
fn table(page: &str, key: &str) -> BTreeMap<String, BTreeSet<String>> {
    let cells = |line: &str| -> Vec<String> {
        line.trim()
            .trim_matches('|')
            .split('|')
            .map(|cell| cell.replace(['`', '★'], "").trim().to_owned())
            .collect()
    };
    page.lines()
        .skip_while(|line| !line.starts_with(&format!("| {key} ")))
        .skip(2)
        .take_while(|line| line.starts_with('|'))
        .map(|line| {
            let cells = cells(line);
            let words = cells.last().map(String::as_str).unwrap_or_default().split(',');
            (cells[0].clone(), words.map(|word| word.trim().to_owned()).filter(|word| word != "–").collect())
        })
        .collect()
}

/// By crate: the crates of the workspace that it uses, for more than its tests.
fn uses(metadata: &Value) -> BTreeMap<String, BTreeSet<String>> {
    let packages = metadata["packages"].as_array().map(Vec::as_slice).unwrap_or_default();
    let own = || packages.iter().filter(|package| package["source"].is_null());
    let name = |value: &Value| short(value["name"].as_str().unwrap_or_default()).to_owned();
    let names: BTreeSet<String> = own().map(name).collect();
    own()
        .map(|package| {
            let dependencies = package["dependencies"].as_array().map(Vec::as_slice).unwrap_or_default();
            let normal = dependencies.iter().filter(|dependency| dependency["kind"].is_null());
            (name(package), normal.map(name).filter(|used| names.contains(used)).collect())
        })
        .collect()
}

/// Normal dependencies between the workspace's crates are those of the table, which allows none that is not needed.
fn arrows(metadata: &Value, allowed: &BTreeMap<String, BTreeSet<String>>) -> Vec<String> {
    let mut problems = Vec::new();
    for (name, used) in uses(metadata) {
        let Some(may_use) = allowed.get(&name) else {
            problems.push(format!("ARCHITECTURE.md: crate `{name}` is missing from the table of crates"));
            continue;
        };
        for unused in may_use.iter().filter(|word| *word != "anything" && !used.contains(*word)) {
            problems.push(format!("ARCHITECTURE.md: `{name}` may use `{unused}`, but does not"));
        }
        for target in used {
            if !may_use.contains(&target) && !may_use.contains("anything") {
                problems.push(format!("`{name}` must not use `{target}`: no such arrow in ARCHITECTURE.md"));
            }
        }
    }
    problems
}

/// A crate by the name of its library: the packages carry a prefix, since the plain names are other people's in the registry.
fn short(package: &str) -> &str {
    package.strip_prefix("sluss-").unwrap_or(package)
}

/// Every dependency can be had under a licence of the list.
fn licences(metadata: &Value) -> Vec<String> {
    let packages = metadata["packages"].as_array().map(Vec::as_slice).unwrap_or_default();
    let acceptable = |expression: &str| {
        expression.replace('/', " OR ").split(" OR ").any(|choice| {
            choice
                .trim_matches(['(', ')', ' '])
                .split(" AND ")
                .all(|l| LICENCES.contains(&l.trim_matches(['(', ')', ' '])))
        })
    };
    packages
        .iter()
        .filter(|package| !package["license"].as_str().is_some_and(acceptable))
        .map(|package| format!("licence of `{}` is {}: not in the list", package["name"], package["license"]))
        .collect()
}

/// The words that begin the items of the numbered list under a heading, in order.
fn listed(page: &str, heading: &str) -> Vec<String> {
    let items =
        page.lines().skip_while(|line| *line != heading).skip(1).take_while(|line| !line.starts_with('#'));
    let items = items.filter(|line| line.starts_with(|first: char| first.is_ascii_digit()));
    let words = items
        .filter_map(|line| line.split_once(": "))
        .flat_map(|(words, _)| words.split('`').skip(1).step_by(2));
    words.map(str::to_owned).collect()
}

/// The crates whose modules the page puts in order.
fn with_rooms(page: &str) -> impl Iterator<Item = &str> {
    page.lines().filter_map(|line| line.strip_prefix("## The rooms of `")?.strip_suffix('`'))
}

/// The modules of a crate name those in front of them only: its stages know nothing of later ones. Tests may.
fn rooms(root: &Path, sources: &[PathBuf], name: &str, order: &[String]) -> Vec<String> {
    let mut problems = Vec::new();
    let folder = root.join("crates").join(name).join("src");
    for path in sources {
        let Ok(inside) = path.strip_prefix(&folder) else { continue };
        let inside = inside.with_extension("");
        let mut parts = inside.iter().filter_map(|part| part.to_str());
        let Some(room) = parts.next().filter(|room| *room != "lib") else { continue };
        if parts.any(|part| part == "tests") {
            continue;
        }
        let Some(place) = order.iter().position(|listed| listed == room) else {
            problems.push(format!(
                "ARCHITECTURE.md: module `{room}` of {name} is missing from the list of rooms"
            ));
            continue;
        };
        for other in cycles::targets(&read(path)) {
            if order.iter().skip(place + 1).any(|later| *later == other) {
                problems.push(format!(
                    "crates/{name}/src/{}.rs: looks at `{other}`, a later room",
                    inside.display()
                ));
            }
        }
    }
    problems
}

/// Which files outside a target's folder may name it: what ties targets together, and what calls machine code.
const TARGETS_NAMED_IN: [&str; 5] = ["lib.rs", "decision.rs", "leaves.rs", "exec/native.rs", "target/mod.rs"];

/// A target's instructions are known to its own folder of `decide/src/target`. The low-level form there belongs to all. Tests may name any.
fn targets(root: &Path, sources: &[PathBuf]) -> Vec<String> {
    let src = root.join("crates/decide/src");
    let entries = std::fs::read_dir(src.join("target")).into_iter().flatten().flatten();
    let folders = entries.filter(|entry| entry.path().is_dir());
    let targets: Vec<String> =
        folders.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    let mut problems = Vec::new();
    for path in sources {
        let Ok(inside) = path.strip_prefix(&src) else { continue };
        let inside = inside.display().to_string();
        if TARGETS_NAMED_IN.contains(&inside.as_str()) || inside.ends_with("tests.rs") {
            continue;
        }
        let page = read(path);
        let names = |target: &&String| {
            **target != "lir"
                && !inside.starts_with(&format!("target/{target}/"))
                && names_target(&page, target)
        };
        for target in targets.iter().filter(names) {
            problems
                .push(format!("crates/decide/src/{inside}: names the target `{target}`, outside its folder"));
        }
    }
    problems
}

/// Whether code, comments left out, names the module of a target.
fn names_target(page: &str, target: &str) -> bool {
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let code = page.lines().filter(|line| !line.trim_start().starts_with("//"));
    code.flat_map(|line| line.split("target::").skip(1)).any(|rest| match rest.strip_prefix('{') {
        Some(list) => list.split(|c| !is_name(c)).any(|word| word == target),
        None => rest.split(|c| !is_name(c)).next() == Some(target),
    })
}

/// `unsafe` stands only in the modules that the table of islands names, and the compiler knows: each crate forbids it, or
/// denies it but for its islands.
fn islands(root: &Path, sources: &[PathBuf], islands: &BTreeMap<String, BTreeSet<String>>) -> Vec<String> {
    let mut problems = Vec::new();
    for path in sources {
        let name = path.strip_prefix(root).unwrap_or(path).display().to_string();
        if is_crate_root(&name) && !UNSAFE_CODE.iter().any(|attribute| read(path).contains(attribute)) {
            problems.push(format!("{name}: neither of {}", UNSAFE_CODE.join(", ")));
        }
        let on_island = islands.keys().any(|island| {
            name.starts_with(&format!("{island}.rs")) || name.starts_with(&format!("{island}/"))
        });
        let code = read(path);
        let has_unsafe = code.lines().any(|line| {
            // Outside comments and string literals.
            let line = line.split("//").next().unwrap_or_default();
            let line: String = line.split('"').step_by(2).collect();
            ["unsafe {", "unsafe fn", "unsafe impl", "unsafe extern", "#[unsafe("]
                .iter()
                .any(|word| line.contains(word))
        });
        if has_unsafe && !on_island {
            problems.push(format!("{name}: `unsafe` outside the islands of ARCHITECTURE.md"));
        }
    }
    problems
}

const UNSAFE_CODE: [&str; 2] = ["#![forbid(unsafe_code)]", "#![deny(unsafe_code)]"];

/// Where attributes of a whole crate of the product stand.
fn is_crate_root(name: &str) -> bool {
    name.starts_with("crates/") && (name.ends_with("/src/lib.rs") || name.ends_with("/src/main.rs"))
}

fn file_lengths(root: &Path, sources: &[PathBuf]) -> Vec<String> {
    sources
        .iter()
        .map(|path| (path, read(path).lines().count()))
        .filter(|(_, lines)| *lines > LINES_MAX)
        .map(|(path, lines)| {
            let name = path.strip_prefix(root).unwrap_or(path).display();
            format!("{name}: {lines} lines (at most {LINES_MAX}): probably two ideas")
        })
        .collect()
}

/// Each difference that COMPAT.md lists names tests, and they exist: functions, or cases of a table.
fn pinned_differences(root: &Path) -> Vec<String> {
    let mut tests = String::new();
    for path in files_below(&root.join("testdata"), "toml").into_iter().chain(rust_sources(root)) {
        tests.push_str(&read(&path));
    }
    let compat = read(&root.join("COMPAT.md"));
    let pins = compat.lines().filter_map(|line| line.split_once("pinned by "));
    pins.flat_map(|(_, names)| names.split('`').skip(1).step_by(2))
        .filter(|name| !name.ends_with(".rs"))
        .filter(|name| {
            !["fn {}(", "name = \"{}\""].iter().any(|form| tests.contains(&form.replace("{}", name)))
        })
        .map(|name| format!("COMPAT.md: no test is called `{name}`"))
        .collect()
}

/// The same line stands twice in the changelog, as where two branches that moved it were merged.
fn repeated_changes(page: &str) -> Vec<String> {
    let mut seen = BTreeSet::new();
    let repeated = page.lines().filter(|line| line.starts_with("- ") && !seen.insert(*line));
    repeated.map(|line| format!("CHANGELOG.md: this stands there twice: {line}")).collect()
}

fn rust_sources(root: &Path) -> Vec<PathBuf> {
    ["crates", "xtask", "bench", "fuzz"]
        .iter()
        .flat_map(|folder| files_below(&root.join(folder), "rs"))
        .collect()
}

fn files_below(folder: &Path, extension: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut pending = vec![folder.to_owned()];
    while let Some(folder) = pending.pop() {
        for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
            let path = entry.path();
            // What cargo builds lies in a folder of the same name as the back ends of `decide`.
            let is_built = path.ends_with("target") && !folder.ends_with("src");
            if path.is_dir() && !is_built {
                pending.push(path);
            } else if path.extension().is_some_and(|found| found == extension) {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_are_found_by_name() {
        assert!(names_target("use crate::target::x64;\n", "x64"));
        assert!(names_target("let code = crate::target::x64::compile(graph);\n", "x64"));
        assert!(names_target("use crate::target::{lir, x64};\n", "x64"));
        assert!(!names_target("//! see crate::target::x64\nuse crate::target::lir::NoCode;\n", "x64"));
        assert!(!names_target("use crate::target::x64_other;\n", "x64"));
    }

    #[test]
    fn a_change_stands_in_the_changelog_once() {
        assert_eq!(
            repeated_changes("#### A\n\n- one\n  more\n- two\n\n#### B\n\n- three\n  more\n"),
            [""; 0]
        );
        assert_eq!(repeated_changes("- one\n\n- two\n- one\n").len(), 1);
    }
}
