//! Common parts of apps with filters: options become compiled filters, bursts become bits.
//!
//! Names come from the system's files; no server is asked, as an app must not wait. A filter that does not compile is an error of its option, with the
//! compiler's message. What a packet's link type means for filters is in `linktype`.

use crate::shared::names::SystemNames;
use crate::shared::set_changes::is_entry_refused;
use engine::{OptionError, OptionWarning, Packet};
use pflang::{Code, Colours, Compiler, Diagnostic, Filter};
use std::sync::Arc;
use wire::LinkType;

/// Packets that are looked at together: as many as a word has bits.
pub(crate) const LANES: usize = 64;

/// A compiler for packets of a link type. Services, protocols and hosts have the names that the
/// system's files give them; no server is asked.
pub(crate) fn compiler(linktype: LinkType) -> Compiler {
    Compiler::new(linktype).names(Arc::new(SystemNames::new(false)))
}

/// Compiles the filter of an option, with what runs bursts: the first is not to wait for that.
pub(crate) fn compile(compiler: &Compiler, option: &str, filter: &str) -> Result<Filter, OptionError> {
    let filter = compiler.compile(filter).map_err(|error| does_not_compile(compiler, option, &error))?;
    filter.burst_engine();
    Ok(filter)
}

/// What was compiled, if other checks found nothing wrong either.
pub(crate) fn both<T>(
    checked: Result<(), OptionError>,
    compiled: Result<T, OptionError>,
) -> Result<T, OptionError> {
    let is_compiled = compiled.as_ref().map(drop).map_err(OptionError::clone);
    OptionError::all::<_, ()>([checked, is_compiled]).and(compiled)
}

/// The error for a filter of an option that does not compile.
pub(crate) fn does_not_compile(compiler: &Compiler, option: &str, error: &pflang::Error) -> OptionError {
    let error = compiler.help(error);
    // A file that cannot be read is not the filter's fault.
    let is_unreadable = error.code() == Code::SetFile && !is_entry_refused(&error.diagnostic.message);
    let of_whom = if is_unreadable { OptionError::refused } else { OptionError::new };
    of_whom(option, "the filter does not compile").with_detail(error.render(Colours::None))
}

/// The compiler's warnings about the filter of an option.
pub(crate) fn warning(option: &str, filter: &Filter) -> Option<OptionWarning> {
    let lints = compiler(filter.linktype()).lints(filter.source()).ok()?;
    odd(option, filter.source(), &lints)
}

/// What is told of a filter with these warnings.
pub(crate) fn odd(option: &str, filter: &str, lints: &[Diagnostic]) -> Option<OptionWarning> {
    let lints: Vec<String> = lints.iter().map(|lint| lint.render(filter, Colours::None)).collect();
    let warning = || OptionWarning::new(option, "the filter may not do what it seems to do");
    (!lints.is_empty()).then(|| warning().with_detail(lints.join("\n")))
}

/// Which of at most [`LANES`] packets match: one bit each, the first packet's being the lowest. With `metadata`, packets know how
/// long they were on the wire; else they are as long as what is here.
#[inline]
pub(crate) fn select(filter: &Filter, packets: &[Packet], metadata: bool) -> u64 {
    let mut lanes = [pflang::Packet::EMPTY; LANES];
    let mut bits = [0];
    filter.match_burst(describe(packets, metadata, &mut lanes), &mut bits);
    bits[0]
}

/// The packets as filters see them.
#[inline]
pub(crate) fn describe<'p, 'l>(
    packets: &'p [Packet],
    metadata: bool,
    lanes: &'l mut [pflang::Packet<'p>; LANES],
) -> &'l [pflang::Packet<'p>] {
    let both = lanes.iter_mut().zip(packets);
    if metadata {
        both.for_each(|(lane, packet)| *lane = pflang::Packet::new(packet.data(), packet.wire_len()));
    } else {
        both.for_each(|(lane, packet)| *lane = packet.data().into());
    }
    &lanes[..packets.len()]
}
