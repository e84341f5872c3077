//! The way from text to filter, as one call or stage by stage.

use crate::Backend;
use crate::Span;
use crate::clock::{Clock, worded};
use crate::diag::{Diagnostic, Error};
use crate::filter::Filter;
use crate::ir::tree::{Clause, Tree};
use crate::ir::verify::Checked;
use crate::ir::{self, ACCEPT, Graph};
use crate::lower::{self, Lowered};
use crate::opt::Passes;
use crate::options::{Dialect, Limits, Names, NoNames};
use crate::syntax::ast::Ast;
use crate::syntax::parse;
use decide::Decision;
use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::sync::Arc;
use wire::LinkType;

/// Clauses about one field, from which on they are looked up.
///
/// PERF: below, a graph of tests is as fast, and compiles in some milliseconds.
const MANY: usize = 256;

/// Tests of different fields in turns are a chain, so that of such clauses so many times fewer are worth a look-up.
pub(crate) const FEW: usize = 5;

/// Compiles filters for packets of one link type.
///
/// ```
/// use pflang::Compiler;
/// use wire::LinkType;
///
/// let filter = Compiler::new(LinkType::EN10MB).compile("arp")?;
/// let mut frame = [0; 60];
/// frame[12..14].copy_from_slice(&[0x08, 0x06]);
/// assert!(filter.matches(&frame));
/// # Ok::<(), pflang::Error>(())
/// ```
#[derive(Clone)]
pub struct Compiler {
    linktype: LinkType,
    netmask: Option<Ipv4Addr>,
    pub(crate) dialect: Dialect,
    pub(crate) names: Arc<dyn Names + Send + Sync>,
    pub(crate) limits: Limits,
    pub(crate) backend: Backend,
    prefetch_distance: u32,
    baseline: bool,
    tables: bool,
    /// Clauses of a list from which on they are looked up.
    pub(crate) many: usize,
    pub(crate) inputs: Vec<String>,
    pub(crate) substitutions: BTreeMap<String, String>,
}

impl Compiler {
    /// Packets ahead whose first bytes a burst fetches into the cache.
    ///
    /// ```
    /// # use pflang::Compiler;
    /// assert!(Compiler::PREFETCH_DISTANCE > 0);
    /// ```
    pub const PREFETCH_DISTANCE: u32 = crate::x64::PREFETCH_DISTANCE;

    /// A compiler with libpcap's meaning, no names and the default limits.
    ///
    /// ```
    /// # use pflang::Compiler;
    /// # use wire::LinkType;
    /// let compiler = Compiler::new(LinkType::RAW);
    /// assert_eq!(compiler.linktype(), LinkType::RAW);
    /// assert!(compiler.compile("host nowhere.example").is_err(), "no name is known");
    /// ```
    pub fn new(linktype: LinkType) -> Self {
        Compiler {
            linktype,
            netmask: None,
            dialect: Dialect::default(),
            names: Arc::new(NoNames),
            limits: Limits::default(),
            backend: Backend::Auto,
            prefetch_distance: Self::PREFETCH_DISTANCE,
            baseline: false,
            tables: true,
            many: MANY,
            inputs: Vec::new(),
            substitutions: BTreeMap::new(),
        }
    }

    /// The netmask of the network captured on, which `ip broadcast` needs.
    ///
    /// ```
    /// # use pflang::Compiler;
    /// # use wire::LinkType;
    /// let compiler = Compiler::new(LinkType::EN10MB);
    /// assert!(compiler.compile("ip broadcast").is_err());
    /// assert!(compiler.netmask([255, 255, 255, 0].into()).compile("ip broadcast").is_ok());
    /// ```
    pub fn netmask(mut self, mask: Ipv4Addr) -> Self {
        self.netmask = Some(mask);
        self
    }

    /// Departures from libpcap's meaning.
    ///
    /// ```
    /// # use pflang::{Compiler, Dialect};
    /// # use wire::LinkType;
    /// let strict = Compiler::new(LinkType::EN10MB).dialect(Dialect::STRICT);
    /// assert!(strict.compile("port in {80, 443}").is_err());
    /// ```
    pub fn dialect(mut self, dialect: Dialect) -> Self {
        self.dialect = dialect;
        self
    }

    /// Where names of hosts, services, … come from. By default none is known.
    ///
    /// ```
    /// # use pflang::{Compiler, Names, Service};
    /// # use wire::LinkType;
    /// # use std::sync::Arc;
    /// struct Web;
    /// impl Names for Web {
    ///     fn service(&self, name: &str) -> Option<Service> {
    ///         (name == "http").then(|| Service { tcp: Some(80), ..Service::default() })
    ///     }
    /// }
    /// let compiler = Compiler::new(LinkType::EN10MB).names(Arc::new(Web));
    /// assert!(compiler.compile("port http").is_ok());
    /// ```
    pub fn names(mut self, names: Arc<dyn Names + Send + Sync>) -> Self {
        self.names = names;
        self
    }

    /// Bounds on what a text may cost.
    ///
    /// ```
    /// # use pflang::{Code, Compiler, Limits};
    /// # use wire::LinkType;
    /// let mut limits = Limits::default();
    /// limits.terms = 2;
    /// let compiler = Compiler::new(LinkType::EN10MB).limits(limits);
    /// let error = compiler.compile("ip or ip6 or arp").unwrap_err();
    /// assert_eq!(error.code(), Code::Limit);
    /// ```
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Where filters run.
    ///
    /// ```
    /// # use pflang::{Backend, Compiler};
    /// # use wire::LinkType;
    /// let reference = Compiler::new(LinkType::EN10MB).backend(Backend::Interpreter);
    /// assert!(!reference.compile("ip")?.is_native());
    /// # Ok::<(), pflang::Error>(())
    /// ```
    pub fn backend(mut self, backend: Backend) -> Self {
        self.backend = backend;
        self
    }

    /// How many packets ahead of the one it looks at a burst prefetches; 0 for never. The default suits packets
    /// that lie in memory but not in cache.
    ///
    /// ```
    /// # use pflang::Compiler;
    /// # use wire::LinkType;
    /// let in_cache = Compiler::new(LinkType::EN10MB).prefetch_distance(0);
    /// assert!(in_cache.compile("arp").is_ok());
    /// assert_eq!(Compiler::PREFETCH_DISTANCE, 32, "the default");
    /// ```
    pub fn prefetch_distance(mut self, packets: u32) -> Self {
        self.prefetch_distance = packets;
        self
    }

    /// Machine code for any processor of its kind, instead of for the one that this runs on.
    ///
    /// ```
    /// # use pflang::Compiler;
    /// # use wire::LinkType;
    /// let portable = Compiler::new(LinkType::EN10MB).baseline();
    /// assert!(portable.compile("tcp port 80").is_ok());
    /// ```
    pub fn baseline(mut self) -> Self {
        self.baseline = true;
        self
    }

    /// The names of numbers that the caller gives with each packet, which tests and arguments of pfmatch programs may name. Those that a
    /// program declares itself stand behind them in the row.
    ///
    /// ```
    /// # use pflang::{Compiler, LinkType};
    /// let compiler = Compiler::new(LinkType::EN10MB).inputs(["flow_count"]);
    /// assert!(compiler.compile_match("match { flow_count >= 69 => accept; otherwise => drop }").is_ok());
    /// ```
    pub fn inputs<S: Into<String>>(mut self, names: impl IntoIterator<Item = S>) -> Self {
        self.inputs = names.into_iter().map(Into::into).collect();
        self
    }

    /// What `$name` stands for in pfmatch programs: text that replaces it before the program is read.
    ///
    /// ```
    /// # use pflang::{Compiler, LinkType};
    /// let compiler = Compiler::new(LinkType::EN10MB).substitute("web", "tcp port 80 or tcp port 443");
    /// assert!(compiler.compile_match("match { $web => web }").is_ok());
    /// assert!(compiler.compile_match("match { $mail => mail }").is_err());
    /// ```
    pub fn substitute(mut self, name: impl Into<String>, text: impl Into<String>) -> Self {
        self.substitutions.insert(name.into(), text.into());
        self
    }

    /// Lists and programs of so many clauses look them up in tables; others, and with `usize::MAX` all, ask one test after the other.
    #[doc(hidden)]
    pub fn look_up_from(mut self, clauses: usize) -> Self {
        self.many = clauses;
        self
    }

    /// Whether clauses may be looked up where there are so many.
    pub(crate) fn may_look_up_of(&self, clauses: usize) -> bool {
        self.tables && clauses >= self.many / FEW && lower::is_plain(self.linktype) && !self.dialect.tagged
    }

    /// The link type this compiler compiles for.
    ///
    /// ```
    /// # use pflang::{Compiler, LinkType};
    /// assert_eq!(Compiler::new(LinkType::RAW).linktype(), LinkType::RAW);
    /// ```
    pub fn linktype(&self) -> LinkType {
        self.linktype
    }

    /// Compiles a filter.
    ///
    /// ```
    /// # use pflang::Compiler;
    /// # use wire::LinkType;
    /// let compiler = Compiler::new(LinkType::EN10MB);
    /// let filter = compiler.compile("greater 60")?;
    /// assert!(filter.matches(&[0; 60]) && !filter.matches(&[0; 59]));
    ///
    /// let error = compiler.compile("tcp prot 80").unwrap_err();
    /// assert_eq!(error.span().text("tcp prot 80"), "prot");
    /// # Ok::<(), pflang::Error>(())
    /// ```
    ///
    /// # Errors
    /// The first error in the text, with its place.
    pub fn compile(&self, source: &str) -> Result<Filter, Error> {
        let source: Arc<str> = source.into();
        self.compile_steps(&source).map_err(|diagnostic| Error::new(diagnostic, Arc::clone(&source)))
    }

    /// The stages of a compilation up to the optimised graph, for those who want to look inside.
    ///
    /// # Errors
    /// As [`Compiler::compile`].
    #[doc(hidden)]
    pub fn stages(&self, source: &str) -> Result<Stages, Error> {
        let clock = Clock::new(self.limits);
        let stages = || {
            let (ast, lowered) = self.front(source, clock)?;
            let graph = self.build_as_written(lowered.clone(), &clock, source)?;
            let (mut tree, mut clauses) = (lowered.tree.clone(), [Clause::Leaf(lowered.root, ACCEPT)]);
            let optimised =
                decide::internals::optimised(&mut tree, &mut clauses, self.passes(), clock.budget());
            let optimised = optimised.map_err(|error| worded(error, whole(source)))?;
            Ok(Stages { ast, lowered, graph, optimised })
        };
        stages().map_err(|diagnostic| Error::new(diagnostic, source.into()))
    }

    /// The decision graph as the text has it, load for load.
    ///
    /// # Errors
    /// As for [`Compiler::compile`], without the errors of stages after this graph.
    #[doc(hidden)]
    pub fn as_written(&self, source: &str) -> Result<Graph, Error> {
        let clock = Clock::new(self.limits);
        let graph =
            self.front(source, clock).and_then(|(_, lowered)| self.build_as_written(lowered, &clock, source));
        graph.map_err(|diagnostic| Error::new(diagnostic, source.into()))
    }

    /// The tree of tests that a text is lowered to.
    pub(crate) fn lowered(&self, source: &str) -> Result<Lowered, Box<Diagnostic>> {
        self.front(source, Clock::new(self.limits)).map(|(_, lowered)| lowered)
    }

    /// What there is before any graph.
    pub(crate) fn front(&self, source: &str, clock: Clock) -> Result<(Ast, Lowered), Box<Diagnostic>> {
        let ast = self.parse(source)?;
        let lowered = lower::lower_within(&ast, &self.lower_options(), clock);
        Ok((ast, lowered?))
    }

    fn compile_steps(&self, source: &Arc<str>) -> Result<Filter, Box<Diagnostic>> {
        let graph = self.graph(source, self.passes())?;
        let decision = Decision::of_checked(graph, &self.decide_options());
        let decision = decision.map_err(|error| worded(error.into(), whole(source)))?;
        let compiler = self.clone();
        let written = Box::new(move |source: &str| compiler.to_cbpf(source));
        Ok(Filter::new(Arc::clone(source), self.linktype, decision, written))
    }

    /// The graph that a back end takes which wants these passes, verified.
    pub(crate) fn graph(&self, source: &str, passes: Passes) -> Result<Checked, Box<Diagnostic>> {
        let clock = Clock::new(self.limits);
        let (_, lowered) = self.front(source, clock)?;
        self.checked(lowered.tree, &mut [Clause::Leaf(lowered.root, ACCEPT)], passes, &clock, source)
    }

    /// The graph of clauses that back ends take.
    pub(crate) fn checked(
        &self,
        tree: Tree,
        clauses: &mut [Clause],
        passes: Passes,
        clock: &Clock,
        source: &str,
    ) -> Result<Checked, Box<Diagnostic>> {
        decide::internals::checked(tree, clauses, passes, clock.budget())
            .map_err(|error| worded(error, whole(source)))
    }

    /// The optional passes that graphs which are to run go through.
    pub(crate) fn passes(&self) -> Passes {
        self.decide_options().passes()
    }

    /// The same compiler for what runs elsewhere: large sets are written out.
    pub(crate) fn without_tables(&self) -> Compiler {
        Compiler { tables: false, ..self.clone() }
    }

    /// How decisions are made ready to run.
    pub(crate) fn decide_options(&self) -> decide::Options {
        let mut options = decide::Options::default();
        options.backend = self.backend;
        options.baseline = self.baseline;
        options.prefetch_distance = self.prefetch_distance;
        options.code_bytes_max = self.limits.code_bytes;
        options
    }

    pub(crate) fn parse(&self, source: &str) -> Result<Ast, Box<Diagnostic>> {
        parse::parse(source, &self.dialect, &self.limits)
    }

    pub(crate) fn lower_options(&self) -> lower::Options<'_> {
        lower::Options {
            linktype: self.linktype,
            netmask: self.netmask.map(u32::from),
            dialect: self.dialect,
            names: &*self.names,
            limits: self.limits,
            tables: self.tables,
            chain_ends: None,
        }
    }

    /// The graph of a tree, load for load.
    fn build_as_written(
        &self,
        lowered: Lowered,
        clock: &Clock,
        source: &str,
    ) -> Result<Graph, Box<Diagnostic>> {
        let built =
            ir::build::build_within(lowered.tree, &[Clause::Leaf(lowered.root, ACCEPT)], clock.budget());
        built.map_err(|exceeded| worded(exceeded.into(), whole(source)))
    }
}

/// The state between the stages of one compilation.
#[derive(Clone, Debug)]
pub struct Stages {
    /// The syntax tree.
    pub ast: Ast,
    /// The lowered tree.
    pub lowered: Lowered,
    /// The decision graph as the text has it.
    pub graph: Graph,
    /// The decision graph after its lists became sets and it was optimised. Back ends take it only when it has passed
    /// [`Verified::new`](crate::ir::verify::Verified::new), which is not done here.
    pub optimised: Graph,
}

pub(crate) fn whole(source: &str) -> Span {
    Span::new(0, u32::try_from(source.len()).unwrap_or(u32::MAX))
}

impl std::fmt::Debug for Compiler {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Compiler")
            .field("linktype", &self.linktype)
            .field("netmask", &self.netmask)
            .field("dialect", &self.dialect)
            .field("backend", &self.backend)
            .finish_non_exhaustive()
    }
}
