//! `sluss run`: how graphs start, what they do, and what is said of that at the end.

use crate::common::running::{ENDLESS, Live, command, folder, last_object, run, two_writers, until};
use crate::common::{self, arg, code, root, signal, sluss, stderr, stdout};
use serde_json::Value;
use std::fs;
use std::path::PathBuf;
use std::process::{Output, Stdio};
use std::time::{Duration, Instant};
use testkit::netns::Namespace;

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
fn a_pool_has_more_packets_than_links_can_hold() {
    let links: Vec<String> = (0..20).map(|i| format!("\"source.{i} -> sink.{i}\"")).collect();
    let graph = format!(
        "links = [{}]\n[app.source]\ntype = \"source\"\ncount = 10\n[app.sink]\ntype = \"sink\"\n",
        links.join(", ")
    );
    let folder = folder("pool", &graph);
    let output = run(&folder, &["--json"]);
    assert_eq!((code(&output), stderr(&output).as_str()), (0, ""));
    assert_eq!(last_object(&output)["pool"]["total"], 20 * 1024 + 8192);

    let output = run(&folder, &["--packets", "20480"]);
    let told = "warning: net.toml: 20 links can hold 20480 packets, and a pool has 20480 packets: while links are full, apps get none; \
                `--packets 28672` is enough\n";
    assert_eq!((code(&output), stderr(&output).as_str()), (0, told));
    assert_eq!(stderr(&run(&folder, &["--packets", "20481"])), "");
}

#[test]
fn limits_beyond_the_pool_are_told() {
    let graph = "links = [\"source.output -> delay.input\", \"delay.output -> queue.input\", \"queue.output -> sink.input\"]\n\
        [app.source]\ntype = \"source\"\ncount = 10\n[app.sink]\ntype = \"sink\"\n\
        [app.delay]\ntype = \"delay\"\nlimit = 60000\n[app.queue]\ntype = \"queue\"\n";
    let folder = folder("limits", graph);
    let told = "warning: net.toml: the limits of apps need 64096 packets (`delay` 60000, `queue` 4096), and a pool has 16384 packets: \
                before they are reached, apps get none; `--packets 68192` is enough\n";
    for flags in [&["--check"][..], &[]] {
        let output = run(&folder, flags);
        assert_eq!((code(&output), stderr(&output).as_str()), (0, told), "{flags:?}");
    }
    let checked = run(&folder, &["--check", "--json"]);
    assert_eq!(last_object(&checked)["warnings"], 1);
    assert_eq!(stderr(&run(&folder, &["--check", "--packets", "68192"])), "");
    let folder = common::running::folder("more_limits", &graph.replace("60000", "87000"));
    let output = run(&folder, &["--check"]);
    assert!(
        stderr(&output).ends_with("; more than 87210 are not possible, so give it lower limits\n"),
        "{}",
        stderr(&output)
    );
}

#[test]
fn more_workers_than_cores_are_warned_of() {
    let folder = folder("cores", ENDLESS);
    let cores = std::thread::available_parallelism().unwrap().get();
    for flags in [&["--check"][..], &["--duration", "10ms"]] {
        let said = |workers: usize| {
            let output = run(&folder, &[flags, &["--workers", &workers.to_string()]].concat());
            assert_eq!(code(&output), 0);
            stderr(&output)
        };
        assert_eq!(said(cores), "");
        let told = said(cores + 1);
        assert!(
            told.starts_with(&format!("warning: `--workers {}`: there are {cores} cores", cores + 1)),
            "{told}"
        );
    }
}

#[test]
fn an_object_has_all_that_the_text_has() {
    let folder = folder("all", ENDLESS);
    let output = run(&folder, &["--duration", "300ms", "--json"]);
    let object = last_object(&output);
    assert_eq!((&object["name"], &object["imbalances"]), (&"net".into(), &serde_json::json!([])));
    for app in ["source", "sink"] {
        let app = &object["apps"][app];
        assert!(app["worker"] == 0 && app["held"].is_u64(), "{app}");
        assert!(
            app["core_percent"].as_f64().is_some_and(|percent| percent > 0.0 && percent <= 100.0),
            "{app}"
        );
        let [median, high] = ["p50", "p99"].map(|quantile| app["turn_ns"][quantile].as_u64().unwrap());
        assert!(0 < median && median <= high, "{app}");
    }
    let link = &object["links"]["source.output -> sink.input"];
    assert_eq!(link["txbytes"].as_u64(), link["txpackets"].as_u64().map(|packets| 60 * packets));
    assert!(
        object["pool"]["exhausted"].is_u64()
            && object["missed"] == 0
            && object["drops_gone"] == serde_json::json!({})
    );
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
    let expected = "v type name breaths cpu_s seconds workers apps links received delivered drops drops_gone missed copies inside pool balanced imbalances";
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
fn a_capture_that_cannot_be_written_is_warned_of_by_a_check() {
    let graph = |path: &str| ENDLESS.replace("\"sink\"\n", &format!("\"pcap_writer\"\npath = \"{path}\"\n"));
    let folder = folder("no-place", "");
    fs::create_dir(folder.join("folder")).unwrap();
    fs::write(folder.join("there.pcap"), "").unwrap();
    for (path, told) in [
        ("absent/out.pcap", "there is no folder absent"),
        ("there.pcap/out.pcap", "there.pcap is not a folder"),
        ("folder", "folder is a folder"),
        ("out.pcap", ""),
        ("there.pcap", ""),
    ] {
        fs::write(folder.join("net.toml"), graph(path)).unwrap();
        let checked = run(&folder, &["--check"]);
        let expected = format!("warning[GR106]: `path` of app `sink`: {told}");
        let is_told = stderr(&checked).starts_with(&expected);
        assert!(code(&checked) == 0 && is_told != told.is_empty(), "{path}: {}", stderr(&checked));
        let has_help = stderr(&checked).contains("\nhelp: make it first: mkdir -p absent");
        assert_eq!(has_help, path.starts_with("absent"), "{path}: {}", stderr(&checked));
    }
    assert!(!folder.join("out.pcap").exists());
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
fn a_graph_can_come_from_standard_input() {
    let graph = ENDLESS.replace("\"source\"\n", "\"source\"\ncount = 100\n");
    let output = common::run_with_input(&["run", "-", "--json"], graph.as_bytes());
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    assert_eq!(last_object(&output)["links"]["source.output -> sink.input"]["rxpackets"], 100);
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
            .any(|record| record.name == "f" && record.drops().any(|(.., count)| count > 0))
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

#[test]
fn a_device_that_goes_and_comes_is_told_at_once() {
    let Some((_turn, [here])) = Namespace::some("a device that goes and comes") else { return };
    let graph = "links = [\"eth.output -> sink.input\"]\n\
                 [app.eth]\ntype = \"af_packet\"\ndevice = \"a\"\n[app.sink]\ntype = \"sink\"\n";
    for json in [false, true] {
        let folder = folder("absence", graph);
        here.run("ip link add name a type veth peer name b");
        let words = format!("{} run net.toml", env!("CARGO_BIN_EXE_sluss"));
        let mut command = here.command(&words);
        command.args(json.then_some("--json")).current_dir(&folder);
        command.env("SLUSS_RUNTIME_DIR", folder.join("runtime"));
        let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let live = Live::of(child, &folder);
        until("the first breath", || {
            let files = fs::read_dir(folder.join("runtime")).unwrap().flatten();
            let seen = files.filter_map(|file| engine::shm::Snapshot::read(&file.path()).ok());
            seen.flat_map(|seen| seen.records).any(|record| record.value("breaths") > 0)
        });
        here.run("ip link delete dev a");
        let gone = live.told("is gone");
        here.run("ip link add name a type veth peer name b");
        let back = live.told("is back");
        let texts = [
            "eth: device a is gone; sluss waits until there is one of that name".to_owned(),
            "eth: device a is back".to_owned(),
        ];
        if json {
            for (line, (text, severity)) in [gone, back].iter().zip(texts.iter().zip(["warning", "note"])) {
                let object: Value = serde_json::from_str(line).unwrap();
                let warning = &object["warning"];
                assert_eq!((&object["type"], &object["app"]), (&"warning".into(), &"eth".into()), "{line}");
                assert_eq!(
                    (&warning["message"], &warning["severity"]),
                    (&text.as_str().into(), &severity.into())
                );
            }
        } else {
            assert_eq!([gone, back], [format!("warning: {}", texts[0]), format!("note: {}", texts[1])]);
        }
        let (code, printed) = live.end("INT");
        assert_eq!(code, 130);
        assert!(!printed.concat().contains("is gone"), "it is back: {printed:?}");
        here.run("ip link delete dev a");
    }
}
