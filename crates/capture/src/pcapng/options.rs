//! The options at the end of most blocks: code, length, value, padding (section 3.5 of the draft).

use crate::error::BlockProblem;
use crate::order::ByteOrder;

const END_OF_OPTIONS: u16 = 0;
/// Custom options, a text and bytes, that a program must not copy when it changes the file (section 3.5.1 of the draft).
const CUSTOM_NO_COPY: [u16; 2] = [19372, 19373];

/// Iterates over `(code, value)`; an option that its block cannot hold is an error and the last item.
pub(crate) struct Options<'a> {
    order: ByteOrder,
    rest: &'a [u8],
}

impl<'a> Options<'a> {
    pub(crate) fn new(order: ByteOrder, bytes: &'a [u8]) -> Options<'a> {
        Options { order, rest: bytes }
    }
}

impl<'a> Iterator for Options<'a> {
    type Item = Result<(u16, &'a [u8]), BlockProblem>;

    fn next(&mut self) -> Option<Self::Item> {
        let (head, body) = self.rest.split_at_checked(4)?;
        let (code, length) = (self.order.u16(head, 0), self.order.u16(head, 2));
        if code == END_OF_OPTIONS {
            self.rest = &[];
            return None;
        }
        let Some((value, after)) = body.split_at_checked(length.into()) else {
            self.rest = &[];
            return Some(Err(BlockProblem::Option { code, length }));
        };
        let padding = value.len().next_multiple_of(4) - value.len();
        self.rest = after.get(padding..).unwrap_or_default();
        Some(Ok((code, value)))
    }
}

/// Whether an option must not be copied.
pub(crate) fn is_uncopyable(code: u16) -> bool {
    CUSTOM_NO_COPY.contains(&code)
}

/// Whether there is an option that must not be copied.
pub(crate) fn has_uncopyable(order: ByteOrder, options: &[u8]) -> bool {
    Options::new(order, options).flatten().any(|(code, _)| CUSTOM_NO_COPY.contains(&code))
}

/// Copies all options except those that must not be copied. Bytes after the last option stay as they are.
pub(crate) fn copy_copyable(order: ByteOrder, mut options: &[u8], out: &mut Vec<u8>) {
    while let Some((head, body)) = options.split_at_checked(4) {
        let (code, length) = (order.u16(head, 0), usize::from(order.u16(head, 2)));
        let Some(next) = body.get(length.next_multiple_of(4)..).filter(|_| code != END_OF_OPTIONS) else {
            break;
        };
        if !CUSTOM_NO_COPY.contains(&code) {
            out.extend_from_slice(&options[..options.len() - next.len()]);
        }
        options = next;
    }
    out.extend_from_slice(options);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn walks_and_stops() {
        let bytes = [9, 0, 1, 0, 6, 0, 0, 0, 2, 0, 4, 0, b'e', b't', b'h', b'0', 0, 0, 0, 0, 7, 7];
        let all: Vec<_> = Options::new(ByteOrder::Little, &bytes).collect();
        assert_eq!(all, [Ok((9, &[6][..])), Ok((2, &b"eth0"[..]))]);
    }

    #[test]
    fn reports_what_does_not_fit() {
        let bytes = [0, 9, 0, 5, 1, 2, 3, 4];
        let all: Vec<_> = Options::new(ByteOrder::Big, &bytes).collect();
        assert_eq!(all, [Err(BlockProblem::Option { code: 9, length: 5 })]);
    }
}
