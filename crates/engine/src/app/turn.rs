//! A turn of an app whose class is not known.
//!
//! PERF: what an app works with is put together where its class is known, so that only what it looks at is loaded. With that,
//! and without the end of a turn for an app without links, 51 instructions for one that pulls and does nothing became 23,
//! and fewer since the breath enters it without saving registers.

use super::{App, Io};
use crate::link::{Input, Output};
use crate::pool::Pool;

/// The ends of links that an app has.
#[derive(Default)]
pub(crate) struct Plugs {
    pub(crate) inputs: Vec<Input>,
    pub(crate) outputs: Vec<Output>,
}

impl Plugs {
    /// Whether the app has none. PERF: both in one question.
    #[inline]
    pub(crate) fn are_none(&self) -> bool {
        self.inputs.len() | self.outputs.len() == 0
    }
}

/// The things that all apps of a worker share in a breath.
///
/// PERF: in this order, and of these sizes, no two of them are loaded as one vector. That would have to wait until both had left the
/// store buffer, with all that the breath before has written: 45 ns a breath.
#[repr(C)]
pub(crate) struct Breath<'a> {
    pub(crate) pool: &'a mut Pool,
    pub(crate) burst: u32,
    pub(crate) now_ns: u64,
}

impl Breath<'_> {
    /// The `Io` for an app.
    #[inline(always)]
    pub(crate) fn io<'a>(&'a mut self, plugs: &'a mut Plugs) -> Io<'a> {
        let Plugs { inputs, outputs } = plugs;
        Io { inputs, outputs, pool: self.pool, now_ns: self.now_ns, burst: self.burst as usize }
    }
}

/// An app of any class.
pub(crate) trait AnyApp: App {
    /// See [`App::pull`].
    fn take_pull(&mut self, plugs: &mut Plugs, breath: &mut Breath<'_>);
}

impl<A: App> AnyApp for A {
    fn take_pull(&mut self, plugs: &mut Plugs, breath: &mut Breath<'_>) {
        self.pull(&mut breath.io(plugs));
    }
}
