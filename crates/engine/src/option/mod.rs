//! What a class says of options of an app: what is wrong with them, what is odd, and what it has made of them.

mod review;

pub(crate) use review::Prepared;
pub use review::Review;

use std::fmt;

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
