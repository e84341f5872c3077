//! What a class says of its options, and what it has made of them on the way, which is kept until an app starts with them.

use super::OptionWarning;
use crate::panic::let_go;
use std::any::Any;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What a class says of options that make sense, and what it has made of them on the way.
///
/// ```
/// use engine::{App, Class, OptionError, Review, Setup};
///
/// /// Looks for a word, in a way that takes long to prepare.
/// #[derive(Clone, Debug, PartialEq, serde::Deserialize)]
/// struct Search {
///     word: String,
/// }
///
/// struct Searching {
///     automaton: Vec<[usize; 256]>,
/// }
///
/// impl Search {
///     fn compile(&self) -> Result<Vec<[usize; 256]>, OptionError> {
///         // …
///         Ok(vec![[0; 256]; self.word.len()])
///     }
/// }
///
/// impl Class for Search {
///     const TYPE: &'static str = "search";
///     type App = Searching;
///
///     fn review(&self) -> Result<Review, OptionError> {
///         Ok(Review::default().with(self.compile()?))
///     }
///
///     fn start(&self, setup: &mut Setup<'_>) -> Result<Searching, OptionError> {
///         let automaton = setup.take_prepared().map_or_else(|| self.compile(), Ok)?;
///         Ok(Searching { automaton })
///     }
/// }
///
/// impl App for Searching {}
/// ```
#[derive(Debug, Default)]
pub struct Review {
    /// What is odd about the options.
    pub warnings: Vec<OptionWarning>,
    prepared: Option<Anything>,
}

pub(crate) type Anything = Box<dyn Any + Send>;

impl Review {
    /// These things are odd, if any are.
    pub fn new(warnings: impl IntoIterator<Item = OptionWarning>) -> Self {
        Review { warnings: warnings.into_iter().collect(), prepared: None }
    }

    /// Hands over what takes long to make, such as a compiled filter, for the app that starts with the options next:
    /// it finds it with [`Setup::take_prepared`](crate::Setup::take_prepared), and has to make it itself otherwise.
    #[must_use]
    pub fn with<T: Send + 'static>(self, prepared: T) -> Self {
        Review { prepared: Some(Box::new(prepared)), ..self }
    }
}

/// What the last review of options has made of them, until somebody takes it. Clones share it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Prepared(Arc<Mutex<Option<Anything>>>);

impl Prepared {
    /// Takes what a review has made out of it, and returns what it says.
    pub(crate) fn keep(&self, review: Review) -> Vec<OptionWarning> {
        let before = std::mem::replace(&mut *self.lock(), review.prepared);
        let_go(before);
        review.warnings
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.lock().is_none()
    }

    /// Takes what is there, if it is of this type.
    pub(crate) fn take<T: 'static>(&self) -> Option<T> {
        let mut place = self.lock();
        match place.take()?.downcast() {
            Ok(prepared) => Some(*prepared),
            Err(other) => {
                *place = Some(other);
                None
            }
        }
    }

    pub(crate) fn clear(&self) -> Option<Anything> {
        self.lock().take()
    }

    fn lock(&self) -> MutexGuard<'_, Option<Anything>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
