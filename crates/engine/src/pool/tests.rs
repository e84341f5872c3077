//! Packets: where they are, how they move, that they come back.

use super::*;
use proptest::prelude::*;

#[test]
fn chunks_do_not_overlap_and_colours_differ() {
    let mut pool = Pool::new(64).expect("memory");
    let packets: Vec<Packet> = std::iter::from_fn(|| pool.allocate()).collect();
    assert_eq!((packets.len(), pool.exhausted()), (64, 1));
    let mut places: Vec<usize> = packets.iter().map(|packet| packet.as_ptr().addr().get()).collect();
    places.sort_unstable();
    assert!(places.windows(2).all(|pair| pair[1] - pair[0] > MAX_PAYLOAD + 2));
    let sets: std::collections::BTreeSet<usize> = places.iter().map(|place| place / 64 % 64).collect();
    assert!(sets.len() >= 24, "first lines lie in {} sets of 64", sets.len());
    packets.into_iter().for_each(|packet| pool.put_back(packet));
    assert_eq!(pool.available(), 64);
}

#[test]
fn memory_stays_while_a_packet_is_out() {
    let mut pool = Pool::new(2).expect("memory");
    let packet = pool.packet(b"still here").expect("a packet");
    drop(pool);
    assert_eq!(packet.data(), b"still here");
    std::mem::forget(packet);
}

#[test]
fn what_is_kept_and_dropped_makes_room_for_others() {
    let mut pool = Pool::new(8).and_then(|pool| pool.with_large(2)).expect("memory");
    let packet = |pool: &mut Pool, len: usize| pool.packet(&vec![1; len]).expect("a packet");
    let mut kept = Kept::default();
    for len in [20_000, 60, 60, 60, 60] {
        kept.keep(packet(&mut pool, len)).expect("room");
    }
    for len in [20_000, 60] {
        let refused = kept.keep(packet(&mut pool, len)).expect_err("no room");
        pool.put_back(refused);
    }
    // As in a panic: what was kept is swept up some time later.
    drop(kept);
    let mut kept = Kept::default();
    kept.keep(packet(&mut pool, 20_000)).expect("room");
    kept.keep(packet(&mut pool, 60)).expect("room");
    kept.free(&mut pool, &Counter::hidden());
    Orphans::sweep(0, |_, packet| pool.put_back(packet));
    assert_eq!(pool.available(), pool.total());
}

/// An app may have handed a packet to a thread of its own: Miri sees whether anybody writes there.
#[test]
fn stamping_begins_while_another_thread_has_a_packet() {
    let mut pool = Pool::new(2).expect("memory");
    let (mut mine, mut theirs) =
        (pool.packet(b"mine").expect("a packet"), pool.packet(b"theirs").expect("a packet"));
    let now = Metadata { timestamp_ns: 5, linktype: 1, ..Metadata::default() };
    std::thread::scope(|scope| {
        let thread = scope.spawn(|| {
            let before = theirs.metadata().timestamp_ns;
            theirs.metadata_mut().mark = 7;
            before
        });
        pool.stamp(5);
        assert!([0, 5].contains(&thread.join().expect("it does not panic")));
    });
    assert_eq!((*mine.metadata(), theirs.metadata().timestamp_ns), (now, 5));
    mine.metadata_mut().mark = 8;
    assert_eq!(*mine.metadata(), Metadata { mark: 8, ..now });
    pool.put_back(mine);
    pool.put_back(theirs);
}

#[test]
fn what_was_noted_before_anybody_read_it_is_forgotten_when_stamping_begins() {
    let mut pool = Pool::new(1).expect("memory");
    let mut packet = pool.allocate().expect("a packet");
    packet.metadata_mut().mark = 3;
    assert_eq!(packet.metadata().mark, 3);
    pool.stamp(5);
    assert_eq!((packet.metadata().mark, packet.metadata().timestamp_ns), (0, 5));
    pool.stamp_time(6);
    pool.put_back(packet);
    let again = pool.allocate().expect("a packet");
    assert_eq!(again.metadata().timestamp_ns, 6);
    pool.put_back(again);
}

#[test]
fn no_count_is_too_large_to_be_refused() {
    let mut pool = Pool::new(2).expect("memory");
    let mut packet = pool.packet(b"abcd").expect("a packet");
    for count in [usize::MAX, usize::MAX - 1, usize::MAX - 3, MAX_PAYLOAD - 3] {
        assert!(packet.open_front(count).is_err() && packet.open_back(count).is_err());
        assert_eq!(packet.data(), b"abcd");
    }
    pool.put_back(packet);
}

#[test]
fn sizes_that_cannot_be_are_refused() {
    assert_eq!(Pool::new(0).expect_err("none").kind(), io::ErrorKind::InvalidInput);
    assert!(Pool::new(Pool::MAX_PACKETS + 1).is_err());
    let mut pool = Pool::new(1).expect("memory");
    assert!(pool.packet(&[0; MAX_LARGE_PAYLOAD + 1]).is_none());
    let mut packet = pool.packet(&[0; MAX_PAYLOAD]).expect("it fits");
    assert_eq!(packet.append(b"x"), Err(TooLong { wanted: MAX_PAYLOAD + 1 }));
    assert_eq!(packet.prepend(b"x"), Err(TooLong { wanted: MAX_PAYLOAD + 1 }));
    assert_eq!(packet.resize(MAX_PAYLOAD + 1), Err(TooLong { wanted: MAX_PAYLOAD + 1 }));
    assert_eq!(packet.len(), MAX_PAYLOAD);
    pool.put_back(packet);
}

#[test]
fn packets_of_another_pool_find_home() {
    let (mut here, mut there) = (Pool::new(600).expect("memory"), Pool::new(600).expect("memory"));
    let guests: Vec<Packet> = std::iter::from_fn(|| there.allocate()).collect();
    guests.into_iter().for_each(|guest| here.put_back(guest));
    here.return_foreign();
    assert_eq!((here.available(), here.foreign(), there.available()), (600, 0, 0));
    let packet = there.allocate().expect("they are back");
    assert_eq!(there.available(), 599);
    there.put_back(packet);
}

#[test]
fn a_pool_that_took_a_guest_back_first_allocates_all_the_same() {
    let (mut here, mut there) = (Pool::new(4).expect("memory"), Pool::new(4).expect("memory"));
    let guest = there.allocate().expect("a packet");
    here.take_back(guest);
    let packet = here.allocate().expect("a packet");
    assert_eq!(here.allocated().wrapping_add(there.allocated()), 1);
    here.put_back(packet);
    here.return_foreign();
}

#[test]
fn threads_return_packets_at_the_same_time() {
    let rounds = if cfg!(miri) { 1 } else { 200 };
    let mut pool = Pool::new(300).expect("memory");
    for _ in 0..rounds {
        let mut packets: Vec<Packet> = std::iter::from_fn(|| pool.allocate()).collect();
        assert_eq!(packets.len(), 300);
        let other = packets.split_off(150);
        std::thread::scope(|scope| {
            for mut part in [packets, other] {
                scope.spawn(move || {
                    while !part.is_empty() {
                        let few = part.split_off(part.len().saturating_sub(40));
                        let mut foreign = Foreign::default();
                        few.into_iter().for_each(|packet| foreign.add(packet));
                        foreign.send();
                    }
                });
            }
        });
        pool.fetch_returns();
        assert_eq!(pool.available(), 300);
    }
}

/// Something that is done to a packet.
#[derive(Clone, Debug)]
enum Step {
    Append(Vec<u8>),
    Prepend(Vec<u8>),
    TrimFront(usize),
    Truncate(usize),
    Resize(usize),
    Copy,
    MakeRoom(usize),
}

fn step() -> impl Strategy<Value = Step> {
    let bytes = prop::collection::vec(any::<u8>(), 0..700);
    let long = if cfg!(miri) { MAX_PAYLOAD + 1..=11_000 } else { 60_000..=MAX_LARGE_PAYLOAD };
    let len = prop_oneof![0..64usize, 0..700usize, 9_000..=MAX_PAYLOAD, long];
    prop_oneof![
        bytes.clone().prop_map(Step::Append),
        bytes.prop_map(Step::Prepend),
        len.clone().prop_map(Step::TrimFront),
        len.clone().prop_map(Step::Truncate),
        len.clone().prop_map(Step::Resize),
        Just(Step::Copy),
        len.prop_map(Step::MakeRoom),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: if cfg!(miri) { 1 } else { 256 }, failure_persistence: None, ..ProptestConfig::default() })]

    /// A packet does what a vector of bytes does, wherever it lies in its chunk.
    #[test]
    fn a_packet_is_a_vector_of_bytes(steps in prop::collection::vec(step(), 0..40)) {
        let mut pool = Pool::new(2).expect("memory");
        pool.stamp(0);
        let mut packet = pool.allocate().expect("a packet");
        let metadata = Metadata { timestamp_ns: 1, cut_len: 2, mark: 3, flow_hash: u64::MAX, ..Metadata::default() };
        *packet.metadata_mut() = metadata;
        let mut model: Vec<u8> = Vec::new();
        for step in steps {
            let most = packet.max_len();
            let fits = |more: usize| model.len() + more <= most;
            match step {
                Step::Append(bytes) => {
                    prop_assert_eq!(packet.append(&bytes).is_ok(), fits(bytes.len()));
                    if fits(bytes.len()) { model.extend(bytes) }
                }
                Step::Prepend(bytes) => {
                    prop_assert_eq!(packet.prepend(&bytes).is_ok(), fits(bytes.len()));
                    if fits(bytes.len()) { drop(model.splice(0..0, bytes)) }
                }
                Step::TrimFront(count) => {
                    packet.trim_front(count);
                    model.drain(..count.min(model.len()));
                }
                Step::Truncate(len) => {
                    packet.truncate(len);
                    model.truncate(len);
                }
                Step::Resize(len) => {
                    prop_assert_eq!(packet.resize(len).is_ok(), len <= most);
                    if len <= most { model.resize(len, 0) }
                }
                Step::Copy => {
                    let copy = pool.copy(&packet).expect("a packet");
                    pool.put_back(std::mem::replace(&mut packet, copy));
                }
                Step::MakeRoom(len) => {
                    prop_assert!(pool.make_room(&mut packet, len));
                    prop_assert!(packet.max_len() >= len);
                }
            }
            prop_assert_eq!(packet.data(), &model[..]);
            prop_assert_eq!(*packet.metadata(), metadata);
        }
        pool.put_back(packet);
        prop_assert_eq!(pool.available(), pool.total());
    }
}

/// One worker gives a device packets to receive into, another gets them with frames; what is sent by the one is given back to the other, or to none.
#[test]
fn memory_that_devices_have_is_lent() {
    let [mut a, mut b] = [Pool::new(8).unwrap(), Pool::new(8).unwrap()];
    let sent = Counter::hidden();
    let account = |a: &Pool, b: &Pool| {
        let sum = |of: fn(&Pool) -> u64| of(a).wrapping_add(of(b));
        (sum(Pool::lent), sum(Pool::allocated), a.freed() + b.freed())
    };
    let mut device = Vec::new();
    a.fill(&mut device, 3);
    a.count_taken(3_usize.wrapping_neg());
    assert!(device.iter().all(|packet| packet.is_empty()) && a.available() == 5);
    assert_eq!(account(&a, &b), (3, 3, 0));
    // A frame comes in the memory of the first.
    let arrived = device.remove(0);
    b.count_taken(1);
    assert_eq!(account(&a, &b), (2, 3, 0));
    // It is sent by another device, which keeps the memory for now.
    let mut other = vec![arrived];
    b.lend_sent(1, &sent);
    assert_eq!((account(&a, &b), sent.get()), ((3, 4, 1), 1));
    b.regain(&mut other);
    b.return_foreign();
    // The first device goes, where no pool is at hand.
    device.drain(..).for_each(Packet::come_back);
    a.fetch_all_returns();
    assert_eq!((account(&a, &b), a.available(), b.available()), ((0, 1, 1), 8, 8));
}

#[test]
fn lists_are_bursts() {
    let mut pool = Pool::new(8).unwrap();
    let mut packets: Vec<Packet> = (0..6).map(|byte| pool.packet(&[byte]).unwrap()).collect();
    let mut burst = Burst::from(&mut packets);
    let taken: Vec<Packet> = burst.by_ref().take(1).collect();
    assert_eq!((taken[0].data(), burst.len()), (&[0][..], 5));
    let mut others = taken;
    burst.split_front(2).append_to(&mut others);
    burst.append_to(&mut others);
    assert!(packets.is_empty() && others.iter().map(|packet| packet.data()[0]).eq(0..6));
    pool.take_back_all(&mut others);
    assert_eq!((pool.available(), pool.allocated()), (8, 0));
}

/// What lies beyond the first megabytes is put into huge pages while packets of it are out.
#[test]
#[cfg_attr(miri, ignore = "it has no huge pages")]
fn packets_stay_as_they_are_when_their_memory_becomes_warm() {
    let mut pool = Pool::new(4096).unwrap();
    let packets: Vec<Packet> = (0..1500u32).map(|n| pool.packet(&n.to_le_bytes()).unwrap()).collect();
    pool.warm(4096);
    pool.warm(0);
    let others: Vec<Packet> = (1500..4096u32).map(|n| pool.packet(&n.to_le_bytes()).unwrap()).collect();
    for (n, packet) in (0u32..).zip(packets.iter().chain(&others)) {
        assert_eq!(packet.data(), n.to_le_bytes());
    }
    packets.into_iter().chain(others).for_each(|packet| pool.take_back(packet));
}
