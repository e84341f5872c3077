//! Every filter of `testdata/pflang/*.toml` as a chunk of Lua, run by LuaJIT on every packet there, and compared with the interpreter.

use pflang::{Backend, Compiler, LinkType};
use testkit::lua::{Call, run};
use testkit::table::{self, Expected, Test};

fn compiler(test: &Test) -> Compiler {
    test.compiler().backend(Backend::Interpreter)
}

#[test]
fn chunks_agree_with_the_tables() {
    let tests = table::tests();
    let tests: Vec<&Test> =
        tests.iter().filter(|test| matches!(test.expected, Expected::Packets(_))).collect();
    let chunk = |test: &&Test| {
        let text = compiler(test).to_lua(&test.filter);
        text.unwrap_or_else(|error| panic!("{test}\n    {}", error.diagnostic.message))
    };
    let chunks: Vec<String> = tests.iter().map(chunk).collect();

    // Each packet, and what is left of it where it is cut: captured is the length on the wire.
    let (mut calls, mut expected, mut outside) = (Vec::new(), Vec::new(), 0);
    for (i, test) in tests.iter().enumerate() {
        let Expected::Packets(cases) = &test.expected else { continue };
        let interpreted = compiler(test).compile(&test.filter).expect("it was written as Lua");
        for case in cases {
            let whole = &case.packet.bytes[..];
            if case.packet.wire_len as usize != whole.len() {
                outside += 1;
            }
            let cuts = [14, 24, 34, 36, 38, 58].map(|len: usize| len.min(whole.len()));
            for data in cuts.map(|len| &whole[..len]).into_iter().chain([whole]) {
                calls.push(Call { chunk: i, data, inputs: Vec::new() });
                expected.push(interpreted.matches(data).to_string());
            }
        }
    }
    let Some(answers) = run("the tables as Lua", &chunks, false, &calls) else { return };
    assert_eq!(answers.len(), expected.len());
    for ((call, answer), expected) in calls.iter().zip(&answers).zip(&expected) {
        let test = tests[call.chunk];
        assert_eq!(answer, expected, "{test}\n    {:02x?}\n{}", call.data, chunks[call.chunk]);
    }
    testkit::say(format_args!(
        "{} filters as Lua, {} calls, 0 disagreements; {outside} cases are outside of the domain as they are: not captured whole",
        chunks.len(),
        calls.len()
    ));
}

/// Ten thousand hosts are a table, thousands of networks a sorted one, ranges of ports an array; many relations are several functions.
#[test]
fn large_filters_are_within_the_bounds_of_luajit() {
    let host = |i: u32| std::net::Ipv4Addr::from(0x0a00_0000_u32.wrapping_add(37_777 * i)).to_string();
    let hosts: Vec<String> = (0..10_000).map(host).collect();
    let nets: Vec<String> =
        (0..2000).map(|i| format!("{}/25", std::net::Ipv4Addr::from(256 * 37 * i))).collect();
    let ports: Vec<String> =
        (0..50).map(|i| format!("src portrange {}-{}", 1000 * i, 1000 * i + 300)).collect();
    let relations: Vec<String> =
        (0..3000).map(|i| format!("(ip[{}] & {} = 1 and len > {})", i % 40, (i % 255) | 1, i / 20)).collect();
    let filters = [
        format!("ip src host in {{{}}}", hosts.join(", ")),
        format!("ip dst net in {{{}}}", nets.join(", ")),
        ports.join(" or "),
        relations.join(" or "),
    ];
    let compiler = Compiler::new(LinkType::EN10MB).backend(Backend::Interpreter);
    let chunks: Vec<String> = filters.iter().map(|filter| compiler.to_lua(filter).unwrap()).collect();
    let interpreted: Vec<_> = filters.iter().map(|filter| compiler.compile(filter).unwrap()).collect();
    let packets: Vec<[u8; 60]> = (0..400_u32)
        .map(|i| {
            let mut frame = [(i % 7) as u8; 60];
            frame[12..15].copy_from_slice(&[0x08, 0x00, 0x45]);
            frame[20..22].copy_from_slice(&[0, 0]);
            frame[23] = 6;
            frame[26..30]
                .copy_from_slice(&(0x0a00_0000_u32.wrapping_add(37_777 * i * 30 + i % 2)).to_be_bytes());
            frame[30..34].copy_from_slice(&(256 * 37 * i + 100 * (i % 3)).to_be_bytes());
            frame[34..36].copy_from_slice(&((i * 163) as u16).to_be_bytes());
            frame
        })
        .collect();
    let calls: Vec<Call<'_>> = (0..filters.len())
        .flat_map(|chunk| packets.iter().map(move |data| Call { chunk, data, inputs: Vec::new() }))
        .collect();
    let Some(answers) = run("large filters as Lua", &chunks, false, &calls) else { return };
    let mut matching = vec![0; filters.len()];
    for (call, answer) in calls.iter().zip(&answers) {
        let expected = interpreted[call.chunk].matches(call.data);
        assert_eq!(*answer, expected.to_string(), "filter {}: {:02x?}", call.chunk, call.data);
        matching[call.chunk] += u32::from(expected);
    }
    assert!(matching[..3].iter().all(|count| (20..380).contains(count)), "{matching:?}");
}

#[test]
fn programs_agree_with_the_tables() {
    let tests = testkit::matches::tests();
    let (mut chunks, mut calls, mut expected, mut outside) = (Vec::new(), Vec::new(), Vec::new(), 0);
    for (i, test) in tests.iter().enumerate() {
        let compiler = test.compiler().backend(Backend::Interpreter);
        chunks.push(
            compiler.match_to_lua(&test.program).unwrap_or_else(|error| panic!("{}: {error}", test.name)),
        );
        let matcher = compiler.compile_match(&test.program).unwrap();
        for case in &test.cases {
            let whole = &case.packet.bytes[..];
            outside += u32::from(case.packet.wire_len as usize != whole.len());
            // What is left of a packet that is cut is a packet.
            for data in (0..=whole.len()).map(|end| &whole[..end]) {
                let mut values = Vec::new();
                let call = matcher.call_captured(data, data.len() as u32, &case.inputs, &mut values);
                expected.push(call.map_or("-".to_owned(), |call| call.to_string()));
                calls.push(Call { chunk: i, data, inputs: case.inputs.clone() });
            }
        }
    }
    let Some(answers) = run("programs as Lua", &chunks, true, &calls) else { return };
    assert_eq!(answers.len(), expected.len());
    for ((call, answer), expected) in calls.iter().zip(&answers).zip(&expected) {
        let name = &tests[call.chunk].name;
        assert_eq!(answer, expected, "{name}: {:02x?}\n{}", call.data, chunks[call.chunk]);
    }
    testkit::say(format_args!(
        "{} programs as Lua, {} calls, 0 disagreements; {outside} cases are outside of the domain as they are: not captured whole",
        chunks.len(),
        calls.len()
    ));
}

/// Clauses on thousands of addresses, each with arguments of its own: a table of functions, more than a function has constants for.
#[test]
fn many_clauses_are_a_table() {
    let source = |i: u32| std::net::Ipv4Addr::from(0x0a00_0000 + i);
    let clauses: Vec<String> = (0..66_000_u32)
        .map(|i| format!("ip src {} => h{}({i}, ip[{}])", source(i), i % 9, i % 3 + 8))
        .collect();
    let program = format!("match {{ {}, otherwise => rest }}", clauses.join(", "));
    let compiler = Compiler::new(LinkType::EN10MB).backend(Backend::Interpreter);
    let chunk = compiler.match_to_lua(&program).unwrap();
    let matcher = compiler.compile_match(&program).unwrap();
    let frames: Vec<[u8; 60]> = (0..500_u32)
        .map(|i| {
            let mut frame = [i as u8; 60];
            frame[12..15].copy_from_slice(&[0x08, 0x00, 0x45]);
            frame[26..30].copy_from_slice(&source(i * 135).octets());
            frame
        })
        .collect();
    let calls: Vec<Call<'_>> =
        frames.iter().map(|data| Call { chunk: 0, data, inputs: Vec::new() }).collect();
    let Some(answers) = run("a large program as Lua", &[chunk], true, &calls) else { return };
    for (frame, answer) in frames.iter().zip(answers) {
        let mut values = Vec::new();
        let expected = matcher.call(frame, &mut values).map_or("-".to_owned(), |call| call.to_string());
        assert_eq!(answer, expected, "{frame:02x?}");
    }
}
