//! What a program becomes means what the program means.

use bpf::internals::Stages;
use bpf::machine::{self, Outcome};
use bpf::{Ancillary, Error, ErrorKind, Filter, Insn, Options, Packet, Program, Validate, op};
use decide::internals::opt::Passes;
use testkit::c::{Call, Functions};
use testkit::native::agree::{self, random_packets};
use testkit::oracle::{self, Libpcap, kernel::Attached};
use testkit::programs::random_program;
use testkit::rng::Rng;
use testkit::table::{self, Expected, Test};

/// Compiled for machine code, and for the interpreter.
fn compiled(program: &Program) -> [Filter; 2] {
    let native = Options::default();
    let mut interpreted = Options::default();
    interpreted.backend = decide::Backend::Interpreter;
    [native, interpreted]
        .map(|options| Filter::new(program, &options).unwrap_or_else(|e| panic!("{program:?}: {e}")))
}

/// The answers of the engines for packets: one by one, and as a burst.
fn answers(filters: &[Filter; 2], packets: &[(Vec<u8>, u32)]) -> Vec<[bool; 3]> {
    let views: Vec<Packet<'_>> = packets.iter().map(|(data, len)| Packet::new(data, *len)).collect();
    let mut bits = vec![0; views.len().div_ceil(64)];
    filters[0].match_burst(&views, &mut bits);
    let answer = |(i, (data, len)): (usize, &(Vec<u8>, u32))| {
        let [native, interpreted] = filters.each_ref().map(|filter| filter.matches_captured(data, *len));
        [native, interpreted, bits[i / 64] >> (i % 64) & 1 == 1]
    };
    packets.iter().enumerate().map(answer).collect()
}

#[test]
fn random_programs_mean_what_bpf_filter_makes_of_them() {
    let pcap = oracle::libpcap("the test of random programs");
    let mut rng = Rng::new(5);
    let (mut accepted, mut pairs) = (0, 0);
    for _ in 0..600 {
        let program = Program::from(random_program(&mut rng));
        program.check(Validate::Kernel).expect("it is generated so");
        let filters = compiled(&program);
        let packets = random_packets(&mut rng);
        for ((data, len), answers) in packets.iter().zip(answers(&filters, &packets)) {
            let expected = machine::run(program.insns(), data, *len, usize::MAX, &mut ());
            assert_eq!(answers, [expected.accepts(); 3], "{program:?}\n{data:x?} of {len}: {expected:?}");
            if let Some(pcap) = pcap {
                let returned = match expected {
                    Outcome::Returned(k) => k,
                    _ => 0,
                };
                assert_eq!(
                    pcap.filter(program.insns(), data, *len),
                    returned,
                    "{program:?}\n{data:x?} of {len}"
                );
            }
            accepted += u32::from(expected.accepts());
            pairs += 1;
        }
    }
    testkit::say(format_args!("{pairs} pairs of random program and packet, {accepted} match"));
    assert!(accepted > pairs / 10);
}

/// Every case of the tables of the language: compiled by libpcap, run here.
#[test]
fn bytecode_of_libpcap_gives_the_answers_of_the_tables() {
    let Some(pcap) = oracle::libpcap("the test of libpcap's bytecode") else { return };
    let tests = table::tests();
    let (mut cases, mut loops, mut refused, mut undefined, mut wrong) = (0, 0, 0, 0, Vec::new());
    for test in &tests {
        match of_libpcap(pcap, test) {
            None => refused += test.cases(),
            Some((_, Err(error))) => {
                assert_eq!(error.kind(), ErrorKind::Loop, "{test}: {error}");
                loops += test.cases();
            }
            Some((program, Ok(filters))) => {
                let Expected::Packets(expected) = &test.expected else { continue };
                for case in expected {
                    let (data, len) = (&case.packet.bytes, case.packet.wire_len);
                    // Where the table says otherwise, the program decides.
                    let Some(accept) = program.answer(data, len) else {
                        undefined += 1;
                        continue;
                    };
                    cases += 1;
                    let found = answers(&filters, &[(data.clone(), len)]);
                    if found != [[accept; 3]] || test.same_as_libpcap && accept != case.accept {
                        wrong.push(format!("{test}\n    {}: {found:?}", case.line));
                    }
                }
            }
        }
    }
    testkit::say(format_args!(
        "{cases} cases of the tables as libpcap's bytecode; outside: {refused} that libpcap refuses, {loops} with a jump \
         backwards, {undefined} that mean nothing in libpcap"
    ));
    assert!(cases > 500 && wrong.is_empty(), "{} of {cases}:\n{}", wrong.len(), wrong.join("\n"));
}

type Compiled = (oracle::BpfProgram, Result<[Filter; 2], Error>);

fn of_libpcap(pcap: Libpcap, test: &Test) -> Option<Compiled> {
    let options = oracle::Options { netmask: test.netmask, ..oracle::Options::default() };
    let program = pcap.compile(test.linktype, &test.filter, options).ok()?;
    let insns = Program::from(program.insns().to_vec());
    let loops = Filter::new(&insns, &Options::default());
    Some((program, loops.map(|_| compiled(&insns))))
}

#[test]
fn what_the_kernel_alone_knows_is_an_input_or_refused_by_name() {
    let mut known = Vec::new();
    for data in Ancillary::ALL {
        let load = Insn { code: op::LD | op::ABS | op::W, jt: 0, jf: 0, k: data.offset() };
        let program = Program::from(vec![load, Insn { code: op::RET | op::A, ..Insn::default() }]);
        let error = Filter::new(&program, &Options::default()).unwrap_err();
        assert_eq!((error.kind(), error.instruction()), (ErrorKind::Ancillary(data), Some(0)));
        assert!(error.to_string().ends_with(&data.to_string()), "{error}");
        if data.is_of_packet() {
            known.push(data);
            let filter = Filter::with_inputs(&program, &known, &Options::default()).unwrap();
            let mut row = vec![0; known.len()];
            assert!(!filter.matches_with(&[], 0, &row));
            *row.last_mut().unwrap() = 7;
            assert!(filter.matches_with(&[], 0, &row));
        }
    }
    for (offset, told) in [(0xfff0_0000, "SKF_NET_OFF"), (0xffe0_0000, "SKF_LL_OFF")] {
        let load = Insn { code: op::LD | op::ABS | op::B, jt: 0, jf: 0, k: offset };
        let program = Program::from(vec![load, Insn { code: op::RET | op::A, ..Insn::default() }]);
        let error = Filter::new(&program, &Options::default()).unwrap_err();
        assert!(error.kind() == ErrorKind::KernelOnly && error.to_string().contains(told), "{error}");
    }
}

#[test]
fn cells_begin_as_zero() {
    let program = bpf::read(b"4,96 0 0 3,21 0 1 0,6 0 0 1,6 0 0 0").unwrap();
    assert!(program.check(Validate::Kernel).is_err() && program.check(Validate::Libpcap).is_ok());
    assert!(Filter::new(&program, &Options::default()).unwrap().matches(&[]));
}

/// As libpcap has them where a link type has no header of the kind: outside of any packet.
#[test]
fn offsets_at_which_nothing_stands_reject() {
    for offset in [0xffff_ffff, 0xffff_f001, 0x8000_0000] {
        let load = Insn { code: op::LD | op::ABS | op::B, jt: 0, jf: 0, k: offset };
        let program = Program::from(vec![load, Insn { code: op::RET, k: 1, ..Insn::default() }]);
        assert!(!Filter::new(&program, &Options::default()).unwrap().matches(&[7; 100]));
    }
}

/// Programs in which ways join again and again, but not on one state.
#[test]
fn a_program_that_explodes_is_too_large() {
    let insn = |code, jt, k| Insn { code, jt, jf: 0, k };
    let mut insns = vec![insn(op::LD | op::IMM, 0, 0), insn(op::ST, 0, 0)];
    for at in 0..64 {
        insns.extend([
            insn(op::LD | op::ABS | op::B, 0, at),
            insn(op::JMP | op::JEQ, 3, 1),
            insn(op::LD | op::MEM, 0, 0),
            insn(op::ALU | op::ADD, 0, at + 1),
            insn(op::ST, 0, 0),
        ]);
    }
    insns.extend([insn(op::LD | op::MEM, 0, 0), insn(op::RET | op::A, 0, 0)]);
    let program = Program::from(insns);
    program.check(Validate::Kernel).unwrap();
    let mut options = Options::default();
    options.nodes_max = 1 << 20;
    let error = Filter::new(&program, &options).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TooLarge);
    assert!(error.to_string().starts_with("the program is too large: more than "), "{error}");
}

/// Ten thousand joins on one state are ten thousand nodes.
#[test]
fn programs_that_join_do_not_explode() {
    let insn = |code, jt, k| Insn { code, jt, jf: 0, k };
    let mut insns = Vec::new();
    for at in 0..10_000 {
        insns.extend([
            insn(op::LD | op::ABS | op::B, 0, at % 60),
            insn(op::JMP | op::JSET, 1, 1 << (at % 8)),
            insn(op::LD | op::ABS | op::B, 0, 60 + at % 3),
        ]);
    }
    insns.push(insn(op::RET, 0, 1));
    let filter = Filter::new(&Program::from(insns), &Options::default()).unwrap();
    assert!(filter.matches(&[0; 63]) && !filter.matches(&[0; 62]) && filter.matches(&[0xff; 60]));
}

/// The kernel says the same, but for the lines of COMPAT.md.
#[test]
fn the_kernel_runs_programs_otherwise_where_it_is_said() {
    let run = |insns: &[Insn], packet: &[u8]| {
        let attached = Attached::new(insns).expect("it is accepted");
        let program = Program::from(insns.to_vec());
        let here = Filter::new(&program, &Options::default()).unwrap().matches(packet);
        (here, attached.passed(packet).unwrap().is_some())
    };
    let plain = |code, k| Insn { code, jt: 0, jf: 0, k };
    // 1 << 32 is 0 here and 1 there.
    let shift = [
        plain(op::LDX | op::IMM, 32),
        plain(op::LD | op::IMM, 1),
        plain(op::ALU | op::LSH | op::X, 0),
        plain(op::RET | op::A, 0),
    ];
    assert_eq!(run(&shift, &[0; 20]), (false, true));
    // The address 2^32 - 1 + 2 is outside of the packet here and 1 there.
    let wraps =
        [plain(op::LDX | op::IMM, u32::MAX), plain(op::LD | op::IND | op::B, 2), plain(op::RET | op::A, 0)];
    assert_eq!(run(&wraps, &[7; 20]), (false, true));
}

/// In every back end there is: machine code with other options, the mask VM with each set of instructions, and C.
#[test]
fn random_programs_run_in_every_back_end() {
    let mut rng = Rng::new(8);
    let mut functions = Vec::new();
    let mut programs = Vec::new();
    let packets = random_packets(&mut rng);
    for i in 0..60 {
        let program = Program::from(random_program(&mut rng));
        let options = Options::default();
        let stages = Stages::new(&program, &[], &options).unwrap();
        let optimised = stages.checked(Passes::ALL, &options).unwrap();
        for (graph, what) in [(&stages.graph, "as built"), (optimised.graph(), "optimised")] {
            let what = format!("{}, {what}", stages.listing);
            agree::check(graph, &packets, &agree::options(&mut rng), &what);
        }
        functions.push((format!("f{i}"), stages.to_c(&format!("f{i}"), &options).unwrap()));
        programs.push(program);
    }
    let Some(compiled) = Functions::compile("random programs as C", &functions) else { return };
    let (mut calls, mut expected) = (Vec::new(), Vec::new());
    for (i, program) in programs.iter().enumerate() {
        for (data, wire_len) in &packets {
            calls.push(Call { function: i, data, wire_len: *wire_len });
            let end = machine::run(program.insns(), data, *wire_len, usize::MAX, &mut ());
            expected.push(u32::from(end.accepts()));
        }
    }
    for (how, answers) in compiled.run(&calls) {
        let wrong = answers.iter().zip(&expected).position(|(answer, expected)| answer != expected);
        assert_eq!(wrong.map(|i| &functions[calls[i].function].1), None, "{how}");
    }
}
