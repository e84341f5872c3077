//! Sets and maps of nftables: of `nft list ruleset`, `add element`, `define`.
//!
//! ```text
//! table inet filter {
//!     set bad { type ipv4_addr . inet_service; flags interval; elements = { 192.0.2.0/24 . 80, 192.0.2.1 . 1-99 timeout 1h } }
//!     map policy { type ipv4_addr : verdict; elements = { 192.0.2.1 : drop } }
//! }
//! add element inet filter bad { 192.0.2.7 }
//! define bad = { 192.0.2.8, 192.0.2.9 }
//! ```
//! Everything else of a ruleset is passed over, and so are definitions of other things (`define wan = eth0`), unless one is asked for.

use super::{Format, Item, List, Problem, problem, shown};

pub(super) fn read(text: &str, name: Option<&str>) -> Result<List, Problem> {
    let mut list = List::new(Format::Nft);
    list.name = name.map(Into::into);
    let tokens = tokens(text);
    let mut is_known = false;
    // What is wrong with a definition that was passed over.
    let mut passed = None;
    let mut at = 0;
    while at < tokens.len() {
        let Some((of, first)) = elements_at(&tokens, at) else {
            at += 1;
            continue;
        };
        let end = first + tokens[first..].iter().take_while(|&&token| !ends_elements(token)).count();
        let elements =
            || tokens[first..end].split(|&token| token == ",").filter(|element| !element.is_empty());
        let command = at.checked_sub(1).map_or("", |before| tokens[before]);
        let is_define = tokens[at] == "define";
        at = end + 1;
        if name.is_some_and(|name| name != of) {
            continue;
        }
        if matches!(command, "delete" | "destroy") && !is_define {
            let message = "elements are taken out of a set here, and only those that are added are read";
            return Err(problem(text, command, message).help("write what is left in the set"));
        }
        if name.is_none() && is_define && !elements().any(|tokens| element(text, tokens).is_ok()) {
            let why = elements().next().and_then(|tokens| element(text, tokens).err());
            passed = passed.or(why);
            continue;
        }
        is_known = true;
        if let Some(known) = list.name.replace(of.to_owned()).filter(|known| known != of) {
            let message = format!("it holds several sets, {} and {} among them", shown(&known), shown(of));
            return Err(problem(text, of, message).help("say which one"));
        }
        for tokens in elements() {
            match element(text, tokens)? {
                (item, Some(value)) => list.push_value(item, value),
                (item, None) => list.push(item),
            }
        }
    }
    match (name, passed) {
        (Some(name), _) if !is_known => {
            Err(problem(text, text, format!("there is no set {} in it", shown(name))))
        }
        (None, Some(why)) if !is_known => Err(why),
        _ => Ok(list),
    }
}

/// Words, and the signs `{ } ; , =`; comments and quoted texts are left out. A line end is a token only where it ends a definition without
/// braces.
fn tokens(text: &str) -> Vec<&str> {
    let mut tokens = Vec::new();
    let mut is_definition = false;
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let len = match first {
            '#' => rest.find('\n').unwrap_or(rest.len()),
            '"' => rest[1..].find('"').map_or(rest.len(), |at| at + 2),
            '{' | '}' | ';' | ',' | '=' => {
                is_definition &= !matches!(first, '{' | ';');
                tokens.push(&rest[..1]);
                1
            }
            '\n' if is_definition && !matches!(tokens.last(), Some(&("=" | ","))) => {
                is_definition = false;
                tokens.push(&rest[..1]);
                1
            }
            // The line goes on in the next.
            '\\' if rest[1..].starts_with('\n') => 2,
            '\\' if rest[1..].starts_with("\r\n") => 3,
            first if first.is_whitespace() => first.len_utf8(),
            _ => {
                let ends = |sign: char| sign.is_whitespace() || "{};,=\"#".contains(sign);
                let len = rest.find(ends).unwrap_or(rest.len());
                is_definition |= &rest[..len] == "define";
                tokens.push(&rest[..len]);
                len
            }
        };
        rest = &rest[len..];
    }
    tokens
}

/// Where elements begin at this token: the name of their set, and the first token within the braces.
fn elements_at<'t>(tokens: &[&'t str], at: usize) -> Option<(&'t str, usize)> {
    match tokens[at..] {
        ["define", name, "=", "{", ..] => Some((name, at + 4)),
        ["define", name, "=", ..] => Some((name, at + 3)),
        // Of `get` and `reset`, elements are only asked for.
        ["element", ..] if at == 0 || !matches!(tokens[at - 1], "get" | "reset") => {
            // Family and table stand before the name.
            let open = tokens[at..].iter().take(6).position(|&token| token == "{")?;
            Some((tokens[at + open - 1], at + open + 1)).filter(|_| open >= 2)
        }
        ["elements", "=", "{", ..] => Some((owner(tokens, at), at + 3)),
        _ => None,
    }
}

/// The name of the set or map whose elements these are.
fn owner<'t>(tokens: &[&'t str], at: usize) -> &'t str {
    let before = tokens[..at].windows(3).rev();
    let named = before.into_iter().find(|three| matches!(three[0], "set" | "map") && three[2] == "{");
    // Elements of no set are told of where they stand.
    named.map_or(tokens[at], |three| three[1])
}

/// Whether elements end in front of this token.
fn ends_elements(token: &str) -> bool {
    matches!(token, "}" | ";" | "\n")
}

/// `key [. port] [timeout 1h expires 3s comment …] [: value]`
fn element<'t>(text: &str, tokens: &[&'t str]) -> Result<(Item, Option<&'t str>), Problem> {
    let wrong = |why: String| problem(text, tokens[0], format!("{}: {why}", shown(tokens[0])));
    let colon = tokens.iter().position(|&token| token == ":");
    let (keys, value) = match colon {
        Some(at) => (&tokens[..at], tokens.get(at + 1).copied()),
        None => (tokens, None),
    };
    let words = ["timeout", "expires", "comment", "counter", "packets", "bytes"];
    let key: Vec<&str> = keys.iter().copied().take_while(|token| !words.contains(token)).collect();
    let item = match key[..] {
        [one] => Item::parse(one).map_err(wrong)?,
        [address, ".", port] => Item::parse(&format!("{address},{port}")).map_err(wrong)?,
        [low, "-", high] => Item::parse(&format!("{low}-{high}")).map_err(wrong)?,
        _ => {
            return Err(wrong(
                "elements are addresses, ports, MAC addresses, or an address and a port".into(),
            ));
        }
    };
    Ok((item, value))
}
