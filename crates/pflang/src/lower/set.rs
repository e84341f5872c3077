//! The extension `in { … }`: any member of a set, written out or read from a file.
//!
//! A set is a plain chain of alternatives, one a member, exactly what `a or b or …` gives: turning chains into one
//! table lookup is the optimiser's business, which must do it for chains anyway.
//!
//! A file has one member a line; `#` starts a comment. A member is an address, a prefix (`10.0.0.0/8`), a range of
//! IPv4 addresses or of ports (`10.0.0.5-10.0.0.9`, `80-90`), an Ethernet address, a number or a name.

use super::Result;
use super::host::Net4;
use super::lowerer::Lowerer;
use super::tree::TreeId;
use crate::diag::Code;
use crate::span::Span;
use crate::syntax::ast::{Id, Kind, Quals, SetItem};
use std::net::{Ipv4Addr, Ipv6Addr};

impl Lowerer<'_> {
    /// `[quals] in { … }`.
    pub(crate) fn set(&mut self, quals: Quals, items: &[SetItem]) -> Result {
        self.check_extension("`in { … }`")?;
        let whole = self.span;
        let mut members = Vec::new();
        for item in items {
            match item {
                SetItem::Id(id, span) => {
                    self.span = *span;
                    members.push(self.member(quals, id)?);
                }
                SetItem::Range(low, high, span) => {
                    self.span = *span;
                    members.push(self.port_numbers(*low, *high, quals)?);
                }
                SetItem::File(path, span) => self.file(path, *span, quals, &mut members)?,
            }
        }
        self.span = whole;
        Ok(self.any(&members))
    }

    /// A prefix stands for its addresses, whether the set is one of hosts or of nets.
    fn member(&mut self, quals: Quals, id: &Id) -> Result {
        let is_prefix = matches!(id, Id::V4Prefix { .. } | Id::V4Mask { .. } | Id::V6Prefix(..));
        match quals.kind {
            None | Some(Kind::Host) if is_prefix => {
                self.identifier(Quals { kind: Some(Kind::Net), ..quals }, id)
            }
            _ => self.identifier(quals, id),
        }
    }

    fn file(&mut self, path: &str, span: Span, quals: Quals, members: &mut Vec<TreeId>) -> Result<()> {
        self.span = span;
        let text = self.options.names.set_file(path).map_err(|why| self.error(Code::SetFile, why))?;
        let limit = self.options.limits.source_bytes;
        if text.len() > limit {
            return Err(self.error(Code::Limit, format!("`@{path}` has more than {limit} bytes")));
        }
        for (number, line) in (1..).zip(text.lines()) {
            let item = line.split('#').next().unwrap_or("").trim();
            if item.is_empty() {
                continue;
            }
            if members.len() >= self.options.limits.terms {
                let limit = self.options.limits.terms;
                return Err(self.error(Code::Limit, format!("the set has more than {limit} members")));
            }
            let member = self.line(item, quals).map_err(|mut error| {
                error.message = format!("`@{path}` line {number}, `{item}`: {}", error.message);
                error
            })?;
            members.push(member);
            self.check_limits()?;
        }
        Ok(())
    }

    fn line(&mut self, item: &str, quals: Quals) -> Result {
        if let Some((low, high)) = item.split_once('-') {
            if let (Ok(low), Ok(high)) = (low.trim().parse(), high.trim().parse()) {
                if !matches!(quals.kind, Some(Kind::Port | Kind::Portrange)) {
                    let mut error = self.error(Code::BadQualifier, "only ports have ranges");
                    error.help = Some("write addresses as prefixes: `10.0.0.0/8`".into());
                    return Err(error);
                }
                return self.port_numbers(low, high, quals);
            }
            if let (Ok(low), Ok(high)) = (low.trim().parse::<Ipv4Addr>(), high.trim().parse::<Ipv4Addr>()) {
                return self.address_range(low.into(), high.into(), quals);
            }
        }
        match parse(item) {
            Some(id) => self.member(quals, &id),
            None => Err(self.error(Code::OutOfRange, "a malformed member")),
        }
    }

    /// The addresses from `low` to `high`, as the fewest networks that hold just these.
    fn address_range(&mut self, low: u32, high: u32, quals: Quals) -> Result {
        if !matches!(quals.kind, None | Some(Kind::Host | Kind::Net)) {
            return Err(self.error(Code::BadQualifier, "a range of addresses in a set of something else"));
        }
        let (mut next, last) = (u64::from(low.min(high)), u64::from(low.max(high)));
        let mut nets = Vec::new();
        while next <= last {
            self.check_limits()?;
            let aligned = if next == 0 { 1 << 32 } else { 1 << next.trailing_zeros() };
            let fitting = 1u64 << (last - next + 1).ilog2();
            let size = fitting.min(aligned);
            let net = Net4 { address: next as u32, mask: !((size - 1) as u32) };
            nets.push(self.net4(net, quals)?);
            next += size;
        }
        Ok(self.any(&nets))
    }

    /// An extension is refused where only libpcap's own language is wanted.
    pub(crate) fn check_extension(&self, what: &str) -> Result<()> {
        if !self.options.dialect.strict {
            return Ok(());
        }
        Err(self.error(Code::Strict, format!("{what} is an extension: libpcap does not know it")))
    }
}

/// One member of a file. What is no address and no number is a name.
fn parse(item: &str) -> Option<Id> {
    if let Some((address, len)) = item.split_once('/') {
        let len = len.trim().parse().ok()?;
        return match address.trim().parse::<Ipv4Addr>() {
            Ok(address) => Some(Id::V4Prefix { value: address.into(), bits: 32, len }),
            Err(_) => Some(Id::V6Prefix(address.trim().parse().ok()?, len)),
        };
    }
    if let Ok(address) = item.parse::<Ipv4Addr>() {
        return Some(Id::V4 { value: address.into(), bits: 32 });
    }
    if let Some(address) = mac(item) {
        return Some(Id::Mac(address));
    }
    if item.contains(':') {
        return Some(Id::V6(item.parse::<Ipv6Addr>().ok()?));
    }
    if item.bytes().all(|byte| byte.is_ascii_digit()) {
        return Some(Id::Number(item.parse().ok()?));
    }
    let is_name = item.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.'));
    is_name.then(|| Id::Name(item.to_string()))
}

/// Six hexadecimal bytes with colons between.
fn mac(item: &str) -> Option<[u8; 6]> {
    let mut address = [0; 6];
    let mut parts = item.split(':');
    for byte in &mut address {
        let part = parts.next()?;
        let is_hex = (1..=2).contains(&part.len()) && part.bytes().all(|digit| digit.is_ascii_hexdigit());
        *byte = u8::from_str_radix(part, 16).ok().filter(|_| is_hex)?;
    }
    parts.next().is_none().then_some(address)
}
