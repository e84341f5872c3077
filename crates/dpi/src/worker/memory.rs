//! Memory that two processes share: two rings, each with one writer and one reader.
//!
//! A ring has a head, which its writer advances, and a tail, which its reader advances. Both count on without bound, and wrap; a slot is
//! found by the low bits. For example, with 4 slots, head 6 and tail 3, the entries 3, 4 and 5 are in the slots 3, 0 and 1.
//!
//! INVARIANT: what the other process may have written is read as integers, atomically, and checked by who reads it. The data plane keeps its
//! own copies of the counters that it advances, and never reads these back.

use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// Words that both processes use, each on a line of the cache of its own.
#[derive(Clone, Copy)]
pub(super) enum Word {
    /// Head of the jobs, which the data plane advances.
    JobHead,
    /// Tail of the jobs, which the worker advances.
    JobTail,
    /// Head of the answers, which the worker advances.
    AnswerHead,
    /// Tail of the answers, which the data plane advances.
    AnswerTail,
    /// 1 while the worker sleeps on this word.
    WorkerSleeps,
    /// 1 while the data plane sleeps on this word.
    DataPlaneSleeps,
    /// The tail of the jobs at which the data plane wants to be woken.
    WakeAt,
    /// 1 when the worker has entered its sandbox.
    Ready,
}

/// Distance between words: a line of the cache, and the one that is fetched beside it.
const WORD_BYTES: usize = 128;
/// Where the jobs begin.
const WORDS_BYTES: usize = 4096;
/// Bytes in front of a job's packet.
pub(super) const JOB_HEADER_BYTES: usize = 32;
/// Zeros behind each packet: nDPI reads past the ends of some.
pub(super) const ZEROS_BYTES: usize = 64;
/// Bytes of an answer.
pub(super) const ANSWER_BYTES: usize = 512;

/// Sizes of the rings. The numbers of slots and the bytes of a job are powers of two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Layout {
    pub(super) jobs: u32,
    pub(super) job_bytes: u32,
    pub(super) answers: u32,
}

impl Layout {
    fn bytes(self) -> usize {
        WORDS_BYTES + self.jobs as usize * self.job_bytes as usize + self.answers as usize * ANSWER_BYTES
    }

    /// The longest packet that fits into a job.
    pub(super) fn packet_bytes(self) -> usize {
        self.job_bytes as usize - JOB_HEADER_BYTES - ZEROS_BYTES
    }
}

/// The shared memory, mapped into this process.
pub(super) struct Shared {
    base: NonNull<u8>,
    layout: Layout,
}

// SAFETY: the mapping belongs to no thread, and all access is by atomics or by the one owner of a slot.
unsafe impl Send for Shared {}

impl Shared {
    /// New shared memory, all zeros, and the file that another process maps. Its size is sealed: nobody can shrink it under a reader.
    pub(super) fn create(layout: Layout) -> io::Result<(Shared, OwnedFd)> {
        // SAFETY: the name is terminated; the result is checked.
        let fd = check(unsafe {
            libc::memfd_create(c"sluss-dpi".as_ptr(), libc::MFD_CLOEXEC | libc::MFD_ALLOW_SEALING)
        })?;
        // SAFETY: the descriptor is new, and nobody else's.
        let fd = unsafe { OwnedFd::from_raw_fd(fd) };
        let file = File::from(fd);
        file.set_len(layout.bytes() as u64)?;
        // SAFETY: an operation on an open descriptor.
        check(unsafe {
            libc::fcntl(
                file.as_raw_fd(),
                libc::F_ADD_SEALS,
                libc::F_SEAL_SHRINK | libc::F_SEAL_GROW | libc::F_SEAL_SEAL,
            )
        })?;
        let fd = OwnedFd::from(file);
        Ok((Shared::map(&fd, layout)?, fd))
    }

    /// Maps shared memory of this layout.
    pub(super) fn map(fd: &OwnedFd, layout: Layout) -> io::Result<Shared> {
        let file = File::from(fd.try_clone()?);
        if file.metadata()?.len() != layout.bytes() as u64 {
            return Err(io::Error::from(io::ErrorKind::InvalidData));
        }
        // SAFETY: a new mapping at an address of the kernel's choice, as long as the file, which cannot shrink.
        let base = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                layout.bytes(),
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED,
                file.as_raw_fd(),
                0,
            )
        };
        match NonNull::new(base.cast::<u8>()) {
            Some(base) if base.as_ptr().cast() != libc::MAP_FAILED => Ok(Shared { base, layout }),
            _ => Err(io::Error::last_os_error()),
        }
    }

    pub(super) fn layout(&self) -> Layout {
        self.layout
    }

    pub(super) fn word(&self, word: Word) -> &AtomicU32 {
        // SAFETY: the words lie in the first page of the mapping, aligned, and are only ever accessed as atomics.
        unsafe { self.base.add(word as usize * WORD_BYTES).cast::<AtomicU32>().as_ref() }
    }

    fn job_place(&self, index: u32) -> NonNull<u8> {
        let slot = (index & (self.layout.jobs - 1)) as usize;
        // SAFETY: the slot is one of `jobs`, which all lie in the mapping.
        unsafe { self.base.add(WORDS_BYTES + slot * self.layout.job_bytes as usize) }
    }

    /// Writes a job into its slot, and zeros behind its packet.
    ///
    /// The data plane calls it for slots that are not the worker's. The packet has at most [`Layout::packet_bytes`].
    pub(super) fn write_job(&self, index: u32, header: [u64; JOB_HEADER_BYTES / 8], packet: &[u8]) {
        assert!(packet.len() <= self.layout.packet_bytes());
        let place = self.job_place(index);
        // SAFETY: header, packet and zeros fit into the slot by the assertion, and a slot is aligned to 8 bytes. The worker looks into the slot
        // only when the head has passed it; if it does so earlier, it reads garbage that harms nobody but itself.
        unsafe {
            std::ptr::copy_nonoverlapping(header.as_ptr(), place.cast().as_ptr(), header.len());
            let bytes = place.add(JOB_HEADER_BYTES).as_ptr();
            std::ptr::copy_nonoverlapping(packet.as_ptr(), bytes, packet.len());
            std::ptr::write_bytes(bytes.add(packet.len()), 0, ZEROS_BYTES);
        }
    }

    /// Header of a job, for the worker.
    pub(super) fn job_header(&self, index: u32) -> [u64; JOB_HEADER_BYTES / 8] {
        // SAFETY: a slot has more bytes than a header, and is aligned.
        unsafe { self.job_place(index).cast().read() }
    }

    /// Packet of a job, for the worker, as far as the slot reaches. The data plane leaves it alone until the tail has passed it.
    pub(super) fn job_packet(&self, index: u32, bytes: usize) -> &[u8] {
        let bytes = bytes.min(self.layout.packet_bytes());
        // SAFETY: the bytes lie in the slot, and the data plane, which is trusted, does not write to it meanwhile.
        unsafe { std::slice::from_raw_parts(self.job_place(index).add(JOB_HEADER_BYTES).as_ptr(), bytes) }
    }

    fn answer_words(&self, index: u32) -> &[AtomicU64; ANSWER_BYTES / 8] {
        let slot = (index & (self.layout.answers - 1)) as usize;
        let jobs = self.layout.jobs as usize * self.layout.job_bytes as usize;
        // SAFETY: the slot is one of `answers`, which all lie in the mapping, aligned, and are only ever accessed as atomics.
        unsafe { self.base.add(WORDS_BYTES + jobs + slot * ANSWER_BYTES).cast().as_ref() }
    }

    pub(super) fn write_answer(&self, index: u32, answer: &[u8; ANSWER_BYTES]) {
        for (word, bytes) in self.answer_words(index).iter().zip(answer.as_chunks::<8>().0) {
            word.store(u64::from_ne_bytes(*bytes), Ordering::Relaxed);
        }
    }

    /// A copy of an answer, which the worker cannot change any more.
    pub(super) fn read_answer(&self, index: u32) -> [u8; ANSWER_BYTES] {
        let mut answer = [0; ANSWER_BYTES];
        for (word, bytes) in self.answer_words(index).iter().zip(answer.as_chunks_mut::<8>().0) {
            *bytes = word.load(Ordering::Relaxed).to_ne_bytes();
        }
        answer
    }

    /// Sleeps while the word is 1, until it is woken or the time is over. It may wake for no reason.
    pub(super) fn sleep(&self, word: Word, milliseconds: Option<u32>) {
        let time = milliseconds.map(|ms| libc::timespec {
            tv_sec: (ms / 1000) as _,
            tv_nsec: (ms % 1000 * 1_000_000) as libc::c_long,
        });
        let time = time.as_ref().map_or(std::ptr::null(), std::ptr::from_ref);
        // SAFETY: the address is that of a word of the mapping, and the time, if any, lives until the call is over.
        unsafe { libc::syscall(libc::SYS_futex, self.word(word).as_ptr(), libc::FUTEX_WAIT, 1, time) };
    }

    /// Wakes who sleeps on the word, if anybody does.
    pub(super) fn wake(&self, word: Word) {
        // The counter that was advanced is to be seen by a sleeper that is about to sleep, or the sleeper by us.
        std::sync::atomic::fence(Ordering::SeqCst);
        if self.word(word).load(Ordering::Relaxed) != 0 {
            self.word(word).store(0, Ordering::SeqCst);
            // SAFETY: the address is that of a word of the mapping.
            unsafe { libc::syscall(libc::SYS_futex, self.word(word).as_ptr(), libc::FUTEX_WAKE, 1) };
        }
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        // SAFETY: the mapping is ours, of these bytes, and nothing borrows from it any more.
        unsafe { libc::munmap(self.base.as_ptr().cast(), self.layout.bytes()) };
    }
}

/// The result of a system call, or its error.
pub(super) fn check(result: libc::c_int) -> io::Result<libc::c_int> {
    if result == -1 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LAYOUT: Layout = Layout { jobs: 4, job_bytes: 256, answers: 8 };

    #[test]
    fn two_mappings_show_the_same_jobs_and_answers() {
        let (ours, fd) = Shared::create(LAYOUT).unwrap();
        let theirs = Shared::map(&fd, LAYOUT).unwrap();
        ours.write_job(7, [1, 2, 3, 4], b"packet");
        assert_eq!((theirs.job_header(7), theirs.job_packet(7, 8)), ([1, 2, 3, 4], b"packet\0\0".as_slice()));
        assert_eq!(theirs.job_packet(7, 99_999).len(), LAYOUT.packet_bytes());
        let mut answer = [0; ANSWER_BYTES];
        answer[..4].copy_from_slice(b"HTTP");
        theirs.write_answer(15, &answer);
        assert_eq!(ours.read_answer(15), answer);
        ours.word(Word::JobHead).store(8, Ordering::Release);
        assert_eq!(theirs.word(Word::JobHead).load(Ordering::Acquire), 8);
    }

    #[test]
    fn the_memory_cannot_be_shrunk_under_its_reader() {
        let (_ours, fd) = Shared::create(LAYOUT).unwrap();
        assert!(File::from(fd).set_len(0).is_err());
    }

    #[test]
    fn memory_of_another_size_is_not_mapped() {
        let (_ours, fd) = Shared::create(LAYOUT).unwrap();
        assert!(Shared::map(&fd, Layout { jobs: 8, ..LAYOUT }).is_err());
    }
}
