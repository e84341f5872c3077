//! `sluss set add` and `del`: sets of graphs that run.

use crate::common::running::{Live, folder, until};
use crate::common::{self, code, sluss, stderr, stdout};
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::Output;
use std::time::Duration;

/// Packets to 10.0.0.9 for ever, of which those to members of a set go on.
const GRAPH: &str = "\
links = [\"source.output -> filter.input\", \"filter.output -> sink.input\"]
[app.source]
type = \"synth\"
dst = \"10.0.0.9\"
rate_pps = 2000
[app.filter]
type = \"filter\"
filter = \"dst host in {@members.txt}\"
[app.sink]
type = \"sink\"
";

fn set(folder: &Path, args: &[&str]) -> Output {
    let mut command = sluss(&["set"]);
    command.args(args).current_dir(folder).env("SLUSS_RUNTIME_DIR", folder.join("runtime")).output().unwrap()
}

#[track_caller]
fn object(output: &Output) -> Value {
    assert_eq!(code(output), 0, "{}", stderr(output));
    serde_json::from_str(&stdout(output)).unwrap()
}

/// Packets of a run that came in, and that went on.
fn counts(last: &Value) -> (u64, u64) {
    let packets = |link: &str| last["links"][link]["txpackets"].as_u64().unwrap();
    (packets("source.output -> filter.input"), packets("filter.output -> sink.input"))
}

/// A run of the graph that answers.
fn start(folder: &Path) -> Live {
    let live = Live::start(folder, &["--name", "gate", "--json"]);
    until("the control socket", || sockets(folder) == 1);
    live
}

fn sockets(folder: &Path) -> usize {
    let files = fs::read_dir(folder.join("runtime")).unwrap().flatten();
    files.filter(|file| file.file_name().to_string_lossy().ends_with(".control")).count()
}

fn ran(live: Live) -> (u64, u64) {
    let (ended, printed) = live.end("INT");
    assert_eq!(ended, 130);
    counts(&serde_json::from_str(printed.last().unwrap()).unwrap())
}

#[test]
fn addresses_come_and_go_while_a_graph_runs() {
    let folder = folder("set-running", GRAPH);
    fs::write(folder.join("members.txt"), "192.0.2.1\n").unwrap();
    let live = start(&folder);
    std::thread::sleep(Duration::from_millis(200));
    let added =
        object(&set(&folder, &["add", "gate", "members.txt", "10.0.0.0/24", "2001:db8::/32", "--json"]));
    assert_eq!(
        (added["type"].as_str(), added["added"].as_u64(), added["entries"].as_u64()),
        (Some("set"), Some(2), Some(2))
    );
    std::thread::sleep(Duration::from_millis(300));
    // An address within what was added, and one of the file.
    let removed = set(&folder, &["del", "gate", "members.txt", "10.0.0.9", "192.0.2.1"]);
    assert_eq!(code(&removed), 0, "{}", stderr(&removed));
    assert!(
        stdout(&removed).starts_with("2 entries taken out of members.txt, in effect after "),
        "{}",
        stdout(&removed)
    );
    std::thread::sleep(Duration::from_millis(300));
    let (came, went_on) = ran(live);
    assert!(0 < went_on && went_on < came, "{went_on} of {came}");
    // The file is as it was.
    assert_eq!(fs::read_to_string(folder.join("members.txt")).unwrap(), "192.0.2.1\n");
}

#[test]
fn an_entry_expires() {
    let folder = folder("set-expires", GRAPH);
    fs::write(folder.join("members.txt"), "192.0.2.1\n").unwrap();
    let live = start(&folder);
    let process = live.child.id().to_string();
    fs::write(folder.join("guests.txt"), "# guests\n10.0.0.9 ; one\n\n10.0.0.10\n").unwrap();
    let mut command = sluss(&["set", "add", &process, "members.txt", "-", "--timeout", "400ms"]);
    command.current_dir(&folder).env("SLUSS_RUNTIME_DIR", folder.join("runtime"));
    let output = command.stdin(fs::File::open(folder.join("guests.txt")).unwrap()).output().unwrap();
    assert!(stdout(&output).starts_with("2 entries added to members.txt for 400ms"), "{}", stderr(&output));
    // The graph is read once more when the entries have expired.
    for _ in 0..2 {
        let change = live.printed.recv_timeout(Duration::from_secs(30)).unwrap();
        assert!(change.contains("\"reconfigured\":[\"filter\"]"), "{change}");
    }
    let more = object(&set(&folder, &["add", "gate", "members.txt", "192.0.2.2", "--json"]));
    assert_eq!(more["entries"].as_u64(), Some(1), "the others have expired");
    let (came, went_on) = ran(live);
    assert!(0 < went_on && went_on < came, "{went_on} of {came}");
}

#[test]
fn an_entry_expires_where_the_file_was_wrong_meanwhile() {
    let folder = folder("set-expires-late", GRAPH);
    fs::write(folder.join("members.txt"), "192.0.2.1\n").unwrap();
    let live = start(&folder);
    let added = set(&folder, &["add", "gate", "members.txt", "10.0.0.9", "--timeout", "1s"]);
    assert_eq!(code(&added), 0, "{}", stderr(&added));
    let changed = || {
        let change = live.printed.recv_timeout(Duration::from_secs(30)).unwrap();
        assert!(change.contains("\"reconfigured\":[\"filter\"]"), "{change}");
    };
    changed();
    // The file of the set cannot be read when the entry expires.
    fs::rename(folder.join("members.txt"), folder.join("away.txt")).unwrap();
    live.told("members.txt");
    fs::rename(folder.join("away.txt"), folder.join("members.txt")).unwrap();
    changed();
    let (came, went_on) = ran(live);
    assert!(0 < went_on && went_on < came, "{went_on} of {came}");
}

#[test]
fn what_is_refused_changes_nothing() {
    let folder = folder("set-refused", GRAPH);
    fs::write(folder.join("members.txt"), "10.0.0.9\n").unwrap();
    let live = start(&folder);
    for (args, expected, words) in [
        (
            &["add", "gate", "nosuch.txt", "192.0.2.1"][..],
            2,
            "there is no set `nosuch.txt`; there are members.txt",
        ),
        (&["add", "gate", "members.txt", "10.0.0.300"], 2, "`10.0.0.300`: an IPv4 address is four numbers"),
        (&["add", "gate", "members.txt", "80"], 2, "its entries are addresses, and a number alone is a port"),
        (&["add", "gate", "members.txt", "80"], 2, "error[GR012]: `filter` of app `filter`"),
        (&["add", "gate", "members.txt", "02:00:00:00:00:01"], 2, "error[GR012]: `filter` of app `filter`"),
        (&["add", "gates", "members.txt", "10.0.0.3"], 2, "there are gate ("),
        (
            &["add", "/nowhere/control", "members.txt", "10.0.0.3"],
            3,
            "no instance answers at /nowhere/control",
        ),
        (&["add", "gate", "members.txt"], 2, "no ADDRESS given"),
        (&["add", "gate", "members.txt", "10.0.0.3", "--timeout", "soon"], 2, "--timeout"),
    ] {
        let output = set(&folder, args);
        assert_eq!(code(&output), expected, "{args:?}: {}", stderr(&output));
        assert!(stderr(&output).contains(words), "{args:?}: {}", stderr(&output));
    }
    // The graph's file is wrong by now: what runs goes on, and the change is not made.
    fs::write(folder.join("net.toml"), "links = [\"a.b -> c.d\"]\n").unwrap();
    let output = set(&folder, &["del", "gate", "members.txt", "10.0.0.9"]);
    assert_eq!(code(&output), 2, "{}", stderr(&output));
    assert!(stderr(&output).contains("nothing has changed: "), "{}", stderr(&output));
    fs::write(folder.join("net.toml"), GRAPH).unwrap();
    let added = object(&set(&folder, &["add", "gate", "members.txt", "192.0.2.7", "--json"]));
    assert_eq!(added["entries"].as_u64(), Some(1));
    let (came, went_on) = ran(live);
    assert!(came > 0 && came - went_on <= 256, "{went_on} of {came}");
}

#[test]
fn one_that_runs_is_meant_and_none_that_has_crashed() {
    let folder = folder("set-crashed", GRAPH);
    fs::write(folder.join("members.txt"), "192.0.2.1\n").unwrap();
    let mut crashed = start(&folder);
    crashed.child.kill().unwrap();
    crashed.child.wait().unwrap();
    let live = Live::start(&folder, &["--name", "gate", "--json"]);
    until("the control socket", || sockets(&folder) == 2);
    let added = object(&set(&folder, &["add", "gate", "members.txt", "192.0.2.2", "--json"]));
    assert_eq!(added["entries"].as_u64(), Some(1));
    let (came, went_on) = ran(live);
    assert!(came > 0 && went_on == 0, "{went_on} of {came}");
}

#[test]
fn only_graphs_with_sets_have_a_control_socket() {
    let plain = folder("set-none", common::running::ENDLESS);
    let live = Live::start(&plain, &["--name", "plain"]);
    let output = set(&plain, &["add", "plain", "members.txt", "192.0.2.1"]);
    assert_eq!((code(&output), sockets(&plain)), (3, 0), "{}", stderr(&output));
    // One that gets a filter with a set later has one from then on.
    fs::write(plain.join("members.txt"), "").unwrap();
    fs::write(plain.join("net.toml"), GRAPH).unwrap();
    live.told("reloaded");
    let added = object(&set(&plain, &["add", "plain", "members.txt", "10.0.0.9", "--json"]));
    assert_eq!((added["entries"].as_u64(), sockets(&plain)), (Some(1), 1));
    assert_eq!(live.end("INT").0, 130);
    assert_eq!(sockets(&plain), 0, "it goes when the graph ends");
}
