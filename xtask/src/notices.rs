//! The notice file of third-party licences: every crate that the command `sluss` is linked from, with the words of its licence.

use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

const PAGE: &str = "THIRD-PARTY.md";
/// The platform whose dependencies count.
const PLATFORM: &str = "x86_64-unknown-linux-gnu";
/// How the names of files with licences begin.
const FILES: [&str; 6] = ["license", "licence", "copying", "copyright", "notice", "unlicense"];

/// A crate that is used at build only, but whose C sources are linked, and where in it their licence is.
const CARRIER: (&str, &str) = ("luajit-src", "luajit2/COPYRIGHT");

/// Writes the page.
pub(crate) fn run(root: &Path) -> Result<String, Vec<String>> {
    let page = page(root).map_err(|why| vec![why])?;
    std::fs::write(root.join(PAGE), page).map_err(|error| vec![format!("{PAGE}: {error}")])?;
    Ok(format!("{PAGE} is written"))
}

/// Whether the page is that of the dependencies as they are.
pub(crate) fn check(root: &Path) -> Vec<String> {
    match page(root) {
        Err(why) => vec![why],
        Ok(page) if std::fs::read_to_string(root.join(PAGE)).is_ok_and(|is| is == page) => Vec::new(),
        Ok(_) => vec![format!("{PAGE} is not that of the dependencies: cargo xtask notices")],
    }
}

/// A crate that is linked.
struct Linked<'m> {
    name: &'m str,
    version: &'m str,
    licence: &'m str,
    repository: &'m str,
    folder: PathBuf,
}

fn page(root: &Path) -> Result<String, String> {
    let arguments = ["metadata", "--format-version", "1", "--locked", "--filter-platform", PLATFORM];
    let output = Command::new(env!("CARGO")).args(arguments).current_dir(root).output();
    let output = output.map_err(|error| format!("cargo metadata: {error}"))?;
    let metadata: Value =
        serde_json::from_slice(&output.stdout).map_err(|error| format!("cargo metadata: {error}"))?;
    let linked = linked(&metadata);
    let mut page = String::from(
        "# Third-party licences\n\nThe command `sluss` is built from these crates of others, beside Rust's standard library. `cargo xtask notices` writes this page.\n\n| crate | licence | |\n|---|---|---|\n",
    );
    for Linked { name, version, licence, repository, .. } in &linked {
        let _ = writeln!(page, "| {name} {version} | {licence} | {repository} |");
    }
    // Texts that are the same but for their lines of copyright stand there once.
    let mut texts: BTreeMap<String, (String, Vec<String>)> = BTreeMap::new();
    for linked in &linked {
        for file in files(linked) {
            let text = std::fs::read_to_string(&file).unwrap_or_default();
            let (copyright, rest): (Vec<&str>, Vec<&str>) = text.lines().partition(|line| is_copyright(line));
            let words = rest.join(" ").split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase();
            let lines: Vec<&str> = rest.into_iter().map(str::trim_end).collect();
            let (_, holders) =
                texts.entry(words).or_insert_with(|| (lines.join("\n").trim().to_owned(), Vec::new()));
            let copyright: Vec<&str> = copyright.iter().map(|line| line.trim()).collect();
            let holder = format!("{} {}: {}", linked.name, linked.version, copyright.join("; "));
            holders.push(holder.trim_end_matches([':', ' ']).to_owned());
        }
    }
    for (text, holders) in texts.values() {
        page.push('\n');
        holders.iter().for_each(|holder| page.push_str(&format!("- {holder}\n")));
        let _ = write!(page, "\n```text\n{}\n```\n", text.replace("```", "'''"));
    }
    Ok(page)
}

/// A line that says who holds the rights, rather than one of the licence's own.
fn is_copyright(line: &str) -> bool {
    let line = line.trim().to_lowercase();
    line.starts_with("copyright ") && line.contains(|c: char| c.is_ascii_digit())
        || line.starts_with("copyright (c)")
}

/// The crates of others that `sluss` is linked from, by name.
fn linked(metadata: &Value) -> Vec<Linked<'_>> {
    let list = |value: &'_ Value| value.as_array().cloned().unwrap_or_default();
    let nodes = list(&metadata["resolve"]["nodes"]);
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let nodes: BTreeMap<String, &Value> = nodes.iter().map(|node| (text(&node["id"]), node)).collect();
    let packages = metadata["packages"].as_array().map(Vec::as_slice).unwrap_or_default();
    let first =
        packages.iter().find(|package| package["name"] == "sluss").map(|package| text(&package["id"]));
    let mut seen = BTreeSet::new();
    let mut pending: Vec<String> = first.into_iter().collect();
    while let Some(id) = pending.pop() {
        // What the carrier itself needs is needed at build only.
        let is_carrier = id.contains(CARRIER.0);
        let Some(node) = nodes.get(&id).filter(|_| seen.insert(id) && !is_carrier) else { continue };
        for dependency in list(&node["deps"]) {
            let is_linked = list(&dependency["dep_kinds"]).iter().any(|kind| kind["kind"].is_null());
            if is_linked || dependency["name"] == CARRIER.0.replace('-', "_") {
                pending.push(text(&dependency["pkg"]));
            }
        }
    }
    let of_others = packages.iter().filter(|package| !package["source"].is_null());
    let mut linked: Vec<Linked<'_>> = of_others
        .filter(|package| seen.contains(package["id"].as_str().unwrap_or_default()))
        .map(|package| Linked {
            name: package["name"].as_str().unwrap_or_default(),
            version: package["version"].as_str().unwrap_or_default(),
            licence: package["license"].as_str().unwrap_or_default(),
            repository: package["repository"].as_str().unwrap_or_default(),
            folder: Path::new(package["manifest_path"].as_str().unwrap_or_default())
                .parent()
                .unwrap_or(Path::new(""))
                .to_owned(),
        })
        .collect();
    linked.sort_by_key(|linked| (linked.name, linked.version));
    linked
}

/// The files with the licence that we take: where there is a choice the MIT licence, if it has a file of its own.
fn files(linked: &Linked<'_>) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(&linked.folder).into_iter().flatten().flatten();
    let lower = |path: &Path| path.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
    let mut files: Vec<PathBuf> = entries
        .map(|entry| entry.path())
        .filter(|path| path.is_file() && FILES.iter().any(|name| lower(path).starts_with(name)))
        .collect();
    files.sort();
    if linked.name == CARRIER.0 {
        files.push(linked.folder.join(CARRIER.1));
    }
    let is_choice = linked.licence.contains(" OR ") || linked.licence.contains('/');
    match files.iter().find(|path| lower(path).contains("mit")) {
        Some(mit) if is_choice && !linked.licence.contains(" AND ") => vec![mit.clone()],
        _ => files,
    }
}
