use super::bucket::SENT_MAX;
use super::*;
use proptest::prelude::*;
use std::collections::HashMap;
use std::net::Ipv4Addr;

const TICK: u64 = 1 << TICK_SHIFT;

fn key(number: u32) -> Key {
    Key::new((Ipv4Addr::from_bits(number), 7).into(), (Ipv4Addr::LOCALHOST, 80).into(), 6, [0, 0]).0
}

fn table<V>(capacity: usize) -> Table<V> {
    Table::new(capacity, Secret::from_seed(1)).unwrap()
}

#[derive(Clone, Debug)]
enum Step {
    Insert(u32, u64),
    Find(u32),
    Remove(u32),
    Protect(u32, bool),
    /// Sweeps the whole table, and removes values below.
    Sweep(u64),
}

fn step(keys: u32) -> impl Strategy<Value = Step> {
    prop_oneof![
        8 => (0..keys, 0..100u64).prop_map(|(key, ticks)| Step::Insert(key, ticks)),
        3 => (0..keys).prop_map(Step::Find),
        3 => (0..keys).prop_map(Step::Remove),
        2 => (0..keys, any::<bool>()).prop_map(|(key, is)| Step::Protect(key, is)),
        1 => (0..20u64).prop_map(Step::Sweep),
    ]
}

/// The table holds what a map holds, but for the flows that it says have made room; slots of flows that are gone find nothing. With
/// `hash_bits`, many keys share a hash, as an attacker would like to have them.
fn compare(capacity: usize, steps: &[Step], hash_mask: u64) {
    let mut table: Table<Box<u64>> = table(capacity);
    let mut model: HashMap<Key, (Slot, u64)> = HashMap::new();
    let mut gone: Vec<Slot> = Vec::new();
    let bytes = table.bytes();
    let (mut value, mut now, mut evictions) = (0, 0, 0);
    for step in steps {
        match *step {
            Step::Insert(number, ticks) => {
                now += ticks * TICK;
                value += 1;
                let key = key(number);
                let hash = table.hash(&key) & hash_mask;
                table.prefetch(hash);
                table.prefetch_entry(hash);
                let found = table.find_or_insert(&key, hash, now, || Box::new(value));
                if let Some((evicted, value)) = found.evicted {
                    let (slot, known) = model.remove(&evicted).expect("it was there");
                    assert_eq!(known, *value);
                    assert!(capacity < 100 || hash_mask != u64::MAX || model.len() + 1 >= capacity / 2);
                    gone.push(slot);
                    evictions += 1;
                }
                match model.get(&key) {
                    Some(&(slot, _)) => assert_eq!((found.slot, found.is_new), (slot, false)),
                    None => {
                        assert!(found.is_new);
                        model.insert(key, (found.slot, value));
                    }
                }
            }
            Step::Find(number) => {
                let key = key(number);
                let found = table.find(&key, table.hash(&key) & hash_mask);
                assert_eq!(found, model.get(&key).map(|&(slot, _)| slot));
            }
            // These look for keys under their own hash.
            Step::Remove(_) | Step::Protect(..) if hash_mask != u64::MAX => {}
            Step::Remove(number) => {
                if let Some((slot, value)) = model.remove(&key(number)) {
                    assert_eq!(table.remove(slot), Some((key(number), Box::new(value))));
                    gone.push(slot);
                }
            }
            Step::Protect(number, is_protected) => {
                if let Some(&(slot, _)) = model.get(&key(number)) {
                    table.protect(slot, is_protected);
                }
            }
            Step::Sweep(below) => {
                let below = value.saturating_sub(below);
                let mut removed = Vec::new();
                table.sweep(
                    now,
                    0,
                    usize::MAX,
                    |value| (**value < below).then_some(()),
                    |key, value, ()| removed.push((key, *value)),
                );
                for (key, value) in removed {
                    let (slot, known) = model.remove(&key).unwrap();
                    assert_eq!(known, value);
                    gone.push(slot);
                }
                assert!(model.values().all(|&(_, value)| value >= below));
            }
        }
        assert_eq!(table.len(), model.len());
        assert_eq!(table.evictions(), evictions);
    }
    let all: HashMap<Key, (Slot, u64)> =
        table.iter().map(|(slot, key, value)| (key, (slot, **value))).collect();
    assert_eq!(all, model);
    assert!(gone.iter().all(|&slot| table.get(slot).is_none() && table.remove(slot).is_none()));
    assert_eq!(table.bytes(), bytes);
    // Each bucket counts right how many keys it has sent away.
    for (at, bucket) in table.buckets.iter().enumerate() {
        let sent = |other: &Bucket, from: usize| {
            other
                .used()
                .filter(|&way| other.words[way] & AWAY != 0 && table.second(from, other.tags[way]) == at)
                .count()
        };
        let sent: usize = table.buckets.iter().enumerate().map(|(from, other)| sent(other, from)).sum();
        assert!(bucket.sent() == SENT_MAX || bucket.sent() as usize == sent);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: if cfg!(miri) { 3 } else { 256 }, ..ProptestConfig::default() })]

    #[test]
    fn a_table_is_a_map_with_known_losses(steps in prop::collection::vec(step(200), 0..400), capacity in 1..150usize) {
        compare(capacity, &steps, u64::MAX);
    }

    #[test]
    fn keys_that_share_a_hash_are_told_apart(steps in prop::collection::vec(step(60), 0..300), capacity in 1..100usize) {
        compare(capacity, &steps, 0xffff << 48 | 1);
        compare(capacity, &steps, 0);
    }
}

#[test]
fn what_ends_after_hours_is_asked_about() {
    const MINUTE: u64 = 60_000_000_000;
    let mut table: Table<u32> = table(10);
    let key = key(1);
    table.find_or_insert(&key, table.hash(&key), 0, || 1);
    let mut swept = |now_ns, idle_ns| {
        let mut count = 0;
        table.sweep(now_ns, idle_ns, usize::MAX, |_| Some(()), |_, _, ()| count += 1);
        count
    };
    assert_eq!(swept(10 * MINUTE, 60 * MINUTE), 0);
    // The clock of ages has gone around once.
    assert_eq!(swept(60 * MINUTE, u64::MAX), 1);
}

#[test]
fn tables_of_protected_flows_evict_one_that_is_there() {
    for capacity in [1, 2, 3, 5, 17, 65, 100, 129, 200, 256] {
        let mut table: Table<u32> = table(capacity);
        let mut model = HashMap::new();
        for number in 0..4 * capacity as u32 + 100 {
            let key = key(number);
            let found = table.find_or_insert(&key, table.hash(&key), 0, || number);
            if let Some((evicted, value)) = found.evicted {
                assert_eq!(model.remove(&evicted), Some(value), "{capacity} flows");
            }
            assert!(found.is_new && model.insert(key, number).is_none());
            table.protect(found.slot, true);
            assert_eq!((table.len(), table.protected), (model.len(), model.len()), "{capacity} flows");
        }
        let all: HashMap<Key, u32> = table.iter().map(|(_, key, value)| (key, *value)).collect();
        assert_eq!(all, model);
    }
}

#[test]
fn half_full_tables_lose_nothing() {
    let flows = if cfg!(miri) { 500 } else { 100_000 };
    let mut table: Table<u32> = table(flows);
    for number in 0..flows as u32 {
        let key = key(number);
        let found = table.find_or_insert(&key, table.hash(&key), 0, || number);
        assert_eq!(found.evicted, None);
    }
    assert_eq!(table.len(), flows);
    let keys: Vec<(Key, u64)> =
        (0..flows as u32 + 9).map(|number| (key(number), table.hash(&key(number)))).collect();
    let mut slots = vec![None; keys.len()];
    table.lookup_burst(&keys, &mut slots);
    for (number, slot) in slots.iter().enumerate() {
        let value = slot.and_then(|slot| table.get(slot)).copied();
        assert_eq!(value, (number < flows).then_some(number as u32));
    }
}

#[test]
fn a_flood_spares_protected_flows() {
    let flows = if cfg!(miri) { 64 } else { 4096 };
    let mut table: Table<u32> = table(flows);
    let mut protected = Vec::new();
    for number in 0..flows as u32 / 4 {
        let key = key(number);
        let found = table.find_or_insert(&key, table.hash(&key), 0, || number);
        table.protect(found.slot, true);
        protected.push((found.slot, number));
    }
    for number in 0..8 * flows as u32 {
        let key = key(1 << 20 | number);
        table.find_or_insert(&key, table.hash(&key), u64::from(number) * TICK, || number);
    }
    assert_eq!(table.len(), flows);
    let lost = protected.iter().filter(|&&(slot, number)| table.get(slot) != Some(&number)).count();
    assert_eq!(lost, 0);
    assert_eq!(table.evictions(), 7 * flows as u64 + flows as u64 / 4);
}

#[test]
fn what_was_seen_longest_ago_makes_room() {
    // Two buckets, both full of eight.
    let mut table: Table<u32> = table(8);
    let insert = |table: &mut Table<u32>, number: u32, ticks: u64| {
        let key = key(number);
        table.find_or_insert(&key, table.hash(&key), ticks * TICK, || number).evicted.map(|(_, value)| value)
    };
    for number in 0..8 {
        assert_eq!(insert(&mut table, number, u64::from(number)), None);
    }
    let first: Vec<_> = (0..8).map(|number| table.first(table.hash(&key(number)))).collect();
    assert_eq!(insert(&mut table, 0, 8), None, "seen again");
    let newcomer = table.first(table.hash(&key(100)));
    let oldest = (1..8).find(|&number| first[number as usize] == newcomer);
    assert_eq!(insert(&mut table, 100, 9), oldest);
}

#[test]
fn sizes_that_cannot_be_are_refused() {
    let error = |capacity| Table::<u64>::new(capacity, Secret::from_seed(0)).unwrap_err();
    assert_eq!(error(0), TableError::Capacity(0));
    assert_eq!(
        error(CAPACITY_MAX + 1).to_string(),
        "a table of 134217729 flows: 1 to 134217728 are possible"
    );
    if !cfg!(miri) {
        let error = Table::<[u64; 1 << 22]>::new(CAPACITY_MAX, Secret::from_seed(0)).unwrap_err();
        assert!(matches!(error, TableError::Memory(bytes) if bytes > 1 << 50));
    }
}

#[test]
fn values_are_dropped_once() {
    let count = std::rc::Rc::new(());
    let mut table: Table<std::rc::Rc<()>> = table(4);
    for number in 0..20 {
        let key = key(number);
        table.find_or_insert(&key, table.hash(&key), 0, || count.clone());
    }
    assert_eq!(std::rc::Rc::strong_count(&count), 1 + table.len());
    drop(table);
    assert_eq!(std::rc::Rc::strong_count(&count), 1);
}

#[test]
fn a_large_table_can_be_filled_ahead() {
    if cfg!(miri) {
        return;
    }
    let mut table: Table<[u64; 10]> = table(1 << 16);
    table.populate();
    assert_eq!(table.bytes(), (1 << 16) * 128 + (1 << 14) * 64 + (1 << 16) * 4);
    let key = key(1);
    assert!(table.find_or_insert(&key, table.hash(&key), 0, || [3; 10]).is_new);
    assert_eq!(size_of::<Bucket>(), 64);
}
