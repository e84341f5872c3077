//! A list against its filters one by one, on every way in which it can run.

use super::Joined;
use crate::exec::NativeFilter;
use crate::ir::build::build_within;
use crate::ir::interp::Interp;
use crate::ir::verify::Verified;
use crate::ir::{Cond, Graph, Node, REJECT};
use crate::opt::gather::gather;
use crate::x64;
use crate::{Backend, Code, Compiler, Dialect, Filter, FilterList, Limits, Packet};
use decide::Leaves;
use std::collections::{BTreeMap, HashSet};
use testkit::expr::Generator;
use testkit::linktype::{self, ETHERNET};
use testkit::packet::Packet as Built;
use testkit::rng::Rng;
use testkit::{mutate, traffic};
use wire::LinkType;

/// A list in every form that runs.
struct Ways {
    filters: Vec<Filter>,
    answers: Vec<u32>,
    as_built: Graph,
    as_built_native: Option<NativeFilter<Leaves>>,
    program: FilterList,
    interpreted: FilterList,
}

impl Ways {
    fn new(compiler: &Compiler, list: &[(String, u32)]) -> Ways {
        let mut joined = Joined::of(compiler, list).expect("each compiles alone");
        gather(&mut joined.lowered.tree, &mut joined.lowered.clauses);
        let as_built =
            build_within(joined.lowered.tree, &joined.lowered.clauses, joined.clock.budget()).expect("small");
        let verified = Verified::new(&as_built).expect("each load has its guard");
        let code = x64::compile_leaves(verified, &compiler.decide_options().for_x64());
        let interpreter = compiler.clone().backend(Backend::Interpreter);
        Ways {
            filters: list.iter().map(|(source, _)| compiler.compile(source).expect("compiles")).collect(),
            answers: list.iter().map(|(_, answer)| *answer).collect(),
            as_built_native: code.ok().and_then(|code| NativeFilter::new(&code).ok()),
            as_built,
            program: compiler.compile_list(list).expect("its filters compile alone"),
            interpreted: interpreter.compile_list(list).expect("its filters compile alone"),
        }
    }

    /// What a list means: the answer of the first filter that matches.
    fn expected(&self, packet: &Built) -> u32 {
        let matches = |filter: &Filter| filter.matches_captured(&packet.bytes, packet.wire_len);
        self.filters.iter().position(matches).map_or(FilterList::NONE, |i| self.answers[i])
    }

    fn check(&self, packet: &Built, what: &dyn Fn() -> String) -> u32 {
        let expected = self.expected(packet);
        let (data, wire_len) = (&packet.bytes[..], packet.wire_len);
        let option = (expected != FilterList::NONE).then_some(expected);
        let says = |way: &str| format!("{way} on {}\n{}", packet.to_line(), what());
        assert_eq!(self.program.decide_captured(data, wire_len), option, "{}", says("program"));
        assert_eq!(self.interpreted.decide_captured(data, wire_len), option, "{}", says("interpreted"));
        let built = Interp::new(&self.as_built).run(data, wire_len);
        assert_eq!(built, expected, "{}", says("as built"));
        if let Some(native) = &self.as_built_native {
            assert_eq!(native.run(data, wire_len), expected, "{}", says("as built, native"));
        }
        expected
    }

    fn check_bursts(&self, packets: &[Built], expected: &[u32], what: &dyn Fn() -> String) {
        let views: Vec<Packet> = packets.iter().map(|p| Packet::new(&p.bytes, p.wire_len)).collect();
        for len in [0, 1, 2, 23, 24, 25, 63, 64, 65, packets.len()] {
            let len = len.min(packets.len());
            // What lies behind stays as it is.
            let mut wanted = vec![0xdead_beef; len + 3];
            wanted[..len].copy_from_slice(&expected[..len]);
            for (program, way) in [(&self.program, "program"), (&self.interpreted, "interpreted")] {
                let mut answers = vec![0xdead_beef; len + 3];
                program.decide_burst(&views[..len], &mut answers);
                assert_eq!(answers, wanted, "{way}, a burst of {len}\n{}", what());
            }
            if let Some(native) = &self.as_built_native {
                let mut answers = vec![0xdead_beef; len + 3];
                native.run_burst(&views[..len], &mut answers);
                assert_eq!(answers, wanted, "as built, a burst of {len}\n{}", what());
            }
        }
    }

    fn check_all(&self, packets: &[Built], what: &dyn Fn() -> String) -> Vec<u32> {
        let expected: Vec<u32> = packets.iter().map(|packet| self.check(packet, what)).collect();
        self.check_bursts(packets, &expected, what);
        expected
    }
}

/// Filters that compile alone, some of them twice, and answers of which some are shared.
fn random_list(compiler: &Compiler, rng: &mut Rng) -> Vec<(String, u32)> {
    let mut generator = Generator::new(compiler.linktype(), rng.next_u64());
    let mut list: Vec<(String, u32)> = Vec::new();
    let count_max = if rng.chance(1, 8) { 20 } else { 5 };
    let count = 1 + rng.below(count_max);
    while list.len() < count {
        let again = (!list.is_empty() && rng.chance(1, 10)).then(|| rng.pick(&list).0.clone());
        let source = again.unwrap_or_else(|| generator.expression());
        if compiler.compile(&source).is_ok() {
            let own = list.len() as u32 + 1;
            list.push((source, *rng.pick(&[own, own, own, 1, 2, 0, u32::MAX, 0x8000_0000])));
        }
    }
    list
}

/// Whole, damaged, and two cut at every length: a load outside the captured bytes is one filter's matter only.
fn random_packets(linktype: LinkType, rng: &mut Rng) -> Vec<Built> {
    let mut packets: Vec<Built> = (0..16).map(|_| traffic::packet(linktype, rng)).collect();
    packets.extend((0..8).map(|i| mutate::headers(&packets[i].clone(), rng)).collect::<Vec<_>>());
    let cut: Vec<Built> = packets[6..9].to_vec();
    packets.extend(cut.iter().flat_map(|packet| mutate::truncations(packet, 110)));
    packets
}

#[test]
fn the_first_filter_that_matches_decides() {
    let linktypes: Vec<LinkType> = linktype::all().collect();
    let (mut pairs, mut decided) = (0, 0);
    for seed in 0..600 {
        let mut rng = Rng::new(0x1157 + seed);
        let linktype = if rng.chance(2, 3) { ETHERNET } else { *rng.pick(&linktypes) };
        let dialect = *rng.pick(&[Dialect::default(), Dialect::default(), Dialect::MODERN]);
        let compiler = Compiler::new(linktype).dialect(dialect).prefetch_distance(*rng.pick(&[0, 1, 24, 64]));
        let compiler = if rng.chance(1, 4) { compiler.baseline() } else { compiler };
        let list = random_list(&compiler, &mut rng);
        let ways = Ways::new(&compiler, &list);
        let packets = random_packets(linktype, &mut rng);
        let what = || format!("seed {seed}, {linktype}: {list:?}");
        let answers = ways.check_all(&packets, &what);
        pairs += answers.len();
        decided += answers.iter().filter(|&&answer| answer != FilterList::NONE).count();
    }
    testkit::say(format_args!("{pairs} pairs of list and packet, {decided} with an answer"));
    assert!(decided > pairs / 10 && decided < pairs * 9 / 10, "{decided} of {pairs} teach little");
}

fn ethernet() -> Compiler {
    Compiler::new(LinkType::EN10MB)
}

fn numbered(sources: impl IntoIterator<Item = String>) -> Vec<(String, u32)> {
    sources.into_iter().zip(1..).collect()
}

fn packet(line: &str) -> Built {
    Built::parse(line).expect("it builds")
}

#[test]
fn an_empty_list_answers_nothing() {
    let ways = Ways::new(&ethernet(), &[]);
    let expected = ways.check_all(&random_packets(ETHERNET, &mut Rng::new(1)), &|| "empty".to_owned());
    assert!(expected.iter().all(|&answer| answer == REJECT));
    assert_eq!(ways.program.entries().len(), 0);
}

/// The next filter is asked where one runs out of bytes, under `not` as well, and where one would divide by zero.
#[test]
fn a_filter_that_runs_out_of_bytes_leaves_the_packet_to_the_next() {
    let list = numbered(
        ["not ether[40] = 1", "not tcp[30] = 0", "ip[8] / (ip[9] - 6) = 99 or ip", "len > 30", ""]
            .map(str::to_owned),
    );
    let ways = Ways::new(&ethernet(), &list);
    let whole = packet("eth / ip4 / tcp(1,2)");
    let cut = |len: usize| Built { bytes: whole.bytes[..len].to_vec(), wire_len: 54 };
    assert_eq!(ways.check(&whole, &|| "whole".to_owned()), 1);
    assert_eq!(ways.check(&cut(40), &|| "cut".to_owned()), 4);
    assert_eq!(ways.check(&Built { wire_len: 5, ..cut(5) }, &|| "short".to_owned()), 5);
    ways.check_all(&random_packets(ETHERNET, &mut Rng::new(2)), &|| format!("{list:?}"));
}

#[test]
fn an_answer_of_none_is_an_exception() {
    let list = [("src port 53".to_owned(), FilterList::NONE), ("udp".to_owned(), 7)];
    let ways = Ways::new(&ethernet(), &list);
    let check = |line: &str| ways.check(&packet(line), &|| line.to_owned());
    assert_eq!(check("eth / ip4 / udp(53,9)"), FilterList::NONE);
    assert_eq!(check("eth / ip4 / udp(9,53)"), 7);
}

#[test]
fn entries_that_never_decide_are_named() {
    let list = [("tcp", 1), ("udp", 2), (" tcp ", 3), ("ip proto 6", 4), ("", 5), ("arp", 1)];
    let lints = ethernet().lints_of_list(&list).unwrap();
    let never = Code::NeverDecides;
    let codes: Vec<Vec<Code>> =
        lints.iter().map(|lints| lints.iter().map(|lint| lint.code).collect()).collect();
    assert_eq!(codes, [vec![], vec![], vec![never], vec![never], vec![], vec![never]]);
    let message = |i: usize| lints[i][0].message.clone();
    assert!(message(2).ends_with("entry [0] is the same filter"), "{}", message(2));
    assert!(message(3).contains("it matches no packet that those before it leave"), "{}", message(3));
    assert!(message(5).ends_with("entry [4] matches every packet"), "{}", message(5));
}

#[test]
fn encapsulations_of_one_entry_do_not_shift_the_next() {
    let list = numbered(["vlan and tcp port 1", "tcp port 1", "pppoes and udp", "udp"].map(str::to_owned));
    let ways = Ways::new(&ethernet(), &list);
    let check = |line: &str| ways.check(&packet(line), &|| line.to_owned());
    assert_eq!(check("eth / vlan(3) / ip4 / tcp(1,2)"), 1);
    assert_eq!(check("eth / ip4 / tcp(1,2)"), 2);
    assert_eq!(check("eth / pppoes(3) / ppp / ip4 / udp(1,2)"), 3);
    assert_eq!(check("eth / ip4 / udp(1,2)"), 4);
    assert_eq!(check("eth / vlan(3) / ip4 / udp(1,2)"), FilterList::NONE);
}

#[test]
fn errors_name_the_entry_and_show_its_text() {
    let error = ethernet().compile_list(&[("arp", 1), ("udp and tcp prot 80", 2)]).unwrap_err();
    assert_eq!((error.code(), error.entry), (Code::UnknownWord, Some(1)));
    assert_eq!(error.span().text(&error.source), "prot");
    let expected = "\
error[PF003]: entry [1]: unknown word `prot`
  | udp and tcp prot 80
  |             ^^^^ expected `port`, `portrange`, `src` or `dst`
help: did you mean `tcp port 80`?";
    assert_eq!(ethernet().help(&error).to_string(), expected);
    // Found while lowering, in the second text.
    let error = ethernet().compile_list(&[("arp", 1), ("host nowhere.example", 2)]).unwrap_err();
    assert_eq!(error.span().text(&error.source), "host nowhere.example");
}

#[test]
fn limits_hold_for_the_whole() {
    let fails = |list: &[(String, u32)], change: &dyn Fn(&mut Limits)| {
        let mut limits = Limits::default();
        change(&mut limits);
        ethernet().limits(limits).compile_list(list).expect_err("a limit")
    };
    let ports = numbered((1..=40).map(|i| format!("port {i} or host 10.0.0.{i}")));
    let terms = fails(&ports, &|limits| limits.terms = 21);
    assert_eq!((terms.code(), terms.entry), (Code::Limit, Some(10)));
    assert_eq!(terms.span().text(&terms.source), "10.0.0.11");
    let bytes = fails(&ports, &|limits| limits.source_bytes = 60);
    assert_eq!((bytes.code(), bytes.entry), (Code::Limit, Some(2)), "{bytes}");
    // Lowering has room for both of these, the graph has not: found from the back, in the first.
    let chains = numbered(["ip6 protochain 6", "ip6 protochain 17"].map(str::to_owned));
    let nodes = fails(&chains, &|limits| limits.nodes = 900);
    assert_eq!(nodes.code(), Code::Limit);
    let (entry, text) = (nodes.entry.unwrap(), nodes.span().text(&nodes.source));
    assert_eq!(text, chains[entry].0, "{nodes}");
    let code = fails(&ports, &|limits| limits.code_bytes = 500);
    assert_eq!((code.code(), code.entry), (Code::Limit, None), "{code}");
    let time = fails(&ports, &|limits| limits.time_ms = 0);
    assert_eq!(time.code(), Code::Limit);
}

/// A packet that is whole passes one guard for the ports, however many filters ask for them.
#[test]
fn no_guard_asks_what_the_way_to_it_has_told() {
    let ports = numbered((0..20).map(|i| format!("tcp src port {} or tcp dst port {}", 7 * i, 99 * i)));
    let mixed =
        ["udp port 53", "tcp port 80", "udp portrange 5-9", "src net 10.0.0.0/8", "dst host 10.0.0.9"];
    for list in [ports, numbered(mixed.map(str::to_owned))] {
        let ways = Ways::new(&ethernet(), &list);
        let graph = ways.program.graph();
        let mut pending = vec![(graph.root, BTreeMap::new())];
        let mut seen = HashSet::new();
        while let Some((node, told)) = pending.pop() {
            if !seen.insert((node, told.clone())) {
                continue;
            }
            match *graph.node(node) {
                Node::Branch { cond, then, els } => match graph.pool.get_cond(cond) {
                    Cond::Bounds { base, end } => {
                        let (passed, failed) = told.get(&base).copied().unwrap_or((0, u32::MAX));
                        assert!(passed < end && end < failed, "{end} is told: {passed}, {failed}\n{list:?}");
                        let with = |told_now| {
                            let mut told = told.clone();
                            told.insert(base, told_now);
                            told
                        };
                        pending.extend([(then, with((end, failed))), (els, with((passed, end)))]);
                    }
                    _ => pending.extend([(then, told.clone()), (els, told)]),
                },
                ref node => node.for_each_successor(|next| pending.push((next, told.clone()))),
            }
        }
        let packets = random_packets(ETHERNET, &mut Rng::new(3));
        ways.check_all(&packets, &|| format!("{list:?}"));
    }
}

/// Where each of many filters reads at a place that the packet names, ways that part at each of them would multiply the graph.
#[test]
fn ways_part_within_a_bound() {
    let place = |segment: u32, k: u32| 9 * (2 - segment) + k;
    let asks = |segment: u32| {
        let rounds = (0..3).flat_map(|round| (0..9).map(move |k| (round, k)));
        rounds.map(move |(round, k)| format!("ether[ether[{}]:4] = {}", place(segment, k), 100 + round))
    };
    let rest = (0..60).map(|i| format!("ether[100] = {i}"));
    let mut list: Vec<String> = (0..3).flat_map(asks).chain(rest).collect();
    let nodes = |list: &[String]| {
        let compiled = ethernet().compile_list(&numbered(list.to_vec())).unwrap();
        compiled.graph().topological().len()
    };
    let count = nodes(&list);
    assert!(count < 1000, "{count} nodes");
    let ports: Vec<String> = (0..30_000).map(|i| (2 * i + 1).to_string()).collect();
    list.insert(27, format!("tcp dst port in {{{}}}", ports.join(",")));
    let count = nodes(&list);
    assert!(count < 1200, "{count} nodes with a large switch");
}

/// The guards of `arp src host` stand between the entries of a list of hosts: packets that pass them are to meet no other.
#[test]
fn long_lists_of_hosts_are_asked_at_once() {
    let hosts = |word: &str| {
        let host = |i: u32| format!("{word} {}", std::net::Ipv4Addr::from(0x0a00_0000 + i * 0x1_0003));
        ethernet().compile_list(&numbered((0..400).map(host))).unwrap().graph().topological().len()
    };
    let one_end = hosts("src host");
    assert!(one_end < 420, "{one_end} nodes");
}

/// The most nodes that a packet can pass.
fn longest_path(graph: &Graph) -> usize {
    let mut longest = BTreeMap::new();
    for id in graph.topological().into_iter().rev() {
        let mut behind = 0;
        graph.node(id).for_each_successor(|next| behind = behind.max(longest[&next]));
        longest.insert(id, behind + 1);
    }
    longest[&graph.root]
}

/// The first of two ends that is in the list decides, which is not asked entry by entry; and in no larger a graph than that would be.
#[test]
fn the_end_that_is_met_first_is_found_at_once() {
    let host = |i: u32| std::net::Ipv4Addr::from(0x0a00_0000 + i * 0x1_0003);
    let lists: [(u32, &dyn Fn(u32) -> String); 5] = [
        (400, &|i| format!("host {}", host(i))),
        (400, &|i| format!("net {}/28", std::net::Ipv4Addr::from(0x0a00_0000 + i % 90 * 0x1_0010))),
        (400, &|i| format!("ip host in {{{}, {}}}", host(i), host(i * 7))),
        (2000, &|i| format!("port {}", 3 * i)),
        (2000, &|i| format!("tcp port {}", 3 * i)),
    ];
    for (count, text) in lists {
        let list = ethernet().compile_list(&numbered((0..count).map(text))).unwrap();
        let (graph, first) = (list.graph(), text(0));
        let (nodes, longest) = (graph.topological().len(), longest_path(graph));
        assert!(nodes < count as usize * 6, "{count} times `{first}`: {nodes} nodes");
        assert!(longest < 60, "{count} times `{first}`: {longest} nodes in a row");
    }
}

/// Hosts, networks that overlap, sets and ports at both ends, on every way in which a list can run, for packets whole and cut.
#[test]
fn of_two_ends_the_first_in_the_list_decides() {
    let host = |i: u32| std::net::Ipv4Addr::from(0x0a00_0000 + i % 61);
    let net = |i: u32| std::net::Ipv4Addr::from((0x0a00_0000 + i % 61) >> (i % 5) << (i % 5));
    let lists: [&dyn Fn(u32) -> String; 5] = [
        &|i| format!("host {}", host(i * 7)),
        &|i| format!("net {}/{}", net(i * 7), 32 - i * 7 % 5),
        &|i| format!("{} host {}", ["src", "dst", "ip"][i as usize % 3], host(i * 5)),
        &|i| format!("host in {{{}, {}}}", host(i * 7), host(i * 3)),
        &|i| format!("port {}", i * 7 % 61),
    ];
    let mut rng = Rng::new(4);
    for text in lists {
        let list = numbered((0..40).map(text));
        let ways = Ways::new(&ethernet(), &list);
        let mut packets = random_packets(ETHERNET, &mut rng);
        packets.extend((0..300).map(|_| {
            let [src, dst] = [0; 2].map(|_| host(rng.below(61) as u32));
            let [sport, dport] = [0; 2].map(|_| rng.below(64));
            packet(&format!("eth / ip4(src={src},dst={dst}) / tcp({sport},{dport})"))
        }));
        ways.check_all(&packets, &|| format!("{list:?}"));
    }
}

/// One list for each of these: addresses, ports of both ends, pairs, sets.
#[test]
fn a_thousand_entries() {
    let host = |i: u32| std::net::Ipv4Addr::from(0x0a00_0000 + i * 3);
    let lists: [(usize, &dyn Fn(u32) -> String); 4] = [
        (1000, &|i| format!("dst host {}", host(i))),
        (1000, &|i| format!("port {}", 2 * i + 1)),
        (200, &|i| format!("src host {} and dst port {}", host(i), 80 + i % 7)),
        (1000, &|i| format!("dst host in {{{}, {}}}", host(i), host(2 * i + 1))),
    ];
    let mut rng = Rng::new(9);
    for (count, text) in lists {
        let entries = numbered((0..count as u32).map(text));
        let compiler = ethernet();
        let start = std::time::Instant::now();
        let list = compiler.compile_list(&entries).unwrap();
        let took = start.elapsed();
        testkit::say(format_args!("{count} times `{}`: {took:?}", entries[1].0));
        let filters: Vec<Filter> =
            entries.iter().map(|(source, _)| compiler.compile(source).unwrap()).collect();
        for _ in 0..100 {
            let (src, dst) = (host(rng.below(1100) as u32), host(rng.below(2200) as u32));
            let (sport, dport) = (rng.below(2100), rng.below(2100).min(80 + rng.below(9)));
            let packet = packet(&format!("eth / ip4(src={src},dst={dst}) / tcp({sport},{dport})"));
            let expected = filters.iter().position(|filter| filter.matches(&packet.bytes));
            let expected = expected.map(|i| i as u32 + 1);
            assert_eq!(list.decide(&packet.bytes), expected, "{}", packet.to_line());
        }
    }
}

#[test]
fn lists_are_shared_between_threads() {
    let list = ethernet().compile_list(&[("arp", 5)]).unwrap();
    let arp = packet("eth / arp");
    std::thread::scope(|scope| {
        for _ in 0..4 {
            let list = list.clone();
            let arp = &arp;
            scope.spawn(move || assert_eq!(list.decide(&arp.bytes), Some(5)));
        }
    });
}
