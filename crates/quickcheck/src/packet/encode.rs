//! From layers to bytes, innermost first: a header is written when its payload is known.

use super::spec::{Default, Field, Kind, Spec, Sum};
use super::text::Layer;
use super::value::{self, Value};
use super::{Error, Packet, layers, nearest, numbers};

/// The longest packet that `pad` makes, so that a slip of the finger cannot fill memory.
const MAX_PAD: usize = 1 << 20;

/// Builds the packet.
pub(super) fn packet(list: &[Layer<'_>]) -> Result<Packet, Error> {
    let (mut bytes, mut cut, mut wire) = (Vec::new(), None, None);
    for (at, layer) in list.iter().enumerate().rev() {
        match layer.name {
            "" => prepend(&mut bytes, value::unescape(layer.body)),
            "hex" => prepend(&mut bytes, value::bytes(layer.body)?),
            "pad" => prepend(&mut bytes, vec![0; count(layer)?]),
            "cut" => cut = Some(count(layer)?),
            "wire" => wire = Some(count(layer)? as u32),
            _ => {
                let header = Header::new(list, at, bytes.len())?;
                bytes = header.write(bytes)?;
            }
        }
    }
    let wire_len = wire.unwrap_or(bytes.len() as u32);
    bytes.truncate(cut.unwrap_or(bytes.len()));
    Ok(Packet { bytes, wire_len })
}

fn prepend(bytes: &mut Vec<u8>, mut front: Vec<u8>) {
    front.append(bytes);
    *bytes = front;
}

fn count(layer: &Layer<'_>) -> Result<usize, Error> {
    match layer.body.trim().parse() {
        Ok(count) if count <= MAX_PAD => Ok(count),
        _ => Err(Error::new(format!("`{}({})` wants one number, at most {MAX_PAD}", layer.name, layer.body))),
    }
}

/// One header on its way to bytes.
struct Header<'a> {
    list: &'a [Layer<'a>],
    at: usize,
    spec: &'static Spec,
    given: Vec<Option<Value>>,
    header_len: usize,
    payload_len: usize,
}

impl<'a> Header<'a> {
    fn new(list: &'a [Layer<'a>], at: usize, payload_len: usize) -> Result<Self, Error> {
        let spec = spec_of(&list[at])?;
        let given = arguments(spec, &list[at])?;
        let bits: usize =
            spec.fields.iter().zip(&given).map(|(field, value)| width(field, value.as_ref())).sum();
        if !bits.is_multiple_of(8) {
            return Err(Error::new(format!("the table entry for `{}` does not fill whole bytes", spec.name)));
        }
        Ok(Header { list, at, spec, given, header_len: bits / 8, payload_len })
    }

    /// The header in front of its payload.
    fn write(&self, payload: Vec<u8>) -> Result<Vec<u8>, Error> {
        let mut bits = BitWriter::new(self.header_len, self.spec.lsb_first);
        let mut sum = None;
        for (field, given) in self.spec.fields.iter().zip(&self.given) {
            if let (None, Default::Sum(kind)) = (given, field.default) {
                sum = Some((bits.at / 8, kind));
            }
            let value = match given {
                Some(value) => value.clone(),
                None => self.default(field)?,
            };
            bits.put(field.kind, &value);
        }
        let mut bytes = bits.bytes;
        bytes.extend(payload);
        if let Some((offset, kind)) = sum {
            self.patch_sum(&mut bytes, offset, kind)?;
        }
        Ok(bytes)
    }

    fn next_name(&self) -> Option<&'a str> {
        self.list.get(self.at + 1).map(|layer| layer.name)
    }

    fn default(&self, field: &Field) -> Result<Value, Error> {
        let number_of =
            |space, fallback| self.next_name().and_then(|name| numbers::of(space, name)).unwrap_or(fallback);
        let len = |base: usize, add: i64| (base as i64 + add).max(0) as u128;
        let value = match field.default {
            Default::Text(text) => return value::parse(field.kind, text),
            Default::Num(number) => number,
            Default::Next(space, fallback) => number_of(space, fallback),
            Default::TypeOrLength if matches!(self.next_name(), Some("llc" | "raw802")) => {
                self.payload_len as u128
            }
            Default::TypeOrLength => number_of(super::spec::Space::EtherType, 0x88b5),
            Default::PayloadLen(add) => len(self.payload_len, add),
            Default::TotalLen(add) => len(self.header_len + self.payload_len, add),
            Default::HeaderLen { unit, minus } => (self.header_len.div_ceil(unit) - minus) as u128,
            Default::IsLast => u128::from(self.next_name() != Some(self.spec.name)),
            Default::Sum(_) => 0,
        };
        // A length that does not fit wraps, as it would in a careless sender.
        Ok(match field.kind {
            Kind::Bytes | Kind::Text(_) => Value::Bytes(vec![0; field.kind.bits().unwrap_or(0) as usize / 8]),
            kind => Value::Num(value & low_mask(kind.bits().unwrap_or(128))),
        })
    }

    fn patch_sum(&self, bytes: &mut [u8], offset: usize, kind: Sum) -> Result<(), Error> {
        if kind == Sum::Crc32c {
            let crc = crc32c(bytes).to_le_bytes();
            bytes[offset..offset + 4].copy_from_slice(&crc);
            return Ok(());
        }
        let start = if kind == Sum::Pseudo { self.pseudo_header(bytes.len())? } else { 0 };
        let covered = if kind == Sum::Header { &bytes[..self.header_len] } else { &bytes[..] };
        let mut sum = !fold(start + ones_sum(covered));
        // RFC 768: zero means "no checksum".
        if self.spec.name == "udp" && sum == 0 {
            sum = 0xffff;
        }
        bytes[offset..offset + 2].copy_from_slice(&sum.to_be_bytes());
        Ok(())
    }

    /// The sum over the pseudo header of the nearest IP header outside, or zero when there is none.
    fn pseudo_header(&self, len: usize) -> Result<u64, Error> {
        let Some(at) = (0..self.at).rev().find(|&at| matches!(self.list[at].name, "ip4" | "ip6")) else {
            return Ok(0);
        };
        let outer = Header::new(self.list, at, 0)?;
        let mut sum =
            len as u64 + numbers::of(super::spec::Space::IpProto, self.spec.name).unwrap_or(0) as u64;
        for name in ["src", "dst"] {
            let index = outer.spec.field(name).expect("both IP headers have src and dst");
            let value = match &outer.given[index] {
                Some(value) => value.clone(),
                None => outer.default(&outer.spec.fields[index])?,
            };
            let Value::Num(address) = value else { continue };
            sum += ones_sum(&address.to_be_bytes());
        }
        Ok(sum)
    }
}

fn spec_of(layer: &Layer<'_>) -> Result<&'static Spec, Error> {
    layers::all().find(|spec| spec.name == layer.name).ok_or_else(|| {
        let hint =
            nearest(layer.name, layers::all().map(|spec| spec.name).chain(["hex", "pad", "cut", "wire"]));
        let hint = hint.map_or_else(String::new, |name| format!(": did you mean `{name}`?"));
        Error::new(format!("unknown layer `{}`{hint}", layer.name))
    })
}

/// The given values, one place for each field.
fn arguments(spec: &'static Spec, layer: &Layer<'_>) -> Result<Vec<Option<Value>>, Error> {
    let mut given = vec![None; spec.fields.len()];
    let mut positional = spec.positional.iter();
    for &(name, text) in &layer.args {
        let name = match name {
            Some(name) => name,
            None => positional.next().ok_or_else(|| {
                let fields: Vec<_> = spec.fields.iter().map(|field| field.name).collect();
                Error::new(format!("`{}`: `{text}` needs a name, one of {}", spec.name, fields.join(", ")))
            })?,
        };
        let index = spec.field(name).ok_or_else(|| unknown_field(spec, name))?;
        let field = &spec.fields[index];
        let value = value::parse(field.kind, text)
            .map_err(|e| Error::new(format!("`{}({name})`: {e}", spec.name)))?;
        given[index] = Some(value);
    }
    Ok(given)
}

fn unknown_field(spec: &'static Spec, name: &str) -> Error {
    let names: Vec<_> = spec.fields.iter().map(|field| field.name).collect();
    let hint = nearest(name, names.iter().copied())
        .map_or_else(String::new, |name| format!("; did you mean `{name}`?"));
    Error::new(format!("`{}` has no field `{name}`{hint} (it has {})", spec.name, names.join(", ")))
}

fn width(field: &Field, value: Option<&Value>) -> usize {
    match (field.kind.bits(), value, field.default) {
        (Some(bits), _, _) => bits as usize,
        (None, Some(Value::Bytes(bytes)), _) => bytes.len() * 8,
        (None, _, Default::Text(text)) => value::bytes(text).map_or(0, |bytes| bytes.len() * 8),
        _ => 0,
    }
}

fn low_mask(bits: u32) -> u128 {
    if bits >= 128 { u128::MAX } else { (1 << bits) - 1 }
}

/// Writes fields bit by bit: packets here are small and clarity is worth more.
struct BitWriter {
    bytes: Vec<u8>,
    at: usize,
    lsb_first: bool,
}

impl BitWriter {
    fn new(len: usize, lsb_first: bool) -> Self {
        BitWriter { bytes: vec![0; len], at: 0, lsb_first }
    }

    fn put(&mut self, kind: Kind, value: &Value) {
        match value {
            Value::Bytes(bytes) => bytes.iter().for_each(|&byte| self.bits(byte.into(), 8)),
            Value::Num(number) if let Kind::LittleBytes(bytes) = kind => {
                (0..bytes).for_each(|i| self.bits(number >> (8 * i) & 0xff, 8));
            }
            Value::Num(number) => self.bits(*number, kind.bits().unwrap_or(0)),
        }
    }

    fn bits(&mut self, number: u128, count: u32) {
        for i in 0..count {
            let (from, to) = if self.lsb_first { (i, self.at % 8) } else { (count - 1 - i, 7 - self.at % 8) };
            self.bytes[self.at / 8] |= ((number >> from & 1) as u8) << to;
            self.at += 1;
        }
    }
}

/// The sum of 16-bit words that the internet checksum is made of.
fn ones_sum(bytes: &[u8]) -> u64 {
    bytes.chunks(2).map(|pair| u64::from(pair[0]) << 8 | pair.get(1).map_or(0, |&low| u64::from(low))).sum()
}

fn fold(mut sum: u64) -> u16 {
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u16
}

pub(super) fn crc32c(bytes: &[u8]) -> u32 {
    let step = |crc: u32, _| if crc & 1 == 1 { crc >> 1 ^ 0x82f6_3b78 } else { crc >> 1 };
    !bytes.iter().fold(u32::MAX, |crc, &byte| (0..8).fold(crc ^ u32::from(byte), step))
}
