//! Workers that crash, hang, are stopped, or write nonsense.

use crate::answers::{ask, flow};
use crate::packets::{dns_question, endless_dns, tcp, udp};
use crate::{Test, absent};
use dpi::worker::{Answer, Faults, FlowId, Options, Packet, Reason, Refused, Until, Worker};
use std::process::Command;
use std::time::{Duration, Instant};

pub(crate) const TESTS: &[Test] = &[
    ("after_a_crash_others_are_answered", after_a_crash_others_are_answered),
    ("after_a_hang_others_are_answered", after_a_hang_others_are_answered),
    ("after_a_stop_others_are_answered", after_a_stop_others_are_answered),
    ("after_a_stop_of_all_others_are_answered", after_a_stop_of_all_others_are_answered),
    ("the_endless_packet_of_dns_is_refused", the_endless_packet_of_dns_is_refused),
    ("the_endless_packet_of_dns_is_survived", the_endless_packet_of_dns_is_survived),
    ("flows_of_which_all_is_to_come_survive_a_crash", flows_of_which_all_is_to_come_survive_a_crash),
    ("a_full_ring_refuses_and_counts", a_full_ring_refuses_and_counts),
    ("forged_answers_end_the_worker", forged_answers_end_the_worker),
    ("forged_counters_end_the_worker", forged_counters_end_the_worker),
    ("crash_after_crash_is_survived", crash_after_crash_is_survived),
];

/// A worker that does what magic packets say.
fn worker() -> Worker {
    let faults = Faults { magic_packets: true };
    Worker::start(Options { faults, flows: 1000, ..Options::default() }).unwrap()
}

fn submit(worker: &mut Worker, slot: u32, datagram: &[u8]) -> Result<(), Refused> {
    worker.submit(&Packet { flow: flow(slot), first: true, transport: 17, ms: 0, datagram })
}

fn wait(worker: &mut Worker) -> Vec<Answer> {
    let mut answers = Vec::new();
    worker.wait(Until::Idle, |answer| answers.push(answer.clone()));
    answers
}

pub(crate) fn signal(name: &str, pid: u32) {
    assert!(Command::new("kill").args([name, &pid.to_string()]).status().unwrap().success());
}

/// A flow that nDPI knows at once is answered. Returns how long that took.
pub(crate) fn works(worker: &mut Worker, slot: u32) -> Duration {
    let begin = Instant::now();
    let answers = ask(worker, slot, 17, &[udp(40_000, 53, &dns_question("www.example.org"))]);
    assert_eq!(worker.names().protocol(answers[0].app), "DNS", "{answers:?}");
    begin.elapsed()
}

/// A packet does harm: its flow is quarantined, flows in work are lost, and what comes then is answered.
fn survives(harm: &[u8]) -> Worker {
    let mut worker = worker();
    let first_pid = worker.process_id();
    // A flow of which nDPI has seen something, but has not said the last.
    let syn = Packet { flow: flow(1), first: true, transport: 6, ms: 0, datagram: &tcp(1, 2, 0, 2, &[]) };
    worker.submit(&syn).unwrap();
    assert!(wait(&mut worker).is_empty());
    let datagram = udp(1, 2, harm);
    submit(&mut worker, 2, &datagram).unwrap();
    let begin = Instant::now();
    let answers = wait(&mut worker);
    let reasons: Vec<(u32, Reason)> =
        answers.iter().map(|answer| (answer.flow.slot, answer.reason)).collect();
    assert_eq!(reasons, [(1, Reason::Lost), (2, Reason::Quarantined)]);
    works(&mut worker, 3);
    println!("    answered again after {:.1?}", begin.elapsed());
    assert!(begin.elapsed() < Duration::from_secs(2));
    assert_ne!(worker.process_id(), first_pid);

    assert_eq!(submit(&mut worker, 2, &datagram), Err(Refused::Quarantined));
    let successor = FlowId { slot: 2, generation: 2 };
    let harmless = udp(1, 53, &dns_question("example.org"));
    worker
        .submit(&Packet { flow: successor, first: true, transport: 17, ms: 0, datagram: &harmless })
        .unwrap();
    assert_eq!(wait(&mut worker)[0].flow, successor);
    let counters = worker.counters();
    assert_eq!((counters.respawns, counters.lost, counters.quarantined, counters.skipped), (1, 2, 1, 1));
    worker
}

fn after_a_crash_others_are_answered() {
    if !absent() {
        let counters = survives(b"sluss: crash").counters();
        assert_eq!((counters.crashes, counters.hangs, counters.forged), (1, 0, 0));
    }
}

fn after_a_hang_others_are_answered() {
    if !absent() {
        let counters = survives(b"sluss: hang").counters();
        assert_eq!((counters.crashes, counters.hangs, counters.forged), (0, 1, 0));
    }
}

fn forged_answers_end_the_worker() {
    if !absent() {
        let counters = survives(b"sluss: forge answers").counters();
        assert_eq!((counters.crashes, counters.hangs, counters.forged), (0, 0, 1));
    }
}

fn forged_counters_end_the_worker() {
    if absent() {
        return;
    }
    // What is in work is not known of such a worker: any flow may be quarantined, and all are lost.
    let mut worker = worker();
    submit(&mut worker, 2, &udp(1, 2, b"sluss: forge counters")).unwrap();
    wait(&mut worker);
    works(&mut worker, 3);
    assert!(worker.counters().forged >= 1, "{:?}", worker.counters());
}

fn after_a_stop_others_are_answered() {
    if absent() {
        return;
    }
    let mut worker = worker();
    signal("-STOP", worker.process_id().unwrap());
    let begin = Instant::now();
    submit(&mut worker, 0, &udp(40_000, 53, &dns_question("example.org"))).unwrap();
    assert_eq!(wait(&mut worker)[0].reason, Reason::Quarantined);
    works(&mut worker, 1);
    println!("    answered again after {:.1?}", begin.elapsed());
    assert!(begin.elapsed() < Duration::from_secs(2));
    assert_eq!(worker.counters().hangs, 1);
}

/// The process that starts workers does not get on either.
fn after_a_stop_of_all_others_are_answered() {
    if absent() {
        return;
    }
    let mut worker = worker();
    let pid = worker.process_id().unwrap();
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let parent = status.lines().find_map(|line| line.strip_prefix("PPid:")).unwrap().trim().parse().unwrap();
    signal("-STOP", parent);
    signal("-STOP", pid);
    let begin = Instant::now();
    submit(&mut worker, 0, &udp(40_000, 53, &dns_question("example.org"))).unwrap();
    assert!(!wait(&mut worker).is_empty(), "nothing was in work, so nothing is lost");
    works(&mut worker, 1);
    println!("    answered again after {:.1?}", begin.elapsed());
    assert!(begin.elapsed() < Duration::from_secs(10));
}

fn the_endless_packet_of_dns_is_refused() {
    if absent() {
        return;
    }
    let mut worker = worker();
    assert_eq!(submit(&mut worker, 0, &endless_dns()), Err(Refused::TooLong));
    let counters = worker.counters();
    assert_eq!((counters.too_long, counters.submitted, counters.respawns), (1, 0, 0));
    works(&mut worker, 0);
}

fn the_endless_packet_of_dns_is_survived() {
    if absent() {
        return;
    }
    // Jobs as long as the longest packet.
    let options = Options { job_bytes: 128 << 10, jobs: 16, ..Options::default() };
    let mut worker = Worker::start(options).unwrap();
    submit(&mut worker, 0, &endless_dns()).unwrap();
    let begin = Instant::now();
    let answers = wait(&mut worker);
    works(&mut worker, 1);
    println!("    answered again after {:.1?}", begin.elapsed());
    // Releases after 4.2 come back from it.
    if dpi::ndpi::built_with().is_some_and(|version| version.starts_with("4.2.")) {
        assert_eq!(answers[0].reason, Reason::Quarantined);
        assert_eq!(worker.counters().hangs, 1);
    }
}

fn flows_of_which_all_is_to_come_survive_a_crash() {
    if absent() {
        return;
    }
    let mut worker = worker();
    submit(&mut worker, 0, &udp(1, 2, b"sluss: crash")).unwrap();
    for slot in 1..100 {
        submit(&mut worker, slot, &udp(40_000, 53, &dns_question("example.org"))).unwrap();
    }
    let answers = wait(&mut worker);
    let found = answers.iter().filter(|answer| answer.reason == Reason::Found).count();
    assert_eq!((answers[0].reason, found), (Reason::Quarantined, 99));
}

fn a_full_ring_refuses_and_counts() {
    if absent() {
        return;
    }
    let options = Options { jobs: 16, stuck: Duration::from_secs(60), flows: 100, ..Options::default() };
    let mut worker = Worker::start(options).unwrap();
    let pid = worker.process_id().unwrap();
    signal("-STOP", pid);
    let question = udp(40_000, 53, &dns_question("example.org"));
    for slot in 0..16 {
        submit(&mut worker, slot, &question).unwrap();
    }
    assert_eq!(submit(&mut worker, 16, &question), Err(Refused::Full));
    worker.poll(|answer| panic!("{answer:?}"));
    assert_eq!((worker.pending(), worker.counters().ring_full), (16, 1));
    signal("-CONT", pid);
    assert_eq!(wait(&mut worker).len(), 16);
    works(&mut worker, 16);
}

fn crash_after_crash_is_survived() {
    if absent() {
        return;
    }
    let mut worker = worker();
    let begin = Instant::now();
    for slot in 0..50 {
        submit(&mut worker, slot, &udp(1, 2, b"sluss: crash")).unwrap();
    }
    assert_eq!(wait(&mut worker).len(), 50);
    println!("    50 crashes in {:.1?}", begin.elapsed());
    works(&mut worker, 50);
    assert_eq!(worker.counters().crashes, 50);
}
