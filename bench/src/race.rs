//! Fair timing: engines take turns on successive chunks of the same traffic, in thread CPU time, and must agree
//! on every count, in every repetition, before a figure is reported.

/// Visits packets; gives the number that match.
type Visit<'e, T> = Box<dyn FnMut(&[T]) -> u64 + 'e>;

/// Something that visits packets and counts matches.
pub(crate) struct Engine<'e, T> {
    pub(crate) name: &'static str,
    pub(crate) run: Visit<'e, T>,
}

/// What one engine took.
#[derive(Clone, Debug)]
pub(crate) struct Lap {
    pub(crate) name: &'static str,
    /// Nanoseconds a packet: least, and in the middle.
    pub(crate) min_ns: f64,
    pub(crate) median_ns: f64,
    /// In each round.
    rounds_ns: Vec<f64>,
}

impl Lap {
    /// What an engine took in each round.
    pub(crate) fn of(name: &'static str, rounds_ns: Vec<f64>) -> Lap {
        let min_ns = rounds_ns.iter().copied().fold(f64::INFINITY, f64::min);
        Lap { name, min_ns, median_ns: median(rounds_ns.clone()), rounds_ns }
    }

    /// How many times as long as another engine it took, in the middle of all rounds of their race.
    pub(crate) fn over(&self, other: &Lap) -> f64 {
        median_ratio(&self.rounds_ns, &other.rounds_ns)
    }
}

/// The median of the ratios of what was measured in turns. From one turn to the next the machine may have become slower for both, which
/// a ratio of medians does not survive.
pub(crate) fn median_ratio(these: &[f64], those: &[f64]) -> f64 {
    median(these.iter().zip(those).map(|(this, that)| this / that).collect())
}

/// The value in the middle.
pub(crate) fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// An engine.
pub(crate) fn engine<'e, T>(name: &'static str, run: impl FnMut(&[T]) -> u64 + 'e) -> Engine<'e, T> {
    Engine { name, run: Box::new(run) }
}

/// Times each engine `rounds` times on chunks of the traffic.
///
/// # Panics
/// Where two engines count differently: then no figure means anything.
pub(crate) fn race<T>(traffic: &[T], engines: &mut [Engine<'_, T>], chunk: usize, rounds: usize) -> Vec<Lap> {
    let chunks: Vec<&[T]> = traffic.chunks_exact(chunk.min(traffic.len())).collect();
    let mut times = vec![Vec::with_capacity(rounds); engines.len()];
    for round in 0..=rounds {
        let mut counts = Vec::new();
        for (i, engine) in engines.iter_mut().enumerate() {
            // Each engine gets a chunk that no other has just pulled into the cache.
            let own = chunks[(round * if chunks.len() > 1 { 7 } else { 0 } + i) % chunks.len()];
            let start = thread_cpu_ns();
            std::hint::black_box((engine.run)(std::hint::black_box(own)));
            let took = (thread_cpu_ns() - start) as f64 / own.len() as f64;
            if round > 0 {
                times[i].push(took);
            }
            counts.push((engine.name, (engine.run)(chunks[round % chunks.len()])));
        }
        let first = counts.first().expect("there is an engine");
        for count in &counts {
            assert!(
                count.1 == first.1,
                "{} counts {} where {} counts {}",
                count.0,
                count.1,
                first.0,
                first.1
            );
        }
    }
    engines.iter().zip(times).map(|(engine, rounds_ns)| Lap::of(engine.name, rounds_ns)).collect()
}

/// CPU time of this thread.
pub(crate) fn thread_cpu_ns() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a valid timespec to write to.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

#[cfg(test)]
mod tests {
    use super::median_ratio;

    #[test]
    fn what_slows_both_down_does_not_count() {
        let (these, those) = ([2.0, 2.0, 4.0, 4.0, 2.0], [1.0, 1.0, 2.0, 2.0, 9.0]);
        assert_eq!(median_ratio(&these, &those), 2.0);
        assert_eq!(median_ratio(&those, &these), 0.5);
    }
}
