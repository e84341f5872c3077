//! Values of options before their class has read them, whatever format they were written in: a file, a script, a program.
//!
//! ```text
//! TOML, Lua, …  ──►  OptionValue  ──serde──►  the class's options  |  ReadError: path and kind
//! ```
//!
//! A class needs `serde::Deserialize` and nothing else. Any format of serde's can be read as an `OptionValue`. An error says where it is by a path through the values, and what it is by kind: whoever
//! knows the text turns the path into a line, and the kind into words.

use serde::de::value::{MapAccessDeserializer, StrDeserializer};
use serde::de::{
    self, Deserialize, DeserializeSeed, Deserializer, Expected, IntoDeserializer, Unexpected, Visitor,
};
use std::collections::{BTreeMap, btree_map};
use std::fmt;
use std::iter::Enumerate;
use std::slice;

/// The value of an option, or of something inside it.
///
/// ```
/// use engine::OptionValue;
/// use std::collections::BTreeMap;
///
/// #[derive(serde::Deserialize)]
/// struct Options {
///     rules: Vec<Rule>,
/// }
///
/// #[derive(serde::Deserialize)]
/// struct Rule {
///     port: u16,
/// }
///
/// let rule = |port| OptionValue::Table(BTreeMap::from([("port".to_owned(), OptionValue::Integer(port))]));
/// let rules = |ports: &[i128]| OptionValue::List(ports.iter().map(|&port| rule(port)).collect());
/// let options = |ports| OptionValue::Table(BTreeMap::from([("rules".to_owned(), rules(ports))]));
///
/// let read: Options = options(&[53, 80]).read()?;
/// assert_eq!(read.rules[1].port, 80);
///
/// let error = options(&[53, 70_000]).read::<Options>().err().unwrap();
/// assert_eq!(error.path.to_string(), "rules[1].port");
/// assert_eq!(error.to_string(), "`rules[1].port`: expected u16, found 70000");
/// # Ok::<(), engine::ReadError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub enum OptionValue {
    /// True or false.
    Bool(bool),
    /// A whole number.
    Integer(i128),
    /// Any other number.
    Float(f64),
    /// A text.
    Text(String),
    /// Values in their order.
    List(Vec<OptionValue>),
    /// Values by name: all options of an app together, to begin with.
    Table(BTreeMap<String, OptionValue>),
}

/// Options, or a part of them, that a class does not read.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{}{kind}", prefix(.path))]
#[non_exhaustive]
pub struct ReadError {
    /// Where it is.
    pub path: OptionPath,
    /// What is wrong there.
    pub kind: ReadErrorKind,
}

/// What is wrong with a value.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ReadErrorKind {
    /// It is of another type, or out of range.
    #[error("expected {expected}, found {found}")]
    Type {
        /// The value.
        found: Found,
        /// What it should be, in the words of the type that reads it: `u16`, `a string`.
        expected: String,
    },
    /// It is none of the words that there are.
    #[error("expected one of {choices:?}, found {found}")]
    Choice {
        /// The value.
        found: Found,
        /// The words.
        choices: Vec<String>,
    },
    /// A table has something of a name that there is not.
    #[error("unknown name `{found}`, expected one of {known:?}")]
    UnknownName {
        /// The name.
        found: String,
        /// The names that there are.
        known: Vec<String>,
    },
    /// A table lacks something.
    #[error("`{0}` is missing")]
    Missing(String),
    /// Anything else, as the type that reads it says.
    #[error("{0}")]
    Other(String),
}

/// A value in an error.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Found {
    /// True or false.
    Bool(bool),
    /// A whole number.
    Integer(i128),
    /// Any other number.
    Float(f64),
    /// A text.
    Text(String),
    /// A list.
    List,
    /// A table.
    Table,
    /// Something else, in serde's words.
    Other(String),
}

/// The way to a value: first the name of an option, then what is inside it. Its text is that of an
/// [`OptionError`](crate::OptionError): `case[1].filter`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OptionPath(Vec<Step>);

/// A step of an [`OptionPath`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// To what a table has under this name.
    Name(String),
    /// To this item of a list, counted from 0.
    Index(usize),
}

impl OptionValue {
    /// Reads a value of a type from this.
    ///
    /// # Errors
    /// The first thing that is wrong.
    pub fn read<T: de::DeserializeOwned>(&self) -> Result<T, ReadError> {
        T::deserialize(self)
    }
}

impl OptionPath {
    /// The steps, from the outermost.
    pub fn steps(&self) -> &[Step] {
        &self.0
    }
}

impl ReadError {
    /// The same error of a value that lies behind this step.
    #[must_use]
    pub fn behind(mut self, step: Step) -> Self {
        // Paths have three steps at most, of which the first comes last.
        self.path.0.insert(0, step);
        self
    }
}

impl From<ReadErrorKind> for ReadError {
    fn from(kind: ReadErrorKind) -> Self {
        ReadError { path: OptionPath::default(), kind }
    }
}

impl de::Error for ReadError {
    fn custom<T: fmt::Display>(message: T) -> Self {
        ReadErrorKind::Other(message.to_string()).into()
    }

    fn invalid_type(found: Unexpected<'_>, expected: &dyn Expected) -> Self {
        ReadErrorKind::Type { found: found.into(), expected: expected.to_string() }.into()
    }

    fn invalid_value(found: Unexpected<'_>, expected: &dyn Expected) -> Self {
        Self::invalid_type(found, expected)
    }

    fn unknown_variant(found: &str, choices: &'static [&'static str]) -> Self {
        ReadErrorKind::Choice { found: Found::Text(found.to_owned()), choices: owned(choices) }.into()
    }

    fn unknown_field(found: &str, known: &'static [&'static str]) -> Self {
        ReadErrorKind::UnknownName { found: found.to_owned(), known: owned(known) }.into()
    }

    fn missing_field(name: &'static str) -> Self {
        ReadErrorKind::Missing(name.to_owned()).into()
    }
}

fn owned(names: &[&str]) -> Vec<String> {
    names.iter().map(|&name| name.to_owned()).collect()
}

fn prefix(path: &OptionPath) -> String {
    if path.0.is_empty() { String::new() } else { format!("`{path}`: ") }
}

impl From<Unexpected<'_>> for Found {
    fn from(found: Unexpected<'_>) -> Self {
        match found {
            Unexpected::Bool(value) => Found::Bool(value),
            Unexpected::Unsigned(number) => Found::Integer(number.into()),
            Unexpected::Signed(number) => Found::Integer(number.into()),
            Unexpected::Float(number) => Found::Float(number),
            Unexpected::Str(text) => Found::Text(text.to_owned()),
            Unexpected::Seq => Found::List,
            Unexpected::Map => Found::Table,
            other => Found::Other(other.to_string()),
        }
    }
}

impl From<&OptionValue> for Found {
    fn from(value: &OptionValue) -> Self {
        match value {
            OptionValue::Bool(value) => Found::Bool(*value),
            OptionValue::Integer(number) => Found::Integer(*number),
            OptionValue::Float(number) => Found::Float(*number),
            OptionValue::Text(text) => Found::Text(text.clone()),
            OptionValue::List(_) => Found::List,
            OptionValue::Table(_) => Found::Table,
        }
    }
}

impl fmt::Display for Found {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Found::Bool(value) => value.fmt(f),
            Found::Integer(number) => number.fmt(f),
            Found::Float(number) => number.fmt(f),
            Found::Text(text) => write!(f, "{text:?}"),
            Found::List => f.write_str("a list"),
            Found::Table => f.write_str("a table"),
            Found::Other(what) => f.write_str(what),
        }
    }
}

impl fmt::Display for OptionPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, step) in self.0.iter().enumerate() {
            match step {
                Step::Name(name) if number == 0 => f.write_str(name)?,
                Step::Name(name) => write!(f, ".{name}")?,
                Step::Index(index) => write!(f, "[{index}]")?,
            }
        }
        Ok(())
    }
}

impl<'de> Deserializer<'de> for &'de OptionValue {
    type Error = ReadError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        match self {
            OptionValue::Bool(value) => visitor.visit_bool(*value),
            OptionValue::Integer(number) => visit_integer(*number, visitor),
            OptionValue::Float(number) => visitor.visit_f64(*number),
            OptionValue::Text(text) => visitor.visit_borrowed_str(text),
            OptionValue::List(items) => visitor.visit_seq(Items(items.iter().enumerate())),
            OptionValue::Table(table) => visitor.visit_map(Entries { entries: table.iter(), value: None }),
        }
    }

    // An option that is not set has no value at all.
    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, ReadError> {
        visitor.visit_newtype_struct(self)
    }

    // A text is a variant without values; a table of one entry is one with them.
    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, ReadError> {
        match self {
            OptionValue::Text(text) => visitor.visit_enum(StrDeserializer::new(text)),
            OptionValue::Table(table) => {
                let entries = Entries { entries: table.iter(), value: None };
                visitor.visit_enum(MapAccessDeserializer::new(entries))
            }
            other => Err(ReadErrorKind::Choice { found: other.into(), choices: owned(variants) }.into()),
        }
    }

    serde::forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct
        seq tuple tuple_struct map struct identifier ignored_any
    }
}

/// Whatever a format of serde's has, as far as an option can be that.
impl<'de> Deserialize<'de> for OptionValue {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(AnyValue)
    }
}

struct AnyValue;

impl<'de> Visitor<'de> for AnyValue {
    type Value = OptionValue;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the value of an option")
    }

    fn visit_bool<E: de::Error>(self, value: bool) -> Result<OptionValue, E> {
        Ok(OptionValue::Bool(value))
    }

    fn visit_i64<E: de::Error>(self, number: i64) -> Result<OptionValue, E> {
        Ok(OptionValue::Integer(number.into()))
    }

    fn visit_u64<E: de::Error>(self, number: u64) -> Result<OptionValue, E> {
        Ok(OptionValue::Integer(number.into()))
    }

    fn visit_i128<E: de::Error>(self, number: i128) -> Result<OptionValue, E> {
        Ok(OptionValue::Integer(number))
    }

    fn visit_f64<E: de::Error>(self, number: f64) -> Result<OptionValue, E> {
        Ok(OptionValue::Float(number))
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<OptionValue, E> {
        Ok(OptionValue::Text(text.to_owned()))
    }

    fn visit_seq<A: de::SeqAccess<'de>>(self, mut items: A) -> Result<OptionValue, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element()? {
            list.push(item);
        }
        Ok(OptionValue::List(list))
    }

    fn visit_map<A: de::MapAccess<'de>>(self, mut entries: A) -> Result<OptionValue, A::Error> {
        let mut table = BTreeMap::new();
        while let Some((name, value)) = entries.next_entry()? {
            table.insert(name, value);
        }
        Ok(OptionValue::Table(table))
    }
}

/// By the smallest type of serde's that holds the number: few visitors know the larger ones.
fn visit_integer<'de, V: Visitor<'de>>(number: i128, visitor: V) -> Result<V::Value, ReadError> {
    if let Ok(number) = i64::try_from(number) {
        return visitor.visit_i64(number);
    }
    if let Ok(number) = u64::try_from(number) {
        return visitor.visit_u64(number);
    }
    visitor.visit_i128(number).map_err(|mut error: ReadError| {
        // To serde such a number is something of another kind.
        if let ReadErrorKind::Type { found, .. } = &mut error.kind {
            *found = Found::Integer(number);
        }
        error
    })
}

impl<'de> IntoDeserializer<'de, ReadError> for &'de OptionValue {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}

/// The items of a list that have not been read.
struct Items<'v>(Enumerate<slice::Iter<'v, OptionValue>>);

impl<'de> de::SeqAccess<'de> for Items<'de> {
    type Error = ReadError;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, ReadError> {
        let Some((index, item)) = self.0.next() else { return Ok(None) };
        seed.deserialize(item).map(Some).map_err(|error| error.behind(Step::Index(index)))
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.0.len())
    }
}

/// The entries of a table that have not been read.
struct Entries<'v> {
    entries: btree_map::Iter<'v, String, OptionValue>,
    /// The entry whose name has been read.
    value: Option<(&'v str, &'v OptionValue)>,
}

impl<'de> de::MapAccess<'de> for Entries<'de> {
    type Error = ReadError;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, ReadError> {
        let Some((name, value)) = self.entries.next() else { return Ok(None) };
        self.value = Some((name, value));
        seed.deserialize(StrDeserializer::new(name)).map(Some)
    }

    fn next_value_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<T::Value, ReadError> {
        let Some((name, value)) = self.value.take() else {
            return Err(de::Error::custom("a value without a name"));
        };
        seed.deserialize(value).map_err(|error| error.behind(Step::Name(name.to_owned())))
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.entries.len())
    }
}

#[cfg(all(test, not(loom)))]
mod tests;
