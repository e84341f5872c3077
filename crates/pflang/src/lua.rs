//! A filter as a chunk of Lua, for programs on LuaJIT without sluss.

use crate::c::rows;
use crate::compiler::{Compiler, whole};
use crate::diag::{Code, Diagnostic, Error};
use crate::opt::Passes;
use decide::internals::lua;
use std::fmt::Write;

impl Compiler {
    /// A filter as the text of a chunk for LuaJIT, which returns `function(P, length)`: whether the packet matches.
    ///
    /// `P` is a `uint8_t` pointer or array, of which all `length` bytes are the packet, from its link-layer header on; no byte behind
    /// these is read, and the packet must not be changed meanwhile. The chunk needs LuaJIT on a little-endian machine, and sets
    /// no globals; the function makes no garbage. The text begins with the filter as a comment.
    ///
    /// ```
    /// use pflang::{Compiler, LinkType};
    ///
    /// let text = Compiler::new(LinkType::EN10MB).to_lua("arp")?;
    /// assert!(text.starts_with("-- arp\n"));
    /// assert!(text.ends_with("   return cast(\"uint16_t*\", P + 12)[0] == 0x608\nend\n"));
    /// # Ok::<(), pflang::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Compiler::compile`], and where so many values must be kept at once that no function should have them.
    pub fn to_lua(&self, source: &str) -> Result<String, Error> {
        let written = || {
            let graph = self.without_tables().graph(source, Passes::LUA)?;
            let chunk = lua::chunk(graph.verified(), lua::Answers::Flag, &[], source);
            chunk.map_err(|_| Box::new(Diagnostic::new(Code::Limit, whole(source), TOO_COMPLEX)))
        };
        let chunk = written().map_err(|diagnostic| Error::new(diagnostic, source.into()))?;
        let what = "of this filter, for packets of link type {}. Returns function(P, length): whether the packet matches, of which P \
                    points to all length bytes, from its link-layer header on.";
        Ok(self.lua_head(source, what) + &chunk)
    }

    /// A pfmatch program as the text of a chunk for LuaJIT, which returns `function(self, P, length, …)`: what
    /// `self.handler(P, length, ARG, …)` returns, called last, or nil where no clause takes the packet. `…` are the inputs of the program, numbers below
    /// 2^32, in their order. Otherwise as [`Compiler::to_lua`].
    ///
    /// ```
    /// use pflang::{Compiler, LinkType};
    ///
    /// let text = Compiler::new(LinkType::EN10MB).match_to_lua("match (mark) { arp => seen(mark, 1) }")?;
    /// assert!(text.contains("return function(self, P, length, mark)\n"));
    /// assert!(text.contains("return self.seen(P, length, mark, 1)\n"));
    /// # Ok::<(), pflang::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Compiler::compile_match`], and where so many values must be kept at once that no function should have them.
    pub fn match_to_lua(&self, source: &str) -> Result<String, Error> {
        let read = self.without_tables().read_match(source)?;
        let graph = read.graph_with_values(self, Passes::LUA)?;
        let handlers = &read.lowered.handlers;
        let of_leaves: Vec<&str> =
            read.lowered.leaves.iter().map(|(handler, _)| handlers[handler as usize].as_str()).collect();
        let answers = lua::Answers::Calls(&of_leaves);
        let chunk =
            lua::chunk(graph.verified(), answers, &read.program.ast.inputs, read.text()).map_err(|_| {
                Error::new(Box::new(Diagnostic::new(Code::Limit, whole(source), TOO_COMPLEX)), source.into())
            })?;
        let what = "of this pfmatch program, for packets of link type {}. Returns function(self, P, length, ...), which calls \
                    self.handler(P, length, ARG, ...) and returns what it returns, or nil where no clause takes the packet, of which P points to \
                    all length bytes, from its link-layer header on. Behind length come the inputs of the program.";
        Ok(self.lua_head(source, what) + &chunk)
    }

    /// The comment in front of a chunk.
    fn lua_head(&self, source: &str, what: &str) -> String {
        let what = format!("Made by sluss {}", what.replace("{}", &self.linktype().to_string()));
        let mut text = String::new();
        for line in lua::in_comment(source).trim().lines().chain(["", &what]) {
            for row in rows(line) {
                let _ = writeln!(text, "--{}{row}", if row.is_empty() { "" } else { " " });
            }
        }
        text
    }
}

const TOO_COMPLEX: &str = "too many values must be kept at once for a function in Lua";

#[cfg(test)]
mod tests {
    use crate::{Compiler, LinkType};

    /// Whatever a text contains, nothing of it is outside of comments.
    #[test]
    fn the_filter_stays_in_its_comment() {
        for source in ["arp # [[ ]]\nor rarp", "arp # [==[ \u{e9} \r x", "arp # \u{85} os.exit()"] {
            let Ok(text) = Compiler::new(LinkType::EN10MB).to_lua(source) else { continue };
            let (head, _) = text.split_once("local ffi").unwrap();
            assert!(
                head.is_ascii() && head.lines().all(|line| line == "--" || line.starts_with("-- ")),
                "{text}"
            );
        }
    }

    /// What is a guard stays before them.
    #[test]
    fn tests_that_must_all_hold_are_one_test() {
        let text = Compiler::new(LinkType::EN10MB).to_lua("icmp").unwrap();
        assert!(text.contains("if length < 24 then return false end"), "{text}");
        let joined = "return bor(bxor(cast(\"uint16_t*\", P + 12)[0], 8), bxor(P[23], 1)) == 0";
        assert!(text.contains(joined), "{text}");
    }
}
