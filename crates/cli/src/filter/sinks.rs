//! Where finished output goes.

use crate::exit::Failure;
use crate::filter::names;
use crate::filter::plan::{Output, Selection};
use crate::filter::render::{Numbers, Renderer};
use capture::{Encoder, Format, Writer};
use std::fs::File;
use std::io::Write;
use std::path::Path;

/// One destination for each filter of the plan.
pub(crate) struct Sinks {
    sinks: Vec<Sink>,
    /// The format of the first packets.
    format: Format,
}

enum Sink {
    Nothing,
    Capture(Box<Writer<File>>),
    Text(std::io::Stdout),
}

impl Sinks {
    /// Opens every destination, for packets of inputs that begin in this format.
    pub(crate) fn open(selections: &[Selection], format: Format) -> Result<Sinks, Failure> {
        let open = |selection: &Selection| match &selection.output {
            Output::Count => Ok(Sink::Nothing),
            Output::Lines | Output::Json => Ok(Sink::Text(std::io::stdout())),
            Output::Capture(path) if path.as_os_str() == "-" => {
                Writer::stdout().map(|writer| Sink::Capture(Box::new(writer)))
            }
            Output::Capture(path) => Writer::create(path).map(|writer| Sink::Capture(Box::new(writer))),
        };
        let sinks = selections.iter().map(open).collect::<Result<_, _>>();
        Ok(Sinks { sinks: sinks.map_err(|error| Failure::capture(&error))?, format })
    }

    /// Begins every capture in the format of the first packets, or in pcapng where its name says so, and gives the renderers that fit,
    /// with these numbers on lines.
    pub(crate) fn begin(&mut self, selections: &[Selection], numbers: Numbers) -> Vec<Renderer> {
        let format = self.format;
        let target = |path: &Path| names::target(path, format);
        for (sink, selection) in self.sinks.iter_mut().zip(selections) {
            if let (Sink::Capture(writer), Output::Capture(path)) = (sink, &selection.output) {
                writer.begin(target(path));
            }
        }
        selections
            .iter()
            .map(|selection| match &selection.output {
                Output::Count => Renderer::Count,
                Output::Lines => Renderer::Lines(numbers),
                Output::Json => Renderer::Json,
                Output::Capture(path) => Renderer::Capture(Encoder::new(target(path))),
            })
            .collect()
    }

    /// Writes the finished output of each filter.
    pub(crate) fn write(&mut self, outputs: &[Vec<u8>]) -> Result<(), Failure> {
        for (sink, output) in self.sinks.iter_mut().zip(outputs) {
            match sink {
                Sink::Nothing => {}
                Sink::Capture(writer) => {
                    writer.write_encoded(output).map_err(|error| Failure::capture(&error))?
                }
                Sink::Text(stdout) => {
                    stdout.write_all(output).map_err(|error| Failure::writing("standard output", &error))?;
                }
            }
        }
        Ok(())
    }

    /// Hands everything to the system.
    pub(crate) fn flush(&mut self) -> Result<(), Failure> {
        for sink in &mut self.sinks {
            match sink {
                Sink::Nothing => {}
                Sink::Capture(writer) => writer.flush().map_err(|error| Failure::capture(&error))?,
                Sink::Text(stdout) => {
                    stdout.flush().map_err(|error| Failure::writing("standard output", &error))?;
                }
            }
        }
        Ok(())
    }

    /// Writes what is buffered: nothing is lost, whatever the reason for the end.
    pub(crate) fn finish(self) -> Result<(), Failure> {
        for sink in self.sinks {
            match sink {
                Sink::Nothing => {}
                Sink::Capture(writer) => writer.finish().map_err(|error| Failure::capture(&error))?,
                Sink::Text(mut stdout) => {
                    stdout.flush().map_err(|error| Failure::writing("standard output", &error))?;
                }
            }
        }
        Ok(())
    }
}
