//! Golden files: one filter a file, with the text of its stages.
//!
//! ```text
//! filter:   tcp port 80
//! about:    A port, either way, over IPv4 and IPv6.
//! stages:   ast graph optimised
//!
//! == ast
//! …
//! ```
//! The head may also say `linktype` (else EN10MB), `dialect` (`modern` or a departure), `netmask`, and how many
//! `lines` of each stage to keep; `c` among the stages is the function in C. Everything below the head is what
//! [`pflang::Compiler::print`] and [`pflang::Compiler::to_c`] say:
//! `BLESS=1 cargo test -p sluss-pflang --test golden` writes it anew, and the difference is reviewed like code. Files
//! with `gallery` are pages of the book (`cargo xtask gallery`).

use pflang::{Compiler, Dialect, Stage};
use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::{env, fs};
use wire::LinkType;

/// What a filter is shown as.
#[derive(Clone, Copy)]
enum Form {
    Stage(Stage),
    C,
}

/// One file.
struct Golden {
    path: PathBuf,
    text: String,
}

impl Golden {
    /// Every file, by name.
    fn all() -> Vec<Golden> {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/golden/stages");
        let entries = fs::read_dir(&folder).unwrap_or_else(|why| panic!("{}: {why}", folder.display()));
        let mut paths: Vec<PathBuf> = entries.map(|entry| entry.expect("an entry").path()).collect();
        paths.retain(|path| path.extension().is_some_and(|extension| extension == "txt"));
        paths.sort();
        let read = |path: PathBuf| Golden { text: fs::read_to_string(&path).expect("a golden file"), path };
        paths.into_iter().map(read).collect()
    }

    fn name(&self) -> String {
        self.path.file_name().expect("a file").to_string_lossy().into_owned()
    }

    /// The lines up to the first empty one.
    fn head(&self) -> &str {
        self.text.split("\n\n").next().unwrap_or_default().trim_end()
    }

    /// What the head says about `key`.
    fn directive(&self, key: &str) -> Option<&str> {
        self.head().lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(':')).map(str::trim)
    }

    fn forms(&self) -> Vec<Form> {
        let names = self.directive("stages").unwrap_or_else(|| panic!("{}: no `stages:`", self.name()));
        let form = |name: &str| match name {
            "c" => Form::C,
            stage => Form::Stage(stage.parse().unwrap_or_else(|why| panic!("{}: {why}", self.name()))),
        };
        names.split_whitespace().map(form).collect()
    }

    fn compiler(&self) -> Compiler {
        let linktype = self.directive("linktype").unwrap_or("EN10MB");
        let linktype: LinkType = linktype.parse().unwrap_or_else(|why| panic!("{}: {why}", self.name()));
        let mut dialect = Dialect::default();
        match self.directive("dialect") {
            None => {}
            Some("modern") => dialect = Dialect::MODERN,
            Some("ipv6") => dialect.ipv6 = true,
            Some("scoped") => dialect.scoped = true,
            Some("protochain") => dialect.protochain = true,
            Some(other) => panic!("{}: no dialect is called `{other}`", self.name()),
        }
        // The same code wherever the test runs.
        let compiler = Compiler::new(linktype).dialect(dialect).baseline();
        match self.directive("netmask") {
            Some(mask) => compiler.netmask(mask.parse().expect("a netmask")),
            None => compiler,
        }
    }

    /// As many lines as the head wants of each stage.
    fn cut(&self, printed: String) -> String {
        let Some(lines) = self.directive("lines") else { return printed };
        let lines: usize = lines.parse().expect("a number of lines");
        match printed.lines().count().checked_sub(lines) {
            None | Some(0) => printed,
            Some(more) => {
                let shown: String = printed.split_inclusive('\n').take(lines).collect();
                format!("{shown}… {more} more lines\n")
            }
        }
    }

    /// The whole file as it should be.
    fn expected(&self) -> String {
        let filter = self.directive("filter").unwrap_or_else(|| panic!("{}: no `filter:`", self.name()));
        let compiler = self.compiler();
        let mut text = format!("{}\n", self.head());
        for form in self.forms() {
            let (name, printed) = match form {
                Form::Stage(stage) => (stage.name(), compiler.print(filter, stage)),
                Form::C => ("c", compiler.to_c(filter, "filter")),
            };
            let printed = printed
                .unwrap_or_else(|error| panic!("{}: {name}: {}", self.name(), error.diagnostic.message));
            let _ = write!(text, "\n== {name}\n{}", self.cut(printed));
        }
        text
    }
}

#[test]
fn golden_files_hold_what_the_compiler_prints() {
    let bless = env::var_os("BLESS").is_some_and(|value| value == "1");
    let mut stale = Vec::new();
    for golden in Golden::all() {
        let expected = golden.expected();
        if expected == golden.text {
            continue;
        }
        if bless {
            fs::write(&golden.path, &expected).expect("a writable golden file");
        } else {
            stale.push(first_difference(&golden.name(), &golden.text, &expected));
        }
    }
    assert!(
        stale.is_empty(),
        "{} golden files differ from what the compiler prints; if the new text is right:\n    \
        BLESS=1 cargo test -p sluss-pflang --test golden && cargo xtask gallery\n\n{}",
        stale.len(),
        stale.join("\n")
    );
}

fn first_difference(name: &str, old: &str, new: &str) -> String {
    let end = "(the end of the file)";
    let same = old.lines().zip(new.lines()).take_while(|(old, new)| old == new).count();
    let line = |text: &str| text.lines().nth(same).unwrap_or(end).to_owned();
    format!("{name}:{}\n  - {}\n  + {}", same + 1, line(old), line(new))
}

#[test]
fn every_stage_stands_in_some_golden_file() {
    let goldens = Golden::all();
    assert!(goldens.len() >= 30, "{} golden files", goldens.len());
    let forms = goldens.iter().flat_map(Golden::forms);
    let shown: BTreeSet<Stage> = forms
        .filter_map(|form| match form {
            Form::Stage(stage) => Some(stage),
            Form::C => None,
        })
        .collect();
    assert_eq!(shown, Stage::ALL.iter().copied().collect());
}
