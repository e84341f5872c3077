//! Graphs in folders of their own, and runs of them.

use super::{scratch, signal, sluss, stdout};
use serde_json::Value;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

/// A graph that never ends.
pub(crate) const ENDLESS: &str = "\
links = [\"source.output -> sink.input\"]
[app.source]
type = \"source\"
[app.sink]
type = \"sink\"
";

/// A folder with a graph in it.
#[track_caller]
pub(crate) fn folder(name: &str, graph: &str) -> PathBuf {
    let folder = scratch(name);
    fs::write(folder.join("net.toml"), graph).unwrap();
    folder
}

pub(crate) fn command(folder: &Path, args: &[&str]) -> Command {
    let mut command = sluss(&["run", "net.toml"]);
    command.args(args).current_dir(folder).env("SLUSS_RUNTIME_DIR", folder.join("runtime"));
    command
}

pub(crate) fn run(folder: &Path, args: &[&str]) -> Output {
    command(folder, args).output().unwrap()
}

/// The last line on standard output.
pub(crate) fn last_object(output: &Output) -> Value {
    serde_json::from_str(stdout(output).lines().last().unwrap_or_default()).unwrap()
}

/// Waits until something holds.
#[track_caller]
pub(crate) fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !holds() {
        assert!(begin.elapsed() < Duration::from_secs(30), "{what} does not come");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// A run whose output is read line by line.
pub(crate) struct Live {
    pub(crate) child: Child,
    /// From standard error.
    pub(crate) told: Receiver<String>,
    /// From standard output.
    pub(crate) printed: Receiver<String>,
}

/// The lines of a pipe, as they come.
pub(crate) fn lines(pipe: impl Read + Send + 'static) -> Receiver<String> {
    let (tell, told) = channel();
    std::thread::spawn(move || {
        BufReader::new(pipe).lines().map_while(Result::ok).try_for_each(|line| tell.send(line)).ok();
    });
    told
}

impl Live {
    pub(crate) fn start(folder: &Path, args: &[&str]) -> Live {
        Live::reading(folder, args, Stdio::null())
    }

    pub(crate) fn reading(folder: &Path, args: &[&str], stdin: Stdio) -> Live {
        Live::printing(folder, args, stdin, Stdio::piped())
    }

    pub(crate) fn printing(folder: &Path, args: &[&str], stdin: Stdio, stdout: Stdio) -> Live {
        let mut command = command(folder, args);
        Live::of(command.stdin(stdin).stdout(stdout).stderr(Stdio::piped()).spawn().unwrap(), folder)
    }

    pub(crate) fn of(mut child: Child, folder: &Path) -> Live {
        let printed = child.stdout.take().map_or_else(|| channel().1, lines);
        let told = lines(child.stderr.take().unwrap());
        // Its counters are there before anything runs.
        let runtime = folder.join("runtime");
        until("the file of counters", || {
            let is_whole = |file: &fs::DirEntry| engine::shm::Snapshot::read(&file.path()).is_ok();
            fs::read_dir(&runtime).is_ok_and(|files| files.flatten().any(|file| is_whole(&file)))
        });
        Live { child, told, printed }
    }

    /// Waits for a line that holds these words.
    #[track_caller]
    pub(crate) fn told(&self, words: &str) -> String {
        loop {
            let line = self.told.recv_timeout(Duration::from_secs(30));
            let line = line.unwrap_or_else(|error| panic!("`{words}` is not told: {error}"));
            if line.contains(words) {
                return line;
            }
        }
    }

    /// Ends it by a signal. Returns the exit code, and the lines on standard output that were not looked at.
    pub(crate) fn end(mut self, with: &str) -> (i32, Vec<String>) {
        signal(&self.child, with);
        let code = self.child.wait().unwrap().code().expect("it ends by itself");
        (code, self.printed.iter().collect())
    }
}

impl Drop for Live {
    /// A test that fails leaves nothing behind that runs for ever.
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A graph that copies standard input to a file.
pub(crate) const PIPED: &str = "\
links = [\"reader.output -> writer.input\"]
[app.reader]
type = \"pcap_reader\"
path = \"-\"
[app.writer]
type = \"pcap_writer\"
path = \"out.pcap\"
";

/// Whether a run has caught signals and begun to count.
pub(crate) fn has_counters(folder: &Path) -> bool {
    fs::read_dir(folder.join("runtime")).is_ok_and(|mut entries| entries.next().is_some())
}

/// A pipe without room, as Linux makes them: 64 KiB.
pub(crate) fn full_pipe() -> (std::io::PipeReader, std::io::PipeWriter) {
    let (reader, mut writer) = std::io::pipe().unwrap();
    writer.write_all(&[b'.'; 64 << 10]).unwrap();
    (reader, writer)
}

/// A graph of two writers of what two sources make, at these paths.
pub(crate) fn two_writers(left: &str, right: &str) -> String {
    let links = "links = [\"a.output -> left.input\", \"b.output -> right.input\"]\n";
    let sources = "[app.a]\ntype = \"synth\"\nrate_pps = 1000\n[app.b]\ntype = \"synth\"\nrate_pps = 1000\n";
    let writer = |name, path| format!("[app.{name}]\ntype = \"pcap_writer\"\npath = \"{path}\"\n");
    [links, sources, &writer("left", left), &writer("right", right)].concat()
}
