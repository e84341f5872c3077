//! `sluss quickcheck`: random filters, programs and packets over every engine that is present.

use crate::args::QuickcheckArgs;
use crate::escape::shown;
use crate::exit::{Failure, Outcome};
use crate::plural::counted;
use crate::shell::quoted;
use crate::terminal::print;
use apps::SystemNames;
use quickcheck::{Report, Settings, Tally, check};
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// How long a run takes unless something else is asked for.
const TIME: Duration = Duration::from_secs(10);

/// Runs the command.
pub(crate) fn run(args: &QuickcheckArgs) -> Result<Outcome, Failure> {
    let mut settings = Settings::new(args.seed.unwrap_or_else(some_seed));
    settings.time = args.seconds.or_else(|| args.pairs.is_none().then_some(TIME));
    settings.pairs = args.pairs;
    settings.linktype = args.linktype;
    settings.commands = args.engine.clone();
    settings.names = Arc::new(SystemNames::new(false));
    let report = check(&settings).map_err(Failure::world)?;
    print(&if args.json {
        format!("{}\n", object(&settings, &report))
    } else {
        in_words(&settings, &report)
    })?;
    Ok(if report.failure.is_some() { Outcome::NothingMatched } else { Outcome::Done })
}

/// Another one each time; it is printed.
fn some_seed() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::from(now.subsec_nanos()) ^ now.as_secs() << 20
}

/// The command line that begins with a pair.
fn repeated(settings: &Settings, seed: u64) -> String {
    let mut line = format!("sluss quickcheck --seed {seed} --pairs 1");
    if let Some(linktype) = settings.linktype {
        line += &format!(" -y {linktype}");
    }
    for (name, command) in &settings.commands {
        line += &format!(" --engine {}", quoted(format!("{name}={command}")));
    }
    line
}

fn in_words(settings: &Settings, report: &Report) -> String {
    let Report { filters, programs, refused, tallies, failure, .. } = report;
    let mut text = format!(
        "seed {}: {} and {}, {} refused\n",
        settings.seed,
        counted(*filters, "filter"),
        counted(*programs, "program"),
        counted(*refused, "text")
    );
    let width = tallies.iter().map(|tally| tally.engine.len()).max().unwrap_or(0);
    for Tally { engine, answered, outside } in tallies {
        text +=
            &format!("{:width$}  {answered:>10} pairs answered  {outside:>10} not for it\n", shown(engine));
    }
    text += &format!("{:width$}  {:>10} pairs answered\n", "all engines", report.pairs());
    let Some(failure) = failure else { return text + "all answers agree\n" };
    let (packet, subject) = (&failure.packet, &failure.subject);
    text += &format!("\ndisagreement: {}\n", shown(&failure.engine));
    text +=
        &format!("  {}: {}\n", if subject.is_program() { "program" } else { "filter" }, shown(&subject.text));
    text += &format!("  link type: {}\n", subject.linktype);
    text += &format!("  packet: {} ({} bytes on the wire)\n", packet.to_hex(), packet.wire_len);
    for (engine, answer) in &failure.answers {
        text += &format!("  {:width$}  {}\n", shown(engine), shown(&answer.to_string()));
    }
    text += &format!("  found as: {}\n", shown(&failure.drawn));
    text + &format!("  repeat: {}\n", repeated(settings, failure.seed))
}

fn object(settings: &Settings, report: &Report) -> Value {
    let engine = |tally: &Tally| json!({ "engine": tally.engine, "answered": tally.answered, "outside": tally.outside });
    let engines: Vec<_> = report.tallies.iter().map(engine).collect();
    let failure = report.failure.as_ref().map(|failure| {
        let answers = failure.answers.iter();
        let answers: serde_json::Map<_, _> =
            answers.map(|(engine, answer)| (engine.clone(), answer.to_string().into())).collect();
        json!({
            "engine": failure.engine,
            "text": failure.subject.text,
            "linktype": failure.subject.linktype.to_string(),
            "wire_len": failure.packet.wire_len,
            "packet": failure.packet.to_hex(),
            "answers": answers,
            "found_as": failure.drawn,
            "repeat": repeated(settings, failure.seed),
        })
    });
    json!({
        "v": 1,
        "type": "quickcheck",
        "seed": settings.seed,
        "filters": report.filters,
        "programs": report.programs,
        "refused": report.refused,
        "pairs": report.pairs(),
        "engines": engines,
        "disagreement": failure,
    })
}
