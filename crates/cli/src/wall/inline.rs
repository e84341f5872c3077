//! `sluss wall run --inline`: packets judged on their way between two devices; and `--nfqueue`: those that rules of iptables give to a queue.
//!
//! ```text
//!  main thread: signals, records ──┐                 ┌── thread of the control socket: stats, reload
//!                                  ├──► Control ◄────┤
//!  engine: device ◄─► l7_wall ◄─► device             └── thread of a reload that SIGHUP asked for
//!      or: nfqueue ──► l7_wall ──► nfqueue
//! ```
//!
//! With several workers, each has a wall, and a socket on either device. The kernel spreads packets over the sockets of a device by their addresses; an `rss` behind each socket does so by the same
//! hash, and hands those that came elsewhere, such as ICMP errors, to the wall that has all packets between their two addresses.
//!
//! ```text
//!  worker 0:  lan ─► rss ─┬─► l7_wall ─► wan         and the same from wan to lan
//!                         └──┐ ┌─▲
//!                         ┌──┼─┘ │
//!  worker 1:  lan ─► rss ─┴──▼─► l7_wall ─► wan
//! ```

use super::control::{Interfaces, Reloader};
use super::eve::EveTo;
use super::hold::hold;
use super::records::Records;
use super::run::{object, report};
use crate::args::WallRunArgs;
use crate::confine::{Confinement, folder_of};
use crate::control::Server;
use crate::ended::Ended;
use crate::exit::{Failure, Outcome};
use crate::instances;
use crate::message::Message;
use crate::notices::Announcer;
use crate::plural::counted;
use crate::reader::print_at_end;
use crate::set::change::of_counters;
use crate::signals::{self, Hangup};
use crate::terminal::Terminal;
use crate::words::shell_word;
use apps::{Join, Rss, SpreadBy};
use engine::shm::runtime;
use engine::{Config, ConfigureError, Engine, Graph, Report, Settings};
use io::netdev::{self, LinkState};
use io::nfqueue::Fail;
use io::{AfPacket, FanoutAddresses, Nfqueue, Tap};
use rustix::thread::CapabilitySet;
use std::hash::{BuildHasher, RandomState};
use std::os::unix::net::UnixListener;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};
use wall::L7Wall;
use wall::control::Control;
use wall::policy::Policy;

/// How often what has happened is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// Where the wall stands.
pub(super) enum Place<'a> {
    /// Between two devices.
    Devices(&'a str, &'a str),
    /// Behind a queue of netfilter.
    Queue(u16),
}

impl<'a> Place<'a> {
    /// What the flags say; `None` where they name captures.
    pub(super) fn of(args: &'a WallRunArgs) -> Result<Option<Self>, Failure> {
        match (args.inline.as_deref(), args.nfqueue) {
            (None, None) => Ok(None),
            (None, Some(queue)) => Ok(Some(Place::Queue(queue))),
            (Some([south, north]), _) if south == north => {
                Err(Failure::user("`--inline` takes two devices, and these are one"))
            }
            (Some([south, north]), _) => Ok(Some(Place::Devices(south, north))),
            (Some(_), _) => Err(Failure::user("`--inline` takes two devices")),
        }
    }

    fn graph(&self, args: &WallRunArgs, control: &Control) -> Result<Graph, Failure> {
        match self {
            Place::Devices(south, north) => between((south, north), args.workers.into(), &args.tap, control),
            Place::Queue(queue) => behind(*queue, args, control),
        }
    }

    /// Sees to it that no other wall stands there, as long as what is returned is kept.
    fn hold(&self) -> Result<Vec<UnixListener>, Failure> {
        // The kernel gives a queue to one.
        let held = self.devices().iter().map(|device| hold(device)).collect::<Result<Vec<_>, _>>()?;
        Ok(held.into_iter().flatten().collect())
    }

    /// The devices between which the wall stands.
    fn devices(&self) -> Vec<String> {
        match *self {
            Place::Devices(south, north) => vec![south.to_owned(), north.to_owned()],
            Place::Queue(_) => Vec::new(),
        }
    }

    fn interfaces(&self, args: &WallRunArgs) -> Interfaces {
        match *self {
            Place::Devices(south, north) => Interfaces::Between([south, north].map(str::to_owned)),
            Place::Queue(_) => Interfaces::Said([args.input.clone(), args.out.clone()]),
        }
    }

    /// What is said once the wall stands.
    fn greeting(&self, args: &WallRunArgs) -> String {
        match self {
            Place::Devices(south, north) if args.workers > 1 => {
                format!("the wall stands between {south} and {north}, with {} workers", args.workers)
            }
            Place::Devices(south, north) => format!("the wall stands between {south} and {north}"),
            Place::Queue(queue) => {
                let bypass = if args.fail_open { " --queue-bypass" } else { "" };
                let rule = format!(
                    "-I FORWARD -m mark ! --mark {REPLY_MARK:#x} -j NFQUEUE --queue-num {queue}{bypass}"
                );
                format!(
                    "the wall answers queue {queue}; rules bring it packets, of INPUT and OUTPUT as well:\n  \
                     iptables {rule}\n  ip6tables {rule}\nthe wall"
                )
            }
        }
    }
}

/// Tells what keeps a wall from what it is to do: devices that bring no packets, and rules about other devices.
fn warn(place: &Place<'_>, interfaces: &Interfaces, policy: &Policy, terminal: &Terminal) {
    for device in place.devices() {
        let warning = match netdev::link_state(&device) {
            Ok(LinkState::Down) => format!(
                "{device} is switched off: no packet passes; `ip link set dev {} up` switches it on",
                shell_word(&device)
            ),
            Ok(LinkState::NoCarrier) => format!("{device} has no carrier: no packet passes until it has one"),
            Ok(LinkState::Up) | Err(_) => continue,
        };
        terminal.tell(&Message::warning(warning));
    }
    if let Some(warning) = interfaces.others(policy) {
        terminal.tell(&Message::warning(warning));
    }
}

/// The mark of packets that tell the ends of rejected flows.
const REPLY_MARK: u32 = 0x736c;

/// Runs the wall until a signal, or the time, ends it.
pub(super) fn run(
    args: &WallRunArgs,
    place: &Place<'_>,
    policy: &Arc<Policy>,
    terminal: &Terminal,
) -> Result<Outcome, Failure> {
    let workers = usize::from(args.workers);
    let eve = args.eve.as_ref().or(policy.settings().records.eve.as_ref());
    let control = Control::for_workers(Arc::clone(policy), workers, eve.is_some());
    let _held = place.hold()?;
    let mut records = Records::open(eve, policy)?;
    let graph = place.graph(args, &control)?;
    let name = args.name.clone().unwrap_or_else(|| instances::name_after(&args.policy, "wall"));
    let counters = instances::counters(&name, terminal)?;
    let usual = Settings::with_counters(counters);
    let settings = Settings { workers, packets: Settings::packets_for(&graph), ..usual };
    let mut engine = Engine::new(settings).map_err(Failure::no_engine)?;
    engine.configure(&graph).map_err(|error| refused(&error))?;
    let interfaces = place.interfaces(args);
    warn(place, &interfaces, policy, terminal);
    let reloader = Reloader::new(&args.policy, &control, interfaces, terminal.colour_stderr);
    let servers = servers(args, &name, terminal)?;
    // Threads that begin from here on inherit what is left.
    confinement(args, place, policy).enter(terminal)?;
    let signals = signals::caught(signals::ENDING_GRAPHS)?;
    let mut hangup = Hangup::caught()?;
    let served = servers.into_iter().map(|server| server.serve(reloader.answers()));
    let _served = served.collect::<Result<Vec<_>, _>>()?;
    let begin = Instant::now();
    let limit = args.duration.unwrap_or(Duration::MAX);
    let mut announcer = Announcer::new(&engine, terminal);
    let megabytes = (control.ledger().memory() * workers).div_ceil(1 << 20);
    terminal.inform(&format!(
        "{}: generation 1, {}; flows and their identification take {megabytes} MiB at most",
        place.greeting(args),
        counted(policy.rules().len() as u64, "rule")
    ));
    let ran = engine.run_until(|status| {
        announcer.announce();
        records.write(&control, terminal);
        if hangup.has_come() {
            reloader.begin(terminal);
        }
        reloader.expire(terminal);
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
        if workers > 1 {
            object["handed_over"] = handed_over(&ended.report).into();
        }
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

/// The control sockets: one beside the counters, where `sluss top` asks, and the one that was asked for.
fn servers(args: &WallRunArgs, name: &str, terminal: &Terminal) -> Result<Vec<Server>, Failure> {
    let own = runtime::folder().map_err(|error| Failure::world(format_args!("no control socket: {error}")));
    let own = own.map(|folder| of_counters(&folder.join(runtime::file_name(name, std::process::id()))));
    let own = own.and_then(|path| Server::bind(&path)).inspect_err(|failure| {
        let why = format_args!("`sluss top` will not see the rules: {}", failure.message.what());
        terminal.tell(&Message::warning(why));
    });
    let wanted = args.control.as_deref().map(Server::bind).transpose()?;
    Ok(own.into_iter().chain(wanted).collect())
}

fn confinement(args: &WallRunArgs, place: &Place<'_>, policy: &Policy) -> Confinement {
    let folder = folder_of(&args.policy);
    let mut read: Vec<PathBuf> = policy.files().map(|file| folder_of(&folder.join(file))).collect();
    read.push(folder);
    let mut write: Vec<PathBuf> = engine::shm::runtime::folder().into_iter().collect();
    let eve = args.eve.as_ref().or(policy.settings().records.eve.as_ref());
    write.extend(eve.and_then(|eve| EveTo::of(eve).file()).map(|file| folder_of(&file)));
    write.extend(args.control.as_deref().map(folder_of));
    let needed = match place {
        Place::Devices(..) => CapabilitySet::empty(),
        // The kernel asks for it at each answer.
        Place::Queue(_) => CapabilitySet::NET_ADMIN,
    };
    Confinement {
        keep_capabilities: args.keep_capabilities,
        needed,
        no_landlock: args.no_landlock,
        no_seccomp: args.no_seccomp,
        read,
        write,
    }
}

/// Both devices, and the wall between them: one for each worker.
fn between(
    (south, north): (&str, &str),
    workers: usize,
    taps: &[String],
    control: &Control,
) -> Result<Graph, Failure> {
    let mut graph = Graph::new();
    if let Some(other) = taps.iter().find(|tap| ![south, north].contains(&tap.as_str())) {
        let why = format!("`--tap {other}` is neither of the devices of `--inline {south} {north}`");
        return Err(
            Failure::user(why).help(format!("sluss wall run POLICY --inline {other} {north} --tap {other}"))
        );
    }
    if let Some(tap) = taps.first().filter(|_| workers > 1) {
        let why = format!("`--tap {tap}`: a TAP device has one queue, which several workers cannot share");
        return Err(Failure::user(why).help("leave out `--workers`"));
    }
    let sides = [("south", south), ("north", north)];
    // One key for the kernel and for us.
    let key = RandomState::new().hash_one(());
    // At the start, sockets join in the order of these names. A device that comes back is opened by each worker when that notices it: the numbers of its sockets may
    // be others from then on, and each `rss` hands over what comes to the wrong worker, until the wall is started again.
    let width = (workers - 1).to_string().len();
    for worker in 0..workers {
        let name = |app: &str| if workers == 1 { app.to_owned() } else { format!("{app}_{worker:0width$}") };
        let wall = L7Wall {
            south_name: Some(south.to_owned()),
            north_name: Some(north.to_owned()),
            control: Some(control.of_worker(worker)),
            ..L7Wall::default()
        };
        let mut apps = vec![(name("wall"), Config::new(wall))];
        for (at, (side, device)) in sides.into_iter().enumerate() {
            let config = match taps.iter().any(|tap| tap == device) {
                true => Config::new(Tap { name: device.to_owned(), mtu: None }),
                false => Config::new(AfPacket {
                    device: device.to_owned(),
                    promiscuous: true,
                    fanout: (workers > 1).then(|| fanout_group(at)),
                    fanout_addresses: (workers > 1)
                        .then_some(FanoutAddresses { key, sockets: workers as u32 }),
                    ..AfPacket::default()
                }),
            };
            apps.push((name(side), config));
            if workers > 1 {
                apps.push((name(&format!("{side}_spread")), Config::new(spread(key, worker))));
                apps.push((name(&format!("{side}_join")), Config::new(Join {})));
            }
        }
        for (name, config) in apps {
            let app = graph.add(&name, config).map_err(|error| Failure::internal(format!("{error}")))?;
            app.worker = Some(worker);
        }
    }
    for (side, _) in sides {
        if workers == 1 {
            super::ran::link(&mut graph, &format!("{side}.output -> wall.{side}"))?;
            super::ran::link(&mut graph, &format!("wall.{side} -> {side}.input"))?;
            continue;
        }
        for from in 0..workers {
            let own = format!("{from:0width$}");
            super::ran::link(&mut graph, &format!("{side}_{own}.output -> {side}_spread_{own}.input"))?;
            super::ran::link(&mut graph, &format!("{side}_join_{own}.output -> wall_{own}.{side}"))?;
            super::ran::link(&mut graph, &format!("wall_{own}.{side} -> {side}_{own}.input"))?;
            for to in 0..workers {
                // Outputs count in the order of their names, too.
                let to = format!("{to:0width$}");
                super::ran::link(
                    &mut graph,
                    &format!("{side}_spread_{own}.to_{to} -> {side}_join_{to}.from_{own}"),
                )?;
            }
        }
    }
    Ok(graph)
}

/// What hands packets that came to a worker to the one that has their addresses: the same for all sockets of both devices.
fn spread(key: u64, worker: usize) -> Rss {
    Rss { key: Some(key), by: SpreadBy::Addresses, home: Some(worker) }
}

/// Packets that the kernel has brought to another worker than the one that judges them.
fn handed_over(report: &Report) -> u64 {
    let counters = report.apps.values().flat_map(|app| &app.counters);
    counters.filter(|(name, ..)| name == "handed_over").map(|(.., count)| count).sum()
}

/// The group of the sockets on a device: one that no other process has, unless it has 32768 processes' distance from this one.
fn fanout_group(side: usize) -> u16 {
    ((std::process::id() as u16) << 1) | side as u16
}

/// A queue, and the wall behind it, to which all packets come from the south. What it rejects or drops is answered at once.
fn behind(queue: u16, args: &WallRunArgs, control: &Control) -> Result<Graph, Failure> {
    let mut graph = Graph::new();
    let queue = Nfqueue {
        queue: Some(queue),
        fail: if args.fail_open { Fail::Open } else { Fail::Closed },
        changes: false,
        mark: Some(REPLY_MARK),
        ..Nfqueue::default()
    };
    let wall = L7Wall {
        south_name: args.input.clone(),
        north_name: args.out.clone(),
        control: Some(control.clone()),
        ..L7Wall::default()
    };
    super::ran::add(&mut graph, "queue", Config::new(queue))?;
    super::ran::add(&mut graph, "wall", Config::new(wall))?;
    for link in [
        "queue.output -> wall.south",
        "wall.north -> queue.input",
        "wall.drop -> queue.drop",
        "wall.south -> queue.send",
    ] {
        super::ran::link(&mut graph, link)?;
    }
    Ok(graph)
}

fn refused(error: &ConfigureError) -> Failure {
    let ConfigureError::App { error, .. } = error else { return Failure::world(error) };
    Failure::of_option(error.fault.into(), &error.message, error.detail.as_deref())
}
