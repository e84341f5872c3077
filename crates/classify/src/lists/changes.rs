//! Lists that change after they were read: entries that are added and taken out by name, some for a time.

use super::{Item, List, joined, read};
use crate::set::overlay::Overlay;
use crate::set::union;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt;
use std::hash::Hash;
use table::interval::Key;

/// Entries that the changes of all lists have, at most: some 100 MB.
const ENTRIES_MAX: usize = 1 << 20;

/// Entries to add to a list and to take out of it, together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Change {
    /// What is in the list from now on.
    pub add: Vec<Item>,
    /// What is not in it from now on.
    pub remove: Vec<Item>,
    /// When that ends, and what the list's own text says holds again. A number of the caller's clock.
    pub until: Option<u64>,
}

/// Why a change is not made.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Refused {
    /// There are too many entries already.
    TooMany,
    /// The list is a map: its entries have values.
    Map,
    /// The list has addresses, and what is added is a port.
    Port,
    /// The list itself cannot be read.
    Wrong(super::Problem),
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refused::TooMany => write!(
                f,
                "lists that run are changed by at most {ENTRIES_MAX} entries: write more of them into the file of the list"
            ),
            Refused::Map => {
                f.write_str("its entries have values, and only entries without are added and taken out")
            }
            Refused::Port => f.write_str("its entries are addresses, and a number alone is a port"),
            Refused::Wrong(problem) => write!(f, "{problem}"),
        }
    }
}

impl std::error::Error for Refused {}

/// What has changed of lists, by their names. Of two changes that hold an address, the later decides.
///
/// ```
/// use classify::lists::{Change, ChangedLists, Item};
/// let mut lists = ChangedLists::default();
/// let guest = Item::parse("192.0.2.7").unwrap();
/// lists.put("blocked", &Change { add: vec![guest], until: Some(60), ..Change::default() })?;
/// lists.put("blocked", &Change { remove: vec![Item::parse("10.1.0.0/16").unwrap()], ..Change::default() })?;
/// let text = "10.0.0.0/15\n";
/// assert_eq!(lists.applied("blocked", text)?.as_deref(), Some("10.0.0.0/16\n192.0.2.7\n"));
/// assert!(lists.expire(60));
/// assert_eq!(lists.applied("blocked", text)?.as_deref(), Some("10.0.0.0/16\n"));
/// assert_eq!(lists.applied("another", text)?, None, "as it was read");
/// # Ok::<(), classify::lists::Refused>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct ChangedLists {
    lists: BTreeMap<String, Entries>,
    count: usize,
    versions: u64,
}

/// What has changed of one list, in the order in which it came.
#[derive(Clone, Debug, Default)]
struct Entries {
    by_turn: BTreeMap<u64, (Item, Entry)>,
    turns: HashMap<Item, u64>,
    next: u64,
    version: u64,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    is_in: bool,
    until: Option<u64>,
}

impl ChangedLists {
    /// Notes a change. If it is refused, nothing has changed.
    ///
    /// # Errors
    /// [`Refused::TooMany`].
    pub fn put(&mut self, name: &str, change: &Change) -> Result<(), Refused> {
        // PERF: which of them are new is asked only where it decides.
        let most = change.add.len() + change.remove.len();
        if self.count + most > ENTRIES_MAX && self.count + self.unknown(name, change) > ENTRIES_MAX {
            return Err(Refused::TooMany);
        }
        self.versions += 1;
        let list = self.lists.entry(name.to_owned()).or_default();
        list.version = self.versions;
        let before = list.by_turn.len();
        let removed = change.remove.iter().map(|&item| (item, false));
        for (item, is_in) in removed.chain(change.add.iter().map(|&item| (item, true))) {
            let turn = list.next;
            list.next += 1;
            if let Some(earlier) = list.turns.insert(item, turn) {
                list.by_turn.remove(&earlier);
            }
            list.by_turn.insert(turn, (item, Entry { is_in, until: change.until }));
        }
        self.count = self.count + list.by_turn.len() - before;
        Ok(())
    }

    /// Entries of a change that are not noted yet. Those that are take no more room when they come again.
    fn unknown(&self, name: &str, change: &Change) -> usize {
        let known = self.lists.get(name).map(|list| &list.turns);
        let items = change.add.iter().chain(&change.remove);
        let unknown = items.filter(|&item| known.is_none_or(|turns| !turns.contains_key(item)));
        unknown.collect::<HashSet<_>>().len()
    }

    /// Ends what was for a time that is over. Whether there was such.
    pub fn expire(&mut self, now: u64) -> bool {
        let mut has_expired = false;
        for list in self.lists.values_mut() {
            let before = list.by_turn.len();
            let is_over = |entry: &Entry| entry.until.is_some_and(|until| until <= now);
            list.by_turn.retain(|_, (_, entry)| !is_over(entry));
            if list.by_turn.len() < before {
                let Entries { by_turn, turns, .. } = list;
                turns.retain(|_, turn| by_turn.contains_key(turn));
                self.count -= before - list.by_turn.len();
                self.versions += 1;
                list.version = self.versions;
                has_expired = true;
            }
        }
        has_expired
    }

    /// When the next entry expires.
    #[must_use]
    pub fn next_expiry(&self) -> Option<u64> {
        self.lists.values().flat_map(|list| list.by_turn.values()).filter_map(|(_, entry)| entry.until).min()
    }

    /// How many changes there have been of this list: another number, another list.
    #[must_use]
    pub fn version(&self, name: &str) -> u64 {
        self.lists.get(name).map_or(0, |list| list.version)
    }

    /// Entries that are added and taken out of this list now.
    #[must_use]
    pub fn entries(&self, name: &str) -> usize {
        self.lists.get(name).map_or(0, |list| list.by_turn.len())
    }

    /// The text of a list with its changes; `None` if there are none.
    ///
    /// # Errors
    /// [`Refused::Map`], [`Refused::Port`] and [`Refused::Wrong`].
    pub fn applied(&self, name: &str, text: &str) -> Result<Option<String>, Refused> {
        let Some(changes) = self.lists.get(name).filter(|list| !list.by_turn.is_empty()) else {
            return Ok(None);
        };
        let list = read(text, None).map_err(Refused::Wrong)?;
        if list.is_map() {
            return Err(Refused::Map);
        }
        // Asked with addresses, `80` would be 0.0.0.80 or 80.0.0.0/8.
        if list.ports.is_empty() && changes.adds_port() && !list.addresses.is_empty() {
            return Err(Refused::Port);
        }
        Ok(Some(joined([changes.applied(list)])))
    }
}

impl Entries {
    fn adds_port(&self) -> bool {
        self.by_turn.values().any(|(item, entry)| entry.is_in && matches!(item, Item::Port(..)))
    }

    fn applied(&self, mut list: List) -> List {
        let (mut v4, mut v6, mut ports) = (Overlay::default(), Overlay::default(), Overlay::default());
        let (mut macs, mut pairs4, mut pairs6) = (HashMap::new(), HashMap::new(), HashMap::new());
        for &(item, Entry { is_in, .. }) in self.by_turn.values() {
            match item {
                Item::V4(low, high) => v4.put(low, high, is_in),
                Item::V6(low, high) => v6.put(low, high, is_in),
                Item::Port(low, high) => ports.put(low, high, is_in),
                Item::Mac(mac) => drop(macs.insert(mac, is_in)),
                Item::Pair4(low, high, first, last) => drop(pairs4.insert((low, high, first, last), is_in)),
                Item::Pair6(low, high, first, last) => drop(pairs6.insert((low, high, first, last), is_in)),
            }
        }
        with(&mut list.macs, macs);
        with(&mut list.pairs4, pairs4);
        with(&mut list.pairs6, pairs6);
        list.addresses.v4 = changed(list.addresses.v4, &v4);
        list.addresses.v6 = changed(list.addresses.v6, &v6);
        list.ports = changed(list.ports, &ports);
        list
    }
}

/// Entries that are in a list or not as they are. Where they stand plays no part.
fn with<T: Copy + Eq + Hash>(all: &mut Vec<T>, changes: HashMap<T, bool>) {
    if !changes.is_empty() {
        all.retain(|entry| !changes.contains_key(entry));
        all.extend(changes.into_iter().filter(|(_, is_in)| *is_in).map(|(entry, _)| entry));
    }
}

/// Intervals with what an overlay says in its places.
fn changed<K: Key>(spans: Vec<(K, K)>, overlay: &Overlay<K>) -> Vec<(K, K)> {
    let pieces = overlay.pieces();
    let mut kept = Vec::new();
    for (low, high) in union(spans) {
        let mut rest = Some(low);
        let from = pieces.partition_point(|&(_, end, _)| end < low);
        for &(start, end, _) in pieces[from..].iter().take_while(|&&(start, _, _)| start <= high) {
            if let (Some(low), Some(before)) = (rest.filter(|&low| low < start), start.below()) {
                kept.push((low, before));
            }
            rest = end.above();
        }
        kept.extend(rest.filter(|&low| low <= high).map(|low| (low, high)));
    }
    kept.extend(pieces.iter().filter(|(_, _, is_in)| *is_in).map(|&(start, end, _)| (start, end)));
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    fn items(texts: &[&str]) -> Vec<Item> {
        texts.iter().map(|text| Item::parse(text).unwrap()).collect()
    }

    fn add(texts: &[&str]) -> Change {
        Change { add: items(texts), ..Change::default() }
    }

    fn remove(texts: &[&str]) -> Change {
        Change { remove: items(texts), ..Change::default() }
    }

    /// Against a set of numbers, for lists and changes drawn at random among few numbers, so that they meet.
    #[test]
    fn the_last_change_of_a_number_decides() {
        let mut random = 1_u32;
        let mut draw = |below: u32| {
            random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (random >> 8) % below
        };
        for _ in 0..300 {
            let mut span = || {
                let low = draw(40);
                (low, low + draw(12))
            };
            let spans: Vec<(u32, u32)> = (0..4).map(|_| span()).collect();
            let changes: Vec<((u32, u32), bool)> = (0..6).map(|at| (span(), at % 2 == 0)).collect();
            let mut members: Vec<bool> =
                (0..64).map(|key| spans.iter().any(|&(low, high)| (low..=high).contains(&key))).collect();
            let mut overlay = Overlay::default();
            for &((low, high), is_in) in &changes {
                overlay.put(low, high, is_in);
                members[low as usize..=high as usize].fill(is_in);
            }
            let got = changed(spans, &overlay);
            for key in 0..64_u32 {
                let is_in = got.iter().any(|&(low, high)| (low..=high).contains(&key));
                assert_eq!(is_in, members[key as usize], "{key} in {got:?} after {changes:?}");
            }
        }
    }

    #[test]
    fn all_kinds_of_entries_come_and_go() {
        let mut lists = ChangedLists::default();
        let text = "80\n02:00:00:00:00:01\n192.0.2.1,443\n2001:db8::/32\n";
        lists.put("set", &add(&["8000-8002", "02:00:00:00:00:02", "192.0.2.2,53", "::1"])).unwrap();
        lists.put("set", &remove(&["80", "8001", "02:00:00:00:00:01", "192.0.2.1,443"])).unwrap();
        let applied = lists.applied("set", text).unwrap().unwrap();
        assert_eq!(applied, "::1\n2001:db8::/32\n8000\n8002\n02:00:00:00:00:02\n192.0.2.2,53\n");
    }

    #[test]
    fn the_whole_of_the_numbers_can_be_taken_out() {
        let mut lists = ChangedLists::default();
        lists.put("set", &remove(&["0.0.0.0/0", "::/0"])).unwrap();
        let applied = lists.applied("set", "0.0.0.0/0\n::/0\n9\n").unwrap();
        assert_eq!(applied.as_deref(), Some("9\n"));
    }

    #[test]
    fn an_entry_put_again_takes_no_more_room_and_has_another_end() {
        let mut lists = ChangedLists::default();
        for until in [10, 20] {
            lists.put("set", &Change { until: Some(until), ..add(&["192.0.2.1"]) }).unwrap();
        }
        assert_eq!((lists.entries("set"), lists.count, lists.next_expiry()), (1, 1, Some(20)));
        let version = lists.version("set");
        assert!(!lists.expire(10));
        assert!(lists.expire(20) && lists.version("set") > version);
        assert_eq!((lists.entries("set"), lists.count, lists.next_expiry()), (0, 0, None));
        assert_eq!(lists.applied("set", "").unwrap(), None);
    }

    #[test]
    fn what_cannot_be_changed_says_so() {
        let mut lists = ChangedLists::default();
        lists.put("map", &add(&["192.0.2.1"])).unwrap();
        assert_eq!(lists.applied("map", "10.0.0.0/8 SE\n"), Err(Refused::Map));
        assert!(matches!(lists.applied("map", "10.0.0.300\n"), Err(Refused::Wrong(_))));
        lists.put("set", &add(&["80"])).unwrap();
        assert_eq!(lists.applied("set", "10.0.0.0/8\n"), Err(Refused::Port));
        for (text, applied) in [("", "80\n"), ("443\n10.0.0.1\n", "10.0.0.1\n80\n443\n")] {
            assert_eq!(lists.applied("set", text).unwrap().as_deref(), Some(applied));
        }
        lists.put("set", &remove(&["80"])).unwrap();
        assert_eq!(lists.applied("set", "10.0.0.0/8\n").unwrap().as_deref(), Some("10.0.0.0/8\n"));
    }

    #[test]
    fn only_entries_that_are_new_take_room() {
        let addresses =
            |count: usize| (0..count as u32).map(|address| Item::V4(address, address)).collect::<Vec<_>>();
        let mut lists = ChangedLists::default();
        let feed = Change { add: addresses(ENTRIES_MAX * 3 / 5), until: Some(10), ..Change::default() };
        lists.put("feed", &feed).unwrap();
        let again = Change { until: Some(20), ..feed };
        lists.put("feed", &again).unwrap();
        assert_eq!((lists.count, lists.next_expiry()), (ENTRIES_MAX * 3 / 5, Some(20)));
        let twice = Change { add: vec![Item::Port(1, 1); ENTRIES_MAX + 1], ..Change::default() };
        lists.put("feed", &twice).unwrap();
        assert_eq!(lists.count, ENTRIES_MAX * 3 / 5 + 1);
        let many = Change { add: addresses(ENTRIES_MAX), ..Change::default() };
        assert_eq!(lists.put("feed", &many), Err(Refused::TooMany), "with the port there is one too many");
        assert_eq!(lists.put("another", &again), Err(Refused::TooMany), "lists have the room together");
        assert_eq!((lists.count, lists.version("another")), (ENTRIES_MAX * 3 / 5 + 1, 0));
    }
}
