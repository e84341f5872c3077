//! Packets that were to be sent and were not, and why.

use crate::blame::Blame;
use crate::ended::Ended;
use crate::message::Message;
use crate::plural::{self, counted};
use engine::drops;
use std::collections::BTreeMap;

/// How a blast has come to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// There was nothing more to send.
    Finished,
    /// Its time was over, or a signal came.
    Stopped,
}

/// Packets that were not sent, by reason.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Lost {
    to: String,
    delivered: u64,
    drops: BTreeMap<String, u64>,
}

impl Lost {
    /// What a blast to `to` has lost, if anything.
    pub(super) fn of(ended: &Ended, end: End, to: &str) -> Option<Self> {
        let drops = lost(&ended.report.drops, &ended.after.drops, end);
        let delivered = ended.after.delivered;
        (!drops.is_empty()).then(|| Lost { to: to.to_owned(), delivered, drops })
    }

    /// How many of how many, and why.
    pub(super) fn message(&self) -> Message {
        let lost: u64 = self.drops.values().sum();
        let why: Vec<String> = self.drops.iter().map(|(reason, &count)| why(reason, count)).collect();
        Message::error(
            Blame::Damage,
            format_args!(
                "{}: {lost} of {} {} not sent: {}",
                self.to,
                counted(lost + self.delivered, "packet"),
                plural::choose(lost, "was", "were"),
                why.join("; ")
            ),
        )
    }
}

/// What was dropped although there was time to send it. When a run is stopped, what waits goes without anything being wrong, for whatever
/// reason an app counts it.
fn lost(before: &BTreeMap<String, u64>, after: &BTreeMap<String, u64>, end: End) -> BTreeMap<String, u64> {
    let mut drops = match end {
        End::Finished => after.clone(),
        End::Stopped => before.clone(),
    };
    drops.retain(|reason, count| {
        *count > 0 && (end == End::Finished || !drops::WHEN_STOPPING.contains(&reason.as_str()))
    });
    drops
}

/// A reason, as targets count it, in words.
fn why(reason: &str, count: u64) -> String {
    let words = match reason {
        "down" => "the device is not up, or is gone",
        "too_long" => "longer than the target takes",
        "too_short" => "shorter than the target takes",
        "no_buffers" => "the queue of the device was full",
        "send_error" => "the kernel refused them",
        "write_error" => "they could not be written",
        "wrong_fcs_len" => "with a frame check sequence of another length than the first",
        "wrong_linktype" => "of another link type than the target takes",
        _ => return format!("{count} {reason}"),
    };
    format!("{count} {reason} ({words})")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drops(counts: &[(&str, u64)]) -> BTreeMap<String, u64> {
        counts.iter().map(|&(reason, count)| (reason.to_owned(), count)).collect()
    }

    #[test]
    fn what_waits_when_a_run_is_stopped_is_not_lost() {
        let before = drops(&[("down", 3), ("too_long", 0)]);
        let after = drops(&[("down", 3), ("no_buffers", 2), ("stopped", 4), ("too_long", 0)]);
        assert_eq!(lost(&before, &after, End::Stopped), drops(&[("down", 3)]));
        let all = drops(&[("down", 3), ("no_buffers", 2), ("stopped", 4)]);
        assert_eq!(lost(&before, &after, End::Finished), all);
        assert_eq!(lost(&drops(&[]), &after, End::Stopped), drops(&[]));
    }

    #[test]
    fn it_is_told_how_many_and_why() {
        let lost = Lost { to: "eth0".to_owned(), delivered: 7, drops: drops(&[("down", 2), ("panic", 1)]) };
        let expected =
            "error: eth0: 3 of 10 packets were not sent: 2 down (the device is not up, or is gone); 1 panic";
        assert_eq!(lost.message().to_string(), expected);
    }
}
