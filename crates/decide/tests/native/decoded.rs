//! What generated code cannot do, read off its instructions by an independent decoder: call, store anywhere but
//! to its stack frame and the output of a burst, load from anywhere but packet, descriptors, frame and tables, or touch a
//! register of the caller's in the one-packet form.

use decide::NoCode;
use decide::internals::ir::verify::Verified;
use decide::internals::x64::{self, Options};
use iced_x86::{
    Code, Decoder, DecoderOptions, FlowControl, Instruction, InstructionInfoFactory, OpAccess, Register,
};
use testkit::native::graphs::{Shape, random_graph};
use testkit::rng::Rng;

const CALLERS: [Register; 6] =
    [Register::RBX, Register::RBP, Register::R12, Register::R13, Register::R14, Register::R15];

/// Packet, stack frame, end of the run of descriptors, output, prefetch, the row of the caller's numbers, and the scratch register, which
/// holds the address of a table or of a packet still to come.
const BASES: [Register; 7] =
    [Register::RDI, Register::RSP, Register::R12, Register::R13, Register::R15, Register::R9, Register::R11];

fn check<W>(code: &x64::MachineCode<W>, what: &str) {
    let bytes = &code.bytes()[..code.code_len()];
    let decoder = Decoder::new(64, bytes, DecoderOptions::NONE);
    let mut infos = InstructionInfoFactory::new();
    for instruction in decoder {
        let at = instruction.ip() as usize;
        assert!(!instruction.is_invalid(), "{what}: {at:#x}");
        let flow = instruction.flow_control();
        assert!(
            !matches!(flow, FlowControl::Call | FlowControl::IndirectCall | FlowControl::Exception),
            "{what}: {instruction}"
        );
        if matches!(flow, FlowControl::ConditionalBranch | FlowControl::UnconditionalBranch) {
            assert!((instruction.near_branch_target() as usize) < bytes.len(), "{what}: {instruction}");
        }
        let info = infos.info(&instruction);
        for memory in info.used_memory() {
            check_memory(&instruction, memory.base(), memory.access(), what);
        }
        if at < code.burst() {
            let writes = |access| {
                matches!(
                    access,
                    OpAccess::Write | OpAccess::ReadWrite | OpAccess::CondWrite | OpAccess::ReadCondWrite
                )
            };
            let touched = info
                .used_registers()
                .iter()
                .filter(|used| writes(used.access()))
                .find(|used| CALLERS.contains(&used.register().full_register()));
            assert!(touched.is_none(), "{what}: {instruction}");
        }
    }
}

fn check_memory(instruction: &Instruction, base: Register, access: OpAccess, what: &str) {
    assert!(base.is_ip() || BASES.contains(&base), "{what}: {instruction}");
    if matches!(access, OpAccess::Read | OpAccess::CondRead | OpAccess::NoMemAccess) {
        return;
    }
    let pushes = instruction.code() == Code::Push_r64;
    assert!(pushes || matches!(base, Register::RSP | Register::R13), "{what} stores: {instruction}");
}

#[test]
fn code_does_nothing_but_decide() {
    for seed in 0..150 {
        let mut rng = Rng::new(seed);
        let spills = seed % 3 == 0;
        let shape =
            Shape { values: if spills { 70 } else { 8 }, tests: 12, filters: 3, switches: 2, inputs: 0 };
        let graph = random_graph(&mut rng, shape);
        match x64::compile(Verified::new(&graph).unwrap(), &Options::default()) {
            Ok(code) => check(&code, &format!("seed {seed}")),
            Err(error) => assert_eq!(error, NoCode::TooComplex),
        }
        let shape = Shape { inputs: 3, ..shape };
        if let Ok(code) =
            x64::compile(Verified::new(&random_graph(&mut rng, shape)).unwrap(), &Options::default())
        {
            check(&code, &format!("seed {seed}, inputs"));
        }
        if let Ok(code) = x64::compile_leaves(Verified::new(&graph).unwrap(), &Options::default()) {
            check(&code, &format!("seed {seed}, leaves"));
        }
    }
}
