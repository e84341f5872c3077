//! The worker for nDPI: that it answers, and what happens when it fails.
//!
//! This is a program with a `main` of its own, since the worker is this program run once more.

#[path = "../packets/mod.rs"]
mod packets;

mod answers;
mod faults;
mod processes;

/// A test, and its name.
type Test = (&'static str, fn());

fn main() {
    dpi::worker::enter();
    if std::env::args().any(|argument| argument == "--data-plane") {
        return processes::data_plane();
    }
    let tests = [answers::TESTS, faults::TESTS, processes::TESTS].concat();
    harness(&tests);
}

/// Runs the tests that the command line selects, as libtest does, one after the other.
fn harness(tests: &[Test]) {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments.iter().any(|argument| argument == "--list") {
        tests.iter().for_each(|(name, _)| println!("{name}: test"));
        return;
    }
    let words: Vec<&String> = arguments.iter().filter(|argument| !argument.starts_with('-')).collect();
    let exact = arguments.iter().any(|argument| argument == "--exact");
    let selected = |name: &str| {
        words.is_empty()
            || words.iter().any(|word| if exact { *word == name } else { name.contains(word.as_str()) })
    };
    let mut failed = 0;
    for (name, test) in tests.iter().filter(|(name, _)| selected(name)) {
        let begin = std::time::Instant::now();
        let outcome = std::panic::catch_unwind(test);
        failed += u32::from(outcome.is_err());
        let word = if outcome.is_ok() { "ok" } else { "FAILED" };
        println!("test {name} ... {word} ({:.0?})", begin.elapsed());
    }
    println!("\ntest result: {}. {failed} failed", if failed == 0 { "ok" } else { "FAILED" });
    std::process::exit(if failed == 0 { 0 } else { 101 });
}

/// Whether this build has no nDPI, which is said aloud.
fn absent() -> bool {
    if let Some(why) = dpi::ndpi::absent() {
        println!("SKIPPED: this build has no nDPI ({why})");
    }
    dpi::ndpi::absent().is_some()
}
