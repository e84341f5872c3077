//! Programs in Lua: how they start, what they are given, how they end; apps of both kinds in one graph.

use crate::common::{self, code, sluss, stderr, stdout};
use std::path::Path;
use std::process::Output;
use testkit::files::Scratch;

/// Runs the command with a folder of shared memory of its own.
fn run_in(folder: &Scratch, args: &[&str], debug: bool) -> Output {
    let mut command = sluss(args);
    command.env("SNABB_SHM_ROOT", folder.path("shm")).env_remove("SLUSS_SNABB").env_remove("SNABB_DEBUG");
    if debug {
        command.env("SNABB_DEBUG", "1");
    }
    command.output().expect("the command starts")
}

/// Runs Lua text as a program.
fn program(text: &str, args: &[&str]) -> Output {
    let folder = Scratch::new();
    let file = folder.path("program.lua");
    std::fs::write(&file, text).expect("a file");
    run_in(&folder, &[&["run", file.to_str().expect("UTF-8")], args].concat(), false)
}

#[test]
fn a_program_gets_its_arguments_untouched() {
    let output =
        program("print(#main.parameters, arg[2], main.parameters[3], ...)", &["--help", "-x", "a b"]);
    assert_eq!((code(&output), stdout(&output).as_str()), (0, "3\t-x\ta b\t--help\t-x\ta b\n"));
}

#[test]
fn a_module_with_a_function_run_is_a_program() {
    let text = "module(..., package.seeall)\nfunction run (args) print(_NAME, args[1]) end";
    assert_eq!(stdout(&program(text, &["x"])), "program\tx\n");
    let text = "return { run = function (args) print(#args) end }";
    assert_eq!(stdout(&program(text, &["x", "y"])), "2\n");
}

#[test]
fn a_program_ends_with_its_own_code() {
    assert_eq!(code(&program("main.exit(43)", &[])), 43);
    assert_eq!(code(&program("os.exit(false)", &[])), 1);
    assert_eq!(code(&program("os.exit()", &[])), 0);
}

#[test]
fn an_error_is_told_with_its_place_and_ends_with_1() {
    let output = program("local t = nil\nlocal function f () return t.x end\nf()", &[]);
    let told = stderr(&output);
    assert_eq!(code(&output), 1);
    assert!(told.contains("program.lua:2: attempt to index upvalue 't' (a nil value)"), "{told}");
    assert!(told.contains("stack traceback:"), "{told}");
    let output = program("x = = 1", &[]);
    assert!(stderr(&output).contains("program.lua:1: unexpected symbol near '='"), "{}", stderr(&output));
}

/// An error that is raised is another matter than a text that is not Lua.
#[test]
fn what_is_not_lua_is_a_mistake_of_the_command_line() {
    let folder = Scratch::new();
    let file = folder.path("wrong.lua");
    std::fs::write(&file, "x =").expect("a file");
    let file = file.to_str().expect("UTF-8");
    let given = [
        (&["snsh", "-e", "x ="][..], 2),
        (&["snsh", file], 2),
        (&["snsh", "captures/web.pcap"], 2),
        (&["run", file], 2),
        (&["run", "--sandbox", file], 2),
        (&["run", "--workers", "2", file], 2),
        (&["snsh", "-e", "error('x')"], 1),
        (&["snsh", "-e", "assert(loadstring('x ='))"], 1),
    ];
    for (words, expected) in given {
        let output = run_in(&folder, words, false);
        let told = stderr(&output);
        assert!(code(&output) == expected && told.contains("error: "), "{words:?}: {told}");
    }
}

#[test]
fn a_folder_of_shared_memory_goes_with_its_process() {
    let folder = Scratch::new();
    for text in ["x = 1", "error('x')", "os.exit(3)"] {
        run_in(&folder, &["snsh", "-e", text], false);
        let left: Vec<_> = std::fs::read_dir(folder.path("shm")).expect("the folder").collect();
        assert!(left.is_empty(), "after {text}: {left:?}");
    }
}

#[test]
fn options_of_snsh_are_followed_in_their_order() {
    let folder = Scratch::new();
    let output =
        run_in(&folder, &["snsh", "-e", "x = 1", "-joff", "-e", "print(x, (jit.status()))", "-jon"], false);
    assert_eq!((stdout(&output).as_str(), stderr(&output).as_str()), ("1\tfalse\n", ""));
    let output = run_in(&folder, &["snsh", "-t", "core.config"], false);
    assert_eq!(code(&output), 1);
    assert!(stderr(&output).contains("has no self-test"), "{}", stderr(&output));
}

#[test]
fn the_prompt_prints_values_and_errors_and_goes_on() {
    let lines = b"1 + 1, 'x'\nlocal y = 2\n=packet.max_payload\nnil + 1\nprint('still here')\n";
    let output = common::run_with_input(&["snsh"], lines);
    let text = stdout(&output);
    assert!(text.contains("sluss> 2\tx\n") && text.contains("10240"), "{text}");
    assert!(
        text.contains("attempt to perform arithmetic on a nil value") && text.contains("still here"),
        "{text}"
    );
}

/// A source and a sink in Lua, with native apps between them.
const MIXED: &str = r#"
local native = require("sluss.apps")
local Source, Sink = {}, {}
function Source:new () return setmetatable({ left = 1000 }, { __index = Source }) end
function Source:pull ()
   for _ = 1, math.min(self.left, engine.pull_npackets) do
      link.transmit(self.output.output, packet.from_string(("x"):rep(60)))
      self.left = self.left - 1
   end
end
function Sink:new () return setmetatable({ seen = 0 }, { __index = Sink }) end
function Sink:push ()
   while not link.empty(self.input.input) do
      local p = link.receive(self.input.input)
      assert(p.length == 60)
      packet.free(p)
      self.seen = self.seen + 1
   end
end
local c = config.new()
config.app(c, "source", Source)
config.app(c, "tee", native.tee)
config.app(c, "truncate", native.truncate, { length = 60 })
config.app(c, "lua", Sink)
config.app(c, "native", native.sink)
config.link(c, "source.output -> tee.input")
config.link(c, "tee.a -> truncate.input")
config.link(c, "truncate.output -> lua.input")
config.link(c, "tee.b -> native.input")
engine.configure(c)
local apps = engine.app_table
engine.main { done = function () return apps.lua.seen == 1000 end, no_report = true }
engine.main { duration = 0.05, no_report = true }
-- A link between two native apps counts as all do.
local stats = link.stats(engine.link_table["tee.a -> truncate.input"])
print(apps.lua.seen, apps.native:counters().delivered, stats.rxpackets, stats.rxbytes, stats.txpackets, stats.txbytes, stats.txdrop)
"#;

#[test]
fn native_apps_are_classes_and_no_packet_is_lost() {
    let output = program(MIXED, &[]);
    assert_eq!(
        (stdout(&output).as_str(), stderr(&output).as_str()),
        ("1000\t1000\t1000\t60000\t1000\t60000\t0\n", "")
    );
    let output = program(
        "local n = require('sluss.apps') local c = config.new() config.app(c, 'f', n.filter, { filter = 'tcp prot 80' }) engine.configure(c)",
        &[],
    );
    assert_eq!(code(&output), 1);
    assert!(stderr(&output).contains("PF003"), "{}", stderr(&output));
    let output = program("print(pcall(function () return require('sluss.apps').nothing end))", &[]);
    assert!(stdout(&output).contains("there is no native app `nothing`"), "{}", stdout(&output));
}

/// On two workers: each starts its part, packets go over, and the first that is done ends both.
#[test]
fn a_program_runs_on_two_workers() {
    let folder = Scratch::new();
    let file = folder.path("two.lua");
    let text = r#"
        local Source, Sink = {}, {}
        function Source:new () return setmetatable({ left = 20000 }, { __index = Source }) end
        function Source:pull ()
           for _ = 1, math.min(self.left, 100, link.nwritable(self.output.output)) do
              link.transmit(self.output.output, packet.from_string(("%06d"):format(self.left)))
              self.left = self.left - 1
           end
        end
        function Sink:new () return setmetatable({ seen = 0, expected = 20000 }, { __index = Sink }) end
        function Sink:push ()
           while not link.empty(self.input.input) do
              local p = link.receive(self.input.input)
              assert(require("ffi").string(p.data, p.length) == ("%06d"):format(self.expected))
              self.seen, self.expected = self.seen + 1, self.expected - 1
              packet.free(p)
           end
        end
        local c = config.new()
        config.app(c, "source", Source)
        config.app(c, "sink", Sink)
        config.link(c, "source.output -> sink.input")
        engine.placement.sink = 2
        engine.configure(c)
        local sink = engine.app_table.sink
        engine.main { done = function () return sink ~= nil and sink.seen == 20000 end, no_report = true }
        if sink then print(engine.worker, engine.workers, sink.seen, engine.app_table.source) end"#;
    std::fs::write(&file, text).expect("a file");
    let output = run_in(&folder, &["run", "--workers", "2", file.to_str().expect("UTF-8")], false);
    assert_eq!((stdout(&output).as_str(), stderr(&output).as_str()), ("2\t2\t20000\tnil\n", ""));
    let left: Vec<_> = std::fs::read_dir(folder.path("shm")).expect("the folder").collect();
    assert!(left.is_empty(), "{left:?}");
    std::fs::write(&file, "error('on ' .. engine.worker)").expect("a file");
    let output = run_in(&folder, &["run", "--workers", "2", file.to_str().expect("UTF-8")], false);
    assert!(code(&output) == 1 && stderr(&output).contains("two.lua:1: on "), "{}", stderr(&output));
}

/// A graph of 3000 packets through an app in Lua, whose `push` has this in its loop.
fn graph(folder: &Scratch, in_loop: &str) -> Output {
    let lua = folder.path("pass.lua");
    let text = format!(
        "local Pass = {{}}\nfunction Pass:new () return setmetatable({{ n = 0 }}, {{ __index = Pass }}) end\n\
         function Pass:push ()\nlocal i, o = self.input.input, self.output.output\nwhile not link.empty(i) do\n\
         local p = link.receive(i)\nself.n = self.n + 1\n{in_loop}\nend\nend\nreturn Pass\n"
    );
    std::fs::write(&lua, text).expect("a file");
    let toml = folder.path("net.toml");
    let text = format!(
        "links = [\"from.output -> pass.input\", \"pass.output -> to.input\"]\n[app.from]\ntype = \"source\"\ncount = 3000\n\
         [app.pass]\ntype = \"lua\"\nfile = {lua:?}\n[app.to]\ntype = \"sink\"\n"
    );
    std::fs::write(&toml, text).expect("a file");
    run_in(folder, &["run", toml.to_str().expect("UTF-8"), "--duration", "2s"], false)
}

#[test]
fn an_app_in_lua_runs_in_a_graph_of_toml_and_its_books_agree() {
    let folder = Scratch::new();
    let output = graph(&folder, "if self.n % 3 == 0 then packet.free(p) else link.transmit(o, p) end");
    let text = stdout(&output);
    assert_eq!((code(&output), stderr(&output).as_str()), (0, ""));
    assert!(text.contains("freed") && text.contains("1,000") && text.contains("2,000"), "{text}");
    assert!(text.contains("every packet accounted for"), "{text}");
}

#[test]
fn an_app_in_lua_that_fails_is_told_of_and_loses_no_packet() {
    let folder = Scratch::new();
    let output = graph(&folder, "if self.n == 500 then error('five hundred') end link.transmit(o, p)");
    let text = stdout(&output);
    assert!(stderr(&output).contains("pass.lua:8: five hundred"), "{}", stderr(&output));
    assert!(text.contains("every packet accounted for") && text.contains("panic"), "{text}");
}

/// Apps start in no order: the writer must not empty the file before it is known who reads it.
#[test]
fn a_writer_in_lua_does_not_empty_the_file_that_is_read() {
    let folder = Scratch::new();
    let at_least = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/lua/at-least.lua");
    let (file, link) = (folder.path("in.pcap"), folder.path("link.pcap"));
    std::fs::copy(concat!(env!("CARGO_MANIFEST_DIR"), "/../../captures/web.pcap"), &file).expect("a file");
    std::os::unix::fs::symlink(&file, &link).expect("a link");
    let (file, link) = (file.to_str().expect("UTF-8"), link.to_str().expect("UTF-8"));
    let bytes = std::fs::read(file).expect("a file");
    for to in [file, link] {
        let output = run_in(&folder, &["run", at_least, file, to, "500"], false);
        let told =
            format!("PcapWriter: {to} is the file that a PcapReader reads, as {file}: it would be lost");
        assert!(code(&output) == 1 && stderr(&output).contains(&told), "{}", stderr(&output));
        assert_eq!(std::fs::read(file).expect("a file"), bytes);
    }
    // Another file is replaced.
    let to = folder.path("out.pcap");
    std::fs::write(&to, vec![7; 100_000]).expect("a file");
    let words = ["run", at_least, file, to.to_str().expect("UTF-8"), "500"];
    let output = run_in(&folder, &words, false);
    let written = std::fs::read(&to).expect("a file");
    assert_eq!((code(&output), &written[..4]), (0, &bytes[..4]), "{}", stderr(&output));
}

#[test]
fn wrong_options_of_an_app_in_lua_are_refused_at_the_start() {
    let folder = Scratch::new();
    let lua = folder.path("pass.lua");
    let text = "local Pass = { config = { length = { required = true } } }\n\
                function Pass:new () return setmetatable({}, { __index = Pass }) end\nreturn Pass\n";
    std::fs::write(&lua, text).expect("a file");
    let toml = folder.path("net.toml");
    for sandbox in [false, true] {
        for (args, told) in [
            ("length = 1, lenth = 3", "unrecognized parameter 'lenth'"),
            ("", "missing required parameter 'length'"),
        ] {
            let text = format!(
                "links = [\"from.output -> pass.input\"]\n[app.from]\ntype = \"source\"\ncount = 30\n\
                 [app.pass]\ntype = \"lua\"\nfile = {lua:?}\nsandbox = {sandbox}\nargs = {{ {args} }}\n"
            );
            std::fs::write(&toml, text).expect("a file");
            let output = run_in(&folder, &["run", toml.to_str().expect("UTF-8"), "--duration", "2s"], false);
            let error = stderr(&output);
            assert!(code(&output) == 2 && error.contains(told) && error.contains("args"), "{error}");
        }
    }
}

#[test]
fn a_packet_that_is_sent_twice_does_not_leave_the_app() {
    let folder = Scratch::new();
    for cheat in [
        "link.transmit(o, p) if self.n == 700 then packet.free(p) end",
        "link.transmit(o, p) if self.n == 700 then link.transmit(o, p) end",
    ] {
        let output = graph(&folder, cheat);
        assert!(stderr(&output).contains("a packet that it did not have"), "{}", stderr(&output));
        assert!(stdout(&output).contains("every packet accounted for"), "{}", stdout(&output));
    }
}

/// What is told of an app that does wrong, with checks on.
fn checked(in_loop: &str) -> String {
    let folder = Scratch::new();
    let file = folder.path("wrong.lua");
    let text = format!(
        "local A, B = {{}}, {{}}\nfunction A:new () return setmetatable({{}}, {{ __index = A }}) end\n\
         function A:pull () for _ = 1, 100 do link.transmit(self.output.o, packet.from_string('0123456789')) end end\n\
         function B:new () return setmetatable({{}}, {{ __index = B }}) end\n\
         function B:push () while not link.empty(self.input.i) do\nlocal p = link.receive(self.input.i)\n{in_loop}\nend end\n\
         local c = config.new() config.app(c, 'a', A) config.app(c, 'b', B) config.app(c, 'sink', require('sluss.apps').sink)\n\
         config.link(c, 'a.o -> b.i') config.link(c, 'b.o -> sink.i') engine.configure(c)\nengine.main {{ duration = 0.3, no_report = true }}\n"
    );
    std::fs::write(&file, text).expect("a file");
    stderr(&run_in(&folder, &["run", file.to_str().expect("UTF-8")], true))
}

#[test]
fn what_a_lua_app_does_wrong_with_packets_is_told_with_app_and_line() {
    let told = checked("packet.free(p)");
    assert_eq!(told, "");
    for (wrong, expected) in [
        ("packet.free(p) packet.free(p)", "a packet is freed by app `b` in"),
        ("link.transmit(self.output.o, p) packet.append(p, 'x', 1)", "it was transmitted by app `b` in"),
        ("link.transmit(self.output.o, p) p.data[3] = 1", "written after it was transmitted by app `b` in"),
        ("local kept = p", "packets taken by app `b` in"),
    ] {
        let told = checked(wrong);
        assert!(told.contains(expected), "{wrong}: {told}");
        assert!(told.contains("wrong.lua:"), "{told}");
    }
}

#[test]
fn a_folder_without_snabbs_sources_is_refused() {
    let folder = Scratch::new();
    for (tree, expected, told) in [("/nonexistent", 3, "No such file"), (".", 2, "no core/app.lua")] {
        let output = run_in(&folder, &["--snabb", tree, "run", "snabbmark"], false);
        assert_eq!(code(&output), expected, "{}", stderr(&output));
        assert!(stderr(&output).contains(told) && stderr(&output).contains("help: "), "{}", stderr(&output));
    }
}

#[test]
fn what_is_not_lua_has_no_calls_to_tell() {
    let output = program("x = = 1", &[]);
    assert_eq!((code(&output), stderr(&output).lines().count()), (2, 1), "{}", stderr(&output));
    let output = program("local function f () error('boom') end f()", &[]);
    let told = stderr(&output);
    assert!(told.contains("in function 'f'") && !told.contains("sluss/core"), "{told}");
}

/// Not part of the repository: a folder with Snabb's sources, where the variable names one.
#[test]
fn modules_of_a_snabb_tree_run_on_our_engine() {
    let Some(tree) = std::env::var_os("SLUSS_SNABB").filter(|tree| Path::new(tree).is_dir()) else {
        eprintln!("SKIPPED: SLUSS_SNABB names no folder with Snabb's sources");
        return;
    };
    let folder = Scratch::new();
    let tree = tree.to_str().expect("UTF-8");
    for module in ["lib.hash.siphash", "lib.protocol.ethernet", "apps.ipv4.arp", "lib.ctable"] {
        let output = run_in(&folder, &["--snabb", tree, "snsh", "-t", module], false);
        assert_eq!(code(&output), 0, "{module}: {}", stderr(&output));
    }
}

/// A program whose app `flaky` fails at packet 100, once each time that it runs, and keeps three packets of every ten.
const FLAKY: &str = r#"
local starts, kept = 0, {}
local Source, Flaky = {}, {}
function Source:new () return setmetatable({}, { __index = Source }) end
function Source:pull ()
   for _ = 1, 10 do link.transmit(self.output.output, packet.from_string(("x"):rep(60))) end
end
function Flaky:new ()
   starts = starts + 1
   return setmetatable({ n = 0, held = {} }, { __index = Flaky })
end
function Flaky:push ()
   while not link.empty(self.input.input) do
      local p = link.receive(self.input.input)
      self.n = self.n + 1
      if self.n == 100 and starts < 3 then self:fail() end
      if self.n % 10 < 3 then self.held[#self.held + 1] = p else packet.free(p) end
   end
end
function Flaky:fail () error("a hundred") end
function Flaky:stop () kept[#kept + 1] = #self.held end
local c = config.new()
config.app(c, "source", Source)
config.app(c, "flaky", Flaky)
config.link(c, "source.output -> flaky.input")
engine.configure(c)
engine.main { done = function () return starts == 3 and engine.app_table.flaky.n > 100 end, no_report = true }
print(starts, kept[1], kept[2], #kept)
print(tonumber(counter.read(engine.lost)), tonumber(counter.read(engine.dropped)) > 0)
"#;

#[test]
fn an_app_of_a_program_that_fails_is_started_again_with_back_off() {
    let folder = Scratch::new();
    let file = folder.path("flaky.lua");
    std::fs::write(&file, format!("local counter = require('core.counter'){FLAKY}")).expect("a file");
    let file = file.to_str().expect("UTF-8");
    let output = run_in(&folder, &["run", "--restart-first", "20ms", file], false);
    let told = stderr(&output);
    // 29 packets were kept, and one more was in hand.
    assert_eq!((code(&output), stdout(&output).as_str()), (1, "3\t29\t29\t2\n60\ttrue\n"), "{told}");
    for part in [
        "error: app `flaky`: ",
        "flaky.lua:20: a hundred",
        "in function 'fail'",
        "note: app `flaky` is started again in 20 ms; 30 packets that it had are lost",
        "note: app `flaky` is started again in 40 ms; 30 packets",
    ] {
        assert!(told.contains(part), "{part}\n{told}");
    }
    // A program that breathes by itself gets the error, and so does one of `snsh`.
    let text = "local A = { new = function (A) return setmetatable({}, { __index = A }) end, pull = function () error('x') end }
        local c = config.new() config.app(c, 'a', A) engine.configure(c) print(pcall(engine.breathe)) engine.main { duration = 1 }";
    let output = run_in(&folder, &["snsh", "-e", text], false);
    assert!(
        stdout(&output).starts_with("false\t") && stderr(&output).contains("app `a`: "),
        "{}",
        stderr(&output)
    );
}

#[test]
fn an_app_that_does_not_start_again_is_tried_later() {
    let text = "local starts = 0
        local A = { new = function (A) starts = starts + 1 if starts == 2 then error('not now') end return setmetatable({}, { __index = A }) end,
           pull = function () if starts == 1 then error('first') end end }
        local c = config.new() config.app(c, 'a', A) engine.configure(c)
        engine.main { done = function () return starts == 3 end, no_report = true } print(starts)";
    let output = program(text, &[]);
    let told = stderr(&output);
    assert_eq!((code(&output), stdout(&output).as_str()), (1, "3\n"), "{told}");
    assert!(
        told.contains("does not start: ") && told.contains("not now") && told.contains("in 200 ms"),
        "{told}"
    );
}

/// Starts a command that does not end, waits until `is_seen` of what it has told, and ends it.
fn told_by(folder: &Scratch, args: &[&str], is_seen: impl Fn(&str) -> bool) -> String {
    let log = folder.path("log");
    let mut child = sluss(args)
        .env("SNABB_SHM_ROOT", folder.path("shm"))
        .env_remove("SLUSS_SNABB")
        .stderr(std::fs::File::create(&log).expect("a file"))
        .spawn()
        .expect("the command starts");
    let begin = std::time::Instant::now();
    let mut told = String::new();
    while begin.elapsed().as_secs() < 30 && !is_seen(&told) {
        std::thread::sleep(std::time::Duration::from_millis(100));
        told = std::fs::read_to_string(&log).expect("the log");
    }
    child.kill().expect("it runs");
    child.wait().expect("it ends");
    told
}

#[test]
fn an_app_that_loops_for_ever_is_named() {
    let folder = Scratch::new();
    let file = folder.path("loop.lua");
    let text = "local A = { new = function (A) return setmetatable({}, { __index = A }) end, tick = function () while true do end end }
        local c = config.new() config.app(c, 'endless', A) engine.configure(c) engine.main {}";
    std::fs::write(&file, text).expect("a file");
    let named = "warning: app `endless`: its `tick` has not returned for 2 s";
    let told = told_by(&folder, &["run", file.to_str().expect("UTF-8")], |told| told.contains(named));
    assert!(told.contains(named), "{told}");
}

#[test]
fn an_app_of_a_graph_that_loops_for_ever_is_named_by_top() {
    let folder = Scratch::new();
    std::fs::write(
        folder.path("loop.lua"),
        "local A = {} function A:new () return setmetatable({}, { __index = A }) end function A:push () while true do end end return A",
    )
    .expect("a file");
    let toml = folder.path("net.toml");
    std::fs::write(
        &toml,
        format!(
            "links = [\"from.output -> endless.input\"]\n[app.from]\ntype = \"source\"\n[app.endless]\ntype = \"lua\"\nfile = {:?}\n",
            folder.path("loop.lua")
        ),
    )
    .expect("a file");
    let name = format!("lua-loop-{}", std::process::id());
    let mut child = sluss(&["run", "--name", &name, toml.to_str().expect("UTF-8")])
        .env("SNABB_SHM_ROOT", folder.path("shm"))
        .stdout(std::process::Stdio::null())
        .spawn()
        .expect("the command starts");
    let begin = std::time::Instant::now();
    let mut told = String::new();
    while begin.elapsed().as_secs() < 30 && !told.contains("turn of endless lasts") {
        let output =
            sluss(&["top", "--once", "--interval", "200ms", &name]).output().expect("the command starts");
        told = stdout(&output) + &stderr(&output);
    }
    child.kill().expect("it runs");
    child.wait().expect("it ends");
    let _ = sluss(&["ps", "--clean"]).output();
    assert!(told.contains("turn of endless lasts"), "{told}");
}
