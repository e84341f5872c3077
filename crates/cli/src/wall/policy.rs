//! Policies, as commands read them.

use crate::blame::Blame;
use crate::exit::Failure;
use crate::message::Message;
use crate::terminal::Terminal;
use classify::lists::ChangedLists;
use pflang::Colours;
use serde_json::{Value, json};
use std::fs;
use std::path::Path;
use std::sync::Arc;
use wall::policy::{Policy, Problem};

/// Reads a policy. All that is wrong with it is one failure.
pub(crate) fn read(path: &Path, is_coloured: bool) -> Result<Arc<Policy>, Failure> {
    read_changed(path, &ChangedLists::default(), is_coloured)
}

/// Reads a policy whose sets have changed since.
pub(crate) fn read_changed(
    path: &Path,
    lists: &ChangedLists,
    is_coloured: bool,
) -> Result<Arc<Policy>, Failure> {
    let text = text(path)?;
    let folder = path.parent().unwrap_or(Path::new(""));
    let read = Policy::read_changed(&text, folder, lists)
        .map_err(|problems| wrong(path, &text, &problems, is_coloured));
    read.map(Arc::new)
}

/// The policy that was read from there and runs, with what has changed of its sets since: no file is read.
pub(super) fn changed(
    path: &Path,
    running: &Policy,
    lists: &ChangedLists,
    is_coloured: bool,
) -> Result<Arc<Policy>, Failure> {
    let read = running.changed(lists);
    read.map(Arc::new).map_err(|problems| wrong(path, running.text(), &problems, is_coloured))
}

fn text(path: &Path) -> Result<String, Failure> {
    let name = path.display();
    if path.is_dir() {
        return Err(Failure::user(format_args!("{name} is a folder, and a policy is a file")));
    }
    fs::read_to_string(path).map_err(|error| {
        let failure = Failure::world(format_args!("cannot read the policy {name}: {error}"));
        failure.if_missing(path, &error)
    })
}

/// Tells what is odd about a policy.
pub(super) fn warn(path: &Path, policy: &Policy, terminal: &Terminal) -> usize {
    let warnings = policy.warnings();
    if !warnings.is_empty() {
        let text = rendered(policy.text(), &warnings, terminal.colour_stderr);
        terminal.tell(&Message::found(text, object("warning", "warnings", path, &warnings, policy.text())));
    }
    warnings.len()
}

fn wrong(path: &Path, text: &str, problems: &[Problem], is_coloured: bool) -> Failure {
    let rendered = rendered(text, problems, is_coloured);
    let told = format!("{rendered}\n\nerror: {}: the policy is wrong", path.display());
    let message = Message::found(told, object("error", "errors", path, problems, text));
    Failure { message, blame: Blame::User }
}

fn rendered(text: &str, problems: &[Problem], is_coloured: bool) -> String {
    let colours = Colours::from(is_coloured);
    problems.iter().map(|problem| problem.render(text, colours)).collect::<Vec<_>>().join("\n\n")
}

fn object(kind: &str, key: &str, path: &Path, problems: &[Problem], text: &str) -> Value {
    let list: Vec<Value> = problems
        .iter()
        .map(|problem| {
            let mut object: Value = serde_json::from_str(&problem.to_json()).unwrap_or_default();
            object["line"] = problem.line(text).into();
            object
        })
        .collect();
    json!({ "v": 1, "type": kind, "policy": path.display().to_string(), key: list })
}
