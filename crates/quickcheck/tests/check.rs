//! Runs that agree, and engines that lie.

use quickcheck::rng::Rng;
use quickcheck::{Answer, Failure, Report, Settings, Subject, check};
use std::time::{Duration, Instant};

/// The example, which cargo builds beside the tests.
fn liar(argument: &str) -> (String, String) {
    let tests = std::env::current_exe().expect("a path");
    let folder = tests.ancestors().nth(2).expect("a folder of profiles").join("examples/liar");
    ("liar".to_owned(), format!("exec '{}' {argument}", folder.display()))
}

fn checked(seed: u64, pairs: u64, commands: &[(String, String)]) -> Report {
    let mut settings = Settings::new(seed);
    settings.pairs = Some(pairs);
    settings.time = Some(Duration::from_secs(60));
    settings.with_c = commands.is_empty();
    settings.commands = commands.to_vec();
    check(&settings).expect("the system does its part")
}

fn failure(argument: &str) -> Failure {
    checked(1, u64::MAX, &[liar(argument)]).failure.expect("a disagreement")
}

#[test]
fn all_engines_agree_and_are_counted() {
    let report = checked(3, 200_000, &[]);
    assert!(report.failure.is_none(), "{:?}", report.failure);
    assert!(report.pairs() >= 200_000 && report.programs > 0 && report.filters > report.programs);
    let reference = &report.tallies[0];
    assert_eq!((reference.engine.as_str(), reference.outside), ("interpreter", 0));
    for tally in report.tallies.iter().filter(|tally| tally.engine != "C") {
        assert_eq!(tally.answered + tally.outside, reference.answered, "{}", tally.engine);
        assert!(tally.answered > 0, "{}", tally.engine);
    }
}

#[test]
fn a_seed_gives_the_same_pairs_whichever_engines_there_are() {
    let numbers = |report: &Report| {
        let tally = &report.tallies[0];
        (report.filters, report.programs, report.refused, tally.answered)
    };
    let seeded = |seed: u64, commands: &[(String, String)]| {
        let mut settings = Settings::new(seed);
        settings.with_c = false;
        settings.commands = commands.to_vec();
        numbers(&check(&settings).expect("the system does its part"))
    };
    for seed in 0..20 {
        assert_eq!(seeded(seed, &[]), seeded(seed, &[liar("")]));
        let subject = |seed| Subject::random(&mut Rng::new(seed), None);
        assert_eq!(subject(seed), subject(seed));
        assert_ne!(subject(seed).text, subject(seed + 1).text);
    }
}

#[test]
fn an_engine_that_lies_about_one_opcode_is_found_and_made_small() {
    let begin = Instant::now();
    let failure = failure("jset");
    assert!(begin.elapsed() < Duration::from_secs(60));
    assert_eq!(failure.engine, "liar");
    assert!(failure.subject.text.split(' ').count() <= 8, "`{}`", failure.subject.text);
    let said = |name: &str| failure.answers.iter().find(|(engine, _)| engine == name).map(|(_, said)| said);
    let (ours, theirs) = (said("interpreter"), said("liar"));
    let is_answer = |said: Option<&Answer>| matches!(said, Some(Answer::Accepts | Answer::Rejects));
    assert!(is_answer(ours) && is_answer(theirs) && ours != theirs, "{failure:?}");
    assert_eq!(said("machine code").or(ours), ours);

    // Its seed begins with it.
    let mut settings = Settings::new(failure.seed);
    settings.commands = vec![liar("jset")];
    settings.with_c = false;
    let again = check(&settings).expect("the system does its part").failure.expect("the same");
    assert_eq!(again.subject, failure.subject);
    assert_eq!(again.packet, failure.packet);
}

#[test]
fn an_engine_that_crashes_has_a_pair() {
    let failure = failure("crash");
    let Some((_, Answer::Fails(why))) = failure.answers.last() else { panic!("{failure:?}") };
    assert!(why.contains("exit status: 3"), "{why}");
}

#[test]
fn an_honest_engine_is_not_blamed() {
    let report = checked(5, 20_000, &[liar("")]);
    assert!(report.failure.is_none(), "{:?}", report.failure);
    assert!(report.tallies.last().is_some_and(|tally| tally.answered > 0 && tally.outside > 0));
}

#[test]
fn programs_go_through_the_mask_vm_and_c_as_well() {
    let is_program = |seed: &u64| Subject::random(&mut Rng::new(*seed), None).is_program();
    for seed in (0..).filter(is_program).take(4) {
        let report = check(&Settings::new(seed)).expect("the system does its part");
        assert!(report.failure.is_none(), "{:?}", report.failure);
        let answered = report.tallies[0].answered;
        let others =
            report.tallies.iter().filter(|tally| tally.engine == "C" || tally.engine.starts_with("mask VM"));
        others
            .for_each(|tally| assert_eq!((tally.answered, tally.outside), (answered, 0), "{}", tally.engine));
    }
}
