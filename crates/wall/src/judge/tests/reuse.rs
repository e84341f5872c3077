//! Connections whose ends use the same ports again, after an end that was not seen.

use super::*;

/// A segment between 10.0.0.9:4000 and 10.0.0.2:80, with numbers, and what it says.
fn numbered(from_client: bool, flags: &str, seq: u32, ack: u32, payload: &str) -> Vec<u8> {
    let [client, server] = [("10.0.0.9", 4000), ("10.0.0.2", 80)];
    let ((src, sport), (dst, dport)) = if from_client { (client, server) } else { (server, client) };
    let payload: String = payload.bytes().map(|byte| format!("{byte:02x} ")).collect();
    frame(&format!(
        "eth / ip4(src={src}, dst={dst}) / tcp(sport={sport}, dport={dport}, seq={seq}, ack={ack}, flags={flags}) / hex({payload})"
    ))
}

/// The handshake of a connection with these first numbers.
fn handshake(client: u32, server: u32) -> [Vec<u8>; 3] {
    [
        numbered(true, "S", client, 0, ""),
        numbered(false, "SA", server, client + 1, ""),
        numbered(true, "A", client + 1, server + 1, ""),
    ]
}

/// What becomes of frames at these times, in seconds: a letter each, the same in bursts of any length.
fn letters_at(text: &str, frames: &[(u64, Vec<u8>)]) -> String {
    let in_bursts = |burst: usize| {
        let mut judge = judge(text);
        let mut letters = String::new();
        for frames in frames.chunks(burst) {
            let packets: Vec<Packet<'_>> = frames
                .iter()
                .map(|(second, frame)| Packet {
                    frame,
                    linktype: LinkType::EN10MB,
                    time_ns: second * SECOND,
                    wire_len: frame.len() as u32,
                })
                .collect();
            let mut verdicts = vec![Verdict::NONE; packets.len()];
            judge.burst(&packets, Way::default(), &mut verdicts);
            letters.extend(
                verdicts.iter().map(|verdict| if verdict.action == Action::Accept { 'a' } else { 'd' }),
            );
        }
        letters
    };
    let all = [1, 3, 1000].map(in_bursts);
    assert!(all.iter().all(|letters| *letters == all[0]), "{all:?}");
    all[0].clone()
}

const CLIENTS: &str = "state established => accept\nstate new and tcp dst port 80 => accept";

#[test]
fn a_connection_on_the_ports_of_one_that_is_gone_passes() {
    let mut frames: Vec<(u64, Vec<u8>)> = handshake(1000, 5000).map(|frame| (0, frame)).into();
    frames.push((1, numbered(true, "PA", 1001, 5001, REQUEST)));
    frames.push((1, numbered(false, "A", 5001, 1001 + REQUEST.len() as u32, "")));
    for round in 1..8 {
        let (client, server) = (0x7000_0000 + (round << 24), 0x3000_0000 + round);
        let again = handshake(client, server);
        frames.extend(again.map(|frame| (200 * u64::from(round), frame)));
    }
    assert_eq!(letters_at(&rules(CLIENTS), &frames), "a".repeat(frames.len()));
    // One end has sent FIN.
    let mut frames: Vec<(u64, Vec<u8>)> = handshake(1000, 5000).map(|frame| (0, frame)).into();
    frames.push((1, numbered(false, "FA", 5001, 1001, "")));
    frames.push((1, numbered(true, "A", 1001, 5002, "")));
    frames.extend(handshake(0x5000_0000, 9).map(|frame| (10, frame)));
    assert_eq!(letters_at(&rules(CLIENTS), &frames), "a".repeat(frames.len()));
}

#[test]
fn a_fixed_source_port_reaches_a_server_that_was_down() {
    let syn = |at: u64| (5 * at, numbered(true, "S", (at as u32) << 28 | 7, 0, ""));
    let mut frames: Vec<(u64, Vec<u8>)> = (0..6).map(syn).collect();
    frames.extend(handshake(0x7500_0000, 99).map(|frame| (30, frame)));
    assert_eq!(letters_at(&rules(CLIENTS), &frames), "a".repeat(frames.len()));
    // The first answer was lost, and the server has forgotten it.
    let [syn, answer, _] = handshake(1000, 5000);
    let [_, other, ack] = handshake(1000, 0x6000_0000);
    let frames = [(0, syn.clone()), (0, answer), (1, syn), (1, other), (1, ack)];
    assert_eq!(letters_at(&rules(CLIENTS), &frames), "aaaaa");
}

#[test]
fn the_next_connection_of_the_ports_is_identified_anew() {
    let mut frames = connection();
    let there = "eth / ip4(src=10.0.0.9, dst=10.0.0.2) / tcp(sport=4000, dport=8022";
    let back = "eth / ip4(src=10.0.0.2, dst=10.0.0.9) / tcp(sport=8022, dport=4000";
    frames.push(frame(&format!("{there}, seq=1000000000, ack=0, flags=S)")));
    frames.push(frame(&format!("{back}, seq=77, ack=1000000001, flags=SA)")));
    frames.push(frame(&format!("{there}, seq=1000000001, ack=78, flags=A)")));
    let text = rules("tcp[13] & 2 = 0 and app HTTP => reject\notherwise => accept");
    assert_eq!(letters(&text, &frames), "aaarraaa");
}

#[test]
fn a_forged_syn_ends_no_connection_and_an_answer_to_none_begins_none() {
    let mut frames: Vec<(u64, Vec<u8>)> = handshake(1000, 5000).map(|frame| (0, frame)).into();
    frames.extend([
        (1, numbered(true, "S", 0x5000_0000, 0, "")),
        (1, numbered(true, "R", 0x5000_0001, 0, "")),
        (1, numbered(false, "SA", 0x2000_0000, 0x4000_0000, "")),
        // What the server says to the SYN, and the connection goes on.
        (1, numbered(false, "A", 5001, 1001, "")),
        (1, numbered(true, "PA", 1001, 5001, REQUEST)),
        (2, numbered(false, "SA", 0x2000_0000, 0x5000_0001, "")),
    ]);
    assert_eq!(letters_at(&rules(CLIENTS), &frames), "aaaaddaad");
    // The client may begin nothing. What it answers was never let through.
    let text =
        rules("state established => accept\nstate new and src host 10.0.0.9 and tcp src port 9 => accept");
    let frames = [
        (0, numbered(false, "A", 100, 200, "")),
        (0, numbered(false, "S", 0x5000_0000, 0, "")),
        (0, numbered(true, "SA", 0x2000_0000, 0x5000_0001, "")),
    ];
    assert_eq!(letters_at(&text, &frames), "ddd");
}
