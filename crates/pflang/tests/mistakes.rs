//! What users of other tools write, and what they are told: `testdata/golden/mistakes.txt`.
//!
//! Each filter in that file stands behind `--- `, and under it the error as it is shown. `BLESS=1` writes the errors anew; filters are
//! added by hand, and dropped if they are none.

use pflang::{Colours, Compiler, Error};
use std::path::{Path, PathBuf};
use wire::LinkType;

fn path() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/golden/mistakes.txt")
}

fn golden() -> String {
    std::fs::read_to_string(path()).unwrap_or_else(|error| panic!("{}: {error}", path().display()))
}

fn compiler() -> Compiler {
    Compiler::new(LinkType::EN10MB)
}

/// The errors of the file's filters.
fn errors(golden: &str) -> Vec<(&str, Error)> {
    let filters = golden.lines().filter_map(|line| line.strip_prefix("--- "));
    filters.filter_map(|filter| Some((filter, compiler().compile(filter).err()?))).collect()
}

#[test]
fn what_is_said() {
    let golden = golden();
    let said = |(filter, error): &(&str, Error)| format!("--- {filter}\n{}\n\n", error.render(Colours::None));
    let text: String = errors(&golden).iter().map(said).collect();
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(path(), &text).expect("the file can be written");
        return;
    }
    for (expected, found) in golden.split("\n\n").zip(text.split("\n\n")) {
        assert_eq!(found, expected, "run with BLESS=1 if this is what should be said");
    }
    assert_eq!(golden.len(), text.len(), "run with BLESS=1 if filters were added");
}

/// What is said of lists of tags is true: the tag stands where the filter looks for it.
#[test]
fn tags_are_compared_as_advised() {
    let error = compiler().compile("vlan 10-20").expect_err("a tag is one number");
    let help = error.diagnostic.help.clone().unwrap_or_default();
    let filter = help.split_once("as in `").and_then(|(_, rest)| rest.strip_suffix('`')).expect("a filter");
    let filter = compiler().compile(filter).expect("it compiles");
    for (tag, matches) in [(9, false), (10, true), (15, true), (20, true), (21, false)] {
        let mut frame = [0; 60];
        frame[12..16].copy_from_slice(&[0x81, 0x00, 0xe0, tag]);
        assert_eq!(filter.matches(&frame), matches, "{tag}");
    }
    assert!(!filter.matches(&[15; 60]), "without a tag");
}

/// Each error says what to do, under the carets or below, and has a place within the text.
#[test]
fn what_to_do() {
    let golden = golden();
    let errors = errors(&golden);
    assert!(errors.len() >= 60, "only {} mistakes", errors.len());
    for (filter, error) in &errors {
        let found = &error.diagnostic;
        // A division by zero says all there is to say.
        let is_plain = error.code() == pflang::Code::Arithmetic;
        assert!(found.help.is_some() || found.label.is_some() || is_plain, "{filter}: {error}");
        assert!(error.span().end as usize <= filter.len(), "{filter}: {error}");
    }
}

/// A filter that is suggested compiles, unless it has names, which this compiler does not know.
#[test]
fn what_is_suggested_compiles() {
    let golden = golden();
    for (filter, error) in errors(&golden) {
        let help = error.diagnostic.help.as_deref().unwrap_or_default();
        let meant = help
            .strip_prefix("did you mean `")
            .or_else(|| help.strip_prefix("as a capture filter: `"))
            .and_then(|rest| rest.strip_suffix("`?").or_else(|| rest.strip_suffix('`')));
        let to_write = help.strip_prefix("write ").unwrap_or_default().split('`').skip(1).step_by(2);
        let filters = meant.into_iter().chain(to_write.filter(|text| !text.contains('…')));
        for meant in filters.filter(|meant| meant.contains(' ')) {
            if let Err(refused) = compiler().compile(meant) {
                // Words that stand in place of others are offered without what follows them.
                if refused.span().start as usize == meant.len() {
                    continue;
                }
                assert_eq!(refused.code(), pflang::Code::UnknownName, "{filter}: {refused}");
            }
        }
    }
}
