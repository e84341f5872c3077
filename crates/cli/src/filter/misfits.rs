//! Packets of link types for which a filter does not exist: it does not match them, and that is told once.

use crate::escape::interface_name;
use crate::message::Message;
use crate::plural::counted;
use capture::{Batch, Format};
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::fmt;
use wire::LinkType;

/// So many are told: a hostile capture has tens of thousands of link types.
pub(super) const TOLD_MAX: usize = 100;

/// Packets that one filter could not be asked about, by link type.
#[derive(Clone, Debug, Default)]
pub(super) struct Misfits {
    found: Vec<Misfit>,
    /// Where among those a filter and a link type are.
    places: HashMap<(usize, LinkType), usize>,
}

#[derive(Clone, Debug)]
pub(super) struct Misfit {
    /// Which filter, counted from 0.
    pub(super) filter: usize,
    pub(super) linktype: LinkType,
    packets: u64,
    /// Where the first of them were.
    place: Place,
    /// Whether others were in other inputs, or from other interfaces of this one.
    has_other_inputs: bool,
    has_other_interfaces: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Place {
    input: String,
    /// Of pcapng.
    interface: Option<(u32, Option<String>)>,
}

/// What interfaces of the current section are called, as far as that was said and may be told.
#[derive(Debug, Default)]
pub(super) struct InterfaceNames {
    /// By the number of the interface.
    names: HashMap<u32, String>,
    /// How many interfaces the section has described.
    described: u32,
}

impl InterfaceNames {
    /// Takes note of the interfaces that a batch describes, but for those of the link type for which all filters exist: their names are
    /// never told.
    pub(super) fn look(&mut self, batch: &Batch<'_>, fitting: Option<LinkType>) {
        if batch.starts_section() {
            (self.names, self.described) = (HashMap::new(), 0);
        }
        for name in batch.interface_names() {
            let linktype =
                batch.interfaces().get(self.described as usize).map(|interface| interface.linktype);
            let linktype = linktype.map(|linktype| batch.format().as_read_here(linktype));
            if let Some(name) = name.filter(|_| fitting.is_none() || linktype != fitting) {
                self.names.insert(self.described, interface_name(&name));
            }
            self.described += 1;
        }
    }

    fn place(&self, batch: &Batch<'_>, interface: u32) -> Place {
        let name = || self.names.get(&interface).cloned();
        let interface = matches!(batch.format(), Format::Pcapng(_)).then(|| (interface, name()));
        Place { input: batch.input().to_owned(), interface }
    }
}

impl Misfits {
    /// Adds the packets of a batch, which are of this link type.
    pub(super) fn add(
        &mut self,
        filter: usize,
        linktype: LinkType,
        batch: &Batch<'_>,
        names: &InterfaceNames,
    ) {
        for packets in batch.packets().chunk_by(|a, b| a.interface == b.interface) {
            self.merge(Misfit {
                filter,
                linktype,
                packets: packets.len() as u64,
                place: names.place(batch, packets[0].interface),
                has_other_inputs: false,
                has_other_interfaces: false,
            });
        }
    }

    /// Takes what a later stretch has found.
    pub(super) fn append(&mut self, other: &Misfits) {
        other.found.iter().for_each(|misfit| self.merge(misfit.clone()));
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Misfit> {
        self.found.iter()
    }

    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.found.len()
    }

    pub(super) fn clear(&mut self) {
        self.found.clear();
        self.places.clear();
    }

    fn merge(&mut self, other: Misfit) {
        match self.places.entry((other.filter, other.linktype)) {
            Entry::Occupied(place) => self.found[*place.get()].merge(&other),
            Entry::Vacant(place) => {
                place.insert(self.found.len());
                self.found.push(other);
            }
        }
    }
}

impl Misfit {
    fn merge(&mut self, other: &Misfit) {
        self.packets += other.packets;
        self.has_other_inputs |= other.has_other_inputs || self.place.input != other.place.input;
        self.has_other_interfaces |= other.has_other_interfaces || self.place != other.place;
    }

    /// What to tell of it: the filter where there are several, and why it does not exist.
    pub(super) fn message(&self, filter: Option<&str>, why: &str) -> Message {
        let Misfit { linktype, packets, place, .. } = self;
        let and_others = |has_others| if has_others { " and others" } else { "" };
        let input = format_args!("{}{}", place.input, and_others(self.has_other_inputs));
        let interface =
            place.interface.as_ref().filter(|_| !self.has_other_inputs).map_or_else(String::new, |_| {
                format!(" from {place}{}", and_others(self.has_other_interfaces))
            });
        let packets = counted(*packets, "packet");
        let filter = filter.map_or_else(String::new, |filter| format!(" `{filter}`"));
        Message::warning(format_args!(
            "{input}: {packets} of link type {linktype}{interface} cannot match{filter}: {why}"
        ))
        .with_file(&place.input)
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.interface {
            Some((number, Some(name))) => write!(f, "interface {number} ({name})"),
            Some((number, None)) => write!(f, "interface {number}"),
            None => f.write_str(&self.input),
        }
    }
}
