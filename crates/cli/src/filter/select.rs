//! The filters of one run, compiled for whichever link types turn up.

use crate::args::{At, FilterArgs, LanguageArgs};
use crate::exit::Failure;
use crate::filter::plan::Selection;
use crate::language::{self, FilterText};
use crate::terminal::Terminal;
use pflang::Filter;
use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use wire::LinkType;

type Compiled = HashMap<LinkType, Vec<Filter>>;

/// Compiles each filter once for each link type, on demand; shared by the workers.
pub(crate) struct Filters<'a> {
    sources: Vec<&'a FilterText>,
    language: &'a LanguageArgs,
    at: At,
    quiet: bool,
    terminal: &'a Terminal,
    compiled: Mutex<Compiled>,
}

impl<'a> Filters<'a> {
    /// The filters of a plan.
    pub(crate) fn new(selections: &'a [Selection], args: &'a FilterArgs, terminal: &'a Terminal) -> Self {
        Filters {
            sources: selections.iter().map(|selection| &selection.filter).collect(),
            language: &args.language,
            at: args.at,
            quiet: args.quiet,
            terminal,
            compiled: Mutex::default(),
        }
    }

    /// The filters for packets of this link type, in the order of the plan. A filter that compiles for the first packets but not
    /// for others deserves the reason, and the name of the input they are in.
    pub(crate) fn for_packets(&self, linktype: LinkType, input: &str) -> Result<Vec<Filter>, Failure> {
        let mut compiled = self.lock();
        if let Some(filters) = compiled.get(&linktype) {
            return Ok(filters.clone());
        }
        let is_first = compiled.is_empty();
        self.compile(linktype, &mut compiled)
            .map_err(|failure| if is_first { failure } else { on_linktype(failure, linktype, input) })
    }

    /// Refuses filters that are wrong for this link type, before anything is written.
    pub(crate) fn check(&self, linktype: LinkType) -> Result<(), Failure> {
        let mut compiled = self.lock();
        if compiled.contains_key(&linktype) {
            return Ok(());
        }
        self.compile(linktype, &mut compiled).map(|_| ())
    }

    /// Refuses what is no filter, whatever the link type of the packets to come.
    pub(crate) fn check_words(&self) -> Result<(), Failure> {
        let compiler = language::compiler(LinkType::EN10MB, self.language, self.at);
        let is_wrong = |error: &pflang::Error| {
            use pflang::Code::{BadToken, DisplaySyntax, Unexpected, UnknownWord};
            matches!(error.code(), BadToken | DisplaySyntax | Unexpected | UnknownWord)
        };
        let error = |source: &&'a FilterText| compiler.compile(source).err().map(|error| (*source, error));
        let wrong = self.sources.iter().filter_map(error).find(|(_, error)| is_wrong(error));
        wrong.map_or(Ok(()), |(source, error)| {
            Err(language::wrong_filter(error, source, self.language, self.terminal))
        })
    }

    /// Whether no packet has come that the filters would have been compiled for.
    pub(crate) fn are_untried(&self) -> bool {
        self.lock().is_empty()
    }

    fn lock(&self) -> MutexGuard<'_, Compiled> {
        self.compiled.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn compile(&self, linktype: LinkType, compiled: &mut Compiled) -> Result<Vec<Filter>, Failure> {
        let compiler = language::compiler(linktype, self.language, self.at);
        // What a text means for lints hardly depends on the link type: tell them once.
        let quiet = self.quiet || !compiled.is_empty();
        let compile = |source: &&FilterText| {
            language::compile(&compiler, source, self.language, self.at, quiet, self.terminal)
        };
        let filters: Vec<Filter> = self.sources.iter().map(compile).collect::<Result<_, _>>()?;
        compiled.insert(linktype, filters.clone());
        Ok(filters)
    }
}

fn on_linktype(failure: Failure, linktype: LinkType, input: &str) -> Failure {
    let note = format_args!("on packets of link type {linktype}, in {input}; other packets came before them");
    failure.note(note).about_file(input)
}
