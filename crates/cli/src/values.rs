//! Values of flags: numbers, times, cores. What is wrong with one is told in words.

use io::pcap_reader::Passes;
use std::fmt::Display;
use std::net::Ipv4Addr;
use std::ops::RangeInclusive;
use std::str::FromStr;
use std::time::Duration;

/// What is said of a number below 0, whatever it is for.
pub(crate) const NEGATIVE: &str = "this cannot be negative";

/// The mask of a network.
pub(crate) fn netmask(text: &str) -> Result<Ipv4Addr, String> {
    text.trim().parse().map_err(|_| "write it as an address: 255.255.255.0".to_owned())
}

/// A whole number in a range.
pub(crate) fn whole<T>(range: RangeInclusive<T>) -> impl Fn(&str) -> Result<T, String> + Clone
where
    T: FromStr + PartialOrd + Display + Clone,
{
    move |text| match text.trim().parse() {
        Ok(number) if range.contains(&number) => Ok(number),
        _ if is_negative(text) => Err(NEGATIVE.to_owned()),
        _ => Err(format!("write a whole number from {} to {}", range.start(), range.end())),
    }
}

/// A whole number that is as large as it may be.
pub(crate) fn at_least<T>(least: T) -> impl Fn(&str) -> Result<T, String> + Clone
where
    T: FromStr + PartialOrd + Display + Clone,
{
    move |text| match text.trim().parse() {
        Ok(number) if number >= least => Ok(number),
        _ if is_negative(text) => Err(NEGATIVE.to_owned()),
        _ if is_digits(text) && text.trim().len() > 10 => Err("this number is too large".to_owned()),
        _ => Err(format!("write a whole number, {least} or more")),
    }
}

/// How often a capture is sent: a number, or `forever` as in a graph.
pub(crate) fn passes(text: &str) -> Result<Passes, String> {
    if text.trim() == "forever" {
        return Ok(Passes::Forever);
    }
    let times = at_least(1_u64)(text).map_err(|error| match error.strip_suffix(", 1 or more") {
        Some(number) => format!("{number}, 1 or more, or `forever`"),
        None => error,
    });
    times.map(Passes::Times)
}

/// A time: with units, or in seconds.
pub(crate) fn duration(text: &str) -> Result<Duration, String> {
    const FORM: &str = "write a number and a unit: 500ms, 2s, 1m30s, or seconds alone";
    const TOO_LONG: &str = "this time is too long";
    if is_negative(text) {
        return Err(NEGATIVE.to_owned());
    }
    if let Ok(seconds) = text.parse::<f64>() {
        let error = if seconds.is_nan() { FORM } else { TOO_LONG };
        return Duration::try_from_secs_f64(seconds).map_err(|_| error.to_owned());
    }
    humantime::parse_duration(text).map_err(|error| match error {
        humantime::DurationError::NumberOverflow => TOO_LONG.to_owned(),
        _ => FORM.to_owned(),
    })
}

/// How many packets may be lost.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Loss {
    Packets(u64),
    /// Of those that came.
    Percent(f64),
}

/// How many packets may be lost: a number, or a share.
pub(crate) fn loss(text: &str) -> Result<Loss, String> {
    const FORM: &str = "write a number of packets, or a share: 100, 0.5%";
    if is_negative(text) {
        return Err(NEGATIVE.to_owned());
    }
    let text = text.trim();
    let loss = match text.strip_suffix('%') {
        Some(share) => {
            share.trim().parse().ok().filter(|share| (0.0..=100.0).contains(share)).map(Loss::Percent)
        }
        None => text.parse().ok().map(Loss::Packets),
    };
    loss.ok_or_else(|| FORM.to_owned())
}

/// A size of files as tcpdump's -C has it: in millions of bytes, or with a unit of 1024 and its powers. In bytes.
pub(crate) fn megabytes(text: &str) -> Result<u64, String> {
    if is_negative(text) {
        return Err(NEGATIVE.to_owned());
    }
    let text = text.trim();
    let (digits, unit) = match text.char_indices().last() {
        Some((at, 'k' | 'K')) => (&text[..at], 1 << 10),
        Some((at, 'm' | 'M')) => (&text[..at], 1 << 20),
        Some((at, 'g' | 'G')) => (&text[..at], 1 << 30),
        _ => (text, 1_000_000),
    };
    let size = digits.parse().ok().and_then(|number: u64| number.checked_mul(unit)).filter(|size| *size > 0);
    size.ok_or_else(|| {
        "write a whole number of million bytes, 1 or more, or with k, m or g behind: 100, 512k".to_owned()
    })
}

/// A length of time that is not zero, and that a number of nanoseconds can hold.
pub(crate) fn span(text: &str) -> Result<Duration, String> {
    let span = duration(text)?;
    match i64::try_from(span.as_nanos()) {
        Ok(0) => Err("use 1ns or more".to_owned()),
        Ok(_) => Ok(span),
        Err(_) => Err("this time is too long".to_owned()),
    }
}

/// A pause: without one, an app that fails would be started a thousand times a second.
pub(crate) fn pause(text: &str) -> Result<Duration, String> {
    let pause = duration(text)?;
    if pause < Duration::from_millis(1) { Err("use 1ms or more".to_owned()) } else { Ok(pause) }
}

/// A number of bytes.
pub(crate) fn size(text: &str) -> Result<usize, String> {
    const FORM: &str = "write a number and a unit: 64MB, 512KiB, 1GiB";
    const UNITS: [(&str, usize); 7] = [
        ("B", 1),
        ("KB", 1000),
        ("KiB", 1 << 10),
        ("MB", 1_000_000),
        ("MiB", 1 << 20),
        ("GB", 1_000_000_000),
        ("GiB", 1 << 30),
    ];
    let text = text.trim();
    let (number, unit) = text.split_at(text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len()));
    let unit = UNITS.iter().find(|(name, _)| unit.trim().eq_ignore_ascii_case(name)).ok_or(FORM)?.1;
    let bytes =
        number.parse::<usize>().map_err(|_| FORM)?.checked_mul(unit).ok_or("this size is too large")?;
    if bytes < 1 << 16 { Err("use 64KiB or more".to_owned()) } else { Ok(bytes) }
}

/// The time between two looks.
pub(crate) fn interval(text: &str) -> Result<Duration, String> {
    let interval = duration(text)?;
    let range = Duration::from_millis(100)..=Duration::from_secs(3600);
    if range.contains(&interval) { Ok(interval) } else { Err("not between 100ms and 1h".to_owned()) }
}

/// The longest that a packet is waited for which a wall is to explain: who asks it as well waits behind.
pub(crate) const PATIENCE_MAX: Duration = Duration::from_secs(30);

/// How long a packet is waited for.
pub(crate) fn patience(text: &str) -> Result<Duration, String> {
    let patience = duration(text)?;
    let range = Duration::from_millis(1)..=PATIENCE_MAX;
    if range.contains(&patience) { Ok(patience) } else { Err("not between 1ms and 30s".to_owned()) }
}

/// The number of a core that this process may run on.
pub(crate) fn core(text: &str) -> Result<usize, String> {
    let core: usize = text.trim().parse().map_err(|_| "write numbers of cores: 0,1".to_owned())?;
    let set = rustix::thread::sched_getaffinity(None).map_err(|error| error.to_string())?;
    let allowed = |core: &usize| set.is_set(*core);
    let cores: Vec<String> =
        (0..rustix::thread::CpuSet::MAX_CPU).filter(allowed).map(|core| core.to_string()).collect();
    if core < rustix::thread::CpuSet::MAX_CPU && allowed(&core) {
        return Ok(core);
    }
    Err(format!("there is no such core, or not for this process; there are {}", cores.join(",")))
}

/// Whether a text begins like a number below 0, with or without a unit behind.
pub(crate) fn is_negative(text: &str) -> bool {
    let digits = text.trim_start().strip_prefix('-').map(str::trim_start);
    digits.is_some_and(|digits| digits.trim_start_matches('.').starts_with(|c: char| c.is_ascii_digit()))
}

fn is_digits(text: &str) -> bool {
    let text = text.trim();
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_or_refused_in_words() {
        let workers = whole(1..=256_u16);
        assert_eq!((workers("1"), workers(" 256 ")), (Ok(1), Ok(256)));
        for text in ["0", "257", "x", "", "1.5", "99999999999999999999"] {
            assert_eq!(workers(text), Err("write a whole number from 1 to 256".to_owned()), "{text}");
        }
        for text in ["-1", "-70000", "-1s", "-.5"] {
            assert_eq!(workers(text), Err(NEGATIVE.to_owned()), "{text}");
        }
        assert_eq!(netmask("255.255.255.0"), Ok(Ipv4Addr::new(255, 255, 255, 0)));
        assert_eq!(netmask("24"), Err("write it as an address: 255.255.255.0".to_owned()));
        let count = at_least(1_u64);
        assert_eq!(count("18446744073709551615"), Ok(u64::MAX));
        assert_eq!(count("18446744073709551616"), Err("this number is too large".to_owned()));
        assert_eq!(count("0"), Err("write a whole number, 1 or more".to_owned()));
        assert_eq!(count("--json"), count("ten"));
    }

    #[test]
    fn times_are_read_or_refused_in_words() {
        assert_eq!(
            (duration("1.5"), duration("1m 30s")),
            (Ok(Duration::from_millis(1500)), Ok(Duration::from_secs(90)))
        );
        for text in ["-1", "-1s", "-0.5"] {
            assert_eq!(duration(text), Err(NEGATIVE.to_owned()), "{text}");
        }
        for text in ["99999999999999999999s", "99999999999999999999", "1e300", "inf"] {
            assert_eq!(duration(text), Err("this time is too long".to_owned()), "{text}");
        }
        for text in ["", "soon", "NaN", "2 lightyears", "--json"] {
            assert!(duration(text).is_err_and(|error| error.starts_with("write a number")), "{text}");
        }
        assert!(pause("0").is_err() && pause("1ms").is_ok());
        assert!(interval("99ms").is_err() && interval("1h").is_ok());
    }
}
