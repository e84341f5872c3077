//! What all engines are asked about: a filter or a program, and packets that were made for it.

use crate::expr::{Generator, Productions};
use crate::linktype::{self, ETHERNET, LinkType};
use crate::packet::Packet;
use crate::rng::Rng;
use crate::{mutate, traffic, walk};
use pflang::Compiler;

/// Packets that make sense, of each subject.
const TEMPLATES: usize = 8;
/// Truncations of one packet reach so far.
const TRUNCATED_BYTES: usize = 60;
/// What bounds the packets that walk.
const WALKS: walk::Budget = walk::Budget { runs: 80, steps: 2000, bytes: 2048 };
/// What the arguments of handlers are picked from.
const ARGUMENTS: &[&str] = &[
    "len",
    "5",
    "ip[8]",
    "link[0]",
    "link[1:2] * 3",
    "tcp[0:2]",
    "ip[2:2] / link[3]",
    "link[4:4] % ip[9]",
    "&ip[0]",
    "link[len - 1]",
];
/// Sets, which libpcap does not have.
const SETS: &[&str] = &[
    "port in { 80, 443, 8000-8080 }",
    "host in { 10.0.0.1, 192.0.2.0/24 }",
    "link[12:2] in { 0x800, 0x806 }",
];

/// A filter or a program for packets of one link type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subject {
    /// Its text; that of a program begins with `match`.
    pub text: String,
    /// What packets begin with.
    pub linktype: LinkType,
    /// The filters in it, whose branches packets are to take.
    tests: Vec<String>,
}

impl Subject {
    /// A filter or a program. The same numbers make the same.
    ///
    /// ```
    /// use quickcheck::{Subject, rng::Rng};
    ///
    /// let subjects = [(); 2].map(|()| Subject::random(&mut Rng::new(7), None));
    /// assert_eq!(subjects[0], subjects[1]);
    /// ```
    pub fn random(rng: &mut Rng, linktype: Option<LinkType>) -> Subject {
        let linktypes: Vec<_> = linktype::all().collect();
        let drawn = if rng.chance(1, 2) { ETHERNET } else { *rng.pick(&linktypes) };
        let linktype = linktype.unwrap_or(drawn);
        let mut tests = Vec::new();
        let text = match rng.below(16) {
            0..=3 => format!("match {}", block(rng, linktype, 2, &mut tests)),
            4 | 5 => Productions::new(rng.next_u64()).expression(),
            6 => format!("({}) or {}", Generator::new(linktype, rng.next_u64()).expression(), rng.pick(SETS)),
            _ => Generator::new(linktype, rng.next_u64()).expression(),
        };
        if tests.is_empty() {
            tests.push(text.clone());
        }
        Subject { text, linktype, tests }
    }

    /// The same with another text.
    pub(crate) fn with(&self, text: &str) -> Subject {
        Subject { text: text.to_owned(), ..self.clone() }
    }

    /// Whether it is a program of pfmatch.
    ///
    /// ```
    /// use quickcheck::{Subject, rng::Rng};
    ///
    /// let subject = Subject::random(&mut Rng::new(7), None);
    /// assert_eq!(subject.is_program(), subject.text.starts_with("match"));
    /// ```
    pub fn is_program(&self) -> bool {
        self.text.starts_with("match")
    }

    /// Packets: some that make sense, some that take a branch which no other takes, damaged ones, truncations, noise.
    pub(crate) fn packets(&self, compiler: &Compiler, rng: &mut Rng) -> Vec<Packet> {
        let mut whole: Vec<Packet> = (0..TEMPLATES).map(|_| traffic::packet(self.linktype, rng)).collect();
        // Which packets take which branch is read from our own bytecode, which is the same on every machine.
        for test in &self.tests {
            if let Ok(insns) = compiler.to_cbpf(test) {
                let mut seeds = vec![Packet::whole(Vec::new())];
                seeds.extend(whole.iter().take(4).cloned());
                whole.extend(walk::packets(&insns, &seeds, WALKS));
            }
        }
        let mutants: Vec<_> = whole.iter().map(|packet| mutate::headers(packet, rng)).collect();
        whole.extend(mutants);
        let cut: Vec<_> = (0..2).map(|_| rng.pick(&whole).clone()).collect();
        whole.extend(cut.iter().flat_map(|packet| mutate::truncations(packet, TRUNCATED_BYTES)));
        whole.push(mutate::noise(rng));
        whole
    }
}

/// Clauses in braces. Blanks stand where a shrinker may part it.
fn block(rng: &mut Rng, linktype: LinkType, depth: usize, tests: &mut Vec<String>) -> String {
    let mut clauses = Vec::new();
    for _ in 0..1 + rng.below(4) {
        let test = Generator::new(linktype, rng.next_u64()).expression();
        let test = if test.is_empty() { "otherwise".to_owned() } else { test };
        tests.push(test.clone());
        let then = if depth > 0 && rng.chance(1, 5) {
            block(rng, linktype, depth - 1, tests)
        } else {
            let arguments: Vec<_> = (0..rng.below(3)).map(|_| *rng.pick(ARGUMENTS)).collect();
            format!("h{} ( {} )", rng.below(4), arguments.join(" , "))
        };
        clauses.push(format!("{test} => {then}"));
    }
    if rng.chance(1, 4) {
        clauses.push("otherwise => rest".into());
    }
    format!("{{ {} }}", clauses.join(" , "))
}
