//! The snap length of a pcap output that several inputs go into.

use crate::common::{self, arg, code, root, run, scratch, stderr};

fn read(path: &std::path::Path) -> Vec<u8> {
    std::fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// A capture of one packet, with this snap length.
fn with_snap_length(snaplen: u32) -> Vec<u8> {
    let mut capture = common::pcap(1, 1);
    capture[16..20].copy_from_slice(&snaplen.to_le_bytes());
    capture
}

#[test]
fn the_snap_length_is_the_largest_of_the_inputs() {
    let folder = scratch("snap-lengths");
    let (inputs, out) = (folder.join("inputs"), folder.join("out.pcap"));
    std::fs::create_dir_all(&inputs).unwrap();
    let file = |name: &str, bytes: &[u8]| std::fs::write(inputs.join(name), bytes).unwrap();
    let web = read(&root().join("captures/web.pcap"));
    let mut expected = web.clone();
    expected.splice(24..24, with_snap_length(60)[24..].iter().copied());
    file("a.pcap", &with_snap_length(60));
    file("b.pcap", &web);
    for flag in ["-j1", "-j2", "-c9999999"] {
        let output = run(&["filter", flag, "", arg(&inputs), "-q", "-o", arg(&out)]);
        assert!(code(&output) == 0 && read(&out) == expected, "{flag}: {}", stderr(&output));
        assert!(run(&["filter", flag, "", arg(&inputs), "-q", "-o", "-"]).stdout == expected, "{flag}");
    }
    // Of one input it is kept, as of several that have the same, and others count only if their packets can come.
    let snap_length = |names: &[&str]| {
        let paths: Vec<_> = names.iter().map(|name| inputs.join(name)).collect();
        let paths: Vec<&str> = paths.iter().map(|path| arg(path)).collect();
        let filter = "ether host 02:00:00:00:00:01";
        let output = run(&[&["filter", "-q", filter, "-o", "-"][..], &paths].concat());
        u32::from_le_bytes(output.stdout[16..20].try_into().unwrap())
    };
    let ethernet = |snaplen: u32| {
        let interface = [&[1, 0, 0, 0][..], &snaplen.to_le_bytes()].concat();
        [common::section(&[]), common::block(1, &interface)].concat()
    };
    file("c.pcap", &with_snap_length(100));
    file("d.pcapng", &ethernet(200));
    file("e.pcapng", &ethernet(0));
    let mut raw = with_snap_length(5000);
    raw[20] = 101;
    file("f.pcap", &raw);
    for (names, expected) in [
        (&["a.pcap"][..], 60),
        (&["a.pcap", "a.pcap"], 60),
        (&["a.pcap", "c.pcap", "a.pcap"], 100),
        (&["c.pcap", "a.pcap"], 100),
        (&["a.pcap", "d.pcapng", "c.pcap"], 200),
        (&["a.pcap", "e.pcapng"], 262_144),
        (&["a.pcap", "f.pcap"], 60),
        (&["a.pcap", "none.pcap", "c.pcap"], 100),
    ] {
        assert_eq!(snap_length(names), expected, "{names:?}");
    }
}

/// What comes through a pipe is not known when the output begins: it raises the snap length of a file.
#[test]
fn packets_from_a_pipe_may_exceed_the_snap_length_of_a_file() {
    let folder = scratch("over-snaplen");
    let (short, out) = (folder.join("a.pcap"), folder.join("out.pcap"));
    std::fs::write(&short, with_snap_length(60)).unwrap();
    let web = read(&root().join("captures/web.pcap"));
    let input = ["filter", "", arg(&short), "-", "-o", arg(&out)];
    let output = common::run_with_input(&input, &web);
    let mut expected = [&with_snap_length(60), &web[24..]].concat();
    let longest = longest_record(&web);
    expected[16..20].copy_from_slice(&longest.to_le_bytes());
    let told = format!("snap length of 60; the file says {longest} now\n");
    assert!(code(&output) == 0 && stderr(&output).ends_with(&told), "{}", stderr(&output));
    assert!(read(&out) == expected);
}

/// The length of the longest record of a pcap file.
fn longest_record(file: &[u8]) -> u32 {
    let (mut at, mut longest) = (24, 0);
    while at < file.len() {
        let len = u32::from_le_bytes(file[at + 8..at + 12].try_into().unwrap());
        (at, longest) = (at + 16 + len as usize, longest.max(len));
    }
    longest
}
