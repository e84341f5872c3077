//! Every form of every instruction, decoded and written out again by an independent disassembler.

use super::assembler::Assembler;
use super::encode::encode;
use super::inst::{Alu, Inst, Shift};
use super::label::AsmLabel;
use super::reg::{Base, Cc, Mem, Reg, Rm, Width};
use super::{Listing, Options};
use Width::{B, D, Q, W};
use iced_x86::{Decoder, DecoderOptions, Formatter, IntelFormatter, MemorySizeOptions};

const ALU: [Alu; 8] = [Alu::Add, Alu::Or, Alu::Adc, Alu::Sbb, Alu::And, Alu::Sub, Alu::Xor, Alu::Cmp];
const CCS: [Cc; 6] = [Cc::B, Cc::Ae, Cc::E, Cc::Ne, Cc::Be, Cc::A];
const IMMEDIATES: [i32; 11] = [0, 1, 0x7f, 0x80, 0xff, 0x100, 0xffff, i32::MAX, i32::MIN, -1, -129];
const DISPLACEMENTS: [i32; 7] = [0, 1, 127, 128, -128, -129, i32::MAX];

fn formatter() -> IntelFormatter {
    let mut formatter = IntelFormatter::new();
    let options = formatter.options_mut();
    options.set_hex_prefix("0x");
    options.set_hex_suffix("");
    options.set_uppercase_hex(false);
    options.set_small_hex_numbers_in_decimal(false);
    options.set_space_after_operand_separator(true);
    options.set_memory_size_options(MemorySizeOptions::Always);
    options.set_branch_leading_zeros(false);
    options.set_show_branch_size(false);
    options.set_use_pseudo_ops(false);
    formatter
}

/// What an independent decoder makes of bytes that should be one instruction.
fn decoded(bytes: &[u8]) -> String {
    let mut decoder = Decoder::new(64, bytes, DecoderOptions::NONE);
    let instruction = decoder.decode();
    assert!(!instruction.is_invalid(), "{bytes:02x?}");
    assert_eq!(instruction.len(), bytes.len(), "{bytes:02x?}");
    let mut text = String::new();
    formatter().format(&instruction, &mut text);
    text
}

fn check(inst: Inst) {
    let mut bytes = Vec::new();
    assert_eq!(encode(&inst, &mut bytes), None);
    assert_eq!(decoded(&bytes), inst.to_string(), "{inst:?}: {bytes:02x?}");
}

/// Every base and index, with displacements on both sides of where the encoding changes.
fn memories() -> Vec<Mem> {
    let mut memories = Vec::new();
    for base in Reg::ALL {
        memories.extend(DISPLACEMENTS.map(|disp| base + disp));
        for index in Reg::ALL.into_iter().filter(|&index| index != Reg::Rsp) {
            let scale = [1, 2, 4, 8][usize::from(index.number() % 4)];
            memories.extend([0, 5, 200, -200].map(|disp| base + index * scale + disp));
        }
    }
    memories
}

fn few_memories() -> Vec<Mem> {
    let bases = [Reg::Rax, Reg::Rsp, Reg::Rbp, Reg::R12, Reg::R13];
    bases.into_iter().flat_map(|base| [base + 0, base + Reg::R9 * 4 + 300]).collect()
}

fn rms() -> Vec<Rm> {
    Reg::ALL.into_iter().map(Rm::Reg).chain(few_memories().into_iter().map(Rm::Mem)).collect()
}

#[test]
fn memory_operands() {
    for mem in memories() {
        check(Inst::MovLoad(D, Reg::Rcx, mem));
        check(Inst::MovLoad(Q, Reg::R11, mem));
        check(Inst::Movzx(B, Reg::R8, mem.into()));
        check(Inst::Movzx(W, Reg::Rdx, mem.into()));
        check(Inst::Movbe(Reg::R10, mem));
        check(Inst::Movsxd(Reg::Rax, mem));
        check(Inst::Lea(D, Reg::Rax, mem));
        check(Inst::Lea(Q, Reg::R11, mem));
        check(Inst::Prefetch(mem));
        check(Inst::Mov(Q, mem.into(), Reg::R14));
        check(Inst::AluImm(Alu::Cmp, B, mem.into(), 6));
        check(Inst::TestImm(B, mem.into(), 0x1f));
    }
}

#[test]
fn arithmetic() {
    for op in ALU {
        for reg in Reg::ALL {
            for rm in rms() {
                for width in [D, Q] {
                    check(Inst::Alu(op, width, rm, reg));
                    if let Rm::Mem(mem) = rm {
                        check(Inst::AluLoad(op, width, reg, mem));
                    }
                }
            }
        }
        for rm in rms() {
            for k in IMMEDIATES {
                [B, W, D, Q].into_iter().for_each(|width| check(Inst::AluImm(op, width, rm, k)));
            }
        }
    }
}

#[test]
fn other_registers_and_immediates() {
    for rm in rms() {
        for k in IMMEDIATES {
            [B, W, D, Q].into_iter().for_each(|width| check(Inst::TestImm(width, rm, k)));
            check(Inst::ImulImm(Reg::R9, rm, k));
        }
        check(Inst::Div(rm));
        for reg in Reg::ALL {
            check(Inst::Imul(reg, rm));
            check(Inst::Mov(D, rm, reg));
            check(Inst::Test(D, rm, reg));
            check(Inst::Movzx(B, reg, rm));
            for cc in CCS {
                check(Inst::Cmov(cc, D, reg, rm));
                check(Inst::Cmov(cc, Q, reg, rm));
            }
        }
    }
}

#[test]
fn single_registers() {
    [Inst::Endbr64, Inst::Ret].into_iter().for_each(check);
    for reg in Reg::ALL {
        [Inst::Push(reg), Inst::Pop(reg), Inst::JmpReg(reg), Inst::CallReg(reg)].into_iter().for_each(check);
        IMMEDIATES.into_iter().for_each(|k| check(Inst::MovImm(reg, k as u32)));
        check(Inst::MovImm64(reg, 0x0f0f_0f0f_0f0f_0f0f));
        CCS.into_iter().for_each(|cc| check(Inst::Setcc(cc, reg)));
        [D, Q].into_iter().for_each(|width| check(Inst::Bswap(width, reg)));
        for shift in [Shift::Rol, Shift::Shl, Shift::Shr] {
            [1, 2, 31].into_iter().for_each(|by| check(Inst::Shift(shift, D, reg, by)));
            [1, 8, 63].into_iter().for_each(|by| check(Inst::Shift(shift, Q, reg, by)));
            check(Inst::Shift(shift, W, reg, 8));
            [D, Q].into_iter().for_each(|width| check(Inst::ShiftCl(shift, width, reg)));
        }
    }
}

/// Offset of the target of the jump or address at `at`, by the independent decoder.
fn target(bytes: &[u8], at: usize) -> usize {
    let mut decoder = Decoder::with_ip(64, &bytes[at..], at as u64, DecoderOptions::NONE);
    let instruction = decoder.decode();
    let address = if instruction.is_ip_rel_memory_operand() {
        instruction.ip_rel_memory_address()
    } else {
        instruction.near_branch_target()
    };
    address as usize
}

/// Jumps over every distance around the limit of the short form, in both directions.
#[test]
fn jumps_are_as_short_as_they_can_be() {
    for distance in 100..160 {
        let mut asm = Assembler::new(Listing::Kept);
        let (back, forth) = (asm.label(), asm.label());
        asm.bind(back);
        asm.push(Inst::Jcc(Cc::Ne, forth), None);
        (0..distance).for_each(|_| asm.push(Inst::Ret, None));
        asm.push(Inst::Jmp(back), None);
        asm.bind(forth);
        let done = asm.finish();
        let [first, .., last] = &done.lines[..] else { panic!("several lines") };
        assert_eq!(target(&done.bytes, first.at), done.offset(forth));
        assert_eq!(target(&done.bytes, last.at), done.offset(back));
        let sizes = (done.lines[1].at, done.bytes.len() - last.at);
        let back_distance = distance + sizes.0 + 2;
        assert_eq!(sizes.0 == 2, distance + sizes.1 <= 127, "{distance}");
        assert_eq!(sizes.1 == 2, back_distance <= 128, "{distance}");
    }
}

#[test]
fn functions_and_data_are_aligned_and_found() {
    let mut asm = Assembler::new(Listing::Kept);
    let (function, table, jumps) = (asm.label(), asm.label(), asm.label());
    asm.push(Inst::Lea(Q, Reg::R11, table.into()), None);
    asm.push(Inst::Lea(Q, Reg::R11, jumps.into()), None);
    asm.align();
    asm.bind(function);
    asm.push(Inst::Ret, None);
    asm.data(table, &[1, 0x0203_0405]);
    asm.jump_table(jumps, vec![function, function]);
    let done = asm.finish();
    assert_eq!(done.offset(function), 64);
    assert_eq!(done.bytes[14..64], [0xcc; 50]);
    assert_eq!(target(&done.bytes, done.lines[0].at), done.offset(table));
    assert_eq!(target(&done.bytes, done.lines[1].at), done.offset(jumps));
    assert_eq!(done.bytes[done.offset(table)..][..8], [1, 0, 0, 0, 5, 4, 3, 2]);
    let offset = i32::from_le_bytes(done.bytes[done.offset(jumps)..][..4].try_into().unwrap());
    assert_eq!(done.offset(jumps) as i32 + offset, done.offset(function) as i32);
}

#[test]
fn label_operands_leave_room_for_their_displacement() {
    let mut bytes = Vec::new();
    let mem = Mem { base: Base::Label(AsmLabel(3)), index: None, disp: 0 };
    let rip = encode(&Inst::Lea(Q, Reg::R11, mem), &mut bytes).unwrap();
    assert_eq!((rip.at, rip.end, rip.label), (3, 7, AsmLabel(3)));
}

#[test]
fn displacements_fit_whatever_the_limit() {
    let limit = |code_bytes_max| Options { code_bytes_max, ..Options::default() }.bounded().code_bytes_max;
    assert_eq!([limit(0), limit(1 << 20)], [0, 1 << 20]);
    for beyond in [1 << 31, usize::MAX] {
        assert_eq!(limit(beyond), 0x7fff_ffff);
    }
}

/// Code for the values of a leaf stores to its stack frame and to what it hands out, and leaves the caller's registers alone.
#[test]
fn values_are_stored_where_they_are_wanted() {
    use crate::ir::verify::CheckedLeaves;
    use crate::ir::{ACCEPT, BinOp, Graph, Pool, REJECT, Size};
    use iced_x86::{InstructionInfoFactory, OpAccess, Register};

    let mut pool = Pool::default();
    let mut values = vec![pool.input(2), pool.at(0, Size::B1)];
    for i in 1..20 {
        let (byte, last) = (pool.at(i, Size::B1), values[values.len() - 1]);
        values.push(pool.op(BinOp::Div, last, byte));
    }
    let mut graph = Graph::new(pool);
    let (accept, reject) = (graph.leaf(ACCEPT), graph.leaf(REJECT));
    graph.root = graph.guard(&values, accept, reject);
    let checked = CheckedLeaves::new(graph.clone(), vec![values.clone()]).unwrap();
    let code = super::compile_values(&checked, &Options::default()).unwrap();
    let mut stores = 0;
    let mut infos = InstructionInfoFactory::new();
    for instruction in Decoder::new(64, &code.bytes()[..code.code_len()], DecoderOptions::NONE) {
        let info = infos.info(&instruction);
        for memory in info.used_memory().iter().filter(|memory| memory.access() != OpAccess::Read) {
            assert!([Register::RSP, Register::R8].contains(&memory.base()), "{instruction}");
            stores += u32::from(memory.base() == Register::R8);
        }
        let saved =
            [Register::RBX, Register::RBP, Register::R12, Register::R13, Register::R14, Register::R15];
        let touched =
            info.used_registers().iter().any(|used| saved.contains(&used.register().full_register()));
        assert!(!touched, "{instruction}");
    }
    assert_eq!(stores, values.len() as u32);
    // The gate: without the guards, nothing reaches the code.
    graph.root = accept;
    assert!(CheckedLeaves::new(graph, vec![values]).is_err());
}
