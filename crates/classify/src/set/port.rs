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
        for port in spans.into_iter().flat_map(|(low, high)| low..=high) {
            bits[usize::from(port >> 6)] |= 1 << (port & 63);
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
