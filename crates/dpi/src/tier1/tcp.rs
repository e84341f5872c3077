//! Flows over TCP: the beginnings of their two streams, and who is asked about them.

use super::answer::Answer;
use super::startline::Line;
use super::stream::Stream;
use super::{
    PACKETS_LIKELY_MAX, PACKETS_MAX, STREAM_MAX, Step, bittorrent, dns, ftp, h323, http, imap, irc, mysql,
    pop3, rtmp, rtsp, sip, smtp, ssh, stun, teamspeak, telnet, tls,
};
use crate::{Details, Message, Verdict};

/// Packets that are waited for where a flow's start was not seen, since the first of them may have overtaken another.
const STRAGGLERS: u8 = 3;

/// What a detector may look at.
#[derive(Clone, Copy, Debug)]
pub(super) struct Talk<'a> {
    /// Beginning of the stream that the packet belongs to. Not empty.
    pub(super) this: &'a [u8],
    /// Beginning of the other direction's stream.
    pub(super) peer: &'a [u8],
    /// Whether the packet was cut, so that the rest of what it says will not come.
    pub(super) cut: bool,
}

/// What of a flow is kept.
#[derive(Debug, Default)]
pub(super) struct Tcp {
    /// Packets with payload so far.
    packets: u8,
    /// Of each direction, that of the first packet first.
    sides: [Side; 2],
}

#[derive(Debug, Default)]
struct Side {
    stream: Stream,
    /// What was last answered about it.
    standing: Standing,
}

#[derive(Clone, Copy, Debug, Default)]
enum Standing {
    /// Nothing of it was seen.
    #[default]
    Silent,
    No,
    Maybe,
    Likely(Verdict),
}

impl Tcp {
    pub(super) fn likely(&self) -> Option<Verdict> {
        self.sides.iter().find_map(|side| match side.standing {
            Standing::Likely(verdict) => Some(verdict),
            _ => None,
        })
    }

    pub(super) fn bytes(&self) -> usize {
        self.sides.iter().map(|side| side.stream.capacity()).sum()
    }

    /// Takes in what was answered about a side.
    fn settle(&mut self, at: usize, answer: Answer) -> Step {
        self.sides[at].standing = match answer {
            Answer::Yes(verdict, details) => return Step::Decided(verdict, details),
            Answer::Likely(verdict) => Standing::Likely(verdict),
            Answer::Maybe => Standing::Maybe,
            Answer::No => Standing::No,
        };
        let side = &self.sides[at];
        if matches!(side.standing, Standing::No) {
            let waits = side.stream.has_hole() || side.stream.is_open_below() && self.packets < STRAGGLERS;
            if !waits && matches!(self.sides[1 - at].standing, Standing::No | Standing::Silent) {
                return Step::NotOurs;
            }
        }
        self.budget()
    }

    /// Whether more packets may be waited for. What fills a hole must come, as the receiver cannot go on without it.
    fn budget(&self) -> Step {
        let likely = self.likely();
        let full = self.sides.iter().any(|side| side.stream.prefix().len() >= STREAM_MAX);
        let waits = likely.is_some() || self.sides.iter().any(|side| side.stream.has_hole());
        let limit = if waits { PACKETS_LIKELY_MAX } else { PACKETS_MAX };
        match likely {
            _ if self.packets < limit && !full => Step::Undecided,
            Some(verdict) => Step::Decided(verdict, Details::default()),
            None => Step::NotOurs,
        }
    }

    /// Takes in a packet.
    pub(super) fn add(&mut self, message: &Message) -> Step {
        self.packets = self.packets.saturating_add(1);
        let at = usize::from(!message.forward);
        let side = &mut self.sides[at];
        if matches!(side.standing, Standing::No) && !side.stream.is_open_below() {
            return self.budget();
        }
        // The first of its direction is looked at where it lies, and kept only if it must be.
        if side.stream.is_empty() && message.start.is_none_or(|start| start == message.sequence) {
            let answer = detect(Talk {
                this: message.payload,
                peer: self.sides[1 - at].stream.prefix(),
                cut: message.cut,
            });
            let stream = &mut self.sides[at].stream;
            let kept = match answer {
                Answer::Yes(..) => Ok(()),
                Answer::No if message.start.is_some() => {
                    stream.begin(message);
                    Ok(())
                }
                _ => stream.add(message),
            };
            return if kept.is_ok() { self.settle(at, answer) } else { Step::NotOurs };
        }
        let seen = self.sides[at].stream.prefix().len();
        if self.sides[at].stream.add(message).is_err() {
            return self.likely().map_or(Step::NotOurs, |verdict| Step::Decided(verdict, Details::default()));
        }
        let (this, peer) = (self.sides[at].stream.prefix(), self.sides[1 - at].stream.prefix());
        if this.is_empty() || this.len() == seen {
            return self.budget();
        }
        let answer = detect(Talk { this, peer, cut: message.cut });
        self.settle(at, answer)
    }
}

/// What the stream is.
fn detect(talk: Talk) -> Answer {
    match ask(talk) {
        Answer::Likely(verdict) if talk.cut => Answer::Yes(verdict, Details::default()),
        answer => answer,
    }
}

/// Asks the detectors.
fn ask(talk: Talk) -> Answer {
    // Begins with a length, which may be any byte.
    mysql::detect(talk.this).or(|| by_first_byte(talk)).or(|| bittorrent::detect_exchange(talk.this))
}

/// Asks those that the first byte leaves.
fn by_first_byte(talk: Talk) -> Answer {
    let Talk { this, .. } = talk;
    match this[0] {
        0x16 => tls::detect(talk),
        0x14 | 0x15 | 0x17 => tls::detect_later(this),
        0x03 => h323::detect(this).or(|| rtmp::detect(talk)),
        0x13 => bittorrent::detect(this),
        0xff => telnet::detect(talk),
        0x00..=0x02 => dns::detect_tcp(this).or(|| stun::detect_tcp(this)),
        b' '..=b'~' => Line::first(this).map_or(Answer::No, |line| words(&line, talk)),
        _ => Answer::No,
    }
}

/// Protocols that begin with a line of text.
fn words(line: &Line, talk: Talk) -> Answer {
    match talk.this[0] {
        b'2' | b'3' => smtp::detect(line, talk).or(|| ftp::detect(line, talk)),
        b'+' => pop3::detect(line, talk),
        b'*' => imap::detect(line, talk),
        b':' => irc::detect(line, talk),
        b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' => http::detect(line, talk)
            .or(|| ssh::detect(line))
            .or(|| rtsp::detect(line))
            .or(|| sip::detect(line))
            .or(|| smtp::detect(line, talk))
            .or(|| ftp::detect(line, talk))
            .or(|| pop3::detect(line, talk))
            .or(|| imap::detect(line, talk))
            .or(|| irc::detect(line, talk))
            .or(|| teamspeak::detect_query(line)),
        _ => Answer::No,
    }
}
