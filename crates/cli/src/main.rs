//! The `sluss` command.

#![forbid(unsafe_code)]

use std::process::ExitCode;

fn main() -> ExitCode {
    sluss::main(sluss::registry())
}
