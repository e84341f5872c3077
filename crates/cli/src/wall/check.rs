//! `sluss wall check`: what the rules of a policy become, and what is odd about them.

use super::policy;
use super::replay::Replay;
use crate::args::PolicyArgs;
use crate::exit::{Failure, Outcome};
use crate::table::{Column, Table};
use crate::terminal::{self, Terminal};
use pflang::LinkType;
use serde_json::json;
use std::time::Instant;
use wall::policy::{Needs, Policy, Rule};

/// Runs the command.
pub(super) fn run(args: &PolicyArgs, terminal: &Terminal) -> Result<Outcome, Failure> {
    let begin = Instant::now();
    let policy = policy::read(&args.policy, terminal.colour_stderr)?;
    let compiled = policy.compile(LinkType::EN10MB);
    let programs =
        compiled.map_err(|error| Failure::user(format_args!("the rules do not compile: {error}")))?;
    let build_ms = begin.elapsed().as_secs_f64() * 1e3;
    let flows_bytes = Replay::dry(&policy)?.judge.spy().memory();
    let warnings = policy::warn(&args.policy, &policy, terminal);
    let (nodes, paths) = (programs.nodes(), programs.longest_paths());
    if args.json {
        let rules: Vec<_> = policy.rules().iter().map(|rule| object(&policy, rule)).collect();
        let object = json!({
            "v": 1,
            "type": "wall.check",
            "rules": rules,
            "sets": policy.sets().map(|(name, lines)| json!({ "name": name, "lines": lines })).collect::<Vec<_>>(),
            "tests": policy.tests().len(),
            "warnings": warnings,
            "programs": [
                { "known": "everything", "nodes": nodes[0], "longest_path": paths[0] },
                { "known": "not what the flow speaks", "nodes": nodes[1], "longest_path": paths[1] },
                { "known": "nothing of the flow", "nodes": nodes[2], "longest_path": paths[2] },
            ],
            "policy_bytes": policy.bytes(),
            "flows_bytes": flows_bytes,
            "build_ms": build_ms,
        });
        terminal::print(&format!("{object}\n"))?;
        return Ok(Outcome::Done);
    }
    let mut text = String::new();
    if !policy.rules().is_empty() {
        let columns = [
            Column::right("line", 0, 0),
            Column::left("verdict", 0, 0),
            Column::left("looks at", 0, 0),
            Column::left("rule", 0, 1),
        ];
        let mut table = Table::new(columns.to_vec()).with_gap(2);
        for rule in policy.rules() {
            table.push(vec![
                rule.line.to_string(),
                verdict(rule),
                looks_at(rule).to_owned(),
                written(&policy, rule),
            ]);
        }
        text += &table.text();
        text.push('\n');
    }
    text += &format!(
        "{}, one program: {} tests with everything known, {} before it is known what the flow speaks, {} without a look at the flow\n",
        counted(policy.rules().len(), "rule"),
        nodes[0],
        nodes[1],
        nodes[2]
    );
    text += &format!(
        "a packet passes {} of them at most; built in {build_ms:.1} ms; the policy takes {} KiB, {} flows take {} MiB\n",
        paths[0],
        policy.bytes().div_ceil(1024),
        policy.settings().flows.max,
        flows_bytes.div_ceil(1 << 20),
    );
    terminal::print(&text)?;
    Ok(Outcome::Done)
}

pub(super) fn counted(count: usize, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}

/// What becomes of packets that a rule takes, as it is written.
fn verdict(rule: &Rule) -> String {
    let mark = rule.mark.map(|mark| format!("mark {mark}"));
    let modifiers: Vec<String> = mark.into_iter().chain(rule.log.then(|| "log".to_owned())).collect();
    match &modifiers[..] {
        [] => rule.action.name().to_owned(),
        modifiers => format!("{}({})", rule.action.name(), modifiers.join(", ")),
    }
}

fn looks_at(rule: &Rule) -> &'static str {
    match rule.needs() {
        Needs::Packet => "packet",
        Needs::Flow => "flow",
        Needs::Identification => "application",
    }
}

/// A rule on one line.
pub(super) fn written(policy: &Policy, rule: &Rule) -> String {
    let text = policy.text().get(rule.span.clone()).unwrap_or_default();
    let words = text.lines().flat_map(|line| line.split("--").next().unwrap_or_default().split_whitespace());
    let text = words.collect::<Vec<_>>().join(" ");
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

fn object(policy: &Policy, rule: &Rule) -> serde_json::Value {
    json!({
        "line": rule.line,
        "verdict": rule.action.name(),
        "mark": rule.mark,
        "log": rule.log,
        "looks_at": looks_at(rule),
        "rule": written(policy, rule),
    })
}
