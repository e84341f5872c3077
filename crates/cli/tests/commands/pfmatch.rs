//! `sluss match`: counts, captures and lines by the clauses of a program; and programs in the other commands.

use crate::common::{self, code, run, run_with_input, stderr, stdout};
use std::path::PathBuf;

const CAPTURE: &str = "captures/mixed.pcap";

fn folder(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("sluss-match-{name}-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a temporary folder");
    folder
}

fn count(filter: &str) -> u64 {
    stdout(&run(&["filter", "--count", filter, CAPTURE])).trim().parse().expect("a number")
}

#[test]
fn counts_are_those_of_filters() {
    let program = "match { tcp => { port 80 => web(80), otherwise => tcp }, udp => udp() }";
    let output = run(&["match", "--count", program, CAPTURE]);
    let (web, tcp, udp) = (count("tcp port 80"), count("tcp and not port 80"), count("udp"));
    let rest = count("not tcp and not udp");
    assert_eq!(stdout(&output), format!("-\t{rest}\ntcp\t{tcp}\nudp\t{udp}\nweb(80)\t{web}\n"));
    assert_eq!((code(&output), stderr(&output).as_str()), (0, ""));
    // In any way, and from a pipe.
    let file = folder("counts").join("p.match");
    std::fs::write(&file, format!("-- a program #1\n{program}\n")).unwrap();
    let bytes = std::fs::read(common::root().join(CAPTURE)).unwrap();
    let file = file.to_str().unwrap();
    for other in [
        run(&["match", "--count", "-F", file, CAPTURE]),
        run(&["match", "--count", "--at", "interp", program, CAPTURE]),
        run(&["match", "--count", program, "-r", CAPTURE]),
        run_with_input(&["match", "--count", program, "-"], &bytes),
    ] {
        assert_eq!(stdout(&other), stdout(&output), "{}", stderr(&other));
    }
    // Several captures on several workers.
    let twice = run(&["match", "--count", "-j", "2", program, CAPTURE, CAPTURE]);
    assert!(stdout(&twice).contains(&format!("web(80)\t{}\n", 2 * web)), "{}", stdout(&twice));
}

#[test]
fn the_object_has_all_calls() {
    let output = run(&["match", "--json", "match { ip => a(ip[8], len), ip6 => b }", CAPTURE]);
    let object: serde_json::Value = serde_json::from_str(&stdout(&output)).expect("an object");
    assert_eq!((&object["v"], &object["type"]), (&1.into(), &"match".into()));
    assert_eq!(object["packets"], count(""));
    let answers = object["answers"].as_array().unwrap();
    let packets = |handler: &str| {
        let of = answers.iter().filter(|answer| answer["handler"] == handler);
        of.map(|answer| answer["packets"].as_u64().unwrap()).sum::<u64>()
    };
    assert_eq!((packets("a"), packets("b")), (count("ip"), count("ip6")));
    assert!(
        answers
            .iter()
            .filter(|answer| answer["handler"] == "a")
            .all(|a| a["args"].as_array().unwrap().len() == 2)
    );
}

#[test]
fn packets_go_to_the_captures_of_their_handlers() {
    let folder = folder("outputs");
    let path = |name: &str| folder.join(name).to_str().unwrap().to_owned();
    let (web, rest) = (path("web.pcap"), path("rest.pcap"));
    let program = "match { tcp port 80 => web, port 53 => dns(len) }";
    let (to_web, to_rest) = (format!("web={web}"), format!("-={rest}"));
    let output = run(&["match", program, CAPTURE, "-o", &to_web, "-o", &to_rest]);
    assert_eq!((code(&output), stdout(&output).as_str(), stderr(&output).as_str()), (0, "", ""));
    for (filter, file) in [("tcp port 80", &web), ("not tcp port 80 and not port 53", &rest)] {
        let expected = path("expected.pcap");
        run(&["filter", filter, CAPTURE, "-o", &expected]);
        assert_eq!(std::fs::read(file).unwrap(), std::fs::read(&expected).unwrap(), "{filter}");
    }
}

#[test]
fn every_packet_is_a_line_that_begins_with_its_call() {
    let lines = stdout(&run(&["match", "match { tcp => a(len) }", CAPTURE]));
    let plain = stdout(&run(&["filter", "--lines", "", CAPTURE]));
    assert_eq!(lines.lines().count(), plain.lines().count());
    for (line, plain) in lines.lines().zip(plain.lines()) {
        let (call, rest) = line.split_once("  ").unwrap();
        assert_eq!(rest, plain);
        assert_eq!(call.starts_with("a("), plain.contains(" tcp "), "{line}");
        assert!(call == "-" || call.ends_with(')'), "{line}");
    }
    let numbered = stdout(&run(&["match", "-#", "match { otherwise => a }", CAPTURE]));
    assert!(numbered.starts_with("a      1  "), "{}", &numbered[..40]);
}

#[test]
fn names_and_inputs_are_given_on_the_command_line() {
    let output = run(&[
        "match",
        "--count",
        "--set",
        "web=tcp port 80",
        "--input",
        "mark=7",
        "match (mark) { $web and mark = 7 => a(mark) }",
        CAPTURE,
    ]);
    assert!(stdout(&output).contains(&format!("a(7)\t{}\n", count("tcp port 80"))), "{}", stdout(&output));
}

#[test]
fn what_is_wrong_is_told() {
    for (arguments, exit, told) in [
        (&["--count", "match { tcp prot 80 => a }", CAPTURE][..], 2, "help: did you mean `tcp port 80`?"),
        (&["--count", "match { tcp => a", CAPTURE], 2, "this block is open"),
        (&["match { tcp => a }", CAPTURE, "-o", "b=/tmp/x"], 2, "its handlers are a"),
        (&["match { tcp => a }", CAPTURE, "-o", "b"], 2, "a handler of the program"),
        (&["match (mark) { mark = 1 => a }", CAPTURE], 2, "--input mark=0"),
        (&["--set", "a b=c", "match {}", CAPTURE], 2, "web='tcp port 80'"),
        (&["match { $x => a }", CAPTURE], 2, "`$x` stands for nothing"),
        (&["match { tcp => a }", "missing.pcap"], 3, "missing.pcap"),
        (&["-F", "missing.match", CAPTURE], 3, "cannot read the program file missing.match"),
        (&["--count", "match { arp and tcp => a }", CAPTURE], 1, "PF"),
        (&["--count", "match { otherwise => a, tcp => b }", CAPTURE], 0, "this clause is never reached"),
        (&["--count", "match { len = 1 => a }", CAPTURE], 1, ""),
        (&["--count", "--no-fail", "match { len = 1 => a }", CAPTURE], 0, ""),
    ] {
        let output = run(&[&["match"], arguments].concat());
        assert_eq!(code(&output), exit, "{arguments:?}: {}", stderr(&output));
        assert!(stderr(&output).contains(told), "{arguments:?}: {}", stderr(&output));
    }
}

#[test]
fn a_program_file_is_named_by_what_is_wrong_in_it() {
    let file = common::scratch("program-file").join("web.match");
    std::fs::write(&file, "-- the web # and more\nmatch {\n  tcp prot 80 => a }\n").unwrap();
    let file = file.to_str().unwrap();
    let at_file = format!("@{file}");
    let told = format!("\nnote: this is line 3 of the program file {file}\n");
    for arguments in [
        &["match", "--count", "-F", file, CAPTURE][..],
        &["match", "--count", &at_file, CAPTURE],
        &["explain", "--match", "-F", file],
        &["compile", "--match", &at_file],
        &["trace", "--match", "-F", file, CAPTURE],
        &["trace", "--match", &at_file, CAPTURE],
    ] {
        let output = run(arguments);
        assert_eq!(code(&output), 2, "{arguments:?}: {}", stderr(&output));
        assert!(stderr(&output).ends_with(&told), "{arguments:?}: {}", stderr(&output));
    }
    // A `#` is no comment.
    let output = run(&["explain", "--match", "match { tcp => a # }\n}"]);
    assert_eq!(code(&output), 2, "{}", stderr(&output));
}

#[test]
fn other_commands_take_programs() {
    let program = "match { tcp port 80 => web(ip[8]), udp => { port 53 => dns } }";
    let explained = stdout(&run(&["explain", "--match", program]));
    assert!(
        explained.contains("if the TCP source or destination port is 80: `web(ip[8])` is called"),
        "{explained}"
    );
    for stage in [
        "tokens",
        "ast",
        "lowered",
        "graph",
        "optimised",
        "anf",
        "ssa",
        "selected",
        "allocated",
        "asm",
        "bytes",
    ] {
        let output = run(&["compile", "--match", "--stage", stage, program]);
        assert_eq!(code(&output), 0, "{stage}: {}", stderr(&output));
        assert!(stdout(&output).len() > 100, "{stage}");
    }
    let traced = run(&["trace", "--match", program, "captures/dns.pcap.zst"]);
    assert_eq!(code(&traced), 0, "{}", stderr(&traced));
    assert!(stdout(&traced).ends_with("  => dns\n"), "{}", stdout(&traced));
    let object = stdout(&run(&["trace", "--match", "--json", program, "captures/dns.pcap.zst"]));
    let object: serde_json::Value = serde_json::from_str(&object).expect("an object");
    assert_eq!((&object["type"], &object["call"]), (&"trace.match".into(), &"dns".into()));
    assert_eq!(object["clauses"].as_array().unwrap().len(), 3);
}

#[test]
fn programs_and_filters_are_written_for_others() {
    let program = "match (mark) { tcp port 80 => web(ip[8]), mark = 3 => marked }";
    let lua = stdout(&run(&["compile", "--match", "--to", "lua", program]));
    assert!(
        lua.contains("self.web(P, length") && lua.contains("return function(self, P, length, mark)"),
        "{lua}"
    );
    let c = stdout(&run(&["compile", "--match", "--to", "c", "--name", "decide", program]));
    assert!(c.contains("decide(") && c.contains("web"), "{c}");
    let refused = run(&["compile", "--match", "--to", "cbpf", program]);
    assert_eq!(code(&refused), 2);
    assert!(
        stderr(&refused).contains("a pfmatch program cannot be written as `cbpf`"),
        "{}",
        stderr(&refused)
    );
    let filter = stdout(&run(&["compile", "--to", "lua", "tcp port 80"]));
    assert!(filter.contains("return function(P, length)"), "{filter}");
    let bytecode = stdout(&run(&["compile", "--to", "cbpf", "tcp port 80"]));
    let again = run_with_input(&["compile", "--bytecode", "-", "--to", "lua"], bytecode.as_bytes());
    assert!(stdout(&again).contains("return function(P, length)"), "{}", stderr(&again));
    let both = run(&["compile", "--to", "lua", "--stage", "asm", "tcp"]);
    assert_eq!(code(&both), 2, "{}", stderr(&both));
}

#[test]
fn clauses_that_are_looked_up_are_told() {
    let clauses: String = (0..90)
        .map(|n| match n % 2 {
            0 => format!("dst host 10.0.0.{n} => a{n}; "),
            _ => format!("tcp src port {n} and tcp[13] & 2 != 0 => b{n}; "),
        })
        .collect();
    let program = format!("match {{ {clauses} vlan => tagged; tcp => rest }}");
    let told = stdout(&run(&["explain", "--match", &program]));
    assert!(told.contains("90 clauses are looked up") && told.contains("1 residual test"), "{told}");
    assert!(told.contains("by source port: 45 boxes"), "{told}");
    let object: serde_json::Value =
        serde_json::from_str(&stdout(&run(&["explain", "--json", "--match", &program]))).unwrap();
    assert_eq!(
        (object["looked_up"]["checks"].as_u64(), object["looked_up"]["outside"].as_u64()),
        (Some(45), Some(2))
    );
    // And counted as filters count.
    let counts = stdout(&run(&["match", "--count", &program, CAPTURE]));
    let plain = format!("match {{ {clauses} otherwise => {{ vlan => tagged; tcp => rest }} }}");
    assert_eq!(stdout(&run(&["match", "--count", &plain, CAPTURE])), counts);
}
