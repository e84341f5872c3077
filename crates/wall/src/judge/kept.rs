//! Verdicts that are kept with flows: the second packet of a flow and direction has the verdict of the first where the rules read nothing that may differ.
//!
//! ```text
//!  packet ─► its flow ─► number of its direction ─► verdict      flow and rules are not looked at again
//!                             ▲
//!  no number: judged ─────────┘ kept, if all that was read stays the same
//! ```
//!
//! What a policy reads of packets is found out once, from its programs ([`CacheableFlows`]). Of `app TLS and dst port 443` it is what the flow speaks and its ports, which stay
//! the same when the flow is identified, and as long as it has said nothing; of `tcp[13] & 2 != 0`, `len > 100`, `flow_count > 10` or `limit 10/s` nothing is kept.
//!
//! A number is that of an entry of [`FlowVerdicts`], and holds as long as
//! - the policy does: another one begins with numbers that were not given before;
//! - the state of the flow does, such as who was let through: only packets that are judged change it, and then the numbers of both directions are forgotten;
//! - the segment counts, where the rules ask for `state invalid` or another state;
//! - packets come the same way and, where the rules read headers, have these where all plain packets do.

use super::{Basis, Judge, Verdict, Way};
use crate::policy::{Input, Policy, Programs};
use crate::spy::{OWNER_NUMBER_MAX, Progress, Tag};
use dpi::Protocol;
use flow::decode::PLAIN_LEN;
use flow::{Decoded, Packet};
use pflang::CommonHeader;
use std::collections::HashMap;
use wire::LinkType;
use wire::ip::protocol;

/// Of which flows a policy keeps verdicts, on one link type.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct CacheableFlows {
    /// The rules read nothing of packets.
    all: bool,
    /// Of packets of TCP, and of UDP, over IPv4, of which so many bytes were captured, they read nothing but what packets of a flow have in common; so also if they read
    /// nothing.
    tcp: Option<u16>,
    udp: Option<u16>,
    /// Of ICMP: if the rules ask for states as well, an error is judged by the flow that it quotes.
    icmp: bool,
}

/// Bytes captured at least for which policies are tried: programs may ask first whether all is there that some rule reads. Frames of Ethernet have 60.
const CAPTURED: [u16; 4] = [PLAIN_LEN as u16, 60, 96, 256];

impl CacheableFlows {
    pub(super) fn new(policy: &Policy, programs: &Programs, linktype: LinkType) -> CacheableFlows {
        let inputs = &policy.vocabulary().inputs;
        let keeps = |header: &CommonHeader| {
            let places = programs.places_for_flow(header);
            places.is_some_and(|places| places.into_iter().all(|place| stays(inputs[place])))
        };
        // As `flow::Decoded::is_plain` has it.
        let plain = |number, captured: u16| {
            let header = CommonHeader::new(captured.into())
                .known(12, &[8, 0, 0x45], 0xff)
                .known(20, &[0, 0], 0x3f)
                .known(23, &[number], 0xff)
                .same(26..38);
            linktype == LinkType::EN10MB && keeps(&header)
        };
        let all = keeps(&CommonHeader::default());
        let least = |number| CAPTURED.into_iter().find(|captured| all || plain(number, *captured));
        let icmp = all && !policy.asks_for_states();
        CacheableFlows { all, tcp: least(protocol::TCP), udp: least(protocol::UDP), icmp }
    }

    /// Whether any are kept.
    pub(super) fn any(self) -> bool {
        self.tcp.is_some() || self.udp.is_some()
    }

    /// Of how many captured bytes on the verdict of a flow of this protocol is kept for plain packets alone, 0 for all packets; `None` if it is not kept.
    fn plain_from(self, number: u8) -> Option<u16> {
        match number {
            protocol::ICMP | protocol::ICMPV6 => self.icmp.then_some(0),
            _ if self.all => Some(0),
            protocol::TCP => self.tcp,
            protocol::UDP => self.udp,
            _ => None,
        }
    }
}

/// Whether it stays the same for packets of one direction of a flow that is identified, or of one that says nothing, as long as the state of the flow does.
fn stays(input: Input) -> bool {
    match input {
        Input::FlowCount | Input::Limits(_) => false,
        Input::App | Input::Master | Input::Category | Input::Confidence | Input::Name => true,
        Input::Risks(_) | Input::Sets(_) | Input::Own(_) => true,
        Input::State | Input::From | Input::In | Input::Out => true,
    }
}

/// A verdict, and for which packets of a flow and direction it is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct FlowVerdict {
    pub(super) verdict: Verdict,
    pub(super) way: Way,
    pub(super) linktype: LinkType,
    /// Only of plain packets of which so many bytes were captured; 0 for all.
    pub(super) plain_from: u16,
    /// Not of segments that do not count: they are in another state.
    pub(super) only_counting: bool,
}

impl FlowVerdict {
    /// Whether it is that of a packet, by its direction of its flow.
    #[inline]
    pub(super) fn is_of(&self, packet: &Packet<'_>, way: Way, decoded: &Decoded, counts: bool) -> bool {
        // Of packets in tunnels it depends on those whether they are the flow's.
        (self.way, self.linktype, 0) == (way, packet.linktype, decoded.outer)
            && (counts || !self.only_counting)
            && (self.plain_from == 0
                || packet.frame.len() >= self.plain_from.into()
                    && decoded.is_plain(packet.linktype, packet.frame))
    }
}

/// Verdicts that flows are kept with, by number.
#[derive(Debug)]
pub(super) struct FlowVerdicts {
    /// The first number of this policy.
    pub(super) first: u16,
    all: Vec<FlowVerdict>,
    numbers: HashMap<FlowVerdict, u16>,
}

impl Default for FlowVerdicts {
    fn default() -> Self {
        FlowVerdicts { first: 1, all: Vec::new(), numbers: HashMap::new() }
    }
}

impl FlowVerdicts {
    /// The verdict of a number; `None` if that is 0 or was given by an earlier policy.
    #[inline]
    pub(super) fn get(&self, number: u16) -> Option<&FlowVerdict> {
        self.all.get(usize::from(number.wrapping_sub(self.first)))
    }

    /// Whether no number was given since the policy is this one.
    fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// The number of a verdict; `None` when there are no more.
    fn number(&mut self, kept: FlowVerdict) -> Option<u16> {
        if let Some(number) = self.numbers.get(&kept) {
            return Some(*number);
        }
        let number = self.first + self.all.len() as u16;
        if number > OWNER_NUMBER_MAX {
            return None;
        }
        self.all.push(kept);
        self.numbers.insert(kept, number);
        Some(number)
    }

    /// Begins anew for another policy. Says whether numbers are given again that flows may have.
    #[must_use]
    pub(super) fn restart(&mut self) -> bool {
        self.first += self.all.len() as u16;
        self.all.clear();
        self.numbers.clear();
        let is_used_up = self.first > OWNER_NUMBER_MAX / 2;
        if is_used_up {
            self.first = 1;
        }
        is_used_up
    }
}

impl Judge {
    /// The way that verdicts are kept for: the same for all packets where the rules do not ask for it.
    #[inline]
    pub(super) fn kept_way(&self, way: Way) -> Way {
        let asks = |input: &Input| matches!(input, Input::In | Input::Out);
        if self.policy.vocabulary().inputs.iter().any(asks) { way } else { Way::default() }
    }

    /// Keeps the verdict of a packet with its flow, if later packets of its direction can have no other. `before` is [`facts`](super::state::FlowState::facts) of the
    /// flow before the packet was judged.
    pub(super) fn keep(
        &mut self,
        packet: &Packet<'_>,
        way: Way,
        (tag, verdict): (&Tag, Verdict),
        before: (u32, u8),
    ) {
        let Some(sight) = tag.sight else { return };
        let state = self.states.of(sight.slot);
        let changes = state.facts() != before;
        let is_open = state.is_holding() || self.has_payloads && state.looks_at_payload();
        let only_counting = self.policy.asks_for_states();
        let number = if changes || is_open || only_counting && !sight.counts {
            None
        } else {
            self.number_to_keep(packet, way, tag, verdict)
        };
        if number.is_some() || !self.kept.is_empty() {
            self.spy.keep(tag, number, changes);
        }
    }

    /// The state of the flow of a packet that has waited may have changed: it keeps no verdicts.
    pub(super) fn keep_none(&mut self, tag: &Tag) {
        if !self.kept.is_empty() {
            self.spy.keep(tag, None, true);
        }
    }

    fn number_to_keep(&mut self, packet: &Packet<'_>, way: Way, tag: &Tag, verdict: Verdict) -> Option<u16> {
        let keeps = self.compiled(packet.linktype)?.keeps;
        if !keeps.any() {
            return None;
        }
        let is_by_rules = match verdict.basis {
            Basis::Rule(rule) => self.policy.rules().get(rule as usize)?.limits.is_empty(),
            Basis::Default => true,
            Basis::Undecided | Basis::Held | Basis::NotIp | Basis::Fault(_) => false,
        };
        // What these say may announce connections.
        let announces = [Protocol::FTP_CONTROL, Protocol::SIP].map(Protocol::number).contains(&tag.protocol);
        // More may become known of it, unless it is silent. PERF: of the first packet nothing is kept then, which is the only one of a flow of a flood.
        let is_open = match tag.progress {
            Progress::Done => false,
            Progress::Open => tag.packets <= 1,
            Progress::NoRoom | Progress::Lost => true,
        };
        let is_in_tunnel = tag.sight?.outer != 0;
        if !is_by_rules || announces || is_open || is_in_tunnel {
            return None;
        }
        let plain_from = keeps.plain_from(self.spy.key(tag.sight?.slot)?.protocol())?;
        let is_plain = || {
            packet.frame.len() >= plain_from.into()
                && flow::decode(packet.linktype, packet.frame)
                    .is_ok_and(|decoded| decoded.is_plain(packet.linktype, packet.frame))
        };
        if plain_from > 0 && !is_plain() {
            return None;
        }
        let way = self.kept_way(way);
        let only_counting = self.policy.asks_for_states();
        self.kept.number(FlowVerdict { verdict, way, linktype: packet.linktype, plain_from, only_counting })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::Action;
    use std::path::Path;

    #[test]
    fn policies_keep_verdicts_if_they_read_what_stays_the_same() {
        for (rules, all, tcp, udp) in [
            ("app HTTP => accept\nsni example.org and confidence payload => drop", true, true, true),
            ("state established => accept\nfrom initiator and in lan => accept", true, true, true),
            ("", true, true, true),
            ("flow_count > 3 => accept", false, false, false),
            ("app HTTP and limit 3/s => accept", false, false, false),
            ("len > 100 => accept", false, false, false),
            ("app HTTP => accept\nip[8] > 63 => drop", false, false, false),
            ("ip[6] & 0x40 != 0 => drop", false, false, false),
            ("ether src 02:00:00:00:00:01 => drop", false, false, false),
            ("tcp[13] & 2 != 0 => drop", false, false, true),
            ("udp and len > 100 => drop", false, true, false),
            ("tcp dst port 443 and app TLS => accept", false, true, true),
            (
                "state established => accept\nsrc net 10.0.0.0/8 and dst port in {53, 100-200} => accept",
                false,
                true,
                true,
            ),
            (
                "udp dst port 53 and app DNS => accept\nhost 10.0.0.1 => reject\nport 80 and app HTTP => accept",
                false,
                true,
                true,
            ),
            ("host in @hosts => drop\nip6 => drop\narp => drop\nvlan => drop", false, true, true),
        ] {
            let text =
                format!("rules = '''\n{rules}\n'''\nsets.hosts = ['10.0.0.9', '10.1.0.0/16', '2001:db8::1']");
            let policy = Policy::read(&text, Path::new("")).unwrap_or_else(|problems| panic!("{problems:?}"));
            let programs = policy.compile(LinkType::EN10MB).unwrap();
            let keeps = CacheableFlows::new(&policy, &programs, LinkType::EN10MB);
            assert_eq!((keeps.all, keeps.tcp.is_some(), keeps.udp.is_some()), (all, tcp, udp), "{rules}");
        }
    }

    #[test]
    fn policies_of_many_rules_keep_verdicts_as_well() {
        let hosts: String =
            (0..400).map(|n| format!("src host 10.0.{}.{} => accept\n", n / 256, n % 256)).collect();
        let ports: String = (0..400)
            .map(|n| format!("dst net 10.{}.0.0/16 and udp dst port {n} => drop\n", n % 256))
            .collect();
        let names: String = (0..400).map(|n| format!("sni w{n}.example.org => drop\n")).collect();
        for (rules, expected) in [
            (hosts.clone(), (true, true)),
            (format!("{hosts}{ports}{names}"), (true, true)),
            (format!("{hosts}{ports}tcp and len > 100 => drop\n"), (false, true)),
            (format!("{hosts}{ports}src host 10.0.0.9 and ip[8] > 7 => accept\n"), (false, false)),
        ] {
            let policy = Policy::read(&format!("rules = '''\n{rules}'''"), Path::new("")).unwrap();
            let programs = policy.compile(LinkType::EN10MB).unwrap();
            let keeps = CacheableFlows::new(&policy, &programs, LinkType::EN10MB);
            assert_eq!(
                (keeps.tcp.is_some(), keeps.udp.is_some()),
                expected,
                "{}",
                &rules[rules.len() - 60..]
            );
        }
    }

    #[test]
    fn numbers_are_those_of_one_policy() {
        let kept = |rule: u32| FlowVerdict {
            verdict: Verdict { action: Action::Accept, basis: Basis::Rule(rule) },
            way: Way::default(),
            linktype: LinkType::EN10MB,
            plain_from: 0,
            only_counting: false,
        };
        let mut all = FlowVerdicts::default();
        assert_eq!([7, 8, 7].map(|rule| all.number(kept(rule))), [Some(1), Some(2), Some(1)]);
        assert_eq!(
            [0, 1, 2, 3].map(|number| all.get(number).copied()),
            [None, Some(kept(7)), Some(kept(8)), None]
        );
        assert!(!all.restart() && all.is_empty());
        assert_eq!(all.number(kept(9)), Some(3));
        assert_eq!([0, 1, 2, 3].map(|number| all.get(number).copied()), [None, None, None, Some(kept(9))]);
        for rule in 10.. {
            match all.number(kept(rule)) {
                Some(number) => assert_eq!(all.get(number), Some(&kept(rule))),
                None => break,
            }
        }
        assert_eq!((all.all.len(), all.number(kept(9))), (usize::from(OWNER_NUMBER_MAX) - 2, Some(3)));
        assert!(all.restart());
        assert_eq!((all.number(kept(5)), all.get(2), all.get(OWNER_NUMBER_MAX)), (Some(1), None, None));
    }
}
