//! Captures that are judged by a policy, packet by packet.

use crate::blame::Blame;
use crate::exit::Failure;
use crate::inputs::Found;
use crate::terminal::Terminal;
use capture::{Batch, Stream};
use flow::Packet;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use wall::judge::{Judge, Verdict};
use wall::ledger::Ledger;
use wall::policy::{Identify, Policy};
use wall::spy::{Settings, SpyError};

/// A judge of captures.
pub(super) struct Replay {
    pub(super) judge: Judge,
    /// Why nDPI is not asked, if it was to be.
    pub(super) without_ndpi: Option<String>,
}

/// How a replay ended, if not at the end of all captures.
#[derive(Default)]
pub(super) struct Replayed {
    /// What was damaged. What came before it was judged.
    pub(super) damage: Option<Failure>,
}

impl Replay {
    /// A judge whose every run says the same.
    pub(super) fn new(policy: &Arc<Policy>, ledger: Option<Ledger>) -> Result<Replay, Failure> {
        Replay::with(policy, ledger, policy.settings().dpi)
    }

    /// A judge that asks nobody: to see what it takes.
    pub(super) fn dry(policy: &Arc<Policy>) -> Result<Replay, Failure> {
        Replay::with(policy, None, Identify::Own)
    }

    fn with(policy: &Arc<Policy>, ledger: Option<Ledger>, dpi: Identify) -> Result<Replay, Failure> {
        let options = dpi::worker::Options { guess: false, nice: 0, ..dpi::worker::Options::default() };
        let settings = |asks: bool| Settings {
            flows: flow::Settings { secret: flow::Secret::from_seed(0), ..flow::Settings::default() },
            ndpi: asks.then(|| options.clone()),
            waits: true,
            ledger: ledger.clone(),
            ..Settings::default()
        };
        let new = |asks| Judge::new(Arc::clone(policy), settings(asks));
        match (dpi, new(dpi != Identify::Own)) {
            (_, Ok(judge)) => Ok(Replay { judge, without_ndpi: None }),
            (Identify::Auto, Err(SpyError::Worker(why))) => {
                let judge = new(false).map_err(Failure::world)?;
                Ok(Replay { judge, without_ndpi: Some(why.to_string()) })
            }
            (_, Err(error)) => Err(Failure::world(error)),
        }
    }

    /// Judges all packets of captures. `each` is told of each batch.
    pub(super) fn run(
        &mut self,
        found: Found,
        interfaces: [Option<&str>; 2],
        (stop, terminal): (Option<Arc<AtomicBool>>, &Terminal),
        mut each: impl FnMut(&Batch<'_>, &[Packet<'_>], &[Verdict], &mut Judge) -> Result<(), Failure>,
    ) -> Result<Replayed, Failure> {
        if let Some(message) = &found.left_out {
            terminal.tell(message);
        }
        let mut damage = found.unread.first().map(Failure::capture);
        let mut stream = Stream::new(found.inputs);
        if let Some(stop) = stop {
            stream.stop_when(stop);
        }
        let way = self.judge.way(interfaces[0], interfaces[1]);
        let mut verdicts = Vec::new();
        loop {
            let batch = match stream.next_batch() {
                Ok(Some(batch)) => batch,
                Ok(None) => break,
                Err(error) => {
                    let failure = Failure::capture(&error);
                    if failure.blame != Blame::Damage {
                        return Err(failure);
                    }
                    damage = damage.or(Some(failure));
                    continue;
                }
            };
            let packets: Vec<Packet<'_>> = batch
                .iter()
                .map(|packet| Packet {
                    frame: packet.data,
                    linktype: packet.linktype,
                    time_ns: u64::try_from(packet.timestamp_ns).unwrap_or(0),
                    wire_len: packet.wire_len,
                })
                .collect();
            verdicts.clear();
            verdicts.resize(packets.len(), Verdict::NONE);
            self.judge.burst(&packets, way, &mut verdicts);
            each(&batch, &packets, &verdicts, &mut self.judge)?;
        }
        Ok(Replayed { damage })
    }
}
