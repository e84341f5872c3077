//! Steps of packets as JSON, a line each.

use super::block::time;
use crate::json::hex;
use engine::{TraceChange, TracePacket, TraceStep, TraceTotals};
use serde_json::{Value, json};
use wire::LinkType;

/// The line of a step.
pub(super) fn step(step: &TraceStep) -> String {
    let mut object = json!({
        "v": 1,
        "type": "step",
        "packet": step.packet,
        "branch": step.branch.to_string(),
        "parent": step.parent.map(|parent| parent.to_string()),
        "app": step.app,
        "in": step.input,
        "out": step.output,
        "event": step.event.as_str(),
        "reason": step.reason,
        "changed": step.changed.iter().map(change).collect::<Vec<_>>(),
        "time": time(step.time_ns),
        "last": step.is_last,
    });
    if let Some(packet) = &step.entered {
        object["entered"] = entered(packet);
    }
    format!("{object}\n")
}

/// The line of what became of all.
pub(super) fn totals(totals: &TraceTotals) -> String {
    let object = json!({
        "v": 1,
        "type": "trace",
        "packets": totals.packets,
        "copies": totals.copies,
        "delivered": totals.delivered,
        "dropped": totals.dropped,
        "held": totals.held,
    });
    format!("{object}\n")
}

fn entered(packet: &TracePacket<'_>) -> Value {
    let linktype = LinkType::new(packet.linktype.into());
    json!({
        "linktype": linktype.to_string(),
        "captured_bytes": packet.data.len(),
        "wire_bytes": packet.wire_len,
        "summary": wire::summarize(linktype, &packet.data, packet.wire_len).to_string(),
    })
}

fn change(change: &TraceChange) -> Value {
    json!({ "offset": change.offset, "before": hex(&change.before), "after": hex(&change.after) })
}
