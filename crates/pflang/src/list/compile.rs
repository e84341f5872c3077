//! From the texts of an ordered list of filters to what runs.
//!
//! ```text
//! each entry:   text -> AST -> its part of one lowered tree        parsed and lowered as if it stood alone
//! the list:     tree, roots -> graph -> optimised -> code          one entry's `no` is the next one's beginning
//! ```
//! The texts are put together, one after the other, so that a span of the tree or the graph means one place. What is said
//! about an entry is said with its own text and spans; here is where the one is made of the other.

use super::{FilterList, Stored};
use crate::Span;
use crate::classifier::{Divided, OutsideLeaves, Tables};
use crate::clock::{Clock, worded};
use crate::compiler::{Compiler, whole};
use crate::diag::{Diagnostic, Error};
use crate::ir::REJECT;
use crate::ir::tree::Clause;
use crate::ir::verify::Checked;
use crate::lower::{self, LoweredProgram};
use crate::syntax::ast::Ast;
use crate::syntax::parse;
use decide::Decision;
use std::collections::HashSet;

#[cfg(test)]
mod tests;

impl Compiler {
    /// Compiles an ordered list of filters, each with its answer, into one decision: the first that matches decides.
    ///
    /// Answers may be shared, and the fewer there are, the more the filters can be merged. Give them numbers from 1:
    /// [`FilterList::NONE`], 0, means that there is no answer. The limits hold for the list as a whole, except the depth of
    /// nesting.
    ///
    /// ```
    /// # use pflang::Compiler;
    /// # use wire::LinkType;
    /// let compiler = Compiler::new(LinkType::EN10MB);
    /// let list = compiler.compile_list(&[("src host 192.0.2.1", 7), ("udp port 53", 9)])?;
    /// assert_eq!(list.entries().nth(1).map(|entry| entry.answer), Some(9));
    ///
    /// let error = compiler.compile_list(&[("arp", 1), ("tcp prot 80", 2)]).unwrap_err();
    /// assert_eq!(error.entry, Some(1));
    /// assert_eq!(error.span().text(&error.source), "prot");
    /// # Ok::<(), pflang::Error>(())
    /// ```
    ///
    /// # Errors
    /// The first error in one of the texts, with its entry and place; or that the list is too large.
    pub fn compile_list<S: AsRef<str>>(&self, list: &[(S, u32)]) -> Result<FilterList, Error> {
        if let Some(list) = self.list_looked_up(list) {
            return Ok(list);
        }
        let mut joined = Joined::of(self, list)?;
        let graph = joined.graph()?;
        joined.compile(graph)
    }

    /// A list of many filters, which are looked up as far as they can be. `None` for all other lists, and where something is wrong: who compiles it the
    /// ordinary way is told what.
    fn list_looked_up<S: AsRef<str>>(&self, list: &[(S, u32)]) -> Option<FilterList> {
        if !self.may_look_up_of(list.len()) {
            return None;
        }
        let empty = Joined::of::<S>(self, &[]).ok()?;
        let (mut asts, mut terms, mut len) = (Vec::with_capacity(list.len()), 0, 0);
        for (source, _) in list {
            let source = source.as_ref();
            self.limits.check_source(len + source.len(), "list").ok()?;
            let ast = parse::parse_behind(source, &self.dialect, &self.limits, terms).ok()?;
            (terms, len) = (ast.terms, len + source.len() + 1);
            asts.push(ast);
        }
        let unknown = HashSet::new();
        let divided = Divided::list(self, asts.iter().map(|ast| (ast, ast.root)), &unknown)?;
        let mut joined = empty;
        let mut outside = OutsideLeaves::default();
        for (at, ((source, answer), ast)) in list.iter().zip(&asts).enumerate() {
            let source = source.as_ref();
            if divided.is_outside(at) {
                joined.lower(source, ast, outside.number(divided.before(at), *answer)).ok()?;
            }
            joined.note(source, *answer);
        }
        let leaf = |line: usize| list[line].1;
        let outside = outside.into_leaves();
        let (clock, mut graph) = (joined.clock, joined.graph().ok()?);
        let default = divided.default(&graph, &outside);
        let switch = default.map(|default| divided.switch(self, clock, leaf, (REJECT, default), &[]));
        let tables = match switch.transpose().ok()?.flatten() {
            Some((switch, looked_up)) => {
                graph = switch;
                Tables::Switch(looked_up)
            }
            None => Tables::Classifier(Box::new(
                divided.build(self, clock, leaf, REJECT, outside).ok().flatten()?,
            )),
        };
        let decision = Decision::of_checked(graph, &self.decide_options()).ok()?;
        Some(FilterList::new(joined.text, joined.entries, self.linktype(), decision, tables))
    }

    /// The graph that decides a list.
    pub(crate) fn graph_of_list<S: AsRef<str>>(&self, list: &[(S, u32)]) -> Result<Checked, Error> {
        Joined::of(self, list)?.graph()
    }
}

/// The entries so far, joined: a program whose clauses have answers in the place of handlers.
struct Joined<'c> {
    compiler: &'c Compiler,
    clock: Clock,
    text: String,
    entries: Vec<Stored>,
    lowered: LoweredProgram,
}

impl<'c> Joined<'c> {
    fn of<S: AsRef<str>>(compiler: &'c Compiler, list: &[(S, u32)]) -> Result<Self, Error> {
        let (clock, lowered) = (Clock::new(compiler.limits), LoweredProgram::default());
        let mut joined = Joined { compiler, clock, text: String::new(), entries: Vec::new(), lowered };
        for (entry, (source, answer)) in list.iter().enumerate() {
            let source = source.as_ref();
            let added = joined.add(source, *answer);
            added.map_err(|diagnostic| Error::new(diagnostic, source.into()).in_entry(entry))?;
        }
        Ok(joined)
    }

    /// What is wrong with an entry is said in spans of its own text.
    fn add(&mut self, source: &str, answer: u32) -> Result<(), Box<Diagnostic>> {
        let compiler = self.compiler;
        compiler.limits.check_source(self.text.len() + source.len(), "list up to this filter")?;
        let ast = parse::parse_behind(source, &compiler.dialect, &compiler.limits, self.lowered.terms)?;
        self.lower(source, &ast, answer)?;
        self.note(source, answer);
        Ok(())
    }

    /// Lowers an entry, whose text is going to stand at the end of that of all.
    fn lower(&mut self, source: &str, ast: &Ast, leaf: u32) -> Result<(), Box<Diagnostic>> {
        let so_far = &mut self.lowered;
        so_far.tree.begin_text(self.text.len() as u32);
        let tree = std::mem::take(&mut so_far.tree);
        let lowered = lower::lower_into(tree, ast, &self.compiler.lower_options(), self.clock)?;
        self.clock.check(whole(source))?;

        (so_far.tree, so_far.terms) = (lowered.tree, lowered.terms);
        so_far.clauses.push(Clause::Leaf(lowered.root, leaf));
        Ok(())
    }

    /// Adds the text of an entry to that of all.
    fn note(&mut self, source: &str, answer: u32) {
        let begin = self.text.len();
        self.text.push_str(source);
        self.entries.push(Stored { text: begin..self.text.len(), answer });
        self.text.push('\n');
    }

    fn graph(&mut self) -> Result<Checked, Error> {
        let LoweredProgram { tree, clauses, .. } = &mut self.lowered;
        let (compiler, tree) = (self.compiler, std::mem::take(tree));
        let graph = compiler.checked(tree, clauses, compiler.passes(), &self.clock, "");
        graph.map_err(|found| self.locate(found))
    }

    fn compile(self, graph: Checked) -> Result<FilterList, Error> {
        let Joined { compiler, .. } = self;
        let decision = Decision::of_checked(graph, &compiler.decide_options());
        let decision =
            decision.map_err(|error| Error::new(worded(error.into(), Span::default()), "".into()))?;
        Ok(FilterList::new(self.text, self.entries, compiler.linktype(), decision, Tables::None))
    }

    /// The error of the entry that a span of the text of all belongs to.
    fn locate(&self, mut found: Box<Diagnostic>) -> Error {
        let behind = self.entries.partition_point(|entry| entry.text.start <= found.span.start as usize);
        let Some(index) = behind.checked_sub(1) else { return Error::new(found, "".into()) };
        let text = &self.entries[index].text;
        let begin = text.start as u32;
        found.span = Span::new(found.span.start - begin, found.span.end.saturating_sub(begin));
        Error::new(found, self.text[text.clone()].into()).in_entry(index)
    }
}
