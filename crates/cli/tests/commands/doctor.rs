//! `sluss doctor`: things broken one at a time, each mended by the command that it names.

use crate::common::{arg, code, run, say, scratch, stderr, stdout};
use serde_json::Value;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output};
use testkit::netns::Namespace;

const SLUSS: &str = env!("CARGO_BIN_EXE_sluss");

/// What is said of one check; all lines have all keys.
fn check(output: &Output, name: &str) -> Value {
    let text = stdout(output);
    let lines: Vec<Value> = text
        .lines()
        .map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {text}")))
        .collect();
    for line in &lines {
        assert_eq!((&line["v"], &line["type"]), (&1.into(), &"doctor".into()), "{line}");
        for key in ["subject", "check", "found", "wanted", "needed_for"] {
            assert!(line[key].as_str().is_some_and(|text| !text.is_empty()), "{key}: {line}");
        }
        let is_known = ["ok", "warn", "fail", "unknown"].contains(&line["state"].as_str().unwrap());
        assert!(is_known && (line["fix"].is_string() || line["fix"].is_null()), "{line}");
        assert!(line["state"] != "ok" || line["fix"].is_null(), "{line}");
    }
    let is_broken = lines.iter().any(|line| line["state"] == "warn" || line["state"] == "fail");
    assert_eq!(code(output), i32::from(is_broken), "{text}{}", stderr(output));
    let of_name = lines.iter().find(|line| line["check"] == name);
    of_name.unwrap_or_else(|| panic!("{name}: {text}{}", stderr(output))).clone()
}

fn has(test: &str, tools: &[(&str, &str)]) -> bool {
    tools.iter().all(|(tool, package)| {
        let is_there = Command::new(tool).arg("--version").output().is_ok();
        if !is_there {
            say(&format!("SKIPPED: {test} needs `{tool}`: install {package} (Debian)"));
        }
        is_there
    })
}

#[test]
fn a_device_is_mended_one_thing_at_a_time() {
    let test = "a_device_is_mended_one_thing_at_a_time";
    if !has(test, &[("ethtool", "ethtool")]) {
        return;
    }
    let Some((_turn, [namespace])) = Namespace::some(test) else { return };
    namespace.run("ip link add va type veth peer name vb");
    for device in ["va", "vb"] {
        namespace.run(&format!("ip link set dev {device} up"));
        namespace.run(&format!("ethtool -K {device} tx off gro off"));
    }
    let doctor = |name: &str| {
        let output = namespace.command(&format!("{SLUSS} doctor va --json")).output().unwrap();
        (check(&output, name), code(&output))
    };
    assert_eq!(doctor("driver").0["found"], "veth");
    assert_eq!(doctor("gro").1, 0, "nothing is broken yet");
    for (breaks, name) in [
        ("ethtool -K va gro on", "gro"),
        ("ethtool -K va tx on tso off", "tx"),
        ("ethtool -K va tx on tso on", "tso"),
        ("ip link set dev va mtu 9000", "mtu"),
        ("ip link set dev va down", "link"),
    ] {
        namespace.run(breaks);
        let (broken, ended) = doctor(name);
        assert!(ended == 1 && broken["state"] != "ok", "{breaks}: {broken}");
        let fix = broken["fix"].as_str().unwrap_or_else(|| panic!("{breaks}: {broken}"));
        let fixed = namespace.command("sh -c").arg(fix).output().unwrap();
        assert!(fixed.status.success(), "{fix}: {}", stderr(&fixed));
        assert_eq!(doctor(name).0["state"], "ok", "{breaks}, then {fix}");
    }
    // What was switched on to break `tso`.
    namespace.run("ethtool -K va tx off");
    assert_eq!(doctor("tx").1, 0);
    namespace.run("ip link set dev vb down");
    let (link, _) = doctor("link");
    assert_eq!((&link["state"], &link["fix"]), (&"fail".into(), &Value::Null), "{link}");
}

#[test]
fn a_device_that_is_not_there_is_no_finding() {
    let output = run(&["doctor", "no-such-device"]);
    assert_eq!((code(&output), stdout(&output).as_str()), (3, ""), "{}", stderr(&output));
    assert!(stderr(&output).contains("there is no device no-such-device"), "{}", stderr(&output));
}

#[test]
fn subjects_that_need_nothing_to_be_asked() {
    for (words, subject, name) in [
        (&["doctor", "--json"][..], "host", "cap_net_raw"),
        (&["doctor", "dpdk", "--json"], "dpdk", "hugepages"),
        (&["doctor", "nfqueue", "--json"], "nfqueue", "iptables"),
        (&["doctor", "wall", "--json"], "wall", "landlock"),
    ] {
        assert_eq!(check(&run(words), name)["subject"], subject, "{words:?}");
    }
    let text = stdout(&run(&["doctor", "wall"]));
    assert!(text.lines().any(|line| line.contains("seccomp")), "{text}");
}

/// Runs a script as root in a mount namespace, where what it changes is seen by nobody else, `without` a capability; `None`, said aloud, where that
/// is not possible.
fn apart(test: &str, without: &str, script: &str, variables: &[(&str, &str)]) -> Option<Output> {
    let mut command = Command::new("unshare");
    command.args(["--mount", "setpriv", &format!("--bounding-set={without}")]);
    command.args(["sh", "-ec", script]).envs(variables.iter().copied());
    let output = command.env("SLUSS", SLUSS).output().ok();
    let can = Command::new("unshare").args(["--mount", "true"]).status().is_ok_and(|status| status.success());
    if !can {
        say(&format!("SKIPPED: {test} needs root, to make a mount namespace (CAP_SYS_ADMIN)"));
    }
    output.filter(|_| can)
}

/// Without one that nothing here needs.
const ALL_RIGHTS: &str = "-wake_alarm";

/// Breaks something by a script, asks, runs the fix by `sh -c`, asks again. Programs of `fakes` stand before the machine's own.
fn mends(test: &str, (subject, name): (&str, &str), without: &str, breaks: &str, fakes: &[(&str, &str)]) {
    let folder = scratch(&format!("doctor-{name}"));
    for (program, script) in fakes {
        let path = folder.join(program);
        fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }
    let path = format!("{}:{}", arg(&folder), std::env::var("PATH").unwrap_or_default());
    let ask = |script: &str, fix: &str| {
        let variables = [("PATH", &path[..]), ("FIX", fix), ("SUBJECT", subject)];
        apart(
            test,
            without,
            &format!("{breaks}\n{script}\n\"$SLUSS\" doctor \"$SUBJECT\" --json"),
            &variables,
        )
    };
    let Some(output) = ask(":", "") else { return };
    let broken = check(&output, name);
    assert_ne!(broken["state"], "ok", "{broken}");
    let fix = broken["fix"].as_str().unwrap_or_else(|| panic!("{broken}"));
    let mended = check(&ask("sh -c \"$FIX\" >/dev/null", fix).unwrap(), name);
    assert_eq!(mended["state"], "ok", "{broken}, then {mended}");
}

#[test]
fn memory_that_may_be_locked() {
    let test = "memory_that_may_be_locked";
    if !has(test, &[("setpriv", "util-linux"), ("prlimit", "util-linux")]) {
        return;
    }
    // The capability would make the limit meaningless.
    mends(test, ("dpdk", "memlock"), "-ipc_lock", "prlimit --memlock=65536: --pid $$", &[]);
}

#[test]
fn huge_pages() {
    // Those of the machine are left alone: files that look the same stand before them.
    const FOLDER: &str = "/sys/kernel/mm/hugepages/hugepages-2048kB";
    if !Path::new(FOLDER).exists() {
        return say("SKIPPED: huge_pages: the kernel has no huge pages");
    }
    let breaks = format!(
        "mount -t tmpfs none {FOLDER}; for f in nr free; do echo 0 > {FOLDER}/${{f}}_hugepages; done"
    );
    let sysctl =
        format!("for f in nr free; do echo ${{2#vm.nr_hugepages=}} > {FOLDER}/${{f}}_hugepages; done");
    mends("huge_pages", ("dpdk", "hugepages"), ALL_RIGHTS, &breaks, &[("sysctl", &sysctl)]);
}

#[test]
fn no_iptables() {
    if !Path::new("/usr/sbin/iptables").exists() {
        return say("SKIPPED: no_iptables needs `iptables`: install iptables (Debian)");
    }
    // A device is no program; a package that was installed takes its place.
    let breaks = "mount --bind /dev/null \"$(realpath /usr/sbin/iptables)\"";
    let apt = "[ \"$*\" = 'install -y iptables' ] && umount \"$(realpath /usr/sbin/iptables)\"";
    mends("no_iptables", ("nfqueue", "iptables"), ALL_RIGHTS, breaks, &[("apt-get", apt)]);
}
