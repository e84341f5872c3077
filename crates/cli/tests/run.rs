//! `sluss run`: how graphs run, change and end.

mod common;

use common::{arg, code, root, scratch, signal, sluss, stderr, stdout};
use serde_json::Value;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

/// A graph that never ends.
const ENDLESS: &str = "\
links = [\"source.output -> sink.input\"]
[app.source]
type = \"source\"
[app.sink]
type = \"sink\"
";

/// A folder with a graph in it.
fn folder(name: &str, graph: &str) -> PathBuf {
    let folder = scratch(name);
    fs::write(folder.join("net.toml"), graph).unwrap();
    folder
}

fn command(folder: &Path, args: &[&str]) -> Command {
    let mut command = sluss(&["run", "net.toml"]);
    command.args(args).current_dir(folder).env("SLUSS_RUNTIME_DIR", folder.join("runtime"));
    command
}

fn run(folder: &Path, args: &[&str]) -> Output {
    command(folder, args).output().unwrap()
}

/// The last line on standard output.
fn last_object(output: &Output) -> Value {
    serde_json::from_str(stdout(output).lines().last().unwrap_or_default()).unwrap()
}

/// Waits until something holds.
#[track_caller]
fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !holds() {
        assert!(begin.elapsed() < Duration::from_secs(30), "{what} does not come");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// A run whose output is read line by line.
struct Live {
    child: Child,
    /// From standard error.
    told: Receiver<String>,
    /// From standard output.
    printed: Receiver<String>,
}

/// The lines of a pipe, as they come.
fn lines(pipe: impl Read + Send + 'static) -> Receiver<String> {
    let (tell, told) = channel();
    std::thread::spawn(move || {
        BufReader::new(pipe).lines().map_while(Result::ok).try_for_each(|line| tell.send(line)).ok();
    });
    told
}

impl Live {
    fn start(folder: &Path, args: &[&str]) -> Live {
        Live::reading(folder, args, Stdio::null())
    }

    fn reading(folder: &Path, args: &[&str], stdin: Stdio) -> Live {
        Live::printing(folder, args, stdin, Stdio::piped())
    }

    fn printing(folder: &Path, args: &[&str], stdin: Stdio, stdout: Stdio) -> Live {
        let mut command = command(folder, args);
        Live::of(command.stdin(stdin).stdout(stdout).stderr(Stdio::piped()).spawn().unwrap(), folder)
    }

    fn of(mut child: Child, folder: &Path) -> Live {
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
    fn told(&self, words: &str) -> String {
        loop {
            let line = self.told.recv_timeout(Duration::from_secs(30));
            let line = line.unwrap_or_else(|error| panic!("`{words}` is not told: {error}"));
            if line.contains(words) {
                return line;
            }
        }
    }

    /// Ends it by a signal. Returns the exit code, and the lines on standard output that were not looked at.
    fn end(mut self, with: &str) -> (i32, Vec<String>) {
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

#[test]
fn a_finite_graph_ends_by_itself_and_reports() {
    let folder = folder("finite", &ENDLESS.replace("\"source\"\n", "\"source\"\ncount = 12345\n"));
    let output = run(&folder, &[]);
    assert_eq!((code(&output), stderr(&output).as_str()), (0, ""));
    let text = stdout(&output);
    assert!(text.contains("source.output -> sink.input   12,345"), "{text}");
    assert!(text.contains("16,384 free, 0 in links, 0 kept by apps"), "{text}");
    assert_eq!(stdout(&run(&folder, &["--no-report"])), "");
}

#[test]
fn the_last_line_is_one_object_with_these_keys() {
    let folder = folder("json", ENDLESS);
    let begin = Instant::now();
    let output = run(&folder, &["--duration", "300ms", "--json"]);
    assert!(begin.elapsed() >= Duration::from_millis(300) && begin.elapsed() < Duration::from_secs(60));
    assert_eq!((code(&output), stderr(&output).as_str()), (0, ""));
    let object = last_object(&output);
    let keys: Vec<&String> = object.as_object().unwrap().keys().collect();
    let expected =
        "v type breaths cpu_s seconds workers apps links received delivered drops inside pool balanced";
    assert_eq!(keys, expected.split(' ').collect::<Vec<_>>());
    assert!(object["seconds"].as_f64().unwrap() > 0.2 && object["workers"] == 1, "{object}");
    assert_eq!(object["apps"]["sink"]["failed"], false);
    assert_eq!(
        (&object["v"], &object["type"], &object["balanced"]),
        (&1.into(), &"run".into(), &true.into())
    );
    assert!(object["breaths"].as_u64().unwrap() > 0 && object["cpu_s"].as_f64().unwrap() > 0.0);
    assert_eq!(object["apps"]["sink"]["state"], "running");
    assert_eq!(object["apps"]["sink"]["restarts"], 0);
    let link = &object["links"]["source.output -> sink.input"];
    let number = |object: &Value, key: &str| object[key].as_u64().unwrap();
    assert!(number(link, "txpackets") > 0);
    assert_eq!(number(link, "txpackets"), number(link, "rxpackets") + number(link, "queued"));
    assert_eq!(link["txdrop"], 0);
    let pool = &object["pool"];
    assert_eq!(number(pool, "total"), 16384);
    assert_eq!(number(pool, "total"), number(pool, "free") + number(pool, "queued") + number(pool, "held"));
}

#[test]
fn drops_of_apps_that_are_gone_are_told() {
    let filter = ENDLESS
        .replace("source.output -> sink.input", "source.output -> f.input\", \"f.output -> sink.input")
        + "[app.f]\ntype = \"filter\"\nfilter = \"ip\"\n";
    let folder = folder("gone", &filter);
    let live = Live::start(&folder, &[]);
    until("a packet that is rejected", || {
        let files = fs::read_dir(folder.join("runtime")).unwrap().flatten();
        let seen = files.filter_map(|file| engine::shm::Snapshot::read(&file.path()).ok());
        seen.flat_map(|seen| seen.records)
            .any(|record| record.name == "f" && record.drops().any(|(_, count)| count > 0))
    });
    fs::write(folder.join("net.toml"), ENDLESS).unwrap();
    signal(&live.child, "HUP");
    live.told("stopped      f");
    let seen = sluss(&["ps", "--json"]).env("SLUSS_RUNTIME_DIR", folder.join("runtime")).output().unwrap();
    let seen: Value = serde_json::from_str(stdout(&seen).lines().next().unwrap()).unwrap();
    assert!(seen["drops"].as_u64() > Some(0), "{seen}");
    let (_, printed) = live.end("TERM");
    let text = printed.join("\n");
    assert_eq!(words(&text, &["(gone)"])[1], "rejected", "{text}");
    assert!(text.contains("; every packet accounted for"), "{text}");
}

/// A capture through a counter and two filters.
const COUNTED: &str = "\
links = [\"in.output -> count.input\", \"count.output -> ip.input\", \"ip.output -> tcp.input\", \"tcp.output -> sink.input\"]
[app.in]
type = \"pcap_reader\"
path = \"CAPTURES/web.pcap\"
[app.count]
type = \"counter\"
count = [{ name = \"web\", filter = \"tcp port 80\" }, { name = \"none\", filter = \"ip proto 254\" }]
[app.ip]
type = \"filter\"
filter = \"ip\"
[app.tcp]
type = \"filter\"
filter = \"tcp\"
[app.sink]
type = \"sink\"
";

fn counted(name: &str) -> PathBuf {
    folder(name, &COUNTED.replace("CAPTURES", arg(&root().join("captures"))))
}

/// The words of the line that begins with these.
fn words<'t>(text: &'t str, first: &[&str]) -> Vec<&'t str> {
    let mut lines = text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
    lines.find(|words| words.starts_with(first)).unwrap_or_else(|| panic!("no {first:?} in\n{text}"))
}

#[test]
fn a_report_says_what_each_app_counted_and_dropped_and_that_it_adds_up() {
    let text = stdout(&run(&counted("counted"), &[]));
    assert_eq!(words(&text, &["app", "counter"]), ["app", "counter", "value"]);
    assert_eq!(words(&text, &["count", "web_packets"]), ["count", "web_packets", "96"]);
    assert_eq!(words(&text, &["sink", "delivered"]), ["sink", "delivered", "46"]);
    assert!(!text.contains("none_packets"), "what is zero is not told: {text}");
    assert_eq!(words(&text, &["ip", "rejected"]), ["ip", "rejected", "55"]);
    assert_eq!(words(&text, &["tcp", "rejected"]), ["tcp", "rejected", "20"]);
    let account = "121 packets: 46 delivered, 75 dropped, 0 still inside; every packet accounted for";
    assert!(text.contains(account), "{text}");
    let endless = stdout(&run(&folder("account", ENDLESS), &["--duration", "100ms"]));
    let account =
        endless.lines().find(|line| line.ends_with("; every packet accounted for")).unwrap_or_default();
    let number = |word: &str| word.replace(',', "").parse().ok();
    let numbers: Vec<u64> = account.split(' ').filter_map(number).collect();
    assert!(
        matches!(*numbers, [received, delivered, dropped, inside] if received == delivered + dropped + inside),
        "{endless}"
    );
    // What an app makes its packets of is inside, too.
    let synth = ENDLESS.replace("\"source\"", "\"synth\"");
    let text = stdout(&run(&folder("account-synth", &synth), &["--duration", "50ms"]));
    assert!(text.contains(", 1 still inside; every") && text.contains(", 1 kept by apps"), "{text}");
}

#[test]
fn an_object_says_what_each_app_counted_and_dropped() {
    let object = last_object(&run(&counted("counted-json"), &["--json"]));
    let apps = &object["apps"];
    let counters = &apps["count"]["counters"];
    assert_eq!([&counters["web_packets"], &counters["none_packets"], &counters["packets"]], [96, 0, 121]);
    assert_eq!(apps["sink"]["counters"], serde_json::json!({ "delivered": 46 }), "nothing of the engine's");
    assert_eq!(apps["ip"]["drops"], serde_json::json!({ "rejected": 55 }));
    assert_eq!(apps["tcp"]["drops"], serde_json::json!({ "rejected": 20 }));
    assert_eq!(object["drops"], serde_json::json!({ "rejected": 75 }));
    assert_eq!(
        ["received", "delivered", "inside"].map(|key| object[key].as_u64()),
        [Some(121), Some(46), Some(0)]
    );
}

#[test]
fn captures_pass_a_graph_unchanged() {
    let capture = root().join("captures/web.pcap");
    let graph = format!(
        "links = [\"reader.output -> writer.input\"]\n[app.reader]\ntype = \"pcap_reader\"\npath = {:?}\n[app.writer]\ntype = \"pcap_writer\"\npath = \"out.pcap\"\n",
        arg(&capture)
    );
    let folder = folder("captures", &graph);
    for (workers, clock) in [("1", "capture"), ("2", "wall")] {
        let output = run(&folder, &["--json", "--workers", workers, "--clock", clock]);
        assert_eq!(code(&output), 0, "{}", stderr(&output));
        assert_eq!(last_object(&output)["balanced"], true);
        assert_eq!(fs::read(folder.join("out.pcap")).unwrap(), fs::read(&capture).unwrap());
    }
    for (wrong, why) in [
        (["--workers=2", "--clock=capture"], "error: `--clock capture` is for one worker"),
        (["--restart-first=0", "--json"], "use 1ms or more"),
    ] {
        let output = run(&folder, &wrong);
        assert_eq!(code(&output), 2);
        assert!(stderr(&output).contains(why), "{}", stderr(&output));
    }
}

/// A graph that copies standard input to a file.
const PIPED: &str = "\
links = [\"reader.output -> writer.input\"]
[app.reader]
type = \"pcap_reader\"
path = \"-\"
[app.writer]
type = \"pcap_writer\"
path = \"out.pcap\"
";

#[test]
fn a_capture_comes_in_by_standard_input_while_the_graph_changes() {
    let folder = folder("piped", PIPED);
    let whole = fs::read(root().join("captures/web.pcap")).unwrap();
    let mut live = Live::reading(&folder, &[], Stdio::piped());
    let mut pipe = live.child.stdin.take().unwrap();
    // Before anything has come, and after some has, in the middle of a packet.
    for (bytes, app) in [(&whole[..0], "one"), (&whole[..10_000], "two"), (&whole[10_000..], "three")] {
        pipe.write_all(bytes).unwrap();
        fs::write(folder.join("net.toml"), format!("{PIPED}[app.{app}]\ntype = \"sink\"\n")).unwrap();
        let begin = Instant::now();
        signal(&live.child, "HUP");
        live.told("net.toml: reloaded");
        assert!(begin.elapsed() < Duration::from_secs(10));
        assert!(live.child.try_wait().unwrap().is_none(), "more may come");
    }
    drop(pipe);
    assert_eq!(live.child.wait().unwrap().code(), Some(0));
    assert_eq!(fs::read(folder.join("out.pcap")).unwrap(), whole);
}

#[test]
fn a_signal_ends_a_run_whose_input_is_silent() {
    let folder = folder("silent", PIPED);
    let mut live = Live::reading(&folder, &["--json"], Stdio::piped());
    let pipe = live.child.stdin.take();
    let begin = Instant::now();
    let (code, printed) = live.end("INT");
    assert!(begin.elapsed() < Duration::from_secs(10));
    assert_eq!((code, printed.len()), (130, 1));
    drop(pipe);
    // What is no capture ends the run.
    let output = command(&folder, &["--no-report"]).stdin(Stdio::null()).output().unwrap();
    assert_eq!(
        code_and_first_line(&output),
        (5, "error: reader: standard input: the file is empty".to_owned())
    );
}

fn code_and_first_line(output: &Output) -> (i32, String) {
    (code(output), stderr(output).lines().next().unwrap_or_default().to_owned())
}

#[test]
fn workers_are_balanced_without_loss() {
    let mut graph = String::from("links = [\"source.output -> join_0.input\"");
    (0..6).for_each(|n| graph.push_str(&format!(", \"join_{n}.output -> join_{}.input\"", n + 1)));
    graph.push_str(
        ", \"join_6.output -> sink.input\"]\n[app.source]\ntype = \"source\"\n[app.sink]\ntype = \"sink\"\n",
    );
    (0..7).for_each(|n| graph.push_str(&format!("[app.join_{n}]\ntype = \"join\"\n")));
    let output =
        run(&folder("workers", &graph), &["--duration", "1.2s", "--json", "--workers", "2", "--cpu", "0,1"]);
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    let object = last_object(&output);
    assert_eq!((&object["balanced"], &object["pool"]["total"]), (&true.into(), &32768.into()));
}

#[test]
fn signals_end_a_run_with_its_report() {
    for (name, expected) in [("INT", 130), ("TERM", 143)] {
        let folder = folder(&format!("signal{name}"), ENDLESS);
        let (code, printed) = Live::start(&folder, &["--json"]).end(name);
        assert_eq!(code, expected);
        let object: Value = serde_json::from_str(&printed[printed.len() - 1]).unwrap();
        assert_eq!(object["balanced"], true);
    }
}

/// As timeout(1) does: it signals a process, and then its group.
#[test]
fn a_signal_that_comes_twice_at_once_ends_a_run_with_its_report() {
    for round in 0..8 {
        let mut live = Live::start(&folder("signal-twice", ENDLESS), &["--json"]);
        let id = live.child.id();
        let script = format!("kill -INT {id}; kill -TERM {id}; kill -INT {id}");
        assert!(Command::new("sh").args(["-c", &script]).status().is_ok());
        let code = live.child.wait().unwrap().code();
        assert!(matches!(code, Some(130 | 143)), "round {round}: {code:?}");
        assert_eq!(live.printed.iter().filter(|line| line.contains("\"type\":\"run\"")).count(), 1);
    }
}

#[test]
fn a_later_signal_ends_a_run_at_once() {
    use std::os::unix::process::ExitStatusExt;
    let folder = folder("signal-later", ENDLESS);
    // Its report waits for who does not read it.
    let (_reader, writer) = full_pipe();
    let mut child = command(&folder, &[]).stdout(writer).spawn().unwrap();
    until("the run", || has_counters(&folder));
    signal(&child, "INT");
    std::thread::sleep(Duration::from_millis(800));
    assert!(child.try_wait().unwrap().is_none(), "it does not wait");
    signal(&child, "INT");
    assert_eq!(child.wait().unwrap().signal(), Some(2));
}

/// Whether a run has caught signals and begun to count.
fn has_counters(folder: &Path) -> bool {
    fs::read_dir(folder.join("runtime")).is_ok_and(|mut entries| entries.next().is_some())
}

/// A pipe without room, as Linux makes them: 64 KiB.
fn full_pipe() -> (std::io::PipeReader, std::io::PipeWriter) {
    let (reader, mut writer) = std::io::pipe().unwrap();
    writer.write_all(&[b'.'; 64 << 10]).unwrap();
    (reader, writer)
}

#[test]
fn nobody_waits_for_who_might_read_a_fifo() {
    let graph = ENDLESS.replace("\"sink\"", "\"pcap_writer\"\npath = \"fifo\"");
    let folder = folder("unread-fifo", &graph);
    assert!(Command::new("mkfifo").arg(folder.join("fifo")).status().unwrap().success());
    let output = run(&folder, &[]);
    assert_eq!(code(&output), 3, "{}", stderr(&output));
    let said = stderr(&output);
    assert!(said.starts_with("error[GR019]") && said.contains("nobody reads this FIFO"), "{said}");
    let fifo = folder.join("fifo");
    let output = sluss(&["blast", "--synth", "--count", "1", "--to", arg(&fifo)]).output().unwrap();
    assert!(code(&output) == 3 && stderr(&output).contains("nobody reads this FIFO"), "{}", stderr(&output));
}

#[test]
fn a_changed_file_is_loaded_by_difference() {
    let folder = folder("reload", ENDLESS);
    let live = Live::start(&folder, &[]);
    let changed = ENDLESS
        .replace("-> sink.input", "-> tee.input\", \"tee.a -> sink.input")
        .replace("\"source\"\n", "\"source\"\nsize = 100\n")
        + "[app.tee]\ntype = \"tee\"\n";
    // As an editor does: another file in its place.
    fs::write(folder.join("new.toml"), changed).unwrap();
    fs::rename(folder.join("new.toml"), folder.join("net.toml")).unwrap();
    live.told("net.toml: reloaded");
    assert_eq!(live.told("started").trim(), "started      tee");
    live.told("restarted    source");
    live.told("linked       source.output -> tee.input");
    live.told("tee.a -> sink.input");
    live.told("unlinked     source.output -> sink.input");

    // A wrong file, written in place: what runs goes on.
    fs::write(folder.join("net.toml"), "links = [\"a.b -> c.d\"]\n").unwrap();
    live.told("error[GR014]");
    live.told("what runs goes on unchanged");
    let mut live = live;
    assert!(live.child.try_wait().unwrap().is_none());
    let (code, printed) = live.end("INT");
    assert_eq!(code, 130);
    assert!(printed.iter().any(|line| line.starts_with("source.output -> tee.input")), "{printed:?}");
}

#[test]
fn filters_that_surprise_are_warned_of_at_start_and_on_reload() {
    let filter = |text: &str| {
        ENDLESS
            .replace("source.output -> sink.input", "source.output -> f.input\", \"f.rejected -> sink.input")
            + &format!("[app.f]\ntype = \"filter\"\nfilter = \"{text}\"\n")
    };
    let folder = folder("surprise", &filter("vlan or ip"));
    let live = Live::start(&folder, &[]);
    live.told("warning[GR102]: `filter` of app `f`");
    live.told("8 | filter = \"vlan or ip\"");
    live.told("warning[PF101]");
    fs::write(folder.join("net.toml"), filter("icmp and port 53")).unwrap();
    signal(&live.child, "HUP");
    live.told("warning[GR102]: `filter` of app `f`");
    live.told("warning[PF105]");
    live.told("reconfigured f");
    assert_eq!(live.end("TERM").0, 143);
}

#[test]
fn a_capture_that_is_not_there_is_warned_of_by_a_check_only() {
    let graph = ENDLESS.replace("\"source\"\n", "\"pcap_reader\"\npath = \"absent.pcap\"\n");
    let folder = folder("absent-capture", &graph);
    let (checked, started) = (run(&folder, &["--check"]), run(&folder, &[]));
    assert_eq!(code(&checked), 0);
    assert!(stderr(&checked).starts_with("warning[GR106]: `path` of app `source`: there is no absent.pcap"));
    assert_eq!(code(&started), 3);
    assert!(stderr(&started).starts_with("error[GR019]"), "{}", stderr(&started));
}

#[test]
fn a_hangup_loads_the_file_at_once() {
    let folder = folder("hangup", ENDLESS);
    let live = Live::start(&folder, &["--json"]);
    fs::write(folder.join("net.toml"), ENDLESS.replace("sink", "end").replace("\"end\"", "\"sink\""))
        .unwrap();
    signal(&live.child, "HUP");
    let reload = live.printed.recv_timeout(Duration::from_secs(30)).expect("a line about the change");
    let (code, printed) = live.end("TERM");
    assert_eq!((code, printed.len()), (143, 1));
    let objects: Vec<Value> =
        [&reload, &printed[0]].iter().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(
        (&objects[0]["type"], &objects[0]["started"]),
        (&"reload".into(), &serde_json::json!(["end"]))
    );
    assert_eq!(objects[0]["unlinked"], serde_json::json!(["source.output -> sink.input"]));
    assert!(objects[1]["apps"].get("end").is_some() && objects[1]["apps"].get("sink").is_none());
    assert_eq!(objects[1]["balanced"], true);
}

/// Whatever a change is printed to: the graph goes on, and everything is told at the end.
#[test]
fn a_change_that_cannot_be_printed_ends_nothing() {
    let folder = folder("unprinted", ENDLESS);
    let closed = || {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        Stdio::from(writer)
    };
    let full = fs::File::options().write(true).open("/dev/full").ok().map(Stdio::from);
    for (stdout, expected) in [(Some(closed()), 0), (full, 3)] {
        let Some(stdout) = stdout else {
            common::say("skipped in part: there is no /dev/full");
            continue;
        };
        let _ = fs::remove_dir_all(folder.join("runtime"));
        let begin = Instant::now();
        let mut live = Live::printing(&folder, &["--json", "--duration", "3s"], Stdio::null(), stdout);
        fs::write(folder.join("net.toml"), ENDLESS.replace("\"source\"\n", "\"source\"\nsize = 100\n"))
            .unwrap();
        signal(&live.child, "HUP");
        assert_eq!(live.child.wait().unwrap().code(), Some(expected));
        assert!(begin.elapsed() >= Duration::from_secs(3), "it ends early");
        fs::write(folder.join("net.toml"), ENDLESS).unwrap();
    }
    // What failed is told, though the change was not.
    let graph = ENDLESS.replace("\"sink\"", "\"pcap_writer\"\npath = \"/dev/full\"");
    fs::write(folder.join("net.toml"), &graph).unwrap();
    let mut live = Live::printing(&folder, &["--json", "--duration", "2s"], Stdio::null(), closed());
    fs::write(folder.join("net.toml"), graph.replace("\"source\"\n", "\"source\"\nsize = 100\n")).unwrap();
    signal(&live.child, "HUP");
    live.told("sink: /dev/full: ");
    assert_eq!(live.child.wait().unwrap().code(), Some(5));
}

/// Reading it again would wait for ever, and no signal would be looked at.
/// As when the window is closed: then nobody is left to ask for the file to be read again.
#[test]
fn a_terminal_that_hangs_up_ends_a_run() {
    let folder = folder("terminal", ENDLESS);
    let terminal = common::Terminal::new();
    let mut command = command(&folder, &[]);
    let command = command.stdin(terminal.theirs()).stdout(terminal.theirs()).stderr(terminal.theirs());
    let mut child = command.spawn().unwrap();
    until("the run", || has_counters(&folder));
    let mut told = String::new();
    let mut ours = BufReader::new(terminal.ours);
    // While the terminal is there, its signal is one as from anybody.
    signal(&child, "HUP");
    while !told.contains("net.toml: reloaded, nothing has changed") {
        assert!(ours.read_line(&mut told).is_ok_and(|count| count > 0), "{told}");
    }
    drop(ours);
    signal(&child, "HUP");
    until("its end", || child.try_wait().unwrap().is_some());
    assert_eq!(child.wait().unwrap().code(), Some(129));
}

#[test]
fn a_graph_that_is_not_a_file_is_read_once() {
    let folder = folder("read-once", ENDLESS);
    assert!(Command::new("mkfifo").arg(folder.join("fifo")).status().unwrap().success());
    let write = |mut to: Box<dyn Write>| to.write_all(ENDLESS.as_bytes()).unwrap();
    for path in ["-", "/dev/stdin", "fifo"] {
        let _ = fs::remove_dir_all(folder.join("runtime"));
        let mut command = sluss(&["run", path, "--no-report"]);
        command.current_dir(&folder).env("SLUSS_RUNTIME_DIR", folder.join("runtime"));
        let mut child = command.stdin(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let stdin = child.stdin.take().unwrap();
        match path {
            "fifo" => write(Box::new(fs::File::options().write(true).open(folder.join(path)).unwrap())),
            _ => write(Box::new(stdin)),
        }
        let live = Live::of(child, &folder);
        signal(&live.child, "HUP");
        live.told("is read once; what runs goes on unchanged");
        assert_eq!(live.end("TERM").0, 143, "{path}");
    }
}

#[test]
fn what_the_system_refuses_is_pointed_at() {
    let graph = "links = [\"source.output -> writer.input\"]\n[app.source]\ntype = \"source\"\n[app.writer]\ntype = \"pcap_writer\"\npath = \"/dev/full/x.pcap\"\n";
    let output = run(&folder("refused", graph), &[]);
    let text = stderr(&output);
    assert!([2, 3].contains(&code(&output)), "{text}");
    assert!(text.contains("6 | path = \"/dev/full/x.pcap\"") && text.contains("^^^^"), "{text}");
    assert!(text.contains("nothing was started"), "{text}");
}

#[test]
fn a_graph_does_not_lose_the_capture_that_it_reads() {
    let graph = "links = [\"r.output -> w.input\"]\n[app.r]\ntype = \"pcap_reader\"\npath = \"x.pcap\"\n[app.w]\ntype = \"pcap_writer\"\npath = \"y.pcap\"\n";
    let folder = folder("itself", graph);
    let whole = fs::read(root().join("captures/icmp.pcap")).unwrap();
    fs::write(folder.join("x.pcap"), &whole).unwrap();
    fs::hard_link(folder.join("x.pcap"), folder.join("y.pcap")).unwrap();
    let is_refused = |output: &Output| {
        let text = stderr(output);
        assert!(code(output) == 2 && text.contains("y.pcap") && text.contains("it would be lost"), "{text}");
        assert!(fs::read(folder.join("x.pcap")).unwrap() == whole);
    };
    is_refused(&run(&folder, &[]));
    is_refused(&run(&folder, &["--check"]));
    fs::write(folder.join("net.toml"), graph.replace("x.pcap", "-")).unwrap();
    let stdin = || fs::File::open(folder.join("x.pcap")).unwrap();
    is_refused(&command(&folder, &[]).stdin(stdin()).output().unwrap());
    is_refused(&command(&folder, &["--check"]).stdin(stdin()).output().unwrap());
}

/// A graph of two writers of what two sources make, at these paths.
fn two_writers(left: &str, right: &str) -> String {
    let links = "links = [\"a.output -> left.input\", \"b.output -> right.input\"]\n";
    let sources = "[app.a]\ntype = \"synth\"\nrate_pps = 1000\n[app.b]\ntype = \"synth\"\nrate_pps = 1000\n";
    let writer = |name, path| format!("[app.{name}]\ntype = \"pcap_writer\"\npath = \"{path}\"\n");
    [links, sources, &writer("left", left), &writer("right", right)].concat()
}

#[test]
fn two_writers_of_one_file_are_refused_with_their_names() {
    let folder = folder("two-writers", &two_writers("x.pcap", "./x.pcap"));
    for flags in [&["--check"][..], &[]] {
        let output = run(&folder, flags);
        let text = stderr(&output);
        let told = "error[GR020]: `path` of app `right`: ./x.pcap: app `left` writes it as well, as x.pcap: it would be lost";
        assert!(code(&output) == 2 && text.contains(told), "{text}");
        assert!(text.contains("path = \"x.pcap\"") && text.contains("path = \"./x.pcap\""), "{text}");
        assert!(!folder.join("x.pcap").exists());
    }
    std::os::unix::fs::symlink("x.pcap", folder.join("link.pcap")).unwrap();
    fs::write(folder.join("net.toml"), two_writers("x.pcap", "link.pcap")).unwrap();
    let output = run(&folder, &["--check"]);
    assert!(code(&output) == 2 && stderr(&output).contains("GR020"), "{}", stderr(&output));
}

#[test]
fn writers_that_swap_their_files_are_refused_as_a_whole() {
    let folder = folder("swap", &two_writers("x.pcap", "y.pcap"));
    let live = Live::start(&folder, &[]);
    let has_packets = |name| fs::metadata(folder.join(name)).is_ok_and(|metadata| metadata.len() > 24);
    until("packets in both files", || has_packets("x.pcap") && has_packets("y.pcap"));
    // Of the rest of the change, nothing comes about either.
    let swapped = two_writers("y.pcap", "x.pcap").replace("1000", "2000");
    fs::write(folder.join("net.toml"), swapped).unwrap();
    signal(&live.child, "HUP");
    live.told("app `right` writes it until this change: it would be lost");
    live.told("what runs goes on unchanged");
    live.end("TERM");
    for name in ["x.pcap", "y.pcap"] {
        let counted = common::run(&["filter", "--count", "udp", arg(&folder.join(name))]);
        assert_eq!(code(&counted), 0, "{name}: {}{}", stdout(&counted), stderr(&counted));
    }
}

#[test]
fn a_reader_of_standard_input_can_be_renamed() {
    let graph = "links = [\"in.output -> out.input\"]\n[app.in]\ntype = \"pcap_reader\"\npath = \"-\"\n\
                 [app.out]\ntype = \"pcap_writer\"\npath = \"out.pcap\"\n";
    let folder = folder("renamed", graph);
    let whole = fs::read(root().join("captures/icmp.pcap")).unwrap();
    let (first, rest) = whole.split_at(whole.len() / 2);
    let mut child =
        command(&folder, &["--no-report"]).stdin(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(first).unwrap();
    let out = folder.join("out.pcap");
    until("the first half", || fs::metadata(&out).is_ok_and(|metadata| metadata.len() > 24));
    fs::write(folder.join("net.toml"), graph.replace("in.", "live.").replace("app.in]", "app.live]"))
        .unwrap();
    signal(&child, "HUP");
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
    assert!(lines.any(|line| line.unwrap().contains("started      live")));
    stdin.write_all(rest).unwrap();
    drop(stdin);
    assert_eq!(child.wait().unwrap().code(), Some(0));
    assert!(fs::read(&out).unwrap() == whole, "byte for byte");
}

#[test]
fn counters_are_in_a_file_while_it_runs() {
    let folder = folder("counters", ENDLESS);
    let live = Live::start(&folder, &["--name", "my-net.1"]);
    let file = folder.join("runtime").join(format!("my-net.1.{}.counters", live.child.id()));
    let snapshot = engine::shm::Snapshot::read(&file).unwrap();
    assert_eq!(snapshot.name, "my-net.1");
    live.end("TERM");
    assert!(!file.exists());
    assert_eq!(code(&run(&folder, &["--name", "../x"])), 2);
}

#[test]
fn a_damaged_capture_ends_a_run_as_incomplete() {
    let graph = "links = [\"in.output -> out.input\"]\n[app.in]\ntype = \"pcap_reader\"\npath = \"cut.pcap\"\n\
                 [app.out]\ntype = \"sink\"\n";
    let folder = folder("damaged", graph);
    let whole = fs::read(root().join("captures/web.pcap")).unwrap();
    fs::write(folder.join("cut.pcap"), &whole[..whole.len() - 7]).unwrap();
    for (flag, begin) in [("--no-report", "error: "), ("--json", r#"{"v":1,"type":"error","#)] {
        let output = run(&folder, &[flag]);
        let told = stderr(&output);
        assert_eq!(code(&output), 5, "{told}");
        assert!(
            told.starts_with(begin) && told.contains("in: cut.pcap: byte 30178: the file ends"),
            "{told}"
        );
    }
    let object = last_object(&run(&folder, &["--json"]));
    assert_eq!(
        (&object["apps"]["in"]["failed"], &object["apps"]["out"]["failed"]),
        (&true.into(), &false.into())
    );
    assert_eq!(object["links"]["in.output -> out.input"]["rxpackets"], 120);
}

#[test]
fn what_failed_before_a_change_is_not_forgotten() {
    if !Path::new("/dev/full").exists() {
        return common::say("skipped: there is no /dev/full");
    }
    let graph = ENDLESS.replace("\"sink\"", "\"pcap_writer\"\npath = \"/dev/full\"");
    let folder = folder("failed-before", &graph);
    let mut live = Live::start(&folder, &[]);
    let whole = ENDLESS
        .replace("sink]", "end]")
        .replace("sink.", "end.")
        .replace("\"source\"\n", "\"source\"\ncount = 9\n");
    fs::write(folder.join("net.toml"), whole).unwrap();
    signal(&live.child, "HUP");
    live.told("net.toml: reloaded");
    live.told("sink: /dev/full: ");
    assert_eq!(live.child.wait().unwrap().code(), Some(5));
}

#[test]
fn a_graph_can_come_from_standard_input() {
    let graph = ENDLESS.replace("\"source\"\n", "\"source\"\ncount = 100\n");
    let output = common::run_with_input(&["run", "-", "--json"], graph.as_bytes());
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    assert_eq!(last_object(&output)["links"]["source.output -> sink.input"]["rxpackets"], 100);
}

#[test]
fn a_closed_pipe_is_a_success() {
    let folder = folder("closed-pipe", &ENDLESS.replace("\"source\"\n", "\"source\"\ncount = 100\n"));
    for flag in ["--json", "--busywait"] {
        let mut child =
            command(&folder, &[flag]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        drop(child.stdout.take());
        let mut text = String::new();
        child.stderr.take().unwrap().read_to_string(&mut text).unwrap();
        assert_eq!((child.wait().unwrap().code(), text.as_str()), (Some(0), ""), "{flag}");
    }
}

/// A graph that prints a hundred packets to standard output.
const PRINTING: &str = "\
links = [\"source.output -> print.input\"]
[app.source]
type = \"source\"
count = 100
[app.print]
type = \"printer\"
to = \"stdout\"
lines_per_s = 0
";

#[test]
fn lines_that_could_not_be_printed_end_a_run_as_incomplete() {
    let Ok(full) = fs::File::options().write(true).open("/dev/full") else {
        return common::say("skipped: there is no /dev/full");
    };
    let folder = folder("print-full", PRINTING);
    let told = "error: print: standard output: cannot write: No space left on device (os error 28); 100 packets were not written";
    let output = command(&folder, &["--no-report"]).stdout(full.try_clone().unwrap()).output().unwrap();
    assert_eq!((code(&output), stderr(&output)), (5, format!("{told}\n")));
    // The report has no room either.
    let output = command(&folder, &[]).stdout(full).output().unwrap();
    let system = "error: cannot write standard output: No space left on device (os error 28)";
    assert_eq!((code(&output), stderr(&output)), (3, format!("{told}\n{system}\n")));
}

/// Neither the end of a run's time, nor a signal, nor packets of others.
#[test]
fn a_reader_of_lines_that_does_not_read_holds_up_nothing() {
    let folder = folder("print-unread", &PRINTING.replace("count = 100\n", ""));
    let begin = |args: &[&str]| {
        let (reader, writer) = full_pipe();
        let child = command(&folder, args).stdout(writer).stderr(Stdio::piped()).spawn().unwrap();
        (reader, child)
    };
    let (_reader, mut child) = begin(&["--no-report", "--duration", "300ms"]);
    until("its end", || child.try_wait().unwrap().is_some());
    let output = child.wait_with_output().unwrap();
    let told = "error: print: standard output: its reader does not read; ";
    assert!(code(&output) == 5 && stderr(&output).starts_with(told), "{}", stderr(&output));
    let (_reader, mut child) = begin(&["--no-report"]);
    until("packets without lines", || {
        let top = sluss(&["top", "--once", "--interval", "100ms", "--json", "net"])
            .env("SLUSS_RUNTIME_DIR", folder.join("runtime"))
            .output()
            .unwrap();
        let seen: Value = serde_json::from_slice(&top.stdout).unwrap_or_default();
        seen["apps"]["print"]["counters"]["not_written"]["total"].as_u64() > Some(0)
    });
    signal(&child, "TERM");
    until("its end", || child.try_wait().unwrap().is_some());
    assert_eq!(code(&child.wait_with_output().unwrap()), 143);
}

#[test]
fn a_slow_reader_of_lines_gets_them_all() {
    let folder = folder("print-slow", &PRINTING.replace("count = 100\n", "count = 20000\n"));
    let mut command = command(&folder, &["--no-report"]);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // Many more than a pipe holds.
    std::thread::sleep(Duration::from_millis(300));
    let output = child.wait_with_output().unwrap();
    assert_eq!((stdout(&output).lines().count(), code(&output)), (20_000, 0), "{}", stderr(&output));
}

#[test]
fn a_reader_of_lines_that_goes_ends_a_run() {
    // Without end but for that.
    let folder = folder("print-closed", &PRINTING.replace("count = 100\n", ""));
    for flags in
        [&["--no-report"][..], &["--json"], &["--busywait"], &["--workers", "2"], &["--clock", "capture"]]
    {
        let (mut reader, writer) = std::io::pipe().unwrap();
        let mut child = command(&folder, flags).stdout(writer).stderr(Stdio::piped()).spawn().unwrap();
        reader.read_exact(&mut [0; 1000]).unwrap();
        drop(reader);
        let mut text = String::new();
        child.stderr.take().unwrap().read_to_string(&mut text).unwrap();
        assert_eq!((child.wait().unwrap().code(), text.as_str()), (Some(0), ""), "{flags:?}");
    }
}

#[test]
fn a_run_that_nobody_reads_leaves_whole_files() {
    let folder = folder("print-closed-file", &PRINTING.replace("count = 100\n", ""));
    let out = folder.join("out.pcap");
    let graph = fs::read_to_string(folder.join("net.toml"))
        .unwrap()
        .replace("links = [", "links = [\"print.output -> out.input\", ")
        + &format!("[app.out]\ntype = \"pcap_writer\"\npath = {out:?}\n");
    fs::write(folder.join("net.toml"), graph).unwrap();
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let output = command(&folder, &[]).stdout(writer).output().unwrap();
    assert_eq!((code(&output), stderr(&output).as_str()), (0, ""));
    assert_eq!(code(&common::run(&["filter", "--count", "", arg(&out)])), 0);
}

#[test]
fn a_linktype_that_is_not_ethernet_is_told() {
    let path = root().join("captures/raw.pcap");
    let graph = format!(
        "links = [\"in.output -> out.input\"]\n[app.in]\ntype = \"pcap_reader\"\npath = {path:?}\n\
         [app.out]\ntype = \"sink\"\n"
    );
    let folder = folder("raw", &graph);
    let told =
        format!("{}: packets of link type RAW, which apps that expect Ethernet (EN10MB) misread", arg(&path));
    let output = run(&folder, &[]);
    assert_eq!((code(&output), stderr(&output).as_str()), (0, ""));
    assert!(stdout(&output).contains(&format!("\nin: {told}\n")), "{}", stdout(&output));
    let object = last_object(&run(&folder, &["--json"]));
    assert_eq!(
        (&object["apps"]["in"]["report"], &object["apps"]["in"]["failed"]),
        (&told.into(), &false.into())
    );
}

#[test]
fn flags_are_checked() {
    let folder = folder("flags", ENDLESS);
    for wrong in [
        ["--burst", "0"],
        ["--burst", "1025"],
        ["--workers", "0"],
        ["--packets", "0"],
        ["--packets", "100000000"],
        ["--duration", "soon"],
        ["--duration", "-1"],
        ["--restart-max", "1ms"],
        ["--clock", "moon"],
        ["--cpu", "a"],
        ["--cpu", "9999"],
    ] {
        assert_eq!(code(&run(&folder, &wrong)), 2, "{wrong:?}");
    }
}
