//! Models of what two threads share, in every order that loom can think of:
//! `RUSTFLAGS="--cfg loom" cargo test -p sluss-engine --release models`.

use crate::link::{Between, Input, Output, link};
use crate::pool::{Foreign, Packet, Pool};
use crate::shm::LinkCounters;

/// Packets that cross in a model; a ring has four slots there, so they go around.
const PACKETS: u8 = 6;

fn take(input: &mut Input, expected: &mut u8, mut then: impl FnMut(Packet)) {
    input.begin();
    while let Some(burst) = input.burst() {
        for packet in burst {
            assert_eq!(packet.data(), [*expected]);
            *expected += 1;
            then(packet);
        }
    }
    input.end();
}

fn send(output: &mut Output, pool: &mut Pool, next: &mut u8, count: u8) {
    for _ in 0..count.min(PACKETS - *next).min(output.room() as u8) {
        let Some(packet) = pool.packet(&[*next]) else { break };
        output.put(packet);
        *next += 1;
    }
    output.end();
}

#[test]
fn a_link_between_threads() {
    loom::model(|| {
        let mut pool = Pool::new(usize::from(PACKETS)).expect("memory");
        let (mut output, mut input) = link(LinkCounters::hidden(), Between::TwoThreads);
        let receiver = loom::thread::spawn(move || {
            let (mut expected, mut taken) = (0, Vec::new());
            while expected < PACKETS {
                take(&mut input, &mut expected, |packet| taken.push(packet));
                loom::thread::yield_now();
            }
            taken
        });
        let mut next = 0;
        while next < PACKETS {
            send(&mut output, &mut pool, &mut next, 3);
            loom::thread::yield_now();
        }
        let taken = receiver.join().expect("no panic");
        taken.into_iter().for_each(|packet| pool.put_back(packet));
        assert_eq!(pool.available(), usize::from(PACKETS));
    });
}

#[test]
fn two_threads_return_packets_while_the_owner_takes() {
    loom::model(|| {
        let mut pool = Pool::new(4).expect("memory");
        let mut packets: Vec<Packet> = std::iter::from_fn(|| pool.allocate()).collect();
        let other = packets.split_off(2);
        let threads = [packets, other].map(|mut part| {
            loom::thread::spawn(move || {
                // One by one: every push meets the others.
                while let Some(packet) = part.pop() {
                    let mut foreign = Foreign::default();
                    foreign.add(packet);
                    foreign.send();
                }
            })
        });
        pool.fetch_returns();
        for thread in threads {
            thread.join().expect("no panic");
        }
        pool.fetch_returns();
        assert_eq!(pool.available(), 4);
    });
}
