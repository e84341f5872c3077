//! Memory of fixed size for an array, zero at first, from the kernel; with huge pages, where there are such and it is large enough. And the instructions that Rust has no words for.

use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;

/// Memory from which on huge pages are worth asking for.
const HUGE: usize = 2 << 20;

/// madvise(2): join what is there into huge pages now. musl's headers lack it.
const MADV_COLLAPSE: libc::c_int = 25;

/// An array. Its elements are not dropped.
pub(super) struct Region<T> {
    base: NonNull<T>,
    len: usize,
}

// SAFETY: it owns its memory, as a boxed slice would.
unsafe impl<T: Send> Send for Region<T> {}
// SAFETY: as of a boxed slice.
unsafe impl<T: Sync> Sync for Region<T> {}

impl<T> Region<T> {
    /// An array of so many elements, all zero. `None` if there is no memory.
    ///
    /// # Safety
    ///
    /// A `T` of zero bytes is valid.
    pub(super) unsafe fn new(len: usize) -> Option<Region<T>> {
        let bytes = Region::<T>::bytes_of(len).filter(|&bytes| bytes != 0)?;
        let base = map(bytes)?.cast();
        Some(Region { base, len })
    }

    /// Bytes that so many elements take, in whole pages, huge ones from some size on.
    pub(super) fn bytes_of(len: usize) -> Option<usize> {
        let bytes = len.checked_mul(size_of::<T>())?;
        bytes.checked_next_multiple_of(if bytes >= HUGE { HUGE } else { 4096 })
    }

    pub(super) fn bytes(&self) -> usize {
        Region::<T>::bytes_of(self.len).unwrap_or(0)
    }

    /// Makes the kernel give all memory now. Where it does not, it gives each page when that is first used.
    pub(super) fn populate(&mut self) {
        #[cfg(not(miri))]
        // SAFETY: the mapping of this value; its bytes stay as they are. The second advice joins pages where huge ones were not at hand.
        unsafe {
            libc::madvise(self.base.as_ptr().cast(), self.bytes(), libc::MADV_POPULATE_WRITE);
            libc::madvise(self.base.as_ptr().cast(), self.bytes(), MADV_COLLAPSE);
        }
    }

    /// Asks for the memory of an element, all its cache lines.
    #[inline(always)]
    pub(super) fn prefetch(&self, at: usize) {
        if at < self.len {
            // SAFETY: within the array.
            let element = unsafe { self.base.add(at) }.cast::<[u8; 64]>();
            for line in 0..size_of::<T>().div_ceil(64) {
                prefetch_line(element.as_ptr().wrapping_add(line).cast());
            }
        }
    }
}

impl<T> Deref for Region<T> {
    type Target = [T];

    #[inline(always)]
    fn deref(&self) -> &[T] {
        // SAFETY: the mapping has `len` elements, valid since zero is and since all writes went through `deref_mut`.
        unsafe { std::slice::from_raw_parts(self.base.as_ptr(), self.len) }
    }
}

impl<T> DerefMut for Region<T> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: as in `deref`; the mapping is owned by this value alone.
        unsafe { std::slice::from_raw_parts_mut(self.base.as_ptr(), self.len) }
    }
}

impl<T> Drop for Region<T> {
    fn drop(&mut self) {
        // SAFETY: `map` has given this many bytes here, and nothing refers to them any more.
        unsafe { libc::munmap(self.base.as_ptr().cast(), self.bytes()) };
    }
}

/// Zeroed memory of whole pages; of several huge pages, aligned to such.
fn map(bytes: usize) -> Option<NonNull<u8>> {
    // Miri cannot unmap a part.
    let slack = if bytes >= HUGE && !cfg!(miri) { HUGE } else { 0 };
    // SAFETY: a new private mapping, which touches nothing else.
    let start = unsafe {
        libc::mmap(
            std::ptr::null_mut(),
            bytes.checked_add(slack)?,
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
            -1,
            0,
        )
    };
    if start == libc::MAP_FAILED {
        return None;
    }
    let start = start.cast::<u8>();
    if slack == 0 {
        return NonNull::new(start);
    }
    let front = start.addr().next_multiple_of(HUGE) - start.addr();
    // SAFETY: what is unmapped are the ends of the mapping, in whole pages; `bytes` remain between them.
    unsafe {
        let base = start.add(front);
        if front > 0 {
            libc::munmap(start.cast(), front);
        }
        if slack > front {
            libc::munmap(base.add(bytes).cast(), slack - front);
        }
        // Advice: where it is not taken, usual pages do.
        libc::madvise(base.cast(), bytes, libc::MADV_HUGEPAGE);
        NonNull::new(base)
    }
}

/// A bit for each number that equals `wanted`.
#[inline(always)]
pub(super) fn equal_bits(numbers: &[u16; 8], wanted: u16) -> u32 {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    // SAFETY: SSE2 is part of x86-64, and 16 bytes are read of an array of as many.
    unsafe {
        use std::arch::x86_64::{
            _mm_cmpeq_epi16, _mm_loadu_si128, _mm_movemask_epi8, _mm_packs_epi16, _mm_set1_epi16,
            _mm_setzero_si128,
        };
        let numbers = _mm_loadu_si128(numbers.as_ptr().cast());
        let equal = _mm_cmpeq_epi16(numbers, _mm_set1_epi16(wanted as i16));
        _mm_movemask_epi8(_mm_packs_epi16(equal, _mm_setzero_si128())) as u32
    }
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    numbers.iter().rev().fold(0, |bits, &number| bits << 1 | u32::from(number == wanted))
}

/// Asks for the memory of a value.
#[inline(always)]
pub(super) fn prefetch<T>(value: &T) {
    prefetch_line(std::ptr::from_ref(value).cast());
}

#[inline(always)]
fn prefetch_line(address: *const i8) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    // SAFETY: a prefetch is a hint about any address.
    unsafe {
        std::arch::x86_64::_mm_prefetch::<{ std::arch::x86_64::_MM_HINT_T0 }>(address);
    }
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    let _ = address;
}
