//! Large sets of addresses: a table that the filter calls, in the place of one test a member.
//!
//! The meaning is that of the tests written out ([`super::set`]). There, a packet that is cut off between its two addresses can only be found by
//! the first member, since the second is not asked before both addresses of the first were read. So the first IPv4 member stays a test of its own,
//! and all others are asked behind it. Of IPv6 the order is that of the tests anyway: all members at one end, then all at the other.

use super::Result;
use super::layers::Rel;
use super::lowerer::Lowerer;
use super::net::{Net4, Net6};
use super::numbers::ethertype;
use crate::Span;
use crate::diag::{Code, Diagnostic};
use crate::ir::tree::{TreeId, TreeNode};
use crate::ir::{Members, Size};
use crate::syntax::ast::{Dir, Kind, Proto, Quals};
use classify::set::{Limit, RankSet, Ranks32, Ranks128, TooLarge};
use std::sync::Arc;

/// Members from which on a set is looked up in a table.
///
/// PERF: up to about this number, an equality table in the code is as fast as a call, and its filter compiles in some milliseconds.
pub(super) const LARGE: usize = 4096;

/// The same of IPv6, whose tests are a tree of words: 50,000 hosts took seconds to compile.
const LARGE6: usize = 64;

/// The addresses of a large set, while they are collected.
pub(crate) struct LargeSet {
    quals: Quals,
    v4: Vec<(u32, u32)>,
    v6: Vec<(u128, u128)>,
}

impl LargeSet {
    /// Adds IPv4 addresses; `false` where there are none so far, since the first stays a test of its own.
    pub(super) fn push4(&mut self, low: u32, high: u32) -> bool {
        if !self.v4.is_empty() {
            self.v4.push((low, high));
        }
        !self.v4.is_empty()
    }

    /// Adds IPv6 addresses.
    pub(super) fn push6(&mut self, low: u128, high: u128) {
        self.v6.push((low, high));
    }
}

/// Addresses of IPv4: one number.
#[derive(Debug)]
struct Table4(RankSet<Ranks32>);

impl Members for Table4 {
    fn words(&self) -> usize {
        1
    }

    fn contains(&self, row: &[u32]) -> bool {
        matches!(*row, [address] if self.0.contains(address))
    }

    fn describe(&self) -> String {
        format!("{} intervals of IPv4 addresses", self.0.spans())
    }
}

/// Addresses of IPv6: four numbers.
#[derive(Debug)]
struct Table6(RankSet<Ranks128>);

impl Members for Table6 {
    fn words(&self) -> usize {
        4
    }

    fn contains(&self, row: &[u32]) -> bool {
        let address = row.iter().fold(0, |address, &word| address << 32 | u128::from(word));
        self.0.contains(address)
    }

    fn describe(&self) -> String {
        format!("{} intervals of IPv6 addresses", self.0.spans())
    }
}

impl Lowerer<'_> {
    /// Begins to collect the addresses of a set of so many members, if it is large and one of addresses.
    pub(super) fn begin_large(&mut self, quals: Quals, members: usize) {
        let is_address = matches!(quals.kind, None | Some(Kind::Host | Kind::Net))
            && matches!(quals.proto, None | Some(Proto::Ip | Proto::Arp | Proto::Rarp | Proto::Ip6))
            && matches!(quals.dir, None | Some(Dir::Src | Dir::Dst | Dir::SrcOrDst));
        // Who wants to know what each part was lowered to is told of each member, as long as they may be terms.
        let large = if self.record.is_some() { self.options.limits.terms } else { LARGE };
        if self.options.tables && is_address && members >= large {
            self.large = Some(LargeSet { quals, v4: Vec::new(), v6: Vec::new() });
        }
    }

    /// Whether a network was kept for the table of the set at hand. The first is noted, and asked as any other.
    pub(super) fn keep_for_table(&mut self, net: Net4, quals: Quals) -> bool {
        let Some(large) = &mut self.large else { return false };
        let is_interval = net.mask.leading_ones() + net.mask.trailing_zeros() == u32::BITS;
        let kind = |quals: Quals| Quals { kind: None, ..quals };
        if !is_interval || kind(quals) != kind(large.quals) {
            return false;
        }
        let is_first = large.v4.is_empty();
        large.v4.push((net.address & net.mask, net.address | !net.mask));
        !is_first
    }

    /// The tests of what was collected: of IPv4, and of IPv6 with these networks beside.
    pub(super) fn end_large(&mut self, quals: Quals, nets6: &[(Net6, Span)]) -> Result<Vec<TreeId>> {
        let mut tests = Vec::new();
        let large = self.large.take();
        let (v4, mut v6) = large.map(|large| (large.v4, large.v6)).unwrap_or_default();
        if v4.len() > 1 {
            tests.push(self.table4(v4, quals)?);
        }
        // Networks of no bits read nothing, and others all words.
        let is_interval =
            |net: &Net6| net.mask != 0 && net.mask.leading_ones() + net.mask.trailing_zeros() == u128::BITS;
        let is_recorded = self.record.is_some() && v6.is_empty();
        let is_large = self.options.tables && !is_recorded && v6.len() + nets6.len() >= LARGE6;
        let (intervals, others): (Vec<_>, Vec<_>) =
            nets6.iter().copied().partition(|(net, _)| is_large && is_interval(net));
        v6.extend(intervals.iter().map(|(net, _)| (net.address & net.mask, net.address | !net.mask)));
        if !others.is_empty() {
            tests.push(self.any6(&others, quals.dir)?);
        }
        if !v6.is_empty() {
            tests.push(self.table6(v6, quals.dir)?);
        }
        Ok(tests)
    }

    fn table4(&mut self, spans: Vec<(u32, u32)>, quals: Quals) -> Result {
        let table = RankSet::new(spans, self.table_limit()).map_err(|error| self.too_large(error))?;
        let set: Arc<dyn Members> = Arc::new(Table4(table));
        let protocols = match quals.proto {
            None if self.layers.mpls_depth > 0 => &[ethertype::IP][..],
            None => &[ethertype::IP, ethertype::ARP, ethertype::RARP],
            Some(Proto::Arp) => &[ethertype::ARP],
            Some(Proto::Rarp) => &[ethertype::RARP],
            Some(_) => &[ethertype::IP],
        };
        let mut tests = Vec::new();
        for &protocol in protocols {
            tests.push(self.asked4(quals.dir, protocol, |this, offset| {
                let address = this.load(Rel::Net, offset, Size::B4);
                this.member_of(&[address], &set)
            })?);
        }
        Ok(self.any(&tests))
    }

    fn table6(&mut self, spans: Vec<(u128, u128)>, dir: Option<Dir>) -> Result {
        let table = RankSet::new(spans, self.table_limit()).map_err(|error| self.too_large(error))?;
        let set: Arc<dyn Members> = Arc::new(Table6(table));
        self.asked6(dir, |this, offset| {
            let words = [0, 4, 8, 12].map(|word| this.load(Rel::Net, offset + word, Size::B4));
            this.member_of(&words, &set)
        })
    }

    /// Whether values are a row of a set.
    pub(super) fn member_of(&mut self, words: &[crate::ir::ValueId], set: &Arc<dyn Members>) -> TreeId {
        let asked = self.tree.pool.is_member(words, Arc::clone(set));
        let cond = self.tree.pool.cond(asked);
        self.push(TreeNode::Test(cond))
    }

    /// Tables count as code does.
    pub(super) fn table_limit(&self) -> Limit {
        Limit { bytes: self.options.limits.code_bytes }
    }

    pub(super) fn too_large(&self, error: TooLarge) -> Box<Diagnostic> {
        self.error(Code::Limit, error.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::{LARGE, LARGE6};
    use crate::{Backend, Code, Compiler, FileNames, LinkType};
    use std::fmt::Write;
    use std::sync::Arc;

    /// A list of IPv4 addresses and prefixes, with some of IPv6 among them.
    fn list(v4: usize, v6: usize) -> String {
        let mut text = String::from("# a list\n");
        for i in 0..v4 {
            let address = std::net::Ipv4Addr::from((i as u32).wrapping_mul(0x9e37_79b1) & !0xf);
            let _ = match i % 3 {
                0 => writeln!(text, "{address}/28"),
                1 => writeln!(text, "  {address} # one"),
                _ => writeln!(text, "{address}-{}", std::net::Ipv4Addr::from(u32::from(address) + 5)),
            };
        }
        for i in 0..v6 {
            let upper = (i as u128 * 0x9e37_79b9_7f4a_7c15) & 0xffff_ffff_ffff;
            let address = std::net::Ipv6Addr::from(0x2001 << 112 | upper << 40);
            let _ = if i % 2 == 0 { writeln!(text, "{address}/88") } else { writeln!(text, "{address}") };
        }
        text
    }

    fn compiler(text: String) -> Compiler {
        let names = FileNames::new().with_sets(move |_| Ok(text.clone()));
        Compiler::new(LinkType::EN10MB).names(Arc::new(names))
    }

    /// Packets of IPv4, ARP and IPv6 with addresses in and beside the set at either end, cut at every length.
    fn packets() -> Vec<Vec<u8>> {
        let mut packets = Vec::new();
        let mut random = 1_u64;
        let mut next = |below: u64| {
            random = random.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
            (random >> 33) % below
        };
        for i in 0..400 {
            let mut packet = vec![0; 60];
            let mut four =
                || ((next(200) as u32).wrapping_mul(0x9e37_79b1) & !0xf).wrapping_add(next(18) as u32);
            let (kind, addresses): ([u8; 2], Vec<(usize, Vec<u8>)>) = match i % 4 {
                0 | 1 => ([8, 0], vec![(26, four().to_be_bytes().into()), (30, four().to_be_bytes().into())]),
                2 => ([8, 6], vec![(28, four().to_be_bytes().into()), (38, four().to_be_bytes().into())]),
                _ => {
                    let mut six = || {
                        let upper = (u128::from(next(60)) * 0x9e37_79b9_7f4a_7c15) & 0xffff_ffff_ffff;
                        (0x2001 << 112 | upper << 40 | u128::from(next(3))).to_be_bytes().to_vec()
                    };
                    ([0x86, 0xdd], vec![(22, six()), (38, six())])
                }
            };
            packet[12..14].copy_from_slice(&kind);
            packet[14] = if kind == [8, 0] { 0x45 } else { 0x60 };
            for (at, address) in addresses {
                packet[at..at + address.len()].copy_from_slice(&address);
            }
            packets.push(packet);
        }
        packets
    }

    #[test]
    fn a_table_answers_what_the_tests_written_out_do() {
        let text = list(LARGE + 10, 3 * LARGE6);
        for filter in [
            "host in {@list}",
            "src net in {@list, 1.2.3.4}",
            "not dst host in {9.9.9.9, @list}",
            "ip host in {@v4}",
        ] {
            let text = if filter.contains("v4") { list(LARGE + 10, 0) } else { text.clone() };
            let tables = compiler(text);
            let written_out = tables.without_tables().backend(Backend::Interpreter).compile(filter).unwrap();
            let native = tables.compile(filter).unwrap();
            let reference = tables.clone().backend(Backend::Interpreter).compile(filter).unwrap();
            assert!(native.is_native());
            let mut matched = 0;
            for packet in packets() {
                for len in [0, 13, 14, 25, 26, 29, 30, 33, 34, 37, 38, 41, 42, 53, 54, 60] {
                    let packet = &packet[..len];
                    let expected = written_out.matches(packet);
                    matched += usize::from(expected);
                    assert_eq!(native.matches(packet), expected, "{filter} {packet:x?}");
                    assert_eq!(reference.matches(packet), expected, "{filter} {packet:x?}");
                }
            }
            assert!(matched > 100, "{filter}: {matched}");
        }
    }

    /// Machine code asks a table for each packet of a burst too.
    #[test]
    fn bursts_of_a_large_set() {
        let filter = compiler(list(LARGE, LARGE6)).compile("host in {@list}").unwrap();
        let packets = packets();
        let burst: Vec<crate::Packet<'_>> = packets.iter().map(|data| crate::Packet::new(data, 60)).collect();
        let mut bits = vec![0; burst.len().div_ceil(64)];
        filter.match_burst(&burst, &mut bits);
        for (i, packet) in packets.iter().enumerate() {
            assert_eq!(bits[i / 64] >> (i % 64) & 1 == 1, filter.matches(packet), "{i}");
        }
    }

    /// More members than a filter may have terms.
    #[test]
    fn a_list_may_be_longer_than_a_filter() {
        let filter = compiler(list(300_000, 1000)).compile("src host in {@list}").unwrap();
        assert!(filter.is_native());
        let error = compiler(list(300_000, 0)).to_cbpf("src host in {@list}").unwrap_err();
        assert_eq!(error.code(), Code::Limit);
    }

    /// A list of another form means what the same entries mean in ours, small or large.
    #[test]
    fn lists_of_ipset_and_nftables_are_read() {
        let entries: Vec<String> = (0..LARGE as u32 + 9)
            .map(|i| std::net::Ipv4Addr::from(i.wrapping_mul(0x9e37_79b1) & !0xf).to_string())
            .collect();
        for count in [3, LARGE + 9] {
            let plain = format!("{}\n2001::1\n", entries[..count].join("\n"));
            let ipset: String =
                entries[..count].iter().map(|entry| format!("add bad {entry} timeout 9\n")).collect();
            let nft = format!("set bad {{ elements = {{ {}, 2001::1 }} }}", entries[..count].join(", "));
            let filters = [plain, format!("create bad hash:ip\n{ipset}add bad 2001::1\n"), nft]
                .map(|text| compiler(text).compile("host in {@list}").unwrap());
            for packet in packets() {
                let [plain, others @ ..] = filters.each_ref().map(|filter| filter.matches(&packet));
                assert_eq!(others, [plain; 2], "{packet:x?}");
            }
        }
        let ports = compiler("create p bitmap:port range 0-1023\nadd p 80\n".into());
        assert!(ports.compile("port in {@list}").is_ok());
        let error = compiler("create p hash:mac\nadd p 02:00:00:00:00:01\n".into())
            .compile("host in {@list}")
            .unwrap_err();
        assert!(error.to_string().contains("neither addresses nor ports"), "{error}");
        let error =
            compiler("create p hash:ip\nadd p 10.0.0\n".into()).compile("host in {@list}").unwrap_err();
        assert!(error.to_string().contains("line 2, column 7"), "{error}");
    }

    /// Bits behind the length of a prefix are those of no member, in small sets and in large ones.
    #[test]
    fn prefixes_of_files_may_have_more_bits_than_their_length() {
        let matches = |text: String| {
            let filter = compiler(text).compile("host in {@list}").unwrap();
            packets().iter().map(|packet| filter.matches(packet)).collect::<Vec<bool>>()
        };
        for before in [String::new(), list(LARGE, LARGE6)] {
            let with = |lines: &str| matches(format!("{before}{lines}"));
            let sloppy = with("16.7.9.3/4\n2001::5:77/90\n128.1.1.1/2\n");
            assert_eq!(sloppy, with("16.0.0.0/4\n2001::/90\n128.0.0.0/2\n"));
            assert!(sloppy != with("1.2.3.4\n"));
        }
    }

    #[test]
    fn what_is_wrong_with_a_line_is_told_with_its_place() {
        for line in ["10.0.0.1/33", "10.0.0.256", "10.0.0.9-10.0.0.1", "nowhere.example"] {
            let error =
                compiler(format!("{}{line}\n", list(LARGE, 0))).compile("host in {@list}").unwrap_err();
            assert!(
                error.to_string().contains(&format!("line {}, column 1, `{line}`", LARGE + 2)),
                "{error}"
            );
        }
        let error = compiler(list(LARGE, 0)).compile("ip6 host in {@list}").unwrap_err();
        assert!(error.to_string().contains("line 2"), "{error}");
    }
}
