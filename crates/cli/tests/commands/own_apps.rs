//! The command with an app of its own: the examples `own_apps` and `redirect`.

use crate::common::{self, code, root, say, stderr, stdout};
use std::path::Path;
use std::process::{Command, Output};

fn own(args: &[&str]) -> Option<Output> {
    example("own_apps", args)
}

/// What an example does with these arguments; none where it was not built, which is said aloud.
fn example(name: &str, args: &[&str]) -> Option<Output> {
    let example = Path::new(env!("CARGO_BIN_EXE_sluss")).with_file_name("examples").join(name);
    if !example.exists() {
        say(&format!(
            "SKIPPED: a program with apps of its own: `cargo build -p sluss --example {name}` builds it"
        ));
        return None;
    }
    Some(Command::new(example).args(args).current_dir(root()).output().unwrap())
}

#[test]
fn a_program_with_apps_of_its_own_is_the_command() {
    let Some(output) = own(&["run", "crates/cli/examples/own_apps.toml"]) else { return };
    assert_eq!(
        (code(&output), stdout(&output).lines().filter(|line| line.starts_with("2026-")).count()),
        (0, 3),
        "{}",
        stderr(&output)
    );
    let check = own(&["run", "--check", "crates/cli/examples/own_apps.toml"]).unwrap();
    assert!(code(&check) == 0 && stdout(&check).contains("3 apps, 2 links"), "{}", stdout(&check));
    // The standard apps are there, and errors have the line.
    assert!(stdout(&own(&["apps"]).unwrap()).contains("pcap_writer"));
    let graph = std::fs::read_to_string(root().join("crates/cli/examples/own_apps.toml")).unwrap();
    let wrong = common::scratch("own-apps").join("wrong.toml");
    std::fs::write(&wrong, graph.replace("every = 50", "every = 0")).unwrap();
    let wrong = own(&["run", common::arg(&wrong)]).unwrap();
    assert!(code(&wrong) == 2 && stderr(&wrong).contains("`every` of app `some`"), "{}", stderr(&wrong));
    let svg = own(&["run", "--svg", "crates/cli/examples/own_apps.toml"]).unwrap();
    assert!(stdout(&svg).contains("<svg"), "{}", stderr(&svg));
    // The command itself does not know it.
    let standard = common::run(&["run", "--check", "crates/cli/examples/own_apps.toml"]);
    assert!(code(&standard) == 2 && stderr(&standard).contains("sample"), "{}", stderr(&standard));
}

/// Ports change with their checksums: what was right stays right.
#[test]
fn an_app_changes_packets() {
    let folder = common::scratch("redirect");
    let out = folder.join("redirected.pcap");
    let graph = std::fs::read_to_string(root().join("crates/cli/examples/redirect.toml")).unwrap();
    let graph = graph.replace("redirected.pcap", common::arg(&out));
    let file = folder.join("graph.toml");
    std::fs::write(&file, graph.replace("captures/", &format!("{}/captures/", root().display()))).unwrap();
    let Some(output) = example("redirect", &["run", common::arg(&file)]) else { return };
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    let packets = |path: &Path| {
        let mut reader = capture::Reader::open(path).unwrap();
        let mut packets = Vec::new();
        while let Some(packet) = reader.next_packet().unwrap() {
            packets.push(packet.data.to_vec());
        }
        packets
    };
    let is_right = |frame: &[u8]| {
        let ether = wire::ether::Ethernet::new(frame)?;
        let (addresses, segment) = match wire::ip::Ipv4::new(ether.payload()) {
            Some(ip) => (ip.addresses(), ip.payload()),
            None => {
                let ip = wire::ip::Ipv6::new(ether.payload())?;
                (ip.addresses(), ip.payload())
            }
        };
        wire::transport::Tcp::new(segment).map(|tcp| tcp.is_checksum_right(addresses))
    };
    let (before, after) = (packets(&root().join("captures/web.pcap")), packets(&out));
    assert_eq!(before.len(), after.len());
    let (mut changed, mut right) = (0, 0);
    for (before, after) in before.iter().zip(&after) {
        changed += usize::from(before != after);
        right += usize::from(before != after && is_right(after) == Some(true));
        assert_eq!(is_right(before), is_right(after));
    }
    let count = |filter: &str, path: &str| stdout(&common::run(&["filter", "--count", filter, path]));
    assert_eq!(count("dst port 8080", common::arg(&out)), count("dst port 80", "captures/web.pcap"));
    assert_eq!(count("dst port 80", common::arg(&out)).trim(), "0");
    assert!(changed > 20 && right > 0, "{changed} changed, {right} of them right");
}

#[test]
fn the_page_quotes_the_examples() {
    let page = std::fs::read_to_string(root().join("docs/book/src/how-to/write-an-app.md")).unwrap();
    let example = std::fs::read_to_string(root().join("crates/cli/examples/own_apps.rs")).unwrap();
    let quoted = page.split("```rust,no_run\n").nth(1).and_then(|rest| rest.split("```").next()).unwrap();
    let program = quoted.replace("Dedup", "Sample");
    assert!(example.contains(program.trim_start_matches("use std::process::ExitCode;\n\n")), "{program}");
    let example = std::fs::read_to_string(root().join("crates/cli/examples/redirect.rs")).unwrap();
    let quoted = page.split("```rust,ignore\n").nth(1).and_then(|rest| rest.split("```").next()).unwrap();
    assert!(example.contains(quoted), "{quoted}");
}
