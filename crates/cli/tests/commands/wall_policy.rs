//! `sluss wall check`, `test`, `run` and `why`: policies, and captures that are judged by them.

use crate::common::{arg, code, root, run, say, scratch, sluss, stderr, stdout};
use serde_json::Value;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

fn policy(name: &str, text: &str) -> PathBuf {
    let path = scratch(name).join("policy.toml");
    fs::write(&path, text).unwrap();
    path
}

fn objects(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|_| panic!("{line}"))).collect()
}

#[test]
fn a_capture_is_judged_and_every_packet_accounted_for() {
    let policy = policy(
        "wall-run",
        "dpi = 'own'\nrules = '''\napp HTTP => reject\nudp port 53 => drop\notherwise => accept\n'''",
    );
    let folder = policy.parent().unwrap();
    let (passed, told) = (folder.join("passed.pcap"), folder.join("told.pcap"));
    let words =
        ["wall", "run", arg(&policy), "captures/web.pcap", "-o", arg(&passed), "-r", arg(&told), "--json"];
    let output = run(&words);
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    let object = &objects(&stdout(&output))[0];
    let number = |key: &str| object[key].as_u64().unwrap();
    assert_eq!(number("total"), number("accepted") + number("rejected") + number("dropped"));
    let sum: u64 =
        object["rules"].as_array().unwrap().iter().map(|rule| rule["packets"].as_u64().unwrap()).sum();
    let others: u64 =
        ["default", "undecided", "not_ip"].iter().map(|key| object[key]["packets"].as_u64().unwrap()).sum();
    assert_eq!(sum + others, number("total"));
    assert!(number("rejected") > 0 && number("dropped") > 0 && number("stateless") == 0, "{object}");
    let packets = |path| stdout(&run(&["filter", "--count", "", path])).trim().parse::<u64>().unwrap();
    assert_eq!(packets(arg(&passed)), number("accepted"));
    assert!(packets(arg(&told)) > number("rejected"), "both ends are told");
    // The same in every run, and packet by packet.
    let lines = stdout(&run(&["wall", "run", arg(&policy), "captures/web.pcap", "--verdicts"]));
    let count =
        |verdict: &str| lines.lines().filter(|line| line.split(' ').nth(1) == Some(verdict)).count() as u64;
    assert_eq!(
        [count("accept"), count("reject"), count("drop")],
        ["accepted", "rejected", "dropped"].map(number)
    );
    assert_eq!(stdout(&run(&["wall", "run", arg(&policy), "captures/web.pcap", "--verdicts"])), lines);
}

#[test]
fn rules_about_interfaces_of_no_packet_are_warned_of() {
    let policy = policy("wall-run-interfaces", "dpi = 'own'\nrules = 'in lan and not out wan => drop'\n");
    let warnings = |more: &[&str]| {
        let output = run(&[&["wall", "run", arg(&policy), "captures/web.pcap"], more].concat());
        assert_eq!(code(&output), 0, "{}", stderr(&output));
        stderr(&output)
    };
    assert_eq!(warnings(&["--in", "lan", "--out", "wan"]), "");
    let told = warnings(&["--in", "lan"]);
    assert!(told.contains("the interface `wan`") && told.contains("`--in` is lan, and `--out` is not given"));
}

#[test]
fn rules_of_any_length_are_told() {
    // More than a format can pad: 65,535 characters.
    let rule = format!("{}tcp => accept", "not ".repeat(20_000));
    let policy = policy("wall-long-rule", &format!("rules = '''\n{rule}\nudp => drop\n'''"));
    for words in [&["wall", "check", arg(&policy)][..], &["wall", "run", arg(&policy), "captures/web.pcap"]] {
        let output = run(words);
        assert_eq!(code(&output), 0, "{}", stderr(&output));
        let text = stdout(&output);
        let shown = &rule[..199];
        assert!(text.contains(&format!("{shown}…\n")) && !text.contains(&rule[..200]), "{words:?}");
        let object = &objects(&stdout(&run(&[words, &["--json"]].concat())))[0];
        assert_eq!(object["rules"][0]["rule"], rule);
    }
}

#[test]
fn tests_of_a_policy_pass_and_fail() {
    let text = |drops: usize, third: &str| {
        let capture = root().join("captures/web.pcap");
        format!(
            "dpi = 'own'\nrules = '''\nudp port 53 => drop\notherwise => accept\n'''\n[[test]]\npcap = '{}'\nexpect = {{ drop = {drops} }}\npacket.3 = '{third}'\n",
            capture.display()
        )
    };
    let good = policy("wall-test-good", &text(16, "drop"));
    let output = run(&["wall", "test", arg(&good)]);
    let counted = stdout(&output);
    let drops = if code(&output) == 0 {
        16
    } else {
        counted.split("it is ").nth(1).unwrap().split_whitespace().next().unwrap().parse().unwrap()
    };
    let good = policy("wall-test-good", &text(drops, "drop"));
    assert_eq!((code(&run(&["wall", "test", arg(&good)])), drops > 0), (0, true));
    let wrong = policy("wall-test-wrong", &text(drops + 1, "accept"));
    let output = run(&["wall", "test", arg(&wrong), "--json"]);
    let object = &objects(&stdout(&output))[0];
    assert_eq!((code(&output), object["passed"].as_bool()), (1, Some(false)));
    let found: Vec<&str> = object["wrong"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
    assert_eq!(found.len(), 2, "{found:?}");
    assert!(
        found[0].starts_with("packet 3: expected accept, and it is dropped by the rule of line 3"),
        "{found:?}"
    );
    // What is decided without a rule; one of each is told as one.
    let text = text(0, "accept").replace("udp port 53 => drop\notherwise => accept", "tcp port 1 => accept");
    let by_default = policy("wall-test-default", &text);
    let told = stdout(&run(&["wall", "test", arg(&by_default)]));
    assert!(
        told.contains("packet 3: expected accept, and it is dropped by `default`, as no rule takes it"),
        "{told}"
    );
    let told = stdout(&run(&["wall", "check", arg(&by_default)]));
    assert!(told.contains("1 rule, one program: ") && !told.contains(" 1 tests"), "{told}");
    let none = policy("wall-test-none", "rules = 'tcp => drop'");
    assert_eq!(code(&run(&["wall", "test", arg(&none)])), 2);
}

#[test]
fn why_says_which_rule_and_why_not_those_before_it() {
    let policy = policy(
        "wall-why",
        "dpi = 'own'\nrules = '''\ntcp port 22 and app SSH => drop\nstate established and sni www.example.com => reject\notherwise => accept\n'''",
    );
    // The first packet that the second rule takes.
    let lines = stdout(&run(&["wall", "run", arg(&policy), "captures/web.pcap", "--verdicts"]));
    let number = lines
        .lines()
        .find(|line| line.contains(" reject "))
        .and_then(|line| line.split(' ').next())
        .expect(&lines);
    let output = run(&["wall", "why", arg(&policy), "captures/web.pcap", "-n", number, "--json"]);
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    let object = &objects(&stdout(&output))[0];
    assert_eq!((&object["verdict"], &object["basis"]["line"]), (&"reject".into(), &4.into()), "{object}");
    let rules = object["rules"].as_array().unwrap();
    assert_eq!(
        (rules.len(), &rules[0]["holds"], &rules[1]["holds"]),
        (2, &false.into(), &true.into()),
        "{object}"
    );
    let asked = |at: usize| rules[at]["asked"].as_array().unwrap();
    assert_eq!((&asked(0)[0]["test"], &asked(0)[0]["holds"]), (&"tcp port 22".into(), &false.into()));
    assert_eq!(asked(1)[1]["test"], "sni www.example.com");
    let text = stdout(&run(&["wall", "why", arg(&policy), "captures/web.pcap", "-n", number]));
    assert!(text.contains("is rejected: the rule of line 4") && text.contains("www.example.com"), "{text}");
    let output = run(&["wall", "why", arg(&policy), "captures/web.pcap", "-n", "99999"]);
    assert!(
        code(&output) == 2 && stderr(&output).contains("there is no packet 99999"),
        "{}",
        stderr(&output)
    );
}

#[test]
fn a_policy_that_is_wrong_is_shown_with_carets() {
    let path =
        policy("wall-policy-wrong", "# all\nrules = '''\n  app HTPP => drop\n  tcp prot 80 => drop\n'''\n");
    let output = run(&["wall", "check", arg(&path)]);
    let errors = stderr(&output);
    assert_eq!(code(&output), 2, "{errors}");
    assert!(
        errors.contains("error[WP009]: no protocol is called `HTPP`\n3 |   app HTPP => drop\n  |       ^^^^"),
        "{errors}"
    );
    assert!(errors.contains("help: did you mean `HTTP`?"), "{errors}");
    let output = run(&["wall", "run", arg(&path), "captures/web.pcap", "--json"]);
    let object = &objects(&stderr(&output))[0];
    assert_eq!(
        (&object["errors"][0]["code"], &object["errors"][0]["line"]),
        (&"WP009".into(), &3.into()),
        "{object}"
    );
    let path = policy("wall-odd", "rules = '''\notherwise => accept\ntcp => drop\n'''\n");
    let output = run(&["wall", "check", arg(&path)]);
    assert!(code(&output) == 0 && stderr(&output).contains("warning[WP101]"), "{}", stderr(&output));
}

#[test]
fn the_unit_is_one_that_systemd_takes() {
    if Command::new("systemd-analyze").arg("--version").output().is_err() {
        return say("SKIPPED: the unit is not checked: install systemd (Debian) for systemd-analyze");
    }
    let unit = fs::read_to_string(root().join("examples/wall/sluss-wall.service")).unwrap();
    let unit = unit.replace("/usr/bin/sluss", env!("CARGO_BIN_EXE_sluss"));
    let path = scratch("wall-unit").join("sluss-wall.service");
    fs::write(&path, unit).unwrap();
    let output = Command::new("systemd-analyze").args(["verify", "--man=no", arg(&path)]).output().unwrap();
    assert_eq!((output.status.code(), stderr(&output).as_str()), (Some(0), ""));
}

#[test]
fn rules_that_are_looked_up_are_told() {
    let rules: String = (0..120)
        .map(|n| match n % 3 {
            0 => format!("src host 10.0.0.{n} => drop\n"),
            1 => format!("sni w{n}.example => reject\n"),
            _ => format!("udp dst port {n} => accept\n"),
        })
        .collect();
    let policy = policy("wall-looked-up", &format!("dpi = 'own'\nrules = '''\n{rules}'''"));
    let output = run(&["wall", "check", arg(&policy)]);
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    let text = stdout(&output);
    assert!(text.contains("with everything known") && text.contains("120 clauses are looked up"), "{text}");
    assert!(
        text.contains("by `wall_name`: 40 boxes") && text.contains("by destination port: 40 boxes"),
        "{text}"
    );
    let object = &objects(&stdout(&run(&["wall", "check", "--json", arg(&policy)])))[0];
    let looked_up = &object["programs"][0]["looked_up"];
    assert_eq!(
        (looked_up["clauses"].as_u64(), looked_up["outside"].as_u64()),
        (Some(120), Some(0)),
        "{object}"
    );
    assert_eq!(looked_up["tables"].as_array().map(Vec::len), Some(3), "{object}");
    assert!(object["programs"][0]["build_ms"].as_f64().is_some_and(|ms| ms > 0.0), "{object}");
}

/// A capture of a connection that speaks HTTP with an address as its host, on a port of its own.
fn numeric_host(folder: &std::path::Path) -> PathBuf {
    let segment = |from_client: bool, flags: &str, seq: u32, payload: &str| {
        let (src, dst, sport, dport, ack) = match from_client {
            true => ("10.0.0.9", "10.0.0.2", 4000, 8022, if flags == "S" { 0 } else { 501 }),
            false => ("10.0.0.2", "10.0.0.9", 8022, 4000, if flags == "SA" { 101 } else { 151 }),
        };
        let payload: String = payload.bytes().map(|byte| format!("{byte:02x} ")).collect();
        let line = format!(
            "eth / ip4(src={src}, dst={dst}) / tcp(sport={sport}, dport={dport}, seq={seq}, ack={ack}, flags={flags}) / hex({payload})"
        );
        testkit::packet::Packet::parse(&line).unwrap().bytes
    };
    let request = "GET /a HTTP/1.1\r\nHost: 10.0.0.2\r\nUser-Agent: x\r\n\r\n";
    let answer = "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 2\r\n\r\nok";
    let packets = [
        segment(true, "S", 100, ""),
        segment(false, "SA", 500, ""),
        segment(true, "A", 101, ""),
        segment(true, "PA", 101, request),
        segment(false, "PA", 501, answer),
        segment(true, "A", 151, ""),
        segment(true, "FA", 151, ""),
    ];
    let mut bytes = Vec::new();
    for word in [0xa1b2_c3d4_u32, 0x0004_0002, 0, 0, 65535, 1] {
        bytes.extend(word.to_le_bytes());
    }
    for (second, packet) in (0..).zip(&packets) {
        for word in [second, 0, packet.len() as u32, packet.len() as u32] {
            bytes.extend(u32::to_le_bytes(word));
        }
        bytes.extend(packet);
    }
    let path = folder.join("numeric.pcap");
    fs::write(&path, bytes).unwrap();
    path
}

#[test]
fn risks_that_ndpi_finds_decide() {
    if dpi::ndpi::built_with().is_none() {
        say("SKIPPED: nDPI is not installed (Debian: libndpi-dev)");
        return;
    }
    let judged = |name: &str, test: &str| {
        let policy = policy(name, &format!("rules = '''\n{test} => drop\notherwise => accept\n'''"));
        let capture = numeric_host(policy.parent().unwrap());
        let output = run(&["wall", "run", arg(&policy), arg(&capture), "--verdicts"]);
        assert_eq!(code(&output), 0, "{}", stderr(&output));
        assert_eq!(stderr(&output), "", "nDPI is asked");
        let letters = stdout(&output);
        letters.lines().map(|line| &line.split(' ').nth(1).unwrap()[..1]).collect::<String>()
    };
    // sluss tells HTTP by itself from the request on; nDPI looks on, and what it finds holds from then on.
    for (name, test) in [
        ("risk-port", "risk KNOWN_PROTOCOL_ON_NON_STANDARD_PORT"),
        ("risk-host", "risk {tls_weak_cipher, NDPI_HTTP_NUMERIC_IP_HOST} and app HTTP"),
        ("risk-any", "risk any"),
    ] {
        let letters = judged(name, test);
        assert!(letters.starts_with("aaa") && letters.ends_with("dd"), "{test}: {letters}");
        assert_eq!(judged(name, test), letters);
    }
    assert_eq!(judged("risk-none", "risk TLS_WEAK_CIPHER"), "aaaaaaa");
}

#[test]
fn a_risk_that_nobody_looks_for_is_warned_of_and_a_wrong_name_corrected() {
    let own = policy("risk-own", "dpi = 'own'\nrules = '''\nrisk any => drop\notherwise => accept\n'''");
    let output = run(&["wall", "check", arg(&own)]);
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    assert!(stderr(&output).contains("`risk` never holds"), "{}", stderr(&output));
    let wrong = policy("risk-wrong", "rules = 'risk TLS_WEAK_CIPHERS => drop'");
    let output = run(&["wall", "check", arg(&wrong)]);
    assert_eq!(code(&output), 2);
    assert!(stderr(&output).contains("did you mean `TLS_WEAK_CIPHER`?"), "{}", stderr(&output));
    let listed = stdout(&run(&["wall", "protocols", "--risks", "numeric"]));
    assert!(listed.contains("HTTP_NUMERIC_IP_HOST") && listed.contains("NUMERIC_IP_HOST"), "{listed}");
}

#[test]
fn nothing_that_is_read_is_written_over() {
    let policy = policy(
        "wall-run-lost",
        "dpi = 'own'\nrules = 'src host in @known => reject'\nsets.known = 'known.txt'\n",
    );
    let folder = policy.parent().unwrap();
    let (capture, known, out) = (folder.join("x.pcap"), folder.join("known.txt"), folder.join("out.pcap"));
    fs::copy(root().join("captures/web.pcap"), &capture).unwrap();
    fs::write(&known, "192.0.2.1\n").unwrap();
    let kept = || [&policy, &capture, &known].map(|path| fs::read(path).unwrap());
    let before = kept();
    for (flags, words) in [
        (&["-o", arg(&capture)][..], "is both input and output"),
        (&["-r", arg(&capture)], "is both input and output"),
        (&["-o", arg(&policy)], "is both input and output"),
        (&["-r", arg(&known)], "is both input and output"),
        (&["-o", arg(&out), "-r", arg(&out)], "is the output of `-o` and of `-r`"),
        (&["-o", "-", "--verdicts"], "cannot both go to standard output"),
    ] {
        let output = sluss(&["wall", "run", arg(&policy), arg(&capture)]).args(flags).output().unwrap();
        assert_eq!(code(&output), 2, "{flags:?}: {}", stderr(&output));
        assert!(stderr(&output).contains(words), "{flags:?}: {}", stderr(&output));
        assert!(kept() == before && !out.exists(), "{flags:?}");
    }
    let rules = folder.join("r4");
    fs::write(&rules, "*filter\n:FORWARD DROP [0:0]\n-A FORWARD -p tcp -j ACCEPT\nCOMMIT\n").unwrap();
    let output = run(&["wall", "import", arg(&rules), "-o", arg(&rules)]);
    assert_eq!(code(&output), 2, "{}", stderr(&output));
    assert!(fs::read_to_string(&rules).unwrap().starts_with("*filter"));
}

#[test]
fn accepted_packets_go_to_standard_output_and_into_compressed_files() {
    let policy =
        policy("wall-run-out", "dpi = 'own'\nrules = '''\napp HTTP => reject\notherwise => accept\n'''");
    let folder = policy.parent().unwrap();
    let told = folder.join("told.pcap.gz");
    let words = ["wall", "run", arg(&policy), "captures/web.pcap", "-o", "-", "-r", arg(&told), "--json"];
    let output = run(&words);
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    let object = &objects(&stderr(&output))[0];
    assert_eq!(object["type"], "wall.run");
    let passed = folder.join("passed.pcap");
    fs::write(&passed, &output.stdout).unwrap();
    let packets = |path| stdout(&run(&["filter", "--count", "", path])).trim().parse::<u64>().unwrap();
    assert_eq!(packets(arg(&passed)), object["accepted"].as_u64().unwrap());
    assert_eq!(fs::read(&told).unwrap()[..2], [0x1f, 0x8b]);
    assert!(packets(arg(&told)) > 0);
}

#[test]
fn flags_for_captures_are_refused_between_devices() {
    for flags in [&["-o", "x"][..], &["-r", "x"], &["-v"], &["--in", "a"], &["--out", "a"]] {
        let words = ["wall", "run", "policy.toml", "--inline", "a", "b"];
        let output = sluss(&words).args(flags).output().unwrap();
        assert_eq!(code(&output), 2, "{flags:?}: {}", stderr(&output));
        assert!(stderr(&output).contains("--inline"), "{flags:?}: {}", stderr(&output));
    }
}
