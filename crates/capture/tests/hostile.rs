//! Any bytes: no panic, no endless loop, nothing invented, and the same packets by every road.

mod common;

use common::*;
use proptest::prelude::*;

/// Sound captures to damage.
fn captures() -> Vec<Vec<u8>> {
    let mut all = Vec::new();
    for order in ORDERS {
        for (magic, version) in
            [(MICRO, (2, 4)), (NANO, (2, 4)), (MODIFIED, (2, 4)), (MICRO, (2, 2)), (MICRO, (2, 3))]
        {
            let mut file = pcap_header(order, magic, version, 64, 1);
            for len in [0_u32, 4, 33, 80] {
                file = file.u32(len).u32(7).u32(len).u32(len);
                if magic == MODIFIED {
                    file = file.raw(&[0; 8]);
                }
                file = file.raw(&vec![0x55; len as usize]);
            }
            all.push(file.bytes);
        }
        let section = |b: Bytes| {
            b.section()
                .block(INTERFACE, |b| b.u16(1).u16(0).u32(64).option(2, b"eth0").option(9, &[9]).u32(0))
                .interface(113, 0)
                .enhanced(0, 1 << 33, &[0x66; 21], 60)
                .block(NAMES, |b| b.u16(0).u16(0))
                .enhanced(1, 5, b"abcd", 4)
                .block(SIMPLE, |b| b.u32(5).raw(b"hello"))
                .block(OLD, |b| b.u16(1).u16(0).u32(0).u32(9).u32(2).u32(2).raw(b"ol"))
        };
        all.push(section(section(Bytes::new(order))).bytes);
    }
    all
}

/// Reads by batch and by packet, copies, and checks what must hold whatever the bytes.
fn check(bytes: &[u8]) {
    let (seen, error) = read_all(bytes);
    let mut by_batch = Vec::new();
    let mut batch_error = None;
    match reader(bytes) {
        Ok(mut reader) => loop {
            match reader.next_batch() {
                Ok(Some(batch)) => by_batch.extend(batch.iter().map(|p| (p.data.to_vec(), p.wire_len))),
                Ok(None) => break,
                Err(error) => {
                    batch_error = Some(error);
                    break;
                }
            }
        },
        Err(error) => batch_error = Some(error),
    }
    assert_eq!(seen.iter().map(|p| (p.data.clone(), p.wire_len)).collect::<Vec<_>>(), by_batch);
    assert_eq!(error.as_ref().map(ToString::to_string), batch_error.as_ref().map(ToString::to_string));
    assert!(seen.iter().map(|p| p.data.len()).sum::<usize>() <= bytes.len());
    if let Some(offset) = error.as_ref().and_then(|e| e.offset()) {
        assert!(offset <= bytes.len() as u64);
    }
    if error.is_none()
        && let Ok(copied) = copy(&[bytes], |_| true)
    {
        let again: Vec<_> = packets(&copied).into_iter().map(|p| (p.data, p.wire_len)).collect();
        assert_eq!(again, by_batch, "a copy holds the same packets");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn damaged_captures(
        file in proptest::sample::select(captures()),
        changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4),
        cut in any::<prop::sample::Index>(),
        is_cut: bool,
    ) {
        let mut bytes = file;
        for (at, with) in changes {
            let at = at.index(bytes.len());
            bytes[at] = with;
        }
        if is_cut {
            bytes.truncate(cut.index(bytes.len()));
        }
        check(&bytes);
    }

    /// Length fields decide most: put extreme ones everywhere.
    #[test]
    fn extreme_numbers(
        file in proptest::sample::select(captures()),
        at in any::<prop::sample::Index>(),
        with in proptest::sample::select(&[0_u32, 1, 3, 4, 12, 0x7fff_ffff, 0x8000_0000, 0xffff_fffc, 0xffff_ffff][..]),
        big_endian: bool,
    ) {
        let mut bytes = file;
        let at = at.index(bytes.len() / 4) * 4;
        let with = if big_endian { with.to_be_bytes() } else { with.to_le_bytes() };
        bytes[at..at + 4].copy_from_slice(&with);
        check(&bytes);
    }

    #[test]
    fn random_bytes_behind_a_magic(
        magic in proptest::sample::select(&[MICRO, NANO, MODIFIED, SECTION, 0x1f8b_0800, 0x28b5_2ffd][..]),
        rest in proptest::collection::vec(any::<u8>(), 0..200),
    ) {
        check(&[&magic.to_be_bytes()[..], &rest].concat());
    }
}
