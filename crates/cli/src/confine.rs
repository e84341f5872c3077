//! What a running wall may still do once its devices are open, and which system calls a sandbox may make.
//!
//! | what | how | what is left |
//! |---|---|---|
//! | capabilities | all given up, but for `CAP_NET_ADMIN` where packets come from a queue, and `no_new_privs` | nothing else that takes one: a device that is removed and made again is not opened again |
//! | files | Landlock | the folders of the policy and its sets, to be read; those of records, counters and the control socket |
//! | system calls | seccomp | all but those that start programs, load code into the kernel, look into other processes or change the system |
//!
//! It is done before other threads begin, which inherit it. nDPI's process has been started then, and is confined further by itself.

use crate::exit::Failure;
use crate::message::Message;
use crate::terminal::Terminal;
use landlock::{
    ABI, Access, AccessFs, CompatLevel, Compatible, PathBeneath, PathFd, Ruleset, RulesetAttr,
    RulesetCreatedAttr, RulesetStatus,
};
use rustix::thread::{CapabilitySet, CapabilitySets, set_capabilities, set_no_new_privs};
use seccompiler::{BpfProgram, SeccompAction, SeccompFilter};
use std::collections::BTreeMap;
use std::env::consts::ARCH;
use std::path::{Path, PathBuf};

/// What is to be given up.
pub(crate) struct Confinement {
    pub(crate) keep_capabilities: bool,
    /// Capabilities without which it could not go on.
    pub(crate) needed: CapabilitySet,
    pub(crate) no_landlock: bool,
    pub(crate) no_seccomp: bool,
    /// Folders whose files are read.
    pub(crate) read: Vec<PathBuf>,
    /// Folders in which files are made, written and removed.
    pub(crate) write: Vec<PathBuf>,
}

impl Confinement {
    /// Gives it up. What the kernel does not have is told.
    pub(crate) fn enter(&self, terminal: &Terminal) -> Result<(), Failure> {
        if !self.keep_capabilities {
            drop_capabilities(self.needed)?;
        }
        if !self.no_landlock
            && let Err(why) = self.restrict_files()
        {
            terminal.tell(&Message::warning(format_args!("the wall is not confined by Landlock: {why}")));
        }
        if !self.no_seccomp
            && let Err(why) = restrict_calls(&[])
        {
            terminal.tell(&Message::warning(format_args!("the wall is not confined by seccomp: {why}")));
        }
        Ok(())
    }

    fn restrict_files(&self) -> Result<(), String> {
        let told = |error: &dyn std::fmt::Display| error.to_string();
        let abi = ABI::V3;
        let ruleset = Ruleset::default()
            .set_compatibility(CompatLevel::BestEffort)
            .handle_access(AccessFs::from_all(abi))
            .and_then(Ruleset::create)
            .map_err(|error| told(&error))?;
        let write = AccessFs::from_read(abi)
            | AccessFs::WriteFile
            | AccessFs::MakeReg
            | AccessFs::RemoveFile
            | AccessFs::Truncate;
        let folders = self.read.iter().map(|path| (path, AccessFs::from_read(abi)));
        let folders = folders.chain(self.write.iter().map(|path| (path, write)));
        let mut ruleset = ruleset;
        for (path, access) in folders {
            // A folder that is not there has nothing to be read.
            let Ok(folder) = PathFd::new(path) else { continue };
            ruleset = ruleset.add_rule(PathBeneath::new(folder, access)).map_err(|error| told(&error))?;
        }
        let status = ruleset.restrict_self().map_err(|error| told(&error))?;
        match status.ruleset {
            RulesetStatus::NotEnforced => Err("this kernel has none, or it is switched off".to_owned()),
            _ => Ok(()),
        }
    }
}

/// The folder that a file is in.
pub(crate) fn folder_of(path: &Path) -> PathBuf {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder.to_owned(),
        _ => PathBuf::from("."),
    }
}

fn drop_capabilities(needed: CapabilitySet) -> Result<(), Failure> {
    let refused = |error| Failure::world(format_args!("the wall cannot give up its capabilities: {error}"));
    let sets = CapabilitySets { effective: needed, permitted: needed, inheritable: CapabilitySet::empty() };
    set_capabilities(None, sets).map_err(refused)?;
    set_no_new_privs(true).map_err(refused)
}

/// System calls that a wall never makes, and who breaks into one would.
const DENIED: &[libc::c_long] = &[
    libc::SYS_execve,
    libc::SYS_execveat,
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_kcmp,
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_setns,
    libc::SYS_unshare,
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    libc::SYS_io_uring_setup,
    libc::SYS_kexec_load,
    libc::SYS_kexec_file_load,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_reboot,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_acct,
    libc::SYS_quotactl,
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_keyctl,
    libc::SYS_open_by_handle_at,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_adjtimex,
    libc::SYS_clock_adjtime,
    libc::SYS_sethostname,
    libc::SYS_setdomainname,
    libc::SYS_setuid,
    libc::SYS_setgid,
    libc::SYS_setresuid,
    libc::SYS_setresgid,
    libc::SYS_personality,
    libc::SYS_nfsservctl,
    libc::SYS_vhangup,
];

/// System calls by which a process reaches others.
pub(crate) const NETWORK: &[libc::c_long] = &[
    libc::SYS_socket,
    libc::SYS_connect,
    libc::SYS_bind,
    libc::SYS_accept4,
    libc::SYS_sendto,
    libc::SYS_sendmsg,
];

/// Takes system calls away from all threads: those that nothing here makes, and `more`.
pub(crate) fn restrict_calls(more: &[libc::c_long]) -> Result<(), String> {
    let arch = ARCH.try_into().map_err(|_| format!("there is no filter for {ARCH}"))?;
    let rules: BTreeMap<i64, Vec<_>> = DENIED.iter().chain(more).map(|call| (*call, Vec::new())).collect();
    let denied = SeccompAction::Errno(libc::EPERM as u32);
    let filter =
        SeccompFilter::new(rules, SeccompAction::Allow, denied, arch).map_err(|error| error.to_string())?;
    let program: BpfProgram =
        filter.try_into().map_err(|error: seccompiler::BackendError| error.to_string())?;
    seccompiler::apply_filter_all_threads(&program).map_err(|error| error.to_string())
}
