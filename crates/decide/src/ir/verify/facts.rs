//! What the verifier knows on entry to a node, in a map whose parts many nodes share.
//!
//! The map is a binary trie over the ids of values that skips the levels at which nothing parts (Okasaki and Gill, "Fast
//! Mergeable Integer Maps", 1998). A new fact copies the way to it, and where paths join, what both share is not looked
//! at. So a test costs O(log n) whatever has been tested before it: hundreds of thousands of loads inside each
//! other have as many guards, and each of them is known until the last load.

use crate::ir::ValueId;
use std::rc::Rc;

/// What is known on entry to a node.
#[derive(Clone, Default)]
pub(super) struct Facts {
    /// As many bytes of the packet are captured.
    pub(super) captured: u64,
    /// What is known of some values. Mostly nothing.
    values: Option<Rc<Trie>>,
}

/// What is known of one value: in the map, never nothing.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Fact {
    /// As many bytes are captured from here on.
    pub(super) end: u32,
    pub(super) nonzero: bool,
}

impl Fact {
    /// What holds on both paths.
    fn meet(self, other: Fact) -> Option<Fact> {
        let fact = Fact { end: self.end.min(other.end), nonzero: self.nonzero && other.nonzero };
        (fact.end > 0 || fact.nonzero).then_some(fact)
    }
}

impl Facts {
    pub(super) fn of(&self, value: ValueId) -> Fact {
        self.values.as_ref().map_or(Fact::default(), |values| values.of(value))
    }

    pub(super) fn set(&mut self, value: ValueId, fact: Fact) {
        self.values = Some(match &self.values {
            Some(values) => Trie::with(values, value, fact),
            None => Rc::new(Trie::Leaf(value, fact)),
        });
    }

    /// What holds on both paths: guards joined with guards, lengths with lengths.
    ///
    /// NOTE: where one path knows a base's bytes by a guard and the other by its length alone, the bytes are there on
    /// both, and yet this must not count. Only the first path has computed the base. A back end would have to compute
    /// it where they join, and so on the first path again, from a packet that another party may have changed since the
    /// guard. What a guard covers on *every* path, every path has computed.
    pub(super) fn meet(&mut self, other: &Facts) {
        self.captured = self.captured.min(other.captured);
        self.values = match (&self.values, &other.values) {
            (Some(a), Some(b)) => Trie::meet(a, b),
            _ => None,
        };
    }
}

/// A map with at least one entry.
enum Trie {
    Leaf(ValueId, Fact),
    Fork(Fork),
}

/// Ids that agree above one bit, and part there.
struct Fork {
    bit: u32,
    /// What they agree in; zero from the bit on down.
    prefix: u32,
    /// Those without the bit, and those with it.
    sides: [Rc<Trie>; 2],
}

/// What of an id lies above a bit.
fn above(id: u32, bit: u32) -> u32 {
    id & !(bit | (bit - 1))
}

impl Fork {
    fn may_hold(&self, id: u32) -> bool {
        above(id, self.bit) == self.prefix
    }

    fn side(&self, id: u32) -> usize {
        usize::from(id & self.bit != 0)
    }
}

impl Trie {
    /// An id that its own begin like.
    fn prefix(&self) -> u32 {
        match self {
            Trie::Leaf(value, _) => value.0,
            Trie::Fork(fork) => fork.prefix,
        }
    }

    fn of(&self, value: ValueId) -> Fact {
        let mut at = self;
        loop {
            match at {
                Trie::Leaf(known, fact) => return if *known == value { *fact } else { Fact::default() },
                Trie::Fork(fork) => at = &fork.sides[fork.side(value.0)],
            }
        }
    }

    fn with(this: &Rc<Trie>, value: ValueId, fact: Fact) -> Rc<Trie> {
        match &**this {
            Trie::Fork(fork) if fork.may_hold(value.0) => {
                let mut sides = fork.sides.clone();
                let side = &mut sides[fork.side(value.0)];
                *side = Trie::with(side, value, fact);
                Rc::new(Trie::Fork(Fork { sides, ..*fork }))
            }
            Trie::Leaf(known, _) if *known == value => Rc::new(Trie::Leaf(value, fact)),
            _ => {
                let bit = 1 << (this.prefix() ^ value.0).ilog2();
                let leaf = Rc::new(Trie::Leaf(value, fact));
                let sides =
                    if value.0 & bit == 0 { [leaf, Rc::clone(this)] } else { [Rc::clone(this), leaf] };
                Rc::new(Trie::Fork(Fork { bit, prefix: above(value.0, bit), sides }))
            }
        }
    }

    fn meet(a: &Rc<Trie>, b: &Rc<Trie>) -> Option<Rc<Trie>> {
        if Rc::ptr_eq(a, b) {
            return Some(Rc::clone(a));
        }
        match (&**a, &**b) {
            (Trie::Leaf(value, fact), _) => {
                let met = fact.meet(b.of(*value))?;
                Some(if met == *fact { Rc::clone(a) } else { Rc::new(Trie::Leaf(*value, met)) })
            }
            (Trie::Fork(x), Trie::Fork(y)) if x.bit == y.bit && x.prefix == y.prefix => {
                let [zero, one] = [0, 1].map(|side| Trie::meet(&x.sides[side], &y.sides[side]));
                let (Some(zero), Some(one)) = (&zero, &one) else { return zero.or(one) };
                let sides = [Rc::clone(zero), Rc::clone(one)];
                let is_of = |fork: &Fork| (0..2).all(|side| Rc::ptr_eq(&sides[side], &fork.sides[side]));
                Some(match (is_of(x), is_of(y)) {
                    (true, _) => Rc::clone(a),
                    (false, true) => Rc::clone(b),
                    (false, false) => Rc::new(Trie::Fork(Fork { sides, ..*x })),
                })
            }
            (Trie::Fork(x), Trie::Fork(y)) if x.bit > y.bit => {
                if x.may_hold(y.prefix) {
                    Trie::meet(&x.sides[x.side(y.prefix)], b)
                } else {
                    None
                }
            }
            (Trie::Fork(_), Trie::Fork(y)) if !y.may_hold(a.prefix()) => None,
            (Trie::Fork(_), _) => Trie::meet(b, a),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    type Plain = BTreeMap<u32, (u32, bool)>;

    /// A map and the same as a plain one.
    #[derive(Clone, Default)]
    struct Both(Facts, Plain);

    impl Both {
        fn set(&mut self, id: u32, end: u32, nonzero: bool) {
            self.0.set(ValueId(id), Fact { end, nonzero });
            self.1.insert(id, (end, nonzero));
        }

        fn meet(&mut self, other: &Both) {
            self.0.meet(&other.0);
            let met = |(id, &(end, nonzero)): (&u32, &(u32, bool))| {
                let fact = Fact { end, nonzero };
                let (end, nonzero) = *other.1.get(id)?;
                fact.meet(Fact { end, nonzero }).map(|met| (*id, (met.end, met.nonzero)))
            };
            self.1 = self.1.iter().filter_map(met).collect();
        }

        fn check(&self) {
            for id in IDS {
                let Fact { end, nonzero } = self.0.of(ValueId(id));
                assert_eq!((end, nonzero), self.1.get(&id).copied().unwrap_or_default(), "{id}");
            }
            assert_eq!(self.0.values.is_none(), self.1.is_empty());
        }
    }

    const IDS: [u32; 12] = [0, 1, 2, 3, 4, 7, 8, 1000, 1001, 1 << 31, (1 << 31) + 1, u32::MAX];

    #[test]
    fn the_map_is_a_map() {
        let mut state = 1u32;
        let mut random = move |n: usize| {
            state = state.wrapping_mul(747_796_405).wrapping_add(1);
            (state >> 16) as usize % n
        };
        let mut versions = vec![Both::default()];
        for _ in 0..3000 {
            let mut next = versions[random(versions.len())].clone();
            match random(3) {
                0 => next.meet(&versions[random(versions.len())]),
                _ => next.set(IDS[random(IDS.len())], 1 + random(3) as u32, random(2) == 0),
            }
            next.check();
            versions.push(next);
        }
        versions.iter().for_each(Both::check);
    }
}
