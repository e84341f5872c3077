//! `filter`: lets packets through that match a filter of tcpdump's language, or a program of classic BPF.
//!
//! | inputs | `input` |
//! |---|---|
//! | outputs | `output`: packets that match; `rejected`: the others, if it is linked |
//! | `filter` | the filter, as in pcap-filter(7) |
//! | `bytecode` | in its place, a program of classic BPF: its text, in any format that `bpf::read` takes, or its file behind an `@` |
//! | `linktype` | what packets begin with, such as `EN10MB` or `RAW`; unless set, what each packet says |
//! | `rejected` | counts packets that did not match, and were dropped as nothing is linked to that output |
//! | `wrong_linktype` | drops: packets of another link type than is set, or of one for which the filter does not compile |
//!
//! Hosts, networks, services and protocols may be named as in the system's files (`/etc/hosts`, `/etc/services`, …); no server is
//! asked. `len`, `less` and `greater` are about the length on the wire: the graph keeps metadata for a filter
//! whose answer depends on it.
//!
//! Files of sets (`host in {@list}`) are read when the filter is compiled, and again when the graph is loaded anew, if they have changed by then: the
//! new filter takes the place of the old one between two bursts.
//!
//! A program sees a packet as the kernel would show it one that a device brings in: without its outer VLAN tag, which is beside the bytes, as are the
//! packet's protocol, whom it was for (`af_packet` tells), and the index of its device (`af_packet`, `tap` and `nfqueue` tell). It is for Ethernet frames unless `linktype` says otherwise.
//!
//! A filter means something on frames of one link type. It is compiled for Ethernet, and for another link type when the first packet comes
//! that says in its metadata that it is of that, which holds up the packets of the worker meanwhile: for four at most, and none where `linktype`
//! is set, which is compiled for before the graph runs. Packets of others are neither
//! matched nor sent to `rejected`, and the report says why.

use crate::shared::bytecode::Bytecode;
use crate::shared::filtering::{LANES, compile, compiler, select, warning};
use crate::shared::linktype::{self, Compiled};
use crate::shared::set_files::{Seen, SetFiles};
use engine::shm::Counter;
use engine::{App, Class, Io, OptionError, Packet, Ports, Reconfigured, Reporting, Review, Roles, Setup};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};
use wire::LinkType;
use wire::plural::passive;

/// Options of `filter`.
#[derive(Clone, Debug)]
pub struct Filter {
    /// The filter.
    pub filter: Option<String>,
    /// A program in its place, or the file of one behind an `@`.
    pub bytecode: Option<String>,
    /// The link type of the packets. `None`: each packet says its own.
    pub linktype: Option<String>,
    files: SetFiles,
}

impl<'de> Deserialize<'de> for Filter {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Options {
            filter: Option<String>,
            bytecode: Option<String>,
            linktype: Option<String>,
        }

        let Options { filter, bytecode, linktype } = Options::deserialize(deserializer)?;
        if filter.is_none() && bytecode.is_none() {
            return Err(D::Error::missing_field("filter"));
        }
        Ok(Filter { filter, bytecode, linktype, files: SetFiles::default() })
    }
}

/// Two options are equal only if the files that they name are unchanged, so that a reload compiles a changed set or program.
impl PartialEq for Filter {
    fn eq(&self, other: &Self) -> bool {
        self.filter == other.filter
            && self.bytecode == other.bytecode
            && self.linktype == other.linktype
            && self.seen_files() == other.seen_files()
    }
}

impl Filter {
    /// A filter for packets of any link type.
    pub fn new(filter: impl Into<String>) -> Self {
        Filter { filter: Some(filter.into()), bytecode: None, linktype: None, files: SetFiles::default() }
    }

    /// How the files looked that are named: sets in the filter, or the program.
    fn seen_files(&self) -> &[Seen] {
        let program = self.bytecode.as_deref().and_then(|text| text.strip_prefix('@'));
        self.files.seen_with(self.filter.as_deref(), program)
    }
}

impl linktype::Compile for Filter {
    type Output = Deciding;

    fn compile(&self, linktype: LinkType) -> Result<Deciding, OptionError> {
        match (&self.filter, &self.bytecode) {
            (Some(filter), None) => compile(&compiler(linktype), "filter", filter).map(Deciding::Text),
            (None, Some(text)) if self.linktype.is_some() || linktype == LinkType::EN10MB => {
                Bytecode::new("bytecode", text, linktype).map(Deciding::Bytecode)
            }
            (None, Some(_)) => {
                Err(OptionError::new("bytecode", "it is for Ethernet frames: set `linktype` for others"))
            }
            (None, None) => Err(OptionError::new("filter", "is not set: which packets go on?")),
            (Some(_), Some(_)) => {
                Err(OptionError::new("bytecode", "stands in the place of `filter`: leave one of the two out"))
            }
        }
    }

    fn reads_metadata(deciding: &Deciding) -> bool {
        match deciding {
            Deciding::Text(filter) => filter.reads_wire_len(),
            Deciding::Bytecode(_) => true,
        }
    }
}

/// What decides about packets.
#[derive(Debug)]
pub(crate) enum Deciding {
    Text(pflang::Filter),
    Bytecode(Bytecode),
}

impl Deciding {
    #[inline]
    fn select(&self, packets: &mut [Packet], metadata: bool) -> u64 {
        match self {
            Deciding::Text(filter) => select(filter, packets, metadata),
            Deciding::Bytecode(program) => program.select(packets),
        }
    }
}

/// A running `filter`.
#[derive(Debug)]
pub struct Running {
    filter: Compiled<Filter>,
    rejected: Counter,
}

impl Class for Filter {
    const TYPE: &'static str = "filter";
    const OUTPUTS: Ports = Ports::Named(&["output", "rejected"]);
    type App = Running;

    fn check(&self) -> Result<(), OptionError> {
        self.review().map(drop)
    }

    fn review(&self) -> Result<Review, OptionError> {
        self.seen_files();
        let deciding = linktype::compile(self, self.linktype.as_deref())?;
        let warnings = match &deciding {
            Deciding::Text(filter) => warning("filter", filter),
            Deciding::Bytecode(_) => None,
        };
        Ok(Review::new(warnings).with(deciding))
    }

    fn start(&self, setup: &mut Setup<'_>) -> Result<Running, OptionError> {
        let wrong = setup.drops("wrong_linktype");
        let filter = Compiled::new(self.clone(), self.linktype.as_deref(), setup.take_prepared(), wrong)?;
        Ok(Running { filter, rejected: setup.rejects("rejected") })
    }

    fn reconfigure(
        &self,
        app: &mut Running,
        _: &Self,
        setup: &mut Setup<'_>,
    ) -> Result<Reconfigured, OptionError> {
        *app = self.start(setup)?;
        Ok(Reconfigured::Kept)
    }
}

impl App for Running {
    fn roles(&self) -> Roles {
        Roles::PUSH.and(Roles::METADATA.when(self.filter.uses_metadata()))
    }

    fn push(&mut self, io: &mut Io<'_>) {
        let metadata = io.pool.uses_metadata();
        while let Some(mut burst) = io.inputs[0].burst_of_at_most(LANES) {
            while let Some(mut packets) = self.filter.next(&mut burst, io.pool) {
                let matching = self.filter.current().select(&mut packets, metadata);
                let (matched, others) = packets.partition(matching);
                io.outputs[0].send(matched);
                io.outputs[1].send_or_free(others, io.pool, &self.rejected);
            }
        }
    }

    fn reporting(&self) -> Option<&dyn Reporting> {
        Some(self)
    }
}

impl Reporting for Running {
    fn report(&self) -> Option<String> {
        self.filter.report(|count| passive(count, "packet", "dropped"))
    }
}

#[cfg(test)]
mod tests {
    use super::Filter;
    use engine::{Class, Metadata};
    use testkit::packet::Packet;
    use testkit::rig::{APP, Rig};

    fn packet(line: &str) -> Vec<u8> {
        Packet::parse(line).unwrap().bytes
    }

    fn http() -> Vec<u8> {
        packet("eth / ip4 / tcp(dport=80) / 'GET /'")
    }

    fn dns() -> Vec<u8> {
        packet("eth / ip6 / udp(dport=53)")
    }

    #[test]
    fn what_matches_goes_on_in_order_and_the_rest_is_counted() {
        let mut rig = Rig::new(Filter::new("tcp port 80"), &["input"], &["output"]);
        let (mut sent, mut expected) = (Vec::new(), Vec::new());
        for i in 0..200_u8 {
            let mut frame = if i % 7 < 3 { http() } else { dns() };
            frame[5] = i;
            if i % 7 < 3 {
                expected.push(frame.clone());
            }
            sent.push(frame);
        }
        let sent: Vec<&[u8]> = sent.iter().map(Vec::as_slice).collect();
        assert_eq!(rig.pass(&sent), expected);
        assert_eq!(rig.counter("rejected"), 200 - expected.len() as u64);
    }

    #[test]
    fn what_does_not_match_goes_to_rejected_where_that_is_linked() {
        let mut rig = Rig::new(Filter::new("tcp"), &["input"], &["output", "rejected"]);
        assert_eq!(rig.pass(&[&dns(), &http(), &dns()]), [http()]);
        assert_eq!(rig.take("rejected"), [dns(), dns()]);
        assert_eq!(rig.counter("rejected"), 0);
    }

    #[test]
    fn only_the_rest_may_be_wanted() {
        let mut rig = Rig::new(Filter::new("tcp"), &["input"], &["rejected"]);
        [dns(), http()].iter().for_each(|packet| rig.send("input", packet));
        rig.breathe();
        assert_eq!(rig.take("rejected"), [dns()]);
        assert_eq!(rig.counter("unlinked"), 1);
    }

    #[test]
    fn any_bytes_will_do() {
        for (filter, matches) in [
            ("", 7),
            ("ip", 0),
            ("len = 0", 1),
            ("len >= 10240", 3),
            ("ether[13] = 0", 5),
            ("ether[65534] = 0", 1),
        ] {
            let mut rig = Rig::new(Filter::new(filter), &["input"], &["output"]);
            let packets: Vec<Vec<u8>> = [0, 1, 14, 60, 10240, 60000, 65535].map(|len| vec![0; len]).into();
            let passed = rig.pass(&packets.iter().map(Vec::as_slice).collect::<Vec<_>>());
            assert_eq!(passed.len(), matches, "{filter}");
        }
    }

    #[test]
    fn lengths_are_those_on_the_wire() {
        let mut rig = Rig::new(Filter::new("greater 1000"), &["input"], &["output"]);
        rig.send_with("input", http(), Metadata { cut_len: 2000, linktype: 1, ..Metadata::default() });
        rig.send("input", http());
        rig.breathe();
        let received = rig.received("output");
        assert_eq!(received.len(), 1);
        assert_eq!(received[0].metadata.cut_len, 2000);
    }

    #[test]
    fn another_linktype() {
        let raw = Filter { linktype: Some("RAW".to_owned()), ..Filter::new("tcp port 80") };
        let mut rig = Rig::new(raw, &["input"], &["output", "rejected"]);
        let send = |rig: &mut Rig, data: &[u8], linktype| {
            rig.send_with("input", data, Metadata { linktype, ..Metadata::default() });
        };
        let ip = &http()[14..];
        send(&mut rig, ip, 101);
        send(&mut rig, ip, 1);
        rig.breathe();
        let text = rig.report().apps[APP].text.clone().unwrap_or_default();
        assert!(text.starts_with("1 packet was dropped: not of link type RAW"), "{text}");
        send(&mut rig, &dns()[14..], 101);
        send(&mut rig, &dns(), 0);
        rig.breathe();
        assert_eq!(
            (rig.take("output"), rig.take("rejected")),
            (vec![ip.to_vec()], vec![dns()[14..].to_vec()])
        );
        assert_eq!(rig.counter("wrong_linktype"), 2);
        let text = "2 packets were dropped: not of link type RAW; with `linktype = \"EN10MB\"`, those of EN10MB are filtered";
        assert_eq!(rig.report().apps[APP].text.as_deref(), Some(text));
        rig.reconfigure(Filter::new("tcp port 80"));
        assert_eq!((rig.pass(&[&http(), ip]), rig.counter("wrong_linktype")), (vec![http()], 2));
        assert_eq!(rig.report().apps[APP].text, None);
    }

    #[test]
    fn each_packet_is_matched_as_what_it_is() {
        let mut rig = Rig::new(Filter::new("tcp port 80"), &["input"], &["output", "rejected"]);
        let raw = |frame: Vec<u8>| frame[14..].to_vec();
        let packets =
            [(http(), 1), (raw(http()), 101), (raw(dns()), 101), (dns(), 1), (http(), 1), (raw(http()), 101)];
        for (data, linktype) in &packets {
            rig.send_with("input", data, Metadata { linktype: *linktype, ..Metadata::default() });
        }
        rig.breathe();
        assert_eq!(rig.take("output"), [http(), raw(http()), http(), raw(http())]);
        assert_eq!(rig.take("rejected"), [raw(dns()), dns()]);
        assert_eq!((rig.counter("wrong_linktype"), rig.report().apps[APP].text.clone()), (0, None));
    }

    #[test]
    fn packets_for_which_a_filter_means_nothing_are_dropped() {
        let mut rig = Rig::new(Filter::new("not ether host 02:aa:aa:aa:aa:aa"), &["input"], &["output"]);
        for linktype in [101, 1, 101, 1, 0xffff] {
            rig.send_with("input", http(), Metadata { linktype, ..Metadata::default() });
        }
        rig.breathe();
        let text = rig.report().apps[APP].text.clone().unwrap_or_default();
        assert_eq!((rig.take("output").len(), rig.counter("wrong_linktype")), (2, 3), "{text}");
        let told =
            "3 packets were dropped: on link type RAW, `filter`: the filter does not compile\nerror[PF008]";
        assert!(text.starts_with(told), "{text}");
    }

    #[test]
    fn there_are_filters_for_four_linktypes() {
        let mut rig = Rig::new(Filter::new(""), &["input"], &["output"]);
        // EN10MB, RAW, NULL, LINUX_SLL, and one more.
        for linktype in [101, 0, 101, 113, 276, 1, 113, 276, 0] {
            rig.send_with("input", [linktype as u8], Metadata { linktype, ..Metadata::default() });
        }
        rig.breathe();
        let passed: Vec<u8> = rig.take("output").concat();
        assert_eq!((passed, rig.counter("wrong_linktype")), (vec![101, 0, 101, 113, 1, 113, 0], 2));
        let text = "2 packets were dropped: LINUX_SLL2 would be one link type more than the 4 there may be";
        assert_eq!(rig.report().apps[APP].text.as_deref(), Some(text));
    }

    #[test]
    fn large_bursts_of_several_linktypes_keep_their_order() {
        let only = Filter { linktype: Some("EN10MB".to_owned()), ..Filter::new("") };
        let mut rig = Rig::new(only, &["input"], &["output"]);
        let linktype = |i: u16| u16::from(!i.is_multiple_of(5) && i / 64 != 3);
        (0..640).for_each(|i: u16| {
            let metadata = Metadata { linktype: linktype(i), ..Metadata::default() };
            rig.send_with("input", i.to_be_bytes(), metadata);
        });
        rig.breathe();
        let ours: Vec<Vec<u8>> =
            (0..640).filter(|&i| linktype(i) == 1).map(|i| i.to_be_bytes().to_vec()).collect();
        assert_eq!(rig.take("output"), ours);
        assert_eq!(rig.counter("wrong_linktype"), 640 - ours.len() as u64);
    }

    #[test]
    fn another_filter_while_it_runs() {
        let mut rig = Rig::new(Filter::new("tcp"), &["input"], &["output"]);
        assert_eq!(rig.pass(&[&http(), &dns()]), [http()]);
        rig.reconfigure(Filter::new("port domain or arp"));
        assert_eq!(rig.pass(&[&http(), &dns()]), [dns()]);
        assert_eq!(rig.counter("rejected"), 2);
    }

    #[test]
    fn a_full_link_drops_what_does_not_fit() {
        let mut rig = Rig::new(Filter::new("tcp"), &["input"], &["output"]);
        let packets = vec![http(); 3000];
        let passed = rig.pass(&packets.iter().map(Vec::as_slice).collect::<Vec<_>>());
        assert_eq!(passed.len(), 1024, "as many as the link at the input takes in a breath");
        (0..2).for_each(|_| rig.breathe());
        assert_eq!(rig.take("output").len(), 3000 - 1024);
    }

    #[test]
    fn errors_say_where() {
        let error = Filter::new("tcp prot 80").check().unwrap_err().to_string();
        assert!(
            error.starts_with("`filter`: the filter does not compile\nerror[PF003]: unknown word `prot`"),
            "{error}"
        );
        let error =
            Filter { linktype: Some("ether".to_owned()), ..Filter::new("") }.check().unwrap_err().to_string();
        assert!(error.starts_with("`linktype`: unknown link type `ether`"), "{error}");
        let error = toml::from_str::<Filter>("").unwrap_err().to_string();
        assert!(error.contains("missing field `filter`"), "{error}");
        let both = toml::from_str::<Filter>("filter = 'ip'\nbytecode = '1,6 0 0 1'").unwrap();
        assert!(both.check().unwrap_err().to_string().contains("leave one of the two out"));
    }

    fn program(text: &str) -> Filter {
        Filter { filter: None, bytecode: Some(text.to_owned()), ..Filter::new("") }
    }

    #[test]
    fn a_program_decides_in_the_place_of_a_filter() {
        let scratch = testkit::files::Scratch::new();
        // What `tcpdump -ddd arp` prints.
        let arp = "4\n40 0 0 12\n21 0 1 2054\n6 0 0 262144\n6 0 0 0\n";
        let path = scratch.file("arp.bpf", arp.as_bytes());
        let request = [&[0xff; 12][..], &[8, 6], &[0; 28]].concat();
        for text in [arp.to_owned(), format!("@{}", path.display())] {
            let mut rig = Rig::new(program(&text), &["input"], &["output", "rejected"]);
            assert_eq!(rig.pass(&[&http(), &request, &dns()]), std::slice::from_ref(&request));
            assert_eq!(rig.take("rejected"), [http(), dns()]);
            // Of another link type than the program is for.
            rig.send_with("input", &dns()[14..], Metadata { linktype: 101, ..Metadata::default() });
            rig.breathe();
            assert_eq!(rig.counter("wrong_linktype"), 1);
            let text = rig.report().apps[APP].text.clone().unwrap_or_default();
            assert!(
                text.ends_with("`bytecode`: it is for Ethernet frames: set `linktype` for others"),
                "{text}"
            );
        }
        // A name with all that ends the name of a set, too.
        for name in ["arp.bpf", "arp, no @{ip} or ip6"] {
            let text = format!("@{}", scratch.file(name, arp.as_bytes()).display());
            let before = program(&text);
            assert!(before.check().is_ok() && before == program(&text), "{name}");
            scratch.file(name, b"1,6 0 0 0");
            assert!(before != program(&text), "{name}: a reload reads it again");
        }
    }

    /// As the kernel shows it: the tag is beside the bytes, and they are as they were afterwards.
    #[test]
    fn a_program_sees_the_outer_tag_beside_the_bytes() {
        let vlan = |id: u16| packet(&format!("eth / vlan({id}) / ip4 / udp(dport=53)"));
        let both = packet("eth / vlan(10) / vlan(20) / ip4 / udp(dport=53)");
        let plain = packet("eth / ip4 / udp(dport=53)");
        let frames = [plain, vlan(10), vlan(20), both];
        for (what, text, matching) in [
            ("tag present", "2,48 0 0 4294963248,22 0 0 0", &[1, 2, 3][..]),
            ("tag 10", "5,32 0 0 4294963244,84 0 0 4095,21 0 1 10,6 0 0 1,6 0 0 0", &[1, 3]),
            ("tag protocol", "4,32 0 0 4294963260,21 0 1 33024,6 0 0 1,6 0 0 0", &[1, 2, 3]),
            ("IPv4 by its bytes", "4,40 0 0 12,21 0 1 2048,6 0 0 1,6 0 0 0", &[0, 1, 2]),
            ("IPv4 by its protocol", "4,40 0 0 4294963200,21 0 1 2048,6 0 0 1,6 0 0 0", &[0, 1, 2]),
            ("length", "4,128 0 0 0,21 0 1 46,6 0 0 1,6 0 0 0", &[3]),
            (
                "for this host, from no device",
                "6,32 0 0 4294963204,21 0 3 0,32 0 0 4294963208,21 0 1 0,6 0 0 1,6 0 0 0",
                &[0, 1, 2, 3],
            ),
        ] {
            let mut rig = Rig::new(program(text), &["input"], &["output", "rejected"]);
            let passed = rig.pass(&frames.each_ref().map(Vec::as_slice));
            let expected: Vec<_> = matching.iter().map(|&number: &usize| frames[number].clone()).collect();
            assert_eq!(passed, expected, "{what}");
            assert_eq!(rig.take("rejected").len(), frames.len() - expected.len(), "{what}");
        }
        let mut rig = Rig::new(program("2,48 0 0 4294963248,22 0 0 0"), &["input"], &["output"]);
        rig.send_with("input", vlan(10), Metadata { linktype: 1, inline_tag: 1, ..Metadata::default() });
        rig.breathe();
        assert_eq!(rig.counter("rejected"), 1, "a tag that the kernel saw among the bytes");
        // Any bytes will do.
        (0..60).for_each(|len| rig.send("input", &frames[3][..len.min(frames[3].len())]));
        rig.breathe();
    }

    #[test]
    fn what_is_not_known_of_a_packet_is_refused_by_name() {
        for (offset, name) in [(20, "mark"), (32, "hash"), (24, "queue"), (36, "CPU"), (56, "random number")]
        {
            let text = format!("2,32 0 0 {},22 0 0 0", 4_294_963_200_u32 + offset);
            let error = program(&text).check().unwrap_err().to_string();
            let told = format!(
                "`bytecode`: the program is refused: instruction 0: it loads what the kernel keeps beside a packet: {name}"
            );
            assert!(error.starts_with(&told) && error.contains("VLAN tag present"), "{error}");
        }
        let sll =
            Filter { linktype: Some("LINUX_SLL".to_owned()), ..program("2,48 0 0 4294963248,22 0 0 0") };
        assert!(sll.check().unwrap_err().to_string().contains("beside a packet: VLAN tag present"));
        let error = program("@/nonexistent/a.bpf").check().unwrap_err().to_string();
        assert!(error.starts_with("`bytecode`: cannot read /nonexistent/a.bpf: "), "{error}");
        let error = program("2,6 0 0 1").check().unwrap_err().to_string();
        assert!(error.starts_with("`bytecode`: the program is refused: "), "{error}");
    }
}
