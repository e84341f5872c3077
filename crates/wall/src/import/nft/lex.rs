//! Lines of words, signs and quoted text. A line ends with `;` too, outside of braces that a rule opens, and goes on while its braces are open.

/// A statement.
#[derive(Clone, Debug)]
pub(super) struct Line {
    /// Its line in the text, from 1.
    pub(super) number: usize,
    pub(super) text: String,
    pub(super) tokens: Vec<String>,
}

impl Line {
    pub(super) fn words(&self) -> impl Iterator<Item = &str> {
        self.tokens.iter().map(String::as_str)
    }
}

/// The lines of a text that say something. Braces of blocks end lines; those of sets within rules do not.
pub(super) fn lines(text: &str) -> Vec<Line> {
    let mut lines: Vec<Line> = Vec::new();
    // A list of elements goes over several lines.
    let mut open = 0_usize;
    for (number, line) in (1..).zip(text.lines()) {
        let tokens = tokens(line);
        if tokens.is_empty() {
            continue;
        }
        let opens = tokens.iter().filter(|token| *token == "{").count();
        let closes = tokens.iter().filter(|token| *token == "}").count();
        let begins_block = tokens.last().is_some_and(|last| last == "{") && is_block(&tokens);
        match lines.last_mut().filter(|_| open > 0) {
            Some(last) => last.tokens.extend(tokens),
            None => lines.push(Line { number, text: line.trim().to_owned(), tokens }),
        }
        if begins_block && open == 0 {
            continue;
        }
        open = (open + opens).saturating_sub(closes);
    }
    lines
}

/// Whether a line that ends with a brace begins a table, a chain or the like.
fn is_block(tokens: &[String]) -> bool {
    const BLOCKS: [&str; 9] =
        ["table", "chain", "set", "map", "flowtable", "counter", "quota", "limit", "ct"];
    tokens.len() <= 5 && BLOCKS.contains(&tokens[0].as_str()) && !tokens.iter().any(|token| token == "vmap")
}

fn tokens(line: &str) -> Vec<String> {
    let mut tokens = Vec::new();
    let mut chars = line.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '#' => break,
            '"' => {
                // The quote stays in front, so that text is no word.
                let text: String = chars.by_ref().take_while(|&c| c != '"').collect();
                tokens.push(format!("\"{text}"));
            }
            c if c.is_whitespace() => {}
            '!' | '=' | '<' | '>' if chars.peek() == Some(&'=') => {
                chars.next();
                tokens.push(format!("{c}="));
            }
            '{' | '}' | ';' | ',' | '=' | '!' | '<' | '>' | '&' | '|' | '(' | ')' => {
                tokens.push(c.to_string())
            }
            c => {
                let mut word = String::from(c);
                while let Some(c) = chars.next_if(|c| !c.is_whitespace() && !"{};,=!<>&|()\"#".contains(*c)) {
                    word.push(c);
                }
                tokens.push(word);
            }
        }
    }
    // `;` ends what a line says of a chain or a set.
    while tokens.last().is_some_and(|last| last == ";") {
        tokens.pop();
    }
    tokens
}
