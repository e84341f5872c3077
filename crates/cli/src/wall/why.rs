//! `sluss wall why`: which rule decides a packet, on what evidence, and why those before it do not take it.

use super::policy;
use super::replay::Replay;
use crate::args::WallWhyArgs;
use crate::exit::{Failure, Outcome};
use crate::terminal::{self, Terminal};
use serde_json::json;
use std::fmt::Write;
use wall::judge::{basis_in_words, basis_object};
use wall::policy::{AskedPart, AskedRule};

/// Runs the command.
pub(super) fn run(args: &WallWhyArgs, terminal: &Terminal) -> Result<Outcome, Failure> {
    let policy = policy::read(&args.policy, terminal.colour_stderr)?;
    let mut replay = Replay::new(&policy, None)?;
    replay.judge.want_evidence(args.number);
    let (mut evidence, mut count) = (None, 0);
    let interfaces = [args.input.as_deref(), args.out.as_deref()];
    let captures = [args.capture.clone()];
    let replayed = replay.run(&captures, interfaces, (None, terminal), |_, packets, _, judge| {
        count += packets.len() as u64;
        evidence = evidence.take().or_else(|| judge.take_evidence());
        Ok(())
    })?;
    let Some(evidence) = evidence else {
        if let Some(damage) = replayed.damage {
            return Err(damage);
        }
        return Err(Failure::user(format_args!(
            "there is no packet {}: the capture has {count}",
            args.number
        )));
    };
    let rules = evidence.rules(&policy).map_err(Failure::user)?;
    let facts = evidence.facts(&policy);
    if args.json {
        let rules: Vec<_> = rules
            .iter()
            .map(|rule| {
                let parts = rule.parts.iter().map(|part| json!({ "test": part.text, "holds": part.holds }));
                let parts: Vec<_> = parts.collect();
                json!({ "line": rule.line, "rule": rule.text, "holds": rule.holds, "asked": parts })
            })
            .collect();
        let object = json!({
            "v": 1,
            "type": "wall.why",
            "packet": args.number,
            "verdict": evidence.verdict.action.name(),
            "basis": basis_object(evidence.verdict.basis, &policy),
            "stateless": evidence.is_stateless,
            "flow": evidence.flow.as_ref().map(|flow| wall::report::object(flow, dpi::protocol::Naming::Ndpi)),
            "facts": facts.iter().map(|(name, value)| json!({ "name": name, "value": value })).collect::<Vec<_>>(),
            "rules": rules,
        });
        terminal::print(&format!("{object}\n"))?;
        return Ok(Outcome::Done);
    }
    let mut text = format!(
        "packet {} is {}: {}\n",
        args.number,
        past(evidence.verdict.action),
        basis_in_words(evidence.verdict.basis, &policy)
    );
    if let Some(flow) = &evidence.flow {
        let _ = writeln!(text, "\nits flow: {} {} > {}", flow.transport_name(), flow.ends[0], flow.ends[1]);
    }
    facts.iter().for_each(|(name, value)| {
        let _ = writeln!(text, "  {name:<11} {value}");
    });
    if !rules.is_empty() {
        text += "\nthe rules, in their order:\n";
        rules.iter().for_each(|rule| text += &told(rule));
    }
    terminal::print(&text)?;
    Ok(Outcome::Done)
}

fn past(action: wall::rules::Action) -> &'static str {
    match action {
        wall::rules::Action::Accept => "accepted",
        wall::rules::Action::Drop => "dropped",
        wall::rules::Action::Reject => "rejected",
    }
}

fn told(rule: &AskedRule) -> String {
    let indent = "  ".repeat(rule.depth);
    let one_line = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let mark = if rule.holds { "yes" } else { "no" };
    let mut text = format!("  {mark:<4}{indent}line {}: {}\n", rule.line, one_line(&rule.text));
    let is_all = |part: &AskedPart| rule.parts.len() == 1 && rule.text.starts_with(&part.text);
    for part in rule.parts.iter().filter(|part| !is_all(part)) {
        let answer = match part.holds {
            Some(true) => "yes",
            Some(false) => "no",
            None => "cut",
        };
        let _ = writeln!(text, "      {indent}    {answer:<4}{}", one_line(&part.text));
    }
    text
}
