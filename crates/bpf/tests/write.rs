//! Bytecode that is written for filters and graphs, in every machine that runs such.

use bpf::machine::{self, Outcome};
use bpf::{Ancillary, Format, Options, Program, Validate, internals::Stages};
use decide::internals::cbpf::{NoProgram, program};
use decide::internals::checked_graph;
use decide::internals::ir::interp::Interp;
use decide::internals::ir::verify::Verified;
use decide::internals::opt::Passes;
use decide::{Budget, Graph};
use pflang::{Compiler, LinkType};
use testkit::native::agree::random_packets;
use testkit::native::graphs::{Shape, random_graph};
use testkit::oracle::{self, Libpcap, kernel::Attached};
use testkit::programs::random_program;
use testkit::rng::Rng;
use testkit::table::{self, Expected};

/// A socket with the program; `None`, aloud, where there are no such sockets.
fn attached(program: &Program) -> Attached {
    Attached::new(program.insns()).unwrap_or_else(|error| panic!("{error}: {program:?}"))
}

/// The machines that run a program.
struct Machines {
    program: Program,
    pcap: Option<Libpcap>,
    kernel: Attached,
}

impl Machines {
    fn new(program: Program, pcap: Option<Libpcap>) -> Machines {
        for validate in [Validate::Libpcap, Validate::Kernel] {
            program.check(validate).unwrap_or_else(|error| panic!("{error}\n{}", listing(&program)));
        }
        let kernel = attached(&program);
        Machines { program, pcap, kernel }
    }

    /// What each says; the kernel, for which a packet is as long as it was captured and has a byte at least, only of such packets.
    fn answers(&self, data: &[u8], wire_len: u32) -> Vec<bool> {
        let end = machine::run(self.program.insns(), data, wire_len, usize::MAX, &mut ());
        assert!(matches!(end, Outcome::Fault | Outcome::Returned(0 | 262_144)), "{end:?}");
        let mut answers = vec![end.accepts()];
        answers.extend(self.pcap.map(|pcap| pcap.filter(self.program.insns(), data, wire_len) != 0));
        if wire_len as usize == data.len() && !data.is_empty() {
            let passed = self.kernel.passed(data).expect("a socket");
            assert!(passed.is_none_or(|len| len == data.len()), "{passed:?} of {} bytes", data.len());
            answers.push(passed.is_some());
        }
        answers
    }
}

fn listing(program: &Program) -> String {
    String::from_utf8(program.write(Format::Listing)).unwrap()
}

/// Every case of the tables: text to bytecode, in three machines.
#[test]
fn bytecode_of_filters_gives_the_answers_of_the_tables() {
    let pcap = oracle::libpcap("the test of bytecode that is written");
    let tests = table::tests();
    let (mut filters, mut cases, mut in_kernel, mut longest) = (0, 0, 0, 0);
    let (mut outside, mut wrong) = (Vec::new(), Vec::new());
    for test in &tests {
        let Expected::Packets(expected) = &test.expected else { continue };
        let program = match test.compiler().to_cbpf(&test.filter) {
            Ok(insns) => Program::from(insns),
            Err(error) => {
                outside.push(format!("{} ({} cases): {}", test.name, test.cases(), error.diagnostic.message));
                continue;
            }
        };
        longest = longest.max(program.insns().len());
        filters += 1;
        let machines = Machines::new(program, pcap);
        for case in expected {
            // The kernel has nothing but bytes: of those that are not all there, it is asked as if they were, against the filter here.
            let (data, wire_len) = (&case.packet.bytes, case.packet.wire_len);
            let answers = machines.answers(data, wire_len);
            cases += 1;
            in_kernel += usize::from(wire_len as usize == data.len() && !data.is_empty());
            if answers.iter().any(|answer| *answer != case.accept) {
                wrong.push(format!("{test}\n    {}: {answers:?}\n{}", case.line, listing(&machines.program)));
            }
        }
    }
    testkit::say(format_args!(
        "{filters} filters and {cases} cases of the tables as bytecode, {in_kernel} of them in the kernel; the longest has {longest} \
         instructions; outside: {} filters\n  {}",
        outside.len(),
        outside.join("\n  ")
    ));
    assert!(cases > 500 && wrong.is_empty(), "{} of {cases}:\n{}", wrong.len(), wrong.join("\n"));
}

/// Whatever a program becomes, written again it means the same.
#[test]
fn random_programs_are_written_again() {
    let pcap = oracle::libpcap("the test of programs that are written again");
    let mut rng = Rng::new(6);
    let (mut pairs, mut outside) = (0, 0);
    for _ in 0..400 {
        let original = Program::from(random_program(&mut rng));
        let options = Options::default();
        let stages = Stages::new(&original, &[], &options).unwrap();
        let again = match stages.to_cbpf(&[], &options) {
            Ok(again) => again,
            Err(error) => {
                assert!(error.to_string().contains("scratch cells"), "{error}");
                outside += 1;
                continue;
            }
        };
        let machines = Machines::new(again, pcap);
        for (data, wire_len) in random_packets(&mut rng).into_iter().take(100) {
            let wire_len = if rng.chance(1, 2) { data.len() as u32 } else { wire_len };
            let expected = machine::run(original.insns(), &data, wire_len, usize::MAX, &mut ()).accepts();
            let answers = machines.answers(&data, wire_len);
            assert!(
                answers.iter().all(|answer| *answer == expected),
                "{expected}, not {answers:?}, for {data:x?} of {wire_len}\n{}\n{}",
                listing(&original),
                listing(&machines.program)
            );
            pairs += 1;
        }
    }
    testkit::say(format_args!(
        "{pairs} pairs of program written again and packet; outside: {outside} programs"
    ));
    assert!(outside < 20);
}

/// Random graphs, as built and optimised, those with inputs as well.
#[test]
fn random_graphs_are_written() {
    let pcap = oracle::libpcap("the test of graphs that are written");
    let mut rng = Rng::new(7);
    let (mut written, mut goes_on, mut complex) = (0, 0, 0);
    for seed in 0..600 {
        let shape = Shape { values: 12, tests: 1 + seed % 7, filters: 1, switches: seed % 3, inputs: 0 };
        let graph = network_order(&random_graph(&mut rng, shape));
        let checked = checked_graph(graph.clone(), Passes::CBPF, &Budget::unlimited()).unwrap();
        for graph in [&graph, checked.graph()] {
            let insns = match program(Verified::new(graph).unwrap(), &[]) {
                Ok(insns) => insns,
                Err(NoProgram::GoesOn) => {
                    goes_on += 1;
                    continue;
                }
                Err(NoProgram::TooComplex) => {
                    complex += 1;
                    continue;
                }
                Err(error) => panic!("{error}"),
            };
            written += 1;
            let machines = Machines::new(Program::from(insns), pcap);
            let mut interp = Interp::new(graph);
            for (data, wire_len) in random_packets(&mut rng).into_iter().take(60) {
                let wire_len = if rng.chance(1, 2) { data.len() as u32 } else { wire_len };
                let expected = interp.run(&data, wire_len) != 0;
                let answers = machines.answers(&data, wire_len);
                assert!(
                    answers.iter().all(|answer| *answer == expected),
                    "seed {seed}: {expected}, not {answers:?}, for {data:x?} of {wire_len}\n{}\n{}",
                    decide::internals::ir::print::listing(graph, ""),
                    listing(&machines.program)
                );
            }
        }
    }
    testkit::say(format_args!(
        "{written} graphs written; {goes_on} would have to go on, {complex} need more cells"
    ));
    assert!(written > 600);
}

/// The same graph without loads in the order of memory, which no front end makes, and with the leaves of a filter.
fn network_order(graph: &Graph) -> Graph {
    use decide::{Node, Order, Switch, Value};
    let mut new = Graph::new(decide::Pool::default());
    let mut values: Vec<decide::ValueId> = Vec::new();
    for id in 0..graph.pool.value_count() as u32 {
        let at = |value: decide::ValueId| values[value.index()];
        let value = match graph.pool.get(decide::ValueId(id)) {
            Value::Load { base, offset, size, .. } => {
                Value::Load { base: at(base), offset, size, order: Order::Network }
            }
            Value::Op(op, a, b) => Value::Op(op, at(a), at(b)),
            other => other,
        };
        values.push(new.pool.value(value));
    }
    let at = |value: decide::ValueId| values[value.index()];
    let mut nodes: Vec<decide::NodeId> = Vec::new();
    for id in 0..graph.node_count() as u32 {
        let to = |node: decide::NodeId| nodes[node.index()];
        let node = match graph.node(decide::NodeId(id)) {
            Node::Leaf(leaf) => new.leaf(u32::from(*leaf != 0)),
            Node::Branch { cond, then, els } => {
                let cond = match graph.pool.get_cond(*cond) {
                    decide::Cond::Cmp(op, a, b) => decide::Cond::Cmp(op, at(a), at(b)),
                    decide::Cond::Test(a, b) => decide::Cond::Test(at(a), at(b)),
                    decide::Cond::Bounds { base, end } => decide::Cond::Bounds { base: at(base), end },
                    decide::Cond::Member(_) => unreachable!("graphs for bytecode have no tables"),
                };
                let cond = new.pool.cond(cond);
                new.branch(cond, to(*then), to(*els))
            }
            Node::Switch(switch) => {
                let arms =
                    switch.arms.iter().map(|arm| decide::Arm { target: to(arm.target), ..*arm }).collect();
                let switch = Switch { value: at(switch.value), arms, default: to(switch.default) };
                new.switch(switch)
            }
        };
        nodes.push(node);
    }
    new.root = nodes[graph.root.index()];
    new
}

#[test]
fn what_is_too_large_says_what() {
    let compiler = Compiler::new(LinkType::EN10MB);
    let hosts = |count: u32| {
        let hosts: Vec<String> = (0..count).map(|i| format!("10.{}.{}.7", i / 256, i % 256)).collect();
        format!("ip host in {{{}}}", hosts.join(", "))
    };
    // Comparisons that lead far are there as well.
    let insns = compiler.to_cbpf(&hosts(1000)).unwrap_or_else(|error| panic!("{}", error.diagnostic.message));
    assert!((2000..4096).contains(&insns.len()), "{}", insns.len());
    let machines = Machines::new(Program::from(insns), oracle::libpcap("the test of long programs"));
    let mut frame = vec![0; 60];
    frame[12..14].copy_from_slice(&[8, 0]);
    for (address, is_in) in
        [([10, 0, 0, 7], true), ([10, 3, 231, 7], true), ([10, 3, 232, 7], false), ([10, 0, 0, 8], false)]
    {
        for at in [26, 30] {
            let mut frame = frame.clone();
            frame[at..at + 4].copy_from_slice(&address);
            assert_eq!(
                machines.answers(&frame, 60),
                vec![is_in; machines.answers(&frame, 60).len()],
                "{address:?}"
            );
        }
    }
    let error = compiler.to_cbpf(&hosts(3000)).unwrap_err();
    let told = &error.diagnostic.message;
    assert!(told.contains("of which the kernel takes 4096; its largest set has 3000 ranges"), "{told}");
}

#[test]
fn ancillary_loads_are_written_where_they_came_from() {
    // ldb [vlanp]; jeq #1 jt 2 jf 5; ldb [vlan_tci]; and #0xfff; ret a; ret #0
    let text = b"6,48 0 0 4294963248,21 0 3 1,48 0 0 4294963244,84 0 0 4095,22 0 0 0,6 0 0 0";
    let known = [Ancillary::VlanTag, Ancillary::Mark, Ancillary::VlanTagPresent];
    let options = Options::default();
    let stages = Stages::new(&bpf::read(text).unwrap(), &known, &options).unwrap();
    let again = stages.to_cbpf(&known, &options).unwrap();
    assert!(
        listing(&again).contains("[vlanp]") && listing(&again).contains("[vlan_tci]"),
        "{}",
        listing(&again)
    );
    again.check(Validate::Kernel).unwrap();
    attached(&again);
}
