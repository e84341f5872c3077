//! Drives a run: opens inputs, scans them here or on worker threads, keeps the output in order, counts.

use crate::blame::Blame;
use crate::exit::{Failure, Outcome};
use crate::filter::budget::{Budget, Open};
use crate::filter::dump::Dump;
use crate::filter::intervals::Intervals;
use crate::filter::losses::{self, Known, Loss, What};
use crate::filter::merge::Event;
use crate::filter::misfits::{Misfits, TOLD_MAX};
use crate::filter::names::{First, OutputFormat};
use crate::filter::opening;
use crate::filter::places::{of_two_filters, refuse_to_append, refuse_to_lose};
use crate::filter::plan::{Plan, Selection};
use crate::filter::prefiltered::Prefiltered;
use crate::filter::progress;
use crate::filter::render::{Numbers, Renderer};
use crate::filter::scan::{Chunk, End, Limits, Scanner, Tally};
use crate::filter::select::{Filters, described};
use crate::filter::sinks::{Buffering, Sinks};
use crate::filter::tallies::Tallies;
use crate::inputs::{self, Found};
use crate::language::one_line;
use crate::message::Message;
use crate::plural::{self, counted};
use crate::signals;
use crate::terminal::{Terminal, When};
use capture::{Encoder, FileIdentity, Format, Input, NamedFormat, Reader, Target};
use std::collections::HashSet;
use std::io::IsTerminal;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, channel, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use wire::LinkType;

/// Chunks that one input may be ahead of the output.
const QUEUE_CHUNKS: usize = 8;

/// Inputs that may be begun before the first of them is written, for each worker.
const INPUTS_PER_JOB: usize = 4;

/// What a run came to.
#[derive(Debug, Default)]
pub(crate) struct Totals {
    pub(crate) matched: Vec<u64>,
    /// Packets that were left out as duplicates, if any were to be.
    pub(super) duplicates: Vec<Option<u64>>,
    pub(crate) packets: u64,
    /// What a program has called.
    pub(crate) calls: Tallies,
    /// What has matched, by time.
    pub(super) intervals: Intervals,
    /// What each input came to, in their order; none of those that could not be opened.
    pub(super) by_input: Vec<OfInput>,
    /// What is wrong with inputs that could not be read to their end.
    pub(crate) errors: Vec<String>,
    /// What is wrong with inputs, in their order, from the first that the system refused, until one is opened: where none is, the run ends as that
    /// first one did.
    refused: Vec<Failure>,
    /// Whether an input could be opened, so that there is a result.
    has_begun: bool,
    /// The signal that ended the run early.
    pub(crate) signal: Option<i32>,
    /// Whether reading stopped because every filter had as many matches as it may have.
    pub(crate) is_satisfied: bool,
}

/// What one input came to.
#[derive(Debug, Default)]
pub(super) struct OfInput {
    pub(super) name: String,
    pub(super) packets: u64,
    /// Packets matched, for each filter.
    pub(super) matched: Vec<u64>,
}

impl Totals {
    /// Whether every input was read to its end.
    pub(crate) fn is_complete(&self) -> bool {
        self.errors.is_empty() && self.signal.is_none() && !self.is_satisfied
    }

    /// A run in which nothing could be opened has no result, and ends as its first input did; the last message is told by whoever ends it.
    fn check_begun(mut self, terminal: &Terminal) -> Result<Totals, Failure> {
        let Some(blame) = self.refused.first().map(|failure| failure.blame) else { return Ok(self) };
        let last = self.refused.pop();
        self.tell_refused(terminal);
        last.map_or(Ok(self), |failure| Err(Failure { blame, ..failure }))
    }

    fn tell_refused(&mut self, terminal: &Terminal) {
        self.refused.drain(..).for_each(|failure| terminal.tell(&failure.message));
    }

    /// How the command ends.
    pub(crate) fn outcome(&self, no_fail: bool) -> Outcome {
        match self.signal {
            Some(signal) => Outcome::Interrupted(signal),
            None if !self.errors.is_empty() => Outcome::Incomplete,
            None if no_fail || self.matched.iter().any(|&matched| matched > 0) => Outcome::Done,
            None if self.calls.total() > 0 => Outcome::Done,
            None => Outcome::NothingMatched,
        }
    }
}

/// How a plan is run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct How {
    /// Without warnings.
    pub(crate) is_quiet: bool,
    /// What a scan is limited to.
    pub(crate) limits: Limits,
    /// Worker threads for several inputs.
    pub(crate) jobs: Option<usize>,
    /// Lines with the packet's number.
    pub(crate) number: bool,
    /// Lines with the packet's bytes below them.
    pub(crate) dump: Dump,
    /// Whether packets of all inputs come in the order of their times.
    pub(crate) merges: bool,
    /// Whether each input is counted by itself.
    pub(crate) by_input: bool,
    /// Whether to show how far it has come.
    pub(crate) progress: When,
}

/// Runs a plan.
pub(crate) fn run(
    plan: &Plan,
    filters: &Filters<'_>,
    how: How,
    terminal: &Terminal,
) -> Result<Totals, Failure> {
    let Found { inputs, unread, left_out } = inputs::expand(&plan.inputs)?;
    let outputs: Vec<&Path> = plan.selections.iter().filter_map(|s| s.output.path()).collect();
    refuse_to_append(&inputs)?;
    refuse_to_lose(&outputs, &inputs, of_two_filters)?;
    if let Some(note) = left_out.filter(|_| !how.is_quiet) {
        terminal.tell(&note);
    }
    let source = Source {
        bytes: total_bytes(&inputs),
        count: inputs.len(),
        identities: inputs.iter().filter_map(Input::identity).collect(),
    };
    drive(plan, filters, how, terminal, source, |run| {
        unread.iter().for_each(|error| run.input_failed(error));
        let scanned = if how.merges { run.merge(&inputs) } else { run.scan(&inputs, how.jobs) };
        scanned.and_then(|()| run.check_untried())
    })
}

/// Runs a plan for the packets of a device, and with what the kernel knows of them if it has run the filters before.
pub(super) fn run_live(
    plan: &Plan,
    filters: &Filters<'_>,
    how: How,
    terminal: &Terminal,
    (reader, kernel): (Reader, Option<Prefiltered>),
) -> Result<Totals, Failure> {
    let source = Source { bytes: None, count: 1, identities: HashSet::new() };
    let how = How { progress: When::Never, ..how };
    drive(plan, filters, how, terminal, source, |run| run.live(reader, kernel))
}

/// What packets come from.
struct Source {
    /// If that is known.
    bytes: Option<u64>,
    /// How many inputs there are.
    count: usize,
    /// The files among them.
    identities: HashSet<FileIdentity>,
}

/// Runs a plan; `scan` brings the packets.
fn drive<'a>(
    plan: &'a Plan,
    filters: &'a Filters<'a>,
    how: How,
    terminal: &'a Terminal,
    source: Source,
    scan: impl FnOnce(&mut Run<'_>) -> Result<(), Failure>,
) -> Result<Totals, Failure> {
    let tally = Tally::default();
    let lines_on_terminal =
        std::io::stdout().is_terminal() && plan.selections.iter().any(|selection| selection.output.is_text());
    let mut totals = std::thread::scope(|scope| {
        let bar = progress::show(scope, how.progress, lines_on_terminal, source.bytes, &tally);
        let mut run = Run {
            plan,
            filters,
            tally: &tally,
            terminal,
            is_quiet: how.is_quiet,
            limits: how.limits,
            dump: how.dump,
            by_input: how.by_input,
            is_new_input: false,
            numbers: match source.count {
                _ if !how.number => Numbers::Hidden,
                1 => Numbers::Alone,
                _ => Numbers::WithName,
            },
            identities: source.identities,
            totals: Totals {
                matched: vec![0; plan.selections.len()],
                duplicates: vec![how.limits.dedup.map(|_| 0); plan.selections.len()],
                ..Totals::default()
            },
            sinks: None,
            described: Vec::new(),
            known_losses: Known::default(),
            misfits: Misfits::default(),
        };
        let result = scan(&mut run);
        let finished = run.sinks.as_mut().map_or(Ok(()), Sinks::finish);
        if let Some(bar) = bar {
            bar.finish();
        }
        if let Some(sinks) = &run.sinks {
            // What came when no file was left.
            let unwritten = sinks.unwritten();
            run.totals.matched.iter_mut().zip(unwritten).for_each(|(matched, lost)| *matched -= lost);
        }
        run.warn_of_misfits();
        run.tell_changes();
        let ended_early = run.sinks.as_ref().map_or_else(Vec::new, Sinks::ended_early);
        both(result, finished, terminal).map(|()| run.totals).map_err(|failure| {
            match ended_early.as_slice() {
                [] => failure,
                others => {
                    let others: Vec<String> =
                        others.iter().map(|path| losses::name(path).into_owned()).collect();
                    let others = others.join(", ");
                    failure.note(format_args!(
                        "the run ended there: what would have followed is missing as well in {others}"
                    ))
                }
            }
        })
    })?;
    totals.signal = tally.signals.signal();
    totals.check_begun(terminal)
}

struct Run<'a> {
    plan: &'a Plan,
    filters: &'a Filters<'a>,
    tally: &'a Tally,
    terminal: &'a Terminal,
    is_quiet: bool,
    limits: Limits,
    dump: Dump,
    /// Whether each input is counted by itself.
    by_input: bool,
    /// Whether nothing of the current input was delivered yet.
    is_new_input: bool,
    /// What lines begin with.
    numbers: Numbers,
    /// The files that are read.
    identities: HashSet<FileIdentity>,
    totals: Totals,
    /// Opened with the first readable input, whose format they take.
    sinks: Option<Sinks<'a>>,
    /// What the inputs say their packets are, should none have any.
    described: Vec<LinkType>,
    /// What was told.
    known_losses: Known,
    /// What is told at the end.
    misfits: Misfits,
}

impl Run<'_> {
    /// Scans all inputs: in parallel, where nothing depends on their order but the output's.
    fn scan(&mut self, inputs: &[Input], jobs: Option<usize>) -> Result<(), Failure> {
        let jobs = jobs.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from));
        let apart = inputs.len() > 1 && inputs.iter().all(can_be_opened_again);
        let Limits { max, dedup, window, .. } = self.limits;
        let is_ordered = max.is_some() || dedup.is_some() || window.needs_first();
        if apart && jobs > 1 && !is_ordered {
            self.in_parallel(inputs, jobs)
        } else {
            self.one_by_one(inputs)
        }
    }

    fn one_by_one(&mut self, inputs: &[Input]) -> Result<(), Failure> {
        let mut scanner = None;
        for (i, input) in inputs.iter().enumerate() {
            if self.tally.should_stop() {
                break;
            }
            let mut reader = match self.open(input)? {
                Opened::Ready(reader) => reader,
                Opened::Failed(error) => {
                    self.input_failed(&error);
                    continue;
                }
            };
            let (filters, tally, limits) = (self.filters, self.tally, self.limits);
            reader.stop_when(Arc::clone(&self.tally.signals.is_any));
            let renderers = self.begin(&mut reader, &inputs[i..])?;
            let scanner = scanner.get_or_insert_with(|| Scanner::new(filters, tally, renderers, limits));
            let name = reader.input().to_owned();
            self.is_new_input = true;
            let is_live = reader.input_len().is_none();
            let buffering = if is_live { Buffering::Off } else { Buffering::Blocks };
            let end = scanner.scan(&mut reader, is_live, |chunk| self.deliver(&name, chunk, buffering));
            self.ended(end)?;
            if self.filters.are_untried() {
                self.described.extend(described(&reader));
            }
            if scanner.is_satisfied() {
                self.totals.is_satisfied = true;
                break;
            }
        }
        Ok(())
    }

    /// Reads all inputs at once, in the order of the times of their packets.
    fn merge(&mut self, inputs: &[Input]) -> Result<(), Failure> {
        opening::allow_inputs(inputs.len(), self.plan.selections.len())?;
        let mut readers = Vec::with_capacity(inputs.len());
        let mut renderers = None;
        for (i, input) in inputs.iter().enumerate() {
            match self.open(input)? {
                Opened::Ready(mut reader) => {
                    reader.stop_when(Arc::clone(&self.tally.signals.is_any));
                    if renderers.is_none() {
                        renderers = Some((self.begin(&mut reader, &inputs[i..])?, reader.format()));
                    }
                    readers.push(*reader);
                }
                Opened::Failed(error) => self.input_failed(&error),
            }
        }
        let Some((renderers, format)) = renderers else { return Ok(()) };
        let order = match format {
            Format::Pcap(header) => header.order,
            Format::Pcapng(order) => order,
        };
        let renderers = renderers.into_iter().map(|renderer| renderer.merging(order)).collect();
        let mut scanner = Scanner::new(self.filters, self.tally, renderers, self.limits);
        let readers = scanner.merge(readers, |event| match event {
            Event::Chunk(chunk) => self.deliver("", chunk, Buffering::Blocks),
            Event::Waiting => self.flush(),
            Event::Failed(error) => {
                self.input_failed(&error);
                Ok(())
            }
        })?;
        if self.filters.are_untried() {
            self.described.extend(readers.iter().flat_map(described));
        }
        self.totals.is_satisfied |= scanner.is_satisfied();
        Ok(())
    }

    /// Packets of a device, whose filters were checked before it was opened; `kernel` if they run in the kernel as well.
    fn live(&mut self, mut reader: Reader, kernel: Option<Prefiltered>) -> Result<(), Failure> {
        reader.stop_when(Arc::clone(&self.tally.signals.is_any));
        self.open_sinks(First::of(&reader, None))?;
        let renderers = self.renderers();
        let mut scanner = Scanner::new(self.filters, self.tally, renderers, self.limits).after(kernel);
        let name = reader.input().to_owned();
        let end = scanner.scan(&mut reader, true, |chunk| self.deliver(&name, chunk, Buffering::Off));
        self.ended(end)?;
        self.totals.is_satisfied |= scanner.is_satisfied();
        Ok(())
    }

    /// Opens an input. A FIFO may never be opened at its other end, nor a pipe bring its first byte: what was found so far is written
    /// before, and a signal then ends the process.
    fn open(&mut self, input: &Input) -> Result<Opened, Failure> {
        if can_be_opened_again(input) {
            return Ok(input.open().into());
        }
        self.flush()?;
        self.tally.signals.kills.store(true, Ordering::Relaxed);
        let opened = input.open();
        self.tally.signals.kills.store(false, Ordering::Relaxed);
        Ok(opened.into())
    }

    fn in_parallel(&mut self, inputs: &[Input], jobs: usize) -> Result<(), Failure> {
        // The format of the first input that opens is that of the output; find it before workers start.
        let open = |(i, input): (usize, &Input)| input.open().ok().map(|reader| (i, reader));
        let Some((i, mut first)) = inputs.iter().enumerate().find_map(open) else {
            return self.one_by_one(inputs);
        };
        let renderers = self.begin(&mut first, &inputs[i..])?;
        drop(first);
        let (filters, tally, limits) = (self.filters, self.tally, self.limits);
        let (queues, receivers): (Vec<_>, Vec<_>) = inputs.iter().map(|_| sync_channel(QUEUE_CHUNKS)).unzip();
        let queues: Vec<Mutex<Option<SyncSender<Delivery>>>> =
            queues.into_iter().map(|queue| Mutex::new(Some(queue))).collect();
        let next = AtomicUsize::new(0);
        let (permit, permits) = channel();
        for _ in 0..jobs.saturating_mul(INPUTS_PER_JOB).min(inputs.len()) {
            let _ = permit.send(());
        }
        let budget = Arc::new(Budget::new(inputs.len()));
        let work =
            Work { inputs, queues: &queues, next: &next, permits: &Mutex::new(permits), budget: &budget };
        std::thread::scope(|scope| {
            // Workers that wait for a permit, or for room, go when these have gone.
            let permit = permit;
            let _open = Open(&budget);
            for _ in 0..jobs.min(inputs.len()) {
                scope.spawn(|| worker(&work, filters, tally, &renderers, limits));
            }
            let result = receivers.into_iter().enumerate().try_for_each(|(i, receiver)| {
                budget.turn_to(i);
                self.receive(&inputs[i], &receiver, |chunk| budget.remove(i, chunk.bytes()))?;
                // Nobody waits for it where no input is left.
                let _ = permit.send(());
                Ok(())
            });
            if result.is_err() {
                // Workers notice at their next batch, or when their queue has no reader any more.
                tally.stop();
            }
            result
        })
    }

    /// Writes all chunks of an input, and tells of each when it is written.
    fn receive(
        &mut self,
        input: &Input,
        receiver: &Receiver<Delivery>,
        mut written: impl FnMut(&Chunk),
    ) -> Result<(), Failure> {
        let name = match input {
            Input::File(path) => path.to_string_lossy(),
            // Standard input is not read beside others.
            _ => "standard input".into(),
        };
        self.is_new_input = true;
        for delivery in receiver {
            match delivery {
                Delivery::Chunk(chunk) => {
                    self.deliver(&name, &chunk, Buffering::Blocks)?;
                    written(&chunk);
                }
                Delivery::End(end) => self.ended(end)?,
            }
        }
        Ok(())
    }

    /// Opens the sinks once, in the format of this input, the first of those.
    fn begin(&mut self, reader: &mut Reader, inputs: &[Input]) -> Result<Vec<Renderer>, Failure> {
        if self.sinks.is_none() {
            // A wrong filter must not empty an existing output file.
            let first = match first_packets(reader, inputs) {
                Some(ahead) => {
                    let fitting = self.filters.check(std::iter::once(ahead).chain(others(reader, inputs)))?;
                    fitting.unwrap_or(ahead.1)
                }
                None => {
                    self.filters.check_words()?;
                    First::of(reader, None)
                }
            };
            let first = if self.writes_pcap(first) { with_room_for(inputs, first) } else { first };
            self.refuse_mixed(inputs, first)?;
            self.open_sinks(first)?;
        }
        Ok(self.renderers())
    }

    /// What outputs are written as, where these packets come first.
    fn output_format(&self, first: First) -> OutputFormat {
        OutputFormat { first, asked: self.plan.format }
    }

    /// Opens the sinks, for packets of which these come first.
    fn open_sinks(&mut self, first: First) -> Result<(), Failure> {
        let format = self.output_format(first);
        let rotation = self.plan.rotation.as_ref().map(|rotation| (rotation, &self.identities));
        let (mut sinks, opening) = Sinks::open(&self.plan.selections, format, rotation, self.terminal)?;
        if !self.is_quiet {
            self.warn_of_names(format);
        }
        // Up to here a signal ends the process: a FIFO may never be opened at its other end, nor a pipe bring its first
        // byte, and nothing was written that could be cut.
        signals::catch(&self.tally.signals, signals::ENDING)?;
        sinks.empty(opening)?;
        self.sinks = Some(sinks);
        self.totals.has_begun = true;
        self.totals.tell_refused(self.terminal);
        Ok(())
    }

    /// Begins all sinks, once they are open.
    fn renderers(&mut self) -> Vec<Renderer> {
        let sinks = self.sinks.as_mut().expect("they are open");
        sinks.begin(self.numbers, self.dump, self.limits.cut)
    }

    /// Refuses inputs of which the outputs cannot have the packets that match, before there is an output. Files that describe other packets than the
    /// first ones are read for that, as far as to a packet that does not fit; what a pipe has is not known.
    fn refuse_mixed(&self, inputs: &[Input], first: First) -> Result<(), Failure> {
        // With a limit, reading may end before such a packet.
        if inputs.len() < 2 || self.limits.max.is_some() {
            return Ok(());
        }
        let format = self.output_format(first);
        let renderer = |selection: &Selection| match selection.output.path() {
            Some(path) => Renderer::Capture(Encoder::new(format.target(path))),
            None => Renderer::Count,
        };
        let renderers: Vec<Renderer> = self.plan.selections.iter().map(renderer).collect();
        for input in inputs.iter().filter(|input| can_be_opened_again(input)) {
            let Ok(mut reader) = input.open() else { continue };
            reader.first_linktype();
            let is_odd = |renderer: &Renderer| match renderer {
                Renderer::Capture(encoder) => !encoder.target().takes_all(reader.batch().interfaces()),
                _ => false,
            };
            if renderers.iter().any(is_odd) {
                let tally = Tally::default();
                let mut scanner = Scanner::new(self.filters, &tally, renderers.clone(), Limits::default());
                if let End::Fatal(failure) = scanner.scan(&mut reader, false, |_| Ok(())) {
                    return Err(failure);
                }
            }
        }
        Ok(())
    }

    /// Whether an output is a pcap file, where these packets come first.
    fn writes_pcap(&self, first: First) -> bool {
        let format = self.output_format(first);
        let mut paths = self.plan.selections.iter().filter_map(|selection| selection.output.path());
        paths.any(|path| format.target(path) != Target::Pcapng)
    }

    /// Tells of outputs whose names say something else than is in them.
    fn warn_of_names(&self, format: OutputFormat) {
        for path in self.plan.selections.iter().filter_map(|selection| selection.output.path()) {
            if let Some(text) = format.misnamed(path) {
                self.terminal.tell(&Message::warning(text));
            }
        }
    }

    /// Tells of each kind of loss in each output once.
    fn warn_of_losses(&mut self, losses: &[Loss]) {
        for loss in losses {
            if loss.what == What::Blocks && self.plan.format == Some(NamedFormat::Pcap) {
                continue;
            }
            let path = self.plan.selections[loss.output].output.path().filter(|_| !self.is_quiet);
            if let Some(path) = path
                && self.known_losses.is_new(loss.output, loss.what)
            {
                self.terminal.tell(&loss.message(path));
            }
        }
    }

    /// Where all has ended without a packet, a filter that is wrong for what was described is told all the same.
    fn check_untried(&self) -> Result<(), Failure> {
        let has_ended = self.totals.errors.is_empty() && !self.tally.should_stop();
        if has_ended && self.filters.are_untried() {
            self.filters.check(self.described.iter().map(|&linktype| (linktype, ())))?;
        }
        Ok(())
    }

    /// Tells of packets that filters could not be asked about.
    fn warn_of_misfits(&self) {
        if self.is_quiet {
            return;
        }
        let selections = &self.plan.selections;
        for misfit in self.misfits.iter().take(TOLD_MAX) {
            let is_one_of_many = self.filters.count() > 1;
            let filter = is_one_of_many.then(|| one_line(&selections[misfit.filter].filter));
            let why = self.filters.why_not(misfit.filter, misfit.linktype);
            self.terminal.tell(&misfit.message(filter.as_deref(), &why));
        }
        let more = self.misfits.len().saturating_sub(TOLD_MAX) as u64;
        if more > 0 {
            let (more, are) = (counted(more, "more warning"), plural::choose(more, "is", "are"));
            self.terminal
                .tell(&Message::note(format_args!("{more} of packets that cannot match {are} not shown")));
        }
    }

    /// Tells what packets have become other than they were: of a time that is not theirs as of an error.
    fn tell_changes(&mut self) {
        let Some(sinks) = &self.sinks else { return };
        for (path, encoded, snaplen) in sinks.changes() {
            if encoded.changed_times > 0 {
                let message = losses::changed_times(path, encoded.changed_times);
                self.totals.errors.push(message.what().to_owned());
                self.terminal.tell(&message);
            }
            if let Some(snaplen) = snaplen.filter(|_| !self.is_quiet) {
                self.terminal.tell(&losses::exceeded_snaplen(path, snaplen));
            }
        }
    }

    fn deliver(&mut self, input: &str, chunk: &Chunk, buffering: Buffering) -> Result<(), Failure> {
        self.totals.packets += chunk.packets;
        self.count_of_input(input, chunk);
        self.totals.intervals.add(&chunk.intervals)?;
        for (total, matched) in self.totals.matched.iter_mut().zip(&chunk.matched) {
            *total += matched;
        }
        for (total, left_out) in self.totals.duplicates.iter_mut().flatten().zip(&chunk.duplicates) {
            *total += left_out;
        }
        self.totals.calls.add(&chunk.calls)?;
        self.warn_of_losses(&chunk.losses);
        self.misfits.append(&chunk.misfits);
        let Some(sinks) = &mut self.sinks else { return Ok(()) };
        sinks.write(&chunk.outputs, &chunk.times, &chunk.encoded, buffering)?;
        if sinks.is_full() {
            self.totals.is_satisfied = true;
            self.tally.stop();
        }
        Ok(())
    }

    /// Chunks of an input come behind each other, the last of them perhaps empty.
    fn count_of_input(&mut self, input: &str, chunk: &Chunk) {
        if !self.by_input {
            return;
        }
        let of_inputs = &mut self.totals.by_input;
        if std::mem::take(&mut self.is_new_input) {
            let matched = vec![0; chunk.matched.len()];
            of_inputs.push(OfInput { name: input.to_owned(), packets: 0, matched });
        }
        let Some(current) = of_inputs.last_mut() else { return };
        current.packets += chunk.packets;
        current.matched.iter_mut().zip(&chunk.matched).for_each(|(total, matched)| *total += matched);
    }

    /// Hands on what is buffered, for a reader that waits for it.
    fn flush(&mut self) -> Result<(), Failure> {
        self.sinks.as_mut().map_or(Ok(()), Sinks::flush)
    }

    fn ended(&mut self, end: End) -> Result<(), Failure> {
        match end {
            End::Done => Ok(()),
            End::Input(error) => {
                self.input_failed(&error);
                Ok(())
            }
            End::Fatal(failure) => Err(failure),
        }
    }

    /// One bad input among many costs what is bad and nothing else.
    fn input_failed(&mut self, error: &capture::Error) {
        let failure = Failure::capture(error);
        self.totals.errors.push(failure.message.what().to_owned());
        let is_refused = error.class() != capture::Class::Damaged || !self.totals.refused.is_empty();
        if is_refused && !self.totals.has_begun {
            self.totals.refused.push(failure);
        } else {
            self.terminal.tell(&failure.message);
        }
    }
}

/// The end of a run and of its outputs. Where both have failed, both are told.
fn both(run: Result<(), Failure>, outputs: Result<(), Failure>, terminal: &Terminal) -> Result<(), Failure> {
    match (run, outputs) {
        (Err(first), Err(second)) if first.blame == Blame::ClosedPipe => Err(second),
        (Err(first), Err(second)) if second.blame != Blame::ClosedPipe => {
            terminal.tell(&first.message);
            Err(Failure { blame: first.blame, ..second })
        }
        (run, outputs) => run.and(outputs),
    }
}

/// What opening an input has come to.
enum Opened {
    Ready(Box<Reader>),
    /// Only this input is not read.
    Failed(capture::Error),
}

impl From<Result<Reader, capture::Error>> for Opened {
    fn from(opened: Result<Reader, capture::Error>) -> Self {
        match opened {
            Ok(reader) => Opened::Ready(Box::new(reader)),
            Err(error) => Opened::Failed(error),
        }
    }
}

/// What a worker tells of one input.
enum Delivery {
    Chunk(Chunk),
    End(End),
}

/// What workers take inputs from.
struct Work<'a> {
    inputs: &'a [Input],
    /// The sending side of each input's queue, until a worker takes it.
    queues: &'a [Mutex<Option<SyncSender<Delivery>>>],
    next: &'a AtomicUsize,
    /// One for each input that may be begun: nobody runs far ahead of a slow first input, for what is finished waits
    /// in memory.
    permits: &'a Mutex<Receiver<()>>,
    /// What finished output may wait, and who may take much memory.
    budget: &'a Arc<Budget>,
}

impl Work<'_> {
    /// The next input to work on, as soon as it may be begun.
    fn take(&self) -> Option<usize> {
        let permits = self.permits.lock().unwrap_or_else(PoisonError::into_inner);
        permits.recv().ok()?;
        let i = self.next.fetch_add(1, Ordering::Relaxed);
        (i < self.inputs.len()).then_some(i)
    }
}

fn worker(work: &Work<'_>, filters: &Filters<'_>, tally: &Tally, renderers: &[Renderer], limits: Limits) {
    let mut scanner = Scanner::new(filters, tally, renderers.to_vec(), limits);
    while let Some(i) = work.take() {
        let queue = work.queues[i].lock().unwrap_or_else(PoisonError::into_inner).take();
        let (Some(queue), false) = (queue, tally.should_stop()) else { continue };
        // Of inputs that need much memory one at a time has it, the one that is written.
        let budget = Arc::clone(work.budget);
        let scan = || match work.inputs[i].open_asking(Arc::new(move || budget.wait_for_turn(i))) {
            Ok(mut reader) => scanner.scan(&mut reader, false, |chunk| {
                work.budget.add(i, chunk.bytes());
                // The reader of the queue goes away only when the run has failed elsewhere.
                queue
                    .send(Delivery::Chunk(std::mem::take(chunk)))
                    .map_err(|_| Failure::internal("the run has ended"))
            }),
            Err(error) => End::Input(error),
        };
        // A worker that just went would leave the queues of inputs nobody takes any more open, and the run waiting.
        let end = catch_unwind(AssertUnwindSafe(scan))
            .unwrap_or_else(|panic| End::Fatal(Failure::panicked(&*panic)));
        let _ = queue.send(Delivery::End(end));
    }
}

/// The link type of the first packets of these inputs, the first of which has been opened, and what they say of outputs, as far as it
/// can be known before anything is taken: into files one can look, a pipe tells what it begins with. Where files have no packets,
/// what the first describes.
fn first_packets(first: &mut Reader, inputs: &[Input]) -> Option<(LinkType, First)> {
    let in_format = |linktype: LinkType, reader: &Reader| {
        let linktype = reader.format().as_read_here(linktype);
        (linktype, First::of(reader, Some(linktype)))
    };
    let begins_with = first.first_linktype().map(|linktype| in_format(linktype, first));
    let is_pipe = inputs.len() == 1 && !can_be_opened_again(&inputs[0]);
    if is_pipe || !first.batch().is_empty() {
        return begins_with;
    }
    let seek = |input: &Input| {
        let mut reader = input.open().ok()?;
        let linktype = reader.seek_linktype()?;
        Some(in_format(linktype, &reader))
    };
    let mut files = inputs.iter().take_while(|input| can_be_opened_again(input));
    let are_all_files = inputs.iter().all(can_be_opened_again);
    let described = || described(first).first().map(|&linktype| (linktype, First::of(first, Some(linktype))));
    files.find_map(seek).or_else(|| described().filter(|_| are_all_files))
}

/// The format of the first packets, with the largest snap length of these inputs: a pcap file states one for all its packets, and before
/// the first of them. Files are looked at for that as long as one may have a larger one; what a pipe has is not known.
fn with_room_for(inputs: &[Input], first: First) -> First {
    let (Format::Pcap(mut header), [_, _, ..]) = (first.format, inputs) else { return first };
    for input in inputs.iter().filter(|input| can_be_opened_again(input)) {
        if header.takes_every_packet() {
            break;
        }
        let linktype = header.linktype;
        let snaplen = input.open().ok().and_then(|mut reader| reader.first_snaplen(linktype));
        header.snaplen = header.snaplen.max(snaplen.unwrap_or(0));
    }
    First { format: Format::Pcap(header), ..first }
}

/// The link types that these inputs describe before their first packets, the first input of which has been opened. Inputs without packets come
/// last: none of theirs will be written. Files are opened as far as they are asked for.
fn others<'a>(first: &'a Reader, inputs: &'a [Input]) -> impl Iterator<Item = (LinkType, First)> + use<'a> {
    let in_format = |reader: &Reader| {
        let of = |linktype: LinkType| (linktype, First::of(reader, Some(linktype)));
        described(reader).into_iter().map(of).collect::<Vec<_>>()
    };
    let with_packets = move |input: &Input| {
        let mut reader = input.open().ok()?;
        reader.seek_linktype()?;
        Some(in_format(&reader))
    };
    let without = move |input: &Input| {
        let mut reader = input.open().ok()?;
        reader.first_linktype();
        Some(in_format(&reader))
    };
    let files = move |from: usize| inputs.iter().skip(from).filter(|input| can_be_opened_again(input));
    let is_known = !first.batch().is_empty() || !can_be_opened_again(&inputs[0]);
    let at_once = is_known.then(|| in_format(first)).into_iter().flatten();
    at_once
        .chain(files(usize::from(is_known)).filter_map(with_packets).flatten())
        .chain(files(0).filter_map(without).flatten())
}

/// Whether opening an input takes nothing from it. A pipe that was opened to look at its format has lost its beginning.
fn can_be_opened_again(input: &Input) -> bool {
    match input {
        // One that is not there fails as often as it is opened.
        Input::File(path) => std::fs::metadata(path).map_or(true, |metadata| metadata.is_file()),
        _ => false,
    }
}

fn total_bytes(inputs: &[Input]) -> Option<u64> {
    inputs
        .iter()
        .map(|input| match input {
            Input::File(path) => {
                std::fs::metadata(path).ok().filter(std::fs::Metadata::is_file).map(|m| m.len())
            }
            _ => None,
        })
        .sum()
}
