//! `ipset save`: sets, for rules that name them.

use super::chains::{Ruleset, Set};

/// Types of fields that rules can ask for.
const FIELDS: [&str; 3] = ["ip", "net", "port"];

/// Reads sets.
pub(super) fn read(text: &str, rules: &mut Ruleset) {
    for (number, line) in (1..).zip(text.lines()) {
        let mut words = line.split_ascii_whitespace();
        let result = match words.next() {
            None => Ok(()),
            Some(word) if word.starts_with('#') => Ok(()),
            Some("create") => create(rules, words),
            Some("add") => add(rules, words),
            Some(_) => Err("only `create` and `add` are read".to_owned()),
        };
        if let Err(reason) = result {
            rules.problem(number, line, reason);
        }
    }
}

fn create<'a>(rules: &mut Ruleset, mut words: impl Iterator<Item = &'a str>) -> Result<(), String> {
    let (Some(name), Some(kind)) = (words.next(), words.next()) else {
        return Err("a set has a name and a type".into());
    };
    let fields = kind.split_once(':').map_or(kind, |(_, fields)| fields);
    let types: Vec<String> = fields.split(',').map(str::to_owned).collect();
    if let Some(other) = types.iter().find(|field| !FIELDS.contains(&field.as_str())) {
        return Err(format!("no set of `{other}`: sets of addresses and ports are read"));
    }
    rules.sets.insert(name.to_owned(), Set { types, ..Set::default() });
    Ok(())
}

fn add<'a>(rules: &mut Ruleset, mut words: impl Iterator<Item = &'a str>) -> Result<(), String> {
    let (Some(name), Some(member)) = (words.next(), words.next()) else {
        return Err("`add` names a set and a member".into());
    };
    if words.any(|word| word == "nomatch") {
        return Err("an exception (`nomatch`) cannot be expressed".into());
    }
    let set = rules.sets.get_mut(name).ok_or_else(|| format!("there is no set `{name}` that was read"))?;
    let fields: Vec<String> = member.split(',').map(str::to_owned).collect();
    if fields.len() != set.types.len() {
        return Err(format!("a member of `{name}` has {} fields", set.types.len()));
    }
    set.members.push(fields);
    Ok(())
}
