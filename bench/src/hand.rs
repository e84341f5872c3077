//! What a good programmer writes by hand for the same filters, in Rust and (through `c/hand.c`) in C.

use std::slice::from_raw_parts;

/// The calling convention that all peers share: packet, captured length, wire length; nonzero matches.
pub(crate) type Entry = unsafe extern "sysv64" fn(*const u8, usize, u32) -> u32;

// SAFETY: `c/hand.c` defines these, with that convention.
unsafe extern "sysv64" {
    pub(crate) fn hand_c_accept_all(p: *const u8, n: usize, wire: u32) -> u32;
    pub(crate) fn hand_c_ip(p: *const u8, n: usize, wire: u32) -> u32;
    pub(crate) fn hand_c_tcp_port_80(p: *const u8, n: usize, wire: u32) -> u32;
    pub(crate) fn hand_c_http_data(p: *const u8, n: usize, wire: u32) -> u32;
    pub(crate) fn hand_c_http_post(p: *const u8, n: usize, wire: u32) -> u32;
}

/// An empty function near the caller: what a call costs.
pub(crate) extern "sysv64" fn empty(_: *const u8, _: usize, _: u32) -> u32 {
    1
}

fn be16(p: &[u8], at: usize) -> u16 {
    u16::from_be_bytes([p[at], p[at + 1]])
}

/// The transport header of an unfragmented TCP packet over IPv4.
fn tcp4(p: &[u8]) -> Option<&[u8]> {
    if p.len() < 24 || be16(p, 12) != 0x0800 || p[23] != 6 || be16(p, 20) & 0x1fff != 0 {
        return None;
    }
    p.get(14 + 4 * usize::from(p[14] & 15)..)
}

fn ip(p: &[u8]) -> bool {
    p.len() >= 14 && be16(p, 12) == 0x0800
}

fn tcp_port_80(p: &[u8]) -> bool {
    if p.len() < 24 {
        return false;
    }
    let ports = match be16(p, 12) {
        0x0800 => tcp4(p),
        0x86dd if p[20] == 6 => p.get(54..),
        _ => None,
    };
    ports.is_some_and(|tcp| tcp.len() >= 4 && (be16(tcp, 0) == 80 || be16(tcp, 2) == 80))
}

fn http_data(p: &[u8]) -> bool {
    let Some(tcp) = tcp4(p).filter(|tcp| tcp.len() >= 13) else { return false };
    let headers = 4 * u32::from(p[14] & 15) + u32::from((tcp[12] & 0xf0) >> 2);
    (be16(tcp, 0) == 80 || be16(tcp, 2) == 80) && u32::from(be16(p, 16)) != headers
}

fn http_post(p: &[u8]) -> bool {
    let Some(tcp) = tcp4(p).filter(|tcp| tcp.len() >= 13) else { return false };
    tcp.get(usize::from((tcp[12] & 0xf0) >> 2)..).is_some_and(|data| data.starts_with(b"POST"))
}

macro_rules! entries {
    ($($name:ident = $filter:ident;)*) => {$(
        /// The hand-written filter behind the shared calling convention.
        ///
        /// # Safety
        /// `p` points to `n` readable bytes.
        pub(crate) unsafe extern "sysv64" fn $name(p: *const u8, n: usize, _: u32) -> u32 {
            // SAFETY: the caller's promise.
            u32::from($filter(unsafe { from_raw_parts(p, n) }))
        }
    )*};
}

entries! {
    rust_ip = ip;
    rust_tcp_port_80 = tcp_port_80;
    rust_http_data = http_data;
    rust_http_post = http_post;
}
