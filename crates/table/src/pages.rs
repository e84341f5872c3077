//! Arrays that do not change, in huge pages where they are large enough for one.
//!
//! A table of some megabytes is read at random places. With pages of 4 KiB most reads would wait for a translation of the address as well as for
//! the memory itself.

use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::fmt;
use std::ops::Deref;
use std::ptr::NonNull;

/// Bytes of a huge page. Smaller arrays lie in usual memory.
const HUGE: usize = 2 << 20;

/// An array, whose elements are not dropped. Where the system has no huge pages to give, usual pages do.
///
/// ```
/// let pages = table::pages::Pages::of(vec![1_u32, 2, 3]);
/// assert_eq!(pages[..], [1, 2, 3]);
/// ```
pub struct Pages<T> {
    base: NonNull<T>,
    len: usize,
}

// SAFETY: it owns its memory, as a boxed slice would.
unsafe impl<T: Send> Send for Pages<T> {}
// SAFETY: as of a boxed slice.
unsafe impl<T: Sync> Sync for Pages<T> {}

/// How memory for so many elements is asked for; `None` of an array that lies in usual memory.
fn huge_layout<T>(len: usize) -> Option<Layout> {
    let layout = Layout::array::<T>(len).ok().filter(|layout| layout.size() >= HUGE)?;
    layout.align_to(HUGE).ok()
}

impl<T: Copy> Pages<T> {
    /// An array of these elements.
    #[must_use]
    pub fn of(values: Vec<T>) -> Pages<T> {
        let len = values.len();
        let Some(layout) = huge_layout::<T>(len) else {
            return Pages { base: NonNull::from(Box::leak(values.into_boxed_slice())).cast(), len };
        };
        // SAFETY: the size of the layout is not 0.
        let Some(base) = NonNull::new(unsafe { alloc(layout) }) else { handle_alloc_error(layout) };
        advise(base, layout.size());
        let base = base.cast();
        // SAFETY: the new memory has room for `len` elements, is aligned to more than they need, and is not that of `values`.
        unsafe { std::ptr::copy_nonoverlapping(values.as_ptr(), base.as_ptr(), len) };
        Pages { base, len }
    }
}

/// Asks for huge pages. Nothing has been written to the memory yet, so that the kernel can give them at the first write.
fn advise(base: NonNull<u8>, bytes: usize) {
    #[cfg(all(target_os = "linux", not(miri)))]
    // SAFETY: the memory is the caller's. It is advice: where it is not taken, nothing changes.
    unsafe {
        libc::madvise(base.as_ptr().cast(), bytes, libc::MADV_HUGEPAGE);
    }
    #[cfg(not(all(target_os = "linux", not(miri))))]
    let _ = (base, bytes);
}

impl<T> Deref for Pages<T> {
    type Target = [T];

    #[inline(always)]
    fn deref(&self) -> &[T] {
        // SAFETY: `base` begins `len` elements, which `Pages::of` has written or taken over.
        unsafe { std::slice::from_raw_parts(self.base.as_ptr(), self.len) }
    }
}

impl<T> Drop for Pages<T> {
    fn drop(&mut self) {
        match huge_layout::<T>(self.len) {
            // SAFETY: `Pages::of` has allocated it with this layout.
            Some(layout) => unsafe { dealloc(self.base.as_ptr().cast(), layout) },
            None => {
                let slice = std::ptr::slice_from_raw_parts_mut(self.base.as_ptr(), self.len);
                // SAFETY: `Pages::of` has taken it from a boxed slice of this length.
                drop(unsafe { Box::from_raw(slice) });
            }
        }
    }
}

impl<T: Copy> Clone for Pages<T> {
    fn clone(&self) -> Self {
        Pages::of(self.to_vec())
    }
}

impl<T: Copy> Default for Pages<T> {
    fn default() -> Self {
        Pages::of(Vec::new())
    }
}

impl<T: fmt::Debug> fmt::Debug for Pages<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self[..].fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrays_of_all_sizes_hold_what_they_were_made_of() {
        let huge = HUGE / size_of::<u64>();
        for len in [0, 1, 1000, huge - 1, huge, huge + 1, 3 * huge + 7] {
            if cfg!(miri) && len > huge {
                continue;
            }
            let values: Vec<u64> = (0..len as u64).map(|i| i * 977).collect();
            let pages = Pages::of(values.clone());
            assert_eq!(pages[..], values[..]);
            let copy = pages.clone();
            drop(pages);
            assert_eq!(copy[..], values[..]);
            if len >= huge {
                assert_eq!(copy.base.addr().get() % HUGE, 0, "{len}");
            }
        }
        assert_eq!(Pages::<u16>::default().len(), 0);
    }
}
