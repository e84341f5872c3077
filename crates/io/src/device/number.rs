//! Numbers that stand for devices in the metadata of packets, as interfaces of a capture do: one for each name, whichever app has the device,
//! and also when it goes and comes back.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// The number of the first device. Interfaces of captures, which are counted from 0, do not come so far.
const FIRST: u32 = 1 << 31;

/// The names of all devices so far.
static NAMES: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// The number of a device.
pub(crate) fn number_of(device: &str) -> u32 {
    let mut names = names();
    let place = names.iter().position(|name| name == device).unwrap_or_else(|| {
        names.push(device.to_owned());
        names.len() - 1
    });
    FIRST + place as u32
}

/// The name of the device that a number stands for, if it does.
pub(crate) fn name_of(number: u32) -> Option<String> {
    names().get(number.checked_sub(FIRST)? as usize).cloned()
}

fn names() -> MutexGuard<'static, Vec<String>> {
    NAMES.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::{name_of, number_of};

    #[test]
    fn each_device_has_a_number() {
        let [a, b, again] = ["test a", "test b", "test a"].map(number_of);
        assert!(a == again && a != b && a >= 1 << 31);
        assert_eq!([a, b].map(name_of), ["test a", "test b"].map(|name| Some(name.to_owned())));
        assert_eq!([0, 7, u32::MAX].map(name_of), [const { None }; 3]);
    }
}
