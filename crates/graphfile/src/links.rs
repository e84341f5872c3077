//! The links of a graph's text: each is checked alone, so that one that is wrong hides no other.

use super::problem::{GraphCode, GraphFileError, Problems, shown};
use crate::similar::similar;
use engine::{ClassInfo, Direction, GraphError, Link, Port};
use std::collections::BTreeMap;
use std::ops::Range;

/// The apps that the text names: their classes, where these are known.
pub(super) type Apps = BTreeMap<String, Option<ClassInfo>>;

/// Words between apps that are written in the place of an arrow.
const JOINTS: [&str; 3] = ["to", "into", "and"];

/// As many links are proposed for one text.
const MEANT_MAX: usize = 5;

/// Whether names of apps and ports are made of such.
fn is_of_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

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
                problems.add(|| self.bad_link(link, span, &error));
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

    fn bad_link(&self, link: &str, span: Range<usize>, error: &GraphError) -> GraphFileError {
        if let GraphError::BadAppName(_) | GraphError::BadPortName(_) = error {
            return GraphFileError::new(GraphCode::BadName, span, error.to_string());
        }
        let what = format!("`{}` is no link", shown(link));
        let problem =
            GraphFileError::new(GraphCode::BadLink, span, what).label("expected \"app.port -> app.port\"");
        match self.meant(link).as_deref() {
            Some([one]) => problem.help(format!("did you mean \"{one}\"?")),
            Some(links) => {
                let links: Vec<String> = links.iter().map(|link| format!("\"{link}\"")).collect();
                problem.help(format!("each link is a text of its own: {}", links.join(", ")))
            }
            None => problem.help("write it as \"app.output -> app.input\""),
        }
    }

    /// The links that a text means which has apps of this graph in it, joined by any sign or word: a chain of them, each with its port
    /// unless it has only one.
    fn meant(&self, link: &str) -> Option<Vec<String>> {
        let is_backward = link.contains("<-");
        let words = link.split(|c: char| !(is_of_name(c) || c == '.'));
        let ends = words.filter(|end| !end.is_empty() && !JOINTS.contains(end));
        let mut ends: Vec<&str> = ends.take(MEANT_MAX + 2).collect();
        if is_backward {
            ends.reverse();
        }
        let links: Option<Vec<String>> = ends.windows(2).map(|pair| self.link(pair[0], pair[1])).collect();
        links.filter(|links| (1..=MEANT_MAX).contains(&links.len()))
    }

    fn link(&self, from: &str, to: &str) -> Option<String> {
        let [from, to] = [(from, Direction::Output), (to, Direction::Input)]
            .map(|(end, direction)| self.port(end, direction));
        Some(format!("{} -> {}", from?, to?)).filter(|link| link.parse::<Link>().is_ok())
    }

    /// `app.port`, or the app alone, if it has but one port.
    fn port(&self, end: &str, direction: Direction) -> Option<String> {
        let (app, port) = end.split_once('.').map_or((end, None), |(app, port)| (app, Some(port)));
        let class = self.apps.get(app)?.as_ref()?;
        match (port, &*class.ports(direction).names()) {
            (Some(port), _) if class.ports(direction).allow(port) => Some(end.to_owned()),
            // In the middle of a chain, an app has the port of one side only.
            (_, [only]) => Some(format!("{app}.{only}")),
            _ => None,
        }
    }

    fn unknown_app(&self, name: &str, place: Range<usize>) -> GraphFileError {
        let problem = GraphFileError::new(GraphCode::UnknownApp, place, format!("no app is called `{name}`"));
        let problem = problem.of(name, None);
        match similar(name, self.apps.keys().map(String::as_str)) {
            Some(similar) => problem.help(format!("did you mean `{similar}`?")),
            None => problem.help(format!("add an app: [app.{name}]")),
        }
    }
}

fn twice(port: &Port, direction: Direction, place: Range<usize>, first: Range<usize>) -> GraphFileError {
    let (verb, remedy) = match direction {
        Direction::Input => ("reach", "put a `join` between, which merges them"),
        Direction::Output => ("leave", "put a `tee` between to send copies to both"),
    };
    GraphFileError::new(GraphCode::PortTwice, place, format!("two links {verb} `{port}`"))
        .also(first, "the first is here")
        .help(remedy)
        .of(&port.app, Some(&port.port))
}

fn unknown_port(port: &Port, direction: Direction, class: &ClassInfo, place: Range<usize>) -> GraphFileError {
    let (ports, other) = (class.ports(direction), direction.other());
    let Port { app, port: name } = port;
    let message = format!("app `{app}` is a `{}`, which has no {direction} `{name}`", class.name);
    let problem = GraphFileError::new(GraphCode::UnknownPort, place, message)
        .label(format!("its {direction}s: {ports}"))
        .of(app, Some(name));
    match similar(name, ports.names().into_iter()) {
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
