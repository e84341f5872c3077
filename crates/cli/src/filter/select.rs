//! The filters of one run, compiled for whichever link types turn up.

use crate::args::{At, FilterArgs, LanguageArgs};
use crate::exit::Failure;
use crate::filter::plan::Selection;
use crate::language;
use crate::terminal::Terminal;
use pflang::Filter;
use std::collections::HashMap;
use std::sync::Mutex;
use wire::LinkType;

/// Compiles each filter once for each link type, on demand; shared by the workers.
pub(crate) struct Filters<'a> {
    sources: Vec<&'a str>,
    language: &'a LanguageArgs,
    at: At,
    quiet: bool,
    terminal: &'a Terminal,
    compiled: Mutex<HashMap<LinkType, Vec<Filter>>>,
}

impl<'a> Filters<'a> {
    /// The filters of a plan.
    pub(crate) fn new(selections: &'a [Selection], args: &'a FilterArgs, terminal: &'a Terminal) -> Self {
        Filters {
            sources: selections.iter().map(|selection| selection.filter.as_str()).collect(),
            language: &args.language,
            at: args.at,
            quiet: args.quiet,
            terminal,
            compiled: Mutex::default(),
        }
    }

    /// The filters for packets of this link type, in the order of the plan.
    pub(crate) fn for_link_type(&self, link_type: LinkType) -> Result<Vec<Filter>, Failure> {
        let mut compiled = self.compiled.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if let Some(filters) = compiled.get(&link_type) {
            return Ok(filters.clone());
        }
        let compiler = language::compiler(link_type, self.language, self.at);
        // What a text means for lints hardly depends on the link type: tell them once.
        let quiet = self.quiet || !compiled.is_empty();
        let filters = self
            .sources
            .iter()
            .map(|source| language::compile(&compiler, source, self.at, quiet, self.terminal))
            .collect::<Result<Vec<_>, _>>()
            .map_err(
                |failure| if compiled.is_empty() { failure } else { on_link_type(failure, link_type) },
            )?;
        compiled.insert(link_type, filters.clone());
        Ok(filters)
    }
}

/// A filter that compiles for one interface of a capture but not for another deserves the reason.
fn on_link_type(failure: Failure, link_type: LinkType) -> Failure {
    failure.note(format_args!("on packets of link type {link_type}; other packets came before them"))
}
