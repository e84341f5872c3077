//! `source`: the same packet, over and over, as fast as the graph takes it.
//!
//! | outputs | any: each gets as many |
//! |---|---|
//! | `size` | bytes of a packet, 14 to 10240; 60 unless set |
//! | `count` | packets in all, to each output; without end unless set |
//!
//! The packets are Ethernet frames of the local experimental type (0x88b5, IEEE 802), otherwise zero. A link with little
//! room gets as many as fit: a source drops nothing.

use engine::{App, Class, Io, MAX_PAYLOAD, OptionError, Packet, Ports, Roles, Setup};
use serde::Deserialize;

/// Options of `source`.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Source {
    /// Bytes of a packet.
    pub size: usize,
    /// Packets in all, to each output.
    pub count: Option<u64>,
}

impl Default for Source {
    fn default() -> Self {
        Source { size: 60, count: None }
    }
}

/// A running `source`.
#[derive(Debug)]
pub struct Running {
    frame: Vec<u8>,
    /// What is copied; made when the pool is first at hand.
    template: Option<Packet>,
    left: u64,
}

impl Class for Source {
    const TYPE: &'static str = "source";
    const INPUTS: Ports = Ports::NONE;
    const OUTPUTS: Ports = Ports::Any;
    type App = Running;

    fn check(&self) -> Result<(), OptionError> {
        OptionError::check_range("size", self.size, 14..=MAX_PAYLOAD)
    }

    fn start(&self, _: &mut Setup<'_>) -> Result<Running, OptionError> {
        let mut frame = vec![0; self.size];
        frame[12..14].copy_from_slice(&[0x88, 0xb5]);
        Ok(Running { frame, template: None, left: self.count.unwrap_or(u64::MAX) })
    }
}

impl App for Running {
    fn roles(&self) -> Roles {
        Roles::PULL
    }

    fn pull(&mut self, io: &mut Io<'_>) {
        if self.template.is_none() && self.left > 0 {
            self.template = io.pool.packet(&self.frame);
        }
        let Some(template) = &self.template else { return };
        let burst = io.burst.min(usize::try_from(self.left).unwrap_or(usize::MAX));
        for output in io.outputs.iter_mut() {
            output.send_copies(io.pool, template, burst.min(output.room()));
        }
        self.left -= burst as u64;
        if self.left == 0 {
            self.template.take().into_iter().for_each(|packet| io.pool.take_back(packet));
        }
    }

    fn held(&self) -> usize {
        usize::from(self.template.is_some())
    }

    fn is_finished(&self) -> bool {
        self.left == 0
    }
}

#[cfg(test)]
mod tests {
    use super::Source;
    use testkit::rig::Rig;

    #[test]
    fn it_sends_as_many_as_it_is_told_to() {
        let mut rig = Rig::new(Source { size: 100, count: Some(70) }, &[], &["a", "b"]);
        (0..5).for_each(|_| rig.breathe());
        for output in ["a", "b"] {
            let packets = rig.take(output);
            assert_eq!(packets.len(), 70, "{output}");
            assert!(packets.iter().all(|packet| packet.len() == 100 && packet[12..14] == [0x88, 0xb5]));
        }
    }

    #[test]
    fn sizes_are_checked() {
        use engine::Class;
        let error = Source { size: 5, count: None }.check().unwrap_err();
        assert_eq!(error.to_string(), "`size`: 5 is not between 14 and 10240");
    }
}
