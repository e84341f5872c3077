//! Flows, told in the forms that people and programs read.
//!
//! | form | what |
//! |---|---|
//! | [`snabbwall`] | SnabbWall's report: a line a flow |
//! | [`object`] | an object of JSON a flow |
//! | [`eve`] | an object a flow, as Suricata writes them: EVE |
//! | [`Protocols`] | packets, bytes and flows of each protocol |
//!
//! All strings that come from packets are escaped.

mod eve;
mod json;

pub use eve::eve;
pub use json::object;

use crate::record::Record;
use dpi::Protocol;
use dpi::protocol::Naming;
use std::collections::HashMap;
use std::net::SocketAddr;

/// A line of SnabbWall's report, without a line end: `%#010x %4dp %15s:%-5d - %15s:%-5d  %s`, and `:%s` where a protocol carries the
/// application. The ends are in the order of their addresses.
///
/// ```
/// use dpi::protocol::Naming;
/// use wall::{record::Record, report};
/// let record = Record::new(["192.0.2.9:443".parse().unwrap(), "192.0.2.1:40000".parse().unwrap()], 6);
/// let line = report::snabbwall(&Record { packets: [5, 7], ..record }, Naming::Snabbwall);
/// assert_eq!(line[10..], *"   12p       192.0.2.1:40000 -       192.0.2.9:443    UNKNOWN");
/// ```
#[must_use]
pub fn snabbwall(record: &Record, naming: Naming) -> String {
    let [a, b] = record.sorted_ends();
    let (a_ip, b_ip) = (a.ip().to_string(), b.ip().to_string());
    let name = record.verdict.protocol.name(naming);
    let master = record.master().map(|master| format!(":{}", master.name(naming))).unwrap_or_default();
    format!(
        "{:#010x} {:>4}p {a_ip:>15}:{:<5} - {b_ip:>15}:{:<5}  {name}{master}",
        record.hash(),
        record.total_packets(),
        a.port(),
        b.port(),
    )
}

/// An end as `address:port`, that of IPv6 in brackets.
fn end(end: SocketAddr) -> String {
    end.to_string()
}

/// What all flows of a protocol come to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Packets.
    pub packets: u64,
    /// Bytes of frames on the wire.
    pub bytes: u64,
    /// Flows.
    pub flows: u64,
}

/// Packets, bytes and flows of each protocol.
#[derive(Clone, Debug, Default)]
pub struct Protocols(HashMap<Protocol, Tally>);

impl Protocols {
    /// Adds a flow.
    pub fn add(&mut self, record: &Record) {
        let tally = self.0.entry(record.verdict.protocol).or_default();
        tally.packets += record.total_packets();
        tally.bytes += record.total_bytes();
        tally.flows += 1;
    }

    /// By name, sorted by the bytes of it.
    #[must_use]
    pub fn sorted(&self, naming: Naming) -> Vec<(&'static str, Tally)> {
        let mut rows: Vec<_> =
            self.0.iter().map(|(protocol, tally)| (protocol.name(naming), *tally)).collect();
        rows.sort_unstable_by_key(|(name, _)| *name);
        rows
    }
}

#[cfg(test)]
mod tests;
