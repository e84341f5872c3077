//! RTMP (Adobe's specification 1.0, sections 5.2 and 7.2.1.1).
//!
//! Asked of the bytes: version 3 and a chunk of 1536 bytes from the client, and from the server the same version and the client's chunk again; or, behind the client's two
//! chunks, its command `connect`. Players whose chunks carry digests echo nothing.

use super::answer::Answer;
use super::tcp::Talk;
use crate::Protocol;

/// Bytes of a chunk of the handshake.
const CHUNK: usize = 1536;
/// The name of the first command, as a string of AMF0, or of AMF3 behind a zero.
const CONNECT: &[u8] = b"\x02\0\x07connect";
/// Where in the first message it may begin: behind a chunk header of up to 18 bytes.
const CONNECT_WITHIN: usize = 64;

pub(super) fn detect(talk: Talk) -> Answer {
    let (this, peer) = (talk.this, talk.peer);
    if this[0] != 3 || peer.first().is_some_and(|&version| version != 3) {
        return Answer::No;
    }
    if is_echo(this, peer) || is_echo(peer, this) {
        return Answer::yes(Protocol::RTMP, "RTMP handshake");
    }
    if connects(this) {
        return Answer::yes(Protocol::RTMP, "RTMP connect");
    }
    if this.len() > 2 * CHUNK + 1 + CONNECT_WITHIN + CONNECT.len() && peer.len() > 2 * CHUNK {
        return Answer::No;
    }
    // Both say version 3, and one sent a chunk and no more before the other began.
    if !peer.is_empty()
        && (peer.len() == CHUNK + 1 || this.len() == CHUNK + 1 || peer.len().min(this.len()) > CHUNK)
    {
        return Answer::likely(Protocol::RTMP, "RTMP versions and chunk");
    }
    // The client waits for an answer before it goes on.
    if peer.is_empty() && this.len() > CHUNK + 1 { Answer::No } else { Answer::Maybe }
}

/// Whether the server sent the client's chunk back, but for the time in its second word.
fn is_echo(client: &[u8], server: &[u8]) -> bool {
    let (Some(sent), Some(echo)) = (client.get(1..=CHUNK), server.get(1 + CHUNK..=2 * CHUNK)) else {
        return false;
    };
    sent[..4] == echo[..4] && sent[8..] == echo[8..] && sent[8..].iter().any(|&byte| byte != sent[8])
}

fn connects(client: &[u8]) -> bool {
    client.get(1 + 2 * CHUNK..).is_some_and(|messages| {
        let window = &messages[..messages.len().min(CONNECT_WITHIN + CONNECT.len())];
        window.windows(CONNECT.len()).any(|bytes| bytes == CONNECT)
    })
}
