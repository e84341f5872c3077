"""Counts with tcpdump what the captures hold: writes contents.toml and the table in README.md.

The filters below are the promises of README.md. One that matches nothing fails the recording, unless
it stands under `NONE`: those are the filters that people expect to match and that must not.
"""

import gzip
import pathlib
import re
import subprocess
import sys

import pcapng

LINKTYPES = {1: "EN10MB", 101: "RAW", 113: "LINUX_SLL", 276: "LINUX_SLL2"}
TABLE = re.compile(r"(?<=<!-- table -->\n).*?(?=<!-- end -->)", re.S)

HTTP_DATA = (
    "tcp port 80 and (((ip[2:2] - ((ip[0]&0xf)<<2)) - ((tcp[12]&0xf0)>>2)) != 0)"
)
FILTERS = {
    "web.pcap": [
        "tcp port 80", "ip", "ip6", "arp", "icmp6", "udp port 53", "host 198.51.100.80",
        "src net 192.0.2.0/24", "ip6 host 2001:db8:2::80", "tcp[tcpflags] & tcp-syn != 0",
        HTTP_DATA, "tcp port 80 and tcp[((tcp[12:1] & 0xf0) >> 2):4] = 0x504f5354",
        "greater 1000", "less 80",
    ],
    "tls.pcap": [
        "tcp port 443", "ip and tcp port 443", "ip6 and tcp port 443",
        "tcp[(tcp[12] & 0xf0) >> 2] = 22", "tcp[(tcp[12] & 0xf0) >> 2] = 21",
        "portrange 400-500", "len > 600",
    ],
    "dns.pcap.zst": [
        "port 53", "udp port 53", "tcp port 53", "ip6 and port 53", "udp[10] & 0x80 = 0",
        "udp[11] & 0xf = 3", "udp[10] & 2 != 0",
    ],
    "dhcp.pcap": [
        "udp port 67 or udp port 68", "ether broadcast", "src host 0.0.0.0", "arp", "icmp6",
        "icmp6[icmp6type] = icmp6-routeradvert", "ether multicast", "udp[248] = 53 and udp[250] = 1",
    ],
    "ntp-nano.pcap": [
        "udp port 123", "ip and udp port 123", "ip6 and udp port 123", "udp[8] & 7 = 3",
        "udp[8] & 7 = 4",
    ],
    "ssh.pcap": [
        "tcp port 22", "ip and tcp port 22", "ip6 and tcp port 22",
        "tcp[(tcp[12]>>2):4] = 0x5353482D", "tcp[13] & 8 != 0", "dst port 22",
    ],
    "smtp.pcap.gz": ["tcp port 25", "ip6 and port smtp", "src port 25", "tcp[13] & 1 != 0"],
    "bittorrent.pcap": [
        "tcp", "tcp port 6969", "tcp port 51413", "host 192.0.2.10 and portrange 50000-65535",
        "greater 1400", "tcp[((tcp[12] & 0xf0) >> 2):4] = 0x13426974",
    ],
    "rtmp.pcap": [
        "tcp port 1935", "src host 198.51.100.35", "tcp[((tcp[12] & 0xf0) >> 2)] = 3",
        "len >= 1000",
    ],
    "icmp.pcap": [
        "icmp", "icmp6", "arp", "icmp[icmptype] = icmp-echo", "icmp[icmptype] = icmp-echoreply",
        "icmp[icmptype] = icmp-timxceed", "icmp[icmptype] = icmp-unreach",
        "icmp[0] = 3 and icmp[1] = 4", "ip6[40] = 2", "ip6[40] = 3", "icmp6[icmp6type] = 1",
        "icmp6[0] = 135", "ip[0] & 0xf != 5", "ip[8] < 5", "ip6[7] < 5",
    ],
    "fragments.pcap": [
        "ip[6:2] & 0x1fff != 0", "ip[6] & 0x20 != 0", "ip6 proto 44", "icmp", "icmp6", "udp",
        "udp port 53", "ip proto 1", "ip6 protochain 58",
    ],
    "lan.pcap": [
        "stp", "arp", "igmp", "icmp6", "llc", "ether multicast", "ether broadcast",
        "ether dst 01:80:c2:00:00:00", "arp[6:2] = 1", "arp[6:2] = 2", "ip multicast",
        "ip6 multicast", "dst net 233.252.0.0/24 or igmp",
    ],
    "loopback.pcap": ["ip", "ip6", "tcp port 80", "icmp", "icmp6", "host 127.0.0.1"],
    "cooked-sll.pcap": [
        "inbound", "outbound", "ip", "ip6", "tcp port 80", "arp", "icmp", "icmp6", "link[0:2] = 4",
    ],
    "cooked-sll2.pcap": ["inbound", "outbound", "ip", "ip6", "tcp port 80", "arp", "icmp", "icmp6"],
    "raw.pcap": ["ip", "ip6", "tcp port 80", "icmp", "icmp6", "ip[9] = 6", "net 203.0.113.0/24"],
    "router.pcapng": ["ip", "ip6", "tcp port 80", "icmp", "icmp6"],
    "tunnel.pcapng": ["ip", "ip6", "tcp port 80", "tcp port 22", "icmp6"],
    "vlan.pcap": [
        "vlan", "vlan 10", "vlan and ip", "vlan and tcp port 80", "vlan 10 and arp",
        "ether[14:2] & 0xfff = 10", "vlan 10 and icmp6", "not vlan", "ip", "icmp", "icmp or (vlan and icmp)",
        "(vlan and icmp) or icmp",
    ],
    "qinq.pcap": [
        "vlan", "vlan 20", "vlan 20 and vlan 100", "vlan and vlan and tcp port 80",
        "vlan and vlan and ip6", "ether proto 0x88a8", "vlan and vlan and arp",
    ],
    "mpls.pcap": [
        "mpls", "mpls 1000", "mpls 1000 and mpls 100", "mpls and mpls and tcp port 80",
        "mpls and mpls and ip6", "arp", "icmp", "icmp or mpls",
    ],
    "gre.pcap": [
        "ip proto gre", "ip proto 47", "ip[22:2] = 0x6558", "ip proto 47 and ip[36:2] = 0x800",
        "src host 203.0.113.1", "icmp", "not ip proto 47",
    ],
    "vxlan.pcap": [
        "udp port 4789", "udp[8] & 8 != 0", "udp[12:4] >> 8 = 5000", "dst host 203.0.113.2",
        "udp[28:2] = 0x86dd",
    ],
    "geneve.pcap": [
        "udp port 6081", "geneve", "geneve 7000", "geneve and tcp port 80", "geneve and ip6",
        "geneve and icmp", "geneve and arp", "icmp", "icmp or geneve",
    ],
    "mixed.pcap": [
        "ip", "ip6", "tcp", "udp", "arp", "icmp", "icmp6", "tcp port 80", "tcp port 443", "port 53",
        "tcp port 22", "tcp port 25", "host 198.51.100.80", "net 198.51.100.0/24",
        "portrange 1-1023", "tcp[tcpflags] & (tcp-syn|tcp-fin) != 0", HTTP_DATA,
        "tcp port 80 and tcp[((tcp[12:1] & 0xf0) >> 2):4] = 0x47455420",
        "not (arp or icmp or icmp6)", "greater 500",
    ],
}
NONE = {
    "web.pcap": ["udp port 80", "vlan", "tcp port 443"],
    "vlan.pcap": ["tcp port 80", "vlan 11", "vlan and vlan"],
    "qinq.pcap": ["tcp port 80", "vlan 100 and vlan 20"],
    "mpls.pcap": ["tcp port 80", "mpls 100", "mpls 100 and mpls 1000"],
    "gre.pcap": ["tcp port 80"],
    "vxlan.pcap": ["tcp port 80"],
    "geneve.pcap": ["tcp port 80", "geneve 7001"],
    "mixed.pcap": ["vlan", "udp port 80"],
    "raw.pcap": ["arp"],
}


def unpacked(path):
    data = path.read_bytes()
    if path.suffix == ".gz":
        return gzip.decompress(data)
    if path.suffix == ".zst":
        return subprocess.run(["zstd", "-qdc"], input=data, stdout=subprocess.PIPE, check=True).stdout
    return data


def count(capture, text):
    """What tcpdump counts, with its optimiser off; an empty text counts every packet."""
    command = ["tcpdump", "-O", "-n", "--count", "-r", "-", *([text] if text else [])]
    done = subprocess.run(command, input=capture, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if done.returncode:
        sys.exit(f"describe.py: tcpdump refuses `{text}`: {done.stderr.decode()}")
    return int(done.stdout.split()[0])


def parts(path, data):
    """The capture as (linktype, bytes for tcpdump), one for each interface."""
    if path.suffix == ".pcapng":
        return pcapng.interfaces(data)
    return [(int.from_bytes(data[20:22], "little"), data)]


def describe(path):
    data = unpacked(path)
    captures = parts(path, data)
    precision = "nanoseconds" if path.suffix == ".pcapng" or data[0] == 0x4D else "microseconds"
    entry = {
        "file": path.name,
        "linktypes": [LINKTYPES[linktype] for linktype, _ in captures],
        "precision": precision,
        "packets": sum(count(part, "") for _, part in captures),
        "bytes": path.stat().st_size,
        "filters": [],
    }
    none = NONE.get(path.name, [])
    for text in FILTERS[path.name] + none:
        matched = sum(count(part, text) for _, part in captures)
        if (matched == 0) != (text in none):
            print(f"describe.py: {path.name}: `{text}` matches {matched}", file=sys.stderr)
            entry["broken"] = True
        entry["filters"].append((text, matched))
    return entry


def toml(entries):
    lines = [
        "# Written by record.sh, in the run that recorded the captures: what tcpdump (libpcap 1.10,",
        "# unoptimised) counts in each. Where a file has several interfaces, `count` is their sum.",
    ]
    for entry in entries:
        lines += [
            "",
            "[[capture]]",
            f'file = "{entry["file"]}"',
            f'linktypes = {entry["linktypes"]}'.replace("'", '"'),
            f'precision = "{entry["precision"]}"',
            f'packets = {entry["packets"]}',
            f'bytes = {entry["bytes"]}',
            "filters = [",
        ]
        lines += [f"  {{ text = '{text}', count = {matched} }}," for text, matched in entry["filters"]]
        lines += ["]"]
    return "\n".join(lines) + "\n"


def table(entries):
    rows = ["| file | bytes | packets | link type | some counts |", "|---|--:|--:|---|---|"]
    for entry in entries:
        shown = sorted((f for f in entry["filters"] if len(f[0]) < 24), key=lambda f: -f[1])[:5]
        counts = ", ".join(f"`{text}` {matched}" for text, matched in shown if matched)
        kinds = " and ".join(dict.fromkeys(entry["linktypes"]))
        rows.append(
            f"| {entry['file']} | {entry['bytes']} | {entry['packets']} | {kinds} | {counts} |"
        )
    return "\n".join(rows) + "\n"


def main(directory):
    present = [name for name in FILTERS if (directory / name).exists()]
    entries = [describe(directory / name) for name in present]
    (directory / "contents.toml").write_text(toml(entries))
    readme = directory / "README.md"
    if readme.exists():
        readme.write_text(TABLE.sub(lambda _: table(entries), readme.read_text()))
    if any("broken" in entry for entry in entries):
        sys.exit(1)


main(pathlib.Path(sys.argv[1]))
