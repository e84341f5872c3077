//! Files whose names are not UTF-8: on Linux a name is any bytes.

#![cfg(target_os = "linux")]

mod common;

use common::{code, root, scratch, sluss, stderr, stdout};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

fn bytes_of(path: &Path) -> Vec<u8> {
    std::fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

#[test]
fn captures_filters_and_graphs_may_have_any_name() {
    let folder = scratch("odd-names");
    let odd = |name: &[u8]| folder.join(OsStr::from_bytes(name));
    let capture = odd(b"in\xff.pcap");
    let bytes = bytes_of(&root().join("captures/web.pcap"));
    if let Err(error) = std::fs::write(&capture, &bytes) {
        return common::say(&format!("skipped: captures_filters_and_graphs_may_have_any_name: {error}"));
    }
    let (out, again, filter, list) =
        (odd(b"out\xfe.pcapng"), odd(b"again\xfe.pcap"), odd(b"\xff.txt"), odd(b"filter\xff"));
    std::fs::write(&filter, "tcp port 80").unwrap();
    std::fs::write(&list, "tcp port 80").unwrap();
    let at = [&b"@"[..], list.as_os_str().as_bytes()].concat();
    let at = OsStr::from_bytes(&at);
    let (input, output) = (capture.as_os_str(), out.as_os_str());
    let word = OsStr::new;
    let said = |args: &[&OsStr]| {
        let output = sluss(&[]).args(args).env("SLUSS_RUNTIME_DIR", &folder).output().unwrap();
        assert_eq!(code(&output), 0, "{args:?}: {}", stderr(&output));
        stdout(&output)
    };
    let json = |args: &[&OsStr]| serde_json::from_str::<serde_json::Value>(&said(args)).unwrap();
    // Filters, writes and counts.
    said(&[word("filter"), word("tcp port 80"), input, word("-o"), output]);
    assert!(bytes_of(&out).starts_with(b"\x0a\x0d\x0d\x0a"), "the end of the name says pcapng");
    for args in [
        &[word("tcp port 80"), input][..],
        &[word(""), output],
        &[word("-r"), output],
        &[at, input],
        &[word("-f"), at, input],
        &[word("-F"), filter.as_os_str(), input],
        &[word("tcp port 80"), odd(b"in?.p*").as_os_str()],
        &[input, word("--"), at],
    ] {
        assert_eq!(said(&[&[word("filter"), word("--count")], args].concat()), "96\n", "{args:?}");
    }
    let summary = json(&[word("filter"), word("--json"), at, input, word("-o"), again.as_os_str()]);
    assert!(summary["filters"][0]["output"].as_str().unwrap().ends_with("again\u{fffd}.pcap"), "{summary}");
    // The other commands.
    assert!(said(&[word("trace"), at, input, word("-n"), word("9")]).contains("in\u{fffd}.pcap"));
    let trace = json(&[word("trace"), word("--json"), at, input, word("-n"), word("9")]);
    assert!(trace["file"].as_str().unwrap().ends_with("in\u{fffd}.pcap"), "{trace}");
    assert!(said(&[word("explain"), at]).contains("port 80"));
    assert!(!said(&[word("compile"), at]).is_empty());
    let blast =
        [word("blast"), input, word("--loop"), word("1"), word("--to"), again.as_os_str(), word("--json")];
    assert_eq!(json(&blast)["packets"], 121);
    let graph = odd(b"graph\xff.toml");
    std::fs::copy(root().join("examples/tee.toml"), &graph).unwrap();
    assert!(said(&[word("run"), word("--check"), graph.as_os_str()]).contains("graph\u{fffd}.toml"));
    let bench = [
        word("bench"),
        word("engine"),
        word("--net"),
        word("filter"),
        word("--runs"),
        word("1"),
        word("--pcap"),
        input,
    ];
    assert!(said(&bench).contains("every packet accounted for"));
    // What stands on the command line itself is a text.
    let wrong = sluss(&["filter", "--count"]).args([OsStr::from_bytes(b"tcp\xff"), input]).output().unwrap();
    assert!(code(&wrong) == 2 && stderr(&wrong).contains("not UTF-8 text"), "{}", stderr(&wrong));
    std::fs::write(&graph, b"tcp port 8\xb2").unwrap();
    let wrong = sluss(&["filter", "-F"]).args([graph.as_os_str(), input]).output().unwrap();
    assert!(code(&wrong) == 2 && stderr(&wrong).contains("not UTF-8 text: byte 10"), "{}", stderr(&wrong));
    let set = folder.join("set.txt");
    std::fs::write(&set, b"10.0.0.1\n10.0.0.\xb2\n").unwrap();
    let filter = format!("host in {{@{}}}", set.display());
    let wrong = sluss(&["filter", "--count", &filter]).arg(input).output().unwrap();
    assert!(code(&wrong) == 2 && stderr(&wrong).contains("10.0.0.\u{fffd}"), "{}", stderr(&wrong));
    let both = sluss(&["filter", "ip", "-o"]).args([input, input]).output().unwrap();
    assert!(code(&both) == 2 && stderr(&both).contains("in\u{fffd}.pcap is both"), "{}", stderr(&both));
    assert_eq!(bytes_of(&capture), bytes);
}

/// Also the folder of the counters.
#[test]
fn what_is_removed_may_have_any_name() {
    let folder = scratch("odd-counters").join(OsStr::from_bytes(b"\xff"));
    if let Err(error) = std::fs::create_dir(&folder) {
        return common::say(&format!("skipped: what_is_removed_may_have_any_name: {error}"));
    }
    // Killed by the kernel, it cannot remove its counters.
    let mut child = sluss(&["run", "-", "--name", "gone"])
        .env("SLUSS_RUNTIME_DIR", &folder)
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::null())
        .spawn()
        .unwrap();
    let graph = "links = [\"a.output -> b.input\"]\n[app.a]\ntype = \"source\"\n[app.b]\ntype = \"sink\"\n";
    std::io::Write::write_all(&mut child.stdin.take().unwrap(), graph.as_bytes()).unwrap();
    let runs = || {
        let output = sluss(&["ps", "--json"]).env("SLUSS_RUNTIME_DIR", &folder).output().unwrap();
        stdout(&output).contains("\"running\"")
    };
    let begin = std::time::Instant::now();
    while !runs() {
        assert!(begin.elapsed() < std::time::Duration::from_secs(20) && child.try_wait().unwrap().is_none());
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let output = sluss(&["ps", "--clean", "--json"]).env("SLUSS_RUNTIME_DIR", &folder).output().unwrap();
    let object: serde_json::Value =
        serde_json::from_str(&stdout(&output)).unwrap_or_else(|error| panic!("{error}: {}", stderr(&output)));
    assert!(object["path"].as_str().unwrap().contains("\u{fffd}/gone."), "{object}");
}
