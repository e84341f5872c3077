//! Following packets: on, and off again.

use super::Engine;
use crate::worker::{Follower, Trace, TraceTotals};
use std::io;

impl Engine {
    /// Follows packets from now on, until the graph changes or the trace is over. All packets have metadata from now on.
    ///
    /// # Errors
    /// When there are several workers: their apps would run while one is looked at.
    pub fn trace(&mut self, trace: Trace) -> io::Result<()> {
        let [worker] = &mut *self.workers else {
            let why = "packets are followed on one worker: several move them at the same time";
            return Err(io::Error::new(io::ErrorKind::InvalidInput, why));
        };
        worker.stamp();
        worker.follower = Some(Box::new(Follower::new(trace)));
        Ok(())
    }

    /// Follows no packets any more: of those that are still on their way it is told where they are. Returns what became of all, if packets were
    /// followed.
    pub fn end_trace(&mut self) -> Option<TraceTotals> {
        self.workers.iter_mut().find_map(|worker| worker.end_following())
    }
}
