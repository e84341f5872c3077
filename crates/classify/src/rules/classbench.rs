//! Rules and headers as ClassBench writes them.
//!
//! ```text
//! @1.2.3.0/24 5.6.0.0/16 0 : 65535 80 : 80 0x06/0xFF 0x0000/0x0200     a rule; the column of flags is ignored, since headers have none
//! 16909060 84281096 1024 80 6                                         a header: src dst sport dport proto; more columns are ignored
//! ```
//! Words are apart by tabs or blanks. Empty lines and lines that begin with `#` are neither.

use super::{Key, Rule};
use std::fmt;
use std::ops::RangeInclusive;

/// A line that is neither a rule nor a header: which, and what is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LineError {
    /// The line, from 1.
    pub line: usize,
    /// What was expected.
    pub problem: &'static str,
}

impl fmt::Display for LineError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.problem)
    }
}

impl std::error::Error for LineError {}

/// Lines that say something, with their numbers, each read by `read`.
fn lines<T>(text: &str, read: fn(&str) -> Result<T, &'static str>) -> Result<Vec<T>, LineError> {
    let lines = text.lines().enumerate().map(|(i, line)| (i + 1, line.trim()));
    lines
        .filter(|(_, line)| !line.is_empty() && !line.starts_with('#'))
        .map(|(number, line)| read(line).map_err(|problem| LineError { line: number, problem }))
        .collect()
}

/// The rules of a file, in its order.
///
/// # Errors
/// The first line that is no rule.
///
/// ```
/// use classify::rules::classbench;
/// let rules = classbench::rules("@10.0.0.0/8\t0.0.0.0/0\t0 : 65535\t80 : 80\t0x06/0xFF\t0x0000/0x0200\n")?;
/// assert_eq!((rules[0].dport.clone(), rules[0].proto), (80..=80, (6, 0xff)));
/// # Ok::<(), classbench::LineError>(())
/// ```
pub fn rules(text: &str) -> Result<Vec<Rule<u32>>, LineError> {
    lines(text, rule)
}

/// The headers of a file, in its order.
///
/// # Errors
/// The first line that is no header.
pub fn headers(text: &str) -> Result<Vec<Key<u32>>, LineError> {
    lines(text, header)
}

/// One rule.
///
/// # Errors
/// What is wrong with it.
pub fn rule(line: &str) -> Result<Rule<u32>, &'static str> {
    let line = line.strip_prefix('@').ok_or("a rule begins with `@`")?;
    let mut words = line.split_ascii_whitespace();
    let mut word = || words.next().ok_or("a rule has two prefixes, two ranges of ports and a protocol");
    let (src, dst) = (prefix(word()?)?, prefix(word()?)?);
    let mut range = || ports(word()?, word()?, word()?);
    let (sport, dport) = (range()?, range()?);
    let proto = word()?.split_once('/').and_then(|(value, mask)| Some((hex(value)?, hex(mask)?)));
    let (value, mask) = proto.ok_or("a protocol is two numbers, as in `0x06/0xFF`")?;
    Ok(Rule { src, dst, sport, dport, proto: (value & mask, mask), features: (0, 0), residual: None })
}

fn prefix(word: &str) -> Result<RangeInclusive<u32>, &'static str> {
    let prefix = || {
        let (address, len) = word.split_once('/')?;
        let address: std::net::Ipv4Addr = address.parse().ok()?;
        let len: u8 = len.parse().ok().filter(|&len| len <= 32)?;
        Some(Rule::prefix(address.into(), len))
    };
    prefix().ok_or("a prefix is an IPv4 address and a length, as in `10.0.0.0/8`")
}

fn ports(low: &str, colon: &str, high: &str) -> Result<RangeInclusive<u16>, &'static str> {
    match (low.parse(), colon, high.parse()) {
        (Ok(low), ":", Ok(high)) if low <= high => Ok(low..=high),
        _ => Err("a range of ports is two numbers in order, as in `0 : 65535`"),
    }
}

fn hex(word: &str) -> Option<u8> {
    u8::from_str_radix(word.strip_prefix("0x")?, 16).ok()
}

/// One header.
///
/// # Errors
/// What is wrong with it.
pub fn header(line: &str) -> Result<Key<u32>, &'static str> {
    const PROBLEM: &str =
        "a header is five numbers: source, destination, source port, destination port, protocol";
    fn number<T: std::str::FromStr>(word: Option<&str>) -> Result<T, &'static str> {
        word.and_then(|word| word.parse().ok()).ok_or(PROBLEM)
    }
    let mut words = line.split_ascii_whitespace();
    let (src, dst) = (number(words.next())?, number(words.next())?);
    let (sport, dport) = (number(words.next())?, number(words.next())?);
    Ok(Key { src, dst, sport, dport, proto: number(words.next())?, features: 0 })
}

#[cfg(test)]
mod tests {
    use super::*;

    const RULE: &str = "@10.0.0.0/8\t1.2.3.4/32\t0 : 65535\t80 : 90\t0x06/0xFF\t0x0000/0x0200\t";

    #[test]
    fn rules_are_read_in_order() {
        let wild = "@0.0.0.0/0 0.0.0.0/0 0 : 65535 0 : 65535 0x06/0x00";
        let read = rules(&format!("# two\n\n{RULE}\r\n{wild}\n")).unwrap();
        assert_eq!(read[0].src, 0x0a00_0000..=0x0aff_ffff);
        assert_eq!((read[0].dst.clone(), read[0].dport.clone()), (0x0102_0304..=0x0102_0304, 80..=90));
        assert!(read[1].is_wild(), "{read:?}");
    }

    #[test]
    fn headers_are_read_in_order() {
        let read = headers("1\t4294967295\t3\t4\t6\n5\t6\t7\t8\t17\t12\n").unwrap();
        assert_eq!(read[0], Key { src: 1, dst: u32::MAX, sport: 3, dport: 4, proto: 6, features: 0 });
        assert_eq!(read[1].proto, 17);
    }

    #[test]
    fn what_is_wrong_is_told_with_its_line() {
        let wrong = |from: &str, to: &str| rules(&format!("{RULE}\n{}", RULE.replace(from, to))).unwrap_err();
        for (from, to, problem) in [
            ("@", "", "`@`"),
            ("/8", "/33", "a prefix"),
            ("80 : 90", "90 : 80", "in order"),
            ("80 : 90", "80 - 90", "a range"),
            ("0xFF", "255", "a protocol"),
            ("\t0x06/0xFF\t0x0000/0x0200", "", "two prefixes"),
        ] {
            let error = wrong(from, to);
            assert_eq!(error.line, 2);
            assert!(error.to_string().contains(problem), "{error}");
        }
        assert_eq!(headers("1 2 3 4 6\n1 2 3 4\n").unwrap_err().line, 2);
        assert_eq!(headers("1 2 3 65536 6\n").unwrap_err().line, 1);
    }
}
