//! The extension `in { … }`: any member of a set, written out or read from a file.
//!
//! A set is a plain chain of alternatives, one a member, exactly what `a or b or …` gives: turning chains into one
//! table lookup is the optimiser's business, which must do it for chains anyway.
//!
//! But an IPv6 address is four words, and the way back from each word that differs leads to the next member. So
//! IPv6 networks are asked for behind the IPv4 ones, as a tree, word by word, and first at one end of the packet's way, then at the other. No
//! member is found before all four words were read, so that a packet that is cut off within the addresses tells the order only where it is
//! compared at both ends, or where the link type does not say which version of IP it carries.
//!
//! A file has one member a line, written as within the braces; `#` starts a comment. Only there a prefix may have bits behind its length, which
//! published lists have, and a range may not be written the wrong way round.

use super::Result;
use super::id::left_aligned;
use super::lowerer::Lowerer;
use super::net::{Net4, Net6};
use crate::Span;
use crate::diag::{Code, Diagnostic};
use crate::ir::tree::TreeId;
use crate::syntax::ast::{Dir, Id, Kind, Quals, SetItem};
use crate::syntax::parse::member;
use crate::syntax::parser::check_terms;
use crate::syntax::range;
use classify::lists::Format;
use std::net::{Ipv4Addr, Ipv6Addr};

/// Characters of a wrong line that are shown: before the place, and from it on.
const BEFORE_SHOWN: usize = 20;
const SHOWN: usize = 40;

impl Lowerer<'_> {
    /// `[quals] in { … }`.
    pub(crate) fn set(&mut self, quals: Quals, items: &[SetItem]) -> Result {
        self.check_extension("`in { … }`")?;
        let whole = self.span;
        let mut members = Vec::new();
        let texts = self.texts(items);
        let lines: usize = texts.iter().flatten().flatten().map(|text| text.lines().count()).sum();
        self.begin_large(quals, items.len() + lines);
        // Both ends of one address are asked for in one go.
        self.nets6 = (quals.dir != Some(Dir::SrcAndDst)).then(Vec::new);
        for (item, text) in items.iter().zip(texts) {
            self.span = item.span();
            match (item, text) {
                (SetItem::File(path, _), Some(text)) => {
                    let text = text.map_err(|why| self.error(Code::SetFile, why))?;
                    self.file(path, &text, quals, &mut members)?;
                }
                (item, _) => members.push(self.member(quals, item)?),
            }
            self.check_limits()?;
        }
        self.span = whole;
        let mut nets6 = self.nets6.take().unwrap_or_default();
        nets6.sort_by_key(|(net, _)| (net.mask, net.address));
        nets6.dedup_by_key(|(net, _)| *net);
        members.extend(self.end_large(quals, &nets6)?);
        Ok(self.any(&members))
    }

    /// The texts of the files among these items.
    fn texts(&self, items: &[SetItem]) -> Vec<Option<std::result::Result<String, String>>> {
        let text = |item: &SetItem| match item {
            SetItem::File(path, _) => Some(self.options.names.set_file(path)),
            _ => None,
        };
        items.iter().map(text).collect()
    }

    fn member(&mut self, quals: Quals, item: &SetItem) -> Result {
        match *item {
            SetItem::Id(ref id, _) => self.member_id(quals, id).map_err(|error| match id {
                // Unescaped, it would have been read as a range.
                Id::Name(name) if range::numbers(name).is_some() => {
                    Box::new(error.help(format!("write the range without a backslash: `{name}`")))
                }
                Id::Name(name) if range::numbers(&name.replacen("..", "-", 1)).is_some() => {
                    Box::new(error.help(format!("write the range as `{}`", name.replacen("..", "-", 1))))
                }
                _ => error,
            }),
            SetItem::Range(low, high, _) => self.port_numbers(low, high, quals),
            SetItem::Addresses(low, high, _) => self.address_range(low, high, quals),
            SetItem::File(..) => Err(self.error(Code::Unexpected, "a file within the file of a set")),
        }
    }

    /// A prefix stands for its addresses, whether the set is one of hosts or of nets.
    fn member_id(&mut self, quals: Quals, id: &Id) -> Result {
        let is_prefix = matches!(id, Id::V4Prefix { .. } | Id::V4Mask { .. } | Id::V6Prefix(..));
        let is_net = is_prefix && matches!(quals.kind, None | Some(Kind::Host));
        let quals = if is_net { Quals { kind: Some(Kind::Net), ..quals } } else { quals };
        self.identifier(quals, id)
    }

    /// Each line that has a member is a term, as each member within the braces is.
    fn file(&mut self, path: &str, text: &str, quals: Quals, members: &mut Vec<TreeId>) -> Result<()> {
        let limit = self.options.limits.source_bytes;
        if text.len() > limit {
            return Err(self.error(Code::Limit, format!("`@{path}` has more than {limit} bytes")));
        }
        if classify::lists::format_of(text) != Format::Plain {
            return self.list(path, text, quals, members);
        }
        // Editors of some systems begin a text with a byte order mark.
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        for (number, text) in (1..).zip(text.lines()) {
            let text = text.split('#').next().unwrap_or("").trim_end();
            // PERF: addresses of large sets, of which there may be a million, need no parser.
            if self.large.is_some() && self.plain_member(text.trim_start()) {
                continue;
            }
            let line = Line { path, number, text, named: self.span };
            let Some(whole) = line.whole() else { continue };
            self.terms += 1;
            check_terms(self.terms, &self.options.limits, whole)
                .map_err(|found| line.wrong(whole, *found))?;
            let read = |text: &str| member(text, quals, &self.options.dialect, &self.options.limits);
            let item = read(text).map(masked).map_err(|found| line.wrong(found.span, *found))?;
            if let Some(found) = backwards(text, &item, |first| read(first).ok()) {
                return Err(line.wrong(item.span(), found));
            }
            self.note_member(path, number, text);
            let test = self.member(quals, &item).map_err(|found| line.wrong(item.span(), *found))?;
            self.span = line.named;
            self.check_limits().map_err(|found| line.wrong(item.span(), *found))?;
            members.push(test);
        }
        Ok(())
    }

    /// A file in a form that is not ours: what ipset or nftables save, columns, or JSON. Each entry is a term.
    fn list(&mut self, path: &str, text: &str, quals: Quals, members: &mut Vec<TreeId>) -> Result<()> {
        let wrong = |this: &Self, what: &dyn std::fmt::Display| {
            this.error(Code::SetFile, format!("`@{path}`: {what}"))
        };
        let list = classify::lists::read(text, None).map_err(|problem| wrong(self, &problem))?;
        if list.addresses.is_empty() && list.ports.is_empty() {
            return Err(wrong(self, &"it holds neither addresses nor ports"));
        }
        if self.large.is_none() {
            self.terms += list.entries;
            check_terms(self.terms, &self.options.limits, self.span)?;
        }
        for &(low, high) in &list.addresses.v4 {
            if !self.large.as_mut().is_some_and(|large| large.push4(low, high)) {
                members.push(self.address_range(low.into(), high.into(), quals)?);
            }
        }
        for &(low, high) in &list.addresses.v6 {
            let knows6 = self.nets6.as_ref().is_some_and(|nets| !nets.is_empty());
            match &mut self.large {
                Some(large) if knows6 => large.push6(low, high),
                _ => members.push(self.address_range6(low, high, quals)?),
            }
        }
        for &(low, high) in &list.ports {
            members.push(self.port_numbers(low.into(), high.into(), quals)?);
        }
        self.check_limits()
    }

    /// Keeps a line of a file for the table of a large set, if it is an address, a prefix or a range as most are written; what is
    /// odd about others, the parser tells.
    fn plain_member(&mut self, text: &str) -> bool {
        use classify::lists::Item;
        // The first of each version goes the way of all members, which tells what is wrong with it.
        let knows6 = self.nets6.as_ref().is_some_and(|nets| !nets.is_empty());
        let Some(large) = &mut self.large else { return false };
        match Item::parse(text) {
            Ok(Item::V4(low, high)) => large.push4(low, high),
            Ok(Item::V6(low, high)) if knows6 && high - low != u128::MAX => {
                large.push6(low, high);
                true
            }
            _ => false,
        }
    }

    /// The addresses from `low` to `high`, as the fewest networks that hold just these.
    fn address_range(&mut self, low: Ipv4Addr, high: Ipv4Addr, quals: Quals) -> Result {
        let (mut next, last) = (u64::from(u32::from(low)), u64::from(u32::from(high)));
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

    /// The IPv6 addresses from `low` to `high`, likewise.
    fn address_range6(&mut self, low: u128, high: u128, quals: Quals) -> Result {
        let (mut next, mut nets) = (low, Vec::new());
        loop {
            self.check_limits()?;
            // The most bits that may vary: as many zeros as `next` ends with, and not beyond `high`.
            let left = high - next;
            let fitting = if left == u128::MAX { 128 } else { (left + 1).ilog2() };
            let varying = fitting.min(next.trailing_zeros());
            let mask = u128::MAX.checked_shl(varying).unwrap_or(0);
            nets.push(self.net6(Net6 { address: next, mask }, quals)?);
            match (next | !mask).checked_add(1) {
                Some(behind) if behind <= high => next = behind,
                _ => return Ok(self.any(&nets)),
            }
        }
    }

    /// An extension is refused where only libpcap's own language is wanted.
    pub(crate) fn check_extension(&self, what: &str) -> Result<()> {
        if !self.options.dialect.strict {
            return Ok(());
        }
        let found = self.error(Code::Strict, format!("{what} is an extension: libpcap does not know it"));
        Err(Box::new(found.help("compile it without the `strict` dialect")))
    }
}

/// A member of a file, without the bits of a prefix behind its length.
fn masked(item: SetItem) -> SetItem {
    match item {
        SetItem::Id(Id::V4Prefix { value, bits, len }, span) if len <= 32 => {
            let mask = u32::MAX.checked_shl(32 - len).unwrap_or(0);
            SetItem::Id(Id::V4Prefix { value: left_aligned(value, bits) & mask, bits: 32, len }, span)
        }
        SetItem::Id(Id::V4Mask { value, bits, mask, mask_bits }, span) => {
            let value = left_aligned(value, bits) & left_aligned(mask, mask_bits);
            SetItem::Id(Id::V4Mask { value, bits: 32, mask, mask_bits }, span)
        }
        SetItem::Id(Id::V6Prefix(address, len), span) if len <= 128 => {
            let mask = u128::MAX.checked_shl(128 - len).unwrap_or(0);
            SetItem::Id(Id::V6Prefix(Ipv6Addr::from_bits(address.to_bits() & mask), len), span)
        }
        other => other,
    }
}

/// What is wrong with a range of a file whose greater end comes first; `read` reads an end by itself.
fn backwards(text: &str, item: &SetItem, read: impl FnOnce(&str) -> Option<SetItem>) -> Option<Diagnostic> {
    let low = match item {
        SetItem::Range(low, ..) => *low,
        SetItem::Addresses(low, ..) => u32::from(*low),
        SetItem::Id(..) | SetItem::File(..) => return None,
    };
    let (first, last) = text.split_once('-')?;
    let SetItem::Id(Id::Number(value) | Id::V4 { value, .. }, _) = read(first.trim_end())? else {
        return None;
    };
    let message = format!("the range ends before it begins: write `{}-{}`", last.trim(), first.trim());
    (value != low).then(|| Diagnostic::new(Code::OutOfRange, item.span(), message))
}

/// A line of a set's file.
struct Line<'a> {
    path: &'a str,
    number: usize,
    text: &'a str,
    /// Where the filter names the file.
    named: Span,
}

impl Line<'_> {
    /// Where what it holds stands; `None` for an empty one.
    fn whole(&self) -> Option<Span> {
        let start = self.text.find(|c: char| !c.is_whitespace())?;
        Some(Span::new(start as u32, self.text.len() as u32))
    }

    /// What is wrong at this place of the line, said where the filter names the file.
    fn wrong(&self, place: Span, found: Diagnostic) -> Box<Diagnostic> {
        let Line { path, number, text, named } = *self;
        let column = 1 + text[..place.start as usize].chars().count();
        let shown = self.around(place.start as usize);
        let message = format!("`@{path}` line {number}, column {column}, `{shown}`: {}", found.message);
        Box::new(Diagnostic { message, span: named, ..found })
    }

    /// The part around a place: a line may have megabytes.
    fn around(&self, at: usize) -> String {
        let (before, rest) = self.text.split_at(at);
        let start = before.char_indices().rev().nth(BEFORE_SHOWN - 1).map_or(0, |(start, _)| start);
        let end = rest.char_indices().nth(SHOWN).map_or(self.text.len(), |(end, _)| at + end);
        let mark = |is_cut: bool| if is_cut { "…" } else { "" };
        let shown = self.text[start..end].trim_start();
        format!("{}{shown}{}", mark(start > 0), mark(end < self.text.len()))
    }
}
