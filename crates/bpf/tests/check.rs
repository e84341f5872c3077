//! Both checkers are held to those that they are named after.

use bpf::{Program, Validate};
use testkit::oracle::{self, kernel::Attached};
use testkit::programs::{random_insn, random_program};
use testkit::rng::Rng;

/// A valid program of which a few instructions are anything.
fn damaged(rng: &mut Rng) -> Program {
    let mut insns = random_program(rng);
    for _ in 0..rng.below(3) {
        let at = rng.below(insns.len());
        insns[at] = random_insn(rng);
    }
    if rng.chance(1, 4) {
        insns.truncate(1 + rng.below(insns.len()));
    }
    Program::from(insns)
}

#[test]
fn libpcap_accepts_what_bpf_validate_accepts() {
    let Some(pcap) = oracle::libpcap("the test of bpf_validate") else { return };
    let (mut rng, mut accepted) = (Rng::new(3), 0);
    for _ in 0..20_000 {
        let program = damaged(&mut rng);
        let told = program.check(Validate::Libpcap);
        assert_eq!(told.is_ok(), pcap.validates(program.insns()), "{program:x?}: {told:?}");
        accepted += u32::from(told.is_ok());
    }
    assert!((1000..19_000).contains(&accepted), "{accepted}");
}

#[test]
fn the_kernel_accepts_what_bpf_check_classic_accepts() {
    let (mut rng, mut accepted) = (Rng::new(4), 0);
    for _ in 0..5_000 {
        let program = damaged(&mut rng);
        let told = program.check(Validate::Kernel);
        let attached = Attached::new(program.insns());
        assert_eq!(told.is_ok(), attached.is_ok(), "{program:x?}: {told:?}");
        accepted += u32::from(told.is_ok());
    }
    assert!((500..4_500).contains(&accepted), "{accepted}");
}

#[test]
fn a_refusal_names_instruction_and_reason() {
    for (text, validate, told) in [
        ("1,4 0 0 1", Validate::Libpcap, "instruction 0: the last instruction does not return"),
        ("2,52 0 0 0,6 0 0 0", Validate::Libpcap, "instruction 0: a division by zero"),
        (
            "2,96 0 0 16,6 0 0 0",
            Validate::Libpcap,
            "instruction 0: there is no M[16]; the last of the 16 cells is M[15]",
        ),
        (
            "2,21 0 1 0,6 0 0 0",
            Validate::Libpcap,
            "instruction 0: it leads to instruction 2, which does not exist",
        ),
        (
            "2,100 0 0 32,6 0 0 0",
            Validate::Kernel,
            "instruction 0: a shift by 32, of which the kernel takes 31",
        ),
        ("2,255 0 0 0,6 0 0 0", Validate::Kernel, "instruction 0: 0xff is no instruction"),
        (
            "2,32 0 0 4294963201,6 0 0 0",
            Validate::Kernel,
            "instruction 0: no ancillary data stand at offset -4095",
        ),
        (
            "2,5 0 0 4294967295,6 0 0 0",
            Validate::Kernel,
            "instruction 0: it leads to instruction 4294967296, which does not exist",
        ),
    ] {
        let program = bpf::read(text.as_bytes()).unwrap();
        assert_eq!(program.check(validate).unwrap_err().to_string(), told);
    }
    let long = Program::from(vec![bpf::Insn { code: 6, jt: 0, jf: 0, k: 0 }; 4097]);
    assert!(long.check(Validate::Libpcap).is_ok());
    assert_eq!(
        long.check(Validate::Kernel).unwrap_err().to_string(),
        "4097 instructions, of which the kernel takes 4096"
    );
}
