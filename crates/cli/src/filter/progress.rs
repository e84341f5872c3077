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
/// Characters of the bar itself, where there is room for them.
const BAR: usize = 24;
/// A shorter one says too little.
const BAR_MIN: usize = 8;

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
        let seen = Seen::of(tally, total_bytes, start.elapsed());
        if !is_drawn {
            reader::say_now(&format!("{}\n", seen.line(usize::MAX)));
        } else if !terminal::is_in_background() {
            // A line that fills the last column would make some terminals go to the next.
            reader::draw(&seen.line(terminal::columns(std::io::stderr()).unwrap_or(80) - 1));
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

    /// As much as there is room for, so many characters, in whole fields. In ASCII, which every terminal shows.
    fn line(&self, width: usize) -> String {
        let share = self.total_bytes.filter(|&total| total > 0).map(|total| (self.share_of(total), total));
        let texts = match share {
            Some((share, total)) => self.of_total(share, total),
            None => self.without_total(),
        };
        let Some(fits) = texts.iter().position(|text| text.len() <= width) else { return String::new() };
        let text = &texts[fits];
        // The first to go: where a field is left out there is none.
        let bar = width.saturating_sub(text.len() + 1).min(BAR);
        match share {
            Some((share, _)) if fits == 0 && bar >= BAR_MIN => {
                let full = (share * bar as f64) as usize;
                "#".repeat(full) + &"-".repeat(bar - full) + " " + text
            }
            _ => text.clone(),
        }
    }

    /// What may stand behind the bar, each text with less in it than the one before.
    fn of_total(&self, share: f64, total: u64) -> Vec<String> {
        let (speed, pps, matches) = (self.speed(), self.packet_rate(), self.matches());
        let done = format!("{:>3.0}%", share * 100.0);
        let of_total = format!("{done} of {}", quantity(total as f64, "B"));
        let left = self.left_of(total);
        let end = left.as_ref().map_or(String::new(), |left| format!(", {left} left"));
        vec![
            format!("{of_total} at {speed}, {matches} ({pps}){end}"),
            format!("{of_total} at {speed}, {pps}, {} matched{end}", self.matched),
            format!("{of_total} at {speed}, {} matched{end}", self.matched),
            format!("{of_total} at {speed}{end}"),
            format!("{done} at {speed}{end}"),
            format!("{done} {speed} {}", left.unwrap_or_default()).trim_end().to_owned(),
            format!("{done}{end}"),
            done,
        ]
    }

    /// The same where nobody knows how much there is.
    fn without_total(&self) -> Vec<String> {
        let (bytes, speed, pps) = (quantity(self.bytes as f64, "B"), self.speed(), self.packet_rate());
        vec![
            format!("{bytes} at {speed}, {} ({pps})", self.matches()),
            format!("{bytes} at {speed}, {pps}, {} matched", self.matched),
            format!("{bytes} at {speed}, {} matched", self.matched),
            format!("{bytes} at {speed}"),
            bytes,
        ]
    }

    fn share_of(&self, total: u64) -> f64 {
        (self.bytes as f64 / total as f64).min(1.0)
    }

    /// How long it takes at this speed, if it goes on at all.
    fn left_of(&self, total: u64) -> Option<String> {
        let left = total.saturating_sub(self.bytes) as f64 / self.a_second(self.bytes);
        Duration::try_from_secs_f64(left).ok().map(uptime)
    }

    fn a_second(&self, count: u64) -> f64 {
        count as f64 / self.elapsed.as_secs_f64()
    }

    fn speed(&self) -> String {
        quantity(self.a_second(self.bytes), "B/s")
    }

    fn packet_rate(&self) -> String {
        quantity(self.a_second(self.packets), "pps")
    }

    fn matches(&self) -> String {
        format!("{} of {} match", self.matched, counted(self.packets, "packet"))
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
        assert_eq!(
            seen.line(usize::MAX),
            format!("######------------------  25% of 100 MB at {rest}, 6s left")
        );
        seen.total_bytes = None;
        assert_eq!(seen.line(usize::MAX), format!("25.0 MB at {rest}"));
        // A file that has grown, and nothing yet.
        (seen.total_bytes, seen.bytes) = (Some(1000), 2000);
        assert!(seen.line(usize::MAX).starts_with("######################## 100% of 1.00 kB at 1.00 kB/s, "));
        (seen.bytes, seen.packets) = (0, 0);
        assert!(
            seen.line(usize::MAX).ends_with("   0% of 1.00 kB at 0 B/s, 7 of 0 packets match (0 pps)"),
            "{}",
            seen.line(usize::MAX)
        );
    }

    #[test]
    fn a_line_that_is_too_long_loses_whole_fields() {
        let mut seen = Seen {
            bytes: 1_392_000_000,
            total_bytes: Some(1_740_000_000),
            packets: 10_470_410,
            matched: 6_987_086,
            elapsed: Duration::from_secs(4),
        };
        for (width, line) in [
            (
                120,
                "###################-----  80% of 1.74 GB at 348 MB/s, 6987086 of 10470410 packets match (2.62 Mpps), 1s left",
            ),
            (
                100,
                "############----  80% of 1.74 GB at 348 MB/s, 6987086 of 10470410 packets match (2.62 Mpps), 1s left",
            ),
            (85, " 80% of 1.74 GB at 348 MB/s, 6987086 of 10470410 packets match (2.62 Mpps), 1s left"),
            (80, " 80% of 1.74 GB at 348 MB/s, 2.62 Mpps, 6987086 matched, 1s left"),
            (60, " 80% of 1.74 GB at 348 MB/s, 6987086 matched, 1s left"),
            (40, " 80% of 1.74 GB at 348 MB/s, 1s left"),
            (30, " 80% at 348 MB/s, 1s left"),
            (20, " 80% 348 MB/s 1s"),
            (15, " 80%, 1s left"),
            (10, " 80%"),
            (3, ""),
        ] {
            assert_eq!(seen.line(width), line, "{width}");
        }
        seen.total_bytes = None;
        for (width, line) in [
            (80, "1.39 GB at 348 MB/s, 6987086 of 10470410 packets match (2.62 Mpps)"),
            (60, "1.39 GB at 348 MB/s, 2.62 Mpps, 6987086 matched"),
            (40, "1.39 GB at 348 MB/s, 6987086 matched"),
            (20, "1.39 GB at 348 MB/s"),
            (10, "1.39 GB"),
        ] {
            assert_eq!(seen.line(width), line, "{width}");
        }
    }

    /// With few digits and with many.
    #[test]
    fn the_share_the_speed_and_the_time_left_are_the_last_to_go() {
        for (packets, elapsed_s) in [(9, 2), (10_470_410, 4), (10_470_410_000, 4000), (1, 400_000)] {
            let elapsed = Duration::from_secs(elapsed_s);
            let bytes = 1_392_000_000;
            let seen =
                Seen { bytes, total_bytes: Some(1_740_000_000), packets, matched: packets / 2, elapsed };
            // A shorter word stands there for `of` all packets that match.
            let whole = seen.line(usize::MAX) + " matched";
            let words = |line: &str| {
                line.split([' ', ',', '(', ')']).map(str::to_owned).collect::<std::collections::HashSet<_>>()
            };
            for width in [20, 40, 60, 80, 100, 120] {
                let line = seen.line(width - 1);
                let bar = line.trim_start_matches(['#', '-']);
                assert!(line.len() < width && words(bar).is_subset(&words(&whole)), "{line}");
                assert!(line.contains("80%") && (width < 40 || line.contains("B/s")), "{line}");
                assert!(width < 80 || line.contains(" match"), "{line}");
                assert!(line.contains(&seen.left_of(1_740_000_000).unwrap()), "{line}");
            }
        }
    }
}
