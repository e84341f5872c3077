//! Lowering against libpcap: the unoptimised graph in the interpreter, the unoptimised bytecode in `bpf_filter`.
//!
//! Expressions come from the generator and from a list; packets from captures, from walking the branches of the
//! reference program, from truncation and from damage. `LOWERING_ROUNDS` and `LOWERING_SEED` make another run.

use pflang::internals::ir::build::build;
use pflang::internals::ir::interp::Interp;
use pflang::internals::ir::{ACCEPT, Graph};
use pflang::internals::lower::{self, Options};
use pflang::internals::syntax::parse::parse;
use pflang::{Dialect, FileNames, Limits};
use std::collections::HashMap;
use std::net::ToSocketAddrs;
use testkit::linktype::{self, LinkType};
use testkit::oracle::{self, BpfProgram, Libpcap};
use testkit::packet::Packet;
use testkit::rng::Rng;
use testkit::{corpus, expr, mutate, walk};

struct Check {
    pcap: Libpcap,
    names: FileNames,
    netmask: Option<u32>,
    seeds: HashMap<u32, Vec<Packet>>,
    rng: Rng,
    pairs: usize,
    undefined: usize,
}

impl Check {
    fn new(who: &str) -> Option<Self> {
        let pcap = oracle::libpcap(who)?;
        let mut seeds: HashMap<u32, Vec<Packet>> = HashMap::new();
        for capture in corpus::captures() {
            let step = capture.packets.len() / 40 + 1;
            seeds
                .entry(capture.linktype.value())
                .or_default()
                .extend(capture.packets.into_iter().step_by(step));
        }
        Some(Check {
            pcap,
            names: testkit::names::of_this_machine(),
            netmask: None,
            seeds,
            rng: Rng::new(7),
            pairs: 0,
            undefined: 0,
        })
    }

    fn ours(&self, linktype: LinkType, text: &str) -> Result<Graph, String> {
        let ast = parse(text, &Dialect::STRICT, &Limits::default()).map_err(|error| error.message)?;
        let options = Options {
            linktype,
            netmask: self.netmask,
            dialect: Dialect::STRICT,
            names: &self.names,
            limits: Limits::default(),
            tables: true,
            chain_ends: None,
        };
        let lowered = lower::lower(&ast, &options).map_err(|error| error.message)?;
        Ok(build(lowered.tree, &[(lowered.root, ACCEPT)]))
    }

    /// What differs, if anything does.
    fn difference(&mut self, linktype: LinkType, text: &str) -> Option<String> {
        let options = oracle::Options { netmask: self.netmask, ..Default::default() };
        let (graph, program) = match (self.ours(linktype, text), self.pcap.compile(linktype, text, options)) {
            (Ok(graph), Ok(program)) => (graph, program),
            (Err(_), Err(_)) => return None,
            (Err(ours), Ok(_)) => return Some(format!("only we reject it: {ours}")),
            (Ok(_), Err(theirs)) => return Some(format!("only libpcap rejects it: {theirs}")),
        };
        let packets = self.packets(linktype, &program);
        let mut interp = Interp::new(&graph);
        for packet in packets {
            let ours = interp.run(&packet.bytes, packet.wire_len) == ACCEPT;
            let Some(theirs) = program.answer(&packet.bytes, packet.wire_len) else {
                self.undefined += 1;
                continue;
            };
            self.pairs += 1;
            if ours != theirs {
                return Some(format!("we say {ours} to\n{}", packet.to_line()));
            }
        }
        None
    }

    fn packets(&mut self, linktype: LinkType, program: &BpfProgram) -> Vec<Packet> {
        let mut seeds = self.seeds.get(&linktype.value()).cloned().unwrap_or_default();
        let from = self.rng.below(seeds.len().max(1));
        seeds.rotate_left(from);
        seeds.truncate(8);
        seeds.push(Packet::whole(vec![0; 64]));
        let budget = walk::Budget { runs: 60, ..Default::default() };
        let mut packets = walk::packets(program.insns(), &seeds, budget);
        packets.truncate(24);
        let damaged: Vec<Packet> =
            packets.iter().map(|packet| mutate::headers(packet, &mut self.rng)).collect();
        let mut cut = Vec::new();
        for _ in 0..2 {
            if !packets.is_empty() {
                let packet = self.rng.pick(&packets).clone();
                cut.extend(mutate::truncations(&packet, 80));
            }
        }
        packets.extend(damaged);
        packets.extend(cut);
        packets.extend(seeds);
        packets
    }
}

/// A longer run, or another one.
fn from_environment(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|number| number.parse().ok()).unwrap_or(default)
}

fn report(differences: &[String], &Check { pairs, undefined, .. }: &Check) {
    eprintln!("{pairs} pairs of filter and packet compared, {undefined} with nothing to compare with");
    assert!(undefined < pairs / 10, "too much is left out");
    assert!(differences.is_empty(), "{} differences:\n{}", differences.len(), differences.join("\n\n"));
}

#[test]
fn generated_expressions_mean_what_libpcap_says() {
    let Some(mut check) = Check::new("lowering") else { return };
    let rounds = from_environment("LOWERING_ROUNDS", 2000);
    let first = from_environment("LOWERING_SEED", 0);
    let linktypes: Vec<LinkType> = linktype::all().collect();
    let mut differences = Vec::new();
    for seed in first..first + rounds {
        let other = linktypes[(seed / 2) as usize % linktypes.len()];
        let linktype = if seed % 2 == 0 { linktype::ETHERNET } else { other };
        let text = expr::Generator::new(linktype, seed).expression();
        if let Some(difference) = check.difference(linktype, &text) {
            let small = expr::shrink(&text, |text| check.difference(linktype, text).is_some());
            let difference = check.difference(linktype, &small).unwrap_or(difference);
            differences.push(format!("seed {seed} on {linktype}: {small}\n{difference}"));
            if differences.len() >= 40 {
                break;
            }
        }
    }
    report(&differences, &check);
}

/// Whether libpcap asks for the IPv6 addresses of a name first; we do so last.
fn is_ipv6_first(name: &str) -> bool {
    (name, 0)
        .to_socket_addrs()
        .is_ok_and(|mut addresses| addresses.next().is_some_and(|first| first.is_ipv6()))
}

/// Each filter of the list on each link type.
#[test]
fn listed_filters_mean_what_libpcap_says_on_every_linktype() {
    let Some(mut check) = Check::new("lowering of listed filters") else { return };
    let mut differences = Vec::new();
    let (skipped, filters): (Vec<_>, Vec<_>) =
        include_str!("lowering/filters.txt").lines().partition(|text| {
            text.ends_with("host localhost") && !text.starts_with("ip") && is_ipv6_first("localhost")
        });
    if !skipped.is_empty() {
        testkit::say(format_args!(
            "SKIPPED: {skipped:?}: getaddrinfo(3) has ::1 before 127.0.0.1 here, and libpcap asks in this order"
        ));
    }
    for linktype in linktype::all() {
        for text in &filters {
            if let Some(difference) = check.difference(linktype, text) {
                differences.push(format!("{linktype}: {text}\n{difference}"));
            }
        }
    }
    differences.truncate(60);
    report(&differences, &check);
}

/// Nothing here may depend on the depth of a text, nor take more than near-linear time or room for its length.
#[test]
fn long_and_deep_texts_lower_and_print() {
    let options = Options {
        linktype: linktype::ETHERNET,
        netmask: None,
        dialect: Dialect::default(),
        names: &pflang::NoNames,
        limits: Limits::default(),
        tables: true,
        chain_ends: None,
    };
    let n = 100_000;
    let texts = [
        (format!("{}ip{}", "(".repeat(n), ")".repeat(n)), 1),
        (format!("{}ip", "not ".repeat(n)), n + 1),
        (vec!["host 10.0.0.1"; n].join(" or "), 25 * n),
        (format!("{}ip[0]{} > 5", "1 + (".repeat(n), ")".repeat(n)), 10),
        (format!("{}0{} > 5", "ip[".repeat(n / 10), "]".repeat(n / 10)), n),
        (vec!["vlan"; n / 10].join(" and "), n),
        (format!("{}ip{}", "ip or (arp and (".repeat(n / 100), "))".repeat(n / 100)), n),
    ];
    for (text, nodes_max) in texts {
        let start: String = text.chars().take(20).collect();
        let ast = parse(&text, &options.dialect, &options.limits).unwrap();
        let lowered = lower::lower(&ast, &options).unwrap();
        assert!(lowered.tree.len() <= nodes_max, "{start}: {} nodes", lowered.tree.len());
        if nodes_max < 2 * n {
            assert!(!lower::print::tree(&lowered, &text).is_empty(), "{start}");
        }
    }
}
