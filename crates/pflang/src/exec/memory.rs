//! Executable memory that is never writable through any mapping.
//!
//! ```text
//! memfd     one file in memory for the whole process. Code is written with pwrite(2), and read and run through a
//!           mapping that is readable and executable from the start: chunks of it are shared by many small filters
//! mprotect  an anonymous mapping of its own for each filter: written, then made executable
//! none      the caller interprets
//! ```
//! The first works where a page may not *become* executable (`PR_SET_MDWE`, SELinux's `execmem`), costs one
//! system call a filter, and leaves no alias through which code could be overwritten.
//!
//! PERF: mappings lie within 2 GiB of our own text where there is room: a call further away costs 0.7 ns more.
//!
//! Space is not reused. A chunk is unmapped when its last filter goes; until then, what a filter leaves behind is
//! filled with `int3`, at the latest when the next filter's code is written. So no address ever holds first one instruction and then another, which processors would have
//! to be told about.
//!
//! A child made by fork(2) shares the file with its parent. It writes to a file of its own: before every write the
//! process is compared with the file's owner.

use std::fmt;

/// Bytes placed in executable memory, for as long as this lives.
#[derive(Debug)]
pub(super) struct Placed(#[allow(dead_code, reason = "never made on other platforms")] os::Placed);

/// Why memory could not be made executable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// What was tried, and what the system said.
    pub attempts: Vec<String>,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.attempts.join("; "))
    }
}

/// A way to get executable memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    Memfd,
    Mprotect,
}

impl Placed {
    /// Places a copy of these bytes at the start of a cache line, by the first way that works.
    pub(super) fn new(bytes: &[u8], ways: &[Way]) -> Result<Placed, Refusal> {
        let mut attempts = Vec::new();
        for &way in ways {
            match os::place(bytes, way) {
                Ok(placed) => return Ok(Placed(placed)),
                Err(error) => attempts.push(error),
            }
        }
        Err(Refusal { attempts })
    }

    /// Where the bytes are.
    #[cfg(target_arch = "x86_64")]
    pub(super) fn start(&self) -> *const u8 {
        self.0.start()
    }
}

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod os {
    use super::Way;
    use std::fs::File;
    use std::io;
    use std::os::fd::{AsRawFd, FromRawFd};
    use std::os::unix::fs::FileExt;
    use std::ptr::{self, NonNull};
    use std::sync::{Arc, Mutex, PoisonError};

    /// What the chunks of the file measure, unless a filter needs more.
    const CHUNK_LEN: usize = 64 << 10;
    const PAGE: usize = 4096;
    const CACHE_LINE: usize = 64;
    const INT3: u8 = 0xcc;
    /// What more is left is filled at once.
    const LEFT_MAX: usize = 2 * PAGE;

    #[derive(Debug)]
    pub(super) struct Placed {
        offset: usize,
        len: usize,
        home: Home,
    }

    #[derive(Debug)]
    enum Home {
        Shared(Arc<Chunk>),
        Own(Mapping),
    }

    pub(super) fn place(bytes: &[u8], way: Way) -> Result<Placed, String> {
        match way {
            Way::Memfd => {
                let mut arena = ARENA.lock().unwrap_or_else(PoisonError::into_inner);
                arena.place(bytes).map_err(|e| format!("a file in memory cannot be mapped executable: {e}"))
            }
            Way::Mprotect => place_alone(bytes).map_err(|e| format!("a page cannot be made executable: {e}")),
        }
    }

    impl Placed {
        #[cfg(target_arch = "x86_64")]
        pub(super) fn start(&self) -> *const u8 {
            let mapping = match &self.home {
                Home::Shared(chunk) => &chunk.mapping,
                Home::Own(mapping) => mapping,
            };
            mapping.start.as_ptr().wrapping_add(self.offset)
        }
    }

    impl Drop for Placed {
        fn drop(&mut self) {
            if let Home::Shared(chunk) = &self.home {
                let mut arena = ARENA.lock().unwrap_or_else(PoisonError::into_inner);
                if !arena.leave(chunk, self.offset, self.len) {
                    drop(arena);
                    chunk.fill(self.offset, self.len);
                }
            }
        }
    }

    /// A resource of the process, like its heap: which filters there are does not show in it.
    static ARENA: Mutex<Arena> = Mutex::new(Arena { current: None, used: 0, left: 0, file_len: 0 });

    struct Arena {
        /// The chunk in which there may be room; it also keeps the file.
        current: Option<Arc<Chunk>>,
        used: usize,
        /// How much at the end of what is used was left by filters that are gone, and is not filled yet.
        left: usize,
        file_len: u64,
    }

    impl Arena {
        fn place(&mut self, bytes: &[u8]) -> io::Result<Placed> {
            let len = bytes.len().next_multiple_of(CACHE_LINE);
            let chunk = match &self.current {
                Some(chunk) if chunk.is_ours() && chunk.mapping.len - self.used >= len => Arc::clone(chunk),
                _ => self.grow(len)?,
            };
            self.write(&chunk, bytes)?;
            let placed = Placed { offset: self.used, len, home: Home::Shared(chunk) };
            self.used += len;
            Ok(placed)
        }

        /// Writes behind what is used; in the same call, traps over what was left there.
        fn write(&mut self, chunk: &Chunk, bytes: &[u8]) -> io::Result<()> {
            let left = std::mem::take(&mut self.left);
            let at = chunk.offset + (self.used - left) as u64;
            if left == 0 {
                return chunk.file.file.write_all_at(bytes, at);
            }
            let mut all = Vec::with_capacity(left + bytes.len());
            all.resize(left, INT3);
            all.extend_from_slice(bytes);
            chunk.file.file.write_all_at(&all, at)
        }

        /// Whether the next filter's code will be written right behind this part, which its filter leaves: then that
        /// fills it as well.
        ///
        /// PERF: writing is a system call. Of filters made one after the other, each gone before the next, it is the one
        /// that a filter needs.
        fn leave(&mut self, chunk: &Arc<Chunk>, at: usize, len: usize) -> bool {
            let is_current = self.current.as_ref().is_some_and(|current| Arc::ptr_eq(current, chunk));
            let is_last = is_current && at + len + self.left == self.used && self.left + len <= LEFT_MAX;
            self.left += if is_last { len } else { 0 };
            is_last
        }

        /// Makes a new chunk the current one.
        fn grow(&mut self, len: usize) -> io::Result<Arc<Chunk>> {
            let left = std::mem::take(&mut self.left);
            let file = match self.current.take().filter(|chunk| chunk.is_ours()) {
                Some(chunk) => {
                    // With nobody else to use it, it goes.
                    if Arc::strong_count(&chunk) > 1 {
                        chunk.fill(self.used - left, left);
                    }
                    Arc::clone(&chunk.file)
                }
                None => {
                    self.file_len = 0;
                    Arc::new(Memfd::new()?)
                }
            };
            let len = len.next_multiple_of(PAGE).max(CHUNK_LEN);
            let offset = self.file_len;
            file.extend(offset + len as u64)?;
            self.file_len += len as u64;
            let mapping = Mapping::new(len, libc::PROT_READ | libc::PROT_EXEC, Some((&file.file, offset)))?;
            let chunk = Arc::new(Chunk { mapping, file, offset });
            chunk.fill(0, len);
            self.current = Some(Arc::clone(&chunk));
            self.used = 0;
            Ok(chunk)
        }
    }

    /// The file that holds the code.
    #[derive(Debug)]
    struct Memfd {
        file: File,
        owner: Owner,
    }

    /// The process that may write: not a child that fork(2) made of it.
    ///
    /// PERF: asking for the process id is a system call, which takes half as long as writing a small filter. The kernel
    /// clears a page in children instead, from Linux 4.14 on.
    #[derive(Debug)]
    struct Owner {
        process_id: u32,
        /// Begins with [`MARK`], in the owner only.
        page: Option<Mapping>,
    }

    const MARK: u8 = 1;

    impl Owner {
        /// This process.
        fn new() -> Owner {
            Owner { process_id: std::process::id(), page: Owner::marked_page() }
        }

        fn marked_page() -> Option<Mapping> {
            let page = Mapping::new(PAGE, libc::PROT_READ | libc::PROT_WRITE, None).ok()?;
            let start = page.start.as_ptr();
            // SAFETY: the page was mapped just now; the advice is about what children see of it.
            if unsafe { libc::madvise(start.cast(), PAGE, libc::MADV_WIPEONFORK) } != 0 {
                return None;
            }
            // SAFETY: mapped writable just now, and nobody else knows of it.
            unsafe { start.write(MARK) };
            Some(page)
        }

        fn is_this_process(&self) -> bool {
            match &self.page {
                // SAFETY: mapped readable while it lives. Only the kernel changes it, before a child begins to run.
                Some(page) => unsafe { page.start.as_ptr().read_volatile() == MARK },
                None => self.process_id == std::process::id(),
            }
        }
    }

    impl Memfd {
        fn new() -> io::Result<Memfd> {
            // The seal refuses execve(2) of the file, which nobody needs; kernels before 6.3 do not know it.
            let flags = [libc::MFD_CLOEXEC | libc::MFD_NOEXEC_SEAL, libc::MFD_CLOEXEC];
            let fds = flags.map(|flags| {
                move || {
                    // SAFETY: the name is a C string; the call touches no other memory of ours.
                    unsafe { libc::memfd_create(c"filter code".as_ptr(), flags) }
                }
            });
            let fd = fds.into_iter().map(|create| create()).find(|&fd| fd >= 0);
            let fd = fd.ok_or_else(io::Error::last_os_error)?;
            // SAFETY: the descriptor is fresh and nobody else's.
            let file = unsafe { File::from_raw_fd(fd) };
            Ok(Memfd { file, owner: Owner::new() })
        }

        fn extend(&self, len: u64) -> io::Result<()> {
            let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
            // SAFETY: `limit` is there to be written.
            let known = unsafe { libc::getrlimit(libc::RLIMIT_FSIZE, &mut limit) } == 0;
            // Past this limit the kernel would not answer, but send a signal.
            if known && limit.rlim_cur != libc::RLIM_INFINITY && limit.rlim_cur < len {
                return Err(io::Error::from_raw_os_error(libc::EFBIG));
            }
            self.file.set_len(len)
        }
    }

    /// A part of the file, mapped.
    #[derive(Debug)]
    struct Chunk {
        mapping: Mapping,
        file: Arc<Memfd>,
        offset: u64,
    }

    impl Chunk {
        fn is_ours(&self) -> bool {
            self.file.owner.is_this_process()
        }

        /// Makes running into this part a trap.
        fn fill(&self, at: usize, len: usize) {
            const TRAPS: [u8; PAGE] = [INT3; PAGE];
            if self.is_ours() {
                for from in (at..at + len).step_by(PAGE) {
                    let part = &TRAPS[..PAGE.min(at + len - from)];
                    // Nothing depends on it: without it, stray jumps meet old code instead of a trap.
                    let _ = self.file.file.write_all_at(part, self.offset + from as u64);
                }
            }
        }
    }

    impl Drop for Chunk {
        fn drop(&mut self) {
            if self.is_ours() {
                let punch = libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE;
                let (fd, at, len) = (self.file.file.as_raw_fd(), self.offset as i64, self.mapping.len as i64);
                // SAFETY: frees pages that only this chunk's mapping shows, and its last user is gone. Should it
                // fail, the pages are freed with the file.
                unsafe { libc::fallocate(fd, punch, at, len) };
            }
        }
    }

    /// A private copy in a mapping of its own, never writable and executable at once.
    fn place_alone(bytes: &[u8]) -> io::Result<Placed> {
        let len = bytes.len().next_multiple_of(PAGE);
        let mapping = Mapping::new(len, libc::PROT_READ | libc::PROT_WRITE, None)?;
        let start = mapping.start.as_ptr();
        // SAFETY: `len` bytes from `start` were mapped writable just now, and nobody else knows of them.
        unsafe {
            ptr::copy_nonoverlapping(bytes.as_ptr(), start, bytes.len());
            ptr::write_bytes(start.add(bytes.len()), INT3, len - bytes.len());
        }
        // SAFETY: the mapping is ours alone.
        if unsafe { libc::mprotect(start.cast(), len, libc::PROT_READ | libc::PROT_EXEC) } != 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(Placed { offset: 0, len, home: Home::Own(mapping) })
    }

    /// Pages of ours.
    #[derive(Debug)]
    struct Mapping {
        start: NonNull<u8>,
        len: usize,
    }

    // SAFETY: a mapping belongs to the process, not to a thread; through a shared reference it is only read.
    unsafe impl Send for Mapping {}
    // SAFETY: as above.
    unsafe impl Sync for Mapping {}

    impl Mapping {
        /// Maps part of a file, or fresh memory, near our own code if there is room.
        fn new(len: usize, protection: i32, file: Option<(&File, u64)>) -> io::Result<Mapping> {
            let near = hints(len).find_map(|hint| map(hint, len, protection, file).ok());
            let start = near.map_or_else(|| map(0, len, protection, file), Ok)?;
            Ok(Mapping { start, len })
        }
    }

    impl Drop for Mapping {
        fn drop(&mut self) {
            // SAFETY: mapped by `Mapping::new`, which handed out no reference that outlives `self`.
            unsafe { libc::munmap(self.start.as_ptr().cast(), self.len) };
        }
    }

    /// Addresses to try, all within reach of a near call from our text: below it first, where nothing grows.
    fn hints(len: usize) -> impl Iterator<Item = usize> {
        const REACH: usize = 3 << 29;
        const STEPS: usize = 48;
        let text = place as fn(&[u8], Way) -> Result<Placed, String> as usize & !(PAGE - 1);
        let step = len.next_multiple_of(REACH / STEPS);
        let below = (1..=STEPS).filter_map(move |i| text.checked_sub(i * step));
        let above = (1..=STEPS).rev().filter_map(move |i| text.checked_add(i * step));
        below.chain(above).filter(move |&hint| hint.abs_diff(text) + len <= REACH && hint >= 1 << 20)
    }

    /// Maps at `hint`, or anywhere if that is 0; fails where something else is there.
    fn map(hint: usize, len: usize, protection: i32, file: Option<(&File, u64)>) -> io::Result<NonNull<u8>> {
        let fixed = if hint == 0 { 0 } else { libc::MAP_FIXED_NOREPLACE };
        let (kind, fd, offset) = match file {
            Some((file, offset)) => (libc::MAP_SHARED, file.as_raw_fd(), offset as i64),
            None => (libc::MAP_PRIVATE | libc::MAP_ANONYMOUS, -1, 0),
        };
        let at = ptr::without_provenance_mut(hint);
        // SAFETY: a new mapping that replaces none (MAP_FIXED_NOREPLACE; kernels that do not know it take the
        // address for a wish).
        let start = unsafe { libc::mmap(at, len, protection, kind | fixed, fd, offset) };
        match NonNull::new(start.cast::<u8>()) {
            Some(start) if start.as_ptr().cast() != libc::MAP_FAILED => Ok(start),
            _ => Err(io::Error::last_os_error()),
        }
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn what_a_filter_leaves_is_filled_when_the_next_is_placed() {
            let place = || place(&[0x90; 100], Way::Memfd);
            let (Ok(stays), Ok(gone)) = (place(), place()) else {
                return testkit::say("skipped: no file in memory can be mapped executable");
            };
            let (Home::Shared(chunk), Home::Shared(other)) = (&stays.home, &gone.home) else {
                panic!("filters share chunks")
            };
            let (is_mapped, start) = (Arc::ptr_eq(chunk, other), gone.start());
            drop(gone);
            let next = place().expect("as before");
            if is_mapped {
                // SAFETY: `stays` keeps the chunk mapped, and nothing is written there any more.
                let left = unsafe { std::slice::from_raw_parts(start, 128) };
                assert_eq!(left, [INT3; 128]);
            }
            drop((stays, next));
        }
    }
}

#[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
mod os {
    use super::Way;

    #[derive(Debug)]
    pub(super) enum Placed {}

    pub(super) fn place(_: &[u8], _: Way) -> Result<Placed, String> {
        Err("machine code is made for x86-64 under Linux only".to_owned())
    }

    impl Placed {
        #[cfg(target_arch = "x86_64")]
        pub(super) fn start(&self) -> *const u8 {
            match *self {}
        }
    }
}
