//! A trace as one JSON object, written piece by piece: that of a long filter is much larger than the trace itself.

use super::{Wanted, bytes_of, verdict};
use pflang::{Answer, Span, Trace, TraceStep, TracedLoad, TracedPlace, TracedPrimitive};
use serde::{Serialize, Serializer};
use std::borrow::Cow;

/// The version of the form.
const VERSION: u32 = 1;

/// The whole answer.
#[derive(Serialize)]
pub(super) struct Object<'a> {
    v: u32,
    #[serde(rename = "type")]
    kind: &'static str,
    filter: &'a str,
    file: Cow<'a, str>,
    number: u64,
    linktype: String,
    captured_bytes: usize,
    wire_bytes: u32,
    #[serde(flatten)]
    parts: Parts<'a>,
}

impl<'a> Object<'a> {
    pub(super) fn new(number: u64, source: &'a str, packet: &'a Wanted, trace: &'a Trace) -> Self {
        Object {
            v: VERSION,
            kind: "trace",
            filter: source,
            file: packet.file.to_string_lossy(),
            number,
            linktype: packet.linktype.to_string(),
            captured_bytes: packet.data.len(),
            wire_bytes: packet.wire_len,
            parts: Parts::new(source, packet, trace),
        }
    }
}

/// The part of an answer that is about one test.
#[derive(Serialize)]
pub(super) struct Parts<'a> {
    primitives: Primitives<'a>,
    steps: Steps<'a>,
    matches: bool,
}

impl<'a> Parts<'a> {
    pub(super) fn new(source: &'a str, packet: &'a Wanted, trace: &'a Trace) -> Self {
        let (primitives, steps) = (Primitives { source, trace }, Steps { source, packet, trace });
        Parts { primitives, steps, matches: trace.matches }
    }
}

struct Primitives<'a> {
    source: &'a str,
    trace: &'a Trace,
}

impl Serialize for Primitives<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer
            .collect_seq(self.trace.primitives.iter().map(|primitive| Primitive::of(primitive, self.source)))
    }
}

impl<'a> Primitive<'a> {
    fn of(primitive: &'a TracedPrimitive, source: &'a str) -> Self {
        Primitive {
            primitive: primitive.span.text(source),
            span: Place::of(primitive.span),
            member: primitive.is_member,
            verdict: if primitive.is_asked { verdict(primitive) } else { "not_asked" },
            line: primitive.line.as_ref().map(|line| Line {
                text: &line.text,
                file: &line.path,
                number: line.number,
            }),
            misses: primitive.misses,
        }
    }
}

#[derive(Serialize)]
struct Primitive<'a> {
    primitive: &'a str,
    span: Place,
    member: bool,
    verdict: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<Line<'a>>,
    #[serde(skip_serializing_if = "is_zero")]
    misses: usize,
}

/// A member of a set that is a line of a file.
#[derive(Serialize)]
struct Line<'a> {
    text: &'a str,
    file: &'a str,
    number: usize,
}

fn is_zero(count: &usize) -> bool {
    *count == 0
}

#[derive(Serialize)]
struct Place {
    start: u32,
    end: u32,
}

impl Place {
    fn of(span: Span) -> Place {
        Place { start: span.start, end: span.end }
    }
}

/// All steps in order, each with the primitive that it belongs to.
struct Steps<'a> {
    source: &'a str,
    packet: &'a Wanted,
    trace: &'a Trace,
}

impl Serialize for Steps<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let with_spans = self
            .trace
            .primitives
            .iter()
            .flat_map(|primitive| primitive.steps.iter().map(|step| (step, primitive.span)));
        serializer.collect_seq(with_spans.map(|(step, span)| self.step(step, span)))
    }
}

impl<'a> Steps<'a> {
    fn step<'s>(&self, step: &'s TraceStep, span: Span) -> Step<'s>
    where
        'a: 's,
    {
        let (answer, needed_bytes) = match step.answer {
            Answer::Yes => ("yes", None),
            Answer::No => ("no", None),
            Answer::NotCaptured { needed } => ("not_captured", Some(needed)),
            Answer::DividesByZero => ("divides_by_zero", None),
        };
        Step {
            primitive: span.text(self.source),
            span: Place::of(span),
            question: &step.question,
            left: step.sides.left,
            right: step.sides.right,
            loads: self.loads(&step.loads),
            places: step.places.iter().map(|place| self.place(place)).collect(),
            answer,
            needed_bytes,
        }
    }

    fn place<'s>(&self, place: &'s TracedPlace) -> VaryingPlace<'s>
    where
        'a: 's,
    {
        VaryingPlace {
            expression: &place.expression,
            loads: self.loads(&place.loads),
            skipped: place.skipped,
        }
    }

    fn loads(&self, loads: &[TracedLoad]) -> Vec<Load<'a>> {
        let load = |load: &TracedLoad| Load {
            offset: load.offset,
            bytes: bytes_of(*load, &self.packet.data),
            value: load.value,
            for_place: load.is_for_place,
        };
        loads.iter().map(load).collect()
    }
}

#[derive(Serialize)]
struct Step<'a> {
    primitive: &'a str,
    span: Place,
    question: &'a str,
    left: u64,
    right: u64,
    loads: Vec<Load<'a>>,
    places: Vec<VaryingPlace<'a>>,
    answer: &'static str,
    needed_bytes: Option<u64>,
}

/// How a place was found that the packet itself decides.
#[derive(Serialize)]
struct VaryingPlace<'a> {
    expression: &'a str,
    loads: Vec<Load<'a>>,
    skipped: u32,
}

#[derive(Serialize)]
struct Load<'a> {
    offset: u64,
    bytes: &'a [u8],
    value: u32,
    for_place: bool,
}
