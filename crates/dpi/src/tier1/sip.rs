//! SIP (RFC 3261 section 7), over UDP and TCP.
//!
//! Asked of the bytes: a request line that ends with `SIP/2.0`, or a status line that begins so.

use super::answer::Answer;
use super::startline::Line;
use crate::Protocol;

pub(super) fn detect(line: &Line) -> Answer {
    if line.request().is_some_and(|request| request.version == b"SIP/2.0") {
        return Answer::yes(Protocol::SIP, "SIP request line");
    }
    if line.is_status(b"SIP/2.") {
        return Answer::yes(Protocol::SIP, "SIP status line");
    }
    let target = line.text.split(|&byte| byte == b' ').nth(1);
    if line.whole {
        Answer::No
    } else if target.is_some_and(|target| target.starts_with(b"sip:") || target.starts_with(b"sips:")) {
        Answer::likely(Protocol::SIP, "SIP target")
    } else if line.may_begin(&[b"SIP/2.0 "]) {
        Answer::Maybe
    } else {
        Answer::No
    }
}
