//! What the JSON of several commands is made with.

use serde_json::Value;

/// Text of ours that is JSON, as a value.
pub(crate) fn value_of(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_default()
}

/// To millionths: more would be noise.
pub(crate) fn rounded(number: f64) -> f64 {
    (number * 1e6).round() / 1e6
}
