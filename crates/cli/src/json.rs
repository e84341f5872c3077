//! What the JSON of several commands is made with.

use pflang::LookedUp;
use serde_json::{Value, json};

/// Text of ours that is JSON, as a value.
pub(crate) fn value_of(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_default()
}

/// Bytes, two digits each.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// To millionths: more would be noise.
pub(crate) fn rounded(number: f64) -> f64 {
    (number * 1e6).round() / 1e6
}

/// Clauses that are looked up.
pub(crate) fn looked_up_object(looked_up: &LookedUp) -> Value {
    let table = |table: &pflang::TableSummary| json!({ "fields": table.fields, "boxes": table.boxes, "bytes": table.bytes, "worst": table.worst });
    json!({
        "clauses": looked_up.clauses,
        "boxes": looked_up.boxes,
        "checks": looked_up.checks,
        "residuals": looked_up.residuals,
        "outside": looked_up.outside,
        "bytes": looked_up.bytes,
        "tables": looked_up.tables.iter().map(table).collect::<Vec<_>>(),
    })
}
