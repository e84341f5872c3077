//! PF101 is given exactly where an encapsulation that need not have matched changes an answer: where the default meaning and that of the
//! `scoped` dialect differ on some packet.
//!
//! Whether they do is found independently of the compiler's own proof: by walking branches of the two graphs as written, and writing into a
//! packet at each branch what leads to a side of it. The answers of such packets are compared. (The filters here have parentheses only where
//! alternatives stand in them: behind `(vlan and tcp)` the tag has matched, and nobody is surprised that the dialect ends it there.)

use pflang::internals::ir::{BinOp, CmpOp, Cond, Graph, Node, Order, Size, Value, ValueId};
use pflang::{Code, Compiler, Dialect, Filter, LinkType};
use testkit::rng::Rng;

const PACKET_BYTES: usize = 160;
/// Walks along branches of each graph for one filter.
const WALKS: usize = 20_000;

fn compiler(scoped: bool) -> Compiler {
    let mut dialect = Dialect::default();
    dialect.scoped = scoped;
    Compiler::new(LinkType::EN10MB).dialect(dialect)
}

fn is_warned(text: &str) -> bool {
    let lints = compiler(false).lints(text).unwrap_or_else(|error| panic!("{error}"));
    lints.iter().any(|lint| lint.code == Code::ShiftsOffsets)
}

/// A walk along branches: a packet that tends to go where chance has it.
struct Walk<'g> {
    graph: &'g Graph,
    packet: Vec<u8>,
    wire_len: u32,
}

impl Walk<'_> {
    fn go(&mut self, rng: &mut Rng) {
        let mut at = self.graph.root;
        loop {
            at = match *self.graph.node(at) {
                Node::Leaf(_) => return,
                Node::Switch(ref switch) => switch.default,
                Node::Branch { cond, then, els } => {
                    let cond = self.graph.pool.get_cond(cond);
                    if let Cond::Cmp(CmpOp::Eq, a, b) = cond
                        && let (true, Some(wanted)) = (rng.chance(1, 2), self.graph.pool.as_const(b))
                    {
                        self.aim(a, wanted);
                    }
                    if self.holds(cond) { then } else { els }
                }
            };
        }
    }

    fn holds(&self, cond: Cond) -> bool {
        match cond {
            Cond::Cmp(CmpOp::Eq, a, b) => self.value(a) == self.value(b),
            Cond::Cmp(CmpOp::Lt, a, b) => self.value(a) < self.value(b),
            Cond::Test(a, mask) => self.value(a) & self.value(mask) != 0,
            Cond::Member(_) => unreachable!("no filter here has a large set"),
            Cond::Bounds { base, end } => u64::from(self.value(base)) + u64::from(end) <= PACKET_BYTES as u64,
        }
    }

    fn value(&self, id: ValueId) -> u32 {
        match self.graph.pool.get(id) {
            Value::Const(k) => k,
            Value::Len => self.wire_len,
            Value::Input(_) => panic!("filters have no inputs"),
            Value::Load { base, offset, size, .. } => match self.place(base, offset, size) {
                Some(place) => self.packet[place].iter().fold(0, |x, byte| x << 8 | u32::from(*byte)),
                None => 0,
            },
            Value::Op(op, a, b) => op.eval(self.value(a), self.value(b)).unwrap_or(0),
        }
    }

    fn place(&self, base: ValueId, offset: u32, size: Size) -> Option<std::ops::Range<usize>> {
        let start = u64::from(self.value(base)) + u64::from(offset);
        let end = start + u64::from(size.bytes());
        (end <= PACKET_BYTES as u64).then_some(start as usize..end as usize)
    }

    /// Writes what makes a value another.
    fn aim(&mut self, id: ValueId, wanted: u32) {
        match self.graph.pool.get(id) {
            Value::Load { base, offset, size, order } => {
                assert_eq!(order, Order::Network, "the graph is as written");
                if let Some(place) = self.place(base, offset, size) {
                    let bytes = wanted.to_be_bytes();
                    self.packet[place].copy_from_slice(&bytes[4 - size.bytes() as usize..]);
                }
            }
            Value::Op(BinOp::And, a, mask) => {
                let (mask, is) = (self.value(mask), self.value(a));
                self.aim(a, (is & !mask) | (wanted & mask));
            }
            _ => {}
        }
    }
}

/// A packet that a filter and another answer differently.
fn difference(text: &str, rng: &mut Rng) -> Option<Vec<u8>> {
    let filters: [Filter; 2] = [false, true].map(|scoped| compiler(scoped).compile(text).expect(text));
    let graphs = [false, true].map(|scoped| compiler(scoped).as_written(text).expect(text));
    for walk in 0..WALKS {
        let mut packet = vec![0; PACKET_BYTES];
        // Headers of IP have a length, wherever they begin.
        packet.iter_mut().step_by(2).for_each(|byte| *byte = if rng.chance(1, 3) { 0x45 } else { 0 });
        let wire_len = *rng.pick(&[50, PACKET_BYTES as u32]);
        let mut walk = Walk { graph: &graphs[walk % 2], packet, wire_len };
        // Another walk repairs what the first has written over.
        (0..1 + rng.below(4)).for_each(|_| walk.go(rng));
        let answers =
            [&filters[0], &filters[1]].map(|filter| filter.matches_captured(&walk.packet, wire_len));
        let [plain, scoped] = answers;
        if plain != scoped {
            return Some(walk.packet);
        }
    }
    None
}

const PRIMITIVES: &[&str] =
    &["ip", "tcp", "port 53", "host 10.1.1.1", "udp port 80", "ip6", "arp", "len > 60", "icmp"];
const WORDS: &[&str] = &["vlan", "vlan 5", "mpls", "mpls 3", "pppoes", "pppoes 7", "vxlan", "geneve 9"];

fn operand(rng: &mut Rng) -> String {
    let (primitive, word) = (*rng.pick(PRIMITIVES), *rng.pick(WORDS));
    match rng.below(6) {
        0 => word.to_owned(),
        1 | 2 => format!("({word} and {primitive})"),
        3 => format!("not {primitive}"),
        _ => primitive.to_owned(),
    }
}

fn alternatives(rng: &mut Rng) -> String {
    let operands: Vec<String> = (0..2 + rng.below(2)).map(|_| operand(rng)).collect();
    operands.join(" or ")
}

fn filter(rng: &mut Rng) -> String {
    if rng.chance(1, 4) {
        return alternatives(rng);
    }
    let part = |rng: &mut Rng| match rng.below(6) {
        0 => (*rng.pick(WORDS)).to_owned(),
        1 => format!("not {}", rng.pick(WORDS)),
        2 => format!("not ({})", alternatives(rng)),
        3 => (*rng.pick(PRIMITIVES)).to_owned(),
        _ => format!("({})", alternatives(rng)),
    };
    let parts: Vec<String> = (0..1 + rng.below(3)).map(|_| part(rng)).collect();
    parts.join(" and ")
}

#[test]
fn the_warning_is_given_exactly_where_the_meanings_differ() {
    let mut rng = Rng::new(0x101);
    let mut counts = [0; 2];
    let mut wrong = Vec::new();
    while counts.iter().sum::<usize>() < 300 {
        let text = filter(&mut rng);
        // What can be told behind some encapsulations only.
        if [false, true].iter().any(|&scoped| compiler(scoped).compile(&text).is_err()) {
            continue;
        }
        let (is_warned, differs) = (is_warned(&text), difference(&text, &mut rng).is_some());
        counts[usize::from(differs)] += 1;
        if is_warned != differs {
            wrong.push(format!("`{text}`: warned {is_warned}, differs {differs}"));
        }
    }
    assert!(counts.iter().all(|&count| count >= 80), "{counts:?}");
    assert!(wrong.is_empty(), "{} of {counts:?}:\n{}", wrong.len(), wrong.join("\n"));
}

/// Each word, and what stood behind it without a warning.
#[test]
fn every_word_is_told_of_behind_alternatives() {
    for word in ["vlan", "vlan 5", "mpls", "pppoes", "vxlan", "geneve"] {
        for primitive in ["ip", "port 53", "tcp", "host 192.0.2.1"] {
            for behind in ["host 10.1.1.1", "udp", "port 80", "ip6"] {
                for text in [
                    format!("({primitive} or ({word} and {primitive})) and {behind}"),
                    format!("({primitive} or {word}) and {behind}"),
                    format!("len > 60 and ({primitive} or {word}) and len < 900 and {behind}"),
                ] {
                    assert!(is_warned(&text) || !differs_at_all(&text), "{text}");
                }
            }
            for text in [
                format!("{primitive} or ({word} and {primitive})"),
                format!("{word} and {primitive}"),
                format!("({word}) and ({primitive})"),
                format!("({primitive} or {word}) and len > 60"),
                format!("{primitive} and not {word}"),
            ] {
                assert!(!is_warned(&text), "{text}");
            }
        }
    }
}

fn differs_at_all(text: &str) -> bool {
    compiler(true).compile(text).is_err() || difference(text, &mut Rng::new(1)).is_some()
}

/// What is proposed has the meaning that each alternative has by itself, and no warning.
#[test]
fn the_help_is_what_each_alternative_means_alone() {
    for (text, help) in [
        ("(ip or vlan) and host 10.1.1.1", "(ip and host 10.1.1.1) or (vlan and host 10.1.1.1)"),
        (
            "(port 53 or (vlan and port 53)) and host 10.1.1.1",
            "(port 53 and host 10.1.1.1) or (vlan and port 53 and host 10.1.1.1)",
        ),
        ("(tcp or mpls) and port 80", "(tcp and port 80) or (mpls and port 80)"),
        ("(vlan 5 or vlan 6) and tcp", "vlan and (link[14:2] & 0xfff = 5 or link[14:2] & 0xfff = 6) and tcp"),
    ] {
        let lints = compiler(false).lints(text).unwrap();
        let helps: Vec<&str> = lints.iter().filter_map(|lint| lint.help.as_deref()).collect();
        let told = format!("write `{help}`");
        assert!(helps.contains(&told.as_str()), "{text}: {helps:?}");
        let lints = compiler(false).lints(help).unwrap();
        assert!(lints.is_empty(), "{help}: {lints:?}");
    }
}
