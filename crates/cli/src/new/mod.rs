//! `sluss new`: the beginnings of apps, and the types of Lua's modules for editors.

use crate::args::{AnnotationsArgs, NewAppArgs, NewArgs};
use crate::exit::{Failure, Outcome};
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// A file of a template: its path and its text, in both of which `my_app` and `MyApp` stand for the app's name, and `{dependency:…}` for a line of Cargo.toml.
type File = (&'static str, &'static str);

const LUA: &[File] = &[
    ("my_app.lua", include_str!("lua/app.lua")),
    ("my_app_test.lua", include_str!("lua/test.lua")),
    ("main.lua", include_str!("lua/main.lua")),
    ("README.md", include_str!("lua/README.md")),
    (".luarc.json", include_str!("lua/luarc.json")),
];

const RUST: &[File] = &[
    ("Cargo.toml", include_str!("rust/Cargo.toml.in")),
    ("src/lib.rs", include_str!("rust/lib.rs")),
    ("src/main.rs", include_str!("rust/main.rs")),
    ("my_app.toml", include_str!("rust/my_app.toml")),
    ("README.md", include_str!("rust/README.md")),
    (".gitignore", "/target\n"),
];

/// The folder of annotations in that of an app.
const ANNOTATIONS: &str = ".sluss";
/// The first words of a file of annotations.
const META: &str = "---@meta";
const REPOSITORY: &str = env!("CARGO_PKG_REPOSITORY");
const NAME_MAX: usize = 40;

/// Names that Rust, Lua or the modules of programs use for something else.
const TAKEN: &[&str] = &[
    "abstract",
    "alloc",
    "and",
    "arg",
    "as",
    "async",
    "await",
    "bit",
    "break",
    "config",
    "const",
    "core",
    "crate",
    "debug",
    "do",
    "dyn",
    "else",
    "elseif",
    "end",
    "engine",
    "enum",
    "extern",
    "false",
    "ffi",
    "fn",
    "for",
    "function",
    "goto",
    "if",
    "impl",
    "in",
    "io",
    "jit",
    "lib",
    "link",
    "let",
    "local",
    "loop",
    "main",
    "match",
    "math",
    "memory",
    "mod",
    "move",
    "mut",
    "nil",
    "not",
    "or",
    "os",
    "package",
    "packet",
    "proc_macro",
    "pub",
    "ref",
    "repeat",
    "return",
    "self",
    "static",
    "std",
    "string",
    "struct",
    "super",
    "table",
    "test",
    "then",
    "timeline",
    "timer",
    "trait",
    "true",
    "try",
    "type",
    "unsafe",
    "until",
    "use",
    "where",
    "while",
    "yield",
];

/// Runs the command.
pub(crate) fn run(args: &NewArgs) -> Result<Outcome, Failure> {
    match args {
        NewArgs::App(args) => app(args),
        NewArgs::Annotations(args) => annotations(args),
    }
}

fn app(args: &NewAppArgs) -> Result<Outcome, Failure> {
    let name = args.name.as_str();
    check_name(name)?;
    let folder = Path::new(name);
    let sluss = args.sluss.as_deref().map(sources).transpose()?;
    if let Err(error) = fs::create_dir(folder) {
        let failure = match error.kind() {
            io::ErrorKind::AlreadyExists => Failure::user(format_args!("{name} is there already"))
                .help("choose another name, or remove it"),
            _ => Failure::world(format_args!("cannot make the folder {name}: {error}")),
        };
        return Err(failure);
    }
    let files = if args.language.lua { LUA } else { RUST };
    let fill = |text: &str| filled(text, name, sluss.as_deref());
    for (path, text) in files {
        write(&folder.join(fill(path)), &fill(text))?;
    }
    if args.language.lua {
        write_annotations(&folder.join(ANNOTATIONS))?;
    }
    let next = if args.language.lua {
        format!(
            "sluss run {name}/{name}_test.lua    # its test\nsluss run {name}/main.lua        # a network with it"
        )
    } else {
        format!(
            "cd {name}\ncargo test              # its tests\ncargo run {name}.toml    # a network with it"
        )
    };
    say(&format!("{name}/README.md says what there is. To begin:\n\n{next}\n"))
}

/// What is printed at the end.
fn say(text: &str) -> Result<Outcome, Failure> {
    io::stdout()
        .lock()
        .write_all(text.as_bytes())
        .map_err(|error| Failure::writing("standard output", &error))?;
    Ok(Outcome::Done)
}

fn check_name(name: &str) -> Result<(), Failure> {
    let is_letter = |c: char| c.is_ascii_lowercase();
    let is_well_formed = name.starts_with(is_letter)
        && name.chars().all(|c| is_letter(c) || c.is_ascii_digit() || c == '_')
        && name.len() <= NAME_MAX;
    if !is_well_formed {
        let help = format!("a letter, then small letters, digits and `_`, {NAME_MAX} at most: `my_app`");
        return Err(
            Failure::user(format_args!("`{}` is no name for an app", crate::escape::shown(name))).help(help)
        );
    }
    if TAKEN.contains(&name) || name.ends_with("_test") {
        let help = "a word of Rust or Lua, a module of programs, or the name of a test: choose another";
        return Err(Failure::user(format_args!("`{name}` is a name for something else")).help(help));
    }
    Ok(())
}

/// Where sluss's sources are, seen from anywhere.
fn sources(folder: &Path) -> Result<PathBuf, Failure> {
    let name = folder.display();
    let place = folder.canonicalize().map_err(|error| Failure::world(format_args!("{name}: {error}")))?;
    if place.join("crates/engine/Cargo.toml").is_file() {
        return Ok(place);
    }
    Err(Failure::user(format_args!("{name} has none of sluss's sources: no crates/engine")))
}

/// `my_app` as `MyApp`.
fn in_camel_case(name: &str) -> String {
    let word = |word: &str| {
        let (first, rest) = word.split_at(word.len().min(1));
        first.to_uppercase() + rest
    };
    name.split('_').map(word).collect()
}

/// A template's text for an app.
fn filled(text: &str, name: &str, sluss: Option<&Path>) -> String {
    let source = |of_sluss: &str| match sluss {
        Some(folder) => format!("path = {:?}", folder.join("crates").join(of_sluss)),
        None => format!("git = {REPOSITORY:?}"),
    };
    let mut text = text.replace("my_app", name).replace("MyApp", &in_camel_case(name));
    for of_sluss in ["apps", "engine", "graphfile", "io", "testkit"] {
        let source = source(of_sluss);
        let dependency = format!("{of_sluss} = {{ package = \"sluss-{of_sluss}\", {source} }}");
        text = text.replace(&format!("{{dependency:{of_sluss}}}"), &dependency);
    }
    text
}

fn write(path: &Path, text: &str) -> Result<(), Failure> {
    let refused = |error: io::Error| Failure::world(format_args!("cannot write {}: {error}", path.display()));
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).map_err(refused)?;
    }
    fs::write(path, text).map_err(refused)
}

fn annotations(args: &AnnotationsArgs) -> Result<Outcome, Failure> {
    let count = write_annotations(&args.folder)?;
    say(&format!(
        "{count} files in {0}. In .luarc.json:\n\n{{ \"runtime.version\": \"LuaJIT\", \"workspace.library\": [{0:?}] }}\n",
        args.folder.display().to_string()
    ))
}

/// Writes the files. Returns how many.
fn write_annotations(folder: &Path) -> Result<usize, Failure> {
    // First whether all can be written: none is, if one cannot.
    for (path, _) in lua::ANNOTATIONS {
        let path = folder.join(path);
        match fs::read_to_string(&path) {
            Ok(text) if !text.starts_with(META) => {
                return Err(Failure::user(format_args!(
                    "{} is there already, and has no annotations",
                    path.display()
                ))
                .help("name a folder of their own"));
            }
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(Failure::world(format_args!("{}: {error}", path.display())));
            }
            _ => {}
        }
    }
    for (path, text) in lua::ANNOTATIONS {
        write(&folder.join(path), text)?;
    }
    Ok(lua::ANNOTATIONS.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_cannot_be_are_refused() {
        for name in ["dedup", "my_app", "a1", "http2_filter"] {
            check_name(name).unwrap_or_else(|failure| panic!("{name}: {:?}", failure.message));
        }
        for name in [
            "",
            "1a",
            "My",
            "a-b",
            "a b",
            "../a",
            "a/b",
            "_a",
            "self",
            "core",
            "end",
            "x_test",
            "ä",
            &"a".repeat(41),
        ] {
            assert!(check_name(name).is_err(), "{name}");
        }
    }

    #[test]
    fn every_place_of_a_template_is_filled() {
        for (path, text) in LUA.iter().chain(RUST) {
            for text in [path, text] {
                let text = filled(text, "other", None);
                let is_filled = ["my_app", "MyApp", "{dependency"].iter().all(|place| !text.contains(place));
                assert!(is_filled, "{path}\n{text}");
            }
        }
        assert_eq!(filled("MyApp my_app", "an_app2", None), "AnApp2 an_app2");
    }
}
