//! A slow judge, rule by rule and packet by packet: each rule is a program of its own, run by the interpreter, and flows are kept in a map. Every verdict of
//! [`Judge`] must be the same, on all captures at hand and for random policies.

use super::*;
use crate::spy::Settings;
use flow::{Direction, NoFlow, Slot};
use pflang::{Backend, Compiler, Dialect, Matcher};
use std::collections::HashMap;
use std::path::PathBuf;

/// Packets that are looked at of each capture.
const PACKETS_MAX: usize = 3000;

/// A flow, as the reference keeps it.
#[derive(Default)]
struct RefFlow {
    let_through: Vec<Direction>,
    /// The tunnels of the first of these.
    outer: u32,
}

impl RefFlow {
    fn is_elsewhere(&self, outer: u32) -> bool {
        !self.let_through.is_empty() && self.outer != outer
    }
}

/// A rule by itself: with all known, before it is known what the flow speaks, and without a look at the flow.
struct RefRule {
    programs: [Matcher; 3],
    /// The blocks that decide what has entered them.
    passed: Vec<[Matcher; 3]>,
    /// The blocks that it is in.
    around: Vec<[Matcher; 3]>,
}

struct Reference {
    policy: Arc<Policy>,
    rules: Vec<RefRule>,
    flows: HashMap<Slot, RefFlow>,
    spy: Spy,
    limits: Arc<[Bucket]>,
}

impl Reference {
    fn new(policy: &Arc<Policy>, linktype: LinkType) -> Option<Reference> {
        let inputs: Vec<Input> = policy.vocabulary().inputs.clone();
        let names: Vec<String> = inputs.iter().map(|input| policy_name(*input)).collect();
        let compiler = Compiler::new(linktype)
            .dialect(Dialect::MODERN)
            .backend(Backend::Interpreter)
            .inputs(names.clone())
            .names(policy.names());
        let of = |unknown: fn(Input) -> bool, test: &str| {
            let unknown: Vec<&str> = inputs
                .iter()
                .zip(&names)
                .filter(|(input, _)| unknown(**input))
                .map(|(_, name)| name.as_str())
                .collect();
            compiler.compile_match_without(&format!("match {{ {test} => hit }}"), &unknown, "open").ok()
        };
        let all = |test: &str| {
            let programs = [
                of(|_| false, test)?,
                of(|input| !is_of_flow(input), test)?,
                of(|input| !matches!(input, Input::In | Input::Out), test)?,
            ];
            Some(programs)
        };
        let rules = policy.rules().iter().map(|rule| {
            let passed = rule.passed.iter().map(|test| all(test)).collect::<Option<_>>()?;
            let around = rule.around.iter().map(|test| all(test)).collect::<Option<_>>()?;
            Some(RefRule { programs: all(&rule.test)?, passed, around })
        });
        let policy_flows = policy.settings().flows;
        let flows = flow::Settings {
            capacity: policy_flows.max,
            timeouts: policy_flows.timeouts,
            checks_resets: true,
            secret: flow::Secret::from_seed(7),
            ..flow::Settings::default()
        };
        Some(Reference {
            rules: rules.collect::<Option<Vec<_>>>()?,
            policy: Arc::clone(policy),
            flows: HashMap::new(),
            spy: Spy::new(Settings { flows, waits: true, ..Settings::default() }).unwrap(),
            limits: limits(policy),
        })
    }

    /// The first rule that takes the packet; `Err` where one before it is not known to.
    fn first(&mut self, which: usize, packet: &Packet<'_>, row: &[u32]) -> Result<Option<usize>, ()> {
        let mut values = Vec::new();
        for number in 0..self.rules.len() {
            let mut row = row.to_vec();
            // A limit that is exhausted does not hold.
            let exhausted = self.limits.iter().enumerate().filter(|(_, bucket)| !bucket.has(packet.time_ns));
            for (limit, _) in exhausted {
                let word = Input::Limits((limit / 32) as u32);
                let inputs = &self.policy.vocabulary().inputs;
                row[inputs.iter().position(|input| *input == word).unwrap()] &= !(1 << (limit % 32));
            }
            let rule = &self.rules[number];
            enum Of {
                Passed,
                Around,
                Rule,
            }
            let passed = rule.passed.iter().map(|block| (&block[which], Of::Passed));
            let around = rule.around.iter().map(|block| (&block[which], Of::Around));
            for (program, of) in passed.chain(around).chain([(&rule.programs[which], Of::Rule)]) {
                match program.call_captured(packet.frame, packet.wire_len, &row, &mut values) {
                    None => {}
                    Some(call) if call.handler == "open" => return Err(()),
                    Some(_) => match of {
                        Of::Passed => return Ok(None),
                        Of::Around => {}
                        Of::Rule => return Ok(Some(number)),
                    },
                }
            }
        }
        Ok(None)
    }

    fn verdict(&self, rule: Option<usize>) -> Verdict {
        match rule {
            Some(rule) => {
                Verdict { action: self.policy.rules()[rule].action, basis: Basis::Rule(rule as u32) }
            }
            None => Verdict { action: self.policy.settings().default, basis: Basis::Default },
        }
    }

    fn judge(&mut self, packet: &Packet<'_>) -> Verdict {
        let is_not_ip = matches!(
            flow::decode(packet.linktype, packet.frame),
            Err(NoFlow::Arp | NoFlow::NotIp | NoFlow::Link)
        );
        let empty = vec![0; self.policy.vocabulary().inputs.len()];
        let without = self.first(2, packet, &empty).map(|rule| self.verdict(rule));
        if let Ok(verdict) = without
            && verdict.action != Action::Accept
            && !is_not_ip
        {
            return verdict;
        }
        let mut tags = [Tag::default()];
        self.spy.burst(&[*packet], &mut tags);
        let tag = tags[0];
        if is_not_ip {
            return Verdict { action: Action::Accept, basis: Basis::NotIp };
        }
        self.reopen(&tag);
        let verdict = without.unwrap_or_else(|()| self.by_flow(packet, &tag));
        if let Some(sight) = tag.sight
            && verdict.action == Action::Accept
        {
            let flow = self.flows.entry(sight.slot).or_default();
            if flow.let_through.is_empty() {
                flow.outer = sight.outer;
            }
            if !flow.is_elsewhere(sight.outer) {
                flow.let_through.push(sight.direction);
            }
        }
        verdict
    }

    /// A flow that begins with the answer to a SYN of the flow before knows that the SYN was let through, if its sender was.
    fn reopen(&mut self, tag: &Tag) {
        let Some(sight) = tag.sight.filter(|sight| sight.is_reopened) else { return };
        let initiator = sight.direction.reverse();
        let before = tag.related.and_then(|slot| self.flows.get(&slot));
        if before.is_some_and(|flow| !flow.is_elsewhere(sight.outer) && flow.let_through.contains(&initiator))
        {
            let flow = RefFlow { let_through: vec![initiator], outer: sight.outer };
            self.flows.insert(sight.slot, flow);
        }
    }

    fn by_flow(&mut self, packet: &Packet<'_>, tag: &Tag) -> Verdict {
        let nobody = RefFlow::default();
        let flow = tag.sight.and_then(|sight| self.flows.get(&sight.slot)).unwrap_or(&nobody);
        let outer = tag.sight.map_or(0, |sight| sight.outer);
        let related = tag
            .related
            .filter(|_| tag.sight.is_none_or(|sight| !sight.is_reopened))
            .and_then(|slot| self.flows.get(&slot))
            .is_some_and(|flow| !flow.let_through.is_empty() && flow.outer == outer);
        let state = match tag.sight {
            Some(_) if flow.is_elsewhere(outer) => 4,
            Some(sight) if sight.counts && related => 3,
            Some(sight) if sight.counts => {
                1 + u32::from(flow.let_through.iter().any(|other| *other != sight.direction))
            }
            _ => 4,
        };
        let from = tag.sight.map_or(0, |sight| match flow.let_through.first() {
            _ if flow.is_elsewhere(outer) => 0,
            Some(first) if *first != sight.direction => 2,
            _ => 1,
        });
        let record = tag.sight.and_then(|sight| self.spy.record(sight.slot));
        let named = record.and_then(|record| record.details).map(|details| self.policy.name(&details));
        let (domain, sets) = named.unwrap_or_default();
        let protocol = dpi::Protocol::from_number(tag.protocol);
        let category =
            dpi::Protocol::categories().iter().position(|name| *name == protocol.category()).unwrap() as u32
                + 1;
        let row: Vec<u32> = self
            .policy
            .vocabulary()
            .inputs
            .iter()
            .map(|input| match input {
                Input::FlowCount => tag.packets,
                Input::App => tag.protocol.into(),
                Input::Master => tag.master.into(),
                Input::Category => category,
                Input::Confidence => tag.confidence as u32,
                Input::State => state,
                Input::From => from,
                Input::Name => domain,
                Input::Risks(_) => 0,
                Input::Sets(word) => sets.get(*word as usize).copied().unwrap_or(0),
                Input::Limits(_) => u32::MAX,
                Input::In | Input::Out | Input::Own(_) => 0,
            })
            .collect();
        let which = usize::from(tag.progress != Progress::Done);
        match self.first(which, packet, &row) {
            Ok(rule) => {
                for limit in rule.map_or(&[][..], |rule| &self.policy.rules()[rule].limits) {
                    self.limits[*limit].take(packet.time_ns);
                }
                self.verdict(rule)
            }
            Err(()) if self.policy.settings().undecided == Undecided::Rules => {
                let rule = self.first(0, packet, &row).unwrap();
                for limit in rule.map_or(&[][..], |rule| &self.policy.rules()[rule].limits) {
                    self.limits[*limit].take(packet.time_ns);
                }
                self.verdict(rule)
            }
            Err(()) => {
                let says = tag.sight.is_none_or(|sight| sight.payload.0 < sight.payload.1);
                let is_dropped = says && self.policy.settings().undecided == Undecided::Drop;
                let action = if is_dropped { Action::Drop } else { Action::Accept };
                Verdict { action, basis: Basis::Undecided }
            }
        }
    }
}

fn policy_name(input: Input) -> String {
    input.name()
}

fn is_of_flow(input: Input) -> bool {
    use Input::{App, Category, Confidence, Master, Name, Own, Sets};
    !matches!(input, App | Master | Category | Confidence | Name | Own(_) | Sets(_))
}

/// Steele, Lea and Flood, "Fast splittable pseudorandom number generators", 2014.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ mixed >> 31) % limit as u64) as usize
    }

    fn of<'a>(&mut self, words: &[&'a str]) -> &'a str {
        words[self.below(words.len())]
    }

    fn test(&mut self, depth: usize) -> String {
        const TESTS: &[&str] = &[
            "tcp",
            "udp",
            "icmp",
            "ip6",
            "port 53",
            "tcp port 443",
            "src port 80",
            "len > 100",
            "host 192.0.2.10",
            "dst net 198.51.100.0/24",
            "ip[8] > 63",
            "app HTTP",
            "app {DNS, SSH}",
            "app TLS",
            "category Web",
            "sni example.com",
            "sni *.example.com",
            "sni in @names",
            "state new",
            "state established",
            "state {related, invalid}",
            "from initiator",
            "from responder",
            "confidence payload",
            "confidence partial",
            "flow_count > 3",
            "flow_count <= 10",
            "limit 3/s",
            "limit 2/s burst 5",
            "ether[0] & 1 = 0",
            "host in @hosts",
            "dst port in {22, 80-90}",
        ];
        if depth == 0 {
            return self.of(TESTS).to_owned();
        }
        let (a, b) = (self.test(depth - 1), self.test(depth - 1));
        match self.below(8) {
            0..3 => format!("{a} and {b}"),
            3 | 4 => format!("({a}) or ({b})"),
            5 if !a.contains("limit") => format!("not ({a})"),
            6 if !b.contains("limit") => format!("({a}) and not ({b})"),
            _ => a,
        }
    }

    fn rules(&mut self, depth: usize) -> String {
        let mut text = String::new();
        for _ in 0..1 + self.below(5) {
            let nesting = self.below(3);
            let test = self.test(nesting);
            if depth > 0 && self.below(5) == 0 {
                text += &format!("{test} => {{\n{}}}\n", self.rules(depth - 1));
            } else {
                text += &format!("{test} => {}\n", self.of(&["accept", "drop", "reject", "accept(log)"]));
            }
        }
        text
    }

    /// So many rules that they are looked up: hosts, networks, names of servers and ports in turns, with others among them.
    fn many_rules(&mut self) -> String {
        let mut text = String::new();
        for number in 0..260 {
            let n = self.below(256);
            let test = match number % 6 {
                0 => format!("src host 192.0.2.{n}"),
                1 => format!("dst net {n}.0.0.0/8 and tcp"),
                2 => format!("sni w{n}.example.com"),
                3 => format!("udp dst port {}", 4 * n),
                4 => format!("src portrange {n}-{} and state established", 3 * n),
                _ if self.below(4) > 0 => format!("dst port {n} and {}", self.test(0)),
                _ => format!("{} and {}", self.test(0), self.test(1)),
            };
            text += &format!("{test} => {}\n", self.of(&["accept", "drop", "reject", "accept(log)"]));
        }
        text
    }

    fn policy(&mut self, rules: impl Fn(&mut Random) -> String) -> String {
        let default = self.of(&["accept", "drop", "reject"]);
        let undecided = self.of(&["forward", "drop", "rules"]);
        let rules = rules(self);
        format!(
            "default = '{default}'\nundecided = '{undecided}'\nrules = '''\n{rules}'''\n[sets]\nnames = ['www.example.com', 'example.org']\nhosts = ['198.51.100.80', '2001:db8:2::/64']\n"
        )
    }
}

struct Capture {
    name: String,
    packets: Vec<(Vec<u8>, LinkType, u64, u32)>,
}

fn captures() -> Vec<Capture> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut folders = vec![root.join("captures")];
    let shared = std::env::var_os("SLUSS_SHARED").map_or_else(|| root.join("../shared"), PathBuf::from);
    let snabbwalls = shared.join("captures/snabbwall");
    if snabbwalls.is_dir() {
        folders.push(snabbwalls);
    } else {
        testkit::say("SKIPPED in part: SnabbWall's captures are not at hand (set SLUSS_SHARED)");
    }
    let mut captures = Vec::new();
    for folder in folders {
        let mut paths: Vec<PathBuf> =
            std::fs::read_dir(folder).unwrap().flatten().map(|entry| entry.path()).collect();
        paths.sort();
        for path in paths {
            let Ok(mut reader) = capture::Reader::open(&path) else { continue };
            let mut packets = Vec::new();
            while let Ok(Some(packet)) = reader.next_packet() {
                packets.push((
                    packet.data.to_vec(),
                    packet.linktype,
                    packet.timestamp_ns.max(0) as u64,
                    packet.wire_len,
                ));
                if packets.len() == PACKETS_MAX {
                    break;
                }
            }
            captures.push(Capture { name: path.display().to_string(), packets });
        }
    }
    captures
}

/// The packets of a capture.
fn packets_of(capture: &Capture) -> Vec<Packet<'_>> {
    capture
        .packets
        .iter()
        .map(|(frame, linktype, time_ns, wire_len)| Packet {
            frame,
            linktype: *linktype,
            time_ns: *time_ns,
            wire_len: *wire_len,
        })
        .collect()
}

/// Both judges on one capture, in bursts of a random size.
fn compare(policy: &Arc<Policy>, capture: &Capture, random: &mut Random) -> usize {
    let Some((_, linktype, ..)) = capture.packets.first() else { return 0 };
    let packets: Vec<Packet<'_>> = capture
        .packets
        .iter()
        .filter(|(_, other, ..)| other == linktype)
        .map(|(frame, linktype, time_ns, wire_len)| Packet {
            frame,
            linktype: *linktype,
            time_ns: *time_ns,
            wire_len: *wire_len,
        })
        .collect();
    let Some(mut reference) = Reference::new(policy, *linktype) else { return 0 };
    let mut judge = Judge::new(Arc::clone(policy), Settings { waits: true, ..Settings::default() }).unwrap();
    let mut verdicts = vec![Verdict::NONE; packets.len()];
    let mut at = 0;
    while at < packets.len() {
        let end = packets.len().min(at + 1 + random.below(200));
        judge.burst(&packets[at..end], Way::default(), &mut verdicts[at..end]);
        at = end;
    }
    for (number, packet) in packets.iter().enumerate() {
        let expected = reference.judge(packet);
        assert_eq!(
            verdicts[number],
            expected,
            "packet {} of {} by\n{}",
            number + 1,
            capture.name,
            policy.text()
        );
    }
    packets.len()
}

#[test]
fn every_verdict_is_that_of_a_judge_that_goes_rule_by_rule() {
    let captures = captures();
    let policies: usize =
        std::env::var("SLUSS_POLICIES").ok().and_then(|count| count.parse().ok()).unwrap_or(40);
    let mut random = Random(20);
    let (mut packets, mut compared) = (0, 0);
    for number in 0..policies {
        let text = random.policy(|random| random.rules(2));
        let policy = match Policy::read(&text, Path::new("")) {
            Ok(policy) => Arc::new(policy),
            // What random tests may be: `vlan and not vlan`.
            Err(problems) if problems.iter().all(|problem| problem.code.starts_with("PF")) => continue,
            Err(problems) => panic!("{problems:?}\n{text}"),
        };
        compared += 1;
        // Each policy on some captures, all captures by some policies.
        for capture in captures.iter().skip(number % 7).step_by(7) {
            packets += compare(&policy, capture, &mut random);
        }
    }
    assert!(compared > policies / 2 && packets > 1000, "{compared} policies, {packets} packets");
}

#[test]
fn verdicts_of_many_rules_are_those_of_a_judge_that_goes_rule_by_rule() {
    let captures = captures();
    let mut random = Random(21);
    let (mut packets, mut looked_up) = (0, 0);
    for number in 0..4 {
        let text = random.policy(Random::many_rules);
        let policy = match Policy::read(&text, Path::new("")) {
            Ok(policy) => Arc::new(policy),
            Err(problems) if problems.iter().all(|problem| problem.code.starts_with("PF")) => continue,
            Err(problems) => panic!("{problems:?}\n{text}"),
        };
        let programs = policy.compile(LinkType::EN10MB).unwrap();
        looked_up += programs.summaries()[0].looked_up.as_ref().map_or(0, |looked_up| looked_up.clauses);
        for capture in captures.iter().skip(number).step_by(8) {
            packets += compare(&policy, capture, &mut random);
        }
    }
    assert!(looked_up > 500 && packets > 1000, "{looked_up} rules, {packets} packets");
}

/// Segments of few ends, whose connections begin again and again with other numbers, on few ports and in a tunnel, and end or not.
fn reused(random: &mut Random) -> Capture {
    let mut time_ns = 0;
    let mut numbers = [[100_u32, 500]; 3];
    let packets = (0..400).map(|_| {
        time_ns += [1_000_000, 100_000_000, 20_000_000_000][random.below(3)];
        let flow = random.below(3);
        let from = random.below(2);
        let flags = random.of(&["S", "S", "SA", "SA", "A", "A", "PA", "PA", "F", "R", "RA"]);
        let [mut next, mut of_other] = [numbers[flow][from], numbers[flow][1 - from]];
        if flags.starts_with('S') && random.below(2) == 0 {
            next = (random.below(1 << 16) << 16) as u32;
            numbers[flow][from] = next.wrapping_add(1);
        }
        if random.below(9) == 0 {
            of_other = of_other.wrapping_add(1 << 30);
        }
        let ack = if flags == "S" || flags == "R" { 0 } else { of_other };
        let ends = [("192.0.2.10", 4000 + flow), ("198.51.100.80", 80)];
        let ((src, sport), (dst, dport)) = (ends[from], ends[1 - from]);
        let tunnel = if flow == 2 { "ip4(src=203.0.113.1, dst=203.0.113.2) / " } else { "" };
        let text = if flags == "PA" { "47 45 54 20 2f 20" } else { "" };
        numbers[flow][from] = numbers[flow][from].wrapping_add(if flags == "PA" { 6 } else { 0 });
        let frame = frame(&format!(
            "eth / {tunnel}ip4(src={src}, dst={dst}) / tcp(sport={sport}, dport={dport}, seq={next}, ack={ack}, flags={flags}) / hex({text})"
        ));
        let wire_len = frame.len() as u32;
        (frame, LinkType::EN10MB, time_ns, wire_len)
    });
    Capture { name: "segments of few ports".to_owned(), packets: packets.collect() }
}

#[test]
fn verdicts_of_ports_that_are_used_again_are_those_of_a_judge_that_goes_rule_by_rule() {
    let mut random = Random(23);
    let (mut compared, mut reopened) = (0, 0);
    for _ in 0..30 {
        let text = random.policy(|random| {
            let rules = random.rules(1);
            format!("{rules}state established => accept\nsrc host 192.0.2.10 => accept\n")
        });
        let Ok(policy) = Policy::read(&text, Path::new("")).map(Arc::new) else { continue };
        for _ in 0..4 {
            let capture = reused(&mut random);
            compared += compare(&policy, &capture, &mut random);
            let packets = packets_of(&capture);
            let mut tracker: flow::Tracker<()> = flow::Tracker::new(&flow::Settings::default()).unwrap();
            let count = |_, seen: Result<flow::Seen<'_, ()>, NoFlow>| {
                reopened += usize::from(seen.is_ok_and(|seen| seen.reopens.is_some()));
            };
            tracker.burst(&packets, count, |_| {});
        }
    }
    assert!(compared > 10_000 && reopened > 100, "{compared} packets, {reopened} flows");
}

/// Captures are replayed, in short bursts, so that most packets find a verdict kept with their flow, where the policy keeps some; the other judge is asked for evidence of
/// the last packet of each burst, and keeps none.
#[test]
fn verdicts_that_are_kept_are_those_that_rules_would_have_given() {
    let captures = captures();
    let mut random = Random(22);
    let (mut kept, mut all) = (0, 0);
    for number in 0..40 {
        let text = random.policy(|random| random.rules(1));
        let Ok(policy) = Policy::read(&text, Path::new("")).map(Arc::new) else { continue };
        for capture in captures.iter().skip(number % 9).step_by(9) {
            let packets = packets_of(capture);
            // With one secret, flows that have timed out are found at the same time; time goes back with each replay.
            let new = || {
                let flows =
                    flow::Settings { secret: flow::Secret::from_seed(7), ..flow::Settings::default() };
                // As on captures, and as on devices, where verdicts of silent flows are kept as well.
                let settings = Settings { flows, waits: number % 2 == 0, ..Settings::default() };
                Judge::new(Arc::clone(&policy), settings).unwrap()
            };
            let [mut judge, mut other] = [new(), new()];
            for replay in 0..3 {
                let mut rest = &packets[..];
                while !rest.is_empty() {
                    let (burst, behind) = rest.split_at(rest.len().min(1 + random.below(12)));
                    rest = behind;
                    let mut verdicts = [[Verdict::NONE; 12]; 2];
                    judge.burst(burst, Way::default(), &mut verdicts[0][..burst.len()]);
                    other.want_evidence_of_next(burst.len() - 1);
                    other.burst(burst, Way::default(), &mut verdicts[1][..burst.len()]);
                    assert_eq!(verdicts[0], verdicts[1], "{}, {replay}, by\n{}", capture.name, policy.text());
                }
            }
            let counts = Counts { kept: 0, ..judge.counts().clone() };
            assert_eq!(&counts, other.counts());
            kept += judge.counts().kept;
            all += 3 * packets.len() as u64;
        }
    }
    assert!(kept > all / 20, "{kept} of {all}");
}
