//! What captures are written as: `--format`, and compressed where the name says so; read again by other programs.

use crate::common::{self, arg, code, root, run, say, scratch, sluss, stderr, stdout};
use std::path::Path;
use std::process::{Command, Output};

fn read(path: &Path) -> Vec<u8> {
    std::fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// What a program prints; nothing where it is not installed, which is said.
fn program(test: &str, words: &[&str]) -> Option<Output> {
    let output = Command::new(words[0]).args(&words[1..]).current_dir(root()).output();
    if output.is_err() {
        say(&format!("skipped in part: {test} needs `{}`", words[0]));
    }
    let output = output.ok()?;
    assert!(output.status.success(), "{words:?}: {}", stderr(&output));
    Some(output)
}

const PCAPNG: [u8; 4] = [0x0a, 0x0d, 0x0d, 0x0a];

#[test]
fn names_compress() {
    const TEST: &str = "names_compress";
    let folder = scratch("compressed");
    for (input, name) in [
        ("captures/web.pcap", "out.pcap"),
        ("captures/web.pcap", "out.pcapng"),
        ("captures/router.pcapng", "out.pcapng"),
        ("captures/ntp-nano.pcap", "plain"),
        ("captures/dns.pcap.zst", "out.pcap"),
    ] {
        let plain = folder.join(name);
        assert_eq!(code(&run(&["filter", "ip", input, "-o", arg(&plain)])), 0);
        for (ending, unpack) in [("gz", "gzip"), ("zst", "zstd"), ("GZ", "gzip")] {
            let packed = folder.join(format!("{name}.{ending}"));
            let output = run(&["filter", "ip", input, "-o", arg(&packed)]);
            assert_eq!((code(&output), stderr(&output)), (0, String::new()));
            assert!(read(&packed).len() < read(&plain).len());
            let text = std::fs::File::open(&packed).unwrap();
            match Command::new(unpack).arg("-dc").stdin(text).output() {
                Err(_) => say(&format!("skipped in part: {TEST} needs `{unpack}`")),
                Ok(unpacked) => assert!(unpacked.stdout == read(&plain), "{input} {name}.{ending}"),
            }
            let count = |path: &Path| stdout(&run(&["filter", "--count", "", arg(path)]));
            assert_eq!(count(&packed), count(&plain));
            program(TEST, &[unpack, "-tq", arg(&packed)]);
            for words in [&["capinfos", "-M", "-c"][..], &["tshark", "-n", "-r"]] {
                program(TEST, &[words, &[arg(&packed)]].concat());
            }
        }
    }
}

/// More than a member has, so that the programs of others have several to join.
#[test]
fn members_are_joined_by_others() {
    const TEST: &str = "members_are_joined_by_others";
    let folder = scratch("members");
    let files = vec!["captures/web.pcap"; 500];
    let plain = folder.join("out.pcap");
    run(&[&["filter", "", "-o", arg(&plain)][..], &files].concat());
    assert!(read(&plain).len() > 3 << 20);
    let packets: u64 = stdout(&run(&["filter", "--count", "", arg(&plain)])).trim().parse().unwrap();
    for ending in ["gz", "zst"] {
        let packed = folder.join(format!("out.pcap.{ending}"));
        let output = run(&[&["filter", "", "-o", arg(&packed)][..], &files].concat());
        assert_eq!(code(&output), 0, "{}", stderr(&output));
        let unpack = if ending == "gz" { "gzip" } else { "zstd" };
        let Some(unpacked) = program(TEST, &[unpack, "-dc", arg(&packed)]) else { continue };
        assert!(unpacked.stdout == read(&plain), "{ending}");
        if let Some(told) = program(TEST, &["capinfos", "-M", "-c", "-T", "-r", arg(&packed)]) {
            assert!(stdout(&told).trim_end().ends_with(&format!("\t{packets}")), "{}", stdout(&told));
        }
        // tcpdump reads no compressed files.
        let unpacked = folder.join("unpacked.pcap");
        std::fs::write(&unpacked, program(TEST, &[unpack, "-dc", arg(&packed)]).unwrap().stdout).unwrap();
        if let Some(lines) = program(TEST, &["tcpdump", "-n", "-r", arg(&unpacked)]) {
            assert_eq!(stdout(&lines).lines().count() as u64, packets);
        }
    }
}

#[test]
fn parts_and_selections_are_compressed_each() {
    let folder = scratch("compressed-parts");
    let out = |name: &str| folder.join(name);
    let args = ["filter", "", "captures/web.pcap", "--split-packets", "50", "-o"];
    let output = run(&[&args[..], &[arg(&out("p.pcap.gz"))]].concat());
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    let mut parts: Vec<_> = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    parts.sort();
    assert!(parts[0].ends_with("p-00001.pcap.gz") && parts.len() > 1, "{parts:?}");
    let mut sum = 0;
    for part in &parts {
        assert_eq!(read(part)[..2], [0x1f, 0x8b]);
        sum += stdout(&run(&["filter", "--count", "", arg(part)])).trim().parse::<u64>().unwrap();
    }
    assert_eq!(sum.to_string(), stdout(&run(&["filter", "--count", "", "captures/web.pcap"])).trim());
    let (tcp, udp) = (out("tcp.pcap.zst"), out("udp.pcapng.gz"));
    let output =
        run(&["filter", "captures/web.pcap", "-f", "tcp", "-o", arg(&tcp), "-f", "udp", "-o", arg(&udp)]);
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    assert_eq!((&read(&tcp)[..4], &read(&udp)[..2]), (&[0x28, 0xb5, 0x2f, 0xfd][..], &[0x1f, 0x8b][..]));
}

/// As a disk that is full: what was written is sound, as far as there is a whole member.
#[test]
fn a_compressed_file_that_takes_no_more_is_sound() {
    let folder = scratch("compressed-no-more");
    let (noise, out) = (folder.join("noise.pcap"), folder.join("out.pcap.gz"));
    let mut bytes = common::pcap(1, 0);
    let mut state = 1_u64;
    for _ in 0..4_000 {
        let words = [1_u32, 0, 1000, 1000];
        bytes.extend(words.iter().flat_map(|word| word.to_le_bytes()));
        bytes.extend((0..1000).map(|_| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 33) as u8
        }));
    }
    std::fs::write(&noise, bytes).unwrap();
    // In units of 512 bytes.
    let script =
        format!("trap '' XFSZ; ulimit -f 5000; exec \"$0\" filter '' {} -o {}", arg(&noise), arg(&out));
    let output = Command::new("sh").args(["-c", &script, env!("CARGO_BIN_EXE_sluss")]).output().unwrap();
    assert_eq!(code(&output), 3, "{}", stderr(&output));
    assert!(stderr(&output).contains("it holds the packets before that"), "{}", stderr(&output));
    let output = run(&["filter", "--count", "", arg(&out)]);
    assert_eq!((code(&output), stderr(&output)), (0, String::new()));
    assert!(stdout(&output).trim().parse::<u32>().unwrap() > 1000);
}

#[test]
fn a_format_is_asked_for() {
    const TEST: &str = "a_format_is_asked_for";
    let folder = scratch("format");
    let out = folder.join("out");
    let fields = |path: &str| {
        let names = "frame.time_epoch,frame.len,frame.cap_len,eth.src,ip.src,ip.id,tcp.seq,udp.length";
        stdout(&run(&["filter", "--fields", names, "", path]))
    };
    for (input, format) in [
        ("captures/router.pcapng", "pcap"),
        ("captures/ntp-nano.pcap", "pcapng"),
        ("captures/web.pcap", "pcapng"),
        ("captures/web.pcap", "pcap"),
        ("captures/cooked-sll2.pcap", "pcapng"),
    ] {
        let output = run(&["filter", "", input, "--format", format, "-o", arg(&out)]);
        assert_eq!((code(&output), stderr(&output)), (0, String::new()), "{input}");
        assert_eq!(read(&out)[..4] == PCAPNG, format == "pcapng");
        assert_eq!(fields(arg(&out)), fields(input), "{input}");
        let piped = sluss(&["filter", "", input, "--format", format, "-o", "-"]).output().unwrap();
        assert!(piped.stdout == read(&out), "{input}");
        let piped = common::run_with_input(
            &["filter", "", "-", "--format", format, "-o", "-"],
            &read(&root().join(input)),
        );
        assert!(piped.stdout == read(&out), "{input} from a pipe: {}", stderr(&piped));
        program(TEST, &["tcpdump", "-n", "-r", arg(&out)]);
        if let Some(told) = program(TEST, &["capinfos", "-t", "-M", "-T", "-r", arg(&out)]) {
            let told = stdout(&told);
            let is_pcapng = told.contains("pcapng");
            assert_eq!(is_pcapng, format == "pcapng", "{told}");
        }
    }
    // Without packets as well.
    let output =
        run(&["filter", "udp port 9", "captures/router.pcapng", "--format", "pcap", "-o", arg(&out)]);
    assert_eq!((code(&output), read(&out).len()), (1, 24), "{}", stderr(&output));
}

#[test]
fn interfaces_of_several_link_types_do_not_fit_pcap() {
    let folder = scratch("format-mixed");
    let (input, out) = (folder.join("in.pcapng"), folder.join("out.pcap"));
    let packets = [common::enhanced(0), common::enhanced(1)].concat();
    std::fs::write(&input, [common::section(&[1, 101]), packets].concat()).unwrap();
    let output = run(&["filter", "", arg(&input), "--format", "pcap", "-o", arg(&out)]);
    assert_eq!(code(&output), 2, "{}", stderr(&output));
    assert!(stderr(&output).contains("filter them apart"), "{}", stderr(&output));
    let output = run(&["filter", "-c1", "", arg(&input), "--format", "pcap", "-o", arg(&out)]);
    assert_eq!((code(&output), read(&out).len()), (0, 24 + 16 + 60), "{}", stderr(&output));
}

#[test]
fn what_is_not_written_is_told() {
    let told = |args: &[&str]| {
        let output = run(&[&["filter", "ip", "captures/web.pcap"], args].concat());
        assert_eq!(code(&output), 2, "{args:?}");
        stderr(&output)
    };
    for (args, words) in [
        (&["-o", "out.pcap.xz"][..], "out.pcap.xz: outputs are compressed by gzip or zstd, not by xz"),
        (&["-o", "out.PCAP.BZ2"], "not by bzip2"),
        (
            &["-o", "out.pcapng", "--format", "pcap"],
            "`--format pcap` and the name out.pcapng say different things",
        ),
        (&["-o", "o.pcap.gz", "--format", "pcapng"], "name a file that ends in .pcapng"),
        (&["--format", "pcap"], "-o"),
        (&["-o", "x", "--format", "erf"], "pcapng"),
    ] {
        assert!(told(args).contains(words), "{args:?}: {}", told(args));
    }
    assert!(!root().join("out.pcap.xz").exists());
}
