//! Options of apps, whatever their class: what a graph holds, compares, and starts apps from.
//!
//! Options cannot change once they are in a `Config`. Two are equal if they are of one class and equal there; what a review has prepared for
//! the next start is no part of that.

mod registry;

pub use registry::Registry;

use crate::app::{AnyApp, App, Class, ClassInfo, PortNames, Reconfigured, Setup, Use};
use crate::discards::Discards;
use crate::option::{OptionError, OptionWarning, Prepared, Review};
use crate::panic;
use std::any::Any;
use std::fmt;
use std::sync::Arc;

/// A class with its options, of any type, and what a review has made of them for the next start.
#[derive(Clone)]
pub struct Config {
    class: Arc<dyn AnyClass>,
    prepared: Prepared,
}

trait AnyClass: Any + Send + Sync {
    fn class(&self) -> ClassInfo;
    fn review(&self) -> Result<Review, OptionError>;
    fn check_ports(&self, linked: &PortNames<'_>) -> Result<(), OptionError>;
    fn claim(&self) -> Option<String>;
    fn uses(&self) -> Vec<Use>;
    fn needs_packets(&self) -> usize;
    fn start(&self, setup: &mut Setup<'_>) -> Result<Box<dyn AnyApp>, OptionError>;
    fn reconfigure(
        &self,
        app: &mut dyn App,
        old: &dyn AnyClass,
        setup: &mut Setup<'_>,
    ) -> Result<Reconfigured, OptionError>;
    fn equals(&self, other: &dyn AnyClass) -> bool;
    fn debug(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result;
}

impl<C: Class> AnyClass for C {
    fn class(&self) -> ClassInfo {
        Class::info(self)
    }

    fn review(&self) -> Result<Review, OptionError> {
        Class::review(self)
    }

    fn check_ports(&self, linked: &PortNames<'_>) -> Result<(), OptionError> {
        Class::check_ports(self, linked)
    }

    fn claim(&self) -> Option<String> {
        Class::claim(self)
    }

    fn uses(&self) -> Vec<Use> {
        Class::uses(self)
    }

    fn needs_packets(&self) -> usize {
        Class::needs_packets(self)
    }

    fn start(&self, setup: &mut Setup<'_>) -> Result<Box<dyn AnyApp>, OptionError> {
        Ok(Box::new(Class::start(self, setup)?))
    }

    fn reconfigure(
        &self,
        app: &mut dyn App,
        old: &dyn AnyClass,
        setup: &mut Setup<'_>,
    ) -> Result<Reconfigured, OptionError> {
        let (app, old): (&mut dyn Any, &dyn Any) = (app, old);
        match (app.downcast_mut::<C::App>(), old.downcast_ref::<C>()) {
            (Some(app), Some(old)) => Class::reconfigure(self, app, old, setup),
            _ => Ok(Reconfigured::NeedsRestart),
        }
    }

    fn equals(&self, other: &dyn AnyClass) -> bool {
        (other as &dyn Any).downcast_ref::<C>().is_some_and(|other| self == other)
    }

    fn debug(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

impl Config {
    /// A class with its options.
    pub fn new(class: impl Class) -> Self {
        Config { class: Arc::new(class), prepared: Prepared::default() }
    }

    /// What the class says of itself.
    pub fn class(&self) -> ClassInfo {
        self.class.class()
    }

    /// Whether the options make sense. If a [`Config::review`] has prepared a start with them, they do.
    ///
    /// # Errors
    /// Which do not.
    pub fn check(&self) -> Result<(), OptionError> {
        if self.prepared.is_empty() { self.review().map(drop) } else { Ok(()) }
    }

    /// Whether the options make sense, and what is odd about them. What took long to find out is kept for the next start: so
    /// workers that are to be given these options need not stop as long as that.
    ///
    /// # Errors
    /// Which do not.
    pub fn review(&self) -> Result<Vec<OptionWarning>, OptionError> {
        Ok(self.prepared.keep(guarded(|| self.class.review())?))
    }

    /// Forgets what a review has made: no start is near.
    pub(crate) fn forget_prepared(&self, discards: &mut Discards) {
        if let Some(prepared) = self.prepared.clear() {
            discards.add(prepared);
        }
    }

    /// Whether a review has prepared a start with these options.
    pub(crate) fn is_prepared(&self) -> bool {
        !self.prepared.is_empty()
    }

    pub(crate) fn prepared(&self) -> &Prepared {
        &self.prepared
    }

    /// Whether the ports that are linked make sense together with the options.
    ///
    /// # Errors
    /// Which do not.
    pub fn check_ports(&self, linked: &PortNames<'_>) -> Result<(), OptionError> {
        guarded(|| self.class.check_ports(linked))
    }

    /// What only one app of the class at a time can have.
    pub(crate) fn claim(&self) -> Option<String> {
        self.class.claim()
    }

    /// What the app uses that lies outside the graph.
    pub(crate) fn uses(&self) -> Vec<Use> {
        self.class.uses()
    }

    /// Packets that a pool must have for the limits of the app to be reached. 0 if the class fails to say.
    pub fn needs_packets(&self) -> usize {
        panic::guarded(|| self.class.needs_packets()).unwrap_or(0)
    }

    pub(crate) fn start(&self, setup: &mut Setup<'_>) -> Result<Box<dyn AnyApp>, OptionError> {
        self.class.start(setup)
    }

    pub(crate) fn reconfigure(
        &self,
        app: &mut dyn App,
        old: &Config,
        setup: &mut Setup<'_>,
    ) -> Result<Reconfigured, OptionError> {
        self.class.reconfigure(app, &*old.class, setup)
    }
}

impl PartialEq for Config {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.class, &other.class) || self.class.equals(&*other.class)
    }
}

impl fmt::Debug for Config {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.class.debug(f)
    }
}

/// Runs a check of a class; a panic becomes an [`OptionError`].
fn guarded<T>(check: impl FnOnce() -> Result<T, OptionError>) -> Result<T, OptionError> {
    panic::guarded(check)
        .unwrap_or_else(|panic| Err(OptionError::failed("check its options", panic.message())))
}
