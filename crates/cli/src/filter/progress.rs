//! How far a run has come, on a terminal, drawn by a thread of its own so that workers never wait for it.

use crate::filter::scan::Tally;
use crate::plural::counted;
use crate::terminal::When;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::IsTerminal;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{Scope, ScopedJoinHandle};
use std::time::{Duration, Instant};

const REFRESH: Duration = Duration::from_millis(125);
/// A run shorter than this shows no bar.
const PATIENCE: Duration = Duration::from_millis(400);

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
        When::Auto => std::io::stderr().is_terminal() && !lines_on_terminal,
    };
    let done = Arc::new(AtomicBool::new(false));
    let seen = Arc::clone(&done);
    wanted
        .then(|| Progress { done: Done(done), drawer: scope.spawn(move || draw(total_bytes, tally, &seen)) })
}

fn draw(total_bytes: Option<u64>, tally: &Tally, done: &AtomicBool) {
    let start = Instant::now();
    std::thread::park_timeout(PATIENCE);
    if done.load(Ordering::Relaxed) {
        return;
    }
    let bar = bar(total_bytes).with_elapsed(start.elapsed());
    while !done.load(Ordering::Relaxed) {
        bar.set_position(tally.bytes.load(Ordering::Relaxed));
        let packets = tally.packets.load(Ordering::Relaxed);
        let rate = packets as f64 / start.elapsed().as_secs_f64() / 1e6;
        let matched = tally.matched.load(Ordering::Relaxed);
        bar.set_message(format!("{matched} of {} ({rate:.1} M/s)", counted(packets, "packet")));
        std::thread::park_timeout(REFRESH);
    }
    bar.finish_and_clear();
}

fn bar(total_bytes: Option<u64>) -> ProgressBar {
    let template = match total_bytes {
        Some(_) => "{bar:24} {percent:>3}% of {total_bytes} at {bytes_per_sec}, {msg}, {eta} left",
        None => "{spinner} {bytes} at {bytes_per_sec}, {msg}",
    };
    let bar = ProgressBar::with_draw_target(total_bytes, ProgressDrawTarget::stderr());
    match ProgressStyle::with_template(template) {
        Ok(style) => bar.with_style(style),
        Err(_) => bar,
    }
}
