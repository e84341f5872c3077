//! Functions in C as an engine: many are compiled into one program, which answers all their packets in one run.

use crate::packet::Packet;
use pflang::Compiler;
use std::fmt::Write as _;
use std::io::{self, Write as _};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

/// Reads calls, and writes a byte for each.
const MAIN: &str = "
int main(void)
{
    uint32_t head[3];

    while (fread(head, sizeof head, 1, stdin) == 1) {
        uint8_t *bytes = malloc((size_t)head[2] + 1);

        if (bytes == NULL || fread(bytes + 1, 1, head[2], stdin) != head[2]) return 1;
        putchar(call(head[0], bytes + 1, head[2], head[1]) ? '1' : '0');
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

/// The function of a filter, of which there is one of this number.
pub(crate) fn function(compiler: &Compiler, filter: &str, number: usize) -> Option<String> {
    compiler.to_c(filter, &format!("f{number}")).ok()
}

/// What functions answer, each to its packets.
///
/// # Errors
/// Where `cc` refuses them, or the program fails.
pub(crate) fn answers(functions: &[(String, &[Packet])]) -> io::Result<Vec<Vec<bool>>> {
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
    let mut rest = output.stdout.iter().map(|&byte| byte == b'1');
    Ok(functions.iter().map(|(_, packets)| rest.by_ref().take(packets.len()).collect()).collect())
}

fn text(functions: &[(String, &[Packet])]) -> String {
    let mut text =
        String::from("#include <stddef.h>\n#include <stdint.h>\n#include <stdio.h>\n#include <stdlib.h>\n");
    let mut cases = String::new();
    for (number, (function, _)) in functions.iter().enumerate() {
        text.push_str(function);
        let _ = writeln!(cases, "    case {number}: return f{number}(data, captured, wire_len);");
    }
    let _ = writeln!(
        text,
        "static int call(uint32_t function, const uint8_t *data, size_t captured, uint32_t wire_len)\n{{\n    \
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
