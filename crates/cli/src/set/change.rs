//! `sluss set add` and `del`: sets of what runs.

use crate::args::SetChangeArgs;
use crate::blame::Blame;
use crate::control;
use crate::escape::shown;
use crate::exit::{Failure, Outcome};
use crate::instances;
use crate::terminal::print;
use classify::lists::{Change, Item};
use engine::shm::runtime;
use observe::{Instance, State};
use serde_json::{Value, json};
use std::io::BufRead;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// What is done with the entries.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Direction {
    Add,
    Delete,
}

/// Runs the command.
pub(super) fn run(
    args: &SetChangeArgs,
    timeout: Option<Duration>,
    direction: Direction,
) -> Result<Outcome, Failure> {
    let entries = entries(args)?;
    let count = entries.len() as u64;
    let (key, done) = match direction {
        Direction::Add => ("add", "added to"),
        Direction::Delete => ("del", "taken out of"),
    };
    let mut request = json!({ "cmd": "set", "set": args.set });
    request[key] = entries.into();
    if let Some(timeout) = timeout {
        request["timeout_s"] = timeout.as_secs_f64().into();
    }
    const HELP: &str = "a graph answers if its filters name sets, as `in {@FILE}`; a wall answers on the socket of its `--control SOCKET`, which is named in the place of INSTANCE";
    let answer = control::request(&socket(&args.instance)?, "instance", HELP, &request)?;
    if let Some(why) = control::why_refused(&answer) {
        return Err(Failure::in_lines(Blame::User, format_args!("nothing has changed: {why}")));
    }
    if args.json {
        print(&format!("{answer}\n"))?;
    } else {
        let until = timeout
            .map(|timeout| format!(" for {}", humantime::format_duration(timeout)))
            .unwrap_or_default();
        let ms = answer["duration_ms"].as_f64().unwrap_or(0.0);
        let entries = if count == 1 { "1 entry".to_owned() } else { format!("{count} entries") };
        print(&format!("{entries} {done} {}{until}, in effect after {ms:.1} ms\n", shown(&args.set)))?;
    }
    Ok(Outcome::Done)
}

/// The entries that are named, each as it will be read.
fn entries(args: &SetChangeArgs) -> Result<Vec<String>, Failure> {
    let mut entries = Vec::new();
    for entry in &args.entries {
        if entry != "-" {
            Item::parse(entry).map_err(|why| Failure::user(format_args!("`{}`: {why}", shown(entry))))?;
            entries.push(entry.clone());
            continue;
        }
        for (number, line) in (1..).zip(std::io::stdin().lock().lines()) {
            let line =
                line.map_err(|error| Failure::world(format_args!("cannot read standard input: {error}")))?;
            let entry = line.split(['#', ';']).next().unwrap_or_default().trim();
            if entry.is_empty() {
                continue;
            }
            Item::parse(entry).map_err(|why| {
                Failure::user(format_args!("standard input: line {number}: `{}`: {why}", shown(entry)))
            })?;
            entries.push(entry.to_owned());
        }
    }
    Ok(entries)
}

/// The control socket of an instance: a path, or beside the counters of the instance that has this name or process number.
pub(crate) fn socket(instance: &str) -> Result<PathBuf, Failure> {
    if instance.contains('/') {
        return Ok(instance.into());
    }
    let found = instances::find(&runtime::folders())?.instances;
    let is_meant = |one: &&Instance| one.name == instance || one.pid.to_string() == instance;
    let mut matching: Vec<&Instance> = found.iter().filter(is_meant).collect();
    // Those that have crashed answer nobody.
    if matching.iter().any(|one| one.state != State::Crashed) {
        matching.retain(|one| one.state != State::Crashed);
    }
    let one = matching.first().ok_or_else(|| instances::none_called(instance))?;
    if matching.len() > 1 {
        let failure = Failure::user(format_args!("several instances are called `{}`", shown(instance)));
        return Err(failure.help("`sluss ps` has their process numbers"));
    }
    Ok(of_counters(&one.path))
}

/// The control socket beside a file of counters.
pub(crate) fn of_counters(counters: &Path) -> PathBuf {
    counters.with_extension("control")
}

/// The answer to a request for a change, which `change` makes: it returns how many entries differ from the list as it was read.
pub(crate) fn answered(
    request: &Value,
    change: impl FnOnce(&str, &Change) -> Result<usize, Failure>,
) -> Value {
    let begin = control::now_ns();
    let (name, wanted) = match asked(request, begin) {
        Ok(asked) => asked,
        Err(why) => return control::error(&why),
    };
    match change(name, &wanted) {
        Ok(entries) => json!({
            "v": 1,
            "type": "set",
            "set": name,
            "added": wanted.add.len(),
            "removed": wanted.remove.len(),
            "entries": entries,
            "duration_ms": (control::now_ns() - begin) as f64 / 1e6,
        }),
        Err(failure) => control::failed(&failure),
    }
}

fn asked(request: &Value, now_ns: u64) -> Result<(&str, Change), String> {
    let name = request["set"].as_str().ok_or("`set` is the name of a set")?;
    let items = |key: &str| -> Result<Vec<Item>, String> {
        if request[key].is_null() {
            return Ok(Vec::new());
        }
        let entries = request[key].as_array().ok_or(format!("`{key}` is a list of entries"))?;
        let item = |entry: &Value| match entry.as_str() {
            Some(text) => Item::parse(text).map_err(|why| format!("`{}`: {why}", shown(text))),
            None => Err(format!("`{key}` is a list of texts")),
        };
        entries.iter().map(item).collect()
    };
    let until = match &request["timeout_s"] {
        Value::Null => None,
        seconds => {
            let seconds = seconds.as_f64().and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
            let seconds = seconds.ok_or("`timeout_s` is a number of seconds")?;
            Some(now_ns.saturating_add(seconds.as_nanos().try_into().unwrap_or(u64::MAX)))
        }
    };
    Ok((name, Change { add: items("add")?, remove: items("del")?, until }))
}

/// It is the user's fault that there is no such set.
pub(crate) fn no_such_set(name: &str, there_are: &[&str]) -> Failure {
    let failure = format!("there is no set `{}`", shown(name));
    Failure::user(match there_are {
        [] => format!("{failure}, nor any other"),
        [..] => format!(
            "{failure}; there are {}",
            there_are.iter().map(|name| shown(name)).collect::<Vec<_>>().join(", ")
        ),
    })
}
