//! How far a run has come, drawn by a thread of its own, which waits for no terminal: neither workers nor the end wait for it.

use crate::filter::scan::Tally;
use crate::plural::counted;
use crate::reader;
use crate::terminal::{self, When};
use crate::units::{quantity, uptime};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{Scope, ScopedJoinHandle};
use std::time::{Duration, Instant};

const REFRESH: Duration = Duration::from_millis(125);
/// Where each is a line of its own, as in a file.
const REFRESH_LINES: Duration = Duration::from_secs(1);
/// A run shorter than this shows no bar.
const PATIENCE: Duration = Duration::from_millis(400);
/// Characters of the bar itself.
const BAR: usize = 24;

/// A bar that is being drawn.
pub(crate) struct Progress<'s> {
    done: Done,
    drawer: ScopedJoinHandle<'s, ()>,
}

/// Set when it goes, also by a panic: the scope of the drawer would wait for ever.
struct Done(Arc<AtomicBool>);

impl Drop for Done {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

impl Progress<'_> {
    /// Takes the bar off the terminal.
    pub(crate) fn finish(self) {
        let Progress { done, drawer } = self;
        drop(done);
        drawer.thread().unpark();
        // A panic of the drawer is not worth more than a missing bar.
        let _ = drawer.join();
        if !terminal::is_in_background() {
            reader::erase();
        }
    }
}

/// Starts to draw, where that is wanted.
pub(crate) fn show<'s>(
    scope: &'s Scope<'s, '_>,
    when: When,
    lines_on_terminal: bool,
    total_bytes: Option<u64>,
    tally: &'s Tally,
) -> Option<Progress<'s>> {
    let wanted = match when {
        When::Always => true,
        When::Never => false,
        // A bar between the lines of the result would help nobody.
        When::Auto => terminal::has_cursor() && !lines_on_terminal,
    };
    let done = Arc::new(AtomicBool::new(false));
    let seen = Arc::clone(&done);
    wanted
        .then(|| Progress { done: Done(done), drawer: scope.spawn(move || draw(total_bytes, tally, &seen)) })
}

fn draw(total_bytes: Option<u64>, tally: &Tally, done: &AtomicBool) {
    let start = Instant::now();
    std::thread::park_timeout(PATIENCE);
    let is_drawn = terminal::has_cursor();
    while !done.load(Ordering::Relaxed) {
        let line = Seen::of(tally, total_bytes, start.elapsed()).line();
        if !is_drawn {
            reader::say_now(&format!("{line}\n"));
        } else if !terminal::is_in_background() {
            let width = terminal::columns(std::io::stderr()).unwrap_or(80) - 1;
            reader::draw(&line.chars().take(width).collect::<String>());
        }
        std::thread::park_timeout(if is_drawn { REFRESH } else { REFRESH_LINES });
    }
}

/// What there is to tell.
struct Seen {
    bytes: u64,
    total_bytes: Option<u64>,
    packets: u64,
    matched: u64,
    elapsed: Duration,
}

impl Seen {
    fn of(tally: &Tally, total_bytes: Option<u64>, elapsed: Duration) -> Self {
        let of = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let (bytes, packets, matched) = (of(&tally.bytes), of(&tally.packets), of(&tally.matched));
        Seen { bytes, total_bytes, packets, matched, elapsed }
    }

    /// In ASCII, which every terminal shows.
    fn line(&self) -> String {
        let a_second = |count: u64| count as f64 / self.elapsed.as_secs_f64();
        let (bytes_a_second, packets_a_second) = (a_second(self.bytes), a_second(self.packets));
        let speed = quantity(bytes_a_second, "B/s");
        let matches = format!(
            "{} of {} match ({})",
            self.matched,
            counted(self.packets, "packet"),
            quantity(packets_a_second, "pps")
        );
        let Some(total) = self.total_bytes.filter(|&total| total > 0) else {
            return format!("{} at {speed}, {matches}", quantity(self.bytes as f64, "B"));
        };
        let share = (self.bytes as f64 / total as f64).min(1.0);
        let full = (share * BAR as f64) as usize;
        let bar = "#".repeat(full) + &"-".repeat(BAR - full);
        let left = Duration::try_from_secs_f64(total.saturating_sub(self.bytes) as f64 / bytes_a_second);
        let left = left.map_or(String::new(), |left| format!(", {} left", uptime(left)));
        let total = quantity(total as f64, "B");
        format!("{bar} {:>3.0}% of {total} at {speed}, {matches}{left}", share * 100.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_tells_how_far_it_is() {
        let mut seen = Seen {
            bytes: 25_000_000,
            total_bytes: Some(100_000_000),
            packets: 400_000,
            matched: 7,
            elapsed: Duration::from_secs(2),
        };
        let rest = "12.5 MB/s, 7 of 400000 packets match (200 kpps)";
        assert_eq!(seen.line(), format!("######------------------  25% of 100 MB at {rest}, 6s left"));
        seen.total_bytes = None;
        assert_eq!(seen.line(), format!("25.0 MB at {rest}"));
        // A file that has grown, and nothing yet.
        (seen.total_bytes, seen.bytes) = (Some(1000), 2000);
        assert!(seen.line().starts_with("######################## 100% of 1.00 kB at 1.00 kB/s, "));
        (seen.bytes, seen.packets) = (0, 0);
        assert!(
            seen.line().ends_with("   0% of 1.00 kB at 0 B/s, 7 of 0 packets match (0 pps)"),
            "{}",
            seen.line()
        );
    }
}
