//! Large packets: that they are there when they are needed, hold what they are given, and come home.

use crate::link::{Between, link};
use crate::pool::{MAX_LARGE_PAYLOAD, MAX_PAYLOAD, Metadata, Packet, Pool, TooLong};
use crate::shm::{Counter, LinkCounters};

/// Lengths about the limits.
const LENS: [usize; 7] =
    [0, 60, MAX_PAYLOAD, MAX_PAYLOAD + 1, 60_000, MAX_LARGE_PAYLOAD - 1, MAX_LARGE_PAYLOAD];

/// So many bytes, which say how many they are.
fn bytes(len: usize) -> Vec<u8> {
    let row: Vec<u8> = len.to_be_bytes().into_iter().chain(0..250).collect();
    let mut bytes = row.repeat(len / row.len() + 1);
    bytes.truncate(len);
    bytes
}

fn pool(large: usize) -> Pool {
    Pool::new(16).and_then(|pool| pool.with_large(large)).expect("memory")
}

#[track_caller]
fn is_whole(pool: &Pool) {
    assert_eq!(pool.available(), pool.total(), "some are missing");
    assert_eq!(pool.allocated(), pool.freed());
}

#[test]
fn long_packets_take_large_chunks() {
    let mut pool = pool(4);
    assert_eq!((pool.total(), pool.usual_total(), pool.large_total(), pool.max_len()), (16, 16, 4, 65_535));
    for len in LENS {
        let packet = pool.packet(&bytes(len)).expect("a packet");
        assert_eq!(packet.max_len(), if len > MAX_PAYLOAD { 65_535 } else { MAX_PAYLOAD });
        assert_eq!(packet.data(), bytes(len));
        let copy = pool.copy(&packet).expect("a packet");
        assert!(copy.data() == packet.data() && copy.max_len() == packet.max_len());
        let total = if len > MAX_PAYLOAD { 20 } else { 16 };
        assert_eq!(pool.total(), total, "{len}");
        [packet, copy].into_iter().for_each(|packet| pool.put_back(packet));
    }
    assert!(pool.packet(&bytes(MAX_LARGE_PAYLOAD + 1)).is_none());
    assert_eq!(pool.exhausted(), 0, "that is too long for any");
    is_whole(&pool);
}

#[test]
fn large_packets_do_not_overlap() {
    let mut pool = pool(6);
    pool.stamp(7);
    let packets: Vec<Packet> = (0..6).filter_map(|byte| pool.packet(&[byte; MAX_LARGE_PAYLOAD])).collect();
    for (byte, mut packet) in (0..).zip(packets) {
        packet.metadata_mut().mark = byte.into();
        let time = packet.metadata().timestamp_ns;
        assert!(time == 7 && packet.data() == [byte; MAX_LARGE_PAYLOAD]);
        pool.put_back(packet);
    }
    is_whole(&pool);
}

#[test]
fn large_packets_that_run_out_are_counted() {
    let mut pool = pool(2);
    let taken: Vec<Packet> = std::iter::from_fn(|| pool.packet(&bytes(20_000))).collect();
    assert_eq!((taken.len(), pool.exhausted()), (2, 1));
    assert!(pool.copy(&taken[0]).is_none());
    assert_eq!((pool.exhausted(), pool.available()), (2, 16));
    let mut usual = pool.packet(&bytes(MAX_PAYLOAD)).expect("there are others");
    assert!(!pool.make_room(&mut usual, MAX_PAYLOAD + 1));
    assert_eq!((usual.data(), pool.exhausted()), (&bytes(MAX_PAYLOAD)[..], 3));
    taken.into_iter().chain([usual]).for_each(|packet| pool.put_back(packet));
    is_whole(&pool);
}

#[test]
fn a_pool_may_have_none_and_not_too_many() {
    let mut none = pool(0);
    assert_eq!((none.max_len(), none.large_total()), (MAX_PAYLOAD, 0));
    assert!(none.packet(&bytes(MAX_PAYLOAD + 1)).is_none() && none.exhausted() == 1);
    let mut packet = none.packet(&bytes(100)).expect("a packet");
    assert!(none.make_room(&mut packet, MAX_PAYLOAD) && !none.make_room(&mut packet, MAX_PAYLOAD + 1));
    none.put_back(packet);
    assert_eq!(none.total(), 16);
    let error =
        Pool::new(1).and_then(|pool| pool.with_large(Pool::MAX_LARGE_PACKETS + 1)).expect_err("too many");
    assert_eq!(error.kind(), std::io::ErrorKind::InvalidInput);
}

#[test]
fn a_packet_grows_as_far_as_its_chunk_and_then_as_far_as_any() {
    let mut pool = pool(1);
    pool.stamp(1);
    let mut packet = pool.packet(&bytes(MAX_PAYLOAD)).expect("a packet");
    packet.metadata_mut().mark = 9;
    assert_eq!(packet.append(b"x"), Err(TooLong { wanted: MAX_PAYLOAD + 1 }));
    let before = pool.allocated();
    assert!(pool.make_room(&mut packet, MAX_PAYLOAD + 4));
    assert_eq!((pool.allocated(), pool.available(), packet.metadata().mark), (before, 16, 9));
    packet.append(b"tail").expect("there is room");
    for header in [&b"even"[..], b"odd", &[5; 600]] {
        packet.prepend(header).expect("there is room");
        assert!(packet.data().starts_with(header));
    }
    let inside = &packet.data()[607..];
    assert!(inside.starts_with(&bytes(MAX_PAYLOAD)) && inside.ends_with(b"tail"));
    packet.resize(MAX_LARGE_PAYLOAD - 2).expect("there is room");
    packet.open_front(2).expect("there is room");
    for refused in
        [packet.append(b"x"), packet.prepend(b"x"), packet.open_front(1), packet.open_back(usize::MAX)]
    {
        assert!(refused.is_err());
    }
    assert_eq!((packet.len(), packet.metadata().mark), (MAX_LARGE_PAYLOAD, 9));
    packet.narrow(3..30_001);
    assert_eq!(packet.len(), 29_998);
    packet.truncate(60);
    let short = pool.copy(&packet).expect("a packet");
    assert_eq!(
        (short.max_len(), short.data()),
        (MAX_PAYLOAD, packet.data()),
        "a short one takes a usual chunk"
    );
    [packet, short].into_iter().for_each(|packet| pool.put_back(packet));
    is_whole(&pool);
}

#[test]
fn memory_stays_while_a_large_packet_is_out() {
    let mut pool = pool(2);
    let packet = pool.packet(&bytes(60_000)).expect("a packet");
    drop(pool);
    assert_eq!(packet.data(), bytes(60_000));
    std::mem::forget(packet);
}

#[test]
fn those_that_are_out_are_described() {
    let mut pool = pool(3);
    let out = pool.packet(&bytes(MAX_LARGE_PAYLOAD)).expect("a packet");
    pool.stamp(42);
    assert_eq!(*out.metadata(), Metadata { timestamp_ns: 42, linktype: 1, ..Metadata::default() });
    assert_eq!(out.data(), bytes(MAX_LARGE_PAYLOAD));
    pool.put_back(out);
    is_whole(&pool);
}

#[test]
fn those_of_another_pool_go_home_at_once() {
    let (mut here, mut there) = (pool(3), pool(3));
    let counter = Counter::hidden();
    for round in 0..3 {
        // In the second round, both have large ones.
        let own = (round > 0).then(|| here.packet(&bytes(50_000)).expect("a packet"));
        let (mut output, mut input) = link(LinkCounters::hidden(), Between::OneThread);
        for len in [60, 20_000, 40_000, 60] {
            output.put(there.packet(&bytes(len)).expect("a packet"));
        }
        own.into_iter().for_each(|own| output.put(own));
        output.end();
        input.begin();
        let mut burst = input.burst().expect("packets");
        let (mixed, alone) = (burst.split_front(2), burst.split_front(1));
        here.free_burst(alone, &counter);
        here.free_burst(mixed, &counter);
        here.free_burst(burst, &counter);
        assert_eq!(here.foreign(), 2, "the usual ones wait for others");
        here.return_foreign();
        there.fetch_all_returns();
        assert_eq!((there.available(), here.available()), (there.total(), here.total()), "round {round}");
    }
    assert_eq!(here.allocated() + there.allocated(), here.freed() + there.freed());
    let all: Vec<Packet> = std::iter::from_fn(|| there.packet(&bytes(60_000))).collect();
    assert_eq!(all.len(), 3);
    all.into_iter().for_each(|packet| here.put_back(packet));
    let again = there.packet(&bytes(60_000)).expect("fetched when asked for");
    there.put_back(again);
    is_whole_together(&[&here, &there]);
}

fn is_whole_together(pools: &[&Pool]) {
    let sum = |of: fn(&Pool) -> u64| pools.iter().map(|pool| of(pool)).sum::<u64>();
    assert_eq!(sum(Pool::allocated), sum(Pool::freed));
    assert_eq!(sum(|pool| pool.available() as u64), sum(|pool| pool.total() as u64));
}

#[test]
fn threads_return_them_at_the_same_time() {
    let rounds = if cfg!(miri) { 1 } else { 100 };
    let mut pool = pool(20);
    for _ in 0..rounds {
        let mut packets: Vec<Packet> = std::iter::from_fn(|| pool.allocate_for(20_000)).collect();
        assert_eq!(packets.len(), 20);
        let other = packets.split_off(10);
        std::thread::scope(|scope| {
            for part in [packets, other] {
                scope.spawn(move || {
                    let mut elsewhere = Pool::new(1).expect("memory");
                    part.into_iter().for_each(|packet| elsewhere.put_back(packet));
                });
            }
        });
        pool.fetch_all_returns();
        assert_eq!(pool.available(), pool.total());
    }
}

/// Sends copies of packets of such lengths; returns how many were made, and what came.
fn copies(pool: &mut Pool, lens: &[usize], between: Between) -> (usize, Vec<Vec<u8>>) {
    let originals: Vec<Packet> = lens.iter().filter_map(|&len| pool.packet(&bytes(len))).collect();
    let (mut output, mut input) = link(LinkCounters::hidden(), between);
    let made = output.send_copies_of(pool, &originals);
    output.end();
    let mut came = Vec::new();
    if input.begin() > 0 {
        let burst = input.burst().expect("packets");
        came = burst.iter().map(|packet| packet.data().to_vec()).collect();
        assert_eq!(output.bytes(), came.iter().map(|bytes| bytes.len() as u64).sum::<u64>());
        pool.free_burst(burst, &Counter::hidden());
    }
    originals.into_iter().for_each(|packet| pool.put_back(packet));
    (made, came)
}

#[test]
fn copies_are_as_long_as_their_originals() {
    let mixtures: [&[usize]; 7] = [
        &[60_000],
        &[60, 60_000, 60],
        &[MAX_PAYLOAD, MAX_PAYLOAD + 1],
        &[1500, 1500, 65_535, 65_535, 60, 1500, 10_241],
        &[10_241, 60, 10_241],
        &[10_240, 10_240],
        &[],
    ];
    for lens in mixtures {
        let mut pool = pool(8);
        let (made, came) = copies(
            &mut pool,
            lens,
            if lens.len() % 2 == 0 { Between::OneThread } else { Between::TwoThreads },
        );
        assert_eq!(made, lens.len());
        assert_eq!(came, lens.iter().map(|&len| bytes(len)).collect::<Vec<_>>());
        is_whole(&pool);
    }
}

#[test]
fn copies_stop_at_what_there_is_no_packet_for() {
    let mut pool = pool(3);
    let (made, came) = copies(&mut pool, &[60, 60_000, 60, 60_000, 60], Between::OneThread);
    assert_eq!((made, came.len(), pool.exhausted()), (3, 3, 1));
    is_whole(&pool);
    let original = pool.packet(&bytes(30_000)).expect("a packet");
    let (mut output, mut input) = link(LinkCounters::hidden(), Between::OneThread);
    assert_eq!(output.send_copies(&mut pool, &original, 5), 2);
    output.end();
    input.begin();
    let burst = input.burst().expect("packets");
    assert!(burst.iter().all(|copy| copy.data() == original.data()));
    pool.free_burst(burst, &Counter::hidden());
    pool.put_back(original);
    is_whole(&pool);
}
