//! `truncate`: cuts packets to a length.
//!
//! | inputs | `input` |
//! |---|---|
//! | outputs | `output` |
//! | `length` | bytes of a packet at most, 0 to 10240; required |
//! | `pad` | whether shorter packets are filled up with zeroes, as Snabb's `Truncate` does; `false` unless set |
//! | `truncated` | counts packets that were cut |
//!
//! Where the graph keeps metadata, a packet still knows how long it was on the wire, as one captured with `tcpdump -s`: `pcap_writer`
//! writes it so. Lengths within headers and checksums are left as they are.

use engine::shm::Counter;
use engine::{App, Class, Io, MAX_PAYLOAD, OptionError, Packet, Setup};
use serde::Deserialize;

/// Options of `truncate`.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Truncate {
    /// Bytes of a packet at most.
    pub length: usize,
    /// Whether shorter packets are filled up.
    #[serde(default)]
    pub pad: bool,
}

/// A running `truncate`.
#[derive(Debug)]
pub struct Running {
    options: Truncate,
    truncated: Counter,
}

impl Class for Truncate {
    const TYPE: &'static str = "truncate";
    type App = Running;

    fn check(&self) -> Result<(), OptionError> {
        OptionError::check_range("length", self.length, 0..=MAX_PAYLOAD)
    }

    fn start(&self, setup: &mut Setup<'_>) -> Result<Running, OptionError> {
        Ok(Running { options: self.clone(), truncated: setup.counter("truncated") })
    }

    fn reconfigure(&self, app: &mut Running, _: &Self, _: &mut Setup<'_>) -> Result<bool, OptionError> {
        app.options = self.clone();
        Ok(true)
    }
}

impl App for Running {
    fn push(&mut self, io: &mut Io<'_>) {
        let metadata = io.pool.uses_metadata();
        let (input, output) = io.through();
        while let Some(mut burst) = input.burst() {
            let fits = |packet: &mut Packet| u64::from(self.options.fit(packet, metadata));
            self.truncated.add(burst.iter_mut().map(fits).sum());
            output.send(burst);
        }
    }
}

impl Truncate {
    /// Gives a packet its length. Returns whether it was cut.
    #[inline]
    fn fit(&self, packet: &mut Packet, metadata: bool) -> bool {
        let len = packet.len();
        if len > self.length {
            packet.truncate(self.length);
            if metadata {
                let cut_len = &mut packet.metadata_mut().cut_len;
                *cut_len = cut_len.saturating_add((len - self.length) as u32);
            }
            return true;
        }
        // No length is too long that has been checked.
        if self.pad && packet.resize(self.length).is_ok() && metadata {
            let cut_len = &mut packet.metadata_mut().cut_len;
            *cut_len = cut_len.saturating_sub((self.length - len) as u32);
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::Truncate;
    use engine::{Class, Metadata};
    use testkit::rig::Rig;

    #[test]
    fn long_packets_are_cut_and_remember_their_length() {
        let mut rig = Rig::new(Truncate { length: 60, pad: false }, &["input"], &["output"]);
        let lengths = [0, 1, 59, 60, 61, 1500, 10240];
        lengths.iter().for_each(|&len| rig.send("input", vec![9; len]));
        rig.send_with("input", [9; 100], Metadata { cut_len: 1000, ..Metadata::default() });
        rig.breathe();
        let received = rig.received("output");
        let wire_lens: Vec<usize> =
            received.iter().map(|packet| packet.data.len() + packet.metadata.cut_len as usize).collect();
        assert_eq!(wire_lens, [0, 1, 59, 60, 61, 1500, 10240, 1100]);
        let lens: Vec<usize> = received.iter().map(|packet| packet.data.len()).collect();
        assert_eq!(lens, [0, 1, 59, 60, 60, 60, 60, 60]);
        assert_eq!(rig.counter("truncated"), 4);
    }

    #[test]
    fn short_packets_are_filled_up_where_that_is_wanted() {
        let mut rig = Rig::new(Truncate { length: 4, pad: true }, &["input"], &["output"]);
        assert_eq!(rig.pass(&[b"", b"ab", b"abcd", b"abcdef"]), [b"\0\0\0\0", b"ab\0\0", b"abcd", b"abcd"]);
        rig.send_with("input", b"ab", Metadata { cut_len: 1, ..Metadata::default() });
        rig.breathe();
        assert_eq!(rig.received("output")[0].metadata.cut_len, 0);
        rig.reconfigure(Truncate { length: 0, pad: true });
        assert_eq!(rig.pass(&[b"ab"]), [b""]);
    }

    #[test]
    fn lengths_are_checked() {
        let error = Truncate { length: 10241, pad: false }.check().unwrap_err();
        assert_eq!(error.to_string(), "`length`: 10241 is not between 0 and 10240");
    }
}
