//! The options of an app: from a TOML table to a [`Config`].

use super::problem::{GraphCode, GraphFileError, Problems, shown};
use crate::config::{Config, Fault, OptionError, Registry};
use crate::graph::similar_of;
use std::ops::Range;
use toml::Spanned;
use toml::de::{DeTable, DeValue, ValueDeserializer};

/// Which app's options are read, and where they stand.
pub(super) struct App<'a> {
    pub(super) name: &'a str,
    pub(super) class: &'static str,
    /// Where the table begins.
    pub(super) header: Range<usize>,
}

/// Reads the options of an app; `None` if any is wrong, which is then told.
pub(super) fn read(
    app: &App<'_>,
    registry: &Registry,
    mut table: DeTable<'_>,
    problems: &mut Problems<'_>,
) -> Option<Config> {
    let mut good = true;
    if let Some(options) = registry.options(app.class) {
        let strange: DeTable<'_>;
        (table, strange) = table.into_iter().partition(|(key, _)| options.contains(&&**key.get_ref()));
        good = strange.is_empty();
        for key in strange.keys() {
            problems.add(|| unknown(app, key.get_ref(), key.span(), options));
        }
    }
    let mut wrong: Vec<String> = Vec::new();
    // The reader stops at the first option it does not like: each round is told of one, and reads on without it.
    loop {
        let whole = Spanned::new(app.header.clone(), DeValue::Table(table.clone()));
        let error = match registry.read(app.class, ValueDeserializer::from(whole))? {
            Ok(config) => return (good && wrong.is_empty()).then_some(config),
            Err(error) => error,
        };
        let Some(key) = key_at(&table, error.span()) else {
            if !is_missing_one_of(&wrong, error.message()) {
                problems.add(|| whole_table(app, error.message()));
            }
            return None;
        };
        let value = table.remove(key.as_str());
        let span = error.span().or(value.map(|value| value.span())).unwrap_or_else(|| app.header.clone());
        problems.add(|| wrong_type(app, &key, span, error.message()));
        wrong.push(key);
    }
}

/// What a class says about an option, at its place.
pub(super) fn refused(app: &App<'_>, place: Range<usize>, error: &OptionError) -> GraphFileError {
    let code = match error.fault {
        Fault::Option => GraphCode::OptionValue,
        Fault::System => GraphCode::Refused,
        Fault::Content => GraphCode::Damaged,
        Fault::App => GraphCode::Failed,
    };
    let subject = match &error.option {
        Some(option) => format!("`{option}` of app `{}`", app.name),
        None => format!("app `{}`", app.name),
    };
    // The first line says what is wrong; those below may point at places of their own, and are shown as they are.
    let (first, detail) = match error.message.split_once('\n') {
        Some((first, detail)) => (first, Some(detail.to_owned())),
        None => (error.message.as_str(), None),
    };
    let message = format!("{subject}: {first}");
    let problem = GraphFileError::new(code, place, message).of(app.name, error.option.as_deref());
    GraphFileError { detail, ..problem }
}

fn unknown(app: &App<'_>, key: &str, span: Range<usize>, options: &[&str]) -> GraphFileError {
    let message = format!("app `{}` is a `{}`, which has no option `{}`", app.name, app.class, shown(key));
    let mut known: Vec<&str> = options.to_vec();
    known.sort_unstable();
    let label = match &*known {
        [] => "it has no options".to_owned(),
        known => format!("its options: `{}`", known.join("`, `")),
    };
    let problem = GraphFileError::new(GraphCode::UnknownOption, span, message).label(label);
    let problem = problem.of(app.name, Some(&shown(key)));
    match similar_of(key, known.into_iter().chain(["type", "worker"])) {
        Some(similar) => problem.help(format!("did you mean `{similar}`?")),
        None => problem,
    }
}

/// The option whose value holds a place.
fn key_at(table: &DeTable<'_>, place: Option<Range<usize>>) -> Option<String> {
    let place = place?;
    let holds = |span: Range<usize>| span.start <= place.start && place.end <= span.end;
    let innermost = table.iter().filter(|(key, value)| {
        holds(value.span()) || holds(key.span()) || holds_inside(value.get_ref(), &place)
    });
    innermost.map(|(key, _)| key.get_ref().to_string()).next()
}

/// Whether a place lies in a table or list that does not stand in one piece: `[[app.name.rules]]`.
fn holds_inside(value: &DeValue<'_>, place: &Range<usize>) -> bool {
    let holds = |span: Range<usize>| span.start <= place.start && place.end <= span.end;
    match value {
        DeValue::Array(items) => {
            items.iter().any(|item| holds(item.span()) || holds_inside(item.get_ref(), place))
        }
        DeValue::Table(table) => table.iter().any(|(key, value)| {
            holds(key.span()) || holds(value.span()) || holds_inside(value.get_ref(), place)
        }),
        _ => false,
    }
}

/// Whether an option is missing only because it was wrong and has been told.
fn is_missing_one_of(wrong: &[String], message: &str) -> bool {
    missing(message).is_some_and(|option| wrong.iter().any(|wrong| wrong == option))
}

fn missing(message: &str) -> Option<&str> {
    message.strip_prefix("missing field `")?.strip_suffix('`')
}

/// A problem of no option in particular.
fn whole_table(app: &App<'_>, message: &str) -> GraphFileError {
    match missing(message) {
        Some(option) => {
            let message =
                format!("app `{}` is a `{}`, which needs the option `{option}`", app.name, app.class);
            GraphFileError::new(GraphCode::MissingOption, app.header.clone(), message)
                .label(format!("`{option}` is missing"))
                .of(app.name, Some(option))
        }
        None => {
            let message = format!("the options of app `{}`: {}", app.name, shown(message));
            GraphFileError::new(GraphCode::OptionType, app.header.clone(), message).of(app.name, None)
        }
    }
}

fn wrong_type(app: &App<'_>, key: &str, span: Range<usize>, message: &str) -> GraphFileError {
    let subject = format!("`{key}` of app `{}`", app.name);
    let problem = match found_and_expected(message) {
        Some((found, expected)) => {
            let message =
                format!("{subject} must be {}, not {}", expected_in_words(expected), found_in_words(found));
            GraphFileError::new(GraphCode::OptionType, span, message)
                .label(format!("expected {}", expected_in_words(expected)))
        }
        None => GraphFileError::new(GraphCode::OptionType, span, format!("{subject}: {}", clipped(message))),
    };
    problem.of(app.name, Some(key))
}

/// Splits what serde says of a value it cannot use: "invalid type: string \"x\", expected usize".
fn found_and_expected(message: &str) -> Option<(&str, &str)> {
    let rest =
        ["invalid type: ", "invalid value: "].iter().find_map(|prefix| message.strip_prefix(prefix))?;
    rest.rsplit_once(", expected ")
}

/// What was expected, without the names of Rust's types.
fn expected_in_words(expected: &str) -> String {
    match expected {
        "u8" => "a whole number from 0 to 255".into(),
        "u16" => "a whole number from 0 to 65535".into(),
        "u32" => format!("a whole number from 0 to {}", u32::MAX),
        "u64" | "usize" => "a whole number, 0 or more".into(),
        "i8" | "i16" | "i32" | "i64" | "isize" => "a whole number".into(),
        "f32" | "f64" => "a number".into(),
        "a boolean" => "true or false".into(),
        "a sequence" => "a list".into(),
        "a map" => "a table".into(),
        _ if expected.starts_with("struct ") => "a table".into(),
        _ => expected.to_owned(),
    }
}

fn found_in_words(found: &str) -> String {
    let words = |prefix: &str| Some(found.strip_prefix(prefix)?.trim_matches('`').to_owned());
    match found {
        "sequence" => "a list".into(),
        "map" => "a table".into(),
        _ => words("integer ")
            .or_else(|| words("floating point "))
            .or_else(|| words("boolean "))
            .or_else(|| Some(format!("the text {}", shown(found.strip_prefix("string ")?))))
            .unwrap_or_else(|| shown(found)),
    }
}

/// A message of somebody else's, in one line of bounded length.
fn clipped(message: &str) -> String {
    const MAX: usize = 400;
    let line = message.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(MAX) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}
