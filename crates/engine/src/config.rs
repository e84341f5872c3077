//! Options of apps, whatever their class.

use crate::app::{App, Class, Direction, Passage, PortNames, Ports, Reconfigured, Setup};
use crate::uses::Use;
use crate::worker::{AnyApp, message};
use serde::de::{self, DeserializeOwned};
use std::any::Any;
use std::collections::BTreeMap;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

/// What is wrong with an option of an app.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}{message}", .option.as_ref().map_or(String::new(), |option| format!("`{option}`: ")))]
#[non_exhaustive]
pub struct OptionError {
    /// Which option; `None` if it is not about one. What a list or table holds is named by its path, items being counted from 0:
    /// `case[1].filter`.
    pub option: Option<String>,
    /// What is wrong, and what it may be.
    pub message: String,
    /// What has to change.
    pub fault: Fault,
}

/// What is odd about an option of an app, with which the app runs nevertheless.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct OptionWarning {
    /// Which option, as in [`OptionError::option`].
    pub option: String,
    /// What is odd.
    pub message: String,
    /// Whether it is that what the option names is not there yet. Whoever starts the app is told so anyway.
    pub is_absent: bool,
}

impl OptionWarning {
    /// The option `option` may not mean what was meant.
    pub fn new(option: &str, message: impl fmt::Display) -> Self {
        OptionWarning { option: option.to_owned(), message: message.to_string(), is_absent: false }
    }

    /// What option `option` names is not there.
    pub fn absent(option: &str, message: impl fmt::Display) -> Self {
        OptionWarning { is_absent: true, ..Self::new(option, message) }
    }
}

/// What has to change before an app takes an option as it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Fault {
    /// The option itself.
    Option,
    /// The system, which refuses what the option may ask for: a file, a device, a permission.
    System,
    /// What the option names: it is there, and is damaged, or not what the app reads.
    Content,
    /// The app, whose code is wrong: it panicked, or has more counters than there is room for.
    App,
}

impl OptionError {
    /// The option `option` cannot be what it is.
    pub fn new(option: &str, message: impl fmt::Display) -> Self {
        OptionError { option: Some(option.to_owned()), message: message.to_string(), fault: Fault::Option }
    }

    /// The system refuses what option `option` asks for.
    pub fn refused(option: &str, message: impl fmt::Display) -> Self {
        OptionError { option: Some(option.to_owned()), message: message.to_string(), fault: Fault::System }
    }

    /// What option `option` names is damaged, or not what the app reads.
    pub fn damaged(option: &str, message: impl fmt::Display) -> Self {
        OptionError { option: Some(option.to_owned()), message: message.to_string(), fault: Fault::Content }
    }

    /// The app failed when it was to do something, whatever its options.
    pub(crate) fn failed(what: &str, message: impl fmt::Display) -> Self {
        let message = format!("it failed when it was to {what}: {message}");
        OptionError { option: None, message, fault: Fault::App }
    }

    /// The same about another option, or a part of one: `case[1].filter`.
    #[must_use]
    pub fn at(self, option: &str) -> Self {
        OptionError { option: Some(option.to_owned()), ..self }
    }

    /// A number is not in its range.
    ///
    /// # Errors
    /// If `value` is not in `range`.
    pub fn check_range<T: PartialOrd + fmt::Display>(
        option: &str,
        value: T,
        range: std::ops::RangeInclusive<T>,
    ) -> Result<(), Self> {
        if range.contains(&value) {
            return Ok(());
        }
        Err(Self::new(option, format!("{value} is not between {} and {}", range.start(), range.end())))
    }
}

/// Runs a check of a class; a panic becomes an [`OptionError`].
fn guarded<T>(check: impl FnOnce() -> Result<T, OptionError>) -> Result<T, OptionError> {
    catch_unwind(AssertUnwindSafe(check))
        .unwrap_or_else(|payload| Err(OptionError::failed("check its options", message(&*payload))))
}

/// A class with its options, of any type.
#[derive(Clone)]
pub struct Config(Arc<dyn AnyClass>);

trait AnyClass: Any + Send + Sync {
    fn class(&self) -> ClassInfo;
    fn check(&self) -> Result<(), OptionError>;
    fn review(&self) -> Result<Vec<OptionWarning>, OptionError>;
    fn check_ports(&self, linked: &PortNames<'_>) -> Result<(), OptionError>;
    fn claim(&self) -> Option<String>;
    fn uses(&self) -> Vec<Use>;
    fn start(&self, setup: &mut Setup<'_>) -> Result<Box<dyn AnyApp>, OptionError>;
    fn reconfigure(
        &self,
        app: &mut dyn App,
        old: &dyn AnyClass,
        setup: &mut Setup<'_>,
    ) -> Result<Reconfigured, OptionError>;
    fn equals(&self, other: &dyn AnyClass) -> bool;
    fn debug(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result;
}

/// What a class says of itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClassInfo {
    /// Its name: the `type` in a graph file.
    pub name: &'static str,
    /// Its inputs.
    pub inputs: Ports,
    /// Its outputs.
    pub outputs: Ports,
    /// Where what comes in goes.
    pub passage: Passage,
}

impl ClassInfo {
    /// Its ports of one direction.
    pub fn ports(&self, direction: Direction) -> Ports {
        match direction {
            Direction::Input => self.inputs,
            Direction::Output => self.outputs,
        }
    }

    fn of<C: Class>() -> Self {
        ClassInfo { name: C::TYPE, inputs: C::INPUTS, outputs: C::OUTPUTS, passage: C::PASSAGE }
    }
}

impl<C: Class> AnyClass for C {
    fn class(&self) -> ClassInfo {
        ClassInfo::of::<C>()
    }

    fn check(&self) -> Result<(), OptionError> {
        Class::check(self)
    }

    fn review(&self) -> Result<Vec<OptionWarning>, OptionError> {
        Class::review(self)
    }

    fn check_ports(&self, linked: &PortNames<'_>) -> Result<(), OptionError> {
        Class::check_ports(self, linked)
    }

    fn claim(&self) -> Option<String> {
        Class::claim(self)
    }

    fn uses(&self) -> Vec<Use> {
        Class::uses(self)
    }

    fn start(&self, setup: &mut Setup<'_>) -> Result<Box<dyn AnyApp>, OptionError> {
        Ok(Box::new(Class::start(self, setup)?))
    }

    fn reconfigure(
        &self,
        app: &mut dyn App,
        old: &dyn AnyClass,
        setup: &mut Setup<'_>,
    ) -> Result<Reconfigured, OptionError> {
        let (app, old): (&mut dyn Any, &dyn Any) = (app, old);
        match (app.downcast_mut::<C::App>(), old.downcast_ref::<C>()) {
            (Some(app), Some(old)) => Class::reconfigure(self, app, old, setup),
            _ => Ok(Reconfigured::NeedsRestart),
        }
    }

    fn equals(&self, other: &dyn AnyClass) -> bool {
        (other as &dyn Any).downcast_ref::<C>().is_some_and(|other| self == other)
    }

    fn debug(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

impl Config {
    /// A class with its options.
    pub fn new(class: impl Class) -> Self {
        Config(Arc::new(class))
    }

    /// What the class says of itself.
    pub fn class(&self) -> ClassInfo {
        self.0.class()
    }

    /// Whether the options make sense.
    ///
    /// # Errors
    /// Which do not.
    pub fn check(&self) -> Result<(), OptionError> {
        guarded(|| self.0.check())
    }

    /// Whether the options make sense, and what is odd about them.
    ///
    /// # Errors
    /// Which do not.
    pub fn review(&self) -> Result<Vec<OptionWarning>, OptionError> {
        guarded(|| self.0.review())
    }

    /// Whether the ports that are linked make sense together with the options.
    ///
    /// # Errors
    /// Which do not.
    pub fn check_ports(&self, linked: &PortNames<'_>) -> Result<(), OptionError> {
        guarded(|| self.0.check_ports(linked))
    }

    /// What only one app of the class at a time can have.
    pub(crate) fn claim(&self) -> Option<String> {
        self.0.claim()
    }

    /// What the app uses that lies outside the graph.
    pub(crate) fn uses(&self) -> Vec<Use> {
        self.0.uses()
    }

    pub(crate) fn start(&self, setup: &mut Setup<'_>) -> Result<Box<dyn AnyApp>, OptionError> {
        self.0.start(setup)
    }

    pub(crate) fn reconfigure(
        &self,
        app: &mut dyn App,
        old: &Config,
        setup: &mut Setup<'_>,
    ) -> Result<Reconfigured, OptionError> {
        self.0.reconfigure(app, &*old.0, setup)
    }
}

impl PartialEq for Config {
    fn eq(&self, other: &Self) -> bool {
        self.0.equals(&*other.0)
    }
}

impl fmt::Debug for Config {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.debug(f)
    }
}

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
