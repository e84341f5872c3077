//! `sluss run`: a network of apps that a file describes.
//!
//! ```text
//!  file ─► text ─► GraphFile ─► Engine ─► report
//!    ▲                 │ draw: --dot, --svg
//!    └── watched: when it changes, the difference is applied
//! ```

mod asked;
mod draw;
mod follow;
mod live;
mod report;
mod reread;
mod source;
mod tell;

use crate::args::RunArgs;
use crate::escape::shown;
use crate::exit::{Failure, Outcome};
use crate::message::Message;
use crate::plural::counted;
use crate::registry::registry;
use crate::terminal::{Terminal, print};
use engine::{Graph, Settings};
use graphfile::GraphFile;
use serde_json::json;
use source::Source;
use tell::Teller;

/// Runs the command.
pub(crate) fn run(args: &RunArgs, terminal: &Terminal) -> Result<Outcome, Failure> {
    check_pauses(args)?;
    follow::check_workers(args)?;
    let source = Source::new(&args.graph);
    let teller = Teller::new(&source, terminal);
    let stamp = source.stamp();
    let text = source.read()?;
    let file = GraphFile::parse(&text, &registry())
        .map_err(|errors| teller.wrong(&errors, &text, "nothing was started"))?;
    let mut odd = file.warnings.len();
    if (args.check || !(args.dot || args.svg))
        && let Some(warning) = too_many_workers(args.workers)
    {
        terminal.tell(&warning);
        odd += 1;
    }
    if args.check {
        teller.warn_of_all(&file);
        let pool = teller.pool_warnings(&file.graph, args.pool_for(&file.graph));
        pool.iter().for_each(|warning| terminal.tell(warning));
        odd += pool.len();
    } else {
        teller.warn(&file);
    }
    if args.dot {
        print(&draw::dot(&file.graph))?;
    } else if args.svg {
        print(&draw::svg(&file.graph))?;
    } else if args.check {
        print(&checked(&source, &file, odd, args.json))?;
    } else {
        return live::run(args, file, (source, stamp), &teller);
    }
    Ok(Outcome::Done)
}

impl RunArgs {
    /// How many packets a pool for a graph has.
    fn pool_for(&self, graph: &Graph) -> usize {
        self.packets.map_or_else(|| Settings::packets_for(graph), |packets| packets as usize)
    }
}

/// The longest pause cannot be shorter than the first.
fn check_pauses(args: &RunArgs) -> Result<(), Failure> {
    if args.restart_first <= args.longest_pause() {
        return Ok(());
    }
    let [first, longest] = [args.restart_first, args.longest_pause()].map(humantime::format_duration);
    Err(Failure::user(format!("`--restart-first {first}` is longer than `--restart-max {longest}`")))
}

/// That there are more workers than cores, if there are.
fn too_many_workers(workers: u16) -> Option<Message> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let why = "workers without a core of their own wait for one, with packets in their links";
    let cores_there = counted(cores as u64, "core");
    (usize::from(workers) > cores).then(|| {
        Message::warning(format_args!(
            "`--workers {workers}`: there are {cores_there} for this process: {why}"
        ))
    })
}

/// What is said of a graph in which nothing is wrong.
fn checked(source: &Source, file: &GraphFile, warnings: usize, json: bool) -> String {
    let (apps, links) = (file.graph.apps().len(), file.graph.links().len());
    if json {
        let object = json!({
            "v": 1,
            "type": "check",
            "graph": source.name(),
            "apps": apps,
            "links": links,
            "warnings": warnings,
        });
        return format!("{object}\n");
    }
    let [apps, links] = [(apps, "app"), (links, "link")].map(|(count, noun)| counted(count as u64, noun));
    format!("{}: {apps}, {links}\n", shown(&source.name()))
}
