//! Functions in C as an engine: many are compiled into one program, which answers all their packets in one run.

use crate::answer::Answer;
use crate::packet::Packet;
use crate::subject::Subject;
use pflang::Compiler;
use std::fmt::Write as _;
use std::io::{self, Write as _};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

/// Reads calls, and writes a line for each.
const MAIN: &str = "
int main(void)
{
    uint32_t head[3];

    while (fread(head, sizeof head, 1, stdin) == 1) {
        uint8_t *bytes = malloc((size_t)head[2] + 1);

        if (bytes == NULL || fread(bytes + 1, 1, head[2], stdin) != head[2]) return 1;
        call(head[0], bytes + 1, head[2], head[1]);
        free(bytes);
    }
    return fflush(stdout) == 0 ? 0 : 1;
}
";

/// Whether there is a C compiler `cc`.
pub(crate) fn is_present() -> bool {
    let output = Command::new("cc").arg("--version").output();
    output.is_ok_and(|output| output.status.success())
}

/// A function of a number of its own.
pub(crate) struct Function {
    text: String,
    /// Of a program, by their numbers.
    handlers: Vec<String>,
}

/// The function of a subject, of which there is one of this number.
pub(crate) fn function(compiler: &Compiler, subject: &Subject, number: usize) -> Option<Function> {
    let (source, name) = (&subject.text, format!("f{number}"));
    if !subject.is_program() {
        let said = format!(
            "static void g{number}(ARGUMENTS)\n{{\n    puts({name}(data, captured, wire_len) ? \"1\" : \"0\");\n}}\n"
        );
        let text = compiler.to_c(source, &name).ok()? + &said;
        return Some(Function { text, handlers: Vec::new() });
    }
    let text = compiler.match_to_c(source, &name).ok()?;
    // What is written is the same whatever was there before.
    let count = text.matches("arguments[").count() + 1;
    let said = format!(
        "static void g{number}(ARGUMENTS)\n{{\n    uint32_t a[{count}], b[{count}], k;\n    memset(a, 0, sizeof a);\n    memset(b, 255, sizeof b);\n    \
         {name}(data, captured, wire_len, NULL, a);\n    printf(\"%u\", {name}(data, captured, wire_len, NULL, b));\n    \
         for (k = 0; k < {count} && a[k] == b[k]; k++) printf(\" %u\", a[k]);\n    puts(\"\");\n}}\n"
    );
    let handlers = compiler.parts_of_match(source).ok()?.handlers;
    Some(Function { text: text + &said, handlers })
}

impl Function {
    /// What a line says.
    fn answer(&self, line: &str) -> Answer {
        let mut numbers = line.split(' ');
        let number: usize = numbers.next().and_then(|number| number.parse().ok()).unwrap_or_default();
        match (number.checked_sub(1), self.handlers.is_empty()) {
            (None, _) => Answer::Rejects,
            (Some(_), true) => Answer::Accepts,
            (Some(handler), false) => {
                let arguments = numbers.collect::<Vec<_>>().join(",");
                let name = self.handlers.get(handler).map_or("", String::as_str);
                let call = if arguments.is_empty() { name.into() } else { format!("{name}({arguments})") };
                Answer::Calls(call.into())
            }
        }
    }
}

/// What functions answer, each to its packets.
///
/// # Errors
/// Where `cc` refuses them, or the program fails.
pub(crate) fn answers(functions: &[(Function, &[Packet])]) -> io::Result<Vec<Vec<Answer>>> {
    let folder = Folder::new()?;
    let (source, program) = (folder.0.join("filters.c"), folder.0.join("filters"));
    std::fs::write(&source, text(functions))?;
    let compiled =
        Command::new("cc").args(["-std=c99", "-O1", "-w", "-o"]).args([&program, &source]).output()?;
    if !compiled.status.success() {
        return Err(io::Error::other(format!("cc: {}", String::from_utf8_lossy(&compiled.stderr))));
    }

    // The calls, one behind the other.
    let mut calls = Vec::new();
    for (number, (_, packets)) in functions.iter().enumerate() {
        for packet in *packets {
            for word in [number as u32, packet.wire_len, packet.bytes.len() as u32] {
                calls.extend(word.to_ne_bytes());
            }
            calls.extend(&packet.bytes);
        }
    }
    let mut child = Command::new(&program).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
    let stdin = child.stdin.take();
    let writer = std::thread::spawn(move || stdin.map_or(Ok(()), |mut stdin| stdin.write_all(&calls)));
    let output = child.wait_with_output()?;
    let written = writer.join().unwrap_or(Ok(()));
    if !output.status.success() {
        return Err(io::Error::other(format!("functions in C: {}", output.status)));
    }
    written?;
    let text = String::from_utf8_lossy(&output.stdout);
    let mut lines = text.lines();
    let mut answers = |(function, packets): &(Function, &[Packet])| {
        lines.by_ref().take(packets.len()).map(|line| function.answer(line)).collect()
    };
    Ok(functions.iter().map(&mut answers).collect())
}

fn text(functions: &[(Function, &[Packet])]) -> String {
    let mut text = String::from(
        "#include <stddef.h>\n#include <stdint.h>\n#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n\
         #define ARGUMENTS const uint8_t *data, size_t captured, uint32_t wire_len\n",
    );
    let mut cases = String::new();
    for (number, (function, _)) in functions.iter().enumerate() {
        text.push_str(&function.text);
        let _ = writeln!(cases, "    case {number}: g{number}(data, captured, wire_len); return;");
    }
    let _ = writeln!(
        text,
        "static void call(uint32_t function, ARGUMENTS)\n{{\n    \
         switch (function) {{\n{cases}    default: abort();\n    }}\n}}{MAIN}"
    );
    text
}

/// A folder that is removed in the end.
struct Folder(PathBuf);

impl Folder {
    fn new() -> io::Result<Folder> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let folder = std::env::temp_dir().join(format!("sluss-quickcheck-{}-{number}", std::process::id()));
        std::fs::create_dir(&folder)?;
        Ok(Folder(folder))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // What stays is in the folder for temporary files.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
