//! Every filter of `testdata/pflang/*.toml` as a C function: compiled without a warning, run on every packet there with
//! sanitisers and without, and compared with the interpreter.

use pflang::{Backend, Compiler};
use std::collections::HashMap;
use testkit::c::{Call, Functions};
use testkit::table::{self, Expected, Test};

fn compiler(test: &Test) -> Compiler {
    test.compiler().backend(Backend::Interpreter)
}

#[test]
fn functions_in_c_agree_with_the_tables() {
    let tests = table::tests();
    let tests: Vec<&Test> =
        tests.iter().filter(|test| matches!(test.expected, Expected::Packets(_))).collect();
    let function = |(i, test): (usize, &&Test)| {
        let name = format!("filter_{i}");
        let text = compiler(test).to_c(&test.filter, &name);
        (name, text.unwrap_or_else(|error| panic!("{test}\n    {}", error.diagnostic.message)))
    };
    let functions: Vec<(String, String)> = tests.iter().enumerate().map(function).collect();
    let Some(compiled) = Functions::compile("the tables as C", &functions) else { return };

    // Each packet, whole and cut short in the middle of what filters look at.
    let (mut calls, mut expected) = (Vec::new(), Vec::new());
    for (i, test) in tests.iter().enumerate() {
        let Expected::Packets(cases) = &test.expected else { continue };
        let interpreted = compiler(test).compile(&test.filter).expect("it was compiled to C");
        for case in cases {
            let (whole, wire_len) = (&case.packet.bytes[..], case.packet.wire_len);
            assert_eq!(
                interpreted.matches_captured(whole, wire_len),
                case.accept,
                "{test}\n    {}",
                case.line
            );
            let cuts = [14, 24, 34, 36, 38, 58].map(|len: usize| len.min(whole.len()));
            for data in cuts.map(|len| &whole[..len]).into_iter().chain([whole]) {
                calls.push(Call { function: i, data, wire_len });
                expected.push(u32::from(interpreted.matches_captured(data, wire_len)));
            }
        }
    }
    for (how, answers) in compiled.run(&calls) {
        assert_eq!(answers.len(), expected.len(), "{how}");
        for ((call, answer), expected) in calls.iter().zip(answers).zip(&expected) {
            let (test, text) = (tests[call.function], &functions[call.function].1);
            assert_eq!(answer, *expected, "{how}: {test}\n    {:02x?}\n{text}", call.data);
        }
    }
    testkit::say(format_args!("{} filters as C, {} calls each", functions.len(), calls.len()));
}

/// A set of thousands is a sorted array that is searched; the same array for the source and the destination.
#[test]
fn large_sets_are_searched() {
    let member = |i: u32| 0x0a00_0000 + 37 * i * i;
    let hosts: Vec<String> = (0..3000).map(|i| std::net::Ipv4Addr::from(member(i)).to_string()).collect();
    let hosts = hosts.join(", ");
    let filter = format!("ip src host in {{{hosts}}} and ip dst host in {{{hosts}}}");
    let compiler = Compiler::new(pflang::LinkType::EN10MB).backend(Backend::Interpreter);
    let text = compiler.to_c(&filter, "hosts").unwrap();
    assert_eq!(text.matches("static const uint32_t").count(), 1, "{text}");
    let Some(compiled) = Functions::compile("a large set as C", &[("hosts".to_owned(), text)]) else {
        return;
    };

    let interpreted = compiler.compile(&filter).unwrap();
    let packet = |src: u32, dst: u32| {
        let mut frame = [0_u8; 60];
        frame[12..15].copy_from_slice(&[0x08, 0x00, 0x45]);
        frame[26..30].copy_from_slice(&src.to_be_bytes());
        frame[30..34].copy_from_slice(&dst.to_be_bytes());
        frame
    };
    let packets: Vec<[u8; 60]> = (0..3000)
        .flat_map(|i| [member(i), member(i) + 1, member(i) - 1, i])
        .chain([0, u32::MAX])
        .flat_map(|address| [packet(address, member(7)), packet(member(2999), address)])
        .collect();
    let calls: Vec<Call<'_>> = packets.iter().map(|data| Call { function: 0, data, wire_len: 60 }).collect();
    let matching = packets.iter().filter(|data| interpreted.matches(*data)).count();
    assert!((6000..6100).contains(&matching), "{matching}");
    for (how, answers) in compiled.run(&calls) {
        for (data, answer) in packets.iter().zip(answers) {
            assert_eq!(answer == 1, interpreted.matches(data), "{how}: {data:02x?}");
        }
    }
}

/// Each program of `testdata/match`, with the inputs that its cases have; the arguments are summed up with their places.
#[test]
fn programs_in_c_agree_with_the_tables() {
    let tests = testkit::matches::tests();
    let (mut functions, mut packets, mut expected) = (Vec::new(), Vec::new(), Vec::new());
    for test in &tests {
        let compiler = test.compiler().backend(Backend::Interpreter);
        let matcher = compiler.compile_match(&test.program).unwrap();
        let mut of_inputs = HashMap::new();
        for case in &test.cases {
            let next = functions.len();
            let i = *of_inputs.entry(&case.inputs).or_insert(next);
            if i == next {
                let text = compiler.match_to_c(&test.program, &format!("m{i}")).unwrap();
                let row: Vec<String> =
                    case.inputs.iter().map(|input| format!("{input}u")).chain(["0u".to_owned()]).collect();
                let summed = format!(
                    "uint32_t g{i}(const uint8_t *data, size_t captured, uint32_t wire_len)\n{{\n    const uint32_t inputs[] = {{{}}};\n    \
                     uint32_t arguments[16] = {{0}}, sum, k;\n    sum = m{i}(data, captured, wire_len, inputs, arguments);\n    \
                     for (k = 0; k < 16; k++) sum = sum * 31u + arguments[k];\n    return sum;\n}}\n",
                    row.join(", ")
                );
                let text = text.replacen("\nuint32_t m", "\nstatic uint32_t m", 1);
                functions.push((format!("g{i}"), text + &summed));
            }
            for end in 0..=case.packet.bytes.len() {
                let (data, wire_len) = (&case.packet.bytes[..end], case.packet.wire_len);
                let mut values = Vec::new();
                let called = matcher.call_captured(data, wire_len, &case.inputs, &mut values);
                let (number, arguments) =
                    called.map_or((0, &[][..]), |call| (call.number + 1, call.arguments));
                let sum = (0..16).fold(number, |sum, k| {
                    u32::wrapping_mul(sum, 31).wrapping_add(arguments.get(k).copied().unwrap_or(0))
                });
                packets.push(Call { function: i, data, wire_len });
                expected.push(sum);
            }
        }
    }
    let Some(compiled) = Functions::compile("programs as C", &functions) else { return };
    for (how, answers) in compiled.run(&packets) {
        assert_eq!(answers.len(), expected.len(), "{how}");
        for ((call, answer), expected) in packets.iter().zip(answers).zip(&expected) {
            assert_eq!(answer, *expected, "{how}: {:02x?}\n{}", call.data, functions[call.function].1);
        }
    }
    testkit::say(format_args!("{} programs as C, {} calls each", functions.len(), packets.len()));
}
