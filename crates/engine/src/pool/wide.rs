//! Loops over the packets of a burst, compiled for each set of vector registers: the widest that the processor has is
//! chosen once a burst.
//!
//! PERF: copying the line of a small packet is one store of 64 bytes with AVX-512, two with AVX2, four without. Where the
//! core is shared with a neighbour, what counts is how many instructions a packet takes.

use super::Burst;
use super::packet::{self, Packet};
use super::region::{self, Start};
use std::mem::MaybeUninit;
#[cfg(all(target_arch = "x86_64", not(miri)))]
use std::sync::atomic::{AtomicU8, Ordering};

/// Vector registers to compile for.
#[cfg(all(target_arch = "x86_64", not(miri)))]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Vectors {
    Baseline = 1,
    Avx2,
    Avx512,
}

/// The widest vectors of this processor; 0 if nobody has looked yet.
#[cfg(all(target_arch = "x86_64", not(miri)))]
static WIDEST: AtomicU8 = AtomicU8::new(0);

#[cfg(all(target_arch = "x86_64", not(miri)))]
impl Vectors {
    /// The widest that this processor has.
    #[inline]
    fn widest() -> Self {
        const AVX512: u8 = Vectors::Avx512 as u8;
        const AVX2: u8 = Vectors::Avx2 as u8;
        match WIDEST.load(Ordering::Relaxed) {
            0 => Self::detect(),
            AVX512 => Vectors::Avx512,
            AVX2 => Vectors::Avx2,
            _ => Vectors::Baseline,
        }
    }

    #[cold]
    fn detect() -> Self {
        let has_avx512 = is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512bw")
            && is_x86_feature_detected!("avx512vl");
        let widest = match (is_x86_feature_detected!("avx2"), has_avx512) {
            (true, true) => Vectors::Avx512,
            (true, false) => Vectors::Avx2,
            _ => Vectors::Baseline,
        };
        WIDEST.store(widest as u8, Ordering::Relaxed);
        widest
    }
}

/// A function whose body is compiled for each set of vector registers.
macro_rules! for_all_vectors {
    (
        $(#[$about:meta])*
        fn $name:ident $(<$lifetime:lifetime, $closure:ident: FnMut($seen:ty) -> $answer:ty>)? ($($argument:ident: $type:ty),*)
        $(-> $result:ty)? $body:block
    ) => {
        $(#[$about])*
        #[inline]
        pub(crate) fn $name $(<$lifetime, $closure: FnMut($seen) -> $answer>)? ($($argument: $type),*) $(-> $result)? {
            #[inline(always)]
            fn baseline $(<$lifetime, $closure: FnMut($seen) -> $answer>)? ($($argument: $type),*) $(-> $result)? $body

            #[cfg(all(target_arch = "x86_64", not(miri)))]
            {
                #[target_feature(enable = "avx2")]
                fn avx2 $(<$lifetime, $closure: FnMut($seen) -> $answer>)? ($($argument: $type),*) $(-> $result)? {
                    baseline($($argument),*)
                }

                #[target_feature(enable = "avx2,avx512f,avx512bw,avx512vl")]
                fn avx512 $(<$lifetime, $closure: FnMut($seen) -> $answer>)? ($($argument: $type),*) $(-> $result)? {
                    baseline($($argument),*)
                }

                match Vectors::widest() {
                    // SAFETY: the processor has them.
                    Vectors::Avx512 => return unsafe { avx512($($argument),*) },
                    // SAFETY: as above.
                    Vectors::Avx2 => return unsafe { avx2($($argument),*) },
                    _ => {}
                }
            }
            baseline($($argument),*)
        }
    };
}

for_all_vectors! {
    /// Makes each of `copies`, which are at their first positions, a copy of a packet of one line. `is_far`: another core may
    /// have read them last.
    fn copy_line_to_all(original: &Packet, copies: &mut [Packet], is_far: bool) {
        let line = original.first_line();
        if is_far {
            (0..copies.len()).for_each(|index| {
                copies.get(index + packet::PREFETCHED).map(packet::prefetch);
                copies[index].set_first_line(line);
            });
        } else {
            copies.iter_mut().for_each(|copy| copy.set_first_line(line));
        }
    }
}

for_all_vectors! {
    /// Makes each of `copies`, which are at their first positions, a copy of the packet at its place in `originals`, up to one that
    /// takes a large chunk. Returns how many are copies now, and how many bytes they have.
    fn copy_each(originals: &[Packet], copies: &mut [Packet]) -> (usize, u64) {
        let mut bytes = 0;
        for (index, (copy, original)) in copies.iter_mut().zip(originals).enumerate() {
            if !copy.copy_lines_from(original) {
                return (index, bytes);
            }
            bytes += original.len() as u64;
        }
        (copies.len().min(originals.len()), bytes)
    }
}

for_all_vectors! {
    /// Writes each of `packets`, at its chunk's first position, to its place in `homes`. Returns whether the memory of all
    /// belongs to the region. Then the caller goes on with either the ones or the others.
    fn find_homes(region: Start, packets: &[Packet], homes: &mut [MaybeUninit<Packet>]) -> bool {
        let mut differences = 0;
        for (home, packet) in homes.iter_mut().zip(packets) {
            differences |= region.difference(packet);
            // SAFETY: the packet is at an even position of a chunk. Of its two owners, one is not used: by the caller's choice.
            home.write(unsafe { Packet::from_raw(region::home(region::chunk_of(packet.as_ptr()))) });
        }
        Start::is_within(differences)
    }
}

for_all_vectors! {
    /// Moves packets from the front of a burst to `slots`, one after another, as long as both last and `keep` wants to keep them; what
    /// it has refused is then the first that is left. Adds to `count` and `bytes` what was moved, also when it panics.
    fn move_kept<'a, F: FnMut(&mut Packet) -> bool>(
        burst: &mut Burst<'a>,
        slots: &mut [MaybeUninit<Packet>],
        count: &mut u32,
        bytes: &mut u64,
        keep: &mut F
    ) {
        let mut moved = Moved { count: 0, bytes: 0, all_count: count, all_bytes: bytes };
        burst.take_while(slots.len(), #[inline(always)] |index, mut packet| {
            if !keep(&mut packet) {
                return Some(packet);
            }
            moved.bytes += packet.len() as u64;
            moved.count += 1;
            slots[index].write(packet);
            None
        });
    }
}

/// The bytes that have been moved so far. PERF: it is in registers until the loop ends, in whatever way.
struct Moved<'a> {
    count: u32,
    bytes: u64,
    all_count: &'a mut u32,
    all_bytes: &'a mut u64,
}

impl Drop for Moved<'_> {
    #[inline]
    fn drop(&mut self) {
        *self.all_count = self.all_count.wrapping_add(self.count);
        *self.all_bytes += self.bytes;
    }
}

#[cfg(all(test, not(loom), target_arch = "x86_64", not(miri)))]
mod tests {
    use super::{Vectors, WIDEST};
    use crate::link::{Between, link};
    use crate::pool::{Burst, Pool};
    use crate::shm::{Counter, LinkCounters};
    use std::sync::atomic::Ordering;

    /// Sends copies through a link and frees them; returns what came.
    fn copies(count: usize, size: usize) -> Vec<Vec<u8>> {
        let mut pool = Pool::new(300).unwrap();
        let bytes: Vec<u8> = (0..size).map(|at| (at * 7 + size) as u8).collect();
        let original = pool.packet(&bytes).unwrap();
        let (mut output, mut input) = link(LinkCounters::hidden(), Between::OneThread);
        assert_eq!(output.send_copies(&mut pool, &original, count), count);
        assert_eq!(output.send_copies_of(&mut pool, std::slice::from_ref(&original)), 1);
        pool.free(original, &Counter::hidden());
        output.end();
        assert!(input.begin() > 0);
        let (mut output, mut sifted) = link(LinkCounters::hidden(), Between::OneThread);
        while let Some(burst) = input.burst_of_at_most(Burst::SIFTED) {
            let others = output.sift(
                burst,
                #[inline(always)]
                |packet| packet.prepend(&[1; 66]).is_ok(),
            );
            assert!(others.is_empty());
        }
        output.end();
        assert_eq!(output.bytes(), ((count + 1) * (size + 66)) as u64);
        assert!(sifted.begin() > 0);
        let mut burst = sifted.burst().unwrap();
        burst.iter_mut().step_by(3).for_each(|packet| packet.trim_front(2));
        let came = burst.iter().map(|packet| packet.data().to_vec()).collect();
        pool.free_burst(burst, &Counter::hidden());
        assert_eq!(pool.available(), 300, "all are at home");
        let again = pool.packet(b"again").unwrap();
        assert!((128..512).contains(&again.headroom()) && again.headroom().is_multiple_of(64));
        pool.free(again, &Counter::hidden());
        came
    }

    #[test]
    fn all_vectors_do_the_same() {
        let widest = Vectors::detect();
        for count in [1, 2, 7, 8, 31, 32, 33, 64, 255] {
            for size in [2, 60, 62, 63, 64, 126, 127, 1500] {
                let run = |vectors: Vectors| {
                    WIDEST.store(vectors as u8, Ordering::Relaxed);
                    copies(count, size)
                };
                let expected = run(Vectors::Baseline);
                assert_eq!(expected.len(), count + 1);
                for vectors in [Vectors::Avx2, Vectors::Avx512] {
                    if vectors as u8 <= widest as u8 {
                        assert_eq!(run(vectors), expected, "{vectors:?} {count} {size}");
                    }
                }
            }
        }
        WIDEST.store(widest as u8, Ordering::Relaxed);
    }
}
