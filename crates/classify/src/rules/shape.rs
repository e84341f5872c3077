//! Which rules are specific enough to share a table?

use super::peel::rest_time;
use super::{Address, Rule};
use table::simd::lanes::GROUP;

/// How specific a rule is.
#[derive(Clone, Copy, Debug)]
pub(super) struct Spread {
    /// Bits that its source addresses share.
    src: u8,
    /// Bits that its destination addresses share.
    dst: u8,
    /// Bit 0: one destination port; bit 1: one source port.
    ports: u8,
}

impl Spread {
    pub(super) fn of<A: Address>(rule: &Rule<A>) -> Spread {
        let is_one = |range: &std::ops::RangeInclusive<u16>| u8::from(range.start() == range.end());
        Spread {
            src: A::shared(&rule.src),
            dst: A::shared(&rule.dst),
            ports: is_one(&rule.dport) | is_one(&rule.sport) << 1,
        }
    }
}

/// Rules that are at least so specific.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Shape {
    src: u8,
    dst: u8,
    ports: u8,
}

/// Rules that shapes are compared by.
const LOOKED_AT: usize = 4096;
/// Shapes that are tried in earnest.
const TRIED: usize = 10;

impl Shape {
    const ANY: Shape = Shape { src: 0, dst: 0, ports: 0 };

    pub(super) fn fits(self, spread: Spread) -> bool {
        spread.src >= self.src && spread.dst >= self.dst && spread.ports & self.ports == self.ports
    }

    /// Whether all that fits one of both fits the other.
    pub(super) fn is_nested(self, other: Shape) -> bool {
        let holds = |a: Shape, b: Shape| a.src <= b.src && a.dst <= b.dst && a.ports & b.ports == a.ports;
        holds(self, other) || holds(other, self)
    }

    pub(super) fn is_any(self) -> bool {
        self == Shape::ANY
    }

    /// Shapes worth a try, the most promising first: those whose prefixes and ports differ most, and take most rules.
    pub(super) fn candidates<A: Address>(rules: &[Rule<A>], spreads: &[Spread], of: &[u32]) -> Vec<Shape> {
        let step = (of.len() / LOOKED_AT).max(1);
        let looked_at: Vec<u32> = of.iter().step_by(step).copied().collect();
        let mut found: Vec<(f32, usize, Shape)> = Vec::new();
        for &src in A::LENGTHS {
            for &dst in A::LENGTHS {
                for ports in 0..3 {
                    let shape = Shape { src, dst, ports };
                    let Some((cost, count)) = shape.guess(rules, spreads, &looked_at, of.len()) else {
                        continue;
                    };
                    let is_same = |&(_, other, known): &(f32, usize, Shape)| {
                        other == count && known.src >= src && known.dst >= dst && known.ports == ports
                    };
                    if !found.iter().any(is_same) {
                        found.push((cost, count, shape));
                    }
                }
            }
        }
        found.sort_by(|a, b| a.0.total_cmp(&b.0));
        let mut shapes: Vec<Shape> = found.into_iter().take(TRIED).map(|(.., shape)| shape).collect();
        let [.., low, middle, high] = [0, A::BITS / 2, A::BITS / 8 * 5, A::BITS / 4 * 3];
        let plain = [low, middle, high]
            .into_iter()
            .flat_map(|len| [Shape { src: 0, dst: len, ports: 0 }, Shape { src: len, dst: 0, ports: 0 }]);
        for shape in std::iter::once(Shape::ANY).chain(plain) {
            if !shapes.contains(&shape) {
                shapes.push(shape);
            }
        }
        shapes
    }

    /// A guess at the cost of a table of this shape with the rules that it leaves, and how many of those looked at it takes.
    fn guess<A: Address>(
        self,
        rules: &[Rule<A>],
        spreads: &[Spread],
        looked_at: &[u32],
        total: usize,
    ) -> Option<(f32, usize)> {
        let hash = |rule: &Rule<A>| {
            let addresses = rule.src.start().prefix_hash(self.src).rotate_left(32)
                ^ rule.dst.start().prefix_hash(self.dst);
            let port = match self.ports {
                1 => u64::from(*rule.dport.start()) + 1,
                2 => (u64::from(*rule.sport.start()) + 1) << 20,
                _ => 0,
            };
            addresses.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ port.wrapping_mul(0xc2b2_ae3d_27d4_eb4f)
        };
        let fitting = looked_at.iter().map(|&rule| rule as usize).filter(|&rule| self.fits(spreads[rule]));
        let mut keys: Vec<u64> = fitting.map(|rule| hash(&rules[rule])).collect();
        let count = keys.len();
        if count < 2 {
            return None;
        }
        keys.sort_unstable();
        // Pairs of rules that the shape does not tell apart, of all pairs: how many rules a packet's entry has.
        let squares: f32 = keys.chunk_by(|a, b| a == b).map(|same| (same.len() as f32).powi(2)).sum();
        let n = count as f32;
        let alike = (squares - n) / (n * (n - 1.0));
        let scale = total as f32 / looked_at.len() as f32;
        let met = 1.0 + alike * (n * scale - 1.0);
        let group = GROUP as f32;
        let cells = if met > group { 1.5 * (met / group).log2() } else { 0.0 };
        Some((5.0 + cells + rest_time(total - ((n * scale) as usize).min(total)), count))
    }
}
