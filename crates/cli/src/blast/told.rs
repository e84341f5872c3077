//! What a blast has come to: what was offered, what was taken, and at which rates.

use super::cut;
use super::flags::TARGET;
use crate::ended::Ended;
use crate::json::rounded;
use crate::plural::counted;
use crate::units::quantity;
use engine::{LinkReport, Report};
use serde_json::{Value, json};

/// What was offered to the target, and what it has taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Tally {
    offered_packets: u64,
    offered_bytes: u64,
    pub(super) packets: u64,
    /// Whether the target, or the link to it, has dropped any.
    has_lost: bool,
}

impl Tally {
    pub(super) fn of(report: &Report) -> Self {
        let is_last = |link: &&LinkReport| link.link.to.app == TARGET;
        let sum = |count: fn(&LinkReport) -> u64| report.links.iter().filter(is_last).map(count).sum::<u64>();
        let drops = report.drops.values().sum::<u64>();
        Tally {
            offered_packets: sum(|link| link.txpackets),
            offered_bytes: sum(|link| link.txbytes),
            packets: report.delivered,
            has_lost: drops > 0,
        }
    }

    /// When all has come to its end, after a report that still had the links.
    fn ended(self, after: &Report) -> Self {
        let packets = after.delivered;
        Tally { packets, has_lost: packets < self.offered_packets, ..self }
    }

    pub(super) fn since(&self, earlier: &Tally) -> Tally {
        Tally {
            offered_packets: self.offered_packets - earlier.offered_packets,
            offered_bytes: self.offered_bytes - earlier.offered_bytes,
            packets: self.packets - earlier.packets,
            has_lost: self.has_lost,
        }
    }

    /// Bytes of the packets that the target has taken. Targets do not count bytes: where some packets were lost, those taken
    /// count with the mean size of those offered.
    fn bytes(&self) -> u64 {
        match self.offered_packets {
            0 => 0,
            _ if !self.has_lost => self.offered_bytes,
            offered => (self.offered_bytes as f64 * (self.packets as f64 / offered as f64)).round() as u64,
        }
    }

    /// What the target takes, and if that is less, what it is offered.
    pub(super) fn rates(&self, seconds: f64) -> String {
        let taken = rates(self.packets, self.bytes(), seconds);
        if !self.has_lost {
            return taken;
        }
        format!("{taken} taken of {} offered", rates(self.offered_packets, self.offered_bytes, seconds))
    }
}

/// What has happened, once everything is stopped and all that waited is written.
pub(super) struct Told<'a> {
    pub(super) to: &'a str,
    pub(super) seconds: f64,
    pub(super) ended: &'a Ended,
}

impl Told<'_> {
    fn tally(&self) -> Tally {
        Tally::of(&self.ended.report).ended(&self.ended.after)
    }

    /// As one JSON object.
    pub(super) fn object(&self) -> Value {
        let tally = self.tally();
        let (packets, bytes) = (tally.packets, tally.bytes());
        json!({
            "v": 1,
            "type": "blast",
            "to": self.to,
            "packets": packets,
            "bytes": bytes,
            "seconds": rounded(self.seconds),
            "cpu_s": rounded(self.ended.cpu_s),
            "pps": (packets as f64 / self.seconds.max(1e-9)).round() as u64,
            "mbps": rounded(bytes as f64 * 8e-6 / self.seconds.max(1e-9)),
            "offered": { "packets": tally.offered_packets, "bytes": tally.offered_bytes },
            "estimated": tally.has_lost && packets > 0,
            "cut": cut::cut(&self.ended.report),
            "drops": self.ended.after.drops,
            "balanced": self.ended.is_balanced(),
        })
    }

    /// On one line.
    pub(super) fn in_words(&self) -> String {
        let tally = self.tally();
        let mut text = format!(
            "{} in {:.3} s: {}",
            counted(tally.packets, "packet"),
            self.seconds,
            tally.rates(self.seconds)
        );
        for (reason, count) in &self.ended.after.drops {
            text.push_str(&format!("; {count} dropped: {reason}"));
        }
        text.push('\n');
        text
    }
}

fn rates(packets: u64, bytes: u64, seconds: f64) -> String {
    let per_second = |count: f64| count / seconds.max(1e-9);
    let [pps, bps] = [packets as f64, bytes as f64 * 8.0].map(per_second);
    format!("{}, {}", quantity(pps, "pps"), quantity(bps, "bps"))
}

#[cfg(test)]
mod tests {
    use super::Tally;

    #[test]
    fn bytes_are_those_of_packets_that_were_taken() {
        let tally =
            |packets, has_lost| Tally { offered_packets: 100, offered_bytes: 6000, packets, has_lost };
        assert_eq!(tally(100, false).rates(2.0), "50 pps, 24.0 kbps");
        assert_eq!(tally(0, true).rates(2.0), "0 pps, 0 bps taken of 50 pps, 24.0 kbps offered");
        assert_eq!((tally(50, true).bytes(), Tally::default().bytes()), (3000, 0));
    }
}
