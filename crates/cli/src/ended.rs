//! The end of an engine: what its apps say last, what they leave behind, and with which exit code that ends.

use crate::blame::Blame;
use crate::clock::cpu_time;
use crate::exit::{Failure, Outcome};
use crate::message::Message;
use engine::{AppState, Engine, Report};

/// An engine that was stopped.
pub(crate) struct Ended {
    /// All apps and links where they stood, with what went wrong in stopping them: the end of a file is written then.
    pub(crate) report: Report,
    /// The books when everything was stopped.
    pub(crate) after: Report,
    /// CPU time of the process until then.
    pub(crate) cpu_s: f64,
    /// Whether something was not done of which the apps at the end do not tell: one had failed that was stopped when the graph changed, or
    /// packets were dropped that were to be sent.
    pub(crate) fell_short: bool,
}

impl Ended {
    /// Stops an engine, and says how it has ended.
    pub(crate) fn stop(engine: &mut Engine) -> Ended {
        let mut report = engine.report();
        let cpu_s = cpu_time().as_secs_f64();
        report.add_last_words(engine.stop().reports);
        let mut after = engine.report();
        if after.pool.free != after.pool.total {
            let missing = after.pool.total.saturating_sub(after.pool.free);
            let suspects =
                report.suspects(missing).map_or(String::new(), |suspects| format!(" ({suspects})"));
            after.imbalances.push(format!("packets that did not come back at the end{suspects}: {missing}"));
        }
        Ended { report, after, cpu_s, fell_short: false }
    }

    /// Whether every packet is accounted for.
    pub(crate) fn is_balanced(&self) -> bool {
        self.report.balanced() && self.after.balanced()
    }

    /// What does not add up.
    pub(crate) fn imbalances(&self) -> impl Iterator<Item = &String> {
        self.report.imbalances.iter().chain(&self.after.imbalances)
    }

    /// What apps tell of their failures, a line each.
    pub(crate) fn failures(&self) -> impl Iterator<Item = Message> {
        let failed = self.report.apps.iter().filter(|(_, app)| app.has_failed);
        let lines = failed.flat_map(|(name, app)| app.text.iter().map(move |text| (name, text)));
        let error = |name, line| Message::error(Blame::Damage, format_args!("{name}: {line}"));
        lines.flat_map(move |(name, text)| text.lines().map(move |line| error(name, line)))
    }

    /// How the command ends, after a signal perhaps, and after the attempt to print what has happened.
    ///
    /// # Errors
    /// If a packet is not accounted for, or nothing could be printed. Where nobody reads the output that is no failure; but
    /// what was not done was not done.
    pub(crate) fn outcome(
        &self,
        printed: Result<(), Failure>,
        signal: Option<i32>,
    ) -> Result<Outcome, Failure> {
        if !self.is_balanced() {
            return Err(unbalanced(self.imbalances()));
        }
        match printed {
            Err(Failure { blame: Blame::ClosedPipe, .. }) if self.is_incomplete() => {}
            printed => printed?,
        }
        Ok(match signal {
            Some(signal) => Outcome::Interrupted(signal),
            None if self.is_incomplete() => Outcome::Incomplete,
            None => Outcome::Done,
        })
    }

    /// Whether part of the graph did not run at the end, or at any time not all that was to be read or written was.
    fn is_incomplete(&self) -> bool {
        self.fell_short || self.report.apps.values().any(|app| app.state == AppState::Down || app.has_failed)
    }
}

/// Packets were lost or counted twice: an invariant of ours broke.
pub(crate) fn unbalanced<'a>(imbalances: impl Iterator<Item = &'a String>) -> Failure {
    let lines: Vec<&str> = imbalances.map(String::as_str).collect();
    Failure::internal(format!("not every packet is accounted for\n  {}", lines.join("\n  ")))
}
