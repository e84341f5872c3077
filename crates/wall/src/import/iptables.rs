//! `iptables-save` and `ip6tables-save`.

use super::chains::{Action, Chain, Rule, Ruleset, Verdict};
use super::express::{self, Family};
use super::names;
use super::prefixes::Range;
use super::test::Test;

/// Reads the tables of a text.
pub(super) fn read(text: &str, rules: &mut Ruleset) {
    let family = family(text);
    let mut table = "filter".to_owned();
    for (number, line) in (1..).zip(text.lines()) {
        let line = line.trim();
        // Counters in front of a rule, as with `-c`.
        let rest = match line.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
            Some((_, rest)) => rest.trim_start(),
            None => line,
        };
        let result = if rest.is_empty() || rest.starts_with('#') || rest == "COMMIT" {
            Ok(())
        } else if let Some(name) = rest.strip_prefix('*') {
            table = name.to_owned();
            Ok(())
        } else if let Some(chain) = rest.strip_prefix(':') {
            declare(rules, &table, chain, family)
        } else {
            rule(rules, &table, rest, family)
        };
        if let Err(reason) = result {
            rules.problem(number, line, reason);
        }
    }
}

/// By the line with which ip6tables-save begins, or by the first address.
fn family(text: &str) -> Family {
    let mut lines = text.lines();
    let names_v6 = |line: &str| {
        let mut words = line.split_ascii_whitespace();
        words.any(|word| Range::parse(word).is_some_and(|range| range.is_v6))
    };
    if text.contains("ip6tables-save") || lines.any(|line| line.contains("icmpv6") || names_v6(line)) {
        Family::Ip6
    } else {
        Family::Ip
    }
}

/// `INPUT DROP [0:0]`: a chain, and its policy, or `-` where it is not a base chain.
fn declare(rules: &mut Ruleset, table: &str, text: &str, family: Family) -> Result<(), String> {
    let mut words = text.split_ascii_whitespace();
    let name = words.next().ok_or("a chain has a name")?;
    let policy = match words.next() {
        Some("ACCEPT") => Some(Verdict::Accept),
        Some("DROP") => Some(Verdict::Drop),
        Some("-") => None,
        _ => return Err("a chain has a policy: ACCEPT, DROP or -".into()),
    };
    rules.chains.insert(
        (table.to_owned(), name.to_owned()),
        Chain { is_base: policy.is_some(), policy, rules: Vec::new(), family },
    );
    Ok(())
}

/// The words of a line; those in quotes are one.
fn words(text: &str) -> Result<Vec<String>, String> {
    let mut words = Vec::new();
    let mut chars = text.chars().peekable();
    while let Some(&c) = chars.peek() {
        if c.is_whitespace() {
            chars.next();
            continue;
        }
        let mut word = String::new();
        let mut quoted = false;
        while let Some(c) = chars.next_if(|c| quoted || !c.is_whitespace()) {
            match c {
                '"' => quoted = !quoted,
                '\\' if quoted => word.extend(chars.next()),
                c => word.push(c),
            }
        }
        if quoted {
            return Err("a quote that does not end".into());
        }
        words.push(word);
    }
    Ok(words)
}

/// A rule as far as it is read.
struct Reading<'a> {
    rules: &'a mut Ruleset,
    words: std::iter::Peekable<std::vec::IntoIter<String>>,
    family: Family,
    test: Test,
    /// The protocol that `-p` named, if it is one with ports.
    transport: &'static str,
    protocol: Option<u8>,
}

fn rule(rules: &mut Ruleset, table: &str, text: &str, family: Family) -> Result<(), String> {
    let mut words = words(text)?.into_iter().peekable();
    match words.next().as_deref() {
        Some("-A" | "--append") => {}
        Some(other) => return Err(format!("`{other}`: rules are added with -A")),
        None => return Ok(()),
    }
    let chain = words.next().ok_or("-A names a chain")?;
    let mut reading = Reading { rules, words, family, test: Test::ALWAYS, transport: "", protocol: None };
    let action = reading.read()?;
    let test = reading.test;
    let at = (table.to_owned(), chain.clone());
    let known = rules.chains.entry(at).or_insert_with(|| Chain { family, ..Chain::default() });
    known.rules.push(Rule { test, action });
    Ok(())
}

impl Reading<'_> {
    fn read(&mut self) -> Result<Action, String> {
        let mut action = Action::Nothing;
        while let Some(word) = self.words.next() {
            let negated = word == "!";
            let word = if negated { self.value("!")? } else { word };
            match word.as_str() {
                "-j" | "--jump" => action = self.target()?,
                "-g" | "--goto" => action = Action::Goto(self.value("-g")?),
                "-m" | "--match" => self.module()?,
                word => {
                    let test = self.option(word, negated)?;
                    self.test = std::mem::replace(&mut self.test, Test::ALWAYS).and(test);
                }
            }
        }
        Ok(action)
    }

    fn value(&mut self, option: &str) -> Result<String, String> {
        self.words.next().ok_or_else(|| format!("`{option}`: a value is missing"))
    }

    /// A module is of no meaning but for its options.
    fn module(&mut self) -> Result<(), String> {
        const KNOWN: [&str; 18] = [
            "tcp",
            "udp",
            "sctp",
            "icmp",
            "icmp6",
            "icmpv6",
            "state",
            "conntrack",
            "multiport",
            "set",
            "iprange",
            "comment",
            "length",
            "ttl",
            "hl",
            "mac",
            "mark",
            "udplite",
        ];
        let module = self.value("-m")?;
        if KNOWN.contains(&module.as_str()) {
            Ok(())
        } else {
            Err(format!("`-m {module}` cannot be expressed"))
        }
    }

    fn target(&mut self) -> Result<Action, String> {
        let target = self.value("-j")?;
        let action = match target.as_str() {
            "ACCEPT" => Action::Verdict(Verdict::Accept),
            "DROP" => Action::Verdict(Verdict::Drop),
            "REJECT" => Action::Verdict(Verdict::Reject),
            "RETURN" => Action::Return,
            "LOG" | "NFLOG" | "ULOG" => Action::Nothing,
            name if name.chars().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit())
                && !self.is_chain(name) =>
            {
                return Err(format!("the target {name} cannot be expressed"));
            }
            name => Action::Jump(name.to_owned()),
        };
        if matches!(target.as_str(), "REJECT" | "LOG" | "NFLOG" | "ULOG") {
            // How it is told or logged is no part of the verdict; these options stand last.
            self.words.by_ref().for_each(drop);
        }
        Ok(action)
    }

    fn is_chain(&self, name: &str) -> bool {
        self.rules.chains.keys().any(|(_, chain)| chain == name)
    }

    fn option(&mut self, word: &str, negated: bool) -> Result<Test, String> {
        let family = self.family;
        Ok(match word {
            "-s" | "--source" | "--src" => self.addresses("src", negated)?,
            "-d" | "--destination" | "--dst" => self.addresses("dst", negated)?,
            "--src-range" => self.addresses("src", negated)?,
            "--dst-range" => self.addresses("dst", negated)?,
            "-i" | "--in-interface" => self.interface("iif", negated)?,
            "-o" | "--out-interface" => self.interface("oif", negated)?,
            "-p" | "--protocol" => self.protocol(negated)?,
            "-f" | "--fragment" => express::later_fragment(negated),
            "--sport" | "--source-port" => self.ports(word, "src", negated)?,
            "--dport" | "--destination-port" => self.ports(word, "dst", negated)?,
            "--sports" | "--source-ports" => self.ports(word, "src", negated)?,
            "--dports" | "--destination-ports" => self.ports(word, "dst", negated)?,
            "--ports" => self.ports(word, "", negated)?,
            "--syn" => express::tcp_flags(0x17, 0x02, negated, family),
            "--tcp-flags" => {
                let (mask, value) = (self.value(word)?, self.value(word)?);
                let flags = |text: &str| {
                    names::tcp_flags(text.split(',')).ok_or_else(|| format!("`{text}`: no flags of TCP"))
                };
                express::tcp_flags(flags(&mask)?, flags(&value)?, negated, family)
            }
            "--state" | "--ctstate" => {
                let states = self.value(word)?;
                let bits = names::ct_states(states.split(','));
                let bits = bits.ok_or_else(|| format!("`{states}`: only states of connections are known"))?;
                express::input_bits("ct_state", bits, negated)
            }
            "--icmp-type" => self.icmp(word, negated, false)?,
            "--icmpv6-type" => self.icmp(word, negated, true)?,
            "--match-set" => self.set(negated)?,
            "--length" => {
                let (low, high) = self.range(word)?;
                if family == Family::Ip6 {
                    return Err("the length of IPv6 packets cannot be expressed".into());
                }
                express::within("ip[2:2]", low, high, negated)
            }
            "--ttl-eq" | "--hl-eq" => self.hops(word, "=", negated)?,
            "--ttl-lt" | "--hl-lt" => self.hops(word, "<", negated)?,
            "--ttl-gt" | "--hl-gt" => self.hops(word, ">", negated)?,
            "--mac-source" => {
                let address = self.value(word)?;
                express::ether("src", &address, negated)
                    .ok_or_else(|| format!("`{address}`: no hardware address"))?
            }
            "--mark" => self.mark(negated)?,
            "--comment" => {
                self.value(word)?;
                Test::ALWAYS
            }
            _ => return Err(format!("`{word}` cannot be expressed")),
        })
    }

    fn addresses(&mut self, end: &str, negated: bool) -> Result<Test, String> {
        let text = self.value("-s")?;
        let ranges: Option<Vec<Range>> = text.split(',').map(Range::parse).collect();
        let ranges =
            ranges.filter(|ranges| ranges.iter().all(|range| range.is_v6 == (self.family == Family::Ip6)));
        let ranges = ranges.ok_or_else(|| format!("`{text}`: no address of this family"))?;
        Ok(express::addresses(end, &ranges, negated, self.family))
    }

    fn interface(&mut self, input: &str, negated: bool) -> Result<Test, String> {
        let name = self.value("-i")?;
        self.rules.interface(input, &name, negated).ok_or_else(|| "more than 32 interfaces".to_owned())
    }

    fn protocol(&mut self, negated: bool) -> Result<Test, String> {
        let name = self.value("-p")?;
        if name == "all" || name == "0" {
            return if negated { Err("no protocol at all".into()) } else { Ok(Test::ALWAYS) };
        }
        let number =
            names::protocol(&name).ok_or_else(|| format!("`{name}`: this protocol is not known by name"))?;
        if !negated {
            self.protocol = Some(number);
            self.transport = match number {
                6 => "tcp",
                17 => "udp",
                132 => "sctp",
                _ => "",
            };
        }
        Ok(express::protocol(number, negated, self.family))
    }

    fn ports(&mut self, option: &str, end: &str, negated: bool) -> Result<Test, String> {
        let text = self.value(option)?;
        if self.transport.is_empty() {
            return Err(format!("`{option}`: ports of this protocol cannot be expressed"));
        }
        let port = |text: &str| text.parse::<u16>().ok();
        let range = |text: &str| match text.split_once(':') {
            None => port(text).map(|port| (port, port)),
            Some((low, high)) => {
                let low = if low.is_empty() { Some(0) } else { port(low) };
                let high = if high.is_empty() { Some(u16::MAX) } else { port(high) };
                Some((low?, high?)).filter(|(low, high)| low <= high)
            }
        };
        let ports: Option<Vec<(u16, u16)>> = text.split(',').map(range).collect();
        let ports = ports.ok_or_else(|| format!("`{text}`: write ports as numbers"))?;
        Ok(express::ports(self.transport, end, &ports, negated, self.family))
    }

    /// Two numbers with a colon between, or one.
    fn range(&mut self, option: &str) -> Result<(u32, u32), String> {
        let text = self.value(option)?;
        let number = |text: &str| text.parse::<u32>().ok();
        let range = match text.split_once(':') {
            None => number(&text).map(|one| (one, one)),
            Some((low, "")) => number(low).map(|low| (low, 0xffff)),
            Some((low, high)) => number(low).zip(number(high)),
        };
        range.ok_or_else(|| format!("`{text}`: no range of numbers"))
    }

    fn hops(&mut self, option: &str, operator: &str, negated: bool) -> Result<Test, String> {
        let number: u8 =
            self.value(option)?.parse().map_err(|_| format!("`{option}`: no number below 256"))?;
        let field = if self.family == Family::Ip6 { "ip6[7]" } else { "ip[8]" };
        Ok(Test::text(format!("{field} {operator} {number}")).not_if(negated))
    }

    fn icmp(&mut self, option: &str, negated: bool, is_v6: bool) -> Result<Test, String> {
        let text = self.value(option)?;
        if text == "any" {
            return Ok(Test::ALWAYS);
        }
        let (kind, code) =
            text.split_once('/').map_or((text.as_str(), None), |(kind, code)| (kind, Some(code)));
        let kind = names::icmp_type(kind, is_v6)
            .ok_or_else(|| format!("`{text}`: this type is not known by name"))?;
        let is_kind = |negated| express::icmp(0, kind, kind, is_v6, negated);
        let Some(code) = code else { return Ok(is_kind(negated)) };
        let code: u8 = code.parse().map_err(|_| format!("`{text}`: a code is a number"))?;
        let is_code = |negated| express::icmp(1, code, code, is_v6, negated);
        Ok(if negated {
            Test::Any(vec![is_kind(true), is_code(true)])
        } else {
            is_kind(false).and(is_code(false))
        })
    }

    fn mark(&mut self, negated: bool) -> Result<Test, String> {
        let text = self.value("--mark")?;
        let (value, mask) = text.split_once('/').unwrap_or((&text, "0xffffffff"));
        let number = |text| names::number(text).ok_or_else(|| format!("`{text}`: no number"));
        let (value, mask) = (number(value)?, number(mask)?);
        Ok(Test::text(format!("mark & {mask:#x} {} {value:#x}", if negated { "!=" } else { "=" })))
    }

    /// A set of ipset, and which ends of the packet its fields are.
    fn set(&mut self, negated: bool) -> Result<Test, String> {
        let (name, ends) = (self.value("--match-set")?, self.value("--match-set")?);
        let set = self.rules.sets.get(&name);
        let set = set
            .ok_or_else(|| format!("the set `{name}` is not there: name the file of `ipset save` as well"))?;
        let ends: Vec<&str> = ends.split(',').collect();
        if ends.len() < set.types.len() {
            return Err(format!("the set `{name}` has {} fields", set.types.len()));
        }
        let mut alternatives = Vec::new();
        if let [kind] = &set.types[..]
            && kind != "port"
        {
            // All members at once.
            let ranges: Option<Vec<Range>> =
                set.members.iter().map(|member| Range::parse(&member[0])).collect();
            let ranges = ranges.ok_or_else(|| format!("the set `{name}` has a member that is no address"))?;
            return Ok(express::addresses(ends[0], &ranges, negated, self.family));
        }
        for member in &set.members {
            let mut test = Test::ALWAYS;
            for ((kind, &end), value) in set.types.iter().zip(&ends).zip(member) {
                test = test.and(field(kind, end, value, self.family).ok_or_else(|| {
                    format!("the set `{name}` has a member `{}` that cannot be expressed", member.join(","))
                })?);
            }
            alternatives.push(test);
        }
        Ok(Test::Any(alternatives).not_if(negated))
    }
}

/// A field of a member of a set.
fn field(kind: &str, end: &str, value: &str, family: Family) -> Option<Test> {
    if kind != "port" {
        return Some(express::addresses(end, &[Range::parse(value)?], false, family));
    }
    let (transport, port) = value.split_once(':').unwrap_or(("tcp", value));
    let (low, high) = port.split_once('-').unwrap_or((port, port));
    let ports = [(low.parse().ok()?, high.parse().ok()?)];
    matches!(transport, "tcp" | "udp" | "sctp").then(|| express::ports(transport, end, &ports, false, family))
}
