//! `truncate`: cuts packets to a length.
//!
//! | inputs | `input` |
//! |---|---|
//! | outputs | `output` |
//! | `length` | bytes of a packet at most, 0 to 65535; required |
//! | `pad` | whether shorter packets are filled up with zeroes, as Snabb's `Truncate` does; `false` unless set |
//! | `truncated` | counts packets that were cut |
//! | `not_padded` | counts packets that stayed short, since the pool had no large packet, of more than 10240 bytes |
//!
//! Where the graph keeps metadata, a packet still knows how long it was on the wire, as one captured with `tcpdump -s`: `pcap_writer`
//! writes it so. Lengths within headers and checksums are left as they are.

use engine::shm::Counter;
use engine::{App, Class, Io, MAX_LARGE_PAYLOAD, OptionError, Packet, Pool, Reconfigured, Setup};
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
    not_padded: Counter,
}

/// The fate of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    Fits,
    Truncated,
    NotPadded,
}

impl Class for Truncate {
    const TYPE: &'static str = "truncate";
    type App = Running;

    fn check(&self) -> Result<(), OptionError> {
        OptionError::check_range("length", self.length, 0..=MAX_LARGE_PAYLOAD)
    }

    fn start(&self, setup: &mut Setup<'_>) -> Result<Running, OptionError> {
        Ok(Running {
            options: self.clone(),
            truncated: setup.counter("truncated"),
            not_padded: setup.counter("not_padded"),
        })
    }

    fn reconfigure(
        &self,
        app: &mut Running,
        _: &Self,
        _: &mut Setup<'_>,
    ) -> Result<Reconfigured, OptionError> {
        app.options = self.clone();
        Ok(Reconfigured::Kept)
    }
}

impl App for Running {
    fn push(&mut self, io: &mut Io<'_>) {
        let (input, output) = (&mut io.inputs[0], &mut io.outputs[0]);
        while let Some(mut burst) = input.burst() {
            let (mut truncated, mut not_padded) = (0, 0);
            for packet in burst.iter_mut() {
                let fate = self.options.fit(packet, io.pool);
                truncated += u64::from(fate == Fate::Truncated);
                not_padded += u64::from(fate == Fate::NotPadded);
            }
            self.truncated.add(truncated);
            self.not_padded.add(not_padded);
            output.send(burst);
        }
    }
}

impl Truncate {
    /// Gives a packet its length.
    #[inline]
    fn fit(&self, packet: &mut Packet, pool: &mut Pool) -> Fate {
        let metadata = pool.uses_metadata();
        let len = packet.len();
        if len > self.length {
            packet.truncate(self.length);
            if metadata {
                let cut_len = &mut packet.metadata_mut().cut_len;
                *cut_len = cut_len.saturating_add((len - self.length) as u32);
            }
            return Fate::Truncated;
        }
        if !self.pad {
            return Fate::Fits;
        }
        let is_padded = packet.resize(self.length).is_ok() || self.pad_anyhow(packet, pool);
        if !is_padded {
            return Fate::NotPadded;
        }
        if metadata {
            let cut_len = &mut packet.metadata_mut().cut_len;
            *cut_len = cut_len.saturating_sub((self.length - len) as u32);
        }
        Fate::Fits
    }

    /// Pads a packet that has no room for that where it is.
    #[cold]
    fn pad_anyhow(&self, packet: &mut Packet, pool: &mut Pool) -> bool {
        pool.make_room(packet, self.length) && packet.resize(self.length).is_ok()
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
        let lengths = [0, 1, 59, 60, 61, 10240, 60000];
        lengths.iter().for_each(|&len| rig.send("input", vec![9; len]));
        rig.send_with("input", [9; 100], Metadata { cut_len: 1000, ..Metadata::default() });
        rig.breathe();
        let received = rig.received("output");
        let wire_lens: Vec<usize> =
            received.iter().map(|packet| packet.data.len() + packet.metadata.cut_len as usize).collect();
        assert_eq!(wire_lens, [0, 1, 59, 60, 61, 10240, 60000, 1100]);
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
    fn long_ones_are_filled_up_as_long_as_there_are_large_packets() {
        let mut rig = Rig::with_large(Truncate { length: 20_000, pad: true }, &["input"], &["output"], 64, 3);
        let out = rig.pass(&[b"a", &[1; 30_000], &[2; 10_240], b"b"]);
        assert_eq!(out.iter().map(Vec::len).collect::<Vec<_>>(), [20_000, 20_000, 20_000, 1]);
        assert!(out[0][0] == b'a' && out[0][1..].iter().all(|&byte| byte == 0));
        assert_eq!((rig.counter("not_padded"), rig.counter("truncated")), (1, 1));
    }

    #[test]
    fn lengths_are_checked() {
        let error = Truncate { length: 65536, pad: false }.check().unwrap_err();
        assert_eq!(error.to_string(), "`length`: 65536 is not between 0 and 65535");
    }
}
