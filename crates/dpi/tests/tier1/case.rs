//! A conversation, what it is, and how it is shown to tier 1.

use dpi::protocol::Protocol;
use dpi::tier1::{Step, Tier1};
use dpi::{By, Confidence, Details, Message, Verdict};

/// A conversation with its truth.
#[derive(Clone, Debug)]
pub(crate) struct Case {
    pub(crate) name: &'static str,
    pub(crate) protocol: Protocol,
    pub(crate) master: Protocol,
    pub(crate) transport: u8,
    /// Ports of client and server.
    pub(crate) ports: (u16, u16),
    /// Who says what, the client where `true`.
    pub(crate) turns: Vec<(bool, Vec<u8>)>,
    pub(crate) sni: Option<String>,
    pub(crate) alpn: Option<String>,
    pub(crate) ja4: Option<&'static str>,
    /// Whether on other ports it may be left undecided.
    pub(crate) named_by_port: bool,
}

impl Case {
    pub(crate) fn tcp(name: &'static str, protocol: Protocol, port: u16) -> Self {
        let ports = (50_123, port);
        Case {
            name,
            protocol,
            master: Protocol::UNKNOWN,
            transport: 6,
            ports,
            turns: Vec::new(),
            sni: None,
            alpn: None,
            ja4: None,
            named_by_port: false,
        }
    }

    pub(crate) fn udp(name: &'static str, protocol: Protocol, port: u16) -> Self {
        Case { transport: 17, ..Case::tcp(name, protocol, port) }
    }

    pub(crate) fn client(mut self, bytes: impl AsRef<[u8]>) -> Self {
        self.turns.push((true, bytes.as_ref().to_vec()));
        self
    }

    pub(crate) fn server(mut self, bytes: impl AsRef<[u8]>) -> Self {
        self.turns.push((false, bytes.as_ref().to_vec()));
        self
    }

    pub(crate) fn over(self, master: Protocol) -> Self {
        Case { master, ..self }
    }

    pub(crate) fn sni(self, sni: &str) -> Self {
        Case { sni: Some(sni.into()), ..self }
    }

    pub(crate) fn alpn(self, alpn: &str) -> Self {
        Case { alpn: Some(alpn.into()), ..self }
    }

    pub(crate) fn ja4(self, ja4: &'static str) -> Self {
        Case { ja4: Some(ja4), ..self }
    }

    pub(crate) fn named_by_port(self) -> Self {
        Case { named_by_port: true, ..self }
    }

    /// What is sent, a packet a turn.
    pub(crate) fn segments(&self) -> Vec<Segment> {
        let mut offsets = [0, 0];
        let mut segment = |(forward, bytes): &(bool, Vec<u8>)| {
            let offset = &mut offsets[usize::from(!forward)];
            *offset += bytes.len();
            Segment { forward: *forward, offset: *offset - bytes.len(), bytes: bytes.clone() }
        };
        self.turns.iter().map(&mut segment).collect()
    }
}

/// A packet of a conversation.
#[derive(Clone, Debug)]
pub(crate) struct Segment {
    /// Whether it is the client's.
    pub(crate) forward: bool,
    /// Where in its direction's stream it is.
    pub(crate) offset: usize,
    pub(crate) bytes: Vec<u8>,
}

/// What is known of the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Known {
    /// The SYNs were seen.
    Start,
    /// It was picked up midstream.
    Nothing,
    /// The SYNs were seen, and of each packet less was captured than was sent.
    Cut,
}

/// What became of a conversation.
#[derive(Clone, Debug, Default)]
pub(crate) struct Outcome {
    pub(crate) verdict: Option<Verdict>,
    pub(crate) details: Details,
    /// Left to tier 2.
    pub(crate) is_left: bool,
    /// Packets until then.
    pub(crate) packets: usize,
}

/// Shows the packets to tier 1.
pub(crate) fn run(transport: u8, ports: (u16, u16), segments: &[Segment], known: Known) -> Outcome {
    let mut tier1 = Tier1::default();
    let mut outcome = Outcome::default();
    let mut state = None;
    let starts = [0xffff_ff00_u32, 77];
    // The first packet's direction is forward, whoever sends it.
    let first = segments.first().is_none_or(|segment| segment.forward);
    for segment in segments.iter().filter(|segment| !segment.bytes.is_empty()) {
        let start = starts[usize::from(segment.forward)];
        let (source_port, destination_port) = if segment.forward { ports } else { (ports.1, ports.0) };
        let message = Message {
            transport,
            ipv6: false,
            forward: segment.forward == first,
            source_port,
            destination_port,
            sequence: start.wrapping_add(segment.offset as u32),
            start: (known != Known::Nothing && transport == 6).then_some(start),
            payload: &segment.bytes,
            cut: known == Known::Cut,
        };
        outcome.packets += 1;
        match tier1.inspect(&mut state, &message) {
            Step::Decided(verdict, details) => {
                (outcome.verdict, outcome.details) = (Some(verdict), details);
                break;
            }
            Step::NotOurs => {
                outcome.is_left = true;
                break;
            }
            Step::Undecided => {}
        }
    }
    if let Some(verdict) = tier1.conclude(&mut state) {
        outcome.verdict = Some(verdict);
    }
    let usage = tier1.usage();
    assert_eq!((usage.states, usage.bytes, state), (0, 0, None));
    outcome
}

/// The truth is found.
#[track_caller]
pub(crate) fn check(case: &Case, segments: &[Segment], known: Known, how: &str) {
    check_on(case, case.ports, segments, known, how);
}

#[track_caller]
pub(crate) fn check_on(case: &Case, ports: (u16, u16), segments: &[Segment], known: Known, how: &str) {
    let outcome = run(case.transport, ports, segments, known);
    let Some(verdict) = outcome.verdict else { panic!("{}, {how}: {outcome:?}", case.name) };
    let found = (verdict.protocol, verdict.master, verdict.by);
    assert_eq!(found, (case.protocol, case.master, By::Tier1), "{}, {how}", case.name);
    let details = &outcome.details;
    assert_eq!(details.sni.as_deref(), case.sni.as_deref(), "{}, {how}", case.name);
    assert_eq!(details.alpn.as_deref(), case.alpn.as_deref(), "{}, {how}", case.name);
    if case.ja4.is_some() {
        assert_eq!(details.ja4.as_deref(), case.ja4, "{}, {how}", case.name);
    }
}

/// Nothing but the truth is found, if anything is. A greeting that lies may be believed, partially, as long as nothing else was said.
#[track_caller]
pub(crate) fn check_not_else(case: &Case, ports: (u16, u16), segments: &[Segment], known: Known, how: &str) {
    let outcome = run(case.transport, ports, segments, known);
    // Printing is HTTP until its type of content has come.
    let carrier = if case.protocol == Protocol::IPP { Protocol::HTTP } else { case.master };
    let protocols = [case.protocol, carrier];
    let lies =
        |verdict: &Verdict| case.name.contains("says-it-is") && verdict.confidence == Confidence::Partial;
    let fits = outcome.verdict.is_none_or(|verdict| protocols.contains(&verdict.protocol) || lies(&verdict));
    assert!(fits, "{}, {how}: {outcome:?}", case.name);
}

/// The bytes of hexadecimal digits, white space between them.
pub(crate) fn hex(digits: &str) -> Vec<u8> {
    let digits: String = digits.split_whitespace().collect();
    (0..digits.len())
        .step_by(2)
        .map(|at| u8::from_str_radix(&digits[at..at + 2], 16).expect("digits"))
        .collect()
}
