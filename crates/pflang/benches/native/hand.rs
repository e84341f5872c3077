//! The same tests, written by hand. Called through a pointer that is not inlined, with the arguments that
//! generated code gets.

pub(crate) type Call = unsafe extern "sysv64" fn(*const u8, usize, u32) -> u32;

/// What somebody who knows the filter would write.
pub(crate) fn for_filter(filter: &str) -> Option<Call> {
    match filter {
        "" => Some(accept),
        "ip" => Some(ip),
        "tcp port 80" => Some(tcp_port_80),
        _ if filter.starts_with("tcp port 80 and") => Some(http_data),
        _ => None,
    }
}

/// # Safety
/// `data` points to `len` bytes.
unsafe extern "sysv64" fn accept(_: *const u8, _: usize, _: u32) -> u32 {
    1
}

/// # Safety
/// `data` points to `len` bytes.
unsafe extern "sysv64" fn ip(data: *const u8, len: usize, _: u32) -> u32 {
    // SAFETY: the caller's promise.
    let p = unsafe { std::slice::from_raw_parts(data, len) };
    u32::from(p.len() >= 14 && be16(p, 12) == 0x800)
}

/// # Safety
/// `data` points to `len` bytes.
unsafe extern "sysv64" fn tcp_port_80(data: *const u8, len: usize, _: u32) -> u32 {
    // SAFETY: the caller's promise.
    let p = unsafe { std::slice::from_raw_parts(data, len) };
    u32::from(tcp_80(p).is_some())
}

/// # Safety
/// `data` points to `len` bytes.
unsafe extern "sysv64" fn http_data(data: *const u8, len: usize, _: u32) -> u32 {
    // SAFETY: the caller's promise.
    let p = unsafe { std::slice::from_raw_parts(data, len) };
    let Some(Some(tcp)) = tcp_80(p) else { return 0 };
    if tcp + 13 > p.len() {
        return 0;
    }
    let header = u32::from(p[14] & 15) << 2;
    let options = u32::from(p[tcp + 12] & 0xf0) >> 2;
    u32::from(u32::from(be16(p, 16)).wrapping_sub(header).wrapping_sub(options) != 0)
}

fn be16(p: &[u8], at: usize) -> u16 {
    u16::from_be_bytes([p[at], p[at + 1]])
}

/// Whether it is TCP from or to port 80, and where the header begins if it is IPv4.
#[inline(always)]
fn tcp_80(p: &[u8]) -> Option<Option<usize>> {
    if p.len() < 34 {
        return None;
    }
    match be16(p, 12) {
        0x800 => {
            if p[23] != 6 || be16(p, 20) & 0x1fff != 0 {
                return None;
            }
            let tcp = 14 + usize::from(p[14] & 15) * 4;
            if tcp + 4 > p.len() {
                return None;
            }
            (be16(p, tcp) == 80 || be16(p, tcp + 2) == 80).then_some(Some(tcp))
        }
        0x86dd => {
            if p.len() < 58 || p[20] != 6 {
                return None;
            }
            (be16(p, 54) == 80 || be16(p, 56) == 80).then_some(None)
        }
        _ => None,
    }
}
