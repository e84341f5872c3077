//! The flows of a capture as ndpiReader, nDPI's own tool, counts them: nDPI alone says what they are.
//!
//! What is counted is not what other parts of sluss count. ndpiReader skips later fragments, reads fewer tunnels, folds IPv6 addresses to
//! 32 bits for its keys, and swaps the directions of some flows. All of this is repeated here, so that results can be compared number by number;
//! the rules are those of nDPI 4.2.
//!
//! ```
//! # fn main() {
//! use dpi::exact::{Exact, Options};
//!
//! // The first line of `main`: the worker is this program, run once more.
//! dpi::worker::enter();
//! # let frames: [(i64, Vec<u8>); 0] = [];
//! # if false {
//! let mut exact = Exact::start(Options::default()).unwrap();
//! for (nanoseconds, frame) in &frames {
//!     exact.frame(wire::LinkType::EN10MB, *nanoseconds, frame).unwrap();
//! }
//! for flow in exact.finish().flows {
//!     println!("{} {}", flow.protocol, flow.packets.iter().sum::<u64>());
//! }
//! # }
//! # }
//! ```

mod decapsulate;
mod table;

use crate::Confidence;
use crate::worker::{self, Answer, Counters, FlowId, Packet, Reason, Refused, Until, Worker, WorkerError};
use decapsulate::Datagram;
use std::net::IpAddr;
use table::{Table, Verdict};
use wire::LinkType;

/// Packets to and from these ports, those of DNS, mDNS and LLMNR, are not shown to nDPI if they are longer than [`ENDLESS_BYTES`]: the number of
/// a byte in them wraps, and nDPI 4.2 then looks at the same bytes for ever.
const ENDLESS_PORTS: [u16; 3] = [53, 5353, 5355];
/// The number has 16 bits, and labels that nDPI takes for such have at most 192 with their length: shorter packets end before the number wraps.
const ENDLESS_BYTES: usize = (1 << 16) - 192;

/// How a capture is looked at.
#[derive(Clone, Debug)]
pub struct Options {
    /// Whether tunnels over UDP (GTP-U, TZSP, CAPWAP) are looked into, as `ndpiReader -t` does. Those over IP always are.
    pub tunnels: bool,
    /// How the worker is started.
    pub worker: worker::Options,
}

impl Default for Options {
    /// As `ndpiReader -i FILE`.
    fn default() -> Options {
        Options {
            tunnels: false,
            worker: worker::Options {
                job_bytes: 128 << 10,
                jobs: 256,
                flows: 1 << 22,
                states: 1 << 19,
                heap_bytes: 16 << 30,
                budget: [80, 24, u32::MAX],
                nice: 0,
                ..worker::Options::default()
            },
        }
    }
}

/// A flow. Where two numbers are, the first is from `a` to `b`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flow {
    /// Address and port of the sender of its first packet; port 0 where there are none.
    pub a: (IpAddr, u16),
    /// Address and port of its receiver.
    pub b: (IpAddr, u16),
    /// Protocol over IP.
    pub l4: u8,
    /// Its VLAN, 0 if there is none.
    pub vlan: u16,
    /// Packets each way.
    pub packets: [u64; 2],
    /// Bytes of captured frames each way.
    pub bytes: [u64; 2],
    /// The application, or the protocol where no application is known; nDPI's name.
    pub protocol: String,
    /// The protocol that carries the application, if it is known.
    pub master: Option<String>,
    /// nDPI's name of the category.
    pub category: String,
    /// How sure nDPI is.
    pub confidence: Confidence,
    /// Packets that nDPI has seen.
    pub seen: u32,
    /// Name of the server.
    pub sni: Option<Box<str>>,
    /// Protocols that the client offers inside TLS.
    pub alpn: Option<Box<str>>,
    /// Fingerprint of the client, JA4.
    pub ja4: Option<Box<str>>,
    /// Fingerprint of the client, JA3.
    pub ja3: Option<Box<str>>,
    /// Whether nDPI could not be asked to the end: a worker died or hung, or packets were too long.
    pub incomplete: bool,
}

/// All flows of a capture.
#[derive(Clone, Debug)]
pub struct Summary {
    /// The flows, in the order of their first packets.
    pub flows: Vec<Flow>,
    /// Frames in all, and those that belong to no flow: fragments, damaged ones, and whatever is not IP.
    pub frames: u64,
    /// See [`Summary::frames`].
    pub without_flow: u64,
    /// Packets that nDPI was not shown: they are so long, and to or from such a port, that nDPI 4.2 may never come back from them.
    pub too_long: u64,
    /// What happened to the worker.
    pub worker: Counters,
    /// Processor time of the worker.
    pub worker_cpu_seconds: f64,
}

/// The link type is none that ndpiReader reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("ndpiReader, whose way this is, does not read link type {0}")]
pub struct UnsupportedLink(pub LinkType);

/// A capture that is being looked at.
pub struct Exact {
    worker: Worker,
    tunnels: bool,
    table: Table,
    /// The latest time of a frame; time never goes back.
    ms: u64,
    frames: u64,
    without_flow: u64,
    too_long: u64,
}

impl Exact {
    /// Starts the worker.
    ///
    /// # Errors
    /// As [`Worker::start`].
    pub fn start(options: Options) -> Result<Exact, WorkerError> {
        let worker = Worker::start(options.worker)?;
        Ok(Exact {
            worker,
            tunnels: options.tunnels,
            table: Table::new(),
            ms: 0,
            frames: 0,
            without_flow: 0,
            too_long: 0,
        })
    }

    /// Takes the next frame, as far as it was captured, and its time since 1970.
    ///
    /// # Errors
    /// The link type is none that ndpiReader reads.
    pub fn frame(&mut self, link: LinkType, nanoseconds: i64, frame: &[u8]) -> Result<(), UnsupportedLink> {
        let dlt = decapsulate::supported(link).ok_or(UnsupportedLink(link))?;
        self.frames += 1;
        self.ms = self.ms.max(nanoseconds.div_euclid(1_000_000) as u64);
        let Some(datagram) = decapsulate::datagram(dlt, frame, self.tunnels) else {
            self.without_flow += 1;
            return Ok(());
        };
        let index = self.table.count(&datagram);
        self.show(index, datagram);
        Ok(())
    }

    /// Shows nDPI a packet of a flow that it has not decided.
    fn show(&mut self, index: u32, Datagram { key, bytes: datagram, .. }: Datagram<'_>) {
        let Exact { worker, table, ms, too_long, .. } = self;
        let (transport, ports) = (key.protocol, [key.a.1, key.b.1]);
        let state = table.verdict(index);
        if state.done {
            return;
        }
        let flow = FlowId { slot: index, generation: 0 };
        if datagram.len() > ENDLESS_BYTES && ports.iter().any(|port| ENDLESS_PORTS.contains(port)) {
            state.incomplete = true;
            *too_long += 1;
            return;
        }
        let packet = Packet { flow, first: !state.shown, transport, ms: *ms, datagram };
        loop {
            match worker.submit(&packet) {
                Err(Refused::Full) => {
                    worker.wait(Until::Room, |answer| note(table, answer));
                    if table.verdict(index).done {
                        break;
                    }
                }
                Ok(()) => {
                    table.verdict(index).shown = true;
                    break;
                }
                Err(_) => {
                    table.verdict(index).incomplete = true;
                    break;
                }
            }
        }
        // Answers are looked for now and then: each look costs more than a packet.
        if worker.pending().is_multiple_of(64) {
            worker.poll(|answer| note(table, answer));
        }
    }

    /// Has nDPI give up on flows that it has not decided, and returns all flows.
    pub fn finish(mut self) -> Summary {
        let Exact { worker, table, .. } = &mut self;
        worker.wait(Until::Idle, |answer| note(table, answer));
        for index in table.in_order_of_trees() {
            let state = table.verdict(index);
            if state.done || !state.shown {
                continue;
            }
            let flow = FlowId { slot: index, generation: 0 };
            while worker.give_up(flow, true) == Err(Refused::Full) {
                worker.wait(Until::Room, |answer| note(table, answer));
            }
        }
        worker.wait(Until::Idle, |answer| note(table, answer));
        let names = worker.names();
        let flows = table.flows().map(|(key, counts, verdict)| {
            let id = if verdict.app != 0 { verdict.app } else { verdict.master };
            let master = (verdict.master != 0).then(|| names.protocol(verdict.master).to_string());
            Flow {
                a: key.a,
                b: key.b,
                l4: key.protocol,
                vlan: key.vlan,
                packets: counts.packets,
                bytes: counts.bytes,
                protocol: names.protocol(id).to_string(),
                master,
                category: names.category(verdict.category).to_string(),
                confidence: verdict.confidence,
                seen: verdict.seen,
                sni: verdict.details.sni.clone(),
                alpn: verdict.details.alpn.clone(),
                ja4: verdict.details.ja4.clone(),
                ja3: verdict.ja3.clone(),
                incomplete: verdict.incomplete,
            }
        });
        let flows = flows.collect();
        Summary {
            flows,
            frames: self.frames,
            without_flow: self.without_flow,
            too_long: self.too_long,
            worker: self.worker.counters(),
            worker_cpu_seconds: self.worker.cpu_seconds(),
        }
    }
}

/// Notes the last that is said of a flow.
fn note(table: &mut Table, answer: &Answer) {
    if !answer.done {
        return;
    }
    let verdict = table.verdict(answer.flow.slot);
    *verdict = Verdict {
        done: true,
        shown: true,
        incomplete: verdict.incomplete || answer.reason != Reason::Found,
        app: answer.app,
        master: answer.master,
        category: answer.category,
        confidence: answer.confidence,
        seen: answer.packets,
        details: answer.details.clone(),
        ja3: answer.ja3.clone(),
    };
}
