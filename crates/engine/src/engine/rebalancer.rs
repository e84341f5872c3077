//! The times at which apps are placed again, and the gain that is required.

use super::Engine;
use std::time::Duration;

/// How long apps are measured at first, and after they have moved.
const SOON: Duration = Duration::from_millis(500);
/// How often that is done at first, since what they cost depends on where they are, and for which gain.
const SOON_TIMES: u32 = 6;
const SOON_GAIN_MIN: f64 = 0.02;
/// How long they are measured later, to see whether traffic has changed, and for which gain they move. Longer than what else may slow a
/// core down for a while: following that costs more than it brings. Workers stop for a moment each time.
const LATER: Duration = Duration::from_secs(10);
const LATER_GAIN_MIN: f64 = 0.1;

/// Says when apps are to be placed again: every half second for three seconds, as they settle; every ten seconds later, and half a second
/// after they have moved.
///
/// ```
/// use engine::{Engine, Graph, Rebalancer, Settings};
/// use std::time::Duration;
///
/// let mut engine = Engine::new(Settings { workers: 2, ..Settings::new()? })?;
/// engine.configure(&Graph::new())?;
/// engine.gather();
/// let Some(mut rebalancer) = Rebalancer::of(&engine) else { return Ok(()) };
/// while !rebalancer.is_settled() {
///     engine.run_for(rebalancer.measure_for())?;
///     rebalancer.rebalance(&mut engine);
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Rebalancer {
    /// How often apps are still placed soon.
    soon: u32,
    have_moved: bool,
}

impl Rebalancer {
    /// For a graph that has just been configured. `None` if there is nothing to choose: one worker, or all apps are placed by hand.
    pub fn of(engine: &Engine) -> Option<Self> {
        let is_free = engine.graph().apps().any(|(_, app)| app.worker.is_none());
        (engine.settings().workers > 1 && is_free)
            .then_some(Rebalancer { soon: SOON_TIMES, have_moved: false })
    }

    /// Whether apps have been placed as often as is done soon.
    pub fn is_settled(&self) -> bool {
        self.soon == 0
    }

    /// For how long the engine is to run before the next [`Rebalancer::rebalance`].
    pub fn measure_for(&self) -> Duration {
        if self.is_settled() && !self.have_moved { LATER } else { SOON }
    }

    /// Places apps again, see [`Engine::rebalance`]. Returns whether any has moved.
    pub fn rebalance(&mut self, engine: &mut Engine) -> bool {
        let gain_min = if self.is_settled() { LATER_GAIN_MIN } else { SOON_GAIN_MIN };
        self.soon = self.soon.saturating_sub(1);
        self.have_moved = engine.rebalance(gain_min);
        self.have_moved
    }
}
