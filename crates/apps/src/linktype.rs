//! Link types: what a filter was compiled for, against what each packet says that it is.
//!
//! A packet says so in its metadata. Where a graph keeps none, nothing but Ethernet frames is in it: who brings in others asks for metadata.

use crate::filtering::LANES;
use engine::shm::Counter;
use engine::{Burst, OptionError, Packet, Pool};
use wire::LinkType;

/// The link type of an option that is not set.
pub(crate) fn ethernet() -> String {
    "EN10MB".to_owned()
}

/// The link type that the option `linktype` names.
pub(crate) fn parse(linktype: &str) -> Result<LinkType, OptionError> {
    linktype.parse().map_err(|error| OptionError::new("linktype", error))
}

/// Tells packets of one link type from others, in graphs with metadata.
#[derive(Debug)]
pub(crate) struct Expected {
    linktype: LinkType,
    /// As metadata has it.
    number: u16,
    /// The first other that came.
    other: Option<u16>,
    /// Counts packets of others.
    wrong: Counter,
}

impl Expected {
    /// What is expected; `wrong` counts what is not.
    pub(crate) fn new(linktype: &str, wrong: Counter) -> Result<Self, OptionError> {
        let linktype = parse(linktype)?;
        // Metadata has this in place of numbers that are too large.
        let number = u16::try_from(linktype.value()).unwrap_or(u16::MAX);
        Ok(Expected { linktype, number, other: None, wrong })
    }

    /// The bits of packets of this link type, of at most [`LANES`]; the others are counted.
    #[inline]
    pub(crate) fn select(&mut self, packets: &[Packet]) -> u64 {
        let others = self.others(packets);
        if others != 0 {
            self.note(packets, others);
        }
        !others
    }

    /// Frees packets of other link types, of at most [`LANES`].
    #[inline]
    pub(crate) fn keep<'b>(&mut self, burst: Burst<'b>, pool: &mut Pool) -> Burst<'b> {
        let others = self.others(&burst);
        if others == 0 { burst } else { self.free(burst, others, pool) }
    }

    #[inline]
    fn others(&self, packets: &[Packet]) -> u64 {
        let is_other = |packet: &Packet| packet.metadata().link_type != self.number;
        packets.iter().enumerate().fold(0, |bits, (i, packet)| bits | u64::from(is_other(packet)) << i)
    }

    #[cold]
    fn free<'b>(&mut self, burst: Burst<'b>, others: u64, pool: &mut Pool) -> Burst<'b> {
        self.remember(&burst, others);
        let (others, ours) = burst.partition(others);
        pool.free_burst(others, &self.wrong);
        ours
    }

    #[cold]
    fn note(&mut self, packets: &[Packet], others: u64) {
        self.remember(packets, others);
        self.wrong.add(u64::from(others.count_ones()));
    }

    fn remember(&mut self, packets: &[Packet], others: u64) {
        debug_assert!(packets.len() <= LANES && others != 0, "the first of at most {LANES}");
        let first = packets.get(others.trailing_zeros() as usize);
        self.other = self.other.or(first.map(|packet| packet.metadata().link_type));
    }

    /// What is said of packets of other link types; `fate` is what became of them.
    pub(crate) fn report(&self, fate: &str) -> Option<String> {
        let other = LinkType::new(self.other?.into());
        let (count, ours) = (self.wrong.get(), self.linktype);
        Some(format!(
            "{count} packets {fate}: they are not of link type {ours}; with `linktype = \"{other}\"`, those of {other} are filtered"
        ))
    }
}
