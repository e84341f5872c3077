//! What lowering knows at each point of the filter, and the few operations from which every primitive is built.
//!
//! A primitive reads fields *relative to a header* ([`Rel`]). Where the headers are is in [`Layers`], which the
//! encapsulation words (`vlan`, `mpls`, `pppoes`, …) change for everything to their right.
//!
//! INVARIANT: the values made here are exactly the ones that libpcap's unoptimised code evaluates, in the same
//! order of short circuits: a load outside the captured bytes rejects the packet, so a load more or less is a
//! different meaning.

use super::large::LargeSet;
use super::layers::{Layers, Offset, Rel};
use super::net::Net6;
use super::parts::Record;
use super::tagged::Tags;
use super::{Options, Result};
use crate::Span;
use crate::clock::Clock;
use crate::diag::{Code, Diagnostic};
use crate::ir::tree::{Tree, TreeId, TreeNode};
use crate::ir::{BinOp, CmpOp, Cond, Size, ValueId};
use crate::syntax::ast::{Ast, RelOp};
use wire::LinkType;

/// What becomes of the padding of the outermost link layer's header, where that says that there is some.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Padding {
    Counted,
    /// COMPAT: libpcap forgets radiotap's where another link layer has begun by the end of the filter.
    Forgotten,
}

/// Where an encapsulation ends that has moved the headers for what stands to its right.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scope {
    /// COMPAT: nowhere, as in libpcap.
    Filter,
    /// Where it need not have matched: before the other alternative of an `or`, and behind an `or` or `not`.
    Alternative,
    /// There, and at the parenthesis around it: the `scoped` dialect.
    Parenthesis,
}

/// The state of a lowering.
pub(crate) struct Lowerer<'a> {
    pub(crate) options: &'a Options<'a>,
    /// The link type of the file.
    pub(crate) outermost: LinkType,
    pub(crate) layers: Layers,
    pub(crate) tree: Tree,
    /// The whole filter.
    pub(crate) filter: Span,
    /// The primitive at hand.
    pub(crate) span: Span,
    /// Where tags and labels are that are looked behind.
    pub(super) tags: Option<Tags>,
    /// Layers to come back to.
    pub(crate) snapshots: Vec<Layers>,
    pub(crate) scope: Scope,
    /// What each part was lowered to, if somebody wants to know.
    pub(crate) record: Option<Box<Record>>,
    /// Values that the outermost link layer's offsets vary by, in the order in which a program computes them at
    /// its very start, and whether anything has used them.
    pub(crate) early: Vec<(ValueId, bool)>,
    pub(crate) padding: Padding,
    /// Whether a primitive that cannot be evaluated is false, and rejects nothing.
    pub(crate) tries: bool,
    /// Whether an operator asks for the protocols of both its operands, and not of the left one only.
    pub(crate) keeps_guards: bool,
    /// Terms so far: those of the syntax tree, and members in files of sets.
    pub(crate) terms: usize,
    /// The IPv6 networks of the set at hand, each with its place: asked for together, when all are known.
    pub(crate) nets6: Option<Vec<(Net6, Span)>>,
    /// The addresses of the set at hand, if it is large: looked up in a table, when all are known.
    pub(crate) large: Option<LargeSet>,
    clock: Clock,
    /// How many primitives were lowered.
    primitives: u32,
}

/// How often to look at the clock.
const PRIMITIVES_PER_LOOK: u32 = 16;

impl<'a> Lowerer<'a> {
    /// At the start of a filter: at the outermost link layer. Its nodes are added to `tree`.
    pub(crate) fn new(options: &'a Options<'a>, tree: Tree, clock: Clock, padding: Padding) -> Result<Self> {
        let outermost = options.linktype.canonical();
        let mut lowerer = Lowerer {
            options,
            outermost,
            layers: Layers::bare(outermost),
            tree,
            filter: Span::default(),
            span: Span::default(),
            tags: None,
            snapshots: Vec::new(),
            scope: if options.dialect.scoped { Scope::Parenthesis } else { Scope::Filter },
            record: None,
            early: Vec::new(),
            padding,
            tries: false,
            keeps_guards: options.dialect.ipv6,
            terms: 0,
            nets6: None,
            large: None,
            clock,
            primitives: 0,
        };
        lowerer.outermost_link()?;
        Ok(lowerer)
    }

    /// A whole filter.
    pub(crate) fn program(&mut self, ast: &Ast) -> Result {
        self.terms = ast.terms;
        let Some(root) = ast.root else { return Ok(self.truth(true)) };
        self.filter = ast.span(root);
        let root = self.expression(ast, root)?;
        // What comes before all primitives is part of none.
        self.span = Span::default();
        Ok(self.prelude(root))
    }

    /// Whether there is room and time for more primitives: what one word means may be large.
    pub(crate) fn check_limits(&mut self) -> Result<()> {
        self.clock.check_nodes(self.tree.len(), self.span)?;
        self.primitives = self.primitives.wrapping_add(1);
        if self.primitives.is_multiple_of(PRIMITIVES_PER_LOOK) { self.clock.check(self.span) } else { Ok(()) }
    }

    /// An error at the primitive at hand.
    pub(crate) fn error(&self, code: Code, message: impl Into<String>) -> Box<Diagnostic> {
        Box::new(Diagnostic::new(code, self.span, message))
    }

    /// "`what` is too large", with what it may be.
    pub(crate) fn out_of_range(&self, what: &str, number: u32, max: u32) -> Box<Diagnostic> {
        let error = self.error(Code::OutOfRange, format!("{what} {number} is above {max}"));
        Box::new(error.label(format!("expected a number from 0 to {max}")))
    }

    /// "`what` is not there on this link type", naming it.
    pub(crate) fn linktype_error(&self, what: &str) -> Box<Diagnostic> {
        let linktype = self.layers.linktype;
        let known = linktype.description().map(|words| format!(" ({words})")).unwrap_or_default();
        let mut error =
            self.error(Code::LinkType, format!("{what} is not supported on link type {linktype}{known}"));
        error.help = super::link::table::possible(linktype, self.options.dialect.strict).map(Into::into);
        error
    }
}

/// Values.
impl Lowerer<'_> {
    pub(crate) fn constant(&mut self, k: u32) -> ValueId {
        self.tree.pool.constant(k)
    }

    pub(crate) fn op(&mut self, op: BinOp, a: ValueId, b: ValueId) -> ValueId {
        self.tree.pool.op(op, a, b)
    }

    /// `a op k`.
    pub(crate) fn op_k(&mut self, op: BinOp, a: ValueId, k: u32) -> ValueId {
        let k = self.constant(k);
        self.op(op, a, k)
    }

    /// The variable part of a place, noted as used.
    ///
    /// COMPAT: libpcap keeps this value in a cell of scratch memory that it chooses at the first use; a relation
    /// that came before may have chosen the same cell, and then destroys the value
    /// (`arithmetic-destroys-the-header-length`).
    pub(crate) fn variable(&mut self, place: Offset) -> Option<ValueId> {
        let value = place.variable?;
        for (early, used) in &mut self.early {
            *used |= *early == value;
        }
        Some(value)
    }

    /// The bytes at `place + offset`.
    pub(crate) fn load_at(&mut self, place: Offset, offset: u32, size: Size) -> ValueId {
        let base = match self.variable(place) {
            Some(value) => value,
            None => self.tree.pool.zero(),
        };
        self.tree.pool.load(base, place.constant.wrapping_add(offset), size)
    }

    /// The bytes at `offset` from a header.
    pub(crate) fn load(&mut self, rel: Rel, offset: u32, size: Size) -> ValueId {
        let place = self.place(rel);
        self.load_at(place, offset, size)
    }

    /// Where a header starts.
    pub(crate) fn place(&mut self, rel: Rel) -> Offset {
        let layers = &self.layers;
        let net = layers.payload.plus(layers.net);
        match rel {
            Rel::Packet => Offset::fixed(0),
            Rel::LinkHdr => layers.linkhdr,
            Rel::PrevLinkHdr => layers.prev_linkhdr,
            Rel::Llc => layers.payload,
            Rel::PrevMpls => net.plus(4u32.wrapping_neg()),
            Rel::Net => net,
            Rel::NetNoSnap => layers.payload.plus(layers.net_nosnap),
            Rel::LinkType => layers.type_field,
            Rel::Ip4Payload => Offset::varying(net.constant, self.ip4_varying()),
            Rel::Ip6Payload => net.plus(40),
        }
    }

    /// Length of the IPv4 header plus the variable part of its place: what transport headers vary by.
    pub(crate) fn ip4_varying(&mut self) -> ValueId {
        let first = self.load(Rel::Net, 0, Size::B1);
        let words = self.op_k(BinOp::And, first, 0xf);
        let bytes = self.op_k(BinOp::Shl, words, 2);
        match self.variable(self.layers.payload) {
            Some(varying) => self.op(BinOp::Add, bytes, varying),
            None => bytes,
        }
    }
}

/// Tests.
impl Lowerer<'_> {
    pub(crate) fn push(&mut self, node: TreeNode) -> TreeId {
        self.tree.push(node, self.span)
    }

    /// Always or never.
    pub(crate) fn truth(&mut self, truth: bool) -> TreeId {
        self.push(if truth { TreeNode::True } else { TreeNode::False })
    }

    /// `a`, and where it holds `b`.
    pub(crate) fn and(&mut self, a: TreeId, b: TreeId) -> TreeId {
        self.push(TreeNode::And(a, b))
    }

    /// `test`, where `before` holds if there is such a test.
    pub(crate) fn behind(&mut self, before: Option<TreeId>, test: TreeId) -> TreeId {
        before.map_or(test, |before| self.and(before, test))
    }

    /// `a`, or where it does not hold `b`.
    pub(crate) fn or(&mut self, a: TreeId, b: TreeId) -> TreeId {
        self.push(TreeNode::Or(a, b))
    }

    pub(crate) fn not(&mut self, a: TreeId) -> TreeId {
        self.push(TreeNode::Not(a))
    }

    /// True, once the value has been evaluated.
    pub(crate) fn eval(&mut self, value: ValueId) -> TreeId {
        self.push(TreeNode::Eval(value))
    }

    /// `a op b`, unsigned.
    pub(crate) fn relation(&mut self, op: RelOp, a: ValueId, b: ValueId) -> TreeId {
        let (cmp, a, b, negated) = match op {
            RelOp::Eq => (CmpOp::Eq, a, b, false),
            RelOp::Ne => (CmpOp::Eq, a, b, true),
            RelOp::Lt => (CmpOp::Lt, a, b, false),
            RelOp::Ge => (CmpOp::Lt, a, b, true),
            RelOp::Gt => (CmpOp::Lt, b, a, false),
            RelOp::Le => (CmpOp::Lt, b, a, true),
        };
        let cond = self.tree.pool.cond(Cond::Cmp(cmp, a, b));
        let test = self.push(TreeNode::Test(cond));
        if negated { self.not(test) } else { test }
    }

    /// `a op k`.
    pub(crate) fn relation_k(&mut self, op: RelOp, a: ValueId, k: u32) -> TreeId {
        let k = self.constant(k);
        self.relation(op, a, k)
    }

    /// `field op k`.
    pub(crate) fn compare(&mut self, rel: Rel, offset: u32, size: Size, op: RelOp, k: u32) -> TreeId {
        let field = self.load(rel, offset, size);
        self.relation_k(op, field, k)
    }

    /// `field & mask op k`; an all-ones mask is no operation.
    pub(crate) fn compare_masked(
        &mut self,
        rel: Rel,
        offset: u32,
        size: Size,
        mask: u32,
        op: RelOp,
        k: u32,
    ) -> TreeId {
        let field = self.load(rel, offset, size);
        let masked = if mask == u32::MAX { field } else { self.op_k(BinOp::And, field, mask) };
        self.relation_k(op, masked, k)
    }

    /// `field = k`.
    pub(crate) fn eq(&mut self, rel: Rel, offset: u32, size: Size, k: u32) -> TreeId {
        self.compare(rel, offset, size, RelOp::Eq, k)
    }

    /// `field & mask != 0`.
    pub(crate) fn bits(&mut self, rel: Rel, offset: u32, size: Size, mask: u32) -> TreeId {
        let field = self.load(rel, offset, size);
        let mask = self.constant(mask);
        let cond = self.tree.pool.cond(Cond::Test(field, mask));
        self.push(TreeNode::Test(cond))
    }

    /// The bytes at `offset` are these. Compared from the end in words, as libpcap does: which of two loads
    /// comes first decides whether a short packet is rejected.
    pub(crate) fn bytes(&mut self, rel: Rel, offset: u32, bytes: &[u8]) -> TreeId {
        let mut rest = bytes;
        let mut all = None;
        while !rest.is_empty() {
            let size = match rest.len() {
                4.. => Size::B4,
                2..4 => Size::B2,
                _ => Size::B1,
            };
            let (before, last) = rest.split_at(rest.len() - size.bytes() as usize);
            let number = last.iter().fold(0, |n, &byte| n << 8 | u32::from(byte));
            let test = self.eq(rel, offset.wrapping_add(before.len() as u32), size, number);
            all = Some(match all {
                Some(all) => self.and(all, test),
                None => test,
            });
            rest = before;
        }
        match all {
            Some(all) => all,
            None => self.truth(true),
        }
    }

    /// All of them, tried in order.
    pub(crate) fn all(&mut self, tests: &[TreeId]) -> TreeId {
        match tests {
            [] => self.truth(true),
            [first, rest @ ..] => rest.iter().fold(*first, |all, &test| self.and(all, test)),
        }
    }

    /// Any of them, tried in order.
    pub(crate) fn any(&mut self, tests: &[TreeId]) -> TreeId {
        match tests {
            [] => self.truth(false),
            [first, rest @ ..] => rest.iter().fold(*first, |any, &test| self.or(any, test)),
        }
    }
}
