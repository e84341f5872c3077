//! Fields of packets as columns: separated by tabs, as CSV, or as JSON objects.

use crate::exit::Failure;
use capture::{Batch, Format, PacketRef};
use std::io::Write;
use wire::fields::{Dissection, Dissector, FIELDS, Field, Value, field};

/// A column.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Column {
    /// What the capture says of the packet.
    Frame(Frame),
    /// What the packet says.
    Packet(&'static Field),
}

/// What a capture says of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Frame {
    File,
    Number,
    TimeEpoch,
    Len,
    CapLen,
    Interface,
}

/// Names of what a capture says, and what that is.
const FRAME: [(&str, &str, Frame); 6] = [
    ("file", "name of the capture", Frame::File),
    ("frame.number", "number of the packet in its capture, from 1", Frame::Number),
    ("frame.time_epoch", "seconds since 1970, with nine digits behind the point", Frame::TimeEpoch),
    ("frame.len", "bytes on the wire", Frame::Len),
    ("frame.cap_len", "bytes captured", Frame::CapLen),
    ("frame.interface_id", "number of the interface in a pcapng", Frame::Interface),
];

/// What `--json` says of each packet, beside what it is.
const OF_JSON: [&str; 28] = [
    "eth.src",
    "eth.dst",
    "eth.type",
    "vlan.id",
    "arp.opcode",
    "ip.src",
    "ip.dst",
    "ip.proto",
    "ip.ttl",
    "ip.len",
    "ipv6.src",
    "ipv6.dst",
    "ipv6.nxt",
    "icmp.type",
    "icmp.code",
    "icmpv6.type",
    "icmpv6.code",
    "tcp.srcport",
    "tcp.dstport",
    "tcp.flags",
    "tcp.seq_raw",
    "tcp.ack_raw",
    "tcp.len",
    "udp.srcport",
    "udp.dstport",
    "dns.qry.name",
    "tls.handshake.extensions_server_name",
    "http.host",
];

/// What CSV has before these, where no fields are named.
const BEFORE_IN_CSV: [&str; 4] = ["file", "frame.number", "frame.time_epoch", "frame.len"];

impl Column {
    fn named(name: &str) -> Option<Column> {
        let frame = FRAME.iter().find(|(known, ..)| *known == name).map(|(.., frame)| Column::Frame(*frame));
        frame.or_else(|| field(name).map(Column::Packet))
    }

    fn name(&self) -> &'static str {
        match self {
            Column::Frame(frame) => {
                FRAME.iter().find(|(.., known)| known == frame).map_or("", |(name, ..)| name)
            }
            Column::Packet(field) => field.name,
        }
    }
}

impl PartialEq for Column {
    fn eq(&self, other: &Column) -> bool {
        self.name() == other.name()
    }
}

impl Eq for Column {}

/// How columns are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Style {
    /// Separated by tabs, without a header.
    Tabs,
    /// With a header (RFC 4180).
    Csv,
    /// One object a packet.
    Json,
}

/// The columns of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Columns {
    columns: Vec<Column>,
    style: Style,
}

impl Columns {
    /// The columns of these names.
    ///
    /// # Errors
    /// If a name is unknown; the message suggests the nearest field.
    pub(crate) fn named(names: &[String], style: Style) -> Result<Columns, Failure> {
        let columns = names.iter().map(|name| Column::named(name).ok_or_else(|| unknown(name)));
        Ok(Columns { columns: columns.collect::<Result<_, _>>()?, style })
    }

    /// Those of CSV, unless others are named.
    pub(crate) fn of_csv() -> Columns {
        Columns::known(BEFORE_IN_CSV.iter().chain(&OF_JSON), Style::Csv)
    }

    /// Those that objects have beside what says where the packet is.
    pub(super) fn of_json() -> Columns {
        Columns::known(OF_JSON.iter(), Style::Json)
    }

    fn known<'n>(names: impl Iterator<Item = &'n &'n str>, style: Style) -> Columns {
        Columns { columns: names.filter_map(|name| Column::named(name)).collect(), style }
    }

    /// The first line.
    pub(super) fn header(&self) -> Option<Vec<u8>> {
        let names: Vec<&str> = self.columns.iter().map(Column::name).collect();
        (self.style == Style::Csv).then(|| format!("{}\r\n", names.join(",")).into_bytes())
    }
}

/// All names, a line each, with what they are.
pub(crate) fn list() -> String {
    let frame = FRAME.iter().map(|(name, about, _)| (*name, *about));
    let packet = FIELDS.iter().map(|field| (field.name, field.about));
    frame.chain(packet).map(|(name, about)| format!("{name:<38} {about}\n")).collect()
}

fn unknown(name: &str) -> Failure {
    let names = || FRAME.iter().map(|(name, ..)| *name).chain(FIELDS.iter().map(|field| field.name));
    // What goes on where the name ends is nearer than what looks like it.
    let longer = names().find(|known| !name.is_empty() && known.starts_with(name));
    let alike = || {
        let near = names().map(|known| (strsim::damerau_levenshtein(name, known), known));
        near.min().filter(|(distance, known)| distance * 3 <= known.len()).map(|(_, known)| known)
    };
    let help = match longer.or_else(alike) {
        Some(known) => format!("did you mean `{known}`? `--fields help` lists all"),
        None => "`--fields help` lists all".to_owned(),
    };
    Failure::user(format_args!("there is no field `{name}`")).help(help)
}

/// Writes the columns of packets.
#[derive(Clone, Debug)]
pub(crate) struct Writer {
    columns: Columns,
    /// What stands before each value in an object: `"ip_src":`.
    keys: Vec<String>,
    dissector: Dissector,
}

impl Writer {
    pub(super) fn new(columns: Columns) -> Writer {
        let key = |column: &Column| format!("\"{}\":", column.name().replace('.', "_"));
        let keys = columns.columns.iter().map(key).collect();
        Writer { columns, keys, dissector: Dissector::default() }
    }

    /// Appends a packet's line.
    pub(super) fn line(
        &mut self,
        batch: &Batch<'_>,
        (number, packet): (u64, PacketRef<'_>),
        out: &mut Vec<u8>,
    ) {
        let dissection = self.dissector.read(packet.linktype, packet.data, packet.wire_len);
        let interface = matches!(batch.format(), Format::Pcapng(_)).then_some(packet.interface);
        let facts =
            Facts { file: batch.input(), number, packet: &packet, interface, dissection: &dissection };
        match self.columns.style {
            Style::Tabs => {
                for (at, column) in self.columns.columns.iter().enumerate() {
                    if at > 0 {
                        out.push(b'\t');
                    }
                    facts.text(column, out);
                }
                out.push(b'\n');
            }
            Style::Csv => {
                for (at, column) in self.columns.columns.iter().enumerate() {
                    if at > 0 {
                        out.push(b',');
                    }
                    let begin = out.len();
                    facts.text(column, out);
                    quote_csv(out, begin);
                }
                out.extend_from_slice(b"\r\n");
            }
            Style::Json => {
                out.push(b'{');
                members((&self.columns, &self.keys), &facts, out);
                out.extend_from_slice(b"}\n");
            }
        }
    }

    /// Appends the members of a packet's object.
    pub(super) fn members(&mut self, packet: &PacketRef<'_>, out: &mut Vec<u8>) {
        let dissection = self.dissector.read(packet.linktype, packet.data, packet.wire_len);
        members(
            (&self.columns, &self.keys),
            &Facts { file: "", number: 0, packet, interface: None, dissection: &dissection },
            out,
        );
    }
}

fn members((columns, keys): (&Columns, &[String]), facts: &Facts<'_>, out: &mut Vec<u8>) {
    for (at, (column, key)) in columns.columns.iter().zip(keys).enumerate() {
        if at > 0 {
            out.push(b',');
        }
        out.extend_from_slice(key.as_bytes());
        facts.json(column, out);
    }
}

/// What columns are read from.
struct Facts<'a> {
    file: &'a str,
    number: u64,
    packet: &'a PacketRef<'a>,
    /// The number of the interface, where the format has such.
    interface: Option<u32>,
    dissection: &'a Dissection<'a>,
}

impl Facts<'_> {
    /// Appends a value as text. Writing to a `Vec` cannot fail.
    fn text(&self, column: &Column, out: &mut Vec<u8>) {
        let _ = match column {
            Column::Packet(field) => match field.read(self.dissection) {
                Some(Value::Number(number)) => return decimal(number, out),
                Some(value) => write!(out, "{value}"),
                None => Ok(()),
            },
            Column::Frame(Frame::File) => write!(out, "{}", wire::fields::Text(self.file.as_bytes())),
            Column::Frame(frame) => return self.frame(*frame, out),
        };
    }

    /// Appends a value as JSON.
    fn json(&self, column: &Column, out: &mut Vec<u8>) {
        let value = match column {
            Column::Frame(Frame::File) => return string(out, self.file),
            Column::Frame(Frame::Interface) if self.interface.is_none() => None,
            Column::Frame(frame) => return self.frame(*frame, out),
            Column::Packet(field) => field.read(self.dissection),
        };
        let _ = match value {
            None => out.write_all(b"null"),
            Some(Value::Number(number)) => return decimal(number, out),
            Some(Value::Hex { value, .. }) => return decimal(value.into(), out),
            Some(Value::Flag(flag)) => out.write_all(if flag { b"true" } else { b"false" }),
            // Nothing in these is escaped.
            Some(value @ (Value::Mac(_) | Value::Ip(_))) => write!(out, "\"{value}\""),
            Some(Value::Text(text)) => return string(out, &String::from_utf8_lossy(text.0)),
            Some(value) => return string(out, &value.to_string()),
        };
    }

    /// Appends a number of the capture.
    fn frame(&self, frame: Frame, out: &mut Vec<u8>) {
        match frame {
            Frame::File => {}
            Frame::Number => decimal(self.number, out),
            Frame::TimeEpoch => {
                let ns = self.packet.timestamp_ns;
                let (whole, rest) = (ns.unsigned_abs() / 1_000_000_000, ns.unsigned_abs() % 1_000_000_000);
                if ns < 0 {
                    out.push(b'-');
                }
                decimal(whole, out);
                out.push(b'.');
                nine_digits(rest, out);
            }
            Frame::Len => decimal(self.packet.wire_len.into(), out),
            Frame::CapLen => decimal(self.packet.data.len() as u64, out),
            Frame::Interface => {
                if let Some(number) = self.interface {
                    decimal(number.into(), out);
                }
            }
        }
    }
}

/// Appends a number in decimal.
///
/// PERF: most columns are numbers; `write!` takes three times as long.
pub(super) fn decimal(mut number: u64, out: &mut Vec<u8>) {
    let mut digits = [0; 20];
    let mut at = digits.len();
    loop {
        at -= 1;
        digits[at] = b'0' + (number % 10) as u8;
        number /= 10;
        if number == 0 {
            break;
        }
    }
    out.extend_from_slice(&digits[at..]);
}

/// Appends nanoseconds within a second.
pub(super) fn nine_digits(ns: u64, out: &mut Vec<u8>) {
    let digits = [8, 7, 6, 5, 4, 3, 2, 1, 0].map(|place| b'0' + (ns / 10_u64.pow(place) % 10) as u8);
    out.extend_from_slice(&digits);
}

/// Appends a string of JSON.
pub(super) fn string(out: &mut Vec<u8>, text: &str) {
    // Writing to a Vec cannot fail.
    let _ = serde_json::to_writer(out, text);
}

/// Puts the value that begins at `begin` in quotes, where it must be (RFC 4180, 2).
fn quote_csv(out: &mut Vec<u8>, begin: usize) {
    if !out[begin..].iter().any(|byte| matches!(byte, b',' | b'"')) {
        return;
    }
    let value = out.split_off(begin);
    out.push(b'"');
    for byte in value {
        if byte == b'"' {
            out.push(b'"');
        }
        out.push(byte);
    }
    out.push(b'"');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_known() {
        let mut names: Vec<_> =
            FRAME.iter().map(|(name, ..)| *name).chain(FIELDS.iter().map(|field| field.name)).collect();
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count);
        assert_eq!(Columns::of_csv().columns.len(), BEFORE_IN_CSV.len() + OF_JSON.len());
    }

    #[test]
    fn an_unknown_name_is_answered_with_the_nearest() {
        for (name, near) in [
            ("tcp.seq", "did you mean `tcp.seq_raw`?"),
            ("ip.source", "`--fields help` lists all"),
            ("tcp.dport", "did you mean `tcp.dstport`?"),
            ("frame.time", "did you mean `frame.time_epoch`?"),
            ("", "`--fields help` lists all"),
        ] {
            let failure = Columns::named(&[name.to_owned()], Style::Tabs).unwrap_err();
            let told = failure.message.to_string();
            assert!(told.contains(&format!("there is no field `{name}`")) && told.contains(near), "{told}");
        }
    }

    #[test]
    fn what_has_commas_or_quotes_is_quoted() {
        for (value, quoted) in [("a", "a"), ("a,b", "\"a,b\""), ("a\"b", "\"a\"\"b\"")] {
            let mut out = b"x,".to_vec();
            out.extend_from_slice(value.as_bytes());
            quote_csv(&mut out, 2);
            assert_eq!(String::from_utf8(out).unwrap(), format!("x,{quoted}"));
        }
    }

    #[test]
    fn decimal_numbers() {
        for number in [0, 9, 10, 1_234_567_890, u64::MAX] {
            let mut out = Vec::new();
            decimal(number, &mut out);
            assert_eq!(String::from_utf8(out).unwrap(), number.to_string());
        }
    }
}
