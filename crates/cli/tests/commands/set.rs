//! `sluss set`: what it prints, and its exit codes.

use crate::common::{arg, code, root, run, run_with_input, scratch, stderr, stdout};

#[test]
fn members_are_told_and_the_exit_code_says_whether_all_are() {
    let list = scratch("set-test").join("list.txt");
    std::fs::write(&list, "# a list\n10.0.0.0/8\n192.0.2.1 - 192.0.2.9\n2001:db8::/32\n80\n10.0.0.1,443\n")
        .unwrap();
    let output =
        run(&["set", "test", arg(&list), "10.1.2.3", "2001:db8::1", "192.0.2.9", "80", "10.0.0.1,443"]);
    assert_eq!(
        stdout(&output),
        "10.1.2.3\tyes\n2001:db8::1\tyes\n192.0.2.9\tyes\n80\tyes\n10.0.0.1,443\tyes\n"
    );
    assert_eq!(code(&output), 0);
    let output = run(&["set", "test", arg(&list), "11.0.0.1", "10.0.0.1"]);
    assert_eq!((stdout(&output).as_str(), code(&output)), ("11.0.0.1\tno\n10.0.0.1\tyes\n", 1));
    // Those that are none are named with their line, and all others answered.
    let output = run_with_input(
        &["set", "test", arg(&list), "-"],
        b"10.0.0.1\nfoo\n\n11.0.0.1\r\n10.0.0.0/8\n\xff\n10.0.0.2",
    );
    assert_eq!(
        (stdout(&output).as_str(), code(&output)),
        ("10.0.0.1\tyes\n11.0.0.1\tno\n10.0.0.2\tyes\n", 2)
    );
    for told in ["line 2: `foo`: expected", "line 5: `10.0.0.0/8`: one address", "line 6: "] {
        assert!(stderr(&output).contains(told), "{told}: {}", stderr(&output));
    }
    let output = run(&["set", "test", "--json", arg(&list), "10.0.0.1"]);
    assert_eq!(
        stdout(&output),
        "{\"v\":1,\"type\":\"set_test\",\"asked\":\"10.0.0.1\",\"answer\":\"yes\"}\n"
    );
}

#[test]
fn a_map_tells_values_and_the_narrower_entry_decides() {
    let list = scratch("set-map").join("map.txt");
    std::fs::write(&list, "10.0.0.0/8 office\n10.1.0.0/16 lab\n::/0 world\n").unwrap();
    let output = run(&["set", "test", arg(&list), "10.1.0.1", "10.2.0.1", "11.0.0.1", "::1"]);
    assert_eq!(stdout(&output), "10.1.0.1\tlab\n10.2.0.1\toffice\n11.0.0.1\tno\n::1\tworld\n");
    assert_eq!(code(&output), 1);
}

#[test]
fn a_million_addresses_through_a_pipe() {
    let folder = scratch("set-many");
    let list = folder.join("list.txt");
    let entry = |i: u32| std::net::Ipv4Addr::from(i.wrapping_mul(0x9e37_79b1));
    let text: String = (0..20_000).map(|i| format!("{}\n", entry(i))).collect();
    std::fs::write(&list, &text).unwrap();
    let asked: String = (0..1_000_000_u32).map(|i| format!("{}\n", entry(i % 40_000))).collect();
    let output = run_with_input(&["set", "test", arg(&list), "-"], asked.as_bytes());
    let answers = stdout(&output);
    assert_eq!(code(&output), 1, "{}", stderr(&output));
    assert!(answers.lines().zip(0_u32..).all(|(line, i)| line
        == format!("{}\t{}", entry(i % 40_000), if i % 40_000 < 20_000 { "yes" } else { "no" })));
    assert_eq!(answers.lines().count(), 1_000_000);
}

#[test]
fn what_is_wrong_with_a_list_is_told_with_its_place() {
    let folder = scratch("set-wrong");
    let list = folder.join("list.txt");
    for (text, told) in [
        (
            "10.0.0.1\n  10.0.0.256\n",
            "list.txt: line 2, column 3: `10.0.0.256`: an IPv4 address is four numbers",
        ),
        ("10.0.0.9-10.0.0.1\n", "line 1, column 1: `10.0.0.9-10.0.0.1`: the range ends before it begins"),
        ("create a hash:ip\ncreate b hash:ip\nadd a 10.0.0.1\n", "holds several sets"),
    ] {
        std::fs::write(&list, text).unwrap();
        for command in ["check", "stats", "build"] {
            let output = run(&["set", command, arg(&list)]);
            assert_eq!(code(&output), 2, "{text}");
            assert!(stderr(&output).contains(told), "{}", stderr(&output));
        }
    }
    assert!(stderr(&run(&["set", "check", arg(&list)])).contains("say which one with `--name SET`"));
    assert_eq!(code(&run(&["set", "check", "--name", "a", arg(&list)])), 0);
    std::fs::write(&list, b"10.0.0.1\n\xff\n").unwrap();
    assert!(stderr(&run(&["set", "check", arg(&list)])).contains("line 2 is no text in UTF-8"));
    let output = run(&["set", "check", arg(&folder.join("none.txt"))]);
    assert_eq!(code(&output), 3);
}

#[test]
fn lists_are_joined() {
    let folder = scratch("set-build");
    let (a, b, out) = (folder.join("a.txt"), folder.join("b.txt"), folder.join("out.txt"));
    std::fs::write(&a, "10.0.0.0/25\n10.0.0.128/25\n192.0.2.1\n443\n").unwrap();
    std::fs::write(
        &b,
        "192.0.2.2-192.0.2.5\n2001:db8::/33\n2001:db8:8000::/33\n444-450\n02:00:00:00:00:01\n",
    )
    .unwrap();
    let output = run(&["set", "build", arg(&a), arg(&b), "-o", arg(&out)]);
    assert_eq!((code(&output), stderr(&output)), (0, String::new()));
    let joined = std::fs::read_to_string(&out).unwrap();
    assert_eq!(joined, "10.0.0.0/24\n192.0.2.1-192.0.2.5\n2001:db8::/32\n443-450\n02:00:00:00:00:01\n");
    // What was written is read again as the same.
    assert_eq!(stdout(&run(&["set", "build", arg(&out)])), joined);
    let output = run(&["set", "check", "--json", arg(&out)]);
    let object: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(
        (&object["entries"], &object["ipv4"], &object["macs"]),
        (&5.into(), &2.into(), &1.into()),
        "{object}"
    );
    let output = run(&["set", "stats", "--json", arg(&out)]);
    let object: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(object["bytes"].as_u64() > Some(0) && object["ns_ipv4"].as_f64() > Some(0.0), "{object}");
    assert!(stdout(&run(&["set", "stats", arg(&out)])).contains("intervals  3 when joined"));
}

/// A database of MaxMind's format: 10.0.0.0/8 is Swedish, 192.0.0.0/4 Norwegian.
const DATABASE: &str = "00000100000800000200000b00000300000b00000400000b00000b00000500000600000b00000b00000700001b00000b00000b00000900000a00000b00003100000b\
    00000000000000000000000000000000e147636f756e747279e14869736f5f636f6465425345e147636f756e747279e14869736f5f636f6465424e4fabcdef4d61784d696e64\
    2e636f6de95b62696e6172795f666f726d61745f6d616a6f725f76657273696f6ea200025b62696e6172795f666f726d61745f6d696e6f725f76657273696f6ea200004b6275\
    696c645f65706f63680802000000006553f1004d64617461626173655f747970654c546573742d436f756e7472794b6465736372697074696f6ee142656e4474657374\
    4a69705f76657273696f6ea20004496c616e67756167657300044a6e6f64655f636f756e74c40000000b4b7265636f72645f73697a65a20018";

#[test]
fn a_database_tells_the_countries_of_addresses() {
    let folder = scratch("set-database");
    let database = folder.join("country.mmdb");
    let bytes =
        DATABASE.as_bytes().chunks(2).map(|two| u8::from_str_radix(std::str::from_utf8(two).unwrap(), 16));
    std::fs::write(&database, bytes.collect::<Result<Vec<_>, _>>().unwrap()).unwrap();
    let output = run(&["set", "test", arg(&database), "10.1.2.3", "192.0.2.1", "172.16.0.1"]);
    assert_eq!(stdout(&output), "10.1.2.3\tSE\n192.0.2.1\tNO\n172.16.0.1\tno\n", "{}", stderr(&output));
    let output = run(&["set", "build", arg(&database), "--name", "NO"]);
    assert_eq!(stdout(&output), "192.0.0.0/4\n", "{}", stderr(&output));
    // In a filter, and in the set of a policy.
    let capture = root().join("captures/web.pcap");
    let count = |filter: &str| {
        let output = run(&["filter", "--count", filter, arg(&capture)]);
        assert!(code(&output) <= 1, "{filter}: {}", stderr(&output));
        stdout(&output)
    };
    let name = database.display();
    assert_eq!(count(&format!("host in {{@{name}:SE}}")), count("net 10.0.0.0/8"));
    assert_eq!(
        count(&format!("src host in {{@{name}:NO, @{name}:SE}}")),
        count("src net 192.0.0.0/4 or src net 10.0.0.0/8")
    );
    let output = run(&["filter", "--count", &format!("host in {{@{name}:DK}}"), arg(&capture)]);
    assert_eq!(code(&output), 3);
    assert!(
        stderr(&output).contains("no address has the value `DK` in this database of type Test-Country"),
        "{}",
        stderr(&output)
    );
    let policy = folder.join("policy.toml");
    std::fs::write(&policy, "rules = '''\nsrc host in {@sweden} => drop\notherwise => accept\n'''\n[sets]\nsweden = 'country.mmdb:SE'\n").unwrap();
    let output = run(&["wall", "check", arg(&policy)]);
    assert_eq!(code(&output), 0, "{}", stderr(&output));
}
