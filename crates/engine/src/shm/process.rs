//! Whether a process is still the one that it was: by its number and the time it began, since numbers are used again. And what it has taken.

use rustix::param::clock_ticks_per_second;
use std::time::Duration;

/// Facts about a process from proc(5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Process {
    /// When it began, in clock ticks after the system did.
    pub start_ticks: u64,
    /// Whether it has ended, and its parent has not asked how (a zombie).
    pub has_ended: bool,
    /// Whether it is stopped, by a signal or a debugger.
    pub is_stopped: bool,
    /// The CPU time of all its threads so far, their system calls included, to a clock tick (mostly 10 ms).
    pub cpu: Duration,
}

impl Process {
    /// The process of a number, if there is one.
    pub fn of(pid: u32) -> Option<Self> {
        Self::parse(&std::fs::read(format!("/proc/{pid}/stat")).ok()?)
    }

    /// This process.
    pub fn own() -> Option<Self> {
        Self::parse(&std::fs::read("/proc/self/stat").ok()?)
    }

    /// Reads `/proc/PID/stat`. Its second field is the program's name in parentheses, which may itself have blanks and parentheses.
    fn parse(stat: &[u8]) -> Option<Self> {
        let end = stat.iter().rposition(|&byte| byte == b')')?;
        let mut fields = std::str::from_utf8(&stat[end + 1..]).ok()?.split_ascii_whitespace();
        let state = fields.next()?;
        // Fields 14, 15 and 22 of the line, counted from 1; the state is field 3.
        let user: u64 = fields.nth(14 - 4)?.parse().ok()?;
        let system: u64 = fields.next()?.parse().ok()?;
        let start_ticks = fields.nth(22 - 16)?.parse().ok()?;
        let is = |states: &[&str]| states.contains(&state);
        let cpu = time_of(user.saturating_add(system));
        Some(Process { start_ticks, has_ended: is(&["Z", "X", "x"]), is_stopped: is(&["T", "t"]), cpu })
    }
}

fn time_of(ticks: u64) -> Duration {
    Duration::from_millis(ticks.saturating_mul(1000) / clock_ticks_per_second().max(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_programs_do_not_confuse() {
        let rest = "1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 4711 20 21";
        for (stat, expected) in [
            (format!("9 (sluss) S {rest}"), Some((4711, false, false))),
            (format!("9 (a) Z (b c) ) T {rest}"), Some((4711, false, true))),
            (format!("9 (sluss) Z {rest}"), Some((4711, true, false))),
            ("9 (sluss) S 1 2".to_owned(), None),
            ("9 sluss S".to_owned(), None),
            (String::new(), None),
        ] {
            let process = Process::parse(stat.as_bytes());
            assert_eq!(process.map(|p| (p.start_ticks, p.has_ended, p.is_stopped)), expected, "{stat}");
            assert!(process.is_none_or(|process| process.cpu == time_of(11 + 12)), "{process:?}");
        }
    }

    #[test]
    #[cfg_attr(miri, ignore = "looks at files")]
    fn this_process_runs() {
        let own = Process::own().expect("proc(5) is mounted");
        assert_eq!(Process::of(std::process::id()).map(|found| found.start_ticks), Some(own.start_ticks));
        assert!(!own.has_ended && own.start_ticks > 0);
        assert_eq!(Process::of(u32::MAX), None);
    }
}
