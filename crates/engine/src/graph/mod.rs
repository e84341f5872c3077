//! A graph: which apps there are, and which links between them. A plain value; nothing runs yet.

mod conflicts;
mod order;

pub use conflicts::Conflict;
pub(crate) use conflicts::conflict_in_change;
pub(crate) use order::breathing_order;

use crate::app::{Class, ClassInfo, Direction, PortNames};
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
/// assert_eq!(error.to_string(), "no app is called `rigth`");
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
    /// A name of an app that is none.
    #[error("`{0}` is no name for an app: use 1 to {NAME_MAX} letters, digits and underscores")]
    BadAppName(String),
    /// A name of a port that is none.
    #[error("`{0}` is no name for a port: use 1 to {NAME_MAX} letters, digits and underscores")]
    BadPortName(String),
    /// A link that is not written as one.
    #[error("`{0}` is no link; write it as \"app.port -> app.port\"")]
    BadLink(String),
    /// Two apps of one name.
    #[error("two apps are called `{0}`")]
    AppTwice(String),
    /// Two links at one port.
    #[error("two links at {direction} `{port}`")]
    PortTwice {
        /// Whether it is an input or an output.
        direction: Direction,
        /// The port, with its app.
        port: Port,
    },
    /// A link to nowhere.
    #[error("no app is called `{0}`")]
    NoApp(String),
    /// A port that the class has not.
    #[error("`{}` is a `{}`, which has no {direction} `{}`; its {direction}s: {}", .port.app, .class.name, .port.port,
        .class.ports(*.direction))]
    NoPort {
        /// The port, with its app.
        port: Port,
        /// The class of the app.
        class: Box<ClassInfo>,
        /// Whether it should be an input or an output.
        direction: Direction,
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
        if !is_name(name, NAME_MAX) {
            return Err(GraphError::BadAppName(name.to_owned()));
        }
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
        self.connect(link.parse()?)
    }

    /// Adds a link. Both apps must be there.
    ///
    /// # Errors
    /// As for [`Graph::link`].
    pub fn connect(&mut self, link: Link) -> Result<(), GraphError> {
        self.check_port(&link.from, Direction::Output)?;
        self.check_port(&link.to, Direction::Input)?;
        if self.has_link_from(&link.from) {
            return Err(GraphError::PortTwice { direction: Direction::Output, port: link.from });
        }
        if self.by_input.contains_key(&link.to) {
            return Err(GraphError::PortTwice { direction: Direction::Input, port: link.to });
        }
        self.by_input.insert(link.to.clone(), link.clone());
        self.links.insert(link);
        Ok(())
    }

    fn has_link_from(&self, port: &Port) -> bool {
        self.links.range(first_link(port)..).next().is_some_and(|link| link.from == *port)
    }

    fn check_port(&self, port: &Port, direction: Direction) -> Result<(), GraphError> {
        let app = self.apps.get(&port.app).ok_or_else(|| GraphError::NoApp(port.app.clone()))?;
        let class = app.config.class();
        if class.ports(direction).allow(&port.port) {
            return Ok(());
        }
        Err(GraphError::NoPort { port: port.clone(), class: class.into(), direction })
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
    pub fn linked_ports(&self, app: &str) -> PortNames<'_> {
        PortNames {
            inputs: self.links_to(app).map(|link| link.to.port.as_str()).collect(),
            outputs: self.links_from(app).map(|link| link.from.port.as_str()).collect(),
        }
    }

    /// Apps that want for themselves something outside the graph which another uses as well ([`Class::uses`]).
    pub fn conflicts(&self) -> Vec<Conflict> {
        conflicts::conflicts(self)
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
            if !is_name(&end.app, NAME_MAX) {
                return Err(GraphError::BadAppName(end.app.clone()));
            }
            if !is_name(&end.port, NAME_MAX) {
                return Err(GraphError::BadPortName(end.port.clone()));
            }
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
