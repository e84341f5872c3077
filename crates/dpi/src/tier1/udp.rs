//! Flows over UDP: most datagrams say at once what they are; some protocols are known only from several.

use super::answer::Answer;
use super::bittorrent::Utp;
use super::quic::{self, Quic};
use super::startline::Line;
use super::{
    PACKETS_LIKELY_MAX, PACKETS_MAX, Step, bittorrent, dhcp, dhcpv6, dns, h323, ntp, rtcp, rtp, sip, stun,
    teamspeak,
};
use crate::{Details, Message, Verdict};

/// What of a flow is kept.
#[derive(Debug, Default)]
pub(super) struct Udp {
    /// Packets with payload so far.
    packets: u8,
    /// What each direction sent, if it may be RTP; that of the first packet first.
    rtp: [rtp::Track; 2],
    utp: Option<Utp>,
    quic: Option<Box<Quic>>,
    likely: Option<Verdict>,
}

impl Udp {
    pub(super) fn likely(&self) -> Option<Verdict> {
        self.likely
    }

    pub(super) fn bytes(&self) -> usize {
        self.quic.as_ref().map_or(0, |quic| quic.bytes())
    }

    /// Takes in a packet.
    pub(super) fn add(&mut self, scratch: &mut quic::Scratch, message: &Message) -> Step {
        self.packets = self.packets.saturating_add(1);
        match self.detect(scratch, message) {
            Answer::Yes(verdict, details) => return Step::Decided(verdict, details),
            Answer::Likely(verdict) if message.cut => return Step::Decided(verdict, Details::default()),
            Answer::Likely(verdict) => self.likely = Some(verdict),
            Answer::Maybe => {}
            // Nothing said so far was ours.
            Answer::No if self.is_blank() => return Step::NotOurs,
            Answer::No => {}
        }
        match self.likely {
            Some(_) if self.packets < PACKETS_LIKELY_MAX => Step::Undecided,
            Some(verdict) => Step::Decided(verdict, Details::default()),
            None if self.packets < PACKETS_MAX => Step::Undecided,
            None => Step::NotOurs,
        }
    }

    fn is_blank(&self) -> bool {
        self.likely.is_none() && self.utp.is_none() && self.rtp.iter().all(rtp::Track::is_blank)
    }

    /// Asks the detectors that the first byte leaves; a message of DNS may have any.
    fn detect(&mut self, scratch: &mut quic::Scratch, message: &Message) -> Answer {
        // Keep-alives say nothing (RFC 5626 section 3.5.1, and zeros that open a way through a NAT).
        if message.payload.len() <= 4 && message.payload.iter().all(|byte| matches!(byte, b'\r' | b'\n' | 0))
        {
            return Answer::Maybe;
        }
        let first = message.payload[0];
        let answer = match first {
            0x00..=0x3f => {
                let answer =
                    stun::detect_udp(message).or(|| dhcp::detect(message)).or(|| ntp::detect(message));
                answer
                    .or(|| dhcpv6::detect(message))
                    .or(|| h323::detect_udp(message))
                    .or(|| bittorrent::detect_udp(message))
            }
            b'A'..=b'Z' | b'a'..=b'z' => self.words(message),
            0x80..=0xbf => {
                rtcp::detect(message).or(|| self.rtp[usize::from(!message.forward)].add(message.payload))
            }
            0xc0..=0xff => {
                let answer = quic::detect(message, &mut self.quic, scratch);
                answer.or(|| teamspeak::detect_udp(message)).or(|| ntp::detect(message))
            }
            _ => Answer::No,
        };
        let answer = answer.or(|| dns::detect_udp(message));
        // Its packets begin with any letter of a few, and have nothing else.
        answer.or(|| bittorrent::detect_utp(message, &mut self.utp))
    }

    fn words(&mut self, message: &Message) -> Answer {
        let sip = match Line::first(message.payload) {
            Some(line) => match sip::detect(&line) {
                // A datagram is all there is.
                Answer::Maybe | Answer::Likely(_) if !message.cut => Answer::No,
                answer => answer,
            },
            None => Answer::No,
        };
        sip.or(|| bittorrent::detect_udp(message)).or(|| teamspeak::detect_udp(message))
    }
}
