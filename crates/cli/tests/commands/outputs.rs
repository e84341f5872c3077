//! What is written: the same bytes as tcpdump, in order, split, as lines, as JSON; and the other commands.

use crate::common::{self, arg, code, root, run, scratch, sluss, stderr, stdout};
use std::process::Command;

fn read(path: &std::path::Path) -> Vec<u8> {
    std::fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

#[test]
fn output_is_byte_for_byte_that_of_tcpdump() {
    if Command::new("tcpdump").arg("--version").output().is_err() {
        common::say("SKIPPED: written captures are not compared with tcpdump's: install tcpdump (Debian)");
        return;
    }
    let folder = scratch("tcpdump");
    for file in ["web.pcap", "mixed.pcap", "cooked-sll.pcap", "cooked-sll2.pcap", "raw.pcap", "vlan.pcap"] {
        for filter in ["tcp port 80", "ip6", "", "not tcp"] {
            let (ours, theirs) = (folder.join("ours.pcap"), folder.join("theirs.pcap"));
            let input = format!("captures/{file}");
            run(&["filter", filter, &input, "-o", arg(&ours)]);
            let status = Command::new("tcpdump")
                .args(["-r", &input, "-w", arg(&theirs), filter])
                .current_dir(root())
                .output()
                .unwrap();
            assert!(status.status.success(), "{}", stderr(&status));
            assert!(read(&ours) == read(&theirs), "`{filter}` on {file}");
        }
    }
}

#[test]
fn a_pipe_gets_a_capture() {
    let output = run(&["filter", "tcp port 80", "captures/web.pcap", "-o", "-"]);
    let out = scratch("pipe").join("out.pcap");
    run(&["filter", "tcp port 80", "captures/web.pcap", "-o", arg(&out)]);
    assert_eq!(output.stdout, read(&out));
    assert_eq!(code(&output), 0);
}

/// A limit on files stands for a disk that is full.
#[test]
fn a_file_that_takes_no_more_ends_with_a_whole_packet() {
    let folder = scratch("no-more");
    let files = vec!["captures/web.pcap"; 400];
    for (name, to_stdout) in [("a.pcap", false), ("a.pcapng", false), ("stdout.pcap", true)] {
        let out = folder.join(name);
        let to = if to_stdout { format!("-o - > {}", arg(&out)) } else { format!("-o {}", arg(&out)) };
        // In units of 512 bytes; whoever ignores the signal is told by the write.
        let script =
            format!("trap '' XFSZ; ulimit -f 1025; exec \"$0\" filter -j 1 '' {} {to}", files.join(" "));
        let mut command = Command::new("sh");
        command.args(["-c", &script, env!("CARGO_BIN_EXE_sluss")]).current_dir(root());
        let output = command.output().unwrap();
        assert_eq!(code(&output), 3, "{}", stderr(&output));
        let len = read(&out).len();
        assert!((520_000..1025 * 1024).contains(&len), "{len}");
        let told = format!("(os error 27); it holds the packets before that, {len} bytes\n");
        assert_eq!(stderr(&output).matches("cannot write").count(), 1, "{}", stderr(&output));
        assert!(stderr(&output).ends_with(&told), "{}", stderr(&output));
        let output = run(&["filter", "--count", "", arg(&out)]);
        assert_eq!((code(&output), stderr(&output)), (0, String::new()));
    }
    if !std::path::Path::new("/dev/full").exists() {
        return common::say("skipped in part: there is no /dev/full");
    }
    let output = run(&["filter", "", "captures/web.pcap", "-o", "/dev/full"]);
    assert_eq!(code(&output), 3);
    assert!(stderr(&output).ends_with("; nothing was written\n"), "{}", stderr(&output));
}

#[test]
fn an_output_that_is_called_pcapng_is_pcapng() {
    let folder = scratch("called-pcapng");
    let out = folder.join("out.pcapng");
    let count = |filter: &str, file: &str| stdout(&run(&["filter", "--count", filter, file]));
    for jobs in ["1", "2"] {
        let files = ["captures/raw.pcap", "captures/web.pcap", "captures/ntp-nano.pcap"];
        let output = run(&[&["filter", "-j", jobs, "ip", "-o", arg(&out)][..], &files].concat());
        assert_eq!(code(&output), 0, "{}", stderr(&output));
        assert_eq!(read(&out)[..4], [0x0a, 0x0d, 0x0d, 0x0a]);
        let sum: u32 = files.iter().map(|file| count("ip", file).trim().parse::<u32>().unwrap()).sum();
        assert_eq!(count("", arg(&out)).trim(), sum.to_string());
    }
    // Nothing is a capture as well, and one of an input without packets.
    let header = folder.join("header.pcap");
    std::fs::write(&header, &read(&root().join("captures/web.pcap"))[..24]).unwrap();
    for input in [arg(&header), "captures/web.pcap"] {
        assert_eq!(code(&run(&["filter", "udp port 9", input, "-o", arg(&out)])), 1);
        assert_eq!(count("", arg(&out)), "0\n", "{input}");
    }
}

#[test]
fn the_format_is_that_of_the_input_and_a_name_that_says_another_is_warned_of() {
    let folder = scratch("misnamed");
    let written = |input: &str, name: &str| {
        let out = folder.join(name);
        let output = run(&["filter", "", input, "-o", arg(&out)]);
        assert_eq!(code(&output), 0, "{}", stderr(&output));
        (read(&out)[..4].to_vec(), stderr(&output).replace(&format!("{}/", arg(&folder)), ""))
    };
    let pcapng = [0x0a, 0x0d, 0x0d, 0x0a];
    let (magic, told) = written("captures/router.pcapng", "out.pcap");
    assert_eq!(magic, pcapng);
    let expected =
        "warning: out.pcap is written as pcapng, the format of the input, whatever its name says\n";
    assert_eq!(told, expected);
    // Nanoseconds are a matter of pcap.
    assert_eq!(written("captures/ntp-nano.pcap", "out.pcap"), (vec![0x4d, 0x3c, 0xb2, 0xa1], String::new()));
    assert_eq!(written("captures/router.pcapng", "out.pcapng"), (pcapng.to_vec(), String::new()));
}

#[test]
fn lines_show_the_time_as_exactly_as_the_capture_has_it() {
    let first = |file| stdout(&run(&["filter", "-q", "-c1", "--lines", "", file]));
    assert_eq!(first("captures/ntp-nano.pcap").find('Z'), Some("2026-11-21T23:17:46.123456789".len()));
    assert_eq!(first("captures/web.pcap").find('Z'), Some("2026-11-21T23:17:46.123456".len()));
    let json = stdout(&run(&["filter", "-q", "-c1", "--json", "", "captures/ntp-nano.pcap"]));
    let time = first("captures/ntp-nano.pcap").split(' ').next().unwrap().to_owned();
    assert!(json.contains(&format!("\"{time}\"")), "{json}");
}

#[test]
fn many_inputs_keep_their_order() {
    let folder = scratch("order");
    let files = [
        "captures/web.pcap",
        "captures/tls.pcap",
        "captures/ssh.pcap",
        "captures/vlan.pcap",
        "captures/web.pcap",
    ];
    let written = |jobs: &str| {
        let out = folder.join(format!("{jobs}.pcap"));
        let mut args = vec!["filter", "ip", "-j", jobs, "-o", arg(&out)];
        args.extend(files);
        let output = run(&args);
        assert_eq!(code(&output), 0, "{}", stderr(&output));
        read(&out)
    };
    let alone = written("1");
    assert!(alone.len() > 10_000);
    for jobs in ["2", "4", "8"] {
        assert!(written(jobs) == alone, "with {jobs} jobs");
    }
}

#[test]
fn one_pass_splits_into_several_files() {
    let folder = scratch("split");
    let (arp, dns) = (folder.join("arp.pcap"), folder.join("dns.pcap"));
    run(&["filter", "captures/mixed.pcap", "-f", "arp", "-o", arg(&arp), "-f", "port 53", "-o", arg(&dns)]);
    for (filter, file) in [("arp", &arp), ("port 53", &dns)] {
        let all = run(&["filter", "--count", filter, "captures/mixed.pcap"]);
        let part = run(&["filter", "--count", "", arg(file)]);
        assert_eq!(stdout(&all), stdout(&part), "{filter}");
    }
}

#[test]
fn at_most_so_many() {
    let output = run(&["filter", "--count", "-c", "5", "tcp", "captures/mixed.pcap"]);
    assert_eq!(stdout(&output), "5\n");
}

#[test]
fn what_stopped_at_so_many_is_not_complete() {
    for (max, complete) in [("3", false), ("1000000", true)] {
        let output = run(&["filter", "--count", "--json", "-c", max, "tcp", "captures/mixed.pcap"]);
        let summary: serde_json::Value = serde_json::from_str(&stdout(&output)).unwrap();
        assert_eq!(summary["complete"], complete, "-c {max}: {summary}");
        assert_eq!(code(&output), 0, "-c {max}");
    }
    let files = ["captures/web.pcap", "captures/web.pcap"];
    let output = run(&[&["filter", "--count", "--json", "-c", "1", "udp"][..], &files].concat());
    assert!(stdout(&output).contains("\"complete\":false"), "{}", stdout(&output));
}

#[test]
fn pcapng_stays_pcapng() {
    let out = scratch("pcapng").join("out.pcapng");
    run(&["filter", "", "captures/tunnel.pcapng", "-o", arg(&out)]);
    assert!(read(&out) == read(&root().join("captures/tunnel.pcapng")), "a copy of everything is everything");
}

#[test]
fn linktypes_do_not_mix_in_pcap() {
    let out = scratch("mixing").join("out.pcap");
    let output = run(&["filter", "ip", "captures/web.pcap", "captures/raw.pcap", "-o", arg(&out)]);
    assert_eq!(code(&output), 2, "{}", stderr(&output));
    assert!(stderr(&output).contains("EN10MB") && stderr(&output).contains("RAW"), "{}", stderr(&output));
}

#[test]
fn what_is_not_written_may_be_of_any_linktype() {
    let folder = scratch("not-written");
    let (empty, out) = (folder.join("empty.pcap"), folder.join("out.pcap"));
    std::fs::write(&empty, common::pcap(101, 0)).unwrap();
    let first = "captures/web.pcap";
    for inputs in [[first, arg(&empty)], [arg(&empty), first]] {
        let output = run(&["filter", "", inputs[0], inputs[1], "-o", arg(&out)]);
        assert_eq!(code(&output), 0, "{}", stderr(&output));
        assert!(read(&out) == read(&root().join(first)));
    }
    // Of the raw packets none is taken.
    let output = run(&["filter", "udp port 53", first, "captures/raw.pcap", "-o", arg(&out)]);
    let raw = run(&["filter", "--count", "udp port 53", "captures/raw.pcap"]);
    assert_eq!((stdout(&raw), code(&output)), ("0\n".to_owned(), 0), "{}", stderr(&output));
}

#[test]
fn lengths_of_check_sequences_do_not_mix_in_pcap() {
    let folder = scratch("check-sequences");
    let (fcs, out) = (folder.join("fcs.pcap"), folder.join("out.pcap"));
    std::fs::write(&fcs, common::pcap(0x2400_0001, 1)).unwrap();
    let files = ["captures/web.pcap", arg(&fcs)];
    let output = run(&[&["filter", "", "-o", arg(&out)][..], &files].concat());
    assert_eq!(code(&output), 2);
    assert!(stderr(&output).contains("fcs.pcap: packets with 4 bytes"), "{}", stderr(&output));
    let out = folder.join("out.pcapng");
    assert_eq!(code(&run(&[&["filter", "", "-o", arg(&out)][..], &files].concat())), 0);
}

#[test]
fn what_a_pcap_file_cannot_say_is_warned_of() {
    let out = scratch("losses").join("out.pcap");
    let told = |files: &[&str], out: &std::path::Path| {
        let output = run(&[&["filter", "", "-o", arg(out)][..], files].concat());
        assert_eq!(code(&output), 0, "{}", stderr(&output));
        stderr(&output).replace(&format!("{}/", arg(out.parent().unwrap())), "")
    };
    let (micro, nano, blocks) = ("captures/mixed.pcap", "captures/ntp-nano.pcap", "captures/router.pcapng");
    for jobs in ["-j1", "-j2"] {
        assert_eq!(
            told(&[jobs, micro, nano, nano], &out),
            "warning: captures/ntp-nano.pcap: the nanoseconds of its times are lost in out.pcap, which has microseconds, as the first \
             input has: name a file with nanoseconds first, or write to a .pcapng file\n"
        );
        let text = told(&[jobs, micro, blocks], &out);
        let lost = "warning: captures/router.pcapng: its interfaces, comments and names are lost in out.pcap, which is pcap";
        assert!(text.contains(lost), "{text}");
        // What the output has room for is none, nor what goes elsewhere.
        assert_eq!(told(&[jobs, nano, micro], &out), "");
        assert_eq!(told(&[jobs, micro, nano, blocks], &out.with_extension("pcapng")), "");
        assert_eq!(told(&[jobs, "-q", micro, nano], &out), "");
    }
}

#[test]
fn lines_are_one_a_packet() {
    let lines = stdout(&run(&["filter", "--lines", "arp", "captures/mixed.pcap"]));
    let count = stdout(&run(&["filter", "--count", "arp", "captures/mixed.pcap"]));
    assert_eq!(format!("{}\n", lines.lines().count()), count);
    assert!(lines.lines().all(|line| line.contains("arp")), "{lines}");
}

#[test]
fn json_is_one_object_a_line_and_a_summary_beside_them() {
    let output = run(&["filter", "--json", "port 53", "captures/mixed.pcap"]);
    let packets: Vec<serde_json::Value> =
        stdout(&output).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let summary: serde_json::Value = serde_json::from_str(&stderr(&output)).unwrap();
    assert_eq!(summary["type"], "filter");
    assert_eq!(summary["filters"][0]["matched"], packets.len());
    assert_eq!(summary["complete"], true);
    assert!(packets.iter().all(|packet| packet["type"] == "packet" && packet["v"] == 1));
}

#[test]
fn a_summary_stands_beside_a_capture_on_standard_output() {
    let folder = scratch("summary-beside");
    let plain = run(&["filter", "tcp port 80", "captures/web.pcap", "-o", "-"]);
    for (name, flags, has_summary) in
        [("-", &[][..], true), ("/dev/stdout", &[], true), ("-", &["-q"], false)]
    {
        let args = [&["filter", "--json", "tcp port 80", "captures/web.pcap", "-o", name], flags].concat();
        let path = folder.join("out");
        let file = std::fs::File::create(&path).unwrap();
        let to_file = common::sluss(&args).stdout(file).output().unwrap();
        let piped = run(&args);
        for (output, written) in [(&to_file, read(&path)), (&piped, piped.stdout.clone())] {
            assert!(code(output) == 0 && written == plain.stdout, "{args:?}: {}", stderr(output));
            let told = stderr(output);
            assert_eq!(!told.is_empty(), has_summary, "{told}");
            if has_summary {
                let summary: serde_json::Value = serde_json::from_str(&told).unwrap();
                assert_eq!((&summary["type"], &summary["complete"]), (&"filter".into(), &true.into()));
            }
        }
    }
}

#[test]
fn comments_in_a_filter_file_are_none_of_the_filter() {
    let file = scratch("comments").join("filter.txt");
    std::fs::write(&file, b"# DNS, caf\xe9\nudp # and not TCP\n  port 53 #\n#").unwrap();
    let at_file = format!("@{}", arg(&file));
    let expected = run(&["filter", "--count", "udp port 53", "captures/mixed.pcap"]);
    for args in [&["-F", arg(&file)][..], &[&at_file]] {
        let output = run(&[&["filter", "--count"], args, &["captures/mixed.pcap"]].concat());
        assert_eq!((code(&output), stdout(&output)), (0, stdout(&expected)), "{}", stderr(&output));
    }
    let summary = stdout(&run(&["filter", "--count", "--json", "-F", arg(&file), "captures/mixed.pcap"]));
    let summary: serde_json::Value = serde_json::from_str(&summary).unwrap();
    assert_eq!(summary["filters"][0]["filter"], "udp port 53");
    for command in ["explain", "compile"] {
        let [from_flag, from_word] =
            [&["-F", arg(&file)][..], &[&at_file]].map(|filter| stdout(&run(&[&[command], filter].concat())));
        assert!(!from_flag.is_empty() && from_flag == from_word, "{command}: {from_flag}");
    }
    let traced = run(&["trace", "-F", arg(&file), "-r", "captures/mixed.pcap"]);
    assert!(stdout(&traced).contains("\n  udp"), "{}", stdout(&traced));
    // What is wrong has its place in the file.
    std::fs::write(&file, "tcp # or udp\n and prot 53 # DNS").unwrap();
    let told = stderr(&run(&["filter", "--count", "--json", "-F", arg(&file), "captures/mixed.pcap"]));
    let error: serde_json::Value = serde_json::from_str(&told).unwrap();
    assert_eq!(error["error"]["span"]["start"], "tcp # or udp\n and ".len());
}

#[test]
fn every_stage_is_printed() {
    for stage in
        ["tokens", "ast", "graph", "optimised", "anf", "ssa", "selected", "allocated", "asm", "bytes"]
    {
        let output = run(&["compile", "tcp port 80", "--stage", stage]);
        assert_eq!(code(&output), 0, "{stage}: {}", stderr(&output));
        assert!(!output.stdout.is_empty(), "{stage}");
    }
    assert_eq!(code(&run(&["compile", "ip", "--stage", "nonsense"])), 2);
    assert_eq!(code(&run(&["compile", "-y", "LINUX_SLL2", "ifindex 3"])), 0);
    assert_eq!(code(&run(&["compile", "-y", "nonsense", "ip"])), 2);
}

#[test]
fn explain_says_it_in_words() {
    let output = run(&["explain", "tcp port 80"]);
    let text = stdout(&output);
    assert!(text.contains("80") && text.to_lowercase().contains("source or destination"), "{text}");
    assert!(stdout(&run(&["explain", "vlan 2 or vlan 3"])).contains("PF101"));
    let json: serde_json::Value = serde_json::from_str(&stdout(&run(&["explain", "--json", "arp"]))).unwrap();
    assert_eq!(json["type"], "explain");
}

#[test]
fn trace_shows_the_bytes_and_the_outcome() {
    let output = run(&["trace", "tcp port 80", "captures/web.pcap", "-n", "9"]);
    let text = stdout(&output);
    assert!(text.contains("bytes 12..14 = ") && text.contains("match"), "{text}");
    assert!([0, 1].contains(&code(&output)));
    let absent = run(&["trace", "ip", "captures/web.pcap", "-n", "100000"]);
    assert_eq!(code(&absent), 2);
    assert!(stderr(&absent).contains("packets; there is no number 100000"), "{}", stderr(&absent));
    let json: serde_json::Value =
        serde_json::from_str(&stdout(&run(&["trace", "--json", "arp", "captures/web.pcap", "-n", "1"])))
            .unwrap();
    assert!(json["steps"].as_array().is_some_and(|steps| !steps.is_empty()));
    let set = stdout(&run(&["trace", "--json", "ether proto in {0x806}", "captures/web.pcap", "-n", "1"]));
    let set: serde_json::Value = serde_json::from_str(&set).unwrap();
    let told = |place: usize| (&set["primitives"][place]["primitive"], &set["primitives"][place]["member"]);
    assert_eq!(told(0), (&"ether proto in {0x806}".into(), &false.into()));
    assert_eq!(told(1), (&"0x806".into(), &true.into()));
}

/// The bytes, also those that only tell where others are, the value, the outcome; and what was not asked.
#[test]
fn trace_shows_values_places_and_what_was_not_asked() {
    let traced = |filter: &str| stdout(&run(&["trace", filter, "captures/mixed.pcap", "-n", "17"]));
    let below_packet = |text: &str| text.split_once('\n').map(|(_, rest)| rest.to_owned()).unwrap();
    assert_eq!(
        below_packet(&traced("not arp and tcp dst port 80 or (len > 100 and udp)")),
        "  arp => no
    be16[12] == 0x806       bytes 12..14 = 08 00  value 0x800  no
  tcp dst port 80 => yes
    be16[12] == 0x86dd      bytes 12..14 = 08 00  value 0x800  no
    be16[12] == 0x800       bytes 12..14 = 08 00  value 0x800  yes
    u8[23] == 6             byte 23 = 06          value 6      yes
    be16[20] & 0x1fff == 0  bytes 20..22 = 40 00  value 0      yes
    (u8[14] & 0xf) << 2     byte 14 = 45          value 20     bytes to skip
    be16[36] == 80          bytes 36..38 = 00 50  value 80     yes
  len > 100 => not asked
  udp => not asked
  => matches
"
    );
    assert_eq!(
        below_packet(&traced("len > 1500 or ip[0] = tcp[13] or 6 / (len - len) = 1 or tcp")),
        "  len > 1500 => no
    len > 1500                  len = 66                    value 66       no
  ip[0] = tcp[13] => no
    be16[12] == 0x800           bytes 12..14 = 08 00        value 0x800    yes
    be16[12] == 0x800           bytes 12..14 = 08 00        value 0x800    yes
    be16[12] == 0x800           bytes 12..14 = 08 00        value 0x800    yes
    u8[23] == 6                 byte 23 = 06                value 6        yes
    be16[20] & 0x1fff == 0      bytes 20..22 = 40 00        value 0        yes
    13 + ((u8[14] & 0xf) << 2)  byte 14 = 45                value 33       bytes to skip
    u8[14] == u8[47]            byte 14 = 45, byte 47 = 11  values 69, 17  no
  6 / (len - len) = 1 => rejected
    6 / (len - len) is defined  len = 66                    values 6, 0    divides by zero: rejected whatever else holds
  tcp => not asked
  => does not match
"
    );
    // More was read than there is room for on a line.
    let both = traced("tcp[4:4] < ip[12:4]");
    let lines: Vec<&str> = both.lines().rev().skip(1).take(2).collect();
    let expected = [
        "                               bytes 38..42 = 5f 3b a6 81",
        "    be32[38] < be32[26]        bytes 26..30 = c0 00 02 0a,  values 0x5f3ba681, 0xc000020a  yes",
    ];
    assert_eq!(lines, expected, "{both}");
    let ports: Vec<String> = (0..100).map(|port| (80 + port).to_string()).collect();
    let text = traced(&format!("tcp dst port in {{{}}} and not udp", ports.join(", ")));
    assert!(text.contains("… => yes\n    80 => yes\n"), "{text}");
    let rest = "    81 => not asked\n    82 => not asked\n    83 => not asked\n    and 96 more, not asked\n  udp => no\n";
    assert!(text.contains(rest), "{text}");
    assert!(text.lines().skip(1).all(|line| line.chars().count() <= 100), "{text}");
    // Of a large set, the member that holds has its line, and those that do not are counted.
    let file = scratch("trace-set").join("hosts.txt");
    let mut hosts: Vec<String> = (0..5000).map(|i| format!("10.1.{}.{}", i / 250, i % 250)).collect();
    hosts.push("198.51.100.0/24 # theirs".to_owned());
    std::fs::write(&file, hosts.join("\n")).unwrap();
    let text = traced(&format!("host in {{@{}}} and udp", arg(&file)));
    let told = format!("    5000 members => no\n    198.51.100.0/24 (line 5001 of {}) => yes\n", arg(&file));
    assert!(text.contains(&told) && text.lines().count() < 20, "{text}");
}

#[test]
fn the_object_of_a_trace_has_values_places_and_what_was_not_asked() {
    let filter = "tcp src port 1 or udp and arp";
    let text = stdout(&run(&["trace", "--json", filter, "captures/mixed.pcap", "-n", "17"]));
    let object: serde_json::Value = serde_json::from_str(&text).unwrap();
    let verdicts: Vec<_> =
        object["primitives"].as_array().unwrap().iter().map(|primitive| &primitive["verdict"]).collect();
    assert_eq!(verdicts, ["no", "no", "not_asked"]);
    let port = &object["steps"][4];
    assert_eq!((&port["left"], &port["right"]), (&39068.into(), &1.into()));
    let for_place: Vec<_> =
        port["loads"].as_array().unwrap().iter().map(|load| (&load["offset"], &load["for_place"])).collect();
    assert_eq!(for_place, [(&14.into(), &true.into()), (&34.into(), &false.into())]);
    let expected = serde_json::json!([{
        "expression": "(u8[14] & 0xf) << 2",
        "loads": [{ "offset": 14, "bytes": [0x45], "value": 0x45, "for_place": false }],
        "skipped": 20,
    }]);
    assert_eq!(port["places"], expected);
    assert_eq!(object["steps"][3]["places"], serde_json::json!([]));
    let rejected = stdout(&run(&["trace", "--json", "tcp[100] = 1", "captures/mixed.pcap", "-n", "17"]));
    let rejected: serde_json::Value = serde_json::from_str(&rejected).unwrap();
    let last = rejected["steps"].as_array().and_then(|steps| steps.last()).unwrap();
    assert_eq!(
        (&last["left"], &last["right"], &last["needed_bytes"]),
        (&66.into(), &135.into(), &135.into())
    );
}

#[test]
fn a_dumb_terminal_gets_no_colours_unless_they_are_asked_for() {
    use std::io::Read;
    for (term, colour, is_coloured) in [
        ("dumb", "auto", false),
        ("dumb", "always", true),
        ("xterm", "auto", true),
        ("xterm", "never", false),
    ] {
        let mut terminal = common::Terminal::new();
        let mut command = sluss(&["filter", "--color", colour, "tcp prot 80", "captures/web.pcap"]);
        command.env("TERM", term).env_remove("NO_COLOR").stderr(terminal.theirs());
        assert_eq!(command.stdout(std::process::Stdio::null()).status().unwrap().code(), Some(2));
        let mut seen = [0; 4096];
        let len = terminal.ours.read(&mut seen).unwrap();
        let seen = String::from_utf8_lossy(&seen[..len]);
        assert_eq!(seen.contains('\u{1b}'), is_coloured, "{term} {colour}: {seen:?}");
    }
}

#[test]
fn help_is_a_command_as_well() {
    for command in ["filter", "compile", "explain", "trace", "blast", "run", "apps", "bench", "ps", "top", ""]
    {
        let help = run(&["help"].into_iter().chain(command.split_whitespace()).collect::<Vec<_>>());
        assert_eq!(code(&help), 0, "{command}");
        // What the short one points to is there.
        let short = stdout(&run(&command.split_whitespace().chain(["-h"]).collect::<Vec<_>>()));
        assert!(
            short.contains("Print help in brief; --help prints all\n") && stdout(&help).contains("--color"),
            "{command}: {short}"
        );
    }
    assert_eq!(code(&run(&["help", "rnu"])), 2);
}

#[test]
fn a_wrong_value_is_told_with_those_that_there_are() {
    for (args, words) in [
        (
            &["compile", "--stage", "graf", "ip"][..],
            &["tokens", "optimised, anf", "did you mean `graph`?"][..],
        ),
        (&["filter", "--at", "nativ", "ip", "x"], &["auto, native, interp", "did you mean", "`native`"]),
        (&["filter", "--dialect", "ipv6,modren", "ip", "x"], &["scoped, protochain", "`modern`"]),
        (&["run", "--clock", "captur", "x"], &["wall, capture", "`capture`"]),
        (&["bench", "engine", "--net", "te"], &["source-sink, tee", "`tee`"]),
        (&["blast", "--synth", "--proto", "icmp", "--to", "null"], &["udp, tcp"]),
        (&["--color", "alway", "ps"], &["auto, always, never", "`always`"]),
        (
            &["explain", "-y", "ether", "ip"],
            &["error: -y ether: unknown link type `ether`: expected a name such as"],
        ),
    ] {
        let output = run(args);
        let text = stderr(&output);
        assert_eq!(code(&output), 2, "{args:?}: {text}");
        assert!(words.iter().all(|word| text.contains(word)), "{args:?}: {text}");
    }
}

#[test]
fn completions_and_man_pages_come_from_the_definitions() {
    for shell in ["bash", "zsh", "fish"] {
        let script = stdout(&run(&["completions", shell]));
        // A command, and values of --stage, --clock, --linktype and --net.
        for word in ["explain", "optimised", "capture", "LINUX_SLL2", "source-sink"] {
            assert!(script.contains(word), "{shell}: {word}");
        }
    }
    let fish = stdout(&run(&["completions", "fish"]));
    assert!(fish.contains("using_subcommand apps\" -f -a \"af_packet "), "{fish}");
    // Outside quotes, a comment would begin there.
    assert!(fish.lines().filter(|line| line.starts_with("complete")).all(|line| !line.contains(" #")));
    let folder = scratch("man");
    assert_eq!(code(&run(&["man", arg(&folder)])), 0);
    for page in std::fs::read_dir(&folder).unwrap().flatten() {
        assert!(read(&page.path()).is_ascii(), "{}", page.path().display());
    }
    assert!(!folder.join("sluss-help.1").exists());
    let page = |name: &str| String::from_utf8_lossy(&read(&folder.join(name))).into_owned();
    assert!(page("sluss-filter.1").contains("max\\-count"));
    for name in ["sluss.1", "sluss-filter.1", "sluss-run.1", "sluss-bench-engine.1", "sluss-apps.1"] {
        let page = page(name);
        assert!(page.contains("\n.ad l\n.SH NAME\n"), "{name}: {page}");
        assert!(
            page.contains("\n.SH \"EXIT STATUS\"\n.TP\n0\n") && !page.contains("EXTRA"),
            "{name}: {page}"
        );
    }
    let (filter, run) = (page("sluss-filter.1"), page("sluss-run.1"));
    assert!(filter.contains(".SH EXAMPLES\n.nf\nsluss filter \\(aqtcp port 80\\(aq trace.pcap"), "{filter}");
    assert!(run.contains(".TP\n129, 130 and 143\nended by a hangup, SIGINT"), "{run}");
    assert!(run.contains(".TH sluss-run 1  \"sluss 0.1.0\""), "{run}");
    assert!(run.contains("sluss run\\fR [OPTIONS] <GRAPH>"), "{run}");
    assert!(run.contains(".SH \"SEE ALSO\"\n\\fBsluss\\fR(1), \\fBpcap\\-filter\\fR(7)\n"), "{run}");
    assert!(filter.contains("One for each \\-f [alias: \\-w]"), "{filter}");
    let version = page("sluss.1");
    for (page, codes) in [
        ("sluss-filter", &["0", "1", "2", "3", "4", "5", "129, 130 and 143"][..]),
        ("sluss-compile", &["0", "2", "3", "4"]),
        ("sluss-completions", &["0", "2", "3", "4"]),
        ("sluss-top", &["0", "1", "2", "3", "129, 130, 131 and 143"]),
        ("sluss-run", &["0", "1", "2", "3", "4", "5", "129, 130 and 143"]),
        ("sluss-blast", &["0", "2", "3", "4", "5", "129, 130 and 143"]),
    ] {
        let page = std::fs::read_to_string(folder.join(format!("{page}.1"))).unwrap();
        let status = page.split(".SH \"EXIT STATUS\"").nth(1).unwrap().split(".SH").next().unwrap();
        let told: Vec<&str> = status.lines().skip_while(|line| line.is_empty()).collect();
        let told: Vec<&str> = told.chunks(3).filter_map(|lines| lines.get(1).copied()).collect();
        assert_eq!(told, codes, "{page}");
    }
    assert!(version.find(".SH \"EXIT STATUS\"") < version.find(".SH VERSION"), "{version}");
}

#[test]
fn numbers_that_cannot_be_are_told_in_words() {
    let negative = "this cannot be negative";
    for (args, words) in [
        (&["run", "--duration", "-1s", "x"][..], negative),
        (&["run", "--workers", "-1", "x"], negative),
        (&["blast", "--synth", "--to", "null", "--rate", "-5pps"], "--rate -5pps: this cannot be negative"),
        (&["blast", "--synth", "--to", "null", "--flows", "-5"], negative),
        (&["trace", "-n", "-1", "tcp", "x"], negative),
        (&["filter", "-c", "-1", "tcp", "x"], negative),
        (&["run", "--workers", "0", "x"], "write a whole number from 1 to 256"),
        (&["filter", "-j", "0", "tcp", "x"], "write a whole number, 1 or more"),
        (&["filter", "-j", "two", "tcp", "x"], "write a whole number, 1 or more"),
        (&["run", "--duration=99999999999999999999s", "x"], "this time is too long"),
        (&["run", "--restart-first", "20s", "--restart-max", "1s", "x"], "is longer than `--restart-max 1s`"),
        (
            &["blast", "--synth", "--to", "null", "--flows", "10", "--duration", "1s"],
            "198.18.0.0/16 for `--src`",
        ),
    ] {
        let output = run(args);
        let text = stderr(&output);
        assert!(code(&output) == 2 && text.contains(words), "{args:?}: {text}");
        assert!(!text.contains("is no flag"), "{args:?}: {text}");
    }
}

#[test]
fn names_are_not_looked_up_with_or_without_n() {
    let output = run(&["filter", "-nr", "captures/web.pcap", "--count", "tcp"]);
    let plain = run(&["filter", "--count", "tcp", "captures/web.pcap"]);
    assert_eq!((code(&output), stdout(&output)), (0, stdout(&plain)));
    assert_eq!(stderr(&output), "");
}

#[test]
fn a_trace_warns_of_what_surprises() {
    let surprising = "not vlan and udp";
    let trace = run(&["trace", surprising, "captures/web.pcap"]);
    let filter = run(&["filter", "--count", surprising, "captures/web.pcap"]);
    assert!(stderr(&trace).starts_with("warning[PF101]"), "{}", stderr(&trace));
    assert_eq!(stderr(&trace), stderr(&filter));
}

#[test]
fn flags_of_tcpdump_are_told_with_what_there_is_instead() {
    let given = |flag: &str| run(&["filter", "--count", flag, "tcp", "captures/web.pcap"]);
    for (flag, words) in [
        ("-vv", "`sluss trace` shows more"),
        ("-tttt", "the time in UTC"),
        ("-S", "leave it out"),
        ("-z", "no command is run"),
        ("-E", "decrypted"),
        ("-H", "one line"),
        ("-J", "the kernel's"),
        ("-M", "verified"),
        ("-R", "one line"),
        ("-T", "headers and ports"),
        ("-b", "one line"),
        ("-u", "one line"),
    ] {
        let output = given(flag);
        let told =
            format!("error: `{}` is a flag of tcpdump that `sluss filter` does not have\nhelp: ", &flag[..2]);
        let text = stderr(&output);
        assert!(code(&output) == 2 && text.starts_with(&told) && text.contains(words), "{flag}: {text}");
    }
    let output = run(&["filter", "--json", "-z", "gzip", "tcp"]);
    let error: serde_json::Value = serde_json::from_str(&stderr(&output)).unwrap();
    assert!(
        error["error"]["help"].as_str().is_some_and(|help| help.contains("no command is run")),
        "{error}"
    );
    for command in ["compile", "explain"] {
        for flag in ["-d", "-dd"] {
            let text = stderr(&run(&[command, flag, "tcp"]));
            let told =
                format!("error: `-d` is a flag of tcpdump that `sluss {command}` does not have\nhelp: ");
            assert!(text.starts_with(&told) && text.contains("`--stage"), "{text}");
        }
    }
    let text = stderr(&run(&["filter", "-j", "adapter", "tcp", "captures/web.pcap"]));
    assert!(
        text.starts_with("error: -j adapter: write a whole number")
            && text.contains("the type of timestamps"),
        "{text}"
    );
    assert_eq!(text.lines().count(), 2, "{text}");
    assert!(!stderr(&run(&["filter", "-j", "0", "tcp", "captures/web.pcap"])).contains("timestamps"));
    // After `--` comes a filter or a file.
    for args in [
        &["filter", "--cuont", "tcp", "captures/web.pcap"][..],
        &["trace", "--cuont", "tcp"],
        &["compile", "--cuont", "tcp"],
        &["explain", "--cuont", "tcp"],
        &["run", "--cuont", "examples/tee.toml"],
        &["blast", "--cuont", "captures/web.pcap"],
    ] {
        let text = stderr(&run(args));
        assert!(text.contains("`--cuont` is no flag of") && !text.contains("-- --"), "{text}");
    }
}

/// A number that a line shows is the one that `trace` takes: that of the packet in its capture, not among those that match.
#[test]
fn numbers_of_lines_lead_to_their_packets() {
    let lines = |args: &[&str]| {
        let output = run(&[&["filter"][..], args].concat());
        stdout(&output).lines().map(str::to_owned).collect::<Vec<_>>()
    };
    let numbered = lines(&["-#", "tcp port 80", "captures/mixed.pcap"]);
    assert_eq!(numbered, lines(&["--number", "--lines", "tcp port 80", "captures/mixed.pcap"]));
    let plain = lines(&["--lines", "tcp port 80", "captures/mixed.pcap"]);
    assert!(numbered.len() > 800 && numbered.len() == plain.len());
    for (numbered, plain) in numbered.iter().zip(&plain).step_by(200) {
        let (number, line) = numbered.trim_start().split_once("  ").unwrap();
        assert_eq!(line, plain);
        let trace = run(&["trace", "tcp port 80", "captures/mixed.pcap", "-n", number]);
        let summary = line.split_once(' ').unwrap().1;
        let first = format!("packet {number} of captures/mixed.pcap: {summary}");
        assert_eq!((code(&trace), stdout(&trace).lines().next().unwrap()), (0, &first[..]));
    }
    // Of several captures each begins at 1, in one thread and in many.
    let several = ["arp", "captures/mixed.pcap", "captures/web.pcap", "captures/mixed.pcap"];
    let in_turn = lines(&[&["-#", "-j1"], &several[..]].concat());
    assert_eq!(lines(&[&["-#", "-j3"], &several[..]].concat()), in_turn);
    let alone = lines(&["-#", "arp", "captures/mixed.pcap"]);
    let named: Vec<String> =
        alone.iter().map(|line| format!("captures/mixed.pcap:{}", line.trim_start())).collect();
    assert!(named.len() > 1 && in_turn.starts_with(&named) && in_turn.ends_with(&named), "{in_turn:#?}");
    let objects = lines(&["--json", "tcp port 80", "captures/mixed.pcap"]);
    for (object, numbered) in objects.iter().zip(&numbered) {
        let object: serde_json::Value = serde_json::from_str(object).unwrap();
        let number = numbered.trim_start().split(' ').next().unwrap();
        assert_eq!(object["number"].as_u64(), number.parse().ok());
    }
    assert_eq!(code(&run(&["filter", "-#", "--count", "arp", "captures/mixed.pcap"])), 2);
}

/// Addresses of a range are compared behind a mask, which makes long questions.
#[test]
fn what_a_trace_looks_at_is_in_one_column() {
    let text = stdout(&run(&["trace", "src host in {192.0.2.5-192.0.2.200}", "captures/icmp.pcap"]));
    assert!(text.contains(" & 0xfffffffe == 0xc0000206 "), "{text}");
    let columns: std::collections::BTreeSet<_> =
        text.lines().filter_map(|line| line.find("bytes ")).collect();
    assert_eq!(columns.len(), 1, "{text}");
}

#[test]
fn names_of_options_are_plain_in_json() {
    let app: serde_json::Value = serde_json::from_str(&stdout(&run(&["apps", "--json", "printer"]))).unwrap();
    let options = app["options"].as_array().unwrap();
    assert_eq!((&options[0]["option"], &options[0]["unless_set"]), (&"to".into(), &"\"stderr\"".into()));
}

#[test]
fn types_of_apps_are_listed_and_told_of() {
    let list = stdout(&run(&["apps"]));
    let line = list.lines().find(|line| line.starts_with("filter ")).unwrap_or_default();
    assert_eq!(
        line.split("  ").map(str::trim).filter(|cell| !cell.is_empty()).collect::<Vec<_>>(),
        ["filter", "input", "output, rejected", "Lets packets through that match a filter"]
    );
    let text = stdout(&run(&["apps", "counter", "tap"]));
    for words in ["`count`", "16 at most", "NAME_packets", "inputs: input; outputs: output", "TAP"] {
        assert!(text.contains(words), "{words}: {text}");
    }
    let object: serde_json::Value =
        serde_json::from_str(&stdout(&run(&["apps", "--json", "filter"]))).unwrap();
    assert_eq!((&object["type"], &object["name"]), (&"app".into(), &"filter".into()));
    assert_eq!(object["outputs"], serde_json::json!(["output", "rejected"]));
    assert_eq!(object["options"][0]["unless_set"], "required, or bytecode");
    let wrong = run(&["apps", "fliter"]);
    assert!(code(&wrong) == 2 && stderr(&wrong).contains("`filter`"), "{}", stderr(&wrong));
}

/// A terminal of 100 columns is too narrow for the ports, and for a summary of one line; a pipe takes all.
#[test]
fn the_list_of_apps_fits_a_terminal() {
    let terminal = common::Terminal::new();
    let mut child = sluss(&["apps"]).stdout(terminal.theirs()).spawn().unwrap();
    let mut lines = Vec::new();
    for line in std::io::BufRead::lines(std::io::BufReader::new(terminal.ours)) {
        let line = line.unwrap();
        if line.starts_with("`sluss apps TYPE`") {
            break;
        }
        lines.push(line.trim_end().to_owned());
    }
    assert!(child.wait().unwrap().success());
    assert!(lines.iter().all(|line| line.chars().count() <= 100), "{lines:#?}");
    assert!(lines.iter().any(|line| line.starts_with("                   ")), "{lines:#?}");
    assert_eq!(lines[0].split_whitespace().collect::<Vec<_>>(), ["type", "what", "it", "does"]);
    assert_eq!(stdout(&run(&["apps"])).lines().filter(|line| line.starts_with(' ')).count(), 0);
}

/// A pipe can be read only once: opening it to learn its format must not take its packets.
#[cfg(unix)]
#[test]
fn several_named_pipes_lose_nothing() {
    let folder = common::scratch("named-pipes");
    let pipes = ["web", "tls"].map(|name| {
        let pipe = folder.join(name);
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        let bytes = std::fs::read(common::root().join(format!("captures/{name}.pcap"))).unwrap();
        let to = pipe.clone();
        std::thread::spawn(move || std::fs::write(to, bytes));
        pipe
    });
    let files = common::run(&["filter", "--count", "", "captures/web.pcap", "captures/tls.pcap"]);
    let piped = common::run(&["filter", "--count", "", common::arg(&pipes[0]), common::arg(&pipes[1])]);
    assert_eq!(common::stdout(&piped), common::stdout(&files));
}

/// The address family of a loopback capture from a machine of the other byte order.
#[test]
fn trace_and_filter_agree_on_a_swapped_loopback_capture() {
    let mut bytes = Vec::new();
    for word in [0xa1b2_c3d4_u32, 0x0002_0004, 0, 0, 65535, 0, 1, 0, 24, 24, 2] {
        bytes.extend(word.to_be_bytes());
    }
    bytes.extend([0x45, 0, 0, 20, 0, 0, 0, 0, 64, 6, 0, 0, 192, 0, 2, 1, 192, 0, 2, 2]);
    let file = common::scratch("swapped-loopback").join("in.pcap");
    std::fs::write(&file, bytes).unwrap();
    assert_eq!(common::stdout(&common::run(&["filter", "--count", "ip", common::arg(&file)])), "1\n");
    let trace = common::run(&["trace", "ip", common::arg(&file)]);
    assert_eq!(common::code(&trace), 0, "{}", common::stdout(&trace));
}

/// A log that others have written to before, as `>> log` opens it.
#[cfg(unix)]
#[test]
fn standard_output_by_its_name_is_not_emptied() {
    let log = scratch("by-name").join("log");
    for name in ["-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"] {
        std::fs::write(&log, "before").unwrap();
        let file = std::fs::File::options().append(true).open(&log).unwrap();
        let args = ["filter", "", "captures/web.pcap", "-q", "-o", name];
        assert!(sluss(&args).stdout(file).status().unwrap().success(), "{name}");
        let capture = std::fs::read(root().join("captures/web.pcap")).unwrap();
        assert!(std::fs::read(&log).unwrap() == [&b"before"[..], &capture].concat(), "{name}");
    }
}

/// The object of a long filter is many times as large as what it is made of, and is not had whole.
#[test]
fn the_trace_of_a_long_filter_takes_little_memory() {
    const HOSTS: u32 = 20_000;
    /// Kilobytes of address space: half of what the object took as values in memory.
    const ENOUGH: u32 = 400_000;
    let hosts: Vec<String> =
        (0..HOSTS).map(|i| format!("host {}", std::net::Ipv4Addr::from(0x0a00_0000 + i))).collect();
    let filter = scratch("long-trace").join("filter");
    std::fs::write(&filter, hosts.join(" or ")).unwrap();
    let script =
        format!("ulimit -v {ENOUGH}; exec \"$0\" trace --json -F {} captures/mixed.pcap -n 17", arg(&filter));
    let mut command = Command::new("sh");
    command.args(["-c", &script, env!("CARGO_BIN_EXE_sluss")]).current_dir(root());
    let output = command.output().unwrap();
    assert_eq!(code(&output), 1, "{}", stderr(&output));
    let object: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let primitives = object["primitives"].as_array().unwrap();
    assert_eq!(primitives.len(), HOSTS as usize);
    assert!(primitives.iter().all(|primitive| primitive["verdict"] == "no"));
    // Of those that are not asked, the text has a few.
    std::fs::write(&filter, format!("tcp or {}", hosts.join(" or "))).unwrap();
    let text = stdout(&run(&["trace", "-F", arg(&filter), "captures/mixed.pcap", "-n", "17"]));
    assert!(text.contains("\n  and 19997 more, not asked\n") && text.lines().count() == 9, "{text}");
}
