//! Tables of MAC addresses in buckets of six, whose layout Snabb's `apps.bridge.mac_table` declares.

use crate::ffi::layout::RawPacket;
use std::cell::UnsafeCell;
use std::ffi::c_void;

pub(super) fn find(name: &[u8]) -> Option<*mut c_void> {
    Some(match name {
        b"mac_table_insert" => insert as *mut c_void,
        b"mac_table_lookup" => lookup as *mut c_void,
        b"mac_table_lookup_pft" => sort_packet as *mut c_void,
        _ => return None,
    })
}

const BUCKET: usize = 6;

#[repr(C)]
struct Entry {
    mac: u64,
    port: u16,
    group: u16,
}

#[repr(C)]
struct Table {
    used_buckets: u32,
    entries: u32,
    overflow: u8,
    buckets: [[Entry; BUCKET]; 0],
}

#[repr(C)]
struct PortList {
    length: u16,
    ports: [u16; 1],
}

#[repr(C)]
struct Queued {
    packet: *mut RawPacket,
    ports: *mut PortList,
}

/// Packets that wait for the same fate.
#[repr(C)]
struct Queue {
    length: u16,
    entries: [Queued; 0],
}

impl Queue {
    /// Adds a packet.
    ///
    /// # Safety
    /// The queue, which is more than this struct, has room.
    unsafe fn add(queue: *mut Queue, packet: *mut RawPacket) -> *mut Queued {
        // SAFETY: as the caller says.
        unsafe {
            let entry = (&raw mut (*queue).entries).cast::<Queued>().add(usize::from((*queue).length));
            (*entry).packet = packet;
            (*queue).length += 1;
            entry
        }
    }
}

/// Puts an address into both tables, or notes that a bucket is full.
unsafe extern "C" fn insert(mac: u64, port: u16, group: u16, tables: *const *mut Table, bucket: u32) {
    for which in 0..2 {
        // SAFETY: Lua gives two tables, and the number of a bucket that they have.
        unsafe {
            let table = *tables.add(which);
            let entries = (&raw mut (*table).buckets).cast::<[Entry; BUCKET]>().add(bucket as usize);
            let Some(index) = (*entries).iter().position(|entry| entry.mac == 0 || entry.mac == mac) else {
                (*table).overflow = 1;
                continue;
            };
            if (*entries)[index].mac == 0 {
                (*table).entries += 1;
                (*table).used_buckets += u32::from(index == 0);
            }
            (*entries)[index] = Entry { mac, port, group };
        }
    }
}

/// The entry of an address in a bucket.
unsafe fn entry_of<'a>(mac: u64, bucket: *const [Entry; BUCKET]) -> Option<&'a Entry> {
    // SAFETY: Lua gives a bucket.
    unsafe { (*bucket).iter().take_while(|entry| entry.mac != 0).find(|entry| entry.mac == mac) }
}

#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Found {
    port: u16,
    group: u16,
}

thread_local! {
    static FOUND: UnsafeCell<Found> = const { UnsafeCell::new(Found { port: 0, group: 0 }) };
}

/// The port and the group of an address; port 0 if it is not known. The answer is valid until the next.
unsafe extern "C" fn lookup(mac: u64, bucket: *const [Entry; BUCKET]) -> *mut Found {
    // SAFETY: as above; the answer is this thread's own.
    unsafe {
        let entry = entry_of(mac, bucket);
        FOUND.with(|found| {
            *found.get() =
                entry.map_or(Found::default(), |entry| Found { port: entry.port, group: entry.group });
            found.get()
        })
    }
}

/// Queues a packet: for one port, for all, or to be dropped, if it would go back to where it came from.
unsafe extern "C" fn sort_packet(
    mac: u64,
    bucket: *const [Entry; BUCKET],
    port: u16,
    group: u16,
    packet: *mut RawPacket,
    queues: *const *mut Queue,
    all_ports: *mut PortList,
) {
    const ONE: usize = 0;
    const ALL: usize = 1;
    const DROP: usize = 2;
    // SAFETY: as above; the lists of ports of the first queue have one port each.
    unsafe {
        match entry_of(mac, bucket) {
            Some(entry) if (group != 0 && group == entry.group) || port == entry.port => {
                Queue::add(*queues.add(DROP), packet);
            }
            Some(entry) => {
                let queued = Queue::add(*queues.add(ONE), packet);
                (*(*queued).ports).ports[0] = entry.port;
            }
            None => {
                let queued = Queue::add(*queues.add(ALL), packet);
                (*queued).ports = all_ports;
            }
        }
    }
}
