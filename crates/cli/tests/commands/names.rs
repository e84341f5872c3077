//! Files whose names are not UTF-8, or not one line: on Linux a name is any bytes.

#![cfg(target_os = "linux")]

use crate::common::{self, code, root, scratch, sluss, stderr, stdout};
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::Output;

fn bytes_of(path: &Path) -> Vec<u8> {
    std::fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// A folder with a capture whose name is not UTF-8.
struct Odd {
    folder: PathBuf,
    capture: PathBuf,
}

/// A word of a command line.
type Word<'w> = &'w dyn AsRef<OsStr>;

impl Odd {
    /// `None` where the file system does not have such names.
    fn new(name: &str) -> Option<Odd> {
        let folder = scratch(name);
        let capture = folder.join(OsStr::from_bytes(b"in\xff.pcap"));
        if let Err(error) = std::fs::copy(root().join("captures/web.pcap"), &capture) {
            common::say(&format!("skipped: {name}: {error}"));
            return None;
        }
        Some(Odd { folder, capture })
    }

    fn path(&self, name: &[u8]) -> PathBuf {
        self.folder.join(OsStr::from_bytes(name))
    }

    /// A file of this name, which holds a text.
    fn file(&self, name: &[u8], text: &[u8]) -> PathBuf {
        let path = self.path(name);
        std::fs::write(&path, text).unwrap();
        path
    }

    fn run(&self, args: &[Word<'_>]) -> Output {
        let args = args.iter().map(|arg| arg.as_ref());
        sluss(&[]).args(args).env("SLUSS_RUNTIME_DIR", &self.folder).output().unwrap()
    }

    /// What a command that goes well prints.
    #[track_caller]
    fn said(&self, args: &[Word<'_>]) -> String {
        let output = self.run(args);
        assert_eq!(code(&output), 0, "{}", stderr(&output));
        stdout(&output)
    }

    #[track_caller]
    fn json(&self, args: &[Word<'_>]) -> serde_json::Value {
        serde_json::from_str(&self.said(args)).unwrap()
    }

    /// What is told where the user is wrong.
    #[track_caller]
    fn refused(&self, args: &[Word<'_>]) -> String {
        let output = self.run(args);
        assert_eq!(code(&output), 2, "{}", stderr(&output));
        stderr(&output)
    }
}

/// `@FILE`.
fn at(file: &Path) -> OsString {
    OsStr::from_bytes(&[b"@", file.as_os_str().as_bytes()].concat()).to_owned()
}

#[test]
fn captures_and_filters_may_have_any_name() {
    let Some(odd) = Odd::new("odd-filters") else { return };
    let (input, out, again) = (&odd.capture, &odd.path(b"out\xfe.pcapng"), &odd.path(b"again\xfe.pcap"));
    let (filter, list) = (&odd.file(b"\xff.txt", b"tcp port 80"), &odd.file(b"filter\xff", b"tcp port 80"));
    let at = &at(list);
    odd.said(&[&"filter", &"tcp port 80", input, &"-o", out]);
    assert!(bytes_of(out).starts_with(b"\x0a\x0d\x0d\x0a"), "the end of the name says pcapng");
    let pattern = &odd.path(b"in?.p*");
    let ways: [&[Word<'_>]; 8] = [
        &[&"tcp port 80", input],
        &[&"", out],
        &[&"-r", out],
        &[at, input],
        &[&"-f", at, input],
        &[&"-F", filter, input],
        &[&"tcp port 80", pattern],
        &[input, &"--", at],
    ];
    for (number, args) in ways.iter().enumerate() {
        let command: [Word<'_>; 2] = [&"filter", &"--count"];
        assert_eq!(odd.said(&[&command, *args].concat()), "96\n", "way {number}");
    }
    let summary = odd.json(&[&"filter", &"--json", at, input, &"-o", again]);
    assert!(summary["filters"][0]["output"].as_str().unwrap().ends_with("again\u{fffd}.pcap"), "{summary}");
}

#[test]
fn every_command_takes_any_name() {
    let Some(odd) = Odd::new("odd-names") else { return };
    let (input, out) = (&odd.capture, &odd.path(b"out\xfe.pcap"));
    let at = &at(&odd.file(b"filter\xff", b"tcp port 80"));
    assert!(odd.said(&[&"trace", at, input, &"-n", &"9"]).contains("in\u{fffd}.pcap"));
    let trace = odd.json(&[&"trace", &"--json", at, input, &"-n", &"9"]);
    assert!(trace["file"].as_str().unwrap().ends_with("in\u{fffd}.pcap"), "{trace}");
    assert!(odd.said(&[&"explain", at]).contains("port 80"));
    assert!(!odd.said(&[&"compile", at]).is_empty());
    assert_eq!(odd.json(&[&"blast", input, &"--loop", &"1", &"--to", out, &"--json"])["packets"], 121);
    let graph = &odd.file(b"graph\xff.toml", &bytes_of(&root().join("examples/tee.toml")));
    assert!(odd.said(&[&"run", &"--check", graph]).contains("graph\u{fffd}.toml"));
    let bench = odd.said(&[&"bench", &"engine", &"--net", &"filter", &"--runs", &"1", &"--pcap", input]);
    assert!(bench.contains("every packet accounted for"));
}

/// Names may be any bytes; filters are text, wherever they stand.
#[test]
fn what_a_file_holds_is_text() {
    let Some(odd) = Odd::new("odd-texts") else { return };
    let input = &odd.capture;
    let text = &OsStr::from_bytes(b"tcp\xff");
    assert!(odd.refused(&[&"filter", &"--count", text, input]).contains("not UTF-8 text"));
    let filter = &odd.file(b"filter\xff", b"tcp port 8\xb2");
    assert!(odd.refused(&[&"filter", &"-F", filter, input]).contains("not UTF-8 text: byte 10"));
    let set = odd.file(b"set.txt", b"10.0.0.1\n10.0.0.\xb2\n");
    let filter = &format!("host in {{@{}}}", set.display());
    assert!(odd.refused(&[&"filter", &"--count", filter, input]).contains("10.0.0.\u{fffd}"));
}

#[test]
fn a_capture_of_any_name_that_is_not_there_is_told_with_what_is() {
    let Some(odd) = Odd::new("odd-missing") else { return };
    let below = odd.path(b"below\xff");
    std::fs::create_dir_all(&below).unwrap();
    std::fs::copy(&odd.capture, below.join("web.pcap")).unwrap();
    for (wrong, right) in [
        (odd.path(b"inn\xff.pcap"), r"/in\xff.pcap'`?"),
        (below.join("wbe.pcap"), r"/below\xff/web.pcap'`?"),
        (below.join("web.pcap.zst"), r"/below\xff/web.pcap'`?"),
    ] {
        let output = odd.run(&[&"filter", &"--count", &"tcp", &wrong]);
        let told = stderr(&output);
        let help = told.lines().nth(1).unwrap_or_default();
        assert_eq!(code(&output), 3, "{told}");
        assert!(help.starts_with("help: did you mean `$'/") && help.ends_with(right), "{told}");
    }
}

#[test]
fn an_input_of_any_name_is_not_overwritten() {
    let Some(odd) = Odd::new("odd-inputs") else { return };
    let bytes = bytes_of(&odd.capture);
    let told = odd.refused(&[&"filter", &"ip", &"-o", &odd.capture, &odd.capture]);
    assert!(told.contains("in\u{fffd}.pcap is both"), "{told}");
    assert_eq!(bytes_of(&odd.capture), bytes);
}

/// Also the folder of the counters.
#[test]
fn what_is_removed_may_have_any_name() {
    let folder = scratch("odd-counters").join(OsStr::from_bytes(b"\xff"));
    if let Err(error) = std::fs::create_dir(&folder) {
        return common::say(&format!("skipped: what_is_removed_may_have_any_name: {error}"));
    }
    // Killed by the kernel, it cannot remove its counters.
    let mut child = sluss(&["run", "-", "--name", "gone"])
        .env("SLUSS_RUNTIME_DIR", &folder)
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::null())
        .spawn()
        .unwrap();
    let graph = "links = [\"a.output -> b.input\"]\n[app.a]\ntype = \"source\"\n[app.b]\ntype = \"sink\"\n";
    std::io::Write::write_all(&mut child.stdin.take().unwrap(), graph.as_bytes()).unwrap();
    let runs = || {
        let output = sluss(&["ps", "--json"]).env("SLUSS_RUNTIME_DIR", &folder).output().unwrap();
        stdout(&output).contains("\"running\"")
    };
    let begin = std::time::Instant::now();
    while !runs() {
        assert!(begin.elapsed() < std::time::Duration::from_secs(20) && child.try_wait().unwrap().is_none());
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let output = sluss(&["ps", "--clean", "--json"]).env("SLUSS_RUNTIME_DIR", &folder).output().unwrap();
    let object: serde_json::Value =
        serde_json::from_str(&stdout(&output)).unwrap_or_else(|error| panic!("{error}: {}", stderr(&output)));
    assert!(object["path"].as_str().unwrap().contains("\u{fffd}/gone."), "{object}");
}

/// A name makes no line of its own, nor colours, in any command.
#[test]
fn a_name_makes_no_lines() {
    const NAME: &str = "a\n\u{1b}[31merror: b";
    let folder = scratch("names-with-lines");
    let whole = std::fs::read(root().join("captures/web.pcap")).unwrap();
    let files: [(&str, &[u8]); 6] = [
        ("pcap", &whole),
        ("cut.pcap", &whole[..100]),
        ("txt.pcap", b"hello"),
        ("filter", b"tcp prot 80"),
        ("set", b"10.0.0.300"),
        ("toml", b"links = [1]\n"),
    ];
    for (end, bytes) in files {
        std::fs::write(folder.join(format!("{NAME}.{end}")), bytes).unwrap();
    }
    let lines: [&[&str]; 19] = [
        &["filter", "--count", "tcp", "N.cut.pcap"],
        &["filter", "--count", "tcp", "N.txt.pcap", "none/N"],
        &["filter", "tcp", "N.pcap", "-o", "N.pcap"],
        &["filter", "tcp", "N.pcap", "-o", "none/N"],
        &["filter", "--number", "tcp", "N.pcap", "N.cut.pcap"],
        &["filter", "-F", "N.filter", "N.pcap"],
        &["filter", "@N.filter", "N.pcap"],
        &["filter", "host in {@N.set}", "N.pcap"],
        &["filter", "host N", "N.pcap"],
        &["trace", "tcp", "N.pcap", "-n", "9999"],
        &["trace", "tcp", "N.pcap"],
        &["compile", "host N"],
        &["run", "N.toml"],
        &["run", "--check", "N.pcap"],
        &["blast", "N.pcap", "--to", "N.pcap"],
        &["bench", "engine", "--net", "filter", "--pcap", "N.txt.pcap"],
        &["man", "N"],
        &["top", "--once", "N"],
        &["N.pcap"],
    ];
    for args in lines {
        let args: Vec<String> = args.iter().map(|arg| arg.replace('N', NAME)).collect();
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        let output = sluss(&args).current_dir(&folder).env("SLUSS_RUNTIME_DIR", &folder).output().unwrap();
        for said in [stderr(&output), stdout(&output)] {
            assert!(!said.contains("a\n") && !said.contains("\u{1b}[31m"), "{args:?}: {said:?}");
        }
    }
}
