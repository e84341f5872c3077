//! Rules of iptables and nft, imported and compiled, against an evaluator of the rules themselves: random chains, random packets, both families.

#[path = "import/model.rs"]
mod model;

use model::{Family, Model, Packet, random_packet};
use pflang::{Compiler, LinkType};
use wall::import::{Choice, Format, ImportError, Imported, import};

fn imported(text: &str) -> Imported {
    import(&[text], &Choice::default()).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// The handler that a program has for a packet, `-` for none.
struct Program(pflang::Matcher);

impl Program {
    fn new(text: &str) -> Program {
        let compiler = Compiler::new(LinkType::EN10MB);
        Program(compiler.compile_match(text).unwrap_or_else(|error| panic!("{error}\n{text}")))
    }

    fn decide(&self, packet: &Packet) -> String {
        let row: Vec<u32> = self.0.inputs().map(|input| packet.input(input)).collect();
        let frame = packet.frame();
        let mut values = Vec::new();
        let call = self.0.call_captured(&frame, frame.len() as u32, &row, &mut values);
        call.map_or_else(
            || "-".to_owned(),
            |call| match call.arguments {
                [] => call.handler.to_owned(),
                [number, ..] => format!("{}({number})", call.handler),
            },
        )
    }
}

/// Compares a program with the rules it was made of, on random packets.
#[track_caller]
fn check(model: &Model, text: &str, seed: u64) {
    let imported = imported(text);
    assert_eq!(imported.problems, [], "{text}");
    let program = Program::new(&imported.program);
    for i in 0..150 {
        let packet = random_packet(model.family, seed ^ i << 40);
        assert_eq!(
            program.decide(&packet),
            model.decide(&packet),
            "{packet:?}\n{text}\n{}",
            imported.program
        );
    }
}

#[test]
fn random_chains_of_iptables() {
    for seed in 0..250 {
        let model = Model::random(seed, if seed % 3 == 0 { Family::V6 } else { Family::V4 });
        check(&model, &model.as_iptables(), seed);
    }
}

#[test]
fn random_chains_of_nft() {
    for seed in 1000..1250 {
        let model = Model::random(seed, if seed % 3 == 0 { Family::V6 } else { Family::V4 });
        check(&model, &model.as_nft(), seed);
    }
}

const NFT: &str = r#"
table inet fw {
	set bad {
		type ipv4_addr
		flags interval
		elements = { 192.0.2.1 timeout 1h expires 59m, 198.51.100.0/24,
			     203.0.113.5-203.0.113.9 }
	}
	set pairs {
		type ipv4_addr . inet_service
		elements = { 10.0.0.1 . 22, 10.0.0.2 . 80 }
	}
	map services {
		type inet_service : verdict
		elements = { 25 : drop, 443 : jump web }
	}
	chain web {
		ip saddr 10.0.0.3 return
		tcp flags & (fin | syn | rst | ack) == syn ct state new accept
		drop
	}
	chain input {
		type filter hook input priority filter; policy drop;
		ct state vmap { invalid : drop, established : accept, related : accept }
		iifname "lo" accept
		ip saddr @bad counter packets 12 bytes 345 log prefix "bad: " drop
		tcp dport vmap @services
		ip saddr . tcp dport @pairs accept comment "admins"
		ip saddr . tcp dport vmap { 10.0.0.4 . 1 : accept, 10.0.0.5 . 53 : drop }
		meta l4proto { tcp, udp } th dport 53 accept
		icmp type { echo-request, echo-reply } accept
		ip6 nexthdr ipv6-icmp icmpv6 type nd-neighbor-solicit accept
		ip6 saddr 2001:db8::/32 tcp sport != { 1-10, 20 } accept
		ip ttl < 5 reject with icmp type admin-prohibited
	}
}
"#;

#[test]
fn sets_maps_concatenations_and_chains_of_nft() {
    let imported = imported(NFT);
    assert_eq!(imported.problems, []);
    let program = Program::new(&imported.program);
    let tcp = |src: &str, dport| Packet::tcp(src, dport);
    let cases = [
        (tcp("192.0.2.1", 80), "drop"),
        (tcp("203.0.113.9", 80), "drop"),
        (tcp("203.0.113.10", 53), "accept"),
        (tcp("10.0.0.1", 22), "accept"),
        (tcp("10.0.0.1", 80), "drop"),
        (tcp("10.0.0.2", 80), "accept"),
        (tcp("10.0.0.4", 1), "accept"),
        (tcp("10.0.0.5", 53), "drop"),
        (tcp("10.0.0.9", 25), "drop"),
        (Packet { flags: 0x02, state: 8, ..tcp("10.0.0.9", 443) }, "accept"),
        (Packet { flags: 0x12, state: 8, ..tcp("10.0.0.9", 443) }, "drop"),
        // Returns from the chain, and meets the policy.
        (Packet { flags: 0x02, state: 8, ..tcp("10.0.0.3", 443) }, "drop"),
        (Packet { state: 1, ..tcp("10.0.0.1", 22) }, "drop"),
        (Packet { state: 4, ..tcp("192.0.2.1", 22) }, "accept"),
        (Packet { iif: 1, ..tcp("192.0.2.1", 22) }, "accept"),
        (tcp("2001:db8::1", 9), "accept"),
        (Packet { sport: 5, ..tcp("2001:db8::1", 9) }, "drop"),
        (Packet { sport: 20, ..tcp("2001:db8::1", 53) }, "accept"),
        (tcp("2001:db9::1", 9), "drop"),
        (Packet { ttl: 4, ..tcp("10.0.0.9", 9) }, "reject"),
    ];
    for (packet, expected) in cases {
        assert_eq!(program.decide(&packet), expected, "{packet:?}\n{}", imported.program);
    }
}

#[test]
fn sets_of_ipset() {
    let sets = "create bad hash:net family inet hashsize 1024\nadd bad 192.0.2.0/24 timeout 100\nadd bad 198.51.100.7\n\
                create pairs hash:ip,port family inet\nadd pairs 10.0.0.1,tcp:22\nadd pairs 10.0.0.2,udp:53\n";
    let rules = "*filter\n:INPUT ACCEPT [0:0]\n-A INPUT -m set --match-set bad src -j DROP\n\
                 -A INPUT -m set --match-set pairs src,dst -j REJECT\n-A INPUT -m set ! --match-set bad dst -j ACCEPT\n\
                 -A INPUT -j DROP\nCOMMIT\n";
    let imported = import(&[rules, sets], &Choice::default()).unwrap();
    assert_eq!(imported.problems, []);
    let program = Program::new(&imported.program);
    for (src, dport, expected) in [
        ("192.0.2.200", 1, "drop"),
        ("198.51.100.7", 1, "drop"),
        ("198.51.100.8", 1, "accept"),
        ("10.0.0.1", 22, "reject"),
        ("10.0.0.2", 53, "accept"),
    ] {
        assert_eq!(program.decide(&Packet::tcp(src, dport)), expected, "{src} {dport}\n{}", imported.program);
    }
    let alone = import(&["create bad hash:net\nadd bad 192.0.2.0/24\n"], &Choice::default()).unwrap();
    assert_eq!(Program::new(&alone.program).decide(&Packet::tcp("192.0.2.9", 1)), "bad");
    let without = import(&[rules], &Choice::default()).unwrap();
    assert_eq!(without.problems.len(), 3);
    assert!(without.problems[0].reason.contains("`ipset save`"), "{:?}", without.problems);
}

#[test]
fn lists_of_classbench() {
    let rules = classify::rules::generate::rules(300, 3);
    let len = |range: &std::ops::RangeInclusive<u32>| (range.start() ^ range.end()).leading_zeros();
    let line = |rule: &classify::rules::Rule<u32>| {
        let address = |range: &std::ops::RangeInclusive<u32>| {
            format!("{}/{}", std::net::Ipv4Addr::from(*range.start()), len(range))
        };
        // Ports of any protocol are those of TCP, UDP and SCTP in pflang: the packets here have no other.
        format!(
            "@{}\t{}\t0 : 65535\t{} : {}\t{:#04x}/{:#04x}\t0x0000/0x0000\n",
            address(&rule.src),
            address(&rule.dst),
            rule.dport.start(),
            rule.dport.end(),
            rule.proto.0,
            rule.proto.1
        )
    };
    let text: String = rules.iter().map(line).collect();
    let imported = imported(&text);
    assert_eq!((imported.rules, imported.problems.len()), (300, 0));
    let program = Program::new(&imported.program);
    for key in classify::rules::points(&rules, 1).take(500) {
        let packet = Packet {
            src: std::net::Ipv4Addr::from(key.src).into(),
            dst: std::net::Ipv4Addr::from(key.dst).into(),
            sport: key.sport,
            dport: key.dport,
            proto: key.proto,
            ..Packet::tcp("10.0.0.1", 1)
        };
        let first = classify::rules::linear(&rules, &key, |_| false).expect("it is in a rule");
        assert_eq!(program.decide(&packet), format!("rule({first})"), "{packet:?}");
    }
}

#[test]
fn what_cannot_be_expressed_is_told_with_its_line() {
    for (rule, reason) in [
        ("-m limit --limit 5/min -j ACCEPT", "`-m limit`"),
        ("-j MASQUERADE", "MASQUERADE"),
        ("-p tcp --dport ssh -j ACCEPT", "`ssh`"),
        ("--dport 22 -j ACCEPT", "ports"),
        ("-s 10.0.0.256 -j ACCEPT", "family"),
        ("-m mac --mac-source \"1 => accept\" -j DROP", "hardware address"),
        ("-m comment --comment \"open -j DROP", "quote"),
        ("-p tcp --dport", "missing"),
    ] {
        let text = format!("*filter\n:INPUT DROP [0:0]\n-A INPUT {rule}\n-A INPUT -s 10.0.0.1 -j ACCEPT\n");
        let imported = imported(&text);
        let [problem] = &imported.problems[..] else { panic!("{rule}: {:?}", imported.problems) };
        assert!(problem.reason.contains(reason), "{rule}: {problem:?}");
        assert_eq!(problem.line, 3);
        assert_eq!(imported.rules, 1, "the other rule is there");
    }
    let nft =
        NFT.replace("iifname \"lo\" accept", "limit rate 5/second accept").replace("return", "masquerade");
    let problems = imported(&nft).problems;
    assert_eq!(problems.iter().map(|problem| problem.line).collect::<Vec<_>>(), [18, 25]);
}

#[test]
fn which_chain_is_asked_where_several_could_be_meant() {
    let text = "*filter\n:INPUT DROP [0:0]\n:FORWARD DROP [0:0]\n-A INPUT -j ACCEPT\n-A FORWARD -j DROP\n";
    let error = import(&[text], &Choice::default()).unwrap_err();
    assert_eq!(error.to_string(), "which chain? there are filter FORWARD, filter INPUT");
    for (table, chain, expected) in [
        (None, Some("foo"), "there is no chain foo; there are filter FORWARD, filter INPUT"),
        (Some("nat"), Some("foo"), "there is no table nat; there are filter FORWARD, filter INPUT"),
        (
            Some("filter"),
            Some("foo"),
            "there is no chain foo in table filter; there are filter FORWARD, filter INPUT",
        ),
    ] {
        let choice = Choice { table: table.map(Into::into), chain: chain.map(Into::into) };
        assert_eq!(import(&[text], &choice).unwrap_err().to_string(), expected);
    }
    let nft = "table ip foo {\n    chain a {\n        accept\n    }\n}\n";
    for (table, expected) in [
        (None, "there is no base chain in it"),
        (Some("bar"), "there is no table bar; there is foo a"),
        (Some("foo"), "there is no base chain in table foo; there is foo a"),
    ] {
        let choice = Choice { table: table.map(Into::into), chain: None };
        assert_eq!(import(&[nft], &choice).unwrap_err().to_string(), expected);
    }
    let chosen = Choice { chain: Some("FORWARD".into()), ..Choice::default() };
    assert!(import(&[text], &chosen).unwrap().program.contains("=> drop"));
    let round = "*filter\n:INPUT DROP [0:0]\n:a - [0:0]\n-A INPUT -j a\n-A a -j a\n";
    assert_eq!(import(&[round], &Choice::default()).unwrap_err(), ImportError::Loop("a".into()));
    assert_eq!(import(&["hello"], &Choice::default()).unwrap_err(), ImportError::Unknown(0));
    assert_eq!(Format::of("@1.2.3.4/32"), Some(Format::Classbench));
}

/// Changes, drops and doubles some bytes of texts that are well: nothing panics, and what is written is a program.
#[test]
fn damaged_texts_give_programs_or_problems() {
    let mut dice = model::Dice::new(1);
    let texts: Vec<String> = (0..40)
        .flat_map(|seed| {
            let model = Model::random(seed, if seed % 3 == 0 { Family::V6 } else { Family::V4 });
            [model.as_iptables(), model.as_nft()]
        })
        .chain([NFT.to_owned()])
        .collect();
    let mut programs = 0;
    for _ in 0..1500 {
        let mut bytes = texts[dice.below(texts.len() as u64) as usize].clone().into_bytes();
        for _ in 0..=dice.below(4) {
            let at = dice.below(bytes.len() as u64) as usize;
            match dice.below(4) {
                0 => bytes[at] = b" \n{};,.-!:/@\"&|()=0"[dice.below(19) as usize],
                1 => _ = bytes.remove(at),
                2 => bytes.truncate(at + 1),
                _ => {
                    let again = bytes[at..(at + 9).min(bytes.len())].to_vec();
                    bytes.splice(at..at, again);
                }
            }
        }
        let text = String::from_utf8_lossy(&bytes);
        if let Ok(imported) = import(&[&text], &Choice::default()) {
            programs += 1;
            let compiled = Compiler::new(LinkType::EN10MB).compile_match(&imported.program);
            assert!(compiled.is_ok(), "{}\n{text}\n{}", compiled.unwrap_err(), imported.program);
        }
    }
    assert!(programs > 300, "{programs}");
}
