//! What is said about graphs on standard error: in words with carets, or as JSON.

use super::reread::{UntoldChange, stood_still_in_words};
use super::source::Source;
use crate::blame::Blame;
use crate::escape::shown;
use crate::exit::Failure;
use crate::json::value_of;
use crate::message::Message;
use crate::missing;
use crate::plural::{self, counted};
use crate::terminal::Terminal;
use crate::unwritable;
use capture::NoFolder;
use engine::{Changes, ConfigureError, Graph, Link, Pool, Settings};
use graphfile::{GraphCode, GraphFile, GraphFileError, GraphFileErrors};
use pflang::{Finding, Severity, Span};
use serde_json::{Value, json};
use std::ops::Range;
use std::path::Path;
use std::time::Duration;

/// Packets beside those that links and limits need: what apps have in hand during a breath.
const LEFT_FOR_OTHERS: usize = 1024;

/// Says things about one graph.
#[derive(Clone, Debug)]
pub(super) struct Teller<'a> {
    pub(super) graph: String,
    pub(super) terminal: &'a Terminal,
}

impl<'a> Teller<'a> {
    pub(super) fn new(source: &Source, terminal: &'a Terminal) -> Self {
        Teller { graph: source.name(), terminal }
    }

    /// A text that is no graph, and what that has led to.
    pub(super) fn wrong(&self, errors: &GraphFileErrors, text: &str, outcome: &str) -> Failure {
        let told: Vec<GraphFileError> = errors.0.iter().cloned().map(with_command).collect();
        let findings: Vec<(&GraphFileError, &str)> = told.iter().map(|error| (error, text)).collect();
        let untold = errors.untold();
        let count = errors.0.iter().filter(|error| !error.code.is_warning()).count() + untold;
        let are = plural::choose(untold as u64, "is", "are");
        let more = if untold > 0 { format!(", of which {untold} {are} not shown") } else { String::new() };
        let count = counted(count as u64, "error");
        self.failure(&findings, untold, &format!("{count}{more}; {outcome}"))
    }

    /// A graph that was not taken on.
    pub(super) fn refused(&self, file: &GraphFile, error: &ConfigureError, outcome: &str) -> Failure {
        let ConfigureError::App { app, error, .. } = error else {
            return Failure::world(format!("{}: {error}; {outcome}", self.graph));
        };
        let explain = |error| with_path(file.explain(app, error), file.text());
        let problems: Vec<GraphFileError> = error.each().map(explain).collect();
        let findings: Vec<_> = problems.iter().map(|problem| (problem, file.text())).collect();
        self.failure(&findings, 0, outcome)
    }

    /// What was found, how many errors more there are, and what comes of it.
    fn failure(&self, findings: &[(&GraphFileError, &str)], untold: usize, outcome: &str) -> Failure {
        let last = format!("error: {}: {outcome}", shown(&self.graph));
        let text = self.rendered(findings).into_iter().chain([last]).collect::<Vec<_>>().join("\n\n");
        let mut object = self.object("error", "errors", findings);
        object["not_shown"] = untold.into();
        let message = Message::found(text, object);
        Failure { message, blame: blame(findings.iter().map(|(error, _)| error.code)) }
    }

    /// What is odd about a graph that is about to run. If something is missing, that is told by whoever needs it.
    pub(super) fn warn(&self, file: &GraphFile) {
        self.warn_of(file, |warning| warning.code != GraphCode::Absent);
    }

    /// The same of a graph that is only looked at.
    pub(super) fn warn_of_all(&self, file: &GraphFile) {
        self.warn_of(file, |_| true);
    }

    fn warn_of(&self, file: &GraphFile, is_told: impl Fn(&GraphFileError) -> bool) {
        let told = file.warnings.iter().filter(|warning| is_told(warning));
        let told: Vec<GraphFileError> = told.map(|warning| with_path(warning.clone(), file.text())).collect();
        let findings: Vec<_> = told.iter().map(|warning| (warning, file.text())).collect();
        if findings.is_empty() {
            return;
        }
        let text = self.rendered(&findings).join("\n\n");
        self.terminal.tell(&Message::found(text, self.object("warning", "warnings", &findings)));
    }

    /// That links, or apps within their limits, can take all packets of a pool, if they can.
    pub(super) fn pool_warnings(&self, graph: &Graph, packets: usize) -> Vec<Message> {
        self.links_beyond_pool(graph, packets)
            .into_iter()
            .chain(self.limits_beyond_pool(graph, packets))
            .collect()
    }

    fn links_beyond_pool(&self, graph: &Graph, packets: usize) -> Option<Message> {
        let capacity = graph.link_capacity();
        if capacity < packets {
            return None;
        }
        let (links, packets) = (graph.links().len() as u64, counted(packets as u64, "packet"));
        let better = Settings::packets_for(graph);
        let remedy = match better > capacity {
            true => format!("`--packets {better}` is enough"),
            false => format!("more than {better} are not possible"),
        };
        let links = counted(links, "link");
        let warning = format_args!(
            "{}: {links} can hold {capacity} packets, and a pool has {packets}: while links are full, apps get none; {remedy}",
            self.graph
        );
        Some(Message::warning(warning))
    }

    fn limits_beyond_pool(&self, graph: &Graph, packets: usize) -> Option<Message> {
        let needs: Vec<(&str, usize)> = graph
            .apps()
            .map(|(name, app)| (name, app.config.needs_packets()))
            .filter(|&(_, needed)| needed > 0)
            .collect();
        let needed: usize = needs.iter().map(|&(_, needed)| needed).sum();
        if needed < packets {
            return None;
        }
        let apps: Vec<String> = needs.iter().map(|(name, needed)| format!("`{name}` {needed}")).collect();
        let better = graph.link_capacity() + needed + LEFT_FOR_OTHERS;
        let remedy = match better <= Pool::MAX_PACKETS {
            true => format!("`--packets {better}` is enough"),
            false => format!("more than {} are not possible, so give it lower limits", Pool::MAX_PACKETS),
        };
        let warning = format_args!(
            "{}: the limits of apps need {needed} packets ({}), and a pool has {}: before they are reached, apps get none; {remedy}",
            self.graph,
            apps.join(", "),
            counted(packets as u64, "packet")
        );
        Some(Message::warning(warning))
    }

    /// That a graph which is no file does not change.
    pub(super) fn read_once(&self) {
        let note =
            format_args!("{}: what is not a file is read once; what runs goes on unchanged", self.graph);
        self.terminal.tell(&Message::note(note));
    }

    /// That the graph does not change while packets are followed.
    pub(super) fn is_followed(&self) {
        let note = format_args!("{}: packets are followed; what runs goes on unchanged", self.graph);
        self.terminal.tell(&Message::note(note));
    }

    /// What another graph has changed: for standard output where that is JSON, else for standard error.
    pub(super) fn changes(&self, change: &UntoldChange, stood_still: Option<Duration>) -> String {
        let UntoldChange { file, changes } = change;
        let failed = changes.failed.iter().map(|(app, error)| file.explain(app, error));
        let failed: Vec<GraphFileError> = failed.collect();
        let findings: Vec<_> = failed.iter().map(|problem| (problem, file.text())).collect();
        if self.terminal.json {
            return self.changes_object(changes, stood_still, &findings).to_string();
        }
        let lists = lists(changes);
        let stood_still = stood_still_in_words(stood_still);
        let mut lines = vec![format!("{}: {}{stood_still}", shown(&self.graph), in_short(changes))];
        lines.extend(lists.iter().filter(|(_, names)| !names.is_empty()).map(|(what, names)| {
            let separator = if what.ends_with("linked") { "\n               " } else { ", " };
            format!("  {what:<12} {}", names.join(separator))
        }));
        lines.extend(changes.reports.iter().map(|(app, last)| format!("  {app}: {}", last.text)));
        lines.extend(self.rendered(&findings));
        let failed = changes.failed.iter();
        lines.extend(failed.map(|(app, _)| format!("error: app `{app}` {}", fate(app, changes))));
        lines.join("\n")
    }

    fn changes_object(
        &self,
        changes: &Changes,
        stood_still: Option<Duration>,
        failed: &[(&GraphFileError, &str)],
    ) -> Value {
        let mut object = json!({ "v": 1, "type": "reload", "graph": self.graph });
        for (what, names) in lists(changes) {
            object[what] = names.into();
        }
        object["stood_still_us"] = stood_still.map(|time| time.as_micros() as u64).into();
        object["complete"] = changes.failed.is_empty().into();
        object["down"] = changes.down.clone().into();
        object["failed"] = failed.iter().map(|(problem, _)| problem_object(problem)).collect();
        object
    }

    fn rendered(&self, findings: &[(&GraphFileError, &str)]) -> Vec<String> {
        let colour = self.terminal.colour_stderr;
        findings.iter().map(|(problem, text)| rendered(problem, text, colour)).collect()
    }

    fn object(&self, kind: &str, key: &str, findings: &[(&GraphFileError, &str)]) -> Value {
        let problems: Vec<Value> = findings.iter().map(|(problem, _)| problem_object(problem)).collect();
        json!({ "v": 1, "type": kind, "graph": self.graph, key: problems })
    }
}

/// An unknown type, with the command that tells of all.
fn with_command(mut problem: GraphFileError) -> GraphFileError {
    if problem.code == GraphCode::UnknownType {
        const COMMAND: &str = "`sluss apps` tells what each type does";
        let help = problem.help.take().map_or(COMMAND.to_owned(), |help| {
            let separator = if help.ends_with('?') { " " } else { "; " };
            format!("{help}{separator}{COMMAND}")
        });
        problem.help = Some(help);
    }
    problem
}

/// A file that is not there, or cannot be made: with what there is in its place, or what to do.
fn with_path(mut problem: GraphFileError, text: &str) -> GraphFileError {
    let is_of_file = matches!(problem.code, GraphCode::Refused | GraphCode::Absent)
        && matches!(problem.key.as_deref(), Some("path" | "routes_file"));
    let written = text.get(problem.span.clone()).filter(|_| is_of_file && problem.help.is_none());
    // As it is written, without its quotes; one with escapes is left alone.
    let path = written.map(|written| written.trim_matches(['"', '\''])).filter(|path| !path.contains('\\'));
    if let Some(path) = path.map(Path::new).filter(|path| !path.exists()) {
        // What is said of the folder is said of a file that is to be made.
        problem.help =
            match NoFolder::around(path).filter(|lacking| problem.message.ends_with(&lacking.to_string())) {
                Some(lacking) => Some(unwritable::in_place_of(&lacking)),
                None => missing::help(path),
            };
    }
    problem
}

/// Whose fault it is that there are errors of these codes: the user's, if one is, else that of whom to ask first.
fn blame(codes: impl Iterator<Item = GraphCode>) -> Blame {
    let blames = codes.filter(|code| !code.is_warning()).map(|code| match code {
        GraphCode::Refused => Blame::World,
        GraphCode::Damaged => Blame::Damage,
        GraphCode::Failed => Blame::Internal,
        _ => Blame::User,
    });
    let by_rank = [Blame::User, Blame::Internal, Blame::World, Blame::Damage];
    let rank = |blame: &Blame| by_rank.iter().position(|ranked| ranked == blame);
    blames.min_by_key(rank).unwrap_or(Blame::User)
}

/// How much of another graph has come to be.
fn in_short(changes: &Changes) -> String {
    let is_unchanged = lists(changes).iter().all(|(_, names)| names.is_empty());
    let refused = counted(changes.failed.len() as u64, "app");
    match (changes.failed.is_empty(), is_unchanged) {
        (true, false) => "reloaded".to_owned(),
        (true, true) => "reloaded, nothing has changed".to_owned(),
        (false, false) => format!("reloaded in part, without the new options of {refused}"),
        (false, true) => format!("not reloaded: {refused} refused, and there was no other change"),
    }
}

/// What becomes of an app that has failed to start.
fn fate(app: &String, changes: &Changes) -> &'static str {
    match (changes.down.contains(app), changes.started.contains(app)) {
        (false, _) => "does not take its new options, and goes on with the old ones",
        (true, false) => {
            "does not take its new options, nor start with the old ones: it is down, and is started with those later"
        }
        (true, true) => "does not start: it is down, and is started again later",
    }
}

/// What has changed, in words, with the names of apps or links.
fn lists(changes: &Changes) -> [(&'static str, Vec<String>); 7] {
    let links = |links: &[Link]| links.iter().map(ToString::to_string).collect();
    [
        ("started", changes.started.clone()),
        ("stopped", changes.stopped.clone()),
        ("reconfigured", changes.reconfigured.clone()),
        ("restarted", changes.restarted.clone()),
        ("moved", changes.moved.clone()),
        ("linked", links(&changes.linked)),
        ("unlinked", links(&changes.unlinked)),
    ]
}

fn rendered(problem: &GraphFileError, text: &str, colour: bool) -> String {
    let rendered = finding(problem).render(text, colour.into());
    match &problem.detail {
        Some(detail) => format!("{rendered}\n{detail}"),
        None => rendered,
    }
}

fn problem_object(problem: &GraphFileError) -> Value {
    let mut object = value_of(&finding(problem).to_json());
    object["line"] = problem.line.into();
    object["column"] = problem.column.into();
    object["app"] = problem.app.clone().into();
    object["key"] = problem.key.clone().into();
    object["detail"] = problem.detail.clone().into();
    object
}

fn finding(problem: &GraphFileError) -> Finding<'_> {
    let span = |range: &Range<usize>| Span::new(range.start as u32, range.end as u32);
    Finding {
        code: problem.code.to_string().into(),
        severity: if problem.code.is_warning() { Severity::Warning } else { Severity::Error },
        message: &problem.message,
        span: span(&problem.span),
        label: problem.label.as_deref(),
        also: problem.also.as_ref().map(|(range, label)| (span(range), label.as_str())),
        help: problem.help.as_deref(),
    }
}

#[cfg(test)]
mod tests {
    use super::{Blame, GraphCode, blame};

    #[test]
    fn the_user_is_to_blame_unless_nothing_of_it_is_the_users() {
        for (codes, whose) in [
            (&[GraphCode::Refused][..], Blame::World),
            (&[GraphCode::NoLink, GraphCode::Refused, GraphCode::Refused], Blame::World),
            (&[GraphCode::Damaged], Blame::Damage),
            (&[GraphCode::Failed], Blame::Internal),
            (&[GraphCode::Refused, GraphCode::OptionValue], Blame::User),
            (&[GraphCode::Damaged, GraphCode::Failed, GraphCode::Refused], Blame::Internal),
            (&[GraphCode::Damaged, GraphCode::Refused], Blame::World),
            (&[GraphCode::BadLink], Blame::User),
        ] {
            assert_eq!(blame(codes.iter().copied()), whose, "{codes:?}");
        }
    }
}
