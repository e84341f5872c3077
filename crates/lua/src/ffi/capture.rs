//! Captures, for `lib.pcap.pcap` and the app that reads them: any format that the commands read.

use super::filter::{Compiled, Text};
use capture::Reader;

/// A capture that is being read.
pub(super) struct Capture {
    reader: Reader,
    /// The packet of the reader's batch that is next.
    at: usize,
}

/// A packet of the batch: its bytes, which stay where they are until the next call; its length on the wire; its time.
#[repr(C)]
pub(super) struct Row {
    data: *const u8,
    captured: u32,
    wire: u32,
    time_ns: i64,
}

/// Opens a capture; null if it cannot be read, or is none, and `why` says so.
///
/// # Safety
///
/// `path` can be read; `why` can be written to.
pub(super) unsafe extern "C" fn sluss_lua_capture_open(
    path: *const Text,
    why: *mut Compiled,
) -> *mut Capture {
    // SAFETY: what the caller promises.
    match Reader::open(unsafe { (*path).get() }.as_ref()) {
        Ok(reader) => Box::into_raw(Box::new(Capture { reader, at: 0 })),
        Err(error) => {
            // SAFETY: what the caller promises.
            unsafe { why.write(Compiled::of_text(error.to_string())) };
            std::ptr::null_mut()
        }
    }
}

/// Writes the next packets to `rows`, up to `count`; returns how many: 0 at the end, and -1 where the capture is damaged, of which `why` tells.
///
/// # Safety
///
/// `capture` comes from `sluss_lua_capture_open`, and nobody else uses it; `rows` has room for `count`; `why` can be written to.
pub(super) unsafe extern "C" fn sluss_lua_capture_read(
    capture: *mut Capture,
    rows: *mut Row,
    count: u32,
    why: *mut Compiled,
) -> i32 {
    // SAFETY: what the caller promises.
    let capture = unsafe { &mut *capture };
    while capture.at >= capture.reader.batch().len() {
        capture.at = 0;
        match capture.reader.next_batch() {
            Ok(Some(_)) => {}
            Ok(None) => return 0,
            Err(error) => {
                // SAFETY: what the caller promises.
                unsafe { why.write(Compiled::of_text(error.to_string())) };
                return -1;
            }
        }
    }
    let batch = capture.reader.batch();
    let packets = batch.packets()[capture.at..].iter().take(count as usize);
    let mut written = 0;
    for packet in packets {
        let data = batch.data(packet);
        let row = Row {
            data: data.as_ptr(),
            captured: data.len() as u32,
            wire: packet.wire_len,
            time_ns: batch.timestamp_ns(packet),
        };
        // SAFETY: `written` is below `count`.
        unsafe { rows.add(written).write(row) };
        written += 1;
    }
    capture.at += written;
    written as i32
}

/// Closes a capture.
///
/// # Safety
///
/// It comes from `sluss_lua_capture_open`, and is not used any more.
pub(super) unsafe extern "C" fn sluss_lua_capture_close(capture: *mut Capture) {
    // SAFETY: what the caller promises.
    drop(unsafe { Box::from_raw(capture) });
}
