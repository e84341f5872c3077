//! `l7_fw`: accepts, drops or rejects packets by what their flows speak.
//!
//! | inputs | `input`: packets that an `l7_spy` has passed |
//! |---|---|
//! | outputs | `output`: what is accepted; `reject`: what the ends of rejected flows are told; `onward`: resets for receivers, which go to `reject` as well unless something is linked here |
//! | `rules` | a table of SnabbWall: `{ HTTP = "reject", default = "accept" }` |
//! | `rules_file` | a file with one, in its place |
//! | `local_mac`, `local_ipv4`, `local_ipv6` | from whom ICMP errors come; in the name of the original destination unless set |
//! | `reject_pps` | the most replies a second, 1000 unless set |
//! | `log` | `"on"`: lines about what is dropped or rejected go to the system log, 100 a second at most; `"off"` unless set |
//! | `accepted` | counts what goes on |
//! | `rejected`, `dropped` | drops: what the rules say |
//! | `no_flow` | counts accepted packets that carry no IP, such as ARP, or that no `l7_spy` has passed: no rule is about them |
//! | `replies` | counts packets that tell the ends of a rejected flow |
//! | `replies_limited`, `replies_no_packet` | count those that the limit, or an exhausted pool, kept back |
//! | `unanswered` | counts rejected packets of which nobody may be told |
//! | `log_lost` | counts lines that the system log did not take, or that were too many |
//!
//! What a flow speaks, and how many packets it has had, an `l7_spy` before it writes into the metadata of each packet; the two may be on different
//! workers. A flow that is not yet identified falls under `default`; the packet that decides its flow is judged by what it decides.
//!
//! ```toml
//! links = ["in.output -> spy.south", "spy.north -> fw.input", "fw.output -> out.input", "fw.reject -> back.input"]
//!
//! [app.spy]
//! type = "l7_spy"
//!
//! [app.fw]
//! type = "l7_fw"
//! rules = '{ HTTP = "reject", default = "accept" }'
//! ```
//!
//! Rules, and what is told: [`rules`](crate::rules), [`reject`](crate::reject).

use crate::reject::{Replies, Source};
use crate::rules::{Action, Compiled, Judged, Rules, TEXT_MAX};
use crate::syslog::Syslog;
use dpi::Protocol;
use dpi::protocol::Naming;
use engine::shm::Counter;
use engine::{
    App, Bucket, Class, Io, Metadata, OptionError, Output, Packet, Pool, Ports, Reconfigured, Roles, Setup,
};
use serde::Deserialize;
use std::io::Read;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::path::{Path, PathBuf};
use wire::{LinkType, Mac};

/// Options of `l7_fw`.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct L7Fw {
    /// The rules.
    #[serde(default)]
    pub rules: Option<String>,
    /// A file with the rules.
    #[serde(default)]
    pub rules_file: Option<PathBuf>,
    /// Hardware address of this host.
    #[serde(default, deserialize_with = "mac")]
    pub local_mac: Option<Mac>,
    /// IPv4 address of this host.
    #[serde(default)]
    pub local_ipv4: Option<Ipv4Addr>,
    /// IPv6 address of this host.
    #[serde(default)]
    pub local_ipv6: Option<Ipv6Addr>,
    /// Replies a second at most.
    #[serde(default = "default_reject_pps")]
    pub reject_pps: u64,
    /// Whether what does not go on is logged.
    #[serde(default)]
    pub log: Log,
}

/// Whether what does not go on is logged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Log {
    /// It is not.
    #[default]
    Off,
    /// It is, in the system log.
    On,
}

const fn default_reject_pps() -> u64 {
    1000
}

fn mac<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<Mac>, D::Error> {
    let text = String::deserialize(deserializer)?;
    text.parse().map(Some).map_err(serde::de::Error::custom)
}

impl L7Fw {
    /// A firewall with these rules.
    #[must_use]
    pub fn new(rules: &str) -> L7Fw {
        L7Fw {
            rules: Some(rules.to_owned()),
            rules_file: None,
            local_mac: None,
            local_ipv4: None,
            local_ipv6: None,
            reject_pps: default_reject_pps(),
            log: Log::Off,
        }
    }

    fn source(&self) -> Source {
        Source { mac: self.local_mac, ipv4: self.local_ipv4, ipv6: self.local_ipv6 }
    }

    fn read_rules(&self) -> Result<Rules, OptionError> {
        let (option, text) = match (&self.rules, &self.rules_file) {
            (Some(text), None) => ("rules", text.clone()),
            (None, Some(path)) => ("rules_file", read_file(path)?),
            (None, None) => {
                let message = "there are none; write `rules = '{ HTTP = \"reject\", default = \"accept\" }'`";
                return Err(OptionError::new("rules", message));
            }
            (Some(_), Some(_)) => {
                let message = "there are `rules` as well: leave one of them out";
                return Err(OptionError::new("rules_file", message));
            }
        };
        Rules::read(&text).map_err(|error| OptionError::new(option, error))
    }
}

fn read_file(path: &Path) -> Result<String, OptionError> {
    let wrong = |what: &dyn std::fmt::Display| {
        OptionError::new("rules_file", format!("cannot read {}: {what}", path.display()))
    };
    let file = std::fs::File::open(path).map_err(|error| wrong(&error))?;
    let mut text = String::new();
    // One byte more than there may be, so that a longer file is told.
    file.take(TEXT_MAX as u64 + 1).read_to_string(&mut text).map_err(|error| wrong(&error))?;
    Ok(text)
}

/// A running `l7_fw`.
#[derive(Debug)]
pub struct Running {
    rules: Rules,
    /// The rules for packets of the link types that came, the last one first.
    compiled: Vec<(u16, Compiled)>,
    replies: Replies,
    source: Source,
    limit: Bucket,
    log: Option<Syslog>,
    counters: Counters,
}

#[derive(Debug)]
struct Counters {
    accepted: Counter,
    rejected: Counter,
    dropped: Counter,
    no_flow: Counter,
    replies: Counter,
    limited: Counter,
    no_packet: Counter,
    unanswered: Counter,
    log_lost: Counter,
}

impl Counters {
    fn new(setup: &mut Setup<'_>) -> Self {
        Counters {
            accepted: setup.counter("accepted"),
            rejected: setup.rejects("rejected"),
            dropped: setup.rejects("dropped"),
            no_flow: setup.counter("no_flow"),
            replies: setup.counter("replies"),
            limited: setup.counter("replies_limited"),
            no_packet: setup.counter("replies_no_packet"),
            unanswered: setup.counter("unanswered"),
            log_lost: setup.counter("log_lost"),
        }
    }
}

/// Link types for which rules are kept compiled.
const KINDS_MAX: usize = 4;

impl Class for L7Fw {
    const TYPE: &'static str = "l7_fw";
    const OUTPUTS: Ports = Ports::Named(&["output", "reject", "onward"]);
    type App = Running;

    fn check(&self) -> Result<(), OptionError> {
        self.read_rules().map(drop)
    }

    fn start(&self, setup: &mut Setup<'_>) -> Result<Running, OptionError> {
        let rules = self.read_rules()?;
        let first = LinkType::EN10MB;
        Ok(Running {
            compiled: vec![(first.value() as u16, rules.compile(first))],
            rules,
            replies: Replies::default(),
            source: self.source(),
            limit: Bucket::new(self.reject_pps, self.reject_pps, 0),
            log: (self.log == Log::On).then(Syslog::new),
            counters: Counters::new(setup),
        })
    }

    fn reconfigure(
        &self,
        app: &mut Running,
        old: &L7Fw,
        _: &mut Setup<'_>,
    ) -> Result<Reconfigured, OptionError> {
        app.rules = self.read_rules()?;
        app.compiled
            .iter_mut()
            .for_each(|(number, compiled)| *compiled = app.rules.compile(LinkType::new((*number).into())));
        app.source = self.source();
        app.limit = app.limit.changed(self.reject_pps, self.reject_pps);
        if self.log != old.log {
            app.log = (self.log == Log::On).then(Syslog::new);
        }
        Ok(Reconfigured::Kept)
    }
}

/// Outputs, in the order of the class.
const OUTPUT: usize = 0;
const REJECT: usize = 1;
const ONWARD: usize = 2;

impl App for Running {
    fn roles(&self) -> Roles {
        Roles::PUSH.and(Roles::METADATA).and(Roles::ROOM)
    }

    fn push(&mut self, io: &mut Io<'_>) {
        loop {
            // A packet leaves one on its way, or two replies.
            let [output, reject, onward] = [OUTPUT, REJECT, ONWARD].map(|port| io.outputs[port].allowance());
            let room = output.min(reject / 2).min(onward);
            let Some(burst) = io.inputs[0].burst_of_at_most(room) else { return };
            for packet in burst {
                self.judge(packet, io.outputs, io.pool);
            }
        }
    }
}

impl Running {
    #[inline]
    fn judge(&mut self, packet: Packet, outputs: &mut [Output], pool: &mut Pool) {
        let metadata = *packet.metadata();
        if metadata.flow_packets == 0 {
            self.counters.no_flow.add(1);
            self.counters.accepted.add(1);
            return outputs[OUTPUT].put(packet);
        }
        let judged = Judged {
            packet: packet.data(),
            wire_len: packet.wire_len(),
            protocol: Protocol::from_number(metadata.application),
            flow_count: metadata.flow_packets,
        };
        match self.compiled(metadata.linktype).judge(&judged) {
            Action::Accept => {
                self.counters.accepted.add(1);
                outputs[OUTPUT].put(packet);
            }
            Action::Drop => {
                self.log(Action::Drop, &packet, &metadata);
                pool.free(packet, &self.counters.dropped);
            }
            Action::Reject => {
                self.log(Action::Reject, &packet, &metadata);
                self.tell(&packet, &metadata, outputs, pool);
                pool.free(packet, &self.counters.rejected);
            }
        }
    }

    /// The rules for packets of a link type, in front of those for others.
    #[inline]
    fn compiled(&mut self, linktype: u16) -> &mut Compiled {
        if self.compiled[0].0 != linktype {
            self.bring_to_front(linktype);
        }
        &mut self.compiled[0].1
    }

    #[cold]
    fn bring_to_front(&mut self, linktype: u16) {
        match self.compiled.iter().position(|(number, _)| *number == linktype) {
            Some(at) => self.compiled[..=at].rotate_right(1),
            None => {
                self.compiled.truncate(KINDS_MAX - 1);
                self.compiled.insert(0, (linktype, self.rules.compile(LinkType::new(linktype.into()))));
            }
        }
    }

    /// Tells the ends of a flow that its packet was rejected.
    #[cold]
    fn tell(&mut self, packet: &Packet, metadata: &Metadata, outputs: &mut [Output], pool: &mut Pool) {
        if !self.replies.answer(LinkType::new(metadata.linktype.into()), packet.data(), &self.source) {
            return self.counters.unanswered.add(1);
        }
        self.limit.fill(metadata.timestamp_ns);
        let onward = if outputs[ONWARD].is_linked() { ONWARD } else { REJECT };
        let told = [(self.replies.to_sender(), REJECT), (self.replies.to_receiver(), onward)];
        for (reply, port) in told.into_iter().filter_map(|(reply, port)| Some((reply?, port))) {
            if !self.limit.has(1) {
                self.counters.limited.add(1);
                continue;
            }
            let Some(mut reply) = pool.packet(reply) else {
                self.counters.no_packet.add(1);
                continue;
            };
            let of_its_own = Metadata {
                timestamp_ns: metadata.timestamp_ns,
                linktype: metadata.linktype,
                precision: metadata.precision,
                ..Metadata::default()
            };
            pool.describe(&mut reply, of_its_own);
            self.limit.take(1);
            self.counters.replies.add(1);
            outputs[port].put(reply);
        }
    }

    fn log(&mut self, action: Action, packet: &Packet, metadata: &Metadata) {
        let Some(log) = &mut self.log else { return };
        let protocol = Protocol::from_number(metadata.application).name(Naming::Snabbwall);
        let linktype = LinkType::new(metadata.linktype.into());
        if !log.packet(action, protocol, linktype, packet.data(), metadata.timestamp_ns) {
            self.counters.log_lost.add(1);
        }
    }
}

#[cfg(test)]
mod tests;
