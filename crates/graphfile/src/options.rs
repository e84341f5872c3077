//! The options of an app: from a TOML table to a [`Config`].

use super::complaint::Complaint;
use super::problem::{GraphCode, GraphFileError, Problems, shown};
use super::value;
use crate::similar::similar;
use engine::{
    Config, Fault, OptionError, OptionValue, OptionWarning, ReadError, ReadErrorKind, Registry, Step,
};
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
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

/// Options that were read, as far as they were right.
pub(super) struct ReadOptions {
    pub(super) config: Config,
    /// Options that were not right, which are told: `config` is without them.
    wrong: BTreeSet<String>,
}

impl ReadOptions {
    /// The options, if all were right.
    pub(super) fn whole(self) -> Option<Config> {
        self.is_whole().then_some(self.config)
    }

    pub(super) fn is_whole(&self) -> bool {
        self.wrong.is_empty()
    }

    /// Whether what a class says of `config` may only follow from what was wrong and is told: it is about an option that was, or names one.
    pub(super) fn explains(&self, error: &OptionError) -> bool {
        let option = error.option.as_deref().and_then(|option| option.split(['.', '[']).next());
        let names = |wrong: &String| error.message.contains(&format!("`{wrong}`"));
        self.wrong.iter().any(|wrong| option == Some(wrong) || names(wrong))
    }
}

/// Reads the options of an app, and tells all that are wrong; `None` if one that must be set is not among those that are right.
pub(super) fn read(
    app: &App<'_>,
    registry: &Registry,
    mut table: DeTable<'_>,
    problems: &mut Problems<'_>,
) -> Option<ReadOptions> {
    let mut wrong = BTreeSet::new();
    if let Some(options) = registry.option_names(app.class) {
        let strange: DeTable<'_>;
        (table, strange) =
            table.into_iter().partition(|(key, _)| options.iter().any(|option| option == key.get_ref()));
        for key in strange.keys() {
            problems.add(|| unknown(app, key.get_ref(), key.span(), options));
            let meant = similar(key.get_ref(), options.iter().map(|option| &**option));
            wrong.insert(meant.unwrap_or(key.get_ref()).to_owned());
        }
    }
    let mut gone: Vec<Vec<Step>> = Vec::new();
    let mut values = BTreeMap::new();
    for (key, written) in &table {
        let key = key.get_ref().to_string();
        match value::value(written) {
            Ok(value) => _ = values.insert(key, value),
            Err((span, message)) => {
                let complaint = Complaint::new(&ReadErrorKind::Other(message.to_owned()), "");
                problems.add(|| wrong_type(app, path_at(app, &key, &span), span, complaint));
                wrong.insert(key.clone());
                gone.push(vec![Step::Name(key)]);
            }
        }
    }
    let mut remaining = Remaining { values: OptionValue::Table(values), gone };
    // The reader stops at the first value it does not like: each round is told of one, and reads on without it.
    for _ in 0..ROUNDS_MAX {
        let error = match registry.read(app.class, &remaining.values)? {
            Ok(config) => return Some(ReadOptions { config, wrong }),
            Err(error) => error,
        };
        let path = remaining.in_text(error.path.steps());
        let is_told = remaining.explains(&path, &error.kind);
        let Some(Step::Name(key)) = path.first() else {
            if !is_told {
                problems.add(|| whole_table(app, &error.kind));
            }
            return None;
        };
        if !is_told {
            problems.add(|| wrong_value(app, &table, key, (&path, &error.kind)));
        }
        wrong.insert(key.clone());
        // An option that is not there cannot be wrong: a class that says so says it again.
        if !remaining.take_out(&error) {
            return None;
        }
    }
    None
}

/// Values of one app that are told, before the others go unread: each costs a round.
const ROUNDS_MAX: usize = 200;

/// The options of an app without those values that were wrong.
struct Remaining {
    values: OptionValue,
    /// Where those were in the text.
    gone: Vec<Vec<Step>>,
}

impl Remaining {
    /// Where a value is in the text: items of a list stand behind those of it that are gone.
    fn in_text(&self, path: &[Step]) -> Vec<Step> {
        let mut steps: Vec<Step> = Vec::new();
        for step in path {
            let step = match step {
                Step::Index(index) => {
                    let before = self.gone.iter().filter_map(|gone| match gone.split_last()? {
                        (Step::Index(index), list) if *list == *steps => Some(*index),
                        _ => None,
                    });
                    let before: BTreeSet<usize> = before.collect();
                    Step::Index(before.iter().fold(*index, |index, &gone| index + usize::from(gone <= index)))
                }
                Step::Name(_) => step.clone(),
            };
            steps.push(step);
        }
        steps
    }

    /// Whether an error about the value at a place in the text only follows from what is gone: a table lacks what was taken out of it, or
    /// what that should have been.
    fn explains(&self, path: &[Step], kind: &ReadErrorKind) -> bool {
        let ReadErrorKind::Missing(name) = kind else { return false };
        self.gone.iter().any(|gone| match gone.split_last() {
            Some((Step::Name(was), table)) => *table == *path && (was == name || !path.is_empty()),
            _ => false,
        })
    }

    /// Takes out the value that an error is about, or else the least that holds it; false if there is none.
    fn take_out(&mut self, error: &ReadError) -> bool {
        let mut path = error.path.steps().to_vec();
        if let ReadErrorKind::UnknownName { found, .. } = &error.kind {
            path.push(Step::Name(found.clone()));
        }
        while !path.is_empty() {
            let in_text = self.in_text(&path);
            if remove(&mut self.values, &path) {
                self.gone.push(in_text);
                return true;
            }
            path.pop();
        }
        false
    }
}

/// Removes the value at the end of a path; false if it is not there.
fn remove(value: &mut OptionValue, path: &[Step]) -> bool {
    match (value, path) {
        (OptionValue::Table(table), [Step::Name(name)]) => table.remove(name).is_some(),
        (OptionValue::List(items), [Step::Index(index)]) if *index < items.len() => {
            items.remove(*index);
            true
        }
        (OptionValue::Table(table), [Step::Name(name), inside @ ..]) => {
            table.get_mut(name).is_some_and(|value| remove(value, inside))
        }
        (OptionValue::List(items), [Step::Index(index), inside @ ..]) => {
            items.get_mut(*index).is_some_and(|value| remove(value, inside))
        }
        _ => false,
    }
}

/// The error of a class about the value of an option, or about something inside it, at its place.
fn wrong_value(
    app: &App<'_>,
    table: &DeTable<'_>,
    key: &str,
    (path, kind): (&[Step], &ReadErrorKind),
) -> GraphFileError {
    let value = value::at(table, path).or_else(|| table.get(key));
    let name = match (kind, value) {
        (ReadErrorKind::UnknownName { found, .. }, Some(value)) => value::name_in(value.get_ref(), found),
        _ => None,
    };
    let span = name.or_else(|| value.map(Spanned::span)).unwrap_or_else(|| app.header.clone());
    let written = app.text.get(span.clone()).unwrap_or_default();
    wrong_type(app, path_at(app, key, &span), span, Complaint::new(kind, written))
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
