//! Filters on captures of several link types: where they exist, where they do not, and where no packet asks.

use crate::common::{self, arg, code, run, run_with_input, scratch, stderr, stdout, told};

/// What no Ethernet capture has, and no cooked or raw one understands.
const ETHER: &str = "ether host 02:00:00:00:00:01";
const COOKED: u8 = 113;
const RAW: u32 = 101;

#[test]
fn an_interface_without_packets_is_nothing_to_a_filter() {
    let folder = scratch("no-packets-of-it");
    let (statistics, names) = (common::block(5, &[0; 12]), common::block(4, &[0; 4]));
    let begin = common::section(&[COOKED, 1]);
    let packets = |count| common::enhanced(1).repeat(count);
    for (name, file, count) in [
        // Blocks alone behind a full batch, and before the first packet.
        ("statistics", [&begin[..], &packets(256), &statistics.repeat(2)].concat(), 256),
        ("names", [&begin[..], &names.repeat(300), &packets(3)].concat(), 3),
        ("both", [&begin[..], &names.repeat(600), &packets(512), &statistics].concat(), 512),
    ] {
        let path = folder.join(name);
        std::fs::write(&path, &file).unwrap();
        let expected = (0, format!("{count}\n"));
        for inputs in [&[arg(&path)][..], &["-"]] {
            let output = run_with_input(&[&["filter", "--count", ETHER], inputs].concat(), &file);
            assert_eq!((code(&output), stdout(&output)), expected, "{inputs:?}: {}", stderr(&output));
        }
        // Nor is a capture without any, wherever it stands.
        let empty = folder.join("empty.pcap");
        std::fs::write(&empty, common::pcap(RAW, 0)).unwrap();
        for jobs in ["1", "2"] {
            let args = ["filter", "--count", ETHER, "-j", jobs, arg(&empty), arg(&path), arg(&empty)];
            let output = run(&args);
            assert_eq!((code(&output), stdout(&output)), expected, "{args:?}: {}", stderr(&output));
        }
    }
}

#[test]
fn a_filter_wrong_for_a_capture_without_packets_is_told() {
    let folder = scratch("wrong-for-nothing");
    let (path, out) = (folder.join("in"), folder.join("out"));
    for file in [common::pcap(RAW, 0), common::section(&[COOKED, RAW as u8])] {
        std::fs::write(&path, &file).unwrap();
        std::fs::write(&out, "precious").unwrap();
        assert_eq!(code(&run(&["filter", ETHER, arg(&path), "-o", arg(&out)])), 2);
        assert_eq!(std::fs::read(&out).unwrap(), b"precious");
        assert_eq!(code(&run_with_input(&["filter", "--count", ETHER, "-"], &file)), 2);
        let output = run_with_input(&["filter", "ether hsot 2:0:0:0:0:1", "-o", arg(&out)], &file);
        assert_eq!((code(&output), std::fs::read(&out).unwrap()), (2, b"precious".to_vec()));
        // What is cut off might have had packets.
        let mut cut = common::section(&[COOKED]);
        cut.extend([5, 0, 0, 0]);
        assert_eq!(code(&run_with_input(&["filter", "--count", ETHER, "-"], &cut)), 5);
    }
}

#[test]
fn packets_of_another_linktype_have_the_name_of_their_capture() {
    let folder = scratch("named-misfit");
    let (first, raw) = (folder.join("first.pcap"), folder.join("raw.pcap"));
    std::fs::write(&first, common::pcap(1, 1)).unwrap();
    std::fs::write(&raw, common::pcap(RAW, 1)).unwrap();
    let out = folder.join("out.pcap");
    for (args, exit) in [(&["filter", "--count", ETHER][..], 0), (&["filter", "", "-o", arg(&out)], 2)] {
        let args = [args, &[arg(&first), arg(&raw)]].concat();
        let output = run(&args);
        assert_eq!(code(&output), exit);
        assert!(stderr(&output).contains("raw.pcap"), "{}", stderr(&output));
        let [told] = &told(&run(&[&args[..], &["--json"]].concat()))[..] else { panic!("{args:?}") };
        assert_eq!(told["file"], arg(&raw));
    }
}

/// Without a link-layer address, a host or anything else that filters ask about.
const USB: u8 = 189;

#[test]
fn an_interface_of_an_odd_linktype_does_not_keep_the_others_from_a_filter() {
    let folder = scratch("odd-interface");
    let (path, out) = (folder.join("in.pcapng"), folder.join("out.pcapng"));
    let packets = |interface, count| common::enhanced(interface).repeat(count);
    for (linktypes, odd) in [([USB, 1], 0), ([1, USB], 1)] {
        let parts = [packets(0, 300), packets(1, 2), packets(odd, 1), packets(1 - odd, 1)];
        let file = [common::section(&linktypes), parts.concat()].concat();
        std::fs::write(&path, &file).unwrap();
        let (matching, others) = if odd == 0 { (3, 301) } else { (301, 3) };
        for inputs in [arg(&path), "-"] {
            let output = run_with_input(&["filter", "--count", "ip", inputs], &file);
            assert_eq!((code(&output), stdout(&output)), (0, format!("{matching}\n")), "{}", stderr(&output));
            let name = if inputs == "-" { "standard input" } else { inputs };
            let start = format!(
                "warning: {name}: {others} packets of link type USB_LINUX from interface {odd} cannot match: "
            );
            let told = stderr(&output);
            assert!(told.starts_with(&start) && told.lines().count() == 1, "{told}");
        }
        let output = run(&["filter", "-q", "ip", arg(&path), "-o", arg(&out)]);
        assert_eq!((code(&output), stderr(&output)), (0, String::new()));
        assert_eq!(stdout(&run(&["filter", "--count", "", arg(&out)])), format!("{matching}\n"));
        // What does not exist for one of them is told with its name; for none, it is wrong.
        let output = run(&["filter", "--count", arg(&path), "-f", "ip", "-f", "len > 5"]);
        assert_eq!(stdout(&output), format!("{matching}\tip\n{}\tlen > 5\n", matching + others));
        assert!(stderr(&output).contains("cannot match `ip`: "), "{}", stderr(&output));
        std::fs::write(&out, "precious").unwrap();
        let output =
            run(&["filter", arg(&path), "-f", "ip", "-o", "/dev/null", "-f", "lane", "-o", arg(&out)]);
        assert_eq!((code(&output), std::fs::read(&out).unwrap()), (2, b"precious".to_vec()));
    }
}

#[test]
fn long_names_of_interfaces_are_told_cut() {
    let path = scratch("long-names").join("in.pcapng");
    let interface = |linktype: u8, letter: &str| {
        let option = |kind: u16, len: u16| [kind.to_le_bytes(), len.to_le_bytes()].concat();
        let head = [&[linktype, 0, 0, 0, 0, 0, 0, 0][..], &option(2, 60_000)].concat();
        common::block(1, &[&head[..], letter.repeat(60_000).as_bytes(), &option(0, 0)].concat())
    };
    // The first packet of Ethernet is in a batch of its own: names of what follows are kept where the filter does not exist.
    let first = [interface(1, "a"), common::enhanced(0).repeat(300)].concat();
    let second = [interface(1, "b"), interface(USB, "c"), common::enhanced(2), common::enhanced(1)].concat();
    std::fs::write(&path, [common::section(&[]), first, second].concat()).unwrap();
    let output = run(&["filter", "--count", "ip", arg(&path)]);
    assert_eq!((code(&output), stdout(&output)), (0, "301\n".to_owned()), "{}", stderr(&output));
    let start =
        format!("1 packet of link type USB_LINUX from interface 2 ({}…) cannot match: ", "c".repeat(256));
    assert!(stderr(&output).contains(&start), "{}", stderr(&output));
    let text = stdout(&run(&["info", "--json", arg(&path)]));
    let object: serde_json::Value = serde_json::from_str(&text).unwrap();
    let names: Vec<String> = ["a", "b", "c"].map(|letter| format!("{}…", letter.repeat(256))).into();
    let told = object["interfaces"].as_array().unwrap();
    assert!(told.iter().map(|interface| &interface["name"]).eq(&names), "{text}");
}

#[test]
fn of_many_odd_linktypes_a_few_are_told() {
    let path = scratch("many-odd").join("in.pcapng");
    // None above 65,000 has a name, nor a filter.
    for (odd, told) in
        [(100, None), (101, Some("note: 1 more warning")), (400, Some("note: 300 more warnings"))]
    {
        let linktypes = [1].into_iter().chain(65_000..65_000 + odd);
        let interfaces = linktypes
            .flat_map(|linktype: u16| common::block(1, &[&linktype.to_le_bytes()[..], &[0; 6]].concat()));
        let packets = (0..=u32::from(odd)).flat_map(|interface| {
            let head = [interface, 0, 0, 60, 60].map(u32::to_le_bytes).concat();
            common::block(6, &[&head[..], &[0; 60]].concat())
        });
        let file: Vec<u8> = common::section(&[]).into_iter().chain(interfaces).chain(packets).collect();
        std::fs::write(&path, file).unwrap();
        let output = run(&["filter", "--count", "--no-fail", "tcp", arg(&path)]);
        let said = stderr(&output);
        assert_eq!((code(&output), stdout(&output)), (0, "0\n".to_owned()), "{said}");
        assert_eq!(said.lines().filter(|line| line.starts_with("warning: ")).count(), 100, "{said}");
        let last = said.lines().nth(100).map(|line| line.split(" of packets").next().unwrap_or_default());
        assert_eq!(last, told, "{said}");
    }
}

#[test]
fn a_capture_of_one_odd_linktype_has_no_filter_that_is_not_there() {
    let folder = scratch("odd-alone");
    let (odd, plain, out) = (folder.join("odd.pcap"), folder.join("plain.pcap"), folder.join("out.pcap"));
    std::fs::write(&odd, common::pcap(USB.into(), 4)).unwrap();
    std::fs::write(&plain, common::pcap(1, 3)).unwrap();
    assert_eq!(code(&run(&["filter", "--count", "ip", arg(&odd), arg(&odd)])), 2);
    // Beside others it is as an interface: wherever it stands.
    for inputs in [[arg(&odd), arg(&plain)], [arg(&plain), arg(&odd)]] {
        for jobs in ["1", "2"] {
            let output = run(&[&["filter", "ip", "-j", jobs, "-o", arg(&out)][..], &inputs].concat());
            assert_eq!(code(&output), 0, "{}", stderr(&output));
            let start = format!("warning: {}: 4 packets of link type USB_LINUX cannot match: ", arg(&odd));
            assert!(stderr(&output).starts_with(&start), "{}", stderr(&output));
            assert!(
                std::fs::read(&out).unwrap() == std::fs::read(&plain).unwrap(),
                "what matched fits a file of its link type"
            );
        }
    }
    // Nothing matched is no error.
    let output = run(&["filter", "--count", "arp", arg(&odd), arg(&plain)]);
    assert_eq!((code(&output), stdout(&output)), (1, "0\n".to_owned()), "{}", stderr(&output));
}

#[test]
fn a_capture_without_packets_does_not_say_what_a_file_is_for() {
    let folder = scratch("empty-between");
    let [odd, empty, plain, out] =
        ["odd.pcap", "empty.pcap", "plain.pcap", "out.pcap"].map(|name| folder.join(name));
    std::fs::write(&odd, common::pcap(USB.into(), 4)).unwrap();
    std::fs::write(&empty, common::pcap(RAW, 0)).unwrap();
    std::fs::write(&plain, common::pcap(1, 3)).unwrap();
    for inputs in [[&odd, &empty, &plain], [&empty, &odd, &plain], [&plain, &empty, &odd]] {
        for jobs in ["1", "2"] {
            let files = inputs.map(|path| arg(path));
            let output = run(&[&["filter", "ip", "-j", jobs, "-o", arg(&out)][..], &files].concat());
            assert_eq!(code(&output), 0, "{files:?}: {}", stderr(&output));
            assert!(std::fs::read(&out).unwrap() == std::fs::read(&plain).unwrap(), "{files:?}");
        }
    }
}

/// What asks nothing of headers leaves no packet out, of whatever link type it is.
#[test]
fn a_copy_of_all_packets_has_those_of_unknown_link_types() {
    let folder = scratch("unknown");
    let (odd, mixed, out) = (folder.join("odd.pcap"), folder.join("mixed.pcapng"), folder.join("out"));
    std::fs::write(&odd, common::pcap(299, 4)).unwrap();
    // 2 and 66 are taken as well as names are.
    let packets = [common::enhanced(0), common::enhanced(1), common::enhanced(2)].concat();
    std::fs::write(&mixed, [common::section(&[2, 1, 66]), packets].concat()).unwrap();
    for filter in ["", "len > 7", "not less 8"] {
        for file in [&odd, &mixed] {
            let output = run(&["filter", filter, arg(file), "-o", arg(&out)]);
            assert_eq!((code(&output), stderr(&output)), (0, String::new()), "{filter}");
            assert!(std::fs::read(&out).unwrap() == std::fs::read(file).unwrap(), "{filter}");
        }
    }
    let output = run(&["filter", "--count", "ip", arg(&odd)]);
    assert!(code(&output) == 2 && stderr(&output).contains("link type 299"), "{}", stderr(&output));
    assert!(stderr(&output).contains("what works on it: `link[…]`, `len`"), "{}", stderr(&output));
    assert_eq!(code(&run(&["filter", "--count", "--strict", "", arg(&odd)])), 2);
}
