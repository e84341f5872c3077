//! The command of ours that captures from a device as a command line of tcpdump would.

use super::translated::Line;
use crate::words::{joined, quoted};
use std::ffi::OsStr;

/// The most that tcpdump captures of a packet, MAXIMUM_SNAPLEN of its netdissect.h; `pcap_writer` takes no more either.
const SNAPLEN_MAX: u32 = 256 << 10;

/// What is said where all devices are asked for.
pub(super) const ONE_DEVICE: &str = "`any` is none: name one, as in `-i eth0`";

/// Whether a capture from all devices is asked for, by the name that libpcap has for them: a packet socket is bound to one.
pub(super) fn is_of_all(line: &Line<'_>) -> bool {
    line.device.is_some_and(|device| device == "any") && line.files.is_empty()
}

/// Standard output as a file: `pcap_writer` has no other name for it.
const STDOUT: &str = "/dev/stdout";

/// A graph on one line: device, filter, and a file or lines; or tcpdump, with the flags of printing. None where something was asked for that
/// has no counterpart.
pub(super) fn live(line: &Line<'_>, printing: &str) -> Option<String> {
    if !line.files.is_empty() || line.filter_file.is_some() || line.has_more {
        return None;
    }
    let device = line.device.map_or(Some("eth0"), OsStr::to_str).filter(|_| !is_of_all(line))?;
    let filter = joined(&line.words).into_string().ok()?;
    let snaplen = snaplen(line)?;
    // Beside a file, nothing is printed there either.
    let is_printed_there = line.output.is_none() && !printing.is_empty();
    let file = if is_printed_there { Some(STDOUT) } else { file(line)? };
    let mut apps = vec![(
        "device",
        format!(
            "type = \"af_packet\", device = {}, promiscuous = {}, outgoing = true",
            text(device),
            !line.is_not_promiscuous
        ),
    )];
    if !filter.is_empty() {
        apps.push(("filter", format!("type = \"filter\", filter = {}", text(&filter))));
    }
    match (file, snaplen) {
        (Some(path), Some(length)) => {
            apps.push(("file", format!("type = \"pcap_writer\", path = {}, snaplen = {length}", text(path))));
        }
        (Some(path), None) => apps.push(("file", format!("type = \"pcap_writer\", path = {}", text(path)))),
        (None, length) => {
            let length = length.filter(|&length| length <= u16::MAX.into());
            apps.extend(length.map(|length| ("cut", format!("type = \"truncate\", length = {length}"))));
            apps.push(("lines", "type = \"printer\", to = \"stdout\"".to_owned()));
        }
    }
    let run = if file == Some(STDOUT) { "sluss run - --no-report" } else { "sluss run -" };
    let there = if is_printed_there { format!(" | tcpdump -r - {printing}") } else { String::new() };
    Some(format!("printf '%s\\n' {} | {run}{there}", graph(&apps)))
}

/// The lines of a graph in which each app passes packets to the next, as words of a shell.
fn graph(apps: &[(&str, String)]) -> String {
    let link = |pair: &[(&str, String)]| format!("\"{}.output -> {}.input\"", pair[0].0, pair[1].0);
    let links: Vec<String> = apps.windows(2).map(link).collect();
    let links = format!("links = [{}]", links.join(", "));
    let apps = apps.iter().map(|(name, options)| format!("app.{name} = {{{options}}}"));
    std::iter::once(links).chain(apps).map(quoted).collect::<Vec<_>>().join(" ")
}

/// The file that is written, if one is; none where its name is no text.
fn file<'a>(line: &Line<'a>) -> Option<Option<&'a str>> {
    match line.output {
        None => Some(None),
        Some(file) if file == "-" => Some(Some(STDOUT)),
        Some(file) => file.to_str().map(Some),
    }
}

/// How much of each packet is captured, if not all is: 0 is all, as tcpdump has it. None where it is no length.
fn snaplen(line: &Line<'_>) -> Option<Option<u32>> {
    let length: u32 = line.snaplen.map_or(Some(0), |length| length.to_str()?.parse().ok())?;
    match length {
        0 | SNAPLEN_MAX => Some(None),
        1..SNAPLEN_MAX => Some(Some(length)),
        _ => None,
    }
}

/// A text of TOML: what JSON writes, TOML reads.
fn text(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}
