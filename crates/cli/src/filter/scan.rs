//! One capture through the filters: batches in, chunks of finished output out.

use super::bits::{self, WORDS, keep_first, set_bits};
use crate::decider::Decider;
use crate::exit::Failure;
use crate::filter::duplicates::Recent;
use crate::filter::intervals::Intervals;
use crate::filter::losses::{Known, Loss};
use crate::filter::misfits::{InterfaceNames, Misfits};
use crate::filter::prefiltered::{self, Prefiltered};
use crate::filter::render::{self, Renderer};
use crate::filter::select::{Filters, ForLinkType};
use crate::filter::tallies::Tallies;
use crate::filter::window::Window;
use crate::signals::Caught;
use capture::{Batch, Encoded, Reader};
use pflang::{Calls, Matcher, Packet};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use wire::LinkType;

/// Chunks of this size are handed on: large enough for one write to be cheap, small enough for flat memory.
const CHUNK_BYTES: usize = 256 * 1024;

/// The packets of a batch that a filter has chosen.
pub(super) type Bits = [u64; WORDS];

/// What a stretch of one capture came to.
#[derive(Debug, Default)]
pub(crate) struct Chunk {
    /// Finished output, for each filter.
    pub(crate) outputs: Vec<Vec<u8>>,
    /// What its packets have come to.
    pub(super) encoded: Vec<Encoded>,
    /// The times of packets in it, where an output asks for them.
    pub(super) times: Vec<Vec<i64>>,
    /// Packets matched, for each filter.
    pub(crate) matched: Vec<u64>,
    /// Packets that matched and were left out as duplicates, for each filter.
    pub(super) duplicates: Vec<u64>,
    /// Packets read.
    pub(crate) packets: u64,
    /// What a program has called.
    pub(crate) calls: Tallies,
    /// What has matched, by time.
    pub(super) intervals: Intervals,
    /// What the packets in it have lost, if that was not told in a chunk before.
    pub(super) losses: Vec<Loss>,
    /// Packets that filters could not be asked about.
    pub(super) misfits: Misfits,
}

/// What workers share: counters that the progress display reads, and the wish to stop.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    pub(crate) bytes: AtomicU64,
    pub(crate) packets: AtomicU64,
    pub(crate) matched: AtomicU64,
    stop: AtomicBool,
    pub(crate) signals: Caught,
}

impl Tally {
    /// Asks every worker to end at its next batch.
    pub(crate) fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    /// Whether to end at the next batch.
    pub(crate) fn should_stop(&self) -> bool {
        self.stop.load(Ordering::Relaxed) || self.signals.signal().is_some()
    }
}

/// How scanning a capture ended.
#[derive(Debug)]
pub(crate) enum End {
    /// At its end, at the wanted number of matches, or at a signal.
    Done,
    /// The capture is damaged or could not be read on.
    Input(capture::Error),
    /// The whole run must end.
    Fatal(Failure),
}

/// What a scan is limited to, and what it counts beside.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Limits {
    /// How many packets each filter may match.
    pub(crate) max: Option<u64>,
    /// Whether each capture is read to its first match only.
    pub(super) first_of_each: bool,
    /// The length of intervals that are counted, in nanoseconds.
    pub(super) interval_ns: Option<i64>,
    /// How many bytes of a packet are written at most.
    pub(super) cut: Option<u32>,
    /// Which packets are looked at.
    pub(super) window: Window,
    /// Among how many packets there is no duplicate.
    pub(super) dedup: Option<usize>,
    /// Whether outputs ask for the times of packets.
    pub(super) with_times: bool,
}

/// Scans captures, one after the other.
pub(crate) struct Scanner<'a> {
    filters: &'a Filters<'a>,
    pub(super) tally: &'a Tally,
    renderers: Vec<Renderer>,
    /// How many more matches each filter may have.
    remaining: Vec<u64>,
    /// What was chosen last, for each filter, if duplicates are left out.
    recent: Vec<Recent>,
    limits: Limits,
    /// The time of the first packet of all.
    first_ns: Option<i64>,
    current: Option<(LinkType, ForLinkType)>,
    interface_names: InterfaceNames,
    known_losses: Known,
    chunk: Chunk,
    /// What a program calls for the packets of a batch.
    calls: Calls,
    /// Where packets come from, if the kernel has run the one filter on them before.
    kernel: Option<Prefiltered>,
    /// Whether their records are copied to the one output without a look at each.
    copies_records: bool,
}

impl<'a> Scanner<'a> {
    /// A scanner with a renderer for each filter.
    pub(crate) fn new(
        filters: &'a Filters<'a>,
        tally: &'a Tally,
        renderers: Vec<Renderer>,
        limits: Limits,
    ) -> Self {
        let count = renderers.len();
        Scanner {
            filters,
            tally,
            renderers,
            remaining: vec![limits.max.unwrap_or(u64::MAX); count],
            recent: limits
                .dedup
                .map_or_else(Vec::new, |window| (0..count).map(|_| Recent::new(window)).collect()),
            limits,
            first_ns: None,
            current: None,
            interface_names: InterfaceNames::default(),
            known_losses: Known::default(),
            chunk: Chunk::sized(count),
            calls: Calls::default(),
            kernel: None,
            copies_records: false,
        }
    }

    /// The same, for packets that the kernel has let through by all filters, which are one.
    pub(super) fn after(self, kernel: Option<Prefiltered>) -> Self {
        let Limits { max, interval_ns, cut, window, dedup, with_times, .. } = self.limits;
        let is_limited = max.is_some() || dedup.is_some() || !window.is_whole();
        let looks_at_packets = interval_ns.is_some() || cut.is_some() || with_times;
        let takes_records = match &*self.renderers {
            [Renderer::Count] => true,
            [Renderer::Capture(encoder)] => prefiltered::takes_records(encoder.target()),
            _ => false,
        };
        Scanner { kernel, copies_records: takes_records && !is_limited && !looks_at_packets, ..self }
    }

    /// Fills the chunk with packets that the kernel has decided about, where they go into the output as they come. Returns whether there are some.
    fn copy_decided(&mut self) -> bool {
        let Some(kernel) = self.kernel.as_ref().filter(|_| self.copies_records) else { return false };
        let packets = kernel.take_decided(&mut self.chunk.outputs[0], CHUNK_BYTES);
        self.chunk.packets += packets;
        self.chunk.matched[0] += packets;
        self.tally.packets.fetch_add(packets, Ordering::Relaxed);
        self.tally.matched.fetch_add(packets, Ordering::Relaxed);
        packets > 0
    }

    /// Whether every filter has had all the matches it may have.
    pub(crate) fn is_satisfied(&self) -> bool {
        // A program without outputs looks at all packets.
        !self.limits.first_of_each && self.has_all()
    }

    /// Whether no filter may match any more.
    fn has_all(&self) -> bool {
        !self.remaining.is_empty() && self.remaining.iter().all(|&remaining| remaining == 0)
    }

    /// Reads a capture to its end, handing over chunks, which may be taken or only looked at. What came before an error
    /// has been handed over. Of a live input, which may pause at any time, what was read is handed over before more is.
    pub(crate) fn scan(
        &mut self,
        reader: &mut Reader,
        is_live: bool,
        mut deliver: impl FnMut(&mut Chunk) -> Result<(), Failure>,
    ) -> End {
        let (mut consumed, mut packets) = (0, 0);
        let mut has_begun = false;
        if self.limits.first_of_each {
            self.remaining.fill(1);
        }
        let end = loop {
            if self.should_end() {
                break End::Done;
            }
            // The first batch brings the header of the capture. Whatever was read before has been handed over.
            if has_begun && !reader.has_packet() && self.copy_decided() {
                packets += self.chunk.packets;
                if let Err(failure) = self.hand_over(&mut deliver) {
                    return End::Fatal(failure);
                }
                continue;
            }
            match reader.next_batch() {
                Ok(Some(batch)) => {
                    has_begun = true;
                    if let Err(failure) = self.batch(&batch, packets) {
                        break End::Fatal(failure);
                    }
                    packets += batch.len() as u64;
                }
                Ok(None) => break End::Done,
                Err(error) => break End::Input(error),
            }
            self.tally.bytes.fetch_add(reader.consumed() - consumed, Ordering::Relaxed);
            consumed = reader.consumed();
            if (self.is_chunk_full() || is_live && !reader.has_packet())
                && let Err(failure) = self.hand_over(&mut deliver)
            {
                return End::Fatal(failure);
            }
        };
        match self.hand_over(&mut deliver) {
            Ok(()) => end,
            Err(failure) => End::Fatal(failure),
        }
    }

    /// Whether nothing more is to be read.
    pub(super) fn should_end(&self) -> bool {
        self.tally.should_stop() || self.has_all()
    }

    /// Whether the chunk is large enough to be handed over.
    pub(super) fn is_chunk_full(&self) -> bool {
        self.chunk.outputs.iter().any(|output| output.len() >= CHUNK_BYTES)
    }

    /// Says which of several captures packets are of from here on.
    pub(super) fn turn_to(&mut self, source: usize) {
        for renderer in &mut self.renderers {
            if let Renderer::Merged(_, input) = renderer {
                *input = source;
            }
        }
    }

    /// Takes note of a batch of one of several captures, before its packets are taken.
    pub(super) fn look(&mut self, batch: &Batch<'_>) {
        for (renderer, out) in self.renderers.iter_mut().zip(&mut self.chunk.outputs) {
            if let Renderer::Merged(encoder, input) = renderer {
                encoder.look(*input, batch, out);
            }
        }
    }

    /// Hands the chunk over, and begins another in the same memory, if that was left.
    pub(super) fn hand_over(
        &mut self,
        deliver: &mut impl FnMut(&mut Chunk) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let delivered = deliver(&mut self.chunk);
        self.chunk.reset(self.renderers.len());
        delivered
    }

    /// Filters a batch, before which so many packets of its input came.
    fn batch(&mut self, batch: &Batch<'_>, before: u64) -> Result<(), Failure> {
        if self.filters.is_program() {
            return self.program(batch, before);
        }
        let mut names = std::mem::take(&mut self.interface_names);
        let chosen = self.ask(batch, &mut names);
        self.interface_names = names;
        self.take(batch, before, batch.len(), &mut chosen?)
    }

    /// Has the filters choose among the packets of a batch; `names` are those of the interfaces of its section.
    pub(super) fn ask(
        &mut self,
        batch: &Batch<'_>,
        names: &mut InterfaceNames,
    ) -> Result<Vec<Bits>, Failure> {
        names.look(batch, self.fitting());
        self.choose_filters(batch)?;
        if self.kernel.as_ref().is_some_and(|kernel| kernel.has_decided(batch)) {
            return Ok(vec![bits::all(batch.len()); self.renderers.len()]);
        }
        let packets = packets_of(batch);
        let (linktype, filters) = match &self.current {
            Some((linktype, filters)) => (*linktype, filters.as_slice()),
            // No packet has come.
            None => (LinkType::NULL, &[][..]),
        };
        let mut chosen = vec![[0; WORDS]; self.renderers.len()];
        for (i, bits) in chosen.iter_mut().enumerate() {
            match filters.get(i) {
                Some(Some(filter)) => {
                    filter.match_burst(&packets, bits);
                }
                Some(None) if self.remaining[i] > 0 => self.chunk.misfits.add(i, linktype, batch, names),
                _ => {}
            }
        }
        Ok(chosen)
    }

    /// Takes so many packets of a batch, before which so many of its input came: of those, each filter has chosen these.
    pub(super) fn take(
        &mut self,
        batch: &Batch<'_>,
        before: u64,
        packets: usize,
        chosen: &mut [Bits],
    ) -> Result<(), Failure> {
        let mut matched_any = 0;
        for ((i, renderer), bits) in self.renderers.iter_mut().enumerate().zip(chosen) {
            self.limits.window.clear(bits, batch, before, &mut self.first_ns);
            if let Some(recent) = self.recent.get_mut(i).filter(|_| self.remaining[i] > 0) {
                self.chunk.duplicates[i] += recent.clear(bits, batch, self.remaining[i]);
            }
            let mut matched = bits.iter().map(|word| u64::from(word.count_ones())).sum::<u64>();
            if matched > self.remaining[i] {
                keep_first(bits, self.remaining[i]);
                matched = self.remaining[i];
            }
            self.remaining[i] -= matched;
            self.chunk.matched[i] += matched;
            matched_any += matched;
            if let Some(step_ns) = self.limits.interval_ns {
                self.chunk.intervals.count(i, step_ns, batch, bits);
            }
            if self.limits.with_times {
                let times = set_bits(bits).map(|packet| batch.timestamp_ns(&batch.packets()[packet]));
                self.chunk.times[i].extend(times);
            }
            self.chunk.encoded[i] += renderer.render(batch, before, bits, &mut self.chunk.outputs[i])?;
            if let Some(target) = renderer.target() {
                self.chunk.losses.extend(self.known_losses.look(i, target, batch, bits));
            }
        }
        self.chunk.packets += packets as u64;
        self.tally.packets.fetch_add(packets as u64, Ordering::Relaxed);
        self.tally.matched.fetch_add(matched_any, Ordering::Relaxed);
        Ok(())
    }

    /// Asks a program about the packets of a batch, before which so many packets of its input came.
    fn program(&mut self, batch: &Batch<'_>, before: u64) -> Result<(), Failure> {
        let fitting = self.fitting();
        self.interface_names.look(batch, fitting);
        self.choose_filters(batch)?;
        let packets = packets_of(batch);
        let program: Option<Matcher> = match &self.current {
            Some((_, deciders)) => match deciders.first() {
                Some(Some(Decider::Program(program))) => Some(program.clone()),
                _ => None,
            },
            None => None,
        };
        if let (None, Some((linktype, _))) = (&program, &self.current) {
            self.chunk.misfits.add(0, *linktype, batch, &self.interface_names);
        }
        if let Some(program) = &program {
            let row: Vec<u32> = self.filters.inputs().collect();
            program.call_burst(&packets, &row.repeat(packets.len()), &mut self.calls);
            self.chunk.calls.count(program.calls(&self.calls))?;
        }
        let none = |_: &Packet<'_>| None;
        for (i, renderer) in self.renderers.iter_mut().enumerate() {
            let out = &mut self.chunk.outputs[i];
            if let Renderer::Calls(numbers) = *renderer {
                match &program {
                    Some(program) => render::calls(program.calls(&self.calls), numbers, batch, before, out),
                    None => render::calls(packets.iter().map(none), numbers, batch, before, out),
                }
                continue;
            }
            let mut bits = [0_u64; WORDS];
            let wanted = self.filters.handler(i);
            let mut set = |at: usize, handler: Option<&str>| {
                bits[at / 64] |= u64::from(handler == wanted) << (at % 64);
            };
            match &program {
                Some(program) => {
                    let calls = program.calls(&self.calls).map(|call| call.map(|call| call.handler));
                    calls.enumerate().for_each(|(at, handler)| set(at, handler));
                }
                None => (0..packets.len()).for_each(|at| set(at, None)),
            }
            self.chunk.matched[i] += bits.iter().map(|word| u64::from(word.count_ones())).sum::<u64>();
            self.chunk.encoded[i] += renderer.render(batch, before, &bits, out)?;
            if let Renderer::Capture(encoder) = renderer {
                self.chunk.losses.extend(self.known_losses.look(i, encoder.target(), batch, &bits));
            }
        }
        self.chunk.packets += batch.len() as u64;
        self.tally.packets.fetch_add(batch.len() as u64, Ordering::Relaxed);
        let taken = self.calls.len() - self.calls.unclaimed();
        self.tally.matched.fetch_add(if program.is_some() { taken as u64 } else { 0 }, Ordering::Relaxed);
        Ok(())
    }

    /// The link type of the last packets, if all filters exist for it.
    pub(super) fn fitting(&self) -> Option<LinkType> {
        let (linktype, filters) = self.current.as_ref()?;
        filters.iter().all(Option::is_some).then_some(*linktype)
    }

    /// Compiles for the link type of this batch. What has no packets asks nothing of a filter: an interface that is described may
    /// never have any.
    fn choose_filters(&mut self, batch: &Batch<'_>) -> Result<(), Failure> {
        let Some(linktype) = batch.linktype() else { return Ok(()) };
        let linktype = batch.format().as_read_here(linktype);
        if self.current.as_ref().is_none_or(|(current, _)| *current != linktype) {
            self.current = Some((linktype, self.filters.for_packets(linktype, batch)?));
        }
        Ok(())
    }
}

/// PERF: one allocation a batch is cheaper than to clear an array for it.
fn packets_of<'b>(batch: &Batch<'b>) -> Vec<Packet<'b>> {
    batch.packets().iter().map(|found| Packet::new(batch.data(found), found.wire_len)).collect()
}

impl Chunk {
    /// Bytes of finished output.
    pub(crate) fn bytes(&self) -> usize {
        self.outputs.iter().map(Vec::len).sum()
    }

    fn sized(filters: usize) -> Chunk {
        let mut chunk = Chunk::default();
        chunk.reset(filters);
        chunk
    }

    /// Makes it empty, for a number of filters.
    fn reset(&mut self, filters: usize) {
        self.outputs.resize_with(filters, Vec::new);
        self.outputs.iter_mut().for_each(Vec::clear);
        self.times.resize_with(filters, Vec::new);
        self.times.iter_mut().for_each(Vec::clear);
        self.encoded.clear();
        self.encoded.resize(filters, Encoded::default());
        for counts in [&mut self.matched, &mut self.duplicates] {
            counts.clear();
            counts.resize(filters, 0);
        }
        self.packets = 0;
        self.calls.clear();
        self.intervals.clear();
        self.losses.clear();
        self.misfits.clear();
    }
}
