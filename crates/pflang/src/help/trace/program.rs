//! A packet's way through a program, clause by clause.

use super::Trace;
use super::members::shortened;
use super::run::{Packet, Run, Sets};
use crate::Span;
use crate::compiler::Compiler;
use crate::diag::Error;
use crate::ir::tree::Clause;
use crate::syntax::program::Line;

/// One run of one packet through a program, from [`Compiler::trace_match`].
///
/// ```
/// use pflang::{Compiler, LinkType};
///
/// let program = "match { arp => a, len > 50 => { len > 55 => b(len) } }";
/// let trace = Compiler::new(LinkType::EN10MB).trace_match(program, &[0; 60], 60, &[])?;
/// let asked: Vec<(&str, bool)> =
///     trace.clauses.iter().map(|clause| (clause.span.text(program), clause.holds)).collect();
/// assert_eq!(asked, [("arp => a", false), ("len > 50", true), ("len > 55 => b(len)", true)]);
/// assert_eq!(trace.call.as_deref(), Some("b(60)"));
/// # Ok::<(), pflang::Error>(())
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct MatchTrace {
    /// The clauses that were asked, in order.
    pub clauses: Vec<TracedClause>,
    /// What is called, as [`Call`](crate::Call) prints it.
    pub call: Option<String>,
}

/// A clause that a packet has come to.
///
/// ```
/// use pflang::{Compiler, LinkType};
///
/// let trace = Compiler::new(LinkType::EN10MB).trace_match("match { arp => a }", &[0; 60], 60, &[])?;
/// assert!(!trace.clauses[0].holds);
/// assert_eq!(trace.clauses[0].test.primitives.len(), 1);
/// # Ok::<(), pflang::Error>(())
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct TracedClause {
    /// Its place in the program; of a block that of its test.
    pub span: Span,
    /// How many blocks it is in.
    pub depth: usize,
    /// Whether its test holds and its arguments can be computed.
    pub holds: bool,
    /// What its test and its arguments ask. Their places are in [`text`](TracedClause::text).
    pub test: Trace,
    /// The program with its names replaced.
    pub text: std::sync::Arc<str>,
}

impl Compiler {
    /// Which clauses of a program a packet comes to, and what their tests ask. `inputs` is what the caller gives with the packet.
    ///
    /// ```
    /// use pflang::{Compiler, LinkType};
    ///
    /// let compiler = Compiler::new(LinkType::EN10MB);
    /// let trace = compiler.trace_match("match (mark) { mark = 3 => a }", &[0; 60], 60, &[3])?;
    /// assert_eq!(trace.call.as_deref(), Some("a"));
    /// # Ok::<(), pflang::Error>(())
    /// ```
    ///
    /// # Errors
    /// As for [`Compiler::compile_match`].
    pub fn trace_match(
        &self,
        source: &str,
        data: &[u8],
        wire_len: u32,
        inputs: &[u32],
    ) -> Result<MatchTrace, Error> {
        let read = self.read_match(source)?;
        let text: std::sync::Arc<str> = read.text().into();
        let packet = Packet { data, wire_len, inputs };
        let (ast, tree) = (&read.program.ast, &read.lowered.tree);
        let mut trace = MatchTrace { clauses: Vec::new(), call: None };
        let mut run = Run::new(tree, Sets::new(ast, &[]), packet);
        // How deep the block is that was entered, and how many blocks are open that were not.
        let (mut depth, mut passed) = (0, 0_usize);
        for (line, clause) in read.program.lines.iter().zip(&read.lowered.clauses) {
            let (Line::Clause(written), Some(root)) = (line, clause.root()) else {
                match passed {
                    0 => break,
                    _ => passed -= 1,
                }
                continue;
            };
            let is_block = matches!(clause, Clause::Block(_));
            if passed > 0 {
                passed += usize::from(is_block);
                continue;
            }
            let mut test = run.trace(root);
            test.primitives = shortened(test.primitives);
            let holds = test.matches;
            let span = read.as_written(written.span);
            trace.clauses.push(TracedClause { span, depth, holds, test, text: text.clone() });
            match (is_block, holds) {
                (true, true) => depth += 1,
                (true, false) => passed = 1,
                (false, true) => break,
                (false, false) => {}
            }
        }
        let matcher = self.compile_match(source)?;
        let mut values = Vec::new();
        let mut row = inputs.to_vec();
        row.resize(matcher.inputs().len(), 0);
        trace.call = matcher.call_captured(data, wire_len, &row, &mut values).map(|call| call.to_string());
        Ok(trace)
    }
}
