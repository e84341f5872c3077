//! What `sluss run` says of devices.

mod common;

use common::{arg, code, run, say, scratch, stderr, stdout};
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
    assert!(mode.starts_with("DPDK net_null, packets are copied, "), "{report}");
    assert_eq!(report["apps"]["in"]["device"]["zero_copy"], false, "{report}");
    let copies = |app: &str| report["apps"][app]["counters"]["copies"].as_u64().unwrap();
    assert!(copies("in") > 0 && report["copies"] == copies("in") + copies("out"), "{report}");
    assert_eq!(report["balanced"], true, "{report}");
    assert!(stdout(&run(&words)).contains(&format!("in: {mode}\n")));
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
