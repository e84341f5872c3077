//! `sluss wall why`: which rule decides a packet, on what evidence, and why those before it do not take it.

use super::policy;
use super::replay::Replay;
use crate::args::{At, LanguageArgs, WallWhyArgs};
use crate::control;
use crate::exit::{Failure, Outcome};
use crate::language;
use crate::terminal::{self, Terminal};
use pflang::LinkType;
use serde_json::{Value, json};
use std::fmt::Write;
use std::time::Duration;
use wall::control::Control;
use wall::judge::{Basis, Evidence, Verdict, basis_in_words, basis_object};
use wall::policy::{AskedPart, AskedRule, Policy};

/// Runs the command.
pub(super) fn run(args: &WallWhyArgs, terminal: &Terminal) -> Result<Outcome, Failure> {
    let Some(number) = args.number else { return of_running(args) };
    let policy = policy::read(&args.policy, terminal.colour_stderr)?;
    let mut replay = Replay::new(&policy, None)?;
    replay.judge.want_evidence(number);
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
        return Err(Failure::user(format_args!("there is no packet {number}: the capture has {count}")));
    };
    let object = object(&evidence, &policy, Some(number)).map_err(Failure::user)?;
    let text = if args.json {
        format!("{object}\n")
    } else {
        in_words(&evidence, &policy, Some(number)).map_err(Failure::user)?
    };
    terminal::print(&text)?;
    Ok(Outcome::Done)
}

/// Asks a wall that runs about the next packet that matches a filter.
fn of_running(args: &WallWhyArgs) -> Result<Outcome, Failure> {
    let filter = args.capture.to_string_lossy();
    let answer = super::control::asked(&args.policy, &json!({ "cmd": "why", "filter": filter })).map_err(
        |failure| failure.help("of a capture, `-n N` names the packet: `sluss wall why POLICY CAPTURE -n 1`"),
    )?;
    if let Some(why) = control::why_refused(&answer) {
        return Err(Failure::user(why));
    }
    let text = answer["text"].as_str().unwrap_or_default();
    let text = if args.json { format!("{answer}\n") } else { text.to_owned() };
    terminal::print(&text)?;
    Ok(Outcome::Done)
}

/// How long a packet is waited for that matches.
const COMES_WITHIN: Duration = Duration::from_secs(5);

/// The answer of a wall that runs.
pub(super) fn answer(request: &Value, control: &Control) -> Value {
    let filter = request["filter"].as_str().unwrap_or_default();
    let compiler = |linktype| language::compiler(linktype, &LanguageArgs::default(), At::Interp);
    // Devices bring Ethernet frames, a queue packets of IP.
    let raw = compiler(LinkType::RAW).compile(filter).ok();
    let compiler = compiler(LinkType::EN10MB);
    let filters: Vec<pflang::Filter> = match compiler.compile(filter) {
        Ok(filter) => raw.into_iter().chain([filter]).collect(),
        Err(error) => {
            return control::error(&format!(
                "the filter does not compile\n{}",
                compiler.help(&error).render(pflang::Colours::None)
            ));
        }
    };
    let Some((evidence, policy)) = control.explain_next(filters, COMES_WITHIN) else {
        return control::error("no packet that matches has come within 5 seconds");
    };
    match (object(&evidence, &policy, None), in_words(&evidence, &policy, None)) {
        (Ok(mut object), Ok(text)) => {
            object["text"] = text.into();
            object
        }
        (Err(error), _) | (_, Err(error)) => control::error(&error.to_string()),
    }
}

/// What a verdict rests on, for programs.
fn object(evidence: &Evidence, policy: &Policy, packet: Option<u64>) -> Result<Value, pflang::Error> {
    let rule = |rule: &AskedRule| {
        let parts = rule.parts.iter().map(|part| json!({ "test": part.text, "holds": part.holds }));
        let parts: Vec<_> = parts.collect();
        json!({ "line": rule.line, "rule": rule.text, "holds": rule.holds, "asked": parts })
    };
    let rules: Vec<_> = evidence.rules(policy)?.iter().map(rule).collect();
    let facts = evidence.facts(policy);
    Ok(json!({
        "v": 1,
        "type": "wall.why",
        "packet": packet,
        "verdict": if evidence.verdict.basis == Basis::Held { "held" } else { evidence.verdict.action.name() },
        "basis": basis_object(evidence.verdict.basis, policy),
        "stateless": evidence.is_stateless,
        "flow": evidence.flow.as_ref().map(|flow| wall::report::object(flow, dpi::protocol::Naming::Ndpi)),
        "facts": facts.iter().map(|(name, value)| json!({ "name": name, "value": value })).collect::<Vec<_>>(),
        "rules": rules,
    }))
}

/// The same for people.
fn in_words(evidence: &Evidence, policy: &Policy, packet: Option<u64>) -> Result<String, pflang::Error> {
    let rules = evidence.rules(policy)?;
    let packet = match packet {
        Some(number) => format!("packet {number}"),
        None => wire::summarize(evidence.linktype, &evidence.frame, evidence.wire_len).to_string(),
    };
    let mut text = format!(
        "{packet} is {}: {}\n",
        past(evidence.verdict),
        basis_in_words(evidence.verdict.basis, policy)
    );
    if let Some(flow) = &evidence.flow {
        let _ = writeln!(text, "\nits flow: {} {} > {}", flow.transport_name(), flow.ends[0], flow.ends[1]);
    }
    evidence.facts(policy).iter().for_each(|(name, value)| {
        let _ = writeln!(text, "  {name:<11} {value}");
    });
    if !rules.is_empty() {
        text += "\nthe rules, in their order:\n";
        rules.iter().for_each(|rule| text += &told(rule));
    }
    Ok(text)
}

fn past(verdict: Verdict) -> &'static str {
    match verdict.action {
        // It waits: what becomes of it is not known yet.
        _ if verdict.basis == Basis::Held => "held",
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
