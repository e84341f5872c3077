//! Another version of a graph's file: read beside the graph that runs, and told when that runs again.

use super::source::Source;
use super::tell::Teller;
use crate::exit::Failure;
use crate::registry::registry;
use engine::{Changes, stand_back};
use graphfile::{GraphFile, GraphFileErrors};
use std::sync::mpsc::{Receiver, TryRecvError, sync_channel};
use std::thread;
use std::time::Duration;

/// What is said when another graph is wrong.
pub(super) const UNCHANGED: &str = "what runs goes on unchanged";

/// A file that is being read, by a thread that stands back behind the workers: to read a million routes takes a second.
#[derive(Debug, Default)]
pub(super) struct Rereading {
    result: Option<Receiver<Result<GraphFile, Unread>>>,
    /// Whether it is to be read once more, since it was asked for meanwhile.
    again: bool,
}

/// Why there is no other graph.
#[derive(Debug)]
enum Unread {
    /// The file cannot be read.
    File(Failure),
    /// There are errors in this text.
    Graph(GraphFileErrors, String),
}

impl Rereading {
    /// Begins to read, and wakes the calling thread when that is done. What is being read may be older: it is read again then.
    pub(super) fn begin(&mut self, source: &Source) -> Result<(), Failure> {
        if self.result.is_some() {
            self.again = true;
            return Ok(());
        }
        let (sender, receiver) = sync_channel(1);
        let (source, waiting) = (source.clone(), thread::current());
        let reader = thread::Builder::new().name("reread".to_owned());
        reader
            .spawn(move || {
                stand_back();
                // Nobody waits for it if the run is over.
                let _ = sender.send(read(&source));
                waiting.unpark();
            })
            .map_err(|error| Failure::world(format!("cannot start a thread: {error}")))?;
        self.result = Some(receiver);
        Ok(())
    }

    /// Whether a file is being read.
    pub(super) fn is_under_way(&self) -> bool {
        self.result.is_some()
    }

    /// The graph, once it has been read.
    pub(super) fn end(&mut self, source: &Source, teller: &Teller<'_>) -> Option<Result<GraphFile, Failure>> {
        let read = match self.result.as_ref()?.try_recv() {
            Ok(read) => read,
            Err(TryRecvError::Empty) => return None,
            Err(TryRecvError::Disconnected) => {
                Err(Unread::File(Failure::internal("the thread that reads the graph has failed")))
            }
        };
        self.result = None;
        if std::mem::take(&mut self.again)
            && let Err(failure) = self.begin(source)
        {
            return Some(Err(failure));
        }
        Some(read.map_err(|unread| match unread {
            Unread::File(failure) => failure,
            Unread::Graph(errors, text) => teller.wrong(&errors, &text, UNCHANGED),
        }))
    }
}

fn read(source: &Source) -> Result<GraphFile, Unread> {
    let text = source.read().map_err(Unread::File)?;
    GraphFile::parse(&text, &registry()).map_err(|errors| Unread::Graph(errors, text))
}

/// What another graph has changed: told when the workers run again, and it is known how long they stood still.
#[derive(Debug)]
pub(super) struct UntoldChange {
    pub(super) file: Box<GraphFile>,
    pub(super) changes: Changes,
}

/// How long all stood still, in milliseconds for people.
pub(super) fn stood_still_in_words(stood_still: Option<Duration>) -> String {
    let told = |time: Duration| format!("; all stood still for {:.1} ms", time.as_secs_f64() * 1e3);
    stood_still.map(told).unwrap_or_default()
}
