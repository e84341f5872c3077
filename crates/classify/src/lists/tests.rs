//! Each form as it is published, and what is wrong with each.

use super::*;

fn v4(text: &str) -> u32 {
    item::v4(text).unwrap()
}

#[test]
fn entries() {
    let address = v4("10.0.0.1");
    for (text, item) in [
        ("10.0.0.1", Item::V4(address, address)),
        ("10.0.0.1/8", Item::V4(v4("10.0.0.0"), v4("10.255.255.255"))),
        ("10.0.0.1/32", Item::V4(address, address)),
        ("0.0.0.0/0", Item::V4(0, u32::MAX)),
        ("10.0.0.0/255.0.0.0", Item::V4(v4("10.0.0.0"), v4("10.255.255.255"))),
        ("10.0.0.1-10.0.0.9", Item::V4(address, v4("10.0.0.9"))),
        ("::1", Item::V6(1, 1)),
        ("::/0", Item::V6(0, u128::MAX)),
        ("::ffff:10.0.0.1/128", Item::V6(0xffff_0a00_0001, 0xffff_0a00_0001)),
        ("::1-::9", Item::V6(1, 9)),
        ("80", Item::Port(80, 80)),
        ("8000-8080", Item::Port(8000, 8080)),
        ("02:00:00:00:00:0a", Item::Mac(0x0200_0000_000a)),
        ("02-00-00-00-00-0a", Item::Mac(0x0200_0000_000a)),
        ("10.0.0.1,80", Item::Pair4(address, address, 80, 80)),
        ("10.0.0.1/32,tcp:80-90", Item::Pair4(address, address, 80, 90)),
        ("::1,53", Item::Pair6(1, 1, 53, 53)),
    ] {
        assert_eq!(Item::parse(text), Ok(item), "{text}");
    }
    for text in [
        "",
        "10.0.0",
        "10.0.0.256",
        "10.0.0.01",
        "10.0.0.1/33",
        "10.0.0.1/+8",
        "10.0.0.1/",
        "10.0.0.0/255.0.255.0",
        "10.0.0.9-10.0.0.1",
        "10.0.0.1-::1",
        "::1/129",
        "::g",
        "65536",
        "90-80",
        "02:00:00:00:00",
        "10.0.0.1,",
        "80,80",
        "1.2.3.4.5",
        "-",
        ",",
        "/8",
        "é",
        "10.0.0.1,90-80",
    ] {
        assert!(Item::parse(text).is_err(), "{text}");
    }
}

#[test]
fn plain_lists_of_publishers() {
    let firehol = "#\n# firehol_level1\n#\n# Entries: 3\n0.0.0.0/8\n1.10.16.0/20\n5.134.128.5\n";
    let spamhaus = "; Spamhaus DROP List\n; Expires: …\n1.10.16.0/20 ; SBL256894\n1.19.0.0/16 ; SBL434604\n";
    let mixed = "\u{feff}10.0.0.1 # one\r\n\r\n  10.0.0.5 - 10.0.0.9\n2001:db8::/32;six\n";
    for (text, entries, v4, v6) in [(firehol, 3, 3, 0), (spamhaus, 2, 2, 0), (mixed, 3, 2, 1), ("", 0, 0, 0)]
    {
        let list = read(text, None).unwrap();
        assert_eq!((list.format, list.entries), (Format::Plain, entries), "{text}");
        assert_eq!((list.addresses.v4.len(), list.addresses.v6.len()), (v4, v6), "{text}");
        assert!(!list.is_map());
    }
}

#[test]
fn a_word_behind_an_address_is_its_value() {
    let list = read("10.0.0.0/8 office\n10.1.0.0/16\tlab # the other one\n::/0 office\n", None).unwrap();
    assert_eq!(list.names, ["office", "lab"]);
    assert_eq!(list.values4.iter().map(|value| value.2).collect::<Vec<_>>(), [0, 1]);
    assert_eq!(list.values6, [(0, u128::MAX, 0)]);
    let problem = read("10.0.0.0/8 office\n\n 10.1.0.0/16 # no\n", None).unwrap_err();
    assert_eq!((problem.line, problem.column), (3, 2), "{problem}");
}

#[test]
fn tables_and_documents() {
    let csv = "ip,country_code,abuse_confidence_score\n192.0.2.1,US,100\n\"2001:db8::1\",\"DE, or so\",90\n";
    let named = "country,network,asn\n\"A, B\",192.0.2.0/24,64500\n";
    let lines = "{\"cidr\":\"1.10.16.0/20\",\"sblid\":\"SBL256894\",\"rir\":\"apnic\"}\n{\"type\":\"metadata\",\"copyright\":\"(c) \\\"x\\\" : 2026\"}\n";
    let document = "{\"meta\": {\"generatedAt\": \"2026\"}, \"data\": [ {\"ipAddress\" : \"192.0.2.1\", \"abuseConfidenceScore\": 100} ]}";
    for (text, format, entries) in [
        (csv, Format::Csv, 2),
        (named, Format::Csv, 1),
        (lines, Format::Json, 1),
        (document, Format::Json, 1),
    ] {
        let list = read(text, None).unwrap();
        assert_eq!((list.format, list.entries), (format, entries), "{text}");
    }
    let problem = read("{\"ip\": \"192.0.2.1\"}\n{\"ip\": \"no\"}", None).unwrap_err();
    assert_eq!((problem.line, problem.column), (2, 9), "{problem}");
    assert!(read("{\"ip\": \"192.0.2.1", None).is_err());
    assert_eq!(read("ip,b\n192.0.2.1,1\nx,2\n", None).unwrap_err().line, 3);
}

#[test]
fn documents_hold_entries_one_by_one_and_in_arrays() {
    let aws = "{\"syncToken\": \"1\", \"prefixes\": [{\"ip_prefix\": \"192.0.2.0/24\", \"region\": \"eu\"}, \
               {\"ip_prefix\": \"198.51.100.0/24\"}], \"ipv6_prefixes\": [{\"ipv6_prefix\": \"2001:db8::/32\", \"service\": \"S3\"}]}";
    for (text, entries) in [
        ("{\"ip\":[\"10.0.0.1\",\"10.0.0.2\"]}", 2),
        ("{\"ip\" : [\n\"10.0.0.1\" , \"10.0.0.2\"\n], \"seen\": [\"today\", \"]\"]}", 2),
        ("{\"a\": {\"ip\": [[\"10.0.0.1\"], \"10.0.0.2\"]}, \"b\": \"10.0.0.3\"}", 2),
        ("{\"ip\": null, \"name\": \"x\"}", 0),
        ("{\"ip\": [{\"of\": \"x\", \"ip\": \"10.0.0.1\"}, \"10.0.0.2\"]}", 2),
        ("[\"10.0.0.0/8\"]", 1),
        ("[\"10.0.0.0/8\"]\n[\"10.0.0.1\", \"::1\"]\n", 3),
        ("[{\"ip\": \"10.0.0.1\"}, {\"ip\": \"10.0.0.2\"}]", 2),
        (aws, 3),
        ("[]", 0),
        ("{\"data\": [], \"ip\": []}", 0),
        ("{ }\n", 0),
    ] {
        assert_eq!(read(text, None).unwrap().entries, entries, "{text}");
    }
    for text in ["{\"web\": [\"10.0.0.1\"]}", "[80, 443]", "{\"data\": [{\"address\": \"10.0.0.1\"}]}"] {
        assert!(read(text, None).unwrap_err().message.starts_with("no key in it names"), "{text}");
    }
    let problem = read("[\"10.0.0.1\",\n \"no\"]", None).unwrap_err();
    assert_eq!((problem.line, problem.column), (2, 3), "{problem}");
}

#[test]
fn ipset_saves() {
    let text = "create bad hash:net family inet hashsize 1024 maxelem 65536 timeout 0\n\
                add bad 192.0.2.0/24 timeout 300 comment \"a nomatch b\"\n\
                add bad 192.0.2.8/29 nomatch\nadd bad 192.0.2.10\n";
    let list = read(text, None).unwrap();
    assert_eq!((list.format, list.name.as_deref(), list.entries), (Format::Ipset, Some("bad"), 2));
    let expected = [("192.0.2.0", "192.0.2.7"), ("192.0.2.10", "192.0.2.10"), ("192.0.2.16", "192.0.2.255")];
    assert_eq!(list.addresses.v4, expected.map(|(low, high)| (v4(low), v4(high))));

    let two = "create a hash:ip\ncreate b hash:ip,port\nadd a 10.0.0.1\nadd b 10.0.0.1,tcp:80\n";
    assert!(read(two, None).unwrap_err().message.contains("several sets"));
    assert_eq!(read(two, Some("a")).unwrap().addresses.v4.len(), 1);
    assert_eq!(read(two, Some("b")).unwrap().pairs4.len(), 1);
    assert!(read(two, Some("c")).unwrap_err().message.contains("no set"));
    let problem = read("create l list:set size 8\n", None).unwrap_err();
    assert_eq!((problem.line, problem.column), (1, 10), "{problem}");
    assert_eq!(read("create a hash:ip\nadd a 10.0.0\n", None).unwrap_err().column, 7);
    assert!(read("create a hash:ip\nsub a 10.0.0.1\n", None).is_err());
    assert!(read("add a\n", None).is_err());
}

#[test]
fn sets_of_nftables() {
    let ruleset = "table inet filter {\n\tset bad {\n\t\ttype ipv4_addr\n\t\tflags interval\n\t\telements = { 192.0.2.0/24, 192.0.2.1-192.0.2.9,\n\
                   \t\t\t     198.51.100.7 timeout 1h expires 59m comment \"a, }\" }\n\t}\n\tchain input {\n\t\tip saddr @bad drop\n\t}\n}\n";
    let list = read(ruleset, None).unwrap();
    assert_eq!((list.format, list.name.as_deref(), list.addresses.v4.len()), (Format::Nft, Some("bad"), 3));
    let pairs = "add element inet filter web { 192.0.2.1 . 80, 2001:db8::1 . 8000-8080 }";
    let list = read(pairs, None).unwrap();
    assert_eq!((list.pairs4.len(), list.pairs6.len(), list.name.as_deref()), (1, 1, Some("web")));
    let map = "table ip t { map m { type ipv4_addr : verdict; elements = { 192.0.2.1 : drop, 192.0.2.2 : accept } } }";
    assert_eq!(read(map, None).unwrap().names, ["drop", "accept"]);
    assert_eq!(read("define a = { 1.2.3.4, 1.2.3.5 }\ndefine b = 1.2.3.6\n", Some("b")).unwrap().entries, 1);
    assert!(read("define a = { 1.2.3.4 }\ndefine b = { 1.2.3.5 }\n", None).is_err());
    let problem = read("define a = {\n  1.2.3.4,\n  nonsense }\n", None).unwrap_err();
    assert_eq!((problem.line, problem.column), (3, 3), "{problem}");
}

#[test]
fn elements_that_are_taken_out_are_not_added() {
    for command in ["add", "create"] {
        let text = format!("{command} element inet filter bad {{ 192.0.2.7 }}\n");
        assert_eq!(read(&text, None).unwrap().addresses.v4.len(), 1, "{command}");
    }
    for command in ["delete", "destroy"] {
        let text = format!(
            "add element inet filter bad {{ 192.0.2.7, 192.0.2.8 }}\n{command} element inet filter bad {{ 192.0.2.7 }}\n"
        );
        let problem = read(&text, None).unwrap_err();
        assert_eq!((problem.line, problem.column), (2, 1), "{problem}");
        assert!(read(&text, Some("bad")).is_err());
        let text = format!("{text}define other = 192.0.2.9\n");
        assert_eq!(read(&text, Some("other")).unwrap().entries, 1);
    }
    let text = "define a = 192.0.2.7\nget element inet filter bad { 192.0.2.8 }\n";
    assert_eq!(read(text, None).unwrap().entries, 1);
}

#[test]
fn a_definition_without_braces_ends_with_its_line() {
    let text = "define wan = eth0\ndefine lan = { eth1, eth2 }\ndefine both = { $wan, $lan }\n\
                table inet filter {\n\tset bad {\n\t\ttype ipv4_addr\n\t\telements = { 192.0.2.1, 192.0.2.2 }\n\t}\n}\n";
    let list = read(text, None).unwrap();
    assert_eq!((list.name.as_deref(), list.entries), (Some("bad"), 2));
    assert_eq!(read(text, Some("bad")).unwrap().entries, 2);
    assert_eq!(read(text, Some("wan")).unwrap_err().line, 1, "asked for, it has to be a list");
    let text = "define one = 192.0.2.1 # the first\nadd rule inet filter input ip saddr $one, drop\n";
    assert_eq!(read(text, None).unwrap().entries, 1);
    let text = "define some = \\\n  { 192.0.2.1,\n 192.0.2.2 }\n";
    assert_eq!(read(text, None).unwrap().entries, 2);
    // Where nothing is a list, it is told why not.
    for text in ["define wan = eth0\n", "define bad = { 10.0.0.300 }"] {
        assert_eq!(read(text, None).unwrap_err().line, 1, "{text}");
    }
}

#[test]
fn mistakes_are_short_in_messages() {
    let text = format!("10.0.0.1\n  {}\u{1b}[0m", "x".repeat(500));
    let problem = read(&text, None).unwrap_err();
    assert_eq!((problem.line, problem.column), (2, 3));
    assert!(problem.message.len() < 200 && !problem.message.contains('\u{1b}'), "{}", problem.message);
    assert!(problem.help.is_some());
}
