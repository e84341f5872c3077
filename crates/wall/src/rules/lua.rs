//! A table of Lua that holds strings, read as data: nothing in it is executed.
//!
//! ```text
//!  table  := [ "return" ] "{" [ field { ("," | ";") field } [ "," | ";" ] ] "}"
//!  field  := ( name | "[" string "]" ) "=" string
//!  string := '…' | "…" | [[…]] | [=[…]=]        as the Lua 5.1 manual has them, section 2.1
//! ```
//!
//! Comments are `--` to the end of the line, and `--[[ … ]]`.

use super::{RuleError, Span};

/// `NAME = "value"`, with the places of both.
#[derive(Debug, PartialEq)]
pub(super) struct Field {
    pub(super) name: Text,
    pub(super) value: Text,
}

/// A string, without quotes and escapes.
#[derive(Debug, PartialEq)]
pub(super) struct Text {
    pub(super) text: String,
    /// Where it stands, quotes included.
    pub(super) span: Span,
    /// Where its first character stands, if all of it stands there as it is: without escapes.
    pub(super) verbatim: Option<usize>,
}

/// The fields of a table.
pub(super) fn fields(text: &str) -> Result<Vec<Field>, RuleError> {
    let mut reader = Reader { text, at: 0 };
    reader.skip()?;
    if reader.word() == Some("return") {
        reader.at += "return".len();
        reader.skip()?;
    }
    if !reader.take('{') {
        return Err(reader.expected("`{`, which begins the table of rules"));
    }
    let mut fields = Vec::new();
    loop {
        reader.skip()?;
        if reader.take('}') {
            break;
        }
        fields.push(reader.field()?);
        reader.skip()?;
        if !reader.take(',') && !reader.take(';') && !reader.rest().starts_with('}') {
            return Err(reader.expected("`,` before the next rule, or `}`"));
        }
    }
    reader.skip()?;
    if reader.rest().is_empty() { Ok(fields) } else { Err(reader.expected("nothing behind the table")) }
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Reader<'a> {
    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn take(&mut self, sign: char) -> bool {
        let is_there = self.rest().starts_with(sign);
        self.at += if is_there { sign.len_utf8() } else { 0 };
        is_there
    }

    /// Passes over white space and comments.
    fn skip(&mut self) -> Result<(), RuleError> {
        loop {
            self.at += self.rest().len() - self.rest().trim_start().len();
            let Some(comment) = self.rest().strip_prefix("--") else { return Ok(()) };
            let start = self.at;
            self.at += "--".len();
            match long_bracket(comment) {
                Some(level) => drop(self.long(level, start, "comment")?),
                None => self.at += comment.find('\n').unwrap_or(comment.len()),
            }
        }
    }

    /// The name that stands here.
    fn word(&self) -> Option<&'a str> {
        let rest = self.rest();
        let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len());
        let begins = rest.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
        begins.then(|| &rest[..end])
    }

    fn field(&mut self) -> Result<Field, RuleError> {
        let start = self.at;
        let name = if let Some(word) = self.word() {
            self.at += word.len();
            Text { text: word.to_owned(), span: start..self.at, verbatim: Some(start) }
        } else if long_bracket(self.rest()).is_none() && self.take('[') {
            self.skip()?;
            let name = self.string("a name in quotes")?;
            self.skip()?;
            if !self.take(']') {
                return Err(self.expected("`]` behind the name"));
            }
            name
        } else {
            return Err(self.expected("the name of a protocol, or `default`"));
        };
        self.skip()?;
        if !self.take('=') {
            return Err(self.expected(&format!("`=` behind `{}`", wire::in_one_line(&name.text))));
        }
        self.skip()?;
        let value =
            self.string("an action in quotes: \"accept\", \"drop\", \"reject\", or [[match { … }]]")?;
        Ok(Field { name, value })
    }

    /// A string in any of Lua's forms.
    fn string(&mut self, what: &str) -> Result<Text, RuleError> {
        let start = self.at;
        let rest = self.rest();
        if let Some(level) = long_bracket(rest) {
            return self.long(level, start, "string");
        }
        match rest.chars().next() {
            Some(quote @ ('"' | '\'')) => self.quoted(quote),
            _ => Err(self.expected(what)),
        }
    }

    /// A string or comment between long brackets, whose first one is next.
    fn long(&mut self, level: usize, start: usize, what: &str) -> Result<Text, RuleError> {
        self.at += level + 2;
        // A newline right behind the bracket is not part of the string.
        let newline = ["\r\n", "\n\r", "\n", "\r"].into_iter().find(|sign| self.rest().starts_with(sign));
        self.at += newline.map_or(0, str::len);
        let close = format!("]{}]", "=".repeat(level));
        let Some(len) = self.rest().find(&close) else {
            return Err(RuleError::new(start..self.text.len(), format!("this {what} has no end"))
                .help(format!("close it with `{close}`")));
        };
        let begin = self.at;
        let text = self.rest()[..len].to_owned();
        self.at += len + close.len();
        Ok(Text { text, span: start..self.at, verbatim: Some(begin) })
    }

    fn quoted(&mut self, quote: char) -> Result<Text, RuleError> {
        let start = self.at;
        self.at += 1;
        let begin = self.at;
        let mut bytes = Vec::new();
        let mut is_verbatim = true;
        loop {
            let at = self.at;
            let Some(c) = self.rest().chars().next().filter(|c| *c != '\n') else {
                return Err(RuleError::new(start..self.at, "this string has no end on its line".to_owned())
                    .help(format!("close it with `{quote}`, or write a long one as [[…]]")));
            };
            self.at += c.len_utf8();
            if c == quote {
                break;
            }
            if c == '\\' {
                is_verbatim = false;
                bytes.extend(self.escape(at)?);
            } else {
                bytes.extend(c.encode_utf8(&mut [0; 4]).bytes());
            }
        }
        let text = String::from_utf8(bytes)
            .map_err(|_| RuleError::new(start..self.at, "this string is not UTF-8".to_owned()))?;
        Ok(Text { text, span: start..self.at, verbatim: is_verbatim.then_some(begin) })
    }

    /// What stands for itself behind a backslash, which began at `start`.
    fn escape(&mut self, start: usize) -> Result<Vec<u8>, RuleError> {
        let rest = self.rest();
        let digits = rest.bytes().take(3).take_while(u8::is_ascii_digit).count();
        if digits > 0 {
            self.at += digits;
            return rest[..digits].parse().map(|byte: u8| vec![byte]).map_err(|_| {
                RuleError::new(start..self.at, "this number is no byte".to_owned())
                    .help("write 0 to 255".to_owned())
            });
        }
        // At the end of the text, the string has no end, which is told next.
        let Some(c) = rest.chars().next() else { return Ok(Vec::new()) };
        let byte = match c {
            'a' => 7,
            'b' => 8,
            'f' => 12,
            'n' | '\n' => b'\n',
            'r' => b'\r',
            't' => b'\t',
            'v' => 11,
            '\\' | '"' | '\'' => c as u8,
            _ => {
                return Err(RuleError::new(
                    start..self.at + c.len_utf8(),
                    "Lua has no such escape".to_owned(),
                )
                .help("write `\\\\` for a backslash".to_owned()));
            }
        };
        self.at += 1;
        Ok(vec![byte])
    }

    #[cold]
    fn expected(&self, what: &str) -> RuleError {
        let rest = self.rest();
        let found = self.word().unwrap_or(&rest[..rest.chars().next().map_or(0, char::len_utf8)]);
        let message = match found {
            "" => format!("the rules end where there should be {what}"),
            _ => format!("expected {what}, not `{}`", wire::in_one_line(found)),
        };
        RuleError::new(self.at..self.at + found.len(), message)
    }
}

/// The level of a long bracket that begins a text: 0 for `[[`, 1 for `[=[`.
fn long_bracket(text: &str) -> Option<usize> {
    let rest = text.strip_prefix('[')?;
    let level = rest.len() - rest.trim_start_matches('=').len();
    rest[level..].starts_with('[').then_some(level)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Vec<(String, String)> {
        fields(text).unwrap().into_iter().map(|field| (field.name.text, field.value.text)).collect()
    }

    fn error(text: &str) -> String {
        fields(text).unwrap_err().message
    }

    #[test]
    fn all_forms_of_strings_say_the_same() {
        for value in
            ["'drop'", "\"drop\"", "[[drop]]", "[==[drop]==]", "[[\ndrop]]", r"'\100\114op'", r#""d\114op""#]
        {
            let text = format!("{{ HTTP = {value}; [\"default\"] = {value}, }}");
            assert_eq!(
                read(&text),
                [("HTTP".into(), "drop".into()), ("default".into(), "drop".into())],
                "{text}"
            );
        }
        assert_eq!(read("{['a'] = 'x\\ty\\'z\\\\'}"), [("a".into(), "x\ty'z\\".into())]);
        assert_eq!(read("{a = [=[ ]] ]=]}"), [("a".into(), " ]] ".into())]);
    }

    #[test]
    fn comments_and_return_are_passed_over() {
        assert_eq!(read("-- rules\nreturn --[[ of\nmine ]] { -- none\n}"), []);
        assert_eq!(read("{ --[==[ ]] ]==] a = 'b' -- c = 'd'\n}"), [("a".into(), "b".into())]);
    }

    #[test]
    fn what_is_wrong_is_told_where_it_stands() {
        for (text, message) in [
            ("", "the rules end where there should be `{`, which begins the table of rules"),
            ("os.exit()", "expected `{`, which begins the table of rules, not `os`"),
            (
                "{ HTTP = drop }",
                "expected an action in quotes: \"accept\", \"drop\", \"reject\", or [[match { … }]], not `drop`",
            ),
            ("{ HTTP 'drop' }", "expected `=` behind `HTTP`, not `'`"),
            ("{ HTTP = 'drop' DNS = 'drop' }", "expected `,` before the next rule, or `}`, not `DNS`"),
            ("{ 'drop' }", "expected the name of a protocol, or `default`, not `'`"),
            ("{ HTTP = 'drop }", "this string has no end on its line"),
            ("{ HTTP = [[drop }", "this string has no end"),
            ("{ --[[ }", "this comment has no end"),
            ("{} }", "expected nothing behind the table, not `}`"),
            ("{ a = '\\300' }", "this number is no byte"),
            ("{ a = '\\200' }", "this string is not UTF-8"),
            ("{ a = '\\q' }", "Lua has no such escape"),
            (
                "{ a = f() }",
                "expected an action in quotes: \"accept\", \"drop\", \"reject\", or [[match { … }]], not `f`",
            ),
        ] {
            assert_eq!(error(text), message, "{text}");
        }
        assert_eq!(fields("{ HTTP = drop }").unwrap_err().span, 9..13);
    }

    #[test]
    fn no_text_panics() {
        let whole = "return { a = 'b\\t\\100', [ \"ä\" ] = [=[ x ]=] ; --[[c]] --d\n e = 'ö' }";
        for cut in (0..=whole.len()).filter(|cut| whole.is_char_boundary(*cut)) {
            let _ = fields(&whole[..cut]);
            let _ = fields(&whole[cut..]);
            let _ = fields(&format!("{}\\{}", &whole[..cut], &whole[cut..]));
        }
    }
}
