//! What a running wall is asked on its control socket, and reloads, for which SIGHUP asks as well.

use super::check::written;
use super::{policy, run, why};
use crate::args::ControlArgs;
use crate::blame::Blame;
use crate::control;
use crate::escape::shown;
use crate::exit::{Failure, Outcome};
use crate::message::Message;
use crate::plural;
use crate::set::change;
use crate::terminal::{self, Terminal};
use classify::lists::{Change, ChangedLists};
use pflang::LinkType;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::io::{Read, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};
use wall::control::Control;
use wall::judge::Prepared;
use wall::policy::{Mode, Policy, Records};

/// How long is waited until the wall has taken a policy.
const TAKEN_WITHIN: Duration = Duration::from_secs(10);
/// How long is waited until the wall has told what it has counted.
const COUNTED_WITHIN: Duration = Duration::from_millis(200);
/// After which time it is tried again to put entries that have expired out of effect.
const RETRY: Duration = Duration::from_secs(5);

/// Reads a policy again, and hands it to the wall. Clones are the same.
#[derive(Clone)]
pub(super) struct Reloader(Arc<Inner>);

struct Inner {
    path: PathBuf,
    control: Control,
    is_coloured: bool,
    /// Between which the wall stands.
    interfaces: Interfaces,
    /// What has changed of the policy's sets since they were read.
    lists: Mutex<ChangedLists>,
    /// Held by the change of a set that is under way: there are two control sockets.
    changing: Mutex<()>,
    /// Held by the reload that is under way.
    turn: Mutex<()>,
    /// What reloads that SIGHUP asked for have come to, and is not told yet.
    untold: Mutex<Vec<Result<Value, Failure>>>,
    /// When that is tried again, if it has failed.
    retry: Mutex<Option<Instant>>,
    taken_within: Duration,
}

/// Why another policy is made.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Cause {
    /// SIGHUP has asked for what the file has by now.
    Asked,
    /// Entries of sets have expired.
    Expired,
}

impl Reloader {
    /// For a wall whose packets come and leave by these interfaces.
    pub(super) fn new(path: &Path, control: &Control, interfaces: Interfaces, is_coloured: bool) -> Reloader {
        Reloader::waiting(path, control, interfaces, is_coloured, TAKEN_WITHIN)
    }

    /// The same, which waits so long until the wall has taken a policy.
    fn waiting(
        path: &Path,
        control: &Control,
        interfaces: Interfaces,
        is_coloured: bool,
        taken_within: Duration,
    ) -> Reloader {
        let (lists, changing, turn, untold) =
            (Mutex::default(), Mutex::default(), Mutex::default(), Mutex::default());
        Reloader(Arc::new(Inner {
            path: path.to_owned(),
            control: control.clone(),
            interfaces,
            is_coloured,
            lists,
            changing,
            turn,
            untold,
            retry: Mutex::default(),
            taken_within,
        }))
    }

    /// Reads, checks and compiles the policy, and hands it over. If it is wrong, the one before it stays.
    fn reload(&self) -> Result<Value, Failure> {
        let Inner { path, is_coloured, .. } = &*self.0;
        self.replace(|lists| policy::read_changed(path, lists, *is_coloured))
    }

    /// Puts changes of sets into effect. They are of the policy that runs: whatever its files hold by now comes with a reload.
    fn rebuild(&self) -> Result<Value, Failure> {
        let Inner { path, control, is_coloured, .. } = &*self.0;
        self.replace(|lists| policy::changed(path, &control.policy(), lists, *is_coloured))
    }

    /// Hands another policy over, and waits until the wall has taken it. If it has not, the one before it stays, and goes on.
    fn replace(
        &self,
        read: impl FnOnce(&ChangedLists) -> Result<Arc<Policy>, Failure>,
    ) -> Result<Value, Failure> {
        let Inner { path, control, interfaces, turn, taken_within, .. } = &*self.0;
        let _turn = turn.lock().unwrap_or_else(PoisonError::into_inner);
        let begin = Instant::now();
        let lists = self.lists().clone();
        let new = read(&lists)?;
        let before = control.told();
        let prepared = Prepared::compiled(Arc::clone(&new), LinkType::EN10MB).map_err(|error| {
            Failure::user(format_args!("{}: the rules do not compile: {error}", path.display()))
        })?;
        let mut handed = Some(control.hand_over(prepared));
        let mut is_pending = false;
        let built = begin.elapsed();
        // Its number does not say: the policy before it may not have been taken by then, where an earlier reload gave up.
        while !Arc::ptr_eq(&control.told().policy, &new) {
            if begin.elapsed() > built + *taken_within {
                if handed.take().is_some_and(|handed| control.withdraw(handed)) {
                    return Err(Failure::world(
                        "the wall has not taken the policy: it stands still, or is about to end",
                    ));
                }
                // A worker has it, and the others will.
                is_pending = true;
                break;
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
            "warnings": interfaces.others(&new).into_iter().collect::<Vec<_>>(),
            "pending": is_pending,
        }))
    }

    /// Begins a reload that SIGHUP has asked for, on a thread of its own.
    pub(super) fn begin(&self, terminal: &Terminal) {
        self.begin_for(Cause::Asked, terminal);
    }

    fn begin_for(&self, cause: Cause, terminal: &Terminal) {
        let reloader = self.clone();
        let begun = thread::Builder::new().name("reload".to_owned()).spawn(move || {
            engine::stand_back();
            let result = match cause {
                Cause::Asked => reloader.reload(),
                Cause::Expired => reloader.rebuild(),
            };
            if result.is_err() && cause == Cause::Expired {
                reloader.try_again();
            }
            reloader.untold().push(result);
        });
        if let Err(error) = begun {
            if cause == Cause::Expired {
                self.try_again();
            }
            terminal.tell(&Message::warning(format_args!(
                "there is no other policy: cannot start a thread: {error}"
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
                    terminal.inform("the policy that runs goes on unchanged");
                }
            }
        }
    }

    fn untold(&self) -> MutexGuard<'_, Vec<Result<Value, Failure>>> {
        self.0.untold.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What answers requests.
    pub(super) fn answers(&self) -> control::Answer {
        let reloader = self.clone();
        Arc::new(move |request: &Value| reloader.answer(request))
    }

    fn answer(&self, request: &Value) -> Value {
        match request["cmd"].as_str() {
            Some("stats") => {
                let told = self.0.control.told_now(COUNTED_WITHIN.min(self.0.taken_within));
                let mut object = run::object(&told.counts, &told.policy);
                object["type"] = "wall.stats".into();
                object["generation"] = told.generation.into();
                let settings = told.policy.settings();
                object["default"]["verdict"] = settings.default.name().into();
                object["mode"] = if settings.mode == Mode::Monitor { "monitor" } else { "enforce" }.into();
                object
            }
            Some("reload") => self.reload().unwrap_or_else(|failure| control::failed(&failure)),
            Some("set") => change::answered(request, |name, change| self.change(name, change)),
            Some("why") => why::answer(request, &self.0.control),
            _ => control::error("there is no such command; there are `stats`, `reload`, `set` and `why`"),
        }
    }

    /// Changes a set, and hands over the policy with it. If that is wrong, nothing has changed.
    fn change(&self, name: &str, change: &Change) -> Result<usize, Failure> {
        // Another that succeeds meanwhile would be taken back with one that fails.
        let _changing = self.0.changing.lock().unwrap_or_else(PoisonError::into_inner);
        let names = self.0.control.policy();
        let names: Vec<&str> = names.sets().map(|(name, _)| name).collect();
        if !names.contains(&name) {
            return Err(change::no_such_set(name, &names));
        }
        let before = self.lists().clone();
        let put = self.lists().put(name, change).map_err(Failure::user);
        match put.and_then(|()| self.rebuild()) {
            Ok(_) => Ok(self.lists().entries(name)),
            Err(failure) => {
                *self.lists() = before;
                Err(failure)
            }
        }
    }

    /// Begins to put entries of sets out of effect that have expired.
    pub(super) fn expire(&self, terminal: &Terminal) {
        let has_expired = self.lists().expire(control::now_ns());
        let is_again = self.retry().take_if(|at| *at <= Instant::now()).is_some();
        if has_expired || is_again {
            self.begin_for(Cause::Expired, terminal);
        }
    }

    /// What has expired is still in effect.
    fn try_again(&self) {
        *self.retry() = Some(Instant::now() + RETRY);
    }

    fn retry(&self) -> MutexGuard<'_, Option<Instant>> {
        self.0.retry.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn lists(&self) -> MutexGuard<'_, ChangedLists> {
        self.0.lists.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Sends bytes to the control socket of a wall that stands still: for fuzzing. There is an answer, a line of JSON, whatever they are.
#[doc(hidden)]
pub fn fuzz(bytes: &[u8]) {
    const TEXT: &str = "rules = 'src host in @known => accept'\nsets.known = ['192.0.2.1']\n";
    let policy = Policy::read(TEXT, Path::new("")).expect("a policy");
    let control = Control::new(Arc::new(policy), false);
    // There is no such file, and nobody waits for the wall.
    let path = Path::new("/nowhere/policy.toml");
    let answers =
        Reloader::waiting(path, &control, Interfaces::Said([None, None]), false, Duration::ZERO).answers();
    let (mut ours, theirs) = UnixStream::pair().expect("a pair of sockets");
    let answer = thread::scope(|scope| {
        let asks = scope.spawn(move || {
            // Who has answered a long line does not read the rest.
            let _ = ours.write_all(bytes).and_then(|()| ours.shutdown(Shutdown::Write));
            let mut answer = String::new();
            ours.read_to_string(&mut answer).map(|_| answer)
        });
        control::answer_one(&theirs, &answers).expect("an answer");
        drop(theirs);
        asks.join().expect("no panic").expect("an answer")
    });
    let answer: Value = serde_json::from_str(&answer).expect("a line of JSON");
    assert!(answer["type"].is_string(), "{answer}");
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
    // The limit `pps` is the judges', which come with the policy.
    let is_eve_same = Records { pps: new.records.pps, ..old.records.clone() } == new.records;
    let changed = [("flows", old.flows != new.flows), ("dpi", old.dpi != new.dpi), ("records", !is_eve_same)];
    changed.into_iter().filter(|(_, is_changed)| *is_changed).map(|(key, _)| key).collect()
}

/// What a reload has come to, for people.
fn reloaded(answer: &Value) -> String {
    let number = |key: &str| answer[key].as_u64().unwrap_or(0);
    let mut text = format!(
        "generation {}: {}, {} new, {} gone; read and compiled in {:.1} ms",
        number("generation"),
        plural::counted(number("rules"), "rule"),
        number("added"),
        number("removed"),
        answer["build_ms"].as_f64().unwrap_or(0.0)
    );
    if answer["pending"] == true {
        text += "; not all workers have taken it yet";
    }
    let keys: Vec<&str> =
        answer["needs_restart"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    if !keys.is_empty() {
        text += &format!("; what changed in `{}` takes a restart", keys.join("`, `"));
    }
    for warning in answer["warnings"].as_array().into_iter().flatten().filter_map(Value::as_str) {
        text += &format!("\nwarning: {warning}");
    }
    text
}

/// The interfaces by which packets of a wall come and leave.
#[derive(Clone, Debug)]
pub(super) enum Interfaces {
    /// The two devices between which it stands.
    Between([String; 2]),
    /// Of packets of a queue or a capture: what `--in` and `--out` say.
    Said([Option<String>; 2]),
}

impl Interfaces {
    /// The warning that rules name other interfaces, if they do.
    pub(super) fn others(&self, policy: &Policy) -> Option<String> {
        let is_known = |name: &str| match self {
            Interfaces::Between(devices) => devices.iter().any(|device| device == name),
            Interfaces::Said(said) => said.iter().any(|said| said.as_deref() == Some(name)),
        };
        let others = policy.interfaces().filter(|name| !is_known(name));
        let others: Vec<String> = others.map(|name| format!("`{}`", shown(name))).collect();
        let plural = if others.len() == 1 { "" } else { "s" };
        let why = match self {
            Interfaces::Between([south, north]) => {
                format!("the wall stands between {} and {}", shown(south), shown(north))
            }
            Interfaces::Said(said) => {
                let [input, out] = said.each_ref().map(|said| {
                    said.as_deref().map_or("is not given".into(), |said| format!("is {}", shown(said)))
                });
                format!("`--in` {input}, and `--out` {out}")
            }
        };
        (!others.is_empty()).then(|| {
            format!(
                "rules with `in` or `out` ask for the interface{plural} {}, by which no packet comes or leaves: {why}",
                others.join(", ")
            )
        })
    }
}

/// Sends a request to a wall.
fn request(args: &ControlArgs, command: &str) -> Result<Value, Failure> {
    let answer = asked(&args.control, &json!({ "cmd": command }))?;
    match control::why_refused(&answer) {
        Some(why) => {
            Err(Failure::in_lines(Blame::User, format_args!("the policy that runs goes on unchanged: {why}")))
        }
        None => Ok(answer),
    }
}

/// The answer of a wall, by its socket or its name.
pub(super) fn asked(wall: &Path, request: &Value) -> Result<Value, Failure> {
    const HELP: &str = "it is the socket that `sluss wall run --inline IN OUT --control SOCKET` was given, or the name of the wall as `sluss ps` has it";
    let is_path = wall.exists() || wall.components().count() > 1;
    let socket = if is_path { wall.to_owned() } else { change::socket(&wall.to_string_lossy())? };
    control::request(&socket, "wall", HELP, request)
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
    terminal::print(&counted(&answer))?;
    Ok(Outcome::Done)
}

/// What a wall has counted, for people.
fn counted(answer: &Value) -> String {
    let mut table = run::table_of_rules();
    for rule in answer["rules"].as_array().into_iter().flatten() {
        let number = |key: &str| rule[key].as_u64().unwrap_or(0).to_string();
        let text = |key: &str| rule[key].as_str().unwrap_or_default().to_owned();
        table.push(vec![number("line"), text("verdict"), number("packets"), number("bytes"), text("rule")]);
    }
    let mut other = |verdict: &str, count: &Value, what: &str| {
        let number = |key: &str| count[key].as_u64().unwrap_or(0);
        if number("packets") > 0 {
            let [packets, bytes] = ["packets", "bytes"].map(|key| number(key).to_string());
            table.push(vec![String::new(), verdict.to_owned(), packets, bytes, format!("({what})")]);
        }
    };
    for (key, what) in run::OTHERS {
        other(answer[key]["verdict"].as_str().unwrap_or_default(), &answer[key], what);
    }
    for (fault, count) in answer["fail"].as_object().into_iter().flatten() {
        other("drop", count, &format!("fail.{fault}"));
    }
    let number = |key: &str| answer[key].as_u64().unwrap_or(0);
    format!(
        "{}\ngeneration {}: {} accepted, {} dropped, {} rejected{}\n",
        table.text(),
        number("generation"),
        number("accepted"),
        number("dropped"),
        number("rejected"),
        if answer["mode"] == "monitor" { run::ONLY_COUNTED } else { "" }
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "rules = 'src host in @known => accept'\nsets.known = ['192.0.2.1']\n";

    fn policy(more: &str) -> Policy {
        Policy::read(&format!("{TEXT}{more}"), Path::new("")).unwrap()
    }

    #[test]
    fn what_the_wall_has_not_taken_is_not_kept() {
        let control = Control::new(Arc::new(policy("")), false);
        let path = Path::new("/nowhere/policy.toml");
        let reloader =
            Reloader::waiting(path, &control, Interfaces::Said([None, None]), false, Duration::ZERO);
        let first = control.policy();
        let answer = reloader.answer(&json!({ "cmd": "set", "set": "known", "add": ["192.0.2.7"] }));
        let why = control::why_refused(&answer).unwrap();
        assert!(why.contains("has not taken the policy"), "{why}");
        assert!(Arc::ptr_eq(&control.policy(), &first));
        assert_eq!(reloader.lists().entries("known"), 0);
        // The file is asked for by a reload alone.
        let why = control::why_refused(&reloader.answer(&json!({ "cmd": "reload" }))).unwrap();
        assert!(why.contains("cannot read the policy"), "{why}");
    }

    #[test]
    fn interfaces_that_are_none_of_the_devices_are_told() {
        let policy = |rules: &str| Policy::read(&format!("rules = '{rules}'"), Path::new("")).unwrap();
        let devices = Interfaces::Between(["w0", "w1"].map(str::to_owned));
        let told = |rules: &str| devices.others(&policy(rules));
        assert_eq!(told("in w0 and tcp => accept; out w1 => accept; udp => drop"), None);
        let warning = told("in w7 and tcp => accept").unwrap();
        assert!(warning.contains("`w7`") && warning.contains("between w0 and w1"), "{warning}");
        assert!(told("in w0 or in lan => { not out wan => drop }").unwrap().contains("`lan`, `wan`"));
        let answer = json!({ "generation": 2, "rules": 1, "warnings": [warning] });
        assert!(reloaded(&answer).ends_with("between w0 and w1"), "{}", reloaded(&answer));
        let said = Interfaces::Said([Some("w0".into()), None]);
        assert_eq!(said.others(&policy("in w0 => drop")), None);
        let warning = said.others(&policy("out w0 => drop; out w1 => drop")).unwrap();
        assert!(
            warning.ends_with(
                "`w1`, by which no packet comes or leaves: `--in` is w0, and `--out` is not given"
            ),
            "{warning}"
        );
    }

    #[test]
    fn what_no_rule_decides_is_told_as_well() {
        let count = |packets: u64| json!({ "packets": packets, "bytes": packets * 100 });
        let text = counted(&json!({
            "generation": 3, "accepted": 1, "dropped": 9, "rejected": 0, "mode": "monitor",
            "rules": [{ "line": 2, "verdict": "accept", "packets": 1, "bytes": 100, "rule": "tcp => accept" }],
            "default": { "packets": 4, "bytes": 400, "verdict": "drop" },
            "undecided": count(0), "not_ip": count(2), "fail": { "no_memory": count(3), "worker_lost": count(0) },
        }));
        for words in [
            "drop 4 400 (no rule takes them)",
            "(no IP)",
            "(fail.no_memory)",
            "1 accepted, 9 dropped, 0 rejected; only counted: mode = \"monitor\"",
        ] {
            let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
            assert!(text.contains(words), "{text}");
        }
        assert!(!text.contains("not known yet") && !text.contains("worker_lost"), "{text}");
    }

    #[test]
    fn what_is_fixed_at_the_start_needs_a_restart() {
        for (more, keys) in [
            ("records.flows = false", &["records"][..]),
            ("records.eve_files = 2", &["records"]),
            ("records.pps = 7", &[]),
            ("flows.max = 4096", &["flows"]),
        ] {
            assert_eq!(needs_restart(&policy(""), &policy(more)), keys, "{more}");
        }
    }
}
