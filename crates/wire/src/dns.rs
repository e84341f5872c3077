//! Names in messages of DNS (RFC 1035, 4.1.4): walked over label by label, wherever they go on.

use crate::bytes::{u8_at, u16_at};

/// Bytes of a header; no name begins before.
pub(crate) const HEADER_LEN: usize = 12;
/// Bytes of a name (RFC 1035, 2.3.4).
const NAME_LEN_MAX: usize = 255;
/// Times that a name may go on elsewhere. Each goes back, so this only makes it sooner that a hostile one ends.
const JUMPS_MAX: usize = 16;

/// Why the end of a name is not known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NameError {
    /// The message ends within it.
    Cut,
    /// It cannot be a name.
    Bad,
}

/// Where the name ends that begins at `at`; not where it goes on elsewhere.
pub(crate) fn name_end(message: &[u8], mut at: usize) -> Result<usize, NameError> {
    let least_beyond = at + NAME_LEN_MAX;
    while at < least_beyond {
        match u8_at(message, at).ok_or(NameError::Cut)? {
            0 => return Ok(at + 1),
            len @ 1..=63 => at += 1 + usize::from(len),
            0xc0.. => return Ok(at + 2),
            _ => break,
        }
    }
    Err(NameError::Bad)
}

/// A part of a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part<'a> {
    /// A label, perhaps without what was not captured.
    Label(&'a [u8]),
    /// What is not there, or cannot be: the last part.
    Missing,
}

/// The labels of a name. Pointers only go back, as they must (RFC 1035, 4.1.4), so they end.
#[derive(Clone, Debug)]
pub(crate) struct Labels<'a> {
    message: &'a [u8],
    at: usize,
    least_pointed_at: usize,
    jumps: usize,
    is_over: bool,
}

impl<'a> Labels<'a> {
    /// Those of the name that begins at `at`.
    pub(crate) fn new(message: &'a [u8], at: usize) -> Self {
        Labels { message, at, least_pointed_at: at, jumps: 0, is_over: false }
    }
}

impl<'a> Iterator for Labels<'a> {
    type Item = Part<'a>;

    fn next(&mut self) -> Option<Part<'a>> {
        while !self.is_over {
            match u8_at(self.message, self.at) {
                Some(0) => break,
                Some(len @ 1..=63) => {
                    let label = self.message.get(self.at + 1..).unwrap_or_default();
                    self.at += 1 + usize::from(len);
                    return Some(Part::Label(&label[..label.len().min(len.into())]));
                }
                Some(0xc0..) => {
                    let pointer = u16_at(self.message, self.at).map(|pointer| usize::from(pointer & 0x3fff));
                    self.jumps += 1;
                    match pointer.filter(|at| (HEADER_LEN..self.least_pointed_at).contains(at)) {
                        Some(pointer) if self.jumps <= JUMPS_MAX => {
                            (self.at, self.least_pointed_at) = (pointer, pointer);
                        }
                        _ => return self.missing(),
                    }
                }
                _ => return self.missing(),
            }
        }
        self.is_over = true;
        None
    }
}

impl<'a> Labels<'a> {
    fn missing(&mut self) -> Option<Part<'a>> {
        self.is_over = true;
        Some(Part::Missing)
    }
}
