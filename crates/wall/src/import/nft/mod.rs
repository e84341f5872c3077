//! `nft list ruleset`.

mod field;
mod lex;
mod rule;

use super::chains::{Action, Chain, Ruleset, Set, Verdict};
use super::express::Family;
use lex::{Line, lines};
use std::collections::HashMap;

/// Sets and maps of a table.
type Sets = HashMap<String, Set>;

/// Reads the tables of a text.
pub(super) fn read(text: &str, rules: &mut Ruleset) {
    let lines = lines(text);
    let mut at = 0;
    while at < lines.len() {
        let words: Vec<&str> = lines[at].words().collect();
        match words[..] {
            [] => at += 1,
            ["table", family, name, "{"] => {
                let end = block_end(&lines, at);
                let inner = lines.get(at + 1..end).unwrap_or_default();
                match family {
                    "ip" => table(rules, name, Family::Ip, inner),
                    "ip6" => table(rules, name, Family::Ip6, inner),
                    "inet" => table(rules, name, Family::Inet, inner),
                    _ => rules.problem(
                        lines[at].number,
                        &lines[at].text,
                        "tables of ip, ip6 and inet are read",
                    ),
                }
                at = end + 1;
            }
            _ => {
                rules.problem(lines[at].number, &lines[at].text, "a table begins with `table FAMILY NAME {`");
                at += 1;
            }
        }
    }
}

/// The line with the brace that closes the block which begins in a line, or the last one.
fn block_end(lines: &[Line], begin: usize) -> usize {
    let mut depth = 0_i64;
    for (i, line) in lines.iter().enumerate().skip(begin) {
        depth += line.words().map(|word| i64::from(word == "{") - i64::from(word == "}")).sum::<i64>();
        if depth <= 0 {
            return i;
        }
    }
    lines.len() - 1
}

/// Sets first, since chains name them; chains may name those behind them.
fn table(rules: &mut Ruleset, name: &str, family: Family, lines: &[Line]) {
    let mut sets = Sets::new();
    let mut chains = Vec::new();
    let mut at = 0;
    while at < lines.len() {
        let words: Vec<&str> = lines[at].words().take(3).collect();
        let end = block_end(lines, at).max(at);
        match words[..] {
            [kind @ ("set" | "map"), set, "{"] => match set_of(&lines[at..=end], kind == "map") {
                Ok(members) => _ = sets.insert(set.to_owned(), members),
                Err(reason) => rules.problem(lines[at].number, &lines[at].text, reason),
            },
            ["chain", chain, "{"] => chains.push((chain.to_owned(), at + 1, end)),
            // A counter, a helper, a flowtable: of meaning where a rule names it, which is told there.
            _ => {}
        }
        at = end + 1;
    }
    for (chain, first, end) in chains {
        let read = chain_of(rules, &sets, family, lines.get(first..end).unwrap_or_default());
        rules.chains.insert((name.to_owned(), chain), read);
    }
}

fn chain_of(rules: &mut Ruleset, sets: &Sets, family: Family, lines: &[Line]) -> Chain {
    let mut chain = Chain { family, ..Chain::default() };
    for line in lines {
        let words: Vec<&str> = line.words().collect();
        match words[..] {
            [] => {}
            ["type", "filter", ..] => {
                let is_drop = words.windows(2).any(|pair| pair == ["policy", "drop"]);
                chain.is_base = true;
                chain.policy = Some(if is_drop { Verdict::Drop } else { Verdict::Accept });
            }
            // Of NAT, whose chains are no filter.
            ["type", ..] => rules.problem(line.number, &line.text, "only chains of `type filter` decide"),
            ["comment", ..] => {}
            _ => match rule::read(rules, sets, family, &line.tokens) {
                Ok(read) => chain.rules.extend(read),
                Err(reason) => rules.problem(line.number, &line.text, reason),
            },
        }
    }
    chain
}

/// A set or a map: its type, and its elements.
fn set_of(lines: &[Line], is_map: bool) -> Result<Set, String> {
    let mut set = Set::default();
    let tokens: Vec<&str> = lines.iter().flat_map(Line::words).collect();
    if let Some(line) = lines.iter().find(|line| line.words().next() == Some("type")) {
        let words = line.words().skip(1).take_while(|&word| word != ":");
        set.types = words.filter(|&word| word != ".").map(str::to_owned).collect();
    }
    if let Some(at) = tokens.windows(2).position(|pair| pair == ["elements", "="]) {
        let elements = &tokens[at + 2..];
        let end = elements.iter().position(|&word| word == "}").unwrap_or(elements.len());
        for element in elements[..end].split(|&word| word == ",") {
            let element: Vec<&str> = element.iter().filter(|&&word| word != "{").copied().collect();
            if !element.is_empty() {
                element_of(&element, is_map, &mut set)?;
            }
        }
    }
    Ok(set)
}

/// An element: values with dots between, what it counts and when it expires, and of a map what it leads to.
fn element_of(words: &[&str], is_map: bool, set: &mut Set) -> Result<(), String> {
    let mut parts = words.splitn(2, |&word| word == ":");
    let (key, verdict) = (parts.next().unwrap_or_default(), parts.next());
    let end = key.iter().position(|word| ["timeout", "expires", "counter", "comment"].contains(word));
    let values = key[..end.unwrap_or(key.len())].split(|&word| word == ".");
    set.members.push(values.map(|value| value.concat()).collect());
    match verdict {
        Some(verdict) => set.actions.push(action(verdict)?),
        None if is_map => return Err(format!("`{}` leads nowhere", words.join(" "))),
        None => {}
    }
    Ok(())
}

/// A verdict in words.
fn action(words: &[&str]) -> Result<Action, String> {
    Ok(match words {
        ["accept"] => Action::Verdict(Verdict::Accept),
        ["drop"] => Action::Verdict(Verdict::Drop),
        ["return"] => Action::Return,
        ["continue"] => Action::Nothing,
        ["jump", chain] => Action::Jump((*chain).to_owned()),
        ["goto", chain] => Action::Goto((*chain).to_owned()),
        other => return Err(format!("`{}` is no verdict", other.join(" "))),
    })
}
