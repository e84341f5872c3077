//! Links between the repository's pages: each leads to a file, each `#fragment` to a heading, and the book's table
//! of contents to every page of the book. Links of the book that leave it are addresses below [`REPOSITORY`]: mdBook builds the book
//! alone. They are followed here, too.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::{fs, process::Command};

const SUMMARY: &str = "docs/book/src/SUMMARY.md";
/// Where files and folders of the repository are on the web.
const REPOSITORY: [&str; 2] =
    ["https://github.com/sluss/sluss/blob/main/", "https://github.com/sluss/sluss/tree/main/"];

/// The links that lead nowhere, and the pages that no one can find.
pub(crate) fn check(root: &Path) -> Vec<String> {
    let Some(pages) = pages(root) else {
        eprintln!(
            "tidy: SKIPPED: links between pages: git does not list them (install git, and run this in a checkout)"
        );
        return Vec::new();
    };
    let mut problems = Vec::new();
    for page in &pages {
        let text = fs::read_to_string(root.join(page)).unwrap_or_default();
        for target in targets(&text) {
            if let Err(why) = follow(root, page, &target) {
                problems.push(format!("{}: link to `{target}`: {why}", page.display()));
            }
        }
    }
    problems.extend(orphans(root, &pages));
    problems
}

/// The Markdown files that are in the repository or about to be; `None` where git cannot tell.
fn pages(root: &Path) -> Option<Vec<PathBuf>> {
    let mut git = Command::new("git");
    git.args(["ls-files", "--cached", "--others", "--exclude-standard", "*.md"]).current_dir(root);
    let listed = git.output().ok().filter(|output| output.status.success())?;
    let mut pages: Vec<PathBuf> =
        String::from_utf8_lossy(&listed.stdout).lines().map(PathBuf::from).collect();
    // A link to a page, which is in a crate so that it is in its package, is that page.
    pages.retain(|page| root.join(page).exists() && !root.join(page).is_symlink());
    pages.sort();
    pages.dedup();
    Some(pages)
}

/// The lines that are prose: outside fenced code.
fn prose(text: &str) -> impl Iterator<Item = &str> {
    let mut fenced = false;
    text.lines().filter(move |line| {
        let fence = line.trim_start().starts_with("```");
        fenced ^= fence;
        !fenced && !fence
    })
}

/// Where the links of a page lead that stay in the repository.
fn targets(text: &str) -> Vec<String> {
    let mut targets = Vec::new();
    for line in prose(text) {
        // Outside code spans.
        let line: String = line.split('`').step_by(2).collect::<Vec<_>>().join("``");
        for rest in line.split("](").skip(1) {
            let target = rest.split([')', ' ']).next().unwrap_or_default();
            if is_ours(target) {
                targets.push(target.to_owned());
            }
        }
    }
    targets
}

/// Whether a link leads to a file of the repository.
fn is_ours(target: &str) -> bool {
    in_repository(target).is_some() || !target.contains("://") && !target.starts_with("mailto:")
}

/// The path within the repository of an address on the web.
fn in_repository(target: &str) -> Option<&str> {
    REPOSITORY.iter().find_map(|prefix| target.strip_prefix(prefix))
}

fn follow(root: &Path, page: &Path, target: &str) -> Result<(), String> {
    let (file, fragment) = target.split_once('#').unwrap_or((target, ""));
    let here = root.join(page);
    let there = match in_repository(file) {
        Some(path) => root.join(path),
        None if file.is_empty() => here,
        None => here.parent().expect("a folder").join(file),
    };
    if !there.exists() {
        return Err("no such file".to_owned());
    }
    if leaves_the_book(root, page, &there) && in_repository(file).is_none() {
        return Err(format!("leaves the book: write {}PATH", REPOSITORY[0]));
    }
    if fragment.is_empty() {
        return Ok(());
    }
    let text = fs::read_to_string(&there).map_err(|error| error.to_string())?;
    let headings: BTreeSet<String> = prose(&text).filter(|line| line.starts_with('#')).map(anchor).collect();
    if headings.contains(fragment) { Ok(()) } else { Err("no such heading".to_owned()) }
}

fn leaves_the_book(root: &Path, page: &Path, there: &Path) -> bool {
    let book = Path::new(SUMMARY).parent().expect("a folder");
    let is_inside = |path: &Path| match (path.canonicalize(), root.join(book).canonicalize()) {
        (Ok(path), Ok(book)) => path.starts_with(book),
        _ => false,
    };
    page.starts_with(book) && !is_inside(there)
}

/// What forges and mdBook call a heading.
fn anchor(heading: &str) -> String {
    let words = heading.trim_start_matches('#').trim().to_lowercase();
    let kept = words.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    kept.map(|c| if c == ' ' { '-' } else { c }).collect()
}

/// Pages of the book that its table of contents leaves out.
fn orphans(root: &Path, pages: &[PathBuf]) -> Vec<String> {
    let contents = fs::read_to_string(root.join(SUMMARY)).unwrap_or_default();
    let listed: BTreeSet<String> = targets(&contents).into_iter().collect();
    let book = Path::new(SUMMARY).parent().expect("a folder");
    let below = pages.iter().filter_map(|page| page.strip_prefix(book).ok());
    below
        .filter(|page| !page.ends_with("SUMMARY.md") && !listed.contains(&page.display().to_string()))
        .map(|page| format!("{}: not in {SUMMARY}", book.join(page).display()))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_are_found_outside_code() {
        let page = "a [b](c.md) `[d](e.md)` [f](https://g)\n```\n[h](i.md)\n```\n[j](k.md#l \"m\")\n";
        assert_eq!(targets(page), ["c.md", "k.md#l"]);
    }

    #[test]
    fn links_that_leave_the_book_are_addresses() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the repository");
        let page = Path::new("docs/book/src/tutorial.md");
        assert_eq!(targets("[a](https://github.com/sluss/sluss/blob/main/b.md)").len(), 1);
        let follow = |target: &str| follow(root, page, target).map_err(|why| why[..12].to_owned());
        assert_eq!(follow("run.md"), Ok(()));
        assert_eq!(follow("https://github.com/sluss/sluss/blob/main/COMPAT.md"), Ok(()));
        assert_eq!(
            follow("https://github.com/sluss/sluss/blob/main/GONE.md"),
            Err("no such file".to_owned())
        );
        assert_eq!(follow("../../../COMPAT.md"), Err("leaves the b".to_owned()));
    }

    #[test]
    fn headings_have_anchors() {
        assert_eq!(anchor("## Exit codes, and `--json`"), "exit-codes-and---json");
    }
}
