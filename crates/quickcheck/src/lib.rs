//! Random filters and packets, and the engines that must agree on them.
//!
//! ```
//! use quickcheck::{Settings, check};
//!
//! let mut settings = Settings::new(7);
//! settings.pairs = Some(2000);
//! settings.with_c = false;
//! let report = check(&settings)?;
//! assert!(report.failure.is_none() && report.pairs() >= 2000);
//! # Ok::<(), std::io::Error>(())
//! ```
//!
//! | for | see |
//! |---|---|
//! | all of it at once | [`check()`], [`Settings`], [`Report`] |
//! | a filter or a program, and packets for it | [`Subject`] |
//! | who answers, and what | [`Answer`] |
//! | filters from a seed, and how they are made small | [`expr`] |
//! | packets: from a line of text, that make sense, damaged, made to take each branch | [`packet`], [`traffic`], [`mutate`], [`walk`] |
//! | runs of libpcap's programs that mean nothing | [`scratch`] |
//! | the link types, and the generator of numbers | [`linktype`], [`rng`] |
//!
//! The tests of the workspace use the same generators.

#![forbid(unsafe_code)]

mod answer;
mod c;
mod check;
mod command;
mod engines;
pub mod expr;
mod kernel;
pub mod linktype;
mod lua;
pub mod mutate;
pub mod packet;
pub mod rng;
pub mod scratch;
mod smaller;
mod subject;
pub mod traffic;
pub mod walk;

pub use answer::Answer;
pub use check::{Failure, Report, Settings, Tally, check};
pub use subject::Subject;
