//! What `sluss run` says of devices.

use crate::common::{arg, code, run, say, scratch, stderr, stdout};
use serde_json::Value;
use std::fs;
use std::process::Command;

/// A null device of DPDK whose packets go to another.
fn graph(name: &str) -> std::path::PathBuf {
    let path = scratch(name).join("null.toml");
    let text = "links = ['in.output -> out.input']\n\
        [app.in]\ntype = 'dpdk'\ndevice = 'net_null0,size=64'\n\
        [app.out]\ntype = 'dpdk'\ndevice = 'net_null1,size=64'\n";
    fs::write(&path, text).unwrap();
    path
}

#[test]
fn a_report_says_how_devices_work() {
    let graph = graph("devices-report");
    let words = ["run", arg(&graph), "--duration", "200ms"];
    let output = run(&[&words[..], &["--json"]].concat());
    if code(&output) == 3 {
        return say(&format!("SKIPPED: a_report_says_how_devices_work: {}", stderr(&output)));
    }
    let text = stdout(&output);
    let report: Value = serde_json::from_str(text.lines().last().unwrap()).unwrap();
    let mode = report["apps"]["in"]["mode"].as_str().unwrap();
    assert!(mode.starts_with("DPDK net_null, zero copy, "), "{report}");
    assert_eq!(report["apps"]["in"]["device"]["zero_copy"], true, "{report}");
    assert_eq!((&report["copies"], &report["pool"]["lent"]), (&0.into(), &0.into()), "{report}");
    assert_eq!(report["balanced"], true, "{report}");
    assert!(stdout(&run(&words)).contains(&format!("in: {mode}\n")));
}

#[test]
fn arguments_of_eal_are_checked_at_their_places() {
    let path = scratch("devices-eal").join("graph.toml");
    let told = |eal: &str, option: &str| {
        let text = format!(
            "links = ['in.output -> out.input']\n[dpdk]\n{eal}\n\
             [app.in]\ntype = 'dpdk'\ndevice = 'net_null0'\n{option}\n[app.out]\ntype = 'dpdk'\ndevice = 'net_null1'\n"
        );
        fs::write(&path, text).unwrap();
        let output = run(&["run", arg(&path), "--duration", "50ms"]);
        (code(&output), stderr(&output))
    };
    for (eal, option, place, what) in [
        (
            "eal = ['--in-memory']",
            "",
            "3 | eal = ['--in-memory']\n  |        ^^^",
            "`--in-memory` is set by sluss itself",
        ),
        (
            "eal = ['--no-hpet',\n  '--nonsense=1']",
            "",
            "4 |   '--nonsense=1']\n  |   ^^^",
            "`--nonsense` is no argument of EAL",
        ),
        ("eal = 'x'", "", "3 | eal = 'x'\n", "eal"),
        (
            "queues = 2",
            "",
            "3 | queues = 2\n  | ^^^",
            "no option that all apps of type `dpdk` have in common",
        ),
        ("", "eal = []", "7 | eal = []\n  | ^^^", "write it below a line [dpdk]"),
    ] {
        let (code, told) = told(eal, option);
        assert_eq!(code, 2, "{told}");
        assert!(told.contains(place) && told.contains(what), "{eal} {option}: {told}");
        assert_eq!(told.matches("error[").count(), 1, "once for all apps: {told}");
    }
    match told("eal = ['--no-huge', '--iova-mode=va']", "") {
        (3, told) if !io::dpdk::is_built_in() || io::dpdk::version().is_err() => {
            say(&format!("SKIPPED: arguments_of_eal_are_checked_at_their_places: {told}"));
        }
        (code, told) => {
            assert!(code == 0 && told.is_empty(), "{code} {told}");
            let (code, told) = refused(&path);
            assert_eq!(code, 3, "{told}");
            assert!(told.contains("3 | eal = [") && told.contains("--iova-mode=nonsense"), "{told}");
        }
    }
}

/// What is said of arguments that EAL refuses.
fn refused(path: &std::path::Path) -> (i32, String) {
    let text = fs::read_to_string(path).unwrap().replace("mode=va", "mode=nonsense");
    fs::write(path, text).unwrap();
    let output = run(&["run", arg(path), "--duration", "50ms"]);
    (code(&output), stderr(&output))
}

/// The library is there, and is hidden in a mount namespace.
#[test]
fn without_the_library_it_is_said_how_to_have_it() {
    let test = "without_the_library_it_is_said_how_to_have_it";
    let graph = graph("devices-absent");
    let script = "for file in $(ldconfig -p | sed -n 's/.*=> \\(.*librte_eal\\.so.*\\)/\\1/p'); do
            mount --bind /dev/null \"$(realpath \"$file\")\"
        done
        exec \"$SLUSS\" \"$@\"";
    let absent = |words: &[&str]| {
        let mut command = Command::new("unshare");
        command.args(["--mount", "sh", "-ec", script, "sh"]).args(words);
        command.env("SLUSS", env!("CARGO_BIN_EXE_sluss")).output().ok()
    };
    let can = Command::new("unshare").args(["--mount", "true"]).status().is_ok_and(|status| status.success());
    let Some(output) = absent(&["run", arg(&graph), "--duration", "100ms"]).filter(|_| can) else {
        return say(&format!("SKIPPED: {test} needs root, to make a mount namespace (CAP_SYS_ADMIN)"));
    };
    let told = stderr(&output);
    assert_eq!(code(&output), 3, "{told}");
    assert!(told.contains("apt-get install libdpdk-dev") && told.contains("sluss doctor dpdk"), "{told}");
    let doctor = stdout(&absent(&["doctor", "dpdk", "--json"]).unwrap());
    let library = doctor.lines().find(|line| line.contains("\"libdpdk\"")).unwrap();
    assert!(library.contains("\"state\":\"fail\""), "{library}");
}
