//! From syntax tree to lowered tree: what each primitive means on each link type.
//!
//! The meaning is that of libpcap 1.10.3's unoptimised code for a savefile: the same loads in the same order of
//! short circuits. The primitives are lowered in the order of the syntax tree's ids, because an encapsulation
//! word moves the headers for every primitive after it.
//!
//! ```text
//! walk       the boolean structure                 program    pfmatch programs, whose tests are filters
//! lowerer    state, loads, tests: what all the others use
//! id         identifiers by their qualifiers       link/      what each link type is like
//! host mac port proto iso decnet                   llc wlan atm mtp pf   words of some link types only
//! arith loads   relations                          encap tunnel          words that move the headers
//! chain      protochain                            extension  the dialect that sees through IPv6's headers
//! set        `in { … }`                            parts      what each part is lowered to
//! select     conditions and choices as numbers     print      the tree as text
//! chain_end  the same without its chains, for warnings
//! tagged     the dialect that looks behind tags
//! instead    what can be asked where a link type lacks what is asked for
//! ```
//!
//! This module reads no packet, no file and no name service: names come through [`Names`].

mod arith;
mod atm;
mod chain;
mod chain_end;
mod decnet;
mod direction;
mod encap;
mod extension;
mod host;
mod id;
mod instead;
mod iso;
mod key;
mod large;
pub(crate) mod layers;
mod link;
mod llc;
mod loads;
mod lowerer;
mod mac;
mod mtp;
mod net;
mod numbers;
mod pairs;
mod parts;
mod pf;
mod port;
pub mod print;
mod program;
mod proto;
mod select;
mod set;
mod tagged;
mod tunnel;
mod walk;
mod wlan;

use crate::clock::Clock;
use crate::diag::Diagnostic;
use crate::ir::tree::{Tree, TreeId};
use crate::options::{Dialect, Limits, Names};
use crate::syntax::ast::Ast;
pub use chain_end::ChainEnds;
pub(crate) use id::left_aligned;
pub(crate) use id::promoted;
pub(crate) use key::{Class, KeyProgram, Wanted, lower_key};
pub(crate) use link::{is_plain, tells_protocols};
pub(crate) use loads::for_each_load;
pub(crate) use lowerer::Scope;
use lowerer::{Lowerer, Padding};
pub(crate) use numbers::{ethertype, ipproto};
pub(crate) use parts::{FileMember, Parts, Unasked, lower_parts};
pub(crate) use port::{service, services};
pub use program::LoweredProgram;
pub(crate) use program::{Part, is_constant, lower_lines, lower_program, lower_tests};
use wire::LinkType;

/// What lowering depends on besides the syntax tree.
#[derive(Clone, Copy)]
pub struct Options<'a> {
    /// What the packets start with.
    pub linktype: LinkType,
    /// The netmask of the network captured on, in host order: only `ip broadcast` needs it.
    pub netmask: Option<u32>,
    /// Departures from libpcap.
    pub dialect: Dialect,
    /// Where names come from.
    pub names: &'a dyn Names,
    /// Bounds on cost.
    pub limits: Limits,
    /// Whether large sets become tables that the filter calls, which only filters that run here can do.
    pub tables: bool,
    /// Where chains of IPv6 headers are unknown numbers, for who looks for tests that hold for no packet.
    pub chain_ends: Option<&'a ChainEnds>,
}

/// A lowered filter.
#[derive(Clone, Debug)]
pub struct Lowered {
    /// The tree.
    pub tree: Tree,
    /// Where its evaluation starts.
    pub root: TreeId,
    /// Those of the syntax tree, and the members in files of sets.
    pub terms: usize,
}

/// The error is boxed: it is large, rare, and passes through many hands.
pub(crate) type Result<T = TreeId> = std::result::Result<T, Box<Diagnostic>>;

/// Lowers a filter. An empty one accepts every packet.
///
/// # Errors
/// The first primitive that means nothing on this link type, has qualifiers that do not go together, or names
/// what nobody knows.
pub fn lower(ast: &Ast, options: &Options<'_>) -> std::result::Result<Lowered, Box<Diagnostic>> {
    lower_within(ast, options, Clock::new(options.limits))
}

/// The same before a time that has begun.
pub(crate) fn lower_within(ast: &Ast, options: &Options<'_>, clock: Clock) -> Result<Lowered> {
    lower_into(Tree::with_capacity(NODES_LIKELY), ast, options, clock)
}

/// What a filter of a few primitives lowers to.
const NODES_LIKELY: usize = 48;

/// The same behind what other filters of a list were lowered to, with which it shares values and conditions. All else
/// begins anew: what encapsulations one of them looks into is no matter to the next.
pub(crate) fn lower_into(tree: Tree, ast: &Ast, options: &Options<'_>, clock: Clock) -> Result<Lowered> {
    let mut lowerer = Lowerer::new(options, tree, clock, Padding::Counted)?;
    let mut root = lowerer.program(ast)?;
    if lowerer.forgets_padding() {
        lowerer = Lowerer::new(options, lowerer.tree, clock, Padding::Forgotten)?;
        root = lowerer.program(ast)?;
    }
    let Lowerer { tree, terms, .. } = lowerer;
    Ok(Lowered { tree, root, terms })
}
