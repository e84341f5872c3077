//! Numbers that stand for interfaces in the metadata of packets, in the whole process: for a device one for each name, whichever app has it, and also when
//! it goes and comes back; for an interface of a capture one for each file, number, name and length of frame check sequence, however often it is read.

use capture::Batch;
use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};

/// The first number. Those of interfaces in captures, which are counted from 0, do not come so far.
const FIRST: u32 = 1 << 31;
/// How many interfaces of captures are told apart: as many as one section of pcapng can have. A capture may describe any number.
const CAPTURED_MAX: usize = if cfg!(test) { 100 } else { 1 << 16 };
/// Bytes of the name of an interface that are kept: a capture may have any number of names of 64 KiB.
const NAME_MAX: usize = 255;

/// An interface that has a number.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Interface {
    Device(String),
    Captured { path: Arc<Path>, index: u32, facts: Facts },
}

/// What a capture says of an interface.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Facts {
    /// What it is called.
    pub(crate) name: Option<String>,
    /// Bytes of the frame check sequence behind each packet, if that is known.
    pub(crate) fcs_len: Option<u8>,
}

/// All interfaces so far.
#[derive(Debug, Default)]
struct Known {
    numbers: HashMap<Arc<Interface>, u32>,
    interfaces: Vec<Arc<Interface>>,
    captured: usize,
}

impl Known {
    fn number(&mut self, interface: Interface) -> u32 {
        let Known { numbers, interfaces, .. } = self;
        *numbers.entry(Arc::new(interface)).or_insert_with_key(|interface| {
            interfaces.push(Arc::clone(interface));
            FIRST + interfaces.len() as u32 - 1
        })
    }

    /// The number of an interface of a capture; where there are too many, that which it has there.
    fn captured(&mut self, path: &Arc<Path>, index: u32, name: Option<&str>, fcs_len: Option<u8>) -> u32 {
        let name = name.map(|name| name[..name.floor_char_boundary(NAME_MAX)].to_owned());
        let facts = Facts { name, fcs_len };
        let interface = Interface::Captured { path: Arc::clone(path), index, facts };
        if let Some(&number) = self.numbers.get(&interface) {
            return number;
        }
        if self.captured == CAPTURED_MAX {
            return index;
        }
        self.captured += 1;
        self.number(interface)
    }

    fn facts(&self, number: u32) -> Option<Facts> {
        Some(match &**self.interfaces.get(number.checked_sub(FIRST)? as usize)? {
            Interface::Device(name) => Facts { name: Some(name.clone()), fcs_len: None },
            Interface::Captured { facts, .. } => facts.clone(),
        })
    }
}

/// The number of a device.
pub(crate) fn number_of_device(device: &str) -> u32 {
    known().number(Interface::Device(device.to_owned()))
}

/// What is known of the interface that a number stands for.
pub(crate) fn facts_of(number: u32) -> Facts {
    known().facts(number).unwrap_or_default()
}

fn known() -> MutexGuard<'static, Known> {
    static KNOWN: LazyLock<Mutex<Known>> = LazyLock::new(Mutex::default);
    KNOWN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The interfaces of the section of a capture that is being read.
#[derive(Debug)]
pub(crate) struct Section {
    path: Arc<Path>,
    /// Their numbers, in the order in which the section describes them.
    numbers: Vec<u32>,
}

impl Section {
    /// Of a capture that nothing was read of yet.
    pub(crate) fn of(path: &Path) -> Self {
        Section { path: path.into(), numbers: Vec::new() }
    }

    /// Takes in the interfaces that a batch describes. To be called for each batch, also those without packets.
    #[inline]
    pub(crate) fn follow(&mut self, batch: &Batch<'_>) {
        if batch.starts_section() {
            self.numbers.clear();
        }
        if self.numbers.len() < batch.interfaces().len() {
            self.add(batch);
        }
    }

    #[cold]
    fn add(&mut self, batch: &Batch<'_>) {
        let mut known = known();
        // A pcap file has one interface, which no block describes.
        let names = batch.interface_names().chain(std::iter::repeat(None));
        let new = &batch.interfaces()[self.numbers.len()..];
        for (interface, name) in new.iter().zip(names) {
            let index = self.numbers.len() as u32;
            self.numbers.push(known.captured(&self.path, index, name.as_deref(), interface.fcs_len));
        }
    }

    /// The number that stands for an interface of the section.
    #[inline]
    pub(crate) fn number(&self, interface: u32) -> u32 {
        self.numbers.get(interface as usize).copied().unwrap_or(interface)
    }
}

#[cfg(test)]
mod tests {
    use super::{CAPTURED_MAX, FIRST, Facts, Known, NAME_MAX, facts_of, number_of_device};
    use std::path::Path;
    use std::sync::Arc;

    #[test]
    fn each_device_has_a_number() {
        let [a, b, again] = ["test a", "test b", "test a"].map(number_of_device);
        assert!(a == again && a != b && a >= FIRST);
        assert_eq!(
            [a, b].map(|number| facts_of(number).name),
            ["test a", "test b"].map(|name| Some(name.to_owned()))
        );
        assert_eq!([0, 7, u32::MAX].map(|number| facts_of(number).name), [const { None }; 3]);
    }

    #[test]
    fn interfaces_of_captures_are_told_apart_as_long_as_they_are_few() {
        let mut known = Known::default();
        let [a, b] = ["a.pcapng", "b.pcapng"].map(|path| Arc::from(Path::new(path)));
        let (a, b) = (&a, &b);
        let first = known.captured(a, 0, Some("eth0"), None);
        assert_eq!(known.captured(a, 0, Some("eth0"), None), first);
        assert_eq!(known.facts(first).unwrap().name.as_deref(), Some("eth0"));
        assert_ne!(known.captured(b, 0, Some("eth0"), Some(4)), known.captured(b, 0, Some("eth0"), None));
        let others = [
            known.captured(b, 0, Some("eth0"), None),
            known.captured(a, 1, None, None),
            known.captured(a, 0, None, None),
        ];
        assert_eq!(others, [first + 2, first + 3, first + 4]);
        let long = known.captured(b, 7, Some(&"é".repeat(NAME_MAX)), Some(4));
        let facts = Facts { name: Some("é".repeat(NAME_MAX / 2)), fcs_len: Some(4) };
        assert_eq!(known.facts(long), Some(facts));
        for index in 0..CAPTURED_MAX as u32 {
            known.captured(b, 100 + index, None, None);
        }
        assert_eq!(
            (known.captured(b, 5000, Some("late"), None), known.captured(a, 0, Some("eth0"), None)),
            (5000, first)
        );
    }
}
