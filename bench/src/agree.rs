//! `bench --agree FOLDER`: what first-match lists answer for twenty million headers, against a scan of the list and against librte_acl.
//!
//! The lists are ClassBench's twelve families with 1,000 and 10,000 rules, three of them with 100,000, and a million rules that are made. Half of the headers
//! are points of rules, half are random. All sets of instructions that the processor has answer one by one and in batches.

#[cfg(has_acl)]
use crate::acl::{ALGORITHMS, Acl};
use crate::rules::{FAMILIES, read};
use classify::rules::{Isa, Key, NO_RULE, Options, Rule, Rules, generate, linear, points};
use std::path::Path;

/// Sizes of lists, and headers for each: a scan of a long list takes long.
const SIZES: [(&str, usize); 3] = [("1k", 900_000), ("10k", 740_000), ("100k", 150_000)];
/// Headers for the million rules.
const FOR_A_MILLION: usize = 20_000;
/// Headers that are looked up together.
const CHUNK: usize = 4096;

/// What was compared.
#[derive(Clone, Copy, Default)]
struct Tally {
    headers: usize,
    /// Headers that a rule matches.
    matched: usize,
    /// Answers compared with the scan's.
    answers: usize,
    /// Headers that librte_acl was asked about.
    acl: usize,
    differing: usize,
}

/// Compares all lists of a folder; an error if there is none, or where an answer differs.
pub(crate) fn run(folder: &Path) -> Result<(), String> {
    let mut total = Tally::default();
    let mut add = |name: &str, rules: &[Rule<u32>], headers: usize, may_acl: bool| {
        let tally = compare(rules, headers, may_acl);
        println!("{name:<14} {:>9} rules  {tally}", rules.len());
        total.headers += tally.headers;
        total.matched += tally.matched;
        total.answers += tally.answers;
        total.acl += tally.acl;
        total.differing += tally.differing;
    };
    let mut lists = 0;
    for (size, headers) in SIZES {
        for name in FAMILIES.map(|family| format!("{family}_{size}")) {
            if let Some(rules) = read(&folder.join(format!("{name}.rules.gz"))) {
                add(&name, &rules, headers, true);
                lists += 1;
            }
        }
    }
    if lists == 0 {
        return Err(format!("{}: no lists of ClassBench (acl1_1k.rules.gz, …)", folder.display()));
    }
    // librte_acl takes gigabytes to build a list of this size.
    add("sites, 1000000", &generate::rules(1_000_000, 1), FOR_A_MILLION, false);
    println!("{lists} lists and one: {total}");
    if total.differing == 0 { Ok(()) } else { Err(format!("{} answers differ", total.differing)) }
}

impl std::fmt::Display for Tally {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Tally { headers, matched, answers, acl, differing } = self;
        write!(
            f,
            "{headers} headers, {matched} match; {answers} answers, librte_acl on {acl} headers: {differing} differ"
        )
    }
}

/// Compares the answers for so many headers, in whole chunks.
fn compare(rules: &[Rule<u32>], headers: usize, may_acl: bool) -> Tally {
    let built = |isa| Rules::build(rules, &Options { isa, ..Options::default() }).expect("the list is built");
    let lists: Vec<Rules<u32>> = Isa::ALL.into_iter().filter(|isa| isa.is_here()).map(built).collect();
    #[cfg(has_acl)]
    let mut acl = may_acl.then(|| Acl::build(rules)).flatten();
    #[cfg(not(has_acl))]
    let _ = may_acl;
    let (mut matching, mut random) = (points(rules, 91), generate::random_headers(92));
    let mut tally = Tally::default();
    let mut found = [NO_RULE; CHUNK];
    while tally.headers < headers {
        let keys: Vec<Key<u32>> =
            matching.by_ref().take(CHUNK / 2).chain(random.by_ref().take(CHUNK / 2)).collect();
        let scan = |key| linear(rules, key, |_| false).map_or(NO_RULE, |rule| rule as u32);
        let expected: Vec<u32> = keys.iter().map(scan).collect();
        tally.headers += keys.len();
        tally.matched += expected.iter().filter(|&&rule| rule != NO_RULE).count();
        for list in &lists {
            list.find_batch(&keys, &mut found);
            let in_batch = found.iter().zip(&expected).filter(|(found, expected)| found != expected).count();
            let differs =
                |&(key, &expected): &(&Key<u32>, &u32)| list.find(key).unwrap_or(NO_RULE) != expected;
            tally.differing += in_batch + keys.iter().zip(&expected).filter(differs).count();
            tally.answers += 2 * keys.len();
        }
        #[cfg(has_acl)]
        if let Some(acl) = &mut acl {
            acl.load(&keys);
            for algorithm in 0..ALGORITHMS.len() {
                if acl.choose(algorithm) {
                    acl.find(0, 256, &mut found);
                    // An answer is the number of the rule and one.
                    let differs = |(found, expected): &(&u32, &u32)| found.wrapping_sub(1) != **expected;
                    tally.differing += found.iter().zip(&expected).filter(differs).count();
                }
            }
            tally.acl += keys.len();
        }
    }
    tally
}
