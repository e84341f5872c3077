//! House-keeping of the repository: `cargo xtask COMMAND`.

#![forbid(unsafe_code)]

mod cycles;
mod gallery;
mod house;
mod links;
mod notices;
mod publish;
mod tidy;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

const USAGE: &str = "usage: cargo xtask COMMAND

  tidy      check the architecture's rules: arrows between crates and modules, unsafe islands, licences, pinned differences,
            what published crates need, links between pages, the gallery's pages, the notices of licences; print crates, their rooms
            (modules) and the arrows between them
  gallery   write the book's pages of filters from text to machine code
  notices   write THIRD-PARTY.md: the licences of the crates that sluss is linked from
";

fn main() -> ExitCode {
    let outcome = match std::env::args().nth(1).as_deref() {
        Some("tidy") => tidy::run(&root()),
        Some("gallery") => gallery::run(&root()),
        Some("notices") => notices::run(&root()),
        _ => Err(vec![USAGE.to_owned()]),
    };
    match outcome {
        Ok(report) => {
            println!("{report}");
            ExitCode::SUCCESS
        }
        Err(problems) => {
            problems.iter().for_each(|problem| eprintln!("{problem}"));
            ExitCode::FAILURE
        }
    }
}

/// The root of the repository.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask stands below the root").to_owned()
}
