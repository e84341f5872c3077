//! Points in time and ranges of numbers, as flags name them.

use crate::values::{NEGATIVE, duration, is_negative};

const NS_PER_S: i64 = 1_000_000_000;
const DAY_NS: i64 = 86_400 * NS_PER_S;

/// A point in time, in UTC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Moment {
    /// Nanoseconds since 1970.
    At(i64),
    /// So many nanoseconds behind the first packet.
    Behind(i64),
    /// So many nanoseconds after the beginning of the day of the first packet.
    OfDay(i64),
}

/// Numbers of packets, counted from 1, with the last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NumberRange {
    pub(crate) first: u64,
    pub(crate) last: u64,
}

impl Moment {
    /// In nanoseconds since 1970, where the first packet has this time.
    pub(crate) fn at(self, first_ns: i64) -> i64 {
        match self {
            Moment::At(ns) => ns,
            Moment::Behind(ns) => first_ns.saturating_add(ns),
            Moment::OfDay(ns) => first_ns.div_euclid(DAY_NS).saturating_mul(DAY_NS).saturating_add(ns),
        }
    }
}

/// Reads a time.
pub(crate) fn moment(text: &str) -> Result<Moment, String> {
    const FORM: &str =
        "write a time in UTC, 2026-11-21T23:16:20.5 or 23:16:20, or one behind the first packet, +30s";
    let ns = |ns: i128| i64::try_from(ns).map_err(|_| "not between the years 1677 and 2262".to_owned());
    let text = text.trim();
    if let Some(behind) = text.strip_prefix('+') {
        return ns(duration(behind)?.as_nanos() as i128).map(Moment::Behind);
    }
    if let Ok(time) = text.parse::<jiff::Timestamp>() {
        return ns(time.as_nanosecond()).map(Moment::At);
    }
    // A time is read out of what has a date as well.
    let has_date = text.contains('-');
    if let Ok(time) = text.parse::<jiff::civil::Time>()
        && !has_date
    {
        let since = time - jiff::civil::Time::midnight();
        return since
            .total(jiff::Unit::Nanosecond)
            .map(|ns| Moment::OfDay(ns as i64))
            .map_err(|_| FORM.to_owned());
    }
    let time = text.parse::<jiff::civil::DateTime>().map_err(|_| FORM.to_owned())?;
    let time = time.to_zoned(jiff::tz::TimeZone::UTC).map_err(|_| FORM.to_owned())?;
    ns(time.timestamp().as_nanosecond()).map(Moment::At)
}

/// Reads a range of numbers: `7`, `7-9`, `7-`.
pub(crate) fn number_range(text: &str) -> Result<NumberRange, String> {
    let text = text.trim();
    if is_negative(text) {
        return Err(NEGATIVE.to_owned());
    }
    let (first, last) = match text.split_once('-') {
        None => (text, text),
        Some((first, "")) => (first, "18446744073709551615"),
        Some(both) => both,
    };
    match (first.trim().parse(), last.trim().parse()) {
        (Ok(first), Ok(last)) if (1..=last).contains(&first) => Ok(NumberRange { first, last }),
        _ => Err("write the first and the last number, counted from 1: 100-200, or 100-".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_or_refused() {
        let at = |text: &str| moment(text).unwrap().at(DAY_NS + 5);
        for (text, ns) in [
            ("1970-01-01T00:00:01.5Z", 1_500_000_000),
            ("1970-01-01 00:00:01", NS_PER_S),
            ("1970-01-01T01:00:00+01:00", 0),
            ("1970-01-02", DAY_NS),
            ("+30s", DAY_NS + 5 + 30 * NS_PER_S),
            ("+0.5", DAY_NS + 5 + NS_PER_S / 2),
            ("00:00:02.25", DAY_NS + 2_250_000_000),
            ("01:02", DAY_NS + 3720 * NS_PER_S),
        ] {
            assert_eq!(at(text), ns, "{text}");
        }
        for text in ["", "soon", "+soon", "25:00:00", "1970-13-01", "9999-01-01T00:00:00Z"] {
            assert!(moment(text).is_err(), "{text}");
        }
    }

    #[test]
    fn ranges_are_read_or_refused() {
        assert_eq!(number_range("7"), Ok(NumberRange { first: 7, last: 7 }));
        assert_eq!(number_range("7-9"), Ok(NumberRange { first: 7, last: 9 }));
        assert_eq!(number_range("7-"), Ok(NumberRange { first: 7, last: u64::MAX }));
        for text in ["", "-", "0", "0-3", "9-7", "-3", "a-b"] {
            assert!(number_range(text).is_err(), "{text}");
        }
    }
}
