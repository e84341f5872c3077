//! What people are told of a filter when they ask: what was probably meant by a text that is no filter, what may surprise in one that is,
//! what it means in plain words, and why a packet does not match.
//!
//! ```text
//! advice    an error, and what to write instead     explain   a filter in plain words
//! lint      a filter, and what may surprise         trace     a packet's way through a filter
//! ```
//! Nothing here is on the way from text to code: [`Compiler::compile`] asks for none of it.

pub(crate) mod advice;
pub(crate) mod explain;
pub(crate) mod lint;
pub(crate) mod trace;

use crate::Span;
use crate::clock::Clock;
use crate::compiler::Compiler;
use crate::diag::{Diagnostic, Error};
use crate::ir::tree::Tree;
use crate::lower;
use explain::{Explanation, explain};
use trace::Trace;

impl Compiler {
    /// An error with what to do about it: what was probably meant, if that is a filter that compiles, or what there is to know.
    ///
    /// [`Compiler::compile`] says what is wrong, where, and what could stand there. This looks at the text again, and may find that
    /// it belongs to another language: then the code and the place are others.
    ///
    /// ```
    /// use pflang::{Code, Compiler, LinkType};
    ///
    /// let compiler = Compiler::new(LinkType::EN10MB);
    /// let error = compiler.compile("tcp prot 80").unwrap_err();
    /// assert_eq!(compiler.help(&error).diagnostic.help.as_deref(), Some("did you mean `tcp port 80`?"));
    ///
    /// let error = compiler.compile("tcp.port == 80").unwrap_err();
    /// let helped = compiler.help(&error);
    /// assert_eq!(helped.code(), Code::DisplaySyntax);
    /// assert_eq!(helped.diagnostic.help.as_deref(), Some("as a capture filter: `tcp port 80`"));
    /// ```
    pub fn help(&self, error: &Error) -> Error {
        let found = (*error.diagnostic).clone();
        let Some(test) = error.test else {
            let found = advice::help(self, &error.source, found);
            let helped = Error::new(Box::new(found), error.source.clone());
            return Error { entry: error.entry, ..helped };
        };
        // A test of a program is looked at as a filter.
        let text = test.text(&error.source);
        let inside = |span: Span| {
            Span::new(span.start.saturating_sub(test.start), span.end.saturating_sub(test.start))
        };
        let outside = |span: Span| Span::new(span.start + test.start, span.end + test.start);
        let moved = |mut found: Diagnostic, to: &dyn Fn(Span) -> Span| {
            found.span = to(found.span);
            found.also = found.also.map(|(span, text)| (to(span), text));
            found
        };
        let found = moved(advice::help(self, text, moved(found, &inside)), &outside);
        Error::new(Box::new(found), error.source.clone()).in_test(error.test)
    }

    /// Places where the meaning of a filter may surprise, in the order of the text.
    ///
    /// They are found by compiling parts of the filter: as many as the compiler's [`Limits`](crate::Limits) leave time for, and not more
    /// than people read.
    ///
    /// ```
    /// use pflang::{Code, Compiler, LinkType};
    ///
    /// let compiler = Compiler::new(LinkType::EN10MB);
    /// let lints = compiler.lints("not vlan and udp")?;
    /// assert_eq!(lints[0].code, Code::ShiftsOffsets);
    /// assert!(compiler.lints("udp and not vlan")?.is_empty());
    /// # Ok::<(), pflang::Error>(())
    /// ```
    ///
    /// # Errors
    /// As for [`Compiler::compile`], without the errors of stages after lowering.
    pub fn lints(&self, source: &str) -> Result<Vec<Diagnostic>, Error> {
        lint::lints(self, source, Clock::new(self.limits)).map_err(|found| Error::new(found, source.into()))
    }

    /// The same for each filter of a list, with those filters that never decide.
    ///
    /// ```
    /// use pflang::{Code, Compiler, LinkType};
    ///
    /// let list = [("udp", 1), ("arp", 2), ("udp", 3)];
    /// let lints = Compiler::new(LinkType::EN10MB).lints_of_list(&list)?;
    /// assert_eq!((lints[0].len(), lints[1].len()), (0, 0));
    /// assert_eq!(lints[2][0].code, Code::NeverDecides);
    /// # Ok::<(), pflang::Error>(())
    /// ```
    ///
    /// # Errors
    /// As for [`Compiler::compile_list`].
    pub fn lints_of_list<S: AsRef<str>>(&self, list: &[(S, u32)]) -> Result<Vec<Vec<Diagnostic>>, Error> {
        lint::of_list(self, list)
    }

    /// The same for a pfmatch program: what may surprise in its tests, and clauses that are never reached.
    ///
    /// ```
    /// use pflang::{Code, Compiler, LinkType};
    ///
    /// let program = "match { tcp => a, otherwise => b, udp => c }";
    /// let lints = Compiler::new(LinkType::EN10MB).lints_of_match(program)?;
    /// assert_eq!((lints[0].code, lints[0].span.text(program)), (Code::NeverDecides, "udp => c"));
    /// # Ok::<(), pflang::Error>(())
    /// ```
    ///
    /// # Errors
    /// As for [`Compiler::compile_match`].
    pub fn lints_of_match(&self, source: &str) -> Result<Vec<Diagnostic>, Error> {
        lint::of_program(self, source)
    }

    /// The clauses of a pfmatch program that are never reached, which are among [`Compiler::lints_of_match`], and nothing of its tests.
    ///
    /// ```
    /// use pflang::{Compiler, LinkType};
    ///
    /// let program = "match { tcp and udp => a, tcp => b, tcp => c }";
    /// let unreached = Compiler::new(LinkType::EN10MB).unreached_of_match(program)?;
    /// let texts: Vec<&str> = unreached.iter().map(|lint| lint.span.text(program)).collect();
    /// assert_eq!(texts, ["tcp and udp => a", "tcp => c"]);
    /// # Ok::<(), pflang::Error>(())
    /// ```
    ///
    /// # Errors
    /// As for [`Compiler::compile_match`].
    pub fn unreached_of_match(&self, source: &str) -> Result<Vec<Diagnostic>, Error> {
        lint::unreached_of_program(self, source)
    }

    /// A filter in plain words, with what the names in it stand for, where they are known. Nothing is compiled.
    ///
    /// ```
    /// # use pflang::Compiler;
    /// # use wire::LinkType;
    /// let words = Compiler::new(LinkType::EN10MB).explain("port 53 or icmp")?;
    /// assert_eq!(words.lines[1].text, "the TCP, UDP or SCTP source or destination port is 53");
    /// # Ok::<(), pflang::Error>(())
    /// ```
    ///
    /// # Errors
    /// As the parser's part of [`Compiler::compile`].
    pub fn explain(&self, source: &str) -> Result<Explanation, Error> {
        match self.parse(source) {
            Ok(ast) => Ok(explain(&ast, source, self.linktype(), self.dialect, &*self.names)),
            Err(diagnostic) => Err(Error::new(diagnostic, source.into())),
        }
    }

    /// A pfmatch program in plain words.
    ///
    /// ```
    /// # use pflang::{Compiler, LinkType};
    /// let words = Compiler::new(LinkType::EN10MB).explain_match("match { tcp port 80 => web }")?;
    /// assert_eq!(words.lines[1].text, "if the TCP source or destination port is 80: `web` is called");
    /// # Ok::<(), pflang::Error>(())
    /// ```
    ///
    /// # Errors
    /// As for [`Compiler::compile_match`], without the errors of stages after lowering.
    pub fn explain_match(&self, source: &str) -> Result<Explanation, Error> {
        explain::of_program(self, source)
    }

    /// Why a packet does or does not match: what each primitive asks, and what the answer is.
    ///
    /// ```
    /// use pflang::{Answer, Compiler};
    /// use wire::LinkType;
    ///
    /// let trace = Compiler::new(LinkType::EN10MB).trace("len > 100 or arp", &[0; 60], 60)?;
    /// let step = &trace.primitives[0].steps[0];
    /// assert_eq!((step.question.as_str(), step.wire_len, step.answer), ("len > 100", Some(60), Answer::No));
    /// assert_eq!(trace.primitives[1].holds, Some(false));
    /// assert!(!trace.matches);
    /// # Ok::<(), pflang::Error>(())
    /// ```
    ///
    /// # Errors
    /// As for [`Compiler::compile`], without the errors of stages after lowering.
    pub fn trace(&self, source: &str, data: &[u8], wire_len: u32) -> Result<Trace, Error> {
        let clock = Clock::new(self.limits);
        let traced = self.parse(source).and_then(|ast| {
            let parts = lower::lower_parts(Tree::default(), &ast, &self.lower_options(), None, clock)?;
            Ok(trace::of_parts(&ast, parts, data, wire_len))
        });
        traced.map_err(|diagnostic| Error::new(diagnostic, source.into()))
    }
}
