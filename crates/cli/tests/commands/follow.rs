//! `sluss run --trace`: what became of followed packets, in words, as JSON, and in sum as the report has it.

use crate::common::running::{folder, run};
use crate::common::{code, stderr, stdout};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

/// Packets that a `fragmenter` may cut, of two sizes.
const SYNTH: &str = "[app.synth]
type = \"synth\"
count = 40
sizes = [60, 2000]
dont_fragment = false
";

/// The lines of a run in which packets are followed, and its report.
fn followed(folder: &Path, args: &[&str]) -> (Vec<Value>, Value) {
    let output = run(folder, &[&["--json", "--trace"], args].concat());
    let lines = stdout(&output);
    let mut lines: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let report = lines.pop().unwrap_or_else(|| panic!("{}", stderr(&output)));
    assert_eq!(report["type"], "run", "{}", stderr(&output));
    (lines, report)
}

/// Drops by reason, of apps and links.
fn drops(report: &Value) -> BTreeMap<String, u64> {
    let drops = report["drops"].as_object().unwrap();
    drops.iter().map(|(reason, count)| (reason.clone(), count.as_u64().unwrap())).collect()
}

/// Follows all packets of a graph, and checks that their fates are what the report has counted. Returns the steps.
#[track_caller]
fn adds_up(name: &str, graph: &str, args: &[&str]) -> Vec<Value> {
    let folder = folder(&format!("follow-{name}"), graph);
    let lua = "local Twice = {}\nTwice.__index = Twice\nfunction Twice:new () return setmetatable({ kept = {} }, Twice) end\n\
        function Twice:push ()\n   local input, output = self.input.input, self.output.output\n   while not link.empty(input) do\n\
        local p = link.receive(input)\n      if p.length > 100 then packet.free(p)\n      elseif #self.kept < 3 then table.insert(self.kept, p)\n\
        else link.transmit(output, packet.clone(p)); link.transmit(output, p) end\n   end\nend\n\
        local Fails = {}\nFails.__index = Fails\nfunction Fails:new () return setmetatable({ seen = 0 }, Fails) end\n\
        function Fails:push ()\n   while not link.empty(self.input.input) do\n      self.seen = self.seen + 1\n\
        if self.seen == 7 then error('on purpose') end\n      link.transmit(self.output.output, link.receive(self.input.input))\n   end\nend\n\
        return { Twice = Twice, Fails = Fails }\n";
    fs::write(folder.join("apps.lua"), lua).unwrap();
    let (mut steps, report) = followed(&folder, &[&[""], args].concat());
    let totals = steps.pop().unwrap();
    assert_eq!(totals["type"], "trace", "{name}");
    let sum = |counts: &Value| counts.as_object().unwrap().values().filter_map(Value::as_u64).sum::<u64>();
    let number = |value: &Value| value.as_u64().unwrap();
    // What an app in Lua has at hand for new packets is inside as well.
    let spare = number(&report["inside"]) - number(&totals["held"]);
    let entered = number(&totals["packets"]) + number(&totals["copies"]);
    assert_eq!(entered + spare, number(&report["received"]), "{name}: {totals}");
    assert!(spare == 0 || graph.contains("lua"), "{name}: {totals}");
    assert_eq!(sum(&totals["delivered"]), report["delivered"].as_u64().unwrap(), "{name}: {totals}");
    assert_eq!(
        serde_json::from_value::<BTreeMap<String, u64>>(totals["dropped"].clone()).unwrap(),
        drops(&report),
        "{name}"
    );
    // Each branch has one fate, and the last step of a packet says so.
    let (mut fates, mut last) = (BTreeMap::new(), BTreeSet::new());
    for step in &steps {
        let packet = step["packet"].as_u64().unwrap();
        let branch = (packet, step["branch"].as_str().unwrap().to_owned());
        assert!(!last.contains(&packet), "{name}: {step} comes after the last");
        assert!(
            !["dropped", "delivered"].contains(&fates.get(&branch).copied().unwrap_or("")),
            "{name}: {step}"
        );
        fates.insert(branch, step["event"].as_str().unwrap());
        if step["last"] == true {
            last.insert(packet);
        }
    }
    assert_eq!(last.len() as u64, totals["packets"].as_u64().unwrap(), "{name}");
    let with = |event| fates.values().filter(|&&fate| fate == event).count() as u64;
    assert_eq!(with("dropped"), sum(&totals["dropped"]), "{name}");
    assert_eq!(with("delivered"), sum(&totals["delivered"]), "{name}");
    assert_eq!(with("held"), totals["held"].as_u64().unwrap(), "{name}");
    steps
}

fn has(steps: &[Value], app: &str, event: &str, reason: Option<&str>) -> bool {
    steps.iter().any(|step| step["app"] == app && step["event"] == event && step["reason"].as_str() == reason)
}

#[test]
fn copies_filters_and_fragments_add_up() {
    let graph = format!(
        "links = [\"synth.output -> tee.input\", \"tee.a -> small.input\", \"tee.b -> cut.input\", \"small.output -> sink.a\",
                  \"cut.output -> whole.input\", \"whole.output -> sink.b\"]
{SYNTH}[app.tee]
type = \"tee\"
[app.small]
type = \"filter\"
filter = \"less 100\"
[app.cut]
type = \"fragmenter\"
mtu = 700
[app.whole]
type = \"reassembler\"
[app.sink]
type = \"sink\"
"
    );
    let steps = adds_up("fragments", &graph, &[]);
    assert!(has(&steps, "tee", "copied", None) && has(&steps, "small", "dropped", Some("rejected")));
    assert!(has(&steps, "whole", "held", None) && has(&steps, "whole", "delivered", Some("joined")));
    let cut = steps.iter().find(|step| step["app"] == "cut" && step["event"] == "copied").unwrap();
    assert!(!cut["changed"].as_array().unwrap().is_empty(), "{cut}");
}

#[test]
fn delays_and_losses_add_up() {
    let graph = format!(
        "links = [\"synth.output -> line.input\", \"line.output -> sink.input\"]
{SYNTH}[app.line]
type = \"delay\"
delay_ms = 20
jitter_ms = 5
reorder = true
loss = 0.2
[app.sink]
type = \"sink\"
"
    );
    let steps = adds_up("delay", &graph, &[]);
    assert!(has(&steps, "line", "held", None) && has(&steps, "line", "dropped", Some("lost")));
    let time = |event: &str| {
        steps.iter().find(|step| step["event"] == event && step["app"] == "line").unwrap()["time"].clone()
    };
    assert!(time("held").as_str() < time("sent").as_str());
    // What is under way when the run ends is still there.
    let steps =
        adds_up("delay-ends", &graph.replace("delay_ms = 20", "delay_ms = 600000"), &["--duration", "300ms"]);
    assert!(steps.iter().any(|step| step["last"] == true && step["event"] == "held"));
}

#[test]
fn full_links_and_queues_add_up() {
    let slow = "[app.slow]
type = \"rate_limiter\"
packets_per_s = 10
hold = true
[app.sink]
type = \"sink\"
";
    let synth = SYNTH.replace("count = 40", "count = 1200").replace(", 2000", "");
    let graph = format!(
        "links = [\"synth.output -> tee.input\", \"tee.a -> slow.input\", \"tee.b -> sink.b\", \"slow.output -> sink.a\"]
{synth}[app.tee]
type = \"tee\"
{slow}"
    );
    let steps = adds_up("full", &graph, &["--duration", "8s"]);
    assert!(has(&steps, "tee", "dropped", Some("link_full")));
    let queue = format!(
        "links = [\"synth.output -> queue.input\", \"queue.output -> slow.input\", \"slow.output -> sink.input\"]
{synth}[app.queue]
type = \"queue\"
limit = 5
policy = \"head\"
{slow}"
    );
    let steps = adds_up("queue", &queue, &["--duration", "8s"]);
    assert!(has(&steps, "queue", "dropped", Some("queue_full")));
}

#[test]
fn loops_and_ports_without_links_add_up() {
    let graph = format!(
        "links = [\"synth.output -> join.new\", \"join.output -> tee.input\", \"tee.back -> half.input\", \"half.output -> join.again\",
                  \"tee.out -> names.input\"]
{SYNTH}[app.join]
type = \"join\"
[app.tee]
type = \"tee\"
[app.half]
type = \"sampler\"
every = 2
[app.names]
type = \"filter\"
filter = \"greater 100\"
"
    );
    let steps = adds_up("loop", &graph, &["--duration", "20s"]);
    assert!(has(&steps, "names", "dropped", Some("unlinked")) && has(&steps, "half", "sent", None));
}

#[test]
fn inputs_that_are_compared_add_up() {
    let graph = format!(
        "links = [\"synth.output -> split.input\", \"split.a -> merge.a\", \"split.b -> merge.b\", \"merge.output -> sink.input\"]
{SYNTH}[app.split]
type = \"split\"
numbered = true
[app.merge]
type = \"merge\"
[app.sink]
type = \"sink\"
"
    );
    assert!(has(&adds_up("merge", &graph, &[]), "merge", "sent", None));
}

#[test]
fn apps_in_lua_and_those_that_fail_add_up() {
    let graph = |class| {
        format!(
            "links = [\"synth.output -> lua.input\", \"lua.output -> sink.input\"]
{SYNTH}[app.lua]
type = \"lua\"
file = \"apps.lua\"
class = \"{class}\"
[app.sink]
type = \"sink\"
"
        )
    };
    let steps = adds_up("lua", &graph("Twice"), &["--duration", "5s"]);
    assert!(has(&steps, "lua", "copied", None) && has(&steps, "lua", "held", None));
    assert!(has(&steps, "lua", "delivered", Some("freed")));
    let steps = adds_up("fails", &graph("Fails"), &["--duration", "2s"]);
    assert!(has(&steps, "lua", "dropped", Some("panic")) && has(&steps, "lua", "dropped", Some("app_down")));
}

#[test]
fn a_number_of_packets_that_match_are_followed() {
    let graph = format!(
        "links = [\"synth.output -> tag.input\", \"tag.output -> sink.input\"]
{}rate_pps = 1000
[app.tag]
type = \"vlan_tag\"
tag = 7
[app.sink]
type = \"sink\"
",
        SYNTH.replace("count = 40\n", "")
    );
    let folder = folder("follow-some", &graph);
    let output = run(&folder, &["--trace", "greater 1000", "-c", "3", "--no-report"]);
    let text = stdout(&output);
    assert_eq!((code(&output), text.matches("packet ").count()), (0, 3), "{text}{}", stderr(&output));
    assert!(
        text.contains("tag    input -> output  sent\n") && text.contains("12: + 81 00 00 07\n"),
        "{text}"
    );
    assert!(
        text.ends_with(
            "followed 3 packets and 0 copies: delivered 3 (3 delivered), dropped 0, still there 0\n"
        ),
        "{text}"
    );
    let (steps, _) = followed(&folder, &["less 100", "-c", "2"]);
    let entered = steps.iter().filter(|step| step["entered"]["captured_bytes"] == 60).count();
    assert_eq!((entered, steps.len()), (2, 7));
    let changed = serde_json::json!([{ "offset": 12, "before": "", "after": "81000007" }]);
    assert!(steps.iter().any(|step| step["changed"] == changed));
}

#[test]
fn mistakes_are_told_before_anything_starts() {
    let folder = folder(
        "follow-wrong",
        &format!(
            "links = [\"synth.output -> file.input\"]\n{SYNTH}[app.file]\ntype = \"pcap_writer\"\npath = \"out.pcap\"\n"
        ),
    );
    for (args, told) in [
        (&["--trace", "udp prot 53"][..], "error[PF003]: unknown word `prot`\n  | udp prot 53\n  |     ^^^^"),
        (&["--trace", "udp", "--workers", "2"], "error: `--trace` is for one worker"),
        (&["--trace", "udp", "--check"], "error: `--trace` and `--check` exclude each other"),
        (&["--trace", "udp", "-c", "0"], "error: -c 0: write a whole number, 1 or more"),
        (&["-c", "1"], "error: no --trace given"),
    ] {
        let output = run(&folder, args);
        assert!(stderr(&output).starts_with(told), "{args:?}: {}", stderr(&output));
        assert_eq!((code(&output), folder.join("out.pcap").exists()), (2, false), "{args:?}");
    }
}
