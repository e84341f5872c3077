//! A flow as an object of JSON.

use super::end;
use crate::record::Record;
use dpi::protocol::Naming;
use dpi::{By, Confidence};
use serde_json::{Value, json};
use std::time::{Duration, UNIX_EPOCH};

/// A flow as an object of JSON. `a` is who sent the first packet.
#[must_use]
pub fn object(record: &Record, naming: Naming) -> Value {
    let details = record.details.as_deref();
    let text =
        |field: fn(&dpi::Details) -> &Option<Box<str>>| details.and_then(|details| field(details).as_deref());
    let [a, b] = record.ends;
    json!({
        "v": 1,
        "type": "flow",
        "l4": record.transport_name(),
        "vlan": record.vlans.iter().filter(|vlan| **vlan != 0).collect::<Vec<_>>(),
        "a": end(a),
        "b": end(b),
        "proto": record.verdict.protocol.name(naming),
        "master": record.master().map(|master| master.name(naming)),
        "category": record.verdict.protocol.category(),
        "by": by(record.verdict.by),
        "confidence": confidence(record.verdict.confidence),
        "evidence": record.verdict.evidence,
        "packets_ab": record.packets[0],
        "packets_ba": record.packets[1],
        "bytes_ab": record.bytes[0],
        "bytes_ba": record.bytes[1],
        "first": humantime::format_rfc3339_nanos(UNIX_EPOCH + Duration::from_nanos(record.first_ns)).to_string(),
        "duration": Duration::from_nanos(record.last_ns.saturating_sub(record.first_ns)).as_secs_f64(),
        "end": record.end.name(),
        "sni": text(|details| &details.sni),
        "alpn": text(|details| &details.alpn),
        "ja4": text(|details| &details.ja4),
    })
}

/// Who found out, in a word.
pub(super) fn by(by: By) -> Option<&'static str> {
    match by {
        By::Nobody => None,
        By::Tier1 => Some("sluss"),
        By::Ndpi => Some("ndpi"),
    }
}

/// How sure it is, in a word.
pub(super) fn confidence(confidence: Confidence) -> &'static str {
    match confidence {
        Confidence::Unknown => "unknown",
        Confidence::Port => "port",
        Confidence::Address => "address",
        Confidence::Related => "related",
        Confidence::Partial => "partial",
        Confidence::Payload => "payload",
    }
}
