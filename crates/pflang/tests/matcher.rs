//! pfmatch programs: the cases of `testdata/match/*.toml` on every engine, and programs against their clauses one by one.

use pflang::{Backend, Calls, Code, Compiler, LinkType, Matcher, Packet};
use testkit::matches::random::{self, Then, Words};
use testkit::matches::{self, Test};

fn compilers(test: &Test) -> [(&'static str, Compiler); 3] {
    let compiler = test.compiler();
    let interpreter = compiler.clone().backend(Backend::Interpreter);
    [("machine code", compiler.clone()), ("baseline", compiler.baseline()), ("interpreter", interpreter)]
}

fn call(matcher: &Matcher, packet: &[u8], wire_len: u32, inputs: &[u32]) -> String {
    let mut values = Vec::new();
    matcher.call_captured(packet, wire_len, inputs, &mut values).map_or("-".into(), |call| call.to_string())
}

/// What is called for copies of a packet in bursts of lengths that run in machine code and in the mask VM.
fn burst(matcher: &Matcher, packet: &[u8], wire_len: u32, inputs: &[u32], len: usize) -> Vec<String> {
    let packets = vec![Packet::new(packet, wire_len); len];
    let rows = inputs.repeat(len);
    let mut calls = Calls::default();
    matcher.call_burst(&packets, &rows, &mut calls);
    matcher.calls(&calls).map(|call| call.map_or("-".into(), |call| call.to_string())).collect()
}

#[test]
fn every_engine_agrees_with_the_tables() {
    let tests = matches::tests();
    let (mut cases, mut cut, mut wrong) = (0, 0, Vec::new());
    for test in &tests {
        let matchers = compilers(test).map(|(engine, compiler)| {
            let matcher = compiler.compile_match(&test.program);
            (engine, matcher.unwrap_or_else(|error| panic!("{}\n{error}", test.name)))
        });
        for case in &test.cases {
            let (bytes, wire_len) = (&case.packet.bytes, case.packet.wire_len);
            for (engine, matcher) in &matchers {
                let what = format!("{}: {} by {engine}", test.name, case.line);
                let called = call(matcher, bytes, wire_len, &case.inputs);
                if called != case.call {
                    wrong.push(format!("{what}: {called}, not {}", case.call));
                    continue;
                }
                for len in [1, 70, 256] {
                    let calls = burst(matcher, bytes, wire_len, &case.inputs, len);
                    assert!(
                        calls.iter().all(|call| *call == case.call),
                        "{what}, in a burst of {len}: {calls:?}"
                    );
                }
            }
            cases += 1;
            // Cut at every length, they say the same, whatever that is.
            for end in 0..bytes.len() {
                let [native, baseline, interpreted] =
                    [0, 1, 2].map(|i| call(&matchers[i].1, &bytes[..end], wire_len, &case.inputs));
                let in_burst = burst(&matchers[0].1, &bytes[..end], wire_len, &case.inputs, 64);
                assert_eq!(native, interpreted, "{}: {} cut at {end}", test.name, case.line);
                assert_eq!(baseline, interpreted, "{}: {} cut at {end}", test.name, case.line);
                assert!(
                    in_burst.iter().all(|call| *call == interpreted),
                    "{}: {} cut at {end}",
                    test.name,
                    case.line
                );
                cut += 1;
            }
        }
    }
    testkit::say(format_args!("{} programs, {cases} cases, {cut} cut packets, on every engine", tests.len()));
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(cases >= 120, "only {cases} cases: where are the tables?");
}

#[test]
fn programs_are_their_clauses_one_by_one() {
    let compiler = Compiler::new(LinkType::EN10MB);
    let mut rng = testkit::rng::Rng::new(1);
    let mut called = [0_u32; 2];
    for seed in 0..300 {
        let program = random::program(&mut rng, WORDS, 3);
        let text = random::text(&program);
        let matcher = compiler.compile_match(&text).unwrap_or_else(|error| panic!("{error}"));
        let interpreted = compiler.clone().backend(Backend::Interpreter).compile_match(&text).unwrap();
        let alone = Alone::of(&compiler, &program, "");
        for packet in random::packets(&mut rng, &PACKETS) {
            for end in [packet.len(), rng.below(packet.len() + 1)] {
                let (captured, wire_len) = (&packet[..end], packet.len() as u32);
                let expected = alone.call(captured, wire_len).unwrap_or_else(|| "-".into());
                called[usize::from(expected != "-")] += 1;
                let what = || format!("program {seed}, {captured:02x?}\n{text}");
                assert_eq!(call(&matcher, captured, wire_len, &[]), expected, "{}", what());
                assert_eq!(call(&interpreted, captured, wire_len, &[]), expected, "{}", what());
                assert_eq!(burst(&matcher, captured, wire_len, &[], 64)[63], expected, "{}", what());
            }
        }
    }
    testkit::say(format_args!("{} calls, {} packets without", called[1], called[0]));
    assert!(called.iter().all(|count| *count > 1000), "{called:?}");
}

#[test]
fn errors_have_their_place() {
    let compiler = Compiler::new(LinkType::EN10MB);
    for (program, code, place, says) in [
        ("tcp => a", Code::Unexpected, "tcp", "unexpected `tcp`"),
        ("match { tcp prot 80 => a }", Code::UnknownWord, "prot", "unknown word `prot`"),
        ("match { tcp => a", Code::Unexpected, "", "the program ends too early"),
        ("match { tcp => { udp => a }", Code::Unexpected, "", "the program ends too early"),
        ("match { tcp => a } b", Code::UnknownWord, "b", "unknown word `b`"),
        ("match { tcp a }", Code::UnknownWord, "a", "unknown word `a`"),
        ("match { => a }", Code::Unexpected, "=>", "unexpected `=>`"),
        ("match { tcp => }", Code::Unexpected, "}", "unexpected `}`"),
        ("match { tcp => a(ip[0] }", Code::Unexpected, "}", "unexpected `}`"),
        ("match { tcp => a(ip) }", Code::Unexpected, "ip", "unexpected `ip`"),
        ("match { tcp => a(,) }", Code::Unexpected, ",", "unexpected `,`"),
        ("match { tcp => a(1,) }", Code::Unexpected, ")", "unexpected `)`"),
        ("match { tcp => 80 }", Code::Unexpected, "80", "unexpected `80`"),
        ("match { tcp => a(1/0) }", Code::Arithmetic, "0", "division by zero"),
        ("match { ip => a(1 << 32) }", Code::Arithmetic, "32", "shift by more than 31 bits"),
        ("match { tcp => a(&ip[0:3]) }", Code::OutOfRange, "&ip[0:3]", "a field of 3 bytes cannot be read"),
        ("match { tcp--note\n => a }", Code::UnknownWord, "tcp--note", "unknown word `tcp--note`"),
        ("match { tcp => a(ip[0:3]) }", Code::OutOfRange, "ip[0:3]", "a field of 3 bytes cannot be read"),
        (
            "match (len) { }",
            Code::BadQualifier,
            "len",
            "`len` is a word of the language, and no name for an input",
        ),
        ("match (a b) { }", Code::UnknownWord, "b", "unknown word `b`"),
        ("match { $web => a }", Code::UnknownName, "$web", "`$web` stands for nothing"),
        ("match { host nowhere.example => a }", Code::UnknownName, "host nowhere.example", "unknown host"),
        ("match { tcp => a; ; udp => b }", Code::Unexpected, ";", "unexpected `;`"),
        ("match { otherwise and tcp => a }", Code::UnknownWord, "otherwise", "unknown word `otherwise`"),
    ] {
        let error = compiler.compile_match(program).expect_err(program);
        assert_eq!((error.code(), error.span().text(program)), (code, place), "{program}\n{error}");
        assert!(error.diagnostic.message.contains(says), "{program}\n{error}");
    }
    // Names replaced: the place is that of the name.
    let compiler = compiler.substitute("web", "tcp prot 80");
    let error = compiler.compile_match("match { udp or $web => a }").unwrap_err();
    assert_eq!(error.span().text(&error.source), "$web");
    assert_eq!(error.diagnostic.help.as_deref(), Some("this name stands for `tcp prot 80`"));
}

#[test]
fn no_text_makes_the_compiler_panic() {
    let compiler = Compiler::new(LinkType::EN10MB).substitute("x", "tcp => a, ").inputs(["n"]);
    let mut rng = testkit::rng::Rng::new(7);
    let pieces = [
        "match",
        "{",
        "}",
        "(",
        ")",
        "=>",
        "tcp",
        "port 80",
        "a",
        "$x",
        "$",
        "--",
        "\n",
        ",",
        ";",
        "otherwise",
        "ip[",
        "]",
        "&",
        "n",
        "= 1",
        "+",
        "é",
        "host in {1.2.3.4}",
        "{ @f }",
        "\\",
        "not",
        "and",
        "or",
        "0",
        "-",
    ];
    let mut compiled = 0;
    for _ in 0..20_000 {
        let begins = rng.below(2) == 0;
        let mut text = if begins { "match { ".to_owned() } else { String::new() };
        for _ in 0..rng.below(12) {
            text.push_str(rng.pick::<&str>(&pieces));
            text.push(' ');
        }
        if begins && rng.below(2) == 0 {
            text.push('}');
        }
        compiled += u32::from(compiler.compile_match(&text).is_ok());
    }
    assert!(compiled > 50, "{compiled} compile");
}

const WORDS: Words = Words {
    tests: &[
        "tcp",
        "udp",
        "ip",
        "ip6",
        "arp",
        "port 80",
        "src port 53",
        "host 10.0.0.1",
        "src host 10.0.0.2",
        "dst net 10.0.0.0/8",
        "ip[8] > 64",
        "ip[0] & 15 != 5",
        "tcp[13] & 2 != 0",
        "ether[30] = 1",
        "ip[ip[8]] < 100",
        "len > 60",
        "vlan",
        "not tcp",
        "not (udp or arp)",
        "ip6 and tcp",
        "ip[2:2] / ip[8] = 3",
        "portrange 50-90",
        "ether host 02:00:00:00:00:02",
        "vlan or arp",
        "not ip[40] = 0",
        "host in {10.0.0.1, 10.0.0.2, 10.1.0.0/16}",
    ],
    arguments: &["1", "ip[8]", "len", "&tcp[0]", "tcp[0:2]", "ip[12:4] + 1", "100 / ip[1]"],
};

const PACKETS: [&str; 9] = [
    "eth / ip4(ttl=T, src=10.0.0.1) / tcp(dport=80, flags=S)",
    "eth / ip4(ttl=T, dst=10.1.2.3) / udp(sport=53) / pad(40)",
    "eth / arp",
    "eth / ip6 / tcp(sport=80)",
    "eth / vlan(5) / ip4(ttl=T, src=10.0.0.2) / tcp",
    "eth / ip4(ttl=T, options=01010101, tos=3) / tcp(dport=80)",
    "eth(dst=02:00:00:00:00:02) / pad(20)",
    "eth / ip4(frag=3, tos=9) / pad(50)",
    "eth / ip4(ttl=T, proto=1)",
];

/// Each clause as a program of its own: its blocks around it, and whether its test holds.
struct Alone {
    clauses: Vec<(Matcher, Option<Alone>)>,
}

impl Alone {
    fn of(compiler: &Compiler, program: &[(String, Then)], around: &str) -> Alone {
        let compile = |inner: &str| {
            let closed = "}".repeat(around.matches("=> {").count());
            compiler.compile_match(&format!("match {{ {around} {inner} {closed} }}")).unwrap()
        };
        let clauses = program.iter().map(|(test, then)| match then {
            Then::Call(call) => (compile(&format!("{test} => {call}")), None),
            Then::Block(block) => {
                let inside = Alone::of(compiler, block, &format!("{around} {test} => {{"));
                (compile(&format!("{test} => entered")), Some(inside))
            }
        });
        Alone { clauses: clauses.collect() }
    }

    fn call(&self, captured: &[u8], wire_len: u32) -> Option<String> {
        for (matcher, inside) in &self.clauses {
            let called = call(matcher, captured, wire_len, &[]);
            if called != "-" {
                return match inside {
                    Some(inside) => inside.call(captured, wire_len),
                    None => Some(called),
                };
            }
        }
        None
    }
}
