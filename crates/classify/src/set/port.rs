//! Sets of ports: a bit for each, 8 KiB.

/// A set of 16-bit numbers.
///
/// ```
/// use classify::set::PortSet;
/// let set = PortSet::new([(80, 80), (8000, 8080)]);
/// assert!(set.contains(80) && set.contains(8042) && !set.contains(443));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PortSet(Box<[u64; 1024]>);

impl PortSet {
    /// The set of all numbers in these inclusive intervals.
    #[must_use]
    pub fn new(spans: impl IntoIterator<Item = (u16, u16)>) -> Self {
        let mut bits = Box::new([0; 1024]);
        // PERF: word by word, for a list may have any number of lines, each with nearly all ports.
        for (low, high) in spans.into_iter().filter(|(low, high)| low <= high) {
            let [first, last] = [low, high].map(|port| usize::from(port >> 6));
            // In the first word the bits from `low` on, in the last those up to `high`.
            let (from_low, to_high) = (u64::MAX << (low & 63), u64::MAX >> (63 - (high & 63)));
            if first == last {
                bits[first] |= from_low & to_high;
                continue;
            }
            bits[first] |= from_low;
            bits[first + 1..last].fill(u64::MAX);
            bits[last] |= to_high;
        }
        PortSet(bits)
    }

    /// Whether a number is a member.
    #[inline]
    #[must_use]
    pub fn contains(&self, port: u16) -> bool {
        self.0[usize::from(port >> 6)] >> (port & 63) & 1 == 1
    }
}
