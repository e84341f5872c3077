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
            let graph = self.graph(source, Passes::C)?;
            let function = c::function(graph.verified(), name, c::Returns::Flag, source);
            function.map_err(|_| Box::new(Diagnostic::new(Code::Limit, whole(source), TOO_COMPLEX)))
        };
        let function = written().map_err(|diagnostic| Error::new(diagnostic, source.into()))?;
        Ok(format!("{}{function}", self.head(source)))
    }

    /// The comment in front of a function.
    fn head(&self, source: &str) -> String {
        let linktype = self.linktype();
        let what = format!(
            "Made by sluss of this filter for packets of link type {linktype}. Returns 1 where the packet matches, else 0. `data` is the \
             packet from its link-layer header on, of which `captured` bytes are there; `wire_len` is its length on the wire."
        );
        let mut head = String::from("/*\n");
        for line in c::in_comment(source).trim().lines().chain(["", &what]) {
            for row in rows(line) {
                let _ = writeln!(head, " *{}{row}", if row.is_empty() { "" } else { " " });
            }
        }
        head + " */\n"
    }
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
