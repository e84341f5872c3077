//! Options of apps, whatever their class.

mod class;
mod option;
mod registry;

pub use class::ClassInfo;
pub use option::{Fault, OptionError, OptionWarning};
pub use registry::Registry;

use crate::app::{App, Class, PortNames, Reconfigured, Setup};
use crate::panic;
use crate::uses::Use;
use crate::worker::AnyApp;
use std::any::Any;
use std::fmt;
use std::sync::Arc;

/// A class with its options, of any type.
#[derive(Clone)]
pub struct Config(Arc<dyn AnyClass>);

trait AnyClass: Any + Send + Sync {
    fn class(&self) -> ClassInfo;
    fn check(&self) -> Result<(), OptionError>;
    fn review(&self) -> Result<Vec<OptionWarning>, OptionError>;
    fn check_ports(&self, linked: &PortNames<'_>) -> Result<(), OptionError>;
    fn claim(&self) -> Option<String>;
    fn uses(&self) -> Vec<Use>;
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
        ClassInfo::of::<C>()
    }

    fn check(&self) -> Result<(), OptionError> {
        Class::check(self)
    }

    fn review(&self) -> Result<Vec<OptionWarning>, OptionError> {
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
        Config(Arc::new(class))
    }

    /// What the class says of itself.
    pub fn class(&self) -> ClassInfo {
        self.0.class()
    }

    /// Whether the options make sense.
    ///
    /// # Errors
    /// Which do not.
    pub fn check(&self) -> Result<(), OptionError> {
        guarded(|| self.0.check())
    }

    /// Whether the options make sense, and what is odd about them.
    ///
    /// # Errors
    /// Which do not.
    pub fn review(&self) -> Result<Vec<OptionWarning>, OptionError> {
        guarded(|| self.0.review())
    }

    /// Whether the ports that are linked make sense together with the options.
    ///
    /// # Errors
    /// Which do not.
    pub fn check_ports(&self, linked: &PortNames<'_>) -> Result<(), OptionError> {
        guarded(|| self.0.check_ports(linked))
    }

    /// What only one app of the class at a time can have.
    pub(crate) fn claim(&self) -> Option<String> {
        self.0.claim()
    }

    /// What the app uses that lies outside the graph.
    pub(crate) fn uses(&self) -> Vec<Use> {
        self.0.uses()
    }

    pub(crate) fn start(&self, setup: &mut Setup<'_>) -> Result<Box<dyn AnyApp>, OptionError> {
        self.0.start(setup)
    }

    pub(crate) fn reconfigure(
        &self,
        app: &mut dyn App,
        old: &Config,
        setup: &mut Setup<'_>,
    ) -> Result<Reconfigured, OptionError> {
        self.0.reconfigure(app, &*old.0, setup)
    }
}

impl PartialEq for Config {
    fn eq(&self, other: &Self) -> bool {
        self.0.equals(&*other.0)
    }
}

impl fmt::Debug for Config {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.debug(f)
    }
}

/// Runs a check of a class; a panic becomes an [`OptionError`].
fn guarded<T>(check: impl FnOnce() -> Result<T, OptionError>) -> Result<T, OptionError> {
    panic::guarded(check)
        .unwrap_or_else(|payload| Err(OptionError::failed("check its options", panic::message(&*payload))))
}
