//! The command of ours that captures from a device as a command line of tcpdump would.

use super::translated::Line;
use crate::words::{joined, quoted};
use std::ffi::OsStr;

/// A graph on one line: device, filter, and a file or lines. None where something was asked for that has no counterpart.
pub(super) fn live(line: &Line<'_>) -> Option<String> {
    let device = line.device.map_or(Some("eth0"), OsStr::to_str)?;
    let filter = joined(&line.words).into_string().ok()?;
    let to_stdout = line.output.is_some_and(|file| file == "-");
    if !line.files.is_empty() || line.filter_file.is_some() || line.has_more || to_stdout {
        return None;
    }
    let mut apps = vec![format!(
        "app.device = {{type = \"af_packet\", device = {}, promiscuous = true, outgoing = true}}",
        text(device)
    )];
    if !filter.is_empty() {
        apps.push(format!("app.filter = {{type = \"filter\", filter = {}}}", text(&filter)));
    }
    apps.push(match line.output {
        Some(file) => format!("app.file = {{type = \"pcap_writer\", path = {}}}", text(file.to_str()?)),
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

/// A text of TOML: what JSON writes, TOML reads.
fn text(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}
