//! The functions that `ffi.C` finds: those that Snabb's engine and its C files offer, and ours for `core.*`.
//!
//! LuaJIT asks here for names that no library of the process has: so nothing needs to be exported, and a library that a program loads with
//! the same names goes before.

mod checksum;
mod lookup;
mod mac_table;
mod sequence;
mod shmem;

use super::core::Published;
use super::core::{Core, Mode};
use super::layout::{Counter, Link, RawPacket, ReceivedCounter, SentCounter};
use super::team::{Direction, Endpoint};
use engine::Packet;
use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::mem::ManuallyDrop;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::ptr::NonNull;
use std::sync::Once;
use std::time::Duration;

/// Makes LuaJIT ask here; once in a process.
pub(super) fn install() {
    static ONCE: Once = Once::new();
    // SAFETY: `find` returns addresses of what Lua declares. Nobody else uses LuaJIT before the first state is made.
    ONCE.call_once(|| unsafe { luajit::symbol_resolver(find) });
}

unsafe extern "C" fn find(name: *const c_char) -> *mut c_void {
    // SAFETY: LuaJIT gives a name, which ends with 0.
    let name = unsafe { CStr::from_ptr(name) }.to_bytes();
    match name {
        b"sluss_packets_more" => packets_more as *mut c_void,
        b"sluss_metadata_clear" => metadata_clear as *mut c_void,
        b"sluss_metadata_copy" => metadata_copy as *mut c_void,
        b"sluss_counter_new" => counter_new as *mut c_void,
        b"sluss_counter_publish" => counter_publish as *mut c_void,
        b"sluss_sent_publish" => sent_publish as *mut c_void,
        b"sluss_received_packets_publish" => received_packets_publish as *mut c_void,
        b"sluss_received_bytes_publish" => received_bytes_publish as *mut c_void,
        b"sluss_received_packets" => received_packets as *mut c_void,
        b"sluss_received_bytes" => received_bytes as *mut c_void,
        b"sluss_received_packets_set" => received_packets_set as *mut c_void,
        b"sluss_received_bytes_set" => received_bytes_set as *mut c_void,
        b"sluss_counter_unpublish" => counter_unpublish as *mut c_void,
        b"sluss_counter_delete" => counter_delete as *mut c_void,
        b"sluss_counter_commit" => counter_commit as *mut c_void,
        b"sluss_link_new" => link_new as *mut c_void,
        b"sluss_link_free" => link_free as *mut c_void,
        b"sluss_memory" => memory as *mut c_void,
        b"sluss_map" => map as *mut c_void,
        b"sluss_queue_sender" => queue_sender as *mut c_void,
        b"sluss_queue_receiver" => queue_receiver as *mut c_void,
        b"sluss_queue_close" => queue_close as *mut c_void,
        b"sluss_queue_send" => queue_send as *mut c_void,
        b"sluss_queue_receive" => queue_receive as *mut c_void,
        b"sluss_unmap" => unmap as *mut c_void,
        b"get_time_ns" => get_time_ns as *mut c_void,
        b"get_monotonic_time" => get_monotonic_time as *mut c_void,
        b"get_unix_time" => get_unix_time as *mut c_void,
        b"sleep_ns" => sleep_ns as *mut c_void,
        b"full_memory_barrier" => full_memory_barrier as *mut c_void,
        b"prefetch_for_read" | b"prefetch_for_write" => prefetch as *mut c_void,
        b"stat_mtime" => stat_mtime as *mut c_void,
        b"nop" => nop as *mut c_void,
        b"memory_sigsegv_setup" => memory_sigsegv_setup as *mut c_void,
        b"memory_demand_mappings" => (&raw const DEMAND_MAPPINGS).cast_mut().cast(),
        b"vmprofile_get_profile_size" => vmprofile_get_profile_size as *mut c_void,
        b"vmprofile_set_profile" => vmprofile_set_profile as *mut c_void,
        _ => {
            let of_snabb = [
                super::library::find,
                checksum::find,
                lookup::find,
                mac_table::find,
                sequence::find,
                shmem::find,
            ];
            let found = of_snabb.into_iter().find_map(|find| find(name));
            found.unwrap_or_else(|| luajit::dynasm_symbol(name))
        }
    }
}

extern "C" fn packets_more(core: &mut Core) -> c_int {
    core.more_packets() as c_int
}

extern "C" fn metadata_clear(packet: NonNull<RawPacket>) {
    // SAFETY: Lua gives a packet that it has.
    unsafe { borrowed(packet) }.clear_metadata();
}

extern "C" fn metadata_copy(to: NonNull<RawPacket>, from: NonNull<RawPacket>) {
    // SAFETY: as above; they are two packets.
    unsafe { borrowed(to).copy_metadata(&borrowed(from)) };
}

/// A packet that stays its owner's.
///
/// # Safety
/// It is one of an engine, and nobody else uses it meanwhile.
pub(super) unsafe fn borrowed(packet: NonNull<RawPacket>) -> ManuallyDrop<Packet> {
    // SAFETY: what the caller promises.
    ManuallyDrop::new(unsafe { Packet::from_address(packet.cast()) })
}

extern "C" fn counter_new(core: &mut Core) -> *mut Counter {
    core.new_counter()
}

extern "C" fn counter_publish(core: &mut Core, counter: *mut Counter, to: *mut Counter) {
    core.publish(Published::Counter(counter), to);
}

extern "C" fn sent_publish(core: &mut Core, counter: *const SentCounter, to: *mut Counter) {
    core.publish(Published::Sent(counter), to);
}

extern "C" fn received_packets_publish(core: &mut Core, counter: *const ReceivedCounter, to: *mut Counter) {
    core.publish(Published::ReceivedPackets(link_of(counter, Link::RXPACKETS)), to);
}

extern "C" fn received_bytes_publish(core: &mut Core, counter: *const ReceivedCounter, to: *mut Counter) {
    core.publish(Published::ReceivedBytes(link_of(counter, Link::RXBYTES)), to);
}

extern "C" fn received_packets(counter: *const ReceivedCounter) -> u64 {
    // SAFETY: Lua gives a counter that lies in a link of its engine.
    unsafe { (*link_of(counter, Link::RXPACKETS)).received_packets() }
}

extern "C" fn received_bytes(counter: *const ReceivedCounter) -> u64 {
    // SAFETY: as above. Slots of a link are null, or packets of the engine.
    unsafe { (*link_of(counter, Link::RXBYTES)).received_bytes() }
}

extern "C" fn received_packets_set(counter: *mut ReceivedCounter, value: u64) {
    // SAFETY: as above. Nobody else uses the link during the call.
    unsafe { (*link_of(counter, Link::RXPACKETS).cast_mut()).set_received_packets(value) };
}

extern "C" fn received_bytes_set(counter: *mut ReceivedCounter, value: u64) {
    // SAFETY: as above.
    unsafe { (*link_of(counter, Link::RXBYTES).cast_mut()).set_received_bytes(value) };
}

/// The link in which a counter lies, at this offset.
fn link_of(counter: *const ReceivedCounter, offset: usize) -> *const Link {
    counter.wrapping_byte_sub(offset).cast()
}

extern "C" fn counter_unpublish(core: &mut Core, counter: *mut c_void) {
    core.unpublish(counter);
}

extern "C" fn counter_delete(core: &mut Core, counter: *mut Counter) {
    core.delete_counter(counter);
}

extern "C" fn counter_commit(core: &Core) {
    core.commit();
}

extern "C" fn link_new(core: &mut Core) -> *mut Link {
    core.new_link()
}

extern "C" fn link_free(core: &mut Core, link: *mut Link) {
    core.free_link(link);
}

/// The sender's endpoint of the queue of a link between two workers.
extern "C" fn queue_sender(core: &mut Core, link: *const c_char) -> *const Endpoint {
    // SAFETY: Lua gives a string.
    core.open_queue(&unsafe { CStr::from_ptr(link) }.to_string_lossy(), Direction::Send)
}

/// The receiver's endpoint.
extern "C" fn queue_receiver(core: &mut Core, link: *const c_char) -> *const Endpoint {
    // SAFETY: as above.
    core.open_queue(&unsafe { CStr::from_ptr(link) }.to_string_lossy(), Direction::Receive)
}

extern "C" fn queue_close(core: &mut Core, endpoint: *const Endpoint) -> c_int {
    core.close_queue(endpoint) as c_int
}

/// The endpoint is null in an app that was stopped.
extern "C" fn queue_send(_core: &mut Core, endpoint: Option<&Endpoint>, link: *mut Link) {
    if let Some(endpoint) = endpoint {
        // SAFETY: Lua gives a link of its engine.
        unsafe { endpoint.send(link) };
    }
}

extern "C" fn queue_receive(
    _core: &mut Core,
    endpoint: Option<&Endpoint>,
    link: *mut Link,
    max: c_int,
) -> c_int {
    let Some(endpoint) = endpoint else { return 0 };
    // SAFETY: as above.
    unsafe { endpoint.receive(link, max.max(0) as usize) as c_int }
}

extern "C" fn memory(core: &mut Core, bytes: usize, align: usize) -> *mut c_void {
    core.memory(bytes, align)
}

/// Maps a file; null, and `errno`, if that fails.
extern "C" fn map(path: *const c_char, bytes: usize, mode: c_int) -> *mut c_void {
    // SAFETY: Lua gives a string.
    let path = Path::new(std::ffi::OsStr::from_bytes(unsafe { CStr::from_ptr(path) }.to_bytes()));
    let mode = [Mode::Read, Mode::Write, Mode::Create][mode.clamp(0, 2) as usize];
    super::core::map(path, bytes, mode).unwrap_or_else(|error| {
        // SAFETY: `errno` is this thread's own.
        unsafe { *libc::__errno_location() = error.raw_os_error().unwrap_or(libc::EIO) };
        std::ptr::null_mut()
    })
}

extern "C" fn unmap(address: *mut c_void, bytes: usize) -> c_int {
    // SAFETY: `core.shm` gives what `map` has returned, once.
    unsafe { libc::munmap(address, bytes.max(1)) }
}

fn clock(id: rustix::time::ClockId) -> Duration {
    let time = rustix::time::clock_gettime(id);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// The monotonic clock, in seconds.
pub(super) extern "C" fn get_monotonic_time() -> f64 {
    clock(rustix::time::ClockId::Monotonic).as_secs_f64()
}

pub(super) extern "C" fn get_time_ns() -> u64 {
    clock(rustix::time::ClockId::Monotonic).as_nanos() as u64
}

extern "C" fn get_unix_time() -> f64 {
    clock(rustix::time::ClockId::Realtime).as_secs_f64()
}

extern "C" fn sleep_ns(nanoseconds: c_int) {
    std::thread::sleep(Duration::from_nanos(nanoseconds.max(0) as u64));
}

extern "C" fn full_memory_barrier() {
    std::sync::atomic::fence(std::sync::atomic::Ordering::SeqCst);
}

extern "C" fn prefetch(address: *const c_void) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a prefetch of any address does nothing but load a line, if there is one.
    unsafe {
        std::arch::x86_64::_mm_prefetch::<{ std::arch::x86_64::_MM_HINT_T0 }>(address.cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = address;
}

/// When a file was changed, in seconds since 1970; 0 if it is not there.
extern "C" fn stat_mtime(path: *const c_char) -> c_uint {
    // SAFETY: Lua gives a string.
    let path = unsafe { CStr::from_ptr(path) };
    rustix::fs::stat(path).map_or(0, |stat| stat.st_mtime as c_uint)
}

extern "C" fn nop() {}

static DEMAND_MAPPINGS: c_int = 0;

extern "C" fn memory_sigsegv_setup(_huge_page_size: c_int, _path: *const c_char) {}

/// The size of a profile of Snabb's virtual machine, which this one does not write.
extern "C" fn vmprofile_get_profile_size() -> c_int {
    8
}

extern "C" fn vmprofile_set_profile(_profile: *mut c_void) {}
