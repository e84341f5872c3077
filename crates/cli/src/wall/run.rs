//! `sluss wall run`: packets judged by a policy, of captures or between devices.

use super::check::written;
use super::control::Interfaces;
use super::inline::{self, Place};
use super::policy;
use super::replay::Replay;
use crate::args::WallRunArgs;
use crate::confine::folder_of;
use crate::exit::{Failure, Outcome};
use crate::filter::opening::{self, Opening};
use crate::filter::places;
use crate::inputs;
use crate::message::Message;
use crate::reader::{Patient, print_at_end};
use crate::signals;
use crate::table::{Column, RULE_WIDTH_MAX, Table};
use crate::terminal::Terminal;
use capture::{ByteOrder, Encoded, Input, Precision, Target, Writer, layout};
use classify::lists::file_of;
use flow::Packet;
use pflang::LinkType;
use serde_json::json;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use wall::judge::{Counts, Fault, Verdict, basis_object};
use wall::policy::{Mode, Policy};
use wall::reject::{Replies, Source};
use wall::rules::Action;

/// Runs the command.
pub(super) fn run(args: &WallRunArgs, terminal: &Terminal) -> Result<Outcome, Failure> {
    let place = Place::of(args)?;
    if args.captures.is_empty() && place.is_none() {
        return Err(Failure::user("there is nothing to judge").help(
            "name captures: `sluss wall run POLICY trace.pcap`; or two devices: `sluss wall run POLICY --inline eth0 eth1`",
        ));
    }
    let policy = policy::read(&args.policy, terminal.colour_stderr)?;
    match place {
        Some(place) => inline::run(args, &place, &policy, terminal),
        None => replay(args, &policy, terminal),
    }
}

/// Judges captures.
fn replay(args: &WallRunArgs, policy: &Arc<Policy>, terminal: &Terminal) -> Result<Outcome, Failure> {
    let found = inputs::expand(&args.captures)?;
    let outputs: Vec<&Path> = args.output.iter().chain(&args.reject).map(PathBuf::as_path).collect();
    refuse_to_lose(args, &outputs, &found.inputs, policy)?;
    let is_on_stdout = outputs.iter().any(|path| places::is_stdout(path));
    if is_on_stdout && args.verdicts {
        let why = "`--verdicts` and a capture cannot both go to standard output";
        return Err(Failure::user(why).help("write the capture to a file"));
    }
    let signals = signals::caught(signals::ENDING)?;
    let mut replay = Replay::new(policy, None)?;
    if let Some(why) = &replay.without_ndpi {
        terminal.tell(&Message::warning(format_args!("nDPI is not asked: {why}")));
    }
    let mut opening = Opening::of(outputs.len());
    let mut open = |path: &PathBuf| opening.capture(path).map(|writer| (writer, path.clone()));
    let mut output = args.output.as_ref().map(&mut open).transpose()?;
    let mut told = args.reject.as_ref().map(&mut open).transpose()?;
    for (writer, path) in output.iter_mut().chain(&mut told) {
        opening::empty(writer, path)?;
    }
    opening.keep();
    let mut output = output.map(|(writer, _)| writer);
    let mut told = told.map(|(writer, _)| Told::new(writer, policy.settings().rejects.source));
    let is_monitor = policy.settings().mode == Mode::Monitor;
    let (mut lines, mut number) = (Lines::new(args), 0_u64);
    let said = Interfaces::Said([args.input.clone(), args.out.clone()]);
    if let Some(warning) = said.others(policy) {
        terminal.tell(&Message::warning(warning));
    }
    let interfaces = [args.input.as_deref(), args.out.as_deref()];
    let replayed = replay.run(
        found,
        interfaces,
        (Some(Arc::clone(&signals.is_any)), terminal),
        |batch, packets, verdicts, _| {
            if let Some(writer) = &mut output {
                let goes_on = |verdict: &Verdict| verdict.action == Action::Accept || is_monitor;
                let accepted = (0..packets.len()).filter(|at| goes_on(&verdicts[*at]));
                writer.write(batch, accepted).map_err(|error| Failure::capture(&error))?;
            }
            for (packet, verdict) in packets.iter().zip(verdicts) {
                number += 1;
                if let Some(told) = told.as_mut().filter(|_| verdict.action == Action::Reject) {
                    told.tell(packet)?;
                }
                lines.add(number, verdict, policy)?;
            }
            Ok(())
        },
    )?;
    replay.judge.spy_mut().finish();
    if let Some(writer) = output {
        writer.finish().map_err(|error| Failure::capture(&error))?;
    }
    if let Some(told) = told {
        told.finish(terminal)?;
    }
    lines.flush()?;
    let counts = replay.judge.counts();
    let text = if args.json { format!("{}\n", object(counts, policy)) } else { report(counts, policy) };
    let text = if args.verdicts && !args.json { String::new() } else { text };
    match is_on_stdout {
        true if args.json => terminal.tell(&Message::found(String::new(), object(counts, policy))),
        true => terminal.say(text.trim_end()),
        false => print_at_end(&text, &signals)?,
    }
    if let Some(damage) = replayed.damage {
        terminal.tell(&damage.message);
        return Ok(Outcome::Incomplete);
    }
    Ok(signals.signal().map_or(Outcome::Done, Outcome::Interrupted))
}

/// Nothing that is read may be written over, nor one output by the other.
fn refuse_to_lose(
    args: &WallRunArgs,
    outputs: &[&Path],
    captures: &[Input],
    policy: &Policy,
) -> Result<(), Failure> {
    let folder = folder_of(&args.policy);
    let file = |name: &Path| match name.to_str() {
        Some(name) => folder.join(file_of(name)),
        None => folder.join(name),
    };
    let of_policy = policy.files().map(file).chain([args.policy.clone()]).map(Input::File);
    let inputs: Vec<Input> = captures.iter().cloned().chain(of_policy).collect();
    places::refuse_to_append(&inputs)?;
    places::refuse_to_lose(outputs, &inputs, |output| {
        let name = output.display();
        Failure::user(format_args!(
            "{name} is the output of `-o` and of `-r`: each would write over the other"
        ))
        .help("give each a file of its own")
    })
}

/// Lines about packets, which are printed some thousand at a time.
struct Lines {
    is_wanted: bool,
    is_json: bool,
    text: String,
}

impl Lines {
    const BYTES: usize = 64 << 10;

    fn new(args: &WallRunArgs) -> Lines {
        Lines { is_wanted: args.verdicts, is_json: args.json, text: String::new() }
    }

    fn add(&mut self, number: u64, verdict: &Verdict, policy: &Policy) -> Result<(), Failure> {
        if !self.is_wanted {
            return Ok(());
        }
        let action = verdict.action.name();
        self.text += &if self.is_json {
            let basis = basis_object(verdict.basis, policy);
            format!(
                "{}\n",
                json!({ "v": 1, "type": "wall.verdict", "packet": number, "verdict": action, "basis": basis })
            )
        } else {
            format!("{number} {action} {}\n", wall::judge::basis_in_words(verdict.basis, policy))
        };
        if self.text.len() > Lines::BYTES { self.flush() } else { Ok(()) }
    }

    fn flush(&mut self) -> Result<(), Failure> {
        let printed = crate::terminal::print(&self.text);
        self.text.clear();
        printed
    }
}

/// A capture of what the ends of rejected flows are told.
struct Told {
    writer: Writer<Patient>,
    replies: Replies,
    source: Source,
    linktype: Option<LinkType>,
    /// Replies of other link types, for which the file has no place.
    left_out: u64,
    record: Vec<u8>,
}

impl Told {
    const SNAPLEN: u32 = 262_144;

    fn new(writer: Writer<Patient>, source: Source) -> Told {
        let (replies, record) = (Replies::default(), Vec::new());
        Told { writer, replies, source, linktype: None, left_out: 0, record }
    }

    /// Writes what the ends of a packet's flow are told.
    fn tell(&mut self, packet: &Packet<'_>) -> Result<(), Failure> {
        if !self.replies.answer(packet.linktype, packet.frame, &self.source) {
            return Ok(());
        }
        self.record.clear();
        match self.linktype {
            None => self.begin(packet.linktype),
            Some(linktype) if linktype != packet.linktype => {
                self.left_out += 1;
                return Ok(());
            }
            Some(_) => {}
        }
        let time = ((packet.time_ns / 1_000_000_000) as u32, (packet.time_ns % 1_000_000_000) as u32);
        for frame in [self.replies.to_sender(), self.replies.to_receiver()].into_iter().flatten() {
            layout::put_record(ByteOrder::Little, time, frame.len() as u32, frame, &mut self.record);
        }
        let written = self.writer.write_encoded(&self.record, Encoded::default());
        written.map_err(|error| Failure::capture(&error))
    }

    fn begin(&mut self, linktype: LinkType) {
        let (order, precision) = (ByteOrder::Little, Precision::Nano);
        let target = Target::Pcap { order, precision, snaplen: Told::SNAPLEN, linktype, link_bits: 0 };
        self.writer.begin(target);
        self.linktype = Some(linktype);
    }

    fn finish(mut self, terminal: &Terminal) -> Result<(), Failure> {
        if self.linktype.is_none() {
            // A capture without packets is a capture.
            self.begin(LinkType::EN10MB);
        }
        self.writer.finish().map_err(|error| Failure::capture(&error))?;
        if self.left_out > 0 {
            let message = format!(
                "the replies to {} packets were not written: a pcap file holds one link type",
                self.left_out
            );
            terminal.tell(&Message::warning(message));
        }
        Ok(())
    }
}

/// An empty table for what rules have decided.
pub(super) fn table_of_rules() -> Table {
    let columns = [
        Column::right("line", 0, 0),
        Column::left("verdict", 0, 0),
        Column::right("packets", 0, 0),
        Column::right("bytes", 0, 0),
        Column::left("rule", 0, 1).at_most(RULE_WIDTH_MAX),
    ];
    Table::new(columns.to_vec()).with_gap(2)
}

/// What decides packets that no rule does: its key in the object for programs, and in words.
pub(super) const OTHERS: [(&str, &str); 3] = [
    ("default", "no rule takes them"),
    ("undecided", "not known yet what the flow speaks"),
    ("not_ip", "no IP"),
];

/// Said where packets are only counted.
pub(super) const ONLY_COUNTED: &str = "; only counted: mode = \"monitor\"";

/// What became of packets, rule by rule.
pub(super) fn report(counts: &Counts, policy: &Policy) -> String {
    let mut table = table_of_rules();
    for (rule, count) in policy.rules().iter().zip(&counts.rules) {
        table.push(vec![
            rule.line.to_string(),
            rule.action.name().to_owned(),
            count.packets.to_string(),
            count.bytes.to_string(),
            written(policy, rule),
        ]);
    }
    let settings = policy.settings();
    let verdicts = [settings.default.name(), "", ""];
    let others = OTHERS.iter().zip([counts.default, counts.undecided, counts.not_ip]);
    let others = others.zip(verdicts).map(|((other, count), verdict)| (verdict, count, other.1.to_owned()));
    let faults =
        Fault::ALL.map(|fault| ("drop", counts.faults[fault as usize], format!("fail.{}", fault.name())));
    for (verdict, count, what) in others.chain(faults).filter(|(_, count, _)| count.packets > 0) {
        let (packets, bytes) = (count.packets.to_string(), count.bytes.to_string());
        table.push(vec![String::new(), verdict.to_owned(), packets, bytes, format!("({what})")]);
    }
    let [accepted, rejected, dropped] =
        [Action::Accept, Action::Reject, Action::Drop].map(|action| counts.packets(action));
    let monitor = if settings.mode == Mode::Monitor { ONLY_COUNTED } else { "" };
    format!("{}\n{accepted} accepted, {dropped} dropped, {rejected} rejected{monitor}\n", table.text())
}

/// The same for programs.
pub(super) fn object(counts: &Counts, policy: &Policy) -> serde_json::Value {
    let count = |count: wall::judge::Count| json!({ "packets": count.packets, "bytes": count.bytes });
    let [accepted, rejected, dropped] =
        [Action::Accept, Action::Reject, Action::Drop].map(|action| counts.packets(action));
    let rules: Vec<_> = policy
        .rules()
        .iter()
        .zip(&counts.rules)
        .map(|(rule, count)| {
            json!({
                "line": rule.line,
                "verdict": rule.action.name(),
                "packets": count.packets,
                "bytes": count.bytes,
                "rule": written(policy, rule),
            })
        })
        .collect();
    let mut object = json!({
        "v": 1,
        "type": "wall.run",
        "total": accepted + rejected + dropped,
        "accepted": accepted,
        "rejected": rejected,
        "dropped": dropped,
        "stateless": counts.stateless,
        "rules": rules,
        "default": count(counts.default),
        "undecided": count(counts.undecided),
        "not_ip": count(counts.not_ip),
    });
    for fault in Fault::ALL {
        object["fail"][fault.name()] = count(counts.faults[fault as usize]);
    }
    object
}
