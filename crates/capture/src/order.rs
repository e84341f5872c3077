//! Byte order, as the writer of a capture chose it.

/// The order of the bytes in a file's own numbers (not in the packets, which are as they were on the wire).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ByteOrder {
    /// Least significant byte first.
    Little,
    /// Most significant byte first.
    Big,
}

impl ByteOrder {
    /// The order of the machine this runs on.
    pub const NATIVE: ByteOrder =
        if cfg!(target_endian = "big") { ByteOrder::Big } else { ByteOrder::Little };

    /// The two bytes at `at`, which must be there.
    pub(crate) fn u16(self, bytes: &[u8], at: usize) -> u16 {
        let field = [bytes[at], bytes[at + 1]];
        match self {
            ByteOrder::Little => u16::from_le_bytes(field),
            ByteOrder::Big => u16::from_be_bytes(field),
        }
    }

    /// The four bytes at `at`, which must be there.
    #[inline]
    pub(crate) fn u32(self, bytes: &[u8], at: usize) -> u32 {
        let field = bytes[at..at + 4].try_into().expect("the range is four long");
        match self {
            ByteOrder::Little => u32::from_le_bytes(field),
            ByteOrder::Big => u32::from_be_bytes(field),
        }
    }

    /// The eight bytes at `at`, which must be there.
    pub(crate) fn u64(self, bytes: &[u8], at: usize) -> u64 {
        let (first, second) = (u64::from(self.u32(bytes, at)), u64::from(self.u32(bytes, at + 4)));
        match self {
            ByteOrder::Little => second << 32 | first,
            ByteOrder::Big => first << 32 | second,
        }
    }

    #[inline]
    pub(crate) fn put_u16(self, value: u16) -> [u8; 2] {
        match self {
            ByteOrder::Little => value.to_le_bytes(),
            ByteOrder::Big => value.to_be_bytes(),
        }
    }

    #[inline]
    pub(crate) fn put_u32(self, value: u32) -> [u8; 4] {
        match self {
            ByteOrder::Little => value.to_le_bytes(),
            ByteOrder::Big => value.to_be_bytes(),
        }
    }
}
