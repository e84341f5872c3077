//! Valid expressions of the filter language, from a seed.
//!
//! ```
//! use quickcheck::{expr::Generator, linktype::ETHERNET};
//!
//! let expressions: Vec<String> = (0..3).map(|seed| Generator::new(ETHERNET, seed).expression()).collect();
//! assert_eq!(expressions[0], Generator::new(ETHERNET, 0).expression(), "a seed means the same for ever");
//! ```
//!
//! Expressions are *made* valid rather than picked out of random text: that finds more and wastes nothing. What makes
//! sense depends on the link type (`family`); now and then a primitive of another family slips in, so
//! that the two compilers can also disagree about what to reject. The weights favour what interacts: words
//! that shift offsets, loads under `not`, qualifiers that carry over to the next address.
//!
//! The parts: `address` makes hosts, nets, ports and protocols; `arith` relations; `words` everything else.
//! [`Productions`] draws from the grammar instead, valid or not. [`shrink()`] makes a failing expression smaller without knowing the grammar.

mod address;
mod arith;
mod family;
mod productions;
mod shrink;
mod words;

pub use productions::{Alternative, Productions};
pub use shrink::shrink;

use crate::linktype::LinkType;
use crate::rng::Rng;
use family::Family;

/// How deep parentheses go.
const DEPTH: usize = 2;

/// Makes one kind of primitive.
type Maker = fn(&mut Generator) -> String;

/// Makes expressions for one link type.
#[derive(Debug)]
pub struct Generator {
    rng: Rng,
    family: Family,
}

impl Generator {
    /// A generator for `linktype`.
    pub fn new(linktype: LinkType, seed: u64) -> Self {
        Generator { rng: Rng::new(seed), family: Family::of(linktype) }
    }

    /// The next expression.
    pub fn expression(&mut self) -> String {
        if self.rng.chance(1, 200) {
            return String::new();
        }
        self.list(DEPTH)
    }

    /// Terms between `and` and `or`, which bind equally.
    fn list(&mut self, depth: usize) -> String {
        let mut text = self.term(depth);
        for _ in 0..*self.rng.pick(&[0, 0, 0, 1, 1, 1, 2, 2, 3]) {
            text.push_str(self.pick(&[" and ", " and ", " or ", " or ", " && ", " || "]));
            text.push_str(&self.term(depth));
        }
        text
    }

    fn term(&mut self, depth: usize) -> String {
        let not = self.pick(&["", "", "", "", "", "not ", "! ", "not not "]);
        if depth > 0 && self.rng.chance(1, 6) {
            return format!("{not}({})", self.list(depth - 1));
        }
        format!("{not}{}", self.primitive())
    }

    fn pick(&mut self, items: &[&'static str]) -> &'static str {
        items[self.rng.below(items.len())]
    }

    fn primitive(&mut self) -> String {
        // Twice in a hundred, whatever the language has: most often an error, which must be one for everybody.
        let family = if self.rng.chance(2, 100) { Family::EVERYTHING } else { self.family };
        let home = std::mem::replace(&mut self.family, family);
        let text = self.pick_primitive();
        self.family = home;
        text
    }

    fn pick_primitive(&mut self) -> String {
        let family = self.family;
        #[rustfmt::skip]
        let choices: [(usize, Maker); 15] = [
            (3, Self::length),
            (8, Self::relation),
            (if family.ip { 10 } else { 0 }, Self::host),
            (if family.ip { 5 } else { 0 }, Self::net),
            (if family.ip { 9 } else { 0 }, Self::port),
            (if family.ip { 10 } else { 0 }, Self::protocol),
            (if family.ip { 4 } else { 0 }, Self::numbered_protocol),
            (if family.mac { 5 } else { 0 }, Self::link_host),
            (if family.mac || family.arcnet { 2 } else { 0 }, Self::cast),
            (if family.shifts { 7 } else { usize::from(family.ip) }, Self::shift),
            (if family.llc { 3 } else { 0 }, Self::llc),
            (if family.wlan { 9 } else { 0 }, Self::wlan),
            (if family.atm { 9 } else { 0 }, Self::atm),
            (if family.ss7 { 20 } else { 0 }, Self::ss7),
            (if family.pflog || family.direction || family.ifindex { 6 } else { 0 }, Self::meta),
        ];
        let total = choices.iter().map(|&(weight, _)| weight).sum();
        let mut at = self.rng.below(total);
        for (weight, make) in choices {
            if at < weight {
                return make(self);
            }
            at -= weight;
        }
        unreachable!("`at` is below the sum of the weights")
    }
}
