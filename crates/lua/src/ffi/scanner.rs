//! What flows speak, for the Lua modules `apps.wall.scanner.ndpi` and `ndpi`.
//!
//! A scanner is asked packet by packet, and answers with what is known of the packet's flow then. It follows flows by itself: Lua's own
//! objects of flows count packets, and keep the answer.

use dpi::protocol::Naming;
use dpi::{Protocol, worker};
use flow::{Packet, Secret};
use std::ffi::c_void;
use wall::spy::{Settings, Spy, SpyError, Tag};
use wire::LinkType;

/// Who identifies, as Lua says it.
const OWN: u32 = 0;
const AUTO: u32 = 1;

/// A text that Lua copies: it lives as long as the process.
#[repr(C)]
pub(super) struct Name {
    start: *const u8,
    length: usize,
}

impl Name {
    fn of(text: &'static str) -> Name {
        Name { start: text.as_ptr(), length: text.len() }
    }
}

/// A scanner, or null where nDPI is asked for and cannot be used; `why` says then, or where it is not used, why. `waits` makes each packet wait for nDPI, so that
/// every run over a capture says the same.
///
/// # Safety
///
/// `why` can be written to.
pub(super) unsafe extern "C" fn sluss_lua_scanner_new(who: u32, waits: bool, why: *mut Name) -> *mut Spy {
    let (spy, told) = match (who, start(who != OWN, waits)) {
        (_, Ok(spy)) => (Some(spy), String::new()),
        (AUTO, Err(SpyError::Worker(error))) => (start(false, waits).ok(), error.to_string()),
        (_, Err(error)) => (None, error.to_string()),
    };
    // One scanner in a program is usual, and each text is short.
    let told = if told.is_empty() { "" } else { Box::leak(told.into_boxed_str()) };
    // SAFETY: what the caller promises.
    unsafe { why.write(Name::of(told)) };
    spy.map_or(std::ptr::null_mut(), |spy| Box::into_raw(Box::new(spy)))
}

fn start(ndpi: bool, waits: bool) -> Result<Spy, SpyError> {
    let secret = if waits { Secret::from_seed(0) } else { Secret::random() };
    let flows = flow::Settings { secret, ..flow::Settings::default() };
    let options =
        worker::Options { guess: false, nice: if waits { 0 } else { 5 }, ..worker::Options::default() };
    Spy::new(Settings { flows, ndpi: ndpi.then_some(options), waits, ..Settings::default() })
}

/// Ends a scanner.
///
/// # Safety
///
/// It comes from `sluss_lua_scanner_new`, and is not used any more.
pub(super) unsafe extern "C" fn sluss_lua_scanner_free(spy: *mut Spy) {
    if !spy.is_null() {
        // SAFETY: what the caller promises.
        drop(unsafe { Box::from_raw(spy) });
    }
}

/// Looks at a packet that came at a time in nanoseconds: Ethernet, or with `ip` an IP datagram. Returns what its flow speaks, and in the upper
/// half what carries that; 0 where it is not known.
///
/// # Safety
///
/// `spy` is a scanner that nobody else uses now; `length` bytes at `data` can be read.
pub(super) unsafe extern "C" fn sluss_lua_scanner_look(
    spy: *mut Spy,
    data: *const u8,
    length: u32,
    ip: bool,
    time_ns: u64,
) -> u32 {
    // SAFETY: what the caller promises.
    let (spy, frame) = unsafe { (&mut *spy, std::slice::from_raw_parts(data, length as usize)) };
    let linktype = if ip { LinkType::RAW } else { LinkType::EN10MB };
    let mut tags = [Tag::default()];
    spy.burst(&[Packet { frame, linktype, time_ns, wire_len: length }], &mut tags);
    u32::from(tags[0].protocol) | u32::from(tags[0].master) << 16
}

/// The name of a protocol, as SnabbWall's rules have it; empty if there is no such number.
///
/// # Safety
///
/// `to` can be written to.
pub(super) unsafe extern "C" fn sluss_lua_protocol_name(number: u32, to: *mut Name) {
    let known = u16::try_from(number).ok().map(Protocol::from_number);
    let known = known.filter(|protocol| u32::from(protocol.number()) == number);
    // SAFETY: what the caller promises.
    unsafe { to.write(Name::of(known.map_or("", |protocol| protocol.name(Naming::Snabbwall)))) };
}

/// `ndpi_protocol_t` of nDPI 1.8.
#[repr(C)]
pub(super) struct NdpiProtocol {
    master: u16,
    protocol: u16,
}

/// nDPI's function of that name, of version 1.8, by our scanner: `tick` is a time in seconds. Flows are followed by their addresses, not by `flow`.
///
/// # Safety
///
/// As for `sluss_lua_scanner_look`.
pub(super) unsafe extern "C" fn ndpi_detection_process_packet(
    spy: *mut Spy,
    _flow: *mut c_void,
    data: *const u8,
    length: u16,
    tick: u64,
    _src: *mut c_void,
    _dst: *mut c_void,
) -> NdpiProtocol {
    // SAFETY: what the caller promises.
    let found =
        unsafe { sluss_lua_scanner_look(spy, data, length.into(), true, tick.saturating_mul(1_000_000_000)) };
    NdpiProtocol { master: (found >> 16) as u16, protocol: found as u16 }
}

/// nDPI's function of that name, of version 1.8: what a flow is by its ports alone, which we do not say.
pub(super) extern "C" fn ndpi_guess_undetected_protocol(
    _spy: *mut Spy,
    _protocol: u8,
    _src: u32,
    _src_port: u16,
    _dst: u32,
    _dst_port: u32,
) -> NdpiProtocol {
    NdpiProtocol { master: 0, protocol: 0 }
}
