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
//! Everything else of a ruleset is passed over.

use super::{Format, Item, List, Problem, problem, shown};

pub(super) fn read(text: &str, name: Option<&str>) -> Result<List, Problem> {
    let mut list = List::new(Format::Nft);
    list.name = name.map(Into::into);
    let tokens = tokens(text);
    let mut is_known = false;
    let mut at = 0;
    while at < tokens.len() {
        let Some((of, first)) = elements_at(&tokens, at) else {
            at += 1;
            continue;
        };
        let wanted = name.is_none_or(|name| name == of);
        if wanted {
            is_known = true;
            if let Some(known) = list.name.replace(of.to_owned()).filter(|known| known != of) {
                let message =
                    format!("it holds several sets, {} and {} among them", shown(&known), shown(of));
                return Err(problem(text, of, message).help("say which one"));
            }
        }
        at = elements(text, &tokens, first, wanted.then_some(&mut list))?;
    }
    match name {
        Some(name) if !is_known => Err(problem(text, text, format!("there is no set {} in it", shown(name)))),
        _ => Ok(list),
    }
}

/// Words, and the signs `{ } ; , =`; comments and quoted texts are left out.
fn tokens(text: &str) -> Vec<&str> {
    let mut tokens = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let len = match first {
            '#' => rest.find('\n').unwrap_or(rest.len()),
            '"' => rest[1..].find('"').map_or(rest.len(), |at| at + 2),
            '{' | '}' | ';' | ',' | '=' => {
                tokens.push(&rest[..1]);
                1
            }
            first if first.is_whitespace() => first.len_utf8(),
            _ => {
                let ends = |sign: char| sign.is_whitespace() || "{};,=\"#".contains(sign);
                let len = rest.find(ends).unwrap_or(rest.len());
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
        ["element", ..] => {
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

/// Reads elements up to the brace that closes them; gives the token behind it.
fn elements(
    text: &str,
    tokens: &[&str],
    first: usize,
    mut list: Option<&mut List>,
) -> Result<usize, Problem> {
    let mut at = first;
    loop {
        let len = tokens[at..].iter().take_while(|&&token| !matches!(token, "," | "}" | ";")).count();
        if let (Some(list), true) = (&mut list, len > 0) {
            element(text, &tokens[at..at + len], list)?;
        }
        at += len;
        match tokens.get(at) {
            Some(&",") => at += 1,
            Some(_) => return Ok(at + 1),
            None => return Ok(at),
        }
    }
}

/// `key [. port] [timeout 1h expires 3s comment …] [: value]`
fn element(text: &str, tokens: &[&str], list: &mut List) -> Result<(), Problem> {
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
    match value {
        Some(value) => list.push_value(item, value),
        None => list.push(item),
    }
    Ok(())
}
