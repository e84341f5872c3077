//! Answers that were given before. Where a program reads nothing of the packet itself, its answer depends on what is known of the flow, and flows differ little in that:
//! `app`, `state`, `from`. So the answer is looked up, in a table that is indexed by a hash of it.
//!
//! PERF: to give the program its numbers, and to run it, takes four times as long as this.

use super::Way;
use crate::policy::{Answer, Input};

const ENTRIES: usize = 256;

/// What is known of a packet when the rules are asked about it, but for their limits.
#[derive(Clone, Copy, Debug)]
pub(super) struct Facts {
    pub(super) protocol: u16,
    pub(super) master: u16,
    pub(super) confidence: u32,
    /// A number of `state.rs`.
    pub(super) state: u32,
    /// 1 from the initiator, 2 from the other end, 0 from neither.
    pub(super) from: u32,
    /// Bits of own applications.
    pub(super) own: u32,
    pub(super) name: u32,
    pub(super) packets: u32,
    pub(super) risks: u64,
    pub(super) way: Way,
}

type Key = [u64; 5];

impl Facts {
    #[inline]
    fn key(&self) -> Key {
        let Facts { protocol, master, confidence, state, from, own, name, packets, risks, way } = *self;
        let pair = |low: u32, high: u32| u64::from(low) | u64::from(high) << 32;
        let speaks = u32::from(protocol) | u32::from(master) << 16;
        let stands = confidence | state << 8 | from << 16;
        [pair(speaks, stands), pair(own, name), pair(packets, 0), risks, pair(way.input, way.output)]
    }

    /// Bits of the key for what a program reads; `None` where that is no fact.
    fn mask(input: Input) -> Option<Key> {
        const LOW: u64 = 0xffff_ffff;
        const HIGH: u64 = LOW << 32;
        let (word, bits) = match input {
            // An application has one category.
            Input::App | Input::Category => (0, 0xffff),
            Input::Master => (0, 0xffff_0000),
            Input::Confidence => (0, 0xff << 32),
            Input::State => (0, 0xff << 40),
            Input::From => (0, 0xff << 48),
            Input::Own(_) => (1, LOW),
            // A name is in the same sets as long as a policy runs.
            Input::Name | Input::Sets(_) => (1, HIGH),
            Input::FlowCount => (2, LOW),
            Input::Risks(_) => (3, u64::MAX),
            Input::In => (4, LOW),
            Input::Out => (4, HIGH),
            Input::Limits(_) => return None,
        };
        let mut key = Key::default();
        key[word] = bits;
        Some(key)
    }
}

/// A table of answers of one program.
#[derive(Clone, Debug)]
pub(super) struct Memo {
    mask: Key,
    entries: Vec<(Key, Option<Answer>)>,
}

impl Memo {
    /// For a program that reads these numbers, and nothing else; `None` if one of them depends on the time.
    pub(super) fn new(inputs: impl Iterator<Item = Input>) -> Option<Memo> {
        let mut mask = Key::default();
        for input in inputs {
            mask.iter_mut().zip(Facts::mask(input)?).for_each(|(all, bits)| *all |= bits);
        }
        Some(Memo { mask, entries: vec![(Key::default(), None); ENTRIES] })
    }

    /// The answer: what was given before, or what `ask` gives.
    #[inline]
    pub(super) fn answer(&mut self, facts: &Facts, ask: impl FnOnce() -> Answer) -> Answer {
        let mut key = facts.key();
        key.iter_mut().zip(self.mask).for_each(|(word, mask)| *word &= mask);
        // No key is chosen by who sends packets but `flow_count`, and what collides is asked again.
        let [a, b, c, d, e] = key;
        let hash = (a ^ b.rotate_left(20) ^ d).wrapping_mul(0x517c_c1b7_2722_0a95)
            ^ (c ^ e.rotate_left(20)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let entry = &mut self.entries[(hash >> 56) as usize % ENTRIES];
        match entry {
            // PERF: `==` calls memcmp.
            (known, Some(answer)) if known.iter().zip(key).fold(0, |all, (a, b)| all | (a ^ b)) == 0 => {
                *answer
            }
            entry => {
                let answer = ask();
                *entry = (key, Some(answer));
                answer
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts() -> Facts {
        let (protocol, master, confidence, state, from) = (7, 5, 1, 2, 1);
        let (own, name, packets, risks, way) = (0, 0, 9, 0, Way::default());
        Facts { protocol, master, confidence, state, from, own, name, packets, risks, way }
    }

    #[test]
    fn what_was_asked_is_not_asked_again() {
        let mut memo = Memo::new([Input::App, Input::State].into_iter()).unwrap();
        let mut asked = 0;
        let other = |protocol, state, packets| Facts { protocol, state, packets, ..facts() };
        for facts in [other(7, 2, 9), other(7, 2, 10), other(7, 1, 9), other(8, 1, 9), other(7, 2, 11)] {
            let rule = u32::from(facts.protocol) << 8 | facts.state;
            let answer = memo.answer(&facts, || {
                asked += 1;
                Answer::Rule(rule)
            });
            assert_eq!(answer, Answer::Rule(rule));
        }
        assert_eq!(asked, 3);
        assert!(Memo::new([Input::App, Input::Limits(0)].into_iter()).is_none(), "it changes with time");
    }

    #[test]
    fn each_number_that_a_program_reads_tells_answers_apart() {
        let facts = facts();
        let way = |input, output| Way { input, output };
        for (input, other) in [
            (Input::App, Facts { protocol: 8, ..facts }),
            (Input::Category, Facts { protocol: 8, ..facts }),
            (Input::Master, Facts { master: 8, ..facts }),
            (Input::Confidence, Facts { confidence: 8, ..facts }),
            (Input::State, Facts { state: 3, ..facts }),
            (Input::From, Facts { from: 2, ..facts }),
            (Input::Own(0), Facts { own: 1 << 31, ..facts }),
            (Input::Name, Facts { name: 1 << 31, ..facts }),
            (Input::Sets(1), Facts { name: 1, ..facts }),
            (Input::FlowCount, Facts { packets: 1 << 31, ..facts }),
            (Input::Risks(1), Facts { risks: 1 << 63, ..facts }),
            (Input::In, Facts { way: way(1, 0), ..facts }),
            (Input::Out, Facts { way: way(0, 1), ..facts }),
        ] {
            let mut memo = Memo::new(std::iter::once(input)).unwrap();
            assert_eq!(memo.answer(&facts, || Answer::Rule(1)), Answer::Rule(1));
            assert_eq!(memo.answer(&other, || Answer::Rule(2)), Answer::Rule(2), "{input:?}");
            assert_eq!(memo.answer(&other, || Answer::Rule(3)), Answer::Rule(2), "{input:?}");
        }
    }
}
