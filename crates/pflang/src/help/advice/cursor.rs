//! Reading phrases that the grammar does not have, token by token: for what stands in [`habits`](super::habits) and
//! [`slips`](super::slips).

use crate::syntax::lex::{Sign, Token, TokenKind, Tokens, lex};
use crate::syntax::words::Word;

/// Reads a phrase and says it in other words.
pub(super) type Phrase = fn(&mut Cursor<'_>) -> Option<String>;

/// A place among the tokens; what is read is behind it.
pub(super) struct Cursor<'a> {
    pub(super) tokens: &'a Tokens<'a>,
    pub(super) at: usize,
}

impl<'a> Cursor<'a> {
    /// The next token, unless it is the end.
    pub(super) fn token(&self) -> Option<Token> {
        self.tokens.list.get(self.at).copied().filter(|token| token.kind != TokenKind::End)
    }

    /// Whether a primitive may begin here.
    pub(super) fn begins_term(&self) -> bool {
        let back = |by| self.at.checked_sub(by).and_then(|at| self.tokens.list.get(at));
        // The `or` of `src or dst` joins no primitives.
        let is_direction = back(2).is_some_and(|token| matches!(token.kind, TokenKind::Word(Word::Dir(_))));
        back(1).is_none_or(|before| {
            !is_direction
                && matches!(
                    before.kind,
                    TokenKind::Word(Word::And | Word::Or | Word::Not) | TokenKind::Sign(Sign::LParen)
                )
        })
    }

    /// Whether `not` stands right in front.
    pub(super) fn is_negated(&self) -> bool {
        let before = self.at.checked_sub(1).and_then(|at| self.tokens.list.get(at));
        before.is_some_and(|before| before.kind == TokenKind::Word(Word::Not))
    }

    /// Reads one of these words.
    pub(super) fn one_of(&mut self, words: &[&'static str]) -> Option<&'static str> {
        let text = self.tokens.text(self.token()?);
        let word = words.iter().find(|word| **word == text)?;
        self.at += 1;
        Some(word)
    }

    pub(super) fn sign(&mut self, sign: Sign) -> Option<()> {
        let is_next = self.token()?.kind == TokenKind::Sign(sign);
        self.at += usize::from(is_next);
        is_next.then_some(())
    }

    /// Reads a comparison: what stands for "unequal" here.
    pub(super) fn negation(&mut self) -> Option<&'static str> {
        let is_unequal = self.sign(Sign::Ne).is_some() || self.one_of(&["ne", "neq"]).is_some();
        if self.one_of(&["eq"]).is_none() {
            self.sign(Sign::Eq);
        }
        is_unequal.then_some("not")
    }

    /// Reads a token of this kind: its text.
    pub(super) fn text_of(&mut self, is_one: impl Fn(TokenKind) -> bool) -> Option<&'a str> {
        let token = self.token().filter(|token| is_one(token.kind))?;
        self.at += 1;
        Some(token.span.text(self.tokens.source))
    }

    /// Reads two to four dotted numbers.
    pub(super) fn dotted(&mut self) -> Option<&'a str> {
        self.text_of(|kind| kind == TokenKind::Dotted)
    }

    /// Reads `<`, `<=`, `>` or `>=`.
    pub(super) fn ordering(&mut self) -> Option<Sign> {
        let signs = [("lt", Sign::Lt), ("le", Sign::Le), ("gt", Sign::Gt), ("ge", Sign::Ge)];
        // In words, as Wireshark, nftables and routers have them.
        let mut is_next = |(word, sign)| self.one_of(&[word]).is_some() || self.sign(sign).is_some();
        signs.into_iter().find(|&pair| is_next(pair)).map(|(_, sign)| sign)
    }

    /// Reads a comparison: the sign for it here, which is `=` where there is none.
    pub(super) fn comparison(&mut self) -> &'static str {
        match self.ordering() {
            Some(Sign::Lt) => "<",
            Some(Sign::Le) => "<=",
            Some(Sign::Gt) => ">",
            Some(_) => ">=",
            None if self.negation().is_some() => "!=",
            None => "=",
        }
    }

    /// Reads a number, as it is written.
    pub(super) fn number(&mut self) -> Option<String> {
        self.text_of(|kind| matches!(kind, TokenKind::Number(_))).map(str::to_owned)
    }

    /// Reads `syn,ack` or `syn|ack`: the mask of these flags, in parentheses if they are several.
    pub(super) fn flags(&mut self, between: Sign) -> Option<String> {
        let mut flags = Vec::new();
        loop {
            flags.push(match self.one_of(&["fin", "syn", "rst", "psh", "ack", "urg", "ecn", "cwr"])? {
                "psh" => "tcp-push".to_owned(),
                "ecn" => "tcp-ece".to_owned(),
                flag => format!("tcp-{flag}"),
            });
            if self.sign(between).is_none() {
                break;
            }
        }
        let text = flags.join("|");
        Some(if flags.len() > 1 { format!("({text})") } else { text })
    }

    /// Reads what a field is compared with: one value or a set, or nothing where the text ends. `None` if it is
    /// something else, without which the phrase would mean nothing.
    pub(super) fn operand(&mut self) -> Option<(Option<&'static str>, Option<String>)> {
        let not = self.negation();
        let value = match self.list() {
            Some(items) => Some(format!("in {{{}}}", items.join(", "))),
            None => self.value(),
        };
        let is_end = self.at + 1 >= self.tokens.list.len() && self.tokens.error.is_none();
        (value.is_some() || is_end).then_some((not, value))
    }

    /// Ports or addresses of a protocol, which is no qualifier of addresses if it has ports, nor the other way round. What is
    /// not on them is still of the protocol: without that, all packets of other protocols would match as well.
    pub(super) fn of_protocol(
        &self,
        start: usize,
        proto: Option<&str>,
        not: Option<&str>,
        text: &str,
    ) -> String {
        let are_ports = text.split(' ').any(|word| matches!(word, "port" | "portrange"));
        match (proto, not) {
            (Some(proto), None) if has_ports(proto) == are_ports => format!("{proto} {text}"),
            (Some(proto), _) => self.operands(start, &joined(&[Some(proto), Some("and"), not, Some(text)])),
            (None, _) => joined(&[not, Some(text)]),
        }
    }

    /// Operands of `and` or `or` in place of what begins at `start`. They stay together: the two bind alike, from the left,
    /// and `not` binds closer.
    pub(super) fn operands(&self, start: usize, text: &str) -> String {
        let before = start.checked_sub(1).and_then(|before| self.tokens.list.get(before));
        match before.is_none_or(|before| before.kind == TokenKind::Sign(Sign::LParen)) {
            true => text.to_owned(),
            false => format!("({text})"),
        }
    }

    /// Reads a number, name, address or prefix.
    pub(super) fn value(&mut self) -> Option<String> {
        let token = self.token()?;
        let is_value = matches!(
            token.kind,
            TokenKind::Number(_) | TokenKind::Name | TokenKind::Dotted | TokenKind::V6(_) | TokenKind::Mac(_)
        );
        if !is_value {
            return None;
        }
        self.at += 1;
        let mut span = token.span;
        if let Some([slash, len, ..]) = self.tokens.list.get(self.at..)
            && (slash.kind, slash.span.start) == (TokenKind::Sign(Sign::Slash), span.end)
        {
            span = span.to(len.span);
            self.at += 2;
        }
        Some(span.text(self.tokens.source).to_owned())
    }

    /// Reads `a, b`: at least one value.
    pub(super) fn commas(&mut self) -> Option<Vec<String>> {
        let mut values = vec![self.value()?];
        while self.sign(Sign::Comma).is_some() {
            values.push(self.value()?);
        }
        Some(values)
    }

    /// Reads `{a, b}`.
    pub(super) fn list(&mut self) -> Option<Vec<String>> {
        self.enclosed(Sign::LBrace, Sign::RBrace, |cursor| cursor.value())
    }

    /// Reads items with or without commas between; of a list that is not understood, nothing.
    pub(super) fn enclosed(&mut self, open: Sign, close: Sign, item: Phrase) -> Option<Vec<String>> {
        let start = self.at;
        let items = self.items(open, close, item);
        if items.is_none() {
            self.at = start;
        }
        items
    }

    fn items(&mut self, open: Sign, close: Sign, item: Phrase) -> Option<Vec<String>> {
        self.sign(open)?;
        let mut items = Vec::new();
        while self.sign(close).is_none() {
            items.push(item(self)?);
            self.sign(Sign::Comma);
        }
        Some(items).filter(|items| !items.is_empty())
    }

    /// Reads the qualifiers in front of hosts, nets and ports: the words for them here.
    pub(super) fn qualifiers(&mut self) -> Option<String> {
        let carriers = ["tcp", "udp", "sctp", "ip", "ip6", "arp", "rarp", "ether", "ethernet"];
        let proto = self.one_of(&carriers).map(|proto| if proto == "ethernet" { "ether" } else { proto });
        if let Some((dir, kind)) = self.directed_kind() {
            return Some(joined(&[proto, Some(dir), Some(kind)]));
        }
        let dir = self.one_of(&["src", "dst"]);
        let join = dir.and_then(|_| self.one_of(&["or", "and"]));
        let other = match join {
            Some(_) => Some(self.one_of(&["src", "dst"])?),
            None => None,
        };
        Some(joined(&[proto, dir, join, other, Some(self.kind()?)]))
    }

    /// Reads `host`, `net`, `port` or `portrange`, or what others call them: the word for it here.
    pub(super) fn kind(&mut self) -> Option<&'static str> {
        let kind = kind_named(self.tokens.text(self.token()?))?;
        self.at += 1;
        let is_range = kind == "port" && self.one_of(&["range"]).is_some();
        Some(if is_range { "portrange" } else { kind })
    }

    /// Reads `srcport`, `dst-port`, `src.port` or `src_ip`: a direction and a kind in one word.
    fn directed_kind(&mut self) -> Option<(&'static str, &'static str)> {
        let text = self.tokens.text(self.token()?);
        let (dir, rest) = ["src", "dst"].iter().find_map(|dir| Some((*dir, text.strip_prefix(dir)?)))?;
        let kind = match rest.trim_start_matches(['-', '_', '.']) {
            "ip" => "host",
            name => kind_named(name)?,
        };
        self.at += 1;
        Some((dir, kind))
    }

    /// Whether `meant` is something else than what has been read since `start`.
    pub(super) fn is_news(&self, start: usize, meant: &str) -> bool {
        let read = &self.tokens.list[start..self.at];
        !read.iter().map(|token| self.tokens.text(*token)).eq(lex(meant)
            .list
            .iter()
            .map(|token| token.span.text(meant))
            .filter(|text| !text.is_empty()))
    }
}

/// The kind of identifiers that a word stands for; some write the plural.
fn kind_named(word: &str) -> Option<&'static str> {
    Some(match word {
        "host" | "hosts" | "addr" | "address" => "host",
        "net" | "nets" | "network" | "subnet" | "cidr" => "net",
        "port" | "ports" => "port",
        "portrange" => "portrange",
        _ => return None,
    })
}

/// Whether a protocol has ports.
pub(super) fn has_ports(proto: &str) -> bool {
    matches!(proto, "tcp" | "udp" | "sctp")
}

/// The words that there are, with blanks between.
pub(super) fn joined(words: &[Option<&str>]) -> String {
    words.iter().flatten().copied().collect::<Vec<_>>().join(" ")
}
