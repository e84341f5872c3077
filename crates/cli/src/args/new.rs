//! The flags of `sluss new`.

use clap::{Args, Subcommand, ValueHint};
use std::path::PathBuf;

#[derive(Subcommand, Debug)]
pub(crate) enum NewArgs {
    /// Begin an app of your own: a folder with it, its test, and what runs it.
    App(NewAppArgs),
    /// Write the types of Lua's modules, for lua-language-server.
    Annotations(AnnotationsArgs),
}

#[derive(Args, Debug)]
pub(crate) struct NewAppArgs {
    /// Its name, and that of the folder: small letters, digits and `_`.
    #[arg(value_name = "NAME")]
    pub(crate) name: String,
    #[command(flatten)]
    pub(crate) language: LanguageFlags,
    /// With --rust: sluss's sources are here [default: its repository].
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath, requires = "rust")]
    pub(crate) sluss: Option<PathBuf>,
}

#[derive(Args, Debug)]
#[group(required = true, multiple = false)]
pub(crate) struct LanguageFlags {
    /// In Lua: a module, which `sluss run` runs and tests.
    #[arg(long)]
    pub(crate) lua: bool,
    /// In Rust: a crate, with a program that runs graphs.
    #[arg(long)]
    pub(crate) rust: bool,
}

#[derive(Args, Debug)]
pub(crate) struct AnnotationsArgs {
    /// A folder, which is made if need be; files of an earlier time are replaced.
    #[arg(value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) folder: PathBuf,
}
