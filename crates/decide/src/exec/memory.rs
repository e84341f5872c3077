//! Executable memory that is never writable through any mapping.
//!
//! ```text
//! memfd     a file in memory for many small filters. Code is written with pwrite(2), and read and run through a
//!           mapping that is readable and executable from the start. When the file is full, it is closed: only the
//!           mapping stays
//! mprotect  an anonymous mapping of its own for each filter: written, then made executable
//! none      the caller interprets
//! ```
//! The first works where a page may not *become* executable (`PR_SET_MDWE`, SELinux's `execmem`), costs one
//! system call a filter, and leaves no alias through which code could be overwritten.
//!
//! PERF: mappings lie within 2 GiB of our own text where there is room: a call further away costs 0.7 ns more.
//!
//! Space is not reused: it is given back when the last filter of a file goes. So no address ever holds first one
//! instruction and then another, of which processors would have to be notified; and a child made by fork(2), which shares
//! the file with its parent, runs what it inherited whatever becomes of that in the parent. What a child makes goes to a
//! file of its own.

use std::fmt;

/// Bytes placed in executable memory, for as long as this lives.
#[derive(Debug)]
pub(super) struct Placed(#[allow(dead_code, reason = "never made on other platforms")] os::Placed);

/// Why memory could not be made executable.
///
/// ```
/// let refusal = decide::Refusal { attempts: vec!["memfd: denied".into(), "mprotect: denied".into()] };
/// assert_eq!(refusal.to_string(), "memfd: denied; mprotect: denied");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The attempt, and the system's answer.
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

    /// The size of files, unless a filter needs more.
    const FILE_LEN: usize = 64 << 10;
    const PAGE: usize = 4096;
    const CACHE_LINE: usize = 64;
    const INT3: u8 = 0xcc;

    #[derive(Debug)]
    pub(super) struct Placed {
        offset: usize,
        mapping: Arc<Mapping>,
    }

    pub(super) fn place(bytes: &[u8], way: Way) -> Result<Placed, String> {
        match way {
            Way::Memfd => place_among_others(bytes)
                .map_err(|e| format!("a file in memory cannot be mapped executable: {e}")),
            Way::Mprotect => place_alone(bytes).map_err(|e| format!("a page cannot be made executable: {e}")),
        }
    }

    impl Placed {
        #[cfg(target_arch = "x86_64")]
        pub(super) fn start(&self) -> *const u8 {
            self.mapping.start.as_ptr().wrapping_add(self.offset)
        }
    }

    /// The file in which there may be room: a resource of the process, like its heap, in which it does not show what filters
    /// there are.
    static CURRENT: Mutex<Option<CodeFile>> = Mutex::new(None);

    fn place_among_others(bytes: &[u8]) -> io::Result<Placed> {
        let len = bytes.len().next_multiple_of(CACHE_LINE);
        let mut current = CURRENT.lock().unwrap_or_else(PoisonError::into_inner);
        let file = current.take().filter(|file| file.has_room(len)).map_or_else(|| CodeFile::new(len), Ok)?;
        current.insert(file).append(bytes, len)
    }

    /// A file in memory, and the mapping through which its code runs.
    #[derive(Debug)]
    struct CodeFile {
        file: File,
        mapping: Arc<Mapping>,
        used: usize,
        /// The process that may write.
        owner: u32,
    }

    impl CodeFile {
        /// A file full of traps, with room for `len` bytes.
        fn new(len: usize) -> io::Result<CodeFile> {
            let file = memfd()?;
            let len = len.next_multiple_of(PAGE).max(FILE_LEN);
            check_file_size(len)?;
            file.write_all_at(&vec![INT3; len], 0)?;
            let mapping = Mapping::new(len, libc::PROT_READ | libc::PROT_EXEC, Some(&file))?;
            Ok(CodeFile { file, mapping: Arc::new(mapping), used: 0, owner: std::process::id() })
        }

        fn has_room(&self, len: usize) -> bool {
            self.mapping.len - self.used >= len && self.owner == std::process::id()
        }

        /// Writes behind what is there; `len` bytes are then used.
        fn append(&mut self, bytes: &[u8], len: usize) -> io::Result<Placed> {
            self.file.write_all_at(bytes, self.used as u64)?;
            let placed = Placed { offset: self.used, mapping: Arc::clone(&self.mapping) };
            self.used += len;
            Ok(placed)
        }
    }

    fn memfd() -> io::Result<File> {
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
        Ok(unsafe { File::from_raw_fd(fd) })
    }

    /// Refuses what is past the limit on the size of files, where the kernel would not answer, but send a signal.
    fn check_file_size(len: usize) -> io::Result<()> {
        let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
        // SAFETY: `limit` is there to be written.
        let is_known = unsafe { libc::getrlimit(libc::RLIMIT_FSIZE, &mut limit) } == 0;
        if is_known && limit.rlim_cur != libc::RLIM_INFINITY && limit.rlim_cur < len as u64 {
            return Err(io::Error::from_raw_os_error(libc::EFBIG));
        }
        Ok(())
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
        Ok(Placed { offset: 0, mapping: Arc::new(mapping) })
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
        /// Maps a file, or fresh memory, near our own code if there is room.
        fn new(len: usize, protection: i32, file: Option<&File>) -> io::Result<Mapping> {
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
    fn map(hint: usize, len: usize, protection: i32, file: Option<&File>) -> io::Result<NonNull<u8>> {
        let fixed = if hint == 0 { 0 } else { libc::MAP_FIXED_NOREPLACE };
        let (kind, fd) = match file {
            Some(file) => (libc::MAP_SHARED, file.as_raw_fd()),
            None => (libc::MAP_PRIVATE | libc::MAP_ANONYMOUS, -1),
        };
        let at = ptr::without_provenance_mut(hint);
        // SAFETY: a new mapping that replaces none (MAP_FIXED_NOREPLACE; kernels that do not know it take the
        // address for a wish).
        let start = unsafe { libc::mmap(at, len, protection, kind | fixed, fd, 0) };
        match NonNull::new(start.cast::<u8>()) {
            Some(start) if start.as_ptr().cast() != libc::MAP_FAILED => Ok(start),
            _ => Err(io::Error::last_os_error()),
        }
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn no_filter_gets_the_place_of_another() {
            let place = |byte| place(&[byte; 100], Way::Memfd);
            let (Ok(stays), Ok(gone)) = (place(0x90), place(0x91)) else {
                return testkit::say("skipped: no file in memory can be mapped executable");
            };
            let (is_mapped, was_at) = (Arc::ptr_eq(&stays.mapping, &gone.mapping), gone.start());
            drop(gone);
            let next = place(0x92).expect("as before");
            assert!(!is_mapped || next.start() != was_at);
            // SAFETY: a placed filter keeps its bytes mapped, and nothing is written there any more.
            let bytes =
                [&stays, &next].map(|placed| unsafe { std::slice::from_raw_parts(placed.start(), 100) });
            assert_eq!(bytes, [&[0x90; 100][..], &[0x92; 100]]);
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
