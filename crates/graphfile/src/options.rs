//! The options of an app: from a TOML table to a [`Config`].

use super::complaint::Complaint;
use super::problem::{GraphCode, GraphFileError, Problems, shown};
use super::value;
use crate::similar::similar;
use engine::{
    Config, Fault, OptionError, OptionPath, OptionValue, OptionWarning, ReadError, ReadErrorKind, Registry,
    Step,
};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::Range;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// The app whose options are read, and their places.
pub(super) struct App<'a> {
    pub(super) name: &'a str,
    pub(super) class: &'a str,
    /// The text of the graph.
    pub(super) text: &'a str,
    /// Where the table begins.
    pub(super) header: Range<usize>,
    /// The places of its options, and of what they hold.
    pub(super) places: &'a BTreeMap<String, Range<usize>>,
}

/// Places of options, and of what lists and tables among them hold: `case`, `case[0]`, `case[0].filter`.
pub(super) fn places(options: &DeTable<'_>) -> BTreeMap<String, Range<usize>> {
    let mut places: BTreeMap<String, Range<usize>> =
        options.iter().map(|(key, value)| (key.get_ref().to_string(), value.span())).collect();
    // A name that is too long to be shown is no option's, and would stand in the path of all that it holds.
    for (key, value) in options.iter().filter(|(key, _)| shown(key.get_ref()) == **key.get_ref()) {
        add_inside(key.get_ref(), value.get_ref(), DEPTH_MAX, &mut places);
    }
    places
}

/// Lists and tables inside of an option that are looked into: no class has more.
const DEPTH_MAX: usize = 3;
/// Places in an app's table that are remembered: each takes memory as long as the graph runs. What stands behind them is pointed at by the
/// option that holds it.
const PLACES_MAX: usize = 16_384;

fn add_inside(path: &str, value: &DeValue<'_>, depth: usize, places: &mut BTreeMap<String, Range<usize>>) {
    let mut add = |path: String, item: &Spanned<DeValue<'_>>| {
        let has_room = places.len() < PLACES_MAX;
        if has_room {
            places.insert(path.clone(), item.span());
            if depth > 1 {
                add_inside(&path, item.get_ref(), depth - 1, places);
            }
        }
        has_room
    };
    match value {
        DeValue::Array(items) => {
            _ = items.iter().enumerate().all(|(index, item)| add(format!("{path}[{index}]"), item));
        }
        DeValue::Table(table) => {
            _ = table.iter().all(|(key, item)| add(format!("{path}.{}", shown(key.get_ref())), item));
        }
        _ => {}
    }
}

/// Reads the options of an app; `None` if any is wrong, which is then told.
pub(super) fn read(
    app: &App<'_>,
    registry: &Registry,
    mut table: DeTable<'_>,
    problems: &mut Problems<'_>,
) -> Option<Config> {
    let mut good = true;
    if let Some(options) = registry.option_names(app.class) {
        let strange: DeTable<'_>;
        (table, strange) =
            table.into_iter().partition(|(key, _)| options.iter().any(|option| option == key.get_ref()));
        good = strange.is_empty();
        for key in strange.keys() {
            problems.add(|| unknown(app, key.get_ref(), key.span(), options));
        }
    }
    let mut wrong: Vec<String> = Vec::new();
    let mut values = BTreeMap::new();
    for (key, written) in &table {
        let key = key.get_ref().to_string();
        match value::value(written) {
            Ok(value) => _ = values.insert(key, value),
            Err((span, message)) => {
                let complaint = Complaint::new(&ReadErrorKind::Other(message.to_owned()), "");
                problems.add(|| wrong_type(app, path_at(app, &key, &span), span, complaint));
                wrong.push(key);
            }
        }
    }
    let mut values = OptionValue::Table(values);
    // The reader stops at the first option it does not like: each round is told of one, and reads on without it.
    loop {
        let error = match registry.read(app.class, &values)? {
            Ok(config) => return (good && wrong.is_empty()).then_some(config),
            Err(error) => error,
        };
        let Some(key) = option_of(&error.path) else {
            if !is_missing_one_of(&wrong, &error.kind) {
                problems.add(|| whole_table(app, &error.kind));
            }
            return None;
        };
        let key = key.to_owned();
        problems.add(|| wrong_value(app, &table, &key, &error));
        let OptionValue::Table(values) = &mut values else { return None };
        // An option that is not there cannot be wrong: a class that says so says it again.
        values.remove(&key)?;
        wrong.push(key);
    }
}

/// The option that an error is about, unless it is about all of them.
fn option_of(path: &OptionPath) -> Option<&str> {
    match path.steps().first()? {
        Step::Name(option) => Some(option),
        Step::Index(_) => None,
    }
}

/// The error of a class about the value of an option, or about something inside it, at its place.
fn wrong_value(app: &App<'_>, table: &DeTable<'_>, key: &str, error: &ReadError) -> GraphFileError {
    let value = value::at(table, &error.path).or_else(|| table.get(key));
    let name = match (&error.kind, value) {
        (ReadErrorKind::UnknownName { found, .. }, Some(value)) => value::name_in(value.get_ref(), found),
        _ => None,
    };
    let span = name.or_else(|| value.map(Spanned::span)).unwrap_or_else(|| app.header.clone());
    let written = app.text.get(span.clone()).unwrap_or_default();
    wrong_type(app, path_at(app, key, &span), span, Complaint::new(&error.kind, written))
}

/// The error of a class about an option, at its place.
pub(super) fn refused(app: &str, place: Range<usize>, error: &OptionError) -> GraphFileError {
    let code = match error.fault {
        Fault::System => GraphCode::Refused,
        Fault::Content => GraphCode::Damaged,
        Fault::App => GraphCode::Failed,
        _ => GraphCode::OptionValue,
    };
    let problem = said(app, code, place, (error.option.as_deref(), &error.message));
    GraphFileError { detail: error.detail.clone(), ..problem }
}

/// The warning of a class about an option, at its place.
pub(super) fn odd(app: &str, place: Range<usize>, warning: &OptionWarning) -> GraphFileError {
    let code = if warning.is_absent { GraphCode::Absent } else { GraphCode::Odd };
    let problem = said(app, code, place, (Some(&warning.option), &warning.message));
    GraphFileError { detail: warning.detail.clone(), ..problem }
}

fn said(
    app: &str,
    code: GraphCode,
    place: Range<usize>,
    (option, message): (Option<&str>, &str),
) -> GraphFileError {
    let subject = match option {
        Some(option) => format!("`{option}` of app `{app}`"),
        None => format!("app `{app}`"),
    };
    GraphFileError::new(code, place, format!("{subject}: {message}")).of(app, option)
}

fn unknown(app: &App<'_>, key: &str, span: Range<usize>, options: &[Cow<'static, str>]) -> GraphFileError {
    let message = format!("app `{}` is a `{}`, which has no option `{}`", app.name, app.class, shown(key));
    let mut known: Vec<&str> = options.iter().map(|option| &**option).collect();
    known.sort_unstable();
    let label = match &*known {
        [] => "it has no options".to_owned(),
        known => format!("its options: `{}`", known.join("`, `")),
    };
    let problem = GraphFileError::new(GraphCode::UnknownOption, span, message).label(label);
    let problem = problem.of(app.name, Some(&shown(key)));
    match similar(key, known.into_iter().chain(["type", "worker"])) {
        Some(similar) => problem.help(format!("did you mean `{similar}`?")),
        None => problem,
    }
}

/// Whether an option is missing only because it was wrong and has been told.
fn is_missing_one_of(wrong: &[String], kind: &ReadErrorKind) -> bool {
    matches!(kind, ReadErrorKind::Missing(option) if wrong.contains(option))
}

/// A problem of no option in particular.
fn whole_table(app: &App<'_>, kind: &ReadErrorKind) -> GraphFileError {
    match kind {
        ReadErrorKind::Missing(option) => {
            let message =
                format!("app `{}` is a `{}`, which needs the option `{option}`", app.name, app.class);
            GraphFileError::new(GraphCode::MissingOption, app.header.clone(), message)
                .label(format!("`{option}` is missing"))
                .of(app.name, Some(option))
        }
        kind => {
            let message = format!("the options of app `{}`: {}", app.name, shown(&kind.to_string()));
            GraphFileError::new(GraphCode::OptionType, app.header.clone(), message).of(app.name, None)
        }
    }
}

fn wrong_type(app: &App<'_>, path: &str, span: Range<usize>, complaint: Complaint) -> GraphFileError {
    let Complaint { rest, label, help } = complaint;
    let problem =
        GraphFileError::new(GraphCode::OptionType, span, format!("`{path}` of app `{}`{rest}", app.name));
    GraphFileError { label, help, ..problem }.of(app.name, Some(path))
}

/// The innermost of an app's options, and of what they hold, that holds a place and belongs to the option `key`.
fn path_at<'a>(app: &'a App<'_>, key: &'a str, place: &Range<usize>) -> &'a str {
    let is_inside = |path: &str| {
        path.strip_prefix(key).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
    };
    let holds = |span: &Range<usize>| span.start <= place.start && place.end <= span.end;
    let paths = app.places.iter().filter(|(path, span)| is_inside(path) && holds(span));
    paths.min_by_key(|(_, span)| span.len()).map_or(key, |(path, _)| path)
}
