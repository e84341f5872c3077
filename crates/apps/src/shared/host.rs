//! Addresses that one host can have: who may be an end of a tunnel, be answered for, get an answer, and be routed for.

use engine::OptionError;
use std::net::IpAddr;
use wire::ether::Mac;
use wire::ip::is_host;

/// Whether a hardware address is that of one station: no group, and not that of nobody.
#[inline]
pub(crate) fn is_station(mac: Mac) -> bool {
    !mac.is_multicast() && mac != Mac::ZERO
}

/// An address that one host can have.
pub(crate) fn check_ip(option: &str, ip: impl Into<IpAddr>) -> Result<(), OptionError> {
    match ip.into() {
        ip if is_host(ip) => Ok(()),
        ip => Err(OptionError::new(option, format!("{ip} is not the address of one host"))),
    }
}

/// Addresses that hosts can have, at least one.
pub(crate) fn check_ips<T: Copy + Into<IpAddr>>(option: &str, ips: &[T]) -> Result<(), OptionError> {
    if ips.is_empty() {
        return Err(OptionError::new(option, "is empty: which addresses?"));
    }
    OptionError::all(ips.iter().map(|&ip| check_ip(option, ip)))
}

/// Two ends of a tunnel.
pub(crate) fn check_ends(
    local_address: impl Into<IpAddr>,
    remote_address: impl Into<IpAddr>,
) -> Result<(), OptionError> {
    let (local, remote) = (local_address.into(), remote_address.into());
    let same = || OptionError::new("remote_address", format!("{remote} is the `local_address` as well"));
    OptionError::all([
        check_ip("local_address", local),
        check_ip("remote_address", remote),
        if local == remote { Err(same()) } else { Ok(()) },
    ])
}

/// A hardware address that one host can have.
pub(crate) fn check_mac(option: &str, mac: Mac) -> Result<(), OptionError> {
    if mac.is_multicast() {
        return Err(OptionError::new(option, format!("{mac} is the address of a group, not of one host")));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_told_from_others() {
        for (ip, is_one) in [
            ("192.0.2.1", true),
            ("169.254.0.1", true),
            ("2001:db8::1", true),
            ("fe80::1", true),
            ("1.0.0.0", true),
            ("223.255.255.255", true),
            ("::2", true),
            ("::1:0:0:1", true),
            ("0.0.0.0", false),
            ("0.1.2.3", false),
            ("127.0.0.1", false),
            ("127.9.9.9", false),
            ("224.0.0.1", false),
            ("240.0.0.1", false),
            ("255.255.255.254", false),
            ("255.255.255.255", false),
            ("::", false),
            ("::1", false),
            ("::ffff:0.0.0.0", false),
            ("::ffff:192.0.2.1", false),
            ("ff02::1", false),
        ] {
            assert_eq!(is_host(ip.parse().unwrap()), is_one, "{ip}");
        }
    }

    #[test]
    fn stations_are_told_from_others() {
        for (mac, is_one) in [
            ("02:00:00:00:00:01", true),
            ("00:00:00:00:00:01", true),
            ("00:00:00:00:00:00", false),
            ("01:00:5e:00:00:01", false),
            ("ff:ff:ff:ff:ff:ff", false),
        ] {
            assert_eq!(is_station(mac.parse().unwrap()), is_one, "{mac}");
        }
    }
}
