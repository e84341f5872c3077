//! `--merge time` against mergecap, `--dedup` against editcap, and both against their rules.

use crate::common::{
    self, arg, code, packets, root, run, run_with_input, say, scratch, sluss, stderr, stdout,
};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Runs a program of Wireshark's; false, and said, where it is not installed.
fn wireshark(test: &str, words: &[&str]) -> bool {
    let Ok(output) = Command::new(words[0]).args(&words[1..]).current_dir(root()).output() else {
        say(&format!("skipped in part: {test} needs `{}`: install wireshark-common (Debian)", words[0]));
        return false;
    };
    assert!(output.status.success(), "{words:?}: {}", stderr(&output));
    true
}

struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }
}

/// A packet of a file: when, in microseconds, and what.
type Timed = (u64, Vec<u8>);

/// Files whose packets come at times that mostly rise, some at the same time as those of others.
fn files(random: &mut Random, count: usize, packets: usize) -> Vec<Vec<Timed>> {
    (0..count)
        .map(|file| {
            let mut time = 1_000_000_000_000_000 + random.below(50);
            (0..packets)
                .map(|i| {
                    time =
                        (time + random.below(40)).saturating_sub(if random.below(9) == 0 { 90 } else { 0 });
                    let mut data = vec![0; 60 + random.below(40) as usize];
                    data[12] = 8;
                    (data[20], data[21]) = (file as u8, i as u8);
                    (time, data)
                })
                .collect()
        })
        .collect()
}

fn pcap(packets: &[Timed]) -> Vec<u8> {
    let mut file = common::pcap(1, 0);
    for (time, data) in packets {
        let len = data.len() as u32;
        let fields = [(time / 1_000_000) as u32, (time % 1_000_000) as u32, len, len];
        file.extend(fields.iter().flat_map(|field| field.to_le_bytes()));
        file.extend(data);
    }
    file
}

/// As it is told: the earliest of the packets that come next; of several that of the first file.
fn merged(files: &[Vec<Timed>]) -> Vec<Timed> {
    let mut at = vec![0; files.len()];
    let mut out = Vec::new();
    while let Some(first) =
        (0..files.len()).filter(|&i| at[i] < files[i].len()).min_by_key(|&i| (files[i][at[i]].0, i))
    {
        out.push(files[first][at[first]].clone());
        at[first] += 1;
    }
    out
}

#[test]
fn captures_are_merged_as_mergecap_merges_them() {
    let folder = scratch("merge");
    let mut random = Random(5);
    for (round, (count, length)) in [(2, 700), (3, 300), (7, 80), (1, 50), (12, 30)].into_iter().enumerate() {
        let captures = files(&mut random, count, length);
        let names: Vec<PathBuf> = (0..count).map(|i| folder.join(format!("{round}-{i}.pcap"))).collect();
        let names: Vec<&str> = names.iter().map(|name| arg(name)).collect();
        captures.iter().zip(&names).for_each(|(capture, name)| std::fs::write(name, pcap(capture)).unwrap());
        let expected = folder.join("expected.pcap");
        std::fs::write(&expected, pcap(&merged(&captures))).unwrap();
        for (name, flags) in [("ours.pcap", &[][..]), ("ours.pcapng", &[]), ("ours.pcap.gz", &["-s", "70"])] {
            let ours = folder.join(name);
            let output =
                run(&[&["filter", "--merge", "time", ""], flags, &names, &["-o", arg(&ours)]].concat());
            assert_eq!((code(&output), stderr(&output)), (0, String::new()));
            if flags.is_empty() {
                assert!(packets(&ours) == packets(&expected), "{round} {name}");
            }
            let theirs = folder.join("theirs");
            // Of several packets at one time it takes that of the last file.
            let reversed: Vec<&str> = names.iter().rev().copied().collect();
            let words = [&["mergecap"], flags, &["-w", arg(&theirs)], &reversed];
            if wireshark("captures_are_merged_as_mergecap_merges_them", &words.concat()) {
                assert!(packets(&ours) == packets(&theirs), "{round} {name}");
            }
        }
        // What the filter chooses of it is the same as behind mergecap; `-c` counts in that order.
        let filter = "ether[21] & 3 == 1";
        let (ours, theirs) = (folder.join("some.pcap"), folder.join("some-expected.pcap"));
        for limit in ["1000000", "9"] {
            let limit = ["-c", limit];
            run(&[&["filter", filter, "--merge", "time", "-o", arg(&ours)], &limit[..], &names].concat());
            run(&[&["filter", filter, arg(&expected), "-o", arg(&theirs)], &limit[..]].concat());
            assert!(packets(&ours) == packets(&theirs), "{round} {limit:?}");
        }
    }
}

/// Formats, byte orders, interfaces and compression of all kinds, with a pipe and standard input among them.
#[test]
fn captures_of_all_formats_are_merged() {
    const TEST: &str = "captures_of_all_formats_are_merged";
    let folder = scratch("merge-formats");
    let inputs = [
        "captures/router.pcapng",
        "captures/ntp-nano.pcap",
        "captures/smtp.pcap.gz",
        "captures/tunnel.pcapng",
    ];
    for first in 0..inputs.len() {
        let mut inputs = inputs;
        inputs.rotate_left(first);
        let (ours, theirs) = (folder.join("ours.pcapng"), folder.join("theirs.pcapng"));
        let output = run(&[&["filter", "--merge=time", "", "-o", arg(&ours)], &inputs[..]].concat());
        assert_eq!((code(&output), stderr(&output)), (0, String::new()));
        let reversed: Vec<&str> = inputs.iter().rev().copied().collect();
        if wireshark(TEST, &[&["mergecap", "-w", arg(&theirs)], &reversed[..]].concat()) {
            assert!(packets(&ours) == packets(&theirs), "{inputs:?}");
            for words in [&["capinfos", "-M"][..], &["tshark", "-n", "-r"]] {
                wireshark(TEST, &[words, &[arg(&ours)]].concat());
            }
        }
        // Split, each file has the interfaces of its packets.
        let part = folder.join("part.pcapng");
        let split = ["--split-packets", "100", "-o", arg(&part)];
        run(&[&["filter", "--merge=time", ""], &split[..], &inputs].concat());
        let parts = stdout(&run(&["filter", "--count", "", arg(&folder.join("part-*.pcapng"))]));
        assert_eq!(parts, stdout(&run(&["filter", "--count", "", arg(&ours)])));
    }
    // Standard input and a file.
    let bytes = std::fs::read(root().join("captures/ntp-nano.pcap")).unwrap();
    let output =
        run_with_input(&["filter", "--merge", "time", "udp", "-", "captures/web.pcap", "-o", "-"], &bytes);
    let output = run_with_input(&["filter", "--count", "", "-"], &output.stdout);
    let sum: u32 = ["captures/ntp-nano.pcap", "captures/web.pcap"]
        .iter()
        .map(|file| stdout(&run(&["filter", "--count", "udp", file])).trim().parse::<u32>().unwrap())
        .sum();
    assert_eq!(stdout(&output).trim(), sum.to_string());
    // Two pipes, each opened in its turn.
    let fifos = [folder.join("a.fifo"), folder.join("b.fifo")];
    for fifo in &fifos {
        assert!(Command::new("mkfifo").arg(fifo).status().unwrap().success());
    }
    let writers: Vec<_> = fifos
        .iter()
        .map(|fifo| {
            let (fifo, bytes) = (fifo.clone(), bytes.clone());
            std::thread::spawn(move || std::fs::write(fifo, bytes).unwrap())
        })
        .collect();
    let output = run(&["filter", "--count", "--merge", "time", "", arg(&fifos[0]), arg(&fifos[1])]);
    writers.into_iter().for_each(|writer| writer.join().unwrap());
    let once: u32 =
        stdout(&run(&["filter", "--count", "", "captures/ntp-nano.pcap"])).trim().parse().unwrap();
    assert_eq!(stdout(&output).trim(), (2 * once).to_string());
}

#[test]
fn lines_have_the_numbers_of_their_captures() {
    let folder = scratch("merge-numbers");
    let [a, b] = ["a.pcap", "b.pcap"].map(|name| folder.join(name));
    let packet = |time: u64| (time, vec![0; 60]);
    std::fs::write(&a, pcap(&[packet(10), packet(30), packet(20)])).unwrap();
    std::fs::write(&b, pcap(&[packet(10), packet(15), packet(40)])).unwrap();
    let numbers = |flags: &[&str]| {
        let output = run(&[&["filter", "-#", "--merge", "time", "", arg(&a), arg(&b)], flags].concat());
        let name = |line: &str| line.split(' ').next().unwrap().rsplit('/').next().unwrap().to_owned();
        stdout(&output).lines().map(name).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(numbers(&[]), "a.pcap:1 b.pcap:1 b.pcap:2 a.pcap:2 a.pcap:3 b.pcap:3");
    assert_eq!(numbers(&["--range", "2-2"]), "b.pcap:2 a.pcap:2");
    assert_eq!(numbers(&["--since", "+10us"]), "a.pcap:2 a.pcap:3 b.pcap:3");
    assert_eq!(numbers(&["-c", "2"]), "a.pcap:1 b.pcap:1");
}

#[test]
fn what_does_not_go_with_merging_is_told() {
    let told = |args: &[&str], expected: i32| {
        let output = run(&[&["filter", "ip", "captures/web.pcap", "captures/raw.pcap"], args].concat());
        assert_eq!(code(&output), expected, "{args:?}: {}", stderr(&output));
        stderr(&output)
    };
    for flag in ["--per-file", "--files-with-matches", "-j2"] {
        assert!(told(&["--merge", "time", flag], 2).contains("--merge"), "{flag}");
    }
    assert!(told(&["--merge", "size"], 2).contains("time"));
    // As without: link types do not mix in pcap, and one that is missing or damaged costs itself.
    let out = scratch("merge-errors").join("out.pcap");
    assert!(told(&["--merge", "time", "-o", arg(&out)], 2).contains("filter them apart"));
    assert!(told(&["--merge", "time", "--count", "none.pcap"], 5).contains("none.pcap"));
    let cut = out.with_file_name("cut.pcap");
    std::fs::write(&cut, &std::fs::read(root().join("captures/web.pcap")).unwrap()[..9_000]).unwrap();
    let output = run(&["filter", "--count", "--merge", "time", "", arg(&cut), "captures/lan.pcap"]);
    assert!(stderr(&output).contains("the file ends inside a packet record"), "{}", stderr(&output));
    let alone = |file: &str| stdout(&run(&["filter", "--count", "", file])).trim().parse::<u32>().unwrap();
    let sum = alone(arg(&cut)) + alone("captures/lan.pcap");
    assert_eq!((code(&output), stdout(&output).trim()), (5, &sum.to_string()[..]));
}

#[test]
fn more_captures_are_merged_than_a_process_may_open_at_first() {
    let folder = scratch("merge-many");
    for i in 0..300 {
        std::fs::write(folder.join(format!("{i}.pcap")), pcap(&[(1000 - i, vec![0; 60])])).unwrap();
    }
    let script = |limit: &str| {
        let script = format!("ulimit {limit}; exec \"$0\" filter --merge time --count '' {}", arg(&folder));
        Command::new("sh").args(["-c", &script, env!("CARGO_BIN_EXE_sluss")]).output().unwrap()
    };
    let output = script("-Sn 100");
    assert_eq!((code(&output), stdout(&output).trim()), (0, "300"), "{}", stderr(&output));
    let output = script("-n 100");
    assert_eq!(code(&output), 3);
    assert!(stderr(&output).contains("`--merge` opens 300 captures at once"), "{}", stderr(&output));
}

/// Captures in which some packets come again, near or far.
fn repeated(random: &mut Random, path: &Path) {
    let mut packets: Vec<Timed> = Vec::new();
    for i in 0..2_000_u64 {
        let again =
            (random.below(3) == 0 && i > 0).then(|| packets.len() - 1 - random.below(i.min(12)) as usize);
        let data = match again {
            Some(again) => packets[again].1.clone(),
            None => (0..60 + random.below(9))
                .map(|byte| if byte < 20 { 8 } else { random.below(250) as u8 })
                .collect(),
        };
        packets.push((1_000_000 + i, data));
    }
    std::fs::write(path, pcap(&packets)).unwrap();
}

#[test]
fn duplicates_are_left_out_as_editcap_leaves_them_out() {
    let folder = scratch("dedup");
    let input = folder.join("in.pcap");
    repeated(&mut Random(3), &input);
    let all = packets(&input);
    let bytes: Vec<&str> = all.iter().map(|packet| packet.split_once(' ').unwrap().1).collect();
    for window in [0, 1, 2, 3, 5, 8, 100, 1_000_000] {
        let (ours, theirs) = (folder.join("ours.pcap"), folder.join("theirs.pcap"));
        let flag = format!("--dedup={window}");
        let output = run(&["filter", &flag, "--json", "", arg(&input), "-o", arg(&ours)]);
        assert_eq!(code(&output), 0, "{}", stderr(&output));
        let kept: Vec<&String> = (0..all.len())
            .filter(|&i| {
                let before = &bytes[(i + 1).saturating_sub(window.max(1))..i];
                window < 2 || !before.contains(&bytes[i])
            })
            .map(|i| &all[i])
            .collect();
        assert!(packets(&ours).iter().eq(kept.iter().copied()), "{window}");
        let summary: serde_json::Value = serde_json::from_str(&stdout(&output)).unwrap();
        let filter = &summary["filters"][0];
        assert_eq!(filter["matched"], kept.len(), "{summary}");
        assert_eq!(filter["duplicates"], all.len() - kept.len(), "{summary}");
        let word = window.to_string();
        let words = ["editcap", "-D", &word, arg(&input), arg(&theirs)];
        if wireshark("duplicates_are_left_out_as_editcap_leaves_them_out", &words) {
            assert!(packets(&ours) == packets(&theirs), "{window}");
        }
    }
    // Five without a number; behind the filter, for each; over all captures, in the order of --merge.
    let count = |args: &[&str]| stdout(&run(&[&["filter", "--count"], args].concat())).trim().to_owned();
    let input = arg(&input);
    assert_eq!(count(&["--dedup", "", input]), count(&["--dedup=5", "", input]));
    let out = folder.join("some.pcap");
    let filter = "ether[25] < 100";
    run(&["filter", filter, input, "-o", arg(&out)]);
    assert_eq!(count(&["--dedup=3", filter, input]), count(&["--dedup=3", "", arg(&out)]));
    assert_eq!(
        count(&["--dedup=2", "--merge", "time", "", arg(&out), arg(&out)]),
        count(&["--dedup=2", "", arg(&out)])
    );
    assert_eq!(count(&["--dedup", "-c", "7", "", input]), "7");
    assert!(!stdout(&run(&["filter", "--json", "--count", "", input])).contains("duplicates"));
    for (flag, words) in
        [("--dedup=1000001", "from 0 to 1000000"), ("--dedup=-1", "negative"), ("--dedup=x", "whole number")]
    {
        let output = run(&["filter", flag, "", input]);
        assert!(code(&output) == 2 && stderr(&output).contains(words), "{}", stderr(&output));
    }
    // On a terminal the summary says it.
    let terminal = common::Terminal::new();
    let output = sluss(&["filter", "--dedup", "", input, "-o", arg(&out)]).stderr(terminal.theirs()).output();
    assert_eq!(code(&output.unwrap()), 0);
    use std::io::Read;
    let mut told = [0; 4096];
    let got = (&terminal.ours).read(&mut told).unwrap();
    let told = String::from_utf8_lossy(&told[..got]).into_owned();
    assert!(told.contains("duplicates left out"), "{told}");
}
