//! What an engine says of a packet.

use crate::packet::Packet;
use std::fmt;

/// Answers packets; `None` for a packet that is outside of the engine's domain.
pub(crate) type Run<'e> = Box<dyn Fn(&[Packet]) -> Vec<Option<Answer>> + 'e>;

/// What an engine says of one packet.
///
/// ```
/// use quickcheck::Answer;
///
/// let answers = [Answer::Rejects, Answer::Accepts, Answer::Calls("web(80)".into())];
/// assert_eq!(answers.map(|answer| answer.to_string()), ["0", "1", "web(80)"]);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// The filter does not match, or no clause of the program takes the packet.
    Rejects,
    /// The filter matches.
    Accepts,
    /// The program calls this: `handler` or `handler(1,2)`.
    Calls(Box<str>),
    /// The engine did not answer, for this reason.
    Fails(Box<str>),
}

impl From<bool> for Answer {
    fn from(matches: bool) -> Self {
        if matches { Answer::Accepts } else { Answer::Rejects }
    }
}

impl fmt::Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Answer::Rejects => f.write_str("0"),
            Answer::Accepts => f.write_str("1"),
            Answer::Calls(call) => f.write_str(call),
            Answer::Fails(why) => write!(f, "no answer: {why}"),
        }
    }
}
