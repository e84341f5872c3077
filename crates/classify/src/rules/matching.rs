//! Rules with residuals: predicates that their user computes.
//!
//! ```text
//! sure  = lowest matching rule without a residual
//! maybe = matching rules with one, below `sure`
//! in the order of `maybe`: the first whose residual holds; else `sure`
//! ```
//! Tables are left as early as without residuals, since they are compared with `sure` alone. A predicate that several rules share is computed
//! once a packet.

use super::image::{Image, NONE, SPECIAL};
use super::{Address, Key, Rule};
use table::simd::lanes::{Lanes, Task};

/// Memory of [`Rules::find_with`](super::Rules::find_with), kept from packet to packet so that none is allocated per packet.
#[derive(Debug, Default)]
pub struct Scratch {
    maybe: Vec<u32>,
    /// Predicates that were computed for this packet, sorted, and their answers.
    known: Vec<(u32, bool)>,
}

impl Scratch {
    /// The answer of a predicate, computed once.
    fn holds(&mut self, residual: u32, holds: &mut impl FnMut(u32) -> bool) -> bool {
        match self.known.binary_search_by_key(&residual, |&(known, _)| known) {
            Ok(at) => self.known[at].1,
            Err(at) => {
                let answer = holds(residual);
                self.known.insert(at, (residual, answer));
                answer
            }
        }
    }
}

/// What rows do not say of a rule.
#[derive(Clone, Debug)]
pub(super) struct Special<A> {
    /// The whole box, where rows hold only one around it.
    pub(super) exact: Option<Box<Rule<A>>>,
    pub(super) residual: Option<u32>,
}

/// The special rules of a list.
#[derive(Clone, Debug)]
pub(super) struct Specials<A> {
    /// For each rule the index among `of`, if it is special; empty if no rule is.
    pub(super) at: Vec<u32>,
    pub(super) of: Vec<Special<A>>,
}

impl<A: Address> Specials<A> {
    pub(super) fn new(rules: &[Rule<A>]) -> Self {
        let mut specials = Specials { at: Vec::new(), of: Vec::new() };
        for (number, rule) in rules.iter().enumerate() {
            let is_exact = A::is_exact(rule);
            if rule.residual.is_some() || !is_exact {
                specials.at.resize(rules.len(), NONE);
                specials.at[number] = specials.of.len() as u32;
                let exact = (!is_exact).then(|| Box::new(rule.clone()));
                specials.of.push(Special { exact, residual: rule.residual });
            }
        }
        specials
    }

    pub(super) fn is_special(&self, number: u32) -> bool {
        self.at.get(number as usize).is_some_and(|&at| at != NONE)
    }

    fn get(&self, number: u32) -> Option<&Special<A>> {
        self.of.get(*self.at.get(number as usize)? as usize)
    }

    pub(super) fn bytes(&self) -> usize {
        let exact = self.of.iter().filter(|special| special.exact.is_some()).count();
        size_of_val(&self.at[..]) + size_of_val(&self.of[..]) + exact * size_of::<Rule<A>>()
    }
}

/// The first rule of one packet, of rules some of which are special or deleted.
pub(super) struct FindWith<'a, A, D, H> {
    pub(super) image: &'a Image,
    pub(super) specials: &'a Specials<A>,
    pub(super) key: &'a Key<A>,
    pub(super) scratch: &'a mut Scratch,
    /// Whether a rule was deleted.
    pub(super) is_dead: D,
    /// The answer of a residual.
    pub(super) holds: H,
}

impl<A: Address, D: FnMut(u32) -> bool, H: FnMut(u32) -> bool> Task for FindWith<'_, A, D, H> {
    type Output = u32;

    #[inline(always)]
    fn run<L: Lanes>(mut self, lanes: L) -> u32 {
        let (words, probe) = (A::words(self.key), A::probe(lanes, self.key));
        let mut sure = NONE;
        self.scratch.maybe.clear();
        self.scratch.known.clear();
        for table in &self.image.tables {
            if sure < table.first {
                break;
            }
            if !table.shared.is_in::<A>(&words) {
                continue;
            }
            let leaf = self.image.leaf_of::<A, L>(lanes, table, &words);
            if !self.image.may_match::<A>(leaf, &words) {
                continue;
            }
            self.image.all_in_leaf::<A, L>(lanes, leaf, &probe, |number| {
                let rule = number & !SPECIAL;
                if rule >= sure {
                    return true;
                }
                if (self.is_dead)(rule) {
                    return false;
                }
                if number & SPECIAL == 0 {
                    sure = rule;
                    return true;
                }
                self.scratch.maybe.push(rule);
                false
            });
        }
        if self.scratch.maybe.is_empty() { sure } else { self.decide(sure) }
    }
}

impl<A: Address, D: FnMut(u32) -> bool, H: FnMut(u32) -> bool> FindWith<'_, A, D, H> {
    /// The first special rule below `sure` that holds; else `sure`.
    fn decide(&mut self, sure: u32) -> u32 {
        let mut maybe = std::mem::take(&mut self.scratch.maybe);
        maybe.sort_unstable();
        let holds = |&rule: &u32| {
            let Some(special) = self.specials.get(rule) else { return false };
            special.exact.as_ref().is_none_or(|exact| exact.contains(self.key))
                && special.residual.is_none_or(|residual| self.scratch.holds(residual, &mut self.holds))
        };
        let found = maybe.iter().take_while(|&&rule| rule < sure).copied().find(holds);
        self.scratch.maybe = maybe;
        found.unwrap_or(sure)
    }
}
