//! Lists joined, as a plain list: the fewest prefixes, and ranges where an interval is no prefix.

use super::List;
use crate::set::{AddressSpans, prefix, union};
use std::fmt::{Display, Write};
use std::net::{Ipv4Addr, Ipv6Addr};

/// The text of all these lists in one, which [`super::read`] reads.
///
/// ```
/// use classify::lists::{joined, read};
/// let lists = ["10.0.0.0/9\n192.0.2.7\n", "10.128.0.0/9\n"].map(|text| read(text, None).unwrap());
/// assert_eq!(joined(lists), "10.0.0.0/8\n192.0.2.7\n");
/// ```
#[must_use]
pub fn joined(lists: impl IntoIterator<Item = List>) -> String {
    let mut text = String::new();
    let mut all = AddressSpans::default();
    let (mut ports, mut macs, mut pairs4, mut pairs6) = (vec![], vec![], vec![], vec![]);
    for list in lists {
        // Entries with values are kept as they are: which of two decides depends on both.
        if list.is_map() {
            for &(low, high, value) in &list.values4 {
                line(&mut text, &of4(low, high), Some(&list.names[value as usize]));
            }
            for &(low, high, value) in &list.values6 {
                line(&mut text, &of6(low, high), Some(&list.names[value as usize]));
            }
        } else {
            all.v4.extend(list.addresses.v4);
            all.v6.extend(list.addresses.v6);
        }
        ports.extend(list.ports);
        macs.extend(list.macs);
        pairs4.extend(list.pairs4);
        pairs6.extend(list.pairs6);
    }
    let all = all.joined();
    all.v4.iter().for_each(|&(low, high)| line(&mut text, &of4(low, high), None));
    all.v6.iter().for_each(|&(low, high)| line(&mut text, &of6(low, high), None));
    union(ports).iter().for_each(|&(low, high)| line(&mut text, &range(low, high), None));
    macs.sort_unstable();
    macs.dedup();
    for mac in macs {
        let bytes: Vec<String> = mac.to_be_bytes()[2..].iter().map(|byte| format!("{byte:02x}")).collect();
        line(&mut text, &bytes.join(":"), None);
    }
    pairs4.sort_unstable();
    pairs4.dedup();
    for (low, high, first, last) in pairs4 {
        line(&mut text, &format!("{},{}", of4(low, high), range(first, last)), None);
    }
    pairs6.sort_unstable();
    pairs6.dedup();
    for (low, high, first, last) in pairs6 {
        line(&mut text, &format!("{},{}", of6(low, high), range(first, last)), None);
    }
    text
}

fn line(text: &mut String, entry: &str, value: Option<&str>) {
    let _ = match value {
        Some(value) => writeln!(text, "{entry} {value}"),
        None => writeln!(text, "{entry}"),
    };
}

fn of4(low: u32, high: u32) -> String {
    let len = (low ^ high).leading_zeros();
    let is_prefix = prefix(low, len as u8) == (low, high);
    written(Ipv4Addr::from(low), Ipv4Addr::from(high), is_prefix.then_some((len, u32::BITS)))
}

fn of6(low: u128, high: u128) -> String {
    let len = (low ^ high).leading_zeros();
    let is_prefix = prefix(low, len as u8) == (low, high);
    written(Ipv6Addr::from(low), Ipv6Addr::from(high), is_prefix.then_some((len, u128::BITS)))
}

fn written(low: impl Display, high: impl Display, prefix: Option<(u32, u32)>) -> String {
    match prefix {
        Some((len, bits)) if len == bits => low.to_string(),
        Some((len, _)) => format!("{low}/{len}"),
        None => format!("{low}-{high}"),
    }
}

fn range(low: u16, high: u16) -> String {
    if low == high { low.to_string() } else { format!("{low}-{high}") }
}
