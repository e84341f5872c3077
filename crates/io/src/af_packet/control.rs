//! What the control messages of a frame say (cmsg(3)): the VLAN tag that the kernel took out, the checksum, the time.

use std::iter;
use std::mem::offset_of;

/// Bytes that the messages of a frame take at most: one with the time, one with the rest.
pub(super) const CONTROL_LEN: usize = 96;

/// The part of what is known of a frame that control messages say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Told {
    /// The VLAN tag that the kernel has taken out: protocol and tag control information.
    pub(super) vlan: Option<(u16, u16)>,
    /// Whether the sender has left the checksum to the device.
    pub(super) lacks_checksum: bool,
    /// When the kernel received it, in nanoseconds since 1970.
    pub(super) timestamp_ns: Option<u64>,
}

impl Told {
    /// Reads the messages of one frame.
    pub(super) fn by(control: &[u8]) -> Self {
        let mut told = Told::default();
        for message in messages(control) {
            match (message.level, message.kind) {
                (libc::SOL_PACKET, libc::PACKET_AUXDATA) => told.read_auxiliary(message.data),
                (libc::SOL_SOCKET, libc::SCM_TIMESTAMPNS) => told.timestamp_ns = time(message.data),
                _ => {}
            }
        }
        told
    }

    /// Reads a `struct tpacket_auxdata`.
    fn read_auxiliary(&mut self, data: &[u8]) {
        let u16_at = |at: usize| array(data, at).map_or(0, u16::from_ne_bytes);
        let status = array(data, offset_of!(libc::tpacket_auxdata, tp_status)).map_or(0, u32::from_ne_bytes);
        let has = |flag: u32| status & flag != 0;
        // Kernels before 3.14 say that there was a tag, but not which.
        let tpid = if has(libc::TP_STATUS_VLAN_TPID_VALID) {
            u16_at(offset_of!(libc::tpacket_auxdata, tp_vlan_tpid))
        } else {
            libc::ETH_P_8021Q as u16
        };
        let tci = u16_at(offset_of!(libc::tpacket_auxdata, tp_vlan_tci));
        self.vlan = has(libc::TP_STATUS_VLAN_VALID).then_some((tpid, tci));
        self.lacks_checksum = has(libc::TP_STATUS_CSUMNOTREADY);
    }
}

/// Reads a `struct timespec`: seconds and nanoseconds, each as wide as a `long`. `None` if it is before 1970.
fn time(data: &[u8]) -> Option<u64> {
    let long = |at| array(data, at).map(libc::c_long::from_ne_bytes);
    let (seconds, ns) = (long(0)?, long(size_of::<libc::c_long>())?);
    u64::try_from(seconds).ok()?.checked_mul(1_000_000_000)?.checked_add(u64::try_from(ns).ok()?)
}

struct Message<'c> {
    level: libc::c_int,
    kind: libc::c_int,
    data: &'c [u8],
}

/// The messages in a buffer, as far as they are whole.
fn messages(mut control: &[u8]) -> impl Iterator<Item = Message<'_>> {
    iter::from_fn(move || {
        // For the kernel, the length is as wide as a word.
        let len = usize::from_ne_bytes(array(control, 0)?);
        let message = control.get(..len)?;
        let number = |at| array(message, at).map(libc::c_int::from_ne_bytes);
        let level = number(offset_of!(libc::cmsghdr, cmsg_level))?;
        let kind = number(offset_of!(libc::cmsghdr, cmsg_type))?;
        let data = message.get(size_of::<libc::cmsghdr>()..)?;
        control = control.get(len.next_multiple_of(size_of::<usize>())..).unwrap_or_default();
        Some(Message { level, kind, data })
    })
}

/// The bytes at a place, if that many are there.
fn array<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..)?.first_chunk().copied()
}

#[cfg(all(test, target_pointer_width = "64"))]
mod tests {
    use super::Told;

    /// A control message with its padding.
    fn message(level: i32, kind: i32, data: &[u8]) -> Vec<u8> {
        let len = (16 + data.len()).to_ne_bytes();
        let mut message = [&len[..], &level.to_ne_bytes(), &kind.to_ne_bytes(), data].concat();
        message.resize(message.len().next_multiple_of(8), 0);
        message
    }

    fn time(seconds: i64, ns: i64) -> Vec<u8> {
        message(libc::SOL_SOCKET, libc::SCM_TIMESTAMPNS, &[seconds.to_ne_bytes(), ns.to_ne_bytes()].concat())
    }

    fn auxiliary(status: u32) -> Vec<u8> {
        let lens = [60_u32, 60].map(u32::to_ne_bytes).concat();
        let rest = [0_u16, 14, 0x2007, 0x88a8].map(u16::to_ne_bytes).concat();
        let data = [&status.to_ne_bytes()[..], &lens, &rest].concat();
        message(libc::SOL_PACKET, libc::PACKET_AUXDATA, &data)
    }

    #[test]
    fn messages_are_read_in_any_order() {
        let status =
            libc::TP_STATUS_VLAN_VALID | libc::TP_STATUS_VLAN_TPID_VALID | libc::TP_STATUS_CSUMNOTREADY;
        let expected =
            Told { vlan: Some((0x88a8, 0x2007)), lacks_checksum: true, timestamp_ns: Some(5_000_000_006) };
        let other = message(libc::SOL_SOCKET, 1, &[1, 2, 3]);
        assert_eq!(Told::by(&[time(5, 6), other.clone(), auxiliary(status)].concat()), expected);
        assert_eq!(Told::by(&[auxiliary(status), other, time(5, 6)].concat()), expected);
        let old = Told::by(&auxiliary(libc::TP_STATUS_VLAN_VALID));
        assert_eq!(old, Told { vlan: Some((0x8100, 0x2007)), ..Told::default() });
        assert_eq!(Told::by(&auxiliary(0)), Told::default());
    }

    #[test]
    fn any_bytes_will_do() {
        assert_eq!(Told::by(&time(-1, 6)), Told::default());
        assert_eq!(Told::by(&time(i64::MAX, 6)), Told::default());
        let good = [time(5, 6), auxiliary(u32::MAX)].concat();
        (0..good.len()).for_each(|len| _ = Told::by(&good[..len]));
        for len in [0, 1, 15, 16, 17, usize::MAX] {
            let mut bad = good.clone();
            bad[..8].copy_from_slice(&len.to_ne_bytes());
            Told::by(&bad);
        }
    }
}
