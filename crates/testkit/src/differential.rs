//! Generated expressions on generated, real, walked, damaged and cut packets: every engine against libpcap.
//!
//! A round draws a link type, an expression and packets for both. First the two compilers must agree whether the
//! expression is one; then every engine must answer as libpcap's unoptimised program does. What fails is made
//! small, expression first, and printed as a case for the tables.
//!
//! Left out, because there is nothing to compare with: runs that [`BpfProgram::answer`] has no answer for, and expressions that are too
//! much for libpcap's sixteen registers, which is a line of COMPAT.md.

use crate::corpus::{self, Capture};
use crate::engines::{Engines, words};
use crate::expr::{self, Generator, Productions};
use crate::linktype::{self, ETHERNET, LinkType};
use crate::oracle::{self, BpfProgram, Libpcap};
use crate::packet::Packet;
use crate::rng::Rng;
use crate::{mutate, traffic, walk};
use std::fmt;
use std::time::{Duration, Instant};

/// How much to do.
#[derive(Debug, Clone, Copy)]
pub struct Settings {
    /// Where all randomness comes from.
    pub seed: u64,
    /// Pairs of expression and packet to compare at least.
    pub pairs: u64,
    /// Seconds to go on for, whatever the number of pairs.
    pub seconds: Option<u64>,
}

impl Settings {
    /// These, unless the variables `SLUSS_SEED`, `SLUSS_PAIRS` and `SLUSS_FUZZ_SECONDS` say otherwise.
    ///
    /// # Panics
    ///
    /// When a variable is no number.
    pub fn from_env(self) -> Self {
        let number = |name: &str| -> Option<u64> {
            let text = std::env::var(name).ok()?;
            Some(text.parse().unwrap_or_else(|_| panic!("{name}={text} is no number")))
        };
        Settings {
            seed: number("SLUSS_SEED").unwrap_or(self.seed),
            pairs: number("SLUSS_PAIRS").unwrap_or(self.pairs),
            seconds: number("SLUSS_FUZZ_SECONDS").or(self.seconds),
        }
    }
}

/// What was done.
#[derive(Debug, Clone, Copy, Default)]
pub struct Report {
    /// Expressions drawn.
    pub expressions: u64,
    /// Expressions that both compilers reject.
    pub rejected: u64,
    /// Expressions that ran as machine code.
    pub native: u64,
    /// Pairs compared.
    pub pairs: u64,
    /// Pairs that match.
    pub accepted: u64,
    /// Pairs on which libpcap's program means nothing, or steps over more headers than ours.
    pub undefined: u64,
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Report { expressions, rejected, native, pairs, accepted, undefined } = self;
        write!(
            f,
            "{expressions} expressions ({rejected} rejected by both, {native} as machine code), {pairs} pairs ({accepted} match), \
             {undefined} with nothing to compare with"
        )
    }
}

/// The packets of a corpus that one expression is run over, and how many of everything else.
const SAMPLE: usize = 12;
/// The netmask where one is known.
const A_NETMASK: u32 = 0xffff_ff00;
/// Truncations beyond this length teach nothing: no header reaches so far.
const TRUNCATED_BYTES: usize = 130;

/// Compares until enough pairs have been compared, or for as long as asked.
///
/// # Errors
///
/// The first difference, made small, as a case for the tables.
pub fn run(pcap: Libpcap, settings: Settings) -> Result<Report, String> {
    let mut comparison = Comparison::new(settings.seed);
    let linktypes: Vec<_> = linktype::all().collect();
    let end = settings.seconds.map(|seconds| Instant::now() + Duration::from_secs(seconds));
    while end.map_or(comparison.report.pairs < settings.pairs, |end| Instant::now() < end) {
        let rng = &mut comparison.rng;
        let linktype = if rng.chance(1, 2) { ETHERNET } else { *rng.pick(&linktypes) };
        let subject = Subject {
            pcap,
            linktype,
            netmask: rng.chance(1, 4).then_some(A_NETMASK),
            expression: match rng.below(4) {
                0 => Productions::new(rng.next_u64()).expression(),
                _ => Generator::new(linktype, rng.next_u64()).expression(),
            },
        };
        comparison.compare(&subject)?;
    }
    Ok(comparison.report)
}

/// Compares the expressions of a list: in each line a link type by name, a tab and an expression, which is compared with an
/// unknown netmask and with a known one.
///
/// # Errors
///
/// A line that is none, or the first difference, made small, as a case for the tables.
pub fn run_list(pcap: Libpcap, list: &str, seed: u64) -> Result<Report, String> {
    let mut comparison = Comparison::new(seed);
    for (number, line) in list.lines().enumerate() {
        let at = |what: &str| format!("line {}: {what}: {line}", number + 1);
        let (name, expression) =
            line.split_once('\t').ok_or_else(|| at("a link type, a tab and an expression are expected"))?;
        let linktype = linktype::by_name(name).ok_or_else(|| at("unknown link type"))?;
        for netmask in [None, Some(A_NETMASK)] {
            let subject = Subject { pcap, linktype, netmask, expression: expression.to_owned() };
            comparison.compare(&subject).map_err(|what| at(&what))?;
        }
    }
    Ok(comparison.report)
}

/// Expressions that are compared one after the other.
struct Comparison {
    captures: Vec<Capture>,
    rng: Rng,
    seed: u64,
    report: Report,
}

impl Comparison {
    fn new(seed: u64) -> Self {
        let (captures, rng) = (corpus::captures(), Rng::new(seed));
        Comparison { captures, rng, seed, report: Report::default() }
    }

    /// Compares what the compilers say of one expression, and the answers on packets made for it.
    fn compare(&mut self, subject: &Subject) -> Result<(), String> {
        let Comparison { captures, rng, seed, report } = self;
        report.expressions += 1;
        match subject.compile() {
            Ok(Some(both)) => {
                let packets = packets(&both.program, subject.linktype, captures, rng);
                for packet in &packets {
                    if let Some(what) = both.compare(packet, report) {
                        return Err(subject.reproducer(packet, &what, *seed));
                    }
                }
                report.native += u64::from(both.engines.is_native());
                if let Some(what) = both.burst_differs(&packets) {
                    return Err(format!("SLUSS_SEED={seed}: {what}\n{}", subject.test("")));
                }
            }
            Ok(None) => report.rejected += 1,
            Err(what) => return Err(subject.shrunk_disagreement(&what, *seed)),
        }
        Ok(())
    }
}

/// Packets for one program: real, generated, walked, damaged, each cut at every length or at some.
fn packets(program: &BpfProgram, linktype: LinkType, captures: &[Capture], rng: &mut Rng) -> Vec<Packet> {
    let real: Vec<&Packet> =
        captures.iter().filter(|c| c.linktype == linktype).flat_map(|c| &c.packets).collect();
    let mut whole: Vec<Packet> = (0..SAMPLE).map(|_| traffic::packet(linktype, rng)).collect();
    if !real.is_empty() {
        whole.extend((0..SAMPLE).map(|_| (*rng.pick(&real)).clone()));
    }
    let mut seeds = vec![Packet::whole(Vec::new()), Packet::whole(vec![0xff; 80])];
    seeds.extend(whole.iter().take(3).cloned());
    whole.extend(walk::packets(program.insns(), &seeds, walk::Budget::default()));
    let mutants: Vec<_> = (0..SAMPLE).map(|_| mutate::headers(&rng.pick(&whole).clone(), rng)).collect();
    whole.extend(mutants);
    whole.push(mutate::noise(rng));
    let cut: Vec<_> = (0..2).map(|_| rng.pick(&whole).clone()).collect();
    whole.extend(cut.iter().flat_map(|packet| mutate::truncations(packet, TRUNCATED_BYTES)));
    whole
}

/// An expression for both compilers.
#[derive(Debug)]
struct Subject {
    pcap: Libpcap,
    linktype: LinkType,
    netmask: Option<u32>,
    expression: String,
}

impl Subject {
    /// Both programs; `None` when both compilers reject the expression.
    fn compile(&self) -> Result<Option<Both>, String> {
        let options = oracle::Options { netmask: self.netmask, ..oracle::Options::default() };
        let theirs = self.pcap.compile(self.linktype, &self.expression, options);
        let ours = Engines::strict(self.linktype, &self.expression, self.netmask);
        match (theirs, ours) {
            (Ok(program), Ok(engines)) => Ok(Some(Both { program, engines })),
            (Err(_), Err(error)) if error.code() != pflang::Code::Internal => Ok(None),
            (Err(why), _) if why.contains("too many registers") => Ok(None),
            (Ok(_), Err(error)) => Err(format!("only we reject it: {}", words(&error))),
            (Err(_), Err(error)) => Err(format!("we break on it: {}", words(&error))),
            (Err(why), Ok(_)) => Err(format!("only libpcap rejects it: {why}")),
        }
    }

    fn with(&self, expression: &str) -> Subject {
        Subject { expression: expression.to_string(), ..*self }
    }

    /// The smallest expression on which the compilers still disagree.
    fn shrunk_disagreement(&self, what: &str, seed: u64) -> String {
        let small = expr::shrink(&self.expression, |text| self.with(text).compile().is_err());
        let small = self.with(&small);
        let what = small.compile().err().unwrap_or_else(|| what.to_string());
        format!("SLUSS_SEED={seed}: {what}\n{}", small.test("error = \"…\""))
    }

    /// The smallest expression and packet on which the answers still differ, as a case for the tables.
    fn reproducer(&self, packet: &Packet, what: &str, seed: u64) -> String {
        let differs = |text: &str, packet: &Packet| match self.with(text).compile() {
            Ok(Some(both)) => both.compare(packet, &mut Report::default()).is_some(),
            _ => false,
        };
        let small = self.with(&expr::shrink(&self.expression, |text| differs(text, packet)));
        let packet = shrink_packet(packet, |packet| differs(&small.expression, packet));
        let Ok(Some(both)) = small.compile() else { return format!("SLUSS_SEED={seed}: {what}") };
        let what = both.compare(&packet, &mut Report::default()).unwrap_or_else(|| what.to_string());
        let is_match = both.program.answer(&packet.bytes, packet.wire_len) == Some(true);
        let list = if is_match { "match" } else { "no_match" };
        format!("SLUSS_SEED={seed}: {what}\n{}", small.test(&format!("{list} = [\"{}\"]", packet.to_line())))
    }

    fn test(&self, expected: &str) -> String {
        let netmask = self
            .netmask
            .map_or_else(String::new, |mask| format!("netmask = \"{}\"\n", std::net::Ipv4Addr::from(mask)));
        let Subject { linktype, expression, .. } = self;
        format!(
            "[[test]]\nname = \"…\"\nlinktype = \"{linktype}\"\nfilter = '{expression}'\n{netmask}{expected}\n"
        )
    }
}

/// An expression that both compilers accept.
struct Both {
    program: BpfProgram,
    engines: Engines,
}

impl Both {
    /// What is wrong about all packets together, if anything is.
    fn burst_differs(&self, packets: &[Packet]) -> Option<String> {
        let together = self.engines.bursts(packets);
        let at = packets.iter().zip(together).position(|(packet, is)| is != self.engines.matches(packet))?;
        Some(format!(
            "in a burst of {}, packet {at} gets another answer than alone: {}",
            packets.len(),
            packets[at].to_line()
        ))
    }

    /// What is wrong about a packet, if anything is.
    fn compare(&self, packet: &Packet, report: &mut Report) -> Option<String> {
        let Some(expected) = self.program.answer(&packet.bytes, packet.wire_len) else {
            report.undefined += 1;
            return None;
        };
        report.pairs += 1;
        report.accepted += u64::from(expected);
        self.engines.disagreement(packet, expected)
    }
}

/// The shortest packet, and of those one with many zeros, for which `fails` still holds.
fn shrink_packet(packet: &Packet, fails: impl Fn(&Packet) -> bool) -> Packet {
    let mut small = packet.clone();
    let plain = Packet::whole(small.bytes.clone());
    if fails(&plain) {
        small = plain;
    }
    let mut step = small.bytes.len();
    while step > 0 {
        while small.bytes.len() >= step {
            let mut shorter = small.clone();
            shorter.bytes.truncate(small.bytes.len() - step);
            if small.wire_len as usize == small.bytes.len() {
                shorter.wire_len = shorter.bytes.len() as u32;
            }
            if !fails(&shorter) {
                break;
            }
            small = shorter;
        }
        step /= 2;
    }
    for at in 0..small.bytes.len() {
        let mut zeroed = small.clone();
        zeroed.bytes[at] = 0;
        if fails(&zeroed) {
            small = zeroed;
        }
    }
    small
}
