//! What `ipset save` writes.
//!
//! ```text
//! create bad hash:net family inet hashsize 1024 maxelem 65536
//! add bad 192.0.2.0/24 timeout 300 comment "seen often"
//! add bad 192.0.2.1 nomatch
//! ```
//! Entries of one set are read; `nomatch` takes addresses out.

use super::{Format, Item, List, Problem, problem, shown};
use crate::set::AddressSpans;

pub(super) fn read(text: &str, name: Option<&str>) -> Result<List, Problem> {
    let mut list = List::new(Format::Ipset);
    list.name = name.map(Into::into);
    let mut except = AddressSpans::default();
    let mut is_known = false;
    for line in text.lines() {
        let mut words = line.split_ascii_whitespace();
        let Some(command) = words.next().filter(|word| !word.starts_with('#')) else { continue };
        let of = words.next().unwrap_or(&line[line.len()..]);
        match command {
            "create" | "-N" => {
                let kind = words.next().unwrap_or(&line[line.len()..]);
                if is_wanted(&mut list, name, of, text)? {
                    is_known = true;
                    check_kind(text, kind, line)?;
                }
            }
            "add" | "-A" => {
                if !is_wanted(&mut list, name, of, text)? {
                    continue;
                }
                is_known = true;
                let entry =
                    words.next().ok_or_else(|| problem(text, line, "`add` names a set and an entry"))?;
                let item = Item::parse(entry)
                    .map_err(|why| problem(text, entry, format!("{}: {why}", shown(entry))))?;
                match (is_exception(words), item) {
                    (true, Item::V4(low, high)) => except.v4.push((low, high)),
                    (true, Item::V6(low, high)) => except.v6.push((low, high)),
                    (true, _) => return Err(problem(text, entry, "`nomatch` goes with addresses only")),
                    (false, item) => list.push(item),
                }
            }
            "COMMIT" | "flush" | "-F" | "destroy" | "-X" => {}
            _ => {
                let message = format!("{} is no command of ipset", shown(command));
                return Err(problem(text, command, message).help("expected `create` or `add`"));
            }
        }
    }
    if let (Some(name), false) = (name, is_known) {
        return Err(problem(text, text, format!("there is no set {} in it", shown(name))));
    }
    list.take_out(&except);
    Ok(list)
}

/// Whether a line is about the set that is read: the one asked for, or the only one.
fn is_wanted(list: &mut List, asked: Option<&str>, of: &str, text: &str) -> Result<bool, Problem> {
    if let Some(asked) = asked {
        return Ok(asked == of);
    }
    match list.name.as_deref() {
        Some(known) if known != of => {
            let message = format!("it holds several sets, {} and {} among them", shown(known), shown(of));
            Err(problem(text, of, message).help("say which one"))
        }
        Some(_) => Ok(true),
        None => {
            list.name = Some(of.to_owned());
            Ok(true)
        }
    }
}

fn check_kind(text: &str, kind: &str, line: &str) -> Result<(), Problem> {
    let known =
        ["hash:ip", "hash:net", "hash:mac", "hash:ip,port", "hash:net,port", "bitmap:ip", "bitmap:port"];
    if known.contains(&kind) {
        return Ok(());
    }
    let part = line.find(kind).map_or(line, |at| &line[at..]);
    let message = format!("sets of type {} are not read", shown(kind));
    Err(problem(text, part, message).help(format!("those of type {} are", known.join(", "))))
}

fn is_exception<'a>(words: impl Iterator<Item = &'a str>) -> bool {
    // A comment may hold the word, in quotes.
    words.take_while(|&word| word != "comment").any(|word| word == "nomatch")
}
