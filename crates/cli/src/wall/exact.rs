//! `sluss wall spy --dpi exact`: the flows of a capture as ndpiReader counts them, by nDPI alone.

use super::spy;
use crate::args::{Kind, SpyArgs};
use crate::blame::Blame;
use crate::exit::{Failure, Outcome};
use crate::message::Message;
use crate::reader::print_at_end;
use crate::signals;
use crate::terminal::Terminal;
use capture::Reader;
use dpi::exact::{Exact, Flow, Options, Summary};
use dpi::{By, Protocol, Verdict};
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::Path;
use wall::record::Record;
use wall::report::{self, Tally};

/// Runs the command.
pub(crate) fn run(args: &SpyArgs, terminal: &Terminal) -> Result<Outcome, Failure> {
    if args.from.kind != Kind::Pcap || args.live || args.duration.is_some() {
        return Err(Failure::user("`--dpi exact` reads captures, from their beginning to their end")
            .help("without it, devices are looked at as well: `sluss wall spy raw eth0 --live`"));
    }
    let not_here = [
        (args.eve.is_some(), "--eve"),
        (args.top, "--top"),
        (args.stats, "--stats"),
        (args.look.flows_max.is_some(), "--flows-max"),
    ];
    if let Some((_, flag)) = not_here.into_iter().find(|(is_given, _)| *is_given) {
        return Err(Failure::user(format_args!("`{flag}` and `--dpi exact` do not go together"))
            .help("leave one of them out"));
    }
    let signals = signals::caught(signals::ENDING)?;
    let path = Path::new(&args.from.name);
    let mut reader = open(path)?;
    reader.stop_when(signals.is_any.clone());
    let mut exact = Exact::start(Options::default()).map_err(|error| {
        Failure::world(format_args!("`--dpi exact` needs nDPI: {error}"))
            .help("install Debian's libndpi4.2, for which this sluss was built, or leave `--dpi exact` out")
    })?;
    let damage = read(&mut reader, &mut exact)?;
    let summary = exact.finish();
    let printed = print_at_end(&written(&summary, args), &signals);
    if summary.flows.iter().any(|flow| flow.incomplete) {
        let count = summary.flows.iter().filter(|flow| flow.incomplete).count();
        terminal.tell(&Message::warning(format_args!(
            "nDPI did not see all packets of {count} flows: they are too long for it, made it crash, or were too many at a time"
        )));
    }
    if let Some(damage) = damage {
        terminal.tell(&damage.message);
        printed?;
        return Ok(Outcome::Incomplete);
    }
    printed?;
    Ok(signals.signal().map_or(Outcome::Done, Outcome::Interrupted))
}

fn open(path: &Path) -> Result<Reader, Failure> {
    if path.is_dir() {
        return Err(Failure::is_folder(path));
    }
    let reader = if path.as_os_str() == "-" { Reader::stdin() } else { Reader::open(path) };
    reader.map_err(|error| Failure::capture(&error))
}

/// Reads the capture to its end. What is damaged ends it, and is told of when all before it is.
fn read(reader: &mut Reader, exact: &mut Exact) -> Result<Option<Failure>, Failure> {
    loop {
        match reader.next_packet() {
            Ok(Some(packet)) => {
                exact.frame(packet.linktype, packet.timestamp_ns, packet.data).map_err(|error| {
                    Failure::user(error).help("leave `--dpi exact` out: any link type can be looked at")
                })?
            }
            Ok(None) => return Ok(None),
            Err(error) => {
                let failure = Failure::capture(&error);
                return if failure.blame == Blame::Damage { Ok(Some(failure)) } else { Err(failure) };
            }
        }
    }
}

/// All flows, in the form that was asked for. Names are those of the nDPI that was asked.
fn written(summary: &Summary, args: &SpyArgs) -> String {
    let flows = &summary.flows;
    if args.json && args.flows {
        return flows.iter().map(|flow| format!("{}\n", object(flow, args))).collect();
    }
    if args.tsv || args.json {
        let mut protocols: BTreeMap<&str, Tally> = BTreeMap::new();
        for flow in flows {
            let tally = protocols.entry(&flow.protocol).or_default();
            tally.packets += flow.packets.iter().sum::<u64>();
            tally.bytes += flow.bytes.iter().sum::<u64>();
            tally.flows += 1;
        }
        return spy::protocols(protocols.into_iter(), args.tsv);
    }
    let records: Vec<Record> =
        (1..).zip(flows).map(|(number, flow)| Record { number, ..record(flow) }).collect();
    spy::written(&records, args)
}

fn object(flow: &Flow, args: &SpyArgs) -> serde_json::Value {
    let mut object = report::object(&record(flow), spy::naming(args));
    object["proto"] = flow.protocol.clone().into();
    object["master"] = flow.master.clone().filter(|master| *master != flow.protocol).into();
    object["category"] = flow.category.clone().into();
    // ndpiReader keeps no times.
    for key in ["first", "duration", "end"] {
        object.as_object_mut().map(|object| object.remove(key));
    }
    object
}

fn record(flow: &Flow) -> Record {
    let named = |name: &str| Protocol::intern(name).unwrap_or_default();
    let details = dpi::Details { sni: flow.sni.clone(), alpn: flow.alpn.clone(), ja4: flow.ja4.clone() };
    Record {
        vlans: [flow.vlan, 0],
        packets: flow.packets,
        bytes: flow.bytes,
        verdict: Verdict {
            protocol: named(&flow.protocol),
            master: flow.master.as_deref().map(named).unwrap_or_default(),
            by: By::Ndpi,
            confidence: flow.confidence,
            evidence: "nDPI",
        },
        details: Some(Box::new(details)),
        ..Record::new([SocketAddr::from(flow.a), SocketAddr::from(flow.b)], flow.l4)
    }
}
