//! Functions in C: compiled with warnings as errors, and called, by the C compiler of this machine.
//!
//! Each packet lies in memory of its own size, so that the sanitisers see every byte that is read behind it.

use crate::files::Scratch;
use std::fmt::Write as _;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

/// What the compiler is told, and with the sanitisers.
const STRICT: [&str; 7] = ["-std=c99", "-pedantic", "-Wall", "-Wextra", "-Werror", "-O2", "-c"];
const SANITISED: [&str; 6] =
    ["-std=c99", "-O1", "-g0", "-fsanitize=undefined,address", "-fno-sanitize-recover=all", "-c"];
/// Functions in one file, so that several compilers can be at work.
const FUNCTIONS_PER_FILE: usize = 128;

/// Functions that were compiled, ready to be called.
#[derive(Debug)]
pub struct Functions {
    scratch: Scratch,
    /// Programs that take calls, with what they were compiled as.
    programs: Vec<(&'static str, PathBuf)>,
}

/// Which function is called for which packet.
#[derive(Clone, Copy, Debug)]
pub struct Call<'p> {
    /// The number of the function.
    pub function: usize,
    /// The captured bytes.
    pub data: &'p [u8],
    /// The length on the wire.
    pub wire_len: u32,
}

impl Functions {
    /// Compiles functions, each a name and a text; `None`, said aloud, where there is no C compiler.
    ///
    /// # Panics
    /// Where the compiler refuses one or warns of it.
    pub fn compile(what: &str, functions: &[(String, String)]) -> Option<Functions> {
        if Command::new("cc").arg("--version").output().is_err() {
            crate::say(format_args!("SKIPPED: {what}: there is no C compiler `cc`"));
            return None;
        }
        let scratch = Scratch::new();
        let files: Vec<PathBuf> = functions
            .chunks(FUNCTIONS_PER_FILE)
            .enumerate()
            .map(|(i, chunk)| {
                let text: String = chunk.iter().map(|(_, text)| format!("{text}\n")).collect();
                scratch.file(&format!("functions{i}.c"), text.as_bytes())
            })
            .chain([scratch.file("main.c", main(functions).as_bytes())])
            .collect();
        let mut programs = Vec::new();
        if can_sanitise(&scratch) {
            programs.push(("with sanitisers", build(&scratch, "sanitised", &files, &SANITISED)));
        } else {
            crate::say(format_args!("SKIPPED: {what}, with sanitisers: `cc` has none"));
        }
        programs.push(("optimised", build(&scratch, "strict", &files, &STRICT)));
        Some(Functions { scratch, programs })
    }

    /// What each call returns, by each of the ways in which the functions were compiled.
    ///
    /// # Panics
    /// Where a function crashes, or a sanitiser objects to it.
    pub fn run(&self, calls: &[Call<'_>]) -> Vec<(&'static str, Vec<u32>)> {
        let mut input = Vec::new();
        for call in calls {
            for number in [call.function as u32, call.wire_len, call.data.len() as u32] {
                input.extend(number.to_ne_bytes());
            }
            input.extend(call.data);
        }
        let input = self.scratch.file("calls", &input);
        let answers = |(how, program): &(&'static str, PathBuf)| {
            let calls = std::fs::File::open(&input).expect("just written");
            let output = Command::new(program).stdin(calls).output().expect("just compiled");
            let said = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "{how}: {}\n{said}", output.status);
            let answers =
                output.stdout.chunks_exact(4).map(|word| u32::from_ne_bytes(word.try_into().expect("four")));
            (*how, answers.collect())
        };
        self.programs.iter().map(answers).collect()
    }
}

/// A program that reads calls and writes what they return.
fn main(functions: &[(String, String)]) -> String {
    let mut text = String::from(
        "#include <stddef.h>\n#include <stdint.h>\n#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n\n",
    );
    // With the types that they have: this file is compiled without their text.
    let mut cases = String::new();
    for (i, (name, function)) in functions.iter().enumerate() {
        let head = function.lines().find(|line| line.contains(&format!(" {name}(const uint8_t")));
        let head = head.unwrap_or_else(|| panic!("{name} is not in its text:\n{function}"));
        let _ = writeln!(text, "{head};");
        let _ = writeln!(cases, "    case {i}: return (uint32_t){name}(data, captured, wire_len);");
    }
    let _ = writeln!(
        text,
        "\nstatic uint32_t call(uint32_t function, const uint8_t *data, size_t captured, uint32_t wire_len)\n{{\n    \
         switch (function) {{\n{cases}    default: abort();\n    }}\n}}"
    );
    text.push_str(
        "
int main(void)
{
    uint32_t head[3];

    while (fread(head, sizeof head, 1, stdin) == 1) {
        /* A byte in front, since nothing may be had of no bytes; and not where words begin. */
        uint8_t *bytes = malloc((size_t)head[2] + 1);
        uint32_t answer;

        if (bytes == NULL || fread(bytes + 1, 1, head[2], stdin) != head[2]) return 1;
        answer = call(head[0], bytes + 1, head[2], head[1]);
        if (fwrite(&answer, sizeof answer, 1, stdout) != 1) return 1;
        free(bytes);
    }
    return fflush(stdout) == 0 ? 0 : 1;
}
",
    );
    text
}

fn can_sanitise(scratch: &Scratch) -> bool {
    let source = scratch.file("empty.c", b"int main(void) { return 0; }\n");
    let program = scratch.path("empty");
    let linked = Command::new("cc")
        .args(["-fsanitize=undefined,address", "-o"])
        .args([&program, &source])
        .stderr(Stdio::null())
        .status();
    linked.is_ok_and(|status| status.success())
        && Command::new(program).status().is_ok_and(|ran| ran.success())
}

/// Compiles each file, several at once, and links them.
fn build(scratch: &Scratch, name: &str, files: &[PathBuf], flags: &[&str]) -> PathBuf {
    let objects: Vec<PathBuf> = (0..files.len()).map(|i| scratch.path(&format!("{name}{i}.o"))).collect();
    let jobs: Vec<_> = files.iter().zip(&objects).collect();
    for some in jobs.chunks(std::thread::available_parallelism().map_or(1, usize::from)) {
        let compile = |(source, object): &(&PathBuf, &PathBuf)| {
            Command::new("cc").args(flags).arg("-o").args([object, source]).stderr(Stdio::piped()).spawn()
        };
        let running: Vec<Child> = some.iter().map(|job| compile(job).expect("`cc` is there")).collect();
        for child in running {
            let output = child.wait_with_output().expect("`cc` ends");
            let said = String::from_utf8_lossy(&output.stderr);
            let said: String = said.lines().take(60).map(|line| format!("{line}\n")).collect();
            assert!(output.status.success() && said.is_empty(), "{flags:?}:\n{said}");
        }
    }
    let program = scratch.path(name);
    let sanitise = flags.iter().filter(|flag| flag.starts_with("-fsanitize="));
    let output = Command::new("cc").args(sanitise).arg("-o").arg(&program).args(&objects).output();
    let output = output.expect("`cc` is there");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    program
}
