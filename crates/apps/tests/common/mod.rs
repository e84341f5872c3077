//! Packets that somebody has made to break apps.

use testkit::linktype::LinkType;
use testkit::packet::Packet;
use testkit::rng::Rng;
use testkit::{mutate, traffic};

/// Packets that an app may have to do with: between the addresses that the apps below have.
const LINES: &[&str] = &[
    "eth(dst=02:00:00:00:00:01) / ip4(dst=192.0.2.1) / icmp(8) / pad(40)",
    "eth(dst=02:00:00:00:00:01) / ip4(ttl=1) / udp(dport=53) / pad(40)",
    "eth(dst=02:00:00:00:00:01) / ip4(mf=1) / udp / pad(64)",
    "eth(dst=02:00:00:00:00:01) / ip4(frag=8) / pad(64)",
    "eth / vlan(7) / ip4(mf=1, options=07 04 04 00) / pad(64)",
    "eth(dst=02:00:00:00:00:01) / ip6(dst=2001:db8::1) / icmp6(128) / pad(40)",
    "eth(dst=33:33:ff:00:00:01) / ip6(dst=ff02::1:ff00:1, hops=255) / icmp6(135) / pad(24)",
    "eth / ip6 / hopopt / frag(more=1) / udp / pad(64)",
    "eth / ip6 / frag(offset=8) / pad(64)",
    "eth(dst=ff:ff:ff:ff:ff:ff) / arp",
    "eth / ip4(src=192.0.2.2, dst=192.0.2.1, proto=47) / hex(00 00 65 58) / pad(60)",
    "eth / ip4(src=192.0.2.2, dst=192.0.2.1) / udp(dport=4789) / vxlan(7) / pad(60)",
    "eth / ip6(src=2001:db8::2, dst=2001:db8::1, next=115) / hex(ff ff ff ff 01 02 03 04 05 06 07 08) / pad(60)",
    "eth / vlan(7) / vlan(8) / ip4 / tcp / pad(1400)",
    "eth / vlan(7) / ip4 / udp / pad(12000)",
];

/// A packet, most often a damaged one.
pub(crate) fn packet(rng: &mut Rng) -> Vec<u8> {
    let made = match rng.below(4) {
        0 => traffic::packet(LinkType::EN10MB, rng),
        1 => mutate::noise(rng),
        _ => Packet::parse(rng.pick::<&str>(LINES)).unwrap_or_else(|error| panic!("{error}")),
    };
    if rng.chance(1, 5) { made.bytes } else { mutate::headers(&made, rng).bytes }
}
