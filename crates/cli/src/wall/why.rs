//! `sluss wall why`: which rule decides a packet, on what evidence, and why those before it do not take it.

use super::policy;
use super::replay::Replay;
use crate::args::{At, LanguageArgs, WallWhyArgs};
use crate::blame::Blame;
use crate::control;
use crate::exit::{Failure, Outcome};
use crate::inputs;
use crate::language;
use crate::terminal::{self, Terminal};
use crate::values::PATIENCE_MAX;
use dpi::protocol::Naming;
use pflang::LinkType;
use serde_json::{Value, json};
use std::fmt::Write;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use wall::control::{Control, Explained};
use wall::judge::{Basis, Evidence, FoundFlows, KnownFlow, Verdict, basis_in_words, basis_object};
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
    let found = inputs::expand(&captures)?;
    let replayed = replay.run(found, interfaces, (None, terminal), |_, packets, _, judge| {
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
    let request = json!({ "cmd": "why", "filter": filter, "wait_ms": args.wait.as_millis() as u64 });
    let answer = super::control::asked(&args.policy, &request).map_err(|failure| {
        failure.help("of a capture, `-n N` names the packet: `sluss wall why POLICY CAPTURE -n 1`")
    })?;
    if let Some(why) = control::why_refused(&answer) {
        return Err(Failure::in_lines(Blame::User, why));
    }
    let text = answer["text"].as_str().unwrap_or_default();
    let text = if args.json { format!("{answer}\n") } else { text.to_owned() };
    terminal::print(&text)?;
    Ok(Outcome::Done)
}

/// How long a packet is waited for that matches, unless the request says.
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
    let wait = request["wait_ms"].as_u64().map_or(COMES_WITHIN, Duration::from_millis);
    let wait = wait.min(PATIENCE_MAX);
    let (evidence, policy) = match control.explain_next(filters, wait) {
        Explained::Packet(evidence, policy) => (evidence, policy),
        Explained::Silent(found) => return of_flows(&found, wait),
        Explained::Busy => {
            return control::error(
                "others ask this wall why as well, and wait for their packets: ask again later",
            );
        }
    };
    match (object(&evidence, &policy, None), in_words(&evidence, &policy, None)) {
        (Ok(mut object), Ok(text)) => {
            object["text"] = text.into();
            object
        }
        (Err(error), _) | (_, Err(error)) => control::error(&error.to_string()),
    }
}

/// What is known of flows that match, where no packet has come.
fn of_flows(found: &FoundFlows, wait: Duration) -> Value {
    let waited = format!("no packet that matches has come within {} s", wait.as_secs_f64());
    let FoundFlows { flows, matching, looked_at, is_whole, .. } = found;
    let known = if *is_whole {
        format!("the {looked_at} flows that the wall knows")
    } else {
        format!("the {looked_at} flows of the wall that were looked at in this time")
    };
    if flows.is_empty() {
        return control::error(&format!(
            "{waited}, and none of {known} matches; packets that are dropped by their bytes alone belong to no flow. \
             Have one sent while `sluss wall why` waits, for longer with `--wait`, or write a filter that takes more packets"
        ));
    }
    let now_ns = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos() as u64;
    let age =
        |flow: &KnownFlow| Duration::from_nanos(now_ns.saturating_sub(flow.record.last_ns)).as_secs_f64();
    let mut text =
        format!("{waited}; of {known}, {matching} match{}", if *matching == 1 { "es" } else { "" });
    if flows.len() < *matching {
        let _ = write!(text, ", of which these are {}", flows.len());
    }
    text += "\n";
    flows.iter().for_each(|flow| text += &flow_in_words(flow, age(flow)));
    let objects: Vec<Value> = flows.iter().map(|flow| flow_object(flow, age(flow))).collect();
    json!({
        "v": 1,
        "type": "wall.why",
        "packet": null,
        "waited_s": wait.as_secs_f64(),
        "looked_at": looked_at,
        "is_whole": is_whole,
        "matching": matching,
        "flows": objects,
        "text": text,
    })
}

/// A flow that the wall knows, for people.
fn flow_in_words(flow: &KnownFlow, age: f64) -> String {
    let record = &flow.record;
    let last = match &flow.last {
        None => "not judged yet".to_owned(),
        Some((verdict, None)) => format!("{} by an earlier policy", past(*verdict)),
        Some((verdict, Some(policy))) => {
            format!("{}: {}", past(*verdict), basis_in_words(verdict.basis, policy))
        }
    };
    let [there, back] = record.packets;
    let mut text = format!("\n{} {} > {}\n", record.transport_name(), record.ends[0], record.ends[1]);
    let mut line = |name: &str, value: &str| _ = writeln!(text, "  {name:<11} {value}");
    line("last packet", &format!("{age:.1} s ago, {last}"));
    line("packets", &format!("{there} there, {back} back"));
    let app = record.verdict.protocol;
    let over =
        record.master().map(|master| format!(" over {}", master.name(Naming::Ndpi))).unwrap_or_default();
    line(
        "app",
        &if app.is_unknown() { "not known".to_owned() } else { app.name(Naming::Ndpi).to_owned() + &over },
    );
    if !record.verdict.evidence.is_empty() {
        line("told by", record.verdict.evidence);
    }
    if let Some(sni) = record.details.as_ref().and_then(|details| details.sni.as_deref()) {
        line("sni", &wire::in_one_line(sni));
    }
    text
}

/// The same for programs.
fn flow_object(flow: &KnownFlow, age: f64) -> Value {
    let mut object = wall::report::object(&flow.record, Naming::Ndpi);
    object["age_s"] = age.into();
    if let Some((verdict, policy)) = &flow.last {
        object["verdict"] = named(*verdict).into();
        // Rules of an earlier policy have numbers that mean nothing any more.
        object["basis"] = policy.as_ref().map_or(Value::Null, |policy| basis_object(verdict.basis, policy));
    }
    object
}

/// A verdict in a word, for programs.
fn named(verdict: Verdict) -> &'static str {
    if verdict.basis == Basis::Held { "held" } else { verdict.action.name() }
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
        "verdict": named(evidence.verdict),
        "basis": basis_object(evidence.verdict.basis, policy),
        "stateless": evidence.is_stateless,
        "flow": evidence.flow.as_ref().map(|flow| wall::report::object(flow, Naming::Ndpi)),
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

/// A verdict as what has become of a packet.
pub(super) fn past(verdict: Verdict) -> &'static str {
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
