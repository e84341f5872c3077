//! The reasons for which the engine itself drops packets, as counters and reports name them. Apps have more of their own.

/// A link had no room.
pub const LINK_FULL: &str = "link_full";
/// The link in which they were is gone.
pub const LINK_REMOVED: &str = "link_removed";
/// An app sent them to an output that has no link.
pub const UNLINKED: &str = "unlinked";
/// An app held them when it panicked.
pub const PANIC: &str = "panic";
/// They came for an app that was down.
pub const APP_DOWN: &str = "app_down";
/// An app held them when it was stopped.
pub const STOPPED: &str = "stopped";
/// An app forgot them, and counted no reason of its own.
pub const DISCARDED: &str = "discarded";

/// All of them.
pub const ALL: [&str; 7] = [LINK_FULL, LINK_REMOVED, UNLINKED, PANIC, APP_DOWN, STOPPED, DISCARDED];

/// Those for which packets are dropped when everything is stopped, and nothing is wrong.
pub const WHEN_STOPPING: [&str; 2] = [STOPPED, LINK_REMOVED];
