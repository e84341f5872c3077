//! A filter as a function in C, for programs without sluss.

use crate::compiler::{Compiler, whole};
use crate::diag::{Code, Diagnostic, Error};
use crate::opt::Passes;
use decide::internals::c;
use std::fmt::Write;

/// The name of a function in C that is as like the given one as can be: signs that C does not allow become `_`, and where the
/// rest is no name, or one that C keeps for itself, `filter_` comes in front. A name that comes back as it is will do.
///
/// ```
/// assert_eq!(pflang::c_name("tcp_port_80"), "tcp_port_80");
/// assert_eq!(pflang::c_name("tcp-port-80"), "tcp_port_80");
/// assert_eq!(pflang::c_name("int"), "filter_int");
/// ```
pub fn c_name(name: &str) -> String {
    c::identifier(name)
}

impl Compiler {
    /// A filter as the text of one C function, which needs nothing but `<stddef.h>` and `<stdint.h>`:
    ///
    /// ```c
    /// int NAME(const uint8_t *data, size_t captured, uint32_t wire_len)
    /// ```
    ///
    /// It returns 1 for a packet that matches, else 0. `data` is the packet from its link-layer header on, of which
    /// `captured` bytes are there and which was `wire_len` bytes long; no byte behind these is read, and the packet must not be
    /// changed meanwhile. The text is C99 without undefined behaviour, and begins with the filter as a comment. A name
    /// that C does not allow becomes [one like it](c_name).
    ///
    /// ```
    /// use pflang::{Compiler, LinkType};
    ///
    /// let text = Compiler::new(LinkType::EN10MB).to_c("arp", "is_arp")?;
    /// assert!(text.starts_with("/*\n * arp\n"));
    /// assert!(text.contains("int is_arp(const uint8_t *data, size_t captured, uint32_t wire_len)\n{"));
    /// assert!(text.contains("return SLUSS_BE16(data + 12) == 0x806;"));
    /// # Ok::<(), pflang::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Compiler::compile`], and where so many values must be kept at once that no function should have them.
    pub fn to_c(&self, source: &str, name: &str) -> Result<String, Error> {
        let written = || {
            let graph = self.without_tables().graph(source, Passes::C)?;
            let function = c::function(graph.verified(), name, c::Returns::Flag, source);
            function.map_err(|_| Box::new(Diagnostic::new(Code::Limit, whole(source), TOO_COMPLEX)))
        };
        let function = written().map_err(|diagnostic| Error::new(diagnostic, source.into()))?;
        let linktype = self.linktype();
        let what = format!(
            "Made by sluss of this filter for packets of link type {linktype}. Returns 1 where the packet matches, else 0. `data` is the \
             packet from its link-layer header on, of which `captured` bytes are there; `wire_len` is its length on the wire."
        );
        Ok(head(source, &what) + &function)
    }

    /// A pfmatch program as the text of one C function:
    ///
    /// ```c
    /// uint32_t NAME(const uint8_t *data, size_t captured, uint32_t wire_len, const uint32_t *inputs, uint32_t *arguments)
    /// ```
    ///
    /// It returns 0 where no clause takes the packet, else 1 more than the number of the handler, and writes what the handler is called with to
    /// `arguments`, which has room for as many as any handler takes. The comment lists the handlers. Otherwise as [`Compiler::to_c`].
    ///
    /// ```
    /// use pflang::{Compiler, LinkType};
    ///
    /// let text = Compiler::new(LinkType::EN10MB).match_to_c("match { arp => seen(len) }", "which")?;
    /// assert!(text.contains("arguments[0] = wire_len;\n    return 1;\n"));
    /// # Ok::<(), pflang::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Compiler::compile_match`], and where so many values must be kept at once that no function should have them.
    pub fn match_to_c(&self, source: &str, name: &str) -> Result<String, Error> {
        let read = self.without_tables().read_match(source)?;
        let graph = read.graph_with_values(self, Passes::C)?;
        let numbers: Vec<u32> = read.lowered.leaves.iter().map(|(handler, _)| handler).collect();
        let function = c::function(graph.verified(), name, c::Returns::Calls(&numbers), read.text());
        let function = function.map_err(|_| {
            Error::new(Box::new(Diagnostic::new(Code::Limit, whole(source), TOO_COMPLEX)), source.into())
        })?;
        let handlers: Vec<String> =
            (1..).zip(&read.lowered.handlers).map(|(i, name)| format!("{i} {name}")).collect();
        let inputs = read.program.ast.inputs.join(", ");
        let what = format!(
            "Made by sluss of this pfmatch program for packets of link type {}. Returns the number of a handler ({}), or 0 where no clause takes \
             the packet; what the handler is called with is written to `arguments`. `data` is the packet from its link-layer header on, of \
             which `captured` bytes are there; `wire_len` is its length on the wire. `inputs` are: {}.",
            self.linktype(),
            handlers.join(", "),
            if inputs.is_empty() { "none" } else { &inputs },
        );
        Ok(head(source, &what) + &function)
    }
}

/// The comment in front of a function.
fn head(source: &str, what: &str) -> String {
    let mut head = String::from("/*\n");
    for line in c::in_comment(source).trim().lines().chain(["", &c::in_comment(what)]) {
        for row in rows(line) {
            let _ = writeln!(head, " *{}{row}", if row.is_empty() { "" } else { " " });
        }
    }
    head + " */\n"
}

const TOO_COMPLEX: &str = "too many values must be kept at once for a function in C";

/// How long a line of the comment may be; a word alone may be longer.
const WIDTH: usize = 92;

/// A line in rows that are short enough, parted at blanks.
pub(crate) fn rows(line: &str) -> Vec<String> {
    let mut rows = vec![String::new()];
    for word in line.split(' ') {
        match rows.last_mut() {
            Some(row) if row.is_empty() => row.push_str(word),
            Some(row) if row.len() + 1 + word.len() <= WIDTH => {
                row.push(' ');
                row.push_str(word);
            }
            _ => rows.push(word.to_owned()),
        }
    }
    rows
}

#[cfg(test)]
mod tests {
    use crate::{Compiler, LinkType};

    /// Whatever a text contains, nothing of it is outside of comments.
    #[test]
    fn the_filter_stays_in_its_comment() {
        for source in ["ip[0] = 1 # */ int x; /*", "arp # é ??/\n", "arp # \\\n\n", "tcp # *\\\n or udp"] {
            let Ok(text) = Compiler::new(LinkType::EN10MB).to_c(source, "f") else { continue };
            let (head, rest) = text.split_once("*/").unwrap();
            assert!(rest.starts_with("\n#include <stddef.h>"), "{text}");
            assert!(!head[2..].contains("/*") && head.is_ascii(), "{text}");
        }
    }

    #[test]
    fn long_filters_are_wrapped() {
        let source = vec!["host 10.0.0.1"; 50].join(" or ");
        let text = Compiler::new(LinkType::EN10MB).to_c(&source, "f").unwrap();
        let head: Vec<&str> = text.lines().skip(1).take_while(|line| *line != " *").collect();
        assert!(head.len() > 5 && head.iter().all(|line| line.len() <= 100), "{text}");
        let words: Vec<&str> = head.iter().flat_map(|line| line[2..].split_whitespace()).collect();
        assert_eq!(words.join(" "), source);
    }
}
