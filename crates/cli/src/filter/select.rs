//! The filters of one run, compiled for whichever link types turn up.

use crate::args::{At, FilterArgs, LanguageArgs, ProgramArgs};
use crate::bytecode;
use crate::exit::Failure;
use crate::filter::plan::Selection;
use crate::language::{self, FilterText};
use crate::terminal::Terminal;
use capture::{Batch, Reader};
use pflang::{Compiler, Filter, Packet};
use std::collections::{HashMap, HashSet};
use std::sync::{Mutex, MutexGuard, PoisonError};
use wire::LinkType;

/// The filters of a plan for packets of one link type; `None` where the language has no such filter on it.
pub(crate) type ForLinkType = Vec<Option<Compiled>>;

/// A filter that is ready to run.
#[derive(Clone)]
pub(crate) enum Compiled {
    /// From text.
    Text(Filter),
    /// From bytecode.
    Program(bpf::Filter),
}

impl Compiled {
    /// Which packets match, and how many.
    pub(crate) fn match_burst(&self, packets: &[Packet<'_>], bits: &mut [u64]) -> usize {
        match self {
            Compiled::Text(filter) => filter.match_burst(packets, bits),
            Compiled::Program(filter) => filter.match_burst(packets, bits),
        }
    }
}

/// Compiles each filter once for each link type, on demand; shared by the workers. A filter that exists for the packets of one
/// interface may not exist for those of another, which it then does not match. One that exists for none is wrong.
pub(crate) struct Filters<'a> {
    sources: Vec<&'a FilterText>,
    language: &'a LanguageArgs,
    program: &'a ProgramArgs,
    at: At,
    quiet: bool,
    terminal: &'a Terminal,
    compiled: Mutex<Known>,
}

#[derive(Default)]
struct Known {
    by_linktype: HashMap<LinkType, ForLinkType>,
    /// Why there is no filter where there is none.
    misfits: HashMap<(LinkType, usize), pflang::Error>,
    /// The filters that exist for some link type.
    existing: HashSet<usize>,
}

impl<'a> Filters<'a> {
    /// The filters of a plan.
    pub(crate) fn new(selections: &'a [Selection], args: &'a FilterArgs, terminal: &'a Terminal) -> Self {
        Filters {
            sources: selections.iter().map(|selection| &selection.filter).collect(),
            language: &args.language,
            program: &args.program,
            at: args.at,
            quiet: args.quiet,
            terminal,
            compiled: Mutex::default(),
        }
    }

    /// The filters for the packets of this batch, which are of this link type. Those that have not been found to exist may do so for
    /// another interface. A filter that fails where it should exist, after it was found to, deserves the name of the input.
    pub(crate) fn for_packets(&self, linktype: LinkType, batch: &Batch<'_>) -> Result<ForLinkType, Failure> {
        let mut compiled = self.lock();
        if !compiled.by_linktype.contains_key(&linktype) {
            let is_first = compiled.by_linktype.is_empty();
            self.compile(linktype, &mut compiled).map_err(|failure| {
                if is_first { failure } else { on_linktype(failure, linktype, batch.input()) }
            })?;
        }
        if compiled.existing.len() < self.sources.len() {
            let described = linktypes(batch).map(|other| (other, ()));
            self.find(std::iter::once((linktype, ())).chain(described), &mut compiled)?;
        }
        Ok(compiled.by_linktype[&linktype].clone())
    }

    /// Refuses filters that are wrong for all these link types, before anything is written. Asks for no more of them than are needed.
    /// Returns what stands beside the first for which there is any of the filters.
    pub(crate) fn check<T>(
        &self,
        linktypes: impl Iterator<Item = (LinkType, T)>,
    ) -> Result<Option<T>, Failure> {
        self.find(linktypes, &mut self.lock())
    }

    /// Refuses what is no filter, whatever the link type of the packets to come.
    pub(crate) fn check_words(&self) -> Result<(), Failure> {
        let compiler = self.compiler(LinkType::EN10MB);
        let is_wrong = |error: &pflang::Error| {
            use pflang::Code::{BadToken, DisplaySyntax, Unexpected, UnknownWord};
            matches!(error.code(), BadToken | DisplaySyntax | Unexpected | UnknownWord)
        };
        if self.program.front.is_some() {
            return Ok(());
        }
        if let Some(program) = self.sources.iter().find_map(|source| source.program()) {
            return bytecode::compile(program, self.at).map(|_| ());
        }
        let error = |source: &&'a FilterText| compiler.compile(source).err().map(|error| (*source, error));
        let wrong = self.sources.iter().filter_map(error).find(|(_, error)| is_wrong(error));
        wrong.map_or(Ok(()), |(source, error)| {
            Err(language::wrong_filter(&compiler, &error, source, self.language, self.terminal))
        })
    }

    /// Whether no packet has come that the filters would have been compiled for.
    pub(crate) fn are_untried(&self) -> bool {
        self.lock().by_linktype.is_empty()
    }

    /// Why this filter does not exist for this link type.
    pub(crate) fn why_not(&self, filter: usize, linktype: LinkType) -> String {
        let compiled = self.lock();
        compiled
            .misfits
            .get(&(linktype, filter))
            .map_or_else(String::new, |error| error.diagnostic.message.clone())
    }

    fn lock(&self) -> MutexGuard<'_, Known> {
        self.compiled.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn compiler(&self, linktype: LinkType) -> Compiler {
        language::compiler(linktype, self.language, self.at)
    }

    fn find<T>(
        &self,
        linktypes: impl Iterator<Item = (LinkType, T)>,
        compiled: &mut Known,
    ) -> Result<Option<T>, Failure> {
        let (mut first, mut found) = (None, None);
        for (linktype, beside) in linktypes {
            self.compile(linktype, compiled)?;
            first = first.or(Some(linktype));
            let has_any = compiled.by_linktype[&linktype].iter().any(Option::is_some);
            found = found.or_else(|| has_any.then_some(beside));
            if found.is_some() && compiled.existing.len() == self.sources.len() {
                return Ok(found);
            }
        }
        let missing = (0..self.sources.len()).find(|filter| !compiled.existing.contains(filter));
        let error =
            first.zip(missing).and_then(|place| compiled.misfits.get(&place).map(|error| (place, error)));
        error.map_or(Ok(found), |((linktype, filter), error)| {
            let (compiler, source) = (self.compiler(linktype), self.sources[filter]);
            Err(language::wrong_filter(&compiler, error, source, self.language, self.terminal))
        })
    }

    /// Compiles the filters for a link type, if that was not done before.
    fn compile(&self, linktype: LinkType, compiled: &mut Known) -> Result<(), Failure> {
        if compiled.by_linktype.contains_key(&linktype) {
            return Ok(());
        }
        let compiler = self.compiler(linktype);
        let mut filters = Vec::with_capacity(self.sources.len());
        for (i, source) in self.sources.iter().enumerate() {
            if let Some(program) = bytecode::of(source, self.program, linktype, self.language)? {
                let filter = bytecode::compile(&program, self.at)?;
                let quiet = self.quiet || !compiled.existing.insert(i);
                language::tell_fallback(filter.fallback_reason(), self.at, quiet, self.terminal)?;
                filters.push(Some(Compiled::Program(filter)));
                continue;
            }
            filters.push(match compiler.compile(source) {
                Ok(filter) => {
                    // What a text means for lints hardly depends on the link type: tell them once.
                    let is_first = compiled.existing.insert(i);
                    let quiet = self.quiet || !is_first;
                    let filter = language::accept(&compiler, filter, source, self.at, quiet, self.terminal)?;
                    Some(Compiled::Text(filter))
                }
                Err(error) if depends_on_linktype(error.code()) => {
                    compiled.misfits.insert((linktype, i), error);
                    None
                }
                Err(error) => {
                    return Err(language::wrong_filter(
                        &compiler,
                        &error,
                        source,
                        self.language,
                        self.terminal,
                    ));
                }
            });
        }
        compiled.by_linktype.insert(linktype, filters);
        Ok(())
    }
}

/// What the interfaces that an input has described so far say their packets are, as they are read here.
pub(crate) fn described(reader: &Reader) -> Vec<LinkType> {
    linktypes(&reader.batch()).collect()
}

fn linktypes<'b>(batch: &Batch<'b>) -> impl Iterator<Item = LinkType> + use<'b> {
    let format = batch.format();
    batch.interfaces().iter().map(move |interface| format.as_read_here(interface.linktype))
}

fn depends_on_linktype(code: pflang::Code) -> bool {
    matches!(code, pflang::Code::LinkType | pflang::Code::LiveOnly)
}

fn on_linktype(failure: Failure, linktype: LinkType, input: &str) -> Failure {
    let note = format_args!("on packets of link type {linktype}, in {input}; other packets came before them");
    failure.note(note).about_file(input)
}
