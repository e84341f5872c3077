//! Ports: where links begin and end at an app, which of them a class has, and where its packets go.

use std::fmt;
use std::sync::Arc;

/// Names of the ports of an app, in the order of [`Io::inputs`](super::Io::inputs) and [`Io::outputs`](super::Io::outputs).
#[derive(Clone, Debug, Default)]
pub struct PortNames<'a> {
    /// Of the inputs.
    pub inputs: Vec<&'a str>,
    /// Of the outputs.
    pub outputs: Vec<&'a str>,
}

/// Which way packets go through a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// Into the app.
    Input,
    /// Out of the app.
    Output,
}

impl Direction {
    /// `input` or `output`.
    pub fn name(self) -> &'static str {
        match self {
            Direction::Input => "input",
            Direction::Output => "output",
        }
    }

    /// The other direction.
    #[must_use]
    pub fn other(self) -> Self {
        match self {
            Direction::Input => Direction::Output,
            Direction::Output => Direction::Input,
        }
    }
}

impl fmt::Display for Direction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The ports that a class has.
#[derive(Clone, Debug)]
pub enum Ports {
    /// Those named, and no others. Each can be left without a link.
    Named(&'static [&'static str]),
    /// As [`Ports::Named`], of names that are known at run time only: see [`Ports::listed`].
    Listed(Arc<[String]>),
    /// As many as are linked, of any name.
    Any,
}

impl Ports {
    /// No port.
    pub const NONE: Ports = Ports::Named(&[]);
    /// One, called `input`.
    pub const INPUT: Ports = Ports::Named(&["input"]);
    /// One, called `output`.
    pub const OUTPUT: Ports = Ports::Named(&["output"]);

    /// Ports of names that are known at run time only.
    ///
    /// ```
    /// use engine::Ports;
    ///
    /// let ports = Ports::listed((1..=2).map(|lane| format!("lane{lane}")));
    /// assert_eq!(ports, Ports::Named(&["lane1", "lane2"]));
    /// assert!(ports.allow("lane2") && !ports.allow("lane3"));
    /// ```
    pub fn listed(names: impl IntoIterator<Item = String>) -> Self {
        Ports::Listed(names.into_iter().collect())
    }

    /// The ports that have names of their own.
    pub fn names(&self) -> Vec<&str> {
        match self {
            Ports::Named(names) => names.to_vec(),
            Ports::Listed(names) => names.iter().map(String::as_str).collect(),
            Ports::Any => Vec::new(),
        }
    }

    /// Whether there can be a port of this name.
    pub fn allow(&self, name: &str) -> bool {
        match self {
            Ports::Named(names) => names.contains(&name),
            Ports::Listed(names) => names.iter().any(|port| port == name),
            Ports::Any => true,
        }
    }

    /// Whether ports of any name can be linked.
    pub fn are_any(&self) -> bool {
        matches!(self, Ports::Any)
    }
}

impl PartialEq for Ports {
    fn eq(&self, other: &Self) -> bool {
        self.are_any() == other.are_any() && self.names() == other.names()
    }
}

impl Eq for Ports {}

impl fmt::Display for Ports {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &*self.names() {
            [] if self.are_any() => f.write_str("any"),
            [] => f.write_str("none"),
            names => write!(f, "`{}`", names.join("`, `")),
        }
    }
}

/// Where what comes into an app goes, whatever its options: by this it is known what is odd about ports without links.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Passage {
    /// It leaves by an output, whichever that is.
    Through,
    /// It leaves by an output of another name than the input's, as in a tunnel, which has two sides.
    Across,
    /// It leaves by an output, or ends in the app where none is linked.
    MayEnd,
    /// It goes out into the world, and what comes in from there leaves by the outputs: a device.
    World,
}
