//! The filters of one run, or its program, compiled for whichever link types turn up.

use crate::args::{At, LanguageArgs, ProgramArgs};
use crate::bytecode;
use crate::decider::Decider;
use crate::exit::Failure;
use crate::language::{self, FilterText};
use crate::terminal::Terminal;
use capture::{Batch, Reader};
use pflang::Compiler;
use std::collections::{HashMap, HashSet};
use std::sync::{Mutex, MutexGuard, PoisonError};
use wire::LinkType;

/// The filters of a plan for packets of one link type; `None` where the language has no such filter on it.
pub(crate) type ForLinkType = Vec<Option<Decider>>;

/// Compiles each filter once for each link type, on demand; shared by the workers. A filter that exists for the packets of one
/// interface may not exist for those of another, which it then does not match. One that exists for none is wrong.
pub(crate) struct Filters<'a> {
    sources: Vec<&'a FilterText>,
    language: &'a LanguageArgs,
    at: At,
    quiet: bool,
    terminal: &'a Terminal,
    /// Bytecode in the place of filters.
    bytecode: &'a ProgramArgs,
    /// What the text of a pfmatch program depends on; filters have none.
    pfmatch: Option<ProgramOptions>,
    /// Whether the packets come from one device, where the kernel can be asked first.
    is_of_device: bool,
    compiled: Mutex<Known>,
}

/// What the text of a program depends on beside the language.
#[derive(Clone, Debug, Default)]
pub(crate) struct ProgramOptions {
    /// What names stand for.
    pub(crate) substitutions: Vec<(String, String)>,
    /// The inputs, and the number that each has for every packet.
    pub(crate) inputs: Vec<(String, u32)>,
    /// By output: the handler whose packets it is for, or [`UNCLAIMED`].
    pub(crate) handlers: Vec<String>,
}

/// What stands for a handler where no clause takes a packet.
pub(crate) const UNCLAIMED: &str = "-";

impl ProgramOptions {
    /// A compiler of programs, of one of filters.
    pub(crate) fn compiler(&self, filters: Compiler) -> Compiler {
        let named = filters.inputs(self.inputs.iter().map(|(name, _)| name.as_str()));
        self.substitutions.iter().fold(named, |compiler, (name, text)| compiler.substitute(name, text))
    }
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
    /// Filters, or with options the one program.
    pub(crate) fn new(
        sources: Vec<&'a FilterText>,
        pfmatch: Option<ProgramOptions>,
        bytecode: &'a ProgramArgs,
        (language, at, quiet): (&'a LanguageArgs, At, bool),
        terminal: &'a Terminal,
    ) -> Self {
        Filters {
            sources,
            language,
            at,
            quiet,
            terminal,
            bytecode,
            pfmatch,
            is_of_device: false,
            compiled: Mutex::default(),
        }
    }

    /// The same, for packets of one device.
    pub(crate) fn of_device(self) -> Self {
        Filters { is_of_device: true, ..self }
    }

    /// Whether this is a program.
    pub(crate) fn is_program(&self) -> bool {
        self.pfmatch.is_some()
    }

    /// The handler whose packets an output of a program is for; `None`: those that no clause takes.
    pub(crate) fn handler(&self, output: usize) -> Option<&str> {
        let name = self.pfmatch.as_ref()?.handlers.get(output)?;
        Some(name.as_str()).filter(|name| *name != UNCLAIMED)
    }

    /// How many there are.
    pub(crate) fn count(&self) -> usize {
        self.sources.len()
    }

    /// What the caller gives a program with each packet.
    pub(crate) fn inputs(&self) -> impl Iterator<Item = u32> {
        self.pfmatch.iter().flat_map(|program| program.inputs.iter().map(|(_, number)| *number))
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
        if self.bytecode.front.is_some() {
            return Ok(());
        }
        if let Some(program) = self.sources.iter().find_map(|source| source.program()) {
            return bytecode::compile(program, self.at).map(|_| ());
        }
        let error =
            |source: &&'a FilterText| self.decider(&compiler, source).err().map(|error| (*source, error));
        let wrong = self.sources.iter().filter_map(error).find(|(_, error)| is_wrong(error));
        wrong.map_or(Ok(()), |(source, error)| {
            Err(language::wrong_filter(&compiler, &error, source, self.language, self.terminal))
        })
    }

    /// The filters for this link type, as far as they were compiled.
    pub(super) fn compiled(&self, linktype: LinkType) -> ForLinkType {
        self.lock().by_linktype.get(&linktype).cloned().unwrap_or_default()
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
        let filters = language::compiler(linktype, self.language, self.at);
        match &self.pfmatch {
            Some(program) => program.compiler(filters),
            None => filters,
        }
    }

    fn decider(&self, compiler: &Compiler, source: &str) -> Result<Decider, pflang::Error> {
        match self.pfmatch {
            Some(_) => compiler.compile_match(source).map(Decider::Program),
            None => compiler.compile(source).map(Decider::Filter),
        }
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
            if let Some(program) = bytecode::of(source, self.bytecode, linktype, self.language)? {
                let filter = if self.is_of_device {
                    bytecode::of_device(program, self.at)?
                } else {
                    Decider::Bytecode(bytecode::compile(&program, self.at)?)
                };
                let quiet = self.quiet || !compiled.existing.insert(i);
                language::tell_fallback(filter.fallback_reason(), self.at, quiet, self.terminal)?;
                filters.push(Some(filter));
                continue;
            }
            filters.push(match self.decider(&compiler, source) {
                Ok(filter) => {
                    // What a text means for lints hardly depends on the link type: tell them once.
                    let is_first = compiled.existing.insert(i);
                    // One that is printed beside its file is there twice.
                    let is_twice = i > 0 && self.sources[i - 1] == *source;
                    let quiet = self.quiet || !is_first || is_twice;
                    Some(language::accept(&compiler, filter, source, self.at, quiet, self.terminal)?)
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

/// Whether a filter may exist for packets of other link types.
pub(crate) fn depends_on_linktype(code: pflang::Code) -> bool {
    matches!(code, pflang::Code::LinkType | pflang::Code::LiveOnly)
}

fn on_linktype(failure: Failure, linktype: LinkType, input: &str) -> Failure {
    let note = format_args!("on packets of link type {linktype}, in {input}; other packets came before them");
    failure.note(note).about_file(input)
}
