//! What a crate needs to be published: words about it for the registry, dependencies that have versions, and no file from outside of it.

use serde_json::Value;
use std::path::{Component, Path, PathBuf};

/// Fields of a manifest that a published crate must have; `….workspace = true` gives all but the description.
const FIELDS: [&str; 6] = ["description", "license", "repository", "readme", "keywords", "categories"];

/// Checks each crate of the workspace that may be published.
pub(crate) fn check(root: &Path, metadata: &Value, sources: &[PathBuf]) -> Vec<String> {
    let packages = metadata["packages"].as_array().map(Vec::as_slice).unwrap_or_default();
    let own = packages.iter().filter(|package| package["source"].is_null());
    // `publish = false` is an empty list of registries.
    own.filter(|package| package["publish"].is_null())
        .flat_map(|package| {
            let manifest = PathBuf::from(package["manifest_path"].as_str().unwrap_or_default());
            let folder = manifest.parent().unwrap_or(root).to_owned();
            let name = package["name"].as_str().unwrap_or_default();
            let mut problems = lacking(name, package);
            problems.extend(unversioned(name, package));
            let inside = sources.iter().filter(|source| source.starts_with(&folder));
            problems.extend(inside.flat_map(|source| included_from_outside(root, &folder, source)));
            problems
        })
        .collect()
}

fn lacking(name: &str, package: &Value) -> Vec<String> {
    let is_empty = |value: &Value| value.is_null() || value.as_array().is_some_and(Vec::is_empty);
    let missing = FIELDS.iter().filter(|field| is_empty(&package[**field]));
    missing
        .map(|field| format!("{name}: its manifest has no `{field}`, which a published crate needs"))
        .collect()
}

/// A registry has no paths. Of dependencies for tests alone those without a version are left out of the package.
fn unversioned(name: &str, package: &Value) -> Vec<String> {
    let dependencies = package["dependencies"].as_array().map(Vec::as_slice).unwrap_or_default();
    let needed = dependencies.iter().filter(|dependency| dependency["kind"] != "dev");
    needed
        .filter(|dependency| dependency["req"] == "*")
        .map(|dependency| format!("{name}: the dependency {} has no version", dependency["name"]))
        .collect()
}

/// Files that a source includes and that are outside of its crate: they are in no package. A link to such a file is followed.
fn included_from_outside(root: &Path, folder: &Path, source: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(source).unwrap_or_default();
    let calls = ["include_str!(\"", "include_bytes!(\"", "include!(\""].into_iter();
    let included = calls.flat_map(|call| text.split(call).skip(1)).filter_map(|rest| rest.split('"').next());
    let outside = included.filter(|path| {
        let place = source.parent().unwrap_or(folder).join(path);
        !plain(&place).starts_with(folder)
    });
    let name = source.strip_prefix(root).unwrap_or(source).display();
    outside.map(|path| format!("{name}: {path} is outside of its crate, and so in no package")).collect()
}

/// A path without `..`, as it is written: links are left alone.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for component in path.components() {
        match component {
            Component::ParentDir => drop(plain.pop()),
            other => plain.push(other),
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_published_crate_has_what_the_registry_asks_for() {
        let full = json!({
            "name": "a", "description": "d", "license": "l", "repository": "r", "readme": "README.md",
            "keywords": ["k"], "categories": ["c"], "source": null, "publish": null, "manifest_path": "/x/Cargo.toml",
            "dependencies": [{ "name": "b", "req": "^1", "kind": null }, { "name": "t", "req": "*", "kind": "dev" }],
        });
        let check = |package: &Value| super::check(Path::new("/"), &json!({ "packages": [package] }), &[]);
        assert_eq!(check(&full), [""; 0]);
        for field in FIELDS {
            let mut package = full.clone();
            package[field] = Value::Null;
            assert_eq!(check(&package).len(), 1, "{field}");
            package["publish"] = json!([]);
            assert_eq!(check(&package), [""; 0]);
        }
        let mut package = full.clone();
        package["dependencies"][0]["req"] = json!("*");
        assert_eq!(check(&package), ["a: the dependency \"b\" has no version"]);
    }

    #[test]
    fn what_is_included_is_inside() {
        let folder = std::env::temp_dir().join(format!("sluss-publish-{}", std::process::id()));
        std::fs::create_dir_all(folder.join("src")).unwrap();
        let source = folder.join("src/lib.rs");
        // In two pieces, so that this file does not include it.
        let call = ["include_", "str!(\"../../page.md\")"].concat();
        for (text, problems) in [(call.as_str(), 1), ("include_str!(\"../page.md\")", 0)] {
            std::fs::write(&source, text).unwrap();
            assert_eq!(included_from_outside(Path::new("/"), &folder, &source).len(), problems, "{text}");
        }
        std::fs::remove_dir_all(folder).unwrap();
    }
}
