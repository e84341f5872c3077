//! What nDPI says.

use crate::packets::{dns_question, tcp, udp};
use crate::{Test, absent};
use dpi::worker::{Answer, FlowId, Options, Packet, Reason, Refused, Until, Worker};

pub(crate) const TESTS: &[Test] = &[
    ("a_question_of_dns_is_known_at_once", a_question_of_dns_is_known_at_once),
    ("a_request_of_http_tells_its_host", a_request_of_http_tells_its_host),
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
    let mut answers = Vec::new();
    worker.wait(Until::Idle, |answer| answers.push(answer.clone()));
    answers
}

fn a_question_of_dns_is_known_at_once() {
    if absent() {
        return;
    }
    let mut worker = Worker::start(Options::default()).unwrap();
    let answers = ask(&mut worker, 7, 17, &[udp(40_000, 53, &dns_question("www.example.org"))]);
    println!("{answers:?}");
    let names = worker.names();
    let first = answers.first().unwrap();
    assert_eq!((first.flow, first.reason, names.protocol(first.app)), (flow(7), Reason::Found, "DNS"));
    assert_eq!(first.details.sni.as_deref(), Some("www.example.org"));
}

fn a_request_of_http_tells_its_host() {
    if absent() {
        return;
    }
    let mut worker = Worker::start(Options::default()).unwrap();
    let request = b"GET / HTTP/1.1\r\nHost: Example.org\r\nUser-Agent: test\r\nAccept: */*\r\n\r\n";
    let answers = ask(&mut worker, 0, 6, &[tcp(40_000, 8080, 1, 0x18, request)]);
    println!("{answers:?}");
    let first = answers.first().unwrap();
    assert_eq!(worker.names().protocol(first.app), "HTTP");
    assert_eq!(first.details.sni.as_deref(), Some("example.org"));
    let unknown = Packet { flow: flow(9), first: false, transport: 6, ms: 0, datagram: &[] };
    assert_eq!(worker.submit(&unknown), Err(Refused::UnknownFlow));
}
