//! `sluss wall check`: what the rules of a policy become, and what is odd about them.

use super::policy;
use super::replay::Replay;
use crate::args::PolicyArgs;
use crate::exit::{Failure, Outcome};
use crate::json::looked_up_object;
use crate::plural::counted;
use crate::table::{Column, RULE_WIDTH_MAX, Table};
use crate::terminal::{self, Terminal};
use pflang::LinkType;
use serde_json::json;
use std::time::Instant;
use wall::policy::{Needs, Policy, ProgramSummary, Rule};

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
    let summaries = programs.summaries();
    if args.json {
        let rules: Vec<_> = policy.rules().iter().map(|rule| object(&policy, rule)).collect();
        let object = json!({
            "v": 1,
            "type": "wall.check",
            "rules": rules,
            "sets": policy.sets().map(|(name, lines)| json!({ "name": name, "lines": lines })).collect::<Vec<_>>(),
            "tests": policy.tests().len(),
            "warnings": warnings,
            "programs": summaries.iter().map(program_object).collect::<Vec<_>>(),
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
            Column::left("rule", 0, 1).at_most(RULE_WIDTH_MAX),
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
    let nodes = |known: &str| {
        let program = summaries.iter().find(|program| program.known == known);
        program.map_or(0, |program| program.nodes)
    };
    text += &format!(
        "{}, one program: {} with everything known, {} before it is known what the flow speaks, {} without a look at the flow\n",
        counted(policy.rules().len() as u64, "rule"),
        counted(nodes("everything") as u64, "test"),
        nodes("not what the flow speaks"),
        nodes("nothing of the flow"),
    );
    for program in &summaries {
        if let Some(looked_up) = &program.looked_up {
            text += &format!(
                "with {} known, compiled in {:.1} ms: {looked_up}\n",
                program.known, program.build_ms
            );
            text.extend(looked_up.tables.iter().map(|table| format!("    {table}\n")));
        }
    }
    text += &format!(
        "a packet passes {} of them at most; built in {build_ms:.1} ms; the policy takes {} KiB, {} flows take {} MiB\n",
        summaries.first().map_or(0, |program| program.longest_path),
        policy.bytes().div_ceil(1024),
        policy.settings().flows.max,
        flows_bytes.div_ceil(1 << 20),
    );
    terminal::print(&text)?;
    Ok(Outcome::Done)
}

fn program_object(program: &ProgramSummary) -> serde_json::Value {
    json!({
        "known": program.known,
        "nodes": program.nodes,
        "longest_path": program.longest_path,
        "build_ms": program.build_ms,
        "looked_up": program.looked_up.as_ref().map(looked_up_object),
    })
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
    let words = text.lines().flat_map(|line| without_comment(line).split_whitespace());
    let text = words.collect::<Vec<_>>().join(" ");
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

/// A comment begins where no word goes on: `xn--p1ai` is a name.
fn without_comment(line: &str) -> &str {
    let begins = |(at, _): &(usize, &str)| {
        let before = line[..*at].chars().next_back();
        before.is_none_or(|c| {
            !c.is_ascii_alphanumeric() && !matches!(c, '_' | '.' | '-' | ':' | '*' | '/' | '@' | '$' | '\\')
        })
    };
    line.match_indices("--").find(begins).map_or(line, |(at, _)| &line[..at])
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
