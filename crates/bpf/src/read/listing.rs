//! Listings, as `tcpdump -d` prints them.
//!
//! ```text
//! (000) ldh      [12]
//! (001) jeq      #0x800           jt 2    jf 3
//! ```

use super::{number, shortened};
use crate::ancillary::Ancillary;
use crate::{Error, Insn, op};

pub(super) fn read(text: &str) -> Result<Vec<Insn>, Error> {
    let mut insns = Vec::new();
    for (at, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let insn = instruction(insns.len(), line.trim());
        insns.push(insn.map_err(|message| Error::on_line(at + 1, message))?);
    }
    Ok(insns)
}

fn instruction(pc: usize, line: &str) -> Result<Insn, String> {
    let numbered = line.strip_prefix('(').and_then(|rest| rest.split_once(')'));
    let Some((label, rest)) = numbered else {
        return Err(format!("`{}` does not begin with `({pc:03})`", shortened(line)));
    };
    if label.trim().parse() != Ok(pc) {
        return Err(format!(
            "this is instruction {pc}, not {}: a line is missing or twice there",
            shortened(label.trim())
        ));
    }
    let rest = rest.trim();
    let (mnemonic, operands) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
    let operands = operands.trim();
    // `jt 2 jf 3` stands behind the operand of a test.
    let (operand, targets) = match operands.split_once("jt ") {
        Some((operand, targets)) => (operand.trim(), Some(targets)),
        None => (operands, None),
    };
    let bad = || format!("`{}` has no such operand as `{}`", mnemonic, shortened(operand));
    let plain = |code, k| Insn { code, jt: 0, jf: 0, k };
    let alu = |operation| right(operand).map(|(x, k)| plain(op::ALU | operation | x, k)).ok_or_else(bad);
    let jump = |operation| {
        let (x, k) = right(operand).ok_or_else(bad)?;
        let [jt, jf] = distances(pc, targets)?;
        Ok(Insn { code: op::JMP | operation | x, jt, jf, k })
    };
    match mnemonic {
        "ret" if operand.is_empty() => Ok(plain(op::RET | op::A, 0)),
        "ret" => constant(operand).map(|k| plain(op::RET, k)).ok_or_else(bad),
        "ld" => load(op::LD, op::W, operand).ok_or_else(bad),
        "ldh" => load(op::LD, op::H, operand).ok_or_else(bad),
        "ldb" => load(op::LD, op::B, operand).ok_or_else(bad),
        "ldx" => load(op::LDX, op::W, operand).ok_or_else(bad),
        "ldxb" => header_length(operand).map(|k| plain(op::LDX | op::MSH | op::B, k)).ok_or_else(bad),
        "st" => cell(operand).map(|k| plain(op::ST, k)).ok_or_else(bad),
        "stx" => cell(operand).map(|k| plain(op::STX, k)).ok_or_else(bad),
        "ja" | "jmp" => {
            // As `bpf_image` prints it; a jump backwards has a negative distance, in 32 bits.
            let target: i32 = operand.parse().map_err(|_| bad())?;
            Ok(plain(op::JMP | op::JA, (target as u32).wrapping_sub(pc as u32 + 1)))
        }
        "jeq" => jump(op::JEQ),
        "jgt" => jump(op::JGT),
        "jge" => jump(op::JGE),
        "jset" => jump(op::JSET),
        "add" => alu(op::ADD),
        "sub" => alu(op::SUB),
        "mul" => alu(op::MUL),
        "div" => alu(op::DIV),
        "mod" => alu(op::MOD),
        "or" => alu(op::OR),
        "and" => alu(op::AND),
        "xor" => alu(op::XOR),
        "lsh" => alu(op::LSH),
        "rsh" => alu(op::RSH),
        "neg" => Ok(plain(op::ALU | op::NEG, 0)),
        "tax" => Ok(plain(op::MISC | op::TAX, 0)),
        "txa" => Ok(plain(op::MISC | op::TXA, 0)),
        _ => Err(format!("`{}` is no instruction of BPF", shortened(mnemonic))),
    }
}

/// `#0x10`, `#-1`.
fn constant(operand: &str) -> Option<u32> {
    number(operand.strip_prefix('#')?, u32::MAX).ok()
}

/// The bit that says X, and a constant.
fn right(operand: &str) -> Option<(u16, u32)> {
    if operand == "x" { Some((op::X, 0)) } else { constant(operand).map(|k| (0, k)) }
}

/// `M[3]`.
fn cell(operand: &str) -> Option<u32> {
    number(operand.strip_prefix("M[")?.strip_suffix(']')?, u32::MAX).ok()
}

/// `4*([14]&0xf)`.
fn header_length(operand: &str) -> Option<u32> {
    number(operand.strip_prefix("4*([")?.strip_suffix("]&0xf)")?, u32::MAX).ok()
}

fn load(class: u16, size: u16, operand: &str) -> Option<Insn> {
    let insn = |mode, k| Some(Insn { code: class | mode | size, jt: 0, jf: 0, k });
    if size == op::W {
        match operand {
            "#pktlen" => return insn(op::LEN, 0),
            _ if operand.starts_with('#') => return insn(op::IMM, constant(operand)?),
            _ if operand.starts_with('M') => return insn(op::MEM, cell(operand)?),
            _ => {}
        }
    }
    if class == op::LDX {
        return None;
    }
    let inside = operand.strip_prefix('[')?.strip_suffix(']')?;
    if let Some(k) = inside.strip_prefix("x + ") {
        return insn(op::IND, number(k.trim(), u32::MAX).ok()?);
    }
    let ancillary = Ancillary::ALL.into_iter().find(|data| data.listed() == inside);
    insn(op::ABS, ancillary.map(Ancillary::offset).or_else(|| number(inside, u32::MAX).ok())?)
}

/// The distances of `2 jf 3`.
fn distances(pc: usize, targets: Option<&str>) -> Result<[u8; 2], String> {
    let parsed = targets.and_then(|targets| {
        let (yes, no) = targets.split_once("jf ")?;
        Some([yes.trim().parse::<usize>().ok()?, no.trim().parse::<usize>().ok()?])
    });
    let [yes, no] = parsed.ok_or("a test ends with `jt` and `jf`, and an instruction behind each")?;
    let distance = |target: usize| {
        let distance = target.checked_sub(pc + 1).and_then(|distance| u8::try_from(distance).ok());
        distance
            .ok_or_else(|| format!("a test cannot lead to instruction {target}, but to the 256 behind it"))
    };
    Ok([distance(yes)?, distance(no)?])
}
