//! Packets as JSON objects, a line each.
//!
//! PERF: an object has a kilobyte, so it is written piece by piece, and what is the same in packet after packet is written once: `write!` for all of it takes twice
//! as long, a tree of values, which `json!` makes first, six times.

use super::fields::{self, Columns, Writer, decimal};
use capture::{PacketRef, Precision, UtcTime};
use std::fmt::{self, Write};

/// Writes objects.
#[derive(Clone, Debug)]
pub(crate) struct Objects {
    fields: Writer,
    /// The input of the packet before, and how that begins.
    input: (String, Vec<u8>),
    /// The second in which the packet before came, since 1970, and how that is written.
    second: Option<(i64, String)>,
}

impl Objects {
    pub(super) fn new() -> Objects {
        Objects { fields: Writer::new(Columns::of_json()), input: Default::default(), second: None }
    }

    /// Appends the object of a packet, the one of this number of an input.
    pub(super) fn put(&mut self, input: &str, number: u64, packet: &PacketRef<'_>, out: &mut Vec<u8>) {
        if self.input.0 != input || self.input.1.is_empty() {
            let mut begin = b"{\"v\":1,\"type\":\"packet\",\"file\":".to_vec();
            fields::string(&mut begin, input);
            begin.extend_from_slice(b",\"number\":");
            self.input = (input.to_owned(), begin);
        }
        out.extend_from_slice(&self.input.1);
        decimal(number, out);
        out.extend_from_slice(b",\"offset\":");
        decimal(packet.offset, out);
        out.extend_from_slice(b",\"time\":\"");
        self.time(packet.timestamp_ns, out);
        out.extend_from_slice(b"\",\"linktype\":\"");
        // Neither a link type nor a time has anything to escape. Writing to a Vec cannot fail.
        let _ = write!(Escaping(out), "{}", packet.linktype);
        out.extend_from_slice(b"\",\"interface\":");
        decimal(packet.interface.into(), out);
        out.extend_from_slice(b",\"captured_bytes\":");
        decimal(packet.data.len() as u64, out);
        out.extend_from_slice(b",\"wire_bytes\":");
        decimal(packet.wire_len.into(), out);
        out.extend_from_slice(b",\"summary\":\"");
        let summary = wire::summary::summarize(packet.linktype, packet.data, packet.wire_len);
        let _ = write!(Escaping(out), "{}", summary.going(packet.direction));
        out.extend_from_slice(b"\",");
        self.fields.members(packet, out);
        out.extend_from_slice(b"}\n");
    }

    fn time(&mut self, timestamp_ns: i64, out: &mut Vec<u8>) {
        const NS: i64 = 1_000_000_000;
        let (second, rest) = (timestamp_ns.div_euclid(NS), timestamp_ns.rem_euclid(NS));
        if self.second.as_ref().is_none_or(|(known, _)| *known != second) {
            // All of a second but what stands behind the point.
            let whole = UtcTime { timestamp_ns, precision: Precision::Nano }.to_string();
            let (until_point, _) = whole.split_once('.').unwrap_or((&whole, ""));
            self.second = Some((second, until_point.to_owned()));
        }
        if let Some((_, text)) = &self.second {
            out.extend_from_slice(text.as_bytes());
        }
        out.push(b'.');
        fields::nine_digits(rest.unsigned_abs(), out);
        out.push(b'Z');
    }
}

/// What is written goes into a string of JSON. It is printable, as summaries are.
struct Escaping<'o>(&'o mut Vec<u8>);

impl Write for Escaping<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        if text.bytes().any(|byte| matches!(byte, b'"' | b'\\')) {
            for byte in text.bytes() {
                if matches!(byte, b'"' | b'\\') {
                    self.0.push(b'\\');
                }
                self.0.push(byte);
            }
        } else {
            self.0.extend_from_slice(text.as_bytes());
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wire::LinkType;

    #[test]
    fn an_object_is_what_it_says() {
        let mut objects = Objects::new();
        let (data, linktype, precision) = (&[0xff; 3][..], LinkType::EN10MB, Precision::Nano);
        let (wire_len, interface, direction, offset) = (3, 0, None, 24);
        for (input, timestamp_ns) in [
            ("a\"b", 1_700_000_000_000_000_009),
            ("a\"b", 1_700_000_000_999_999_999),
            ("", 0),
            ("c", -1),
            ("c", i64::MIN),
        ] {
            let packet =
                PacketRef { data, wire_len, timestamp_ns, precision, linktype, interface, direction, offset };
            let mut out = Vec::new();
            objects.put(input, 7, &packet, &mut out);
            let object: serde_json::Value = serde_json::from_slice(&out).unwrap();
            let time = UtcTime { timestamp_ns, precision: Precision::Nano };
            assert_eq!((&object["file"], &object["time"]), (&input.into(), &time.to_string().into()));
            assert_eq!(object["number"], 7);
        }
        let mut out = Vec::new();
        Escaping(&mut out).write_str("host \"a\\b\"").unwrap();
        assert_eq!(String::from_utf8(out).unwrap(), r#"host \"a\\b\""#);
    }
}
