//! Random programs, nested, as data: so that their clauses can be asked one by one.

use crate::packet::Packet;
use crate::rng::Rng;

/// Where a clause leads.
#[derive(Clone, Debug)]
pub enum Then {
    /// `handler(argument, …)`.
    Call(String),
    /// A block of further clauses.
    Block(Vec<(String, Then)>),
}

/// What tests and arguments are picked from.
#[derive(Clone, Copy, Debug)]
pub struct Words {
    /// Tests, which are joined by `and` and `or` as well.
    pub tests: &'static [&'static str],
    /// Arguments of handlers.
    pub arguments: &'static [&'static str],
}

/// Clauses, with blocks up to this depth.
pub fn program(rng: &mut Rng, words: Words, depth: u32) -> Vec<(String, Then)> {
    let test = |rng: &mut Rng| *rng.pick(words.tests);
    (0..1 + rng.below(5))
        .map(|_| {
            let test = match rng.below(8) {
                0 => "otherwise".to_owned(),
                1 | 2 => format!("{} and {}", test(rng), test(rng)),
                3 => format!("({}) or {}", test(rng), test(rng)),
                _ => test(rng).to_owned(),
            };
            if depth > 0 && rng.below(3) == 0 {
                return (test, Then::Block(program(rng, words, depth - 1)));
            }
            let arguments: Vec<&str> = (0..rng.below(3)).map(|_| *rng.pick(words.arguments)).collect();
            (test, Then::Call(format!("h{}({})", rng.below(4), arguments.join(", "))))
        })
        .collect()
}

/// Its text.
pub fn text(program: &[(String, Then)]) -> String {
    let clause = |(test, then): &(String, Then)| match then {
        Then::Call(call) => format!("{test} => {call};"),
        Then::Block(block) => format!("{test} => {}", &text(block)["match ".len()..]),
    };
    format!("match {{ {} }}", program.iter().map(clause).collect::<Vec<_>>().join(" "))
}

/// Packets of these lines, in which `ttl=T` has values that differ.
///
/// # Panics
/// If a line is none.
pub fn packets(rng: &mut Rng, lines: &[&str]) -> Vec<Vec<u8>> {
    let ttl = [1, 19, 64, 65, 200];
    let mut line = |line: &&str| line.replace("ttl=T", &format!("ttl={}", rng.pick(&ttl)));
    let packet = |line: String| Packet::parse(&line).unwrap_or_else(|e| panic!("{line}: {e}")).bytes;
    lines.iter().map(|it| packet(line(it))).collect()
}
