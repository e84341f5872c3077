//! What the worker is told at its start, as arguments of its command line.

use super::memory::Layout;
use std::ffi::OsString;

/// What is behind the hidden argument: one `name=value` each.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Settings {
    pub(super) layout: Layout,
    /// Slots of flows.
    pub(super) flows: u32,
    /// States of nDPI, which flows have that are not yet identified.
    pub(super) states: u32,
    /// Bytes that nDPI may allocate.
    pub(super) heap: u64,
    /// Packets of a flow after which it is given up.
    pub(super) budget_tcp: u32,
    pub(super) budget_udp: u32,
    pub(super) budget_other: u32,
    /// Whether flows that are given up are guessed from ports and addresses.
    pub(super) guess: bool,
    /// What is added to its niceness.
    pub(super) nice: u32,
    /// The library to load in the place of the one of the headers.
    pub(super) library: Option<String>,
    /// Whether packets with magic contents do harm, for tests.
    pub(super) faults: bool,
}

impl Settings {
    pub(super) fn write(&self) -> Vec<String> {
        let numbers = [
            ("jobs", self.layout.jobs.into()),
            ("job-bytes", self.layout.job_bytes.into()),
            ("answers", self.layout.answers.into()),
            ("flows", self.flows.into()),
            ("states", self.states.into()),
            ("heap", self.heap),
            ("tcp", self.budget_tcp.into()),
            ("udp", self.budget_udp.into()),
            ("other", self.budget_other.into()),
            ("guess", self.guess.into()),
            ("nice", self.nice.into()),
            ("faults", self.faults.into()),
        ];
        let library = self.library.iter().map(|library| format!("library={library}"));
        numbers.iter().map(|(name, value)| format!("{name}={value}")).chain(library).collect()
    }

    /// Reads what [`Settings::write`] has written.
    pub(super) fn read(arguments: impl Iterator<Item = OsString>) -> Option<Settings> {
        let arguments: Vec<String> =
            arguments.map(|argument| argument.into_string().ok()).collect::<Option<_>>()?;
        let value =
            |name: &str| arguments.iter().find_map(|argument| argument.strip_prefix(name)?.strip_prefix('='));
        let number = |name: &str| value(name)?.parse::<u64>().ok();
        let small = |name: &str| u32::try_from(number(name)?).ok();
        Some(Settings {
            layout: Layout {
                jobs: small("jobs")?,
                job_bytes: small("job-bytes")?,
                answers: small("answers")?,
            },
            flows: small("flows")?,
            states: small("states")?,
            heap: number("heap")?,
            budget_tcp: small("tcp")?,
            budget_udp: small("udp")?,
            budget_other: small("other")?,
            guess: number("guess")? != 0,
            nice: small("nice")?,
            library: value("library").map(String::from),
            faults: number("faults")? != 0,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_read_as_they_were_written() {
        let settings = Settings {
            layout: Layout { jobs: 1024, job_bytes: 2048, answers: 512 },
            flows: 1 << 22,
            states: 1 << 14,
            heap: 8 << 30,
            budget_tcp: 80,
            budget_udp: 24,
            budget_other: u32::MAX,
            guess: true,
            nice: 10,
            library: Some("/a b/libndpi.so".into()),
            faults: false,
        };
        assert_eq!(Settings::read(settings.write().into_iter().map(OsString::from)), Some(settings));
        assert_eq!(Settings::read(["jobs=1".into()].into_iter()), None);
    }
}
