//! The gallery: pages of the book that show filters from text to machine code.
//!
//! A page is a golden file for reading: `testdata/golden/stages/*.txt`, which the tests hold to what the compiler
//! prints. So the pages cannot lie, and this needs no compiler. The heads of the files say `gallery: N` where there
//! is to be a page, N being its place.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::path::Path;

const GOLDENS: &str = "testdata/golden/stages";
const BOOK: &str = "docs/book/src";
const INDEX: &str = "gallery/overview.md";

/// Writes the pages, the index and the lines of the table of contents.
///
/// # Errors
/// What cannot be read or written.
pub(crate) fn run(root: &Path) -> Result<String, Vec<String>> {
    let files = files(root)?;
    let book = root.join(BOOK);
    for stale in stale_pages(&book, &files) {
        fs::remove_file(book.join(&stale)).map_err(|error| vec![format!("{stale}: {error}")])?;
    }
    for (name, text) in &files {
        let path = book.join(name);
        let folder = path.parent().expect("below the book");
        fs::create_dir_all(folder)
            .and_then(|()| fs::write(&path, text))
            .map_err(|error| vec![format!("{}: {error}", path.display())])?;
    }
    Ok(format!("gallery: {} pages in {BOOK}/gallery", files.len() - 2))
}

/// Which files differ from what [`run`] would write.
pub(crate) fn check(root: &Path) -> Vec<String> {
    let book = root.join(BOOK);
    match files(root) {
        Err(problems) => problems,
        Ok(files) => {
            let differs =
                |name: &&String| fs::read_to_string(book.join(name)).ok().as_ref() != files.get(*name);
            let stale = stale_pages(&book, &files).into_iter();
            let names = files.keys().filter(differs).cloned().chain(stale);
            names.map(|name| format!("{BOOK}/{name}: out of date; run `cargo xtask gallery`")).collect()
        }
    }
}

/// Every file below the book that the gallery owns, with its text; the table of contents too.
fn files(root: &Path) -> Result<BTreeMap<String, String>, Vec<String>> {
    let filters = filters(root)?;
    let mut files: BTreeMap<String, String> =
        filters.iter().map(|filter| (filter.page(), filter.render())).collect();
    files.insert(INDEX.to_owned(), index(&filters));
    let summary = root.join(BOOK).join("SUMMARY.md");
    let summary =
        fs::read_to_string(&summary).map_err(|error| vec![format!("{}: {error}", summary.display())])?;
    files.insert("SUMMARY.md".to_owned(), contents(&summary, &filters));
    Ok(files)
}

/// Pages of filters that are in the gallery no more.
fn stale_pages(book: &Path, files: &BTreeMap<String, String>) -> Vec<String> {
    let pages = fs::read_dir(book.join("gallery")).into_iter().flatten().flatten();
    pages
        .map(|entry| format!("gallery/{}", entry.file_name().to_string_lossy()))
        .filter(|name| !files.contains_key(name))
        .collect()
}

/// A golden file.
struct Filter {
    name: String,
    place: u32,
    text: String,
}

/// The filters of the gallery, in its order.
fn filters(root: &Path) -> Result<Vec<Filter>, Vec<String>> {
    let folder = root.join(GOLDENS);
    let entries = fs::read_dir(&folder).map_err(|error| vec![format!("{}: {error}", folder.display())])?;
    let mut filters = Vec::new();
    for path in entries.flatten().map(|entry| entry.path()) {
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let text = fs::read_to_string(&path).map_err(|error| vec![format!("{}: {error}", path.display())])?;
        let mut filter = Filter { name, place: 0, text };
        if let Some(place) = filter.directive("gallery") {
            filter.place = place.parse().map_err(|_| vec![format!("{}: `{place}`", path.display())])?;
            filters.push(filter);
        }
    }
    filters.sort_by(|a, b| (a.place, &a.name).cmp(&(b.place, &b.name)));
    Ok(filters)
}

impl Filter {
    fn directive(&self, key: &str) -> Option<&str> {
        let head = self.text.split("\n\n").next().unwrap_or_default();
        head.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(':')).map(str::trim)
    }

    fn source(&self) -> &str {
        self.directive("filter").unwrap_or_default()
    }

    fn about(&self) -> &str {
        self.directive("about").unwrap_or_default()
    }

    /// How many questions the listing of a stage has, if it is all there.
    fn nodes(&self, stage: &str) -> String {
        let printed = self.text.split("\n== ").find_map(|part| part.strip_prefix(stage)?.strip_prefix('\n'));
        match printed {
            Some(printed) if !printed.contains(" more lines\n") => {
                printed.lines().filter(|line| line.starts_with('L')).count().to_string()
            }
            _ => "–".to_owned(),
        }
    }

    fn page(&self) -> String {
        format!("gallery/{}.md", self.name)
    }

    fn render(&self) -> String {
        let mut page = format!("# `{}`\n\n{}\n", self.source(), self.about());
        let settings: Vec<String> = ["linktype", "dialect", "netmask"]
            .iter()
            .filter_map(|key| Some(format!("{key} `{}`", self.directive(key)?)))
            .collect();
        if !settings.is_empty() {
            let _ = write!(page, "\nCompiled with {}.\n", settings.join(", "));
        }
        for stage in self.text.split("\n== ").skip(1) {
            let (name, printed) = stage.split_once('\n').unwrap_or((stage, ""));
            if let Some((_, title, _)) = STAGES.iter().find(|(stage, ..)| *stage == name) {
                let _ = write!(page, "\n## {title}\n\n```text\n{}\n```\n", printed.trim_end());
            }
        }
        page
    }
}

/// Stage, title, and what to look for. Stages that are not here have no place in the pages.
#[rustfmt::skip]
const STAGES: &[(&str, &str, &str)] = &[
    ("ast", "Syntax tree", "how the words group; each node with the bytes of the text it came from"),
    ("lowered", "Lowered tree", "which bytes of the packet each primitive looks at, before anything is shared"),
    ("graph", "Decision graph", "one question a node, each load below the guard that it needs, nothing optimised"),
    ("optimised", "Optimised graph", "fewer, stronger guards; no question asked twice; numbers as they lie in \
        memory (`le16[12] == 8` is EtherType 0x0800 without a swap); chains of tests made a `switch`"),
    ("anf", "Named values", "the same graph with a name for each value, where it is first needed"),
    ("ssa", "Blocks and dominators", "the same again as basic blocks: predecessors, immediate dominator, operations"),
    ("selected", "Selected instructions", "blocks in their final order, over virtual registers"),
    ("allocated", "Registers", "the same over machine registers and stack slots"),
    ("asm", "Machine code", "address, bytes, mnemonic, and the words of the filter where they change. `rdi` points \
        to the packet, `rsi` is the captured length, `edx` the length on the wire. First the entry for one packet, \
        then the loop over a burst"),
    ("c", "C", "the same decisions for a C compiler: a guard before each load, each number read once"),
];

fn index(filters: &[Filter]) -> String {
    let mut page =
        "# Gallery\n\nCommon filters from text to machine code. The pages are made by `make gallery` from \
        the golden files\nin `testdata/golden/stages/`, which the tests hold to what the compiler prints.\n\n\
        | filter | what it is | nodes as built | optimised |\n|---|---|--:|--:|\n"
            .to_owned();
    for filter in filters {
        // A bar would end the cell.
        let source = filter.source().replace('|', "\\|");
        let about = filter.about().replace('|', "\\|");
        let (built, optimised) = (filter.nodes("graph"), filter.nodes("optimised"));
        let _ = writeln!(page, "| [`{source}`]({}.md) | {about} | {built} | {optimised} |", filter.name);
    }
    page.push_str("\n## How to read a page\n\n| stage | look for |\n|---|---|\n");
    for (stage, title, look_for) in STAGES {
        let flag = if *stage == "c" { "to" } else { "stage" };
        let _ = writeln!(page, "| {title} (`--{flag} {stage}`) | {look_for} |");
    }
    page.push_str("\nSee any filter so: `sluss compile FILTER --stage STAGE`.\n");
    page
}

/// The table of contents with the gallery's lines in the place where they begin.
fn contents(old: &str, filters: &[Filter]) -> String {
    let is_page = |line: &str| line.contains("](gallery/") && !line.contains(INDEX);
    let mut new = String::new();
    for line in old.lines().filter(|line| !is_page(line)) {
        let _ = writeln!(new, "{line}");
        if line.contains(INDEX) {
            for filter in filters {
                let _ = writeln!(new, "  - [{}]({})", filter.name, filter.page());
            }
        }
    }
    new
}
