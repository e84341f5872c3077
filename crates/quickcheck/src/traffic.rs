//! Random packets that make sense, as lines for [`packet`](crate::packet): the link layer of a link type, perhaps
//! tags and labels, a network layer, a transport, some payload. Their addresses and ports are those that
//! [`expr`](crate::expr) likes to ask for.

use crate::linktype::LinkType;
use crate::packet::Packet;
use crate::rng::Rng;

/// A packet for `linktype`.
///
/// # Panics
///
/// When the line that was drawn does not build: a mistake of this module.
pub fn packet(linktype: LinkType, rng: &mut Rng) -> Packet {
    let line = line(linktype, rng);
    Packet::parse(&line).unwrap_or_else(|e| panic!("`{line}`: {e}"))
}

/// The line of a packet for `linktype`.
pub fn line(linktype: LinkType, rng: &mut Rng) -> String {
    let mut layers = vec![link(linktype, rng)];
    match linktype.name().unwrap_or_default() {
        "EN10MB" | "NETANALYZER" | "NETANALYZER_TRANSPARENT" => layers.push(ethernet_payload(rng)),
        "LINUX_SLL" | "LINUX_SLL2" if rng.chance(1, 5) => layers.push(llc(rng)),
        "MTP2" | "MTP2_WITH_PHDR" | "ERF" => layers.push(signal_unit(rng)),
        _ => layers.push(network(rng)),
    }
    if rng.chance(1, 4) {
        layers.push(format!("pad({})", rng.below(40)));
    }
    layers.retain(|layer| !layer.is_empty());
    layers.join(" / ")
}

fn pick(rng: &mut Rng, items: &[&str]) -> String {
    (*rng.pick(items)).to_string()
}

fn link(linktype: LinkType, rng: &mut Rng) -> String {
    let name = linktype.name().unwrap_or_default();
    let one = |rng: &mut Rng, items: &[&str]| pick(rng, items);
    match name {
        "EN10MB" => ethernet(rng),
        "NETANALYZER" => format!("netanalyzer / {}", ethernet(rng)),
        "NETANALYZER_TRANSPARENT" => format!("netanalyzert / {}", ethernet(rng)),
        "NULL" => one(rng, &["null", "null", "null(30)", "null(28)", "loop"]),
        "LOOP" => one(rng, &["loop", "loop", "loop(30)", "null"]),
        "ENC" => one(rng, &["enc", "enc(28)"]),
        "PPP" | "PPP_SERIAL" => one(rng, &["hdlc / ppp", "hdlc(0,0) / ppp", "hdlc / ppp / mpls"]),
        "PPP_PPPD" => one(rng, &["hdlc(0) / ppp", "hdlc(1) / ppp"]),
        "PPP_ETHER" => "pppoes / ppp".to_string(),
        "PPP_BSDOS" => one(rng, &["pppbsd", "pppbsd(0x2d)"]),
        "C_HDLC" | "HDLC" => one(rng, &["chdlc", "chdlc / mpls", "chdlc(0xfefe) / hex(00)"]),
        "SLIP" => one(rng, &["slip(0)", "slip(1)", "slip(0x45)"]),
        "SLIP_BSDOS" => one(rng, &["slipbsd", "slipbsd(0x60)"]),
        "LINUX_SLL" => one(rng, &["sll", "sll(4)", "sll(1)"]),
        "LINUX_SLL2" => one(rng, &["sll2", "sll2(4)", "sll2(ifindex=3)"]),
        "FDDI" => one(rng, &["fddi / llc / snap", "fddi(dst=ff:ff:ff:ff:ff:ff) / llc / snap"]),
        "IEEE802" => one(rng, &["tr / llc / snap", "tr(dst=01:00:00:00:00:00) / llc / snap"]),
        "IP_OVER_FC" => "ipfc / llc / snap".to_string(),
        "ATM_RFC1483" | "ATM_CLIP" => "llc / snap".to_string(),
        "SUNATM" => one(
            rng,
            &["sunatm / llc / snap", "sunatm(0,5)", "sunatm(type=1) / hex(0001) / eth", "sunatm(0,1)"],
        ),
        "ARCNET" => one(rng, &["arcnet", "arcnet(0xd1,0)", "arcnet(type=240)"]),
        "ARCNET_LINUX" => one(rng, &["arclinux", "arclinux(0xd1,0)"]),
        "LTALK" => "ltalk".to_string(),
        "FRELAY" => "frelay".to_string(),
        "APPLE_IP_OVER_IEEE1394" => "firewire".to_string(),
        "SYMANTEC_FIREWALL" => "symantec".to_string(),
        "PFLOG" => {
            one(rng, &["pflog", "pflog(len=64)", "pflog(action=1,dir=2,ifname=em0)", "pflog(reason=3,rnr=3)"])
        }
        "IPNET" => one(rng, &["ipnet(1)", "ipnet(2)"]),
        "IEEE802_11" => wireless(rng),
        "IEEE802_11_RADIO" => {
            format!("{} / {}", one(rng, &["radiotap", "radiotap(data=00112233)"]), wireless(rng))
        }
        "IEEE802_11_RADIO_AVS" => format!("avs / {}", wireless(rng)),
        "PRISM_HEADER" => format!("{} / {}", one(rng, &["prism", "avs"]), wireless(rng)),
        "PPI" => format!("{} / {}", one(rng, &["ppi", "ppi(data=0011)"]), wireless(rng)),
        "MTP2_WITH_PHDR" => "mtp2phdr".to_string(),
        "ERF" => "erf".to_string(),
        "DSA_TAG_DSA" => "dsa".to_string(),
        "DSA_TAG_BRCM" => "brcm".to_string(),
        name if name.starts_with("JUNIPER") => {
            one(rng, &["juniper", "juniper(1)", "juniper(flags=1,cookie=001122)"])
        }
        _ => String::new(),
    }
}

fn ethernet(rng: &mut Rng) -> String {
    let dst =
        pick(rng, &["02:00:00:00:00:02", "ff:ff:ff:ff:ff:ff", "01:00:5e:00:00:01", "02:00:00:00:00:0a"]);
    if rng.chance(2, 3) { "eth".to_string() } else { format!("eth(dst={dst})") }
}

fn ethernet_payload(rng: &mut Rng) -> String {
    match rng.below(12) {
        0 => llc(rng),
        1 => format!("vlan({}) / {}", pick(rng, &["1", "2", "10", "100"]), network(rng)),
        2 => format!(
            "qinq({}) / vlan({}) / {}",
            pick(rng, &["1", "100"]),
            pick(rng, &["2", "10"]),
            network(rng)
        ),
        3 => format!("mpls({}) / {}", pick(rng, &["1", "5", "100"]), network(rng)),
        4 => format!("mpls(1) / mpls(2) / {}", network(rng)),
        5 => format!("pppoes({}) / ppp / {}", pick(rng, &["1", "2", "5"]), network(rng)),
        6 => pick(
            rng,
            &[
                "pppoed",
                "decnet",
                "decnetpad",
                "lat",
                "moprc",
                "mopdl",
                "sca",
                "atalk",
                "aarp",
                "ipx",
                "loopback",
            ],
        ),
        7 => {
            let outer = pick(rng, &["ip4", "ip6", "ip4(options=01010101)"]);
            let tunnel = pick(rng, &["geneve", "geneve(5)", "geneve(vni=1,options=00112233)"]);
            let inner = if rng.chance(3, 4) { "eth / " } else { "" };
            format!("{outer} / udp(dport=6081) / {tunnel} / {inner}{}", network(rng))
        }
        _ => network(rng),
    }
}

fn wireless(rng: &mut Rng) -> String {
    #[rustfmt::skip]
    let frames = [
        "wlan / llc / snap", "wqos / llc / snap", "wlan(tods=1) / llc / snap", "wlan(fromds=1) / llc / snap", "wmgt", "wmgt(4)",
        "wlan(4)", "wctl", "wack(13)", "wlan4(tods=1,fromds=1) / llc / snap", "wqos4(tods=1,fromds=1) / llc / snap",
        "wlan(addr1=ff:ff:ff:ff:ff:ff) / llc / snap",
    ];
    pick(rng, &frames)
}

fn signal_unit(rng: &mut Rng) -> String {
    let unit = pick(rng, &["mtp2", "mtp2", "mtp2(0)", "mtp2(2)", "mtp2hsl", "mtp2hsl(0)"]);
    let (opc, dpc, sls) = (rng.below(16_384), rng.below(40), rng.below(16));
    format!("{unit} / mtp3(sio={},opc={opc},dpc={dpc},sls={sls})", rng.below(256))
}

fn llc(rng: &mut Rng) -> String {
    #[rustfmt::skip]
    let frames = [
        "llc / stp", "llc / netbeui", "llc / ipx", "llc / isis(15)", "llc / isis(20)", "llc / isis(27)", "llc / clnp",
        "llc / esis", "llc / snap / aarp", "llc / snap(oui=0x080007,type=0x809b) / pad(20)", "llc(4,4,1) / pad(4)",
        "llc(4,4,0x7f)", "llc(4,4,0) / pad(2)", "raw802 / pad(30)", "llc / snap / ip4 / udp",
    ];
    pick(rng, &frames)
}

fn network(rng: &mut Rng) -> String {
    match rng.below(11) {
        10 => format!(
            "{} / udp(dport=6081) / geneve(5) / eth / {}",
            pick(rng, &["ip4", "ip6"]),
            flat_network(rng)
        ),
        _ => flat_network(rng),
    }
}

/// A network layer with no tunnel on top.
fn flat_network(rng: &mut Rng) -> String {
    match rng.below(10) {
        0 => format!(
            "{}({})",
            pick(rng, &["arp", "rarp"]),
            pick(rng, &["1", "spa=10.0.0.1", "tpa=10.0.0.2", "2"])
        ),
        1..=3 => {
            let address =
                pick(rng, &["", "src=fe80::1", "dst=ff02::1", "src=::1", "dst=2001:db8:1:2:3:4:5:6"]);
            let extension = pick(rng, &["", "", "", "frag / ", "hopopt / ", "dest / routing / ", "ah / "]);
            format!("ip6({address}) / {extension}{}", transport(rng, "icmp6"))
        }
        _ => {
            #[rustfmt::skip]
            let fields = [
                "", "", "src=10.0.0.1", "dst=10.0.0.2", "dst=224.0.0.1", "options=01010101", "frag=5", "mf=1", "src=127.0.0.1",
                "dst=255.255.255.255", "ttl=1", "src=192.168.1.1,tos=16",
            ];
            format!("ip4({}) / {}", pick(rng, &fields), transport(rng, "icmp"))
        }
    }
}

fn transport(rng: &mut Rng, icmp: &str) -> String {
    let mut port = || *rng.pick(&[22, 53, 80, 80, 443, 5060, 8080, 40_000, 0, 65_535]);
    let (sport, dport) = (port(), port());
    match rng.below(12) {
        0..=3 => format!(
            "tcp({sport},{dport},flags={}) / '{}'",
            pick(rng, &["S", "SA", "A", "PA", "F"]),
            pick(rng, &["", "GET / HTTP/1.1", "x"])
        ),
        4..=6 => format!("udp({sport},{dport}) / pad({})", rng.below(30)),
        7 => format!("sctp({sport},{dport})"),
        8 => format!("{icmp}({})", pick(rng, &["8", "0", "3,1", "128", "135"])),
        9 => pick(rng, &["igmp", "pim", "vrrp", "igrp"]),
        10 => pick(rng, &["ah / tcp", "esp", "ah / ah / udp"]),
        _ => pick(rng, &["gre / ip4 / tcp", "pad(8)", ""]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linktype;

    #[test]
    fn every_line_builds() {
        let mut rng = Rng::new(5);
        for linktype in linktype::all() {
            for _ in 0..200 {
                packet(linktype, &mut rng);
            }
        }
    }
}
