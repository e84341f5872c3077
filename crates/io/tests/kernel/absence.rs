//! Devices that are removed while they are used, and made again.

use crate::{cable, device};
use engine::{Class, NoticeLevel};
use io::{AfPacket, Tap};
use std::time::Instant;
use testkit::netns::{Namespace, PATIENCE};
use testkit::rig::{APP, Rig};

/// Lets time pass until the report says that the device is gone, or nothing at all.
#[track_caller]
fn wait_until_gone(rig: &mut Rig, is_gone: bool) {
    let begin = Instant::now();
    loop {
        rig.advance(150_000_000);
        let text = rig.report().apps[APP].text.clone();
        if text.is_some() == is_gone {
            assert!(text.is_none_or(|text| text.contains(" is gone; sluss waits")));
            return;
        }
        assert!(begin.elapsed() < PATIENCE, "{text:?}");
    }
}

/// What the app has told since this was asked before.
fn told(rig: &Rig) -> Vec<(NoticeLevel, String)> {
    rig.notices().into_iter().map(|notice| (notice.level, notice.text)).collect()
}

/// A device that is removed, and made again, twice.
fn comes_back(here: &Namespace, class: impl Class, remove: &str, make: impl Fn()) {
    let mut rig = Rig::new(class, &["input"], &["output"]);
    let send = |rig: &mut Rig, count: u64| {
        (0..count).for_each(|_| rig.send("input", [2; 60]));
        rig.breathe();
        ["delivered", "down"].map(|name| rig.counter(name))
    };
    assert_eq!(send(&mut rig, 3), [3, 0]);
    for round in 1..=2 {
        here.run(remove);
        // As soon as it is gone, and when that is known.
        assert_eq!(send(&mut rig, 5), [3 * round, 12 * (round - 1) + 5]);
        wait_until_gone(&mut rig, true);
        assert_eq!(send(&mut rig, 7), [3 * round, 12 * round]);
        assert!(
            matches!(told(&rig)[..], [(NoticeLevel::Warning, ref text)] if text.contains(" is gone; sluss waits"))
        );
        make();
        wait_until_gone(&mut rig, false);
        assert!(matches!(told(&rig)[..], [(NoticeLevel::Note, ref text)] if text.ends_with(" is back")));
        assert_eq!(send(&mut rig, 3), [3 * round + 3, 12 * round]);
        assert_eq!(rig.counter("absences"), round);
    }
}

#[test]
fn a_device_comes_back() {
    let Some((_turn, [here])) = Namespace::some("a device that comes back") else { return };
    let make = || cable((&here, "a"), (&here, "b"), 1500);
    make();
    here.enter(|| comes_back(&here, device("a"), "ip link delete dev a", make));
}

#[test]
fn a_tap_device_comes_back() {
    let Some((_turn, [here])) = Namespace::some("a TAP device that comes back") else { return };
    let tap = Tap { name: "t0".to_owned(), mtu: Some(1400) };
    here.enter(|| {
        comes_back(&here, tap, "ip link delete dev t0", || here.run("ip tuntap add dev t0 mode tap"));
        let output = here.command("ip -o link show dev t0").output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(text.contains("mtu 1400"), "{text}");
    });
}

#[test]
fn a_device_comes_back_with_its_frames_and_options() {
    let Some((_turn, [here])) = Namespace::some("options of a device that comes back") else { return };
    let make = || cable((&here, "a"), (&here, "b"), 1500);
    make();
    here.enter(|| {
        let mut rig = Rig::new(AfPacket { promiscuous: true, ..device("b") }, &[], &["output"]);
        rig.breathe();
        here.run("ip link delete dev b");
        wait_until_gone(&mut rig, true);
        // They are for when it is back, also those that its socket could not be given.
        rig.reconfigure(AfPacket { promiscuous: true, fanout: Some(5), ..device("b") });
        make();
        wait_until_gone(&mut rig, false);
        let output = here.command("ip -d link show dev b").output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(text.contains("promiscuity 1 "), "{text}");
        let mut from = Rig::new(device("a"), &["input"], &[]);
        from.send("input", [0xff; 60]);
        from.breathe();
        let begin = Instant::now();
        let mut frames = Vec::new();
        while frames.is_empty() && begin.elapsed() < PATIENCE {
            rig.breathe();
            frames.extend(rig.take("output"));
        }
        assert_eq!(frames, [vec![0xff; 60]]);
    });
}

/// As long as one of them has its old socket open, the kernel lets nobody into the group with the new device.
#[test]
fn a_device_comes_back_to_all_that_share_its_frames() {
    let Some((_turn, [here])) = Namespace::some("a shared device that comes back") else { return };
    let make = || cable((&here, "a"), (&here, "b"), 1500);
    make();
    here.enter(|| {
        let mut rigs =
            [1, 2].map(|_| Rig::new(AfPacket { fanout: Some(7), ..device("b") }, &[], &["output"]));
        for round in 1..=2 {
            here.run("ip link delete dev b");
            let [first, second] = &mut rigs;
            wait_until_gone(first, true);
            make();
            // The second does not know yet.
            first.advance(150_000_000);
            wait_until_gone(second, false);
            wait_until_gone(first, false);
            let mut from = Rig::new(device("a"), &["input"], &[]);
            (0..100_u8)
                .for_each(|number| from.send("input", [&[0xff; 12][..], &[8, 0], &[number; 46]].concat()));
            from.breathe();
            let mut came = 0;
            let begin = Instant::now();
            while came < 100 && begin.elapsed() < PATIENCE {
                for rig in &mut rigs {
                    rig.breathe();
                    came += rig.take("output").len();
                }
            }
            assert_eq!((came, rigs.each_mut().map(|rig| rig.counter("absences"))), (100, [round; 2]));
        }
    });
}

#[test]
fn a_device_of_another_kind_is_not_taken_for_one_that_is_gone() {
    let Some((_turn, [here])) = Namespace::some("a device of another kind") else { return };
    here.enter(|| {
        let mut rig = Rig::new(Tap { name: "t0".to_owned(), mtu: None }, &["input"], &["output"]);
        here.run("ip link delete dev t0");
        cable((&here, "t0"), (&here, "t1"), 1500);
        let begin = Instant::now();
        let text = loop {
            rig.advance(150_000_000);
            match rig.report().apps[APP].text.clone() {
                Some(text) => break text,
                None => assert!(begin.elapsed() < PATIENCE),
            }
        };
        assert!(text.contains("t0") && text.contains("is no TAP device: choose another name"), "{text}");
        // It is tried again, and told once.
        (0..10).for_each(|_| rig.advance(1_500_000_000));
        assert!(told(&rig).iter().filter(|(_, told)| *told == text).count() == 1);
        rig.send("input", [2; 60]);
        rig.breathe();
        assert_eq!(rig.counter("down"), 1);
    });
}
