//! Parts of captures by time and number, shorter packets, outputs of several files: against editcap and tcpdump.

use crate::common::{arg, code, packets, root, run, say, scratch, stderr, stdout};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Whether Wireshark's tools are there; said aloud where not.
fn has_editcap(test: &str) -> bool {
    let is_there = Command::new("editcap").arg("--version").output().is_ok();
    if !is_there {
        say(&format!("SKIPPED: {test} needs `editcap`: install wireshark-common (Debian)"));
    }
    is_there
}

fn editcap(args: &[&str]) {
    let output = Command::new("editcap").args(args).current_dir(root()).output().unwrap();
    assert!(output.status.success(), "{args:?}: {}", stderr(&output));
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
}

#[test]
fn packets_are_cut_as_editcap_cuts_them() {
    if !has_editcap("packets_are_cut_as_editcap_cuts_them") {
        return;
    }
    let folder = scratch("cut");
    for capture in ["web.pcap", "ntp-nano.pcap", "tunnel.pcapng", "router.pcapng"] {
        let path = format!("captures/{capture}");
        for (snaplen, end) in [(60, "pcap"), (33, "pcapng"), (1, "pcapng")] {
            let [ours, theirs] =
                ["ours", "theirs"].map(|name| folder.join(format!("{name}-{capture}-{snaplen}.{end}")));
            let cut = snaplen.to_string();
            let output = run(&["filter", "-q", "-s", &cut, "", &path, "-o", arg(&ours)]);
            assert_eq!(code(&output), 0, "{}", stderr(&output));
            editcap(&["-F", "pcapng", "-s", &cut, &path, arg(&theirs)]);
            assert_eq!(packets(&ours), packets(&theirs), "{capture} {snaplen}");
        }
    }
    // The header says so, and 0 is all.
    let out = folder.join("short.pcap");
    run(&["filter", "-s", "60", "", "captures/web.pcap", "-o", arg(&out)]);
    assert_eq!(std::fs::read(&out).unwrap()[16..20], 60_u32.to_le_bytes());
    run(&["filter", "-s", "0", "", "captures/web.pcap", "-o", arg(&out)]);
    assert_eq!(std::fs::read(&out).unwrap(), std::fs::read(root().join("captures/web.pcap")).unwrap());
}

#[test]
fn stretches_of_time_and_numbers_are_those_of_editcap() {
    if !has_editcap("stretches_of_time_and_numbers_are_those_of_editcap") {
        return;
    }
    let folder = scratch("stretches");
    let [ours, theirs] = ["ours.pcap", "theirs.pcap"].map(|name| folder.join(name));
    // Editcap takes local time.
    for (flags, theirs_flags) in [
        (&["--since", "2026-11-21T23:17:47"][..], &["-A", "2026-11-21 23:17:47"][..]),
        (&["--until", "2026-11-21 23:17:47Z"], &["-B", "2026-11-21 23:17:47"]),
        (
            &["--since", "23:17:47", "--until", "23:17:48"],
            &["-A", "2026-11-21 23:17:47", "-B", "2026-11-21 23:17:48"],
        ),
    ] {
        run(&[&["filter", "", "captures/mixed.pcap", "-o", arg(&ours)], flags].concat());
        let output = Command::new("editcap")
            .env("TZ", "UTC")
            .args([&["-F", "pcap"], theirs_flags, &["captures/mixed.pcap", arg(&theirs)]].concat())
            .current_dir(root())
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", stderr(&output));
        let packets = [&ours, &theirs].map(|path| packets(path));
        assert!(
            packets[0] == packets[1] && !packets[0].is_empty(),
            "{flags:?}: {} {}",
            packets[0].len(),
            packets[1].len()
        );
    }
    run(&["filter", "--range", "100-200", "", "captures/mixed.pcap", "-o", arg(&ours)]);
    editcap(&["-F", "pcap", "-r", "captures/mixed.pcap", arg(&theirs), "100-200"]);
    assert_eq!(packets(&ours), packets(&theirs));
    // With numbers that lines have, and in each capture.
    let count = |args: &[&str]| stdout(&run(&[&["filter", "--count"], args].concat())).trim().to_owned();
    let lines = stdout(&run(&["filter", "-#", "tcp", "captures/web.pcap"]));
    let numbers =
        |line: &&str| (20..=40).contains(&line.split_whitespace().next().unwrap().parse::<u64>().unwrap());
    let expected = lines.lines().filter(numbers).count().to_string();
    assert_eq!(count(&["--range", "20-40", "tcp", "captures/web.pcap"]), expected);
    for jobs in ["-j1", "-j2"] {
        assert_eq!(count(&[jobs, "--range", "1-3", "", "captures/web.pcap", "captures/tls.pcap"]), "6");
        // Behind the first packet of the first capture, whatever the number of threads.
        let both = count(&[jobs, "--until", "+0.5s", "", "captures/web.pcap", "captures/tls.pcap"]);
        assert_eq!(both, count(&["-j1", "--until", "+0.5s", "", "captures/web.pcap", "captures/tls.pcap"]));
    }
    let half = |flag: &str| count(&[flag, "+0.1s", "", "captures/web.pcap"]).parse::<u64>().unwrap();
    assert_eq!(half("--since") + half("--until"), 121);
}

#[test]
fn parts_are_all_of_it() {
    let folder = scratch("parts");
    for (capture, end) in [
        ("captures/mixed.pcap", "pcap"),
        ("captures/router.pcapng", "pcapng"),
        ("captures/web.pcap", "pcapng"),
    ] {
        let whole = packets(&root().join(capture));
        let mut sizes = Vec::new();
        for (flag, value) in
            [("--split-packets", "50"), ("--split-bytes", "20000"), ("--split-seconds", "1s")]
        {
            drop(std::fs::remove_dir_all(&folder));
            std::fs::create_dir(&folder).unwrap();
            let output =
                run(&["filter", "-q", "", capture, flag, value, "-o", arg(&folder.join(format!("p.{end}")))]);
            assert_eq!(code(&output), 0, "{}", stderr(&output));
            let files = files(&folder);
            assert_eq!(files[0], folder.join(format!("p-00001.{end}")));
            let parts: Vec<Vec<String>> = files.iter().map(|file| packets(file)).collect();
            assert_eq!(parts.concat(), whole, "{capture} {flag}");
            for (file, part) in files.iter().zip(&parts) {
                match flag {
                    "--split-packets" => assert!(part.len() <= 50),
                    "--split-bytes" => assert!(part.len() == 1 || file.metadata().unwrap().len() <= 20_000),
                    _ => {}
                }
            }
            sizes.push(parts.iter().map(Vec::len).collect::<Vec<_>>());
        }
        if has_editcap("parts_are_all_of_it") {
            for (flag, size) in [("-c", &sizes[0]), ("-i", &sizes[2])] {
                let theirs = scratch("parts-theirs");
                let value = if flag == "-c" { "50" } else { "1" };
                editcap(&[flag, value, capture, arg(&theirs.join("p.pcapng"))]);
                let counts: Vec<usize> =
                    self::files(&theirs).iter().map(|file| packets(file).len()).collect();
                // Editcap makes files for times without packets, too.
                let counts: Vec<usize> = counts.into_iter().filter(|count| *count > 0).collect();
                assert_eq!(&counts, size, "{capture} {flag}");
            }
        }
    }
    // By tcpdump's flags, and what does not go together.
    let out = folder.join("c.pcap");
    run(&["filter", "-q", "", "captures/mixed.pcap", "-C", "100k", "-w", arg(&out)]);
    assert!(folder.join("c.pcap").exists() && folder.join("c.pcap1").exists());
    for args in [
        &["--split-packets", "5", "-o", "-"][..],
        &["--split-packets", "5"],
        &["--split-packets", "0", "-o", "x"],
        &["--split-packets", "5", "--split-bytes", "5", "-o", "x"],
        &["--split-seconds", "0", "-o", "x"],
        &["--since", "soon"],
        &["--range", "9-3"],
    ] {
        assert_eq!(code(&run(&[&["filter", "", "captures/web.pcap"], args].concat())), 2, "{args:?}");
    }
}

/// Each part could take the place of an input.
#[test]
fn a_part_that_is_an_input_is_not_written_over() {
    let folder = scratch("parts-of-input");
    let input = folder.join("w-00002.pcap");
    std::fs::copy(root().join("captures/web.pcap"), &input).unwrap();
    let output = run(&["filter", "", arg(&input), "--split-packets", "5", "-o", arg(&folder.join("w.pcap"))]);
    assert_eq!(code(&output), 2, "{}", stderr(&output));
    assert_eq!(std::fs::read(&input).unwrap(), std::fs::read(root().join("captures/web.pcap")).unwrap());
}
