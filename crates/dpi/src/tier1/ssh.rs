//! SSH (RFC 4253 section 4.2).
//!
//! Asked of the bytes: the identification `SSH-2.0-`, `SSH-1.99-` or `SSH-1.x-` at the beginning of a stream.

use super::answer::Answer;
use super::startline::Line;
use crate::Protocol;

pub(super) fn detect(line: &Line) -> Answer {
    match line.text {
        [b'S', b'S', b'H', b'-', b'2', b'.', b'0', b'-', ..]
        | [b'S', b'S', b'H', b'-', b'1', b'.', b'0'..=b'9', b'-', ..]
        | [b'S', b'S', b'H', b'-', b'1', b'.', b'9', b'9', b'-', ..] => {
            Answer::yes(Protocol::SSH, "SSH identification string")
        }
        text if !line.whole && (b"SSH-2.0-".starts_with(text) || b"SSH-1.99-".starts_with(text)) => {
            Answer::Maybe
        }
        _ => Answer::No,
    }
}
