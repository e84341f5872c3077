//! `counter`: counts packets and bytes on their way, all of them and those that match filters.
//!
//! | inputs | `input` |
//! |---|---|
//! | outputs | `output`: everything; where nothing is linked to it, packets end here |
//! | `count` | a list of `name` and `filter`, 16 at most; none unless set |
//! | `linktype` | what packets begin with; unless set, what each packet says, as for `filter` |
//! | `packets`, `bytes` | count what passes |
//! | `NAME_packets`, `NAME_bytes` | count what passes and matches the filter of that name |
//! | `wrong_linktype` | counts packets of another link type than is set, or of one for which a filter does not compile: they match none |
//! | `delivered` | counts packets that ended here |
//!
//! A packet counts for every filter that it matches. Bytes are those that are here, not those on the wire.
//!
//! ```toml
//! [app.count]
//! type = "counter"
//! count = [
//!     { name = "web", filter = "tcp port 80 or tcp port 443" },
//!     { name = "names", filter = "port 53" },
//! ]
//! ```

use crate::shared::filtering::{LANES, both, compile, compiler, select, warning};
use crate::shared::linktype::{self, Compiled};
use engine::shm::Counter;
use engine::{
    App, Class, Io, OptionError, Packet, Passage, Reconfigured, Reporting, Review, Roles, Setup, is_name,
};
use pflang::Filter;
use serde::Deserialize;
use wire::LinkType;
use wire::plural::counted;

/// Options of `counter`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PacketCounter {
    /// Filters whose packets are counted, too.
    pub count: Vec<Count>,
    /// The link type of the packets. `None`: each packet says its own.
    pub linktype: Option<String>,
}

/// A filter whose packets a `counter` counts.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Count {
    /// The beginning of its counters' names.
    pub name: String,
    /// The filter.
    pub filter: String,
}

/// The most filters.
const COUNTS_MAX: usize = 16;
/// The longest name, in bytes: with `_packets`, it fits into the name of a counter.
const NAME_MAX: usize = 16;

impl linktype::Compile for PacketCounter {
    type Output = Vec<Filter>;

    fn compile(&self, linktype: LinkType) -> Result<Vec<Filter>, OptionError> {
        let compiler = compiler(linktype);
        let compile =
            |(i, count): (usize, &Count)| compile(&compiler, &format!("count[{i}].filter"), &count.filter);
        OptionError::all(self.count.iter().enumerate().map(compile))
    }

    fn reads_metadata(filters: &Vec<Filter>) -> bool {
        filters.iter().any(Filter::reads_wire_len)
    }
}

impl PacketCounter {
    fn check_names(&self) -> Result<(), OptionError> {
        if self.count.len() > COUNTS_MAX {
            return Err(OptionError::new(
                "count",
                format_args!("{} filters are more than {COUNTS_MAX}", self.count.len()),
            ));
        }
        OptionError::all(self.count.iter().enumerate().map(|(i, Count { name, .. })| {
            let message = if !is_name(name, NAME_MAX) {
                format!("`{name}` is no name: use 1 to {NAME_MAX} letters, digits and underscores")
            } else if self.count[..i].iter().any(|other| other.name == *name) {
                format!("two filters are called `{name}`")
            } else {
                return Ok(());
            };
            Err(OptionError::new(&format!("count[{i}].name"), message))
        }))
    }

    fn filters(&self, setup: &mut Setup<'_>) -> Result<Compiled<PacketCounter>, OptionError> {
        let wrong = setup.counter("wrong_linktype");
        Compiled::new(self.clone(), self.linktype.as_deref(), setup.take_prepared(), wrong)
    }

    fn tallies(&self, setup: &mut Setup<'_>) -> Vec<Tally> {
        self.count.iter().map(|Count { name, .. }| Tally::new(setup, &format!("{name}_"))).collect()
    }
}

/// A running `counter`.
#[derive(Debug)]
pub struct Running {
    all: Tally,
    filters: Compiled<PacketCounter>,
    /// The counters of each filter.
    tallies: Vec<Tally>,
    delivered: Counter,
}

#[derive(Debug)]
struct Tally {
    packets: Counter,
    bytes: Counter,
}

impl Tally {
    fn new(setup: &mut Setup<'_>, prefix: &str) -> Self {
        let mut counter = |what| setup.counter(&format!("{prefix}{what}"));
        Tally { packets: counter("packets"), bytes: counter("bytes") }
    }

    /// Counts the packets whose bit is set.
    fn add(&self, packets: &[Packet], bits: u64) {
        let bytes = packets.iter().enumerate().map(|(i, packet)| packet.len() as u64 * (bits >> i & 1));
        self.packets.add(u64::from(bits.count_ones()));
        self.bytes.add(bytes.sum());
    }
}

impl Class for PacketCounter {
    const TYPE: &'static str = "counter";
    const PASSAGE: Passage = Passage::MayEnd;
    type App = Running;

    fn check(&self) -> Result<(), OptionError> {
        self.review().map(drop)
    }

    fn review(&self) -> Result<Review, OptionError> {
        let filters = both(self.check_names(), linktype::compile(self, self.linktype.as_deref()))?;
        let warning = |(i, filter)| warning(&format!("count[{i}].filter"), filter);
        let review = Review::new(filters.iter().enumerate().filter_map(warning));
        Ok(review.with(filters))
    }

    fn start(&self, setup: &mut Setup<'_>) -> Result<Running, OptionError> {
        let (delivered, all) = (setup.delivered(), Tally::new(setup, ""));
        Ok(Running { all, filters: self.filters(setup)?, tallies: self.tallies(setup), delivered })
    }

    /// Counters whose name stays go on.
    fn reconfigure(
        &self,
        app: &mut Running,
        _: &Self,
        setup: &mut Setup<'_>,
    ) -> Result<Reconfigured, OptionError> {
        (app.filters, app.tallies) = (self.filters(setup)?, self.tallies(setup));
        Ok(Reconfigured::Kept)
    }
}

impl App for Running {
    fn roles(&self) -> Roles {
        Roles::PUSH.and(Roles::METADATA.when(self.filters.uses_metadata()))
    }

    fn push(&mut self, io: &mut Io<'_>) {
        let metadata = io.pool.uses_metadata();
        // Without filters, nobody asks what packets are.
        let asks = metadata && !self.tallies.is_empty();
        while let Some(mut burst) = io.inputs[0].burst_of_at_most(LANES) {
            self.all.add(&burst, u64::MAX >> (LANES - burst.len()));
            while let Some((packets, is_wrong)) = self.filters.split(&mut burst, asks) {
                if is_wrong {
                    self.filters.count_wrong(&packets);
                } else {
                    for (filter, tally) in self.filters.current().iter().zip(&self.tallies) {
                        tally.add(&packets, select(filter, &packets, metadata));
                    }
                }
                io.outputs[0].send_or_free(packets, io.pool, &self.delivered);
            }
        }
    }

    fn reporting(&self) -> Option<&dyn Reporting> {
        Some(self)
    }
}

impl Reporting for Running {
    fn report(&self) -> Option<String> {
        self.filters.report(|count| format!("{} matched no filter", counted(count, "packet")))
    }
}

#[cfg(test)]
mod tests {
    use super::{Count, PacketCounter};
    use engine::{Class, Metadata};
    use testkit::packet::Packet;
    use testkit::rig::{APP, Rig};

    fn counter(counts: &[(&str, &str)]) -> PacketCounter {
        let count =
            |&(name, filter): &(&str, &str)| Count { name: name.to_owned(), filter: filter.to_owned() };
        PacketCounter { count: counts.iter().map(count).collect(), ..PacketCounter::default() }
    }

    fn counters(rig: &mut Rig, names: &[&str]) -> Vec<u64> {
        names.iter().map(|name| rig.counter(name)).collect()
    }

    #[test]
    fn everything_passes_and_is_counted() {
        let mut rig = Rig::new(counter(&[("tcp", "tcp"), ("long", "len > 60")]), &["input"], &["output"]);
        let tcp = Packet::parse("eth / ip4 / tcp / pad(100)").unwrap().bytes;
        let udp = Packet::parse("eth / ip4 / udp").unwrap().bytes;
        for _ in 0..100 {
            assert_eq!(rig.pass(&[&tcp, &udp, b""]), [&tcp[..], &udp, b""]);
        }
        let (tcp, udp) = (tcp.len() as u64 * 100, udp.len() as u64 * 100);
        assert_eq!(counters(&mut rig, &["packets", "bytes"]), [300, tcp + udp]);
        assert_eq!(counters(&mut rig, &["tcp_packets", "tcp_bytes", "long_packets"]), [100, tcp, 100]);
    }

    #[test]
    fn each_packet_is_counted_as_what_it_is() {
        let mut rig = Rig::new(counter(&[("tcp", "tcp"), ("any", "")]), &["input"], &["output"]);
        let tcp = Packet::parse("eth / ip4 / tcp").unwrap().bytes;
        for (data, linktype) in [(&tcp[14..], 101), (&tcp, 1), (&tcp, 101), (&tcp[14..], 101), (&tcp, 0xffff)]
        {
            rig.send_with("input", data, Metadata { linktype, ..Metadata::default() });
        }
        rig.breathe();
        assert_eq!(rig.take("output").len(), 5);
        let counted = counters(&mut rig, &["packets", "tcp_packets", "any_packets", "wrong_linktype"]);
        assert_eq!(counted, [5, 3, 4, 1]);
    }

    #[test]
    fn packets_of_other_linktypes_match_nothing() {
        let only = PacketCounter { linktype: Some("EN10MB".to_owned()), ..counter(&[("any", "")]) };
        let mut rig = Rig::new(only, &["input"], &["output"]);
        for linktype in [1, 101] {
            rig.send_with("input", b"x", Metadata { linktype, ..Metadata::default() });
        }
        rig.breathe();
        assert_eq!(rig.take("output").len(), 2);
        assert_eq!(counters(&mut rig, &["packets", "any_packets", "wrong_linktype"]), [2, 1, 1]);
        assert!(
            rig.report().apps[APP]
                .text
                .as_deref()
                .unwrap()
                .starts_with("1 packet matched no filter: not of link type")
        );
    }

    #[test]
    fn where_nothing_is_linked_packets_end() {
        let mut rig = Rig::new(PacketCounter::default(), &["input"], &[]);
        (0..70).for_each(|_| rig.send("input", b"12"));
        rig.breathe();
        assert_eq!(counters(&mut rig, &["packets", "bytes", "delivered"]), [70, 140, 70]);
    }

    #[test]
    fn counters_go_on_when_filters_change() {
        let mut rig = Rig::new(counter(&[("a", ""), ("b", "arp")]), &["input"], &[]);
        rig.send("input", b"x");
        rig.breathe();
        rig.reconfigure(counter(&[("a", ""), ("c", "")]));
        rig.send("input", b"x");
        rig.breathe();
        assert_eq!(counters(&mut rig, &["a_packets", "b_packets", "c_packets", "packets"]), [2, 0, 1, 2]);
    }

    #[test]
    fn all_that_may_be_counted_has_room() {
        let names: Vec<String> = (0..16).map(|i| format!("sixteen_bytes_{i:02}")).collect();
        let counts: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), "")).collect();
        let mut rig = Rig::new(counter(&counts), &["input"], &["output"]);
        rig.pass(&[b"x"]);
        for name in &names {
            assert_eq!(
                counters(&mut rig, &[&format!("{name}_packets"), &format!("{name}_bytes")]),
                [1, 1],
                "{name}"
            );
        }
    }

    #[test]
    fn options_are_checked() {
        let error = |counts: &[(&str, &str)]| counter(counts).check().unwrap_err().to_string();
        assert_eq!(error(&[("a", ""), ("a", "")]), "`count[1].name`: two filters are called `a`");
        assert_eq!(
            error(&[("a b", "")]),
            "`count[0].name`: `a b` is no name: use 1 to 16 letters, digits and underscores"
        );
        assert_eq!(error(&[("x", ""); 17]), "`count`: 17 filters are more than 16");
        assert!(
            error(&[("web", "tcp prt 80")])
                .starts_with("`count[0].filter`: the filter does not compile\nerror[PF")
        );
        let error = counter(&[("web", "tcp prt 80"), ("a b", ""), ("c", "prt")]).review().unwrap_err();
        let wrong: Vec<&str> = error.each().filter_map(|error| error.option.as_deref()).collect();
        assert_eq!(wrong, ["count[1].name", "count[0].filter", "count[2].filter"]);
    }
}
