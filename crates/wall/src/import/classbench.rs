//! ClassBench's lists: `rule(N)` for the first rule that matches, N its place from 0.

use super::chains::{Action, Chain, Rule, Ruleset, Verdict};
use super::express::{self, Family};
use super::prefixes::Range;
use super::test::Test;
use classify::rules::{Rule as Box5, classbench};
use std::net::Ipv4Addr;
use std::ops::RangeInclusive;

/// Reads a list.
pub(super) fn read(text: &str, rules: &mut Ruleset) {
    let mut chain = Chain { is_base: true, family: Family::Ip, ..Chain::default() };
    let mut place = 0;
    for (number, line) in (1..).zip(text.lines()) {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        match classbench::rule(line).map_err(str::to_owned).and_then(|rule| test(&rule)) {
            Ok(test) => {
                let action = Action::Verdict(Verdict::Call(format!("rule({place})")));
                chain.rules.push(Rule { test, action });
            }
            Err(reason) => rules.problem(number, line, reason),
        }
        place += 1;
    }
    rules.chains.insert(("filter".into(), "list".into()), chain);
}

fn test(rule: &Box5<u32>) -> Result<Test, String> {
    let mut test = Test::ALWAYS;
    for (end, range) in [("src", &rule.src), ("dst", &rule.dst)] {
        if *range != (0..=u32::MAX) {
            let [first, last] = [range.start(), range.end()].map(|&address| Ipv4Addr::from(address));
            let range = Range::parse(&format!("{first}-{last}")).ok_or("an empty range")?;
            test = test.and(express::addresses(end, &[range], false, Family::Ip));
        }
    }
    let is_open = |range: &RangeInclusive<u16>| *range == (0..=u16::MAX);
    let transport = match rule.proto {
        (_, 0) => "",
        (6, 0xff) => "tcp",
        (17, 0xff) => "udp",
        (132, 0xff) => "sctp",
        (_, 0xff) if is_open(&rule.sport) && is_open(&rule.dport) => "",
        (_, 0xff) => return Err("ports of a protocol that has none".into()),
        _ => return Err("a mask that takes bits of the protocol".into()),
    };
    if rule.proto.1 == 0xff {
        test = test.and(express::protocol(rule.proto.0, false, Family::Ip));
    }
    for (end, range) in [("src", &rule.sport), ("dst", &rule.dport)] {
        if !is_open(range) {
            test = test.and(express::ports(
                transport,
                end,
                &[(*range.start(), *range.end())],
                false,
                Family::Ip,
            ));
        }
    }
    Ok(test)
}
