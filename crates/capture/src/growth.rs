//! What an input asks before it takes much memory, so that many inputs at once need not all have theirs together.

use std::sync::Arc;

/// Is called before an input takes more memory than most do: more than 1 MiB for a record, or more than 8 MiB for the history of a
/// decoder, which is at most 32. It may wait until others have given theirs back.
pub type BeforeGrowing = Arc<dyn Fn() + Send + Sync>;

/// A window of this length needs no leave.
pub(crate) const WINDOW_MAX: usize = 1 << 20;

/// A history of this length needs no leave: it is what `zstd -19` uses.
pub(crate) const HISTORY_MAX: u64 = 8 << 20;
