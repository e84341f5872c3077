//! Devices of the kernel behind the numbers of interfaces in [`Metadata`](crate::Metadata): who opens a device notes it, who needs to know asks.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

static INDEXES: Mutex<BTreeMap<u32, u32>> = Mutex::new(BTreeMap::new());

/// Notes which device of the kernel, by its index, the number of an interface in metadata stands for from now on, in the whole process.
///
/// ```
/// engine::note_kernel_index(1 << 31, 7);
/// assert_eq!((engine::kernel_index(1 << 31), engine::kernel_index(3)), (Some(7), None));
/// ```
pub fn note_kernel_index(interface: u32, index: u32) {
    INDEXES.lock().unwrap_or_else(PoisonError::into_inner).insert(interface, index);
}

/// The index of the kernel's device that the number of an interface in metadata stands for; `None` if it is no such device.
pub fn kernel_index(interface: u32) -> Option<u32> {
    INDEXES.lock().unwrap_or_else(PoisonError::into_inner).get(&interface).copied()
}
