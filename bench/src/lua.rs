//! Filters as Lua, in the LuaJIT of this machine, from a loop in Lua: against the Lua that pflua makes of them.
//!
//! `SLUSS_PFLUA` names a checkout of pflua. Each race has processes of its own, since the traces that LuaJIT makes of one filter are in the way of others; and several,
//! since which traces it makes first differs from process to process, on mixed traffic by a third of the time.

use crate::bytecode::FILTERS;
use crate::command::write_capture;
use crate::race::Lap;
use crate::report::{Report, Target::AtMost};
use crate::traffic::{Mix, packet};
use pflang::{Compiler, LinkType};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use testkit::rng::Rng;

const SUITE: &str = "lua";
/// Over the figures.
const TITLE: &str = "lua: filters in LuaJIT";
const ROUNDS: &str = "5";
const PROCESSES: usize = 9;
/// Packets of a capture, as many as `race.lua` keeps in cache.
const PACKETS: usize = 512;

/// Runs the suite.
pub(crate) fn run(report: &mut Report) {
    let Some(pflua) = std::env::var_os("SLUSS_PFLUA").map(PathBuf::from) else {
        eprintln!(
            "SKIPPED: the benchmark does not compare with pflua: set SLUSS_PFLUA to a checkout of https://github.com/Igalia/pflua"
        );
        return;
    };
    if Command::new("luajit").arg("-v").output().is_err() {
        eprintln!("SKIPPED: the benchmark runs no Lua: install luajit (Debian)");
        return;
    }
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("out/work");
    let captures = fs::create_dir_all(&folder).and_then(|()| captures(&folder));
    let captures =
        captures.unwrap_or_else(|error| panic!("cannot write below {}: {error}", folder.display()));
    for (traffic, capture) in &captures {
        let race = |engines: &[(&'static str, String)]| race(&pflua, capture, engines);
        for (name, source) in FILTERS {
            // pflua knows no empty filter.
            if source.is_empty() {
                continue;
            }
            let what = format!("{name}, {traffic}");
            let chunk = chunk(&folder, source);
            let laps = race(&[("sluss", chunk), ("pflua", format!("pflua:{source}"))]);
            let counts: Vec<&str> = laps.iter().map(|(_, count)| count.as_str()).collect();
            assert!(counts[0] == counts[1], "{what}: {} match by sluss, {} by pflua", counts[0], counts[1]);
            report.ratio(
                SUITE,
                format!("{what}: sluss / pflua"),
                laps[0].0.over(&laps[1].0),
                Some(AtMost(1.1)),
            );
            report.laps(TITLE, &what, &[laps[0].0.clone(), laps[1].0.clone()]);
        }
        let ranges = ["portrange 0-6000", "portrange 0-5"].map(|source| chunk(&folder, source));
        let [wide, narrow] = ranges;
        let laps = race(&[("portrange 0-6000", wide), ("portrange 0-5", narrow)]);
        let what = format!("{traffic}: portrange 0-6000 / portrange 0-5");
        report.ratio(SUITE, what, laps[0].0.over(&laps[1].0), Some(AtMost(1.5)));
    }
}

/// What each engine took in a race, and how many packets it matched.
fn race(pflua: &Path, capture: &Path, engines: &[(&'static str, String)]) -> Vec<(Lap, String)> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("lua/race.lua");
    let mut command = Command::new("luajit");
    command.arg(script).arg(pflua).arg(capture).arg(ROUNDS);
    command.args(engines.iter().map(|(_, engine)| engine));
    let mut text = String::new();
    for _ in 0..PROCESSES {
        let output = command.output().expect("luajit runs");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{engines:?}: {}\n{said}", output.status);
        text.push_str(&String::from_utf8_lossy(&output.stdout));
    }
    let rounds: Vec<Vec<&str>> = text.lines().map(|line| line.split(' ').collect()).collect();
    let lap = |(i, (name, _)): (usize, &(&'static str, String))| {
        let ns = rounds.iter().map(|words| words[2 * i].parse().expect("a number"));
        (Lap::of(name, ns.collect()), rounds[0][2 * i + 1].to_owned())
    };
    engines.iter().enumerate().map(lap).collect()
}

/// A filter as Lua in a file of its own, as `race.lua` is told of it.
fn chunk(folder: &Path, source: &str) -> String {
    let text = Compiler::new(LinkType::EN10MB).to_lua(source).expect("it has a form in Lua");
    let name: String = source.chars().filter(char::is_ascii_alphanumeric).take(60).collect();
    let path = folder.join(format!("{name}.lua"));
    fs::write(&path, text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    format!("chunk:{}", path.display())
}

/// Captures by name: of the traffic of the other suites, and of BitTorrent where it is there.
fn captures(folder: &Path) -> std::io::Result<Vec<(&'static str, PathBuf)>> {
    let mut captures = Vec::new();
    for (name, mix) in [("uniform", Mix::Uniform), ("mixed", Mix::Mixed)] {
        let mut rng = Rng::new(0x5eed);
        let path = folder.join(format!("lua-{name}.pcap"));
        write_capture(&path, (0..PACKETS).map(|_| packet(mix, &mut rng)))?;
        captures.push((name, path));
    }
    match testkit::corpus::path("snabbwall/BITTORRENT.pcap") {
        Some(path) => captures.push(("BitTorrent", path)),
        None => eprintln!(
            "SKIPPED: the benchmark has no BITTORRENT.pcap: set SLUSS_SHARED to a folder with captures/snabbwall"
        ),
    }
    Ok(captures)
}
