//! A rule: a box, ternary feature bits, and maybe a predicate that its user computes.

use super::Address;
use std::ops::RangeInclusive;

/// Feature bits that callers may use. What they mean is up to the caller: the state of a connection, an interface, membership in a set.
pub const FEATURES: u32 = 22;

/// What a packet is looked up by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Key<A> {
    /// Source address.
    pub src: A,
    /// Destination address.
    pub dst: A,
    /// Source port; by convention 0 where the packet has none.
    pub sport: u16,
    /// Destination port.
    pub dport: u16,
    /// Protocol over IP.
    pub proto: u8,
    /// The lower [`FEATURES`] bits; the others are ignored.
    pub features: u32,
}

/// What a rule asks of a packet; all of it must hold. Ranges include both ends.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Rule<A> {
    /// Source addresses.
    pub src: RangeInclusive<A>,
    /// Destination addresses.
    pub dst: RangeInclusive<A>,
    /// Source ports.
    pub sport: RangeInclusive<u16>,
    /// Destination ports.
    pub dport: RangeInclusive<u16>,
    /// A value of the protocol, and which bits of it count.
    pub proto: (u8, u8),
    /// A value of the feature bits, and which of them count: of the lower [`FEATURES`].
    pub features: (u32, u32),
    /// A predicate that must hold as well: a number that [`Rules::find_with`](super::Rules::find_with) hands to its caller.
    pub residual: Option<u32>,
}

impl<A: Address> Rule<A> {
    /// The rule that every packet matches.
    #[must_use]
    pub fn any() -> Self {
        Rule {
            src: A::MIN..=A::MAX,
            dst: A::MIN..=A::MAX,
            sport: 0..=u16::MAX,
            dport: 0..=u16::MAX,
            proto: (0, 0),
            features: (0, 0),
            residual: None,
        }
    }

    /// The addresses of a prefix: an address within, and how many of its bits count. More bits than there are count as all.
    ///
    /// ```
    /// use classify::rules::Rule;
    /// assert_eq!(Rule::prefix(0x0a01_0203_u32, 8), 0x0a00_0000..=0x0aff_ffff);
    /// ```
    #[must_use]
    pub fn prefix(address: A, len: u8) -> RangeInclusive<A> {
        let host = A::host_mask(len);
        address.without(host)..=address.with(host)
    }

    /// Whether a packet lies in the box and has the feature bits. The residual is not asked.
    #[must_use]
    pub fn contains(&self, key: &Key<A>) -> bool {
        self.src.contains(&key.src)
            && self.dst.contains(&key.dst)
            && self.sport.contains(&key.sport)
            && self.dport.contains(&key.dport)
            && (key.proto ^ self.proto.0) & self.proto.1 == 0
            && (key.features ^ self.features.0) & self.features.1 & FEATURE_MASK == 0
    }

    /// Whether no packet lies in the box.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.src.is_empty() || self.dst.is_empty() || self.sport.is_empty() || self.dport.is_empty()
    }

    /// The same rule with its don't-care bits zero, so that rules that mean the same are equal.
    pub(super) fn canonical(&self) -> Self {
        let mut rule = self.clone();
        rule.proto.0 &= rule.proto.1;
        rule.features.1 &= FEATURE_MASK;
        rule.features.0 &= rule.features.1;
        rule
    }

    /// The rule asks no feature and nothing of the box: nothing is left to compare but the residual.
    #[must_use]
    pub fn is_wild(&self) -> bool {
        Rule { residual: None, ..self.canonical() } == Rule::any()
    }
}

/// The feature bits that a caller may use.
pub(super) const FEATURE_MASK: u32 = (1 << FEATURES) - 1;

/// The first rule that a packet matches, one by one: what every structure is compared with. `holds` answers residuals.
///
/// ```
/// use classify::rules::{Key, Rule, linear};
/// let rules = [Rule { dport: 80..=80, ..Rule::any() }, Rule::<u32>::any()];
/// assert_eq!(linear(&rules, &Key { dport: 80, ..Key::default() }, |_| false), Some(0));
/// assert_eq!(linear(&rules, &Key { dport: 81, ..Key::default() }, |_| false), Some(1));
/// ```
pub fn linear<A: Address>(
    rules: &[Rule<A>],
    key: &Key<A>,
    mut holds: impl FnMut(u32) -> bool,
) -> Option<usize> {
    rules.iter().position(|rule| rule.contains(key) && rule.residual.is_none_or(&mut holds))
}
