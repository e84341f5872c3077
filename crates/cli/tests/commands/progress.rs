//! What `--progress` draws, on a terminal that may be stopped, and elsewhere.

use crate::common::{self, Terminal, signal, sluss};
use std::io::{Read, Write};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// A run that waits for more of a capture, on a terminal that has shown how far it is, and was stopped then (Ctrl-S).
fn on_stopped_terminal() -> (Terminal, Child) {
    let mut terminal = Terminal::new();
    let mut command = sluss(&["filter", "--count", "-q", "tcp", "-"]);
    let command = command.env("TERM", "xterm").stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.stderr(terminal.theirs()).spawn().unwrap();
    let capture = std::fs::read(common::root().join("captures/web.pcap")).unwrap();
    child.stdin.as_mut().unwrap().write_all(&capture).unwrap();
    let mut seen = Vec::new();
    while !String::from_utf8_lossy(&seen).contains(" match (") {
        let mut more = [0; 1000];
        let len = terminal.ours.read(&mut more).unwrap();
        seen.extend(&more[..len]);
    }
    terminal.ours.write_all(b"\x13").unwrap();
    // Until one line more was to be drawn.
    std::thread::sleep(Duration::from_millis(500));
    (terminal, child)
}

/// Its exit code, or nothing if it does not end.
fn end(child: &mut Child) -> Option<i32> {
    let begin = Instant::now();
    while begin.elapsed() < Duration::from_secs(60) {
        if let Some(status) = child.try_wait().unwrap() {
            return status.code();
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    child.kill().unwrap();
    None
}

#[test]
fn a_stopped_terminal_holds_up_no_result() {
    let (_terminal, mut child) = on_stopped_terminal();
    drop(child.stdin.take());
    assert_eq!(end(&mut child), Some(0));
    let mut count = String::new();
    child.stdout.take().unwrap().read_to_string(&mut count).unwrap();
    assert!(count.trim().parse::<u64>().is_ok_and(|count| count > 0), "{count}");
}

#[test]
fn a_signal_ends_what_draws_on_a_stopped_terminal() {
    let (_terminal, mut child) = on_stopped_terminal();
    signal(&child, "INT");
    assert_eq!(end(&mut child), Some(130));
}

#[test]
fn a_message_takes_the_place_of_what_was_drawn() {
    let mut terminal = Terminal::new();
    let mut command = sluss(&["filter", "--count", "tcp", "-"]);
    let command = command.env("TERM", "xterm").stdin(Stdio::piped()).stdout(Stdio::null());
    let mut child = command.stderr(terminal.theirs()).spawn().unwrap();
    let capture = std::fs::read(common::root().join("captures/web.pcap")).unwrap();
    // Cut within a record, so that there is something to say.
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(&capture[..capture.len() - 1]).unwrap();
    let mut seen = String::new();
    let mut read_until = |end: &str| {
        while !seen.contains(end) {
            let mut more = [0; 1000];
            let len = terminal.ours.read(&mut more).unwrap();
            seen.push_str(&String::from_utf8_lossy(&more[..len]));
        }
        seen.clone()
    };
    read_until(" match (");
    drop(stdin);
    let seen = read_until("error");
    let before = seen.split("error").next().unwrap();
    assert!(before.trim_end_matches("\x1b[1;31m").ends_with("\r\x1b[K"), "{seen:?}");
    assert_eq!(end(&mut child), Some(5));
}

/// As a whole: a line of a packet neither begins behind what was drawn, nor is it drawn over.
#[test]
fn a_line_of_a_packet_takes_the_place_of_what_was_drawn() {
    let mut terminal = Terminal::new();
    let mut command = sluss(&["filter", "-q", "--lines", "--progress", "always", "tcp", "-"]);
    let command = command.env("TERM", "xterm").stdin(Stdio::piped()).stdout(terminal.theirs());
    let mut child = command.stderr(terminal.theirs()).spawn().unwrap();
    let capture = std::fs::read(common::root().join("captures/web.pcap")).unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let (begin, rest) = capture.split_at(capture.len() / 2);
    stdin.write_all(begin).unwrap();
    let mut seen = String::new();
    let mut read_until = |end: &str| {
        let from = seen.len();
        while !seen[from..].contains(end) {
            let mut more = [0; 1000];
            let len = terminal.ours.read(&mut more).unwrap();
            seen.push_str(&String::from_utf8_lossy(&more[..len]));
        }
        seen.clone()
    };
    read_until(" match (");
    stdin.write_all(rest).unwrap();
    read_until("Z 192.0.2.10");
    let seen = read_until(" match (");
    drop(stdin);
    for packet in seen.split(" match (").skip(1).filter(|behind| behind.contains("Z 192.0.2.10")) {
        let drawn = packet.split("2026-").next().unwrap();
        assert!(drawn.ends_with("\r\x1b[K"), "{seen:?}");
    }
    assert_eq!(end(&mut child), Some(0));
}

/// The terminal would stop it, and a shell's line be drawn over.
#[test]
fn nothing_is_drawn_from_the_background() {
    let terminal = Terminal::new();
    let mut command = Command::new("setsid");
    // With `-m`, each job has a group of its own, as at a prompt.
    let jobs = r#"stty tostop; { cat captures/web.pcap; sleep 2; } | "$0" filter --count tcp - & wait -f $!"#;
    command.args(["--ctty", "--wait", "bash", "-mc", jobs, env!("CARGO_BIN_EXE_sluss")]);
    command.current_dir(common::root()).env("TERM", "xterm");
    command.stdin(terminal.theirs()).stdout(Stdio::piped()).stderr(terminal.theirs());
    let mut child = command.spawn().expect("setsid");
    assert_eq!(end(&mut child), Some(0));
    let mut count = String::new();
    child.stdout.take().unwrap().read_to_string(&mut count).unwrap();
    assert_eq!(count, "96\n");
}

#[test]
fn elsewhere_progress_is_lines() {
    let mut command = sluss(&["filter", "--count", "-q", "--progress", "always", "tcp", "-"]);
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let capture = std::fs::read(common::root().join("captures/web.pcap")).unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(&capture).unwrap();
    let mut stderr = child.stderr.take().unwrap();
    let mut said = vec![0; 1000];
    let len = stderr.read(&mut said).unwrap();
    let said = String::from_utf8_lossy(&said[..len]).into_owned();
    assert!(said.ends_with("pps)\n"), "{said:?}");
    assert!(!said.contains('\r') && !said.contains('\u{1b}'), "{said:?}");
    drop(stdin);
    assert_eq!(end(&mut child), Some(0));
}
