//! `sluss wall`: what flows speak, and what becomes of them.

use crate::common::{arg, code, root, run, run_with_input, say, scratch, stderr, stdout};
use serde_json::Value;
use std::fs;
use std::path::PathBuf;

/// SnabbWall's captures, where they are at hand.
fn snabbwalls() -> Option<PathBuf> {
    let shared = std::env::var_os("SLUSS_SHARED").map_or_else(|| root().join("../shared"), PathBuf::from);
    let folder = shared.join("captures/snabbwall");
    if !folder.is_dir() {
        say(&format!("SKIPPED: no captures in {} (set SLUSS_SHARED to use others)", folder.display()));
        return None;
    }
    Some(folder)
}

/// Whether nDPI was there when the command was built, and is now.
fn has_ndpi() -> bool {
    let has = dpi::ndpi::built_with().is_some();
    if !has {
        say("SKIPPED: nDPI is not installed (Debian: libndpi-dev)");
    }
    has
}

/// The words in which flows of a capture are named.
fn names(report: &str) -> Vec<&str> {
    report.lines().filter_map(|line| line.split_whitespace().nth(5)).collect()
}

#[test]
fn all_that_snabbwall_expects_is_found() {
    let Some(folder) = snabbwalls() else { return };
    if !has_ndpi() {
        return;
    }
    let mut count = 0;
    for entry in fs::read_dir(&folder).unwrap().flatten() {
        let path = entry.path();
        let Ok(expected) = fs::read_to_string(format!("{}.spy.expect", path.display())) else { continue };
        let output = run(&["wall", "spy", "pcap", arg(&path)]);
        assert_eq!(code(&output), 0, "{}: {}", path.display(), stderr(&output));
        let report = stdout(&output);
        let found = names(&report);
        for name in expected.split_whitespace() {
            assert!(found.contains(&name), "{}: {name} is not in\n{report}", path.display());
        }
        count += 1;
    }
    assert_eq!(count, 30);
}

/// Accepted, rejected and dropped packets.
fn filtered(args: &[&str]) -> [u64; 3] {
    let output = run(&[&["wall", "filter", "--json"], args].concat());
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    let text = stdout(&output);
    let object: Value = serde_json::from_str(text.lines().last().unwrap()).unwrap();
    let counts = ["accepted", "rejected", "dropped"].map(|key| object[key].as_u64().unwrap());
    assert_eq!(object["total"].as_u64().unwrap(), counts.iter().sum::<u64>());
    assert_eq!((&object["v"], &object["type"]), (&1.into(), &"wall.filter".into()));
    counts
}

#[test]
fn packets_are_judged_as_snabbwall_judges_them() {
    let Some(folder) = snabbwalls() else { return };
    let rtp = |action: &str| {
        format!(
            "{{ RTP = [[match {{ flow_count >= 69 => {action}; otherwise => drop }}]], default = 'drop' }}"
        )
    };
    for (capture, rules, streaming, offline) in [
        ("dhcpv6.pcap", "{ DHCPV6 = 'reject', default = 'drop' }".to_owned(), [0, 6, 4], [0, 6, 4]),
        ("v6-http.cap", "{ HTTP = 'reject', default = 'accept' }".to_owned(), [48, 7, 0], [45, 10, 0]),
        ("rtp_example.pcap", rtp("accept"), [397, 0, 102], [465, 0, 34]),
        ("rtp_example.pcap", rtp("reject"), [0, 397, 102], [0, 465, 34]),
    ] {
        let path = folder.join(capture);
        assert_eq!(filtered(&["-e", &rules, "pcap", arg(&path)]), streaming, "{capture}");
        assert_eq!(
            filtered(&["-e", &rules, "--offline", "pcap", arg(&path)]),
            offline,
            "{capture} --offline"
        );
    }
}

#[test]
fn the_report_is_snabbwalls() {
    let folder = scratch("wall-report");
    let (passed, told) = (folder.join("passed.pcap"), folder.join("told.pcap"));
    let rules = "{ HTTP = 'reject', DNS = 'drop', default = 'accept' }";
    let output = run(&[
        "wall",
        "filter",
        "-p",
        "-e",
        rules,
        "-o",
        arg(&passed),
        "-r",
        arg(&told),
        "pcap",
        "captures/web.pcap",
    ]);
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    let text = stdout(&output);
    let lines: Vec<&str> = text.lines().collect();
    let count = |line: &str| line.split_whitespace().nth(2).unwrap().parse::<u64>().unwrap();
    let [accepted, rejected, dropped] = [0, 1, 2].map(|at| count(lines[at]));
    assert!(
        lines[0].starts_with("Accepted packets: ") && lines[2].starts_with("Dropped packets:  "),
        "{text}"
    );
    assert_eq!(lines[3], "Firewall stats:");
    assert!(
        lines[4].starts_with("bytes: ") && lines[4].contains(" packets: ") && lines[4].contains(" bps: "),
        "{text}"
    );
    assert!(rejected > 0 && dropped > 0 && accepted > 0, "{text}");
    // What goes on is written, and the ends of rejected flows are told.
    let packets = |path| stdout(&run(&["filter", "--count", "", path])).trim().parse::<u64>().unwrap();
    assert_eq!(packets(arg(&passed)), accepted);
    assert!(packets(arg(&told)) > rejected, "both ends are told");
}

#[test]
fn a_line_a_flow_in_the_order_of_first_packets_and_the_same_in_every_run() {
    let report = stdout(&run(&["wall", "spy", "pcap", "captures/ssh.pcap"]));
    assert!(names(&report).contains(&"SSH"), "{report}");
    for line in report.lines() {
        assert!(line.starts_with("0x") && line[10..].contains("p "), "{line}");
    }
    for _ in 0..3 {
        assert_eq!(stdout(&run(&["wall", "spy", "pcap", "captures/ssh.pcap"])), report);
    }
    let flows = stdout(&run(&["wall", "spy", "pcap", "captures/ssh.pcap", "--json", "--flows"]));
    let firsts: Vec<String> = flows
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap()["first"].as_str().unwrap().to_owned())
        .collect();
    assert!(firsts.is_sorted() && firsts.len() == report.lines().count(), "{flows}");
}

#[test]
fn every_form_tells_of_the_same_flows() {
    let of = |form: &[&str]| {
        let output = run(&[&["wall", "spy", "pcap", "captures/tls.pcap"], form].concat());
        assert_eq!(code(&output), 0, "{}", stderr(&output));
        stdout(&output)
    };
    let flows: Vec<Value> =
        of(&["--json", "--flows"]).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let sum = |keys: [&str; 2]| {
        flows.iter().map(|flow| keys.map(|key| flow[key].as_u64().unwrap()).iter().sum::<u64>()).sum::<u64>()
    };
    let (packets, bytes) = (sum(["packets_ab", "packets_ba"]), sum(["bytes_ab", "bytes_ba"]));
    let mut sums = [0; 3];
    for line in of(&["--tsv"]).lines() {
        let fields: Vec<&str> = line.split('\t').collect();
        (0..3).for_each(|at| sums[at] += fields[at + 1].parse::<u64>().unwrap());
    }
    assert_eq!(sums, [packets, bytes, flows.len() as u64]);
    assert_eq!(of(&["--table"]).lines().count(), flows.len() + 1);
    assert!(of(&["--table"]).contains("TLS"));
    let folder = scratch("wall-eve");
    let eve = folder.join("eve.json");
    of(&["--eve", arg(&eve)]);
    let events: Vec<Value> =
        fs::read_to_string(&eve).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(events.len(), flows.len());
    assert!(events.iter().all(|event| event["event_type"] == "flow"));
    let live = of(&["--live"]);
    assert!(names(&live).contains(&"SSL"), "{live}");
    let stats = of(&["--stats"]);
    let last = stats.lines().last().unwrap();
    assert!(last.starts_with("=== ") && last.contains(" Bytes, ") && last.ends_with(" PPS"), "{last}");
}

#[test]
fn link_types_tunnels_and_compression_make_no_difference() {
    for (capture, name) in [
        ("cooked-sll.pcap", "HTTP"),
        ("cooked-sll2.pcap", "HTTP"),
        ("raw.pcap", "HTTP"),
        ("loopback.pcap", "HTTP"),
        ("vxlan.pcap", "HTTP"),
        ("geneve.pcap", "HTTP"),
        ("gre.pcap", "HTTP"),
        ("mpls.pcap", "HTTP"),
        ("qinq.pcap", "HTTP"),
        ("tunnel.pcapng", "HTTP"),
        ("dns.pcap.zst", "DNS"),
        ("smtp.pcap.gz", "MAIL_SMTP"),
    ] {
        let output = run(&["wall", "spy", "--dpi", "own", "pcap", &format!("captures/{capture}")]);
        assert_eq!((code(&output), &*stderr(&output)), (0, ""), "{capture}");
        assert!(names(&stdout(&output)).contains(&name), "{capture}: {}", stdout(&output));
    }
}

#[test]
fn what_is_wrong_has_its_exit_code_and_says_what_to_do() {
    let folder = scratch("wall-wrong");
    let whole = fs::read(root().join("captures/web.pcap")).unwrap();
    let cut = folder.join("cut.pcap");
    fs::write(&cut, &whole[..whole.len() - 7]).unwrap();
    let rules = folder.join("rules.lua");
    fs::write(&rules, "-- mine\n{ HTPP = 'drop' }\n").unwrap();
    let accept = "{ default = 'accept' }";
    for (args, expected, told) in [
        (&["spy", "pcap", "/nowhere.pcap"][..], 3, "/nowhere.pcap: cannot open"),
        (&["spy", "pcap", arg(&cut)], 5, "ends inside a packet record"),
        (&["spy", "pcap", "captures"], 3, "is a folder"),
        (&["spy", "raw", "nowhere0"], 3, "nowhere0"),
        (&["filter", "-e", accept, "pcap", arg(&cut)], 5, "ends inside a packet record"),
        (&["filter", "-e", accept, "pcap", "/nowhere.pcap"], 3, "cannot open"),
        (&["filter", "-f", arg(&rules), "pcap", "captures/web.pcap"], 2, "no protocol is called `HTPP`"),
        (&["filter", "-f", "/nowhere.lua", "pcap", "captures/web.pcap"], 3, "/nowhere.lua"),
        (&["filter", "-e", "{ HTTP = 'x' }", "pcap", "captures/web.pcap"], 2, "`x` is no action"),
        (&["filter", "-e", accept, "--offline", "pcap", "-"], 2, "name a file"),
        (&["filter", "-e", accept, "--dpi", "exact", "pcap", "captures/web.pcap"], 2, "--dpi exact"),
        (&["filter", "pcap", "captures/web.pcap"], 2, "no rules given"),
        (&["filter", "-e", accept, "-o", "/nowhere/out.pcap", "pcap", "captures/web.pcap"], 3, "/nowhere"),
        (&["spy", "--eve", "/nowhere/eve.json", "pcap", "captures/web.pcap"], 3, "/nowhere/eve.json"),
        (&["protocols", "no such name"], 1, ""),
    ] {
        let output = run(&[&["wall"], args].concat());
        assert_eq!(code(&output), expected, "{args:?}: {}", stderr(&output));
        assert!(stderr(&output).contains(told), "{args:?}: {}", stderr(&output));
    }
    // What stands before the damage is told of.
    let output = run(&["wall", "spy", "pcap", arg(&cut)]);
    assert!(names(&stdout(&output)).contains(&"HTTP"));
    let told = stderr(&run(&["wall", "filter", "-f", arg(&rules), "pcap", "captures/web.pcap"]));
    assert!(told.contains("  | { HTPP = 'drop' }\n  |   ^^^^\nhelp: did you mean `HTTP`?"), "{told}");
}

#[test]
fn a_capture_may_come_through_a_pipe() {
    let capture = fs::read(root().join("captures/web.pcap")).unwrap();
    let output = run_with_input(&["wall", "spy", "pcap", "-"], &capture);
    assert_eq!(stdout(&output), stdout(&run(&["wall", "spy", "pcap", "captures/web.pcap"])));
}

#[test]
fn protocols_are_listed_with_their_names() {
    let text = stdout(&run(&["wall", "protocols", "imap"]));
    assert!(text.lines().any(|line| line.starts_with("IMAP ") && line.contains("MAIL_IMAP")), "{text}");
    let objects = stdout(&run(&["wall", "protocols", "--json"]));
    let names: Vec<Value> = objects.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(names.len() > 200 && names.iter().all(|object| object["type"] == "protocol"));
}

#[test]
fn the_apps_run_in_graphs_of_their_own() {
    let folder = scratch("wall-graph");
    let graph = folder.join("wall.toml");
    let text = format!(
        "links = ['in.output -> spy.south', 'spy.north -> fw.input', 'fw.output -> out.input', 'fw.reject -> told.input']\n\
         [app.in]\ntype = 'pcap_reader'\npath = '{}'\n[app.spy]\ntype = 'l7_spy'\nwait = true\n\
         [app.fw]\ntype = 'l7_fw'\nrules = '{{ HTTP = \"reject\", default = \"accept\" }}'\n\
         [app.out]\ntype = 'sink'\n[app.told]\ntype = 'sink'\n",
        root().join("captures/web.pcap").display()
    );
    fs::write(&graph, text).unwrap();
    let output = run(&["run", arg(&graph), "--json"]);
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    let object: Value = serde_json::from_str(&stdout(&output)).unwrap();
    let number = |pointer: &str| object.pointer(pointer).and_then(Value::as_u64);
    assert!(number("/apps/fw/drops/rejected").is_some_and(|count| count > 0), "{object:#}");
    assert!(number("/apps/spy/counters/identified_own").is_some_and(|count| count > 0), "{object:#}");
}

/// What tshark finds: ends of the flow, and the server's name.
fn tsharks_names(path: &std::path::Path) -> Option<Vec<[String; 3]>> {
    let output = std::process::Command::new("tshark")
        .args(["-r", arg(path), "-Y", "tls.handshake.extensions_server_name", "-T", "fields"])
        .args(
            [
                "ip.src",
                "ipv6.src",
                "ip.dst",
                "ipv6.dst",
                "tcp.srcport",
                "udp.srcport",
                "tcp.dstport",
                "udp.dstport",
            ]
            .map(|field| format!("-e{field}")),
        )
        .args(["-e", "tls.handshake.extensions_server_name"])
        .output()
        .ok()?;
    let text = stdout(&output);
    let rows =
        text.lines().map(|line| line.split('\t').collect::<Vec<_>>()).filter(|fields| fields.len() == 9);
    // Of an inner and an outer packet, the inner is the last.
    let either = |a: &str, b: &str| {
        let last = |text: &str| text.rsplit(',').next().unwrap_or_default().to_owned();
        if a.is_empty() { format!("[{}]", last(b)) } else { last(a) }
    };
    let port = |a: &str, b: &str| if a.is_empty() { b.to_owned() } else { a.to_owned() };
    let row = |fields: Vec<&str>| {
        let src = format!("{}:{}", either(fields[0], fields[1]), port(fields[4], fields[5]));
        let dst = format!("{}:{}", either(fields[2], fields[3]), port(fields[6], fields[7]));
        [src, dst, fields[8].to_lowercase()]
    };
    Some(rows.map(row).collect())
}

#[test]
fn every_name_that_tshark_finds_is_found_for_the_same_flow() {
    let mut folders = vec![root().join("captures")];
    if let Some(folder) = snabbwalls() {
        folders.extend([folder.parent().unwrap().join("linktypes"), folder]);
    }
    let (mut captures, mut names) = (0, 0);
    for entry in folders.iter().flat_map(|folder| fs::read_dir(folder).into_iter().flatten().flatten()) {
        let path = entry.path();
        let name = path.to_string_lossy().into_owned();
        if ![".pcap", ".cap", ".pcapng"].iter().any(|end| name.ends_with(end)) {
            continue;
        }
        // A record of TLS's handshake, or a packet of QUIC: tshark takes half a second for each capture.
        let bytes = fs::read(&path).unwrap();
        let may_greet = |five: &[u8]| matches!(five, [0x16, 3, 0..=3, 0..=4, _] | [0xc0..=0xff, 0, 0, 0, 1]);
        if !bytes.windows(5).any(may_greet) {
            continue;
        }
        let Some(expected) = tsharks_names(&path) else { return say("SKIPPED: no tshark (Debian: tshark)") };
        if expected.is_empty() {
            continue;
        }
        let output = run(&["wall", "spy", "--dpi", "own", "--json", "--flows", "pcap", &name]);
        let flows: Vec<Value> =
            stdout(&output).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        for [src, dst, server] in &expected {
            let is_it = |flow: &&Value| {
                (flow["a"] == **src && flow["b"] == **dst || flow["a"] == **dst && flow["b"] == **src)
                    && flow["sni"] == **server
            };
            assert!(flows.iter().any(|flow| is_it(&flow)), "{name}: {src} > {dst} has {server}: {flows:#?}");
        }
        captures += 1;
        names += expected.len();
    }
    assert!(captures >= 1 && names >= 3, "{names} names in {captures} captures");
}
