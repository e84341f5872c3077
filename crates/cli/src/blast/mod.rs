//! `sluss blast`: a source of packets and a target, as a graph of two apps, with rates to look at.

mod cut;
mod flags;
mod lost;
mod told;

use crate::args::BlastArgs;
use crate::blame::Blame;
use crate::ended::Ended;
use crate::exit::{Failure, Outcome};
use crate::message::Message;
use crate::notices::Announcer;
use crate::plural::counted;
use crate::reader::print_at_end;
use crate::signals::{self, Caught};
use crate::terminal::Terminal;
use engine::{Engine, Settings};
use lost::{End, Lost};
use std::io::IsTerminal;
use std::time::{Duration, Instant};
use told::{Tally, Told};

/// How often the rate is shown.
const INTERVAL: Duration = Duration::from_secs(1);

/// Sends packets until told to stop, or there are no more.
pub(crate) fn run(args: &BlastArgs, terminal: &Terminal) -> Result<Outcome, Failure> {
    let graph = flags::graph(args)?;
    let mut engine = Settings::new().and_then(Engine::new).map_err(Failure::no_engine)?;
    engine.configure(&graph).map_err(|error| flags::refused(&error, args))?;
    let signals = signals::caught(signals::ENDING)?;
    let begin = Instant::now();
    let to = &*args.to.to_string_lossy();
    let mut announcer = Announcer::new(&engine, terminal).calling(flags::TARGET, to);
    let end = blast(&mut engine, args, &mut announcer, begin, &signals)?;
    let seconds = begin.elapsed().as_secs_f64();
    let ended = Ended::stop(&mut engine);
    announcer.announce_last();
    let told = Told { to, seconds, ended: &ended };
    let told = if args.json { format!("{}\n", told.object()) } else { told.in_words() };
    let printed = print_at_end(&told, &signals);
    if let Some(warning) = args.capture.as_deref().and_then(|capture| cut::warning(capture, &ended.report)) {
        terminal.tell(&warning);
    }
    for app in ended.report.apps.values() {
        for line in app.text.iter().flat_map(|text| text.lines()) {
            terminal.tell(&match app.has_failed {
                true => Message::error(Blame::Damage, line),
                false => Message::warning(line),
            });
        }
    }
    let Some(lost) = Lost::of(&ended, end, to) else { return ended.outcome(printed, signals.signal()) };
    terminal.tell(&lost.message());
    // Whether by a signal or not: that it ended is not why they were not sent.
    Ended { fell_short: true, ..ended }.outcome(printed, None)
}

/// Lets the engine run, and shows rates on a terminal.
fn blast(
    engine: &mut Engine,
    args: &BlastArgs,
    announcer: &mut Announcer<'_>,
    begin: Instant,
    signals: &Caught,
) -> Result<End, Failure> {
    let shows = std::io::stderr().is_terminal() && !args.json;
    let limit = args.duration.unwrap_or(Duration::MAX);
    let mut shown = Tally::default();
    loop {
        let slice = limit.saturating_sub(begin.elapsed()).min(INTERVAL);
        let started = Instant::now();
        let mut was_told = false;
        let go_on = |elapsed: Duration| elapsed < slice && signals.signal().is_none();
        let run = engine.run(|status| {
            announcer.announce();
            let goes_on = go_on(status.elapsed);
            was_told |= !goes_on;
            goes_on
        });
        run.map_err(Failure::no_engine)?;
        if shows {
            let tally = Tally::of(&engine.report());
            let rates = tally.since(&shown).rates(started.elapsed().as_secs_f64());
            announcer.terminal.say(&format!("{rates}, {} so far", counted(tally.packets, "packet")));
            shown = tally;
        }
        if !was_told {
            return Ok(End::Finished);
        }
        if begin.elapsed() >= limit || signals.signal().is_some() {
            return Ok(End::Stopped);
        }
    }
}
