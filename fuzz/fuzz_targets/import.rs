//! Bytes as rules of another firewall: what is read becomes a program that compiles, what is not is told with its line.
#![no_main]

use wall::import::{Choice, import};

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let Ok(imported) = import(&[text], &Choice::default()) else { return };
    let lines = text.lines().count();
    assert!(imported.problems.iter().all(|problem| (1..=lines).contains(&problem.line)));
    if imported.program.len() < 100_000 {
        pflang::Compiler::new(wire::LinkType::EN10MB).compile_match(&imported.program).expect("a program");
    }
});
