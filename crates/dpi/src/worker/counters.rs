//! What is counted of the worker.

/// What has happened since the worker was started.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Counters {
    /// Packets that were submitted.
    pub submitted: u64,
    /// Flows of which the last was said.
    pub answered: u64,
    /// Packets and orders that were refused since the ring was full.
    pub ring_full: u64,
    /// Packets that were refused since they were too long.
    pub too_long: u64,
    /// Packets that were refused since their flow is quarantined.
    pub quarantined: u64,
    /// Flows whose state was given to another.
    pub evicted: u64,
    /// Flows of which nothing will be said, since what was known of them was lost with a worker.
    pub lost: u64,
    /// Packets and orders that no worker did, since their flow was lost.
    pub skipped: u64,
    /// Workers that ended by themselves.
    pub crashes: u64,
    /// Workers that were killed since they did not get on.
    pub hangs: u64,
    /// Workers that were killed since they wrote nonsense.
    pub forged: u64,
    /// Workers that were started in the place of others.
    pub respawns: u64,
    /// How often the process that starts workers was gone and could not be started again.
    pub unstarted: u64,
}
