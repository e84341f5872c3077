//! `sluss blast`: a source of packets and a target, as a graph of two apps, with rates to look at.

use crate::args::{BlastArgs, ProtoName, SynthArgs};
use crate::exit::{Failure, Outcome};
use crate::signals;
use crate::terminal::Terminal;
use crate::text;
use crate::top::units::quantity;
use apps::{Proto, Sink, Synth};
use capture::{Input, Reader};
use engine::{Config, ConfigureError, Engine, Graph, LinkReport, OptionError, Report, Settings};
use io::pcap_reader::Passes;
use io::{AfPacket, PcapReader, PcapWriter, Tap};
use serde_json::{Map, Value, json};
use std::io::IsTerminal;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use wire::LinkType;

/// How often the rate is shown.
const INTERVAL: Duration = Duration::from_secs(1);
/// Kinds of devices whose frames are those of Ethernet, as `/sys/class/net/*/type` has them (linux/if_arp.h).
const ARPHRD_ETHER: &str = "1";
const ARPHRD_LOOPBACK: &str = "772";
const SOURCE: &str = "source";
const TARGET: &str = "target";

/// Sends packets until told to stop, or there are no more.
pub(crate) fn run(args: &BlastArgs, terminal: &Terminal) -> Result<Outcome, Failure> {
    let graph = graph(args)?;
    let mut engine = Settings::new().and_then(Engine::new).map_err(no_engine)?;
    engine.configure(&graph).map_err(|error| refused(&error))?;
    let (signal, _) = signals::caught()?;
    let begin = Instant::now();
    let ended = blast(&mut engine, args, terminal, begin, &signal)?;
    let mut before = engine.report();
    before.add_last_words(engine.stop().reports);
    let result = Blasted { seconds: ended, before: &before, after: &engine.report() };
    text::print(&if args.json { format!("{}\n", result.json(&args.to)) } else { result.in_words() })?;
    for app in before.apps.values() {
        let kind = if app.has_failed { "error" } else { "warning" };
        for line in app.text.iter().flat_map(|text| text.lines()) {
            terminal.error(&format!("{kind}: {line}"));
        }
    }
    for imbalance in &result.after.imbalances {
        terminal.error(&format!("error: packets do not add up: {imbalance}"));
    }
    Ok(match signal.load(Ordering::Relaxed) {
        0 if before.apps.values().any(|app| app.has_failed) || !result.after.balanced() => {
            Outcome::Incomplete
        }
        0 => Outcome::Matched,
        signal => Outcome::Interrupted(signal as i32),
    })
}

/// Lets the engine run, and shows rates on a terminal. Returns for how many seconds.
fn blast(
    engine: &mut Engine,
    args: &BlastArgs,
    terminal: &Terminal,
    begin: Instant,
    signal: &AtomicUsize,
) -> Result<f64, Failure> {
    let shows = std::io::stderr().is_terminal() && !args.json;
    let limit = args.duration.unwrap_or(Duration::MAX);
    let mut shown = Tally::default();
    loop {
        let slice = limit.saturating_sub(begin.elapsed()).min(INTERVAL);
        let started = Instant::now();
        let mut was_told = false;
        let go_on = |elapsed: Duration| elapsed < slice && signal.load(Ordering::Relaxed) == 0;
        let run = engine.run(|status| {
            let goes_on = go_on(status.elapsed);
            was_told |= !goes_on;
            goes_on
        });
        run.map_err(no_engine)?;
        if shows {
            let tally = Tally::of(&engine.report());
            let rates = tally.since(&shown).rates(started.elapsed().as_secs_f64());
            terminal.message(&format!("{rates}, {} packets so far", tally.packets));
            shown = tally;
        }
        if !was_told || begin.elapsed() >= limit || signal.load(Ordering::Relaxed) != 0 {
            return Ok(begin.elapsed().as_secs_f64());
        }
    }
}

/// What was offered to the target, and what it has taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Tally {
    offered_packets: u64,
    offered_bytes: u64,
    packets: u64,
    /// Whether the target, or the link to it, has dropped any.
    has_lost: bool,
}

impl Tally {
    fn of(report: &Report) -> Self {
        let sum = |count: fn(&LinkReport) -> u64| report.links.iter().map(count).sum::<u64>();
        let drops = report.drops.values().sum::<u64>();
        Tally {
            offered_packets: sum(|link| link.txpackets),
            offered_bytes: sum(|link| link.txbytes),
            packets: report.delivered,
            has_lost: drops > 0,
        }
    }

    /// When all has come to its end, after a report that still had the links.
    fn ended(self, after: &Report) -> Self {
        let packets = after.delivered;
        Tally { packets, has_lost: packets < self.offered_packets, ..self }
    }

    fn since(&self, earlier: &Tally) -> Tally {
        Tally {
            offered_packets: self.offered_packets - earlier.offered_packets,
            offered_bytes: self.offered_bytes - earlier.offered_bytes,
            packets: self.packets - earlier.packets,
            has_lost: self.has_lost,
        }
    }

    /// Bytes of the packets that the target has taken. Targets do not count bytes: where some packets were lost, those taken
    /// count with the mean size of those offered.
    fn bytes(&self) -> u64 {
        match self.offered_packets {
            0 => 0,
            _ if !self.has_lost => self.offered_bytes,
            offered => (self.offered_bytes as f64 * (self.packets as f64 / offered as f64)).round() as u64,
        }
    }

    /// What the target takes, and if that is less, what it is offered.
    fn rates(&self, seconds: f64) -> String {
        let taken = rates(self.packets, self.bytes(), seconds);
        if !self.has_lost {
            return taken;
        }
        format!("{taken} taken of {} offered", rates(self.offered_packets, self.offered_bytes, seconds))
    }
}

/// What has happened: as seen before the apps were stopped, and when all that waited was written.
struct Blasted<'a> {
    seconds: f64,
    before: &'a Report,
    after: &'a Report,
}

impl Blasted<'_> {
    fn tally(&self) -> Tally {
        Tally::of(self.before).ended(self.after)
    }

    fn json(&self, to: &str) -> Value {
        let tally = self.tally();
        let (packets, bytes) = (tally.packets, tally.bytes());
        let drops: Map<String, Value> =
            self.after.drops.iter().map(|(reason, &count)| (reason.clone(), count.into())).collect();
        json!({
            "v": 1,
            "type": "blast",
            "to": to,
            "packets": packets,
            "bytes": bytes,
            "seconds": rounded(self.seconds),
            "cpu_s": rounded(text::cpu_time().as_secs_f64()),
            "pps": (packets as f64 / self.seconds.max(1e-9)).round() as u64,
            "mbps": rounded(bytes as f64 * 8e-6 / self.seconds.max(1e-9)),
            "offered": { "packets": tally.offered_packets, "bytes": tally.offered_bytes },
            "estimated": tally.has_lost && packets > 0,
            "drops": drops,
            "balanced": self.after.balanced(),
        })
    }

    fn in_words(&self) -> String {
        let tally = self.tally();
        let mut text =
            format!("{} packets in {:.3} s: {}", tally.packets, self.seconds, tally.rates(self.seconds));
        for (reason, count) in &self.after.drops {
            text.push_str(&format!("; {count} dropped: {reason}"));
        }
        text.push('\n');
        text
    }
}

fn rounded(number: f64) -> f64 {
    (number * 1e6).round() / 1e6
}

fn rates(packets: u64, bytes: u64, seconds: f64) -> String {
    let per_second = |count: f64| count / seconds.max(1e-9);
    let [pps, bps] = [packets as f64, bytes as f64 * 8.0].map(per_second);
    format!("{}, {}", quantity(pps, "pps"), quantity(bps, "bps"))
}

fn graph(args: &BlastArgs) -> Result<Graph, Failure> {
    let mut graph = Graph::new();
    let (rate_pps, rate_mbps) = args.rate.as_deref().map_or(Ok((None, None)), rate)?;
    let source = match &args.capture {
        Some(path) => Config::new(PcapReader {
            path: path.clone(),
            passes: args.passes.map_or(Passes::Forever, Passes::Times),
            rate_pps,
            rate_mbps,
            count: args.count,
            ..PcapReader::default()
        }),
        None => Config::new(Synth { count: args.count, rate_pps, rate_mbps, ..synth(&args.synth) }),
    };
    let broken = |error: engine::GraphError| Failure::internal(format!("internal error: {error}"));
    graph.add(SOURCE, source).map_err(broken)?;
    graph.add(TARGET, target(args)?).map_err(broken)?;
    graph.link(&format!("{SOURCE}.output -> {TARGET}.input")).map_err(broken)?;
    Ok(graph)
}

fn synth(args: &SynthArgs) -> Synth {
    let default = Synth::default();
    let or = |option: &Option<String>, default: String| option.clone().unwrap_or(default);
    Synth {
        sizes: (!args.size.is_empty()).then(|| args.size.clone()),
        src: or(&args.src, default.src),
        dst: or(&args.dst, default.dst),
        proto: match args.proto {
            Some(ProtoName::Tcp) => Proto::Tcp,
            Some(ProtoName::Udp) | None => Proto::Udp,
        },
        sport: or(&args.sport, default.sport),
        dport: or(&args.dport, default.dport),
        flows: args.flows,
        random: args.random,
        src_mac: or(&args.src_mac, default.src_mac),
        dst_mac: or(&args.dst_mac, default.dst_mac),
        vlan: args.vlan,
        ..Synth::default()
    }
}

fn target(args: &BlastArgs) -> Result<Config, Failure> {
    let to = args.to.as_str();
    if to == "null" {
        return Ok(Config::new(Sink {}));
    }
    if matches!(to, "" | "tap:") {
        return Err(Failure::user(format!(
            "error: `--to {to}` has no name: write `eth0`, `tap:NAME`, `null` or a file such as `out.pcap`"
        )));
    }
    if let Some(name) = to.strip_prefix("tap:") {
        check_link_type(args.capture.as_deref(), name)?;
        return Ok(Config::new(Tap { name: name.to_owned(), mtu: None }));
    }
    let is_capture = Path::new(to).extension().is_some_and(|end| end == "pcap" || end == "pcapng");
    if !to.contains('/') && !is_capture {
        if is_ethernet(to) {
            check_link_type(args.capture.as_deref(), to)?;
        }
        return Ok(Config::new(AfPacket { device: to.to_owned(), ..AfPacket::default() }));
    }
    if let Some(path) = args.capture.as_deref().filter(|path| input(path).is_same_file(Path::new(to))) {
        return Err(Failure::user(format!(
            "error: --to {to} is the capture that is read, {}: it would be lost\nhelp: write to another file, then rename it",
            path.display()
        )));
    }
    if args.passes.is_none() && args.count.is_none() && args.duration.is_none() {
        return Err(Failure::user(format!(
            "error: this would fill the disk with {to}: say how much with --count, --duration{}",
            if args.capture.is_some() { " or --loop" } else { "" }
        )));
    }
    Ok(Config::new(PcapWriter { path: to.into(), ..PcapWriter::default() }))
}

/// Whether a device is known to take Ethernet frames.
fn is_ethernet(device: &str) -> bool {
    let number = std::fs::read_to_string(format!("/sys/class/net/{device}/type"));
    number.is_ok_and(|number| [ARPHRD_ETHER, ARPHRD_LOOPBACK].contains(&number.trim()))
}

/// Refuses a capture whose first packets are not what an Ethernet device takes. Of what is no file nothing is known yet, and a capture
/// that cannot be opened is told of by who reads it.
fn check_link_type(capture: Option<&Path>, device: &str) -> Result<(), Failure> {
    let is_file = |path: &&Path| path.as_os_str() != "-" && path.is_file();
    let Some(path) = capture.filter(is_file) else { return Ok(()) };
    let linktype = Reader::open(path).ok().and_then(|mut reader| reader.first_linktype());
    match linktype.filter(|&linktype| linktype != LinkType::ETHERNET) {
        None => Ok(()),
        Some(linktype) => Err(Failure::user(format!(
            "error: {}: its packets are of link type {linktype}, and {device} takes Ethernet frames (EN10MB)",
            path.display()
        ))),
    }
}

fn input(path: &Path) -> Input {
    if path == Path::new("-") { Input::Stdin } else { Input::File(path.to_owned()) }
}

/// Packets, or million bits, a second.
fn rate(text: &str) -> Result<(Option<f64>, Option<f64>), Failure> {
    let wrong = || {
        Failure::user(format!(
            "error: --rate {text}: write a number and a unit: 500pps, 1.5Mpps, 100Mbps, 10Gbps"
        ))
    };
    let lower = text.to_ascii_lowercase();
    let unit_at = lower.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(lower.len());
    let number: f64 = lower[..unit_at].trim().parse().map_err(|_| wrong())?;
    let (prefix, is_bits) = match lower[unit_at..].strip_suffix("pps") {
        Some(prefix) => (prefix, false),
        None if unit_at == lower.len() => ("", false),
        None => (lower[unit_at..].strip_suffix("bps").ok_or_else(wrong)?, true),
    };
    let factor = match prefix {
        "" => 1.0,
        "k" => 1e3,
        "m" => 1e6,
        "g" => 1e9,
        _ => return Err(wrong()),
    };
    let rate = number * factor;
    Ok(if is_bits { (None, Some(rate / 1e6)) } else { (Some(rate), None) })
}

fn no_engine(error: std::io::Error) -> Failure {
    Failure::world(format!("error: cannot set up the engine: {error}"))
}

/// An option of an app, told as the flag that it came from.
fn refused(error: &ConfigureError) -> Failure {
    let ConfigureError::App { error: OptionError { option, message, refused, .. }, .. } = error else {
        return Failure::world(format!("error: {error}"));
    };
    let flag = match option.as_deref() {
        Some("path" | "device" | "name") | None => String::new(),
        Some("sizes") => "--size: ".to_owned(),
        Some("rate_pps" | "rate_mbps") => "--rate: ".to_owned(),
        Some(option) => format!("--{}: ", option.replace('_', "-")),
    };
    let message = format!("error: {flag}{message}");
    if *refused { Failure::world(message) } else { Failure::user(message) }
}

#[cfg(test)]
mod tests {
    use super::{Tally, rate};

    #[test]
    fn rates_are_read() {
        for (text, pps, mbps) in [
            ("500pps", Some(500.0), None),
            ("500", Some(500.0), None),
            ("1.5Mpps", Some(1.5e6), None),
            ("2kpps", Some(2e3), None),
            ("100Mbps", None, Some(100.0)),
            ("10 Gbps", None, Some(10_000.0)),
            ("64kbps", None, Some(0.064)),
        ] {
            assert_eq!(rate(text).unwrap(), (pps, mbps), "{text}");
        }
        for text in ["", "pps", "1", "fast", "1Tpps", "1Mp", "1 2pps", "-"] {
            assert_eq!(rate(text).is_err(), text != "1", "{text}");
        }
    }

    #[test]
    fn bytes_are_those_of_packets_that_were_taken() {
        let tally =
            |packets, has_lost| Tally { offered_packets: 100, offered_bytes: 6000, packets, has_lost };
        assert_eq!(tally(100, false).rates(2.0), "50 pps, 24.0 kbps");
        assert_eq!(tally(0, true).rates(2.0), "0 pps, 0 bps taken of 50 pps, 24.0 kbps offered");
        assert_eq!((tally(50, true).bytes(), Tally::default().bytes()), (3000, 0));
    }
}
