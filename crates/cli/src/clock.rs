//! The time that the process has taken.

use rustix::time::{ClockId, clock_gettime};
use std::time::Duration;

/// The CPU time of the process so far.
pub(crate) fn cpu_time() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), time.tv_nsec as u32)
}
