//! What was found out about a flow.

use crate::Protocol;

/// Who found out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum By {
    /// Nobody yet.
    #[default]
    Nobody,
    /// Tier 1, in safe Rust.
    Tier1,
    /// nDPI.
    Ndpi,
}

/// How sure it is, the least sure first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Confidence {
    /// Nothing is known.
    #[default]
    Unknown,
    /// Guessed from ports.
    Port,
    /// Guessed from addresses.
    Address,
    /// Concluded from what other flows said.
    Related,
    /// From a part of what it said.
    Partial,
    /// From what it said.
    Payload,
}

/// What protocol a flow speaks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Verdict {
    /// The application, or the protocol where that is all that is known.
    pub protocol: Protocol,
    /// The protocol that carries the application; [`Protocol::UNKNOWN`] where there is none, or where it is the same.
    pub master: Protocol,
    /// Who found out.
    pub by: By,
    /// How sure it is.
    pub confidence: Confidence,
    /// What it was told by, in a few words.
    pub evidence: &'static str,
}

/// What a flow says of itself. All strings come from packets: bytes that anybody may have chosen.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Details {
    /// Name of the server: of TLS's or QUIC's server name, or of HTTP's host. In lower case, 255 bytes at most.
    pub sni: Option<Box<str>>,
    /// What protocols the client offers inside TLS, the first of them.
    pub alpn: Option<Box<str>>,
    /// Fingerprint of the client, JA4.
    pub ja4: Option<Box<str>>,
}
