//! Flow records as Suricata writes them: EVE, "Extensible Event Format" of its user guide, with `event_type` `flow`.

use crate::record::{End, Record};
use dpi::protocol::Naming;
use dpi::{Details, Protocol};
use serde_json::{Value, json};
use std::time::{Duration, UNIX_EPOCH};

/// A flow as an object of EVE. What sluss knows beyond that is in `sluss`.
#[must_use]
pub fn eve(record: &Record) -> Value {
    let [src, dst] = record.ends;
    let protocol = record.verdict.protocol;
    let app = protocol.name(Naming::Ndpi).to_ascii_lowercase();
    let mut object = json!({
        "timestamp": time(record.last_ns),
        "flow_id": u64::from(record.hash()) << 20 ^ record.number,
        "event_type": "flow",
        "src_ip": src.ip().to_string(),
        "src_port": src.port(),
        "dest_ip": dst.ip().to_string(),
        "dest_port": dst.port(),
        "proto": record.transport_name().to_ascii_uppercase(),
        "app_proto": if protocol == Protocol::UNKNOWN { "failed" } else { &app },
        "flow": {
            "pkts_toserver": record.packets[0],
            "pkts_toclient": record.packets[1],
            "bytes_toserver": record.bytes[0],
            "bytes_toclient": record.bytes[1],
            "start": time(record.first_ns),
            "end": time(record.last_ns),
            "age": record.last_ns.saturating_sub(record.first_ns) / 1_000_000_000,
            "state": if record.end == End::Closed { "closed" } else if record.packets[1] > 0 { "established" } else { "new" },
            "reason": if record.end == End::Finished { "shutdown" } else if record.end == End::Evicted { "forced" } else { "timeout" },
            "alerted": false,
        },
        "sluss": {
            "protocol": protocol.name(Naming::Ndpi),
            "master": record.master().map(|master| master.name(Naming::Ndpi)),
            "category": protocol.category(),
            "by": super::json::by(record.verdict.by),
            "confidence": super::json::confidence(record.verdict.confidence),
            "evidence": record.verdict.evidence,
        },
    });
    let vlans: Vec<u16> = record.vlans.into_iter().filter(|vlan| *vlan != 0).collect();
    if !vlans.is_empty() {
        object["vlan"] = json!(vlans);
    }
    if let Some(Details { sni, alpn, ja4 }) = record.details.as_deref() {
        let carrier = record.master().unwrap_or(protocol);
        let is_http = carrier == Protocol::HTTP;
        let is_quic = carrier == Protocol::QUIC;
        match sni {
            Some(host) if is_http => object["http"] = json!({ "hostname": host }),
            Some(sni) if is_quic => object["quic"] = json!({ "sni": sni, "ja4": ja4 }),
            _ if sni.is_some() || ja4.is_some() => {
                object["tls"] =
                    json!({ "sni": sni, "client_alpns": alpn.iter().collect::<Vec<_>>(), "ja4": ja4 });
            }
            _ => {}
        }
    }
    object
}

/// The time as Suricata has it: microseconds, and the distance from UTC without a colon.
fn time(ns: u64) -> String {
    let text = humantime::format_rfc3339_micros(UNIX_EPOCH + Duration::from_nanos(ns)).to_string();
    text.replace('Z', "+0000")
}
