//! A filter as a program for the kernel, which it runs before a socket gets a frame.
//!
//! The kernel takes the outer VLAN tag out of a frame before that. So the program lets all frames pass that had a tag, and the others as the
//! filter says; here the filter is asked again, with the tag in its place. Of packets of all devices the kernel sees no link header: what a
//! filter reads there it is told otherwise.

use decide::Insn;
use io::live::Instruction;
use wire::ether::ethertype;

/// The most instructions that the kernel takes.
const INSNS_MAX: usize = 4096;

/// Offsets from here on are facts about a packet: SKF_AD_OFF of linux/filter.h.
const FACTS: u32 = 0xffff_f000;
const PROTOCOL: u32 = FACTS;
const PACKET_TYPE: u32 = FACTS + 4;
const DEVICE: u32 = FACTS + 8;
const HAS_TAG: u32 = FACTS + 48;

/// Codes of instructions, as in bpf.h.
mod code {
    pub(super) const LOAD_WORD: u16 = 0x20;
    pub(super) const LOAD_HALF: u16 = 0x28;
    pub(super) const LOAD_BYTE: u16 = 0x30;
    pub(super) const LOAD_WORD_AT_X: u16 = 0x40;
    pub(super) const LOAD_HALF_AT_X: u16 = 0x48;
    pub(super) const LOAD_BYTE_AT_X: u16 = 0x50;
    pub(super) const LOAD_HEADER_LEN: u16 = 0xb1;
    pub(super) const LOAD_LEN: u16 = 0x80;
    pub(super) const LOAD_LEN_TO_X: u16 = 0x81;
    pub(super) const IF_EQUAL: u16 = 0x15;
    pub(super) const RETURN: u16 = 0x06;
}

/// Whether a filter asks for VLAN tags, which the kernel's has none of.
pub(super) fn reads_tags(filter: &str) -> bool {
    filter.split(|c: char| !c.is_ascii_alphanumeric()).any(|word| word == "vlan")
}

/// A program that lets all frames pass, cut to this length.
pub(super) fn all(snaplen: u32) -> Vec<Instruction> {
    vec![keep(snaplen)]
}

/// The program for a filter, for packets with their link headers; `None` where it is too long.
pub(super) fn program(filter: &[Insn], snaplen: u32) -> Option<Vec<Instruction>> {
    let filter = filter.iter().map(|insn| cut(insn, snaplen));
    let program: Vec<Instruction> = has_tag(snaplen).into_iter().chain(filter).collect();
    (program.len() <= INSNS_MAX).then_some(program)
}

/// Lets a frame pass that had a tag; goes on with others.
fn has_tag(snaplen: u32) -> [Instruction; 3] {
    [
        Instruction { code: code::LOAD_WORD, jt: 0, jf: 0, k: HAS_TAG },
        Instruction { code: code::IF_EQUAL, jt: 1, jf: 0, k: 0 },
        keep(snaplen),
    ]
}

/// A program that was written for the kernel. It selects frames, as it does here: those that it returns any number for are kept up to this length. Only one that
/// it returns the accumulator for is cut to that.
pub(super) fn as_written(program: &[Insn], snaplen: u32) -> Vec<Instruction> {
    program.iter().map(|insn| cut(insn, snaplen)).collect()
}

/// The program for a filter of LINUX_SLL2, for packets without link headers; `None` where it reads what the kernel has no word for.
pub(super) fn program_of_cooked(filter: &[Insn], snaplen: u32) -> Option<Vec<Instruction>> {
    const HEADER_LEN: u32 = 20;
    let moved = |insn: &Insn| {
        let k = match (insn.code, insn.k) {
            (code::LOAD_HALF, 0) => PROTOCOL,
            (code::LOAD_WORD, 4) => DEVICE,
            (code::LOAD_BYTE, 10) => PACKET_TYPE,
            (
                code::LOAD_WORD
                | code::LOAD_HALF
                | code::LOAD_BYTE
                | code::LOAD_WORD_AT_X
                | code::LOAD_HALF_AT_X
                | code::LOAD_BYTE_AT_X
                | code::LOAD_HEADER_LEN,
                k,
            ) => k.checked_sub(HEADER_LEN)?,
            (code::LOAD_LEN | code::LOAD_LEN_TO_X, _) => return None,
            _ => cut(insn, snaplen).k,
        };
        Some(Instruction { k, ..cut(insn, snaplen) })
    };
    // Of a frame that leaves with its tag in it, the protocol is that of the tag here, and what is behind it in the header of the packet.
    let tagged = [
        Instruction { code: code::LOAD_HALF, jt: 0, jf: 0, k: PROTOCOL },
        Instruction { code: code::IF_EQUAL, jt: 1, jf: 0, k: ethertype::VLAN.into() },
        Instruction { code: code::IF_EQUAL, jt: 0, jf: 1, k: ethertype::QINQ.into() },
        keep(snaplen),
    ];
    let filter: Option<Vec<Instruction>> = filter.iter().map(moved).collect();
    let program: Vec<Instruction> = has_tag(snaplen).into_iter().chain(tagged).chain(filter?).collect();
    (program.len() <= INSNS_MAX).then_some(program)
}

/// An instruction as it is; one that accepts, for this length.
fn cut(insn: &Insn, snaplen: u32) -> Instruction {
    let &Insn { code, jt, jf, k } = insn;
    let k = if code == code::RETURN && k != 0 { snaplen } else { k };
    Instruction { code, jt, jf, k }
}

fn keep(snaplen: u32) -> Instruction {
    Instruction { code: code::RETURN, jt: 0, jf: 0, k: snaplen }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pflang::Compiler;
    use wire::LinkType;

    #[test]
    fn a_tag_is_asked_for_first() {
        let arp = Compiler::new(LinkType::EN10MB).to_cbpf("arp").unwrap();
        let program = program(&arp, 96).unwrap();
        let ks: Vec<u32> = program.iter().map(|insn| insn.k).collect();
        assert_eq!(ks, [HAS_TAG, 0, 96, 12, 0x806, 96, 0]);
        assert!(reads_tags("tcp and (vlan)") && reads_tags("vlan 7") && !reads_tags("host vlan7"));
    }

    #[test]
    fn a_program_that_was_written_selects() {
        let written = [(code::RETURN, 14), (code::RETURN, 0), (0x16, 0)];
        let program = as_written(&written.map(|(code, k)| Insn { code, jt: 0, jf: 0, k }), 96);
        assert_eq!(program.iter().map(|insn| insn.k).collect::<Vec<u32>>(), [96, 0, 0]);
    }

    #[test]
    fn what_a_cooked_header_says_is_asked_otherwise() {
        let of =
            |filter| program_of_cooked(&Compiler::new(LinkType::LINUX_SLL2).to_cbpf(filter).unwrap(), 100);
        let ks: Vec<u32> = of("arp").unwrap().iter().map(|insn| insn.k).collect();
        assert_eq!(ks, [HAS_TAG, 0, 100, PROTOCOL, 0x8100, 0x88a8, 100, PROTOCOL, 0x806, 100, 0]);
        assert!(
            of("tcp port 80 and ifindex 3")
                .is_some_and(|program| program.iter().any(|insn| insn.k == DEVICE))
        );
        assert!(of("inbound").is_some_and(|program| program.iter().any(|insn| insn.k == PACKET_TYPE)));
        // The length of a packet, and what there is no word for.
        assert!(of("greater 100").is_none() && of("link[11] = 6").is_none());
    }
}
