//! From the flags of `sluss blast` to a graph, and from what apps refuse back to flags.

use super::cut::{CUT, Cut};
use crate::args::{BlastArgs, ProtoName, SynthArgs};
use crate::exit::Failure;
use crate::unwritable;
use crate::values::{NEGATIVE, is_negative};
use apps::{Proto, Sink, Synth};
use capture::{Input, Reader};
use engine::{Class, Config, ConfigureError, Graph, OptionError};
use io::af_packet::{Framing, Peers};
use io::pcap_reader::Passes;
use io::{AfPacket, PcapReader, PcapWriter, Tap};
use std::path::Path;

const SOURCE: &str = "source";
pub(super) const TARGET: &str = "target";

/// The source and the target, linked; what a device gets of a capture is looked at in between.
pub(super) fn graph(args: &BlastArgs) -> Result<Graph, Failure> {
    let mut graph = Graph::new();
    let (rate_pps, rate_mbps) = args.rate.as_deref().map_or(Ok((None, None)), rate)?;
    let source = match &args.capture {
        Some(path) if path.is_dir() => return Err(Failure::is_folder(path)),
        Some(path) => Config::new(PcapReader {
            path: path.clone(),
            passes: passes(args, path),
            rate_pps,
            rate_mbps,
            count: args.count,
            ..PcapReader::default()
        }),
        None => Config::new(Synth { count: args.count, rate_pps, rate_mbps, ..synth(&args.synth) }),
    };
    let broken = |error: engine::GraphError| Failure::internal(format!("{error}"));
    graph.add(SOURCE, source).map_err(broken)?;
    let target = target(args)?;
    // A file keeps the lengths on the wire, and nobody misses the rest of what is thrown away.
    let is_device = [AfPacket::TYPE, Tap::TYPE].contains(&&*target.class().name);
    graph.add(TARGET, target).map_err(broken)?;
    if args.capture.is_some() && is_device {
        graph.app(CUT, Cut {}).map_err(broken)?;
        graph.link(&format!("{SOURCE}.output -> {CUT}.input")).map_err(broken)?;
        graph.link(&format!("{CUT}.output -> {TARGET}.input")).map_err(broken)?;
    } else {
        graph.link(&format!("{SOURCE}.output -> {TARGET}.input")).map_err(broken)?;
    }
    Ok(graph)
}

/// How often a capture is sent: what is no file can be read only once.
fn passes(args: &BlastArgs, capture: &Path) -> Passes {
    let unasked = if is_stream(capture) { Passes::Times(1) } else { Passes::Forever };
    args.passes.unwrap_or(unasked)
}

/// Whether a path is standard input, a FIFO, a device or the like.
fn is_stream(path: &Path) -> bool {
    let is_no_file = |metadata: std::fs::Metadata| !metadata.is_file() && !metadata.is_dir();
    path.as_os_str() == "-" || path.metadata().is_ok_and(is_no_file)
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
    let to = &*args.to.to_string_lossy();
    if to == "null" {
        return Ok(Config::new(Sink {}));
    }
    if matches!(to, "" | "tap:") {
        return Err(Failure::user(format!(
            "`--to {to}` has no name: write `eth0`, `tap:NAME`, `null` or a file such as `out.pcap`"
        )));
    }
    if let Some(name) = to.strip_prefix("tap:") {
        check_source(args.capture.as_deref(), Framing::Ethernet, name)?;
        return Ok(Config::new(Tap { name: name.to_owned(), mtu: None }));
    }
    let is_capture = Path::new(to).extension().is_some_and(|end| end == "pcap" || end == "pcapng");
    if to.contains('/') || is_capture {
        return capture_file(args, to);
    }
    if let Some(framing) = framing(to) {
        check_source(args.capture.as_deref(), framing, to)?;
    }
    Ok(Config::new(AfPacket { device: to.to_owned(), ..AfPacket::default() }))
}

/// A file that is not the one that is read, and comes to an end unless it is on no disk.
fn capture_file(args: &BlastArgs, to: &str) -> Result<Config, Failure> {
    if let Some(path) = args.capture.as_deref().filter(|path| input(path).is_same_file(Path::new(&args.to))) {
        let what = format!("--to {to} is the capture that is read, {}", path.display());
        return Err(Failure::lost_input(what));
    }
    let ends = matches!(args.passes, Some(Passes::Times(_)))
        || args.count.is_some()
        || args.duration.is_some()
        || args.capture.as_deref().is_some_and(is_stream)
        || is_stream(Path::new(&args.to));
    if !ends {
        return Err(Failure::user(format!(
            "this would fill the disk with {to}: say how much with --count, --duration{}",
            if args.capture.is_some() { " or --loop" } else { "" }
        )));
    }
    Ok(Config::new(PcapWriter { path: args.to.clone().into(), ..PcapWriter::default() }))
}

/// What frames of a device begin with, if that is known.
fn framing(device: &str) -> Option<Framing> {
    let number = std::fs::read_to_string(format!("/sys/class/net/{device}/type")).ok()?;
    // The device itself says whether it can be used.
    Framing::of(number.trim().parse().ok()?, Peers::One)
}

/// Refuses frames that are made up for a device that takes bare packets, and a capture whose first packets are not what a device takes. Of
/// what is no file nothing is known yet, and a capture that cannot be opened is told of by who reads it.
fn check_source(capture: Option<&Path>, framing: Framing, device: &str) -> Result<(), Failure> {
    let taken = match framing {
        Framing::Ethernet => "Ethernet frames (EN10MB)",
        Framing::Bare => "IP packets without an Ethernet header (RAW)",
    };
    let Some(path) = capture else {
        return match framing {
            Framing::Ethernet => Ok(()),
            Framing::Bare => {
                Err(Failure::user(format!("--synth makes Ethernet frames, and {device} takes {taken}")))
            }
        };
    };
    let is_file = path.as_os_str() != "-" && path.is_file();
    let linktype =
        if is_file { Reader::open(path).ok().and_then(|mut reader| reader.seek_linktype()) } else { None };
    match linktype.filter(|&linktype| !framing.takes(linktype)) {
        None => Ok(()),
        Some(linktype) => Err(Failure::user(format!(
            "{}: its packets are of link type {linktype}, and {device} takes {taken}",
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
        Failure::user(format!("--rate {text}: write a number and a unit: 500pps, 1.5Mpps, 100Mbps, 10Gbps"))
    };
    if is_negative(text) {
        return Err(Failure::user(format!("--rate {text}: {NEGATIVE}")));
    }
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

/// An option of an app, told as the flag that it came from; of a file, with what there is in its place, or what has to be.
pub(super) fn refused(error: &ConfigureError, args: &BlastArgs) -> Failure {
    let ConfigureError::App { app, error, .. } = error else { return Failure::world(error) };
    let OptionError { option, message, detail, fault, .. } = &**error;
    let flag = match option.as_deref() {
        Some("path" | "device" | "name") | None => String::new(),
        Some(option) if option.starts_with("sizes") => "--size: ".to_owned(),
        Some("rate_pps" | "rate_mbps") => "--rate: ".to_owned(),
        Some(option) => format!("--{}: ", option.replace('_', "-")),
    };
    let message = format!("{flag}{}", with_flags(message));
    let failure = Failure::of_option((*fault).into(), &message, detail.as_deref());
    match (&app[..], option.as_deref(), &args.capture) {
        (SOURCE, Some("path"), Some(capture)) => failure.about_capture(capture),
        (TARGET, Some("path"), _) => unwritable::with_help(failure, Path::new(&args.to)),
        _ => failure,
    }
}

/// A message of an app that names other options, with their flags.
fn with_flags(message: &str) -> String {
    ["src", "dst", "sport", "dport"].iter().fold(message.to_owned(), |message, option| {
        message.replace(&format!("`{option}`"), &format!("`--{option}`"))
    })
}

#[cfg(test)]
mod tests {
    use super::rate;

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
}
