//! Options that a graph file writes as text, such as hardware addresses.

use serde::{Deserialize, Deserializer, de};
use std::collections::BTreeMap;
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

/// One value that may be left out, with `#[serde(default)]`.
pub(crate) fn some<'de, T, D>(deserializer: D) -> Result<Option<T>, D::Error>
where
    T: FromStr<Err: Display>,
    D: Deserializer<'de>,
{
    one(deserializer).map(Some)
}

/// One value, or a list of them.
pub(crate) fn one_or_more<'de, T, D>(deserializer: D) -> Result<Vec<T>, D::Error>
where
    T: FromStr<Err: Display>,
    D: Deserializer<'de>,
{
    struct Visitor<T>(std::marker::PhantomData<T>);

    impl<'de, T: FromStr<Err: Display>> de::Visitor<'de> for Visitor<T> {
        type Value = Vec<T>;

        fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str("a string, or a list of strings")
        }

        fn visit_str<E: de::Error>(self, text: &str) -> Result<Vec<T>, E> {
            Ok(vec![text.parse().map_err(|error| E::custom(format!("`{text}`: {error}")))?])
        }

        fn visit_seq<A: de::SeqAccess<'de>>(self, mut texts: A) -> Result<Vec<T>, A::Error> {
            let mut values = Vec::new();
            while let Some(text) = texts.next_element::<String>()? {
                let value = text.parse();
                values.push(value.map_err(|error| de::Error::custom(format!("`{text}`: {error}")))?);
            }
            Ok(values)
        }
    }
    deserializer.deserialize_any(Visitor(std::marker::PhantomData))
}

/// A table whose keys are such values.
pub(crate) fn keys<'de, K, V, D>(deserializer: D) -> Result<BTreeMap<K, V>, D::Error>
where
    K: FromStr<Err: Display> + Ord,
    V: Deserialize<'de>,
    D: Deserializer<'de>,
{
    let mut values = BTreeMap::new();
    for (text, value) in BTreeMap::<String, V>::deserialize(deserializer)? {
        let key = text.parse().map_err(|error| de::Error::custom(format!("`{text}`: {error}")))?;
        // One value may be written in several ways.
        if values.insert(key, value).is_some() {
            return Err(de::Error::custom(format!("`{text}` stands here twice, once written otherwise")));
        }
    }
    Ok(values)
}
