//! `sluss new`: what it makes works at once.

use crate::common::{self, code, root, sluss, stderr, stdout};
use std::process::{Command, Output};
use testkit::files::Scratch;

fn run_in(folder: &Scratch, args: &[&str]) -> Output {
    let mut command = sluss(args);
    command.current_dir(folder.folder()).env("SNABB_SHM_ROOT", folder.path("shm")).env_remove("SLUSS_SNABB");
    command.output().expect("the command starts")
}

#[test]
fn an_app_in_lua_passes_its_test_and_runs() {
    let folder = Scratch::new();
    let output = run_in(&folder, &["new", "app", "my_app", "--lua"]);
    assert_eq!((code(&output), stderr(&output).as_str()), (0, ""));
    assert!(stdout(&output).contains("sluss run my_app/my_app_test.lua"), "{}", stdout(&output));
    let output = run_in(&folder, &["run", "my_app/my_app_test.lua"]);
    assert_eq!(
        (code(&output), stdout(&output).as_str(), stderr(&output).as_str()),
        (0, "my_app: all tests passed\n", "")
    );
    let output = run_in(&folder, &["run", "my_app/main.lua", "0.1"]);
    assert_eq!((code(&output), stderr(&output).as_str()), (0, ""));
    assert!(
        stdout(&output).contains("packets were short") && !stdout(&output).contains("\n0 packets"),
        "{}",
        stdout(&output)
    );
    // As its README says of graphs.
    let graph = "links = [\"from.output -> app.input\", \"app.output -> to.input\"]\n[app.from]\ntype = \"source\"\ncount = 10\n\
                 [app.app]\ntype = \"lua\"\nfile = \"my_app/my_app.lua\"\nclass = \"MyApp\"\nargs = { length = 100 }\n[app.to]\ntype = \"sink\"\n";
    std::fs::write(folder.path("net.toml"), graph).expect("a file");
    let output = run_in(&folder, &["run", "net.toml", "--duration", "2s"]);
    assert!(
        code(&output) == 0 && stdout(&output).contains("every packet accounted for"),
        "{}",
        stderr(&output)
    );
    let settings = std::fs::read_to_string(folder.path("my_app/.luarc.json")).expect("it is there");
    let settings: serde_json::Value = serde_json::from_str(&settings).expect("JSON");
    let library = settings["workspace.library"][0].as_str().expect("a folder");
    assert!(folder.path("my_app").join(library).join("core/link.lua").is_file());
    let readme = std::fs::read_to_string(folder.path("my_app/README.md")).expect("it is there");
    assert!(readme.lines().count() <= 12, "{readme}");
}

/// The app in Rust that is made, with its test, under the name that stands for others.
#[path = "../../src/new/rust/lib.rs"]
#[allow(unreachable_pub)] // There it is a crate.
mod my_app;

#[test]
fn the_graph_of_an_app_in_rust_runs() {
    let registry = apps::registry().with::<my_app::MyApp>();
    let text = include_str!("../../src/new/rust/my_app.toml");
    let file = graphfile::GraphFile::parse(text, &registry).expect("a graph");
    let mut engine = engine::Engine::new(engine::Settings::new().expect("settings")).expect("an engine");
    engine.configure(&file.graph).expect("it starts");
    engine.run(|_| true).expect("it runs");
    let report = engine.report();
    engine.stop();
    assert_eq!((report.delivered, &report.drops), (500, &[("short".to_owned(), 500)].into()));
}

/// It takes minutes where none of the crates was checked before.
#[test]
fn an_app_in_rust_is_a_crate_that_compiles() {
    if std::env::var_os("SLUSS_NEW_CARGO").is_none() {
        return common::say(
            "SKIPPED: whether the crate of `sluss new app --rust` compiles: SLUSS_NEW_CARGO is not set",
        );
    }
    let folder = Scratch::new();
    let sluss = root().display().to_string();
    let output = run_in(&folder, &["new", "app", "my_app", "--rust", "--sluss", &sluss]);
    assert_eq!((code(&output), stderr(&output).as_str()), (0, ""));
    let crate_folder = folder.path("my_app");
    // With the versions that the workspace has, for there may be no network.
    std::fs::copy(root().join("Cargo.lock"), crate_folder.join("Cargo.lock")).expect("the lock file");
    let mut check = Command::new(env!("CARGO"));
    check.args(["check", "--offline", "--tests", "--quiet"]).current_dir(&crate_folder);
    check.env("CARGO_TARGET_DIR", root().join("target/new-app")).env_remove("RUSTFLAGS");
    let output = check.output().expect("cargo");
    let told = String::from_utf8_lossy(&output.stderr);
    if told.contains("--offline") && told.contains("no matching package") {
        return common::say(
            "SKIPPED: whether the crate of `sluss new app --rust` compiles: a dependency is not in cargo's cache",
        );
    }
    assert!(output.status.success(), "{told}");
}

#[test]
fn without_sources_the_repository_is_named() {
    let folder = Scratch::new();
    let output = run_in(&folder, &["new", "app", "a1", "--rust"]);
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    let manifest = std::fs::read_to_string(folder.path("a1/Cargo.toml")).expect("it is there");
    assert!(
        manifest
            .contains("engine = { package = \"sluss-engine\", git = \"https://github.com/sluss/sluss\" }"),
        "{manifest}"
    );
    let graph = run_in(&folder, &["run", "--check", "a1/a1.toml"]);
    assert!(stderr(&graph).contains("a1"), "its own type is not one of sluss: {}", stderr(&graph));
}

#[test]
fn nothing_is_overwritten_and_bad_names_are_refused() {
    let folder = Scratch::new();
    std::fs::create_dir(folder.path("there")).expect("a folder");
    std::fs::write(folder.path("file"), "x").expect("a file");
    for (words, told) in [
        (&["there", "--lua"][..], "there is there already"),
        (&["file", "--rust"], "file is there already"),
        (&["../up", "--lua"], "is no name for an app"),
        (&["Upper", "--lua"], "is no name for an app"),
        (&["core", "--lua"], "is a name for something else"),
        (&["x"], "--lua"),
        (&["x", "--lua", "--rust"], "exclude each other"),
        (&["x", "--rust", "--sluss", "there"], "none of sluss's sources"),
    ] {
        let output = run_in(&folder, &[&["new", "app"], words].concat());
        assert_eq!(code(&output), 2, "{words:?}: {}", stderr(&output));
        assert!(stderr(&output).contains(told), "{words:?}: {}", stderr(&output));
    }
    assert_eq!(std::fs::read_dir(folder.path("there")).expect("the folder").count(), 0);
    assert!(!folder.path("x").exists());
}

#[test]
fn annotations_are_written_and_written_again() {
    let folder = Scratch::new();
    for _ in 0..2 {
        let output = run_in(&folder, &["new", "annotations", "types/lua"]);
        assert_eq!((code(&output), stderr(&output).as_str()), (0, ""));
        assert!(stdout(&output).contains("\"workspace.library\": [\"types/lua\"]"), "{}", stdout(&output));
    }
    let text = std::fs::read_to_string(folder.path("types/lua/core/packet.lua")).expect("it is there");
    assert!(text.starts_with("---@meta core.packet\n"));
    std::fs::write(folder.path("types/lua/pf.lua"), "return 1").expect("a file");
    let output = run_in(&folder, &["new", "annotations", "types/lua"]);
    assert_eq!(code(&output), 2);
    assert!(
        stderr(&output).contains("types/lua/pf.lua is there already, and has no annotations"),
        "{}",
        stderr(&output)
    );
}
