//! `sluss info`: against capinfos.

use crate::common::{arg, code, root, run, say, scratch, stderr, stdout};
use std::process::Command;

fn object(file: &str) -> serde_json::Value {
    serde_json::from_str(stdout(&run(&["info", "--json", file])).trim()).unwrap()
}

#[test]
fn numbers_are_those_of_capinfos() {
    if Command::new("capinfos").arg("--version").output().is_err() {
        return say("SKIPPED: numbers of capinfos: install wireshark-common (Debian)");
    }
    let mut compared = 0;
    for entry in std::fs::read_dir(root().join("captures")).unwrap().flatten() {
        let path = entry.path();
        let mut capinfos = Command::new("capinfos");
        // A table, with numbers as they are: file, packets, bytes, duration, earliest and latest time.
        capinfos.args(["-TmrQS", "-c", "-d", "-u", "-a", "-e"]).arg(&path);
        let output = capinfos.output().unwrap();
        let text = stdout(&output);
        let Some(row) = text.lines().next().filter(|_| output.status.success()) else { continue };
        let columns: Vec<&str> = row.split("\",\"").map(|column| column.trim_matches('"')).collect();
        let info = object(arg(&path));
        assert_eq!(info["packets"].to_string(), columns[1], "{row}");
        assert_eq!(info["bytes"].to_string(), columns[2], "{row}");
        let duration: f64 = columns[3].parse().unwrap();
        assert!((info["duration_s"].as_f64().unwrap() - duration).abs() < 1e-6, "{row}: {info}");
        let time: f64 = columns[4].parse().unwrap();
        let seconds = stdout(&run(&["filter", "--fields", "frame.time_epoch", "", arg(&path)]));
        let earliest = seconds.lines().map(|line| line.parse::<f64>().unwrap()).fold(f64::MAX, f64::min);
        assert!((earliest - time).abs() < 1e-5, "{row}: {earliest}");
        compared += 1;
    }
    assert!(compared > 15, "{compared}");
}

#[test]
fn damage_and_comments_are_told() {
    let folder = scratch("info");
    let cut = folder.join("cut.pcap");
    std::fs::write(&cut, &std::fs::read(root().join("captures/web.pcap")).unwrap()[..20_000]).unwrap();
    let output = run(&["info", arg(&cut), "captures/web.pcap"]);
    assert_eq!(code(&output), 5);
    assert!(stdout(&output).contains("damage       yes") && stdout(&output).contains("damage       none"));
    assert!(stderr(&output).contains("byte 19936: the file ends inside"), "{}", stderr(&output));
    let info = object(arg(&cut));
    assert_eq!((&info["complete"], info["error"].is_string()), (&false.into(), true), "{info}");
    assert_eq!(code(&run(&["info", "captures/absent.pcap"])), 3);
    let output = run(&["info", "--json", "captures/absent.pcap", "captures/web.pcap"]);
    assert_eq!((code(&output), stdout(&output).lines().count()), (5, 2));
    assert_eq!(code(&run(&["info", "README.md"])), 5);
    let info = object("captures/router.pcapng");
    assert_eq!((&info["format"], &info["type"]), (&"pcapng".into(), &"info".into()));
    assert!(
        info["interfaces"].as_array().is_some_and(|interfaces| interfaces[0]["linktype"].is_string()),
        "{info}"
    );
    // A section with a comment, and no packet.
    let mut file = vec![0x0a, 0x0d, 0x0d, 0x0a, 44, 0, 0, 0, 0x4d, 0x3c, 0x2b, 0x1a, 1, 0, 0, 0];
    file.extend([0xff; 8]);
    file.extend([1, 0, 5, 0]);
    file.extend(b"hello\0\0\0");
    file.extend([0, 0, 0, 0, 44, 0, 0, 0]);
    let commented = folder.join("commented.pcapng");
    std::fs::write(&commented, file).unwrap();
    let info = object(arg(&commented));
    assert_eq!((&info["comments"][0], &info["first"]), (&"hello".into(), &serde_json::Value::Null), "{info}");
}
