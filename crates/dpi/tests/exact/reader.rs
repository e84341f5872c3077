//! What ndpiReader says of a capture.

use dpi::exact::Flow;
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::path::Path;
use std::process::Command;

/// Its list of protocols (packets, bytes, flows), and its flows.
pub(crate) struct Listing {
    pub(crate) protocols: BTreeMap<String, [u64; 3]>,
    pub(crate) flows: Vec<FlowLine>,
}

/// A flow, in the words of both.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct FlowLine {
    l4: u8,
    /// Addresses that ndpiReader writes so that nobody can read them are missing from both.
    ends: [(Option<IpAddr>, u16); 2],
    protocol: String,
    packets: [u64; 2],
    bytes: [u64; 2],
    sni: String,
    ja3: String,
}

impl FlowLine {
    pub(crate) fn of(flow: &Flow) -> FlowLine {
        let end = |(address, port): (IpAddr, u16)| (as_written(address), port);
        let protocol = match &flow.master {
            Some(master) if *master != flow.protocol => format!("{master}.{}", flow.protocol),
            _ => flow.protocol.clone(),
        };
        FlowLine {
            l4: flow.l4,
            ends: [end(flow.a), end(flow.b)],
            packets: flow.packets,
            bytes: flow.bytes,
            sni: comparable_sni(&protocol, flow.sni.as_deref().unwrap_or_default()),
            ja3: comparable_ja3(&protocol, flow.ja3.as_deref().unwrap_or_default()),
            protocol,
        }
    }
}

/// It shows the greeting of SSH as the name of the server.
fn comparable_sni(protocol: &str, sni: &str) -> String {
    let kept: String = sni.chars().filter(|c| c.is_ascii_graphic() && *c != ',' && *c != ';').collect();
    if protocol.contains("SSH") { String::new() } else { kept.to_ascii_lowercase() }
}

/// It shows JA3 of flows that it does not call TLS, but for another protocol inside.
fn comparable_ja3(protocol: &str, ja3: &str) -> String {
    let tls = ["TLS", "QUIC", "DTLS"].iter().any(|name| protocol.split('.').any(|word| word == *name));
    if tls { ja3.to_string() } else { String::new() }
}

/// An IPv6 address as ndpiReader writes it, read again; `None` if it cannot be.
fn as_written(address: IpAddr) -> Option<IpAddr> {
    match address {
        IpAddr::V4(_) => Some(address),
        IpAddr::V6(_) => address.to_string().replace(":0:", "::").parse().ok(),
    }
}

/// The version of the installed ndpiReader.
pub(crate) fn version() -> Option<String> {
    let output = Command::new("ndpiReader").arg("-h").output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    Some(text.split_once("nDPI ")?.1.split_whitespace().next()?.to_string())
}

/// Runs ndpiReader without files of protocols. `None`: it does not read the capture.
pub(crate) fn run(path: &Path, tunnels: bool) -> Option<Listing> {
    let csv = std::env::temp_dir().join(format!("sluss-exact-{}.csv", std::process::id()));
    let mut command = Command::new("ndpiReader");
    command.arg("-i").arg(path).args(["-v", "2", "-C"]).arg(&csv).args(tunnels.then_some("-t"));
    let output = command.output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let lines = std::fs::read(&csv).ok();
    let _ = std::fs::remove_file(&csv);
    let listed = text.split_once("Detected protocols:\n");
    let protocols = listed.map_or_else(BTreeMap::new, |(_, rest)| rest.lines().map_while(protocol).collect());
    let refused = ["Unsupported datalink", "different from the type of the first interface"];
    if !output.status.success() || refused.iter().any(|words| text.contains(words)) {
        return None;
    }
    let lines = String::from_utf8_lossy(&lines?).into_owned();
    let mut flows: Vec<FlowLine> = lines.lines().skip(1).filter_map(flow).collect();
    flows.sort();
    Some(Listing { protocols, flows })
}

/// `HTTP   packets: 3   bytes: 200   flows: 1`
fn protocol(line: &str) -> Option<(String, [u64; 3])> {
    let (name, rest) = line.split_once("packets:")?;
    let (packets, rest) = rest.split_once("bytes:")?;
    let (bytes, flows) = rest.split_once("flows:")?;
    let number = |text: &str| text.trim().parse().ok();
    Some((name.trim().to_string(), [number(packets)?, number(bytes)?, number(flows)?]))
}

/// A line of its table.
fn flow(line: &str) -> Option<FlowLine> {
    let fields: Vec<&str> = line.split(',').collect();
    let number = |at: usize| fields.get(at)?.parse::<u64>().ok();
    let end = |at: usize| Some((fields[at].parse().ok(), u16::try_from(number(at + 1)?).ok()?));
    // The name of a server may contain commas: what is behind it is counted from where numbers begin again.
    let shift = (0..10)
        .find(|shift| (12..18).all(|at| number(at + shift).is_some()) && fields[18 + shift].contains('.'))?;
    let protocol = fields[10].to_string();
    let sni = fields[11..12 + shift].join("");
    Some(FlowLine {
        l4: u8::try_from(number(1)?).ok()?,
        ends: [end(5)?, end(7)?],
        packets: [number(12 + shift)?, number(15 + shift)?],
        bytes: [number(13 + shift)?, number(16 + shift)?],
        sni: comparable_sni(&protocol, &sni),
        ja3: comparable_ja3(&protocol, fields.get(70 + shift)?),
        protocol,
    })
}
