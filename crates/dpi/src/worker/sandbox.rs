//! What the worker may do: compute, allocate, wait. Everything else ends it.

use super::memory::check;
use std::io;

/// The system calls that are allowed.
const ALLOWED: &[libc::c_long] = &[
    libc::SYS_futex,
    libc::SYS_sched_yield,
    libc::SYS_exit_group,
    libc::SYS_exit,
    libc::SYS_madvise,
    libc::SYS_munmap,
    libc::SYS_mremap,
    libc::SYS_brk,
    libc::SYS_clock_gettime,
    libc::SYS_rt_sigreturn,
    libc::SYS_nanosleep,
    libc::SYS_clock_nanosleep,
];

#[cfg(target_arch = "x86_64")]
const ARCHITECTURE: Option<u32> = Some(0xc000_003e);
#[cfg(target_arch = "aarch64")]
const ARCHITECTURE: Option<u32> = Some(0xc000_00b7);
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
const ARCHITECTURE: Option<u32> = None;

// Offsets in struct seccomp_data.
const NUMBER: u32 = 0;
const ARCH: u32 = 4;
/// Low half of the third argument, on machines that store the low half first.
const THIRD_ARGUMENT: u32 = 32;

/// Takes everything away that the worker does not need: descriptors, sizes, memory beyond `heap` more bytes, and system calls.
pub(super) fn enter(heap: u64, nice: u32) -> io::Result<()> {
    // SAFETY: system calls on values; nothing of this process uses a descriptor any more.
    unsafe {
        if nice > 0 {
            check(libc::setpriority(libc::PRIO_PROCESS, 0, nice.min(19) as libc::c_int))?;
        }
        let memory = memory_in_use()?.saturating_add(heap);
        for (resource, most) in [
            (libc::RLIMIT_AS, memory),
            (libc::RLIMIT_NOFILE, 0),
            (libc::RLIMIT_FSIZE, 0),
            (libc::RLIMIT_CORE, 0),
        ] {
            let limit = libc::rlimit { rlim_cur: most, rlim_max: most };
            check(libc::setrlimit(resource, &raw const limit))?;
        }
        // The kernel of a machine that is older than the call (5.9) leaves descriptors open, which no allowed call can use.
        libc::syscall(libc::SYS_close_range, 0, libc::c_uint::MAX, 0);
        check(libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))?;
    }
    restrict_calls()
}

/// Bytes of address space that this process has.
fn memory_in_use() -> io::Result<u64> {
    let text = std::fs::read_to_string("/proc/self/statm")?;
    let pages: u64 = text.split(' ').next().and_then(|word| word.parse().ok()).unwrap_or_default();
    // SAFETY: a question about the system.
    let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    Ok(pages * u64::try_from(page).unwrap_or(4096))
}

/// From here on, any other call ends the process.
fn restrict_calls() -> io::Result<()> {
    let Some(architecture) = ARCHITECTURE else {
        return Err(io::Error::new(io::ErrorKind::Unsupported, "no list of system calls for this processor"));
    };
    let mut filter = filter(architecture);
    let program = libc::sock_fprog { len: filter.len() as u16, filter: filter.as_mut_ptr() };
    // SAFETY: the program and its instructions live until the call is over.
    check(unsafe { libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &raw const program) })?;
    Ok(())
}

/// The program: kill, but for calls of this architecture that are in the list, and for mappings that are not executable.
fn filter(architecture: u32) -> Vec<libc::sock_filter> {
    let load = |k| libc::sock_filter { code: 0x20, jt: 0, jf: 0, k };
    let equal = |k, jt, jf| libc::sock_filter { code: 0x15, jt, jf, k };
    let any_bit = |k, jt, jf| libc::sock_filter { code: 0x45, jt, jf, k };
    let answer = |k| libc::sock_filter { code: 0x06, jt: 0, jf: 0, k };
    let kill = answer(libc::SECCOMP_RET_KILL_PROCESS);
    let mut filter = vec![load(ARCH), equal(architecture, 1, 0), kill, load(NUMBER)];
    for number in ALLOWED {
        filter.extend([equal(*number as u32, 0, 1), answer(libc::SECCOMP_RET_ALLOW)]);
    }
    filter.extend([
        equal(libc::SYS_mmap as u32, 1, 0),
        kill,
        load(THIRD_ARGUMENT),
        any_bit(libc::PROT_EXEC as u32, 0, 1),
        kill,
        answer(libc::SECCOMP_RET_ALLOW),
    ]);
    filter
}
