//! What nDPI says.

use crate::packets::{dns_question, tcp, udp};
use crate::{Test, absent};
use dpi::Confidence;
use dpi::worker::{Answer, FlowId, Options, Packet, Reason, Refused, Until, Worker};

pub(crate) const TESTS: &[Test] = &[
    ("a_question_of_dns_is_known_at_once", a_question_of_dns_is_known_at_once),
    ("a_request_of_http_tells_its_host", a_request_of_http_tells_its_host),
    ("the_last_is_said_once", the_last_is_said_once),
    ("flows_are_given_up_on_request", flows_are_given_up_on_request),
    ("flows_are_given_up_after_their_budget", flows_are_given_up_after_their_budget),
    ("nothing_is_said_of_flows_that_are_over", nothing_is_said_of_flows_that_are_over),
    ("a_slot_serves_one_flow_after_the_other", a_slot_serves_one_flow_after_the_other),
    ("unknown_flows_are_refused", unknown_flows_are_refused),
    ("when_states_are_short_the_idle_lose_theirs", when_states_are_short_the_idle_lose_theirs),
    ("names_are_told", names_are_told),
    ("many_flows_are_answered_in_turn", many_flows_are_answered_in_turn),
];

/// One flow of a test.
pub(crate) fn flow(slot: u32) -> FlowId {
    FlowId { slot, generation: 1 }
}

/// Submits the packets of a flow, and waits for all answers.
pub(crate) fn ask(worker: &mut Worker, slot: u32, transport: u8, datagrams: &[Vec<u8>]) -> Vec<Answer> {
    for (index, datagram) in datagrams.iter().enumerate() {
        let packet = Packet { flow: flow(slot), first: index == 0, transport, ms: 1_000_000, datagram };
        worker.submit(&packet).unwrap();
    }
    wait(worker)
}

fn wait(worker: &mut Worker) -> Vec<Answer> {
    let mut answers = Vec::new();
    worker.wait(Until::Idle, |answer| answers.push(answer.clone()));
    answers
}

fn question(name: &str) -> Vec<u8> {
    udp(40_000, 53, &dns_question(name))
}

fn syn() -> Vec<u8> {
    tcp(40_000, 443, 0, 2, &[])
}

fn a_question_of_dns_is_known_at_once() {
    if absent() {
        return;
    }
    let mut worker = Worker::start(Options::default()).unwrap();
    let answers = ask(&mut worker, 7, 17, &[question("www.example.org")]);
    let names = worker.names();
    let first = &answers[0];
    assert_eq!((first.flow, first.reason, names.protocol(first.app)), (flow(7), Reason::Found, "DNS"));
    assert_eq!((first.confidence, first.packets), (Confidence::Payload, 1));
    assert_eq!(first.details.sni.as_deref(), Some("www.example.org"));
    assert_eq!(names.category(first.category), "Network");
}

fn a_request_of_http_tells_its_host() {
    if absent() {
        return;
    }
    let mut worker = Worker::start(Options::default()).unwrap();
    let request = b"GET / HTTP/1.1\r\nHost: Example.org\r\nUser-Agent: test\r\nAccept: */*\r\n\r\n";
    let answers = ask(&mut worker, 0, 6, &[tcp(40_000, 8080, 1, 0x18, request)]);
    assert_eq!(worker.names().protocol(answers[0].app), "HTTP");
    assert_eq!(answers[0].details.sni.as_deref(), Some("example.org"));
}

fn the_last_is_said_once() {
    if absent() {
        return;
    }
    let mut worker = Worker::start(Options::default()).unwrap();
    // nDPI looks for the answer to a question that it knows; the budget ends that.
    let answers = ask(&mut worker, 0, 17, &vec![question("example.org"); 40]);
    let done: Vec<bool> = answers.iter().map(|answer| answer.done).collect();
    assert_eq!(done, [false, true]);
    assert_eq!(answers[1].packets, 25);
    assert_eq!(worker.counters().answered, 1);
    // The flow is closed: what comes late is refused.
    let late =
        Packet { flow: flow(0), first: false, transport: 17, ms: 0, datagram: &question("example.org") };
    assert_eq!(worker.submit(&late), Err(Refused::UnknownFlow));
}

fn flows_are_given_up_on_request() {
    if absent() {
        return;
    }
    let mut worker = Worker::start(Options::default()).unwrap();
    for (slot, guess, name, confidence) in
        [(0, true, "TLS", Confidence::Port), (1, false, "Unknown", Confidence::Unknown)]
    {
        assert!(ask(&mut worker, slot, 6, &[syn()]).is_empty());
        worker.give_up(flow(slot), guess).unwrap();
        let answers = wait(&mut worker);
        assert_eq!(answers.len(), 1);
        let id = answers[0].app.max(answers[0].master);
        assert_eq!((worker.names().protocol(id), answers[0].confidence), (name, confidence));
        assert!(answers[0].done);
    }
}

fn flows_are_given_up_after_their_budget() {
    if absent() {
        return;
    }
    let options = Options { budget: [3, 5, 7], guess: false, ..Options::default() };
    let mut worker = Worker::start(options).unwrap();
    let nonsense = [0xfe, 0x01, 0x33, 0x80, 0x7f];
    for (slot, transport, datagram, budget) in
        [(0, 6, tcp(6000, 7001, 1, 0x18, &nonsense), 3), (1, 17, udp(6000, 7001, &nonsense), 5)]
    {
        let answers = ask(&mut worker, slot, transport, &vec![datagram; 10]);
        assert_eq!((answers.len(), answers[0].packets), (1, budget + 1));
        assert_eq!(worker.names().protocol(answers[0].app), "Unknown");
    }
}

fn nothing_is_said_of_flows_that_are_over() {
    if absent() {
        return;
    }
    let mut worker = Worker::start(Options::default()).unwrap();
    let datagram = question("example.org");
    worker.submit(&Packet { flow: flow(0), first: true, transport: 17, ms: 0, datagram: &datagram }).unwrap();
    worker.end(flow(0)).unwrap();
    assert_eq!(wait(&mut worker), []);
    assert_eq!(worker.end(flow(0)), Err(Refused::UnknownFlow));
    assert_eq!(worker.give_up(flow(0), true), Err(Refused::UnknownFlow));
}

fn a_slot_serves_one_flow_after_the_other() {
    if absent() {
        return;
    }
    let mut worker = Worker::start(Options { states: 1, ..Options::default() }).unwrap();
    let mut generations = Vec::new();
    for generation in 1..100 {
        let flow = FlowId { slot: 3, generation };
        let datagram = question("example.org");
        worker.submit(&Packet { flow, first: true, transport: 17, ms: 0, datagram: &datagram }).unwrap();
        worker.give_up(flow, true).unwrap();
    }
    worker.wait(Until::Idle, |answer| generations.push((answer.flow.generation, answer.done)));
    let done: Vec<u32> = generations.iter().filter(|said| said.1).map(|said| said.0).collect();
    // Of flows whose slot has been given away nothing is said.
    assert_eq!(done, [99]);
    assert_eq!(worker.counters().evicted, 0);
}

fn unknown_flows_are_refused() {
    if absent() {
        return;
    }
    let mut worker = Worker::start(Options { flows: 10, ..Options::default() }).unwrap();
    let datagram = syn();
    let mut submit = |slot, first| {
        worker.submit(&Packet { flow: flow(slot), first, transport: 6, ms: 0, datagram: &datagram })
    };
    assert_eq!(submit(9, false), Err(Refused::UnknownFlow));
    assert_eq!(submit(10, true), Err(Refused::UnknownFlow));
    assert_eq!(submit(u32::MAX, false), Err(Refused::UnknownFlow));
    assert_eq!(submit(9, true), Ok(()));
    assert_eq!(submit(9, false), Ok(()));
}

fn when_states_are_short_the_idle_lose_theirs() {
    if absent() {
        return;
    }
    let mut worker = Worker::start(Options { states: 4, ..Options::default() }).unwrap();
    let mut evicted = Vec::new();
    for slot in 0..10 {
        evicted.extend(ask(&mut worker, slot, 6, &[syn()]));
    }
    let flows: Vec<(u32, Reason)> = evicted.iter().map(|answer| (answer.flow.slot, answer.reason)).collect();
    assert_eq!(flows, (0..6).map(|slot| (slot, Reason::Evicted)).collect::<Vec<_>>());
    assert_eq!(worker.counters().evicted, 6);
}

fn names_are_told() {
    if absent() {
        return;
    }
    let worker = Worker::start(Options::default()).unwrap();
    let names = worker.names();
    assert!(names.revision().starts_with(&dpi::ndpi::built_with().unwrap()[..3]), "{}", names.revision());
    assert_eq!(names.protocol(0), "Unknown");
    assert!(names.protocols().len() > 200 && names.categories().len() > 20);
    assert!(names.protocols().iter().all(|protocol| !protocol.name.is_empty()));
    let known = |name: &str| names.protocols().iter().find(|protocol| protocol.name == name);
    assert_eq!(known("HTTP").map(|protocol| protocol.category.as_str()), Some("Web"));
    assert_eq!((names.protocol(u16::MAX), names.category(u16::MAX)), ("", ""));
}

fn many_flows_are_answered_in_turn() {
    if absent() {
        return;
    }
    let mut worker = Worker::start(Options { jobs: 64, ..Options::default() }).unwrap();
    let (mut last, mut count) = (None, 0);
    // What is said first of each flow. Flows whose states others need are answered once more, out of turn.
    let mut each = |answer: &Answer| {
        if !answer.done {
            assert!(last.is_none_or(|last| last < answer.flow.slot));
            let name = format!("host{}.example.org", answer.flow.slot);
            assert_eq!(answer.details.sni.as_deref(), Some(name.as_str()));
            (last, count) = (Some(answer.flow.slot), count + 1);
        }
    };
    for slot in 0..20_000 {
        let (datagram, flow) = (question(&format!("host{slot}.example.org")), flow(slot));
        let packet = Packet { flow, first: true, transport: 17, ms: u64::from(slot), datagram: &datagram };
        while worker.submit(&packet).is_err() {
            worker.wait(Until::Room, &mut each);
        }
    }
    worker.wait(Until::Idle, &mut each);
    assert_eq!(count, 20_000);
}
