//! What a copy cannot be, or could not be read from, is told: snap lengths that packets exceed, times that pcap cannot hold, folders that
//! cannot be read, files that somebody else writes to, disks that are full.

use crate::common::{self, arg, block, code, pcap, root, run, run_with_input, scratch, sluss, stderr};
use std::fs;
use std::path::Path;
use std::process::{Command, Output};

fn read(path: &Path) -> Vec<u8> {
    fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// A capture of one packet of 60 bytes whose header states this snap length.
fn with_snap_length(snaplen: u32) -> Vec<u8> {
    let mut capture = pcap(1, 1);
    capture[16..20].copy_from_slice(&snaplen.to_le_bytes());
    capture
}

/// An Ethernet interface, with this offset to its times, in seconds, and a packet at each of these times in microseconds.
fn at_times(offset_s: i64, times: &[u64]) -> Vec<u8> {
    let header = [&[0x4d, 0x3c, 0x2b, 0x1a, 1, 0, 0, 0][..], &[0xff; 8]].concat();
    let offset = [&[14, 0, 8, 0][..], &offset_s.to_le_bytes(), &[0; 4]].concat();
    let interface = [&[1, 0, 0, 0, 0, 0, 0, 0][..], &offset].concat();
    let packet = |&time: &u64| {
        let time = [((time >> 32) as u32).to_le_bytes(), (time as u32).to_le_bytes()].concat();
        block(6, &[&[0; 4][..], &time, &[4, 0, 0, 0, 4, 0, 0, 0], &[2; 4]].concat())
    };
    let packets = times.iter().flat_map(packet);
    block(0x0a0d_0d0a, &header).into_iter().chain(block(1, &interface)).chain(packets).collect()
}

#[test]
fn a_packet_beyond_the_snap_length_is_kept_whole_and_told() {
    let folder = scratch("beyond-snap-length");
    let (input, out) = (folder.join("in.pcap"), folder.join("out.pcap"));
    fs::write(&input, with_snap_length(50)).unwrap();
    let kept = "packets of up to 60 bytes were kept whole, which is more than the snap length of 50";
    let output = run(&["filter", "", arg(&input), "-o", arg(&out)]);
    let told = format!("note: {}: {kept}; the file says 60 now\n", arg(&out));
    assert_eq!((code(&output), stderr(&output)), (0, told));
    assert!(read(&out) == with_snap_length(60));
    assert_eq!(stderr(&run(&["filter", "", arg(&input), "-q", "-o", arg(&out)])), "");
    // What is in a pipe, or in a file that is appended to, is not changed any more.
    let output = run(&["filter", "", arg(&input), "-o", "-"]);
    assert!(output.stdout == with_snap_length(50));
    assert!(stderr(&output).starts_with(&format!("warning: standard output: {kept} in its header, at")));
    let appended = format!("\"$0\" filter '' {} -o - >> {}", arg(&input), arg(&out));
    let output = Command::new("sh").args(["-c", &appended, env!("CARGO_BIN_EXE_sluss")]).output().unwrap();
    assert!(stderr(&output).starts_with("warning: standard output: packets"), "{}", stderr(&output));
    assert!(read(&out) == [with_snap_length(60), with_snap_length(50)].concat());
    // Of several files, once.
    let two = folder.join("two.pcap");
    fs::write(&two, [with_snap_length(50), pcap(1, 1)[24..].to_vec()].concat()).unwrap();
    let output = run(&["filter", "", arg(&two), "--split-packets", "1", "-o", arg(&out)]);
    let told = format!("note: {}: {kept}; the file says 60 now\n", arg(&out));
    assert_eq!((code(&output), stderr(&output)), (0, told));
    for part in ["out-00001.pcap", "out-00002.pcap"] {
        assert!(read(&folder.join(part)) == with_snap_length(60), "{part}");
    }
    // As in pcapng.
    let output = run(&["filter", "", arg(&input), "-o", arg(&folder.join("out.pcapng"))]);
    assert_eq!((code(&output), stderr(&output)), (0, String::new()));
    let count = run(&["filter", "--count", "len = 60 and ether[59] = 0", arg(&input)]);
    assert_eq!(count.stdout, b"1\n");
}

#[test]
fn times_that_pcap_cannot_hold_are_told() {
    const YEAR_2200_US: u64 = 7_258_118_400_000_000;
    let folder = scratch("times");
    let (first, out) = (folder.join("a.pcap"), folder.join("out.pcap"));
    fs::write(&first, pcap(1, 1)).unwrap();
    for (offset_s, times, told) in [
        (0, &[0, YEAR_2200_US][..], Some("the time of 1 packet does not fit pcap, and was set")),
        (0, &[YEAR_2200_US, YEAR_2200_US], Some("the times of 2 packets do not fit pcap, and were set")),
        (-1, &[5, 1_000_005], Some("the time of 1 packet does not fit pcap, and was set")),
        (0, &[0, 5], None),
    ] {
        let second = folder.join("b.pcapng");
        fs::write(&second, at_times(offset_s, times)).unwrap();
        for more in [&["-j1"][..], &["-j2"], &["-j2", "--split-packets", "1"], &["--split-packets", "9"]] {
            let to_pcap = ["filter", "", arg(&first), arg(&second), "-q", "-o", arg(&out)];
            let output = run(&[&to_pcap[..], more].concat());
            let text = stderr(&output);
            let expected = told.map_or_else(String::new, |told| {
                let nearest = "to the nearest that does, from 1970 to 2106";
                format!("error: {}: {told} {nearest}\nhelp: write to a .pcapng file\n", arg(&out))
            });
            assert_eq!((code(&output), text), (if told.is_some() { 5 } else { 0 }, expected), "{more:?}");
        }
        let json = run(&["filter", "", arg(&first), arg(&second), "-q", "--json", "-o", arg(&out)]);
        let summary: serde_json::Value = serde_json::from_slice(&json.stdout).unwrap();
        assert_eq!(summary["complete"], told.is_none());
        // Which has room for them, as has a copy that is selected elsewhere.
        let output = run(&["filter", "", arg(&first), arg(&second), "-o", arg(&folder.join("out.pcapng"))]);
        assert_eq!(code(&output), 0);
        assert_eq!(code(&run(&["filter", "len = 60", arg(&first), arg(&second), "-q", "-o", arg(&out)])), 0);
    }
}

#[test]
fn times_before_1970_are_printed_as_they_are() {
    let file = scratch("early-times").join("early.pcapng");
    fs::write(&file, at_times(-1, &[5, 1_000_005])).unwrap();
    let lines = String::from_utf8(run(&["filter", "--lines", "", arg(&file)]).stdout).unwrap();
    let times: Vec<_> = lines.lines().filter_map(|line| line.split(' ').next()).collect();
    assert_eq!(times, ["1969-12-31T23:59:59.000005Z", "1970-01-01T00:00:00.000005Z"]);
}

/// Runs the command, of which a copy is in this folder, as a user who may not read everything; `None`, said aloud, where that cannot be.
fn as_nobody(folder: &Path, arguments: &[&str]) -> Option<Output> {
    for _ in 0..100 {
        let mut command = Command::new("setpriv");
        command.args(["--reuid=65534", "--regid=65534", "--clear-groups"]).arg(folder.join("sluss"));
        match command.args(arguments).current_dir(folder).output() {
            // Another test has just forked while the copy was written.
            Ok(output) if stderr(&output).contains("Text file busy") => {
                std::thread::sleep(std::time::Duration::from_millis(20));
            }
            Ok(output) if !stderr(&output).contains("setpriv: ") => return Some(output),
            _ => break,
        }
    }
    common::say("SKIPPED: folders that cannot be read: run as root, with setpriv (util-linux)");
    None
}

#[test]
fn a_folder_that_cannot_be_read_costs_only_itself() {
    use std::os::unix::fs::PermissionsExt;
    // Not below the target folder, which may be in a folder that only its owner can reach.
    let folder = std::env::temp_dir().join(format!("sluss-unreadable-{}", std::process::id()));
    drop(fs::remove_dir_all(&folder));
    for name in ["d/a", "d/lost+found", "e"] {
        fs::create_dir_all(folder.join(name)).unwrap();
        fs::write(folder.join(name).join("x.pcap"), pcap(1, 3)).unwrap();
    }
    for name in ["d/lost+found", "e"] {
        fs::set_permissions(folder.join(name), fs::Permissions::from_mode(0o700)).unwrap();
    }
    fs::copy(env!("CARGO_BIN_EXE_sluss"), folder.join("sluss")).unwrap();
    let denied = |name: &str| format!("error: {name}: cannot open: Permission denied (os error 13)\n");
    for (words, counted, told, exit) in [
        (&["d"][..], "3\n", denied("d/lost+found"), 5),
        (&["d/*/*.pcap"], "3\n", denied("d/lost+found"), 5),
        (&["d/**/x.pcap", "d"], "6\n", denied("d/lost+found"), 5),
        (&["e", "d/a"], "3\n", denied("e"), 5),
        (&["e"], "", denied("e"), 3),
        (&["e/*.pcap"], "", denied("e"), 3),
        (&["e", "d/lost+found"], "", [denied("e"), denied("d/lost+found")].concat(), 3),
    ] {
        let Some(output) = as_nobody(&folder, &[&["filter", "--count", ""][..], words].concat()) else {
            break;
        };
        let seen = (common::stdout(&output), stderr(&output), code(&output));
        assert_eq!(seen, (counted.to_owned(), told, exit), "{words:?}");
    }
    fs::remove_dir_all(&folder).unwrap();
}

/// A file system may find that it has no room only when a file is closed; strace(1) says that for it.
#[test]
fn what_the_system_says_on_close_is_an_error() {
    let folder = scratch("close");
    let (input, out) = (folder.join("in.pcap"), folder.join("out.pcap"));
    fs::write(&input, pcap(1, 3)).unwrap();
    let graph = folder.join("copy.toml");
    let text = "[app]\nr = { type = \"pcap_reader\", path = \"in.pcap\" }\nw = { type = \"pcap_writer\", path = \"out.pcap\" }\n\n[links]\nlinks = [\"r.output -> w.input\"]\n";
    fs::write(&graph, text).unwrap();
    let sluss = env!("CARGO_BIN_EXE_sluss");
    for (command, exit) in [
        (format!("{sluss} filter '' in.pcap -o out.pcap"), 3),
        (format!("{sluss} filter '' in.pcap -o - > out.pcap"), 3),
        (format!("{sluss} filter --lines '' in.pcap > out.pcap"), 3),
        (format!("{sluss} filter --count '' in.pcap > out.pcap"), 3),
        (format!("{sluss} filter --help > out.pcap"), 3),
    ] {
        let traced = format!(
            "exec strace -f -qq -o /dev/null -P {} -e trace=close -e inject=close:error=EDQUOT {command}",
            arg(&out)
        );
        let output = Command::new("sh").args(["-c", &traced]).current_dir(&folder).output().unwrap();
        let told = stderr(&output);
        if told.contains("strace: ") || told.contains("not found") {
            common::say(
                "SKIPPED: errors of close(2): install strace (Debian), where processes may be traced",
            );
            return;
        }
        assert!(code(&output) == exit && told.contains("Disk quota exceeded"), "{command}: {told}");
    }
}

#[test]
fn an_output_that_somebody_else_writes_to_stays_as_it_is() {
    let folder = scratch("locked");
    let (input, out, other) = (folder.join("in.pcap"), folder.join("out.pcap"), folder.join("new.pcap"));
    fs::write(&input, pcap(1, 3)).unwrap();
    fs::write(&out, "what another writes").unwrap();
    let lock = fs::File::options().append(true).open(&out).unwrap();
    lock.lock().unwrap();
    let both = ["filter", arg(&input), "-f", "", "-o", arg(&other), "-f", "ip", "-o", arg(&out)];
    let output = run(&both);
    let told = format!("error: {}: cannot write: another process is writing to it\n", arg(&out));
    assert_eq!((code(&output), stderr(&output)), (3, told));
    assert!(read(&out) == b"what another writes" && !other.exists());
    drop(lock);
    assert_eq!(code(&run(&both)), 0);
}

/// As many as would take hours if each were compared with all others, and more than a process may open at first.
#[test]
fn thousands_of_outputs_take_a_descriptor_each_and_no_longer_than_they_must() {
    let folder = scratch("thousands");
    let input = folder.join("in.pcap");
    fs::write(&input, pcap(1, 5)).unwrap();
    let outputs = 1900;
    let pairs = (0..outputs)
        .flat_map(|i| ["-f".to_owned(), format!("len > {}", i % 100), "-o".to_owned(), format!("o{i}.pcap")]);
    let arguments: Vec<String> = pairs.collect();
    let mut command = Command::new("sh");
    let limited = "ulimit -Sn 64 && ulimit -Hn 2200 && exec \"$0\" filter in.pcap -q \"$@\"";
    command.args(["-c", limited, env!("CARGO_BIN_EXE_sluss")]).args(&arguments).current_dir(&folder);
    let output = command.output().unwrap();
    if stderr(&output).contains("setting limit") {
        return common::say("SKIPPED: a process with few descriptors: the shell cannot limit them");
    }
    assert_eq!((code(&output), stderr(&output)), (0, String::new()));
    for i in 0..outputs {
        let packets = if i % 100 < 60 { 5 } else { 0 };
        assert!(read(&folder.join(format!("o{i}.pcap"))) == pcap(1, packets), "{i}");
    }
    // Beyond what the system gives, the flag of the shell is named, and nothing is left.
    let limited = limited.replace("2200", "70");
    let mut command = Command::new("sh");
    let folder = scratch("thousands-few");
    fs::write(folder.join("in.pcap"), pcap(1, 5)).unwrap();
    command.args(["-c", &limited, env!("CARGO_BIN_EXE_sluss")]).args(&arguments[..400]).current_dir(&folder);
    let output = command.output().unwrap();
    assert!(code(&output) == 3 && stderr(&output).contains("ulimit -Hn"), "{}", stderr(&output));
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 1);
}

/// The number of calls to the file system grows as the number of outputs does, not as its square.
#[test]
fn each_output_takes_a_few_calls_to_the_file_system() {
    let folder = scratch("calls");
    fs::write(folder.join("in.pcap"), pcap(1, 5)).unwrap();
    let calls = |outputs: usize| {
        let pairs = (0..outputs)
            .flat_map(|i| ["-f".to_owned(), "ip".to_owned(), "-o".to_owned(), format!("o{i}.pcap")]);
        let mut command = Command::new("strace");
        command.args(["-f", "-qq", "-o", "trace", env!("CARGO_BIN_EXE_sluss"), "filter", "in.pcap", "-q"]);
        let output = command.args(pairs).current_dir(&folder).output().ok()?;
        (code(&output) == 0).then(|| String::from_utf8_lossy(&read(&folder.join("trace"))).lines().count())
    };
    let (Some(few), Some(many)) = (calls(100), calls(300)) else {
        return common::say(
            "SKIPPED: calls to the file system: install strace (Debian), where processes may be traced",
        );
    };
    assert!(many - few < 200 * 40, "{few} calls with 100 outputs, {many} with 300");
}

#[test]
fn all_outputs_that_a_full_disk_cut_short_are_named() {
    let folder = scratch("full");
    let files = vec!["captures/web.pcap"; 400];
    let outs = ["a.pcap", "b.pcap", "c.pcap", "d.pcap"].map(|name| folder.join(name));
    // The third has room for the little that it gets; a limit on the length of files stands for a disk that is full.
    let filters = ["", "ip or ip6 or arp", "len > 100000", "len > 0"];
    let pairs = outs.iter().zip(filters).map(|(out, filter)| format!("-f '{filter}' -o {}", arg(out)));
    let script = format!(
        "trap '' XFSZ; ulimit -f 257; exec \"$0\" filter -j 1 {} {}",
        pairs.collect::<Vec<_>>().join(" "),
        files.join(" ")
    );
    let mut command = Command::new("sh");
    let output =
        command.args(["-c", &script, env!("CARGO_BIN_EXE_sluss")]).current_dir(root()).output().unwrap();
    let told = stderr(&output);
    assert_eq!(code(&output), 3, "{told}");
    for (i, out) in outs.iter().enumerate().filter(|(i, _)| *i != 2) {
        let len = read(out).len();
        let expected = format!(
            "error: {}: cannot write: File too large (os error 27); it holds the packets before that, {len} bytes\n",
            arg(out)
        );
        assert!(told.contains(&expected), "{i} {told}");
    }
    // The run ends with them.
    let note = format!(
        "note: the run ended there: what would have followed is missing as well in {}\n",
        arg(&outs[2])
    );
    assert!(told.ends_with(&note) && told.lines().count() == 4, "{told}");
}

#[test]
fn no_memory_for_zstd_is_the_systems_fault() {
    let folder = scratch("no-memory");
    let packed = folder.join("in.pcap.zst");
    // A frame with a history of 128 MiB, of one block that is not compressed (RFC 8878, 3.1.1).
    let block = pcap(1, 3);
    let header = (block.len() as u32) << 3 | 1;
    let frame = [&[0x28, 0xb5, 0x2f, 0xfd, 0, 0x88][..], &header.to_le_bytes()[..3], &block].concat();
    fs::write(&packed, frame).unwrap();
    assert_eq!(run(&["filter", "--count", "", arg(&packed)]).stdout, b"3\n");
    let script = format!("ulimit -v 100000; exec \"$0\" filter --count -j 1 '' {}", arg(&packed));
    let output = Command::new("sh").args(["-c", &script, env!("CARGO_BIN_EXE_sluss")]).output().unwrap();
    let told = format!("error: {}: byte 0 (decompressed): cannot read: out of memory\n", arg(&packed));
    assert_eq!((code(&output), stderr(&output)), (3, told));
}

#[test]
fn captures_in_other_formats_are_told_with_what_converts_them() {
    let folder = scratch("formats");
    let mut tar = vec![0; 10_240];
    tar[..8].copy_from_slice(b"web.pcap");
    tar[257..263].copy_from_slice(b"ustar\0");
    for (name, bytes, told) in [
        (
            "a.btsnoop",
            &b"btsnoop\0\0\0\0\x01\0\0\x03\xea"[..],
            "a btsnoop capture; convert it with `editcap`",
        ),
        ("a.tar", &tar, "a tar archive; unpack it first with `tar -xf`"),
    ] {
        let file = folder.join(name);
        fs::write(&file, bytes).unwrap();
        for output in [
            run(&["filter", "--count", "", arg(&file)]),
            run_with_input(&["filter", "--count", "", "-"], bytes),
        ] {
            assert!(code(&output) == 5 && stderr(&output).trim_end().ends_with(told), "{}", stderr(&output));
        }
    }
}

#[test]
fn mixed_inputs_that_will_be_refused_leave_no_output() {
    let folder = scratch("mixed");
    let (out, raw) = (folder.join("out.pcap"), folder.join("raw.pcap"));
    let (first, fcs) = (folder.join("first.pcap"), folder.join("fcs.pcap"));
    let blocks = folder.join("blocks.pcapng");
    fs::write(&first, pcap(1, 3)).unwrap();
    fs::write(&raw, pcap(101, 3)).unwrap();
    fs::write(&fcs, pcap(0x2400_0001, 3)).unwrap();
    fs::write(&blocks, [common::section(&[1, 101]), common::enhanced(0), common::enhanced(1)].concat())
        .unwrap();
    let filter = |words: &[&str], inputs: &[&Path]| {
        let inputs: Vec<&str> = inputs.iter().map(|&path| arg(path)).collect();
        sluss(&[&["filter", "-q"], words, &inputs[..], &["-o", arg(&out)]].concat()).output().unwrap()
    };
    for (inputs, told) in [
        (&[&first, &raw][..], "packets of link type RAW cannot follow EN10MB in one pcap file"),
        (&[&first, &first, &fcs], "with 4 bytes of frame check sequence cannot follow"),
        (&[&first, &blocks], "packets of link type RAW cannot follow EN10MB"),
    ] {
        for jobs in ["-j1", "-j2"] {
            let inputs: Vec<&Path> = inputs.iter().map(|path| path.as_path()).collect();
            let output = filter(&[jobs, ""], &inputs);
            assert!(code(&output) == 2 && stderr(&output).contains(told), "{}", stderr(&output));
            assert!(!out.exists());
        }
    }
    // What does not match need not fit, nor what comes behind enough.
    assert_eq!(code(&filter(&["ether host 2:0:0:0:0:1"], &[&first, &raw])), 0);
    assert_eq!(code(&filter(&["", "-c", "3"], &[&first, &raw])), 0);
}
