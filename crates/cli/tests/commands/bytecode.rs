//! Bytecode in the place of a filter, libpcap's compiler in the place of ours, and filters as bytecode.

use crate::common::{arg, code, run, run_with_input, scratch, stderr, stdout};

const CAPTURE: &str = "captures/dhcp.pcap";
/// `tcpdump -O -d 'udp port 67'`, for IPv4 only.
const LISTING: &str = "(000) ldh      [12]\n(001) jeq      #0x800           jt 2\tjf 12\n(002) ldb      [23]\n\
    (003) jeq      #0x11            jt 4\tjf 12\n(004) ldh      [20]\n(005) jset     #0x1fff          jt 12\tjf 6\n\
    (006) ldxb     4*([14]&0xf)\n(007) ldh      [x + 14]\n(008) jeq      #0x43            jt 11\tjf 9\n\
    (009) ldh      [x + 16]\n(010) jeq      #0x43            jt 11\tjf 12\n(011) ret      #262144\n(012) ret      #0\n";

fn count(args: &[&str]) -> String {
    let output = run(&[&["filter", "--count", CAPTURE], args].concat());
    assert!(code(&output) < 2, "{args:?}: {}", stderr(&output));
    stdout(&output).trim().to_owned()
}

#[test]
fn a_program_selects_what_its_filter_does() {
    let folder = scratch("bytecode-in");
    let expected = count(&["-f", "ip and udp port 67"]);
    assert_ne!(expected, "0");
    let listing = folder.join("listing");
    std::fs::write(&listing, LISTING).unwrap();
    assert_eq!(count(&["--bytecode", arg(&listing)]), expected);
    assert_eq!(count(&["--bytecode", arg(&listing), "--at", "interp", "--validate", "kernel"]), expected);
    // In each format, from a file and from standard input.
    for format in ["ddd", "dd", "d", "raw", "xt_bpf"] {
        let file = folder.join(format);
        let written =
            run(&["compile", "--to", "cbpf", "--format", format, "-o", arg(&file), "ip and udp port 67"]);
        assert_eq!(code(&written), 0, "{}", stderr(&written));
        assert_eq!(count(&["--bytecode", arg(&file)]), expected, "{format}");
        let bytes = std::fs::read(&file).unwrap();
        let piped = run_with_input(&["filter", "--count", CAPTURE, "--bytecode", "-"], &bytes);
        assert_eq!(stdout(&piped).trim(), expected, "{format}: {}", stderr(&piped));
    }
    // A capture comes out as from a filter.
    let [from_text, from_program] = ["text.pcap", "program.pcap"].map(|name| folder.join(name));
    run(&["filter", CAPTURE, "-f", "ip and udp port 67", "-o", arg(&from_text)]);
    run(&["filter", CAPTURE, "--bytecode", arg(&listing), "-o", arg(&from_program)]);
    assert_eq!(std::fs::read(from_text).unwrap(), std::fs::read(from_program).unwrap());
    let json = stdout(&run(&["filter", CAPTURE, "--count", "--json", "--bytecode", arg(&listing)]));
    let object: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert!(object["filters"][0]["filter"].as_str().unwrap().starts_with("--bytecode "), "{json}");
}

#[test]
fn a_program_is_traced_explained_and_compiled() {
    let folder = scratch("bytecode-stages");
    let file = folder.join("listing");
    std::fs::write(&file, LISTING).unwrap();
    let file = arg(&file);

    let traced = stdout(&run(&["trace", CAPTURE, "-n", "7", "--bytecode", file]));
    assert!(traced.contains("(000) ldh      [12]                             A = 2048 (0x800)"), "{traced}");
    assert!(traced.contains("returns 262144\n  => matches\n"), "{traced}");
    let json = stdout(&run(&["trace", "--json", "-n7", CAPTURE, "--bytecode", file]));
    let object: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(object["instructions"][0]["a"], 0x800);
    assert_eq!((&object["returned"], &object["matches"]), (&262_144.into(), &true.into()));

    let explained = stdout(&run(&["explain", "--bytecode", file]));
    assert!(explained.contains("is the Ethernet type 0x800 (IPv4)? yes: 2, no: 12"), "{explained}");
    assert!(explained.contains("as a decision graph:\nL0:"), "{explained}");
    let json = stdout(&run(&["explain", "--json", "--bytecode", file]));
    let object: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(object["instructions"][2]["words"], "the protocol");

    for stage in ["graph", "optimised", "anf", "ssa", "selected", "allocated", "asm", "bytes"] {
        let printed = run(&["compile", "--stage", stage, "--bytecode", file]);
        assert!(code(&printed) == 0 && !stdout(&printed).is_empty(), "{stage}: {}", stderr(&printed));
    }
    let graph = stdout(&run(&["compile", "--stage", "graph", "--bytecode", file]));
    assert!(graph.contains("; jeq #0x43 jt 11 jf 9"), "the instructions stand beside it: {graph}");
    let c = stdout(&run(&["compile", "--to", "c", "--name", "f", "--bytecode", file]));
    assert!(
        c.starts_with("/*\n * (000) ldh      [12]\n") && c.contains("\nint f(const uint8_t *data"),
        "{c}"
    );
    let early = run(&["compile", "--stage", "ast", "--bytecode", file]);
    assert_eq!(code(&early), 2);
    assert!(stderr(&early).contains("bytecode has no stage `ast`"), "{}", stderr(&early));
}

#[test]
fn libpcap_is_a_second_front() {
    let filter = "udp port 67 or arp";
    let output = run(&["filter", "--count", "--front", "libpcap", filter, CAPTURE]);
    if code(&output) == 3 {
        assert!(stderr(&output).contains("libpcap is not installed"), "{}", stderr(&output));
        return;
    }
    assert_eq!(stdout(&output).trim(), count(&["-f", filter]));
    let traced = stdout(&run(&["trace", "-n7", "--front", "libpcap", filter, CAPTURE]));
    assert!(traced.contains("=> matches"), "{traced}");
    let again = run(&["compile", "--front", "libpcap", "--to", "cbpf", "--format", "d", "arp"]);
    assert!(stdout(&again).contains("jeq      #0x806"), "{}", stdout(&again));
    let refused = run(&["filter", "--count", "--front", "libpcap", "tcp prot 80", CAPTURE]);
    assert_eq!(code(&refused), 2);
    assert!(stderr(&refused).contains("libpcap says: "), "{}", stderr(&refused));
    let looping = run(&["explain", "--front", "libpcap", "ip6 protochain 6"]);
    assert!(code(&looping) == 2 && stderr(&looping).contains("it jumps backwards"), "{}", stderr(&looping));
}

#[test]
fn what_is_wrong_with_a_program_is_told() {
    for (program, flags, told) in [
        ("2\n40 0 0 12\n", &[][..], "the program -: 1 instructions, of 2 that the program announces"),
        (
            "1,5 0 0 0",
            &[],
            "the program is refused: instruction 0: it leads to instruction 1, which does not exist",
        ),
        (
            "2,48 0 0 4294963248,22 0 0 0",
            &[],
            "it loads what the kernel keeps beside a packet: VLAN tag present",
        ),
        ("2,5 0 0 4294967295,6 0 0 0", &[], "it jumps backwards"),
        ("2,52 0 0 0,6 0 0 0", &["--validate", "libpcap"], "instruction 0: a division by zero"),
        ("2,96 0 0 3,6 0 0 0", &["--validate", "kernel"], "instruction 0: M[3] is read"),
        ("1,6 0 0 0", &["--front", "libpcap"], "--front"),
        ("1,6 0 0 0", &["--validate", "nobody"], "nobody"),
    ] {
        let args = [&["filter", "--count", CAPTURE, "--bytecode", "-"], flags].concat();
        let refused = run_with_input(&args, program.as_bytes());
        assert_eq!((code(&refused), stdout(&refused).as_str()), (2, ""), "{program}");
        assert!(stderr(&refused).contains(told), "{program}: {}", stderr(&refused));
    }
    let missing = run(&["filter", "--count", CAPTURE, "--bytecode", "no/such/file"]);
    assert!(
        code(&missing) == 3 && stderr(&missing).contains("cannot read the program no/such/file"),
        "{}",
        stderr(&missing)
    );
    for (words, why) in [
        (&["--format", "d", "arp"][..], "--to"),
        (&["--to", "c", "--format", "d", "arp"], "`--format` is how bytecode is written"),
        (&["--to", "cbpf", "--format", "elf", "arp"], "elf"),
        (&["--to", "cbpf", "ip6 protochain 6"], "needs more than 16 scratch cells"),
        (&["--bytecode", "-", "arp"], "--bytecode"),
    ] {
        let refused = run(&[&["compile"], words].concat());
        assert_eq!((code(&refused), stdout(&refused).as_str()), (2, ""), "{words:?}");
        assert!(stderr(&refused).contains(why), "{words:?}: {}", stderr(&refused));
    }
}
