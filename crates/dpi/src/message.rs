//! What one packet of a flow says, without its headers.

/// The payload of one packet, and what identification may know of its headers.
#[derive(Clone, Copy, Debug)]
pub struct Message<'a> {
    /// Protocol over IP: 6 for TCP, 17 for UDP.
    pub transport: u8,
    /// Whether it is IPv6 that carries it.
    pub ipv6: bool,
    /// Whether it goes the way of the first packet of its flow.
    pub forward: bool,
    /// Port of its sender; 0 where there are none.
    pub source_port: u16,
    /// Port of its receiver.
    pub destination_port: u16,
    /// Sequence number of its first byte, over TCP.
    pub sequence: u32,
    /// Sequence number of the first byte that its sender ever sent, where the SYN was seen: one more than the SYN's. It tells the first segment from one that overtook it.
    pub start: Option<u32>,
    /// What the transport carries, as far as it was captured. Not empty.
    pub payload: &'a [u8],
    /// Whether more of it was on the wire than was captured.
    pub cut: bool,
}
