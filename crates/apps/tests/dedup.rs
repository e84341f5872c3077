//! The example `dedup`, and the page of the book about it: the page quotes the example, and says what it prints.

use engine::Settings;
use std::fs;
use std::path::{Path, PathBuf};

/// With its own tests.
#[allow(dead_code)]
#[path = "../examples/dedup.rs"]
mod dedup;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the repository")
}

fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// The blocks of a page that are fenced as `language`.
fn blocks(page: &str, language: &str) -> Vec<String> {
    let fence = format!("\n```{language}\n");
    page.split(&fence).skip(1).map(|rest| rest.split("```").next().unwrap_or_default().to_owned()).collect()
}

#[test]
fn the_page_quotes_the_example() {
    let page = read("docs/book/src/how-to/write-an-app.md");
    let example = read("crates/apps/examples/dedup.rs");
    let quoted = blocks(&page, "rust");
    for block in &quoted {
        assert!(example.contains(block.as_str()), "not in the example:\n{block}");
    }
    assert!(quoted.len() >= 6, "only {} blocks", quoted.len());
    let graph = read("crates/apps/examples/dedup.toml");
    assert!(
        blocks(&page, "toml").iter().any(|block| graph.ends_with(block.as_str())),
        "the graph is another"
    );
}

#[test]
fn the_example_does_what_the_page_says() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("dedup-{}", std::process::id()));
    fs::create_dir_all(&folder).expect("a folder");
    let written = folder.join("once.pcap");
    let graph = read("crates/apps/examples/dedup.toml")
        .replace("captures/", &format!("{}/captures/", root().display()))
        .replace("once.pcap", &written.display().to_string());

    let report = dedup::run(&graph, Settings::new().expect("memory")).expect("a run");
    let printed = dedup::in_words(&report);
    let page = read("docs/book/src/how-to/write-an-app.md");
    assert!(page.contains(&printed), "not on the page: {printed}");

    let mut written = capture::Reader::open(&written).expect("a capture");
    let mut packets = 0;
    while let Some(batch) = written.next_batch().expect("a whole capture") {
        packets += batch.len() as u64;
    }
    assert_eq!(packets, report.delivered);
    fs::remove_dir_all(&folder).expect("a folder of ours");
}
