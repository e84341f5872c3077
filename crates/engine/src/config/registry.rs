//! Classes by name, as whoever describes a graph names them: a file, a script.

use super::Config;
use crate::app::{Class, ClassInfo};
use crate::option::{OptionValue, ReadError};
use serde::de::{self, DeserializeOwned};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

/// The classes that a graph can name. Those of a program are added [by type](Registry::with), those of a script [by
/// value](Registry::with_class).
///
/// ```
/// use engine::{App, Class, ClassInfo, Config, OptionError, OptionValue, Passage, Ports, ReadError, Registry, Setup};
///
/// /// A class that is known at run time only.
/// #[derive(Clone, Debug, PartialEq)]
/// struct Scripted {
///     info: ClassInfo,
///     options: OptionValue,
/// }
///
/// struct Running;
/// impl App for Running {}
///
/// impl Class for Scripted {
///     const TYPE: &'static str = "scripted";
///     type App = Running;
///
///     fn info(&self) -> ClassInfo {
///         self.info.clone()
///     }
///
///     fn start(&self, _: &mut Setup<'_>) -> Result<Running, OptionError> {
///         Ok(Running)
///     }
/// }
///
/// let outputs = (0..3).map(|port| format!("lane{port}"));
/// let info = ClassInfo::new(format!("spread{}", 3), Ports::INPUT, Ports::listed(outputs), Passage::Through);
/// let class = info.clone();
/// let read = move |options: &OptionValue| -> Result<Config, ReadError> {
///     Ok(Config::new(Scripted { info: class.clone(), options: options.clone() }))
/// };
/// let registry = Registry::new().with_class(info, Some(vec!["key".to_owned()]), read);
///
/// let config = registry.read("spread3", &OptionValue::Table(Default::default())).unwrap()?;
/// assert_eq!(config.class().outputs.names(), ["lane0", "lane1", "lane2"]);
/// # Ok::<(), engine::ReadError>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Registry(BTreeMap<Cow<'static, str>, Entry>);

#[derive(Clone)]
struct Entry {
    class: ClassInfo,
    /// `None` if it does not tell.
    option_names: Option<Arc<[Cow<'static, str>]>>,
    read: Arc<Read>,
}

/// Reads the options of a class.
type Read = dyn Fn(&OptionValue) -> Result<Config, ReadError> + Send + Sync;

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
    pub fn with<C: Class + DeserializeOwned>(self) -> Self {
        let names = fields::<C>().map(|names| names.iter().map(|&name| Cow::Borrowed(name)).collect());
        self.and_entry(Entry {
            class: ClassInfo::of::<C>(),
            option_names: names,
            read: Arc::new(|options: &OptionValue| options.read::<C>().map(Config::new)),
        })
    }

    /// Adds a class whose name, ports and options are known at run time only. `option_names` are all the options that it has, `None` if it
    /// takes any; `read` makes a [`Config`] of a table of options. The [`Class::info`] of that is to say the same.
    #[must_use]
    pub fn with_class(
        self,
        class: ClassInfo,
        option_names: Option<Vec<String>>,
        read: impl Fn(&OptionValue) -> Result<Config, ReadError> + Send + Sync + 'static,
    ) -> Self {
        let option_names = option_names.map(|names| names.into_iter().map(Cow::Owned).collect());
        self.and_entry(Entry { class, option_names, read: Arc::new(read) })
    }

    fn and_entry(mut self, entry: Entry) -> Self {
        self.0.insert(entry.class.name.clone(), entry);
        self
    }

    /// Adds the classes of another registry.
    #[must_use]
    pub fn and(mut self, other: Registry) -> Self {
        self.0.extend(other.0);
        self
    }

    /// The class of a name.
    pub fn class(&self, name: &str) -> Option<&ClassInfo> {
        self.0.get(name).map(|entry| &entry.class)
    }

    /// All classes, by name.
    pub fn classes(&self) -> impl Iterator<Item = &ClassInfo> {
        self.0.values().map(|entry| &entry.class)
    }

    /// The names of the options of a class; `None` if there is no such class, or if it does not tell.
    pub fn option_names(&self, class: &str) -> Option<&[Cow<'static, str>]> {
        self.0.get(class)?.option_names.as_deref()
    }

    /// Reads the options of a class from a table of them; `None` if there is no such class.
    ///
    /// # Errors
    /// What is wrong with the options.
    pub fn read(&self, class: &str, options: &OptionValue) -> Option<Result<Config, ReadError>> {
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
