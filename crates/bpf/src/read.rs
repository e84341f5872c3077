//! Programs from text or bytes, in whichever format.
//!
//! ```text
//! any control code, or what is no UTF-8             raw struct sock_filter
//! `{`, whatever comes before and between            an array in C
//! `(000) ldh [12]`                                  a listing        (listing.rs)
//! `4` and a line for each instruction               tcpdump -ddd
//! `4,40 0 0 12,…`                                   bpf_asm, xt_bpf
//! ```

mod listing;

use crate::{Error, ErrorKind, Insn, Program};

/// So many instructions are read; the kernel takes 4096.
const INSNS_MAX: usize = 1 << 20;

const FORMATS: &str = "a program is what `tcpdump -ddd`, `-dd` or `-d` prints, what bpf_asm prints (`N,code jt jf k,…`), or raw struct sock_filter";

/// Reads a program in any [`Format`](crate::Format), which is found out.
///
/// ```
/// let listing = b"(000) ldh      [12]\n(001) jeq      #0x806           jt 2\tjf 3\n(002) ret      #262144\n(003) ret      #0\n";
/// let program = bpf::read(listing)?;
/// assert_eq!(program, bpf::read(b"4,40 0 0 12,21 0 1 2054,6 0 0 262144,6 0 0 0")?);
///
/// let error = bpf::read(b"(000) ldh      [12]\n(001) jump     2\n").unwrap_err();
/// assert_eq!(error.to_string(), "line 2: `jump` is no instruction of BPF");
/// # Ok::<(), bpf::Error>(())
/// ```
///
/// # Errors
/// [`ErrorKind::Text`], with the line.
pub fn read(bytes: &[u8]) -> Result<Program, Error> {
    // The code of an instruction has a byte that is 0.
    let is_text = |c: char| !c.is_control() || c.is_ascii_whitespace();
    let insns = match std::str::from_utf8(bytes) {
        Ok(text) if text.chars().all(is_text) => from_text(text)?,
        _ => raw(bytes)?,
    };
    if insns.is_empty() {
        return Err(Error::whole(ErrorKind::Text, "the program is empty").with_help(FORMATS));
    }
    if insns.len() > INSNS_MAX {
        let message = format!("{} instructions, of which {INSNS_MAX} are read", insns.len());
        return Err(Error::whole(ErrorKind::TooLarge, message));
    }
    Ok(Program::from(insns))
}

fn from_text(text: &str) -> Result<Vec<Insn>, Error> {
    let first = text.trim_start();
    match first.as_bytes().first() {
        None => Ok(Vec::new()),
        Some(b'(') => listing::read(text),
        Some(_) if text.contains('{') => c_array(text),
        Some(b'0'..=b'9') => decimal(text),
        Some(_) => {
            let word = first.split([' ', ',', '\n']).next().unwrap_or_default();
            let message = format!("`{}` begins no program", shortened(word));
            Err(Error::on_line(line_of(text, first), message).with_help(FORMATS))
        }
    }
}

fn raw(bytes: &[u8]) -> Result<Vec<Insn>, Error> {
    if !bytes.len().is_multiple_of(8) {
        let message = format!(
            "{} bytes that are no text are no raw program: struct sock_filter has 8 bytes",
            bytes.len()
        );
        return Err(Error::whole(ErrorKind::Text, message).with_help(FORMATS));
    }
    let insn = |insn: &[u8]| Insn {
        code: u16::from_ne_bytes([insn[0], insn[1]]),
        jt: insn[2],
        jf: insn[3],
        k: u32::from_ne_bytes([insn[4], insn[5], insn[6], insn[7]]),
    };
    Ok(bytes.chunks_exact(8).map(insn).collect())
}

/// `4`, a comma or the end of a line, and so many times four numbers.
fn decimal(text: &str) -> Result<Vec<Insn>, Error> {
    let separators = |c| c == '\n' || c == ',';
    let mut entries = text.split(separators).map(str::trim).filter(|entry| !entry.is_empty());
    let head = entries.next().unwrap_or_default();
    let count: usize = head.parse().map_err(|_| {
        let message =
            format!("`{}` is no number of instructions, with which a program begins", shortened(head));
        Error::on_line(line_of(text, head), message).with_help(FORMATS)
    })?;
    let mut insns = Vec::new();
    for entry in entries {
        let line = || line_of(text, entry);
        let words: Vec<&str> = entry.split_whitespace().collect();
        let &[code, jt, jf, k] = words.as_slice() else {
            let message = format!("`{}` are not four numbers: code, jt, jf and k", shortened(entry));
            return Err(Error::on_line(line(), message));
        };
        insns.push(insn([code, jt, jf, k], line)?);
    }
    if insns.len() == count {
        return Ok(insns);
    }
    let message = format!("{} instructions, of {count} that the program announces", insns.len());
    Err(Error::whole(ErrorKind::Text, message).with_help("has all of it been copied?"))
}

/// Four numbers between braces, as often as there are such; further braces, names and comments around them do not matter.
fn c_array(text: &str) -> Result<Vec<Insn>, Error> {
    let mut insns = Vec::new();
    let mut rest = text;
    while let Some(end) = rest.find('}') {
        let inside = &rest[..end];
        rest = &rest[end + 1..];
        // The brace of the array closes behind all of its elements.
        let Some(start) = inside.rfind('{') else { continue };
        let words: Vec<&str> = inside[start + 1..].split(',').map(str::trim).collect();
        let words = match words.as_slice() {
            [words @ .., ""] => words,
            words => words,
        };
        let line = || line_of(text, &inside[start..]);
        let &[code, jt, jf, k] = words else {
            let message =
                format!("`{{{}}}` has not four numbers: code, jt, jf and k", shortened(&inside[start + 1..]));
            return Err(Error::on_line(line(), message));
        };
        insns.push(insn([code, jt, jf, k], line)?);
    }
    if insns.is_empty() {
        let message = "braces, but no instruction `{ code, jt, jf, k }`";
        return Err(Error::whole(ErrorKind::Text, message).with_help(FORMATS));
    }
    Ok(insns)
}

/// An instruction from its numbers, which stand on `line`.
fn insn([code, jt, jf, k]: [&str; 4], line: impl Fn() -> usize) -> Result<Insn, Error> {
    let told = |message| Error::on_line(line(), message);
    Ok(Insn {
        code: number(code, u16::MAX.into()).map_err(told)? as u16,
        jt: number(jt, u8::MAX.into()).map_err(told)? as u8,
        jf: number(jf, u8::MAX.into()).map_err(told)? as u8,
        k: number(k, u32::MAX).map_err(told)?,
    })
}

/// A number in decimal, or in hexadecimal behind `0x`; of 32 bits also with a sign.
fn number(word: &str, max: u32) -> Result<u32, String> {
    let digits = word.trim_end_matches(['u', 'U']);
    let found = match digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X")) {
        Some(hex) => u32::from_str_radix(hex, 16).ok().filter(|_| !hex.starts_with('+')),
        None => digits.parse().ok().or_else(|| {
            let signed = digits.parse::<i32>().ok().filter(|_| max == u32::MAX);
            signed.map(|signed| signed as u32)
        }),
    };
    let found = found.filter(|found| *found <= max && !digits.starts_with('+'));
    found.ok_or_else(|| format!("`{}` is no number from 0 to {max}", shortened(word)))
}

/// The number of the line on which a part of a text begins.
fn line_of(text: &str, part: &str) -> usize {
    let before = part.as_ptr() as usize - text.as_ptr() as usize;
    1 + text.as_bytes()[..before].iter().filter(|byte| **byte == b'\n').count()
}

/// What is shown of a text that is not understood.
fn shortened(text: &str) -> String {
    const LONGEST: usize = 40;
    let line = text.split('\n').next().unwrap_or_default();
    match line.char_indices().nth(LONGEST) {
        None => line.to_owned(),
        Some((end, _)) => format!("{}…", &line[..end]),
    }
}
