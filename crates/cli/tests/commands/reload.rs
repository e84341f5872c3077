//! `sluss run`: how graphs change while they run.

use crate::common::running::{ENDLESS, Live, PIPED, command, folder, two_writers, until};
use crate::common::{self, arg, code, root, signal, sluss, stderr, stdout};
use serde_json::Value;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

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
fn a_change_that_only_moves_apps_says_which() {
    let placed = |source: u8| {
        ENDLESS
            .replace("\"source\"\n", &format!("\"source\"\nworker = {source}\n"))
            .replace("\"sink\"\n", "\"sink\"\nworker = 0\n")
    };
    let folder = folder("moved", &placed(0));
    let live = Live::start(&folder, &["--workers", "2"]);
    fs::write(folder.join("net.toml"), placed(1)).unwrap();
    signal(&live.child, "HUP");
    assert!(live.told("net.toml: ").starts_with("net.toml: reloaded; all stood still for "));
    assert_eq!(live.told("").trim(), "moved        source");
    assert_eq!(live.end("TERM").0, 143);
    // For programs.
    let live = Live::start(&folder, &["--workers", "2", "--json"]);
    fs::write(folder.join("net.toml"), placed(0)).unwrap();
    signal(&live.child, "HUP");
    let reload = live.printed.recv_timeout(Duration::from_secs(30)).expect("a line about the change");
    let reload: Value = serde_json::from_str(&reload).unwrap();
    assert_eq!(
        (&reload["moved"], &reload["restarted"]),
        (&serde_json::json!(["source"]), &serde_json::json!([]))
    );
    assert_eq!(live.end("TERM").0, 143);
}

#[test]
fn a_file_of_routes_is_loaded_with_the_graph() {
    let graph = "\
links = [\"source.output -> core.input\", \"core.a -> sink.a\", \"core.b -> sink.b\"]
[app.source]
type = \"source\"
[app.core]
type = \"router\"
routes_file = \"routes.txt\"
[app.sink]
type = \"sink\"
";
    let folder = folder("routes", graph);
    let routes = |prefix: &str| {
        let text = format!("{prefix} a 02:00:00:00:00:0a\n::/0 b 02:00:00:00:00:0b\n");
        fs::write(folder.join("routes.txt"), text).unwrap();
    };
    let output = command(&folder, &["--check"]).output().unwrap();
    assert_eq!(code(&output), 3);
    assert!(stderr(&output).contains("error[GR019]: `routes_file` of app `core`"), "{}", stderr(&output));
    routes("10.0.0.0/8");
    let live = Live::start(&folder, &[]);
    for (prefix, told) in [
        ("11.0.0.0/8", "reconfigured core"),
        ("11.0.0.0/8", "reloaded, nothing has changed"),
        ("11.0.0.1/8", "routes.txt, line 1: `11.0.0.1/8`"),
    ] {
        routes(prefix);
        signal(&live.child, "HUP");
        live.told(told);
    }
    assert_eq!(live.end("TERM").0, 143);
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

/// An app that cannot have its new options keeps the old ones; what is said is what was done.
#[test]
fn a_change_in_part_is_called_so() {
    let two = |size: u32, path: &str| {
        format!(
            "{}\n[app.writer]\ntype = \"pcap_writer\"\npath = \"{path}\"\n",
            ENDLESS.replace("\"source\"\n", &format!("\"source\"\nsize = {size}\n"))
        )
        .replace(
            "source.output -> sink.input",
            "source.output -> tee.input\", \"tee.a -> sink.input\", \"tee.b -> writer.input",
        ) + "[app.tee]\ntype = \"tee\"\n"
    };
    let folder = folder("in-part", &two(60, "/dev/null"));
    let live = Live::start(&folder, &["--json"]);
    let reload = |text: &str| -> Value {
        fs::write(folder.join("net.toml"), text).unwrap();
        signal(&live.child, "HUP");
        let line = live.printed.recv_timeout(Duration::from_secs(30)).expect("a line about the change");
        serde_json::from_str(&line).unwrap()
    };
    let told = reload(&two(100, "/nonexistent/x.pcap"));
    assert_eq!((&told["complete"], &told["restarted"]), (&false.into(), &serde_json::json!(["source"])));
    assert_eq!((&told["failed"][0]["app"], &told["down"]), (&"writer".into(), &serde_json::json!([])));
    let told = reload(&two(100, "/dev/null"));
    assert_eq!((&told["complete"], &told["failed"]), (&true.into(), &serde_json::json!([])));
    assert_eq!(live.end("TERM").0, 143);

    let live = Live::start(&folder, &[]);
    fs::write(folder.join("net.toml"), two(60, "/nonexistent/x.pcap")).unwrap();
    signal(&live.child, "HUP");
    live.told("net.toml: reloaded in part, without the new options of 1 app");
    live.told("restarted    source");
    live.told("error: app `writer` does not take its new options, and goes on with the old ones");
    fs::write(folder.join("net.toml"), two(60, "/nonexistent/y.pcap")).unwrap();
    signal(&live.child, "HUP");
    live.told("net.toml: not reloaded: 1 app refused, and there was no other change");
    assert_eq!(live.end("TERM").0, 143);
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
