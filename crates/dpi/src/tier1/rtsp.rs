//! RTSP (RFC 2326 sections 6 and 7, RFC 7826).
//!
//! Asked of the bytes: a request line that ends with `RTSP/1.0` or `RTSP/2.0`, or a status line that begins so.

use super::answer::Answer;
use super::startline::Line;
use crate::Protocol;

pub(super) fn detect(line: &Line) -> Answer {
    let version = |version: &[u8]| matches!(version, b"RTSP/1.0" | b"RTSP/2.0");
    if line.request().is_some_and(|request| version(request.version)) {
        return Answer::yes(Protocol::RTSP, "RTSP request line");
    }
    if line.is_status(b"RTSP/1.") || line.is_status(b"RTSP/2.") {
        return Answer::yes(Protocol::RTSP, "RTSP status line");
    }
    if line.whole {
        Answer::No
    } else if line
        .text
        .split(|&byte| byte == b' ')
        .nth(1)
        .is_some_and(|target| target.starts_with(b"rtsp://"))
    {
        Answer::likely(Protocol::RTSP, "RTSP target")
    } else if line.may_begin(&[b"RTSP/1.0 ", b"RTSP/2.0 "]) {
        Answer::Maybe
    } else {
        Answer::No
    }
}
