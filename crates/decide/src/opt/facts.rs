//! Facts that are known on the way to a node.
//!
//! A set of facts is a list that shares its tail with the lists of the nodes above: every outcome of a test puts
//! one fact in front. Where paths join, what both lists share remains (their lowest common ancestor), and of the rest the facts that both sides have about the same thing, weakened to
//! cover both. A persistent map beside the list finds the latest fact about a thing. So a test costs O(log n)
//! however long the path, and a join O(log n) plus the few facts looked at.
//!
//! The verifier must be able to follow whatever is removed here, and it sees neither paths nor intervals. So a
//! guard counts as passed only because of guards of the same base passed before it; intervals and candidates only ever
//! decide tests, or that a guard *fails*. Not even the greatest value of a base will do where the packet is known to
//! be long enough for it: other ways may lead past the guard, and what stands behind it would find the base computed on
//! some of them only, so that it had to be read from the packet again after a check. Asking once more costs two
//! instructions, on filters that read far into the packet first.

use super::domain::Domain;
use super::range::{Range, Ranges};
use super::trie::{Root, Trie};
use crate::filled::filled;
use crate::ir::ancestry::Ancestry;
use crate::ir::{CmpOp, Cond, CondId, Pool, ValueId};

/// One set of facts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Known(u32);

impl Known {
    /// Nothing is known.
    pub(super) const NOTHING: Known = Known(0);
}

#[derive(Clone, Copy, Debug)]
enum Fact {
    /// Only the captured length is known better.
    Captured,
    /// This condition was answered.
    Answer(CondId, bool),
    /// This value lies in this domain.
    Within(ValueId, Domain),
    /// `base + end` bytes are captured.
    Covered(ValueId, u32),
}

impl Fact {
    fn key(&self) -> u64 {
        let (kind, id) = match *self {
            Fact::Captured => (0, 0),
            Fact::Answer(cond, _) => (ANSWER, cond.0),
            Fact::Within(value, _) => (WITHIN, value.0),
            Fact::Covered(base, _) => (COVERED, base.0),
        };
        kind | u64::from(id)
    }
}

const ANSWER: u64 = 1 << 32;
const WITHIN: u64 = 2 << 32;
const COVERED: u64 = 3 << 32;

/// How many facts of each side a join looks at.
const JOINED_MAX: usize = 32;
/// How far a join looks for them: in a long list, thousands of facts in a row may be about a few things.
const STEPS_MAX: usize = 8 * JOINED_MAX;

#[derive(Clone, Copy, Debug)]
struct Entry {
    fact: Fact,
    latest: Root,
    /// The captured length is at least, and at most.
    captured: (u64, u64),
}

/// All sets of facts of one sweep.
pub(super) struct Facts<'p> {
    pool: &'p Pool,
    ranges: &'p Ranges,
    /// Values and conditions that are read twice, so that knowing them can pay.
    again: Again,
    /// The lists, as a tree that branches where they part; numbered as `entries`.
    lists: Ancestry,
    entries: Vec<Entry>,
    trie: Trie,
    /// Scratch of [`Facts::join`].
    sides: [Vec<Fact>; 2],
    cut_short: bool,
}

/// Values and conditions that are read more than once: how often each condition and value is met, up to twice.
pub(super) struct Again {
    /// By condition, then by value.
    times: Vec<u8>,
    conds: usize,
}

impl Again {
    pub(super) fn new(conds: usize, values: usize) -> Self {
        Again { times: filled(0, conds + values), conds }
    }

    pub(super) fn meet_cond(&mut self, cond: CondId) {
        let times = &mut self.times[cond.index()];
        *times = (*times + 1).min(2);
    }

    pub(super) fn meet_value(&mut self, value: ValueId) {
        let times = &mut self.times[self.conds + value.index()];
        *times = (*times + 1).min(2);
    }

    fn cond(&self, cond: CondId) -> bool {
        self.times[cond.index()] == 2
    }

    fn value(&self, value: ValueId) -> bool {
        self.times[self.conds + value.index()] == 2
    }
}

impl<'p> Facts<'p> {
    /// Nothing known yet, with room for about this many facts.
    pub(super) fn new(pool: &'p Pool, ranges: &'p Ranges, again: Again, facts: usize) -> Self {
        let nothing = Entry { fact: Fact::Captured, latest: Root::EMPTY, captured: (0, u64::MAX) };
        let mut entries = Vec::with_capacity(facts + 1);
        entries.push(nothing);
        Facts {
            pool,
            ranges,
            again,
            lists: Ancestry::with_capacity(facts + 1),
            entries,
            trie: Trie::with_capacity(facts),
            sides: Default::default(),
            cut_short: false,
        }
    }

    /// Whether some join has not looked at all facts.
    pub(super) fn cut_short(&self) -> bool {
        self.cut_short
    }

    /// Whether passing this condition is what makes an evaluation behind it safe.
    pub(super) fn is_guard(&self, cond: CondId) -> bool {
        match self.pool.get_cond(cond) {
            Cond::Bounds { .. } => true,
            Cond::Cmp(CmpOp::Eq, a, b) => self.ranges.is_divisor(a) && self.pool.as_const(b) == Some(0),
            Cond::Cmp(..) | Cond::Test(..) | Cond::Member(_) => false,
        }
    }

    /// The answer of a condition, where it follows from what is known.
    pub(super) fn decide(&self, known: Known, cond: CondId) -> Option<bool> {
        let asked_again = self.again.cond(cond);
        let answered = || match asked_again.then(|| self.latest(known, ANSWER | u64::from(cond.0)))? {
            Some(Fact::Answer(_, answer)) => Some(answer),
            _ => None,
        };
        match self.pool.get_cond(cond) {
            Cond::Bounds { base, end } => self.decide_bounds(known, base, end).or_else(answered),
            compared => answered().or_else(|| self.decide_compared(known, cond, compared)),
        }
    }

    fn decide_compared(&self, known: Known, cond: CondId, compared: Cond) -> Option<bool> {
        match compared {
            Cond::Bounds { .. } | Cond::Member(_) => None,
            // What follows from ranges alone has been folded.
            Cond::Cmp(_, a, b) | Cond::Test(a, b) if !self.again.value(a) && !self.again.value(b) => None,
            Cond::Cmp(CmpOp::Eq, a, b) => {
                let answer = equal(&self.domain(known, a), &self.domain(known, b));
                answer.filter(|&equal| equal || !self.is_guard(cond))
            }
            Cond::Cmp(CmpOp::Lt, a, b) => {
                let (a, b) = (self.domain(known, a), self.domain(known, b));
                let by_interval =
                    if a.high < b.low { Some(true) } else { (a.low >= b.high).then_some(false) };
                by_interval.or_else(|| b.constant().and_then(|k| a.agreed(|x| x < k)))
            }
            Cond::Test(a, mask) => {
                let mask = self.domain(known, mask).constant()?;
                self.domain(known, a).agreed(|x| x & mask != 0)
            }
        }
    }

    fn decide_bounds(&self, known: Known, base: ValueId, end: u32) -> Option<bool> {
        let (at_least, at_most) = self.entry(known).captured;
        let end64 = u64::from(end);
        if self.pool.as_const(base).is_some_and(|base| u64::from(base) + end64 <= at_least) {
            return Some(true);
        }
        if u64::from(self.domain(known, base).low) + end64 > at_most {
            return Some(false);
        }
        match self.latest(known, COVERED | u64::from(base.0)) {
            Some(Fact::Covered(_, covered)) if covered >= end => Some(true),
            _ => None,
        }
    }

    /// The possible values of a value.
    pub(super) fn domain(&self, known: Known, value: ValueId) -> Domain {
        let Range { low, high } = self.ranges.get(value);
        if low < high
            && self.again.value(value)
            && let Some(Fact::Within(_, domain)) = self.latest(known, WITHIN | u64::from(value.0))
        {
            return domain;
        }
        Domain::interval(low, high)
    }

    /// The facts once a condition was answered.
    pub(super) fn assume(&mut self, known: Known, cond: CondId, answer: bool) -> Known {
        match self.pool.get_cond(cond) {
            Cond::Bounds { base, end } => self.assume_bounds(known, cond, (base, end), answer),
            Cond::Cmp(_, a, b) if !self.is_worth_noting(a) && !self.is_worth_noting(b) => {
                self.note_answer(known, cond, answer)
            }
            Cond::Cmp(op, a, b) => {
                let (x, y) = (self.domain(known, a), self.domain(known, b));
                let (narrow_x, narrow_y) = narrowed(op, answer, x, y);
                let known = self.note_answer(known, cond, answer);
                let known = if narrow_x == x { known } else { self.note_domain(known, a, narrow_x) };
                if narrow_y == y { known } else { self.note_domain(known, b, narrow_y) }
            }
            Cond::Test(..) | Cond::Member(_) => self.note_answer(known, cond, answer),
        }
    }

    fn assume_bounds(
        &mut self,
        known: Known,
        cond: CondId,
        (base, end): (ValueId, u32),
        answer: bool,
    ) -> Known {
        // The verifier knows constant bases only.
        let low = u64::from(self.pool.as_const(base).unwrap_or(0)) + u64::from(end);
        let (at_least, at_most) = self.entry(known).captured;
        if answer {
            self.push(known, Fact::Covered(base, end), (at_least.max(low), at_most))
        } else {
            let high = u64::from(self.domain(known, base).high) + u64::from(end) - 1;
            self.push(known, Fact::Answer(cond, false), (at_least, at_most.min(high)))
        }
    }

    /// The facts once a value turned out to lie in an interval.
    pub(super) fn assume_within(&mut self, known: Known, value: ValueId, range: Range) -> Known {
        let domain = self.domain(known, value);
        let narrow = domain.within(range);
        if narrow == domain { known } else { self.note_domain(known, value, narrow) }
    }

    fn note_answer(&mut self, known: Known, cond: CondId, answer: bool) -> Known {
        if self.again.cond(cond) { self.note(known, Fact::Answer(cond, answer)) } else { known }
    }

    fn note_domain(&mut self, known: Known, value: ValueId, domain: Domain) -> Known {
        if self.is_worth_noting(value) { self.note(known, Fact::Within(value, domain)) } else { known }
    }

    fn is_worth_noting(&self, value: ValueId) -> bool {
        self.again.value(value) && self.pool.as_const(value).is_none()
    }

    fn note(&mut self, known: Known, fact: Fact) -> Known {
        self.push(known, fact, self.entry(known).captured)
    }

    fn push(&mut self, parent: Known, fact: Fact, captured: (u64, u64)) -> Known {
        let known = Known(self.lists.push(parent.0));
        let mut latest = self.entry(parent).latest;
        if !matches!(fact, Fact::Captured) {
            latest = self.trie.insert(latest, fact.key(), known.0);
        }
        self.entries.push(Entry { fact, latest, captured });
        known
    }

    /// The facts where two paths join.
    pub(super) fn join(&mut self, a: Known, b: Known) -> Known {
        let common = Known(self.lists.common(a.0, b.0));
        if common == a || common == b {
            return common;
        }
        let [mut ours, mut theirs] = std::mem::take(&mut self.sides);
        self.collect(a, common, &mut ours);
        self.collect(b, common, &mut theirs);
        let (x, y) = (self.entry(a).captured, self.entry(b).captured);
        let captured = (x.0.min(y.0), x.1.max(y.1));
        let mut known = common;
        if captured != self.entry(common).captured {
            known = self.push(known, Fact::Captured, captured);
        }
        for fact in &ours {
            let other = theirs.iter().find(|other| other.key() == fact.key());
            if let Some(joined) = other.and_then(|other| joined(fact, other)) {
                known = self.note(known, joined);
            }
        }
        self.sides = [ours, theirs];
        known
    }

    /// The latest fact about each thing, from `from` up to but not including `to`; the nearest ones only.
    fn collect(&mut self, from: Known, to: Known, facts: &mut Vec<Fact>) {
        facts.clear();
        let mut at = from;
        let mut steps = 0;
        while at != to && facts.len() < JOINED_MAX && steps < STEPS_MAX {
            steps += 1;
            let entry = self.entry(at);
            let about_length_only = matches!(entry.fact, Fact::Captured);
            if !about_length_only && facts.iter().all(|fact| fact.key() != entry.fact.key()) {
                facts.push(entry.fact);
            }
            at = Known(self.lists.parent(at.0));
        }
        self.cut_short |= at != to;
    }

    fn latest(&self, known: Known, key: u64) -> Option<Fact> {
        let at = self.trie.get(self.entry(known).latest, key)?;
        Some(self.entry(Known(at)).fact)
    }

    fn entry(&self, known: Known) -> &Entry {
        &self.entries[known.0 as usize]
    }
}

fn equal(a: &Domain, b: &Domain) -> Option<bool> {
    match (a.constant(), b.constant()) {
        (Some(x), Some(y)) => Some(x == y),
        (None, Some(k)) => (!a.may_be(k)).then_some(false),
        (Some(k), None) => (!b.may_be(k)).then_some(false),
        (None, None) => (a.high < b.low || b.high < a.low).then_some(false),
    }
}

/// The domains of both operands after a comparison turned out so.
fn narrowed(op: CmpOp, answer: bool, x: Domain, y: Domain) -> (Domain, Domain) {
    match (op, answer) {
        (CmpOp::Eq, true) => match y.constant() {
            Some(k) => (Domain::one(k), y),
            None => {
                let (x_range, y_range) =
                    (Range { low: x.low, high: x.high }, Range { low: y.low, high: y.high });
                (x.within(y_range), y.within(x_range))
            }
        },
        (CmpOp::Eq, false) => match y.constant() {
            Some(k) => (x.without(k), y),
            None => (x, y),
        },
        (CmpOp::Lt, true) => {
            let below = Range { low: 0, high: y.high.saturating_sub(1) };
            let above = Range { low: x.low.saturating_add(1), high: u32::MAX };
            (x.within(below), y.within(above))
        }
        (CmpOp::Lt, false) => {
            (x.within(Range { low: y.low, high: u32::MAX }), y.within(Range { low: 0, high: x.high }))
        }
    }
}

/// The common part of two facts about one thing.
fn joined(a: &Fact, b: &Fact) -> Option<Fact> {
    match (a, b) {
        (Fact::Answer(cond, x), Fact::Answer(_, y)) => (x == y).then_some(Fact::Answer(*cond, *x)),
        (Fact::Within(value, x), Fact::Within(_, y)) => Some(Fact::Within(*value, x.union(y))),
        (Fact::Covered(base, x), Fact::Covered(_, y)) => Some(Fact::Covered(*base, *x.min(y))),
        _ => None,
    }
}
