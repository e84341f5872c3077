//! Packets for several routes, and those for none.

mod errors;

use super::Router;
use crate::testing::{frame, read};
use engine::{Class, Fault, PortNames};
use std::path::Path;
use testkit::files::Scratch;
use testkit::rig::Rig;
use wire::ip::Ipv4;

const OPTIONS: &str = "
    [[route]]
    prefix = '10.0.0.0/8'
    port = 'a'
    next_hop = '02:00:00:00:00:0a'
    [[route]]
    prefix = '10.1.0.0/16'
    port = 'b'
    next_hop = '02:00:00:00:00:0b'
    [[route]]
    prefix = '2001:db8::/32'
    port = 'b'
    next_hop = '02:00:00:00:00:0c'
    [[route]]
    prefix = '2001:db8:1::/48'
    port = 'a'
    next_hop = '02:00:00:00:00:0d'";

fn rig(options: &str) -> Rig {
    Rig::new(read::<Router>(options).unwrap(), &["in", "input"], &["a", "b"])
}

/// A frame between these hosts, as it comes, or as it leaves.
fn eth(dst: u8, src: u8) -> String {
    format!("eth(dst=02:00:00:00:00:{dst:02x}, src=02:00:00:00:00:{src:02x})")
}

#[test]
fn packets_go_where_the_longest_prefix_says() {
    for (before, port, hop, after) in [
        ("ip4(dst=10.2.3.4, ttl=64) / udp", "a", 0x0a, "ip4(dst=10.2.3.4, ttl=63) / udp"),
        ("ip4(dst=10.1.3.4, ttl=2) / udp", "b", 0x0b, "ip4(dst=10.1.3.4, ttl=1) / udp"),
        (
            "ip4(dst=10.1.3.4, options=01 01 01 00) / tcp",
            "b",
            0x0b,
            "ip4(dst=10.1.3.4, ttl=63, options=01 01 01 00) / tcp",
        ),
        ("ip6(dst=2001:db8::5, hops=2) / udp", "b", 0x0c, "ip6(dst=2001:db8::5, hops=1) / udp"),
        ("ip6(dst=2001:db8:1::5) / tcp", "a", 0x0d, "ip6(dst=2001:db8:1::5, hops=63) / tcp"),
    ] {
        let mut rig = rig(OPTIONS);
        rig.send("input", frame(&format!("{} / {before}", eth(1, 9))));
        rig.send("in", frame(&format!("{} / {before}", eth(1, 9))));
        rig.breathe();
        let expected = frame(&format!("{} / {after}", eth(hop, 1)));
        assert_eq!(rig.take(port), [expected.clone(), expected], "{before}");
        assert_eq!(rig.counter("forwarded"), 2);
    }
}

#[test]
fn checksums_stay_right_for_every_time_to_live() {
    let mut rig = rig(OPTIONS);
    for ttl in 2..=255 {
        for id in [0, 0x1234, 0xffff] {
            rig.send("input", frame(&format!("eth / ip4(dst=10.0.0.1, ttl={ttl}, id={id}) / udp")));
        }
    }
    rig.breathe();
    let out = rig.take("a");
    assert_eq!(out.len(), 3 * 254);
    assert!(out.iter().all(|packet| Ipv4::new(&packet[14..]).unwrap().is_checksum_right()));
}

#[test]
fn what_is_not_sent_on_is_counted() {
    for (line, reason) in [
        ("eth / ip4(dst=11.0.0.1) / udp", "no_route"),
        ("eth / ip6(dst=2001:db9::1) / udp", "no_route"),
        ("eth / ip4(dst=10.0.0.1, ttl=1) / udp", "ttl_exceeded"),
        ("eth / ip4(dst=10.0.0.1, ttl=0) / udp", "ttl_exceeded"),
        ("eth / ip6(dst=2001:db8::1, hops=1) / udp", "ttl_exceeded"),
        ("eth / ip6(dst=2001:db8::1, hops=0) / udp", "ttl_exceeded"),
        ("eth / ip4(dst=10.0.0.1, sum=0x1234) / udp", "bad_checksum"),
        ("eth / ip4(dst=10.0.0.1, len=19) / udp", "malformed"),
        ("eth / ip4(dst=10.0.0.1, len=200) / udp", "malformed"),
        ("eth / ip4(dst=10.0.0.1, ihl=4) / udp", "malformed"),
        ("eth / ip4(dst=10.0.0.1, ihl=15) / udp", "malformed"),
        ("eth / ip4(dst=10.0.0.1) / cut(33)", "malformed"),
        ("eth / ip6(dst=2001:db8::1, len=200) / udp", "malformed"),
        ("eth / ip6(dst=2001:db8::1) / cut(53)", "malformed"),
        ("eth / ip4(src=127.0.0.1, dst=10.0.0.1) / udp", "martian"),
        ("eth / ip4(src=224.0.0.1, dst=10.0.0.1) / udp", "martian"),
        ("eth / ip4(src=0.0.0.0, dst=10.0.0.1) / udp", "martian"),
        ("eth / ip4(dst=255.255.255.255) / udp", "martian"),
        ("eth / ip4(dst=169.254.1.1) / udp", "martian"),
        ("eth / ip4(src=0.1.2.3, dst=10.0.0.1) / udp", "martian"),
        ("eth / ip4(dst=240.0.0.1) / udp", "martian"),
        ("eth / ip6(src=fe80::1, dst=2001:db8::1) / udp", "martian"),
        ("eth / ip6(src=::, dst=2001:db8::1) / udp", "martian"),
        ("eth / ip6(dst=ff0e::1) / udp", "martian"),
        ("eth / ip6(dst=::1) / udp", "martian"),
        ("eth / ip6(src=::ffff:192.0.2.1, dst=2001:db8::1) / udp", "martian"),
        ("eth(dst=ff:ff:ff:ff:ff:ff) / ip4(dst=10.0.0.1) / udp", "other_mac"),
        ("eth / arp", "not_ip"),
        ("eth / vlan(3) / ip4(dst=10.0.0.1) / udp", "not_ip"),
        ("eth / cut(13)", "not_ip"),
        ("hex()", "not_ip"),
    ] {
        let mut rig = rig(OPTIONS);
        rig.send("input", frame(line));
        rig.breathe();
        assert!(rig.take("a").is_empty() && rig.take("b").is_empty(), "{line}");
        assert_eq!(rig.counter(reason), 1, "{line}");
    }
}

#[test]
fn packets_for_the_router_go_no_further() {
    let ports = "
        [port.a]
        ip = ['10.0.0.1', '2001:db8::1']
        mtu = 1280
        [port.b]
        ip = '192.0.2.1'
        [[route]]
        prefix = '192.0.2.1'
        port = 'b'
        next_hop = '02:00:00:00:00:0e'";
    let mut rig = rig(&format!("{OPTIONS}{ports}"));
    for line in [
        "eth / ip4(dst=10.0.0.1) / udp",
        "eth / ip4(dst=10.0.0.1, ttl=1) / udp",
        // With a route to the very address.
        "eth / ip4(dst=192.0.2.1) / udp",
        "eth / ip6(dst=2001:db8::1) / udp",
        "eth / ip6(dst=2001:db8::1, hops=1) / udp",
    ] {
        rig.send("input", frame(line));
    }
    rig.breathe();
    assert!(rig.take("a").is_empty() && rig.take("b").is_empty());
    assert_eq!((rig.counter("own_address"), rig.counter("icmp_sent")), (5, 0));
    for line in ["eth / ip4(dst=10.0.0.2) / udp", "eth / ip6(dst=2001:db8::2) / udp"] {
        rig.send("input", frame(line));
    }
    rig.breathe();
    assert_eq!((rig.take("a").len(), rig.take("b").len()), (1, 1), "their neighbours are routed");
}

#[test]
fn a_router_with_an_address_takes_frames_for_it() {
    let mut rig = rig(&format!("mac = '02:00:00:00:00:01'\n{OPTIONS}"));
    rig.send("input", frame(&format!("{} / ip4(dst=10.0.0.1)", eth(1, 9))));
    rig.send("input", frame(&format!("{} / ip4(dst=10.0.0.1)", eth(2, 9))));
    rig.breathe();
    assert_eq!(rig.take("a"), [frame(&format!("{} / ip4(dst=10.0.0.1, ttl=63)", eth(0x0a, 1)))]);
    assert_eq!(rig.counter("other_mac"), 1);
}

#[test]
fn routes_can_change() {
    let mut rig = rig(OPTIONS);
    rig.reconfigure(read::<Router>(&OPTIONS.replace("10.1.0.0/16", "10.2.0.0/16")).unwrap());
    rig.send("input", frame("eth / ip4(dst=10.1.0.1)"));
    rig.send("input", frame("eth / ip4(dst=10.2.0.1)"));
    rig.breathe();
    assert_eq!((rig.take("a").len(), rig.take("b").len()), (1, 1));
}

/// The routes of [`OPTIONS`], in a file.
const FILE: &str = "\
# prefix      port  next hop
10.0.0.0/8      a   02:00:00:00:00:0a   # inside
10.1.0.0/16     b   02:00:00:00:00:0b

2001:db8::/32   b   02:00:00:00:00:0c
\t2001:db8:1::/48 a 02:00:00:00:00:0d
";

fn from_file(path: &Path, more: &str) -> Router {
    read(&format!("routes_file = '{}'\n{more}", path.display())).unwrap()
}

#[test]
fn routes_in_a_file_are_those_of_the_options() {
    let folder = Scratch::new();
    let path = folder.file("routes.txt", FILE.as_bytes());
    let more = "[[route]]\nprefix = '11.0.0.0/8'\nport = 'a'\nnext_hop = '02:00:00:00:00:0e'";
    let mut rig = Rig::new(from_file(&path, more), &["input"], &["a", "b"]);
    for (dst, port, hop) in [
        ("ip4(dst=10.2.3.4)", "a", 0x0a),
        ("ip4(dst=10.1.3.4)", "b", 0x0b),
        ("ip6(dst=2001:db8::5)", "b", 0x0c),
        ("ip6(dst=2001:db8:1::5)", "a", 0x0d),
        ("ip4(dst=11.0.0.1)", "a", 0x0e),
    ] {
        rig.send("input", frame(&format!("eth / {dst} / udp")));
        rig.breathe();
        let out = rig.take(port);
        assert!(matches!(&out[..], [packet] if packet[5] == hop), "{dst}: {out:?}");
    }
}

#[test]
fn options_read_again_bring_what_is_in_the_file_by_then() {
    let folder = Scratch::new();
    let path = folder.file("routes.txt", FILE.as_bytes());
    let before = from_file(&path, "");
    let mut rig = Rig::new(before.clone(), &["input"], &["a", "b"]);
    assert!(before == from_file(&path, ""), "nothing has changed");
    std::fs::write(&path, FILE.replace("10.1.0.0/16", "10.2.0.0/16")).unwrap();
    let after = from_file(&path, "");
    assert!(after.check().is_ok() && before != after);
    rig.reconfigure(after);
    rig.send("input", frame("eth / ip4(dst=10.1.0.1)"));
    rig.send("input", frame("eth / ip4(dst=10.2.0.1)"));
    rig.breathe();
    assert_eq!((rig.take("a").len(), rig.take("b").len()), (1, 1));
}

#[test]
fn the_last_route_of_a_linked_port_may_go() {
    let mut rig = rig(OPTIONS);
    rig.reconfigure(read::<Router>(&OPTIONS.replace("'b'", "'a'")).unwrap());
    rig.send("input", frame("eth / ip4(dst=10.1.0.1)"));
    rig.breathe();
    assert_eq!((rig.take("a").len(), rig.take("b").len()), (1, 0));
    rig.reconfigure(Router::default());
    rig.send("input", frame("eth / ip4(dst=10.1.0.1)"));
    rig.breathe();
    assert_eq!(rig.counter("no_route"), 1);
}

#[test]
fn what_is_wrong_in_a_file_of_routes_has_its_line() {
    const EXPECTED: &str =
        "expected a prefix, a port and a hardware address, as in `10.0.0.0/8 inside 02:00:00:00:00:0a`";
    let folder = Scratch::new();
    let hop = "02:00:00:00:00:0a";
    for (text, error) in [
        ("\n10.0.0.0/8 a".to_owned(), format!("line 2: this is no route: {EXPECTED}")),
        (format!("10.0.0.0/8 -> a {hop}"), format!("line 1: this is no route: {EXPECTED}")),
        (
            format!("10.0.0.1/8 a {hop}"),
            "line 1: `10.0.0.1/8` has bits set behind its first 8: write 10.0.0.0/8, or 10.0.0.1/32 for one address"
                .to_owned(),
        ),
        (
            format!("# x\n::/0 a {hop}:0b"),
            format!(
                "line 2: hardware address `{hop}:0b` has 7 bytes, not 6: write it like 02:00:5e:10:00:01"
            ),
        ),
        (
            format!("::/0 a 03{}", &hop[2..]),
            format!("line 1: 03{} is the address of a group, not of one host", &hop[2..]),
        ),
        (format!("::/0 a {hop}\n::/0 b {hop}"), "line 2: another route for ::/0".to_owned()),
    ] {
        let path = folder.file("routes.txt", text.as_bytes());
        let told = from_file(&path, "").check().unwrap_err();
        assert_eq!(told.to_string(), format!("`routes_file`: {}, {error}", path.display()));
        assert_eq!(told.fault, Fault::Option);
    }
    let path = folder.file("routes.txt", b"::/0 \xff 02:00:00:00:00:0a\n\xfe");
    let told = from_file(&path, "").check().unwrap_err().to_string();
    assert!(told.contains("line 2: this is no route"), "{told}");
    let path = folder.file("routes.txt", format!("::/1 a {hop}\n::/0 c {hop}").as_bytes());
    let linked = PortNames { inputs: vec!["input"], outputs: vec!["a"] };
    let told = from_file(&path, "").check_ports(&linked).unwrap_err().to_string();
    assert_eq!(told, format!("`routes_file`: {}, line 2: nothing is linked to port `c`", path.display()));
    let absent = from_file(&folder.path("absent"), "").check().unwrap_err();
    assert_eq!(absent.fault, Fault::System);
    assert!(absent.to_string().starts_with("`routes_file`: cannot read "), "{absent}");
}

#[test]
fn all_wrong_lines_of_a_file_are_told() {
    let folder = Scratch::new();
    let hop = "02:00:00:00:00:0a";
    let check = |text: String| {
        let path = folder.file("routes.txt", text.as_bytes());
        let error = from_file(&path, "").check().unwrap_err();
        let place = format!("{}, ", path.display());
        (error.message.replace(&place, ""), error.detail.unwrap_or_default().replace(&place, ""))
    };
    let (first, more) =
        check(format!("::/0 a 03:00:00:00:00:01\n::/1 a {hop}\n10.0.0.0/8\n10.0.0.1/8 a {hop}"));
    assert_eq!(first, "line 1: 03:00:00:00:00:01 is the address of a group, not of one host");
    let lines: Vec<&str> = more.lines().collect();
    assert!(matches!(lines[..], [no_route, bits]
        if no_route.starts_with("line 3: this is no route") && bits.starts_with("line 4: `10.0.0.1/8` has bits")));
    let (first, more) = check(format!("::/0 a {hop}\n::/0 a {hop}\n10.0.0.0/8 a {hop}\n::/0 b {hop}"));
    assert_eq!((&*first, &*more), ("line 2: another route for ::/0", "line 4: another route for ::/0"));
    let (_, more) = check("x\n".repeat(1000));
    assert_eq!(
        (more.lines().count(), more.lines().last()),
        (20, Some("1000 lines wrong, of which 20 are told"))
    );
    let path = folder.file("routes.txt", format!("::/1 d {hop}\n::/0 c {hop}\n::/2 c {hop}").as_bytes());
    let linked = PortNames { inputs: vec!["input"], outputs: vec!["a"] };
    let error = from_file(&path, "").check_ports(&linked).unwrap_err();
    assert!(error.message.ends_with("line 1: nothing is linked to port `d`"), "{error}");
    assert!(error.detail.unwrap().ends_with("line 2: nothing is linked to port `c`"));
}

#[test]
fn options_are_checked() {
    for (options, error) in [
        (OPTIONS.replace("10.1.0.0/16", "10.0.0.0/8"), "`route[1].prefix`: two routes for 10.0.0.0/8"),
        (
            OPTIONS.replace("02:00:00:00:00:0b", "03:00:00:00:00:0b"),
            "`route[1].next_hop`: 03:00:00:00:00:0b is the address of a group, not of one host",
        ),
    ] {
        assert_eq!(read::<Router>(&options).unwrap().check().unwrap_err().to_string(), error);
    }
    let options =
        OPTIONS.replace("10.1.0.0/16", "10.0.0.0/8").replace("02:00:00:00:00:0b", "03:00:00:00:00:0b");
    let error = read::<Router>(&options).unwrap().check().unwrap_err();
    let wrong: Vec<&str> = error.each().filter_map(|error| error.option.as_deref()).collect();
    assert_eq!(wrong, ["route[1].next_hop", "route[1].prefix"]);
    let router: Router = read(OPTIONS).unwrap();
    let check_ports = |outputs| router.check_ports(&PortNames { inputs: vec!["input"], outputs });
    let error = check_ports(vec!["a"]).unwrap_err().to_string();
    assert_eq!(error, "`route[1].port`: nothing is linked to port `b`");
    assert_eq!(check_ports(vec!["a", "b", "c"]), Ok(()), "no route leads to it, or none any more");
    let error = read::<Router>(&OPTIONS.replace("10.1.0.0/16", "10.1.0.1/16")).unwrap_err().to_string();
    assert!(error.contains("10.1.0.1/16"), "{error}");
}
