//! `sluss info`: what there is in captures, without their packets.

use crate::args::InfoArgs;
use crate::escape::{interface_name, shown};
use crate::exit::{Failure, Outcome};
use crate::inputs::{self, Found};
use crate::plural::counted;
use crate::reader::print_until_signal;
use crate::terminal::Terminal;
use capture::{Batch, Format, Input, Interface, Precision, Reader, UtcTime};
use serde_json::{Value, json};
use wire::LinkType;

/// As many interfaces and comments of one capture are told: it may have any number.
const TOLD_MAX: usize = 1000;

/// What is known of one capture.
#[derive(Debug, Default)]
struct Info {
    file: String,
    format: &'static str,
    compression: Option<&'static str>,
    packets: u64,
    /// On the wire, and of these in the capture.
    bytes: u64,
    captured_bytes: u64,
    /// The earliest and the latest time of a packet.
    times: Option<(i64, i64)>,
    linktypes: Vec<LinkType>,
    snaplens: Vec<u32>,
    interfaces: Vec<(Option<String>, Interface)>,
    /// All of them, also those that are not told.
    interface_count: u64,
    comments: Vec<String>,
    comment_count: u64,
    error: Option<String>,
}

/// Runs the command.
pub(crate) fn run(args: &InfoArgs, terminal: &Terminal) -> Result<Outcome, Failure> {
    let Found { inputs, unread, left_out } = inputs::expand(&args.files)?;
    if let Some(note) = left_out {
        terminal.tell(&note);
    }
    let mut outcome = Outcome::Done;
    for error in &unread {
        terminal.tell(&Failure::capture(error).message);
        outcome = Outcome::Incomplete;
    }
    for (i, input) in inputs.iter().enumerate() {
        let opened = input.open();
        let mut reader = match opened {
            Ok(reader) => reader,
            // Alone, it is the end.
            Err(error) if inputs.len() == 1 && unread.is_empty() => return Err(Failure::capture(&error)),
            Err(error) => {
                terminal.tell(&Failure::capture(&error).message);
                outcome = Outcome::Incomplete;
                if args.json {
                    let file = file_of(input);
                    let info =
                        Info { file, format: "unknown", error: Some(error.to_string()), ..Info::default() };
                    print_until_signal(&format!("{}\n", info.object()))?;
                }
                continue;
            }
        };
        let (info, error) = Info::of(&mut reader);
        if let Some(error) = error {
            terminal.tell(&Failure::capture(&error).message);
            outcome = Outcome::Incomplete;
        }
        let text = match args.json {
            true => format!("{}\n", info.object()),
            false => format!("{}{}", if i > 0 { "\n" } else { "" }, info.in_words()),
        };
        print_until_signal(&text)?;
    }
    Ok(outcome)
}

fn file_of(input: &Input) -> String {
    match input {
        Input::File(path) => path.to_string_lossy().into_owned(),
        _ => "standard input".to_owned(),
    }
}

impl Info {
    /// Reads a capture to its end, or to damage.
    fn of(reader: &mut Reader) -> (Info, Option<capture::Error>) {
        let mut info = Info {
            file: reader.input().to_owned(),
            compression: reader.compression().map(capture::Compression::name),
            ..Info::default()
        };
        let error = loop {
            match reader.next_batch() {
                Ok(Some(batch)) => info.add(&batch),
                Ok(None) => break None,
                Err(error) => break Some(error),
            }
        };
        info.error = error.as_ref().map(ToString::to_string);
        (info, error)
    }

    fn add(&mut self, batch: &Batch<'_>) {
        if batch.starts_section() {
            let format = match batch.format() {
                Format::Pcap(header) if header.precision == Precision::Nano => "nanosecond pcap",
                Format::Pcap(_) => "pcap",
                Format::Pcapng(_) => "pcapng",
            };
            self.format = if self.format.is_empty() || self.format == format { format } else { "several" };
        }
        self.note_interfaces(batch);
        for comment in batch.comments() {
            self.comment_count += 1;
            if self.comments.len() < TOLD_MAX {
                self.comments.push(comment.into_owned());
            }
        }
        self.packets += batch.len() as u64;
        for packet in batch.packets() {
            self.bytes += u64::from(packet.wire_len);
            self.captured_bytes += u64::from(packet.captured_len);
            let time = batch.timestamp_ns(packet);
            let (first, last) = self.times.unwrap_or((time, time));
            self.times = Some((first.min(time), last.max(time)));
        }
    }

    /// Those that this batch describes: of pcap, the one of the file.
    fn note_interfaces(&mut self, batch: &Batch<'_>) {
        let names: Vec<Option<String>> = match batch.format() {
            Format::Pcap(_) if batch.starts_section() => vec![None],
            Format::Pcap(_) => return,
            Format::Pcapng(_) => {
                batch.interface_names().map(|name| name.as_deref().map(interface_name)).collect()
            }
        };
        let known = batch.interfaces();
        let new = known.get(known.len().saturating_sub(names.len())..).unwrap_or_default();
        for (name, interface) in names.into_iter().zip(new) {
            self.interface_count += 1;
            if !self.linktypes.contains(&interface.linktype) && self.linktypes.len() < TOLD_MAX {
                self.linktypes.push(interface.linktype);
            }
            if !self.snaplens.contains(&interface.snaplen) && self.snaplens.len() < TOLD_MAX {
                self.snaplens.push(interface.snaplen);
            }
            if self.interfaces.len() < TOLD_MAX {
                self.interfaces.push((name, *interface));
            }
        }
    }

    /// Between the earliest and the latest packet, in nanoseconds.
    fn duration_ns(&self) -> Option<u64> {
        self.times.map(|(first, last)| last.abs_diff(first))
    }

    fn object(&self) -> Value {
        let time = |timestamp_ns| UtcTime { timestamp_ns, precision: Precision::Nano }.to_string();
        let interfaces: Vec<Value> = self
            .interfaces
            .iter()
            .map(|(name, interface)| {
                json!({ "name": name, "linktype": interface.linktype.to_string(), "snaplen": interface.snaplen })
            })
            .collect();
        let linktypes: Vec<String> = self.linktypes.iter().map(ToString::to_string).collect();
        json!({
            "v": 1,
            "type": "info",
            "file": self.file,
            "format": self.format,
            "compression": self.compression,
            "packets": self.packets,
            "bytes": self.bytes,
            "captured_bytes": self.captured_bytes,
            "first": self.times.map(|(first, _)| time(first)),
            "last": self.times.map(|(_, last)| time(last)),
            "duration_s": self.duration_ns().map(|ns| ns as f64 / 1e9),
            "linktypes": linktypes,
            "interfaces": interfaces,
            "snaplens": self.snaplens,
            "comments": self.comments,
            "complete": self.error.is_none(),
            "error": self.error,
        })
    }

    fn in_words(&self) -> String {
        let mut rows = vec![
            ("format", self.format.to_owned()),
            ("compression", self.compression.unwrap_or("none").to_owned()),
            ("packets", self.packets.to_string()),
        ];
        let captured = self.captured_bytes;
        let cut =
            if captured < self.bytes { format!(", {captured} of them captured") } else { String::new() };
        rows.push(("bytes", format!("{}{cut}", self.bytes)));
        if let (Some((first, last)), Some(duration_ns)) = (self.times, self.duration_ns()) {
            let time = |timestamp_ns| UtcTime { timestamp_ns, precision: Precision::Nano }.to_string();
            rows.push(("first", time(first)));
            rows.push(("last", time(last)));
            let seconds = duration_ns as f64 / 1e9;
            rows.push(("duration", format!("{seconds} s")));
            if duration_ns > 0 {
                let [packets, bits] = [self.packets as f64 / seconds, self.bytes as f64 * 8.0 / seconds];
                rows.push(("rate", format!("{packets:.1} packets/s, {bits:.0} bit/s")));
            }
        }
        let linktypes: Vec<String> = self.linktypes.iter().map(ToString::to_string).collect();
        rows.push(("link types", linktypes.join(", ")));
        let names: Vec<String> =
            self.interfaces.iter().filter_map(|(name, _)| Some(shown(name.as_ref()?).into_owned())).collect();
        let names = if names.is_empty() { String::new() } else { format!(": {}", names.join(", ")) };
        rows.push(("interfaces", format!("{}{names}", self.interface_count)));
        let snaplens: Vec<String> = self
            .snaplens
            .iter()
            .map(|&snaplen| if snaplen == 0 { "no limit".to_owned() } else { snaplen.to_string() })
            .collect();
        rows.push(("snap lengths", snaplens.join(", ")));
        rows.extend(self.comments.iter().map(|comment| ("comment", shown(comment).into_owned())));
        if self.comment_count > self.comments.len() as u64 {
            let more = self.comment_count - self.comments.len() as u64;
            rows.push(("comment", format!("{} not shown", counted(more, "more comment"))));
        }
        let damage = if self.error.is_some() { "yes: what follows it is not read" } else { "none" };
        rows.push(("damage", damage.to_owned()));
        let lines = rows.into_iter().filter(|(_, value)| !value.is_empty());
        let lines: String = lines.map(|(name, value)| format!("  {name:<13}{value}\n")).collect();
        format!("{}\n{lines}", shown(&self.file))
    }
}
