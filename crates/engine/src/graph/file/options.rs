//! The options of an app: from a TOML table to a [`Config`].

use super::complaint::{Complaint, missing, wants_choice};
use super::problem::{GraphCode, GraphFileError, Problems, shown};
use crate::config::{Config, Registry};
use crate::graph::similar_of;
use crate::option::{Fault, OptionError, OptionWarning};
use std::collections::BTreeMap;
use std::ops::Range;
use toml::Spanned;
use toml::de::{DeTable, DeValue, ValueDeserializer};

/// The app whose options are read, and their places.
pub(super) struct App<'a> {
    pub(super) name: &'a str,
    pub(super) class: &'static str,
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
        let span = error.span().or_else(|| Some(table.get(key.as_str())?.span()));
        let span = span.unwrap_or_else(|| app.header.clone());
        let written = problems.text().get(span.clone()).unwrap_or_default();
        problems.add(|| {
            let complaint = complaint(app, registry, &table, &key, (error.message(), written));
            wrong_type(app, path_at(app, &key, &span), span, complaint)
        });
        table.remove(key.as_str());
        wrong.push(key);
    }
}

/// The error of a class about an option, at its place.
pub(super) fn refused(app: &str, place: Range<usize>, error: &OptionError) -> GraphFileError {
    let code = match error.fault {
        Fault::Option => GraphCode::OptionValue,
        Fault::System => GraphCode::Refused,
        Fault::Content => GraphCode::Damaged,
        Fault::App => GraphCode::Failed,
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

/// Whether a place lies in a table or list that is not in one piece: `[[app.name.rules]]`.
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

/// What is wrong with the option `key`, whose reader said `message`. Where that does not say which words there are, it is asked with one
/// that is none.
fn complaint(
    app: &App<'_>,
    registry: &Registry,
    table: &DeTable<'_>,
    key: &str,
    (message, written): (&str, &str),
) -> Complaint {
    if !wants_choice(message) {
        return Complaint::new(message, written);
    }
    let mut asking = table.clone();
    if let Some(value) = asking.get_mut(key) {
        *value.get_mut() = DeValue::String("".into());
    }
    let whole = Spanned::new(app.header.clone(), DeValue::Table(asking));
    let answer = registry.read(app.class, ValueDeserializer::from(whole)).and_then(Result::err);
    let answer = answer.map(|error| error.message().to_owned()).filter(|answer| !wants_choice(answer));
    let Complaint { rest, label, .. } =
        Complaint::new(answer.as_deref().unwrap_or("invalid type: map, expected a string"), written);
    let begin = rest.rfind(", not ").unwrap_or(rest.len());
    Complaint { rest: format!("{}, not {}", &rest[..begin], shown(written)), label, help: None }
}
