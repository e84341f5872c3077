//! Running the command as a user does.

pub(crate) mod inline;
pub(crate) mod running;

use std::collections::BTreeMap;
use std::io::Write;
use std::panic::Location;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::Mutex;

/// The command with these arguments, without terminal, colour or user configuration.
pub(crate) fn sluss(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_sluss"));
    command.args(args).current_dir(root()).env_remove("CLICOLOR_FORCE").stdin(Stdio::null());
    command
}

/// Runs it to its end.
pub(crate) fn run(args: &[&str]) -> Output {
    sluss(args).output().expect("the command starts")
}

/// Runs it with bytes on standard input.
pub(crate) fn run_with_input(args: &[&str], input: &[u8]) -> Output {
    let mut command = sluss(args);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("the command starts");
    let mut stdin = child.stdin.take().expect("it is piped");
    let input = input.to_vec();
    // The reader may stop early; that is not the writer's failure.
    let writer = std::thread::spawn(move || drop(stdin.write_all(&input)));
    let output = child.wait_with_output().expect("the command ends");
    writer.join().expect("the writer does not panic");
    output
}

/// Sends a process a signal, such as `INT`. A shell has `kill` where no package brings the program.
pub(crate) fn signal(child: &Child, name: &str) {
    let kill = format!("kill -{name} {}", child.id());
    assert!(Command::new("sh").args(["-c", &kill]).status().expect("a shell").success(), "{kill}");
}

/// A terminal whose other end is ours.
pub(crate) struct Terminal {
    /// Our end; when that is closed, it hangs up.
    pub(crate) ours: std::fs::File,
    path: String,
}

impl Terminal {
    /// One of 30 lines and 100 columns.
    pub(crate) fn new() -> Terminal {
        Terminal::of_columns("100")
    }

    /// One of 30 lines.
    pub(crate) fn of_columns(columns: &str) -> Terminal {
        use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
        let ours =
            openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).expect("a terminal");
        grantpt(&ours).and_then(|()| unlockpt(&ours)).expect("a terminal");
        let path = ptsname(&ours, Vec::new()).expect("its name").into_string().expect("an ASCII name");
        let terminal = Terminal { ours: ours.into(), path };
        let size =
            Command::new("stty").args(["rows", "30", "cols", columns]).stdin(terminal.theirs()).status();
        assert!(size.expect("stty").success());
        terminal
    }

    /// The end for a process.
    pub(crate) fn theirs(&self) -> Stdio {
        let mut options = std::fs::File::options();
        options.read(true).write(true).open(&self.path).expect("its other end").into()
    }
}

/// The exit code.
pub(crate) fn code(output: &Output) -> i32 {
    output.status.code().expect("it ends by itself")
}

/// What it printed.
pub(crate) fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// What it complained about.
pub(crate) fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// What a command says on standard error where it was given `--json`: objects, each on its line.
pub(crate) fn told(output: &Output) -> Vec<serde_json::Value> {
    let text = stderr(output);
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {text}")))
        .collect()
}

/// The root of the repository.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("it exists")
}

/// A folder of this test's own, empty. Its name must be none that another file asks for.
#[track_caller]
pub(crate) fn scratch(name: &str) -> PathBuf {
    static OWNERS: Mutex<BTreeMap<String, &str>> = Mutex::new(BTreeMap::new());
    let file = Location::caller().file();
    let owner = *OWNERS.lock().expect("no panic").entry(name.to_owned()).or_insert(file);
    assert_eq!(owner, file, "`{name}` is a folder of another file's");
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    drop(std::fs::remove_dir_all(&path));
    std::fs::create_dir_all(&path).expect("the target folder is writable");
    path
}

/// The packets of a capture: times, lengths and bytes.
pub(crate) fn packets(path: &Path) -> Vec<String> {
    let output = run(&["filter", "-xx", "", arg(path)]);
    let fields =
        stdout(&run(&["filter", "--fields", "frame.time_epoch,frame.len,frame.cap_len", "", arg(path)]));
    let text = stdout(&output);
    let mut bytes: Vec<String> = Vec::new();
    for line in text.lines() {
        match bytes.last_mut() {
            Some(last) if line.starts_with('\t') => last.push_str(line),
            _ => bytes.push(String::new()),
        }
    }
    fields.lines().zip(bytes).map(|(fields, bytes)| format!("{fields} {bytes}")).collect()
}

/// A path as an argument.
pub(crate) fn arg(path: &Path) -> &str {
    path.to_str().expect("test paths are UTF-8")
}

/// Says something past the capture of the test runner, which hides what passing tests print.
pub(crate) fn say(text: &str) {
    drop(writeln!(std::io::stderr(), "{text}"));
}

/// A pcap file of small frames from 02:00:00:00:00:01, so many; `link` is the last field of its header.
pub(crate) fn pcap(link: u32, packets: usize) -> Vec<u8> {
    let words = |words: &[u32]| words.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<u8>>();
    let record = [words(&[1, 0, 60, 60]), frame()].concat();
    [words(&[0xa1b2_c3d4, 0x0004_0002, 0, 0, 65535, link]), record.repeat(packets)].concat()
}

fn frame() -> Vec<u8> {
    let mut frame = vec![0; 60];
    frame[..14].copy_from_slice(&[2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 8, 0]);
    frame
}

/// A pcapng block.
pub(crate) fn block(kind: u32, body: &[u8]) -> Vec<u8> {
    let len = (body.len() as u32 + 12).to_le_bytes();
    [&kind.to_le_bytes()[..], &len, body, &len].concat()
}

/// A pcapng section header, and an interface of each of these link types.
pub(crate) fn section(linktypes: &[u8]) -> Vec<u8> {
    let header = [&[0x4d, 0x3c, 0x2b, 0x1a, 1, 0, 0, 0][..], &[0xff; 8]].concat();
    let interfaces = linktypes.iter().flat_map(|&linktype| block(1, &[linktype, 0, 0, 0, 0, 0, 0, 0]));
    block(0x0a0d_0d0a, &header).into_iter().chain(interfaces).collect()
}

/// A packet of such an interface: the frame that [`pcap`] has.
pub(crate) fn enhanced(interface: u8) -> Vec<u8> {
    block(
        6,
        &[&[interface, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 60, 0, 0, 0, 60, 0, 0, 0][..], &frame()].concat(),
    )
}
