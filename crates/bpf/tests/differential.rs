//! Generated filters for each link type: libpcap's bytecode run here, and bytecode of ours in three machines, on packets that walk the branches.

use bpf::machine;
use bpf::{ErrorKind, Filter, Options, Program, Validate};
use pflang::{Compiler, Dialect};
use testkit::expr::Generator;
use testkit::linktype::{self, ETHERNET};
use testkit::oracle::{self, kernel::Attached};
use testkit::packet::Packet;
use testkit::rng::Rng;
use testkit::walk;

/// Generated filters; `SLUSS_FILTERS` says otherwise.
const FILTERS: usize = 300;

#[test]
fn generated_filters_agree_in_and_out() {
    let Some(pcap) = oracle::libpcap("the test of generated filters as bytecode") else { return };
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let filters = number("SLUSS_FILTERS").map_or(FILTERS, |filters| filters as usize);
    let mut rng = Rng::new(number("SLUSS_SEED").unwrap_or(9));
    let linktypes: Vec<_> = linktype::all().collect();
    let (mut read, mut written, mut in_kernel, mut loops, mut outside) = (0_u64, 0_u64, 0_u64, 0, 0);
    for _ in 0..filters {
        let linktype = if rng.chance(1, 2) { ETHERNET } else { *rng.pick(&linktypes) };
        let expression = Generator::new(linktype, rng.next_u64()).expression();
        let Ok(program) = pcap.compile(linktype, &expression, oracle::Options::default()) else { continue };
        let insns = Program::from(program.insns().to_vec());
        let filter = match Filter::new(&insns, &Options::default()) {
            Ok(filter) => Some(filter),
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::Loop, "`{expression}` on {linktype}: {error}");
                loops += 1;
                None
            }
        };
        let ours =
            Compiler::new(linktype).dialect(Dialect::STRICT).to_cbpf(&expression).ok().map(Program::from);
        outside += u32::from(ours.is_none());
        let attached = ours.as_ref().map(|ours| {
            ours.check(Validate::Kernel).unwrap_or_else(|error| panic!("`{expression}`: {error}"));
            Attached::new(ours.insns()).unwrap_or_else(|error| panic!("`{expression}`: {error}"))
        });
        let seeds = ["cut(0)", "eth / ip4 / tcp / 'x'", "eth / ip6 / udp / pad(30)", "eth / vlan(1) / arp"];
        let seeds = seeds.map(|line| Packet::parse(line).unwrap());
        for packet in walk::packets(program.insns(), &seeds, walk::Budget::default()) {
            let lengths =
                [packet.bytes.len(), packet.bytes.len().saturating_sub(1), rng.below(packet.bytes.len() + 1)];
            for len in lengths {
                let (data, wire_len) = (&packet.bytes[..len], packet.wire_len);
                let Some(expected) = program.answer(data, wire_len) else { continue };
                let what = || format!("`{expression}` on {linktype}, {len} bytes of {}", packet.to_line());
                if let Some(filter) = &filter {
                    assert_eq!(filter.matches_captured(data, wire_len), expected, "bytecode in: {}", what());
                    read += 1;
                }
                let (Some(ours), Some(attached)) = (&ours, &attached) else { continue };
                let end = machine::run(ours.insns(), data, wire_len, usize::MAX, &mut ());
                assert_eq!(end.accepts(), expected, "bytecode out: {}", what());
                assert_eq!(
                    pcap.filter(ours.insns(), data, wire_len) != 0,
                    expected,
                    "bpf_filter: {}",
                    what()
                );
                written += 1;
                // The kernel has no other length than that of the bytes.
                if wire_len as usize == len && len > 0 {
                    assert_eq!(attached.passed(data).unwrap().is_some(), expected, "the kernel: {}", what());
                    in_kernel += 1;
                }
            }
        }
    }
    testkit::say(format_args!(
        "{read} pairs of generated filter and packet as libpcap's bytecode ({loops} filters jump backwards), {written} as ours \
         ({outside} filters have none), {in_kernel} of them in the kernel"
    ));
    assert!(read > 100 && written > 100);
}
