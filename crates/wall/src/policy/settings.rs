//! What a policy says besides its rules: read from TOML, key by key, each with its place in the text.

use super::names::domain;
use super::problem::{Code, Problem};
use crate::rules::Action;
use pflang::{Compiler, Dialect, LinkType};
use std::collections::BTreeMap;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::ops::Range;
use std::path::PathBuf;
use toml::Spanned;
use toml::de::{DeTable, DeValue};
use wire::Mac;

/// Whether verdicts are carried out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// They are.
    #[default]
    Enforce,
    /// They are counted and logged; every packet goes on.
    Monitor,
}

/// What becomes of packets while it is not known what their flow speaks, and a rule that asks for it has been come to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Undecided {
    /// A test of what the flow speaks does not hold: the rules decide with nothing known.
    #[default]
    Rules,
    /// They go on.
    Forward,
    /// They are dropped.
    Drop,
    /// They wait.
    Hold(Hold),
}

/// How long packets wait until it is known what their flow speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hold {
    /// Packets of a flow, at most.
    pub packets: u32,
    /// How long the first of them waits at most, in nanoseconds.
    pub time_ns: u64,
    /// Whether they go on then, and are not dropped.
    pub forwards: bool,
}

/// What becomes of packets that carry no IP.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum NotIp {
    /// They go on.
    #[default]
    Accept,
    /// They are dropped.
    Drop,
    /// The rules are asked.
    Rules,
}

/// What becomes of packets about which something could not be found out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnFault {
    /// As if it never will be: rules are asked with nothing known.
    Open,
    /// They are dropped.
    Closed,
    /// As if it was not found out yet.
    #[default]
    Undecided,
}

/// What becomes of packets, by what has failed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Faults {
    /// nDPI was lost before it answered.
    pub worker_lost: OnFault,
    /// nDPI had no room for the question.
    pub ring_full: OnFault,
    /// The table of flows is full, and the flow is a new one. `Undecided` is `Open`: an older flow makes room.
    pub table_full: OnFault,
}

/// Between which hosts media may go that SIP announces.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SipMedia {
    /// Those that signal: each announces its own address alone, for the other.
    #[default]
    Signalling,
    /// From any to any that is announced.
    Anywhere,
}

/// Who identifies flows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Identify {
    /// Our own identification, and nDPI if it can be used.
    #[default]
    Auto,
    /// Our own alone.
    Own,
    /// Both; without nDPI nothing starts.
    Ndpi,
}

/// How flows are followed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Flows {
    /// At a time.
    pub max: usize,
    /// When they end.
    pub timeouts: flow::Timeouts,
    /// What becomes of connections that were not seen from their first segment.
    pub midstream: flow::Midstream,
}

impl Default for Flows {
    fn default() -> Flows {
        let timeouts = flow::Timeouts::default();
        Flows { max: 1 << 18, timeouts, midstream: flow::Midstream::default() }
    }
}

/// How rejected flows are told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rejects {
    /// Replies a second at most.
    pub pps: u64,
    /// From whom ICMP errors come.
    pub source: crate::reject::Source,
}

impl Default for Rejects {
    fn default() -> Rejects {
        Rejects { pps: 1000, source: crate::reject::Source::default() }
    }
}

/// Where records go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Records {
    /// A file of EVE JSON.
    pub eve: Option<PathBuf>,
    /// Bytes after which that file is put aside.
    pub eve_bytes_max: u64,
    /// Files put aside that are kept.
    pub eve_files: u32,
    /// Whether every flow that is over is told of.
    pub flows: bool,
    /// Whether what is dropped or rejected goes to the system log.
    pub syslog: bool,
    /// Lines a second at most.
    pub pps: u64,
}

impl Default for Records {
    fn default() -> Records {
        let (eve_bytes_max, eve_files) = (100 << 20, 5);
        Records { eve: None, eve_bytes_max, eve_files, flows: true, syslog: false, pps: 1000 }
    }
}

/// An application of the policy's own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct App {
    /// Its name.
    pub(super) name: String,
    /// Domains of its servers.
    pub(super) names: Vec<String>,
    /// Tests of hosts and ports.
    pub(super) tests: Vec<String>,
    /// What one of the first packets begins with.
    pub(super) payloads: Vec<Vec<u8>>,
    pub(super) span: Range<usize>,
}

/// A test of a policy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolicyTest {
    /// The capture, as written.
    pub pcap: PathBuf,
    /// How many packets are accepted, dropped and rejected, where that is said.
    pub accept: Option<u64>,
    /// See `accept`.
    pub drop: Option<u64>,
    /// See `accept`.
    pub reject: Option<u64>,
    /// What becomes of single packets, from number 1.
    pub packets: Vec<(u64, Action)>,
    /// The interfaces by which packets come and go.
    pub interfaces: [Option<String>; 2],
    /// Where it stands.
    pub span: Range<usize>,
    /// Its line, from 1.
    pub line: usize,
}

/// What a policy says besides its rules.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// Whether verdicts are carried out.
    pub mode: Mode,
    /// What becomes of packets that no rule takes.
    pub default: Action,
    /// What becomes of packets of flows that are not identified yet.
    pub undecided: Undecided,
    /// What becomes of packets without IP.
    pub not_ip: NotIp,
    /// What becomes of packets about which something could not be found out.
    pub faults: Faults,
    /// Who identifies flows.
    pub dpi: Identify,
    /// Between which hosts media may go that SIP announces.
    pub sip_media: SipMedia,
    /// How flows are followed.
    pub flows: Flows,
    /// How rejected flows are told.
    pub rejects: Rejects,
    /// Where records go.
    pub records: Records,
}

/// What no rule takes is dropped.
impl Default for Settings {
    fn default() -> Settings {
        Settings {
            mode: Mode::default(),
            default: Action::Drop,
            undecided: Undecided::default(),
            not_ip: NotIp::default(),
            faults: Faults::default(),
            dpi: Identify::default(),
            sip_media: SipMedia::default(),
            flows: Flows::default(),
            rejects: Rejects::default(),
            records: Records::default(),
        }
    }
}

/// The text of the rules.
#[derive(Clone, Debug, Default)]
pub(super) struct RulesText {
    pub(super) text: String,
    /// Where it begins in the policy; `None` if it does not stand there as it is.
    pub(super) begin: Option<usize>,
    pub(super) span: Range<usize>,
}

/// A set as written.
#[derive(Clone, Debug)]
pub(super) enum SetSource {
    File(PathBuf),
    Members(Vec<String>),
}

/// All that a policy's text has.
#[derive(Debug, Default)]
pub(super) struct File {
    pub(super) settings: Settings,
    pub(super) rules: RulesText,
    pub(super) sets: BTreeMap<String, (Range<usize>, SetSource)>,
    pub(super) apps: Vec<App>,
    pub(super) tests: Vec<PolicyTest>,
}

/// The longest text of a policy, in bytes.
pub(super) const TEXT_MAX: usize = 64 << 20;
/// Problems that are told at most.
const TOLD_MAX: usize = 20;

impl File {
    /// Reads the text of a policy.
    pub(super) fn read(text: &str) -> Result<File, Vec<Problem>> {
        if text.len() > TEXT_MAX {
            let message = format!("a policy has {TEXT_MAX} bytes at most, and this one {}", text.len());
            return Err(vec![Problem::new(Code::Limit, 0..0, message)]);
        }
        let table = DeTable::parse(text).map_err(|error| {
            let message = format!("this is not TOML: {}", error.message());
            vec![Problem::new(Code::Syntax, error.span().unwrap_or(0..0), message)]
        })?;
        let mut reader = Reader { text, problems: Vec::new() };
        let file = reader.file(table.get_ref());
        reader.problems.truncate(TOLD_MAX);
        if reader.problems.is_empty() { Ok(file) } else { Err(reader.problems) }
    }
}

type Value<'a> = Spanned<DeValue<'a>>;

struct Reader<'t> {
    text: &'t str,
    problems: Vec<Problem>,
}

impl Reader<'_> {
    fn file(&mut self, table: &DeTable<'_>) -> File {
        let mut file = File::default();
        let settings = &mut file.settings;
        let mut has_rules = false;
        for (key, value) in table {
            match &**key.get_ref() {
                "mode" => {
                    let choices = [("enforce", Mode::Enforce), ("monitor", Mode::Monitor)];
                    self.choice(value, &choices, &mut settings.mode);
                }
                "default" => self.choice(value, &ACTIONS, &mut settings.default),
                "undecided" if matches!(value.get_ref(), DeValue::Table(_)) => {
                    self.hold(value, &mut settings.undecided);
                }
                "undecided" => {
                    let choices = [
                        ("rules", Undecided::Rules),
                        ("forward", Undecided::Forward),
                        ("drop", Undecided::Drop),
                    ];
                    self.choice(value, &choices, &mut settings.undecided);
                }
                "not_ip" => {
                    let choices = [("accept", NotIp::Accept), ("drop", NotIp::Drop), ("rules", NotIp::Rules)];
                    self.choice(value, &choices, &mut settings.not_ip);
                }
                "dpi" => {
                    let choices =
                        [("auto", Identify::Auto), ("own", Identify::Own), ("ndpi", Identify::Ndpi)];
                    self.choice(value, &choices, &mut settings.dpi);
                }
                "sip_media" => {
                    let choices = [("signalling", SipMedia::Signalling), ("anywhere", SipMedia::Anywhere)];
                    self.choice(value, &choices, &mut settings.sip_media);
                }
                "rules" => {
                    has_rules = true;
                    if let Some(text) = self.string(value) {
                        file.rules = self.rules(text, value.span());
                    }
                }
                "fail" => self
                    .table(value, "fail", |reader, key, value| reader.fail(key, value, &mut settings.faults)),
                "flows" => self.table(value, "flows", |reader, key, value| {
                    reader.flows(key, value, &mut settings.flows)
                }),
                "reject" => self.table(value, "reject", |reader, key, value| {
                    reader.reject(key, value, &mut settings.rejects)
                }),
                "records" => self.table(value, "records", |reader, key, value| {
                    reader.records(key, value, &mut settings.records)
                }),
                "sets" => self.table(value, "sets", |reader, key, value| {
                    let source = reader.set(value);
                    source.map(|source| file.sets.insert(key.to_owned(), (value.span(), source)));
                    true
                }),
                "apps" => self.table(value, "apps", |reader, key, value| {
                    let app = reader.app(key, value);
                    file.apps.push(app);
                    true
                }),
                "test" => file.tests = self.tests(value),
                other => self.unknown(other, &key.span(), TOP),
            }
        }
        if !has_rules && self.problems.is_empty() {
            let problem = Problem::new(Code::Rule, 0..0, "the policy has no rules");
            self.problems.push(problem.help("write `rules = '''`, the rules, a line each, and `'''`"));
        }
        file
    }

    fn unknown(&mut self, key: &str, span: &Range<usize>, known: &[&str]) {
        let message = format!("there is no key `{}`", wire::in_one_line(key));
        let help = format!("there are {}", known.join(", "));
        self.problems.push(Problem::new(Code::UnknownKey, span.clone(), message).help(help));
    }

    fn shape(&mut self, value: &Value<'_>, expected: &str) {
        let found = format!("this is {}", what(value.get_ref()));
        let problem = Problem::new(Code::Shape, value.span(), found).label(format!("expected {expected}"));
        self.problems.push(problem);
    }

    fn wrong(&mut self, value: &Value<'_>, message: impl Into<String>, label: &str) {
        self.problems.push(Problem::new(Code::Value, value.span(), message).label(label));
    }

    fn table<'a, 'v>(
        &mut self,
        value: &'a Value<'v>,
        name: &str,
        mut entry: impl FnMut(&mut Self, &str, &'a Value<'v>) -> bool,
    ) {
        let DeValue::Table(table) = value.get_ref() else { return self.shape(value, "a table") };
        for (key, value) in table {
            if !entry(self, key.get_ref(), value) {
                let known = KEYS.iter().find(|(table, _)| *table == name).map_or(&[][..], |(_, keys)| keys);
                self.unknown(key.get_ref(), &key.span(), known);
            }
        }
    }

    fn string<'a>(&mut self, value: &'a Value<'_>) -> Option<&'a str> {
        match value.get_ref() {
            DeValue::String(text) => Some(text),
            _ => {
                self.shape(value, "a text");
                None
            }
        }
    }

    fn strings(&mut self, value: &Value<'_>) -> Vec<(String, Range<usize>)> {
        let DeValue::Array(items) = value.get_ref() else {
            return self.string(value).map(|text| (text.to_owned(), value.span())).into_iter().collect();
        };
        items.iter().filter_map(|item| Some((self.string(item)?.to_owned(), item.span()))).collect()
    }

    fn bool(&mut self, value: &Value<'_>, to: &mut bool) {
        match value.get_ref() {
            DeValue::Boolean(is_so) => *to = *is_so,
            _ => self.shape(value, "true or false"),
        }
    }

    fn number(&mut self, value: &Value<'_>, range: std::ops::RangeInclusive<u64>) -> Option<u64> {
        let DeValue::Integer(number) = value.get_ref() else {
            self.shape(value, "a whole number");
            return None;
        };
        let read = u64::from_str_radix(number.as_str(), number.radix()).ok();
        let read = read.filter(|read| range.contains(read));
        if read.is_none() {
            let label = format!("{} to {} are possible", range.start(), range.end());
            self.wrong(value, "this number is out of range", &label);
        }
        read
    }

    fn seconds(&mut self, value: &Value<'_>) -> Option<u64> {
        let seconds = match value.get_ref() {
            DeValue::Integer(number) => {
                i64::from_str_radix(number.as_str(), number.radix()).ok().map(|n| n as f64)
            }
            DeValue::Float(number) => number.as_str().parse::<f64>().ok(),
            _ => {
                self.shape(value, "a number of seconds");
                return None;
            }
        };
        let seconds = seconds.filter(|seconds| (0.001..=31_536_000.0).contains(seconds));
        if seconds.is_none() {
            self.wrong(value, "this time is out of range", "0.001 to 31536000 seconds are possible");
        }
        seconds.map(|seconds| (seconds * 1e9) as u64)
    }

    fn choice<T: Copy>(&mut self, value: &Value<'_>, choices: &[(&str, T)], to: &mut T) {
        let Some(text) = self.string(value) else { return };
        match choices.iter().find(|(name, _)| *name == text) {
            Some((_, choice)) => *to = *choice,
            None => {
                let names: Vec<&str> = choices.iter().map(|(name, _)| *name).collect();
                let label = format!("expected {}", names.join(", "));
                self.wrong(value, format!("this cannot be `{}`", wire::in_one_line(text)), &label);
            }
        }
    }

    fn parsed<T: std::str::FromStr>(&mut self, value: &Value<'_>, what: &str, to: &mut Option<T>) {
        let Some(text) = self.string(value) else { return };
        match text.parse() {
            Ok(parsed) => *to = Some(parsed),
            Err(_) => self.wrong(value, format!("`{}` is no {what}", wire::in_one_line(text)), "not one"),
        }
    }

    /// The text of the rules, and where it stands.
    fn rules(&self, text: &str, span: Range<usize>) -> RulesText {
        let written = &self.text[span.clone()];
        let mark = ["'''", "\"\"\"", "'", "\""].iter().find(|mark| written.starts_with(*mark));
        let begin = mark.map(|mark| span.start + mark.len()).map(|begin| {
            let rest = &self.text[begin..];
            let is_long = mark.is_some_and(|mark| mark.len() == 3);
            // A line end right behind the mark is no part of the text.
            begin
                + if !is_long {
                    0
                } else if rest.starts_with("\r\n") {
                    2
                } else {
                    usize::from(rest.starts_with('\n'))
                }
        });
        let begin = begin.filter(|begin| self.text[*begin..].starts_with(text));
        RulesText { text: text.to_owned(), begin, span }
    }

    fn hold(&mut self, value: &Value<'_>, to: &mut Undecided) {
        let mut hold = Hold { packets: 8, time_ns: 200_000_000, forwards: false };
        let mut has_then = false;
        self.table(value, "undecided", |reader, key, value| {
            match key {
                "hold" => hold.packets = reader.number(value, 1..=64).unwrap_or(1) as u32,
                "ms" => hold.time_ns = reader.number(value, 1..=10_000).unwrap_or(1) * 1_000_000,
                "then" => {
                    has_then = true;
                    reader.choice(value, &[("forward", true), ("drop", false)], &mut hold.forwards);
                }
                _ => return false,
            }
            true
        });
        if !has_then {
            self.wrong(
                value,
                "what becomes of packets that have waited long enough is not said",
                "`then` is missing",
            );
            if let Some(problem) = self.problems.last_mut() {
                problem.help = Some("then = \"forward\", or then = \"drop\"".to_owned());
            }
        }
        *to = Undecided::Hold(hold);
    }

    fn fail(&mut self, key: &str, value: &Value<'_>, faults: &mut Faults) -> bool {
        let to = match key {
            "worker_lost" => &mut faults.worker_lost,
            "ring_full" => &mut faults.ring_full,
            "table_full" => &mut faults.table_full,
            _ => return false,
        };
        let choices =
            [("open", OnFault::Open), ("closed", OnFault::Closed), ("undecided", OnFault::Undecided)];
        self.choice(value, &choices, to);
        true
    }

    fn flows(&mut self, key: &str, value: &Value<'_>, flows: &mut Flows) -> bool {
        let timeouts = &mut flows.timeouts;
        let to = match key {
            "max" => {
                let max = self.number(value, 1..=flow::table::CAPACITY_MAX as u64);
                flows.max = max.map_or(flows.max, |max| max as usize);
                return true;
            }
            "midstream" => {
                let choices =
                    [("follow", flow::Midstream::Established), ("ignore", flow::Midstream::Ignored)];
                self.choice(value, &choices, &mut flows.midstream);
                return true;
            }
            "tcp_idle" => &mut timeouts.idle_tcp,
            "udp_idle" => &mut timeouts.idle_udp,
            "half_open" => &mut timeouts.half_open,
            "closed" => &mut timeouts.closed,
            "active" => &mut timeouts.active,
            _ => return false,
        };
        *to = self.seconds(value).unwrap_or(*to);
        true
    }

    fn reject(&mut self, key: &str, value: &Value<'_>, rejects: &mut Rejects) -> bool {
        let source = &mut rejects.source;
        match key {
            "pps" => rejects.pps = self.number(value, 0..=1_000_000_000).unwrap_or(rejects.pps),
            "mac" => self.parsed::<Mac>(value, "hardware address", &mut source.mac),
            "ipv4" => self.parsed::<Ipv4Addr>(value, "IPv4 address", &mut source.ipv4),
            "ipv6" => self.parsed::<Ipv6Addr>(value, "IPv6 address", &mut source.ipv6),
            _ => return false,
        }
        true
    }

    fn records(&mut self, key: &str, value: &Value<'_>, records: &mut Records) -> bool {
        match key {
            "eve" => records.eve = self.string(value).map(PathBuf::from),
            "eve_bytes_max" => {
                records.eve_bytes_max =
                    self.number(value, 1024..=u64::MAX >> 1).unwrap_or(records.eve_bytes_max);
            }
            "eve_files" => {
                let files = self.number(value, 0..=1000).map(|files| files as u32);
                records.eve_files = files.unwrap_or(records.eve_files);
            }
            "flows" => self.bool(value, &mut records.flows),
            "syslog" => self.bool(value, &mut records.syslog),
            "pps" => records.pps = self.number(value, 0..=1_000_000_000).unwrap_or(records.pps),
            _ => return false,
        }
        true
    }

    fn set(&mut self, value: &Value<'_>) -> Option<SetSource> {
        match value.get_ref() {
            DeValue::String(path) => Some(SetSource::File(PathBuf::from(&**path))),
            DeValue::Array(_) => {
                Some(SetSource::Members(self.strings(value).into_iter().map(|(text, _)| text).collect()))
            }
            _ => {
                self.shape(value, "the name of a file, or a list of members");
                None
            }
        }
    }

    fn app(&mut self, name: &str, value: &Value<'_>) -> App {
        let mut app = App {
            name: name.to_owned(),
            names: Vec::new(),
            tests: Vec::new(),
            payloads: Vec::new(),
            span: value.span(),
        };
        self.table(value, "apps.NAME", |reader, key, value| {
            let items = match key {
                "sni" | "hosts" | "ports" | "payload" => reader.strings(value),
                _ => return false,
            };
            for (item, span) in items {
                let read = match key {
                    "sni" => domain(&item).map(|domain| app.names.push(domain)).ok_or("no domain"),
                    "payload" => bytes(&item).map(|bytes| app.payloads.push(bytes)).ok_or("no pattern"),
                    "hosts" => compiled(format!("host in {{{item}}}"))
                        .map(|test| app.tests.push(test))
                        .ok_or("no address"),
                    _ => ports(&item).map(|test| app.tests.push(test)).ok_or("no port"),
                };
                if let Err(what) = read {
                    let message = format!("`{}` is {what}", wire::in_one_line(&item));
                    let help = match key {
                        "sni" => "write `example.com`, which takes what lies below it as well",
                        "payload" => "text, and bytes as two digits each between bars: `GET |20|/`",
                        "hosts" => "an address, a prefix, or a range: `10.0.0.1-10.0.0.9`",
                        _ => "`tcp 443`, `udp 5000-5010`, or `80`",
                    };
                    reader.problems.push(Problem::new(Code::Value, span, message).help(help));
                }
            }
            true
        });
        if app.names.is_empty() && app.tests.is_empty() && app.payloads.is_empty() && self.problems.is_empty()
        {
            let problem = Problem::new(Code::Value, value.span(), "nothing tells this application");
            self.problems.push(problem.help("give it `sni`, `hosts`, `ports` or `payload`"));
        }
        app
    }

    fn tests(&mut self, value: &Value<'_>) -> Vec<PolicyTest> {
        let DeValue::Array(items) = value.get_ref() else {
            self.shape(value, "`[[test]]`");
            return Vec::new();
        };
        items.iter().filter_map(|item| self.test(item)).collect()
    }

    fn test(&mut self, value: &Value<'_>) -> Option<PolicyTest> {
        let mut test = PolicyTest {
            pcap: PathBuf::new(),
            accept: None,
            drop: None,
            reject: None,
            packets: Vec::new(),
            interfaces: [None, None],
            line: super::problem::line_of(self.text, value.span().start),
            span: value.span(),
        };
        self.table(value, "test", |reader, key, value| {
            match key {
                "pcap" => test.pcap = reader.string(value).map(PathBuf::from).unwrap_or_default(),
                "in" => test.interfaces[0] = reader.string(value).map(str::to_owned),
                "out" => test.interfaces[1] = reader.string(value).map(str::to_owned),
                "expect" => reader.table(value, "test.expect", |reader, key, value| {
                    let to = match key {
                        "accept" => &mut test.accept,
                        "drop" => &mut test.drop,
                        "reject" => &mut test.reject,
                        _ => return false,
                    };
                    *to = reader.number(value, 0..=u64::MAX >> 1);
                    true
                }),
                "packet" => reader.table(value, "test.packet", |reader, key, value| {
                    let Some(number) = key.parse::<u64>().ok().filter(|number| *number > 0) else {
                        return false;
                    };
                    let mut action = Action::Accept;
                    let known = reader.problems.len();
                    reader.choice(value, &ACTIONS, &mut action);
                    if reader.problems.len() == known {
                        test.packets.push((number, action));
                    }
                    true
                }),
                _ => return false,
            }
            true
        });
        if test.pcap.as_os_str().is_empty() {
            let problem = Problem::new(Code::Test, value.span(), "this test names no capture");
            self.problems.push(problem.help("pcap = \"capture.pcap\""));
            return None;
        }
        test.packets.sort_unstable_by_key(|(number, _)| *number);
        if test.packets.is_empty() && [test.accept, test.drop, test.reject] == [None; 3] {
            let problem = Problem::new(Code::Test, value.span(), "this test expects nothing");
            self.problems.push(problem.help("expect = { accept = 10, drop = 2 }, or packet.3 = \"drop\""));
        }
        Some(test)
    }
}

const ACTIONS: [(&str, Action); 3] =
    [("accept", Action::Accept), ("drop", Action::Drop), ("reject", Action::Reject)];

/// Keys of a policy.
const TOP: &[&str] = &[
    "mode",
    "default",
    "undecided",
    "not_ip",
    "dpi",
    "sip_media",
    "rules",
    "fail",
    "flows",
    "reject",
    "records",
    "sets",
    "apps",
    "test",
];
/// Keys of its tables.
pub(super) const KEYS: &[(&str, &[&str])] = &[
    ("undecided", &["hold", "ms", "then"]),
    ("fail", &["worker_lost", "ring_full", "table_full"]),
    ("flows", &["max", "midstream", "tcp_idle", "udp_idle", "half_open", "closed", "active"]),
    ("reject", &["pps", "mac", "ipv4", "ipv6"]),
    ("records", &["eve", "eve_bytes_max", "eve_files", "flows", "syslog", "pps"]),
    ("apps.NAME", &["sni", "hosts", "ports", "payload"]),
    ("test", &["pcap", "expect", "packet", "in", "out"]),
    ("test.expect", &["accept", "drop", "reject"]),
    ("test.packet", &["numbers of packets, from 1"]),
];

/// Every key that a policy may have, for the page about them.
#[cfg(test)]
pub(super) fn keys() -> impl Iterator<Item = &'static str> {
    TOP.iter().copied().chain(KEYS.iter().flat_map(|(_, keys)| keys.iter().copied()))
}

fn what(value: &DeValue<'_>) -> &'static str {
    match value {
        DeValue::String(_) => "a text",
        DeValue::Integer(_) | DeValue::Float(_) => "a number",
        DeValue::Boolean(_) => "true or false",
        DeValue::Datetime(_) => "a time",
        DeValue::Array(_) => "a list",
        DeValue::Table(_) => "a table",
    }
}

/// A test that compiles.
fn compiled(test: String) -> Option<String> {
    let compiler = Compiler::new(LinkType::EN10MB).dialect(Dialect::MODERN);
    compiler.compile(&test).ok().map(|_| test)
}

/// `tcp 443`, `udp 5000-5010`, `80`.
fn ports(text: &str) -> Option<String> {
    let (protocol, numbers) = text.trim().split_once(' ').unwrap_or(("", text.trim()));
    if !["", "tcp", "udp", "sctp"].contains(&protocol) {
        return None;
    }
    let numbers = numbers.trim();
    let number = |text: &str| text.parse::<u16>().ok();
    let test = match numbers.split_once('-') {
        Some((low, high)) => {
            number(low).zip(number(high)).filter(|(low, high)| low <= high)?;
            format!("{protocol} portrange {numbers}")
        }
        None => format!("{protocol} port {}", number(numbers)?),
    };
    compiled(test.trim().to_owned())
}

/// Text, and bytes as two digits each between bars.
fn bytes(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    for (at, part) in text.split('|').enumerate() {
        if at.is_multiple_of(2) {
            bytes.extend_from_slice(part.as_bytes());
            continue;
        }
        for pair in part.split_whitespace() {
            bytes.push(u8::from_str_radix(pair, 16).ok().filter(|_| pair.len() == 2)?);
        }
    }
    (!bytes.is_empty() && text.matches('|').count().is_multiple_of(2) && bytes.len() <= 1024).then_some(bytes)
}
