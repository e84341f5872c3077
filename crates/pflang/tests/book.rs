//! The book's reference of the language: every example in its tables (and those for users of nftables) compiles, and every word of the language is
//! on one of its pages.

use pflang::Compiler;
use pflang::internals::syntax::words::{CONSTANTS, WORDS};
use std::fs;
use std::path::Path;
use wire::LinkType;

fn page(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/book/src/reference").join(name);
    fs::read_to_string(&path).unwrap_or_else(|why| panic!("{}: {why}", path.display()))
}

/// The cells of a line of a table. A bar within a cell is written `\|`.
fn cells(line: &str) -> Vec<String> {
    let line = line.trim().trim_start_matches('|').trim_end_matches('|').replace("\\|", "\0");
    line.split('|').map(|cell| cell.trim().replace('\0', "|")).collect()
}

/// The examples in tables whose last column is headed so, each with the link type that the heading above names.
fn examples(page: &str) -> Vec<(LinkType, String)> {
    let mut found = Vec::new();
    let (mut linktype, mut in_table) = (LinkType::EN10MB, false);
    for line in page.lines() {
        if line.starts_with("## ") {
            let name = line.split("`-y ").nth(1).and_then(|rest| rest.split('`').next());
            linktype = name.map_or(LinkType::EN10MB, |name| name.parse().expect("a link type"));
        }
        if !line.starts_with('|') {
            in_table = false;
            continue;
        }
        let last = cells(line).pop().unwrap_or_default();
        in_table |= last == "example";
        if let Some(example) = last.strip_prefix('`').and_then(|rest| rest.strip_suffix('`'))
            && in_table
        {
            found.push((linktype, example.to_owned()));
        }
    }
    found
}

#[test]
fn examples_compile() {
    let mut failures = Vec::new();
    let mut count = 0;
    for name in ["primitives.md", "arithmetic.md", "dialects.md", "../how-to/coming-from-nftables.md"] {
        for (linktype, example) in examples(&page(name)) {
            count += 1;
            if let Err(error) = Compiler::new(linktype).compile(&example) {
                failures.push(format!("{name}: `{example}` ({linktype}): {}", error.diagnostic.message));
            }
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    assert!(count > 130, "only {count} examples found");
}

#[test]
fn every_word_has_its_place() {
    let pages = ["language.md", "primitives.md", "arithmetic.md"].map(page).concat();
    // Words in code spans, whatever stands around them there.
    let code: Vec<&str> = pages.split('`').skip(1).step_by(2).collect();
    let known = |name: &str| {
        let not_in_word = |c: char| !c.is_ascii_alphanumeric() && c != '-';
        code.iter().any(|span| span.split(not_in_word).any(|word| word == name))
    };
    let words = WORDS.iter().map(|(name, _)| *name).chain(CONSTANTS.iter().map(|(name, _)| *name));
    let missing: Vec<&str> = words.filter(|name| !known(name)).collect();
    assert!(missing.is_empty(), "not in the reference: {missing:?}");
}
