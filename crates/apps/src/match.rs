//! `match`: sends each packet where the first filter of a list that it matches says, or a pfmatch program.
//!
//! | inputs | `input` |
//! |---|---|
//! | outputs | the ports of the list or the handlers of the program, and `default`: packets that match no filter |
//! | `case` | an ordered list of `port` and `filter` |
//! | `program` | in place of the list, a pfmatch program, whose handlers are the ports |
//! | `linktype` | what packets begin with; unless set, what each packet says, as for `filter` |
//! | `unmatched` | counts packets that match no filter, dropped as nothing is linked to `default` |
//! | `unlinked` | counts packets dropped as nothing is linked to their port |
//! | `wrong_linktype` | drops: packets of another link type than is set, or of one for which the list does not compile |
//!
//! ```toml
//! [app.dispatch]
//! type = "match"
//! case = [
//!     { port = "web", filter = "tcp port 80 or tcp port 443" },
//!     { port = "names", filter = "port 53" },
//!     { port = "web", filter = "udp port 443" },
//! ]
//! ```
//!
//! ```toml
//! [app.dispatch]
//! type = "match"
//! program = '''match {
//!     tcp port 80 or tcp port 443 => web
//!     port 53 => { host 192.0.2.1 => ours, otherwise => names }
//! }'''
//! ```
//!
//! All filters are compiled into one program, whose filters share their tests: a long list costs little more than a short one. A
//! port may be named more than once. A link to a port that the list does not name is an error.

use crate::shared::filtering::{LANES, both, compiler, describe, does_not_compile, odd};
use crate::shared::linktype::{self, Compiled};
use crate::shared::set_files::SetFiles;
use engine::shm::Counter;
use engine::{
    App, Burst, Class, Io, NAME_MAX, OptionError, Output, Pool, PortNames, Ports, Reconfigured, Reporting,
    Review, Roles, Setup, is_name,
};
use pflang::{Diagnostic, FilterList, Matcher};
use serde::Deserialize;
use wire::LinkType;
use wire::plural::passive;

/// Options of `match`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Match {
    /// The list.
    #[serde(default)]
    pub case: Vec<Case>,
    /// A program in its place.
    #[serde(default)]
    pub program: Option<String>,
    /// The link type of the packets. `None`: each packet says its own.
    #[serde(default)]
    pub linktype: Option<String>,
    #[serde(skip)]
    files: SetFiles,
}

/// Two options are equal only if the files of sets that they name are unchanged, so that a reload compiles a changed set.
impl PartialEq for Match {
    fn eq(&self, other: &Self) -> bool {
        self.case == other.case
            && self.program == other.program
            && self.linktype == other.linktype
            && self.files.seen(self.texts()) == other.files.seen(other.texts())
    }
}

/// A line of the list of a `match`.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Case {
    /// Where packets go.
    pub port: String,
    /// Which packets do.
    pub filter: String,
}

/// The port of packets that match no filter.
const DEFAULT: &str = "default";

impl Match {
    /// A list of ports and filters, for packets of any link type.
    pub fn new<'a>(cases: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        let case = |(port, filter): (&str, &str)| Case { port: port.to_owned(), filter: filter.to_owned() };
        Match {
            case: cases.into_iter().map(case).collect(),
            program: None,
            linktype: None,
            files: SetFiles::default(),
        }
    }

    /// A pfmatch program, for packets of any link type.
    pub fn program(text: &str) -> Self {
        Match { case: Vec::new(), program: Some(text.to_owned()), linktype: None, files: SetFiles::default() }
    }

    /// The texts that may name files.
    fn texts(&self) -> impl Iterator<Item = &str> {
        self.case.iter().map(|case| case.filter.as_str()).chain(self.program.as_deref())
    }

    /// The ports by answer, `default` first: answer 0 is that of a packet which no filter matches.
    fn ports(&self) -> Vec<String> {
        let mut ports = vec![DEFAULT.to_owned()];
        match &self.program {
            // One that does not compile is told of elsewhere. The answer for a handler is its number and one.
            Some(program) => {
                let parts = compiler(LinkType::EN10MB).parts_of_match(program);
                ports.extend(parts.map(|parts| parts.handlers).unwrap_or_default());
            }
            None => {
                for Case { port, .. } in &self.case {
                    if !ports.contains(port) {
                        ports.push(port.clone());
                    }
                }
            }
        }
        ports
    }

    /// The filters with their answers.
    fn entries(&self) -> Vec<(&str, u32)> {
        let ports = self.ports();
        let answer = |port: &str| ports.iter().position(|other| other == port).unwrap_or(0) as u32;
        self.case.iter().map(|case| (case.filter.as_str(), answer(&case.port))).collect()
    }

    fn check_list(&self) -> Result<(), OptionError> {
        match (&self.program, &self.case[..]) {
            (None, []) => {
                return Err(OptionError::new(
                    "case",
                    "there is none; write `case = [{ port = \"…\", filter = \"…\" }]`, or `program = '''match { … }'''`",
                ));
            }
            (Some(_), [_, ..]) => {
                return Err(OptionError::new(
                    "program",
                    "there is a list as well, `case`: leave one of them out",
                ));
            }
            (Some(program), []) => return check_program(program),
            (None, _) => {}
        }
        let cases = self.case.iter().enumerate();
        OptionError::all(cases.filter(|(_, case)| !is_name(&case.port, NAME_MAX)).map(|(i, case)| {
            let message = format!(
                "`{}` is no name for a port: use 1 to {NAME_MAX} letters, digits and underscores",
                case.port
            );
            Err(OptionError::new(&format!("case[{i}].port"), message))
        }))
    }

    fn list(&self, setup: &mut Setup<'_>) -> Result<Compiled<Match>, OptionError> {
        let wrong = setup.drops("wrong_linktype");
        Compiled::new(self.clone(), self.linktype.as_deref(), setup.take_prepared(), wrong)
    }
}

/// What is compiled.
#[derive(Clone, Debug)]
pub(crate) enum Deciding {
    /// A list of filters.
    List(FilterList),
    /// A program.
    Program(Matcher),
}

impl Deciding {
    fn linktype(&self) -> LinkType {
        match self {
            Deciding::List(list) => list.linktype(),
            Deciding::Program(program) => program.linktype(),
        }
    }

    #[inline]
    fn decide_burst(&self, packets: &[pflang::Packet<'_>], answers: &mut [u32]) {
        match self {
            Deciding::List(list) => list.decide_burst(packets, answers),
            Deciding::Program(program) => program.decide_burst(packets, &[], answers),
        }
    }
}

/// Refuses programs that ask for what an app has not. What does not compile is told when it is compiled.
fn check_program(program: &str) -> Result<(), OptionError> {
    let Ok(parts) = compiler(LinkType::EN10MB).parts_of_match(program) else { return Ok(()) };
    let wrong = |message: String| Err(OptionError::new("program", message));
    if let Some(input) = parts.inputs.first() {
        return wrong(format!("the program has an input `{input}`: an app has no numbers for inputs"));
    }
    if let Some(handler) = parts.with_arguments.first() {
        return wrong(format!(
            "the handler `{handler}` has arguments: here handlers are ports, which take nothing but packets"
        ));
    }
    match parts.handlers.iter().find(|handler| !is_name(handler, NAME_MAX)) {
        Some(handler) => wrong(format!(
            "`{handler}` is no name for a port: use 1 to {NAME_MAX} letters, digits and underscores"
        )),
        None => Ok(()),
    }
}

impl linktype::Compile for Match {
    type Output = Deciding;

    fn compile(&self, linktype: LinkType) -> Result<Deciding, OptionError> {
        let compiler = compiler(linktype);
        if let Some(program) = &self.program {
            let program = compiler.compile_match(program);
            return program
                .map(Deciding::Program)
                .map_err(|error| does_not_compile(&compiler, "program", &error));
        }
        let list = compiler.compile_list(&self.entries()).map_err(|error| {
            let option = |entry: usize| format!("case[{entry}].filter");
            // The list ends at the first that is wrong; each of the others may be as well.
            let behind = error.entry.map_or(self.case.len(), |entry| entry + 1);
            let others = self.case.iter().enumerate().skip(behind).filter_map(|(entry, case)| {
                let error = compiler.compile(&case.filter).err()?;
                Some(does_not_compile(&compiler, &option(entry), &error))
            });
            let first = error.entry.map_or("case".to_owned(), option);
            let mut first = does_not_compile(&compiler, &first, &error);
            first.others.extend(others);
            first
        });
        list.map(Deciding::List)
    }

    fn reads_metadata(deciding: &Deciding) -> bool {
        match deciding {
            Deciding::List(list) => list.reads_wire_len(),
            Deciding::Program(program) => program.reads_wire_len(),
        }
    }
}

/// A running `match`.
#[derive(Debug)]
pub struct Running {
    list: Compiled<Match>,
    /// The ports, by answer.
    ports: Vec<String>,
    /// The place of each port among the outputs, by answer; `NOWHERE` if nothing is linked to it.
    places: Vec<u32>,
    unmatched: Counter,
    unlinked: Counter,
}

const NOWHERE: u32 = u32::MAX;

impl Class for Match {
    const TYPE: &'static str = "match";
    const OUTPUTS: Ports = Ports::Any;
    type App = Running;

    fn check(&self) -> Result<(), OptionError> {
        self.review().map(drop)
    }

    fn review(&self) -> Result<Review, OptionError> {
        self.files.seen(self.texts());
        let list = both(self.check_list(), linktype::compile(self, self.linktype.as_deref()))?;
        let compiler = compiler(list.linktype());
        if let Some(program) = &self.program {
            let lints = compiler.lints_of_match(program).unwrap_or_default();
            return Ok(Review::new(odd("program", program, &lints)).with(list));
        }
        let lints = compiler.lints_of_list(&self.entries()).unwrap_or_default();
        let warning = |(i, (case, lints)): (usize, (&Case, &Vec<Diagnostic>))| {
            odd(&format!("case[{i}].filter"), &case.filter, lints)
        };
        let review = Review::new(self.case.iter().zip(&lints).enumerate().filter_map(warning));
        Ok(review.with(list))
    }

    fn check_ports(&self, linked: &PortNames<'_>) -> Result<(), OptionError> {
        let ports = self.ports();
        match linked.outputs.iter().find(|linked| !ports.iter().any(|port| port == **linked)) {
            None => Ok(()),
            Some(port) => {
                let message =
                    format!("none has the port `{port}`, which is linked; ports: `{}`", ports.join("`, `"));
                let option = if self.program.is_some() { "program" } else { "case" };
                Err(OptionError::new(option, message))
            }
        }
    }

    fn start(&self, setup: &mut Setup<'_>) -> Result<Running, OptionError> {
        Ok(Running {
            list: self.list(setup)?,
            ports: self.ports(),
            places: Vec::new(),
            unmatched: setup.rejects("unmatched"),
            unlinked: setup.drops("unlinked"),
        })
    }

    /// The engine tells the app its links afterwards.
    fn reconfigure(
        &self,
        app: &mut Running,
        _: &Self,
        setup: &mut Setup<'_>,
    ) -> Result<Reconfigured, OptionError> {
        app.list = self.list(setup)?;
        app.ports = self.ports();
        app.places.clear();
        Ok(Reconfigured::Kept)
    }
}

impl App for Running {
    fn roles(&self) -> Roles {
        Roles::PUSH.and(Roles::METADATA.when(self.list.uses_metadata()))
    }

    fn link(&mut self, linked: &PortNames<'_>) {
        let place = |port: &String| linked.outputs.iter().position(|other| other == port);
        self.places =
            self.ports.iter().map(|port| place(port).map_or(NOWHERE, |place| place as u32)).collect();
    }

    fn push(&mut self, io: &mut Io<'_>) {
        let metadata = io.pool.uses_metadata();
        while let Some(mut burst) = io.inputs[0].burst_of_at_most(LANES) {
            while let Some(packets) = self.list.next(&mut burst, io.pool) {
                let mut answers = [FilterList::NONE; LANES];
                let mut lanes = [pflang::Packet::EMPTY; LANES];
                self.list.current().decide_burst(describe(&packets, metadata, &mut lanes), &mut answers);
                self.send(packets, &answers, io.outputs, io.pool);
            }
        }
    }

    fn reporting(&self) -> Option<&dyn Reporting> {
        Some(self)
    }
}

impl Reporting for Running {
    fn report(&self) -> Option<String> {
        self.list.report(|count| passive(count, "packet", "dropped"))
    }
}

impl Running {
    #[inline]
    fn send(&self, burst: Burst<'_>, answers: &[u32; LANES], outputs: &mut [Output], pool: &mut Pool) {
        let first = answers[0];
        if answers[..burst.len()].iter().fold(true, |same, &answer| same & (answer == first)) {
            return match outputs.get_mut(self.place(first)) {
                Some(output) => output.send(burst),
                None => pool.free_burst(burst, self.reason(first)),
            };
        }
        for (packet, &answer) in burst.zip(answers) {
            match outputs.get_mut(self.place(answer)) {
                Some(output) => output.put(packet),
                None => pool.free(packet, self.reason(answer)),
            }
        }
    }

    #[inline]
    fn place(&self, answer: u32) -> usize {
        self.places.get(answer as usize).map_or(usize::MAX, |&place| place as usize)
    }

    /// Why a packet with this answer goes nowhere.
    fn reason(&self, answer: u32) -> &Counter {
        if answer == FilterList::NONE { &self.unmatched } else { &self.unlinked }
    }
}

#[cfg(test)]
mod tests {
    use super::Match;
    use engine::{Class, Engine, Graph, Metadata, Settings};
    use testkit::packet::Packet;
    use testkit::rig::{APP, Rig};

    fn packet(line: &str) -> Vec<u8> {
        Packet::parse(line).unwrap().bytes
    }

    fn web() -> Vec<u8> {
        packet("eth / ip4 / tcp(dport=80)")
    }

    fn names() -> Vec<u8> {
        packet("eth / ip6 / udp(dport=53)")
    }

    fn cases() -> Match {
        Match::new([("web", "tcp port 80"), ("names", "port 53"), ("tcp", "tcp"), ("web", "udp port 443")])
    }

    fn send(rig: &mut Rig, packets: &[Vec<u8>]) {
        packets.iter().for_each(|packet| rig.send("input", packet));
        rig.breathe();
    }

    #[test]
    fn the_first_that_matches_decides() {
        let mut rig = Rig::new(cases(), &["input"], &["default", "names", "tcp", "web"]);
        let ssh = packet("eth / ip4 / tcp(dport=22)");
        let tcp_names = packet("eth / ip4 / tcp(dport=53)");
        let quic = packet("eth / ip6 / udp(dport=443)");
        let packets = [web(), names(), ssh.clone(), tcp_names.clone(), quic.clone(), vec![], vec![0; 60000]];
        send(&mut rig, &packets);
        assert_eq!(rig.take("web"), [web(), quic]);
        assert_eq!(rig.take("names"), [names(), tcp_names]);
        assert_eq!(rig.take("tcp"), [ssh]);
        assert_eq!(rig.take("default"), [vec![], vec![0; 60000]]);
    }

    #[test]
    fn what_goes_nowhere_is_counted() {
        let mut rig = Rig::new(cases(), &["input"], &["names"]);
        send(&mut rig, &[web(), names(), vec![]]);
        assert_eq!(rig.take("names"), [names()]);
        assert_eq!((rig.counter("unlinked"), rig.counter("unmatched")), (1, 1));
        send(&mut rig, &[vec![], vec![1]]);
        assert_eq!(rig.counter("unmatched"), 3);
        send(&mut rig, &[names(), names()]);
        assert_eq!(rig.take("names").len(), 2);
    }

    #[test]
    fn large_bursts_keep_their_order() {
        let mut rig = Rig::new(cases(), &["input"], &["names", "web"]);
        let packets: Vec<Vec<u8>> = (0..500_u16)
            .map(|i| {
                let mut packet = if i % 3 == 0 { web() } else { names() };
                packet[..2].copy_from_slice(&i.to_be_bytes());
                packet
            })
            .collect();
        send(&mut rig, &packets);
        let (web, names): (Vec<_>, Vec<_>) = packets.chunks(1).enumerate().partition(|(i, _)| i % 3 == 0);
        let flat = |packets: Vec<(usize, &[Vec<u8>])>| {
            packets.into_iter().map(|(_, packet)| packet[0].clone()).collect::<Vec<_>>()
        };
        assert_eq!(rig.take("web"), flat(web));
        assert_eq!(rig.take("names"), flat(names));
    }

    #[test]
    fn each_packet_is_decided_on_as_what_it_is() {
        let mut rig = Rig::new(cases(), &["input"], &["default", "names", "web"]);
        let raw = |frame: Vec<u8>| frame[14..].to_vec();
        let packets = [(web(), 1), (raw(web()), 101), (names(), 1), (raw(names()), 101), (vec![], 101)];
        for (data, linktype) in &packets {
            rig.send_with("input", data, Metadata { linktype: *linktype, ..Metadata::default() });
        }
        rig.breathe();
        assert_eq!(
            (rig.take("web"), rig.take("names")),
            (vec![web(), raw(web())], vec![names(), raw(names())])
        );
        assert_eq!((rig.take("default").len(), rig.counter("wrong_linktype")), (1, 0));
    }

    #[test]
    fn packets_of_other_linktypes_are_dropped() {
        let only = Match { linktype: Some("EN10MB".to_owned()), ..cases() };
        let mut rig = Rig::new(only, &["input"], &["default", "web"]);
        for linktype in [101, 1, 113, 101] {
            rig.send_with("input", web(), Metadata { linktype, ..Metadata::default() });
        }
        rig.breathe();
        assert_eq!((rig.take("web"), rig.take("default").len()), (vec![web()], 0));
        assert_eq!(rig.counter("wrong_linktype"), 3);
        let text = rig.report().apps[APP].text.clone().unwrap();
        assert!(
            text.starts_with("3 packets were dropped: not of link type EN10MB; with `linktype = \"RAW\"`"),
            "{text}"
        );
        // A whole burst.
        (0..64).for_each(|_| rig.send_with("input", web(), Metadata::default()));
        rig.breathe();
        assert_eq!(rig.counter("wrong_linktype"), 67);
    }

    #[test]
    fn another_list_while_it_runs() {
        let mut rig = Rig::new(cases(), &["input"], &["web"]);
        rig.reconfigure(Match::new([("other", "tcp"), ("web", "")]));
        send(&mut rig, &[web(), names()]);
        assert_eq!(rig.take("web"), [names()]);
        assert_eq!(rig.counter("unlinked"), 1);
    }

    #[test]
    fn a_program_decides_by_its_handlers() {
        let text = "match { tcp => { port 80 => web, otherwise => tcp }, port 53 => names, arp => default }";
        let mut rig = Rig::new(Match::program(text), &["input"], &["default", "names", "tcp", "web"]);
        let ssh = packet("eth / ip4 / tcp(dport=22)");
        let (arp, icmp) = (packet("eth / arp"), packet("eth / ip4 / icmp"));
        send(&mut rig, &[web(), names(), ssh.clone(), arp.clone(), icmp.clone(), vec![]]);
        assert_eq!(
            (rig.take("web"), rig.take("names"), rig.take("tcp")),
            (vec![web()], vec![names()], vec![ssh])
        );
        assert_eq!(rig.take("default"), [arp, icmp, vec![]]);
        // Another program, a list, and back.
        rig.reconfigure(cases());
        send(&mut rig, &[web()]);
        assert_eq!(rig.take("web"), [web()]);
        rig.reconfigure(Match::program("match { udp => web, sctp => names, icmp => tcp }"));
        send(&mut rig, &[web(), names()]);
        assert_eq!((rig.take("web"), rig.take("default")), (vec![names()], vec![web()]));
    }

    #[test]
    fn programs_are_checked() {
        let error = |text: &str| Match::program(text).check().unwrap_err().to_string();
        assert_eq!(
            error("match { tcp => web(len) }"),
            "`program`: the handler `web` has arguments: here handlers are ports, which take nothing but packets"
        );
        assert!(error("match (mark) { mark = 1 => a }").contains("an app has no numbers for inputs"));
        assert!(
            error("match { tcp prt 5 => a }").starts_with("`program`: the filter does not compile\nerror[PF")
        );
        let both = Match { program: Some("match {}".to_owned()), ..cases() };
        assert!(both.check().unwrap_err().to_string().contains("leave one of them out"));
        let review = Match::program("match { otherwise => a, tcp => b }").review().unwrap();
        assert_eq!(review.warnings.len(), 1);
    }

    #[test]
    fn options_are_checked() {
        let error =
            |cases: &[(&str, &str)]| Match::new(cases.iter().copied()).check().unwrap_err().to_string();
        assert_eq!(
            error(&[]),
            "`case`: there is none; write `case = [{ port = \"…\", filter = \"…\" }]`, or `program = '''match { … }'''`"
        );
        assert!(
            error(&[("a.b", "")]).starts_with("`case[0].port`: `a.b` is no name for a port: use 1 to 30")
        );
        let error = error(&[("a", "tcp"), ("b", "udp prt 5")]);
        assert!(error.starts_with("`case[1].filter`: the filter does not compile\nerror[PF"), "{error}");
        let cases = [("a", "tcp"), ("b", "udp prt 5"), ("c.d", "udp"), ("e", "udp"), ("f", "prt 7")];
        let error = Match::new(cases).review().unwrap_err();
        let wrong: Vec<&str> = error.each().filter_map(|error| error.option.as_deref()).collect();
        assert_eq!(wrong, ["case[2].port", "case[1].filter", "case[4].filter"]);
    }

    #[test]
    fn a_link_to_a_port_that_no_case_names_is_an_error() {
        let mut graph = Graph::new();
        graph.app("split", cases()).unwrap();
        graph.app("sink", crate::Sink {}).unwrap();
        graph.link("split.wbe -> sink.input").unwrap();
        let error = Engine::new(Settings::new().unwrap()).unwrap().configure(&graph).unwrap_err();
        assert_eq!(
            error.to_string(),
            "app `split` (match): `case`: none has the port `wbe`, which is linked; ports: `default`, `web`, `names`, `tcp`"
        );
    }
}
