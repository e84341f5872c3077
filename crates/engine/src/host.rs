//! Single apps without a graph, for who moves packets between them in a way of its own: the engine of Lua programs, whose links are not ours.
//!
//! ```text
//!  feed ──► Output ═ ring ═ Input ──► app ──► Output ═ ring ═ Input ──► drain
//!  (the host's)                (Hosted::turn)                      (the host's)
//! ```
//!
//! The app sees ends of links as in a graph. The other ends are the host's, who puts packets into inputs before a turn and takes them out of outputs
//! after it. What the app drops by letting go of it goes back to the pool. An app that panics is gone.

use crate::app::{AnyApp, Breath, Legacy, Plugs, PortNames, Roles, Setup};
use crate::clock::ClockKind;
use crate::config::Config;
use crate::discards::Discards;
use crate::drops;
use crate::link::{Between, Input, Output, link};
use crate::notice::{Notices, Notifier};
use crate::option::OptionError;
use crate::panic::guarded;
use crate::pool::{Burst, Orphans, Packet, Pool};
use crate::shm::{Counter, EntryKind, LinkCounters, Record, RecordKind, RecordSize, Segment};
use std::io;

/// What the apps of a host share: packets, counters, and what they tell.
#[derive(Debug)]
pub struct Host {
    pool: Pool,
    engine: u64,
    segment: Segment,
    notices: Notices,
}

/// An app that a [`Host`] runs.
pub struct Hosted {
    app: Box<dyn AnyApp>,
    roles: Roles,
    plugs: Plugs,
    feeds: Vec<Output>,
    drains: Vec<Input>,
    discarded: Counter,
    record: Record,
    // Things that a running app may still use, dropped after it.
    _legacy: Legacy,
    _discards: Discards,
}

/// A turn of a hosted app.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    /// [`App::pull`](crate::App::pull).
    Pull,
    /// [`App::push`](crate::App::push).
    Push,
    /// [`App::tick`](crate::App::tick).
    Tick,
    /// [`App::stop`](crate::App::stop).
    Stop,
}

impl Host {
    /// A host with a pool of so many packets.
    ///
    /// # Errors
    /// When the system refuses the memory.
    pub fn new(packets: usize) -> io::Result<Self> {
        let engine = crate::engine::new_id();
        let pool = Pool::of_engine(packets, engine)?.with_large(0)?;
        Ok(Host { pool, engine, segment: Segment::private()?, notices: Notices::default() })
    }

    /// The packets.
    pub fn pool(&mut self) -> &mut Pool {
        &mut self.pool
    }

    /// The time of day for packets that are new from now on, in nanoseconds since 1970.
    pub fn set_time(&mut self, now_ns: u64) {
        self.pool.stamp_time(now_ns);
    }

    /// What apps tell.
    pub fn notices(&self) -> &Notices {
        &self.notices
    }

    /// Starts an app. It gets these ports, in this order; a port that its class names and that is not among these gets no link.
    ///
    /// # Errors
    /// Which option is wrong, which port its class does not have, or what the system refused.
    pub fn start(
        &mut self,
        name: &str,
        config: &Config,
        inputs: &[&str],
        outputs: &[&str],
        now_ns: u64,
    ) -> Result<Hosted, OptionError> {
        config.check()?;
        let class = config.class();
        for (ports, linked) in [(&class.inputs, inputs), (&class.outputs, outputs)] {
            if let Some(wrong) = linked.iter().find(|name| !ports.allow(name)) {
                let why = format!("it has no port `{wrong}`, but {ports}");
                return Err(OptionError::failed("link it", why));
            }
        }
        config.check_ports(&PortNames { inputs: inputs.to_vec(), outputs: outputs.to_vec() })?;
        let size = RecordSize { entries: 48, numbers: 64 };
        let record = self.segment.record(RecordKind::App, name, &class.name, size);
        let mut record = record.map_err(|error| OptionError::failed("count", error.to_string()))?;
        let discarded = record.number(drops::DISCARDED, EntryKind::Drop);
        let unlinked = record.number(drops::UNLINKED, EntryKind::Drop);
        let (mut legacy, mut discards) = (Legacy::default(), Discards::default());
        let notifier = Notifier::new(name, &self.notices);
        let mut setup = Setup {
            name,
            clock: ClockKind::Wall,
            now_ns,
            record: &mut record,
            legacy: &mut legacy,
            notifier: &notifier,
            prepared: config.prepared(),
            discards: &mut discards,
        };
        let started = guarded(|| config.start(&mut setup));
        let mut app = started.unwrap_or_else(|panic| Err(OptionError::failed("start", panic.message())))?;

        let (input_names, output_names) = (class.inputs.names(), class.outputs.names());
        let input_names = if class.inputs.are_any() { inputs.to_vec() } else { input_names };
        let output_names = if class.outputs.are_any() { outputs.to_vec() } else { output_names };
        let mut plugs = Plugs::default();
        let (mut feeds, mut drains) = (Vec::new(), Vec::new());
        // In the order of the class; the host's ends in that of the host.
        let new = || link(LinkCounters::hidden(), Between::OneThread);
        let mut linked_inputs: Vec<_> = inputs.iter().map(|&name| (name, new())).collect();
        for name in &input_names {
            let found = linked_inputs.iter().position(|(linked, _)| linked == name);
            plugs.inputs.push(found.map_or_else(Input::unlinked, |at| {
                std::mem::replace(&mut linked_inputs[at].1.1, Input::unlinked())
            }));
        }
        feeds.extend(linked_inputs.into_iter().map(|(_, (feed, _))| feed));
        let mut linked_outputs: Vec<_> = outputs.iter().map(|&name| (name, new())).collect();
        for name in &output_names {
            let found = linked_outputs.iter().position(|(linked, _)| linked == name);
            let none = || Output::unlinked(unlinked.clone());
            plugs
                .outputs
                .push(found.map_or_else(none, |at| std::mem::replace(&mut linked_outputs[at].1.0, none())));
        }
        drains.extend(linked_outputs.into_iter().map(|(_, (_, drain))| drain));
        let announced = PortNames { inputs: input_names, outputs: output_names };
        let asked = guarded(|| {
            app.link(&announced);
            app.roles()
        });
        let roles = asked.map_err(|panic| OptionError::failed("start", panic.message()))?;
        if roles.has(Roles::METADATA) {
            self.pool.stamp(now_ns);
        }
        Ok(Hosted {
            app,
            roles,
            plugs,
            feeds,
            drains,
            discarded,
            record,
            _legacy: legacy,
            _discards: discards,
        })
    }
}

impl Hosted {
    /// The turns that the app wants.
    pub fn roles(&self) -> Roles {
        self.roles
    }

    /// How many packets can be put into an input now.
    pub fn room(&self, input: usize) -> usize {
        self.feeds[input].room()
    }

    /// Puts a packet into an input, for the next turn. Without room for it, it is dropped.
    #[inline]
    pub fn put(&mut self, input: usize, packet: Packet) {
        self.feeds[input].put(packet);
    }

    /// Puts a burst into an input, for the next turn. Returns its bytes. What has no room is dropped.
    #[inline]
    pub fn feed(&mut self, input: usize, burst: Burst<'_>) -> u64 {
        let feed = &mut self.feeds[input];
        let before = feed.bytes();
        feed.send(burst);
        feed.bytes() - before
    }

    /// Gives the app a turn, of at most `burst` packets for one that pulls. Packets that it allocates have the time of [`Host::set_time`].
    ///
    /// # Errors
    /// The message of its panic. The app must not get another turn then.
    pub fn turn(&mut self, host: &mut Host, turn: Turn, now_ns: u64, burst: u32) -> Result<(), String> {
        for feed in &mut self.feeds {
            feed.end();
        }
        for input in &mut self.plugs.inputs {
            input.begin();
        }
        let outer = Orphans::running();
        Orphans::enter(0);
        let Hosted { app, plugs, .. } = self;
        let pool = &mut host.pool;
        let done = guarded(|| {
            let mut breath = Breath { pool, burst, now_ns };
            match turn {
                Turn::Pull => app.pull(&mut breath.io(plugs)),
                Turn::Push => app.push(&mut breath.io(plugs)),
                Turn::Tick => app.tick(&mut breath.io(plugs)),
                Turn::Stop => app.stop(&mut breath.io(plugs)),
            }
        });
        Orphans::back_to(outer);
        for output in &mut self.plugs.outputs {
            output.end();
        }
        for input in &mut self.plugs.inputs {
            input.end();
        }
        if Orphans::any() {
            let discarded = &self.discarded;
            Orphans::sweep(host.engine, |_, packet| host.pool.free(packet, discarded));
        }
        done.map_err(|panic| panic.message())
    }

    /// Takes what the app has sent to an output: a burst at a time, until `None`. To be followed by [`Hosted::taken`].
    #[inline]
    pub fn take(&mut self, output: usize) -> Option<Burst<'_>> {
        let drain = &mut self.drains[output];
        if drain.waiting() == 0 {
            drain.begin();
        }
        drain.burst()
    }

    /// Ends the taking: slots that were emptied are the app's again.
    #[inline]
    pub fn taken(&mut self, output: usize) {
        self.drains[output].end();
    }

    /// Packets that it keeps.
    pub fn held(&self) -> usize {
        guarded(|| self.app.held()).unwrap_or(0)
    }

    /// Whether it will not bring in any more packets.
    pub fn is_finished(&self) -> bool {
        guarded(|| self.app.is_finished()).unwrap_or(true)
    }

    /// Its own report.
    pub fn report(&self) -> Option<String> {
        guarded(|| self.app.reporting().and_then(|app| app.report())).unwrap_or(None)
    }

    /// Whether it failed in its work, as its report says.
    pub fn has_failed(&self) -> bool {
        guarded(|| self.app.reporting().is_some_and(|app| app.has_failed())).unwrap_or(false)
    }

    /// Its counters.
    pub fn counters(&self) -> Vec<(String, EntryKind, u64)> {
        let told = self.record.entries().filter(|(_, kind, _)| *kind != EntryKind::Histogram);
        told.map(|(name, kind, value)| (name.to_owned(), kind, value)).collect()
    }
}

impl std::fmt::Debug for Hosted {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Hosted").field("plugs", &self.feeds.len()).finish_non_exhaustive()
    }
}

#[cfg(all(test, not(loom)))]
mod tests;
