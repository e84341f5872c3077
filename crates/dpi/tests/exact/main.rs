//! The exact way of looking equals ndpiReader, on all captures at hand: per protocol and per flow.
//!
//! It needs ndpiReader of the nDPI that this is built for, and says so where there is none. Captures are those of the repository, those of the
//! folder that `SLUSS_SHARED` names (or `../shared` beside the repository), and those of the folder that `SLUSS_EXACT` names.
//! This is a program with a `main` of its own, since the worker is this program run once more.

mod reader;

use dpi::exact::{Exact, Options, Summary};
use reader::{FlowLine, Listing};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

fn main() {
    dpi::worker::enter();
    if std::env::args().any(|argument| argument == "--list") {
        println!("the_exact_way_equals_ndpireader: test");
        return;
    }
    let Some(built) = dpi::ndpi::built_with() else {
        println!("SKIPPED: this build has no nDPI ({})", dpi::ndpi::absent().unwrap_or_default());
        return;
    };
    match reader::version() {
        Some(version) if version == built && version.starts_with("4.2.") => {}
        other => {
            println!("SKIPPED: ndpiReader 4.2 of this build's nDPI ({built}) is wanted, there is {other:?}");
            return;
        }
    }
    let (mut equal, mut different, mut flows) = (0, 0, 0);
    for path in captures() {
        for tunnels in [false, true] {
            let Some(listing) = reader::run(&path, tunnels) else {
                println!("{}: not read by ndpiReader", path.display());
                break;
            };
            let Some(summary) = look(&path, tunnels) else {
                println!("{}: ndpiReader reads it, we do not", path.display());
                different += 1;
                break;
            };
            flows += summary.flows.len();
            let differences = compare(&listing, &summary);
            if differences.is_empty() {
                equal += 1;
            } else {
                different += 1;
                println!("{}{}:", path.display(), if tunnels { " -t" } else { "" });
                differences.iter().for_each(|difference| println!("    {difference}"));
            }
        }
    }
    println!("equal {equal}, different {different}, flows {flows}");
    assert!(different == 0 && equal > 0, "{different} differ from ndpiReader");
}

fn captures() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let shared = std::env::var_os("SLUSS_SHARED").map_or_else(|| root.join("../shared"), PathBuf::from);
    let mut folders =
        vec![root.join("captures"), shared.join("captures/linktypes"), shared.join("captures/snabbwall")];
    folders.extend(std::env::var_os("SLUSS_EXACT").map(PathBuf::from));
    let mut paths = Vec::new();
    for folder in folders {
        match std::fs::read_dir(&folder) {
            Ok(entries) => paths.extend(entries.flatten().map(|entry| entry.path())),
            Err(_) => {
                println!("SKIPPED: no captures in {} (set SLUSS_SHARED to use others)", folder.display())
            }
        }
    }
    let named = |path: &PathBuf| {
        path.extension().is_some_and(|end| ["pcap", "cap", "pcapng"].iter().any(|name| end == *name))
    };
    paths.retain(named);
    paths.sort();
    paths
}

/// What we see in a capture.
fn look(path: &Path, tunnels: bool) -> Option<Summary> {
    let mut reader = capture::Reader::open(path).ok()?;
    let mut exact = Exact::start(Options { tunnels, ..Options::default() }).unwrap();
    // As ndpiReader, we take what comes before damage.
    while let Ok(Some(packet)) = reader.next_packet() {
        exact.frame(packet.linktype, packet.timestamp_ns, packet.data).ok()?;
    }
    Some(exact.finish())
}

fn compare(listing: &Listing, summary: &Summary) -> Vec<String> {
    let mut differences = Vec::new();
    let mut protocols: BTreeMap<String, [u64; 3]> = BTreeMap::new();
    let mut flows = Vec::new();
    for flow in &summary.flows {
        let counts = protocols.entry(flow.protocol.clone()).or_default();
        counts[0] += flow.packets.iter().sum::<u64>();
        counts[1] += flow.bytes.iter().sum::<u64>();
        counts[2] += 1;
        flows.push(FlowLine::of(flow));
    }
    flows.sort();
    for name in listing.protocols.keys().chain(protocols.keys()) {
        let (theirs, ours) = (listing.protocols.get(name), protocols.get(name));
        if theirs != ours {
            differences.push(format!("{name}: ndpiReader {theirs:?}, we {ours:?}"));
        }
    }
    for (theirs, ours) in listing.flows.iter().zip(&flows) {
        if theirs != ours {
            differences.push(format!("ndpiReader {theirs:?}\n           we {ours:?}"));
        }
    }
    if listing.flows.len() != flows.len() {
        differences.push(format!("ndpiReader has {} flows, we {}", listing.flows.len(), flows.len()));
    }
    let incomplete = summary.flows.iter().filter(|flow| flow.incomplete).count();
    if incomplete > summary.too_long as usize {
        differences.push(format!("{incomplete} flows are incomplete: {:?}", summary.worker));
    }
    differences.dedup();
    differences
}
