use super::*;
use crate::control::Explained;
use crate::judge::Prepared;
use std::path::Path;
use testkit::packet::Packet as Text;
use testkit::rig::Rig;

const MS: u64 = 1_000_000;

fn policy(text: &str) -> Arc<Policy> {
    Arc::new(Policy::read(text, Path::new("")).unwrap_or_else(|problems| panic!("{problems:?}")))
}

/// A wall with this policy, which has seen the handshake of a connection.
fn wall(text: &str) -> (Rig, Control) {
    let control = Control::new(policy(text), false);
    let class = L7Wall { control: Some(control.clone()), ..L7Wall::default() };
    let ports = ["south", "north"];
    let mut rig = Rig::new(class, &ports, &ports);
    rig.send("south", segment(true, "S", 100, ""));
    rig.breathe();
    rig.send("north", segment(false, "SA", 500, ""));
    rig.breathe();
    rig.send("south", segment(true, "A", 101, ""));
    rig.breathe();
    assert_eq!((rig.take("north").len(), rig.take("south").len()), (2, 1));
    (rig, control)
}

fn segment(from_client: bool, flags: &str, seq: u32, payload: &str) -> Vec<u8> {
    let [client, server] = [("10.0.0.9", 4000), ("10.0.0.2", 8022)];
    let ((src, sport), (dst, dport)) = if from_client { (client, server) } else { (server, client) };
    let ack = match (flags, from_client) {
        ("S", _) => 0,
        (_, true) => 501,
        (_, false) => 101,
    };
    let payload: String = payload.bytes().map(|byte| format!("{byte:02x} ")).collect();
    let line = format!(
        "eth / ip4(src={src}, dst={dst}) / tcp(sport={sport}, dport={dport}, seq={seq}, ack={ack}, flags={flags}) / hex({payload})"
    );
    Text::parse(&line).unwrap().bytes
}

fn holding(then: &str, rules: &str) -> String {
    format!("dpi = 'own'\nundecided = {{ hold = 3, ms = 200, then = '{then}' }}\nrules = '''\n{rules}\n'''")
}

/// A request, in two segments of which the first alone tells nothing.
fn request() -> [Vec<u8>; 2] {
    [segment(true, "PA", 101, "GET / HT"), segment(true, "PA", 109, "TP/1.1\r\n\r\n")]
}

#[test]
fn what_is_held_leaves_in_order_when_its_flow_is_decided() {
    for (rules, passes) in [("app HTTP => accept", true), ("app HTTP => drop\notherwise => accept", false)] {
        let (mut rig, control) = wall(&holding("forward", rules));
        let [first, second] = request();
        // An acknowledgement waits behind it.
        let behind = segment(true, "A", 109, "");
        rig.send("south", &first);
        rig.send("south", &behind);
        rig.advance(5 * MS);
        assert!(rig.take("north").is_empty());
        assert_eq!((rig.counter("held"), rig.counter("holding")), (2, 2));
        rig.send("south", &second);
        rig.breathe();
        let expected = if passes { vec![first, behind, second] } else { vec![] };
        assert_eq!(rig.take("north"), expected);
        rig.advance(60 * MS);
        assert_eq!((rig.counter("holding"), rig.counter("held_too_long")), (0, 0));
        let counts = control.told().counts;
        let sum: u64 = counts.actions.iter().map(|count| count.packets).sum();
        assert_eq!((sum, counts.rules[0].packets), (6, 3), "{counts:?}");
        rig.report();
    }
}

#[test]
fn who_waits_too_long_or_sends_too_much_is_forwarded_or_dropped() {
    for then in ["forward", "drop"] {
        // By time.
        let (mut rig, _) = wall(&holding(then, "app HTTP => accept"));
        let [first, _] = request();
        rig.send("south", &first);
        rig.breathe();
        rig.advance(150 * MS);
        assert!(rig.take("north").is_empty());
        // What is judged again at a tick is taken in the next breath.
        rig.advance(60 * MS);
        rig.breathe();
        let expected = if then == "forward" { vec![first.clone()] } else { vec![] };
        assert_eq!(rig.take("north"), expected);
        assert_eq!((rig.counter("held_too_long"), rig.counter("holding")), (1, 0));
        // Once given up, the flow is not held again.
        let next = segment(true, "PA", 109, "T");
        rig.send("south", &next);
        rig.breathe();
        assert_eq!(rig.take("north").len(), expected.len());
        rig.report();
        // By number: the fourth is one too many.
        let (mut rig, _) = wall(&holding(then, "app SSH => accept"));
        let letters: Vec<Vec<u8>> =
            (0..4).map(|at| segment(true, "PA", 101 + at, &"GET "[at as usize..=at as usize])).collect();
        letters.iter().take(3).for_each(|letter| rig.send("south", letter));
        rig.breathe();
        assert!(rig.take("north").is_empty());
        rig.send("south", &letters[3]);
        rig.breathe();
        assert_eq!(rig.take("north"), if then == "forward" { letters } else { vec![] });
        rig.report();
        // None waits behind it, in the same burst either.
        let (mut rig, _) = wall(&holding(then, "app SSH => accept"));
        let letters: Vec<Vec<u8>> =
            (0..5).map(|at| segment(true, "PA", 101 + at, &"GET /"[at as usize..=at as usize])).collect();
        letters.iter().for_each(|letter| rig.send("south", letter));
        rig.breathe();
        assert_eq!(rig.counter("holding"), 0);
        assert_eq!(rig.take("north"), if then == "forward" { letters } else { vec![] });
        rig.report();
    }
}

#[test]
fn another_policy_and_the_end_lose_nothing_uncounted() {
    let (mut rig, control) = wall(&holding("drop", "app HTTP => accept"));
    let [first, _] = request();
    rig.send("south", &first);
    rig.breathe();
    assert!(rig.take("north").is_empty());
    let other = policy("dpi = 'own'\nrules = 'otherwise => accept'");
    control.hand_over(Prepared::new(other, &[LinkType::EN10MB]));
    rig.advance(10 * MS);
    rig.breathe();
    assert_eq!(rig.take("north"), [first]);
    assert_eq!(rig.counter("holding"), 0);
    rig.report();
    // At the end, what waits is not judged any more: it has a counter of its own.
    let (mut rig, control) = wall(&holding("drop", "app HTTP => accept"));
    rig.send("south", &request()[0]);
    rig.breathe();
    drop(rig);
    let counts = control.told().counts;
    assert_eq!((counts.undecided.packets, counts.packets(Action::Drop)), (3, 0));
}

#[test]
fn who_asks_for_counts_is_told_those_of_now() {
    let (mut rig, control) = wall("dpi = 'own'\nrules = 'otherwise => accept'");
    let counted = |told: crate::control::Told| told.counts.packets(Action::Accept);
    assert!(counted(control.told()) < 3, "no time has passed");
    let asking = control.clone();
    let asked = std::thread::spawn(move || asking.told_now(std::time::Duration::from_secs(60)));
    while !asked.is_finished() {
        rig.breathe();
    }
    assert_eq!((counted(asked.join().unwrap()), counted(control.told())), (3, 3));
    // A wall that stands still has told nothing since.
    rig.send("south", segment(true, "A", 101, ""));
    assert_eq!(counted(control.told_now(std::time::Duration::ZERO)), 3);
    rig.breathe();
    rig.report();
}

#[test]
fn a_policy_that_nobody_has_taken_is_withdrawn() {
    let (mut rig, control) = wall("dpi = 'own'\nrules = 'otherwise => accept'");
    let prepared = |rules: &str| {
        Prepared::new(policy(&format!("dpi = 'own'\nrules = '{rules} => drop'")), &[LinkType::EN10MB])
    };
    let first = control.policy();
    let handed = control.hand_over(prepared("otherwise"));
    assert!(control.withdraw(handed));
    rig.advance(10 * MS);
    rig.breathe();
    assert!(Arc::ptr_eq(&control.policy(), &first));
    assert_eq!((control.told().generation, rig.counter("generation")), (1, 1));
    // One that was taken stays.
    let handed = control.hand_over(prepared("tcp"));
    rig.advance(10 * MS);
    rig.breathe();
    assert!(!control.withdraw(handed));
    assert_eq!((control.told().generation, rig.counter("generation")), (2, 2));
    rig.report();
}

#[test]
fn who_asks_about_packets_that_do_not_come_is_told_which_flows_are_known() {
    let text = "dpi = 'own'\nflows.max = 1000\nrules = '''\nudp => drop\ntcp port 8022 => accept\n'''";
    let (mut rig, control) = wall(text);
    let ask = |rig: &mut Rig, filter: &str| {
        let filter = pflang::Compiler::new(LinkType::EN10MB).compile(filter).unwrap();
        let (asking, patience) = (control.clone(), std::time::Duration::from_millis(200));
        let asked = std::thread::spawn(move || asking.explain_next(vec![filter], patience));
        while !asked.is_finished() {
            rig.breathe();
        }
        match asked.join().unwrap() {
            Explained::Silent(found) => found,
            other => panic!("{other:?}"),
        }
    };
    for filter in ["host 10.0.0.9 and tcp port 8022", "src host 10.0.0.2", "tcp dst port 8022"] {
        let found = ask(&mut rig, filter);
        assert_eq!((found.matching, found.looked_at, found.is_whole), (1, 1, true), "{filter}: {found:?}");
        let flow = &found.flows[0];
        assert_eq!(flow.record.packets, [2, 1], "{filter}");
        let (verdict, by) = flow.last.as_ref().unwrap();
        assert_eq!(*verdict, Verdict { action: Action::Accept, basis: Basis::Rule(1) });
        assert!(by.as_ref().is_some_and(|policy| Arc::ptr_eq(policy, &control.policy())));
    }
    for filter in ["udp", "host 10.0.0.3", "tcp port 4001"] {
        let found = ask(&mut rig, filter);
        assert_eq!((found.matching, found.flows.len(), found.looked_at), (0, 0, 1), "{filter}");
    }
    // The same text once more, as where a set has changed.
    control.hand_over(Prepared::new(policy(text), &[LinkType::EN10MB]));
    let found = ask(&mut rig, "tcp");
    assert!(found.flows[0].last.as_ref().is_some_and(|(_, by)| by.is_some()), "{found:?}");
    // Rules of a policy that is not in force any more have numbers that mean nothing.
    control.hand_over(Prepared::new(policy("dpi = 'own'\nrules = 'otherwise => drop'"), &[LinkType::EN10MB]));
    let found = ask(&mut rig, "tcp");
    assert!(matches!(found.flows[0].last, Some((Verdict { action: Action::Accept, .. }, None))), "{found:?}");
    rig.report();
}
