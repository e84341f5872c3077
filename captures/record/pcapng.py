"""Just enough pcapng for record.sh: to strip the machine's description, and to split by interface.

dumpcap writes little-endian blocks of types 1 (interface), 5 (statistics), 6 (enhanced packet) and
0x0A0D0D0A (section header); anything else is copied or skipped. Not a reader for files of others.
"""

import struct
import sys

SECTION, INTERFACE, PACKET = 0x0A0D0D0A, 1, 6
FIXED_BYTES = {SECTION: 16, INTERFACE: 8}
# shb_hardware and shb_os; if_os and if_hardware. Comments, names and programs stay.
TELLTALE_OPTIONS = {SECTION: {2, 3}, INTERFACE: {12, 15}}
NANOSECONDS = 9


def blocks(data):
    """Yields (type, body) for each block."""
    at = 0
    while at < len(data):
        kind, size = struct.unpack_from("<II", data, at)
        yield kind, data[at + 8 : at + size - 4]
        at += size


def options(body, at):
    """Yields (code, value) for the options from `at` on."""
    while at + 4 <= len(body):
        code, size = struct.unpack_from("<HH", body, at)
        if code == 0:
            return
        yield code, body[at + 4 : at + 4 + size]
        at += 4 + (size + 3) // 4 * 4


def padded(data):
    return data + bytes(-len(data) % 4)


def anonymised(data):
    out = bytearray()
    for kind, body in blocks(data):
        if kind in TELLTALE_OPTIONS:
            fixed = FIXED_BYTES[kind]
            kept = bytearray(body[:fixed])
            for code, value in options(body, fixed):
                if code not in TELLTALE_OPTIONS[kind]:
                    kept += struct.pack("<HH", code, len(value)) + padded(value)
            body = bytes(kept + struct.pack("<HH", 0, 0))
        size = len(body) + 12
        out += struct.pack("<II", kind, size) + body + struct.pack("<I", size)
    return bytes(out)


def interfaces(data):
    """A list of (linktype, packets as one nanosecond pcap), one for each interface of the file."""
    found = []
    for kind, body in blocks(data):
        if kind == INTERFACE:
            linktype, _, snaplen = struct.unpack_from("<HHI", body)
            resolution = dict(options(body, FIXED_BYTES[INTERFACE])).get(9, b"\x06")
            header = struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, snaplen or 262144, linktype)
            found.append((linktype, 10 ** resolution[0], bytearray(header)))
        elif kind == PACKET:
            which, high, low, captured, wire = struct.unpack_from("<IIIII", body)
            _, ticks, pcap = found[which]
            seconds, rest = divmod(high << 32 | low, ticks)
            nanoseconds = rest * 10**NANOSECONDS // ticks
            pcap += struct.pack("<IIII", seconds, nanoseconds, captured, wire)
            pcap += body[20 : 20 + captured]
    return [(linktype, bytes(pcap)) for linktype, _, pcap in found]


if __name__ == "__main__":
    action, source, target = sys.argv[1:]
    assert action == "anonymise", action
    with open(source, "rb") as file:
        recorded = file.read()
    with open(target, "wb") as file:
        file.write(anonymised(recorded))
