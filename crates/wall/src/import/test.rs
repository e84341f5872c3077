//! What a rule asks of a packet: text of pflang, joined.

use std::fmt::{self, Display};

/// A test.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Test {
    /// One comparison or primitive, which binds more tightly than `not`.
    Text(String),
    /// All of them; none: always true.
    All(Vec<Test>),
    /// One of them; none: never true.
    Any(Vec<Test>),
    Not(Box<Test>),
}

impl Test {
    pub(super) const ALWAYS: Test = Test::All(Vec::new());

    pub(super) fn text(text: impl Into<String>) -> Test {
        Test::Text(text.into())
    }

    pub(super) fn not(self) -> Test {
        match self {
            Test::Not(inner) => *inner,
            other => Test::Not(Box::new(other)),
        }
    }

    /// Turned where `negated`.
    pub(super) fn not_if(self, negated: bool) -> Test {
        if negated { self.not() } else { self }
    }

    pub(super) fn and(self, other: Test) -> Test {
        match (self, other) {
            (Test::All(mut these), Test::All(those)) => {
                these.extend(those);
                Test::All(these)
            }
            (Test::All(mut these), other) => {
                these.push(other);
                Test::All(these)
            }
            (this, other) => Test::All(vec![this]).and(other),
        }
    }

    pub(super) fn is_always(&self) -> bool {
        match self {
            Test::All(tests) => tests.iter().all(Test::is_always),
            Test::Any(tests) => tests.iter().any(Test::is_always),
            Test::Not(inner) => matches!(&**inner, Test::Any(tests) if tests.is_empty()),
            Test::Text(_) => false,
        }
    }

    /// Primitives in it.
    pub(super) fn size(&self) -> usize {
        match self {
            Test::Text(_) => 1,
            Test::All(tests) | Test::Any(tests) => tests.iter().map(Test::size).sum::<usize>() + 1,
            Test::Not(inner) => inner.size(),
        }
    }

    fn join(f: &mut fmt::Formatter<'_>, tests: &[Test], word: &str) -> fmt::Result {
        for (i, test) in tests.iter().enumerate() {
            if i > 0 {
                write!(f, " {word} ")?;
            }
            match test {
                Test::All(inner) | Test::Any(inner) if inner.len() > 1 => write!(f, "({test})")?,
                test => write!(f, "{test}")?,
            }
        }
        Ok(())
    }
}

impl Display for Test {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Test::Text(text) => f.write_str(text),
            // No packet has fewer bytes than none.
            Test::All(tests) if tests.is_empty() => f.write_str("len >= 0"),
            Test::Any(tests) if tests.is_empty() => f.write_str("not len >= 0"),
            Test::All(tests) => Test::join(f, tests, "and"),
            Test::Any(tests) => Test::join(f, tests, "or"),
            Test::Not(inner) => write!(f, "not ({inner})"),
        }
    }
}
