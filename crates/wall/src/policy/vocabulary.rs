//! What the words of the wall's own come to in a program: numbers that are given with each packet.
//!
//! | input | what it is |
//! |---|---|
//! | `flow_count` | packets of the flow so far |
//! | `wall_app`, `wall_master`, `wall_category`, `wall_confidence` | what the flow speaks |
//! | `wall_state`, `wall_from` | new, established, related or invalid; from the initiator, or not |
//! | `wall_in`, `wall_out` | interfaces, by their place in the policy |
//! | `wall_name` | the domain that the name of the server lies in, see [`DomainTree`] |
//! | `wall_risks0`, `wall_risks1` | what nDPI has found risky about the flow: a bit for each risk, by its number |
//! | `wall_sets0`, … | a bit for each set of domains that the name lies in |
//! | `wall_own0`, … | a bit for each application of the policy's own with a payload that the flow has shown |
//! | `wall_limits0`, … | a bit for each limit that is not exhausted |

use super::limit::Rate;
use super::names::DomainTree;

/// Bits of an input.
const BITS: usize = 32;

/// A number that is given with each packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Input {
    FlowCount,
    App,
    Master,
    Category,
    Confidence,
    State,
    From,
    In,
    Out,
    Name,
    Risks(u32),
    Sets(u32),
    Own(u32),
    Limits(u32),
}

impl Input {
    /// Its name in a program.
    pub(crate) fn name(self) -> String {
        match self {
            Input::FlowCount => "flow_count".to_owned(),
            Input::App => "wall_app".to_owned(),
            Input::Master => "wall_master".to_owned(),
            Input::Category => "wall_category".to_owned(),
            Input::Confidence => "wall_confidence".to_owned(),
            Input::State => "wall_state".to_owned(),
            Input::From => "wall_from".to_owned(),
            Input::In => "wall_in".to_owned(),
            Input::Out => "wall_out".to_owned(),
            Input::Name => "wall_name".to_owned(),
            Input::Risks(word) => format!("wall_risks{word}"),
            Input::Sets(word) => format!("wall_sets{word}"),
            Input::Own(word) => format!("wall_own{word}"),
            Input::Limits(word) => format!("wall_limits{word}"),
        }
    }

    /// Whether it is known without a look at the flow.
    pub(super) fn is_of_packet(self) -> bool {
        matches!(self, Input::In | Input::Out)
    }

    /// Whether it is known only when the flow is identified.
    pub(super) fn is_of_identification(self) -> bool {
        use Input::{App, Category, Confidence, Master, Name, Own, Risks, Sets};
        matches!(self, App | Master | Category | Confidence | Name | Risks(_) | Sets(_) | Own(_))
    }
}

/// A bit of an input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Bit {
    pub(super) word: u32,
    pub(super) mask: u32,
}

impl Bit {
    pub(super) fn of(number: usize) -> Bit {
        Bit { word: (number / BITS) as u32, mask: 1 << (number % BITS) }
    }
}

/// The states that a packet may be in.
pub(super) const STATES: [&str; 4] = ["new", "established", "related", "invalid"];
/// How sure an identification may be, the least sure first.
pub(super) const CONFIDENCES: [&str; 5] = ["port", "address", "related", "partial", "payload"];

/// The words that a policy uses.
#[derive(Clone, Debug, Default)]
pub(crate) struct Vocabulary {
    /// Numbers that are given with each packet, in the order of their row.
    pub(crate) inputs: Vec<Input>,
    /// Interfaces, from number 1.
    pub(super) interfaces: Vec<String>,
    pub(super) domains: DomainTree,
    /// Sets of domains, by number.
    pub(super) name_sets: Vec<String>,
    /// Applications of the policy's own that have a payload, by number: their places in the policy.
    pub(super) own: Vec<usize>,
    pub(crate) limits: Vec<Rate>,
}

impl Vocabulary {
    /// Takes note that a program uses an input.
    pub(super) fn uses(&mut self, input: Input) {
        if !self.inputs.contains(&input) {
            self.inputs.push(input);
        }
    }

    /// The number of an interface, from 1.
    pub(super) fn interface(&mut self, name: &str) -> usize {
        place(&mut self.interfaces, name) + 1
    }

    /// The number of a set of domains.
    pub(super) fn name_set(&mut self, name: &str) -> usize {
        place(&mut self.name_sets, name)
    }

    /// The number of an interface that is known, 0 for any other.
    pub(crate) fn interface_number(&self, name: &str) -> u32 {
        self.interfaces.iter().position(|known| known == name).map_or(0, |at| at as u32 + 1)
    }
}

/// The place of a name, which is added if it is not there.
fn place(names: &mut Vec<String>, name: &str) -> usize {
    names.iter().position(|known| known == name).unwrap_or_else(|| {
        names.push(name.to_owned());
        names.len() - 1
    })
}
