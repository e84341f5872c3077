//! The look-up of nf-HiPAC, from its description: a tree for each dimension, nested.
//!
//! nf-HiPAC's kernel code no longer builds, so this is a model of its algorithm and not its code: the ends of the rules' ranges in a dimension cut it into
//! intervals; a search tree finds a packet's interval; it leads to the tree of the next dimension, of the rules that cover the interval. Rules that leave a
//! dimension open cover all intervals, and the same rules have one tree. At the end stands the lowest rule.

use classify::rules::{Key, Rule};
use std::collections::HashMap;

/// Source, destination, protocol, source port, destination port, features.
const DIMENSIONS: usize = 6;

/// What an interval leads to.
#[derive(Clone, Copy)]
enum Next {
    /// A rule, or none.
    Rule(u32),
    Tree(u32),
}

/// Intervals of a dimension, by their first values.
struct Tree {
    dimension: usize,
    starts: Vec<u32>,
    next: Vec<Next>,
}

/// A list, as nested trees.
pub(crate) struct Hipac {
    trees: Vec<Tree>,
    root: Next,
}

/// The range of a rule in a dimension.
fn range(rule: &Rule<u32>, dimension: usize) -> (u32, u32) {
    let masked = |(value, mask): (u32, u32), all: u32| if mask == 0 { (0, all) } else { (value, value) };
    match dimension {
        0 => (*rule.src.start(), *rule.src.end()),
        1 => (*rule.dst.start(), *rule.dst.end()),
        2 => masked((rule.proto.0.into(), rule.proto.1.into()), 255),
        3 => (u32::from(*rule.sport.start()), u32::from(*rule.sport.end())),
        4 => (u32::from(*rule.dport.start()), u32::from(*rule.dport.end())),
        // One state at a time is asked for.
        _ => masked(rule.features, u32::MAX),
    }
}

fn field(key: &Key<u32>, dimension: usize) -> u32 {
    match dimension {
        0 => key.src,
        1 => key.dst,
        2 => key.proto.into(),
        3 => key.sport.into(),
        4 => key.dport.into(),
        _ => key.features,
    }
}

impl Hipac {
    pub(crate) fn build(rules: &[Rule<u32>]) -> Hipac {
        let mut hipac = Hipac { trees: Vec::new(), root: Next::Rule(u32::MAX) };
        let mut known = HashMap::new();
        hipac.root = hipac.tree(rules, (0..rules.len() as u32).collect(), 0, &mut known);
        hipac
    }

    fn tree(
        &mut self,
        rules: &[Rule<u32>],
        of: Vec<u32>,
        dimension: usize,
        known: &mut HashMap<(usize, Vec<u32>), Next>,
    ) -> Next {
        let Some(&first) = of.first() else { return Next::Rule(u32::MAX) };
        if dimension == DIMENSIONS {
            return Next::Rule(first);
        }
        if let Some(&next) = known.get(&(dimension, of.clone())) {
            return next;
        }
        // Sweeps over the ends, with the rules that cover the interval at hand in order.
        let mut ends: Vec<(u64, bool, u32)> = Vec::new();
        for &rule in &of {
            let (low, high) = range(&rules[rule as usize], dimension);
            ends.push((low.into(), true, rule));
            ends.push((u64::from(high) + 1, false, rule));
        }
        ends.sort_unstable();
        let mut tree = Tree { dimension, starts: vec![0], next: vec![Next::Rule(u32::MAX)] };
        let mut covering = std::collections::BTreeSet::new();
        for same in ends.chunk_by(|a, b| a.0 == b.0) {
            for &(_, begins, rule) in same {
                if begins {
                    covering.insert(rule)
                } else {
                    covering.remove(&rule)
                };
            }
            let Ok(start) = u32::try_from(same[0].0) else { break };
            let next = self.tree(rules, covering.iter().copied().collect(), dimension + 1, known);
            if start == 0 {
                tree.next[0] = next;
            } else {
                tree.starts.push(start);
                tree.next.push(next);
            }
        }
        let next = if tree.starts.len() == 1 {
            tree.next[0]
        } else {
            self.trees.push(tree);
            Next::Tree(self.trees.len() as u32 - 1)
        };
        known.insert((dimension, of), next);
        next
    }

    /// The first rule that matches, [`u32::MAX`] for none.
    pub(crate) fn find(&self, key: &Key<u32>) -> u32 {
        let mut at = self.root;
        loop {
            match at {
                Next::Rule(rule) => return rule,
                Next::Tree(tree) => {
                    let tree = &self.trees[tree as usize];
                    let value = field(key, tree.dimension);
                    at = tree.next[tree.starts.partition_point(|&start| start <= value) - 1];
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use classify::rules::{generate, linear, points};

    #[test]
    fn the_model_finds_the_first_rule() {
        let rules = generate::rules(200, 1);
        let hipac = Hipac::build(&rules);
        for key in points(&rules, 1).take(500).chain(generate::random_headers(2).take(500)) {
            let expected = linear(&rules, &key, |_| false).map_or(u32::MAX, |rule| rule as u32);
            assert_eq!(hipac.find(&key), expected, "{key:?}");
        }
    }
}
