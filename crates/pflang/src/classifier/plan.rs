//! Which clauses of a list are looked up, and in which tables.
//!
//! Blocks are written out: a clause in a block asks for the tests around it as well, and the end of a block is a clause that leads nowhere. What is left after
//! that is one list of unions of terms. A field by which many terms differ is one that they are looked up by; a clause that has a term without such a
//! field stays outside, in a program of the ordinary kind, where it shares its tests with others.

use super::index::{Placed, Table, needs_check};
use super::read::{Atom, Reader, TERMS_MAX, reads_input};
use super::switch::CLAUSES_MAX;
use super::term::{Dim, Term};
use crate::compiler::{Compiler, FEW};
use crate::lower::Part;
use crate::syntax::ast::{Ast, ExprId};
use crate::syntax::program::Line;
use foldhash::fast::RandomState;
use std::collections::{HashMap, HashSet};

/// Different ranges of a field, and terms of a table, from which on a look-up is better than tests.
const MANY: usize = 16;

/// Boxes of a list at most: they take memory that the text does not.
const BOXES_MAX: usize = 4 << 20;

/// Where a clause leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Target {
    /// Where the clause of this line leads.
    Line(usize),
    /// To what says that the answer depends on what is not known.
    Open,
    /// Nowhere.
    Nothing,
}

impl Target {
    /// The leaf of a clause, where `leaf` gives those of lines.
    pub(super) fn leaf(self, leaf: &impl Fn(usize) -> u32, open: u32) -> u32 {
        match self {
            Target::Line(line) => leaf(line),
            Target::Open => open,
            Target::Nothing => crate::ir::REJECT,
        }
    }
}

/// A clause without blocks around it.
#[derive(Debug)]
pub(super) struct Flat {
    /// The line that it came from.
    line: usize,
    pub(super) target: Target,
    pub(super) terms: Vec<Term>,
}

/// What becomes of a list.
pub(super) struct Plan<'a> {
    /// Clauses that are looked up, in their order.
    pub(super) flats: Vec<Flat>,
    pub(super) groups: Vec<Group>,
    /// By line: whether it stays outside.
    pub(super) is_outside: Vec<bool>,
    /// By line: how many of `flats` come before it.
    pub(super) before: Vec<u32>,
    pub(super) atoms: Vec<Atom<'a>>,
}

/// Terms that share a table: by number of their flat and place in it.
pub(super) struct Group {
    pub(super) shape: Shape,
    terms: Vec<(u32, u32)>,
}

/// The fields of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Shape {
    Pieces(Dim),
    Rules([Option<Dim>; 2]),
}

impl Group {
    /// Its terms, each with a number for its check, of those in `checks`.
    fn placed<'p>(&self, flats: &'p [Flat], checks: &mut Vec<&'p Term>) -> Vec<Placed<'p>> {
        let dims = self.shape.dims();
        let is_rules = matches!(self.shape, Shape::Rules(_));
        let placed = |&(flat, at): &(u32, u32)| {
            let term = &flats[flat as usize].terms[at as usize];
            let check = checks.len() as u32;
            if needs_check(term, &dims, is_rules) {
                checks.push(term);
            }
            Placed { clause: flat, term, check }
        };
        self.terms.iter().map(placed).collect()
    }

    /// Its table, with the terms that need a check behind those of the tables before it. Where too many overlap for pieces, it is one of rules.
    pub(super) fn table<'p>(
        &self,
        flats: &'p [Flat],
        checks: &mut Vec<&'p Term>,
        limit: usize,
    ) -> Option<Table> {
        let before = checks.len();
        match self.shape {
            Shape::Rules(wide) => Table::of_rules(wide, &self.placed(flats, checks), limit),
            Shape::Pieces(dim) => Table::of_pieces(dim, &self.placed(flats, checks), limit).or_else(|| {
                checks.truncate(before);
                let wide = [Some(dim).filter(|dim| !matches!(dim, Dim::Port(_))), None];
                let rules = Group { shape: Shape::Rules(wide), terms: self.terms.clone() };
                rules.table(flats, checks, limit)
            }),
        }
    }
}

impl Shape {
    fn dims(self) -> Vec<Dim> {
        let ports = [Dim::Port(0), Dim::Port(1)];
        match self {
            Shape::Pieces(dim) => vec![dim],
            Shape::Rules(wide) if wide.iter().flatten().any(|dim| matches!(dim, Dim::V6(_))) => {
                [Dim::V6(0), Dim::V6(1)].into_iter().chain(ports).collect()
            }
            Shape::Rules(wide) => wide.into_iter().flatten().chain(ports).collect(),
        }
    }
}

/// The tests around a place.
enum Around {
    /// Any of these terms, and whether a clause has come that takes what is left.
    Terms(Vec<Term>, bool),
    /// They are not read.
    Outside,
    /// Nothing comes here.
    Unreached,
}

/// Clauses as they are read.
#[derive(Default)]
struct Flattened {
    flats: Vec<Flat>,
    /// By line: how many flats came before it.
    before: Vec<u32>,
    is_outside: Vec<bool>,
    /// By line: the block around it.
    around: Vec<Option<usize>>,
    /// By line: whether it is the end of that block.
    ends: Vec<bool>,
}

/// The plan of a program; `None` where nothing is gained.
pub(super) fn of_program<'a>(
    compiler: &Compiler,
    ast: &'a Ast,
    lines: &'a [Line],
    unknown: &'a HashSet<u32>,
) -> Option<Plan<'a>> {
    let mut reader = Reader::new(false, compiler.dialect.strict, unknown);
    let flattened = flattened(&mut reader, ast, lines, unknown);
    plan(flattened, reader.atoms, compiler.many)
}

/// The plan of a list of filters.
pub(super) fn of_list<'a>(
    compiler: &Compiler,
    tests: impl Iterator<Item = (&'a Ast, Option<ExprId>)>,
    unknown: &'a HashSet<u32>,
) -> Option<Plan<'a>> {
    let mut reader = Reader::new(true, compiler.dialect.strict, unknown);
    let mut all = Flattened::default();
    let mut is_over = false;
    for (line, (ast, root)) in tests.enumerate() {
        all.before.push(all.flats.len() as u32);
        all.around.push(None);
        all.ends.push(false);
        let terms = root.and_then(|root| reader.test(ast, root));
        all.is_outside.push(terms.is_none());
        is_over |= root.is_none();
        if let (Some(terms), false) = (terms, is_over) {
            all.flats.push(Flat { line, target: Target::Line(line), terms: finished(terms) });
        }
    }
    plan(all, reader.atoms, compiler.many)
}

fn finished(terms: Vec<Term>) -> Vec<Term> {
    terms.into_iter().filter_map(Term::finished).collect()
}

/// The product of two unions, if it is not too large.
fn product(a: &[Term], b: &[Term]) -> Option<Vec<Term>> {
    let terms: Vec<Term> = a.iter().flat_map(|a| b.iter().filter_map(|b| a.and(b))).collect();
    (terms.len() <= TERMS_MAX).then_some(terms)
}

fn flattened<'a>(
    reader: &mut Reader<'a>,
    ast: &'a Ast,
    lines: &'a [Line],
    unknown: &HashSet<u32>,
) -> Flattened {
    let mut all = Flattened::default();
    let mut open: Vec<(Around, Option<usize>)> = vec![(Around::Terms(vec![Term::default()], false), None)];
    let mut boxes = 0;
    for (line, this) in lines.iter().enumerate() {
        boxes += all
            .flats
            .get(all.before.last().map_or(0, |before| *before as usize)..)
            .map_or(0, |new| new.iter().map(|flat| flat.terms.len()).sum::<usize>());
        if boxes > BOXES_MAX {
            return Flattened::default();
        }
        all.before.push(all.flats.len() as u32);
        all.around.push(open.last().and_then(|(_, block)| *block));
        all.ends.push(matches!(this, Line::End));
        let clause = match this {
            Line::Clause(clause) => clause,
            Line::End => {
                if let Some((Around::Terms(terms, _), _)) = open.pop() {
                    all.flats.push(Flat { line, target: Target::Nothing, terms: finished(terms) });
                }
                all.is_outside.push(false);
                continue;
            }
        };
        let own = reader.clause(ast, clause);
        let Some((around, _)) = open.last_mut() else { break };
        let whole = match (&*around, &own) {
            (Around::Terms(around, false), Some(own)) => product(around, own),
            _ => None,
        };
        let is_unreached = matches!(around, Around::Unreached | Around::Terms(_, true));
        let is_outside = match (is_unreached, &own) {
            // What is wrong in it must be told all the same, and of a part of a test nobody knows yet.
            (true, Some(own)) => own.iter().any(|term| !term.has_boxes_only()),
            _ => whole.is_none(),
        };
        all.is_outside.push(is_outside);
        let is_block = clause.call.is_none();
        let inner = match whole {
            Some(terms) => {
                let depends = terms.iter().any(|term| term.depends);
                let is_open = clause
                    .call
                    .iter()
                    .flat_map(|call| &call.arguments)
                    .any(|argument| reads_input(ast, *argument, unknown));
                let known = || terms.iter().filter(|term| !term.depends).cloned().collect();
                let possible = || -> Vec<Term> {
                    terms.iter().cloned().map(|term| Term { depends: false, ..term }).collect()
                };
                let mut push = |target, terms| all.flats.push(Flat { line, target, terms: finished(terms) });
                if !is_block && !is_open {
                    push(Target::Line(line), known());
                }
                if depends || is_open {
                    push(Target::Open, possible());
                }
                match depends {
                    true => Around::Unreached,
                    false => Around::Terms(terms, false),
                }
            }
            None if is_unreached => Around::Unreached,
            None => Around::Outside,
        };
        // What takes all that comes leaves nothing to those behind it.
        if let (Around::Terms(_, is_over), Some(own)) = (around, &own) {
            let takes_all = own.iter().any(|term| Term { depends: false, ..term.clone() }.is_always());
            *is_over |= takes_all;
        }
        if is_block {
            open.push((inner, Some(line)));
        }
    }
    all
}

/// Chooses tables.
fn plan<'a>(all: Flattened, atoms: Vec<Atom<'a>>, many: usize) -> Option<Plan<'a>> {
    let Flattened { flats, before, mut is_outside, around, ends } = all;
    let few = many / FEW;
    if flats.len() < few {
        return None;
    }
    let scores = scores(&flats);
    let mut shapes: Vec<Vec<Option<Shape>>> =
        flats.iter().map(|flat| flat.terms.iter().map(|term| shape(term, &scores)).collect()).collect();
    // By line: whether all that came from it is looked up.
    let mut is_found = vec![true; is_outside.len()];
    let mut left: Vec<bool> = vec![true; flats.len()];
    for _ in 0..3 {
        for (at, flat) in flats.iter().enumerate() {
            if left[at] && shapes[at].iter().any(Option::is_none) {
                is_found[flat.line] = false;
            }
        }
        for (at, flat) in flats.iter().enumerate() {
            left[at] &= is_found[flat.line];
        }
        let mut counts: HashMap<Shape, usize, RandomState> = HashMap::default();
        for at in (0..flats.len()).filter(|at| left[*at]) {
            for shape in shapes[at].iter().flatten() {
                *counts.entry(*shape).or_default() += 1;
            }
        }
        for at in (0..flats.len()).filter(|at| left[*at]) {
            for (term, shape) in flats[at].terms.iter().zip(&mut shapes[at]) {
                if shape.is_some_and(|shape| counts[&shape] < MANY) {
                    let pieces = best_dim(term, &scores).map(Shape::Pieces);
                    *shape = pieces.filter(|pieces| counts.get(pieces).is_some_and(|count| *count >= MANY));
                }
            }
        }
    }
    for (at, flat) in flats.iter().enumerate() {
        left[at] &= is_found[flat.line] && shapes[at].iter().all(Option::is_some);
        is_found[flat.line] &= left[at];
    }
    // What came from one line is looked up as a whole, or not at all.
    for (at, flat) in flats.iter().enumerate() {
        left[at] &= is_found[flat.line];
        is_outside[flat.line] |= !is_found[flat.line];
    }
    let count = left.iter().filter(|left| **left).count();
    let used: HashSet<Shape, RandomState> =
        (0..flats.len()).filter(|at| left[*at]).flat_map(|at| &shapes[at]).flatten().copied().collect();
    let is_one_switch = used.len() == 1 && used.iter().all(|shape| matches!(shape, Shape::Pieces(_)));
    // Of tests about one field of 32 bits the optimiser makes a switch as well, whose arms ask whether the arguments can be computed.
    let is_ordinary = is_one_switch
        && !used.iter().any(|shape| matches!(shape, Shape::Pieces(Dim::V6(_))))
        && !atoms.is_empty()
        && atoms.iter().all(|atom| matches!(atom, Atom::Part(Part::Arguments(..))))
        && count <= CLAUSES_MAX;
    if is_ordinary || count < if is_one_switch { many } else { few } {
        return None;
    }
    // Blocks around what stays outside do as well, from the innermost, with their ends.
    for line in (0..is_outside.len()).rev() {
        if let (true, Some(block)) = (is_outside[line], around[line]) {
            is_outside[block] = true;
        }
    }
    for line in 0..is_outside.len() {
        if let (true, Some(block)) = (ends[line], around[line]) {
            is_outside[line] = is_outside[block];
        }
    }
    let before = renumbered(&before, &left);
    let mut groups: HashMap<Shape, Vec<(u32, u32)>, RandomState> = HashMap::default();
    let (mut kept, mut number) = (Vec::with_capacity(count), 0_u32);
    for (at, flat) in flats.into_iter().enumerate() {
        if !left[at] {
            continue;
        }
        for (place, shape) in shapes[at].iter().flatten().enumerate() {
            groups.entry(*shape).or_default().push((number, place as u32));
        }
        kept.push(flat);
        number += 1;
    }
    let mut groups: Vec<Group> = groups.into_iter().map(|(shape, terms)| Group { shape, terms }).collect();
    groups.sort_by_key(|group| (group.terms.first().copied(), group.shape));
    Some(Plan { flats: kept, groups, is_outside, before, atoms })
}

/// How many of those that are left come before each line.
fn renumbered(before: &[u32], left: &[bool]) -> Vec<u32> {
    let mut sums = vec![0_u32];
    for left in left {
        sums.push(sums[sums.len() - 1] + u32::from(*left));
    }
    before.iter().map(|before| sums[*before as usize]).collect()
}

/// By field: how many different ranges it is compared with.
type Scores = HashMap<Dim, usize, RandomState>;

fn scores(flats: &[Flat]) -> Scores {
    let mut ranges: HashMap<Dim, HashSet<(u128, u128), RandomState>, RandomState> = HashMap::default();
    for term in flats.iter().flat_map(|flat| &flat.terms) {
        for dim in term.dims() {
            ranges.entry(dim).or_default().extend(term.range_of(dim));
        }
    }
    ranges.into_iter().map(|(dim, ranges)| (dim, ranges.len())).collect()
}

fn score(scores: &Scores, dim: Dim) -> usize {
    scores.get(&dim).copied().unwrap_or(0)
}

/// The fields by which a term differs from many others, each with from how many.
fn strong<'t>(term: &'t Term, scores: &'t Scores) -> impl Iterator<Item = (usize, Dim)> + 't {
    term.dims().map(|dim| (score(scores, dim), dim)).filter(|(score, _)| *score >= MANY)
}

/// The field by which a term differs from most others.
fn best_dim(term: &Term, scores: &Scores) -> Option<Dim> {
    strong(term, scores).max().map(|(_, dim)| dim)
}

/// The table that a term belongs in.
fn shape(term: &Term, scores: &Scores) -> Option<Shape> {
    let strong: Vec<(usize, Dim)> = strong(term, scores).collect();
    let &(_, best) = strong.iter().max()?;
    if strong.len() == 1 {
        return Some(Shape::Pieces(best));
    }
    if strong.iter().any(|(_, dim)| matches!(dim, Dim::V6(_))) {
        return Some(Shape::Rules([Some(Dim::V6(0)), Some(Dim::V6(1))]));
    }
    let inputs = strong.iter().filter(|(_, dim)| matches!(dim, Dim::Input(_)));
    // Of equals the last.
    let Some(&(_, input)) = inputs.max_by_key(|(score, _)| score) else {
        return Some(Shape::Rules([Some(Dim::V4(0)), Some(Dim::V4(1))]));
    };
    let others = strong.iter().filter(|(_, dim)| *dim != input && !matches!(dim, Dim::Port(_)));
    let other = others.max_by_key(|(score, _)| score).map(|(_, dim)| *dim);
    Some(Shape::Rules([Some(input), other]))
}
