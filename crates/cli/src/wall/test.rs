//! `sluss wall test`: runs the tests that a policy has.

use super::policy;
use super::replay::Replay;
use super::why::past;
use crate::args::PolicyArgs;
use crate::exit::{Failure, Outcome};
use crate::inputs;
use crate::plural::counted;
use crate::terminal::{self, Terminal};
use serde_json::json;
use std::path::Path;
use std::sync::Arc;
use wall::judge::decided_by;
use wall::policy::{Policy, PolicyTest};
use wall::rules::Action;

/// Runs the command.
pub(super) fn run(args: &PolicyArgs, terminal: &Terminal) -> Result<Outcome, Failure> {
    let policy = policy::read(&args.policy, terminal.colour_stderr)?;
    if policy.tests().is_empty() {
        return Err(Failure::user(format_args!("{} has no tests", args.policy.display()))
            .help("[[test]], pcap = \"capture.pcap\", expect = { drop = 3 }"));
    }
    let folder = args.policy.parent().unwrap_or(Path::new(""));
    let (mut text, mut failed) = (String::new(), 0);
    for test in policy.tests() {
        let Ran { counts, wrong } = ran(&policy, test, folder, terminal)?;
        failed += usize::from(!wrong.is_empty());
        if args.json {
            let object = json!({
                "v": 1,
                "type": "wall.test",
                "line": test.line,
                "pcap": test.pcap.display().to_string(),
                "passed": wrong.is_empty(),
                "accept": counts[0],
                "reject": counts[1],
                "drop": counts[2],
                "wrong": wrong,
            });
            text += &format!("{object}\n");
            continue;
        }
        let outcome = if wrong.is_empty() { "passed" } else { "FAILED" };
        text += &format!("{outcome}  line {}, {}\n", test.line, test.pcap.display());
        wrong.iter().for_each(|line| text += &format!("        {line}\n"));
    }
    if !args.json {
        let all = counted(policy.tests().len() as u64, "test");
        text += &if failed == 0 { format!("{all} passed\n") } else { format!("{failed} of {all} failed\n") };
    }
    terminal::print(&text)?;
    Ok(if failed == 0 { Outcome::Done } else { Outcome::NothingMatched })
}

/// What came of a test.
struct Ran {
    /// Packets that were accepted, rejected and dropped.
    counts: [u64; 3],
    /// What is not as it was expected.
    wrong: Vec<String>,
}

fn ran(policy: &Arc<Policy>, test: &PolicyTest, folder: &Path, terminal: &Terminal) -> Result<Ran, Failure> {
    let mut replay = Replay::new(policy, None)?;
    let (mut number, mut wrong) = (0, Vec::new());
    let mut expected = test.packets.iter().peekable();
    let interfaces = [test.interfaces[0].as_deref(), test.interfaces[1].as_deref()];
    let found = inputs::expand(&[folder.join(&test.pcap)])?;
    let replayed = replay.run(found, interfaces, (None, terminal), |_, _, verdicts, _| {
        for verdict in verdicts {
            number += 1;
            let Some((_, action)) = expected.next_if(|(of, _)| *of == number) else { continue };
            if *action != verdict.action {
                wrong.push(format!(
                    "packet {number}: expected {}, and it is {} {}",
                    action.name(),
                    past(*verdict),
                    decided_by(verdict.basis, policy)
                ));
            }
        }
        Ok(())
    })?;
    if let Some(damage) = replayed.damage {
        return Err(damage);
    }
    wrong.extend(expected.map(|(of, _)| format!("packet {of}: the capture has {number}")));
    let counts = replay.judge.counts();
    let counts = [Action::Accept, Action::Reject, Action::Drop].map(|action| counts.packets(action));
    let expected = [
        ("accept", test.accept, counts[0]),
        ("drop", test.drop, counts[2]),
        ("reject", test.reject, counts[1]),
    ];
    for (name, expected, count) in expected {
        if let Some(expected) = expected.filter(|expected| *expected != count) {
            wrong.push(format!("{name}: expected {expected}, and it is {count}"));
        }
    }
    Ok(Ran { counts, wrong })
}
