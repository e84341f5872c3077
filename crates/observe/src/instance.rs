//! Instances: the files of counters of a folder, and whether the processes that wrote them are still there.

use engine::shm::{self, Process, Snapshot, SnapshotError, runtime};
use std::fs;
use std::io;
use std::os::unix::fs::FileTypeExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// An instance of the engine.
#[derive(Clone, Debug)]
pub struct Instance {
    /// The file of its counters.
    pub path: PathBuf,
    /// Its name.
    pub name: String,
    /// Its process, by the number it has in its own PID namespace.
    pub pid: u32,
    /// Whether that is there.
    pub state: State,
    /// The CPU time that it has taken; `None` where it is not seen here: it has gone, or is in another PID namespace.
    pub cpu: Option<Duration>,
    /// What it counts, or counted last.
    pub snapshot: Snapshot,
}

/// Whether an instance runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Its process is there.
    Running,
    /// Its process is there, and stopped by a signal or a debugger.
    Stopped,
    /// Its process has gone without removing the file: nobody holds that, nor has its number.
    Crashed,
}

/// What is in a folder.
#[derive(Debug, Default)]
pub struct Found {
    /// Instances, by name and then by process.
    pub instances: Vec<Instance>,
    /// Files that are named like counters and are none, or cannot be read; folders that cannot be read.
    pub unreadable: Vec<(PathBuf, SnapshotError)>,
    /// Folders that were looked into, or are not there.
    pub folders: Vec<PathBuf>,
}

impl Instance {
    /// Reads a file of counters, and looks whether its process is there.
    ///
    /// # Errors
    /// When it is no file of counters, or cannot be read.
    pub fn read(path: &Path) -> Result<Self, SnapshotError> {
        let snapshot = Snapshot::read(path)?;
        let process = Process::of(snapshot.pid).filter(|process| is_it(snapshot.start_ticks, process));
        Ok(Instance {
            path: path.to_owned(),
            name: snapshot.name.clone(),
            pid: snapshot.pid,
            state: State::of(process, shm::is_held(path)),
            cpu: process.map(|process| process.cpu),
            snapshot,
        })
    }

    /// How long it has run, for a clock that shows `now_unix_ns`; `None` if it does not run any more, since nobody knows
    /// when it ended.
    pub fn uptime(&self, now_unix_ns: u64) -> Option<Duration> {
        let uptime_ns = now_unix_ns.saturating_sub(self.snapshot.started_unix_ns);
        (self.state != State::Crashed).then(|| Duration::from_nanos(uptime_ns))
    }
}

impl State {
    /// What the process that wrote the file says, if it is seen. A file that is held has a process, if only in another PID namespace,
    /// where nobody knows here whether it is stopped.
    fn of(process: Option<Process>, is_held: bool) -> Self {
        match process {
            Some(found) if found.is_stopped => State::Stopped,
            Some(_) => State::Running,
            None if is_held => State::Running,
            None => State::Crashed,
        }
    }

    /// In one word.
    pub fn as_str(self) -> &'static str {
        match self {
            State::Running => "running",
            State::Stopped => "stopped",
            State::Crashed => "crashed",
        }
    }
}

/// Whether the process that has the number now is the one that wrote the file, which began at this time. Numbers are used again; a process
/// that began at another time is another one. A file that does not know when its process began is believed.
fn is_it(start_ticks: u64, found: &Process) -> bool {
    !found.has_ended && (start_ticks == 0 || found.start_ticks == start_ticks)
}

impl Found {
    /// Removes the files of instances that have crashed, and damaged ones whose names tell of no process that is there; and control sockets without
    /// counters on which nobody answers any more.
    /// Returns which, and what went wrong.
    pub fn clean(&self) -> Vec<(PathBuf, io::Result<()>)> {
        let crashed = self.instances.iter().filter(|instance| instance.state == State::Crashed);
        let damaged = self.unreadable.iter().map(|(path, _)| path).filter(|path| is_orphan(path));
        let paths = crashed.map(|instance| &instance.path).chain(damaged);
        let remove = |path: &PathBuf| {
            let removed = shm::remove_dead(path);
            if removed.is_ok() {
                // Of one that answered others. Not all do.
                let _ = fs::remove_file(path.with_extension("control"));
            }
            (path.clone(), removed)
        };
        let mut cleaned: Vec<_> = paths.map(remove).collect();
        let sockets = self.folders.iter().flat_map(|folder| stale_sockets(folder));
        cleaned.extend(sockets.map(|path| {
            let removed = fs::remove_file(&path);
            (path, removed)
        }));
        cleaned
    }
}

/// Control sockets of a folder, of processes that are not there, beside which there are no counters.
fn stale_sockets(folder: &Path) -> Vec<PathBuf> {
    let is_stale = |path: &PathBuf| {
        let name = path.file_name().and_then(|name| name.to_str());
        let of = name.and_then(|name| name.strip_suffix(".control")).and_then(|name| name.rsplit_once('.'));
        let Some((name, Ok(pid))) = of.map(|(name, pid)| (name, pid.parse::<u32>())) else { return false };
        let is_socket = fs::symlink_metadata(path).is_ok_and(|metadata| metadata.file_type().is_socket());
        let is_refused = |error: io::Error| error.kind() == io::ErrorKind::ConnectionRefused;
        is_socket
            && !folder.join(runtime::file_name(name, pid)).exists()
            && Process::of(pid).is_none()
            && UnixStream::connect(path).is_err_and(is_refused)
    };
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).filter(is_stale).collect()
}

/// The instances of some folders. Folders that do not exist are empty.
///
/// # Errors
/// When none of the folders can be read, with the name of the first. Where others can, it is [unreadable](Found::unreadable).
pub fn find(folders: &[PathBuf]) -> io::Result<Found> {
    let mut found = Found::default();
    for folder in folders {
        match add_folder(&mut found, folder) {
            Ok(()) => found.folders.push(folder.clone()),
            Err(error) => found.unreadable.push((folder.clone(), error.into())),
        }
    }
    if let ([], [(folder, error), ..]) = (&found.folders[..], &found.unreadable[..]) {
        return Err(io::Error::new(kind(error), format!("{}: {error}", folder.display())));
    }
    found.instances.sort_by(|a, b| (&a.name, a.pid, &a.path).cmp(&(&b.name, b.pid, &b.path)));
    found.unreadable.sort_by(|(a, _), (b, _)| a.cmp(b));
    Ok(found)
}

fn add_folder(found: &mut Found, folder: &Path) -> io::Result<()> {
    let entries = match runtime::check(folder).and_then(|()| fs::read_dir(folder)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        entries => entries?,
    };
    for entry in entries {
        let entry = entry?;
        if entry.file_name().to_str().and_then(runtime::parse_file_name).is_none() {
            continue;
        }
        match Instance::read(&entry.path()) {
            // One that ended in good order, between the look at its counters and that at its process, removed the file.
            Ok(instance) if instance.state == State::Crashed && !instance.path.exists() => {}
            Ok(instance) => found.instances.push(instance),
            // It has ended since the folder was read.
            Err(SnapshotError::Io(error)) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => found.unreadable.push((entry.path(), error)),
        }
    }
    Ok(())
}

fn kind(error: &SnapshotError) -> io::ErrorKind {
    match error {
        SnapshotError::Io(error) => error.kind(),
        _ => io::ErrorKind::InvalidData,
    }
}

/// Whether a file's name tells of a process that is not there, and nobody holds it. A file that is just being made is of one
/// that is.
fn is_orphan(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str());
    let pid = name.and_then(runtime::parse_file_name).map(|(_, pid)| pid);
    pid.is_some_and(|pid| Process::of(pid).is_none()) && !shm::is_held(path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use engine::shm::Segment;
    use testkit::files::Scratch;

    fn process(start_ticks: u64, has_ended: bool, is_stopped: bool) -> Option<Process> {
        Some(Process { start_ticks, has_ended, is_stopped, cpu: Duration::ZERO })
    }

    #[test]
    fn a_number_used_again_is_another_process() {
        for (start_ticks, process, expected, if_held) in [
            (5, process(5, false, false), State::Running, State::Running),
            (5, process(5, false, true), State::Stopped, State::Stopped),
            (5, process(5, true, false), State::Crashed, State::Running),
            (5, process(6, false, false), State::Crashed, State::Running),
            (5, process(6, false, true), State::Crashed, State::Running),
            (5, None, State::Crashed, State::Running),
            (0, process(6, false, false), State::Running, State::Running),
        ] {
            let process = process.filter(|process| is_it(start_ticks, process));
            let found = [false, true].map(|is_held| State::of(process, is_held));
            assert_eq!(found, [expected, if_held], "{start_ticks} {process:?}");
        }
    }

    #[test]
    fn folders_are_listed_and_cleaned() {
        let folder = Scratch::new();
        let own = std::process::id();
        let at = |name: &str, pid: u32| folder.path(&runtime::file_name(name, pid));
        let segment = Segment::create(&at("b", own), "b").expect("a file");
        // As of a process whose number is used again: one tick earlier than ours.
        let mut other = fs::read(at("b", own)).expect("it is there")[..4096].to_vec();
        let ticks = u64::from_ne_bytes(other[168..176].try_into().expect("8 bytes"));
        other[168..176].copy_from_slice(&(ticks - 1).to_ne_bytes());
        other[40] = b'a';
        fs::write(at("a", own), &other).expect("a file");
        // None is a possible number of a process.
        fs::write(at("torn", u32::MAX), &other[..100]).expect("a file");
        fs::write(at("young", own), b"").expect("a file");
        let unrelated = folder.file("unrelated", b"x");

        let found = find(&[folder.folder().to_owned(), folder.path("absent")]).expect("it can be read");
        let listed: Vec<_> = found.instances.iter().map(|found| (found.name.as_str(), found.state)).collect();
        assert_eq!(listed, [("a", State::Crashed), ("b", State::Running)]);
        assert_eq!(found.unreadable.len(), 2);
        assert_eq!(found.instances[0].uptime(u64::MAX), None);
        assert_eq!((found.instances[0].cpu, found.instances[1].cpu.is_some()), (None, true));
        let started = found.instances[1].snapshot.started_unix_ns;
        assert_eq!(found.instances[1].uptime(started + 7), Some(Duration::from_nanos(7)));
        assert_eq!(found.instances[1].uptime(0), Some(Duration::ZERO), "a clock that went back");

        let cleaned = found.clean();
        assert!(cleaned.iter().all(|(_, result)| result.is_ok()), "{cleaned:?}");
        let cleaned: Vec<_> = cleaned.into_iter().map(|(path, _)| path).collect();
        assert_eq!(cleaned, [at("a", own), at("torn", u32::MAX)]);
        assert!(at("b", own).exists() && at("young", own).exists() && unrelated.exists());
        drop(segment);
    }

    #[test]
    fn sockets_on_which_nobody_answers_are_cleaned() {
        use std::os::unix::net::UnixListener;
        let folder = Scratch::new();
        // None is a possible number of a process.
        let paths = ["gone", "there"].map(|name| folder.path(&format!("{name}.{}.control", u32::MAX)));
        let [gone, there] = paths.clone().map(|path| UnixListener::bind(path).expect("a socket"));
        drop(gone);
        let unrelated = folder.file("a.1.control", b"x");
        let found = find(&[folder.folder().to_owned()]).expect("it can be read");
        let cleaned: Vec<_> = found.clean().into_iter().map(|(path, _)| path).collect();
        assert_eq!(cleaned, paths[..1]);
        assert!(!paths[0].exists() && paths[1].exists() && unrelated.exists());
        drop(there);
    }

    #[test]
    fn an_instance_of_another_pid_namespace_is_left_alone() {
        use std::os::unix::fs::FileExt;
        let folder = Scratch::new();
        let paths = ["whole", "damaged"].map(|name| folder.path(&runtime::file_name(name, u32::MAX)));
        let segments = paths.clone().map(|path| Segment::create(&path, "net").expect("a file"));
        let write = |path: &Path, at: u64, bytes: &[u8]| {
            let file = fs::OpenOptions::new().write(true).open(path).expect("it is ours");
            file.write_all_at(bytes, at).expect("there is room");
        };
        // A number that no process has here.
        write(&paths[0], 16, &u64::from(u32::MAX).to_ne_bytes());
        write(&paths[1], 0, b"damaged");

        let found = find(&[folder.folder().to_owned()]).expect("it can be read");
        let listed: Vec<_> = found.instances.iter().map(|found| (found.pid, found.state)).collect();
        assert_eq!(listed, [(u32::MAX, State::Running)]);
        assert_eq!((found.unreadable.len(), found.clean().len()), (1, 0));
        drop(segments);
        assert_eq!(fs::read_dir(folder.folder()).expect("a folder").count(), 0, "each has removed its own");
    }

    #[test]
    fn a_folder_that_is_none_is_an_error_with_its_name() {
        let stat = PathBuf::from("/proc/self/stat");
        let error = find(std::slice::from_ref(&stat)).expect_err("a file");
        assert!(error.to_string().contains("/proc/self/stat"), "{error}");
        let absent = PathBuf::from("/proc/self/absent");
        let found = find(&[stat.clone(), absent.clone()]).expect("the other is empty");
        assert_eq!(found.folders, [absent]);
        assert!(matches!(&found.unreadable[..], [(path, SnapshotError::Io(_))] if *path == stat));
        assert!(found.clean().is_empty(), "no folder is removed");
    }
}
