//! A second of each fuzz target, on stable Rust and from a seed, so that they cannot rot.
//!
//! `SLUSS_SEED` changes the inputs; with `SLUSS_FUZZ_SECONDS` each target runs for so long instead of a fixed count.

use std::time::{Duration, Instant};
use testkit::expr::Generator;
use testkit::programs::{random_insn, random_program};
use testkit::rng::Rng;
use testkit::{fuzz, linktype, mutate, traffic};

/// Calls `body` with fresh randomness, `count` times or for as long as asked.
fn for_each_input(count: usize, mut body: impl FnMut(&mut Rng)) {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let seed = number("SLUSS_SEED").unwrap_or(1);
    let end = number("SLUSS_FUZZ_SECONDS").map(|seconds| Instant::now() + Duration::from_secs(seconds));
    testkit::say(format_args!("fuzz smoke: SLUSS_SEED={seed}"));
    let mut rng = Rng::new(seed);
    let mut inputs = 0;
    while end.map_or(inputs < count, |end| Instant::now() < end) {
        body(&mut rng);
        inputs += 1;
    }
    println!("{}: {inputs} inputs", std::thread::current().name().unwrap_or("a target"));
}

/// Changes, drops, doubles and swaps some bytes.
fn damage(bytes: &mut Vec<u8>, rng: &mut Rng) {
    for _ in 0..rng.below(4) {
        if bytes.is_empty() {
            return;
        }
        let at = rng.below(bytes.len());
        match rng.below(5) {
            0 => bytes[at] = rng.next_u32() as u8,
            1 => bytes[at] ^= 1 << rng.below(8),
            2 => _ = bytes.remove(at),
            3 => {
                let end = (at + 1 + rng.below(12)).min(bytes.len());
                let again = bytes[at..end].to_vec();
                bytes.splice(at..at, again);
            }
            _ => bytes.truncate(at),
        }
    }
}

#[test]
fn expressions() {
    let linktypes: Vec<_> = linktype::all().collect();
    for_each_input(1500, |rng| {
        let chosen = rng.below(linktypes.len());
        let mut text = Generator::new(linktypes[chosen], rng.next_u64()).expression().into_bytes();
        damage(&mut text, rng);
        text.insert(0, chosen as u8);
        fuzz::expression(&text);
    });
}

#[test]
fn expressions_of_nonsense() {
    #[rustfmt::skip]
    let words = [
        "(", ")", "[", "]", "{", "}", "not", "and", "or", "host", "net", "port", "proto", "tcp", "ip", "ether", "vlan", "len", "1",
        "0x", "10.0.0.1", "::", "1:2:3:4:5:6", "=", "!=", "<<", "/", "-", ":", "%", "\\", "$1", "@", "\u{e9}", "geneve", "llc",
    ];
    for_each_input(3000, |rng| {
        let mut text = vec![b'\x01'];
        for _ in 0..rng.below(24) {
            text.extend_from_slice(rng.pick(&words).as_bytes());
            text.extend_from_slice(if rng.chance(3, 4) { b" " } else { b"" });
        }
        fuzz::expression(&text);
    });
}

#[test]
fn packets() {
    let linktypes: Vec<_> = linktype::all().collect();
    for_each_input(3000, |rng| {
        let linktype = if rng.chance(2, 3) { linktype::ETHERNET } else { *rng.pick(&linktypes) };
        let packet = mutate::headers(&traffic::packet(linktype, rng), rng);
        let mut bytes = if rng.chance(1, 2) { vec![0, 0] } else { vec![rng.next_u32() as u8, 7] };
        bytes.extend(packet.bytes);
        fuzz::packet(&bytes);
    });
}

/// A pcap file of some packets, in either byte order and precision.
fn pcap(rng: &mut Rng) -> Vec<u8> {
    let big = rng.chance(1, 2);
    let word = |x: u32| if big { x.to_be_bytes() } else { x.to_le_bytes() };
    let mut file = word(*rng.pick(&[0xa1b2_c3d4, 0xa1b2_3c4d])).to_vec();
    file.extend(word(if big { 0x0002_0004 } else { 0x0004_0002 }));
    [0, 0, 65_535, 1].iter().for_each(|&x| file.extend(word(x)));
    for i in 0..rng.below(6) as u32 {
        let packet = traffic::packet(linktype::ETHERNET, rng);
        [i, 7, packet.bytes.len() as u32, packet.wire_len].iter().for_each(|&x| file.extend(word(x)));
        file.extend(packet.bytes);
    }
    file
}

/// A pcapng file: a section, an interface, packets, a block that nobody knows.
fn pcapng(rng: &mut Rng) -> Vec<u8> {
    let mut file = Vec::new();
    let mut block = |kind: u32, body: &[u8]| {
        let padded = body.len().next_multiple_of(4);
        let total = (padded + 12) as u32;
        file.extend(kind.to_le_bytes());
        file.extend(total.to_le_bytes());
        file.extend(body);
        file.resize(file.len() + padded - body.len(), 0);
        file.extend(total.to_le_bytes());
    };
    let mut section = 0x1a2b_3c4du32.to_le_bytes().to_vec();
    section.extend([1, 0, 0, 0]);
    section.extend([0xff; 8]);
    block(0x0a0d_0d0a, &section);
    block(1, &[1, 0, 0, 0, 0xff, 0xff, 0, 0]);
    for _ in 0..rng.below(6) {
        let packet = traffic::packet(linktype::ETHERNET, rng);
        let mut body = vec![0; 12];
        body.extend((packet.bytes.len() as u32).to_le_bytes());
        body.extend(packet.wire_len.to_le_bytes());
        body.extend(packet.bytes);
        block(6, &body);
    }
    block(0x0bad, b"what is this");
    file
}

#[test]
fn merged_captures() {
    for_each_input(2000, |rng| {
        let files = [(); 2].map(|()| {
            let mut file = if rng.chance(1, 3) { pcap(rng) } else { pcapng(rng) };
            if rng.chance(1, 3) {
                damage(&mut file, rng);
            }
            file
        });
        let [low, high] = (files[0].len() as u16).to_le_bytes();
        fuzz::merge(&[&[rng.next_u32() as u8, low, high], &files[0][..], &files[1]].concat());
    });
}

#[test]
fn captures() {
    for_each_input(3000, |rng| {
        let mut file = if rng.chance(1, 2) { pcap(rng) } else { pcapng(rng) };
        damage(&mut file, rng);
        fuzz::capture(&file);
    });
}

#[test]
fn programs_of_bytecode() {
    for_each_input(3000, |rng| {
        let mut insns = random_program(rng);
        for _ in 0..rng.below(3) {
            let at = rng.below(insns.len());
            insns[at] = random_insn(rng);
        }
        let mut bytes = bpf::Program::from(insns).write(*rng.pick(&bpf::Format::ALL));
        damage(&mut bytes, rng);
        fuzz::bytecode(&bytes);
    });
}

#[test]
fn bytecode_of_nonsense() {
    for_each_input(3000, |rng| {
        let insns: Vec<_> = (0..rng.below(12)).map(|_| random_insn(rng)).collect();
        fuzz::bytecode(&bpf::Program::from(insns).write(*rng.pick(&bpf::Format::ALL)));
    });
}

#[test]
fn programs_of_pfmatch() {
    let tests = testkit::matches::tests();
    for_each_input(600, |rng| {
        let mut text = rng.pick(&tests).program.clone();
        if rng.chance(1, 2) {
            let mut filters = Generator::new(linktype::ETHERNET, rng.next_u64());
            let clause = |_| format!("{} => h{}(len, ip[8])\n", filters.expression(), rng.below(3));
            let clauses: String = (0..4).map(clause).collect();
            text = format!("match {{ {clauses} ip => {{ {clauses} }} otherwise => n(n) }}");
        }
        let mut bytes = text.into_bytes();
        damage(&mut bytes, rng);
        fuzz::program(&bytes);
    });
}

#[test]
fn flows() {
    let linktypes: Vec<_> = linktype::all().collect();
    for_each_input(3000, |rng| {
        let chosen = rng.below(256);
        let linktype = linktypes.get(chosen).copied().unwrap_or(linktype::ETHERNET);
        let mut bytes = vec![chosen as u8];
        for _ in 0..rng.below(40) {
            let mut packet = traffic::packet(linktype, rng);
            if rng.chance(1, 2) {
                packet = mutate::headers(&packet, rng);
            }
            packet.bytes.truncate(255);
            bytes.extend([packet.bytes.len() as u8, rng.below(256) as u8]);
            bytes.extend(packet.bytes);
        }
        damage(&mut bytes, rng);
        fuzz::flows(&bytes);
    });
}

#[test]
fn conversations() {
    // How messages of tier 1's protocols begin, whole where they are short.
    let openings: [&[u8]; 22] = [
        b"GET / HTTP/1.1\r\nHost: a.example\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Type: application/ipp\r\n\r\n",
        b"\x16\x03\x01\x00\x2d\x01\x00\x00\x29\x03\x03abcdefghijklmnopqrstuvwxyzabcdef\x00\x00\x02\x13\x01\x01\x00\x00\x00",
        b"\x00\x1d\x12\x34\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00\x03www\x07example\x00\x00\x01\x00\x01",
        b"\x12\x34\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00\x03www\x07example\x00\x00\x01\x00\x01",
        b"220 mx.example ESMTP\r\n",
        b"EHLO a\r\n",
        b"USER bob\r\n",
        b"+OK ready\r\n",
        b"* OK IMAP4rev1\r\n",
        b"a1 LOGIN bob secret\r\n",
        b"SSH-2.0-x\r\n",
        b"\x03\x00\x00\x12\x08\x02\x92\x34\x5a\x08\x02\x80\x90\x7e\x00\x02\x05\x25",
        b"\xff\xfd\x18\xff\xfa\x18\x01\xff\xf0",
        b"\x13BitTorrent protocol",
        b"d1:ad2:id20:abcdefghij0123456789e1:q4:ping1:t2:aa1:y1:qe",
        b"\x80\x00\x00\x01\x00\x00\x00\xa0\xde\xad\xbe\xefabcdefgh",
        b"\x80\xc8\x00\x06abcdefghijklmnopqrstuvwx",
        b"\x00\x01\x00\x00\x21\x12\xa4\x42abcdefghijkl",
        b"\x41\x00\x11\x11\x00\x00\x00\x01\x00\x00\x00\x00\x00\x10\x00\x00\x00\x01\x00\x00",
        b"\xc3\x00\x00\x00\x01\x08abcdefgh\x00\x00\x40\x40abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyzabcdefghijkl",
        b"TS3INIT1\x00\x65\x00\x00\x88",
    ];
    for_each_input(30_000, |rng| {
        let mut bytes = vec![rng.next_u32() as u8, rng.next_u32() as u8];
        for _ in 0..1 + rng.below(4) {
            let mut message = rng.pick(&openings).to_vec();
            damage(&mut message, rng);
            bytes.extend([rng.next_u32() as u8 & 0x8f, message.len().min(254) as u8]);
            bytes.extend(message);
        }
        damage(&mut bytes, rng);
        fuzz::tier1(&bytes);
    });
}

#[test]
fn lists_of_addresses() {
    let texts: [&str; 8] = [
        "# a list\n10.0.0.0/8\n192.0.2.1 - 192.0.2.9\n2001:db8::/32 ; six\n",
        "10.0.0.0/8 office\n10.1.0.0/16 lab\n::/0 world\n",
        "10.0.0.1,80\n10.0.0.0/24,tcp:8000-8080\n::1,53\n",
        "80\n443\n8000-8080\n02:00:00:00:00:01\n",
        "create bad hash:net family inet\nadd bad 192.0.2.0/24 timeout 300 comment \"a\"\nadd bad 192.0.2.8/29 nomatch\n",
        "table inet t { set s { type ipv4_addr; elements = { 192.0.2.1, 192.0.2.9-192.0.2.11, 10.0.0.1 . 80 timeout 1h } } }",
        "ip,country\n192.0.2.1,\"A, B\"\n",
        "{\"cidr\":\"192.0.2.0/24\",\"x\":\"\\\"y\"}\n[{\"ipAddress\": \"2001:db8::1\"}]",
    ];
    for_each_input(20_000, |rng| {
        let mut bytes = vec![rng.next_u32() as u8];
        for _ in 0..1 + rng.below(3) {
            bytes.extend_from_slice(rng.pick(&texts).as_bytes());
        }
        damage(&mut bytes, rng);
        fuzz::list(&bytes);
    });
}

#[test]
fn messages_of_queues() {
    // Header, number of the packet, mark, payload; and an answer.
    let attribute = |kind: u16, value: &[u8]| {
        let len = (value.len() as u16 + 4).to_ne_bytes();
        let mut bytes = [&len[..], &kind.to_ne_bytes(), value].concat();
        bytes.resize(bytes.len().next_multiple_of(4), 0);
        bytes
    };
    let message = |kind: u16, body: Vec<u8>| {
        let head = [&(body.len() as u32 + 20).to_ne_bytes()[..], &kind.to_ne_bytes(), &[0; 14]].concat();
        [head, body].concat()
    };
    for_each_input(100_000, |rng| {
        let mut bytes = Vec::new();
        for _ in 0..1 + rng.below(3) {
            let payload = vec![7; rng.below(60)];
            let number = [1, 2, 3, 4, 8, 0, 2];
            let body = [attribute(1, &number), attribute(3, &[0, 0, 0, 7]), attribute(10, &payload)].concat();
            bytes.extend(if rng.below(4) == 0 { message(2, vec![0; 4]) } else { message(3 << 8, body) });
        }
        damage(&mut bytes, rng);
        fuzz::queue(&bytes);
    });
}

#[test]
fn requests_to_a_wall() {
    let requests = [
        r#"{"cmd":"stats"}"#,
        r#"{"cmd":"reload"}"#,
        r#"{"cmd":"set","set":"known","add":["192.0.2.7","2001:db8::/32"],"timeout_s":1e308}"#,
        r#"{"cmd":"set","set":"known","del":["192.0.2.1"],"timeout_s":-1}"#,
        r#"{"cmd":"set","set":"unknown","add":[null,{},[]],"timeout_s":"x"}"#,
        // One that compiled would be waited for.
        r#"{"cmd":"why","filter":"udp prot 53 and ((","wait_ms":1}"#,
        r#"{"cmd":{"cmd":["stats"]}}"#,
        "null",
        "[]",
        "\u{1f98a}",
        "",
    ];
    sluss::fuzz_control(br#"{"cmd":"why","filter":"udp port 53","wait_ms":1}"#);
    for_each_input(300, |rng| {
        let mut bytes = rng.pick(&requests).as_bytes().to_vec();
        if rng.chance(1, 4) {
            bytes.push(b'\n');
            bytes.extend_from_slice(rng.pick(&requests).as_bytes());
        }
        damage(&mut bytes, rng);
        sluss::fuzz_control(&bytes);
    });
}

#[test]
fn rules_of_policies() {
    let rules = [
        "state invalid => drop\n",
        "state {established, related} and not (app BitTorrent or sni in @a) => accept(mark 7)\n",
        "in lan and app {HTTP, TLS} => accept(log)\n",
        "udp and limit 10/m burst 20 => { dst port 53 => accept\n otherwise => reject }\n",
        "sni {*.example.com, example.org} and from initiator => reject\n",
        "risk any or confidence partial => drop -- a comment\n",
        "host in @a or src host in {10.0.0.0/8, @a} => accept; flow_count > 9 => drop\n",
        "app own and category Web and out wan => accept\n",
        "otherwise => drop\n",
    ];
    for_each_input(300, |rng| {
        let mut text: Vec<u8> = (0..rng.below(5)).flat_map(|_| rng.pick(&rules).bytes()).collect();
        damage(&mut text, rng);
        wall::policy::fuzz(&String::from_utf8_lossy(&text));
    });
}
