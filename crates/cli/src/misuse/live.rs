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

/// A graph on one line: device, filter, and a file or lines. None where something was asked for that has no counterpart.
pub(super) fn live(line: &Line<'_>) -> Option<String> {
    let device = line.device.map_or(Some("eth0"), OsStr::to_str).filter(|_| !is_of_all(line))?;
    let filter = joined(&line.words).into_string().ok()?;
    let to_stdout = line.output.is_some_and(|file| file == "-");
    if !line.files.is_empty() || line.filter_file.is_some() || line.has_more || to_stdout {
        return None;
    }
    let mut apps = vec![format!(
        "app.device = {{type = \"af_packet\", device = {}, promiscuous = {}, outgoing = true}}",
        text(device),
        !line.is_not_promiscuous
    )];
    if !filter.is_empty() {
        apps.push(format!("app.filter = {{type = \"filter\", filter = {}}}", text(&filter)));
    }
    apps.push(match line.output {
        Some(file) => {
            let path = text(file.to_str()?);
            format!("app.file = {{type = \"pcap_writer\", path = {path}{}}}", snaplen(line)?)
        }
        None => "app.lines = {type = \"printer\", to = \"stdout\"}".to_owned(),
    });
    let links = match (filter.is_empty(), line.output) {
        (true, Some(_)) => r#"links = ["device.output -> file.input"]"#,
        (true, None) => r#"links = ["device.output -> lines.input"]"#,
        (false, Some(_)) => r#"links = ["device.output -> filter.input", "filter.output -> file.input"]"#,
        (false, None) => r#"links = ["device.output -> filter.input", "filter.output -> lines.input"]"#,
    };
    let lines: Vec<String> = [links.to_owned()].iter().chain(&apps).map(quoted).collect();
    Some(format!("printf '%s\\n' {} | sluss run -", lines.join(" ")))
}

/// The option for how much of each packet is written, if not all is: 0 is all, as tcpdump has it. None where it is no length.
fn snaplen(line: &Line<'_>) -> Option<String> {
    let length: u32 = line.snaplen.map_or(Some(0), |length| length.to_str()?.parse().ok())?;
    match length {
        0 | SNAPLEN_MAX => Some(String::new()),
        1..SNAPLEN_MAX => Some(format!(", snaplen = {length}")),
        _ => None,
    }
}

/// A text of TOML: what JSON writes, TOML reads.
fn text(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}
