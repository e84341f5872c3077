//! Timestamps: how a file counts them, and nanoseconds as everyone here sees them.
//!
//! pcap counts seconds and a fraction (micro- or nanoseconds); pcapng counts ticks of a resolution that each
//! interface chooses, a power of ten or of two, plus an offset in seconds (draft-ietf-opsawg-pcapng, 4.2).
//! Both become nanoseconds since 1970 in an `i64`, saturating: the years 1677 to 2262.

/// The fraction of a second that a pcap file counts in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Precision {
    /// Magic a1b2c3d4.
    Micro,
    /// Magic a1b23c4d.
    Nano,
}

impl Precision {
    /// How many nanoseconds one unit of the fraction is.
    #[must_use]
    pub const fn ns_per_unit(self) -> u32 {
        match self {
            Precision::Micro => 1_000,
            Precision::Nano => 1,
        }
    }
}

/// Ticks per second of a pcapng interface (`if_tsresol`) and its shift in seconds (`if_tsoffset`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Resolution {
    ticks_per_s: u64,
    offset_s: i64,
}

impl Resolution {
    /// The resolution of a block without options: microseconds since 1970.
    pub const MICRO: Resolution = Resolution { ticks_per_s: 1_000_000, offset_s: 0 };

    /// Reads the one byte of `if_tsresol`: the top bit says power of two, the rest is the negated exponent.
    /// `None` where a 64-bit count of ticks cannot hold a second.
    pub(crate) fn from_tsresol(byte: u8) -> Option<Resolution> {
        let exponent = u32::from(byte & 0x7f);
        let base: u64 = if byte & 0x80 == 0 { 10 } else { 2 };
        Some(Resolution { ticks_per_s: base.checked_pow(exponent)?, offset_s: 0 })
    }

    pub(crate) fn with_offset(self, offset_s: i64) -> Resolution {
        Resolution { offset_s, ..self }
    }

    /// Ticks in one second.
    #[must_use]
    pub const fn ticks_per_s(self) -> u64 {
        self.ticks_per_s
    }

    /// Seconds to add to every timestamp.
    #[must_use]
    pub const fn offset_s(self) -> i64 {
        self.offset_s
    }

    /// The precision of a pcap file that shows these timestamps as they are, or as far as nanoseconds can.
    #[must_use]
    pub const fn precision(self) -> Precision {
        if self.ticks_per_s > Resolution::MICRO.ticks_per_s { Precision::Nano } else { Precision::Micro }
    }

    /// Nanoseconds since 1970 for this many ticks.
    ///
    /// ```
    /// assert_eq!(capture::Resolution::MICRO.to_ns(1_500_000), 1_500_000_000);
    /// ```
    #[must_use]
    pub fn to_ns(self, ticks: u64) -> i64 {
        let (whole, rest) = (ticks / self.ticks_per_s, ticks % self.ticks_per_s);
        let fraction = u128::from(rest) * NS_PER_S as u128 / u128::from(self.ticks_per_s);
        let ns = (i128::from(whole) + i128::from(self.offset_s)) * i128::from(NS_PER_S) + fraction as i128;
        i64::try_from(ns).unwrap_or(if ns < 0 { i64::MIN } else { i64::MAX })
    }
}

/// Nanoseconds in a second.
pub(crate) const NS_PER_S: i64 = 1_000_000_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn resolutions() {
        let micro = Resolution::from_tsresol(6).unwrap();
        assert_eq!(micro, Resolution::MICRO);
        assert_eq!(micro.to_ns(1_500_000), 1_500_000_000);
        let precisions =
            [6, 7, 9, 0x80 | 19, 0x80 | 20].map(|byte| Resolution::from_tsresol(byte).unwrap().precision());
        use Precision::{Micro, Nano};
        assert_eq!(precisions, [Micro, Nano, Nano, Micro, Nano]);
        assert_eq!(Resolution::from_tsresol(9).unwrap().to_ns(7), 7);
        assert_eq!(Resolution::from_tsresol(0).unwrap().to_ns(7), 7_000_000_000);
        assert_eq!(Resolution::from_tsresol(0x80 | 10).unwrap().to_ns(1024 + 512), 1_500_000_000);
        assert_eq!(Resolution::from_tsresol(12).unwrap().to_ns(1_999), 1, "picoseconds are cut off");
        assert_eq!(micro.with_offset(-1).to_ns(500_000), -500_000_000);
        assert_eq!(micro.to_ns(u64::MAX), i64::MAX);
        assert_eq!(micro.with_offset(i64::MIN).to_ns(0), i64::MIN);
    }

    #[test]
    fn resolutions_too_fine() {
        assert!(Resolution::from_tsresol(19).is_some());
        assert!(Resolution::from_tsresol(20).is_none());
        assert!(Resolution::from_tsresol(0x80 | 63).is_some());
        assert!(Resolution::from_tsresol(0x80 | 64).is_none());
    }
}
