//! An entry a line, and columns with a header.

use super::{Format, Item, List, Problem, problem, shown};

/// Reads a plain list: `#` and `;` begin a comment, also behind an entry. A word behind an address is its value.
pub(super) fn read(text: &str) -> Result<List, Problem> {
    let mut list = List::new(Format::Plain);
    // PERF: comments are looked for once in the whole text; lists without any are read line by line as they are.
    let has_comments = text.contains(['#', ';']);
    for line in text.lines() {
        let line = if has_comments { line.split(['#', ';']).next().unwrap_or("") } else { line };
        let line = line.trim();
        if line.is_empty() {
            continue;
        }
        let (entry, value) = parts(line);
        match (Item::parse(entry), value) {
            (Ok(item), "") => list.push(item),
            (Ok(item), value) => list.push_value(item, value),
            (Err(why), _) => {
                let found = problem(text, entry, format!("{}: {why}", shown(entry)));
                return Err(found.help("an entry a line, as in `10.0.0.0/8`; `#` begins a comment"));
            }
        }
    }
    if list.is_map() && list.values4.len() + list.values6.len() < list.entries {
        return Err(without_value(text, has_comments));
    }
    Ok(list)
}

/// The entry of a line, and the value behind it. Blanks may stand around the dash of a range, and behind a comma.
fn parts(line: &str) -> (&str, &str) {
    let mut end = line.find([' ', '\t']).unwrap_or(line.len());
    loop {
        let rest = line[end..].trim_start();
        let joins = line[..end].ends_with(['-', ',']) || rest.starts_with(['-', ',']);
        if !joins || rest.is_empty() {
            return (&line[..end], rest);
        }
        // Over the sign, if it stands alone, and the word behind it.
        let at = line.len() - rest.len();
        let word = rest.trim_start_matches(['-', ',']).trim_start();
        let word_at = if word.len() == rest.len() { at } else { line.len() - word.len() };
        end = line[word_at..].find([' ', '\t']).map_or(line.len(), |behind| word_at + behind);
    }
}

/// The first entry without a value, in a list where others have one.
fn without_value(text: &str, has_comments: bool) -> Problem {
    for line in text.lines() {
        let line = if has_comments { line.split(['#', ';']).next().unwrap_or("") } else { line }.trim();
        if !line.is_empty() && parts(line).1.is_empty() {
            let message = format!("{} has no value, and other entries have one", shown(line));
            return problem(text, line, message).help("give each entry a value, or none");
        }
    }
    problem(text, text, "only addresses have values")
}

/// The number of the column that holds addresses, if the line is the header of such a table.
pub(super) fn csv_column(line: &str) -> Option<usize> {
    let names = ["ip", "ip_address", "ipaddress", "cidr", "network", "prefix"];
    if !line.contains(',') {
        return None;
    }
    line.split(',').position(|name| {
        let name = name.trim().trim_matches('"');
        names.iter().any(|known| name.eq_ignore_ascii_case(known))
    })
}

/// Reads CSV whose first line names the columns.
pub(super) fn read_csv(text: &str) -> Result<List, Problem> {
    let mut list = List::new(Format::Csv);
    let mut column = None;
    for line in text.lines() {
        let trimmed = line.trim();
        if trimmed.is_empty() || trimmed.starts_with(['#', ';']) {
            continue;
        }
        let Some(column) = column else {
            column = csv_column(trimmed);
            continue;
        };
        // Addresses hold no commas and no quotes, so columns in front of them are only counted.
        let field = csv_fields(trimmed).nth(column).map(|field| field.trim().trim_matches('"').trim());
        match field.map(|field| (field, Item::parse(field))) {
            Some((_, Ok(item))) => list.push(item),
            Some((field, Err(why))) => return Err(problem(text, field, format!("{}: {why}", shown(field)))),
            None => return Err(problem(text, trimmed, format!("the line has no column {}", column + 1))),
        }
    }
    Ok(list)
}

/// The fields of a line: a comma within quotes parts none.
fn csv_fields(line: &str) -> impl Iterator<Item = &str> {
    let mut quoted = false;
    line.split(move |sign: char| {
        quoted ^= sign == '"';
        sign == ',' && !quoted
    })
}
