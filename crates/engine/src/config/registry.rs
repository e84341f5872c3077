//! Classes by name, as a graph file names them.

use super::{ClassInfo, Config};
use crate::app::Class;
use serde::de::{self, DeserializeOwned};
use std::collections::BTreeMap;
use std::fmt;

/// The classes that a graph file can name.
#[derive(Clone, Debug, Default)]
pub struct Registry(BTreeMap<&'static str, Entry>);

#[derive(Clone, Copy)]
struct Entry {
    class: ClassInfo,
    read: fn(toml::de::ValueDeserializer<'_>) -> Result<Config, toml::de::Error>,
    option_names: fn() -> Option<&'static [&'static str]>,
}

impl fmt::Debug for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.class.fmt(f)
    }
}

impl Registry {
    /// No class.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a class.
    #[must_use]
    pub fn with<C: Class>(mut self) -> Self {
        let read = |options: toml::de::ValueDeserializer<'_>| Ok(Config::new(C::deserialize(options)?));
        self.0.insert(C::TYPE, Entry { class: ClassInfo::of::<C>(), read, option_names: fields::<C> });
        self
    }

    /// Adds the classes of another registry.
    #[must_use]
    pub fn and(mut self, other: Registry) -> Self {
        self.0.extend(other.0);
        self
    }

    /// The class of a name.
    pub fn class(&self, name: &str) -> Option<ClassInfo> {
        self.0.get(name).map(|entry| entry.class)
    }

    /// All classes, by name.
    pub fn classes(&self) -> impl Iterator<Item = ClassInfo> {
        self.0.values().map(|entry| entry.class)
    }

    /// The names of the options of a class; `None` if there is no such class, or if its options are no plain struct.
    pub fn option_names(&self, class: &str) -> Option<&'static [&'static str]> {
        self.0.get(class).and_then(|entry| (entry.option_names)())
    }

    /// Reads the options of a class.
    ///
    /// # Errors
    /// `None` if there is no such class; else what is wrong with the options.
    pub fn read(
        &self,
        class: &str,
        options: toml::de::ValueDeserializer<'_>,
    ) -> Option<Result<Config, toml::de::Error>> {
        self.0.get(class).map(|entry| (entry.read)(options))
    }
}

/// The names of the fields of a struct, which it tells whoever is about to read one.
fn fields<C: DeserializeOwned>() -> Option<&'static [&'static str]> {
    match C::deserialize(Asking) {
        Err(Told(fields)) => fields,
        Ok(_) => None,
    }
}

/// A deserializer that has nothing to read.
struct Asking;

/// What it was told instead.
#[derive(Debug, thiserror::Error)]
#[error("nothing to read")]
struct Told(Option<&'static [&'static str]>);

impl de::Error for Told {
    fn custom<T: fmt::Display>(_: T) -> Self {
        Told(None)
    }
}

impl<'de> de::Deserializer<'de> for Asking {
    type Error = Told;

    fn deserialize_any<V: de::Visitor<'de>>(self, _: V) -> Result<V::Value, Told> {
        Err(Told(None))
    }

    fn deserialize_struct<V: de::Visitor<'de>>(
        self,
        _: &'static str,
        fields: &'static [&'static str],
        _: V,
    ) -> Result<V::Value, Told> {
        Err(Told(Some(fields)))
    }

    serde::forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit unit_struct
        newtype_struct seq tuple tuple_struct map enum identifier ignored_any
    }
}
