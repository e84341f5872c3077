//! Which filters are warned about, and that well-written ones are not, by any part of the compiler.

use pflang::{Code, Compiler, Diagnostic, Dialect, FileNames, Filter, LinkType};
use std::sync::Arc;

fn lints(source: &str) -> Vec<(Code, String)> {
    lints_on(LinkType::EN10MB, source)
}

/// What is said, but that fields of transport headers are read from IPv4 only, which is true of each.
fn lints_on(linktype: LinkType, source: &str) -> Vec<(Code, String)> {
    let lints =
        all_lints(&Compiler::new(linktype), source).into_iter().filter(|lint| lint.code != Code::NoIpv6);
    lints.map(|lint| (lint.code, lint.span.text(source).to_owned())).collect()
}

fn dialect(ipv6: bool, scoped: bool) -> Dialect {
    let mut dialect = Dialect::default();
    (dialect.ipv6, dialect.scoped) = (ipv6, scoped);
    dialect
}

fn all_lints(compiler: &Compiler, source: &str) -> Vec<Diagnostic> {
    let names = FileNames::new().hosts("10.0.0.1 a\n10.0.0.2 b").protocols("tcp 6\nudp 17");
    let compiler = compiler.clone().names(Arc::new(names));
    compiler.lints(source).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn operators_that_look_otherwise() {
    for (source, span) in [
        ("tcp or udp and port 53", "tcp or udp and port 53"),
        ("arp or (tcp or udp and port 53)", "tcp or udp and port 53"),
        ("host a or b and port 80", "host a or b and port 80"),
        ("not port 80 or 443", "not port 80 or 443"),
        ("tcp and (not host a or b)", "not host a or b"),
    ] {
        assert_eq!(lints(source), [(Code::Precedence, span.to_owned())], "{source}");
    }
    for source in [
        "tcp and port 80 or udp and port 53",
        "(tcp or udp) and port 53",
        "tcp or (udp and port 53)",
        "not port 80 and not port 443",
        "not (port 80 or 443)",
        "not port 80 or port 443",
        "not tcp or udp",
    ] {
        let precedence = lints(source).into_iter().find(|(code, _)| *code == Code::Precedence);
        // The third operand of `a and b or c and d` is joined to all of the left.
        let expected = source.starts_with("tcp and port 80 or").then_some(Code::Precedence);
        assert_eq!(precedence.map(|(code, _)| code), expected, "{source}");
    }
}

#[test]
fn suggestions_are_filters() {
    let source = "tcp or udp and port 53";
    let help = all_lints(&Compiler::new(LinkType::EN10MB), source).remove(0).help.unwrap();
    assert_eq!(help, "write `(tcp or udp) and port 53`, or `tcp or (udp and port 53)`");
}

#[test]
fn parts_that_exclude_each_other() {
    for (source, span) in [
        ("tcp and udp", "udp"),
        ("ip and ip6", "ip6"),
        ("icmp and port 53", "port 53"),
        ("arp and tcp", "tcp"),
        ("(tcp or udp) and icmp", "icmp"),
        ("(src port 80 or src port 81) and src port 81", "src port 80"),
        ("tcp and (port 80 or icmp)", "icmp"),
        ("ip6 and host 10.0.0.1", "host 10.0.0.1"),
        ("host ::1 and icmp", "icmp"),
        ("src port 80 and src port 81", "src port 81"),
        ("tcp port 80 and udp", "udp"),
        ("less 60 and greater 100", "greater 100"),
        ("len < 60 and len > 59", "len > 59"),
        ("ip proto 47 and tcp", "tcp"),
        ("stp and ip", "ip"),
        ("ip6 proto 58 and icmp", "icmp"),
        (r"ip proto \tcp and udp", "udp"),
        ("tcp[13] & 2 != 0 and udp", "udp"),
        ("ip[9] = 17 and tcp", "tcp"),
        ("ip6 and tcp[tcpflags] = tcp-syn", "tcp[tcpflags] = tcp-syn"),
    ] {
        assert_eq!(lints(source), [(Code::AlwaysFalse, span.to_owned())], "{source}");
    }
    for source in [
        "tcp and not udp",
        "port 80 and port 81",
        "src port 80 and dst port 81",
        "host 10.0.0.1 and arp",
        "ip6 proto 44 and tcp",
        "vrrp and carp",
        "tcp or udp",
        "less 100 and greater 100",
        "(tcp or arp) and host 10.0.0.1",
        "len <= 60 and len >= 60",
        "ip host a and tcp",
        "ip proto 47 and proto 47",
    ] {
        assert_eq!(lints(source), [], "{source}");
    }
}

/// What only the optimiser finds out is said of the whole filter.
#[test]
fn filters_that_match_nothing() {
    for (source, span) in [
        ("tcp and not tcp", "not tcp"),
        ("port 80 and not port 80", "not port 80"),
        ("ip[0] & 0xf0 = 0x45", "ip[0] & 0xf0 = 0x45"),
        ("src host 1.2.3.4 and src host 1.2.3.5", "src host 1.2.3.5"),
        ("ip src host 1.2.3.4 and ip src host 1.2.3.5", "ip src host 1.2.3.5"),
        ("ether src 1:2:3:4:5:6 and ether src 1:2:3:4:5:7", "ether src 1:2:3:4:5:7"),
        ("dst net 10.0.0.0/8 and dst net 11.0.0.0/8", "dst net 11.0.0.0/8"),
        ("icmp[0]=8 and icmp[0]=0", "icmp[0]=0"),
        ("tcp[13]=2 and tcp[13]=18", "tcp[13]=18"),
        ("ip[8]>5 and ip[8]<3", "ip[8]<3"),
        ("ip[0] | 1 = 0", "ip[0] | 1 = 0"),
        ("ip[0] * 2 = 3", "ip[0] * 2 = 3"),
        ("ip[0] % 4 = 5", "ip[0] % 4 = 5"),
        ("(ip[8] > 5 and ip[8] < 3)", "ip[8] < 3"),
        ("not (1 = 1)", "not (1 = 1)"),
        ("tcp[13] & 2 = 1 or udp", "tcp[13] & 2 = 1"),
        ("(tcp and udp) or (arp and ip)", "udp"),
    ] {
        let lints = lints_on(LinkType::EN10MB, source);
        assert_eq!(lints.first(), Some(&(Code::AlwaysFalse, span.to_owned())), "{source}");
    }
    // A part that is told of already.
    for source in ["tcp and udp", "ip[0] > 255", "less 60 and greater 100", "ip proto 300 and len > 60"] {
        let lints = lints_on(LinkType::EN10MB, source);
        assert_eq!(
            lints.iter().filter(|(code, _)| *code == Code::AlwaysFalse).count(),
            1,
            "{source}: {lints:?}"
        );
    }
    for source in ["tcp[13] = 2 and tcp[14] = 18", "src host 1.2.3.4 and dst host 1.2.3.5", "ip[0] * 2 = 4"] {
        assert_eq!(lints_on(LinkType::EN10MB, source), [], "{source}");
    }
}

#[test]
fn filters_that_match_everything() {
    for source in ["len < 60 or len >= 60", "less 60 or not less 60"] {
        assert_eq!(lints_on(LinkType::EN10MB, source), [(Code::AlwaysTrue, source.to_owned())]);
    }
    assert_eq!(lints_on(LinkType::EN10MB, "len >= 0 or arp"), [(Code::AlwaysTrue, "len >= 0".to_owned())]);
    for source in [
        "tcp or not tcp",
        "(not port 80) or (port 80)",
        "ip[0] - ip[0] = 0",
        "ip[0] = ip[0]",
        "ip[0] ^ ip[0] < 1",
    ] {
        let lints = lints_on(LinkType::EN10MB, source);
        assert_eq!(lints, [(Code::AlwaysTrue, source.to_owned())]);
    }
    let lints = lints_on(LinkType::EN10MB, "arp or (ip and (tcp or not tcp))");
    assert_eq!(lints, [(Code::AlwaysTrue, "tcp or not tcp".to_owned())]);
    for part in ["net 0.0.0.0/0", "net 0.0.0.0 mask 0.0.0.0", "net ::/0", "portrange 0-65535"] {
        let lints = lints_on(LinkType::EN10MB, &format!("{part} or stp"));
        assert_eq!(lints, [(Code::AlwaysTrue, part.to_owned())]);
    }
    // Packets without the bytes are rejected.
    for source in ["", " ", "tcp or not udp", "len < 60 or len > 60", "net 0.0.0.0/1", "portrange 0-65534"] {
        assert_eq!(lints_on(LinkType::EN10MB, source), [], "{source}");
    }
}

#[test]
fn the_help_of_a_filter_that_matches_nothing() {
    let help = |source| all_lints(&Compiler::new(LinkType::EN10MB), source).last().unwrap().help.clone();
    let either = "write `or` to accept either";
    assert_eq!(help("icmp[0]=8 and (icmp[0]=0)").as_deref(), Some(either));
    assert_eq!(help("tcp and not tcp"), None);
    assert_eq!(help("ip[0] * 2 = 3"), None);
}

fn compiled_with(dialect: Dialect, source: &str) -> Vec<Diagnostic> {
    all_lints(&Compiler::new(LinkType::EN10MB).dialect(dialect), source)
}

/// What stands in front of an encapsulation is looked for outside of it.
#[test]
fn encapsulations_behind_what_they_carry() {
    const EITHER: &str = "write `or` to accept either";
    for (source, span, help) in [
        ("arp or (tcp port 80 and vlan 5)", "vlan 5", "vlan 5 and tcp port 80"),
        ("icmp or (ip and vlan)", "vlan", "vlan and ip"),
        ("arp or (host 1.2.3.4 and mpls)", "mpls", "mpls and host 1.2.3.4"),
        ("not (ip and vlan)", "vlan", "vlan and ip"),
        ("ip and vlan", "vlan", "vlan and ip"),
        ("tcp port 80 and vlan 5", "vlan 5", "vlan 5 and tcp port 80"),
        ("tcp port 80 or 443 and vlan 5", "vlan 5", "vlan 5 and (tcp port 80 or tcp port 443)"),
        ("ip and mpls", "mpls", "mpls and ip"),
        ("ip and pppoes", "pppoes", "pppoes and ip"),
        ("tcp and geneve", "geneve", "geneve and tcp"),
        ("tcp and vxlan 7", "vxlan 7", "vxlan 7 and tcp"),
        ("ip and vlan and tcp", "vlan", "vlan and ip and tcp"),
        ("ip and vlan 5 and vlan 6", "vlan 5", "vlan 5 and vlan 6 and ip"),
        ("vlan 5 and tcp and geneve and udp", "geneve", "vlan 5 and geneve and tcp"),
        ("tcp and (vlan 5 and ip)", "(vlan 5 and ip)", "(vlan 5 and ip) and tcp"),
        ("len > 60 and ip and vlan", "vlan", "vlan and len > 60 and ip"),
        ("ip and pppoed", "pppoed", EITHER),
        ("arp or (vlan and tcp and udp)", "udp", EITHER),
    ] {
        let lints = compiled_with(Dialect::default(), source);
        let found: Vec<_> = lints.iter().filter(|lint| lint.code == Code::AlwaysFalse).collect();
        let [lint] = found[..] else { panic!("{source}: {lints:?}") };
        assert_eq!(lint.span.text(source), span, "{source}");
        let said = lint.help.as_deref().unwrap();
        match help {
            EITHER => assert_eq!(said, EITHER, "{source}"),
            _ => assert_eq!(said, format!("put the encapsulation first: `{help}`"), "{source}"),
        }
    }
    let long = format!("tcp{} and vlan", " and len > 60".repeat(10));
    let lints = compiled_with(Dialect::default(), &long);
    let help = lints.iter().find(|lint| lint.code == Code::AlwaysFalse).unwrap().help.as_deref().unwrap();
    assert!(help.ends_with("put the encapsulation first"), "{help}");
}

/// Parts that some packet matches.
#[test]
fn encapsulations_where_they_can_be() {
    for source in [
        "vlan and tcp",
        "udp and geneve",
        "udp port 6081 and geneve and tcp",
        "ip and geneve and ip6",
        "host 10.0.0.1 and vxlan 5 and arp",
        "vlan 5 and ip and vxlan and vlan 6 and arp",
        "mpls and mpls and ip6",
        "len > 60 and vlan",
        "ether host 0:1:2:3:4:5 and vlan and ip",
        "ether proto 0x8100 and vlan",
        "ether[12:2] = 0x8864 and pppoes and ip",
        "not vlan 5 and vlan 6",
        "vlan and not ip",
        "(arp or vlan) and ip",
        "ip and not vlan",
        "udp and not geneve",
    ] {
        for scoped in [false, true] {
            let dialect = dialect(false, scoped);
            let lints = compiled_with(dialect, source);
            // If an `or` and a parenthesis end the tag, what is in it and around it looks at one header.
            let is_never = lints.iter().any(|lint| lint.code == Code::AlwaysFalse);
            assert_eq!(is_never, scoped && source.contains('('), "{source}: {lints:?}");
        }
    }
    // Behind IPv6's headers of extension there is room for both.
    let walked = dialect(true, false);
    assert_eq!(compiled_with(walked, "tcp and udp and vlan").len(), 1);
}

#[test]
fn encapsulations_that_end_at_a_parenthesis() {
    let scoped = dialect(false, true);
    for (source, help) in [
        (
            "(vlan 5 or vlan 6) and tcp port 80",
            "it ends at its parenthesis in this dialect: write `(vlan 5 and tcp port 80) or (vlan 6 and tcp port 80)`",
        ),
        ("(vlan 5) and tcp", "it ends at its parenthesis in this dialect: write `vlan 5 and tcp`"),
        ("arp or (tcp and vlan 5)", "put the encapsulation first: `vlan 5 and tcp`"),
    ] {
        let lints = compiled_with(scoped, source);
        let [lint] = &lints[..] else { panic!("{source}: {lints:?}") };
        assert_eq!((lint.code, lint.help.as_deref()), (Code::AlwaysFalse, Some(help)), "{source}");
    }
}

/// A frame with this type and what stands behind it.
fn frame(ethertype: u16, rest: &[u8]) -> Vec<u8> {
    let mut frame = vec![0; 12];
    frame.extend(ethertype.to_be_bytes());
    frame.extend(rest);
    frame.resize(80, 0);
    frame
}

/// The help for two encapsulations is a filter that matches what the `scoped` dialect does.
#[test]
fn the_help_for_alternative_encapsulations() {
    let scoped = dialect(false, true);
    let mut frames = Vec::new();
    for number in 0..=7 {
        frames.extend([0x8100, 0x88a8, 0x0800].map(|tag| frame(tag, &[0x20, number, 0x08, 0])));
        frames.push(frame(0x8847, &[0, 0, number << 4 | 1, 64, 0x45]));
        frames.push(frame(0x8864, &[0x11, 0, 0, number, 0, 30, 0, 0x21]));
    }
    for (source, expected) in [
        ("vlan 5 or vlan 6", "vlan and (link[14:2] & 0xfff = 5 or link[14:2] & 0xfff = 6)"),
        (
            "arp or vlan 5 or (vlan 6) or vlan 7",
            "vlan and (link[14:2] & 0xfff = 5 or link[14:2] & 0xfff = 6 or link[14:2] & 0xfff = 7)",
        ),
        ("mpls 5 or mpls 6", "mpls and (link[14:4] >> 12 = 5 or link[14:4] >> 12 = 6)"),
        ("pppoes 5 or pppoes 6", "(link[16:2] = 5 or link[16:2] = 6) and pppoes"),
        ("vlan or mpls", "link[12:2] = 0x8847 or vlan"),
        ("vlan 5 or mpls", "link[12:2] = 0x8847 or vlan 5"),
        ("vlan or pppoes 5", "(link[12:2] = 0x8864 and link[16:2] = 5) or vlan"),
        ("pppoes or mpls 3", "(link[12:2] = 0x8847 and link[14:4] >> 12 = 3) or pppoes"),
    ] {
        let lints = compiled_with(Dialect::default(), source);
        let last = lints.iter().rfind(|lint| lint.code == Code::ShiftsOffsets).unwrap();
        let help = last.help.as_deref().unwrap();
        assert_eq!(help.split('`').nth(1), Some(expected), "{source}");
        assert_eq!(compiled_with(Dialect::default(), expected), [], "{expected}");
        let compiler = Compiler::new(LinkType::EN10MB);
        let instead = compiler.compile(expected).unwrap();
        let meant = compiler.dialect(scoped).compile(source).unwrap();
        let answers =
            |filter: &Filter| -> Vec<bool> { frames.iter().map(|frame| filter.matches(frame)).collect() };
        assert_eq!(answers(&instead), answers(&meant), "{source}");
        assert!(answers(&meant).contains(&true), "{source}");
    }
}

#[test]
fn the_help_for_shifts_names_the_word() {
    for (source, help) in [
        ("pppoes or ip", "put `pppoes` last, as in `ip or (pppoes and ip)`, or use the `scoped` dialect"),
        (
            "(geneve and arp) or ip",
            "put `geneve` last, as in `ip or (geneve and ip)`, or use the `scoped` dialect",
        ),
        ("not mpls and ip", "put it last, as in `ip and not mpls`, or use the `scoped` dialect"),
        ("vlan or geneve", "use the `scoped` dialect, which looks for both in the same place"),
        (
            "(vlan and ip) or (mpls and ip)",
            "use the `scoped` dialect, which looks for both in the same place",
        ),
        ("vlan or vlan 5", "use the `scoped` dialect, which looks for both in the same place"),
    ] {
        let lints = compiled_with(Dialect::default(), source);
        assert_eq!((lints[0].code, lints[0].help.as_deref()), (Code::ShiftsOffsets, Some(help)), "{source}");
    }
    // A tag inside a tag has its number four bytes further on.
    let lints = compiled_with(Dialect::default(), "vlan and (vlan 5 or vlan 6)");
    assert!(lints[0].help.as_deref().unwrap().contains("link[18:2] & 0xfff = 5"), "{lints:?}");
}

/// What the link type decides is said of the word, with or without `not`.
#[test]
fn what_a_link_type_decides_is_told_once() {
    for (linktype, source, code, span) in [
        (LinkType::IPV4, "arp", Code::AlwaysFalse, "arp"),
        (LinkType::IPV4, "not arp", Code::AlwaysFalse, "arp"),
        (LinkType::IPV4, "not (not ip)", Code::AlwaysTrue, "ip"),
        (LinkType::IPV4, "ip6 and tcp", Code::AlwaysFalse, "ip6"),
        (LinkType::RAW, "arp and host 10.0.0.1", Code::AlwaysFalse, "arp"),
        (LinkType::NULL, "arp", Code::AlwaysFalse, "arp"),
    ] {
        assert_eq!(lints_on(linktype, source), [(code, span.to_owned())], "{linktype} {source}");
    }
    for linktype in [LinkType::RAW, LinkType::PPP, LinkType::EN10MB, LinkType::LINUX_SLL] {
        for source in ["ip", "ip6", "tcp", "ip or ip6", "not tcp", "port 80"] {
            assert_eq!(lints_on(linktype, source), [], "{linktype} {source}");
        }
    }
}

/// What an entry of a list leaves nothing for is told of as that (PF108).
#[test]
fn entries_of_lists_are_no_whole_filters() {
    let list = Compiler::new(LinkType::EN10MB).lints_of_list(&[("ip", 1), ("ip src host 10.0.0.1", 2)]);
    let list = list.unwrap();
    let codes: Vec<Code> = list.iter().flatten().map(|lint| lint.code).collect();
    assert_eq!(codes, [Code::NeverDecides]);
}

/// `ip` and `ip6` are one test there: each takes every packet of Juniper's for what it asks for.
#[test]
fn link_types_that_do_not_say_what_they_carry() {
    for linktype in [LinkType::JUNIPER_ATM1, LinkType::JUNIPER_MONITOR, LinkType::JUNIPER_ETHER] {
        for source in ["ip and ip6", "tcp and udp", "arp and tcp", "src port 80 and src port 81"] {
            assert_eq!(lints_on(linktype, source), [], "{source}");
        }
        let lengths = lints_on(linktype, "less 60 and greater 100");
        assert_eq!(lengths, [(Code::AlwaysFalse, "greater 100".to_owned())]);
    }
}

#[test]
fn guards_that_are_lost() {
    let payload = "(ip[2:2] - ((ip[0] & 0xf) << 2)) - ((tcp[12] & 0xf0) >> 2) != 0";
    for (source, span) in [
        (payload, "tcp[12]"),
        ("len - ip[0] > 5", "ip[0]"),
        ("len - (tcp[12] + udp[4:2]) > 5", "tcp[12]"),
        ("ip[2:2] + udp[4:2] = 3 and not tcp", "udp[4:2]"),
        ("tcp or 5 = 1 + tcp[13]", "tcp[13]"),
        ("ip6[4:2] - ip[2:2] = 0", "ip[2:2]"),
        ("ip6[4:2] - icmp6[2:2] = 0", "icmp6[2:2]"),
        ("tcp[len - ip[0]] = 1 and ether[1 + ip6[6]] = 0 and ip[0] - 1 = 0", "ip6[6]"),
    ] {
        assert_eq!(lints(source), [(Code::LostGuard, span.to_owned())], "{source}");
    }
    for source in [
        &format!("tcp port 80 and ({payload})"),
        &format!("tcp and not ({payload} or len > 100)"),
        &format!("({payload}) and tcp"),
        &format!("tcp[13] & 2 != 0 and {payload}"),
        &format!("ip proto 6 and {payload}"),
        &format!(r"ip proto \tcp and {payload}"),
        &format!("ip[9] = 6 and {payload}"),
        "ip[2:2] - ((ip[0] & 0xf) << 2) = 20",
        "tcp[0:2] = ip[2:2] - ((ip[0] & 0xf) << 2)",
        "tcp[((tcp[12:1] & 0xf0) >> 2):4] = 0x47455420",
        "ip6 and len - ip6[4:2] = 54",
        "icmp6 and ip6[4:2] - icmp6[2:2] = 0",
        "tcp[0:2] - tcp[2:2] = 0",
        "ether[12:2] + ether[14] = 5 - ether[0]",
    ] {
        let lost: Vec<_> = lints(source).into_iter().filter(|(code, _)| *code == Code::LostGuard).collect();
        assert_eq!(lost, [], "{source}");
    }
}

fn lost_guards_on(linktype: LinkType, source: &str, dialect: Dialect) -> Vec<Diagnostic> {
    let lints = all_lints(&Compiler::new(linktype).dialect(dialect), source);
    lints.into_iter().filter(|lint| lint.code == Code::LostGuard).collect()
}

fn lost_guards(source: &str) -> Vec<Diagnostic> {
    lost_guards_on(LinkType::EN10MB, source, Dialect::default())
}

#[test]
fn the_help_for_a_lost_guard_silences_it() {
    for word in "ip ip6 arp rarp tcp udp sctp icmp igmp igrp pim vrrp carp icmp6".split(' ') {
        for before in
            ["", "tcp and ", "udp and ", "ip and ", "udp port 53 and ", "geneve and ", "ip and geneve and "]
        {
            let relation = format!("len - {word}[0] > 5");
            for lint in lost_guards(&format!("{before}{relation}")) {
                let help = lint.help.unwrap();
                let asked = help.split('`').nth(1).unwrap();
                // What excludes itself is warned about on its own account.
                if lints(&format!("{before}{asked} len > 0"))
                    .iter()
                    .any(|(code, _)| *code == Code::AlwaysFalse)
                {
                    continue;
                }
                assert_eq!(
                    lost_guards(&format!("{before}{asked} {relation}")),
                    [],
                    "{before}{relation}: {help}"
                );
            }
        }
        assert_eq!(lost_guards(&format!("len - {word}[0] > 5")).len(), 1, "{word}");
    }
    let version = &lost_guards("tcp and len - tcp[12] > 5")[0];
    assert_eq!(version.message, "`tcp[…]` is read here from IPv6 packets, too, as if they were IPv4");
    assert_eq!(version.help.as_deref(), Some("put `ip and tcp and` in front of the comparison"));
}

#[test]
fn guards_on_the_other_side_of_an_encapsulation() {
    for source in [
        "ip and geneve and len - ip[2:2] > 5",
        "len - ip[2:2] > 5 and vlan and ip",
        "tcp and (vlan or len - ip[0] > 0)",
    ] {
        assert_eq!(lost_guards(source).len(), 1, "{source}");
    }
    for source in [
        "ip and len - ip[2:2] > 5 and vlan",
        "vlan and ip and len - ip[0] > 0",
        "geneve and (len - ip[0] > 0 and ip)",
    ] {
        assert_eq!(lost_guards(source), [], "{source}");
    }
    let scoped = dialect(false, true);
    for (source, lost) in
        [("ip and (vlan or arp) and len - ip[0] > 0", 0), ("(vlan and ip) and len - ip[0] > 0", 1)]
    {
        assert_eq!(lost_guards_on(LinkType::EN10MB, source, scoped).len(), lost, "{source}");
    }
}

#[test]
fn guards_that_are_asked_for_in_other_words() {
    for source in [
        "ether proto 0x800 and len - ip[0] > 0",
        r"ether proto \ip and len - ip[0] > 0",
        "ether[12:2] = 0x800 and len - ip[2:2] > 14",
        "not ip or len - ip[0] > 0",
        "ip and not (not tcp or len - tcp[12] > 0)",
        "6 = ip[9] and len - tcp[12] > 0",
        "ip protochain 6 and len - ip[0] > 0",
    ] {
        assert_eq!(lost_guards(source), [], "{source}");
    }
    for source in [
        "ether proto 0x806 and len - ip[0] > 0",
        "ip or len - ip[0] > 0",
        "not ip and len - ip[0] > 0",
        "6 < ip[9] and len - tcp[12] > 0",
        // An authentication header may come before.
        "ip protochain 6 and len - tcp[12] > 0",
    ] {
        let lost = lost_guards(source).len();
        assert_eq!(lost, 1, "{source}");
    }
    for (linktype, own, other) in [(LinkType::IPV4, "ip", "ip6"), (LinkType::IPV6, "ip6", "ip")] {
        let lost = |word| lost_guards_on(linktype, &format!("len - {word}[0] > 1"), Dialect::default()).len();
        assert_eq!((lost(own), lost(other)), (0, 1), "{linktype}");
    }
}

#[test]
fn an_ip4_field_of_ip6_packets_names_the_dialect() {
    let help = |source| {
        let lints = all_lints(&Compiler::new(LinkType::EN10MB), source);
        lints.into_iter().find(|lint| lint.code == Code::AlwaysFalse).unwrap().help.unwrap()
    };
    let dialect = "`tcp[…]` sees IPv4 only; the `ipv6` dialect looks into IPv6, too";
    assert_eq!(help("ip6[6] = 6 and tcp[13] & 2 != 0"), dialect);
    assert_eq!(help("(tcp[13] & 2 != 0) and ip6"), dialect);
    assert_eq!(help("arp and tcp[13] & 2 != 0"), "write `or` to accept either");
}

/// Each field is said to see IPv4 only where that is true.
#[test]
fn fields_that_never_see_ip6() {
    let compiler = Compiler::new(LinkType::EN10MB);
    for (source, expected) in [
        ("len - tcp[12] > 5", Code::LostGuard),
        ("tcp and len - tcp[12] > 5", Code::LostGuard),
        ("tcp[12] - len > 5", Code::NoIpv6),
    ] {
        let codes: Vec<Code> = all_lints(&compiler, source).iter().map(|lint| lint.code).collect();
        assert_eq!(codes, [expected], "{source}");
    }
}

/// What a warning of an address proposes is a filter, and the set's is a set's.
#[test]
fn addresses_that_look_otherwise() {
    for (source, span, help) in [
        ("src 80", "src 80", "write `src port 80` for the port, `src host 0.0.0.80` for the host"),
        ("host 10.0.0.1 or 443", "443", "write `port 443` for the port, `host 0.0.1.187` for the host"),
        (
            "arp host 10.1.2",
            "arp host 10.1.2",
            "write `arp net 10.1.2.0/24` for these; one host has four numbers",
        ),
        ("host in {::1, 10.1}", "10.1", "write `10.1.0.0/16` for these; one host has four numbers"),
        ("src host in {::1, 80}", "80", "write `src port in {80}` for the port, `0.0.0.80` for the host"),
    ] {
        let lints = all_lints(&Compiler::new(LinkType::EN10MB), source);
        let [lint] = &lints[..] else { panic!("{source}: {lints:?}") };
        let said = (lint.code, lint.span.text(source), lint.help.as_deref());
        assert_eq!(said, (Code::OtherAddress, span, Some(help)), "{source}");
    }
}

/// Filters from everyday work. None deserves a warning.
#[rustfmt::skip]
const COMMON: &[&str] = &[
    "", "ip", "ip6", "arp", "icmp", "icmp6", "tcp", "udp", "sctp", "igmp", "vrrp", "stp",
    "host 10.0.0.1", "src host 10.0.0.1", "dst host 10.0.0.1", "host 2001:db8::1", "net 10.0.0.0/8", "net 192.168.1.0/24",
    "src net 10.0.0.0/8 and dst net 192.168.0.0/16", "ip6 net fe80::/10", "ether host 00:11:22:33:44:55",
    "ether broadcast", "ether multicast", "ip multicast", "broadcast or multicast",
    "port 80", "tcp port 80", "udp port 53", "port 53", "tcp port 80 or tcp port 443", "tcp port 80 or 443",
    "portrange 1024-65535", "tcp portrange 6000-6008", "src port 22", "dst port 25", "tcp dst port 443",
    "udp port 67 or udp port 68", "udp port 123", "port 5060 or portrange 10000-20000",
    "host 10.0.0.1 and port 80", "host 10.0.0.1 and not port 22", "not port 22", "not arp", "ip and not vlan", "tcp port 80 and not vlan", "not vlan", "not broadcast and not multicast",
    "tcp and not port 22 and not port 80", "host 10.0.0.1 and (port 80 or port 443)", "(tcp or udp) and port 53",
    "host 10.0.0.1 and 10.0.0.2", "src host 10.0.0.1 and dst port 80", "not host 10.0.0.1 and not host 10.0.0.2",
    "icmp or icmp6", "arp or rarp", "ip and not tcp and not udp and not icmp",
    "tcp[tcpflags] & (tcp-syn|tcp-fin) != 0", "tcp[tcpflags] & tcp-syn != 0 and tcp[tcpflags] & tcp-ack = 0",
    "icmp[icmptype] != icmp-echo and icmp[icmptype] != icmp-echoreply", "icmp[icmptype] = icmp-echo",
    "ip[0] & 0xf != 5", "ip[8] < 5", "ip[6:2] & 0x1fff != 0", "ether[0] & 1 = 0 and ip[16] >= 224",
    "tcp port 80 and (((ip[2:2] - ((ip[0]&0xf)<<2)) - ((tcp[12]&0xf0)>>2)) != 0)",
    "less 64", "greater 1500", "len > 1000", "vlan", "vlan 100", "vlan 100 and tcp port 80", "vlan and vlan", "mpls and ip",
    "pppoes and ip", "ether proto 0x88cc", "ip proto 47", "ip6 proto 58", "proto 50", "llc", "udp[8] = 0x80",
    "host 0", "src host 0.0.0.80", "host 167772161", "net 10.1.2", "net 10", "decnet host 1.2", "host in {10.1.2.0/24, 2001:db8::/32}",
    "port in {80, 443, 8000-8080}", "host in {10.0.0.1, 10.0.0.2}", "tcp port 80 and host 10.0.0.1 and not host 10.0.0.2",
];

#[test]
fn common_filters_are_silent() {
    assert!(COMMON.len() >= 60);
    let compiler = Compiler::new(LinkType::EN10MB).names(Arc::new(FileNames::new()));
    for source in COMMON {
        let lints = compiler.lints(source).unwrap_or_else(|error| panic!("{error}"));
        // Said of every load that sees IPv4 only: true, and wanted.
        let unexpected: Vec<_> = lints.iter().filter(|lint| lint.code != Code::NoIpv6).collect();
        assert!(unexpected.is_empty(), "{source}: {unexpected:?}");
    }
}

/// However long a filter is, what may surprise in it is told in time; what cannot be looked at any more is not told of.
#[test]
fn long_filters_are_looked_at_in_time() {
    let compiler = Compiler::new(LinkType::EN10MB);
    let repeated = |part: &dyn Fn(usize) -> String, join: &str| -> String {
        (0..10_000).map(part).collect::<Vec<_>>().join(join)
    };
    let host = |i: usize| format!("host 10.1.{}.{}", i / 250, i % 250);
    let pair = |i: usize| format!("(src port {} or dst port {i})", 10_000 + i);
    let negated = |i: usize| format!("not port {i}");
    let choice = |i: usize| format!("(ip or (vlan and port {i}))");
    for (name, text) in [
        ("alternatives", repeated(&host, " or ")),
        ("none of them", repeated(&negated, " and ")),
        ("negated alternatives", repeated(&negated, " or ")),
        ("conjunctions of alternatives", repeated(&pair, " and ")),
        ("one of them with alternatives", format!("tcp and ({})", repeated(&host, " or "))),
        ("shifted", format!("({}) and udp", (0..200).map(choice).collect::<Vec<_>>().join(" or "))),
        ("nested", format!("{}tcp{}", "not (udp or ".repeat(10_000), ")".repeat(10_000))),
        ("fields", repeated(&|i| format!("ip[{}] - tcp[{}] = 5", i % 20, i % 30), " or ")),
        ("excluded", format!("tcp and udp and ({})", repeated(&host, " or "))),
    ] {
        let started = std::time::Instant::now();
        let lints = compiler.lints(&text).unwrap_or_else(|error| panic!("{name}: {error}"));
        let seconds = started.elapsed().as_secs_f64();
        println!("{name}: {seconds:.3} s, {} lints", lints.len());
        assert!(seconds < 20.0, "{name}: {seconds} s");
        assert!(lints.len() <= 20, "{name}: {} lints", lints.len());
        let is_told = |code| lints.iter().any(|lint| lint.code == code);
        assert!(name != "excluded" || is_told(Code::AlwaysFalse), "{name}: {lints:?}");
    }
}

/// Of long programs, clauses that are never reached are looked for by their text.
#[test]
fn repeated_clauses_of_long_programs_are_told() {
    let clauses: String =
        (0..5000).map(|n| format!("src host 10.0.{}.{} => a{n}; ", n / 256, n % 256)).collect();
    let program = format!(
        "match {{ {clauses} src host 10.0.0.9 => again; udp => b(ip[8]); udp => c; otherwise => rest; tcp => never }}"
    );
    let lints = Compiler::new(LinkType::EN10MB).lints_of_match(&program).unwrap();
    let told: Vec<&str> = lints
        .iter()
        .filter(|lint| lint.code == Code::NeverDecides)
        .map(|lint| lint.span.text(&program))
        .collect();
    assert_eq!(told, ["src host 10.0.0.9 => again", "tcp => never"]);
}
