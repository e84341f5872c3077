//! When something outside the graph is asked again that was not ready, such as a pipe that was full.

/// How long what was not ready is left alone, in nanoseconds: long beside a system call, short beside the time in which a pipe is emptied.
const PAUSE_NS: u64 = 50_000;
/// How many breaths, where time stands still.
const BREATHS: u32 = 64;

/// When something outside the graph is asked again that was not ready.
///
/// PERF: a system call takes longer than a breath. An app that made one in each breath would slow down the others of its worker.
///
/// ```
/// use engine::Retry;
///
/// let mut retry = Retry::new();
/// assert!(retry.is_due(1_000_000), "the first time");
/// assert!(!retry.is_due(1_020_000));
/// assert!(retry.is_due(1_050_000));
/// // On capture time, the clock may stand still.
/// assert!((0..100).any(|_| retry.is_due(1_050_000)));
/// ```
#[derive(Clone, Debug, Default)]
pub struct Retry {
    /// When it was asked last; `None` if never.
    last_ns: Option<u64>,
    /// Breaths since, without time between.
    breaths: u32,
}

impl Retry {
    /// At once, for the first time.
    pub fn new() -> Self {
        Self::default()
    }

    /// Whether to ask now; if so, it is taken for asked. To be called once a breath, with the time of that.
    #[inline]
    pub fn is_due(&mut self, now_ns: u64) -> bool {
        let is_due = match self.last_ns {
            None => true,
            Some(last_ns) if last_ns == now_ns => {
                self.breaths += 1;
                self.breaths >= BREATHS
            }
            Some(last_ns) => now_ns.saturating_sub(last_ns) >= PAUSE_NS,
        };
        if is_due {
            (self.last_ns, self.breaths) = (Some(now_ns), 0);
        }
        is_due
    }
}
