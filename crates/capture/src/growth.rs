//! What an input asks before it takes much memory, so that many inputs at once need not all have theirs together.

use std::sync::Arc;

/// Is called before an input takes more memory than most do: more than 1 MiB for a record, or more than 8 MiB for the history of a
/// decoder, which is at most 128. It may wait until others have given theirs back.
pub type BeforeGrowing = Arc<dyn Fn() + Send + Sync>;

/// A window of this length needs no leave.
pub(crate) const WINDOW_MAX: usize = 1 << 20;

/// A history of this length needs no leave: it is what `zstd -19` uses.
pub(crate) const HISTORY_MAX: u64 = 8 << 20;

/// Bytes above which memory goes back to the system when it is freed, by whichever thread.
///
/// Below, glibc keeps what a thread has freed for the next time, up to twice the largest piece it has seen, and for each thread
/// apart: with four threads that had 16 MiB each, one after the other, all of that stays. Above 32 MiB (`DEFAULT_MMAP_THRESHOLD_MAX`) it never
/// does. Memory that nothing was written to costs nothing.
const APART: usize = 33 << 20;

/// Makes room for this many bytes; where that is more than most inputs need, in memory that goes back to the system.
pub(crate) fn reserve(bytes: &mut Vec<u8>, len: usize) {
    if len > WINDOW_MAX && len > bytes.capacity() {
        bytes.reserve_exact(len.max(APART) - bytes.len());
    }
}
