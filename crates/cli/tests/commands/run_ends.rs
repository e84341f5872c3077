//! `sluss run`: signals, and readers that do not read or have gone.

use crate::common::running::{ENDLESS, Live, PIPED, command, folder, full_pipe, has_counters, run, until};
use crate::common::{self, arg, code, signal, sluss, stderr};
use serde_json::Value;
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

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
        let begin = Instant::now();
        assert!(Command::new("sh").args(["-c", &script]).status().is_ok());
        let took = begin.elapsed();
        let code = live.child.wait().unwrap().code();
        if took > Duration::from_millis(250) {
            // The machine has other work: after half a second a signal is a later one.
            continue;
        }
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

/// As when the window is closed: then nobody is left to ask for the file to be read again.
#[test]
fn a_terminal_that_hangs_up_ends_a_run() {
    let folder = folder("terminal", ENDLESS);
    let terminal = common::Terminal::new();
    let mut command = command(&folder, &["--duration", "60s"]);
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
    let (_reader, mut child) = begin(&["--no-report", "--duration", "2s"]);
    until("its end", || child.try_wait().unwrap().is_some());
    let output = child.wait_with_output().unwrap();
    let told = "error: print: standard output: its reader does not read; ";
    assert!(code(&output) == 5 && stderr(&output).starts_with(told), "{}", stderr(&output));
    let (_reader, mut child) = begin(&["--no-report", "--duration", "60s"]);
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

/// A signal ends the wait for who does not read the report, a pager that shows its first page for example.
#[test]
fn a_reader_of_the_report_that_does_not_read_is_not_waited_for_without_end() {
    let folder = folder("report-unread", &ENDLESS.replace("\"source\"\n", "\"source\"\ncount = 100\n"));
    let graph = folder.join("net.toml");
    let blast = ["blast", "--synth", "--count", "10", "--to", "null", "--json"];
    let commands = [sluss(&["run", arg(&graph)]), sluss(&["run", "--json", arg(&graph)]), sluss(&blast)];
    let started = commands.map(|mut command| {
        let (reader, writer) = full_pipe();
        (reader, command.stdout(writer).stderr(Stdio::piped()).spawn().unwrap())
    });
    std::thread::sleep(Duration::from_millis(800));
    let waiting = started.map(|(reader, mut child)| {
        assert!(child.try_wait().unwrap().is_none(), "it does not wait");
        signal(&child, "TERM");
        (reader, child)
    });
    for (_reader, mut child) in waiting {
        until("its end", || child.try_wait().unwrap().is_some());
        let output = child.wait_with_output().unwrap();
        let told = "cannot write standard output: its reader has not read for 5s";
        assert!(code(&output) == 3 && stderr(&output).contains(told), "{}", stderr(&output));
    }
}

/// What is said of a change, where nobody reads that.
#[test]
fn a_reader_of_messages_that_does_not_read_holds_up_nothing() {
    let folder = folder("messages-unread", ENDLESS);
    let (_reader, writer) = full_pipe();
    let mut child = command(&folder, &["--no-report"]).stdout(Stdio::null()).stderr(writer).spawn().unwrap();
    until("the run", || has_counters(&folder));
    for _ in 0..3 {
        signal(&child, "HUP");
        std::thread::sleep(Duration::from_millis(50));
    }
    signal(&child, "TERM");
    until("its end", || child.try_wait().unwrap().is_some());
    assert_eq!(child.wait().unwrap().code(), Some(143));
}

/// What is said of apps that have failed, of which there are many: a second for each would be too long.
#[test]
fn many_messages_that_nobody_reads_are_waited_for_once() {
    let Ok(full) = fs::File::options().write(true).open("/dev/full") else {
        return common::say("skipped: there is no /dev/full");
    };
    let names: Vec<String> = (1..=30).map(|number| format!("print{number}")).collect();
    let links: Vec<String> = names.iter().map(|name| format!("\"tee.{name} -> {name}.input\"")).collect();
    let printers: Vec<String> =
        names.iter().map(|name| format!("[app.{name}]\ntype = \"printer\"\nto = \"stdout\"\n")).collect();
    let graph = format!(
        "links = [\"source.output -> tee.input\", {}]\n[app.source]\ntype = \"source\"\ncount = 100\n[app.tee]\ntype = \"tee\"\n{}",
        links.join(", "),
        printers.concat()
    );
    let folder = folder("messages-many", &graph);
    let (_reader, writer) = full_pipe();
    let begin = Instant::now();
    let mut child = command(&folder, &["--no-report"]).stdout(full).stderr(writer).spawn().unwrap();
    until("its end", || child.try_wait().unwrap().is_some());
    assert_eq!(child.wait().unwrap().code(), Some(5));
    assert!(begin.elapsed() < Duration::from_secs(15), "{:?}", begin.elapsed());
}

/// There is room, but less than a line is long.
#[test]
fn a_terminal_that_is_nearly_full_holds_up_nothing() {
    let folder = folder("terminal-full", &PRINTING.replace("count = 100\n", ""));
    let terminal = common::Terminal::new();
    let mut child = command(&folder, &["--no-report", "--duration", "1s"])
        .stdout(terminal.theirs())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    until("its end", || child.try_wait().unwrap().is_some());
    let output = child.wait_with_output().unwrap();
    let told = "error: print: standard output: its reader does not read; ";
    assert!(code(&output) == 5 && stderr(&output).starts_with(told), "{}", stderr(&output));
    drop(terminal);
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
