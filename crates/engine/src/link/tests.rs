//! Links: in order, nothing twice, nothing lost.

use super::*;
use crate::pool::{Burst, Packet, Pool};
use crate::shm::{Counter, LinkCounters};

fn number(packet: &Packet) -> u64 {
    u64::from_be_bytes(packet.data().try_into().expect("8 bytes"))
}

#[test]
fn what_is_sent_is_seen_when_the_turn_is_over() {
    for between in [Between::OneThread, Between::TwoThreads] {
        let mut pool = Pool::new(8).expect("memory");
        let (mut output, mut input) = link(LinkCounters::hidden(), between);
        output.put(pool.packet(b"one").expect("a packet"));
        assert_eq!(input.begin(), 0);
        assert_eq!(output.end(), 1);
        assert!(input.begin() > 0);
        output.put(pool.packet(b"two").expect("a packet"));
        output.end();
        let burst = input.burst().expect("a burst");
        assert_eq!(burst.len(), 1, "the second was sent in the receiver's turn");
        burst.for_each(|packet| pool.put_back(packet));
        assert!(input.burst().is_none());
        input.end();
        assert!(input.begin() > 0);
        input.burst().into_iter().flatten().for_each(|packet| pool.put_back(packet));
        input.end();
        assert_eq!((output.sent(), input.received(), pool.available()), (2, 2, 8));
    }
}

#[test]
fn a_lack_of_packets_for_copies_is_counted_once() {
    let mut pool = Pool::new(4).expect("memory");
    let original = pool.packet(b"x").expect("a packet");
    let (mut output, mut input) = link(LinkCounters::hidden(), Between::OneThread);
    assert_eq!((output.send_copies(&mut pool, &original, 5), pool.exhausted()), (3, 2));
    assert_eq!((output.send_copies(&mut pool, &original, 5), pool.exhausted()), (0, 7));
    output.end();
    input.begin();
    input.burst().into_iter().flatten().chain([original]).for_each(|packet| pool.put_back(packet));
    input.end();
    assert_eq!(pool.available(), 4);
}

#[test]
fn a_full_link_refuses() {
    let mut pool = Pool::of_engine(CAPACITY + 10, u64::MAX).expect("memory");
    let (mut output, mut input) = link(LinkCounters::hidden(), Between::OneThread);
    assert_eq!((output.room(), output.allowance()), (CAPACITY, CAPACITY));
    for _ in 0..CAPACITY + 10 {
        output.put(pool.packet(b"x").expect("a packet"));
    }
    output.end();
    assert_eq!((output.sent(), output.dropped(), output.room()), (CAPACITY as u64, 10, 0));
    input.begin();
    assert_eq!(input.waiting(), CAPACITY);
    input.burst().into_iter().flatten().for_each(|packet| pool.put_back(packet));
    input.end();
    crate::pool::Orphans::sweep(u64::MAX, |whose, packet| {
        assert_eq!(whose, crate::pool::Whose::Counted);
        pool.put_back(packet);
    });
    assert_eq!(pool.available(), CAPACITY + 10);
}

#[test]
fn links_to_other_threads_are_pressed_when_half_full() {
    for between in [Between::OneThread, Between::TwoThreads] {
        let mut pool = Pool::new(CAPACITY).expect("memory");
        let (mut output, mut input) = link(LinkCounters::hidden(), between);
        let mut is_pressed_with = |count| {
            (0..count).for_each(|_| output.put(pool.packet(b"x").expect("a packet")));
            output.end();
            output.ring().is_pressed()
        };
        assert!(!is_pressed_with(CAPACITY / 2 - 1));
        assert_eq!(is_pressed_with(1), between == Between::TwoThreads);
        input.begin();
        input.burst().into_iter().flatten().for_each(|packet| pool.put_back(packet));
        input.end();
        assert!(!input.ring().is_pressed());
        assert!(between == Between::OneThread || input.ring().sent() == CAPACITY as u32 / 2);
    }
}

/// The ends of a link between threads over which so many packets, modulo 2^32, have gone.
fn used_link(position: u32) -> (Output, Input) {
    let (mut output, mut input) = link(LinkCounters::hidden(), Between::TwoThreads);
    output.begin_at(position);
    input.begin_at(position);
    (output, input)
}

#[test]
fn order_is_kept_across_any_bursts() {
    let one_thread = link(LinkCounters::hidden(), Between::OneThread);
    // Positions wrap around in the test, or the first slot follows upon the last position.
    let links = [one_thread, used_link(0), used_link(u32::MAX - 1500), used_link(u32::MAX)];
    for (mut output, mut input) in links {
        let mut pool = Pool::new(3000).expect("memory");
        let (mut sent, mut received) = (0u64, 0u64);
        let mut dice = 12345u32;
        let rounds = if cfg!(miri) { 6u64 } else { 5000 };
        for _ in 0..rounds {
            dice = dice.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            for _ in 0..((dice >> 8) % 700).min(output.room() as u32) {
                output.put(pool.packet(&sent.to_be_bytes()).expect("a packet"));
                sent += 1;
            }
            output.end();
            input.begin();
            let mut wanted = (dice >> 20) as usize % 700;
            while wanted > 0 {
                let Some(burst) = input.burst_of_at_most(wanted) else { break };
                wanted -= burst.len();
                for packet in burst {
                    assert_eq!(number(&packet), received);
                    received += 1;
                    pool.put_back(packet);
                }
            }
            input.end();
            assert_eq!(sent - received, input.queued() as u64);
            assert_eq!(output.room(), CAPACITY - input.queued());
        }
        assert!(received > rounds * 100);
        input.begin();
        while let Some(burst) = input.burst() {
            burst.for_each(|packet| pool.put_back(packet));
        }
        input.end();
        assert_eq!(pool.available(), 3000);
    }
}

#[test]
fn two_threads_see_the_same_order() {
    let count = if cfg!(miri) { 500u64 } else { 300_000 };
    let mut pool = Pool::new(3000).expect("memory");
    let (mut output, mut input) = used_link(u32::MAX - count as u32 / 2);
    std::thread::scope(|scope| {
        scope.spawn(move || {
            let mut home = Pool::new(1).expect("memory");
            let mut expected = 0;
            while expected < count {
                input.begin();
                while let Some(burst) = input.burst() {
                    for packet in burst {
                        assert_eq!(number(&packet), expected);
                        expected += 1;
                        home.put_back(packet);
                    }
                }
                input.end();
                home.return_foreign();
            }
        });
        let mut sent = 0;
        while sent < count {
            for _ in 0..output.room().min(64).min((count - sent) as usize) {
                let Some(packet) = pool.packet(&sent.to_be_bytes()) else { break };
                output.put(packet);
                sent += 1;
            }
            output.end();
        }
    });
    pool.fetch_returns();
    assert_eq!((pool.available(), output.dropped()), (3000, 0));
}

#[test]
fn a_port_without_a_link_drops_and_counts() {
    let mut pool = Pool::of_engine(4, u64::MAX - 1).expect("memory");
    let counter = crate::shm::Counter::hidden();
    let mut output = Output::unlinked(counter.clone());
    assert!(!output.is_linked());
    (0..3).for_each(|_| output.put(pool.packet(b"x").expect("a packet")));
    output.end();
    assert_eq!((counter.get(), output.room(), output.allowance()), (3, 0, usize::MAX));
    crate::pool::Orphans::sweep(u64::MAX - 1, |_, packet| pool.put_back(packet));
    assert_eq!(pool.available(), 4);
}

#[test]
fn ends_that_go_in_the_middle_of_a_turn_leave_one_owner_for_each_packet() {
    const ENGINE: u64 = u64::MAX - 2;
    for between in [Between::OneThread, Between::TwoThreads] {
        let mut pool = Pool::of_engine(8, ENGINE).expect("memory");
        let (mut output, mut input) = link(LinkCounters::hidden(), between);
        (0..6).for_each(|_| output.put(pool.packet(b"x").expect("a packet")));
        output.end();
        input.begin();
        // Three are taken, three stay in the link, two are sent and not yet visible.
        input.burst_of_at_most(3).expect("a burst").for_each(|packet| pool.put_back(packet));
        (0..2).for_each(|_| output.put(pool.packet(b"y").expect("a packet")));
        drop((output, input));
        let mut swept = 0;
        crate::pool::Orphans::sweep(ENGINE, |_, packet| {
            swept += 1;
            pool.put_back(packet);
        });
        assert_eq!((swept, pool.available()), (5, 8), "{between:?}");
    }
}

/// Whether a packet is kept, by its number.
type Choice = fn(u64) -> bool;

#[test]
fn a_sift_keeps_every_packet_once_and_in_order() {
    const ENGINE: u64 = u64::MAX - 3;
    let choices: [Choice; 6] = [|_| true, |_| false, |n| n > 0, |n| n < 5, |n| n % 3 == 0, |n| n != 63];
    // Packets that are there already, so that the link is full or its ring ends in the middle of what is sent.
    for (queued, between) in [
        (0, Between::OneThread),
        (CAPACITY - 60, Between::OneThread),
        (CAPACITY, Between::OneThread),
        (CAPACITY - 40, Between::TwoThreads),
    ] {
        for (choice, count) in choices.iter().flat_map(|choice| [1, 6, 64].map(|count| (choice, count))) {
            let mut pool = Pool::of_engine(CAPACITY + 64, ENGINE).expect("memory");
            let (mut from, mut input) = link(LinkCounters::hidden(), Between::OneThread);
            let (mut output, mut to) = link(LinkCounters::hidden(), between);
            let other = pool.packet(&[0; 8]).expect("a packet");
            output.send_copies(&mut pool, &other, queued);
            pool.put_back(other);
            output.end();
            if between == Between::TwoThreads {
                // What was there is gone, and the ring goes on where it was.
                to.begin();
                pool.put_back_all(to.burst().expect("a burst"));
                to.end();
            }
            (0..count).for_each(|n: u64| from.put(pool.packet(&n.to_be_bytes()).expect("a packet")));
            from.end();
            input.begin();
            let others = output.sift(input.burst().expect("a burst"), |packet| {
                let is_kept = choice(number(packet));
                packet.prepend(b"seen").expect("room");
                is_kept
            });
            let numbers = |packets: &[Packet]| -> Vec<u64> {
                let number = |packet: &Packet| packet.data().strip_prefix(b"seen").map(|n| n[7].into());
                packets.iter().map(|packet| number(packet).expect("a packet that was changed once")).collect()
            };
            assert_eq!(numbers(&others), (0..count).filter(|&n| !choice(n)).collect::<Vec<_>>());
            pool.put_back_all(others);
            output.end();
            to.begin();
            let there = if between == Between::OneThread { queued } else { 0 };
            to.burst_of_at_most(there).map(|burst| pool.put_back_all(burst));
            let mut came = Vec::new();
            while let Some(burst) = to.burst() {
                came.extend(numbers(&burst));
                pool.put_back_all(burst);
            }
            to.end();
            let kept: Vec<u64> = (0..count).filter(|&n| choice(n)).collect();
            let room = kept.len().min(CAPACITY - there);
            assert_eq!(came, kept[..room]);
            assert_eq!(output.bytes(), (8 * queued + 12 * room) as u64);
            assert_eq!(output.dropped(), (kept.len() - room) as u64);
            crate::pool::Orphans::sweep(ENGINE, |_, packet| pool.put_back(packet));
            assert_eq!(pool.available(), CAPACITY + 64);
        }
    }
}

#[test]
fn a_sift_that_panics_has_sent_what_it_had_kept() {
    const ENGINE: u64 = u64::MAX - 4;
    let mut pool = Pool::of_engine(8, ENGINE).expect("memory");
    let (mut from, mut input) = link(LinkCounters::hidden(), Between::OneThread);
    let (mut output, mut to) = link(LinkCounters::hidden(), Between::OneThread);
    (0..8_u64).for_each(|n| from.put(pool.packet(&n.to_be_bytes()).expect("a packet")));
    from.end();
    input.begin();
    let sift = || {
        let others = output.sift(input.burst().expect("a burst"), |packet| {
            assert!(number(packet) < 3, "on purpose");
            true
        });
        drop(others);
    };
    assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(sift)).is_err());
    input.end();
    output.end();
    to.begin();
    let burst = to.burst().expect("a burst");
    assert_eq!(burst.iter().map(number).collect::<Vec<_>>(), [0, 1, 2]);
    pool.put_back_all(burst);
    to.end();
    assert_eq!((output.sent(), output.bytes(), input.received()), (3, 24, 8));
    let mut swept = 0;
    crate::pool::Orphans::sweep(ENGINE, |_, packet| {
        swept += 1;
        pool.put_back(packet);
    });
    assert_eq!((swept, pool.available()), (5, 8));
}

/// Bytes are known from the sender where a burst is passed on as it came, and counted else: always as many as there are.
#[test]
fn bytes_are_those_of_the_packets() {
    let mut state = 0x5eed_u64;
    let mut random = |below: u64| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state % below
    };
    let mut pool = Pool::new(4 * CAPACITY).expect("memory");
    let (mut first, mut between) = link(LinkCounters::hidden(), Between::OneThread);
    let (mut second, mut last) = link(LinkCounters::hidden(), Between::OneThread);
    let (mut known, mut sent, mut received) = (0, 0, 0);
    let rounds = if cfg!(miri) { 30 } else { 3000 };
    for _ in 0..rounds {
        if random(50) == 0 {
            let place = [Between::OneThread, Between::TwoThreads][random(2) as usize];
            between.ring().place(place);
            first.settle();
        }
        let most = if random(9) == 0 { 600 } else { 70 };
        for _ in 0..random(most).min(first.room() as u64) {
            let packet = pool.packet(&vec![0; random(100) as usize]).expect("a packet");
            sent += packet.len() as u64;
            first.put(packet);
        }
        first.end();
        assert_eq!(first.bytes(), sent);
        between.begin();
        let turns = if random(4) == 0 { random(3) } else { 2 };
        for _ in 0..turns {
            let limit = if random(4) == 0 { random(40) as usize } else { CAPACITY };
            let Some(mut burst) = between.burst_of_at_most(limit.min(second.room())) else { break };
            match random(8) {
                0 => burst.iter_mut().for_each(|packet| packet.truncate(30)),
                1 => burst.next().into_iter().for_each(|packet| pool.put_back(packet)),
                2 => second.send(burst.split_front(5)),
                3 if burst.len() <= Burst::SIFTED => {
                    let (kept, others) = burst.partition(0x5555_5555_5555_5555);
                    pool.free_burst(others, &Counter::hidden());
                    burst = kept;
                }
                _ => {}
            }
            let bytes: u64 = burst.iter().map(|packet| packet.len() as u64).sum();
            assert_eq!(burst.bytes(), bytes);
            known += u32::from(burst.knows_its_bytes());
            second.send(burst);
        }
        between.end();
        second.end();
        last.begin();
        while let Some(burst) = last.burst() {
            received += burst.iter().map(|packet| packet.len() as u64).sum::<u64>();
            pool.free_burst(burst, &Counter::hidden());
        }
        last.end();
        assert_eq!(second.bytes(), received);
    }
    assert!(known > rounds / 6, "{known}");
}
