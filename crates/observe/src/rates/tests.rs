//! Rates of counters made by hand: what is known, what is not, and what cannot be.

use super::*;
use engine::shm::{Entry, EntryKind};

/// A snapshot: an engine with bursts of 10, and what is added.
struct Made(Snapshot);

impl Made {
    fn new() -> Self {
        let snapshot = Snapshot {
            pid: 7,
            started_unix_ns: 1,
            start_ticks: 2,
            name: "test".to_owned(),
            records: Vec::new(),
        };
        let numbers = [("generation", 3), ("burst", 10), ("timed_every", 4)];
        Made(snapshot).record(RecordKind::Engine, "engine", 1, &numbers)
    }

    fn record(mut self, kind: RecordKind, name: &str, epoch: u64, numbers: &[(&str, u64)]) -> Self {
        let entry = |&(name, value): &(&str, u64)| {
            let (kind, name) = match name.split_once(':') {
                Some(("drop", name)) => (EntryKind::Drop, name),
                Some(("gauge", name)) => (EntryKind::Gauge, name),
                _ => (EntryKind::Counter, name),
            };
            Entry { name: name.to_owned(), kind, values: vec![value] }
        };
        let entries = numbers.iter().map(entry).collect();
        let (name, what) = (name.to_owned(), "class".to_owned());
        self.0.records.push(RecordView { kind, name, what, worker: 0, epoch, entries });
        self
    }

    fn worker(self, breaths: u64, freed: u64) -> Self {
        let numbers = [("breaths", breaths), ("freed", freed), ("pool_total", 100), ("pool_free", 90)];
        self.record(RecordKind::Worker, "worker 0", 2, &numbers)
    }

    fn app(self, name: &str, epoch: u64, timed_ns: u64, discarded: u64) -> Self {
        // Turns of a millisecond, and a little more.
        let mut turns = vec![0; Histogram::BUCKETS];
        turns[Histogram::bucket(1 << 20)] = timed_ns.div_ceil(1_000_000);
        let numbers = [("timed_ns", timed_ns), ("drop:discarded", discarded)];
        self.record(RecordKind::App, name, epoch, &numbers).histogram("turn_ns", turns)
    }

    fn link(self, name: &str, packets: u64, full: u64) -> Self {
        let numbers = [
            ("txpackets", packets),
            ("txbytes", 100 * packets),
            ("rxpackets", packets - 1),
            ("drop:link_full", full),
        ];
        self.record(RecordKind::Link, name, 9, &numbers)
    }

    fn histogram(mut self, name: &str, values: Vec<u64>) -> Self {
        let record = self.0.records.last_mut().expect("a record");
        record.entries.retain(|entry| entry.name != name);
        record.entries.push(Entry { name: name.to_owned(), kind: EntryKind::Histogram, values });
        self
    }

    fn at(self, seconds: u64) -> Sample {
        Sample { at: Duration::from_secs(seconds), cpu: None, snapshot: self.0 }
    }
}

fn two_apps(breaths: u64, packets: u64, timed_ns: u64, drops: u64) -> Made {
    Made::new().worker(breaths, packets).app("a", 4, timed_ns, 0).app("b", 5, 0, drops).link(
        "a.out -> b.in",
        packets + 1,
        drops,
    )
}

#[test]
fn growth_over_time_is_a_rate() {
    let earlier = two_apps(1000, 5000, 1_000_000, 10).at(100);
    let later = two_apps(3000, 15_000, 101_000_000, 30).at(102);
    let rates = Rates::between(Some(&earlier), &later);
    assert_eq!((rates.interval, rates.generation, rates.burst), (Duration::from_secs(2), 3, 10));
    assert_eq!((rates.packets, rates.packets_per_s), (15_000, Some(5000.0)));
    let link = &rates.links[0];
    assert_eq!((link.tx_per_s, link.rx_per_s, link.queued()), (Some(5000.0), Some(5000.0), 1));
    assert_eq!(link.bits_per_s, Some(5000.0 * 800.0));
    assert_eq!(link.wire_bits_per_s, Some(5000.0 * 992.0), "24 bytes more a packet");
    // 10,000 packets in 2,000 breaths of at most 10.
    assert_eq!(link.fill, Some(0.5));
    let [a, b] = &rates.apps[..] else { panic!("two apps") };
    assert_eq!((a.rx_per_s, a.tx_per_s, a.fill), (None, Some(5000.0), Some(0.5)));
    assert_eq!((b.rx_per_s, b.tx_per_s, b.fill), (Some(5000.0), None, Some(0.5)));
    // 0.1 s in one breath of 4, in 2 s.
    assert_eq!((a.cpu, b.cpu, rates.workers[0].cpu), (Some(0.2), Some(0.0), Some(0.2)));
    assert_eq!(rates.workers[0].breaths_per_s, Some(1000.0));
    let drop = |reason: &str, total, per_s| DropRate {
        reason: reason.to_owned(),
        total,
        per_s: Some(per_s),
        is_purpose: false,
    };
    assert_eq!(rates.drops, [drop("discarded", 30, 10.0), drop("link_full", 30, 10.0)]);
    assert_eq!((rates.drops_per_s, a.drops_per_s, b.drops_per_s), (Some(20.0), Some(0.0), Some(10.0)));
    assert!(link.touches("a") && link.touches("b") && !link.touches("c"));
}

#[test]
fn nothing_dropped_is_no_negative_number() {
    let sample = |at| Made::new().worker(1, 1).app("a", 4, 0, 0).link("a.o -> a.i", 1, 0).at(at);
    let rates = Rates::between(Some(&sample(1)), &sample(2));
    for rate in [rates.drops_per_s, rates.apps[0].drops_per_s, rates.links[0].drops_per_s] {
        assert!(rate.is_some_and(|rate| rate == 0.0 && rate.is_sign_positive()), "{rate:?}");
    }
}

#[test]
fn the_process_takes_what_its_threads_take() {
    let sample = |at, cpu| Sample { cpu, ..two_apps(1000, 5000, 1, 0).at(at) };
    let cpu = |earlier, later| Rates::between(Some(&sample(10, earlier)), &sample(12, later)).cpu;
    let seconds = |seconds| Some(Duration::from_secs(seconds));
    assert_eq!(cpu(seconds(4), seconds(7)), Some(1.5));
    assert_eq!(cpu(seconds(4), seconds(4)), Some(0.0));
    // Not seen, or another process.
    for (earlier, later) in [(None, seconds(7)), (seconds(4), None), (seconds(7), seconds(4))] {
        assert_eq!(cpu(earlier, later), None);
    }
    assert_eq!(Rates::between(None, &sample(12, seconds(7))).cpu, None);
}

#[test]
fn a_worker_without_apps_is_idle() {
    let sample = |at| Made::new().worker(at, 1).at(at);
    assert_eq!(Rates::between(Some(&sample(1)), &sample(2)).workers[0].cpu, Some(0.0));
    assert_eq!(Rates::between(None, &sample(2)).workers[0].cpu, None, "nobody knows");
    // An app that came since the earlier sample has taken nobody knows what.
    let with_app = Made::new().worker(2, 1).app("a", 4, 1, 0).at(2);
    assert_eq!(Rates::between(Some(&sample(1)), &with_app).workers[0].cpu, None);
}

#[test]
fn shares_of_a_worker_are_not_more_than_all_of_it() {
    // 1.5 s and 0.5 s in one breath of 4, in 1 s.
    let sample = |a, b, at| Made::new().worker(1, 1).app("a", 4, a, 0).app("b", 5, b, 0).at(at);
    let rates = Rates::between(Some(&sample(0, 0, 1)), &sample(375_000_000, 125_000_000, 2));
    assert_eq!((rates.apps[0].cpu, rates.apps[1].cpu), (Some(0.75), Some(0.25)));
    assert_eq!((rates.workers[0].cpu, rates.cpu_max()), (Some(1.0), Some(1.0)));
}

#[test]
fn a_turn_that_waited_for_a_core_is_one_turn() {
    // 100 turns of 20 us in one breath of 4, in 1 s, one of which took 10 ms.
    let sample = |count: u64, long: u64, at| {
        let mut turns = vec![0; Histogram::BUCKETS];
        turns[Histogram::bucket(20_000)] = count;
        turns[Histogram::bucket(10_000_000)] = long;
        Made::new().app("a", 4, 20_000 * count + 10_000_000 * long, 0).histogram("turn_ns", turns).at(at)
    };
    let cpu = |count: u64, long: u64| {
        let rates = Rates::between(Some(&sample(1000, 7, 1)), &sample(1000 + count, 7 + long, 2));
        rates.apps[0].cpu.expect("an interval")
    };
    let usual = cpu(100, 0);
    assert!((0.007..0.01).contains(&usual), "{usual}");
    assert!((cpu(99, 1) - usual).abs() < 1e-9, "{}", cpu(99, 1));
    assert!((cpu(0, 100) - 4.0 / 4.0).abs() < 0.1, "where all take long, they do");
}

#[test]
fn apps_take_no_more_than_their_thread() {
    // 1.5 s and 0.5 s in one breath of 4, in 1 s; the thread took a quarter.
    let sample = |a, b, cpu_ns, at| {
        let worker = [("breaths", at), ("cpu_ns", cpu_ns)];
        let made = Made::new().record(RecordKind::Worker, "worker 0", 2, &worker);
        made.app("a", 4, a, 0).app("b", 5, b, 0).at(at)
    };
    let rates = |cpu_ns: u64| {
        let later = sample(375_000_000, 125_000_000, 1_000_000_000 + cpu_ns, 2);
        Rates::between(Some(&sample(0, 0, 1_000_000_000, 1)), &later)
    };
    let quarter = rates(250_000_000);
    assert_eq!((quarter.apps[0].cpu, quarter.apps[1].cpu), (Some(0.1875), Some(0.0625)));
    assert_eq!((quarter.workers[0].cpu, quarter.workers[0].thread_cpu), (Some(0.25), Some(0.25)));
    assert_eq!(rates(1_000_500_000).workers[0].cpu, Some(1.0), "two clocks differ a little");
    // Less than the thread took stays what it is.
    let few = sample(0, 12_500_000, 2_000_000_000, 2);
    let few = Rates::between(Some(&sample(0, 0, 1_000_000_000, 1)), &few);
    assert_eq!((few.apps[1].cpu, few.workers[0].cpu), (Some(0.05), Some(0.05)));
}

#[test]
fn without_time_there_are_totals_only() {
    let sample = two_apps(1000, 5000, 1, 10).at(100);
    for earlier in [None, Some(&sample)] {
        let rates = Rates::between(earlier, &sample);
        assert_eq!((rates.packets, rates.packets_per_s, rates.drops_per_s), (5000, None, None));
        assert_eq!((rates.drops[0].total, rates.drops[0].per_s), (10, None));
        assert_eq!((rates.apps[0].cpu, rates.links[0].tx_per_s, rates.links[0].fill), (None, None, None));
        assert_eq!(rates.cpu_max(), None);
    }
}

#[test]
fn a_record_that_was_replaced_has_no_rate() {
    let earlier = Made::new().worker(1, 1).app("a", 4, 0, 5).app("b", 5, 0, 5).at(1);
    let later = Made::new().worker(2, 2).app("a", 6, 100, 50).app("b", 5, 100, 50).at(2);
    let rates = Rates::between(Some(&earlier), &later);
    assert_eq!(
        (rates.apps[0].cpu, rates.apps[0].drops_per_s, rates.apps[0].drops[0].per_s),
        (None, None, None)
    );
    assert_eq!(rates.apps[0].drops[0].total, 50);
    assert_eq!(rates.apps[1].drops_per_s, Some(45.0));
    assert_eq!(rates.drops[0].per_s, Some(45.0), "of those of which it is known");
}

#[test]
fn counters_that_go_backwards_have_no_rate() {
    let earlier = two_apps(1000, 5000, 500, 10).at(1);
    let later = two_apps(900, 4000, 400, 9).at(2);
    let rates = Rates::between(Some(&earlier), &later);
    assert_eq!((rates.packets_per_s, rates.links[0].tx_per_s, rates.links[0].bits_per_s), (None, None, None));
    assert_eq!((rates.apps[0].cpu, rates.apps[1].drops[0].per_s), (None, None));
    assert_eq!(rates.workers[0].breaths_per_s, None);
    let backwards = Rates::between(Some(&later), &Sample { at: Duration::ZERO, ..earlier.clone() });
    assert_eq!(backwards.packets_per_s, None, "a clock that goes backwards");
}

#[test]
fn apps_and_links_come_and_go() {
    let earlier = Made::new().worker(1, 1).app("gone", 4, 0, 5).link("gone.x -> b.y", 5, 0).at(1);
    let later = Made::new().worker(2, 2).app("new", 5, 0, 5).link("new.x -> nowhere.y", 9, 0).at(2);
    let rates = Rates::between(Some(&earlier), &later);
    assert_eq!(
        rates.apps.iter().map(|app| (app.name.as_str(), app.cpu)).collect::<Vec<_>>(),
        [("new", None)]
    );
    assert_eq!((rates.links.len(), rates.links[0].tx_per_s, rates.links[0].txpackets), (1, None, 9));
}

#[test]
fn another_process_with_the_same_file_has_no_rate() {
    let earlier = two_apps(1, 1, 1, 1).at(1);
    let mut later = two_apps(2, 2, 2, 2).at(2);
    later.snapshot.start_ticks += 1;
    assert_eq!(Rates::between(Some(&earlier), &later).packets_per_s, None);
}

#[test]
fn quantiles_are_those_of_the_interval() {
    let counts = |pairs: &[(u64, u64)]| {
        let mut counts = vec![0; Histogram::BUCKETS];
        pairs.iter().for_each(|&(ns, count)| counts[Histogram::bucket(ns)] = count);
        counts
    };
    let sample = |values, at| Made::new().app("a", 4, 0, 0).histogram("turn_ns", values).at(at);
    let turn = |before, after| Rates::between(Some(&sample(before, 1)), &sample(after, 2)).apps[0].turn;
    // A million slow turns before do not count.
    let before = counts(&[(1_000_000, 1_000_000)]);
    let after = counts(&[(1_000_000, 1_000_000), (100, 98), (5000, 2)]);
    assert_eq!(turn(before.clone(), after), Some(Quantiles { p50_ns: 112, p99_ns: 5120 }));
    assert_eq!(turn(before.clone(), before.clone()), None, "no turn");
    assert_eq!(turn(before.clone(), counts(&[])), None, "backwards");
    assert_eq!(turn(vec![0; 3], vec![1; 5]), None, "of other sizes");
    assert_eq!(turn(vec![0; 1000], vec![1; 1000]), None, "larger than any");
    assert_eq!(turn(vec![], vec![]), None);
    assert!(turn(vec![0; 160], vec![u64::MAX; 160]).is_some());
}

#[test]
fn of_what_is_gone_quantiles_are_those_of_all_time() {
    let mut counts = vec![0; Histogram::BUCKETS];
    counts[Histogram::bucket(100)] = 98;
    counts[Histogram::bucket(5000)] = 2;
    let made = |counts| two_apps(1000, 5000, 1, 10).app("c", 6, 0, 0).histogram("turn_ns", counts).at(1);
    let rates = Rates::in_all(&made(counts.clone()));
    assert_eq!(rates.apps[2].turn, Some(Quantiles { p50_ns: 112, p99_ns: 5120 }));
    assert_eq!((rates.packets, rates.packets_per_s, rates.links[0].txpackets), (5000, None, 5001));
    assert_eq!(Rates::between(None, &made(counts)).apps[2].turn, None, "the first look at one that runs");
    assert_eq!(Rates::in_all(&made(vec![0; Histogram::BUCKETS])).apps[2].turn, None, "no turn");
    assert_eq!(Rates::in_all(&made(vec![1; 1000])).apps[2].turn, None, "larger than any");
}

#[test]
fn hostile_numbers_do_no_harm() {
    let most = u64::MAX;
    let zero = Made::new().worker(0, 0).app("a", 4, 0, 0).link("a.o -> a.i", 1, 0).at(0);
    let mut later =
        Made::new().worker(most, most).worker(most, most).app("a", 4, most, most).app("a", 4, 1, most);
    later = later.record(RecordKind::Link, " -> ", 1, &[]).record(RecordKind::Link, "", 1, &[]);
    later = later.record(RecordKind::Link, "é.é -> é", 1, &[("txbytes", most), ("drop:é", most)]);
    later = later.record(RecordKind::Link, "a.o -> a.i", 9, &[("txpackets", most), ("txbytes", most)]);
    let mut later = later.at(1);
    later.snapshot.records[0].entries[1].values = vec![];
    let rates = Rates::between(Some(&zero), &later);
    assert_eq!((rates.burst, rates.packets), (0, most));
    assert!(rates.apps[0].cpu.is_some_and(|cpu| cpu <= 1.0));
    assert_eq!(rates.links.last().expect("links").fill, None, "bursts of nothing");
    assert_eq!(
        Rates::between(None, &Made(Snapshot { records: vec![], ..later.snapshot }).at(1)).apps.len(),
        0
    );
}

#[test]
fn hostile_files_do_not_take_for_ever() {
    // A third of what fits into the longest file. Where each is compared with each other, this takes many minutes.
    let mut made = Made::new();
    for index in 0..50_000_u32 {
        for kind in [RecordKind::Worker, RecordKind::App] {
            made = made.record(kind, &index.to_string(), 1, &[("timed_ns", 1)]);
            made.0.records.last_mut().expect("a record").worker = index;
        }
    }
    let reasons: Vec<String> = (0..200_000).map(|index| format!("drop:{index}")).collect();
    let reasons: Vec<(&str, u64)> = reasons.iter().map(|reason| (reason.as_str(), 1)).collect();
    let sample = made.record(RecordKind::App, "many reasons", 1, &reasons).at(1);
    let later = Sample { at: Duration::from_secs(2), ..sample.clone() };
    let rates = Rates::between(Some(&sample), &later);
    assert_eq!((rates.workers.len(), rates.apps.len(), rates.drops.len()), (50_000, 50_001, 200_000));
}

#[test]
fn apps_say_what_they_count() {
    let counted = |epoch, web, delayed| {
        let numbers = [
            ("state", 0),
            ("restarts", 0),
            ("timed_ns", 9),
            ("web_packets", web),
            ("gauge:delayed", delayed),
            ("drop:rejected", 3),
        ];
        Made::new().record(RecordKind::App, "count", epoch, &numbers)
    };
    let counters = |earlier, later| Rates::between(Some(&earlier), &later).apps[0].counters.clone();
    let of = |name: &str, total, per_s| CounterRate { name: name.to_owned(), total, per_s };
    assert_eq!(
        counters(counted(5, 100, 7).at(1), counted(5, 300, 2).at(3)),
        [of("web_packets", 300, Some(100.0)), of("delayed", 2, None)]
    );
    let replaced = counters(counted(5, 100, 7).at(1), counted(6, 300, 2).at(3));
    assert_eq!(replaced[0], of("web_packets", 300, None));
    let backwards = counters(counted(5, 100, 7).at(1), counted(5, 30, 2).at(3));
    assert_eq!(backwards[0].per_s, None);
}

#[test]
fn a_worker_is_seen_in_the_turn_of_an_app() {
    let worker = |turn_of| {
        let made = Made::new().app("a", 5, 0, 0).app("b", 6, 0, 0);
        let numbers = [("gauge:turn_of", turn_of), ("gauge:breath_unix_ns", 1_000_000_000)];
        let made = made.record(RecordKind::Worker, "worker 0", 2, &numbers);
        let sample = Sample { at: Duration::ZERO, cpu: None, snapshot: made.0 };
        Rates::between(None, &sample).workers[0].turn.clone()
    };
    assert_eq!((worker(0), worker(7)), (None, None), "between turns, or of one that is gone");
    let turn = worker(6).unwrap();
    assert_eq!(turn, Turn { app: "b".to_owned(), since_unix_ns: 1_000_000_000 });
    let lasts = [0, 1_099_999_999, 1_100_000_000].map(|now_unix_ns| turn.lasts(now_unix_ns));
    assert_eq!(lasts, [None, None, Some(Duration::from_millis(100))]);
}
