//! Damaged variants of a packet: cut at every length, headers changed where filters look.

use crate::packet::Packet;
use crate::rng::Rng;

/// The packet captured at every length up to `max`, the length on the wire unchanged.
pub fn truncations(packet: &Packet, max: usize) -> impl Iterator<Item = Packet> + '_ {
    (0..=packet.bytes.len().min(max))
        .map(|len| Packet { bytes: packet.bytes[..len].to_vec(), wire_len: packet.wire_len })
}

/// Bytes within which headers lie.
const HEADER_BYTES: usize = 96;

/// Values that headers give a meaning to.
#[rustfmt::skip]
const BYTES: &[u8] = &[
    0, 1, 2, 3, 4, 5, 6, 8, 17, 33, 41, 43, 44, 47, 51, 58, 60, 80, 103, 112, 132, 0x3f, 0x40, 0x45, 0x46, 0x4f, 0x60,
    0x7f, 0x80, 0x81, 0x88, 0xaa, 0xc0, 0xdd, 0xe0, 0xf0, 0xfe, 0xff,
];
const WORDS: &[u16] = &[
    0x0800, 0x0806, 0x8035, 0x86dd, 0x8100, 0x88a8, 0x9100, 0x8847, 0x8848, 0x8863, 0x8864, 0x809b, 0x80f3,
    0x8137, 0x6003, 0x0021, 0x0057, 0x0281, 0xaaaa, 0xfefe, 0xffff, 0x05dc, 0x05dd, 0x1fff, 0x2000, 0x17c1,
    0x0050,
];

/// The packet with one to three changes in its headers, its length on the wire perhaps no longer that of its bytes.
pub fn headers(packet: &Packet, rng: &mut Rng) -> Packet {
    let mut mutant = packet.clone();
    for _ in 0..1 + rng.below(3) {
        change(&mut mutant, rng);
    }
    mutant
}

fn change(packet: &mut Packet, rng: &mut Rng) {
    let reach = packet.bytes.len().min(HEADER_BYTES);
    if reach == 0 {
        packet.bytes.push(rng.next_u32() as u8);
        return;
    }
    let at = rng.below(reach);
    match rng.below(8) {
        0 => packet.bytes[at] ^= 1 << rng.below(8),
        1 | 2 => packet.bytes[at] = *rng.pick(BYTES),
        3 | 4 if at + 1 < reach => {
            // Types and ports begin at even offsets of most headers.
            let at = at & !1;
            packet.bytes[at..at + 2].copy_from_slice(&rng.pick(WORDS).to_be_bytes());
        }
        5 => {
            let from = rng.below(reach);
            packet.bytes.copy_within(from..reach.min(from + 4), at.min(reach.saturating_sub(4)));
        }
        6 => packet.wire_len = packet.wire_len.wrapping_add(rng.below(2000) as u32),
        _ => packet.bytes.truncate(at),
    }
}

/// Bytes that mean nothing.
pub fn noise(rng: &mut Rng) -> Packet {
    Packet::whole((0..rng.below(128)).map(|_| rng.next_u32() as u8).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn truncates_at_every_length() {
        let packet = Packet::parse("eth / ip4 / tcp").unwrap();
        let lengths: Vec<_> = truncations(&packet, 1000).map(|p| (p.bytes.len(), p.wire_len)).collect();
        assert_eq!(lengths.len(), 55);
        assert_eq!((lengths[0], lengths[54]), ((0, 54), (54, 54)));
    }

    #[test]
    fn survives_any_packet() {
        let mut rng = Rng::new(7);
        for _ in 0..5000 {
            let mut packet = noise(&mut rng);
            packet.bytes.truncate(rng.below(8));
            headers(&packet, &mut rng);
        }
    }
}
