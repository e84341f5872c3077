//! A TCP header and its options (RFC 9293; RFC 7323, RFC 2018).

use std::fmt;

use crate::bytes::{u16_at, u32_at};
use crate::transport::{Tcp, TcpFlags};

const END: u8 = 0;
const NO_OPERATION: u8 = 1;
const MAXIMUM_SEGMENT_SIZE: u8 = 2;
const WINDOW_SCALE: u8 = 3;
const SACK_PERMITTED: u8 = 4;
const SACK: u8 = 5;
const TIMESTAMPS: u8 = 8;

/// Blocks that fit the options (RFC 2018, 3).
const SACKS_MAX: usize = 4;

/// What a TCP header says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TcpDetail {
    flags: TcpFlags,
    seq: u32,
    /// Where the flag is set.
    ack: Option<u32>,
    /// Not scaled.
    window: u16,
    segment_max: Option<u16>,
    window_scale: Option<u8>,
    is_sack_permitted: bool,
    /// The sender's clock, and what it has last seen of the other's.
    timestamps: Option<(u32, u32)>,
    /// Ranges of sequence numbers that have arrived out of order; only these many.
    sacks: ([(u32, u32); SACKS_MAX], usize),
    /// Whether no option that a line shows can be among those that were not captured.
    pub(super) has_all_options: bool,
}

impl TcpDetail {
    /// Reads the header, and what was captured of its options, which have so many bytes.
    pub(super) fn read(tcp: &Tcp<'_>, options: &[u8], options_len: usize) -> TcpDetail {
        let flags = tcp.flags();
        let mut detail = TcpDetail {
            flags,
            seq: tcp.seq(),
            ack: flags.has_ack().then(|| tcp.ack()),
            window: tcp.window(),
            segment_max: None,
            window_scale: None,
            is_sack_permitted: false,
            timestamps: None,
            sacks: ([(0, 0); SACKS_MAX], 0),
            has_all_options: true,
        };
        let end = detail.read_options(options);
        // The shortest that a line shows has two bytes.
        detail.has_all_options = options_len <= options.len() || end.is_none_or(|end| options_len < end + 2);
        detail
    }

    /// Reads options, and says where the first one begins that is not there, or is there in part and would be shown; `None` where no more can
    /// follow. Each option takes a byte or more, so this ends.
    fn read_options(&mut self, options: &[u8]) -> Option<usize> {
        let mut at = 0;
        while let Some((&kind, rest)) = options.get(at..).and_then(<[u8]>::split_first) {
            let len = match (kind, rest.first()) {
                (NO_OPERATION, _) => 1,
                (END, _) | (_, Some(0 | 1)) => return None,
                (_, None) => return Some(at),
                (_, Some(&len)) => usize::from(len),
            };
            match options.get(at..at + len) {
                Some(option) if len > 1 => self.option(kind, &option[2..]),
                None if is_shown(kind) => return Some(at),
                _ => {}
            }
            at += len;
        }
        Some(at)
    }

    fn option(&mut self, kind: u8, value: &[u8]) {
        match (kind, value.len()) {
            (MAXIMUM_SEGMENT_SIZE, 2) => self.segment_max = u16_at(value, 0),
            (WINDOW_SCALE, 1) => self.window_scale = value.first().copied(),
            (SACK_PERMITTED, 0) => self.is_sack_permitted = true,
            (TIMESTAMPS, 8) => self.timestamps = u32_at(value, 0).zip(u32_at(value, 4)),
            (SACK, _) => {
                let edges = |block: &[u8]| u32_at(block, 0).zip(u32_at(block, 4));
                let (blocks, count) = &mut self.sacks;
                *count = 0;
                for (slot, block) in blocks.iter_mut().zip(value.chunks_exact(8).filter_map(edges)) {
                    *slot = block;
                    *count += 1;
                }
            }
            _ => {}
        }
    }
}

/// Whether a line shows options of this kind.
fn is_shown(kind: u8) -> bool {
    matches!(kind, MAXIMUM_SEGMENT_SIZE | WINDOW_SCALE | SACK_PERMITTED | SACK | TIMESTAMPS)
}

impl fmt::Display for TcpDetail {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} seq {}", self.flags, self.seq)?;
        if let Some(ack) = self.ack {
            write!(f, " ack {ack}")?;
        }
        write!(f, " win {}", self.window)?;
        if let Some(size) = self.segment_max {
            write!(f, " mss {size}")?;
        }
        if let Some(scale) = self.window_scale {
            write!(f, " wscale {scale}")?;
        }
        if self.is_sack_permitted {
            f.write_str(" sackok")?;
        }
        if let Some((value, echo)) = self.timestamps {
            write!(f, " ts {value} ecr {echo}")?;
        }
        let (blocks, count) = self.sacks;
        for (i, (left, right)) in blocks[..count].iter().enumerate() {
            write!(f, "{}{left}-{right}", if i == 0 { " sack " } else { "," })?;
        }
        Ok(())
    }
}
