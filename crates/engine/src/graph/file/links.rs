//! The links of a graph's text: each is checked alone, so that one that is wrong hides no other.

use super::problem::{GraphCode, GraphFileError, Problems, shown};
use crate::app::Direction;
use crate::config::ClassInfo;
use crate::graph::{GraphError, Link, Port, similar_of};
use std::collections::BTreeMap;
use std::ops::Range;

/// The apps that the text names: their classes, where these are known.
pub(super) type Apps = BTreeMap<String, Option<ClassInfo>>;

/// Checks one link after the other.
pub(super) struct Links<'a> {
    text: &'a str,
    apps: &'a Apps,
    /// Where a port was linked first.
    from: BTreeMap<Port, Range<usize>>,
    to: BTreeMap<Port, Range<usize>>,
}

impl<'a> Links<'a> {
    pub(super) fn new(text: &'a str, apps: &'a Apps) -> Self {
        Links { text, apps, from: BTreeMap::new(), to: BTreeMap::new() }
    }

    /// The link that the text `link` at `span` means; `None` if it is wrong, which is then reported.
    pub(super) fn check(
        &mut self,
        link: &str,
        span: Range<usize>,
        problems: &mut Problems<'_>,
    ) -> Option<Link> {
        let parsed: Link = match link.parse() {
            Ok(parsed) => parsed,
            Err(error) => {
                problems.add(|| bad_link(link, span, &error));
                return None;
            }
        };
        let place = Place::new(self.text, link, span);
        let from = self.end(&parsed.from, Direction::Output, place.of_first(&parsed.from), problems);
        let to = self.end(&parsed.to, Direction::Input, place.of_last(&parsed.to), problems);
        (from && to).then_some(parsed)
    }

    /// Whether any link that is right so far begins or ends at an app.
    pub(super) fn touch(&self, app: &str) -> bool {
        let first = Port { app: app.to_owned(), port: String::new() };
        let in_map =
            |map: &BTreeMap<Port, _>| map.range(&first..).next().is_some_and(|(port, _)| port.app == app);
        in_map(&self.from) || in_map(&self.to)
    }

    fn end(
        &mut self,
        port: &Port,
        direction: Direction,
        place: Range<usize>,
        problems: &mut Problems<'_>,
    ) -> bool {
        let Some(class) = self.apps.get(&port.app) else {
            problems.add(|| self.unknown_app(&port.app, place));
            return false;
        };
        let seen = match direction {
            Direction::Input => &mut self.to,
            Direction::Output => &mut self.from,
        };
        if let Some(first) = seen.get(port) {
            problems.add(|| twice(port, direction, place, first.clone()));
            return false;
        }
        seen.insert(port.clone(), place.clone());
        let Some(class) = class else { return false };
        let known = class.ports(direction).allow(&port.port);
        if !known {
            problems.add(|| unknown_port(port, direction, class, place));
        }
        known
    }

    fn unknown_app(&self, name: &str, place: Range<usize>) -> GraphFileError {
        let problem = GraphFileError::new(GraphCode::UnknownApp, place, format!("no app is called `{name}`"));
        let problem = problem.of(name, None);
        match similar_of(name, self.apps.keys().map(String::as_str)) {
            Some(similar) => problem.help(format!("did you mean `{similar}`?")),
            None => problem.help(format!("add an app: [app.{name}]")),
        }
    }
}

fn bad_link(link: &str, span: Range<usize>, error: &GraphError) -> GraphFileError {
    match error {
        GraphError::BadName { .. } => GraphFileError::new(GraphCode::BadName, span, error.to_string()),
        _ => GraphFileError::new(GraphCode::BadLink, span, format!("`{}` is no link", shown(link)))
            .label("expected \"app.port -> app.port\""),
    }
}

fn twice(port: &Port, direction: Direction, place: Range<usize>, first: Range<usize>) -> GraphFileError {
    let message = format!("two links {} `{port}`", direction.verb());
    GraphFileError::new(GraphCode::PortTwice, place, message)
        .also(first, "the first is here")
        .help(direction.remedy())
        .of(&port.app, Some(&port.port))
}

fn unknown_port(port: &Port, direction: Direction, class: &ClassInfo, place: Range<usize>) -> GraphFileError {
    let (ports, other) = (class.ports(direction), direction.other());
    let Port { app, port: name } = port;
    let message = format!("app `{app}` is a `{}`, which has no {direction} `{name}`", class.name);
    let problem = GraphFileError::new(GraphCode::UnknownPort, place, message)
        .label(format!("its {direction}s: {ports}"))
        .of(app, Some(name));
    match similar_of(name, ports.names().iter().copied()) {
        Some(similar) => problem.help(format!("did you mean `{app}.{similar}`?")),
        None if class.ports(other).allow(name) => {
            problem.help(format!("`{name}` is an {other}: links lead from outputs to inputs"))
        }
        None => problem,
    }
}

/// The place of a link, and of its parts, if the string has no escapes.
struct Place<'a> {
    link: &'a str,
    span: Range<usize>,
    /// Where the characters of the string begin.
    inside: Option<usize>,
}

impl<'a> Place<'a> {
    fn new(text: &str, link: &'a str, span: Range<usize>) -> Self {
        let written = text.get(span.clone()).unwrap_or_default();
        let quoted = written.len() == link.len() + 2 && written.get(1..=link.len()) == Some(link);
        Place { link, inside: quoted.then_some(span.start + 1), span }
    }

    fn of_first(&self, port: &Port) -> Range<usize> {
        self.part(self.link.find(&port.to_string()), port)
    }

    fn of_last(&self, port: &Port) -> Range<usize> {
        self.part(self.link.rfind(&port.to_string()), port)
    }

    fn part(&self, at: Option<usize>, port: &Port) -> Range<usize> {
        let len = port.app.len() + 1 + port.port.len();
        match (self.inside, at) {
            (Some(inside), Some(at)) => inside + at..inside + at + len,
            _ => self.span.clone(),
        }
    }
}
