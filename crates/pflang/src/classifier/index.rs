//! Tables that terms are looked up in.
//!
//! ```text
//! pieces   terms that differ in one field: the field's numbers, cut into pieces; by piece the terms that hold there
//! rules    terms that differ in several: first-match rules, two wide fields and ports in a table (`classify::rules`)
//! ```
//! What a table does not say of a term is its check, which is made when the table has led to it.

use super::BURST;
use super::key::Key;
use super::term::{DPORT, DST, Dim, SPORT, SRC, Term};
use crate::lower::Class;
use classify::rules::{self, Certificate, Rule, Rules, Scratch};
use classify::set::{Limit, Pieces, RankMap, Ranks32, Ranks128};
use std::collections::BTreeSet;

/// No clause, no check.
pub(super) const NONE: u32 = u32::MAX;

/// Set in the value of a piece that one clause has for sure.
pub(super) const SURE: u32 = 1 << 31;

/// A table, and the first of its clauses.
#[derive(Debug)]
pub(super) struct Table {
    pub(super) first: u32,
    pub(super) dims: Vec<Dim>,
    pub(super) terms: usize,
    kind: Kind,
}

#[derive(Debug)]
enum Kind {
    Narrow(RankMap<Ranks32>, Lists),
    Wide(RankMap<Ranks128>, Lists),
    Rules4(RuleTable<u32>, [Option<Dim>; 2]),
    Rules6(RuleTable<u128>),
}

/// By piece the terms that may hold in it, the first first: a clause and its check.
#[derive(Debug, Default)]
pub(super) struct Lists {
    /// Where each list ends; it begins where the one before ends.
    ends: Vec<u32>,
    entries: Vec<(u32, u32)>,
}

impl Lists {
    fn get(&self, at: u32) -> &[(u32, u32)] {
        let at = at as usize;
        let begin = at.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.entries[begin as usize..self.ends[at] as usize]
    }

    fn bytes(&self) -> usize {
        size_of_val(&self.ends[..]) + size_of_val(&self.entries[..])
    }
}

#[derive(Debug)]
struct RuleTable<A> {
    rules: Rules<A>,
    /// By rule: its clause.
    clauses: Vec<u32>,
    /// Whether a rule needs a check.
    is_checked: bool,
}

/// A term of a clause, by its number among all terms.
#[derive(Clone, Copy, Debug)]
pub(super) struct Placed<'t> {
    pub(super) clause: u32,
    pub(super) term: &'t Term,
    /// The number of its check.
    pub(super) check: u32,
}

impl Table {
    /// A table of terms that differ in one field; `None` where that takes too much memory: where many terms that need a check overlap.
    pub(super) fn of_pieces(dim: Dim, terms: &[Placed<'_>], limit: usize) -> Option<Table> {
        let checked = |placed: &Placed<'_>| !is_sure(placed.term, &[dim]);
        let kind = match dim {
            Dim::V6(end) => {
                let spans = terms.iter().filter_map(|placed| {
                    let (low, high) = placed.term.v6[end]?;
                    Some((low, high, entry(placed, checked(placed))))
                });
                let (pieces, lists) = cut(spans.collect(), |x: u128| x.checked_add(1))?;
                Kind::Wide(RankMap::new(&pieces, Limit { bytes: limit }).ok()?, lists)
            }
            _ => {
                let mut spans = Vec::with_capacity(terms.len());
                for placed in terms {
                    let entry = entry(placed, checked(placed));
                    match dim {
                        Dim::V4(end) => {
                            let (low, high) = placed.term.v4[end]?;
                            spans.push((low, high, entry));
                        }
                        Dim::Input(slot) => {
                            let (low, high) = placed.term.input(slot)?;
                            spans.push((low, high, entry));
                        }
                        Dim::Port(end) => {
                            let (low, high) = placed.term.ports[end]?;
                            let of = placed.term.transport;
                            for transport in Class::TRANSPORTS {
                                if of.is_none_or(|of| of == transport) {
                                    spans.push((
                                        port_number(transport, low),
                                        port_number(transport, high),
                                        entry,
                                    ));
                                }
                            }
                        }
                        Dim::V6(_) => return None,
                    }
                }
                let (pieces, lists) = cut(spans, |x: u32| x.checked_add(1))?;
                Kind::Narrow(RankMap::new(&pieces, Limit { bytes: limit }).ok()?, lists)
            }
        };
        Some(Table { first: first(terms), dims: vec![dim], terms: terms.len(), kind })
    }

    /// A table of terms that differ in several fields, IPv6 addresses among them or not.
    pub(super) fn of_rules(wide: [Option<Dim>; 2], terms: &[Placed<'_>], limit: usize) -> Option<Table> {
        let clauses = terms.iter().map(|placed| placed.clause).collect();
        let kind = if wide.contains(&Some(Dim::V6(0))) || wide.contains(&Some(Dim::V6(1))) {
            let all = [Dim::V6(0), Dim::V6(1), Dim::Port(0), Dim::Port(1)];
            let rules: Vec<Rule<u128>> = terms
                .iter()
                .map(|placed| {
                    let [src, dst] = placed.term.v6.map(|range| range.unwrap_or((0, u128::MAX)));
                    rule(placed, &all, src.0..=src.1, dst.0..=dst.1)
                })
                .collect();
            Kind::Rules6(RuleTable::new(&rules, clauses, limit)?)
        } else {
            let all: Vec<Dim> = wide.into_iter().flatten().chain([Dim::Port(0), Dim::Port(1)]).collect();
            let range = |placed: &Placed<'_>, dim: Option<Dim>| {
                let range = dim.and_then(|dim| placed.term.range_of(dim));
                range.map_or(0..=u32::MAX, |(low, high)| low as u32..=high as u32)
            };
            let rules: Vec<Rule<u32>> = terms
                .iter()
                .map(|placed| rule(placed, &all, range(placed, wide[0]), range(placed, wide[1])))
                .collect();
            Kind::Rules4(RuleTable::new(&rules, clauses, limit)?, wide)
        };
        let dims = wide.into_iter().flatten().collect();
        Some(Table { first: first(terms), dims, terms: terms.len(), kind })
    }

    /// The first clause below `best` that a packet has here, or `best`. `holds` answers checks.
    #[inline]
    pub(super) fn find(
        &self,
        key: &Key,
        row: &[u32],
        best: u32,
        scratch: &mut Scratch,
        mut holds: impl FnMut(u32) -> bool,
    ) -> u32 {
        match &self.kind {
            Kind::Narrow(map, lists) => match narrow(self.dims[0], key, row) {
                (number, true) => first_of(map.find(number), lists, best, holds),
                _ => best,
            },
            Kind::Wide(map, lists) => {
                let Some(Dim::V6(end)) = self.dims.first().copied() else { return best };
                if key.class.kind != Class::IP6 || key.there & [SRC, DST][end] == 0 {
                    return best;
                }
                first_of(map.find(key.v6[end]), lists, best, holds)
            }
            Kind::Rules4(table, wide) => {
                let [a, b] = wide.map(|dim| wide_number(dim, key, row));
                let key = rule_key(key, a, b);
                let found = table.rules.find_with(&key, scratch, &mut holds);
                found.map_or(best, |rule| best.min(table.clauses[rule as usize]))
            }
            Kind::Rules6(table) => {
                if key.class.kind != Class::IP6 {
                    return best;
                }
                let key = rule_key(key, key.v6[0], key.v6[1]);
                let found = table.rules.find_with(&key, scratch, &mut holds);
                found.map_or(best, |rule| best.min(table.clauses[rule as usize]))
            }
        }
    }

    /// The same for packets, whose rows of numbers have this width. `holds` answers checks about a packet.
    pub(super) fn find_each(
        &self,
        keys: &[Key],
        (rows, width): (&[u32], usize),
        best: &mut [u32],
        scratch: &mut Scratch,
        mut holds: impl FnMut(usize, u32) -> bool,
    ) {
        let row = |at: usize| &rows[at * width..(at + 1) * width];
        match &self.kind {
            Kind::Narrow(map, lists) => {
                let (mut numbers, mut found) = ([0; BURST], [NONE; BURST]);
                let mut is_there = [false; BURST];
                let mut each = |dim: Dim| {
                    for (at, key) in keys.iter().enumerate().take(BURST) {
                        (numbers[at], is_there[at]) = narrow(dim, key, row(at));
                    }
                };
                // PERF: a loop for each kind of field, none of which asks for the kind.
                match self.dims[0] {
                    Dim::V4(0) => each(Dim::V4(0)),
                    Dim::V4(_) => each(Dim::V4(1)),
                    Dim::Port(0) => each(Dim::Port(0)),
                    Dim::Port(_) => each(Dim::Port(1)),
                    input => each(input),
                }
                map.find_each(&numbers[..keys.len()], &mut found[..keys.len()]);
                // PERF: which packets are in a piece is not to be guessed, so they are gathered without a branch.
                let (mut hits, mut count) = ([0; BURST], 0);
                for (at, (is_there, value)) in is_there.iter().zip(&found).enumerate().take(keys.len()) {
                    hits[count % BURST] = at as u16;
                    count += usize::from(is_there & (*value != NONE));
                }
                for at in hits[..count].iter().map(|at| usize::from(*at)) {
                    best[at] = first_of(Some(found[at]), lists, best[at], |check| holds(at, check));
                }
            }
            Kind::Rules4(table, wide) if !table.is_checked => {
                let mut found = [NONE; BURST];
                let mut rule_keys = [rules::Key::<u32>::default(); BURST];
                for (at, key) in keys.iter().enumerate() {
                    let [a, b] = wide.map(|dim| wide_number(dim, key, row(at)));
                    rule_keys[at] = rule_key(key, a, b);
                }
                table.rules.find_batch(&rule_keys[..keys.len()], &mut found[..keys.len()]);
                for (best, rule) in best.iter_mut().zip(found) {
                    if let Some(clause) = table.clauses.get(rule as usize) {
                        *best = (*best).min(*clause);
                    }
                }
            }
            _ => {
                for (at, (key, best)) in keys.iter().zip(best).enumerate() {
                    *best = self.find(key, row(at), *best, scratch, |check| holds(at, check));
                }
            }
        }
    }

    /// Bytes of memory.
    pub(super) fn bytes(&self) -> usize {
        match &self.kind {
            Kind::Narrow(map, lists) => map.bytes() + lists.bytes(),
            Kind::Wide(map, lists) => map.bytes() + lists.bytes(),
            Kind::Rules4(table, _) => table.rules.bytes() + size_of_val(&table.clauses[..]),
            Kind::Rules6(table) => table.rules.bytes() + size_of_val(&table.clauses[..]),
        }
    }

    /// What a look-up costs at most, and how many checks one piece has at most.
    pub(super) fn worst(&self) -> Worst {
        let checks = |lists: &Lists| {
            let lists = (0..lists.ends.len() as u32).map(|at| lists.get(at));
            lists.map(|list| list.iter().filter(|(_, check)| *check != NONE).count()).max().unwrap_or(0)
        };
        match &self.kind {
            Kind::Narrow(map, lists) => Worst::Pieces { pieces: map.pieces(), checks: checks(lists) },
            Kind::Wide(map, lists) => Worst::Pieces { pieces: map.pieces(), checks: checks(lists) },
            Kind::Rules4(table, _) => Worst::Rules(table.rules.certificate()),
            Kind::Rules6(table) => Worst::Rules(table.rules.certificate()),
        }
    }
}

/// What a look-up costs at most.
#[derive(Clone, Debug)]
pub(super) enum Worst {
    Pieces { pieces: usize, checks: usize },
    Rules(Certificate),
}

fn first(terms: &[Placed<'_>]) -> u32 {
    terms.first().map_or(NONE, |placed| placed.clause)
}

fn entry(placed: &Placed<'_>, is_checked: bool) -> (u32, u32) {
    (placed.clause, if is_checked { placed.check } else { NONE })
}

/// Whether the ranges of these fields are all that a term asks for. Kinds and fields that are to be there are asked for by rules, and by pieces as far as the
/// field of the table goes.
pub(super) fn is_sure(term: &Term, dims: &[Dim]) -> bool {
    let needs = |dim: &Dim| match *dim {
        Dim::V4(end) | Dim::V6(end) => [SRC, DST][end],
        Dim::Port(end) => [SPORT, DPORT][end],
        Dim::Input(_) => 0,
    };
    let there = dims.iter().fold(0, |bits, dim| bits | needs(dim));
    let has_port = dims.iter().any(|dim| matches!(dim, Dim::Port(_)));
    term.atoms.is_empty()
        && term.kinds.1 == 0
        && term.needs & !there == 0
        && (has_port || term.transport.is_none())
        && term.dims().all(|dim| dims.contains(&dim))
}

/// Whether a term needs a check in a table of these fields.
pub(super) fn needs_check(term: &Term, dims: &[Dim], is_rules: bool) -> bool {
    match is_rules {
        true => !is_said(term, dims),
        false => !is_sure(term, dims),
    }
}

/// Whether a rule of these fields says all of a term.
fn is_said(term: &Term, dims: &[Dim]) -> bool {
    term.atoms.is_empty() && term.dims().all(|dim| dims.contains(&dim))
}

fn rule<A: rules::Address>(
    placed: &Placed<'_>,
    dims: &[Dim],
    src: std::ops::RangeInclusive<A>,
    dst: std::ops::RangeInclusive<A>,
) -> Rule<A> {
    let term = placed.term;
    let [sport, dport] = term.ports.map(|range| range.unwrap_or((0, u16::MAX)));
    let needs = u32::from(term.needs) << 4;
    // The fields of an address are there for either version of IP.
    let mut kinds = term.kinds;
    if term.v4.iter().any(Option::is_some) {
        kinds.1 |= Class::IP6;
    }
    Rule {
        src,
        dst,
        sport: sport.0..=sport.1,
        dport: dport.0..=dport.1,
        proto: term.transport.map_or((0, 0), |transport| (transport, u8::MAX)),
        features: (u32::from(kinds.0) | needs, u32::from(kinds.1) | needs),
        residual: (!is_said(term, dims)).then_some(placed.check),
    }
}

fn rule_key<A>(key: &Key, src: A, dst: A) -> rules::Key<A> {
    let [sport, dport] = key.ports;
    let features = u32::from(key.class.kind) | u32::from(key.there) << 4;
    rules::Key { src, dst, sport, dport, proto: key.class.transport, features }
}

impl<A: rules::Address> RuleTable<A> {
    fn new(rules: &[Rule<A>], clauses: Vec<u32>, limit: usize) -> Option<RuleTable<A>> {
        let options = rules::Options { bytes_max: limit, ..rules::Options::default() };
        let is_checked = rules.iter().any(|rule| rule.residual.is_some());
        Some(RuleTable { rules: Rules::build(rules, &options).ok()?, clauses, is_checked })
    }
}

pub(super) fn port_number(transport: u8, port: u16) -> u32 {
    u32::from(transport) << 16 | u32::from(port)
}

/// The number that a packet is looked up by, and whether it has it.
#[inline(always)]
fn narrow(dim: Dim, key: &Key, row: &[u32]) -> (u32, bool) {
    match dim {
        Dim::V4(end) => {
            let is_there = (key.class.kind != Class::IP6) & (key.there & [SRC, DST][end] != 0);
            (key.v4[end], is_there)
        }
        Dim::Port(end) => {
            (port_number(key.class.transport, key.ports[end]), key.there & [SPORT, DPORT][end] != 0)
        }
        Dim::Input(slot) => row.get(slot as usize).map_or((0, false), |number| (*number, true)),
        Dim::V6(_) => (0, false),
    }
}

/// The number that rules compare with a wide field.
#[inline]
fn wide_number(dim: Option<Dim>, key: &Key, row: &[u32]) -> u32 {
    match dim {
        Some(Dim::V4(end)) => key.v4[end],
        Some(Dim::Input(slot)) => row.get(slot as usize).copied().unwrap_or(0),
        _ => 0,
    }
}

/// The first clause of a piece that holds, if it is below `best`.
#[inline]
fn first_of(value: Option<u32>, lists: &Lists, best: u32, mut holds: impl FnMut(u32) -> bool) -> u32 {
    match value {
        None => best,
        Some(clause) if clause & SURE != 0 => best.min(clause & !SURE),
        Some(list) => {
            let below = lists.get(list).iter().take_while(|(clause, _)| *clause < best);
            let mut found = below.filter(|(_, check)| *check == NONE || holds(*check));
            found.next().map_or(best, |(clause, _)| *clause)
        }
    }
}

/// Entries of lists at most, for each term.
const ENTRIES_PER_TERM: usize = 8;

/// Cuts numbers into pieces in each of which the same terms hold. Terms are in the order of their clauses.
pub(super) fn cut<K: Copy + Ord>(
    spans: Vec<(K, K, (u32, u32))>,
    next: impl Fn(K) -> Option<K>,
) -> Option<(Pieces<K>, Lists)> {
    let mut events: Vec<(K, bool, u32)> = Vec::with_capacity(2 * spans.len());
    for (at, (low, high, _)) in spans.iter().enumerate() {
        events.push((*low, true, at as u32));
        events.extend(next(*high).map(|behind| (behind, false, at as u32)));
    }
    events.sort_unstable();
    let most = ENTRIES_PER_TERM * spans.len() + 1024;
    let mut lists = Lists::default();
    let (mut starts, mut values, mut active) = (Vec::new(), vec![NONE], BTreeSet::new());
    for at_one in events.chunk_by(|a, b| a.0 == b.0) {
        for &(_, begins, at) in at_one {
            if begins {
                active.insert(at);
            } else {
                active.remove(&at);
            }
        }
        let mut list: Vec<(u32, u32)> = Vec::new();
        for &at in &active {
            let entry = spans[at as usize].2;
            list.push(entry);
            if entry.1 == NONE || lists.entries.len() + list.len() > most {
                break;
            }
        }
        let value = match list[..] {
            [] => NONE,
            [(clause, NONE)] => clause | SURE,
            _ => {
                let last = lists.ends.len() as u32;
                if lists.entries.len() + list.len() > most {
                    return None;
                }
                match last.checked_sub(1).filter(|at| lists.get(*at) == list) {
                    Some(same) => same,
                    None => {
                        lists.entries.extend(list);
                        lists.ends.push(lists.entries.len() as u32);
                        last
                    }
                }
            }
        };
        if values.last() != Some(&value) {
            starts.push(at_one[0].0);
            values.push(value);
        }
    }
    Some((Pieces { starts, values }, lists))
}
