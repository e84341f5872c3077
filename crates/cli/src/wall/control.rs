//! The control socket of a running wall, and reloads.
//!
//! A request is a line of JSON, `{"cmd":"stats"}` or `{"cmd":"reload"}`, and so is its answer. SIGHUP asks for a reload as well.

use super::check::written;
use super::{policy, run};
use crate::args::ControlArgs;
use crate::exit::{Failure, Outcome};
use crate::message::Message;
use crate::terminal::{self, Terminal};
use pflang::LinkType;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::fs;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};
use wall::control::Control;
use wall::judge::Prepared;
use wall::policy::Policy;

/// Bytes of a request at most.
const REQUEST_MAX: u64 = 4096;
/// How long is waited for a request, or for who reads an answer.
const PATIENCE: Duration = Duration::from_secs(5);
/// How long is waited until the wall has taken a policy.
const TAKEN_WITHIN: Duration = Duration::from_secs(10);

/// Reads a policy again, and hands it to the wall. Clones are the same.
#[derive(Clone)]
pub(super) struct Reloader(Arc<Inner>);

struct Inner {
    path: PathBuf,
    control: Control,
    is_coloured: bool,
    /// Held by the reload that is under way.
    turn: Mutex<()>,
    /// What reloads that SIGHUP asked for have come to, and is not told yet.
    untold: Mutex<Vec<Result<Value, Failure>>>,
}

impl Reloader {
    pub(super) fn new(path: &Path, control: &Control, is_coloured: bool) -> Reloader {
        let (turn, untold) = (Mutex::default(), Mutex::default());
        Reloader(Arc::new(Inner {
            path: path.to_owned(),
            control: control.clone(),
            is_coloured,
            turn,
            untold,
        }))
    }

    /// Reads, checks and compiles the policy, and hands it over. If it is wrong, the one before it stays.
    fn reload(&self) -> Result<Value, Failure> {
        let Inner { path, control, is_coloured, turn, .. } = &*self.0;
        let _turn = turn.lock().unwrap_or_else(PoisonError::into_inner);
        let begin = Instant::now();
        let new = policy::read(path, *is_coloured)?;
        let before = control.told();
        if let Err(error) = new.compile(LinkType::EN10MB) {
            return Err(Failure::user(format_args!("{}: the rules do not compile: {error}", path.display())));
        }
        control.hand_over(Prepared::new(Arc::clone(&new), &[LinkType::EN10MB]));
        let built = begin.elapsed();
        while control.told().generation == before.generation {
            if begin.elapsed() > built + TAKEN_WITHIN {
                return Err(Failure::world(
                    "the wall has not taken the policy: it stands still, or is about to end",
                ));
            }
            thread::sleep(Duration::from_millis(2));
        }
        let (added, removed) = difference(&before.policy, &new);
        Ok(json!({
            "v": 1,
            "type": "wall.reload",
            "generation": control.told().generation,
            "rules": new.rules().len(),
            "added": added,
            "removed": removed,
            "build_ms": built.as_secs_f64() * 1e3,
            "duration_ms": begin.elapsed().as_secs_f64() * 1e3,
            "needs_restart": needs_restart(&before.policy, &new),
        }))
    }

    /// Begins a reload that SIGHUP has asked for, on a thread of its own.
    pub(super) fn begin(&self, terminal: &Terminal) {
        let reloader = self.clone();
        let begun = thread::Builder::new().name("reload".to_owned()).spawn(move || {
            engine::stand_back();
            let result = reloader.reload();
            reloader.untold().push(result);
        });
        if let Err(error) = begun {
            terminal.tell(&Message::warning(format_args!(
                "the policy is not read again: cannot start a thread: {error}"
            )));
        }
    }

    /// Tells what such reloads have come to.
    pub(super) fn tell(&self, terminal: &Terminal) {
        let untold = std::mem::take(&mut *self.untold());
        for result in untold {
            match result {
                Ok(answer) if terminal.json => terminal.say(&answer.to_string()),
                Ok(answer) => terminal.say(&reloaded(&answer)),
                Err(failure) => {
                    terminal.tell(&failure.message);
                    terminal.say("the policy that runs goes on unchanged");
                }
            }
        }
    }

    fn untold(&self) -> std::sync::MutexGuard<'_, Vec<Result<Value, Failure>>> {
        self.0.untold.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn answer(&self, request: &str) -> Value {
        let parsed: Option<Value> = serde_json::from_str(request).ok();
        match parsed.as_ref().and_then(|request| request["cmd"].as_str()) {
            Some("stats") => {
                let told = self.0.control.told();
                let mut object = run::object(&told.counts, &told.policy);
                object["type"] = "wall.stats".into();
                object["generation"] = told.generation.into();
                object
            }
            Some("reload") => self.reload().unwrap_or_else(|failure| {
                serde_json::from_str(&failure.message.to_json())
                    .unwrap_or_else(|_| error("the reload has failed"))
            }),
            Some(_) => error("there is no such command; there are `stats` and `reload`"),
            None => error("a request is a line of JSON: {\"cmd\":\"stats\"}"),
        }
    }
}

fn error(message: &str) -> Value {
    json!({ "v": 1, "type": "error", "error": { "code": "CL002", "severity": "error", "message": message } })
}

/// How many rules are in one policy and not in the other, either way.
fn difference(old: &Policy, new: &Policy) -> (usize, usize) {
    let mut counts: HashMap<String, i64> = HashMap::new();
    new.rules().iter().for_each(|rule| *counts.entry(written(new, rule)).or_default() += 1);
    old.rules().iter().for_each(|rule| *counts.entry(written(old, rule)).or_default() -= 1);
    let sum = |sign: i64| counts.values().map(|count| (count * sign).max(0) as usize).sum();
    (sum(1), sum(-1))
}

/// Keys whose values differ, and which a reload does not change.
fn needs_restart(old: &Policy, new: &Policy) -> Vec<&'static str> {
    let (old, new) = (old.settings(), new.settings());
    let is_eve_same = old.records.eve == new.records.eve
        && old.records.eve_bytes_max == new.records.eve_bytes_max
        && old.records.syslog == new.records.syslog;
    let changed = [("flows", old.flows != new.flows), ("dpi", old.dpi != new.dpi), ("records", !is_eve_same)];
    changed.into_iter().filter(|(_, is_changed)| *is_changed).map(|(key, _)| key).collect()
}

/// What a reload has come to, for people.
fn reloaded(answer: &Value) -> String {
    let number = |key: &str| answer[key].as_u64().unwrap_or(0);
    let mut text = format!(
        "generation {}: {} rules, {} new, {} gone; read and compiled in {:.1} ms",
        number("generation"),
        number("rules"),
        number("added"),
        number("removed"),
        answer["build_ms"].as_f64().unwrap_or(0.0)
    );
    let keys: Vec<&str> =
        answer["needs_restart"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    if !keys.is_empty() {
        text += &format!("; what changed in `{}` takes a restart", keys.join("`, `"));
    }
    text
}

/// A control socket.
pub(super) struct Server {
    listener: UnixListener,
    path: PathBuf,
}

/// The socket's file, which goes when the wall does.
pub(super) struct Served(PathBuf);

impl Drop for Served {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

impl Server {
    /// Binds a socket that its owner alone may use. One that nobody answers any more is replaced.
    pub(super) fn bind(path: &Path) -> Result<Server, Failure> {
        let refused = |error: &io::Error| {
            Failure::world(format_args!("cannot make the control socket {}: {error}", path.display()))
        };
        let listener = match UnixListener::bind(path) {
            Err(error) if error.kind() == io::ErrorKind::AddrInUse => {
                if UnixStream::connect(path).is_ok() {
                    return Err(refused(&error).help("another wall answers there"));
                }
                fs::remove_file(path).map_err(|error| refused(&error))?;
                UnixListener::bind(path)
            }
            bound => bound,
        };
        let listener = listener.map_err(|error| refused(&error))?;
        fs::set_permissions(path, fs::Permissions::from_mode(0o600)).map_err(|error| refused(&error))?;
        Ok(Server { listener, path: path.to_owned() })
    }

    /// Answers requests from now on, on a thread of its own, one after the other.
    pub(super) fn serve(self, reloader: Reloader) -> Result<Served, Failure> {
        let Server { listener, path } = self;
        let serve = move || {
            engine::stand_back();
            for stream in listener.incoming().flatten() {
                // Who does not read the answer has not got one.
                let _ = answer(stream, &reloader);
            }
        };
        let begun = thread::Builder::new().name("control".to_owned()).spawn(serve);
        begun.map_err(|error| Failure::world(format_args!("cannot start a thread: {error}")))?;
        Ok(Served(path))
    }
}

fn answer(stream: UnixStream, reloader: &Reloader) -> io::Result<()> {
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    let mut line = String::new();
    BufReader::new(Read::by_ref(&mut &stream).take(REQUEST_MAX)).read_line(&mut line)?;
    (&stream).write_all(format!("{}\n", reloader.answer(line.trim())).as_bytes())
}

/// Sends a request to a wall.
fn request(args: &ControlArgs, command: &str) -> Result<Value, Failure> {
    let path = &args.control;
    let failed = |error: &io::Error| {
        let failure = Failure::world(format_args!("no wall answers at {}: {error}", path.display()));
        failure.help("it is the socket that `sluss wall run --inline IN OUT --control SOCKET` was given")
    };
    let stream = UnixStream::connect(path).map_err(|error| failed(&error))?;
    stream.set_read_timeout(Some(TAKEN_WITHIN + Duration::from_secs(60))).map_err(|error| failed(&error))?;
    let object = json!({ "cmd": command });
    (&stream).write_all(format!("{object}\n").as_bytes()).map_err(|error| failed(&error))?;
    let mut line = String::new();
    BufReader::new(&stream).read_line(&mut line).map_err(|error| failed(&error))?;
    let answer = serde_json::from_str::<Value>(&line);
    let answer =
        answer.map_err(|_| Failure::world(format_args!("what answers at {} is no wall", path.display())))?;
    if answer["type"] == "error" {
        return Err(refused(&answer));
    }
    Ok(answer)
}

/// What a wall refuses, as it says.
fn refused(answer: &Value) -> Failure {
    let told = |found: &Value| {
        let line = found["line"].as_u64().map(|line| format!("line {line}: ")).unwrap_or_default();
        format!("{line}{}", found["message"].as_str().unwrap_or_default())
    };
    let found =
        answer["errors"].as_array().map(|errors| errors.iter().map(told).collect::<Vec<_>>().join("; "));
    let what = found.unwrap_or_else(|| told(&answer["error"]));
    Failure::user(format_args!("the policy that runs goes on unchanged: {what}"))
}

/// Runs `sluss wall reload`.
pub(super) fn reload(args: &ControlArgs) -> Result<Outcome, Failure> {
    let answer = request(args, "reload")?;
    let text = if args.json { answer.to_string() } else { reloaded(&answer) };
    terminal::print(&format!("{text}\n"))?;
    Ok(Outcome::Done)
}

/// Runs `sluss wall stats`.
pub(super) fn stats(args: &ControlArgs) -> Result<Outcome, Failure> {
    let answer = request(args, "stats")?;
    if args.json {
        terminal::print(&format!("{answer}\n"))?;
        return Ok(Outcome::Done);
    }
    let mut table = super::run::table_of_rules();
    for rule in answer["rules"].as_array().into_iter().flatten() {
        let number = |key: &str| rule[key].as_u64().unwrap_or(0).to_string();
        let text = |key: &str| rule[key].as_str().unwrap_or_default().to_owned();
        table.push(vec![number("line"), text("verdict"), number("packets"), number("bytes"), text("rule")]);
    }
    let number = |key: &str| answer[key].as_u64().unwrap_or(0);
    terminal::print(&format!(
        "{}\ngeneration {}: {} accepted, {} dropped, {} rejected\n",
        table.text(),
        number("generation"),
        number("accepted"),
        number("dropped"),
        number("rejected")
    ))?;
    Ok(Outcome::Done)
}
