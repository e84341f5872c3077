//! What a class says of options of an app: what is wrong with them, what is odd, and what it has made of them.

mod review;
mod value;

pub(crate) use review::Prepared;
pub use review::Review;
pub use value::{Found, OptionPath, OptionValue, ReadError, ReadErrorKind, Step};

use std::fmt;
use wire::in_one_line;

/// What is wrong with an option of an app.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}{message}{}{}", subject(.option.as_deref()), below(.detail.as_deref()), behind(.others))]
#[non_exhaustive]
pub struct OptionError {
    /// Which option; `None` if it is not about one. What a list or table holds is named by its path, items being counted from 0:
    /// `case[1].filter`.
    pub option: Option<String>,
    /// What is wrong, and what it may be, in one line: control characters, which names of files may have, are escaped.
    pub message: String,
    /// More to tell, over several lines that are shown as they are.
    pub detail: Option<String>,
    /// What has to change.
    pub fault: Fault,
    /// What else is wrong, if the class has looked further ([`OptionError::all`]). These have no others.
    pub others: Vec<OptionError>,
}

/// What is odd about an option of an app, with which the app runs nevertheless.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct OptionWarning {
    /// Which option, as in [`OptionError::option`].
    pub option: String,
    /// What is odd, in one line: control characters are escaped.
    pub message: String,
    /// More to tell, over several lines that are shown as they are.
    pub detail: Option<String>,
    /// Whether it is that what the option names is not there yet. Whoever starts the app is told so anyway.
    pub is_absent: bool,
}

impl OptionWarning {
    /// The option `option` may not mean what was meant.
    pub fn new(option: &str, message: impl fmt::Display) -> Self {
        let message = in_one_line(&message.to_string()).into_owned();
        OptionWarning { option: option.to_owned(), message, detail: None, is_absent: false }
    }

    /// What option `option` names is not there.
    pub fn absent(option: &str, message: impl fmt::Display) -> Self {
        OptionWarning { is_absent: true, ..Self::new(option, message) }
    }

    /// With more to tell, in lines of their own.
    #[must_use]
    pub fn with_detail(self, detail: impl fmt::Display) -> Self {
        OptionWarning { detail: Some(detail.to_string()), ..self }
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
        Self::about(Some(option), message, Fault::Option)
    }

    /// The system refuses what option `option` asks for.
    pub fn refused(option: &str, message: impl fmt::Display) -> Self {
        Self::about(Some(option), message, Fault::System)
    }

    /// What option `option` names is damaged, or not what the app reads.
    pub fn damaged(option: &str, message: impl fmt::Display) -> Self {
        Self::about(Some(option), message, Fault::Content)
    }

    /// The app failed when it was to do something, whatever its options.
    pub(crate) fn failed(what: &str, message: impl fmt::Display) -> Self {
        let message = format!("it failed when it was to {what}: {message}");
        // Of the lines of a failed assertion, the first says what failed.
        let (first, detail) =
            message.split_once('\n').map_or((&*message, None), |(first, rest)| (first, Some(rest)));
        OptionError { detail: detail.map(str::to_owned), ..Self::about(None, first, Fault::App) }
    }

    /// An error about an option, or about all of them.
    pub(crate) fn about(option: Option<&str>, message: impl fmt::Display, fault: Fault) -> Self {
        let message = in_one_line(&message.to_string()).into_owned();
        OptionError { option: option.map(str::to_owned), message, detail: None, fault, others: Vec::new() }
    }

    /// With more to tell, in lines of their own.
    #[must_use]
    pub fn with_detail(self, detail: impl fmt::Display) -> Self {
        OptionError { detail: Some(detail.to_string()), ..self }
    }

    /// The same about another option, or a part of one: `case[1].filter`.
    #[must_use]
    pub fn at(self, option: &str) -> Self {
        OptionError { option: Some(option.to_owned()), ..self }
    }

    /// What several checks return, `()` if that is nothing; or their errors as one, so that all that is wrong is told at once.
    ///
    /// # Errors
    /// If any of the checks has one.
    ///
    /// ```
    /// use engine::OptionError;
    ///
    /// let (length, every) = (70_000, 0);
    /// let error = OptionError::all::<_, ()>([
    ///     OptionError::check_range("length", length, 0..=65_535),
    ///     OptionError::check_range("every", every, 1..=1000),
    /// ])
    /// .unwrap_err();
    /// let wrong: Vec<_> = error.each().map(|error| error.option.as_deref()).collect();
    /// assert_eq!(wrong, [Some("length"), Some("every")]);
    /// ```
    pub fn all<T, C: FromIterator<T>>(checks: impl IntoIterator<Item = Result<T, Self>>) -> Result<C, Self> {
        let mut wrong: Option<Self> = None;
        let right = checks.into_iter().filter_map(|check| {
            match (check, &mut wrong) {
                (Ok(right), _) => return Some(right),
                (Err(error), None) => wrong = Some(error),
                (Err(mut error), Some(first)) => {
                    let others = std::mem::take(&mut error.others);
                    first.others.extend(std::iter::once(error).chain(others));
                }
            }
            None
        });
        let right = right.collect();
        wrong.map_or(Ok(right), Err)
    }

    /// This error, then the others.
    pub fn each(&self) -> impl Iterator<Item = &Self> {
        std::iter::once(self).chain(&self.others)
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

fn subject(option: Option<&str>) -> String {
    option.map_or(String::new(), |option| format!("`{option}`: "))
}

fn below(detail: Option<&str>) -> String {
    detail.map_or(String::new(), |detail| format!("\n{detail}"))
}

fn behind(others: &[OptionError]) -> String {
    others.iter().map(|other| format!("\n{other}")).collect()
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::{OptionError, OptionWarning};

    #[test]
    fn names_in_messages_begin_no_lines_and_change_no_colours() {
        let name = "no\u{1b}[31m\nx.pcap";
        let error = OptionError::refused("path", format_args!("cannot open {name}")).with_detail("a\nb");
        assert_eq!(error.to_string(), "`path`: cannot open no\\u{1b}[31m\\nx.pcap\na\nb");
        let warning = OptionWarning::absent("path", name).with_detail("a\nb");
        assert_eq!((&*warning.message, warning.detail.as_deref()), ("no\\u{1b}[31m\\nx.pcap", Some("a\nb")));
        let failed = OptionError::failed("start", "no\n left: 1\n right: 2");
        assert_eq!(failed.message, "it failed when it was to start: no");
        assert_eq!(failed.detail.as_deref(), Some(" left: 1\n right: 2"));
    }
}
