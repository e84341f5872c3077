//! Modules of a crate that need each other in a circle: none can be read, or tested, without all.
//!
//! The modules are those at the top of a crate, a file or a folder each; an arrow is a `crate::MODULE` in the code of one, its tests left
//! out.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

type Arrows = BTreeMap<String, BTreeSet<String>>;

/// The circles in each crate.
pub(crate) fn check(root: &Path, sources: &[std::path::PathBuf]) -> Vec<String> {
    let mut crates: BTreeMap<String, Arrows> = BTreeMap::new();
    for path in sources {
        let Some((name, module)) = place(root, path) else { continue };
        let mut text = std::fs::read_to_string(path).unwrap_or_default();
        if is_top(root, path) {
            text = text.replace("super::", "crate::");
        }
        crates.entry(name).or_default().entry(module).or_default().extend(targets(&text));
    }
    let told =
        |name: &str, circle: Vec<&str>| format!("crates/{name}: modules in a circle: {}", circle.join(", "));
    crates
        .iter()
        .flat_map(|(name, arrows)| circles(arrows).into_iter().map(move |circle| told(name, circle)))
        .collect()
}

/// The crate that a file is part of, and the module at its top; nothing for tests and the roots of crates, which may name any module.
fn place(root: &Path, path: &Path) -> Option<(String, String)> {
    let path = path.strip_prefix(root).ok()?;
    let parts: Vec<&str> = path.iter().filter_map(|part| part.to_str()).collect();
    let ["crates", name, "src", inside @ ..] = &parts[..] else { return None };
    let is_test = inside.iter().any(|part| ["tests", "tests.rs"].contains(part));
    let module = inside.first()?.trim_end_matches(".rs");
    (!is_test && !["lib", "main"].contains(&module)).then(|| ((*name).to_owned(), module.to_owned()))
}

/// Whether the module above that of a file is the crate itself.
fn is_top(root: &Path, path: &Path) -> bool {
    let inside = path.strip_prefix(root).into_iter().flat_map(Path::iter).skip(3);
    inside.filter(|part| *part != "mod.rs").count() == 1
}

/// The modules that a file names by `crate::`, outside comments and its tests.
pub(crate) fn targets(text: &str) -> BTreeSet<String> {
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    // Under whatever condition they are compiled. Tests in a file of their own are declared above the code, with a semicolon.
    let code = text.split("\nmod tests {").next().unwrap_or_default();
    let code = code.lines().filter(|line| !line.trim_start().starts_with("//"));
    let code: String = code.collect::<Vec<_>>().join("\n");
    let mut found = BTreeSet::new();
    for rest in code.split("crate::").skip(1) {
        let several = rest.strip_prefix('{').map(|rest| rest.split("};").next().unwrap_or_default());
        for word in several.map_or(vec![rest], |list| list.split([',', '\n']).collect()) {
            found.insert(word.trim().chars().take_while(|&c| is_name(c)).collect());
        }
    }
    // Behind the last comma of a list there is no name.
    found.remove("");
    found
}

/// Modules that reach each other, in sets of two or more.
fn circles(arrows: &Arrows) -> Vec<Vec<&str>> {
    let reach: BTreeMap<&str, BTreeSet<&str>> =
        arrows.keys().map(|module| (module.as_str(), reached(arrows, module))).collect();
    let mut circles: Vec<Vec<&str>> = Vec::new();
    for (&module, there) in &reach {
        let back =
            |other: &&&str| **other != module && reach.get(**other).is_some_and(|r| r.contains(module));
        let mut circle: Vec<&str> = there.iter().filter(back).copied().chain([module]).collect();
        circle.sort_unstable();
        if circle.len() > 1 && !circles.contains(&circle) {
            circles.push(circle);
        }
    }
    circles
}

/// The modules to which arrows lead from one, over others too.
fn reached<'a>(arrows: &'a Arrows, from: &str) -> BTreeSet<&'a str> {
    let mut reached = BTreeSet::new();
    let mut pending = vec![from];
    while let Some(module) = pending.pop() {
        for target in arrows.get(module).into_iter().flatten().filter(|target| arrows.contains_key(*target)) {
            if reached.insert(target.as_str()) {
                pending.push(target);
            }
        }
    }
    reached
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn circles_are_found_over_other_modules() {
        let arrow =
            |(from, to): &(&str, &[&str])| ((*from).to_owned(), to.iter().map(|&to| to.to_owned()).collect());
        let arrows: Arrows =
            [("a", &["b"][..]), ("b", &["c"]), ("c", &["a", "d"]), ("d", &["e"]), ("e", &["e", "std"])]
                .iter()
                .map(arrow)
                .collect();
        assert_eq!(circles(&arrows), [["a", "b", "c"]]);
    }

    #[test]
    fn modules_are_named_in_code() {
        let code = "use crate::{a::B, c};\nuse crate::d::E;\n// crate::f\nfn g() { crate::h::i() }\nuse crate::{\n    k::L,\n    m,\n};\n";
        for before in ["", "#[cfg(test)]\nmod tests;\n"] {
            for condition in ["test", "all(test, not(loom))"] {
                let after = format!("#[cfg({condition})]\nmod tests {{ use crate::j; }}\n");
                let found: Vec<String> = targets(&format!("{before}{code}{after}")).into_iter().collect();
                assert_eq!(found, ["a", "c", "d", "h", "k", "m"], "{before}{after}");
            }
        }
    }
}
