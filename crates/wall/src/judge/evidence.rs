//! What a verdict rests on: what was known of a packet when it was judged, and which rules it came to.

use super::{Basis, Verdict, state};
use crate::policy::{Answer, AskedRule, Policy};
use crate::record::Record;
use crate::spy::{Progress, Tag};
use dpi::Protocol;
use dpi::protocol::Naming;
use flow::Packet;
use serde_json::{Value, json};
use wire::LinkType;

/// What was known of a packet when it was judged.
#[derive(Clone, Debug)]
pub struct Evidence {
    /// The packet.
    pub frame: Vec<u8>,
    /// Its length on the wire.
    pub wire_len: u32,
    /// What its bytes begin with.
    pub linktype: LinkType,
    /// When it came.
    pub time_ns: u64,
    /// What became of it, and why.
    pub verdict: Verdict,
    /// Whether that was known without a look at its flow.
    pub is_stateless: bool,
    /// Its flow, as it stood.
    pub flow: Option<Record>,
    tag: Tag,
    row: Vec<u32>,
}

impl Evidence {
    pub(super) fn new(
        packet: &Packet<'_>,
        tag: Tag,
        (stateless, verdict): (Answer, Verdict),
        row: &[u32],
        flow: Option<Record>,
    ) -> Evidence {
        Evidence {
            frame: packet.frame.to_vec(),
            wire_len: packet.wire_len,
            linktype: packet.linktype,
            time_ns: packet.time_ns,
            verdict,
            is_stateless: stateless != Answer::Open && verdict.basis != Basis::NotIp,
            flow,
            tag,
            row: row.to_vec(),
        }
    }

    /// The rules that it came to, the one that decided last.
    ///
    /// # Errors
    /// The rules mean nothing on the link type of the packet.
    pub fn rules(&self, policy: &Policy) -> Result<Vec<AskedRule>, pflang::Error> {
        if self.verdict.basis == Basis::NotIp {
            return Ok(Vec::new());
        }
        policy.trace((self.linktype, &self.frame, self.wire_len), &self.row)
    }

    /// What was known of the flow, in words: names and values.
    #[must_use]
    pub fn facts(&self, policy: &Policy) -> Vec<(&'static str, String)> {
        let Some(sight) = self.tag.sight else { return Vec::new() };
        let name = |number| Protocol::from_number(number).name(Naming::Ndpi);
        let mut facts = vec![("flow_count", self.tag.packets.to_string())];
        let app = name(self.tag.protocol);
        facts.push(match self.tag.progress {
            Progress::Done if self.tag.protocol != 0 => {
                let master = Protocol::from_number(self.tag.master);
                let over = if master.is_unknown() {
                    String::new()
                } else {
                    format!(" over {}", name(self.tag.master))
                };
                ("app", format!("{app}{over}"))
            }
            Progress::Done => ("app", "none that is known".to_owned()),
            Progress::Open => ("app", "not known yet".to_owned()),
            Progress::NoRoom => ("app", "not known: nDPI had no room for the question".to_owned()),
            Progress::Lost => ("app", "not known: nDPI was lost before it answered".to_owned()),
        });
        if let Some(flow) = &self.flow {
            if !flow.verdict.evidence.is_empty() {
                facts.push(("told by", flow.verdict.evidence.to_owned()));
            }
            if let Some(sni) = flow.details.as_ref().and_then(|details| details.sni.as_deref()) {
                facts.push(("sni", wire::in_one_line(sni).into_owned()));
            }
        }
        if self.tag.risks != 0 {
            facts.push(("risks", dpi::risk::names(self.tag.risks).join(", ")));
        }
        if !sight.counts {
            facts.push(("state", "invalid: outside the window, or with a wrong checksum".to_owned()));
        }
        for (input, value) in policy.vocabulary().inputs.iter().zip(&self.row) {
            use crate::policy::Input::{From, State};
            match (input, *value) {
                (State, state::NEW) => facts.push(("state", "new".to_owned())),
                (State, state::ESTABLISHED) => facts.push(("state", "established".to_owned())),
                (State, state::RELATED) => facts.push(("state", "related".to_owned())),
                (From, 1) => facts.push(("from", "initiator".to_owned())),
                (From, 2) => facts.push(("from", "responder".to_owned())),
                _ => {}
            }
        }
        facts
    }
}

/// What a verdict rests on, in words.
#[must_use]
pub fn basis_in_words(basis: Basis, policy: &Policy) -> String {
    match basis {
        Basis::Rule(rule) => match policy.rules().get(rule as usize) {
            Some(rule) => format!("the rule of line {}", rule.line),
            None => "a rule".to_owned(),
        },
        Basis::Default => "no rule takes it: `default`".to_owned(),
        Basis::Undecided => "it is not known yet what the flow speaks: `undecided`".to_owned(),
        Basis::Held => "it waits until it is known what the flow speaks: `undecided`".to_owned(),
        Basis::NotIp => "it carries no IP: `not_ip`".to_owned(),
        Basis::Fault(fault) => format!("`fail.{}`", fault.name()),
    }
}

/// The same behind a verdict: `dropped by the rule of line 3`.
#[must_use]
pub fn decided_by(basis: Basis, policy: &Policy) -> String {
    match basis {
        Basis::Rule(_) | Basis::Fault(_) => format!("by {}", basis_in_words(basis, policy)),
        Basis::Default => "by `default`, as no rule takes it".to_owned(),
        Basis::Undecided => "by `undecided`, as it is not known yet what the flow speaks".to_owned(),
        Basis::Held => "until it is known what the flow speaks, by `undecided`".to_owned(),
        Basis::NotIp => "by `not_ip`, as it carries no IP".to_owned(),
    }
}

/// What a verdict rests on, for programs.
#[must_use]
pub fn basis_object(basis: Basis, policy: &Policy) -> Value {
    match basis {
        Basis::Rule(number) => {
            let line = policy.rules().get(number as usize).map(|rule| rule.line);
            json!({ "by": "rule", "rule": number, "line": line })
        }
        Basis::Default => json!({ "by": "default" }),
        Basis::Undecided => json!({ "by": "undecided" }),
        Basis::Held => json!({ "by": "held" }),
        Basis::NotIp => json!({ "by": "not_ip" }),
        Basis::Fault(fault) => json!({ "by": format!("fail.{}", fault.name()) }),
    }
}
