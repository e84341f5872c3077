//! From a line to layers: names and arguments, still text.

use super::Error;

/// One layer as written.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Layer<'a> {
    /// Its name; the empty name stands for quoted text.
    pub(super) name: &'a str,
    /// What the quotes hold, or the parentheses as they are.
    pub(super) body: &'a str,
    /// The arguments: the name when there is one, and the value.
    pub(super) args: Vec<(Option<&'a str>, &'a str)>,
}

/// Splits a line at its slashes, which do not count inside quotes and parentheses.
pub(super) fn split(line: &str) -> Result<Vec<Layer<'_>>, Error> {
    parts(line, '/')?.into_iter().filter(|part| !part.is_empty()).map(layer).collect()
}

fn layer(text: &str) -> Result<Layer<'_>, Error> {
    if let Some(quoted) = text.strip_prefix('\'') {
        let body =
            quoted.strip_suffix('\'').ok_or_else(|| Error::new(format!("no closing quote in `{text}`")))?;
        return Ok(Layer { name: "", body, args: Vec::new() });
    }
    let Some((name, rest)) = text.split_once('(') else {
        return Ok(Layer { name: text, body: "", args: Vec::new() });
    };
    let body =
        rest.strip_suffix(')').ok_or_else(|| Error::new(format!("no closing parenthesis in `{text}`")))?;
    let args = parts(body, ',')?.into_iter().filter(|part| !part.is_empty()).map(argument).collect();
    Ok(Layer { name: name.trim(), body, args })
}

fn argument(text: &str) -> (Option<&str>, &str) {
    match text.split_once('=') {
        Some((name, value)) => (Some(name.trim()), value.trim()),
        None => (None, text),
    }
}

/// The parts of `text` between separators that are in neither quotes nor parentheses, trimmed.
fn parts(text: &str, separator: char) -> Result<Vec<&str>, Error> {
    let (mut parts, mut start, mut depth, mut quoted) = (Vec::new(), 0, 0usize, false);
    for (at, c) in text.char_indices() {
        match c {
            '\'' => quoted = !quoted,
            _ if quoted => {}
            '(' => depth += 1,
            ')' => {
                depth =
                    depth.checked_sub(1).ok_or_else(|| Error::new(format!("a `)` too many in `{text}`")))?
            }
            _ if c == separator && depth == 0 => {
                parts.push(text[start..at].trim());
                start = at + c.len_utf8();
            }
            _ => {}
        }
    }
    if quoted {
        return Err(Error::new(format!("no closing quote in `{text}`")));
    }
    parts.push(text[start..].trim());
    Ok(parts)
}
