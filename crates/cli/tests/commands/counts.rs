//! Every count that tcpdump made when the captures were recorded.

use crate::common::{code, root, run, stderr, stdout};

#[test]
fn counts_are_those_of_tcpdump() {
    let contents = std::fs::read_to_string(root().join("captures/contents.toml")).unwrap();
    let contents: toml::Table = contents.parse().unwrap();
    let mut checked = 0;
    for capture in contents["capture"].as_array().unwrap() {
        let file = format!("captures/{}", capture["file"].as_str().unwrap());
        for filter in capture["filters"].as_array().unwrap() {
            let (text, count) = (filter["text"].as_str().unwrap(), filter["count"].as_integer().unwrap());
            let output = run(&["filter", "--count", text, &file]);
            assert_eq!(stdout(&output), format!("{count}\n"), "`{text}` on {file}: {}", stderr(&output));
            assert_eq!(code(&output), i32::from(count == 0), "`{text}` on {file}");
            checked += 1;
        }
    }
    assert!(checked > 200, "only {checked} counts were checked");
}

#[test]
fn the_interpreter_counts_the_same() {
    for filter in ["tcp port 80", "ip6 and not tcp", "len > 600", "tcp[tcpflags] & tcp-syn != 0"] {
        let native = run(&["filter", "--count", "--at", "native", filter, "captures/mixed.pcap"]);
        let interp = run(&["filter", "--count", "--at", "interp", filter, "captures/mixed.pcap"]);
        assert_eq!(stdout(&native), stdout(&interp), "{filter}");
    }
}

#[test]
fn a_count_is_one_number_and_a_newline() {
    let output = run(&["filter", "--count", "port 53", "captures/mixed.pcap"]);
    let text = stdout(&output);
    assert!(text.ends_with('\n') && text.trim_end().chars().all(|c| c.is_ascii_digit()), "{text:?}");
    assert_eq!(stderr(&output), "");
}

#[test]
fn several_filters_are_counted_in_one_pass() {
    let output = run(&["filter", "--count", "captures/mixed.pcap", "-f", "ip", "-f", "ip6"]);
    let alone = |filter| stdout(&run(&["filter", "--count", filter, "captures/mixed.pcap"]));
    let expected = format!("{}\tip\n{}\tip6\n", alone("ip").trim_end(), alone("ip6").trim_end());
    assert_eq!(stdout(&output), expected);
}

#[test]
fn each_count_has_a_line_of_its_own() {
    let output =
        run(&["filter", "--count", "captures/lan.pcap", "-f", "ip\n\tor arp\n", "-f", "not\r\nlen > 0"]);
    let text = stdout(&output);
    let filters: Vec<&str> =
        text.lines().filter_map(|line| line.split_once('\t')).map(|(_, filter)| filter).collect();
    assert_eq!(filters, ["ip or arp", "not len > 0"], "{text:?}");
}
