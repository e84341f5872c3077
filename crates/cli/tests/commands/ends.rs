//! How the command ends: exit codes, messages, signals, closed pipes, damaged and missing files.

use crate::common::{self, arg, code, root, run, run_with_input, scratch, sluss, stderr, stdout, told};
use std::io::{Read, Write};
use std::process::Stdio;

#[test]
fn exit_codes() {
    assert_eq!(code(&run(&["filter", "--count", "ip", "captures/web.pcap"])), 0);
    assert_eq!(code(&run(&["filter", "--count", "udp port 9", "captures/web.pcap"])), 1);
    assert_eq!(code(&run(&["filter", "--count", "--no-fail", "udp port 9", "captures/web.pcap"])), 0);
    assert_eq!(code(&run(&["trace", "udp port 9", "captures/web.pcap"])), 1);
    assert_eq!(code(&run(&["trace", "--no-fail", "udp port 9", "captures/web.pcap"])), 0);
    assert_eq!(code(&run(&["filter", "--count", "tcp prot 80", "captures/web.pcap"])), 2);
    assert_eq!(code(&run(&["filter", "--nonsense"])), 2);
    assert_eq!(code(&run(&["filter", "--count", "captures/web.pcap", "-f", "arp", "--", "tcp"])), 2);
    assert_eq!(code(&run(&["filter", "--count", "ip", "captures/absent.pcap"])), 3);
    assert_eq!(code(&run(&["filter", "--count", "tcp", "absent.cap"])), 3);
    assert_eq!(code(&run(&["filter", "--count", "tcp", "absent"])), 3);
    assert_eq!(code(&run(&["filter", "--count", "tcp", "port", "80"])), 2);
    assert_eq!(code(&run(&["filter", "ip", "captures/web.pcap", "-o", "/nonexistent/out.pcap"])), 3);
}

/// Whatever the command, and whatever the file is for: the system refused.
#[test]
fn a_file_that_is_missing_or_unreadable_is_the_same_everywhere() {
    let folder = scratch("missing");
    let net = |name: &str, reader: &str, writer: &str| {
        let graph = format!(
            "links = [\"in.output -> out.input\"]\n[app.in]\ntype = \"pcap_reader\"\npath = {reader:?}\n\
             [app.out]\ntype = \"pcap_writer\"\npath = {writer:?}\n"
        );
        let path = folder.join(name);
        std::fs::write(&path, graph).unwrap();
        arg(&path).to_owned()
    };
    let capture = arg(&root().join("captures/web.pcap")).to_owned();
    let out = arg(&folder.join("out.pcap")).to_owned();
    let reads_none = net("reads-none.toml", "absent.pcap", &out);
    let reads_folder = net("reads-folder.toml", arg(&folder), &out);
    let writes_nowhere = net("writes-nowhere.toml", &capture, "/nonexistent/out.pcap");
    let writes_folder = net("writes-folder.toml", &capture, arg(&folder));
    let matches = folder.join("matches.toml");
    let text = std::fs::read_to_string(root().join("examples/web.toml")).unwrap();
    std::fs::write(&matches, text.replace("tcp port 80", "host in {@absent.txt}")).unwrap();
    let wrong = folder.join("wrong.toml");
    std::fs::write(&wrong, "links = [\"a.output\"]").unwrap();
    for (args, expected) in [
        (&["filter", "ip", "absent.pcap"][..], 3),
        (&["filter", "-F", "absent.txt", &capture], 3),
        (&["filter", "@absent.txt", &capture], 3),
        (&["filter", "host in {@absent.txt}", &capture], 3),
        (&["filter", "--json", "host in {@absent.txt}", &capture], 3),
        (&["explain", "host in {@absent.txt}"], 3),
        (&["run", "--check", arg(&matches)], 3),
        (&["filter", "ip", &capture, "-o", arg(&folder)], 3),
        (&["trace", "ip", "absent.pcap"], 3),
        (&["explain", "@absent.txt"], 3),
        (&["compile", "@absent.txt"], 3),
        (&["blast", "absent.pcap", "--to", "null", "--count", "1"], 3),
        (&["blast", &capture, "--to", "/nonexistent/out.pcap", "--count", "1"], 3),
        (&["bench", "engine", "--net", "filter", "--runs", "1", "--pcap", "absent.pcap"], 3),
        (&["man", "/nonexistent"], 3),
        (&["run", "absent.toml"], 3),
        (&["run", "--check", "absent.toml"], 3),
        (&["run", arg(&folder)], 3),
        (&["run", &reads_none], 3),
        (&["run", &reads_folder], 3),
        (&["run", &writes_nowhere], 3),
        (&["run", &writes_folder], 3),
        (&["run", arg(&wrong)], 2),
        (&["run", "--check", arg(&wrong)], 2),
    ] {
        let output = sluss(args).env("SLUSS_RUNTIME_DIR", &folder).output().unwrap();
        assert_eq!(code(&output), expected, "{args:?}: {}", stderr(&output));
        assert_eq!(stdout(&output), "", "{args:?}");
    }
}

#[test]
fn a_wrong_filter_is_pointed_at() {
    let output = run(&["filter", "--count", "tcp prot 80 and host 10.0.0.1", "captures/web.pcap"]);
    let text = stderr(&output);
    assert!(text.contains("error[PF003]") && text.contains("^^^^") && text.contains("tcp port 80"), "{text}");
    assert_eq!(stdout(&output), "");
}

/// The compiler knows no command line, and no user of the command its interface.
#[test]
fn flags_that_would_help_are_named() {
    // A label of 64 letters is no name for any server: the lookup fails without a network.
    let impossible = format!("host {}", "x".repeat(64));
    for (args, told) in [
        (
            &["ip broadcast"][..],
            "give that of the network captured on; the flag is `--netmask 255.255.255.0`",
        ),
        (&["--strict", "vxlan"], "compile it without the `strict` dialect; for that, leave `--strict` out"),
        (&["host no-such-host.invalid"], "; with `--resolve`, the system's resolver is asked"),
        (&[&impossible, "--resolve"], "the lookup failed: "),
    ] {
        let output = run(&[&["compile"], args].concat());
        let text = stderr(&output);
        assert!(code(&output) == 2 && text.contains(told) && !text.contains("::"), "{args:?}: {text}");
        let json = stderr(&run(&[&["explain", "--json"], args].concat()));
        assert!(json.contains(told.trim_end()), "{args:?}: {json}");
    }
    for other in ["port no-such-port", "net no-such-net", "ether host no-such-host"] {
        assert!(!stderr(&run(&["compile", other])).contains("--resolve"), "{other}");
    }
    assert!(!stderr(&run(&["compile", &impossible, "--resolve"])).contains("with `--resolve`"));
    let range = stderr(&run(&["compile", "host 10.0.0.1-10.0.0.9"]));
    assert!(range.ends_with("help: did you mean `host in {10.0.0.1-10.0.0.9}`?\n"), "{range}");
}

#[test]
fn a_wrong_filter_leaves_the_output_alone() {
    let out = scratch("left-alone").join("out.pcap");
    std::fs::write(&out, "precious").unwrap();
    assert_eq!(code(&run(&["filter", "tcp prot 80", "captures/web.pcap", "-o", arg(&out)])), 2);
    assert_eq!(std::fs::read(&out).unwrap(), b"precious");
}

#[test]
fn a_filter_wrong_for_a_pcapng_capture_leaves_the_output_alone() {
    let out = scratch("left-alone-pcapng").join("out.pcapng");
    std::fs::write(&out, "precious").unwrap();
    for filter in ["tcp prot 80", "wlan type mgt"] {
        assert_eq!(code(&run(&["filter", filter, "captures/router.pcapng", "-o", arg(&out)])), 2);
        assert_eq!(std::fs::read(&out).unwrap(), b"precious");
    }
}

#[test]
fn a_missing_input_leaves_the_result_of_the_others() {
    let folder = scratch("missing-and-empty");
    let empty = folder.join("empty.pcap");
    std::fs::write(&empty, common::pcap(1, 0)).unwrap();
    for inputs in [["absent.pcap", arg(&empty)], [arg(&empty), "absent.pcap"]] {
        let output = run(&[&["filter", "--count", "ip"][..], &inputs].concat());
        assert_eq!((code(&output), stdout(&output)), (5, "0\n".to_owned()), "{}", stderr(&output));
        assert!(stderr(&output).contains("absent.pcap"), "{}", stderr(&output));
        let output = run(&[&["filter", "--count", "--json", "ip"][..], &inputs].concat());
        let summary: serde_json::Value = serde_json::from_str(&stdout(&output)).unwrap();
        assert_eq!((code(&output), &summary["packets"]), (5, &0.into()), "{summary}");
    }
    assert_eq!(code(&run(&["filter", "--count", "ip", "absent.pcap", "gone.pcap"])), 3);
}

/// However many workers there are, and whichever is the first that can be opened.
#[test]
fn missing_inputs_are_told_in_their_order() {
    let text = scratch("missing-in-order").join("text");
    std::fs::write(&text, "this is no capture at all").unwrap();
    let (there, damaged) = ("captures/web.pcap", arg(&text));
    for (inputs, exit) in [
        (&[there, "n1.cap", "n2.cap", damaged, "n3.cap", "n4.cap"][..], 5),
        (&["n1.cap", "n2.cap", damaged, there, "n3.cap", damaged], 5),
        (&["n1.cap", there], 5),
        (&["n1.cap", damaged, "n2.cap"], 3),
    ] {
        for jobs in ["1", "3"] {
            let output = run(&[&["filter", "--count", "ip", "-j", jobs][..], inputs].concat());
            let said = stderr(&output);
            assert_eq!(code(&output), exit, "{said}");
            let mut errors = said.lines();
            for input in inputs.iter().filter(|&&input| input != there) {
                assert!(
                    errors.next().is_some_and(|error| error.contains(input)),
                    "{inputs:?} {jobs}: {said}"
                );
            }
            assert_eq!(errors.next(), None, "{said}");
        }
    }
}

#[test]
fn standard_input_is_not_overwritten() {
    let file = scratch("stdin-not-overwritten").join("in.pcap");
    std::fs::copy(root().join("captures/web.pcap"), &file).unwrap();
    let before = std::fs::read(&file).unwrap();
    let stdin = std::fs::File::open(&file).unwrap();
    let output = sluss(&["filter", "ip", "-", "-o", arg(&file)]).stdin(stdin).output().unwrap();
    assert_eq!(code(&output), 2, "{}", stderr(&output));
    assert_eq!(std::fs::read(&file).unwrap(), before);
    // Appended to.
    let stdin = std::fs::File::open(&file).unwrap();
    let stdout = std::fs::OpenOptions::new().append(true).open(&file).unwrap();
    let output = sluss(&["filter", "ip", "-", "-o", "-"]).stdin(stdin).stdout(stdout).output().unwrap();
    assert_eq!(code(&output), 2, "{}", stderr(&output));
    assert!(stderr(&output).contains("what is read from standard input"), "{}", stderr(&output));
    assert_eq!(std::fs::read(&file).unwrap(), before);
}

#[test]
fn two_filters_do_not_write_over_each_other() {
    let out = scratch("one-output").join("out.pcap");
    let output =
        run(&["filter", "captures/web.pcap", "-f", "tcp", "-o", arg(&out), "-f", "arp", "-o", arg(&out)]);
    assert_eq!(code(&output), 2);
    assert!(stderr(&output).contains("output of two filters"), "{}", stderr(&output));
    // Other names of a file that is not there yet.
    let (again, link) = (out.with_file_name("./out.pcap"), out.with_file_name("link.pcap"));
    std::os::unix::fs::symlink("out.pcap", &link).unwrap();
    for other in [out.parent().unwrap().join("../one-output/out.pcap"), again, link] {
        for (a, b) in [(&out, &other), (&other, &out)] {
            let output =
                run(&["filter", "captures/web.pcap", "-f", "tcp", "-o", arg(a), "-f", "arp", "-o", arg(b)]);
            assert_eq!(code(&output), 2, "{a:?} {b:?}");
            assert!(!out.exists());
        }
    }
    let null =
        ["filter", "captures/web.pcap", "-f", "tcp", "-o", "/dev/null", "-f", "arp", "-o", "/dev/null"];
    assert_eq!(code(&run(&null)), 0);
}

/// Under whatever name, and be it a file or a pipe.
#[test]
fn two_filters_do_not_mix_on_standard_output() {
    let path = scratch("one-stdout").join("out");
    for names in [["-", "-"], ["-", "/dev/stdout"], ["/proc/self/fd/1", "-"], ["/dev/stdout", "/dev/fd/1"]] {
        let [a, b] = names;
        let args = ["filter", "captures/web.pcap", "-f", "tcp", "-o", a, "-f", "arp", "-o", b];
        let file = std::fs::File::create(&path).unwrap();
        for output in [run(&args), sluss(&args).stdout(file).output().unwrap()] {
            assert!(code(&output) == 2 && stderr(&output).contains("output of two filters"), "{names:?}");
            assert!(output.stdout.is_empty() && std::fs::read(&path).unwrap().is_empty());
        }
    }
}

#[test]
fn a_trace_of_a_damaged_capture_is_incomplete() {
    let whole = std::fs::read(root().join("captures/web.pcap")).unwrap();
    let cut = scratch("trace-damage").join("cut.pcap");
    std::fs::write(&cut, &whole[..500]).unwrap();
    assert_eq!(code(&run(&["trace", "ip", arg(&cut), "-n", "100"])), 5);
}

#[test]
fn a_terminal_obeys_no_file_name() {
    let output = run(&["filter", "--count", "ip", "absent\u{1b}]0;title\u{7}.pcap"]);
    assert!(!stderr(&output).contains('\u{1b}'), "{:?}", stderr(&output));
}

#[cfg(unix)]
#[test]
fn a_file_without_end_is_no_filter() {
    for args in [&["host in {@/dev/zero}"][..], &["-F", "/dev/zero"]] {
        let output = run(&[&["filter", "--count"], args, &["captures/web.pcap"]].concat());
        assert_eq!(code(&output), 2, "{args:?}");
        assert!(stderr(&output).contains("PF013"), "{}", stderr(&output));
    }
}

#[test]
fn an_input_is_not_overwritten() {
    let folder = scratch("not-overwritten");
    let file = folder.join("in.pcap");
    std::fs::copy(root().join("captures/web.pcap"), &file).unwrap();
    let output = run(&["filter", "ip", arg(&file), "-o", arg(&file)]);
    assert_eq!(code(&output), 2);
    assert!(stderr(&output).contains("both input and output"));
    assert_eq!(std::fs::read(&file).unwrap(), std::fs::read(root().join("captures/web.pcap")).unwrap());
}

#[cfg(unix)]
#[test]
fn nothing_is_appended_to_an_input() {
    let file = scratch("appended").join("in.pcap");
    std::fs::copy(root().join("captures/web.pcap"), &file).unwrap();
    let before = std::fs::read(&file).unwrap();
    for flags in [&[][..], &["--lines"], &["--json"]] {
        let stdout = std::fs::OpenOptions::new().append(true).open(&file).unwrap();
        let mut command = sluss(&[&["filter", "ip", arg(&file)], flags].concat());
        let output = command.stdout(stdout).output().unwrap();
        assert!(code(&output) == 2 && stderr(&output).contains("standard output is the input"), "{flags:?}");
    }
    assert_eq!(std::fs::read(&file).unwrap(), before);
}

#[test]
fn what_stands_before_the_damage_is_delivered() {
    let whole = std::fs::read(root().join("captures/web.pcap")).unwrap();
    let folder = scratch("damage");
    let (cut, out) = (folder.join("cut.pcap"), folder.join("out.pcap"));
    std::fs::write(&cut, &whole[..whole.len() - 10]).unwrap();
    let output = run(&["filter", "", arg(&cut), "-o", arg(&out)]);
    assert_eq!(code(&output), 5, "{}", stderr(&output));
    let offset = stderr(&output);
    assert!(offset.contains("cut.pcap") && offset.chars().any(|c| c.is_ascii_digit()), "{offset}");
    let written = std::fs::read(&out).unwrap();
    assert!(whole.starts_with(&written) && written.len() > whole.len() / 2);
}

#[test]
fn one_bad_file_among_many_costs_only_itself() {
    let folder = scratch("one-bad");
    let bad = folder.join("bad.pcap");
    std::fs::write(&bad, "this is no capture at all, whatever its name says").unwrap();
    let output = run(&["filter", "--count", "", "captures/web.pcap", arg(&bad), "captures/tls.pcap"]);
    assert_eq!(code(&output), 5);
    let count: u64 = stdout(&output).trim_end().parse().unwrap();
    let alone = |file| stdout(&run(&["filter", "--count", "", file])).trim_end().parse::<u64>().unwrap();
    assert_eq!(count, alone("captures/web.pcap") + alone("captures/tls.pcap"));
}

#[test]
fn strays_in_a_folder_are_left_out_aloud() {
    let folder = scratch("strays");
    std::fs::copy(common::root().join("captures/web.pcap"), folder.join("web.pcap")).unwrap();
    std::fs::write(folder.join("no.txt"), "no").unwrap();
    let output = run(&["filter", "--count", "", arg(&folder)]);
    assert_eq!(
        (code(&output), stdout(&output)),
        (0, stdout(&run(&["filter", "--count", "", "captures/web.pcap"])))
    );
    assert_eq!(stderr(&output), format!("note: left out: {}/no.txt is not a capture\n", arg(&folder)));
    assert_eq!(stderr(&run(&["filter", "-q", "--count", "", arg(&folder)])), "");
    assert_eq!(code(&run(&["filter", "--count", "", arg(&folder.join("no.txt"))])), 5);
}

#[test]
fn a_closed_pipe_is_a_success() {
    let big: Vec<&str> = std::iter::repeat_n("captures/mixed.pcap", 40).collect();
    let mut args = vec!["filter", "--lines", ""];
    args.extend(big);
    let mut child = sluss(&args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut first = [0; 100];
    child.stdout.take().unwrap().read_exact(&mut first).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), stderr(&output)), (Some(0), String::new()));
}

/// It is told of a reset, not of a broken pipe, where something was left unread.
#[test]
fn a_socket_whose_reader_left_is_as_a_closed_pipe() {
    let big = vec!["captures/mixed.pcap"; 40];
    let all = |args: &[&'static str]| [args, &big].concat();
    let graph = arg(&root().join("examples/policy.toml")).to_owned();
    for args in [all(&["filter", "--lines", ""]), all(&["filter", ""]), vec!["run", &graph]] {
        let (mut reader, stdout) = std::os::unix::net::UnixStream::pair().unwrap();
        let stdout = Stdio::from(std::os::fd::OwnedFd::from(stdout));
        let child = sluss(&args).stdout(stdout).stderr(Stdio::piped()).spawn().unwrap();
        reader.read_exact(&mut [0; 100]).unwrap();
        drop(reader);
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{args:?}: {:?}: {}", output.status, stderr(&output));
        assert!(!stderr(&output).contains("cannot write"), "{}", stderr(&output));
    }
}

#[test]
fn an_output_goes_on_behind_another_whose_reader_left() {
    let folder = scratch("reader-left");
    let (whole, beside) = (folder.join("whole.pcap"), folder.join("beside.pcap"));
    let big = vec![arg(&root().join("captures/mixed.pcap")).to_owned(); 40];
    let all = |args: &[&str]| {
        let args: Vec<&str> = args.iter().copied().chain(big.iter().map(String::as_str)).collect();
        sluss(&args)
    };
    assert!(all(&["filter", "-f", "ip", "-o", arg(&whole)]).status().unwrap().success());
    for jobs in ["1", "2"] {
        let args = ["filter", "-j", jobs, "-f", "", "-o", "-", "-f", "ip", "-o", arg(&beside)];
        let mut child = all(&args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        drop(child.stdout.take());
        let output = child.wait_with_output().unwrap();
        assert_eq!((output.status.code(), stderr(&output)), (Some(0), String::new()));
        assert!(std::fs::read(&beside).unwrap() == std::fs::read(&whole).unwrap(), "{jobs} jobs");
    }
}

#[cfg(unix)]
#[test]
fn a_signal_ends_who_waits_for_the_other_end() {
    use std::os::unix::process::ExitStatusExt;
    let fifo = scratch("signal-fifo").join("fifo");
    assert!(std::process::Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    let waits = |args: &[&str], stdin: Stdio| {
        let mut child = sluss(args).stdin(stdin).stderr(Stdio::null()).spawn().unwrap();
        let stdin = child.stdin.take();
        std::thread::sleep(std::time::Duration::from_millis(300));
        assert!(child.try_wait().unwrap().is_none(), "{args:?}");
        common::signal(&child, "TERM");
        let begin = std::time::Instant::now();
        let status = loop {
            match child.try_wait().unwrap() {
                Some(status) => break status,
                None if begin.elapsed().as_secs() > 20 => child.kill().unwrap(),
                None => std::thread::sleep(std::time::Duration::from_millis(10)),
            }
        };
        drop(stdin);
        assert_eq!(status.signal(), Some(15), "{args:?}");
    };
    waits(&["filter", "--count", "ip", arg(&fifo)], Stdio::null());
    waits(&["filter", "--count", "ip", "-"], Stdio::piped());
    waits(&["filter", "ip", "captures/web.pcap", "-o", arg(&fifo)], Stdio::null());
    // What was found before is not lost.
    let out = fifo.with_file_name("out.pcap");
    waits(&["filter", "", "captures/web.pcap", arg(&fifo), "-q", "-o", arg(&out)], Stdio::null());
    waits(&["filter", "", "captures/web.pcap", "-", "-q", "-o", arg(&out)], Stdio::piped());
    assert_eq!(std::fs::read(&out).unwrap(), std::fs::read(root().join("captures/web.pcap")).unwrap());
}

/// A pager that shows its first page for example, or a terminal that was stopped. Until a signal comes, it is waited for.
#[cfg(unix)]
#[test]
fn a_signal_ends_the_wait_for_who_does_not_read() {
    let folder = scratch("unread");
    let [out, fifo] = ["out.pcap", "fifo"].map(|name| folder.join(name));
    assert!(std::process::Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    let filled = std::fs::File::options().read(true).write(true).open(&fifo).unwrap();
    (&filled).write_all(&[b'.'; 64 << 10]).unwrap();
    let terminal = common::Terminal::new();
    let capture = "captures/mixed.pcap";
    let pipes = [(); 6].map(|()| common::running::full_pipe());
    let mut writers = pipes.iter().map(|(_, writer)| Stdio::from(writer.try_clone().unwrap()));
    let mut writer = || writers.next().unwrap();
    let started = [
        (vec!["filter", "--count", "", capture], writer(), "standard output"),
        (vec!["filter", "--json", "", capture], writer(), "standard output"),
        (vec!["filter", "--lines", "", capture, capture, capture, "-j", "2"], writer(), "standard output"),
        (
            vec!["filter", capture, "-f", "", "-o", "-", "-f", "", "-o", arg(&out)],
            writer(),
            "standard output",
        ),
        (vec!["filter", "", capture, "-o", arg(&fifo)], writer(), arg(&fifo)),
        (vec!["filter", "--lines", "", capture], writer(), "standard output"),
        (vec!["filter", "--lines", "", capture], terminal.theirs(), "standard output"),
    ]
    .map(|(args, stdout, place)| {
        (place, sluss(&args).stdout(stdout).stderr(Stdio::piped()).spawn().unwrap(), args)
    });
    std::thread::sleep(std::time::Duration::from_millis(800));
    let waiting = started.map(|(place, mut child, args)| {
        assert!(child.try_wait().unwrap().is_none(), "{args:?} does not wait");
        common::signal(&child, "TERM");
        (args, place, child)
    });
    for (args, place, mut child) in waiting {
        common::running::until("its end", || child.try_wait().unwrap().is_some());
        let output = child.wait_with_output().unwrap();
        let said = stderr(&output);
        let is_told = said.contains(place) && said.contains("its reader has not read");
        assert!(code(&output) == 3 && is_told, "{args:?}: {said}");
    }
    // What goes elsewhere is whole.
    assert_eq!(code(&run(&["filter", "--count", "", arg(&out)])), 0);
}

/// However little is read at a time.
#[cfg(unix)]
#[test]
fn a_signal_ends_the_wait_for_who_reads_slowly() {
    use std::time::{Duration, Instant};
    let capture = "captures/mixed.pcap";
    let args = ["filter", "--json", "", capture, capture, capture];
    let mut child = sluss(&args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut output = child.stdout.take().unwrap();
    let reader = std::thread::spawn(move || {
        let mut piece = [0; 4096];
        while output.read(&mut piece).is_ok_and(|count| count > 0) {
            std::thread::sleep(Duration::from_millis(400));
        }
    });
    std::thread::sleep(Duration::from_millis(800));
    assert!(child.try_wait().unwrap().is_none(), "it does not wait");
    common::signal(&child, "TERM");
    let begin = Instant::now();
    common::running::until("its end", || child.try_wait().unwrap().is_some());
    assert!(begin.elapsed() < Duration::from_secs(10), "{:?}", begin.elapsed());
    let said = stderr(&child.wait_with_output().unwrap());
    assert!(said.contains("its reader has not read everything within 5s of a signal"), "{said}");
    drop(reader);
}

#[cfg(unix)]
#[test]
fn help_that_cannot_be_written_is_no_success() {
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full");
    let Ok(full) = full else {
        return common::say("skipped: help_that_cannot_be_written_is_no_success: no /dev/full");
    };
    let child = sluss(&["--help"]).stdout(full).stderr(Stdio::piped()).spawn().unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(code(&output), 3);
    assert!(stderr(&output).starts_with("error: cannot write standard output: "), "{}", stderr(&output));
}

#[cfg(unix)]
#[test]
fn a_signal_ends_cleanly_with_what_was_written_intact() {
    use std::os::unix::process::ExitStatusExt;
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:")).map_or("0", str::trim);
    for (name, number) in [("HUP", 129), ("INT", 130), ("TERM", 143)] {
        if name == "HUP" && ignored.ends_with(['1', '3', '5', '7', '9', 'b', 'd', 'f']) {
            common::say(
                "skipped in part: a_signal_ends_cleanly_with_what_was_written_intact: SIGHUP is ignored here",
            );
            continue;
        }
        let out = scratch("signal").join(name).with_extension("pcap");
        let capture = std::fs::read(root().join("captures/mixed.pcap")).unwrap();
        let mut child =
            sluss(&["filter", "", "-", "-q", "-o", arg(&out)]).stdin(Stdio::piped()).spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        stdin.write_all(&capture).unwrap();
        stdin.flush().unwrap();
        // What has come is handed on while more is waited for.
        while std::fs::metadata(&out).map_or(0, |metadata| metadata.len()) < capture.len() as u64 {
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
        common::signal(&child, name);
        // The pipe stays open: the signal ends the read that waits.
        let status = child.wait().unwrap();
        drop(stdin);
        assert_eq!((status.code(), status.signal()), (Some(number), None));
        let read_back = run(&["filter", "--count", "", arg(&out)]);
        assert_eq!(code(&read_back), 0, "{}", stderr(&read_back));
    }
}

/// As behind nohup(1).
#[cfg(unix)]
#[test]
fn a_hangup_that_is_ignored_stays_so() {
    let out = scratch("ignored").join("out.pcap");
    let capture = std::fs::read(root().join("captures/web.pcap")).unwrap();
    let script = r#"trap '' HUP; exec "$0" filter '' - -q -o "$1""#;
    let mut command = std::process::Command::new("sh");
    command.args(["-c", script, env!("CARGO_BIN_EXE_sluss"), arg(&out)]).stdin(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(&capture).unwrap();
    while std::fs::metadata(&out).map_or(0, |metadata| metadata.len()) < capture.len() as u64 {
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    common::signal(&child, "HUP");
    stdin.write_all(&capture[24..]).unwrap();
    drop(stdin);
    assert_eq!(child.wait().unwrap().code(), Some(0));
    assert_eq!(std::fs::read(&out).unwrap().len(), 2 * capture.len() - 24);
}

/// setrlimit(2), RLIMIT_FSIZE; a shell counts in blocks of 512 or 1024 bytes.
#[cfg(unix)]
#[test]
fn an_output_that_may_become_no_longer_ends_with_a_whole_record() {
    let out = scratch("file-size").join("out.pcap");
    let script = r#"ulimit -f 20; exec "$0" filter '' captures/mixed.pcap -q -o "$1""#;
    let mut command = std::process::Command::new("sh");
    command.args(["-c", script, env!("CARGO_BIN_EXE_sluss"), arg(&out)]).current_dir(root());
    let output = command.output().unwrap();
    assert_eq!(code(&output), 3, "{}", stderr(&output));
    assert!(stderr(&output).contains("out.pcap: cannot write: File too large"), "{}", stderr(&output));
    let read_back = run(&["filter", "--count", "", arg(&out)]);
    assert_eq!(code(&read_back), 0, "{}", stderr(&read_back));
}

#[test]
fn unquoted_words_show_the_quoting() {
    let output = run(&["filter", "--count", "tcp", "port", "80", "captures/web.pcap"]);
    assert_eq!(code(&output), 2);
    assert!(stderr(&output).contains("sluss filter 'tcp port 80' captures/web.pcap"), "{}", stderr(&output));
}

#[test]
fn a_missing_flag_is_named_as_it_is_written() {
    for (args, flag) in [
        (&["filter", "--count", "ip broadcast", "captures/web.pcap"][..], "`--netmask 255.255.255.0`"),
        (&["filter", "--count", "--strict", "port in {80, 443}", "captures/web.pcap"], "`--strict`"),
        (&["explain", "--strict", "gateway", "gw"], "`--strict`"),
    ] {
        let output = run(args);
        assert!(code(&output) == 2 && stderr(&output).contains(flag), "{args:?}: {}", stderr(&output));
    }
}

#[test]
fn a_filter_file_is_named_by_what_is_wrong_in_it() {
    let file = scratch("filter-file").join("web.filter");
    std::fs::write(&file, "# the web\ntcp and\n  prot 80\n").unwrap();
    let at_file = format!("@{}", arg(&file));
    let told = format!("\nnote: this is line 3 of the filter file {}\n", arg(&file));
    let capture = "captures/web.pcap";
    for args in [
        &["filter", "--count", "-F", arg(&file), capture][..],
        &["filter", "--count", capture, "-f", "ip", "-f", &at_file],
        &["explain", &at_file],
        &["compile", &at_file],
        &["trace", &at_file, capture],
        &["explain", "-F", arg(&file)],
        &["compile", "--filter-file", arg(&file)],
        &["trace", "-F", arg(&file), capture],
        &["trace", "-r", capture, "-F", arg(&file)],
    ] {
        let output = run(args);
        assert!(code(&output) == 2 && stderr(&output).ends_with(&told), "{args:?}: {}", stderr(&output));
    }
    // Warnings, too, and not what stands on the command line.
    std::fs::write(&file, "vlan 2\nor vlan 3").unwrap();
    let output = run(&["filter", "--count", "--no-fail", capture, "-f", &at_file, "-f", "vlan 2 or vlan 3"]);
    assert_eq!(stderr(&output).matches("of the filter file").count(), 1, "{}", stderr(&output));
}

#[test]
fn a_command_line_of_tcpdump_is_told_the_command() {
    let capture = "captures/web.pcap";
    for (args, what, command) in [
        (&["-r", capture][..], "`-r` is no flag of `sluss` itself", "captures/web.pcap"),
        (
            &["-nn", "-r", capture, "-w", "o", "arp"],
            "`-n` is no flag of `sluss` itself",
            "'arp' captures/web.pcap -o o",
        ),
        (&["tcp", "port", "80", capture], "`tcp` is no command", "'tcp port 80' captures/web.pcap"),
        (&["host", "::1", capture], "`host` is no command", "'host ::1' captures/web.pcap"),
        (&["tcp port 80", capture], "`tcp port 80` is no command", "'tcp port 80' captures/web.pcap"),
        (&[capture], "`captures/web.pcap` is no command", "captures/web.pcap"),
    ] {
        let output = run(args);
        let told =
            format!("error: {what}\nhelp: packets of captures are selected by `sluss filter {command}`\n");
        assert_eq!((code(&output), stderr(&output)), (2, told), "{args:?}");
    }
    let device = stderr(&run(&["-i", "eth0", "port", "80"]));
    let told = "error: `-i` is no flag of `sluss` itself\nhelp: captures are read by `sluss filter`, and packets of a device, as root, by `sluss filter -i eth0 port 80`";
    assert!(device.starts_with(told), "{device}");
    for (args, told) in [
        (&["flter"][..], "`sluss filter`"),
        (&["--hepl"], "`--help`"),
        (&["-%"], "`-%` is no flag of `sluss`"),
    ] {
        let output = run(args);
        assert!(code(&output) == 2 && stderr(&output).contains(told), "{args:?}: {}", stderr(&output));
    }
}

#[test]
fn words_after_two_dashes_are_the_filter() {
    let output = run(&["filter", "--count", "captures/web.pcap", "--", "tcp", "port", "80"]);
    assert_eq!(stdout(&output), "96\n");
}

#[test]
fn a_pipe_works_like_a_file() {
    let capture = std::fs::read(root().join("captures/smtp.pcap.gz")).unwrap();
    let piped = run_with_input(&["filter", "--count", "tcp", "-"], &capture);
    let named = run(&["filter", "--count", "tcp", "captures/smtp.pcap.gz"]);
    assert_eq!(stdout(&piped), stdout(&named));
}

#[test]
fn errors_are_json_where_json_is_asked_for() {
    let output = run(&["filter", "--json", "--count", "tcp prot 80", "captures/web.pcap"]);
    let error: serde_json::Value = serde_json::from_str(&stderr(&output)).unwrap();
    assert_eq!(error["error"]["code"], "PF003");
    assert_eq!(error["error"]["span"]["start"], 4);
}

#[test]
fn what_the_system_refuses_is_json_in_every_command() {
    let folder = scratch("refused-in-json");
    let capture = arg(&root().join("captures/web.pcap")).to_owned();
    let graph = folder.join("graph.toml");
    let text = "links = [\"in.output -> out.input\"]\n[app.in]\ntype = \"pcap_reader\"\npath = \"absent.pcap\"\n\
                [app.out]\ntype = \"sink\"\n";
    std::fs::write(&graph, text).unwrap();
    let no_folder = folder.join("file");
    std::fs::write(&no_folder, "").unwrap();
    for (args, name) in [
        (&["filter", "ip", "absent.pcap"][..], "absent.pcap"),
        (&["filter", "ip", "absent.pcap", &capture], "absent.pcap"),
        (&["filter", "@absent.txt", &capture], "absent.txt"),
        (&["filter", "ip", &capture, "-o", "/nonexistent/out.pcap"], "/nonexistent/out.pcap"),
        (&["filter", "ip", "absent*.pcap"], "absent*.pcap"),
        (&["compile", "@absent.txt"], "absent.txt"),
        (&["explain", "@absent.txt"], "absent.txt"),
        (&["trace", "ip", "absent.pcap"], "absent.pcap"),
        (&["run", "absent.toml"], "absent.toml"),
        (&["run", "--check", "absent.toml"], "absent.toml"),
        (&["ps"], "refused-in-json/file"),
        (&["top", "--once"], "refused-in-json/file"),
        (&["blast", "absent.pcap", "--to", "null"], "absent.pcap"),
        (&["blast", &capture, "--to", "/nonexistent/out.pcap", "--count", "1"], "/nonexistent/out.pcap"),
        (&["bench", "engine", "--net", "filter", "--pcap", "absent.pcap"], "absent.pcap"),
    ] {
        let args = [args, &["--json"]].concat();
        let output = sluss(&args).env("SLUSS_RUNTIME_DIR", &no_folder).output().unwrap();
        let several = args.contains(&"absent.pcap") && args.contains(&capture.as_str());
        assert_eq!(code(&output), if several { 5 } else { 3 }, "{args:?}: {}", stderr(&output));
        let told = told(&output);
        // Behind it, the summary of what could be read.
        let (Some(object), true) = (told.first(), told.len() <= 1 + usize::from(several)) else {
            panic!("{args:?}: {}", stderr(&output))
        };
        assert_eq!((&object["v"], &object["type"]), (&1.into(), &"error".into()), "{args:?}");
        let error = &object["error"];
        assert_eq!((&error["code"], &error["severity"]), (&"CL003".into(), &"error".into()), "{args:?}");
        assert!(error["message"].as_str().unwrap().contains(name), "{args:?}: {object}");
        for part in ["span", "label", "also"] {
            assert!(error.get(part).is_some_and(serde_json::Value::is_null), "{args:?}: {part}");
        }
        let help = error.get("help").unwrap_or_else(|| panic!("{args:?}: {object}"));
        assert!(help.is_null() || help.is_string(), "{args:?}: {object}");
    }
    // What an app of a graph is refused has its place in the graph.
    let output = sluss(&["run", arg(&graph), "--json"]).env("SLUSS_RUNTIME_DIR", &folder).output().unwrap();
    assert_eq!((code(&output), &told(&output)[0]["errors"][0]["code"]), (3, &"GR019".into()));
}

/// The summary and the error say the same of it, in the same words.
#[test]
fn a_summary_has_the_messages_of_errors() {
    let cut = scratch("summary-errors").join("cut.pcap");
    let whole = std::fs::read(root().join("captures/web.pcap")).unwrap();
    std::fs::write(&cut, &whole[..500]).unwrap();
    let output = run(&["filter", "--count", "--json", "ip", arg(&cut)]);
    let object = |text: &str| serde_json::from_str::<serde_json::Value>(text).unwrap();
    let (summary, error) = (object(&stdout(&output)), object(&stderr(&output)));
    assert_eq!(summary["errors"], serde_json::json!([error["error"]["message"]]));
}

#[test]
fn all_that_is_said_beside_json_is_json() {
    let folder = scratch("said-in-json");
    let capture = arg(&root().join("captures/web.pcap")).to_owned();
    let whole = std::fs::read(&capture).unwrap();
    let cut = folder.join("cut.pcap");
    std::fs::write(&cut, &whole[..whole.len() - 10]).unwrap();
    let graph = folder.join("graph.toml");
    let text = format!(
        "links = [\"in.output -> out.input\"]\n[app.in]\ntype = \"pcap_reader\"\npath = {cut:?}\n\
         [app.out]\ntype = \"sink\"\n"
    );
    std::fs::write(&graph, text).unwrap();
    let out = folder.join("out.pcap");
    for (args, exit, kind, finding) in [
        (&["filter", "--count", "ip", arg(&cut)][..], 5, "error", "CL005"),
        (&["trace", "ip", arg(&cut), "-n", "1000"], 5, "error", "CL005"),
        (&["run", arg(&graph)], 5, "error", "CL005"),
        (&["blast", arg(&cut), "--loop", "1", "--to", "null"], 5, "error", "CL005"),
        (&["trace", "ip", &capture, "-n", "0"], 2, "error", "CL002"),
        (&["filter", "-f", "ip", "-f", "arp", "-o", "x", &capture], 2, "error", "CL002"),
        (&["filter", "--nonsense"], 2, "error", "CL002"),
        (&["filter", "ip", &capture, "-c", "0"], 2, "error", "CL002"),
        (&["top", "--once", "nobody"], 2, "error", "CL002"),
        (&["blast", &capture, "--to", "null", "--rate", "fast"], 2, "error", "CL002"),
        (&["bench", "engine", "--net", "tee", "--size", "1"], 2, "error", "CL002"),
        (&["filter", "--count", "vlan 2 or vlan 3", &capture], 1, "warning", "PF101"),
        (&["filter", "ip", "captures/router.pcapng", "-o", arg(&out)], 0, "warning", ""),
        (&["top", "--once"], 1, "warning", ""),
    ] {
        let args = [args, &["--json"]].concat();
        let output = sluss(&args).env("SLUSS_RUNTIME_DIR", &folder).output().unwrap();
        assert_eq!(code(&output), exit, "{args:?}: {}", stderr(&output));
        let objects = told(&output);
        let first = objects.first().unwrap_or_else(|| panic!("{args:?}"));
        assert_eq!((&first["v"], &first["type"]), (&1.into(), &kind.into()), "{args:?}: {first}");
        assert_eq!(first[kind]["code"].as_str().unwrap_or_default(), finding, "{args:?}: {first}");
    }
    // What can be done about it is apart.
    let output = run(&["filter", "-f", "ip", "-f", "arp", "-o", "x", &capture, "--json"]);
    let error = &told(&output)[0]["error"];
    assert!(error["help"].as_str().unwrap().starts_with("sluss filter FILE -f arp"), "{error}");
    assert!(!error["message"].as_str().unwrap().contains("help"), "{error}");
    let output = run(&["filter", "--cuont", "--json"]);
    let error = &told(&output)[0]["error"];
    assert_eq!(error["message"], "`--cuont` is no flag of `sluss filter`");
    assert!(error["help"].as_str().unwrap().contains("`--count`"), "{error}");
    let error = &told(&run(&["explain", "-y", "none", "ip", "--json"]))[0]["error"];
    assert!(error["message"].as_str().unwrap().contains("unknown link type `none`"), "{error}");
    assert!(error["help"].is_null(), "{error}");
    assert!(stderr(&run(&["filter", "--count", "--", "--json"])).starts_with("error"));
}

/// Whatever the command, whether it is a file or a pipe, and however little of a capture there is.
#[test]
fn what_is_no_capture_is_incomplete_everywhere() {
    let folder = scratch("no-capture");
    let net = |name: &str, path: &str| {
        let graph = format!(
            "links = [\"in.output -> out.input\"]\n[app.in]\ntype = \"pcap_reader\"\npath = {path:?}\n\
             [app.out]\ntype = \"sink\"\n"
        );
        let path = folder.join(format!("{name}.toml"));
        std::fs::write(&path, graph).unwrap();
        path
    };
    let whole = std::fs::read(root().join("captures/web.pcap")).unwrap();
    let gzip = std::fs::read(root().join("captures/smtp.pcap.gz")).unwrap();
    let cases = [
        ("text", &b"this is no capture at all"[..]),
        ("empty", b""),
        ("cut-header", &whole[..10]),
        ("cut", &whole[..300]),
        ("cut-gzip", &gzip[..20]),
    ];
    let piped = net("piped", "-");
    for (name, bytes) in cases {
        let file = folder.join(name);
        std::fs::write(&file, bytes).unwrap();
        let (file, graph) = (arg(&file), net(name, arg(&file)));
        for args in [
            &["filter", "--count", "", file][..],
            &["filter", "--count", "", file, "captures/web.pcap"],
            &["trace", "ip", file, "-n", "1000"],
            &["run", arg(&graph)],
            &["blast", file, "--to", "null", "--count", "1000000"],
            &["bench", "engine", "--net", "filter", "--runs", "1", "--pcap", file],
        ] {
            let output = sluss(args).env("SLUSS_RUNTIME_DIR", &folder).output().unwrap();
            assert_eq!(code(&output), 5, "{args:?}: {}", stderr(&output));
        }
        for args in [
            &["filter", "--count", "", "-"][..],
            &["trace", "ip", "-", "-n", "1000"],
            &["run", arg(&piped)],
            &["blast", "-", "--to", "null"],
        ] {
            let output = run_with_input(args, bytes);
            assert_eq!(code(&output), 5, "{name}, {args:?}: {}", stderr(&output));
        }
    }
    let output = sluss(&["run", arg(&folder.join("text.toml"))]).output().unwrap();
    let said = stderr(&output);
    assert!(
        said.starts_with("error[GR021]: `path` of app `in`") && said.ends_with("nothing was started\n"),
        "{said}"
    );
}

#[test]
fn what_is_missing_is_told_in_a_line() {
    let output = run(&["new", "app", "x"]);
    let said = stderr(&output);
    assert_eq!(code(&output), 2, "{said}");
    assert!(said.contains("not provided: <--lua|--rust>\nhelp: Usage: sluss new app"), "{said}");
}

#[test]
fn what_a_program_says_in_lines_is_told_so() {
    let output = run(&["snsh", "-l", "nosuch.mod"]);
    let said = stderr(&output);
    assert!(said.contains("module 'nosuch.mod' not found:\n    no f") && !said.contains("\\n"), "{said}");
}

/// As where a shell has put the name of a file among the arguments.
#[test]
fn what_was_typed_makes_no_lines_and_no_colours() {
    let typed = [
        &["filter", "--x\n\u{1b}[2Jerror: none"][..],
        &["filter", "-c", "3\n\u{1b}[2Jx", "tcp", "captures/web.pcap"],
        &["fi\n\u{1b}[2Jlter"],
        &["filter", "", "captures/web.pcap", "--at\n\u{1b}[2J", "native"],
    ];
    for args in typed {
        let output = run(args);
        let said = stderr(&output);
        assert_eq!(code(&output), 2, "{args:?}: {said}");
        assert!(!said.contains('\u{1b}') && !said.contains("\nerror: none"), "{args:?}: {said}");
        assert!(said.contains("\\n\\u{1b}[2J"), "{args:?}: {said}");
    }
}
