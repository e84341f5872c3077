//! An engine of somebody else: a command that answers lines.
//!
//! One line in, `FILTER<TAB>LINKTYPE<TAB>WIRE_LEN<TAB>HEX`; one line out, `1`, `0`, the call of a program, or `-` for what the engine
//! does not know. The next line comes only behind the answer, so that a crash has a pair.

use crate::answer::Answer;
use crate::packet::Packet;
use crate::subject::Subject;
use std::cell::RefCell;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

/// How long an answer may take.
const PATIENCE: Duration = Duration::from_secs(10);

/// A command, started when it is first asked, and again after it has failed.
#[derive(Debug)]
pub(crate) struct Plugged {
    command: String,
    running: RefCell<Option<Running>>,
}

#[derive(Debug)]
struct Running {
    child: Child,
    stdin: ChildStdin,
    lines: Receiver<String>,
}

impl Plugged {
    pub(crate) fn new(command: &str) -> Self {
        Plugged { command: command.to_owned(), running: RefCell::new(None) }
    }

    /// What it says of a packet; `None` where it says that it cannot.
    pub(crate) fn answer(&self, subject: &Subject, packet: &Packet) -> Option<Answer> {
        let text = subject.text.replace(['\t', '\n', '\r'], " ");
        let line = format!("{text}\t{}\t{}\t{}\n", subject.linktype, packet.wire_len, packet.to_hex());
        self.answer_to(&line, subject)
    }

    /// What it says to a line that asks about a packet.
    pub(crate) fn answer_to(&self, line: &str, subject: &Subject) -> Option<Answer> {
        let answer = match self.ask(line) {
            Ok(line) => match line.trim() {
                "-" => return None,
                "0" => Answer::Rejects,
                "1" if !subject.is_program() => Answer::Accepts,
                call if subject.is_program() && !call.is_empty() => Answer::Calls(call.into()),
                other => Answer::Fails(format!("`{other}` is neither 1, 0 nor -").into()),
            },
            Err(why) => Answer::Fails(why.into()),
        };
        if matches!(answer, Answer::Fails(_)) {
            *self.running.borrow_mut() = None;
        }
        Some(answer)
    }

    /// The line with which a line is answered.
    ///
    /// # Errors
    /// Why there is none.
    pub(crate) fn ask(&self, line: &str) -> Result<String, String> {
        let running = &mut *self.running.borrow_mut();
        if running.is_none() {
            *running = Some(Running::start(&self.command).map_err(|error| format!("cannot start: {error}"))?);
        }
        let Some(Running { child, stdin, lines }) = running else { return Err("not started".into()) };
        // A command that has ended is told by its status.
        let written = stdin.write_all(line.as_bytes()).and_then(|()| stdin.flush());
        match lines.recv_timeout(PATIENCE) {
            Ok(line) => Ok(line),
            Err(RecvTimeoutError::Timeout) => {
                Err(format!("nothing within {} s; does it flush its output?", PATIENCE.as_secs()))
            }
            Err(RecvTimeoutError::Disconnected) => Err(match (child.wait(), written) {
                (Ok(status), _) => format!("it ended ({status})"),
                (Err(error), _) => error.to_string(),
            }),
        }
    }
}

impl Running {
    fn start(command: &str) -> std::io::Result<Running> {
        let mut child =
            Command::new("sh").args(["-c", command]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let (Some(stdin), Some(stdout)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(std::io::ErrorKind::BrokenPipe.into());
        };
        let (sender, lines) = channel();
        std::thread::Builder::new().spawn(move || {
            // Until the command ends, or nobody asks any more.
            for line in BufReader::new(stdout).lines() {
                let Ok(line) = line else { return };
                if sender.send(line).is_err() {
                    return;
                }
            }
        })?;
        Ok(Running { child, stdin, lines })
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
