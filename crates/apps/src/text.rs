//! Options that a graph file writes as text, such as hardware addresses.

use serde::{Deserialize, Deserializer, de};
use std::fmt::Display;
use std::str::FromStr;

/// One value.
pub(crate) fn one<'de, T, D>(deserializer: D) -> Result<T, D::Error>
where
    T: FromStr<Err: Display>,
    D: Deserializer<'de>,
{
    String::deserialize(deserializer)?.parse().map_err(de::Error::custom)
}
