//! Native apps in programs of Lua, and apps of Lua in graphs: what packets bring along goes from one to the next.

use crate::common::{self, arg, code, root, scratch, sluss, stderr, stdout};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Output;
use std::time::{Duration, Instant, SystemTime};

/// An app of Lua that hands packets on, or copies of them.
const THROUGH: &str = "\
local Through = {}
function Through:new (how) return setmetatable({ how = how }, { __index = Through }) end
function Through:push ()
   local input, output = self.input.input, self.output.output
   while not link.empty(input) do
      local p = link.receive(input)
      if self.how == 'copy' then
         local q = packet.clone(p)
         packet.free(p)
         p = q
      elseif self.how == 'new' then
         local q = packet.from_string('0123456789abcdefgh')
         packet.free(p)
         p = q
      end
      link.transmit(output, p)
   end
end
";

/// Runs a program of Lua with these arguments.
fn program(folder: &Path, text: &str, words: &[&str]) -> Output {
    let file = folder.join("program.lua");
    fs::write(&file, text).unwrap();
    let mut command = sluss(&[&["run", arg(&file)], words].concat());
    command.env("SNABB_SHM_ROOT", folder.join("shm")).output().unwrap()
}

/// A program that reads a capture and writes another, with an app of Lua between the two.
fn copier() -> String {
    format!(
        "{THROUGH}
local native = require('sluss.apps')
local from, to, how = unpack(main.parameters)
local c = config.new()
config.app(c, 'reader', native.pcap_reader, {{ path = from }})
config.app(c, 'through', Through, how)
config.app(c, 'writer', native.pcap_writer, {{ path = to }})
config.link(c, 'reader.output -> through.input')
config.link(c, 'through.output -> writer.input')
engine.configure(c)
engine.main {{ duration = 0.3, no_report = true }}
engine.configure(config.new())
"
    )
}

fn capture(name: &str) -> PathBuf {
    root().join("captures").join(name)
}

/// The line of `sluss info` that tells the link types.
fn link_types(path: &Path) -> String {
    let text = stdout(&common::run(&["info", arg(path)]));
    text.lines().find(|line| line.contains("link type")).unwrap_or_default().trim().to_owned()
}

#[test]
fn times_lengths_and_link_types_go_through() {
    let folder = scratch("natives-through");
    let cut = folder.join("cut.pcap");
    assert_eq!(
        code(&common::run(&["filter", "-s", "60", "", arg(&capture("web.pcap")), "-o", arg(&cut)])),
        0
    );
    for from in [capture("web.pcap"), capture("raw.pcap"), capture("cooked-sll.pcap"), cut] {
        for how in ["same", "copy"] {
            let to = folder.join("to.pcap");
            let output = program(&folder, &copier(), &[arg(&from), arg(&to), how]);
            assert_eq!((code(&output), stderr(&output)), (0, String::new()));
            let (before, after) = (common::packets(&from), common::packets(&to));
            assert!(!before.is_empty());
            assert_eq!(after, before, "{} {how}", from.display());
            assert_eq!(link_types(&to), link_types(&from), "{} {how}", from.display());
        }
    }
}

/// They have nothing of the packets that had their memory before.
#[test]
fn packets_that_lua_makes_are_new() {
    let folder = scratch("natives-new");
    let to = folder.join("to.pcap");
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap();
    let from = capture("raw.pcap");
    let output = program(&folder, &copier(), &[arg(&from), arg(&to), "new"]);
    assert_eq!((code(&output), stderr(&output)), (0, String::new()));
    assert!(link_types(&to).contains("EN10MB"), "{}", link_types(&to));
    let fields = "frame.time_epoch,frame.len,frame.cap_len";
    let text = stdout(&common::run(&["filter", "--fields", fields, "", arg(&to)]));
    assert_eq!(text.lines().count(), common::packets(&from).len());
    for line in text.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        assert_eq!(words[1..], ["18", "18"], "{line}");
        let time = Duration::from_secs_f64(words[0].parse().unwrap());
        assert!(time + Duration::from_secs(1) > since && time < since + Duration::from_secs(60), "{line}");
    }
}

/// The same in a graph of TOML with an app of Lua.
#[test]
fn apps_of_lua_in_graphs_keep_times_and_link_types() {
    let folder = scratch("natives-guest");
    fs::write(folder.join("through.lua"), format!("{THROUGH}\nreturn Through\n")).unwrap();
    for (from, how) in [("raw.pcap", "same"), ("raw.pcap", "copy"), ("web.pcap", "copy")] {
        let to = folder.join("to.pcap");
        let graph = format!(
            "links = ['reader.output -> through.input', 'through.output -> writer.input']
[app.reader]
type = 'pcap_reader'
path = '{}'
[app.through]
type = 'lua'
file = '{}'
args = '{how}'
[app.writer]
type = 'pcap_writer'
path = '{}'
",
            arg(&capture(from)),
            arg(&folder.join("through.lua")),
            arg(&to)
        );
        fs::write(folder.join("graph.toml"), graph).unwrap();
        let begin = Instant::now();
        let output =
            common::run(&["run", "--no-report", "--duration", "60s", arg(&folder.join("graph.toml"))]);
        assert!(begin.elapsed() < Duration::from_secs(50), "it ends though the app has spare packets");
        assert_eq!(code(&output), 0, "{}", stderr(&output));
        assert_eq!(common::packets(&to), common::packets(&capture(from)), "{from} {how}");
        assert_eq!(link_types(&to), link_types(&capture(from)), "{from} {how}");
    }
}

/// A wall knows what is IP, as in a graph.
#[test]
fn a_wall_judges_what_lua_gives_it() {
    let folder = scratch("natives-wall");
    let policy = folder.join("policy.toml");
    fs::write(&policy, "default = 'drop'\nrules = 'tcp dst port 22 => accept'\n").unwrap();
    let wall = |source: &str| {
        let text = format!(
            "local native = require('sluss.apps')
local c = config.new()
config.app(c, 'reader', {source})
config.app(c, 'wall', native.l7_wall, {{ policy = '{}' }})
config.app(c, 'sink', native.sink)
config.link(c, 'reader.output -> wall.north')
config.link(c, 'wall.south -> sink.input')
engine.configure(c)
engine.main {{ duration = 0.5, no_report = true }}
local counters = engine.app_table.wall:counters()
print(tonumber(counters.accepted), tonumber(counters.not_ip))
",
            arg(&policy)
        );
        let output = program(&folder, &text, &[]);
        assert_eq!(code(&output), 0, "{}", stderr(&output));
        stdout(&output)
    };
    let web = capture("web.pcap");
    // Two packets of ARP.
    for source in [
        format!("native.pcap_reader, {{ path = '{}' }}", arg(&web)),
        format!("require('apps.pcap.pcap').PcapReader, '{}'", arg(&web)),
    ] {
        let counts = wall(&source);
        let counts: Vec<u64> = counts.split_whitespace().map(|count| count.parse().unwrap()).collect();
        assert_eq!(counts[0], counts[1], "nothing but ARP is accepted: {counts:?}");
        assert!(counts[0] < 10, "{counts:?}");
    }
}

#[test]
fn a_damaged_capture_is_told() {
    let folder = scratch("natives-damaged");
    let whole = fs::read(capture("web.pcap")).unwrap();
    let cut = folder.join("cut.pcap");
    fs::write(&cut, &whole[..whole.len() - 5]).unwrap();
    let output = program(&folder, &copier(), &[arg(&cut), arg(&folder.join("to.pcap")), "same"]);
    let told = stderr(&output);
    assert!(code(&output) == 5 && told.contains("app `reader`: "), "{} {told}", code(&output));
}
