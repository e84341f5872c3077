//! A graph: which apps there are, and which links between them. A plain value; nothing runs yet.

mod conflicts;
mod file;
mod order;

pub(crate) use conflicts::{Conflict, conflict_in_change, conflicts};
pub use file::{GraphCode, GraphFile, GraphFileError, GraphFileErrors};
pub(crate) use order::breathing_order;

use crate::app::{Class, Direction, PortNames, Ports};
use crate::config::Config;
use crate::link::CAPACITY;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::str::FromStr;

/// Which apps there are, with their options, and which links between them.
///
/// ```
/// # use engine::{App, Class, Graph, OptionError, Ports, Setup};
/// # #[derive(Clone, Debug, PartialEq, serde::Deserialize)]
/// # struct Nothing;
/// # impl App for Nothing {}
/// # impl Class for Nothing {
/// #     const TYPE: &'static str = "nothing";
/// #     const INPUTS: Ports = Ports::Any;
/// #     const OUTPUTS: Ports = Ports::Any;
/// #     type App = Self;
/// #     fn start(&self, _: &mut Setup<'_>) -> Result<Self, OptionError> { Ok(Nothing) }
/// # }
/// let mut graph = Graph::new();
/// graph.app("left", Nothing)?;
/// graph.app("right", Nothing)?;
/// graph.link("left.tx -> right.rx")?;
/// assert_eq!(graph.links().next().unwrap().to_string(), "left.tx -> right.rx");
///
/// let error = graph.link("left.tx -> rigth.rx").unwrap_err();
/// assert_eq!(error.to_string(), "no app is called `rigth`; did you mean `right`?");
/// # Ok::<(), engine::GraphError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Graph {
    apps: BTreeMap<String, AppSpec>,
    links: BTreeSet<Link>,
    /// All links, by the input where they end.
    by_input: BTreeMap<Port, Link>,
}

/// An app of a graph.
#[derive(Clone, Debug, PartialEq)]
pub struct AppSpec {
    /// Its class and options.
    pub config: Config,
    /// The worker it is to run on; `None` leaves that to the engine.
    pub worker: Option<usize>,
}

/// A link: from an output of one app to an input of another.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Link {
    /// Where it begins.
    pub from: Port,
    /// Where it ends.
    pub to: Port,
}

/// A port of an app.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Port {
    /// The name of the app.
    pub app: String,
    /// The name of the port.
    pub port: String,
}

/// An error in a graph.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum GraphError {
    /// A name that is none.
    #[error("`{name}` is no name for {what}: use 1 to {NAME_MAX} letters, digits and underscores")]
    BadName {
        /// The name.
        name: String,
        /// The kind of thing that it should name.
        what: &'static str,
    },
    /// A link that is not written as one.
    #[error("`{0}` is no link; write it as \"app.port -> app.port\"")]
    BadLink(String),
    /// Two apps of one name.
    #[error("two apps are called `{0}`")]
    AppTwice(String),
    /// Two links at one port.
    #[error("two links {} `{port}`; {}", .direction.verb(), .direction.remedy())]
    PortTwice {
        /// Whether it is an input or an output.
        direction: Direction,
        /// The port, with its app.
        port: String,
    },
    /// A link to nowhere.
    #[error("no app is called `{name}`{}", suggestion(.similar.as_deref()))]
    NoApp {
        /// The name.
        name: String,
        /// A name that there is, and that may have been meant.
        similar: Option<String>,
    },
    /// A port that the class has not.
    #[error("`{app}` is a `{class}`, which has no {direction} `{port}`; its {direction}s: {ports}")]
    NoPort {
        /// The app.
        app: String,
        /// Its class.
        class: &'static str,
        /// The port.
        port: String,
        /// Whether it should be an input or an output.
        direction: Direction,
        /// The ports that there are.
        ports: Ports,
    },
}

/// Longest name of an app or a port, in bytes: two of each fit into the name of a link.
pub const NAME_MAX: usize = 30;

/// Whether a text is a name, as apps, ports and counters have them: 1 to `max` letters, digits and underscores.
///
/// ```
/// assert!(engine::is_name("to_lan2", engine::NAME_MAX));
/// assert!(!engine::is_name("", 8) && !engine::is_name("a.b", 8) && !engine::is_name("too_long_", 8));
/// ```
pub fn is_name(text: &str, max: usize) -> bool {
    (1..=max).contains(&text.len()) && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

fn suggestion(similar: Option<&str>) -> String {
    similar.map_or(String::new(), |name| format!("; did you mean `{name}`?"))
}

impl Graph {
    /// A graph without apps.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds an app.
    ///
    /// # Errors
    /// If the name is taken or is none.
    pub fn app(&mut self, name: &str, class: impl Class) -> Result<&mut AppSpec, GraphError> {
        self.add(name, Config::new(class))
    }

    /// Adds an app whose class is not known here.
    ///
    /// # Errors
    /// As for [`Graph::app`].
    pub fn add(&mut self, name: &str, config: Config) -> Result<&mut AppSpec, GraphError> {
        check_name(name, "an app")?;
        if self.apps.contains_key(name) {
            return Err(GraphError::AppTwice(name.to_owned()));
        }
        Ok(self.apps.entry(name.to_owned()).or_insert(AppSpec { config, worker: None }))
    }

    /// Adds a link, written `"app.port -> app.port"`. Both apps must be there.
    ///
    /// # Errors
    /// If the text is not a link, an app or port does not exist, or the port has a link already.
    pub fn link(&mut self, link: &str) -> Result<(), GraphError> {
        let link: Link = link.parse()?;
        self.check_port(&link.from, Direction::Output)?;
        self.check_port(&link.to, Direction::Input)?;
        if self.has_link_from(&link.from) {
            return Err(GraphError::PortTwice { direction: Direction::Output, port: link.from.to_string() });
        }
        if self.by_input.contains_key(&link.to) {
            return Err(GraphError::PortTwice { direction: Direction::Input, port: link.to.to_string() });
        }
        self.insert(link);
        Ok(())
    }

    /// Adds a link that has been checked.
    fn insert(&mut self, link: Link) {
        self.by_input.insert(link.to.clone(), link.clone());
        self.links.insert(link);
    }

    fn has_link_from(&self, port: &Port) -> bool {
        self.links.range(first_link(port)..).next().is_some_and(|link| link.from == *port)
    }

    fn check_port(&self, port: &Port, direction: Direction) -> Result<(), GraphError> {
        let Some(app) = self.apps.get(&port.app) else {
            let similar = similar(&port.app, self.apps.keys());
            return Err(GraphError::NoApp { name: port.app.clone(), similar });
        };
        let class = app.config.class();
        let ports = class.ports(direction);
        if ports.allow(&port.port) {
            return Ok(());
        }
        let (app, port) = (port.app.clone(), port.port.clone());
        Err(GraphError::NoPort { app, class: class.name, port, direction, ports })
    }

    /// The apps, by name.
    pub fn apps(&self) -> impl ExactSizeIterator<Item = (&str, &AppSpec)> {
        self.apps.iter().map(|(name, app)| (name.as_str(), app))
    }

    /// The app of a name.
    pub fn get(&self, name: &str) -> Option<&AppSpec> {
        self.apps.get(name)
    }

    /// The app of a name, to change.
    pub fn get_mut(&mut self, name: &str) -> Option<&mut AppSpec> {
        self.apps.get_mut(name)
    }

    /// The links, sorted.
    pub fn links(&self) -> impl ExactSizeIterator<Item = &Link> {
        self.links.iter()
    }

    /// How many packets its links hold when all are full.
    ///
    /// A pool should have more than those: an app that does not read its input would else take the packets of all others.
    pub fn link_capacity(&self) -> usize {
        self.links.len() * CAPACITY
    }

    /// The links that leave an app, sorted.
    pub fn links_from(&self, app: &str) -> impl Iterator<Item = &Link> {
        self.links.range(first_link(&first_port(app))..).take_while(move |link| link.from.app == app)
    }

    /// The links that reach an app, sorted by its ports.
    pub fn links_to(&self, app: &str) -> impl Iterator<Item = &Link> {
        self.by_input
            .range(first_port(app)..)
            .map(|(_, link)| link)
            .take_while(move |link| link.to.app == app)
    }

    /// The ports of an app that have links, sorted.
    pub(crate) fn linked_ports(&self, app: &str) -> PortNames<'_> {
        PortNames {
            inputs: self.links_to(app).map(|link| link.to.port.as_str()).collect(),
            outputs: self.links_from(app).map(|link| link.from.port.as_str()).collect(),
        }
    }

    pub(crate) fn has_link(&self, link: &Link) -> bool {
        self.links.contains(link)
    }
}

/// A port that comes before all ports of an app in their order: no port has an empty name.
fn first_port(app: &str) -> Port {
    Port { app: app.to_owned(), port: String::new() }
}

/// A link that comes before the link of an output in their order.
fn first_link(from: &Port) -> Link {
    Link { from: from.clone(), to: first_port("") }
}

/// The name among `names` that differs least from `name`, if it differs little.
pub(crate) fn similar<'a>(name: &str, names: impl Iterator<Item = &'a String>) -> Option<String> {
    similar_of(name, names.map(String::as_str)).map(str::to_owned)
}

/// As [`similar`]. A name much longer than any is like none.
fn similar_of<'a>(name: &str, names: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let names = names.filter(|other| name.len() <= 2 * NAME_MAX && other.len() <= 2 * NAME_MAX);
    names
        .map(|other| (distance(name, other), other))
        .filter(|&(distance, other)| distance <= 1 + name.len() / 3 && distance < name.len().max(other.len()))
        .min()
        .map(|(_, other)| other)
}

/// How many letters must be added, left out or replaced (Levenshtein).
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], i + 1);
        for (j, &y) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(x != y);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}

fn check_name(name: &str, what: &'static str) -> Result<(), GraphError> {
    if is_name(name, NAME_MAX) { Ok(()) } else { Err(GraphError::BadName { name: name.to_owned(), what }) }
}

impl FromStr for Link {
    type Err = GraphError;

    fn from_str(text: &str) -> Result<Self, GraphError> {
        let port = |text: &str| {
            let (app, port) = text.trim().split_once('.')?;
            Some(Port { app: app.to_owned(), port: port.to_owned() })
        };
        let (from, to) = text
            .split_once("->")
            .and_then(|(from, to)| Some((port(from)?, port(to)?)))
            .ok_or_else(|| GraphError::BadLink(text.to_owned()))?;
        for end in [&from, &to] {
            check_name(&end.app, "an app")?;
            check_name(&end.port, "a port")?;
        }
        Ok(Link { from, to })
    }
}

impl fmt::Display for Port {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.app, self.port)
    }
}

impl fmt::Display for Link {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} -> {}", self.from, self.to)
    }
}
