//! A rule: matches, then what is done. A verdict map makes several rules of it.

use super::field::Field;
use super::{Sets, action};
use crate::import::chains::{Action, Rule, Ruleset, Set, Verdict};
use crate::import::express::{self, Family};
use crate::import::names;
use crate::import::test::Test;

/// Reads a rule.
pub(super) fn read(
    rules: &mut Ruleset,
    sets: &Sets,
    family: Family,
    tokens: &[String],
) -> Result<Vec<Rule>, String> {
    let words = tokens.iter().map(String::as_str).collect();
    Reading { rules, sets, family, words, at: 0, test: Test::ALWAYS, mapped: None }.read()
}

struct Reading<'a> {
    rules: &'a mut Ruleset,
    sets: &'a Sets,
    family: Family,
    words: Vec<&'a str>,
    at: usize,
    test: Test,
    /// Of a verdict map: tests and what each leads to, in order.
    mapped: Option<Vec<(Test, Action)>>,
}

impl<'a> Reading<'a> {
    fn rest(&self) -> &[&'a str] {
        self.words.get(self.at..).unwrap_or_default()
    }

    fn next(&mut self) -> Option<&'a str> {
        let word = self.words.get(self.at).copied();
        self.at += 1;
        word
    }

    fn next_if(&mut self, word: &str) -> bool {
        let is_next = self.rest().first() == Some(&word);
        self.at += usize::from(is_next);
        is_next
    }

    fn read(mut self) -> Result<Vec<Rule>, String> {
        let mut action = None;
        while self.at < self.words.len() {
            if action.is_some() && !matches!(self.rest().first(), Some(&"comment")) {
                return Err(format!("`{}` behind the verdict", self.rest().join(" ")));
            }
            match self.statement()? {
                Some(found) => action = Some(found),
                None => continue,
            }
        }
        match self.mapped {
            // Verdicts of a map that is behind other matches hold where both do.
            Some(_) if action.is_some() => Err("a verdict behind a verdict map".into()),
            Some(mapped) => {
                let rule = |(test, action)| Rule { test: self.test.clone().and(test), action };
                Ok(mapped.into_iter().map(rule).collect())
            }
            None => Ok(vec![Rule { test: self.test, action: action.unwrap_or(Action::Nothing) }]),
        }
    }

    /// One statement: a match, which is added to the test, something of no meaning, or a verdict.
    fn statement(&mut self) -> Result<Option<Action>, String> {
        match *self.rest() {
            ["counter", "packets", _, "bytes", _, ..] => self.at += 5,
            ["counter", ..] => self.at += 1,
            ["comment", _, ..] => self.at += 2,
            ["log", ..] => {
                self.at += 1;
                const OPTIONS: [&str; 6] =
                    ["prefix", "level", "group", "snaplen", "queue-threshold", "flags"];
                while self.rest().first().is_some_and(|word| OPTIONS.contains(word)) {
                    self.at += 2;
                }
            }
            ["reject", ..] => {
                // How it is told is no part of the verdict.
                let end = self.rest().iter().position(|&word| word == "comment");
                self.at += end.unwrap_or(self.rest().len());
                return Ok(Some(Action::Verdict(Verdict::Reject)));
            }
            ["accept" | "drop" | "return" | "continue", ..] => {
                self.at += 1;
                return action(&self.words[self.at - 1..self.at]).map(Some);
            }
            ["jump" | "goto", _, ..] => {
                self.at += 2;
                return action(&self.words[self.at - 2..self.at]).map(Some);
            }
            [] => {}
            _ => self.matching()?,
        }
        Ok(None)
    }

    /// Fields with dots between, an operator, and values.
    fn matching(&mut self) -> Result<(), String> {
        let mut fields = Vec::new();
        loop {
            let (field, words) = Field::of(self.rest()).ok_or_else(|| {
                format!("`{}` cannot be expressed", self.rest()[..self.rest().len().min(2)].join(" "))
            })?;
            self.at += words;
            fields.push(field);
            if !self.next_if(".") {
                break;
            }
        }
        if self.next_if("vmap") {
            return self.verdict_map(&fields);
        }
        if let [field @ (Field::TcpFlags | Field::Mark | Field::Number(_))] = fields[..]
            && let Some(test) = self.masked(field)?
        {
            self.add(test);
            return Ok(());
        }
        let negated = self.next_if("!=");
        if !negated {
            self.next_if("==");
        }
        let test = match self.rest().first() {
            Some(&name) if name.starts_with('@') => {
                self.at += 1;
                let set = self.set(name)?;
                self.among(&fields, &set.members, negated)?
            }
            Some(&"{") => {
                let members = self.braces()?;
                let members: Vec<Vec<String>> = members.iter().map(|words| fields_of(words)).collect();
                self.among(&fields, &members, negated)?
            }
            _ => {
                let member = self.values(fields.len())?;
                self.among(&fields, &member, negated)?
            }
        };
        self.add(test);
        Ok(())
    }

    fn add(&mut self, test: Test) {
        self.test = std::mem::replace(&mut self.test, Test::ALWAYS).and(test);
    }

    fn set(&self, name: &str) -> Result<Set, String> {
        let set = self.sets.get(name.trim_start_matches('@'));
        set.cloned().ok_or_else(|| format!("the set `{name}` is not there, or could not be read"))
    }

    /// Values without braces: states and flags may be several, joined by commas.
    fn values(&mut self, fields: usize) -> Result<Vec<Vec<String>>, String> {
        let mut words = vec![self.next().ok_or("a value is missing")?];
        for _ in 1..fields {
            if !self.next_if(".") {
                return Err("fewer values than fields".into());
            }
            words.push(".");
            words.push(self.next().ok_or("a value is missing")?);
        }
        let mut members = vec![fields_of(&words)];
        while self.next_if(",") {
            members.push(vec![self.next().ok_or("a value is missing")?.to_owned()]);
        }
        Ok(members)
    }

    /// The elements between braces, each as its words.
    fn braces(&mut self) -> Result<Vec<Vec<&'a str>>, String> {
        self.at += 1;
        let end = self.rest().iter().position(|&word| word == "}").ok_or("a brace that does not close")?;
        let words = self.words[self.at..self.at + end].to_vec();
        self.at += end + 1;
        Ok(words
            .split(|&word| word == ",")
            .filter(|element| !element.is_empty())
            .map(<[&str]>::to_vec)
            .collect())
    }

    /// A test that the fields are one of these members together.
    fn among(&mut self, fields: &[Field], members: &[Vec<String>], negated: bool) -> Result<Test, String> {
        if let Some(wrong) = members.iter().find(|member| member.len() != fields.len()) {
            return Err(format!("`{}` has not as many values as there are fields", wrong.join(" . ")));
        }
        if let [field] = fields {
            // A list without braces of flags or states is one value: any of its bits.
            let values: Vec<String> = members.iter().map(|member| member[0].clone()).collect();
            return field.is_one_of(&values, negated, self.rules, self.family);
        }
        let mut alternatives = Vec::new();
        for member in members {
            let mut all = Test::ALWAYS;
            for (field, value) in fields.iter().zip(member) {
                all =
                    all.and(field.is_one_of(std::slice::from_ref(value), false, self.rules, self.family)?);
            }
            alternatives.push(all);
        }
        Ok(Test::Any(alternatives).not_if(negated))
    }

    /// `vmap { value : verdict, … }` or `vmap @map`.
    fn verdict_map(&mut self, fields: &[Field]) -> Result<(), String> {
        if self.mapped.is_some() {
            return Err("two verdict maps in a rule".into());
        }
        let map = match self.rest().first() {
            Some(&"{") => {
                let mut map = Set::default();
                for element in self.braces()? {
                    super::element_of(&element, true, &mut map)?;
                }
                map
            }
            Some(&name) if name.starts_with('@') => {
                self.at += 1;
                self.set(name)?
            }
            _ => return Err("a verdict map has elements or a name".into()),
        };
        let mut mapped = Vec::new();
        for (member, action) in map.members.iter().zip(map.actions) {
            mapped.push((self.among(fields, std::slice::from_ref(member), false)?, action));
        }
        self.mapped = Some(mapped);
        Ok(())
    }

    /// `& mask op value`, `value / mask`, or an order; nothing where it is none of these.
    fn masked(&mut self, field: Field) -> Result<Option<Test>, String> {
        let number = |word: &str| match field {
            Field::TcpFlags => names::tcp_flags([word]).map(u32::from),
            _ => names::number(word),
        };
        let begin = self.at;
        if self.next_if("&") {
            let mask = self.bits(number)?;
            let operator = match self.next() {
                Some("==") => "=",
                Some("!=") => "!=",
                _ => return Err("a mask is compared with `==` or `!=`".into()),
            };
            let value = self.bits(number)?;
            return Ok(Some(compare(field, mask, operator, value, self.family)));
        }
        if let Some(&operator @ ("<" | ">" | "<=" | ">=")) = self.rest().first() {
            self.at += 1;
            let value = self.bits(number)?;
            let Field::Number(name) = field else { return Err("only numbers are compared by order".into()) };
            return Ok(Some(Test::text(format!("{name} {operator} {value}"))));
        }
        if field == Field::TcpFlags {
            let negated = self.next_if("!=");
            if !negated {
                self.next_if("==");
            }
            if self.rest().first().is_some_and(|word| *word != "{" && !word.starts_with('@')) {
                let value = self.bits(number)?;
                if self.next_if("/") {
                    let mask = self.bits(number)?;
                    let operator = if negated { "!=" } else { "=" };
                    return Ok(Some(compare(field, mask, operator, value, self.family)));
                }
                // Without a mask: any of these, and of `!=` or `==` exactly these.
                let is_exact = self.words[begin..self.at].iter().any(|word| ["==", "!="].contains(word));
                return Ok(Some(match is_exact {
                    true => compare(field, 0xff, if negated { "!=" } else { "=" }, value, self.family),
                    false => compare(field, value, "!=", 0, self.family),
                }));
            }
            self.at = begin;
        }
        Ok(None)
    }

    /// Numbers or flags, joined by `|` or commas, maybe in parentheses.
    fn bits(&mut self, number: impl Fn(&str) -> Option<u32>) -> Result<u32, String> {
        let in_parentheses = self.next_if("(");
        let mut bits = 0;
        loop {
            let word = self.next().ok_or("a value is missing")?;
            bits |= number(word).ok_or_else(|| format!("`{word}` cannot be expressed here"))?;
            if !self.next_if("|") && !self.next_if(",") {
                break;
            }
        }
        if in_parentheses && !self.next_if(")") {
            return Err("a parenthesis that does not close".into());
        }
        Ok(bits)
    }
}

fn compare(field: Field, mask: u32, operator: &str, value: u32, family: Family) -> Test {
    match field {
        Field::TcpFlags => express::compare_flags(mask as u8, operator, value as u8, family),
        Field::Mark => Test::text(format!("mark & {mask:#x} {operator} {value:#x}")),
        Field::Number(name) => Test::text(format!("{name} & {mask:#x} {operator} {value:#x}")),
        _ => Test::Any(Vec::new()),
    }
}

/// The values of an element, one for each field.
fn fields_of(words: &[&str]) -> Vec<String> {
    words.split(|&word| word == ".").map(|value| value.concat()).collect()
}
