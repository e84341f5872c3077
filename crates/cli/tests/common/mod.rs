//! Running the command as a user does.

#![allow(dead_code, unreachable_pub)]

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

/// The command with these arguments, without terminal, colour or user configuration.
pub fn sluss(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_sluss"));
    command.args(args).current_dir(root()).env_remove("CLICOLOR_FORCE").stdin(Stdio::null());
    command
}

/// Runs it to its end.
pub fn run(args: &[&str]) -> Output {
    sluss(args).output().expect("the command starts")
}

/// Runs it with bytes on standard input.
pub fn run_with_input(args: &[&str], input: &[u8]) -> Output {
    let mut command = sluss(args);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("the command starts");
    let mut stdin = child.stdin.take().expect("it is piped");
    let input = input.to_vec();
    // The reader may stop early; that is not the writer's failure.
    let writer = std::thread::spawn(move || drop(stdin.write_all(&input)));
    let output = child.wait_with_output().expect("the command ends");
    writer.join().expect("the writer does not panic");
    output
}

/// Sends a process a signal, such as `INT`. A shell has `kill` where no package brings the program.
pub fn signal(child: &Child, name: &str) {
    let kill = format!("kill -{name} {}", child.id());
    assert!(Command::new("sh").args(["-c", &kill]).status().expect("a shell").success(), "{kill}");
}

/// The exit code.
pub fn code(output: &Output) -> i32 {
    output.status.code().expect("it ends by itself")
}

/// What it printed.
pub fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// What it complained about.
pub fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// The root of the repository.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("it exists")
}

/// A folder of this test's own, empty.
pub fn scratch(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    drop(std::fs::remove_dir_all(&path));
    std::fs::create_dir_all(&path).expect("the target folder is writable");
    path
}

/// A path as an argument.
pub fn arg(path: &Path) -> &str {
    path.to_str().expect("test paths are UTF-8")
}

/// Says something past the capture of the test runner, which hides what passing tests print.
pub fn say(text: &str) {
    drop(writeln!(std::io::stderr(), "{text}"));
}
