//! The table of a learning bridge: which port a MAC address was last seen at.
//!
//! Lua allocates it, as a header and slots behind it, and calls these functions, one for each burst of packets. An address may be in
//! one of the [`WINDOW`] slots from its own on. It counts if it was seen in the current period or the one before; slots of addresses
//! seen earlier are used again. Periods advance when Lua's timer says so.

/// How many slots an address may be in.
const WINDOW: u32 = 16;

/// The answer for a packet whose destination is not known: it goes to all ports.
const FLOOD: u16 = 0;
/// The answer for a packet to be dropped: its destination is behind the port it came from, or in the same group of a split horizon.
const DISCARD: u16 = 0xffff;

#[repr(C)]
pub(super) struct Header {
    /// The number of slots less one; slots are a power of two.
    mask: u32,
    period: u32,
    /// Addresses for which there was no slot since this was last set to zero.
    overflows: u32,
    /// Slots that have been taken since the table was cleared.
    taken: u32,
    /// Mixed into hashes, so that nobody can choose addresses for one slot.
    key: u64,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct Slot {
    /// The six bytes, the first one lowest; the multicast bit is never set. 0 for a slot that was never taken.
    address: u64,
    port: u16,
    group: u16,
    period: u32,
}

struct Table<'a> {
    header: &'a mut Header,
    slots: &'a mut [Slot],
}

impl Table<'_> {
    fn places(&self, address: u64) -> impl Iterator<Item = usize> + use<> {
        // The last step of MurmurHash3: addresses that differ in a few bits are to be far apart.
        let mix = |hash: u64, factor: u64| (hash ^ (hash >> 33)).wrapping_mul(factor);
        let mixed = mix(mix(address ^ self.header.key, 0xff51_afd7_ed55_8ccd), 0xc4ce_b9fe_1a85_ec53);
        let first = (mixed ^ (mixed >> 33)) as u32;
        let mask = self.header.mask;
        (0..WINDOW.min(mask + 1)).map(move |i| (first.wrapping_add(i) & mask) as usize)
    }

    fn is_current(&self, slot: &Slot) -> bool {
        slot.address != 0 && self.header.period - slot.period <= 1
    }

    fn find(&self, address: u64) -> Option<Slot> {
        for place in self.places(address) {
            let slot = self.slots[place];
            if slot.address == address && self.is_current(&slot) {
                return Some(slot);
            }
            if slot.address == 0 {
                return None;
            }
        }
        None
    }

    fn insert(&mut self, address: u64, port: u16, group: u16) {
        let entry = Slot { address, port, group, period: self.header.period };
        let mut free = None;
        for place in self.places(address) {
            let slot = self.slots[place];
            if slot.address == address {
                self.slots[place] = entry;
                return;
            }
            if free.is_none() && !self.is_current(&slot) {
                free = Some(place);
            }
            if slot.address == 0 {
                break;
            }
        }
        match free {
            Some(place) => {
                if self.slots[place].address == 0 {
                    self.header.taken += 1;
                }
                self.slots[place] = entry;
            }
            None => self.header.overflows += 1,
        }
    }
}

/// # Safety
///
/// `header` points to a header and `mask + 1` slots behind it, which nobody else uses now.
unsafe fn table<'a>(header: *mut Header) -> Table<'a> {
    // SAFETY: what the caller promises. The size of the header is a multiple of the alignment of slots.
    unsafe {
        let slots = std::slice::from_raw_parts_mut(header.add(1).cast::<Slot>(), (*header).mask as usize + 1);
        Table { header: &mut *header, slots }
    }
}

/// # Safety
///
/// Six bytes at `at` can be read.
unsafe fn address(at: *const u8) -> u64 {
    // SAFETY: what the caller promises; arrays of bytes have no alignment.
    let bytes = unsafe { *at.cast::<[u8; 6]>() };
    u64::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3], bytes[4], bytes[5], 0, 0])
}

fn is_multicast(address: u64) -> bool {
    address & 1 != 0
}

/// Notes that the address at `mac` is at a port, which is in a group, or in none if that is 0.
///
/// # Safety
///
/// `header` is a table, as Lua allocates it; six bytes at `mac` can be read.
pub(super) unsafe extern "C" fn sluss_lua_mac_table_insert(
    header: *mut Header,
    mac: *const u8,
    port: u16,
    group: u16,
) {
    // SAFETY: what the caller promises.
    let (mut table, address) = unsafe { (table(header), address(mac)) };
    if !is_multicast(address) && address != 0 {
        table.insert(address, port, group);
    }
}

/// The port of an address and its group, as `port + 65536 * group`; 0 if it is not known.
///
/// # Safety
///
/// As for [`sluss_lua_mac_table_insert`].
pub(super) unsafe extern "C" fn sluss_lua_mac_table_lookup(header: *mut Header, mac: *const u8) -> u32 {
    // SAFETY: what the caller promises.
    let (table, address) = unsafe { (table(header), address(mac)) };
    table.find(address).map_or(0, |slot| u32::from(slot.port) | u32::from(slot.group) << 16)
}

/// Says for each of `count` packets that came in at `port` where it goes: to a port, [`FLOOD`] or [`DISCARD`]; and learns where
/// they came from.
///
/// # Safety
///
/// `header` is a table; both arrays have `count` elements; each packet has memory for two addresses behind its length of two bytes.
pub(super) unsafe extern "C" fn sluss_lua_mac_table_burst(
    header: *mut Header,
    packets: *const *const u8,
    count: u32,
    port: u16,
    group: u16,
    destinations: *mut u16,
) {
    // SAFETY: what the caller promises.
    let (mut table, packets, destinations) = unsafe {
        (
            table(header),
            std::slice::from_raw_parts(packets, count as usize),
            std::slice::from_raw_parts_mut(destinations, count as usize),
        )
    };
    for (packet, destination) in packets.iter().zip(destinations) {
        // SAFETY: what the caller promises: the length, the destination, the source.
        let (to, from) = unsafe { (address(packet.add(2)), address(packet.add(8))) };
        *destination = match table.find(to) {
            Some(slot) if slot.port == port || group != 0 && slot.group == group => DISCARD,
            Some(slot) => slot.port,
            None => FLOOD,
        };
        if !is_multicast(from) && from != 0 {
            table.insert(from, port, group);
        }
    }
}
