//! Writes a table of the Lua modules in `modules/`, which become part of the library: their names, their files, and where their texts are. And one of
//! the files in `annotations/`.

use std::path::{Path, PathBuf};
use std::{env, fs};

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=modules");
    let root = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it")).join("modules");
    let mut files = Vec::new();
    collect(&root, &mut files);
    let relative =
        |file: &Path| file.strip_prefix(&root).expect("a file below the root").display().to_string();
    let name = |file: &Path| relative(file).trim_end_matches(".lua").replace('/', ".");
    // In the order of the parts of their names, as they are looked for.
    files.sort_by(|a, b| name(a).split('.').cmp(name(b).split('.')));
    let rows = files.iter().map(|file| {
        println!("cargo::rerun-if-changed={}", file.display());
        format!(
            "    ({:?}, {:?}, include_str!({:?})),\n",
            name(file),
            relative(file),
            file.display().to_string()
        )
    });
    let text = format!("&[\n{}]\n", rows.collect::<String>());
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it")).join("modules.rs");
    fs::write(out, text).expect("writing the table of modules");
    annotations();
}

fn annotations() {
    println!("cargo::rerun-if-changed=annotations");
    let root = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it")).join("annotations");
    let mut files = Vec::new();
    collect(&root, &mut files);
    files.sort();
    let rows = files.iter().map(|file| {
        println!("cargo::rerun-if-changed={}", file.display());
        let name = file.strip_prefix(&root).expect("a file below the root").display().to_string();
        format!("    ({name:?}, include_str!({:?})),\n", file.display().to_string())
    });
    let text = format!("&[\n{}]\n", rows.collect::<String>());
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it")).join("annotations.rs");
    fs::write(out, text).expect("writing the table of annotations");
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder of modules") {
        let path = entry.expect("an entry of a folder of modules").path();
        if path.is_dir() {
            println!("cargo::rerun-if-changed={}", path.display());
            collect(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "lua") {
            files.push(path);
        }
    }
}
