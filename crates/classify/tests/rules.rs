//! Rule lists against a linear scan: random, adversarial, with residuals, changing.

mod lists;

use classify::rules::{
    Address, BuildError, Handle, Isa, Key, LiveRules, NO_RULE, Options, Rule, Rules, Scratch, linear, points,
};
use lists::{Draw, adversarial, draw_key, draw_list};
use proptest::prelude::*;

/// The instruction sets of this processor.
fn here() -> impl Iterator<Item = Isa> {
    Isa::ALL.into_iter().filter(|isa| isa.is_here())
}

/// Packets in the rules, packets near them, and packets anywhere.
fn keys<A: Draw>(rules: &[Rule<A>], count: usize, seed: u64) -> Vec<Key<A>> {
    let mut keys: Vec<Key<A>> = points(rules, seed).take(count).collect();
    keys.extend((0..count as u64).map(|i| draw_key(seed ^ i << 20)));
    keys
}

/// Compares with a linear scan: one by one and in a batch, on each instruction set.
#[track_caller]
fn check<A: Draw>(rules: &[Rule<A>], keys: &[Key<A>]) {
    let expected: Vec<Option<usize>> = keys.iter().map(|key| linear(rules, key, |_| false)).collect();
    for isa in here() {
        let built = Rules::build(rules, &Options { isa, ..Options::default() }).expect("it is built");
        let mut found = vec![7; keys.len()];
        built.find_batch(keys, &mut found);
        for ((key, &expected), &batch) in keys.iter().zip(&expected).zip(&found) {
            let expected = expected.map(|number| number as u32);
            assert_eq!(built.find(key), expected, "{isa:?} {key:x?}\n{rules:x?}");
            assert_eq!(batch, expected.unwrap_or(NO_RULE), "batch {isa:?} {key:x?}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn random_lists_of_ipv4(seed in any::<u64>(), count in 0_usize..400) {
        let rules = draw_list::<u32>(seed, count);
        check(&rules, &keys(&rules, 300, seed));
    }

    #[test]
    fn random_lists_of_ipv6(seed in any::<u64>(), count in 0_usize..300) {
        let rules = draw_list::<u128>(seed, count);
        check(&rules, &keys(&rules, 300, seed));
    }

    #[test]
    fn residuals_are_asked_in_order_and_once(seed in any::<u64>(), count in 1_usize..200) {
        let mut rules = draw_list::<u32>(seed, count);
        for (i, rule) in rules.iter_mut().enumerate().filter(|(i, _)| i % 3 != 0) {
            rule.residual = Some((i as u64 * 7 + seed) as u32 % 13);
        }
        let built = Rules::build(&rules, &Options::default()).unwrap();
        let mut scratch = Scratch::default();
        for (i, key) in keys(&rules, 200, seed).iter().enumerate() {
            let truth = |residual: u32| seed.rotate_left(i as u32) >> residual & 1 == 1;
            let mut asked = Vec::new();
            let found = built.find_with(key, &mut scratch, |residual| {
                asked.push(residual);
                truth(residual)
            });
            prop_assert_eq!(found.map(|n| n as usize), linear(&rules, key, truth));
            let count = asked.len();
            asked.sort_unstable();
            asked.dedup();
            prop_assert_eq!(asked.len(), count, "each is asked once");
        }
    }

    #[test]
    fn lists_that_change(seed in any::<u64>(), count in 0_usize..60, changes in 1_usize..150) {
        change_and_check::<u32>(seed, count, changes);
        change_and_check::<u128>(seed, count / 2, changes / 2);
    }
}

/// A list with single changes, and rebuilds in between, against the same list as a vector.
fn change_and_check<A: Draw>(seed: u64, count: usize, changes: usize) {
    let first = draw_list::<A>(seed, count);
    let mut model: Vec<(Handle, Rule<A>)> = (0..).map(Handle).zip(first.iter().cloned()).collect();
    let mut live = LiveRules::new(first, Options::default()).unwrap();
    let mut reader = live.reader();
    let mut rebuild = None;
    for step in 0..changes as u64 {
        let dice = lists::mix(seed ^ step << 32);
        let at = (dice >> 8) as usize % (model.len() + 1);
        match dice % 8 {
            0..4 => {
                let rule = draw_list::<A>(dice, 1).remove(0);
                let before = model.get(at).map(|&(handle, _)| handle);
                let handle = live.insert(rule.clone(), before).unwrap().expect("the other is there");
                model.insert(at, (handle, rule));
            }
            4..7 if at < model.len() => {
                let (handle, _) = model.remove(at);
                assert!(live.remove(handle).unwrap());
                assert!(!live.remove(handle).unwrap(), "only once");
                let none = live.insert(Rule::any(), Some(handle)).unwrap();
                assert_eq!(none, None, "nothing stands before what is not there");
            }
            7 if rebuild.is_none() => rebuild = Some(live.begin_rebuild()),
            _ => {
                if let Some(rebuild) = rebuild.take() {
                    live.finish_rebuild(rebuild.run().unwrap()).unwrap();
                }
            }
        }
        let rules: Vec<Rule<A>> = model.iter().map(|(_, rule)| rule.clone()).collect();
        assert!(live.snapshot().rules().map(|(_, rule)| rule).eq(&rules), "the same list");
        let keys = keys(&rules, 20, dice);
        let mut batch = vec![None; keys.len()];
        reader.get().find_batch(&keys, &mut batch);
        for (key, batch) in keys.iter().zip(batch) {
            let expected = linear(&rules, key, |_| false).map(|at| model[at].0);
            assert_eq!(reader.get().find_with(key, &mut Scratch::default(), |_| false), expected);
            assert_eq!(batch, expected);
        }
    }
}

#[test]
fn adversarial_lists() {
    for (name, rules) in adversarial::<u32>() {
        println!("{name}: {}", Rules::build(&rules, &Options::default()).unwrap().certificate());
        check(&rules, &keys(&rules, 400, 3));
    }
    for (name, rules) in adversarial::<u128>() {
        println!("IPv6, {name}");
        check(&rules, &keys(&rules, 300, 4));
    }
}

#[test]
fn batches_of_all_sizes() {
    let rules = draw_list::<u32>(1, 300);
    let keys = keys(&rules, 200, 2);
    for isa in here() {
        let built = Rules::build(&rules, &Options { isa, ..Options::default() }).unwrap();
        for size in (0..=130).chain([255, 256, 257, 400]) {
            let keys = &keys[..size.min(keys.len())];
            let mut found = vec![7; keys.len() + 1];
            built.find_batch(keys, &mut found);
            assert_eq!(found.pop(), Some(7), "nothing behind the batch is written");
            let each: Vec<u32> = keys.iter().map(|key| built.find(key).unwrap_or(NO_RULE)).collect();
            assert_eq!(found, each, "{isa:?} {size}");
        }
    }
}

#[test]
fn a_list_that_needs_too_much_memory_is_refused() {
    let rules = draw_list::<u32>(1, 5000);
    let error = Rules::build(&rules, &Options { bytes_max: 10_000, ..Options::default() }).unwrap_err();
    assert!(matches!(error, BuildError::Bytes { rules: 5000, max: 10_000, .. }), "{error}");
    assert!(error.to_string().contains("raise the limit"), "{error}");
}

#[test]
fn repeated_rules_cost_nothing() {
    let rules = vec![draw_list::<u32>(1, 1).remove(0); 10_000];
    let certificate = Rules::build(&rules, &Options::default()).unwrap().certificate();
    assert_eq!((certificate.rules, certificate.groups), (10_000, 1));
    assert!(certificate.bytes < 10_000, "{certificate}");
}

#[test]
fn a_sample_of_traffic_steers_the_builder() {
    // Two halves that want different bits: the rules of the half that the traffic meets are to be cheap.
    let rules = draw_list::<u32>(9, 2000);
    let sample: Vec<Key<u32>> = points(&rules[..100], 1).take(500).collect();
    let built = Rules::build(&rules, &Options { sample: sample.clone(), ..Options::default() }).unwrap();
    for key in &sample {
        assert_eq!(built.find(key).map(|n| n as usize), linear(&rules, key, |_| false));
    }
}

#[test]
fn readers_see_whole_lists_while_it_changes() {
    // In every list that is published exactly one of two rules decides about the packet: there is never none.
    let only = |port: u16| Rule { dport: port..=port, ..Rule::<u32>::any() };
    let noise = draw_list::<u32>(4, 500).into_iter().map(|rule| Rule { dport: 9..=9, ..rule });
    let mut live = LiveRules::new(noise.chain([only(80)]).collect(), Options::default()).unwrap();
    let done = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            let (mut reader, done) = (live.reader(), &done);
            scope.spawn(move || {
                let (key, mut scratch) = (Key { dport: 80, ..Key::default() }, Scratch::default());
                while !done.load(std::sync::atomic::Ordering::Relaxed) {
                    assert!(reader.get().find_with(&key, &mut scratch, |_| false).is_some());
                }
            });
        }
        let mut old = Handle(500);
        for round in 0..300 {
            let new = live.insert(only(80), Some(old)).unwrap().expect("it is there");
            assert!(live.remove(old).unwrap());
            old = new;
            if round % 50 == 0 {
                live.rebuild().unwrap();
            }
        }
        done.store(true, std::sync::atomic::Ordering::Relaxed);
    });
}

#[test]
fn addresses_of_both_families_are_generic() {
    fn count<A: Address>(rules: &[Rule<A>]) -> usize {
        Rules::build(rules, &Options::default()).unwrap().len()
    }
    assert_eq!(count::<u32>(&[Rule::any()]) + count::<u128>(&[]), 1);
}
