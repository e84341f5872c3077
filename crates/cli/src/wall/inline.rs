//! `sluss wall run --inline`: packets judged on their way between two devices.
//!
//! ```text
//!  main thread: signals, records ──┐                 ┌── thread of the control socket: stats, reload
//!                                  ├──► Control ◄────┤
//!  engine: device ◄─► l7_wall ◄─► device             └── thread of a reload that SIGHUP asked for
//! ```

use super::control::{Reloader, Server};
use super::records::Records;
use super::run::{object, report};
use crate::args::WallRunArgs;
use crate::confine::{Confinement, folder_of};
use crate::ended::Ended;
use crate::exit::{Failure, Outcome};
use crate::message::Message;
use crate::notices::Announcer;
use crate::reader::print_at_end;
use crate::signals::{self, Hangup};
use crate::terminal::Terminal;
use engine::{Config, ConfigureError, Engine, Graph, Settings};
use io::AfPacket;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};
use wall::L7Wall;
use wall::control::Control;
use wall::policy::Policy;

/// How often what has happened is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// Runs the wall until a signal, or the time, ends it.
pub(super) fn run(
    args: &WallRunArgs,
    devices: &[String],
    policy: &Arc<Policy>,
    terminal: &Terminal,
) -> Result<Outcome, Failure> {
    let [south, north] = devices else { return Err(Failure::user("`--inline` takes two devices")) };
    if south == north {
        return Err(Failure::user("`--inline` takes two devices, and these are one"));
    }
    let control = Control::new(Arc::clone(policy));
    let mut records = Records::open(policy)?;
    let mut engine = Engine::new(Settings::new().map_err(Failure::no_engine)?).map_err(Failure::no_engine)?;
    engine.configure(&graph(south, north, &control)?).map_err(|error| refused(&error))?;
    let reloader = Reloader::new(&args.policy, &control, terminal.colour_stderr);
    let server = args.control.as_deref().map(Server::bind).transpose()?;
    // Threads that begin from here on inherit what is left.
    confinement(args, policy).enter(terminal)?;
    let signals = signals::caught(signals::ENDING_GRAPHS)?;
    let mut hangup = Hangup::caught()?;
    let _server = server.map(|server| server.serve(reloader.clone())).transpose()?;
    let begin = Instant::now();
    let limit = args.duration.unwrap_or(Duration::MAX);
    let mut announcer = Announcer::new(&engine, terminal);
    terminal.say(&format!(
        "the wall stands between {south} and {north}: generation 1, {} rules",
        policy.rules().len()
    ));
    let ran = engine.run_until(|status| {
        announcer.announce();
        records.write(&control, terminal);
        if hangup.has_come() {
            reloader.begin(terminal);
        }
        reloader.tell(terminal);
        let left = limit.saturating_sub(status.elapsed);
        let ends = left.is_zero() || signals.signal().is_some();
        (!ends).then(|| left.min(LOOK_EVERY))
    });
    ran.map_err(Failure::no_engine)?;
    let ended = Ended::stop(&mut engine);
    announcer.announce_last();
    records.write(&control, terminal);
    records.close(terminal);
    let told = control.told();
    let text = if args.json {
        let mut object = object(&told.counts, &told.policy);
        object["generation"] = told.generation.into();
        object["duration"] = begin.elapsed().as_secs_f64().into();
        format!("{object}\n")
    } else {
        report(&told.counts, &told.policy)
    };
    for app in ended.report.apps.values().filter(|app| !app.has_failed) {
        for line in app.text.iter().flat_map(|text| text.lines()) {
            terminal.tell(&Message::warning(line));
        }
    }
    let printed = print_at_end(&text, &signals);
    ended.outcome(printed, signals.signal())
}

fn confinement(args: &WallRunArgs, policy: &Policy) -> Confinement {
    let folder = folder_of(&args.policy);
    let mut read: Vec<PathBuf> = policy.files().map(|file| folder_of(&folder.join(file))).collect();
    read.push(folder);
    let mut write: Vec<PathBuf> = engine::shm::runtime::folder().into_iter().collect();
    write.extend(policy.settings().records.eve.as_deref().map(folder_of));
    write.extend(args.control.as_deref().map(folder_of));
    Confinement {
        keep_capabilities: args.keep_capabilities,
        no_landlock: args.no_landlock,
        no_seccomp: args.no_seccomp,
        read,
        write,
    }
}

/// Both devices, and the wall between them.
fn graph(south: &str, north: &str, control: &Control) -> Result<Graph, Failure> {
    let mut graph = Graph::new();
    let device = |name: &str| AfPacket { device: name.to_owned(), promiscuous: true, ..AfPacket::default() };
    let wall = L7Wall {
        south_name: Some(south.to_owned()),
        north_name: Some(north.to_owned()),
        control: Some(control.clone()),
        ..L7Wall::default()
    };
    let apps = [
        ("south", Config::new(device(south))),
        ("north", Config::new(device(north))),
        ("wall", Config::new(wall)),
    ];
    for (name, config) in apps {
        super::ran::add(&mut graph, name, config)?;
    }
    for side in ["south", "north"] {
        super::ran::link(&mut graph, &format!("{side}.output -> wall.{side}"))?;
        super::ran::link(&mut graph, &format!("wall.{side} -> {side}.input"))?;
    }
    Ok(graph)
}

fn refused(error: &ConfigureError) -> Failure {
    let ConfigureError::App { error, .. } = error else { return Failure::world(error) };
    let below = error.detail.as_ref().map_or(String::new(), |detail| format!("\n{detail}"));
    Failure::of(error.fault.into(), format!("{}{below}", error.message))
}
