//! Networks of small programs that move packets in bursts: Snabb's idea, native.
//!
//! ```text
//!            pull                     push                    push
//!  ┌────────────┐  link, 1024   ┌────────────┐         ┌────────────┐
//!  │ source     ├──────────────►│ tee        ├────────►│ sink       │
//!  └────────────┘ output  input └────────────┘         └────────────┘
//!        ▲                            ▲                      │
//!        └──────────── pool ──────────┴────── packets ◄──────┘
//! ```
//!
//! - A [`Graph`] says which apps there are and how they are linked. It is a value: two of them can be compared.
//! - An [`Engine`] is given one after another, and changes what runs by their difference.
//! - A breath lets each app that pulls bring packets in, then each app that has got packets work on them, in the order of
//!   the links. [`Engine::run`] breathes until told to stop.
//! - An [`App`] sees bursts of [`Packet`]s, which it owns: it changes them, sends them on, or gives them back to the
//!   [`Pool`], saying why.
//!
//! These always hold: no packet is lost or freed twice, `received = delivered + drops by reason + what is still
//! inside`, and [`Report::balanced`] says so. An app that panics stops alone.
//!
//! This crate knows nothing about devices, files, filters or any particular app. Two apps of a few lines, in a graph that runs:
//!
//! ```
//! use engine::shm::Counter;
//! use engine::{App, Class, Engine, Graph, Io, OptionError, Ports, Roles, Settings, Setup};
//! use std::time::Duration;
//!
//! /// Makes empty Ethernet frames. This is its class: the options.
//! #[derive(Clone, Debug, PartialEq, serde::Deserialize)]
//! struct Maker {
//!     frames: u64,
//! }
//!
//! /// A running `maker`: its state.
//! struct Making {
//!     left: u64,
//! }
//!
//! impl Class for Maker {
//!     const TYPE: &'static str = "maker";
//!     const INPUTS: Ports = Ports::NONE;
//!     type App = Making;
//!
//!     fn start(&self, _: &mut Setup<'_>) -> Result<Making, OptionError> {
//!         Ok(Making { left: self.frames })
//!     }
//! }
//!
//! impl App for Making {
//!     fn roles(&self) -> Roles {
//!         Roles::PULL
//!     }
//!
//!     fn pull(&mut self, io: &mut Io<'_>) {
//!         for _ in 0..self.left.min(io.burst as u64) {
//!             let Some(packet) = io.pool.packet(&[0; 60]) else { break };
//!             io.outputs[0].put(packet);
//!             self.left -= 1;
//!         }
//!     }
//! }
//!
//! /// Counts what it gets.
//! #[derive(Clone, Debug, PartialEq, serde::Deserialize)]
//! struct Taker {}
//!
//! struct Taking {
//!     delivered: Counter,
//! }
//!
//! impl Class for Taker {
//!     const TYPE: &'static str = "taker";
//!     const OUTPUTS: Ports = Ports::NONE;
//!     type App = Taking;
//!
//!     fn start(&self, setup: &mut Setup<'_>) -> Result<Taking, OptionError> {
//!         Ok(Taking { delivered: setup.delivered() })
//!     }
//! }
//!
//! impl App for Taking {
//!     fn push(&mut self, io: &mut Io<'_>) {
//!         while let Some(burst) = io.inputs[0].burst() {
//!             io.pool.free_burst(burst, &self.delivered);
//!         }
//!     }
//! }
//!
//! let mut graph = Graph::new();
//! graph.app("maker", Maker { frames: 1000 })?;
//! graph.app("taker", Taker {})?;
//! graph.link("maker.output -> taker.input")?;
//!
//! let mut engine = Engine::new(Settings::new()?)?;
//! engine.configure(&graph)?;
//! engine.run_for(Duration::from_secs(1))?;
//!
//! let report = engine.report();
//! assert_eq!(report.links[0].txpackets, 1000);
//! assert!(report.balanced());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![deny(unsafe_code)]

mod app;
mod bucket;
mod clock;
mod config;
mod discards;
pub mod drops;
mod engine;
mod graph;
pub mod host;
mod interface;
#[allow(unsafe_code)]
pub mod link;
#[cfg(all(test, loom))]
mod models;
mod notice;
mod option;
mod panic;
#[allow(unsafe_code)]
pub mod pool;
mod rate;
mod report;
mod retry;
#[allow(unsafe_code)]
pub mod shm;
mod sync;
mod timer;
mod worker;

pub use app::{
    App, Class, ClassInfo, Device, DeviceFacts, Direction, Io, NextEvent, Passage, PortNames, Ports,
    Reconfigured, Reporting, Roles, Setup, Timed, Use, Wakeable,
};
pub use bucket::Bucket;
pub use clock::ClockKind;
pub use config::{Config, Registry};
pub use discards::stand_back;
pub use engine::{Changes, ConfigureError, Engine, Rebalancer, Settings, Status};
pub use graph::{AppSpec, Conflict, Graph, GraphError, Link, NAME_MAX, Port, is_name};
pub use interface::{kernel_index, note_kernel_index};
pub use link::{Input, Output};
pub use notice::{Notice, NoticeLevel, Notices, Notifier};
pub use option::{
    Fault, Found, OptionError, OptionPath, OptionValue, OptionWarning, ReadError, ReadErrorKind, Review, Step,
};
pub use pool::{Burst, Held, Kept, MAX_LARGE_PAYLOAD, MAX_PAYLOAD, Metadata, Packet, Pool, TooLong};
pub use rate::Rate;
pub use report::{AppReport, LinkReport, PoolReport, Report};
pub use retry::Retry;
pub use timer::{TimerId, Timers};
pub use worker::{AppState, LastWords, Trace, TraceChange, TraceEvent, TracePacket, TraceStep, TraceTotals};
