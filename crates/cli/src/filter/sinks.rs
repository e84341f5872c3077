//! Where finished output goes.

use crate::blame::Blame;
use crate::exit::Failure;
use crate::filter::dump::Dump;
use crate::filter::names::OutputFormat;
use crate::filter::opening::{self, Opening, STDOUT};
use crate::filter::plan::{Output, Selection};
use crate::filter::render::{Numbers, Renderer};
use crate::filter::rotation::{Rotating, Rotation};
use crate::reader::{Patient, print_over_drawn};
use crate::terminal::Terminal;
use capture::{Encoded, Encoder, FileIdentity, SnapLength, Writer};
use std::collections::HashSet;
use std::io::{self, IsTerminal, Write};
use std::path::Path;

/// Whether output waits in a buffer before it is handed to the system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Buffering {
    /// Until there is a large block of it.
    Blocks,
    /// It does not: somebody may read it while more packets are waited for.
    Off,
}

/// One destination for each filter of the plan.
pub(crate) struct Sinks<'a> {
    sinks: Vec<Sink>,
    selections: &'a [Selection],
    terminal: &'a Terminal,
    format: OutputFormat,
}

enum Sink {
    Nothing,
    Capture(Box<Writer<Patient>>),
    /// A capture of several files.
    Captures(Box<Rotating>),
    Text(Text),
    /// Its reader has gone.
    Left,
    /// It takes no more, which was told.
    Failed,
}

/// Standard output, for lines.
struct Text {
    stdout: Patient,
    /// Whether progress may be drawn on it as well.
    is_terminal: bool,
    /// What is still to come before the first line.
    header: Vec<u8>,
}

impl<'a> Sinks<'a> {
    /// Opens every destination, in this format. What files hold is there until they are begun.
    pub(super) fn open(
        selections: &'a [Selection],
        format: OutputFormat,
        rotation: Option<(&Rotation, &HashSet<FileIdentity>)>,
        terminal: &'a Terminal,
    ) -> Result<(Sinks<'a>, Opening), Failure> {
        let mut opening = Opening::of(selections.len());
        let open = |selection: &Selection| match &selection.output {
            Output::Count => Ok(Sink::Nothing),
            Output::Lines | Output::Calls | Output::Json => text().map(Sink::Text),
            Output::Fields(columns) => {
                text().map(|text| Sink::Text(Text { header: columns.header().unwrap_or_default(), ..text }))
            }
            Output::Capture(path) => match rotation.filter(|_| !opening::is_stdout(path)) {
                None => opening.capture(path).map(|writer| Sink::Capture(Box::new(writer))),
                Some((rotation, inputs)) => {
                    let first = rotation.first(path)?;
                    let writer = opening.open(&first)?.writer(&first.to_string_lossy());
                    Ok(Sink::Captures(Box::new(Rotating::new(
                        path,
                        rotation.clone(),
                        writer,
                        inputs.clone(),
                    ))))
                }
            },
        };
        let sinks = selections.iter().map(open).collect::<Result<_, _>>()?;
        Ok((Sinks { sinks, selections, terminal, format }, opening))
    }

    /// Empties the files that were opened: all that the run needs is there.
    pub(super) fn empty(&mut self, opening: Opening) -> Result<(), Failure> {
        for (sink, selection) in self.sinks.iter_mut().zip(self.selections) {
            let writer = match sink {
                Sink::Capture(writer) => writer,
                Sink::Captures(rotating) => rotating.writer(),
                _ => continue,
            };
            if let Output::Capture(path) = &selection.output {
                opening::empty(writer, path)?;
            }
        }
        opening.keep();
        Ok(())
    }

    /// Begins every capture in its format, and gives the renderers that fit,
    /// with these numbers on lines, and these bytes below them; `cut` is how many bytes of a packet are written at most.
    pub(crate) fn begin(&mut self, numbers: Numbers, dump: Dump, cut: Option<u32>) -> Vec<Renderer> {
        let format = self.format;
        let target = |path: &Path| format.cut_target(path, cut);
        for (sink, selection) in self.sinks.iter_mut().zip(self.selections) {
            match (sink, &selection.output) {
                (Sink::Capture(writer), Output::Capture(path)) => writer.begin(target(path)),
                (Sink::Captures(rotating), Output::Capture(path)) => rotating.begin(target(path)),
                _ => {}
            }
        }
        self.selections
            .iter()
            .map(|selection| match &selection.output {
                Output::Count => Renderer::Count,
                Output::Lines => Renderer::Lines(numbers, dump),
                Output::Calls => Renderer::Calls(numbers),
                Output::Fields(columns) => Renderer::of_columns(columns),
                Output::Json => Renderer::of_objects(),
                Output::Capture(path) => {
                    let encoder = Encoder::new(target(path));
                    Renderer::Capture(match cut {
                        Some(cut) => encoder.cutting(cut),
                        None => encoder,
                    })
                }
            })
            .collect()
    }

    /// Writes the finished output of each filter, also behind one that failed: what goes elsewhere is not torn by that.
    pub(super) fn write(
        &mut self,
        outputs: &[Vec<u8>],
        times: &[Vec<i64>],
        encoded: &[Encoded],
        buffering: Buffering,
    ) -> Result<(), Failure> {
        let mut outputs = outputs.iter().zip(times).zip(encoded);
        self.each(|sink| {
            let Some(((output, times), &encoded)) = outputs.next() else { return Ok(()) };
            sink.write(output, times, encoded, buffering)
        })
    }

    /// Whether an output has as many files as it may have.
    pub(super) fn is_full(&self) -> bool {
        self.sinks.iter().any(|sink| matches!(sink, Sink::Captures(rotating) if rotating.is_full()))
    }

    /// Packets of each filter that came when its output was full.
    pub(super) fn unwritten(&self) -> Vec<u64> {
        let unwritten = |sink: &Sink| match sink {
            Sink::Captures(rotating) => rotating.unwritten(),
            _ => 0,
        };
        self.sinks.iter().map(unwritten).collect()
    }

    /// Hands everything to the system.
    pub(crate) fn flush(&mut self) -> Result<(), Failure> {
        self.each(Sink::flush)
    }

    /// Does this with each. One whose reader goes is left out from then on; that ends the run when nobody is left. Of several that fail all are
    /// told but the last, which is told by whoever ends the run.
    fn each(&mut self, mut act: impl FnMut(&mut Sink) -> Result<(), Failure>) -> Result<(), Failure> {
        let mut closed = None;
        let mut failed: Option<Failure> = None;
        for sink in &mut self.sinks {
            match act(sink) {
                Ok(()) => {}
                Err(failure) if failure.blame == Blame::ClosedPipe => {
                    *sink = Sink::Left;
                    closed = Some(failure);
                }
                Err(failure) => {
                    *sink = Sink::Failed;
                    if let Some(before) = failed.replace(failure) {
                        self.terminal.tell(&before.message);
                    }
                }
            }
        }
        let has_reader = self.sinks.iter().any(|sink| !matches!(sink, Sink::Left));
        match failed.or(closed.filter(|_| !has_reader)) {
            Some(failure) => Err(failure),
            None => Ok(()),
        }
    }

    /// Writes what is buffered: nothing is lost, whatever the reason for the end.
    pub(crate) fn finish(&mut self) -> Result<(), Failure> {
        self.each(Sink::finish)
    }

    /// The captures that a run which ends since others failed has left without what would have followed.
    pub(super) fn ended_early(&self) -> Vec<&'a Path> {
        if !self.sinks.iter().any(|sink| matches!(sink, Sink::Failed)) {
            return Vec::new();
        }
        let pairs = self.sinks.iter().zip(self.selections);
        pairs
            .filter(|(sink, _)| matches!(sink, Sink::Capture(_)))
            .filter_map(|(_, to)| to.output.path())
            .collect()
    }

    /// What packets have come to in each capture that was written, other than they were.
    pub(super) fn changes(&self) -> impl Iterator<Item = (&'a Path, Encoded, Option<SnapLength>)> {
        self.sinks.iter().zip(self.selections).filter_map(|(sink, selection)| match sink {
            Sink::Capture(writer) => {
                Some((selection.output.path()?, writer.encoded(), writer.exceeded_snaplen()))
            }
            Sink::Captures(rotating) => {
                Some((selection.output.path()?, rotating.encoded(), rotating.exceeded_snaplen()))
            }
            _ => None,
        })
    }
}

impl Sink {
    fn write(
        &mut self,
        output: &[u8],
        times: &[i64],
        encoded: Encoded,
        buffering: Buffering,
    ) -> Result<(), Failure> {
        match self {
            Sink::Captures(rotating) => {
                rotating.write(output, times, encoded)?;
                if buffering == Buffering::Off { self.flush() } else { Ok(()) }
            }
            Sink::Nothing | Sink::Left | Sink::Failed => Ok(()),
            Sink::Capture(writer) => {
                let written = match buffering {
                    Buffering::Blocks => writer.write_encoded(output, encoded),
                    Buffering::Off => writer.write_through(output, encoded),
                };
                written.map_err(|error| Failure::capture(&error))
            }
            Sink::Text(text) => text.write(output).map_err(|error| Failure::writing(STDOUT, &error)),
        }
    }

    fn flush(&mut self) -> Result<(), Failure> {
        match self {
            Sink::Capture(writer) => writer.flush().map_err(|error| Failure::capture(&error)),
            Sink::Captures(rotating) if !rotating.is_full() => {
                rotating.writer().flush().map_err(|error| Failure::capture(&error))
            }
            _ => Ok(()),
        }
    }

    fn finish(&mut self) -> Result<(), Failure> {
        match self {
            Sink::Capture(writer) => writer.complete().map_err(|error| Failure::capture(&error)),
            Sink::Captures(rotating) if !rotating.is_full() => {
                rotating.writer().complete().map_err(|error| Failure::capture(&error))
            }
            // Where nothing matches, the header alone.
            Sink::Text(text) => text.write(&[]).map_err(|error| Failure::writing(STDOUT, &error)),
            _ => Ok(()),
        }
    }
}

impl Text {
    fn write(&mut self, lines: &[u8]) -> io::Result<()> {
        let header = std::mem::take(&mut self.header);
        self.print(&header)?;
        self.print(lines)
    }

    fn print(&mut self, lines: &[u8]) -> io::Result<()> {
        if self.is_terminal && !lines.is_empty() {
            print_over_drawn(|| self.stdout.write_all(lines))
        } else {
            self.stdout.write_all(lines)
        }
    }
}

fn text() -> Result<Text, Failure> {
    Ok(Text { stdout: opening::stdout()?, is_terminal: io::stdout().is_terminal(), header: Vec::new() })
}
