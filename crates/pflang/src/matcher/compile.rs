//! From the text of a program to what runs.
//!
//! ```text
//! text -> names replaced -> syntax -> one tree, clauses, leaves -> graph -> optimised -> code
//! ```

use super::substitute::Substituted;
use super::{Matcher, unknown};
use crate::classifier::{Divided, OutsideLeaves, Tables};
use crate::clock::{Clock, worded};
use crate::compiler::{Compiler, whole};
use crate::diag::{Diagnostic, Error};
use crate::ir::tree::{Clause, TreeNode};
use crate::ir::verify::{Checked, CheckedLeaves};
use crate::ir::{self, Graph, REJECT};
use crate::lower::{self, ChainEnds, LoweredProgram};
use crate::opt::Passes;
use crate::syntax::program::{self, Line, Program, Wrong};
use decide::{Decision, LeafTable, Pool};
use std::collections::HashSet;
use std::sync::Arc;

impl Compiler {
    /// Compiles a pfmatch program: what is done with a packet, by the first clause whose test holds.
    ///
    /// ```
    /// use pflang::{Compiler, LinkType};
    ///
    /// let program = "match {
    ///     tcp port 80 => web(ip[8], len)   -- its time to live, and its length
    ///     ip => { udp => datagram; otherwise => other }
    ///     arp => arp
    /// }";
    /// let matcher = Compiler::new(LinkType::EN10MB).compile_match(program)?;
    /// assert_eq!(matcher.handlers().collect::<Vec<_>>(), ["web", "datagram", "other", "arp"]);
    ///
    /// let mut frame = [0; 60];
    /// frame[12..14].copy_from_slice(&[0x08, 0x00]);
    /// frame[14] = 0x45;
    /// frame[22..24].copy_from_slice(&[64, 6]);
    /// frame[36..38].copy_from_slice(&[0, 80]);
    /// let mut values = Vec::new();
    /// let call = matcher.call(&frame, &mut values).unwrap();
    /// assert_eq!((call.handler, call.arguments), ("web", &[64, 60][..]));
    /// # Ok::<(), pflang::Error>(())
    /// ```
    ///
    /// A test is a filter, with all that filters may have, or `otherwise`; an argument is arithmetic as in a relation. `match (name, …) {`
    /// declares numbers that the caller gives with each packet, which tests and arguments may name; [`Compiler::inputs`] does so for all
    /// programs. A clause ends with `,`, `;` or nothing, a comment reaches from `--` to the end of the line.
    ///
    /// The meaning differs from that of filters in one point: what lies outside of the packet makes the comparison that reads it false,
    /// and no more, so that `or` goes on and `not` turns it. A clause does not match whose arguments cannot be computed. A block that has
    /// been entered decides: no clause behind it is asked. Within a block and in arguments, encapsulations count that must have matched on
    /// the way there: `vlan => { ip => a }` asks for IP within the VLAN.
    ///
    /// # Errors
    /// The first error in the text, with its place.
    pub fn compile_match(&self, source: &str) -> Result<Matcher, Error> {
        let parsed = self.parse_match(source)?;
        match self.looked_up(&parsed, parsed.clock, None) {
            Some(matcher) => Ok(matcher),
            None => self.matcher(&self.lower_match(parsed)?),
        }
    }

    /// Compiles a program that [`Compiler::parse_match`] of this compiler has read.
    ///
    /// # Errors
    /// As for [`Compiler::compile_match`].
    pub fn compile_parsed(&self, parsed: &ParsedMatch) -> Result<Matcher, Error> {
        // Both ways share one time.
        let parsed = parsed.again(self);
        match self.looked_up(&parsed, parsed.clock, None) {
            Some(matcher) => Ok(matcher),
            None => self.matcher(&self.lower_match(parsed)?),
        }
    }

    /// A program that has been read, ready to run.
    pub(super) fn matcher(&self, read: &ReadMatch) -> Result<Matcher, Error> {
        let graph = read.graph(self)?;
        let LoweredProgram { leaves, handlers, tree, .. } = &read.lowered;
        let ready = self.ready(graph, leaves, &tree.pool);
        let (decision, leaves) = ready.map_err(|error| Error::new(error, Arc::clone(&read.source)))?;
        let inputs = read.program.ast.inputs.clone();
        let leaves = (leaves, read.lowered.leaves.reads_wire_len(&tree.pool));
        let source = (Arc::clone(&read.source), self.linktype());
        Ok(Matcher::new(source, decision, leaves, (handlers.clone(), inputs), Tables::None))
    }

    /// A program of many clauses, which are looked up as far as they can be. `without` are the places of inputs that are not known, and the handler where the
    /// answer depends on them. `None` for all other programs, and where something is wrong: who compiles it the ordinary way is told what.
    pub(super) fn looked_up(
        &self,
        parsed: &ParsedMatch,
        clock: Clock,
        without: Option<(&HashSet<u32>, &str)>,
    ) -> Option<Matcher> {
        let Program { ast, lines } = &*parsed.program;
        let none = HashSet::new();
        let unknown = without.map_or(&none, |(slots, _)| slots);
        let divided = Divided::program(self, ast, lines, unknown)?;
        let lowered = lower::lower_lines(&parsed.program, &self.lower_options(), clock, |line| {
            divided.is_outside(line)
        });
        let (mut lowered, line_leaves) = lowered.ok()?;
        // The clauses of the lines outside, each with how many that are looked up come before it. Who reaches the end of a block has been decided.
        let mut own = std::mem::take(&mut lowered.clauses).into_iter();
        let (mut clauses, mut before) = (Vec::new(), Vec::new());
        let always = lowered.tree.push(TreeNode::True, crate::Span::default());
        for line in (0..lines.len()).filter(|line| divided.is_outside(*line)) {
            let clause = own.next()?;
            if clause == Clause::End {
                clauses.push(Clause::Leaf(always, REJECT));
                before.push(divided.before(line));
            }
            clauses.push(clause);
            before.push(divided.before(line));
        }
        let mut clauses: Vec<(usize, Clause)> = clauses.into_iter().enumerate().collect();
        let mut open_leaf = REJECT;
        if let Some((slots, open)) = without {
            open_leaf = unknown::open_leaf(&mut lowered, open);
            clauses = unknown::without(&mut lowered, &clauses, slots, open_leaf);
        }
        let mut outside = OutsideLeaves::default();
        let mut numbered = |(from, clause): (usize, Clause)| match clause {
            Clause::Leaf(root, leaf) => Clause::Leaf(root, outside.number(before[from], leaf)),
            clause => clause,
        };
        let mut clauses: Vec<Clause> = clauses.into_iter().map(&mut numbered).collect();
        let outside = outside.into_leaves();
        let leaf = |line: usize| line_leaves[line];
        let LoweredProgram { leaves, handlers, tree, .. } = lowered;
        let pool = tree.pool.clone();
        let mut graph = self.checked(tree, &mut clauses, self.passes(), &clock, parsed.text()).ok()?;
        let inputs = ast.inputs.clone();
        let default = divided.default(&graph, &outside);
        let switch = default.map(|default| divided.switch(self, clock, leaf, (open_leaf, default), &inputs));
        let tables = match switch.transpose().ok()?.flatten() {
            Some((switch, looked_up)) => {
                graph = switch;
                Tables::Switch(looked_up)
            }
            None => Tables::Classifier(Box::new(
                divided.build(self, clock, leaf, open_leaf, outside).ok().flatten()?,
            )),
        };
        let (decision, values) = self.ready(graph, &leaves, &pool).ok()?;
        let values = (values, leaves.reads_wire_len(&pool));
        let source = (Arc::clone(&parsed.source), self.linktype());
        Some(Matcher::new(source, decision, values, (handlers, inputs), tables))
    }

    /// What a program names, without compiling it.
    ///
    /// ```
    /// # use pflang::{Compiler, LinkType};
    /// let parts = Compiler::new(LinkType::EN10MB).parts_of_match("match (mark) { mark = 1 => a, tcp => b }")?;
    /// assert_eq!((parts.handlers, parts.inputs), (vec!["a".to_owned(), "b".to_owned()], vec!["mark".to_owned()]));
    /// # Ok::<(), pflang::Error>(())
    /// ```
    ///
    /// # Errors
    /// As for [`Compiler::compile_match`], without the errors of stages after lowering.
    pub fn parts_of_match(&self, source: &str) -> Result<MatchParts, Error> {
        let parsed = self.parse_match(source)?;
        let (LoweredProgram { handlers, leaves, .. }, inputs) = match self.lowered_outside(&parsed) {
            Some(lowered) => (lowered, parsed.program.ast.inputs.clone()),
            None => {
                let read = self.lower_match(parsed)?;
                (read.lowered, read.program.ast.inputs.clone())
            }
        };
        let mut with_arguments: Vec<u32> =
            leaves.iter().filter(|(_, values)| !values.is_empty()).map(|(handler, _)| handler).collect();
        with_arguments.sort_unstable();
        with_arguments.dedup();
        let with_arguments =
            with_arguments.iter().map(|&handler| handlers[handler as usize].clone()).collect();
        Ok(MatchParts { handlers, with_arguments, inputs })
    }

    /// What a program is lowered to whose clauses are looked up, if nothing is wrong with it.
    fn lowered_outside(&self, parsed: &ParsedMatch) -> Option<LoweredProgram> {
        let Program { ast, lines } = &*parsed.program;
        let none = HashSet::new();
        let divided = Divided::program(self, ast, lines, &none)?;
        divided.check(self, parsed.clock).ok()?;
        let lowered = lower::lower_lines(&parsed.program, &self.lower_options(), parsed.clock, |line| {
            divided.is_outside(line)
        });
        lowered.ok().map(|(lowered, _)| lowered)
    }

    /// A program up to its tree of tests.
    pub(crate) fn read_match(&self, source: &str) -> Result<ReadMatch, Error> {
        self.lower_match(self.parse_match(source)?)
    }

    /// Reads a program, which is to be compiled more than once: as a whole, and without some of its inputs.
    ///
    /// ```
    /// use pflang::{Compiler, LinkType};
    ///
    /// let compiler = Compiler::new(LinkType::EN10MB).inputs(["app"]);
    /// let parsed = compiler.parse_match("match { app = 7 => seven, tcp => tcp }")?;
    /// assert_eq!(compiler.compile_parsed(&parsed)?.handlers().len(), 2);
    /// assert_eq!(compiler.compile_parsed_without(&parsed, &["app"], "open")?.handlers().len(), 3);
    /// # Ok::<(), pflang::Error>(())
    /// ```
    ///
    /// # Errors
    /// What does not belong to the language. What means nothing on the link type is found when the program is compiled.
    pub fn parse_match(&self, source: &str) -> Result<ParsedMatch, Error> {
        let substituted = Substituted::of(source, &self.substitutions, &self.limits);
        let substituted = substituted.map_err(|found| Error::new(found, source.into()))?;
        let clock = Clock::new(self.limits);
        let program = program::parse(&substituted.text, &self.inputs, &self.dialect, &self.limits);
        let program = program.map_err(|Wrong { found, test }| {
            let test = test.map(|test| substituted.as_written(test));
            Error::new(Box::new(located(*found, &substituted)), source.into()).in_test(test)
        })?;
        let (substituted, program) = (Arc::new(substituted), Arc::new(program));
        Ok(ParsedMatch { source: source.into(), substituted, clock, program })
    }

    pub(crate) fn lower_match(&self, parsed: ParsedMatch) -> Result<ReadMatch, Error> {
        self.lower_match_with(parsed, &self.lower_options())
    }

    /// The same with numbers in place of chains of IPv6 headers, for warnings.
    pub(crate) fn lower_match_at_ends(
        &self,
        parsed: ParsedMatch,
        ends: &ChainEnds,
    ) -> Result<ReadMatch, Error> {
        self.lower_match_with(parsed, &lower::Options { chain_ends: Some(ends), ..self.lower_options() })
    }

    fn lower_match_with(
        &self,
        parsed: ParsedMatch,
        options: &lower::Options<'_>,
    ) -> Result<ReadMatch, Error> {
        let ParsedMatch { source, substituted, clock, program } = parsed;
        let lowered = lower::lower_program(&program, options, clock).and_then(|lowered| {
            clock.check(whole(&substituted.text))?;
            Ok(lowered)
        });
        match lowered {
            Ok(lowered) => Ok(ReadMatch { source, substituted, clock, program, lowered }),
            Err(found) => Err(as_written(*found, &substituted, &program, &source)),
        }
    }

    /// Decision and values, ready to run.
    fn ready(
        &self,
        graph: Checked,
        leaves: &LeafTable,
        pool: &Pool,
    ) -> Result<(Decision, decide::LeafValues), Box<Diagnostic>> {
        let options = self.decide_options();
        let ready = Decision::of_checked(graph, &options)
            .map_err(decide::Error::from)
            .and_then(|decision| Ok((decision, leaves.compile(pool, &options)?)));
        ready.map_err(|error| worded(error, crate::Span::default()))
    }
}

/// What a program names, from [`Compiler::parts_of_match`].
///
/// ```
/// # use pflang::{Compiler, LinkType};
/// let parts = Compiler::new(LinkType::EN10MB).parts_of_match("match { arp => a }")?;
/// assert!(parts.inputs.is_empty());
/// # Ok::<(), pflang::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct MatchParts {
    /// Its handlers, in the order in which they are first named.
    pub handlers: Vec<String>,
    /// Those that are called with arguments.
    pub with_arguments: Vec<String>,
    /// Its inputs, in the order of their row.
    pub inputs: Vec<String>,
}

/// A program that has been read, from [`Compiler::parse_match`]. Clones are the same.
#[derive(Clone)]
pub struct ParsedMatch {
    source: Arc<str>,
    substituted: Arc<Substituted>,
    pub(crate) clock: Clock,
    pub(crate) program: Arc<Program>,
}

impl ParsedMatch {
    /// The text in which spans of the program are places.
    pub(crate) fn text(&self) -> &str {
        &self.substituted.text
    }

    /// The same, whose time begins now.
    pub(super) fn again(&self, compiler: &Compiler) -> ParsedMatch {
        ParsedMatch { clock: Clock::new(compiler.limits), ..self.clone() }
    }

    /// With what it was lowered to.
    pub(super) fn with(self, lowered: LoweredProgram) -> ReadMatch {
        let ParsedMatch { source, substituted, clock, program } = self;
        ReadMatch { source, substituted, clock, program, lowered }
    }

    /// A finding about the program, with its place as written.
    pub(crate) fn locate(&self, found: Diagnostic) -> Diagnostic {
        located(found, &self.substituted)
    }
}

impl std::fmt::Debug for ParsedMatch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ParsedMatch").field("source", &self.source).finish_non_exhaustive()
    }
}

/// A program that has been read.
pub(crate) struct ReadMatch {
    source: Arc<str>,
    substituted: Arc<Substituted>,
    pub(crate) clock: Clock,
    pub(crate) program: Arc<Program>,
    pub(crate) lowered: LoweredProgram,
}

impl ReadMatch {
    /// The text in which spans of the program and the graph are places.
    pub(crate) fn text(&self) -> &str {
        &self.substituted.text
    }

    /// The graph that decides it.
    pub(crate) fn graph(&self, compiler: &Compiler) -> Result<Checked, Error> {
        self.graph_of(compiler, self.lowered.clauses.clone())
    }

    /// The graph of other clauses over the same tests.
    pub(crate) fn graph_of(&self, compiler: &Compiler, clauses: Vec<Clause>) -> Result<Checked, Error> {
        self.graph_for(compiler, clauses, compiler.passes())
    }

    /// The graph that a back end takes which wants these passes, with the values of its leaves.
    pub(crate) fn graph_with_values(
        &self,
        compiler: &Compiler,
        passes: Passes,
    ) -> Result<CheckedLeaves, Error> {
        let graph = self.graph_for(compiler, self.lowered.clauses.clone(), passes)?;
        let LoweredProgram { leaves, tree, .. } = &self.lowered;
        let with_values = leaves.in_graph(graph.graph(), &tree.pool);
        with_values.map_err(|error| Error::new(worded(error, whole(&self.source)), Arc::clone(&self.source)))
    }

    fn graph_for(
        &self,
        compiler: &Compiler,
        mut clauses: Vec<Clause>,
        passes: Passes,
    ) -> Result<Checked, Error> {
        let (tree, text) = (self.lowered.tree.clone(), &self.substituted.text);
        compiler
            .checked(tree, &mut clauses, passes, &self.clock, text)
            .map_err(|found| as_written(*found, &self.substituted, &self.program, &self.source))
    }

    /// The graph load for load as the text has it.
    pub(crate) fn graph_as_written(&self) -> Result<Graph, Error> {
        let built =
            ir::build::build_within(self.lowered.tree.clone(), &self.lowered.clauses, self.clock.budget());
        built.map_err(|exceeded| {
            let found = worded(exceeded.into(), whole(self.text()));
            as_written(*found, &self.substituted, &self.program, &self.source)
        })
    }

    /// Where a place of the text stands in the text as written.
    pub(crate) fn as_written(&self, span: crate::Span) -> crate::Span {
        self.substituted.as_written(span)
    }
}

/// A finding about the text whose names were replaced, as one about the text as written.
fn located(mut found: Diagnostic, substituted: &Substituted) -> Diagnostic {
    if let (Some(value), None) = (substituted.origin(found.span), &found.help) {
        found.help = Some(format!("this name stands for `{value}`"));
    }
    found.span = substituted.as_written(found.span);
    found.also = found.also.map(|(span, text)| (substituted.as_written(span), text));
    found
}

/// An error, which knows the test that it is about.
fn as_written(found: Diagnostic, substituted: &Substituted, program: &Program, source: &str) -> Error {
    let at = found.span;
    let test = program.lines.iter().find_map(|line| match line {
        Line::Clause(clause) if clause.test_span.start <= at.start && at.end <= clause.test_span.end => {
            Some(substituted.as_written(clause.test_span))
        }
        _ => None,
    });
    Error::new(Box::new(located(found, substituted)), source.into()).in_test(test)
}
