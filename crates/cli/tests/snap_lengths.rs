//! The snap length of a pcap output that several inputs go into.

mod common;

use common::{arg, code, root, run, scratch, stderr};

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
        let output = run(&[&["filter", "-q", "", "-o", "-"][..], &paths].concat());
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

/// What comes through a pipe is not known when the output begins.
#[test]
fn a_packet_beyond_the_snap_length_is_told_with_both_ways_out() {
    let folder = scratch("over-snaplen");
    let short = folder.join("a.pcap");
    std::fs::write(&short, with_snap_length(60)).unwrap();
    let web = read(&root().join("captures/web.pcap"));
    let join = |name: &str, inputs: [&str; 2]| {
        let out = folder.join(name);
        common::run_with_input(&["filter", "", inputs[0], inputs[1], "-q", "-o", arg(&out)], &web)
    };
    let output = join("out.pcap", [arg(&short), "-"]);
    let help = "name the input with the largest snap length first, or write to a .pcapng file\n";
    assert!(code(&output) == 2 && stderr(&output).ends_with(help), "{}", stderr(&output));
    assert_eq!(code(&join("out.pcap", ["-", arg(&short)])), 0);
    assert_eq!(code(&join("out.pcapng", [arg(&short), "-"])), 0);
}
