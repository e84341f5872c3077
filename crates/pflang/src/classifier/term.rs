//! What a test asks for, as a union of terms: a box over the fields of a packet and the numbers that are given with it, and what else must hold.

use crate::lower::Class;

/// Fields that a term needs to be there.
pub(super) const SRC: u8 = 1;
pub(super) const DST: u8 = 2;
pub(super) const SPORT: u8 = 4;
pub(super) const DPORT: u8 = 8;

/// Something that numbers are compared by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Dim {
    /// An IPv4 address: 0 for the source, 1 for the destination.
    V4(usize),
    /// An IPv6 address.
    V6(usize),
    /// A port, with the protocol that it is of.
    Port(usize),
    /// A number that is given with each packet.
    Input(u32),
}

/// All of it must hold. Ranges include both ends.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Term {
    /// What the link layer carries, as bits of [`Class`]: their values, and which are asked for.
    pub(super) kinds: (u8, u8),
    /// The fields that must be there.
    pub(super) needs: u8,
    /// The protocol that ports must be of.
    pub(super) transport: Option<u8>,
    /// A protocol that has ports, asked for alone, and the number of that test.
    pub(super) carries: Option<(u8, u32)>,
    pub(super) v4: [Option<(u32, u32)>; 2],
    pub(super) v6: [Option<(u128, u128)>; 2],
    pub(super) ports: [Option<(u16, u16)>; 2],
    /// Of numbers that are given with each packet, by their place in the row, ascending.
    pub(super) inputs: Vec<(u32, (u32, u32))>,
    /// Tests that are asked one by one, ascending, and what each must say.
    pub(super) atoms: Vec<(u32, bool)>,
    /// Whether it asks besides for something that is not known.
    pub(super) depends: bool,
}

/// What both ranges have, or `Err` where that is nothing.
fn both<K: Ord + Copy>(a: Option<(K, K)>, b: Option<(K, K)>) -> Result<Option<(K, K)>, ()> {
    match (a, b) {
        (Some(a), Some(b)) => {
            let (low, high) = (a.0.max(b.0), a.1.min(b.1));
            if low <= high { Ok(Some((low, high))) } else { Err(()) }
        }
        (a, b) => Ok(a.or(b)),
    }
}

impl Term {
    pub(super) fn of_kind(kind: u8, is_asked: bool) -> Term {
        Term { kinds: (if is_asked { kind } else { 0 }, kind), ..Term::default() }
    }

    /// What holds where both do; `None` where that is nothing.
    pub(super) fn and(&self, other: &Term) -> Option<Term> {
        self.joined(other).ok().filter(|term| !term.is_nothing())
    }

    fn joined(&self, other: &Term) -> Result<Term, ()> {
        let common = self.kinds.1 & other.kinds.1;
        if (self.kinds.0 ^ other.kinds.0) & common != 0 {
            return Err(());
        }
        let mut atoms = self.atoms.clone();
        let carries = match (self.carries, other.carries) {
            (Some(a), Some(b)) if a.0 != b.0 => {
                atoms.push((b.1, true));
                Some(a)
            }
            (a, b) => a.or(b),
        };
        atoms.extend(&other.atoms);
        atoms.sort_unstable();
        atoms.dedup();
        if atoms.windows(2).any(|pair| pair[0].0 == pair[1].0) {
            return Err(());
        }
        let mut inputs = self.inputs.clone();
        for &(slot, range) in &other.inputs {
            match inputs.binary_search_by_key(&slot, |(slot, _)| *slot) {
                Ok(at) => inputs[at].1 = both(Some(inputs[at].1), Some(range))?.ok_or(())?,
                Err(at) => inputs.insert(at, (slot, range)),
            }
        }
        let transport = match (self.transport, other.transport) {
            (Some(a), Some(b)) if a != b => return Err(()),
            (a, b) => a.or(b),
        };
        Ok(Term {
            kinds: (self.kinds.0 | other.kinds.0, self.kinds.1 | other.kinds.1),
            needs: self.needs | other.needs,
            transport,
            carries,
            v4: [both(self.v4[0], other.v4[0])?, both(self.v4[1], other.v4[1])?],
            v6: [both(self.v6[0], other.v6[0])?, both(self.v6[1], other.v6[1])?],
            ports: [both(self.ports[0], other.ports[0])?, both(self.ports[1], other.ports[1])?],
            inputs,
            atoms,
            depends: self.depends || other.depends,
        })
    }

    /// Whether no packet has it: a packet is of one kind, and has addresses and ports of its kind only.
    fn is_nothing(&self) -> bool {
        let has4 = self.v4.iter().any(Option::is_some);
        let has6 = self.v6.iter().any(Option::is_some);
        let has_ports = self.ports.iter().any(Option::is_some) || self.transport.is_some();
        let possible = [Class::IP, Class::IP6, Class::ARP, Class::RARP].into_iter().any(|kind| {
            (kind ^ self.kinds.0) & self.kinds.1 == 0
                && !(has4 && kind == Class::IP6)
                && !(has6 && kind != Class::IP6)
                && !(has_ports && kind & (Class::IP | Class::IP6) == 0)
        });
        let of_packet = has4 || has6 || has_ports || self.kinds.0 != 0;
        (of_packet && !possible) || (has4 && has6)
    }

    /// The same, simpler where ports say what is carried; `None` where no packet has it.
    pub(super) fn finished(mut self) -> Option<Term> {
        if let Some((protocol, atom)) = self.carries.take() {
            let has_ports = self.ports.iter().any(Option::is_some);
            match self.transport {
                // Ports are found behind the one protocol that a packet carries.
                Some(transport) if has_ports && transport != protocol => return None,
                Some(_) if has_ports => {}
                None if has_ports => self.transport = Some(protocol),
                _ => {
                    if let Err(at) = self.atoms.binary_search(&(atom, true)) {
                        self.atoms.insert(at, (atom, true));
                    }
                    if self.atoms.windows(2).any(|pair| pair[0].0 == pair[1].0) {
                        return None;
                    }
                }
            }
        }
        Some(self)
    }

    /// What it asks of a field.
    pub(super) fn dims(&self) -> impl Iterator<Item = Dim> + '_ {
        let fields = (0..2).flat_map(|end| {
            let v4 = self.v4[end].is_some().then_some(Dim::V4(end));
            let v6 = self.v6[end].is_some().then_some(Dim::V6(end));
            [v4, v6, self.ports[end].is_some().then_some(Dim::Port(end))]
        });
        fields.flatten().chain(self.inputs.iter().map(|(slot, _)| Dim::Input(*slot)))
    }

    /// Whether packets of a class are of its kind and protocol.
    pub(super) fn is_of(&self, class: Class) -> bool {
        (class.kind ^ self.kinds.0) & self.kinds.1 == 0
            && self.transport.is_none_or(|transport| transport == class.transport)
    }

    /// The range of a number that is given.
    pub(super) fn input(&self, slot: u32) -> Option<(u32, u32)> {
        self.inputs.iter().find(|(known, _)| *known == slot).map(|(_, range)| *range)
    }

    /// A number for the range of a field: terms that ask the same of it have the same.
    pub(super) fn range_of(&self, dim: Dim) -> Option<(u128, u128)> {
        match dim {
            Dim::V4(end) => self.v4[end].map(|(low, high)| (low.into(), high.into())),
            Dim::V6(end) => self.v6[end],
            Dim::Port(end) => self.ports[end].map(|(low, high)| {
                let of = u128::from(self.transport.unwrap_or(0)) << 16;
                (of | u128::from(low), of | u128::from(high))
            }),
            Dim::Input(slot) => self.input(slot).map(|(low, high)| (low.into(), high.into())),
        }
    }

    /// Whether no part of it is a test by itself.
    pub(super) fn has_boxes_only(&self) -> bool {
        self.atoms.is_empty() && self.carries.is_none()
    }

    /// Whether it asks for nothing.
    pub(super) fn is_always(&self) -> bool {
        *self == Term::default()
    }

    /// Whether a packet with these numbers has all of it but the tests that are asked one by one.
    pub(super) fn contains(&self, key: &super::key::Key, row: &[u32]) -> bool {
        fn within<K: Ord + Copy>(range: &Option<(K, K)>, x: K) -> bool {
            range.is_none_or(|(low, high)| low <= x && x <= high)
        }
        let has4 = self.v4.iter().any(Option::is_some);
        let has6 = self.v6.iter().any(Option::is_some);
        self.is_of(key.class)
            && key.there & self.needs == self.needs
            && (!has4 || key.class.kind != Class::IP6 && (0..2).all(|end| within(&self.v4[end], key.v4[end])))
            && (!has6 || key.class.kind == Class::IP6 && (0..2).all(|end| within(&self.v6[end], key.v6[end])))
            && (0..2).all(|end| within(&self.ports[end], key.ports[end]))
            && self
                .inputs
                .iter()
                .all(|&(slot, (low, high))| row.get(slot as usize).is_some_and(|x| low <= *x && *x <= high))
    }
}
