//! Reading numbers out of bytes that may end too early, and writing them into headers.

/// The byte at `at`, if it is there.
#[inline]
#[must_use]
pub fn u8_at(bytes: &[u8], at: usize) -> Option<u8> {
    bytes.get(at).copied()
}

/// The big-endian 16-bit number at `at`, if it is there.
#[inline]
#[must_use]
pub fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes(array_at(bytes, at)?))
}

/// The big-endian 32-bit number at `at`, if it is there.
#[inline]
#[must_use]
pub fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_be_bytes(array_at(bytes, at)?))
}

/// The `N` bytes at `at`, if they are there.
#[inline]
#[must_use]
pub fn array_at<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..)?.first_chunk().copied()
}

/// Writes `value` at `at`.
///
/// For headers whose length the view that calls has checked; elsewhere this would panic.
#[inline]
pub(crate) fn put<const N: usize>(bytes: &mut [u8], at: usize, value: [u8; N]) {
    bytes[at..at + N].copy_from_slice(&value);
}

/// The bytes of a hexadecimal dump; white space is skipped.
#[cfg(test)]
pub(crate) fn from_hex(dump: &str) -> Vec<u8> {
    let digits: Vec<u32> =
        dump.chars().filter(|c| !c.is_whitespace()).map(|c| c.to_digit(16).unwrap()).collect();
    digits.as_chunks().0.iter().map(|[high, low]| (high << 4 | low) as u8).collect()
}
