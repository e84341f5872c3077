//! `sluss run --trace`: packets that match a filter are followed through the graph, and what became of them is printed.

mod block;
mod object;

use crate::args::{At, LanguageArgs, RunArgs};
use crate::exit::Failure;
use crate::filter::select::depends_on_linktype;
use crate::language::{self, FilterText};
use crate::message::Message;
use crate::reader::print_beside_packets;
use crate::terminal::Terminal;
use block::Blocks;
use engine::{Engine, Trace, TracePacket, TraceStep};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use wire::LinkType;

/// Link types that the filter is compiled for at most. Packets of others do not match.
const LINKTYPES_MAX: usize = 8;

/// Packets are followed on one worker.
pub(super) fn check_workers(args: &RunArgs) -> Result<(), Failure> {
    if args.trace.is_some() && args.workers > 1 {
        let why = "several would move packets while one is looked at; leave `--workers` out";
        return Err(Failure::user(format!("`--trace` is for one worker: {why}")));
    }
    Ok(())
}

/// What is followed, and what was printed of it.
#[derive(Debug)]
pub(super) struct Following {
    printer: Arc<Mutex<Printer>>,
}

/// Prints steps as they come, or packets as they end.
#[derive(Debug)]
struct Printer {
    /// `None` for JSON.
    blocks: Option<Blocks>,
    unprinted: Option<Failure>,
}

/// The filter of the packets to follow, if any are. To be asked before anything starts.
pub(super) fn filters(args: &RunArgs, terminal: &Terminal) -> Result<Option<Filters>, Failure> {
    let filters = |text| {
        let source = language::filter_text(std::slice::from_ref(text))?;
        Filters::new(source, *terminal)
    };
    args.trace.as_ref().map(filters).transpose()
}

impl Following {
    /// Follows packets from now on.
    pub(super) fn begin(mut filters: Filters, args: &RunArgs, engine: &mut Engine) -> Result<Self, Failure> {
        let blocks = (!args.json).then(Blocks::default);
        let printer = Arc::new(Mutex::new(Printer { blocks, unprinted: None }));
        let told = Arc::clone(&printer);
        let trace = Trace {
            packets: args.trace_count.unwrap_or(u64::MAX),
            matches: Box::new(move |packet| filters.match_packet(packet)),
            tell: Box::new(move |step| locked(&told).step(step)),
        };
        engine.trace(trace).map_err(Failure::no_engine)?;
        Ok(Following { printer })
    }

    /// Follows nothing any more, and prints what became of all.
    ///
    /// # Errors
    /// If anything could not be printed.
    pub(super) fn end(self, engine: &mut Engine) -> Result<(), Failure> {
        let totals = engine.end_trace();
        let mut printer = locked(&self.printer);
        if let Some(totals) = totals {
            let text = match printer.blocks {
                Some(_) => block::totals(&totals),
                None => object::totals(&totals),
            };
            printer.print(&text);
        }
        printer.unprinted.take().map_or(Ok(()), Err)
    }
}

fn locked(printer: &Mutex<Printer>) -> std::sync::MutexGuard<'_, Printer> {
    printer.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Printer {
    /// Returns whether to go on.
    fn step(&mut self, step: &TraceStep) -> bool {
        let text = match &mut self.blocks {
            Some(blocks) => blocks.step(step),
            None => Some(object::step(step)),
        };
        text.is_none_or(|text| self.print(&text))
    }

    /// Returns whether it was printed. After a failure nothing is.
    fn print(&mut self, text: &str) -> bool {
        if self.unprinted.is_none() {
            self.unprinted = print_beside_packets(text).err();
        }
        self.unprinted.is_none()
    }
}

/// The filter, compiled for each link type that has come.
pub(super) struct Filters {
    source: FilterText,
    terminal: Terminal,
    /// `None` where the filter does not compile.
    compiled: HashMap<u16, Option<pflang::Filter>>,
    /// Whether it was told that there are more link types than it is compiled for.
    is_full_told: bool,
}

impl Filters {
    /// Compiles the filter for Ethernet, and tells what may surprise in it. One that has no meaning there may be for packets of another link type.
    fn new(source: FilterText, terminal: Terminal) -> Result<Self, Failure> {
        let (language, linktype) = (LanguageArgs::default(), LinkType::EN10MB);
        let compiler = language::compiler(linktype, &language, At::Interp);
        let wrong =
            |error: pflang::Error| language::wrong_filter(&compiler, &error, &source, &language, &terminal);
        let compiled = match compiler.compile(&source) {
            Ok(filter) => {
                language::tell_lints(&compiler.lints(&source).map_err(wrong)?, &source, &terminal);
                HashMap::from([(linktype.value() as u16, Some(filter))])
            }
            // Should a packet of Ethernet come, this is told then.
            Err(error) if depends_on_linktype(error.code()) => HashMap::new(),
            Err(error) => return Err(wrong(error)),
        };
        Ok(Filters { source, terminal, compiled, is_full_told: false })
    }

    fn match_packet(&mut self, packet: &TracePacket<'_>) -> bool {
        let is_full = self.compiled.len() == LINKTYPES_MAX;
        let filter = match self.compiled.get(&packet.linktype) {
            Some(filter) => filter,
            None if is_full => {
                if !std::mem::replace(&mut self.is_full_told, true) {
                    self.terminal.tell(&Message::warning(format_args!(
                        "`--trace`: packets of more than {LINKTYPES_MAX} link types have come: those of others are not followed"
                    )));
                }
                return false;
            }
            None => {
                let filter = self.compile(LinkType::new(packet.linktype.into()));
                self.compiled.entry(packet.linktype).or_insert(filter)
            }
        };
        filter.as_ref().is_some_and(|filter| filter.matches_captured(&packet.data, packet.wire_len))
    }

    /// Compiles the filter for another link type. Says so if it has no meaning there.
    fn compile(&self, linktype: LinkType) -> Option<pflang::Filter> {
        let compiler = language::compiler(linktype, &LanguageArgs::default(), At::Interp);
        let filter = compiler.compile(&self.source);
        if let Err(error) = &filter {
            let what = error.diagnostic.message.trim_end();
            let warning = format_args!("`--trace`: packets of link type {linktype} are not followed: {what}");
            self.terminal.tell(&Message::warning(warning));
        }
        filter.ok()
    }
}
