//! Addresses that one host can have: who may be an end of a tunnel, be answered for, and get an answer.

use engine::OptionError;
use std::net::IpAddr;
use wire::ether::Mac;

/// Whether an address is that of one host on a wire, as far as can be told: no group, not everybody, not nobody, and not
/// that by which each host knows itself (RFC 1122, 3.2.1.3; RFC 4291, 2.5.3).
pub(crate) fn is_host(ip: IpAddr) -> bool {
    let is_broadcast = matches!(ip, IpAddr::V4(ip) if ip.is_broadcast());
    !(ip.is_multicast() || ip.is_unspecified() || ip.is_loopback() || is_broadcast)
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
    ips.iter().try_for_each(|&ip| check_ip(option, ip))
}

/// Two ends of a tunnel.
pub(crate) fn check_ends(
    local_address: impl Into<IpAddr>,
    remote_address: impl Into<IpAddr>,
) -> Result<(), OptionError> {
    let (local, remote) = (local_address.into(), remote_address.into());
    check_ip("local_address", local)?;
    check_ip("remote_address", remote)?;
    if local == remote {
        return Err(OptionError::new("remote_address", format!("{remote} is the `local_address` as well")));
    }
    Ok(())
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
            ("0.0.0.0", false),
            ("127.0.0.1", false),
            ("127.9.9.9", false),
            ("224.0.0.1", false),
            ("255.255.255.255", false),
            ("::", false),
            ("::1", false),
            ("ff02::1", false),
        ] {
            assert_eq!(is_host(ip.parse().unwrap()), is_one, "{ip}");
        }
    }
}
