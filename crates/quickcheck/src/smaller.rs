//! From a pair on which engines disagree to the smallest such pair.

use crate::expr;
use crate::packet::Packet;

/// The smallest text and packet found for which `fails` still holds: the text first, then the packet, then the text once more.
pub(crate) fn pair(
    text: &str,
    packet: &Packet,
    mut fails: impl FnMut(&str, &Packet) -> bool,
) -> (String, Packet) {
    let text = smaller_text(text, |text| fails(text, packet));
    let packet = smaller_packet(packet, |packet| fails(&text, packet));
    let text = smaller_text(&text, |text| fails(text, &packet));
    (text, packet)
}

/// Fewer words, then shorter numbers.
fn smaller_text(text: &str, mut fails: impl FnMut(&str) -> bool) -> String {
    let mut small = expr::shrink(text, &mut fails);
    // The shrinker puts blanks between words, which may be too many for some.
    if small != text && !fails(&small) {
        small = text.to_owned();
    }
    let mut words: Vec<String> = small.split(' ').map(str::to_owned).collect();
    for at in 0..words.len() {
        let number = match words[at].strip_prefix("0x") {
            Some(digits) => u32::from_str_radix(digits, 16).ok(),
            None => words[at].parse().ok(),
        };
        let Some(number) = number else { continue };
        for less in [0, 1, number & 0xff, number / 2].into_iter().filter(|&less| less < number) {
            let old = std::mem::replace(&mut words[at], less.to_string());
            if fails(&words.join(" ")) {
                break;
            }
            words[at] = old;
        }
    }
    words.join(" ")
}

/// Fewer bytes, then zeros in them, and the length on the wire that follows from the bytes.
fn smaller_packet(packet: &Packet, mut fails: impl FnMut(&Packet) -> bool) -> Packet {
    let mut small = packet.clone();
    let mut attempt = |small: &mut Packet, candidate: Packet| {
        let is_smaller = fails(&candidate);
        if is_smaller {
            *small = candidate;
        }
        is_smaller
    };
    let whole = Packet::whole(small.bytes.clone());
    attempt(&mut small, whole);
    let is_whole = small.wire_len as usize == small.bytes.len();
    let mut step = small.bytes.len();
    while step > 0 {
        let mut bytes = small.bytes.clone();
        bytes.truncate(bytes.len().saturating_sub(step));
        let candidate = if is_whole { Packet::whole(bytes) } else { Packet { bytes, ..small } };
        if candidate == small || !attempt(&mut small, candidate) {
            step /= 2;
        }
    }
    // Long runs first.
    let mut run = small.bytes.len();
    while run > 0 {
        for at in (0..small.bytes.len()).step_by(run) {
            let mut candidate = small.clone();
            let end = (at + run).min(candidate.bytes.len());
            candidate.bytes[at..end].fill(0);
            if candidate != small {
                attempt(&mut small, candidate);
            }
        }
        run /= 2;
    }
    small
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_matter_goes() {
        let packet = Packet::whole((1..100).collect());
        let (text, packet) =
            pair("tcp port 8080 or ( ip [ 9 ] & 64 != 0 and arp )", &packet, |text, packet| {
                text.contains('&') && packet.bytes.get(7).is_some_and(|byte| byte & 8 != 0)
            });
        assert_eq!((text.as_str(), packet.to_hex().as_str()), ("&", "0000000000000008"));
    }

    #[test]
    fn numbers_become_short() {
        let packet = Packet { bytes: vec![], wire_len: 900 };
        let (text, packet) =
            pair("len > 500", &packet, |text, packet| text.starts_with("len >") && packet.wire_len > 60);
        assert_eq!((text.as_str(), packet.wire_len), ("len >", 900));
    }
}
