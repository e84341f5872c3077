//! The control socket of what runs: requests of other processes, and their answers.
//!
//! A request is a line of JSON, `{"cmd":"stats"}`, and so is its answer. Requests are answered one after the other, on a thread of their own; those that
//! wait for a packet, `why`, beside it, on one each.

use crate::exit::Failure;
use serde_json::{Value, json};
use std::fs;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::{Duration, Instant};

/// Bytes of a request at most: a million addresses fit.
pub(crate) const REQUEST_MAX: u64 = 64 << 20;
/// How long is waited for a request, or for who reads an answer.
const PATIENCE: Duration = Duration::from_secs(5);
/// How long who asks waits for an answer.
const ANSWERED_WITHIN: Duration = Duration::from_secs(70);

/// Nanoseconds since this was first asked for, by the clock that control sockets set times by.
pub(crate) fn now_ns() -> u64 {
    static BEGIN: OnceLock<Instant> = OnceLock::new();
    BEGIN.get_or_init(Instant::now).elapsed().as_nanos() as u64
}

/// What answers requests.
pub(crate) type Answer = Arc<dyn Fn(&Value) -> Value + Send + Sync>;

/// The command that is answered when a packet has come.
const WAITS: &str = "why";
/// How many of these are answered at a time.
const WAITING_MAX: usize = 4;

/// How long the server waits after it could not accept a connection.
const REST: Duration = Duration::from_millis(100);

/// A control socket.
pub(crate) struct Server {
    listener: UnixListener,
    /// Its file goes as well if nobody serves.
    file: Served,
}

/// The socket's file, which goes when what runs does.
#[derive(Debug)]
pub(crate) struct Served(PathBuf);

impl Drop for Served {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

impl Server {
    /// Binds a socket that its owner alone may use. One that nobody answers any more is replaced.
    pub(crate) fn bind(path: &Path) -> Result<Server, Failure> {
        let refused = |error: &io::Error| {
            Failure::world(format_args!("cannot make the control socket {}: {error}", path.display()))
        };
        let listener = match UnixListener::bind(path) {
            Err(error) if error.kind() == io::ErrorKind::AddrInUse => {
                if UnixStream::connect(path).is_ok() {
                    return Err(refused(&error).help("another process answers there"));
                }
                fs::remove_file(path).map_err(|error| refused(&error))?;
                UnixListener::bind(path)
            }
            bound => bound,
        };
        let listener = listener.map_err(|error| refused(&error))?;
        let file = Served(path.to_owned());
        fs::set_permissions(path, fs::Permissions::from_mode(0o600)).map_err(|error| refused(&error))?;
        Ok(Server { listener, file })
    }

    /// Answers requests from now on.
    pub(crate) fn serve(self, answer: Answer) -> Result<Served, Failure> {
        let Server { listener, file } = self;
        let serve = move || {
            engine::stand_back();
            let waiting = Arc::new(());
            for stream in listener.incoming() {
                match stream {
                    // Who does not read the answer has not got one.
                    Ok(stream) => drop(attend(stream, &answer, &waiting)),
                    // No file descriptor is left: the connection goes on waiting, so `accept` would fail again at once.
                    Err(_) => thread::sleep(REST),
                }
            }
        };
        let begun = thread::Builder::new().name("control".to_owned()).spawn(serve);
        begun.map_err(|error| Failure::world(format_args!("cannot start a thread: {error}")))?;
        Ok(file)
    }
}

/// Answers a request, beside others if it waits; `waiting` is held by each that does.
fn attend(stream: UnixStream, answer: &Answer, waiting: &Arc<()>) -> io::Result<()> {
    let asked = match read_request(&stream)? {
        Ok(asked) if asked["cmd"] == WAITS => asked,
        Ok(asked) => return tell(&stream, &answer(&asked)),
        Err(wrong) => return tell(&stream, &wrong),
    };
    if Arc::strong_count(waiting) > WAITING_MAX {
        return tell(&stream, &error("others wait for packets, as many as may: ask again later"));
    }
    let (answer, turn) = (Arc::clone(answer), Arc::clone(waiting));
    let begun = thread::Builder::new().name("why".to_owned()).spawn(move || {
        engine::stand_back();
        let _ = tell(&stream, &answer(&asked));
        drop(turn);
    });
    begun.map(drop)
}

/// Answers a request. Whatever comes, there is an answer, or the connection is closed, within [`PATIENCE`] for the request and for who reads the
/// answer.
pub(crate) fn answer_one(stream: &UnixStream, answer: &Answer) -> io::Result<()> {
    match read_request(stream)? {
        Ok(asked) => tell(stream, &answer(&asked)),
        Err(wrong) => tell(stream, &wrong),
    }
}

/// What is asked, or the answer to what is no request.
fn read_request(stream: &UnixStream) -> io::Result<Result<Value, Value>> {
    Ok(match request_line(stream)? {
        None => Err(error("a request has 64 MiB at most")),
        Some(line) => serde_json::from_slice(&line)
            .map_err(|_| error("a request is a line of JSON: {\"cmd\":\"stats\"}")),
    })
}

fn tell(stream: &UnixStream, answer: &Value) -> io::Result<()> {
    write_line(stream, &format!("{answer}\n"), Instant::now() + PATIENCE)
}

/// Writes an answer.
///
/// # Errors
/// When the connection fails, or not all of it is taken in time: also by who takes byte after byte.
fn write_line(mut stream: &UnixStream, line: &str, deadline: Instant) -> io::Result<()> {
    let mut rest = line.as_bytes();
    while !rest.is_empty() {
        stream.set_write_timeout(Some(time_left(deadline)?))?;
        let taken = stream.write(rest)?;
        if taken == 0 {
            return Err(io::ErrorKind::WriteZero.into());
        }
        rest = &rest[taken..];
    }
    Ok(())
}

/// How long it is until then.
///
/// # Errors
/// When that was before.
fn time_left(deadline: Instant) -> io::Result<Duration> {
    let left = deadline.saturating_duration_since(Instant::now());
    if left.is_zero() { Err(io::ErrorKind::TimedOut.into()) } else { Ok(left) }
}

/// The first line of what comes, as far as it is there at the end; `None` if it is too long.
///
/// # Errors
/// When the connection fails, or there is no line in time: also from who sends byte after byte.
fn request_line(mut stream: &UnixStream) -> io::Result<Option<Vec<u8>>> {
    let deadline = Instant::now() + PATIENCE;
    let (mut line, mut part) = (Vec::new(), vec![0; 64 << 10]);
    loop {
        stream.set_read_timeout(Some(time_left(deadline)?))?;
        let came = stream.read(&mut part)?;
        let end = part[..came].iter().position(|&byte| byte == b'\n');
        line.extend_from_slice(&part[..end.unwrap_or(came)]);
        if line.len() as u64 > REQUEST_MAX {
            return Ok(None);
        }
        if end.is_some() || came == 0 {
            return Ok(Some(line));
        }
    }
}

/// The answer to a request that is refused.
pub(crate) fn error(message: &str) -> Value {
    json!({ "v": 1, "type": "error", "error": { "code": "CL002", "severity": "error", "message": message } })
}

/// The answer that tells of a failure.
pub(crate) fn failed(failure: &Failure) -> Value {
    serde_json::from_str(&failure.message.to_json()).unwrap_or_else(|_| error("the request has failed"))
}

/// Why a request was refused, as the answer says.
pub(crate) fn why_refused(answer: &Value) -> Option<String> {
    let told = |found: &Value| {
        let line = found["line"].as_u64().map(|line| format!("line {line}: ")).unwrap_or_default();
        format!("{line}{}", found["message"].as_str().unwrap_or_default())
    };
    if answer["type"] != "error" {
        return None;
    }
    let found =
        answer["errors"].as_array().map(|errors| errors.iter().map(told).collect::<Vec<_>>().join("; "));
    Some(found.unwrap_or_else(|| told(&answer["error"])))
}

/// Sends a request to the socket of a running process, `what`, and returns its answer.
pub(crate) fn request(path: &Path, what: &str, help: &str, request: &Value) -> Result<Value, Failure> {
    let failed = |error: &io::Error| {
        let failure = Failure::world(format_args!("no {what} answers at {}: {error}", path.display()));
        failure.help(help)
    };
    let answer = asked(path, request, ANSWERED_WITHIN).map_err(|error| failed(&error))?;
    if answer.is_null() {
        return Err(Failure::world(format_args!("what answers at {} is no {what}", path.display())));
    }
    Ok(answer)
}

/// Sends a request, and waits for its answer for so long; `null` if that is no JSON.
pub(crate) fn asked(path: &Path, request: &Value, patience: Duration) -> io::Result<Value> {
    let mut stream = UnixStream::connect(path)?;
    stream.set_read_timeout(Some(patience))?;
    stream.set_write_timeout(Some(patience))?;
    stream.write_all(format!("{request}\n").as_bytes())?;
    let mut line = String::new();
    BufReader::new(&stream).read_line(&mut line)?;
    Ok(serde_json::from_str(&line).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_waits_for_a_packet_holds_up_nobody() {
        let path = std::env::temp_dir().join(format!("sluss-control-{}", std::process::id()));
        let (begun, waits) = std::sync::mpsc::channel::<()>();
        let (end, ended) = std::sync::mpsc::channel::<()>();
        let channels = std::sync::Mutex::new((begun, ended));
        let answer: Answer = Arc::new(move |request: &Value| {
            if request["cmd"] == WAITS {
                let channels = channels.lock().unwrap();
                channels.0.send(()).unwrap();
                channels.1.recv().unwrap();
            }
            request["cmd"].clone()
        });
        let served = Server::bind(&path).unwrap().serve(answer).unwrap();
        let ask = |command: &str| {
            asked(&path, &json!({ "cmd": command }), Duration::from_secs(20)).map(|answer| answer == command)
        };
        thread::scope(|scope| {
            let why = scope.spawn(|| ask(WAITS).unwrap());
            waits.recv().unwrap();
            assert!(ask("stats").unwrap(), "while another waits");
            end.send(()).unwrap();
            assert!(why.join().unwrap());
        });
        assert!(path.exists());
        drop(served);
        assert!(!path.exists());
        drop(Server::bind(&path).unwrap());
        assert!(!path.exists(), "nobody serves");
    }

    #[test]
    fn who_reads_little_by_little_does_not_hold_the_socket() {
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        let reader = thread::spawn(move || {
            let mut part = [0; 1 << 10];
            for _ in 0..50 {
                assert!(theirs.read(&mut part).unwrap() > 0);
                thread::sleep(Duration::from_millis(20));
            }
        });
        let answer = "x".repeat(64 << 20);
        let written = write_line(&ours, &answer, Instant::now() + Duration::from_millis(300));
        let kind = written.unwrap_err().kind();
        assert!(matches!(kind, io::ErrorKind::TimedOut | io::ErrorKind::WouldBlock), "{kind:?}");
        reader.join().unwrap();
    }
}
