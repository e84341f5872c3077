//! Whose fault something is, whichever crate says so: that decides about the exit code.

use engine::Fault;

/// Whose fault a failure is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Blame {
    /// A wrong filter, flag or graph: exit 2.
    User,
    /// The system refused: exit 3.
    World,
    /// A broken invariant of ours: exit 4.
    Internal,
    /// A capture is damaged or no capture, or an app failed in its work: exit 5.
    Damage,
    /// The reader of our output has gone: a success, as for any part of a pipeline.
    ClosedPipe,
}

impl Blame {
    /// The exit code, which is the number of the message's code as well.
    pub(crate) fn code(self) -> u8 {
        match self {
            Blame::ClosedPipe => 0,
            Blame::User => 2,
            Blame::World => 3,
            Blame::Internal => 4,
            Blame::Damage => 5,
        }
    }
}

impl From<Fault> for Blame {
    fn from(fault: Fault) -> Self {
        match fault {
            Fault::System => Blame::World,
            Fault::Content => Blame::Damage,
            Fault::App => Blame::Internal,
            _ => Blame::User,
        }
    }
}

impl From<capture::Class> for Blame {
    fn from(class: capture::Class) -> Self {
        match class {
            capture::Class::Request => Blame::User,
            capture::Class::Damaged => Blame::Damage,
            capture::Class::System => Blame::World,
        }
    }
}
