//! The extension `(src, dport) in {@file}`: an address and a port that stand together in a list.
//!
//! Ports are looked for where `port` looks for them, extension headers of IPv6 not stepped over in any dialect. The list is one table for each version of IP; where the filter is written in
//! another language, all pairs are written out. Either way both values are read before a pair is asked for.

use super::Result;
use super::layers::Rel;
use super::lowerer::Lowerer;
use super::numbers::ethertype;
use crate::diag::Code;
use crate::ir::tree::TreeId;
use crate::ir::{Members, Size, ValueId};
use crate::syntax::ast::{Dir, PairSet, RelOp};
use classify::set::{PairSet as Table, Ranks32, Ranks128};
use std::sync::Arc;

/// Pairs of one version: first and last address, first and last port.
type Pairs<K> = Vec<(K, K, u16, u16)>;

#[derive(Debug)]
struct Pairs4(Table<Ranks32>, usize);

impl Members for Pairs4 {
    fn words(&self) -> usize {
        2
    }

    fn contains(&self, row: &[u32]) -> bool {
        matches!(*row, [address, port] if self.0.contains(address, port as u16))
    }

    fn describe(&self) -> String {
        format!("{} pairs of IPv4 address and port", self.1)
    }
}

#[derive(Debug)]
struct Pairs6(Table<Ranks128>, usize);

impl Members for Pairs6 {
    fn words(&self) -> usize {
        5
    }

    fn contains(&self, row: &[u32]) -> bool {
        let Some((&port, words)) = row.split_last() else { return false };
        let address = words.iter().fold(0, |address, &word| address << 32 | u128::from(word));
        self.0.contains(address, port as u16)
    }

    fn describe(&self) -> String {
        format!("{} pairs of IPv6 address and port", self.1)
    }
}

impl Lowerer<'_> {
    /// `(src, dport) in {@file, …}`.
    pub(crate) fn pairs(&mut self, set: &PairSet) -> Result {
        self.check_extension("a set of pairs")?;
        let (mut four, mut six): (Pairs<u32>, Pairs<u128>) = (Vec::new(), Vec::new());
        for (path, span) in &set.files {
            self.span = *span;
            let text = self.options.names.set_file(path).map_err(|why| self.error(Code::SetFile, why))?;
            let list = classify::lists::read(&text, None)
                .map_err(|problem| self.error(Code::SetFile, format!("`@{path}`: {problem}")))?;
            if list.pairs4.len() + list.pairs6.len() < list.entries || list.entries == 0 {
                let what = format!("`@{path}` holds other things than pairs of an address and a port");
                return Err(Box::new(
                    self.error(Code::SetFile, what).help("a line is a pair, as in `10.0.0.1,80`"),
                ));
            }
            four.extend(list.pairs4);
            six.extend(list.pairs6);
        }
        if !self.options.tables {
            self.terms += four.len() + six.len();
            crate::syntax::parser::check_terms(self.terms, &self.options.limits, self.span)?;
        }
        let mut tests = Vec::new();
        if !six.is_empty() {
            tests.push(self.pairs6(&six, set)?);
        }
        if !four.is_empty() {
            tests.push(self.pairs4(&four, set)?);
        }
        Ok(self.any(&tests))
    }

    fn pairs4(&mut self, pairs: &Pairs<u32>, set: &PairSet) -> Result {
        let table: Option<Arc<dyn Members>> = match self.options.tables {
            true => Some(Arc::new(Pairs4(
                Table::new(pairs, self.table_limit()).map_err(|error| self.too_large(error))?,
                pairs.len(),
            ))),
            false => None,
        };
        let link = self.linktype(ethertype::IP)?;
        let transports = self.each_transport(None, |this, proto| {
            let same = this.eq(Rel::Net, 9, Size::B1, proto);
            let first = this.first_fragment();
            let address = this.load(Rel::Net, if set.address == Dir::Src { 12 } else { 16 }, Size::B4);
            let port = this.pair_port(set, Rel::Ip4Payload);
            let asked = match &table {
                Some(table) => this.member_of(&[address, port], table),
                None => this.written_out(&[address, port], pairs.len(), |this, at| {
                    let (low, high, first, last) = pairs[at];
                    let address = this.within(address, low, high);
                    let port = this.within(port, first.into(), last.into());
                    this.and(address, port)
                })?,
            };
            Ok(this.all(&[same, first, asked]))
        })?;
        Ok(self.and(link, transports))
    }

    fn pairs6(&mut self, pairs: &Pairs<u128>, set: &PairSet) -> Result {
        let table: Option<Arc<dyn Members>> = match self.options.tables {
            true => Some(Arc::new(Pairs6(
                Table::new(pairs, self.table_limit()).map_err(|error| self.too_large(error))?,
                pairs.len(),
            ))),
            false => None,
        };
        let link = self.linktype(ethertype::IPV6)?;
        let transports = self.each_transport(None, |this, proto| {
            let same = this.eq(Rel::Net, 6, Size::B1, proto);
            let offset = if set.address == Dir::Src { 8 } else { 24 };
            let words = [0, 4, 8, 12].map(|word| this.load(Rel::Net, offset + word, Size::B4));
            let port = this.pair_port(set, Rel::Ip6Payload);
            let row = [words[0], words[1], words[2], words[3], port];
            let asked = match &table {
                Some(table) => this.member_of(&row, table),
                None => this.written_out(&row, pairs.len(), |this, at| {
                    let (low, high, first, last) = pairs[at];
                    let from = this.at_least6(&words, low);
                    let behind = high.checked_add(1).map(|behind| this.at_least6(&words, behind));
                    let port = this.within(port, first.into(), last.into());
                    let inside = match behind {
                        Some(behind) => {
                            let before = this.not(behind);
                            this.and(from, before)
                        }
                        None => from,
                    };
                    this.and(inside, port)
                })?,
            };
            Ok(this.and(same, asked))
        })?;
        Ok(self.and(link, transports))
    }

    fn pair_port(&mut self, set: &PairSet, rel: Rel) -> ValueId {
        self.load(rel, if set.port == Dir::Src { 0 } else { 2 }, Size::B2)
    }

    /// Any of so many tests, once all values of a row have been read.
    fn written_out(
        &mut self,
        row: &[ValueId],
        count: usize,
        mut test: impl FnMut(&mut Self, usize) -> TreeId,
    ) -> Result {
        let mut tests = Vec::with_capacity(count);
        for at in 0..count {
            self.check_limits()?;
            tests.push(test(self, at));
        }
        let any = self.any(&tests);
        let mut all: Vec<TreeId> = row.iter().map(|&value| self.eval(value)).collect();
        all.push(any);
        Ok(self.all(&all))
    }

    pub(super) fn within(&mut self, value: ValueId, low: u32, high: u32) -> TreeId {
        if low == high {
            return self.relation_k(RelOp::Eq, value, low);
        }
        let (from, to) = (self.relation_k(RelOp::Ge, value, low), self.relation_k(RelOp::Le, value, high));
        self.and(from, to)
    }

    /// Whether the number that four words are is at least this one: the first word that differs decides.
    fn at_least6(&mut self, words: &[ValueId; 4], least: u128) -> TreeId {
        let mut decided = self.truth(true);
        for (at, &word) in words.iter().enumerate().rev() {
            let k = (least >> (96 - 32 * at)) as u32;
            let (above, equal) = (self.relation_k(RelOp::Gt, word, k), self.relation_k(RelOp::Eq, word, k));
            let rest = self.and(equal, decided);
            decided = self.or(above, rest);
        }
        decided
    }
}

#[cfg(test)]
mod tests {
    use crate::{Backend, Compiler, FileNames, LinkType};
    use std::sync::Arc;

    const LIST: &str =
        "10.0.0.0/30,80\n10.0.0.2,1000-1002\n192.0.2.1-192.0.2.9,53\n2001:db8::/126,443\n::5-2001::,80\n";

    fn compiler(text: &'static str) -> Compiler {
        let names = FileNames::new().with_sets(move |_| Ok(text.into()));
        Compiler::new(LinkType::EN10MB).names(Arc::new(names))
    }

    #[test]
    fn an_address_and_a_port_that_stand_together() {
        let mut matched = 0;
        for filter in [
            "(src, dport) in {@list}",
            "not (dst, sport) in {@list, @list}",
            "(dst, dport) in {@list} or arp",
        ] {
            let tables = compiler(LIST);
            let native = tables.compile(filter).unwrap();
            let reference = tables.clone().backend(Backend::Interpreter).compile(filter).unwrap();
            let written_out = tables.without_tables().compile(filter).unwrap();
            assert!(native.is_native());
            for packet in packets() {
                for len in [0, 14, 26, 30, 34, 36, 38, 54, 56, 58, 80] {
                    let packet = &packet[..len];
                    let expected = reference.matches(packet);
                    matched += usize::from(expected);
                    assert_eq!(native.matches(packet), expected, "{filter} {packet:x?}");
                    assert_eq!(written_out.matches(packet), expected, "{filter} {packet:x?}");
                }
            }
        }
        assert!(matched > 500, "{matched}");
        let filter = compiler(LIST).compile("(src, dport) in {@list}").unwrap();
        for (src, dport, expected) in [
            ([10, 0, 0, 2], 80, true),
            ([10, 0, 0, 2], 1001, true),
            ([10, 0, 0, 1], 1001, false),
            ([192, 0, 2, 9], 53, true),
            ([192, 0, 2, 10], 53, false),
        ] {
            assert_eq!(filter.matches(&ip4(6, src, [1, 1, 1, 1], [7, dport])), expected, "{src:?} {dport}");
        }
        assert!(!filter.matches(&ip4(1, [10, 0, 0, 2], [1, 1, 1, 1], [7, 80])), "ICMP has no ports");
    }

    fn ip4(proto: u8, src: [u8; 4], dst: [u8; 4], ports: [u16; 2]) -> Vec<u8> {
        let mut packet = vec![0; 80];
        packet[12..14].copy_from_slice(&[8, 0]);
        packet[14] = 0x45;
        packet[23] = proto;
        packet[26..30].copy_from_slice(&src);
        packet[30..34].copy_from_slice(&dst);
        packet[34..36].copy_from_slice(&ports[0].to_be_bytes());
        packet[36..38].copy_from_slice(&ports[1].to_be_bytes());
        packet
    }

    fn packets() -> Vec<Vec<u8>> {
        let (addresses, ports) =
            ([[10, 0, 0, 1], [10, 0, 0, 2], [10, 0, 0, 4], [192, 0, 2, 9]], [53, 80, 1000, 443]);
        let mut packets = Vec::new();
        for (i, src) in addresses.into_iter().enumerate() {
            for dst in addresses {
                for port in ports {
                    packets.push(ip4([6, 17, 132, 1][i], src, dst, [port, ports[i]]));
                }
            }
        }
        let six: [u128; 6] =
            [0x2001_0db8 << 96, 0x2001_0db8 << 96 | 4, 4, 5, 0x2001 << 112, (0x2001 << 112) + 1];
        for src in six {
            for dst in six {
                for port in ports {
                    let mut packet = vec![0; 80];
                    packet[12..14].copy_from_slice(&[0x86, 0xdd]);
                    packet[20] = 17;
                    packet[22..38].copy_from_slice(&src.to_be_bytes());
                    packet[38..54].copy_from_slice(&dst.to_be_bytes());
                    packet[54..56].copy_from_slice(&port.to_be_bytes());
                    packet[56..58].copy_from_slice(&443_u16.to_be_bytes());
                    packets.push(packet);
                }
            }
        }
        packets
    }

    #[test]
    fn what_is_no_pair_is_told() {
        let error = compiler("10.0.0.1\n").compile("(src, dport) in {@list}").unwrap_err();
        assert!(error.to_string().contains("other things than pairs"), "{error}");
        let error = compiler("10.0.0.1,80\n10.0.0.1,x\n").compile("(src, dport) in {@list}").unwrap_err();
        assert!(error.to_string().contains("line 2"), "{error}");
        for filter in [
            "(src, dport) in {10.0.0.1}",
            "(src, dport)",
            "(src, host) in {@list}",
            "(port, dport) in {@list}",
        ] {
            assert!(compiler(LIST).compile(filter).is_err(), "{filter}");
        }
        let strict = compiler(LIST).dialect(crate::Dialect::STRICT);
        assert!(strict.compile("(src, dport) in {@list}").is_err());
    }
}
