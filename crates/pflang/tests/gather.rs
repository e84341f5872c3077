//! Long lists in text, gathered: how few sets and nodes are left of them, and that cut packets are judged as before.

use pflang::internals::ir::build::build;
use pflang::internals::ir::interp::Interp;
use pflang::internals::ir::tree::{Clause, Tree, TreeId, TreeNode};
use pflang::internals::ir::{ACCEPT, Cond, Graph};
use pflang::internals::opt::gather::gather;
use pflang::{Compiler, Dialect, LinkType};
use testkit::rng::Rng;

/// How many sets the lists of a filter become, and how many nodes its graph has before and after.
fn sizes(filter: &str) -> (usize, usize, usize) {
    sizes_in(Dialect::default(), filter)
}

fn sizes_in(dialect: Dialect, filter: &str) -> (usize, usize, usize) {
    let lowered = Compiler::new(LinkType::EN10MB).dialect(dialect).stages(filter).unwrap().lowered;
    let mut tree = lowered.tree.clone();
    let root = gathered(&mut tree, lowered.root);
    let sets = (0..tree.len() as u32).filter(|&id| matches!(tree.node(TreeId(id)), TreeNode::In(_))).count();
    (
        sets,
        build(lowered.tree, &[(lowered.root, ACCEPT)]).node_count(),
        build(tree, &[(root, ACCEPT)]).node_count(),
    )
}

fn gathered(tree: &mut Tree, root: TreeId) -> TreeId {
    let mut clauses = [Clause::Leaf(root, ACCEPT)];
    gather(tree, &mut clauses);
    clauses[0].root().unwrap()
}

fn list(count: usize, term: impl Fn(usize) -> String) -> String {
    (0..count).map(term).collect::<Vec<_>>().join(" or ")
}

#[test]
fn lists_of_one_kind_become_a_few_sets() {
    let cases = [
        (list(50, |i| format!("host 10.0.0.{i}")), 6),
        (list(50, |i| format!("ip src host 10.0.0.{i}")), 1),
        (list(50, |i| format!("ip src net 10.{i}.0.0/{}", 16 + i % 9)), 1),
        (list(50, |i| format!("tcp port {i}")), 4),
        (list(50, |i| format!("ether proto {}", 0x900 + i)), 1),
        (list(50, |i| format!("tcp dst portrange {}-{}", 9 * i, 9 * i + 5)), 2),
        (list(50, |i| if i % 2 == 0 { format!("port {i}") } else { format!("portrange {i}-{}", 2 * i) }), 12),
        (format!("tcp and not ({})", list(50, |i| format!("ip dst host 10.0.0.{i}"))), 1),
        (list(50, |i| format!("not ip src host 10.0.0.{i}")).replace(" or ", " and "), 1),
        // One before the first `arp`, which may reject the packet, and two behind it.
        (list(50, |i| if i % 9 == 5 { "arp".into() } else { format!("ip src host 10.0.0.{i}") }), 3),
    ];
    for (filter, expected) in cases {
        let (sets, before, after) = sizes(&filter);
        assert_eq!(sets, expected, "{filter}");
        assert!(after < before / 3, "{before} nodes, then {after}: {filter}");
    }
}

/// Each port is looked for at each of seven headers: unless gathered, 2,000 ranges are a million nodes.
#[test]
fn ports_behind_extension_headers_become_sets() {
    for word in ["port", "portrange", "udp dst portrange"] {
        let filter = list(50, |i| format!("{word} {}-{}", 9 * i, 9 * i + 5));
        let filter = if word == "port" { filter.replace("-", " or ") } else { filter };
        let (sets, before, after) = sizes_in(Dialect::MODERN, &filter);
        assert!(sets > 7 && after < before / 20, "{sets} sets, {before} nodes, then {after}: {word}");
    }
}

#[test]
fn what_is_no_list_of_one_kind_stays() {
    let cases = [
        "tcp port 80 or tcp port 443".to_owned(),
        list(50, |i| format!("ip[{i}] = 7")),
        list(50, |i| format!("not ip src host 10.0.0.{i}")),
        list(50, |i| format!("ip src host 10.0.0.{i}")).replace(" or ", " and "),
        list(50, |i| format!("ip[2:2] & 0x0ff0 = {}", i << 4)),
    ];
    for filter in cases {
        let (sets, before, after) = sizes(&filter);
        assert_eq!((sets, after), (0, before), "{filter}");
    }
}

/// The list is there twice: as trees, and as it was for packets that are cut.
#[test]
fn lists_of_runs_become_trees() {
    let cases = [
        list(50, |i| format!("host 2001:db8:{i}::{i}")),
        list(50, |i| format!("ip6 src net 2001:db8:{i}::/{}", 48 + i % 16)),
        list(50, |i| format!("ether host 02:00:00:00:00:{i:02}")),
        list(50, |i| format!("(ip src host 10.0.0.{i} and ip dst host 10.0.1.{i})")),
        list(50, |i| format!("not ether src 02:00:00:00:{i:02}:00")).replace(" or ", " and "),
        list(50, |i| if i % 9 == 5 { "arp".into() } else { format!("ether dst 02:00:00:00:00:{i:02}") }),
    ];
    for filter in cases {
        let lowered = Compiler::new(LinkType::EN10MB).stages(&filter).unwrap().lowered;
        let mut tree = lowered.tree;
        gathered(&mut tree, lowered.root);
        assert_eq!(splits(&tree), 1, "{filter}");
    }
}

/// How many lists were written twice.
fn splits(tree: &Tree) -> usize {
    let is_guard = |&id: &u32| match tree.node(TreeId(id)) {
        TreeNode::Test(cond) => matches!(tree.pool.get_cond(cond), Cond::Bounds { .. }),
        _ => false,
    };
    (0..tree.len() as u32).filter(is_guard).count()
}

fn leaves(graph: &Graph, packets: &[Vec<u8>]) -> Vec<u32> {
    let mut interp = Interp::new(graph);
    packets.iter().map(|data| interp.run(data, 9)).collect()
}

/// However deep lists lie in each other, few are written twice: else each level would double what is below.
#[test]
fn lists_in_lists_do_not_double_at_each_level() {
    let level = |inner: String, i: usize| {
        let hosts = |word: &str| (0..20).map(|j| format!("{word} 2001:db8:{i}::{j}:1")).collect::<Vec<_>>();
        format!("({} or ({} and {inner}))", hosts("host").join(" or "), hosts("not host").join(" and "))
    };
    let filter = (0..12).fold("arp".to_owned(), level);
    let stages = Compiler::new(LinkType::EN10MB).stages(&filter).unwrap();
    assert!(stages.optimised.node_count() < 4 * stages.graph.node_count());
}

/// Where a packet ends between two tests, the order of all that reads it counts.
#[test]
fn cut_packets_are_judged_by_the_first_that_reads_too_far() {
    let hosts = list(40, |i| format!("host 10.0.0.{i}"));
    let filter = format!("{hosts} or ip[60] = 1 or {hosts} or ip src host 10.0.1.1");
    let compiler = Compiler::new(LinkType::EN10MB).dialect(Dialect::STRICT);
    let stages = compiler.stages(&filter).unwrap();
    for kind in [0x0800u16, 0x0806, 0x86dd] {
        for (src, dst) in [(0, 200), (39, 200), (200, 0), (200, 39), (200, 200)] {
            let mut packet = [0; 80];
            packet[12..14].copy_from_slice(&kind.to_be_bytes());
            for at in [26, 28] {
                packet[at..at + 4].copy_from_slice(&[10, 0, 0, src]);
            }
            for at in [30, 38] {
                packet[at..at + 4].copy_from_slice(&[10, 0, 0, dst]);
            }
            let cut: Vec<Vec<u8>> = (0..=80).map(|len| packet[..len].to_vec()).collect();
            assert_eq!(leaves(&stages.graph, &cut), leaves(&stages.optimised, &cut), "{kind:x} {src} {dst}");
        }
    }
}

/// Where a packet ends within an address, the members that begin like it reject it, and the order of source and destination counts.
#[test]
fn cut_packets_are_judged_by_lists_of_runs_as_they_stood() {
    for seed in 0..60 {
        let mut rng = Rng::new(seed);
        let mut word = || rng.below(2);
        let mut v6 = || format!("{:x}::{:x}:0:{:x}:0:{:x}", 1 + word(), word(), word(), 1 + word());
        let v6 = |_| v6();
        let addresses: Vec<String> = (0..24).map(v6).collect();
        let mut rng = Rng::new(seed + 1000);
        let terms: Vec<String> = addresses
            .iter()
            .map(|address| match (seed % 4, rng.below(9)) {
                (0, 0) => "arp".into(),
                (1, 0) => format!("ip[{}] = 1", rng.below(60)),
                (2, _) => format!("ether host 0{}:00:00:00:00:0{}", rng.below(2), rng.below(3)),
                (3, 0) => format!("host 10.0.0.{}", rng.below(3)),
                _ => format!("host {address}"),
            })
            .collect();
        let filter = format!("{} ({})", ["", "not"][rng.below(2)], terms.join(" or "));
        let filter = [filter.clone(), format!("{filter} or len > 3")][rng.below(2)].clone();
        let stages = Compiler::new(LinkType::EN10MB).stages(&filter).unwrap();
        for _ in 0..12 {
            let mut packet = [0u8; 64];
            for at in [0, 5, 6, 11, 23, 37, 39, 53] {
                packet[at] = rng.below(3) as u8;
            }
            packet[12..14].copy_from_slice(&[0x86, 0xdd]);
            let cut: Vec<Vec<u8>> = (0..=64).map(|len| packet[..len].to_vec()).collect();
            assert_eq!(leaves(&stages.graph, &cut), leaves(&stages.optimised, &cut), "{filter}");
        }
    }
}

/// Terms of two ends are asked end by end only of packets that hold all that any of them reads.
#[test]
fn cut_packets_are_judged_by_lists_of_two_ends_as_they_stood() {
    for seed in 0..120 {
        let mut rng = Rng::new(seed);
        let mut pick = |from: &[&str]| from[rng.below(from.len())].to_owned();
        let shape = seed % 6;
        let terms: Vec<String> = (0..20)
            .map(|i| {
                // Every other host is in no packet: there must be many.
                let (v4_none, v6_none) = (format!("10.2.0.{i}"), format!("3::{i}"));
                let mut v4 = || pick(&["10.0.0.1", "10.0.0.2", "10.1.0.1", "10.1.0.2"]);
                let (a, b) = (if i % 2 == 0 { v4() } else { v4_none }, v4());
                let v6 = if i % 2 == 0 { pick(&["1::1", "1::2", "2::1", "1:0:1::1"]) } else { v6_none };
                let port = pick(&["1", "2", "0-1"]);
                match shape {
                    0 => format!("(host {a} and portrange {port})"),
                    1 => format!("(host {a} and host {b})"),
                    2 => format!("(host {v6} and portrange {port})"),
                    3 if i == 9 => "ip[50] = 1".into(),
                    3 => format!("(udp portrange {port} and host {a})"),
                    4 => format!("(host {a} and not ip[6] = 1 and (src portrange {port} or dst host {b}))"),
                    _ => {
                        format!("((ether src 2:0:0:0:0:{0} or ether dst 2:0:0:0:0:{0}) and host {a})", i % 3)
                    }
                }
            })
            .collect();
        let filter = format!("{} ({})", ["", "not"][rng.below(2)], terms.join(" or "));
        let filter = [filter.clone(), format!("{filter} or len > 3")][rng.below(2)].clone();
        let dialect = if seed % 4 == 0 { Dialect::MODERN } else { Dialect::default() };
        let stages = Compiler::new(LinkType::EN10MB).dialect(dialect).stages(&filter).unwrap();
        for _ in 0..20 {
            let packet = two_ended_packet(&mut rng);
            let cut: Vec<Vec<u8>> = (0..=packet.len()).map(|len| packet[..len].to_vec()).collect();
            assert_eq!(leaves(&stages.graph, &cut), leaves(&stages.optimised, &cut), "{filter}");
        }
    }
}

/// IPv4 with a header of one of three lengths, IPv6, or ARP, from and to few addresses and ports.
fn two_ended_packet(rng: &mut Rng) -> [u8; 72] {
    let mut packet = [0; 72];
    packet[0] = 2;
    packet[6] = 2;
    for at in [5, 11, 55, 57] {
        packet[at] = rng.below(3) as u8;
    }
    let kind: [u8; 2] = [[8, 0], [8, 0], [8, 6], [0x86, 0xdd]][rng.below(4)];
    packet[12..14].copy_from_slice(&kind);
    let protocol = [6, 17, 1][rng.below(3)];
    if kind == [0x86, 0xdd] {
        packet[14] = 0x60;
        packet[20] = protocol;
        for at in [22, 38] {
            packet[at + 1] = 1 + rng.below(2) as u8;
            packet[at + 5] = rng.below(5) as u8 / 4;
            packet[at + 15] = 1 + rng.below(2) as u8;
        }
        return packet;
    }
    let header = 5 + rng.below(3);
    packet[14] = 0x40 | header as u8;
    packet[20] = rng.below(9) as u8 / 8;
    packet[23] = protocol;
    for at in [26, 28, 30, 38] {
        let address = [10, rng.below(2) as u8, 0, 1 + rng.below(2) as u8];
        packet[at..at + 4].copy_from_slice(&address);
    }
    packet[14 + 4 * header + 1] = rng.below(3) as u8;
    packet[14 + 4 * header + 3] = rng.below(3) as u8;
    packet
}
