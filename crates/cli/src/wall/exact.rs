//! `sluss wall spy --dpi exact`: flows as ndpiReader counts them.

use crate::args::SpyArgs;
use crate::exit::{Failure, Outcome};
use crate::terminal::Terminal;

/// Runs the command.
pub(crate) fn run(_: &SpyArgs, _: &Terminal) -> Result<Outcome, Failure> {
    Err(Failure::user("`--dpi exact` is not there yet"))
}
