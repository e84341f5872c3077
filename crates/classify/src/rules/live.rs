//! Rule lists that change while packets are looked up.
//!
//! ```text
//! snapshot = base: a compiled list
//!          + dead: base rules that were deleted, one bit each
//!          + overlay: rules that were added, compared one group after another, each with the base rule before which it stands
//! ```
//! Adding or deleting a rule makes a new snapshot in microseconds. When the overlay is long, [`LiveRules::begin_rebuild`] hands out the work of compiling
//! all of it, which may run on another thread; what is changed meanwhile is done again on top of the result.

use super::publish::{Reader, Shared};
use super::{Address, BuildError, Key, NO_RULE, Options, Rule, Rules, Scratch};
use std::collections::HashMap;
use std::sync::Arc;

/// Names a rule for as long as it is in the list. It is not used again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Handle(pub u32);

/// Rules in the overlay from which a rebuild is worth it.
const OVERLAY: usize = 64;

/// What readers look packets up in.
#[derive(Clone, Debug)]
pub struct Snapshot<A> {
    base: Arc<Base<A>>,
    /// A bit for each rule of the base; empty if none is deleted.
    dead: Arc<Vec<u64>>,
    overlay: Arc<Overlay<A>>,
}

#[derive(Debug)]
struct Base<A> {
    rules: Vec<Rule<A>>,
    handles: Vec<Handle>,
    ranks: HashMap<Handle, u32>,
    compiled: Rules<A>,
}

#[derive(Clone, Debug)]
struct Overlay<A> {
    /// In order of the list.
    added: Vec<Added<A>>,
    compiled: Rules<A>,
}

#[derive(Clone, Debug)]
struct Added<A> {
    handle: Handle,
    rule: Rule<A>,
    /// It stands before this rule of the base.
    before: u32,
}

impl<A: Address> Snapshot<A> {
    /// The first rule that matches and whose residual, if it has one, `holds` confirms.
    pub fn find_with(
        &self,
        key: &Key<A>,
        scratch: &mut Scratch,
        mut holds: impl FnMut(u32) -> bool,
    ) -> Option<Handle> {
        let base = if self.dead.is_empty() {
            self.base.compiled.find_with(key, scratch, &mut holds).unwrap_or(NO_RULE)
        } else {
            self.base.compiled.find_among(key, scratch, |rule| self.is_dead(rule), &mut holds)
        };
        let added = if self.overlay.added.is_empty() {
            NO_RULE
        } else {
            self.overlay.compiled.find_with(key, scratch, &mut holds).unwrap_or(NO_RULE)
        };
        self.first(base, added)
    }

    /// The first rule of each packet; rules with residuals do not match.
    ///
    /// # Panics
    /// Where there are fewer places in `found` than keys.
    pub fn find_batch(&self, keys: &[Key<A>], found: &mut [Option<Handle>]) {
        let mut base = vec![NO_RULE; keys.len()];
        let mut added = vec![NO_RULE; keys.len()];
        if self.dead.is_empty() {
            self.base.compiled.find_batch(keys, &mut base);
        } else {
            let mut scratch = Scratch::default();
            for (key, base) in keys.iter().zip(&mut base) {
                let is_dead = |rule| self.is_dead(rule);
                *base = self.base.compiled.find_among(key, &mut scratch, is_dead, |_| false);
            }
        }
        if !self.overlay.added.is_empty() {
            self.overlay.compiled.find_batch(keys, &mut added);
        }
        for ((found, base), added) in found[..keys.len()].iter_mut().zip(base).zip(added) {
            *found = self.first(base, added);
        }
    }

    /// Which of the two comes first in the list.
    #[inline]
    fn first(&self, base: u32, added: u32) -> Option<Handle> {
        match self.overlay.added.get(added as usize) {
            Some(rule) if rule.before <= base => Some(rule.handle),
            _ => self.base.handles.get(base as usize).copied(),
        }
    }

    #[inline]
    fn is_dead(&self, rule: u32) -> bool {
        self.dead.get(rule as usize / 64).is_some_and(|word| word >> (rule % 64) & 1 == 1)
    }

    /// All rules, in order.
    pub fn rules(&self) -> impl Iterator<Item = (Handle, &Rule<A>)> {
        let mut added = self.overlay.added.iter().peekable();
        let mut rank = 0;
        std::iter::from_fn(move || {
            loop {
                if let Some(rule) = added.next_if(|rule| rule.before <= rank) {
                    return Some((rule.handle, &rule.rule));
                }
                let rule = self.base.rules.get(rank as usize)?;
                rank += 1;
                if !self.is_dead(rank - 1) {
                    return Some((self.base.handles[rank as usize - 1], rule));
                }
            }
        })
    }
}

/// A rule list that changes: the writer's side.
#[derive(Debug)]
pub struct LiveRules<A> {
    now: Snapshot<A>,
    shared: Arc<Shared<Snapshot<A>>>,
    options: Options<A>,
    next_handle: u32,
    dead: usize,
    /// What changed since a rebuild began.
    changes: Option<Vec<Change<A>>>,
}

#[derive(Clone, Debug)]
enum Change<A> {
    Insert { handle: Handle, rule: Rule<A>, before: Option<Handle> },
    Remove(Handle),
}

/// The work of compiling a list anew; needs no lock, and may run on another thread.
#[derive(Debug)]
pub struct Rebuild<A> {
    rules: Vec<Rule<A>>,
    handles: Vec<Handle>,
    options: Options<A>,
}

/// A list that was compiled anew, for [`LiveRules::finish_rebuild`].
#[derive(Debug)]
pub struct Rebuilt<A>(Base<A>);

impl<A: Address> Rebuild<A> {
    /// Compiles.
    ///
    /// # Errors
    /// See [`BuildError`].
    pub fn run(self) -> Result<Rebuilt<A>, BuildError> {
        Base::new(self.rules, self.handles, &self.options).map(Rebuilt)
    }
}

impl<A: Address> Base<A> {
    fn new(rules: Vec<Rule<A>>, handles: Vec<Handle>, options: &Options<A>) -> Result<Self, BuildError> {
        let compiled = Rules::build(&rules, options)?;
        let ranks = handles.iter().copied().zip(0..).collect();
        Ok(Base { rules, handles, ranks, compiled })
    }
}

impl<A: Address> Overlay<A> {
    fn new(added: Vec<Added<A>>, options: &Options<A>) -> Result<Self, BuildError> {
        let rules: Vec<Rule<A>> = added.iter().map(|added| added.rule.clone()).collect();
        Ok(Overlay { added, compiled: Rules::build(&rules, options)? })
    }
}

impl<A: Address> LiveRules<A> {
    /// A list of these rules; handles are their positions, from 0.
    ///
    /// # Errors
    /// See [`BuildError`].
    pub fn new(rules: Vec<Rule<A>>, options: Options<A>) -> Result<Self, BuildError> {
        // A rule that repeats an earlier one counts once that one is deleted.
        let options = Options { drop_repeated: false, ..options };
        let handles: Vec<Handle> = (0..rules.len() as u32).map(Handle).collect();
        let next_handle = rules.len() as u32;
        let base = Arc::new(Base::new(rules, handles, &options)?);
        let overlay = Arc::new(Overlay::new(Vec::new(), &options)?);
        let now = Snapshot { base, dead: Arc::default(), overlay };
        let shared = Shared::new(now.clone());
        Ok(LiveRules { now, shared, options, next_handle, dead: 0, changes: None })
    }

    /// A reader of what is published; one for each thread.
    #[must_use]
    pub fn reader(&self) -> Reader<Snapshot<A>> {
        Reader::new(&self.shared)
    }

    /// The list as it is now.
    #[must_use]
    pub fn snapshot(&self) -> &Snapshot<A> {
        &self.now
    }

    /// Adds a rule in front of another one, or at the end. Nothing is added where that other one is not in the list.
    ///
    /// # Errors
    /// See [`BuildError`].
    pub fn insert(&mut self, rule: Rule<A>, before: Option<Handle>) -> Result<Option<Handle>, BuildError> {
        let handle = Handle(self.next_handle);
        if !self.apply_insert(handle, &rule, before)? {
            return Ok(None);
        }
        self.next_handle += 1;
        self.record(Change::Insert { handle, rule, before });
        self.shared.publish(self.now.clone());
        Ok(Some(handle))
    }

    /// Deletes a rule; whether it was in the list.
    ///
    /// # Errors
    /// See [`BuildError`].
    pub fn remove(&mut self, handle: Handle) -> Result<bool, BuildError> {
        if !self.apply_remove(handle)? {
            return Ok(false);
        }
        self.record(Change::Remove(handle));
        self.shared.publish(self.now.clone());
        Ok(true)
    }

    fn record(&mut self, change: Change<A>) {
        if let Some(changes) = &mut self.changes {
            changes.push(change);
        }
    }

    fn apply_insert(
        &mut self,
        handle: Handle,
        rule: &Rule<A>,
        before: Option<Handle>,
    ) -> Result<bool, BuildError> {
        let now = &self.now;
        let mut added = now.overlay.added.clone();
        let in_base = |handle| now.base.ranks.get(&handle).copied().filter(|&rank| !now.is_dead(rank));
        let (at, before) = match before {
            None => (added.len(), now.base.rules.len() as u32),
            Some(other) => match (in_base(other), added.iter().position(|added| added.handle == other)) {
                (Some(rank), _) => (added.partition_point(|added| added.before <= rank), rank),
                (None, Some(at)) => (at, added[at].before),
                (None, None) => return Ok(false),
            },
        };
        added.insert(at, Added { handle, rule: rule.clone(), before });
        self.now.overlay = Arc::new(Overlay::new(added, &self.options)?);
        Ok(true)
    }

    fn apply_remove(&mut self, handle: Handle) -> Result<bool, BuildError> {
        let rank = self.now.base.ranks.get(&handle).copied();
        if let Some(rank) = rank.filter(|&rank| !self.now.is_dead(rank)) {
            let mut dead = self.now.dead.to_vec();
            dead.resize(self.now.base.rules.len().div_ceil(64), 0);
            dead[rank as usize / 64] |= 1 << (rank % 64);
            self.now.dead = Arc::new(dead);
            self.dead += 1;
            return Ok(true);
        }
        let mut added = self.now.overlay.added.clone();
        let Some(at) = added.iter().position(|added| added.handle == handle) else { return Ok(false) };
        added.remove(at);
        self.now.overlay = Arc::new(Overlay::new(added, &self.options)?);
        Ok(true)
    }

    /// Whether so much has changed that look-ups are slower than they need to be, and no rebuild has begun.
    #[must_use]
    pub fn wants_rebuild(&self) -> bool {
        let added = self.now.overlay.added.len();
        self.changes.is_none() && (added > OVERLAY || self.dead > OVERLAY.max(self.now.base.rules.len() / 8))
    }

    /// Begins to compile the list anew. The list goes on as it is, and may be changed.
    pub fn begin_rebuild(&mut self) -> Rebuild<A> {
        let (handles, rules) = self.now.rules().map(|(handle, rule)| (handle, rule.clone())).unzip();
        self.changes = Some(Vec::new());
        Rebuild { rules, handles, options: self.options.clone() }
    }

    /// Takes what was compiled in the place of what there is, with the changes since [`begin_rebuild`](Self::begin_rebuild).
    ///
    /// # Errors
    /// See [`BuildError`]; the list is then what it was.
    pub fn finish_rebuild(&mut self, rebuilt: Rebuilt<A>) -> Result<(), BuildError> {
        let changes = self.changes.take().unwrap_or_default();
        let overlay = Arc::new(Overlay::new(Vec::new(), &self.options)?);
        let next = Snapshot { base: Arc::new(rebuilt.0), dead: Arc::default(), overlay };
        let (before, dead) = (std::mem::replace(&mut self.now, next), std::mem::take(&mut self.dead));
        for change in changes {
            let done = match change {
                Change::Insert { handle, rule, before } => self.apply_insert(handle, &rule, before),
                Change::Remove(handle) => self.apply_remove(handle),
            };
            if let Err(error) = done {
                (self.now, self.dead) = (before, dead);
                return Err(error);
            }
        }
        self.shared.publish(self.now.clone());
        Ok(())
    }

    /// Compiles the list anew, here and now.
    ///
    /// # Errors
    /// See [`BuildError`].
    pub fn rebuild(&mut self) -> Result<(), BuildError> {
        let rebuild = self.begin_rebuild();
        let rebuilt = rebuild.run().inspect_err(|_| self.changes = None)?;
        self.finish_rebuild(rebuilt)
    }
}
