//! What each part of a filter is lowered to, for those who look at parts; a compilation asks for none of it.

use super::layers::Layers;
use super::lowerer::{Lowerer, Padding};
use super::{Options, Result, Scope, for_each_load};
use crate::Span;
use crate::clock::Clock;
use crate::ir::tree::{Tree, TreeId, TreeNode};
use crate::syntax::ast::{ArithId, Ast, Expr, ExprId, Proto};

/// A lowered filter, part by part.
#[derive(Debug)]
pub(crate) struct Parts {
    pub(crate) tree: Tree,
    pub(crate) root: TreeId,
    pub(crate) record: Record,
}

/// What was lowered, by the id of the expression it came from.
#[derive(Clone, Debug, Default)]
pub(crate) struct Record {
    nodes: Vec<Option<TreeId>>,
    layers: Vec<Option<Layers>>,
    /// The comparisons of relations, without what is asked before them.
    comparisons: Vec<(ExprId, TreeId)>,
    guards: Vec<(ArithId, TreeId)>,
    /// Whether a primitive may mean nothing where it stands.
    is_tolerant: bool,
    pub(crate) unasked: Vec<Unasked>,
    /// The members in files of sets.
    pub(crate) members: Vec<FileMember>,
}

/// A member of a set that is a line of a file. What it is lowered to has a [span of its own](FileMember::span).
#[derive(Clone, Debug)]
pub(crate) struct FileMember {
    pub(crate) text: String,
    pub(crate) path: String,
    pub(crate) line: usize,
    /// Where the filter names the file.
    pub(crate) named: Span,
}

impl FileMember {
    /// Behind all texts.
    const SPANS: u32 = 1 << 31;

    /// What stands for the place of the member of this number.
    pub(crate) fn span(number: usize) -> Span {
        let start = Self::SPANS.saturating_add(number as u32);
        Span::new(start, start.saturating_add(1))
    }

    /// The number of the member that a span stands for.
    pub(crate) fn number(span: Span) -> Option<usize> {
        span.start.checked_sub(Self::SPANS).map(|number| number as usize)
    }
}

/// A load whose protocol its relation does not ask for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Unasked {
    pub(crate) relation: ExprId,
    pub(crate) load: ArithId,
    pub(crate) proto: Proto,
    /// What the load would ask.
    pub(crate) guard: TreeId,
    /// That the packet is of the protocol, in IP of either version.
    pub(crate) word: TreeId,
    /// That it is IPv4.
    pub(crate) ip: TreeId,
    /// What the relation asks for other loads.
    pub(crate) asked: Option<TreeId>,
}

impl Record {
    /// What an expression was lowered to; `None` where it could not be.
    pub(crate) fn node(&self, id: ExprId) -> Option<TreeId> {
        self.nodes.get(id.0 as usize).copied().flatten()
    }

    /// Where a primitive looks.
    pub(crate) fn layers(&self, id: ExprId) -> Option<&Layers> {
        self.layers.get(id.0 as usize)?.as_ref()
    }

    /// The comparison of a relation.
    pub(crate) fn comparison(&self, id: ExprId) -> Option<TreeId> {
        // Ids ascend.
        let at = self.comparisons.partition_point(|(of, _)| *of < id);
        self.comparisons.get(at).filter(|(of, _)| *of == id).map(|(_, node)| *node)
    }
}

/// Lowers a filter into a tree, with shifts that end where `scope` says, or where the dialect says. In another scope than the dialect's, a
/// primitive may mean nothing; then it has no node.
///
/// # Errors
/// As [`lower`](super::lower).
pub(crate) fn lower_parts(
    tree: Tree,
    ast: &Ast,
    options: &Options<'_>,
    scope: Option<Scope>,
    clock: Clock,
) -> Result<Parts> {
    let mut lowerer = Lowerer::new(options, tree, clock, Padding::Counted)?;
    lowerer.record = Some(Box::new(Record { is_tolerant: scope.is_some(), ..Record::default() }));
    lowerer.scope = scope.unwrap_or(lowerer.scope);
    let mut root = lowerer.program(ast)?;
    if lowerer.forgets_padding() {
        let (scope, record) = (lowerer.scope, Record { is_tolerant: scope.is_some(), ..Record::default() });
        lowerer = Lowerer::new(options, lowerer.tree, clock, Padding::Forgotten)?;
        (lowerer.scope, lowerer.record) = (scope, Some(Box::new(record)));
        root = lowerer.program(ast)?;
    }
    let Lowerer { tree, record, .. } = lowerer;
    Ok(Parts { tree, root, record: record.map(|record| *record).unwrap_or_default() })
}

impl Lowerer<'_> {
    /// Notes what an expression was lowered to.
    pub(super) fn note(&mut self, id: ExprId, node: TreeId) {
        if let Some(record) = &mut self.record {
            set(&mut record.nodes, id, node);
        }
    }

    /// Lowers a primitive, and notes what came of it and where it looked.
    pub(super) fn noted_primitive(&mut self, ast: &Ast, id: ExprId, primitive: &Expr) -> Result {
        let layers = self.layers;
        let lowered = self.primitive(ast, primitive);
        let Some(record) = &mut self.record else { return lowered };
        set(&mut record.layers, id, layers);
        // Those of this primitive are the last.
        let is_new = |of: &ExprId| *of == NO_ID;
        record
            .unasked
            .iter_mut()
            .rev()
            .map(|unasked| &mut unasked.relation)
            .take_while(|of| is_new(of))
            .for_each(|of| *of = id);
        record
            .comparisons
            .iter_mut()
            .rev()
            .map(|(of, _)| of)
            .take_while(|of| is_new(of))
            .for_each(|of| *of = id);
        match lowered {
            Ok(node) => {
                self.note(id, node);
                Ok(node)
            }
            Err(_) if record.is_tolerant => {
                self.check_limits()?;
                Ok(self.push(TreeNode::False))
            }
            Err(error) => Err(error),
        }
    }

    /// Notes the line of a file that a member of a set is, and gives it a place of its own.
    pub(super) fn note_member(&mut self, path: &str, line: usize, text: &str) {
        let named = self.span;
        if let Some(record) = &mut self.record {
            self.span = FileMember::span(record.members.len());
            let (text, path) = (text.trim().to_owned(), path.to_owned());
            record.members.push(FileMember { text, path, line, named });
        }
    }

    /// Notes what a load asks before it is read.
    pub(super) fn note_guard(&mut self, load: ArithId, guard: Option<TreeId>) {
        if let (Some(record), Some(guard)) = (&mut self.record, guard) {
            record.guards.push((load, guard));
        }
    }

    /// Notes a comparison, and the loads that its relation does not ask for.
    pub(super) fn note_relation(
        &mut self,
        ast: &Ast,
        sides: [ArithId; 2],
        comparison: TreeId,
        guards: [Option<TreeId>; 2],
    ) -> Result<()> {
        if self.record.is_none() {
            return Ok(());
        }
        let mut loads = Vec::new();
        for_each_load(ast, sides, |load| {
            if !load.guarded && !matches!(load.proto, Proto::Link | Proto::Radio) {
                loads.push((load.id, load.proto));
            }
        });
        let asked = match guards {
            [Some(a), Some(b)] => Some(self.and(a, b)),
            [a, b] => a.or(b),
        };
        let mut unasked = Vec::new();
        for (load, proto) in loads {
            let known =
                self.record.as_ref().and_then(|record| record.guards.iter().rfind(|(of, _)| *of == load));
            let Some(&(_, guard)) = known else { continue };
            let word = self.abbreviation(proto)?;
            let ip = self.abbreviation(Proto::Ip)?;
            unasked.push(Unasked { relation: NO_ID, load, proto, guard, word, ip, asked });
        }
        if let Some(record) = &mut self.record {
            record.comparisons.push((NO_ID, comparison));
            record.unasked.extend(unasked);
        }
        Ok(())
    }
}

/// Of a relation that is being lowered.
const NO_ID: ExprId = ExprId(u32::MAX);

fn set<T: Clone>(table: &mut Vec<Option<T>>, id: ExprId, value: T) {
    let at = id.0 as usize;
    if table.len() <= at {
        table.resize(at + 1, None);
    }
    table[at] = Some(value);
}
