//! The book's page on diagnostics: every code has a section, and every filter in it produces its code.

use pflang::{Code, Compiler, Dialect, Limits};
use std::path::Path;
use wire::LinkType;

/// A fenced example: the section it stands in, its options, its filters.
struct Example {
    code: String,
    options: Vec<String>,
    filters: Vec<String>,
}

fn page() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/book/src/diagnostics.md");
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The code that a heading names.
fn heading(line: &str) -> Option<&str> {
    line.strip_prefix("## ")?.split(':').next().filter(|code| code.starts_with("PF"))
}

fn examples(page: &str) -> Vec<Example> {
    let mut examples: Vec<Example> = Vec::new();
    let mut code = "";
    let mut open = false;
    for line in page.lines() {
        if let Some(found) = heading(line) {
            code = found;
        } else if let Some(options) = line.strip_prefix("```filter") {
            let options = options.split_whitespace().map(str::to_owned).collect();
            examples.push(Example { code: code.to_owned(), options, filters: Vec::new() });
            open = true;
        } else if line == "```" {
            open = false;
        } else if let (true, Some(example)) = (open, examples.last_mut()) {
            example.filters.push(line.to_owned());
        }
    }
    examples
}

/// The codes of all that the compiler says about a filter.
fn said(example: &Example, filter: &str) -> Vec<String> {
    let (mut linktype, mut is_list) = (LinkType::EN10MB, false);
    let mut dialect = Dialect::default();
    let mut limits = Limits::default();
    for option in &example.options {
        match option.split_once('=') {
            Some(("linktype", name)) => linktype = name.parse().unwrap(),
            Some(("terms", number)) => limits.terms = number.parse().unwrap(),
            None if option == "strict" => dialect = Dialect::STRICT,
            None if option == "list" => is_list = true,
            _ => panic!("{option}: no such option"),
        }
    }
    let codes = |codes: &mut dyn Iterator<Item = Code>| codes.map(Code::name).collect();
    let compiler = Compiler::new(linktype).dialect(dialect).limits(limits);
    if is_list {
        let list: Vec<(&str, u32)> = filter.split("; ").zip(1..).collect();
        let lints = compiler.lints_of_list(&list).expect("a list with warnings");
        return codes(&mut lints.iter().flatten().map(|lint| lint.code));
    }
    match compiler.compile(filter) {
        Err(error) => codes(&mut [compiler.help(&error).code()].into_iter()),
        Ok(_) => {
            let lints = compiler.lints(filter).expect("it compiles");
            codes(&mut lints.iter().map(|lint| lint.code))
        }
    }
}

#[test]
fn examples_produce_their_code() {
    for example in examples(&page()) {
        for filter in &example.filters {
            let said = said(&example, filter);
            assert!(
                said.contains(&example.code),
                "`{filter}` stands under {} and says {said:?}",
                example.code
            );
        }
    }
}

#[test]
fn every_code_has_a_section_with_an_example() {
    let page = page();
    let sections: Vec<&str> = page.lines().filter_map(heading).collect();
    let names: Vec<String> = Code::ALL.iter().map(|code| code.name()).collect();
    assert_eq!(sections, names, "sections are in the order of the codes");
    let examples = examples(&page);
    for code in Code::ALL {
        // Nothing is known to produce an internal error.
        let has = examples.iter().any(|example| example.code == code.name() && !example.filters.is_empty());
        assert_eq!(has, *code != Code::Internal, "{}", code.name());
    }
}
