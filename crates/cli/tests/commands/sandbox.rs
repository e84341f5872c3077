//! `sluss run --sandbox`, and apps of graphs with `sandbox = true`: the flags, the captures that are allowed, and turns that nothing ends.

use crate::common::{self, code, sluss, stderr, stdout};
use std::process::Output;
use testkit::files::Scratch;

/// Runs text as a program in a sandbox, with these flags before it and these words behind it.
fn run_in(folder: &Scratch, text: &str, flags: &[&str], words: &[&str]) -> Output {
    let file = folder.path("program.lua");
    std::fs::write(&file, text).expect("a file");
    let words = [&["run", "--sandbox"], flags, &[file.to_str().expect("UTF-8")], words].concat();
    sluss(&words)
        .env("SNABB_SHM_ROOT", folder.path("shm"))
        .env_remove("SLUSS_SNABB")
        .output()
        .expect("the command starts")
}

const COPY: &str = "local apps = require('sluss.apps')
    local c = config.new()
    config.app(c, 'reader', apps.pcap_reader, { path = arg[1] })
    config.app(c, 'writer', apps.pcap_writer, { path = arg[2] })
    config.link(c, 'reader.output -> writer.input')
    engine.configure(c)
    engine.main { no_report = true, done = function () return engine.app_table.writer:counters().delivered == 121 end }
    print('copied', engine.app_table.writer.counters().delivered)";

#[test]
fn captures_are_those_that_the_command_line_names() {
    let folder = Scratch::new();
    let (from, to) = ("captures/web.pcap", folder.path("out.pcap").display().to_string());
    let output = run_in(&folder, COPY, &["--sandbox-read", from, "--sandbox-write", &to], &[from, &to]);
    assert_eq!((code(&output), stdout(&output).as_str()), (0, "copied\t121\n"), "{}", stderr(&output));
    for (flags, use_) in [(&["--sandbox-read", from][..], "write"), (&["--sandbox-write", &to], "read")] {
        let output = run_in(&folder, COPY, flags, &[from, &to]);
        assert_eq!(code(&output), 1);
        let told = format!("error: the sandbox gives no leave to {use_} ");
        assert!(
            stderr(&output).contains(&told) && stderr(&output).contains("--sandbox-"),
            "{}",
            stderr(&output)
        );
    }
    // A link to the file is the file; one to another is not.
    std::os::unix::fs::symlink("/etc/passwd", folder.path("link")).expect("a link");
    let link = folder.path("link").display().to_string();
    let output = run_in(&folder, COPY, &["--sandbox-read", from, "--sandbox-write", &to], &[&link, &to]);
    assert!(stderr(&output).contains("no leave to read"), "{}", stderr(&output));
}

#[test]
fn flags_limit_memory_and_time() {
    let folder = Scratch::new();
    let greedy = "local t = {} for i = 1, 1e9 do t[i] = { i } end";
    let output = run_in(&folder, greedy, &["--sandbox-memory", "4MB"], &[]);
    assert_eq!(code(&output), 1);
    assert!(
        stderr(&output).contains("not enough memory: the sandbox gives it 4000000 bytes"),
        "{}",
        stderr(&output)
    );
    let output = run_in(&folder, "while true do end", &["--sandbox-turn", "50ms"], &[]);
    assert_eq!(code(&output), 1);
    assert!(stderr(&output).contains("program.lua:1: its turn takes too long"), "{}", stderr(&output));
    for (flags, told) in [
        (&["--sandbox-memory", "4"][..], "64MB, 512KiB, 1GiB"),
        (&["--sandbox-memory", "1KB"], "use 64KiB or more"),
        (&["--sandbox-turn", "0"], "use 1ms or more"),
        (&["--coach"], "exclude each other"),
    ] {
        let output = run_in(&folder, "", flags, &[]);
        assert_eq!(code(&output), 2, "{flags:?}");
        assert!(stderr(&output).contains(told), "{flags:?}: {}", stderr(&output));
    }
    let output = sluss(&["run", "--sandbox", "examples/tee.toml"]).output().expect("the command starts");
    assert!(
        code(&output) == 2 && stderr(&output).contains("`--sandbox` is for programs in Lua"),
        "{}",
        stderr(&output)
    );
}

/// A function in C cannot be interrupted, so the process ends, and leaves nothing behind.
#[test]
fn a_turn_that_nothing_ends_ends_the_process() {
    let folder = Scratch::new();
    let text = "local A = {}
        function A:new () return setmetatable({}, { __index = A }) end
        function A:pull () return ('a'):rep(30000):find(('.-'):rep(40) .. 'b') end
        local c = config.new() config.app(c, 'searcher', A) engine.configure(c) engine.main {}";
    let output = run_in(&folder, text, &["--sandbox-turn", "100ms"], &[]);
    assert_eq!(code(&output), 1);
    let told = stderr(&output);
    assert!(
        told.contains("error: app `searcher`: its turn takes too long: more than twice the 100ms"),
        "{told}"
    );
    assert!(std::fs::read_dir(folder.path("shm")).expect("the folder").next().is_none());
}

/// An app that takes too much is stopped and started again, as any other; the rest goes on.
#[test]
fn an_app_of_a_program_in_a_sandbox_is_started_again() {
    let folder = Scratch::new();
    let text = "local starts, other = 0, 0
        local A, B = {}, {}
        function A:new () starts = starts + 1 return setmetatable({}, { __index = A }) end
        function A:tick () if starts == 1 then while true do end end end
        function B:new () return setmetatable({}, { __index = B }) end
        function B:pull () other = other + 1 end
        local c = config.new() config.app(c, 'a', A) config.app(c, 'b', B) engine.configure(c)
        engine.main { done = function () return starts == 2 and other > 100 end, no_report = true }
        print('went on', starts)";
    let output = run_in(&folder, text, &["--sandbox-turn", "50ms"], &[]);
    assert_eq!((code(&output), stdout(&output).as_str()), (1, "went on\t2\n"), "{}", stderr(&output));
    assert!(
        stderr(&output).contains("error: app `a`: ") && stderr(&output).contains("started again in 100 ms")
    );
}

#[test]
fn what_a_program_prints_has_no_control_characters() {
    let folder = Scratch::new();
    let output = run_in(&folder, "print('a\\27[2Jb\\n', 1) error('c\\27[31m')", &[], &[]);
    assert_eq!(stdout(&output), "a\\27[2Jb\n\t1\n");
    assert!(!stderr(&output).contains('\u{1b}'), "{:?}", stderr(&output));
}

#[test]
fn workers_of_a_sandbox_share_the_work() {
    let folder = Scratch::new();
    let text = "local A, B = {}, {}
        function A:new () return setmetatable({}, { __index = A }) end
        function A:pull () for _ = 1, 10 do link.transmit(self.output.output, packet.from_string('abc')) end end
        function B:new () return setmetatable({ n = 0 }, { __index = B }) end
        function B:push () while not link.empty(self.input.input) do link.receive(self.input.input):free() self.n = self.n + 1 end end
        local c = config.new() config.app(c, 'a', A) config.app(c, 'b', B) config.link(c, 'a.output -> b.input')
        engine.placement.b = 2
        engine.configure(c)
        local b = engine.app_table.b
        engine.main { done = function () return b ~= nil and b.n > 20000 end, no_report = true }
        if b then print(engine.worker, b.n > 20000) end";
    let output = run_in(&folder, text, &["--workers", "2"], &[]);
    assert_eq!((code(&output), stdout(&output).as_str()), (0, "2\ttrue\n"), "{}", stderr(&output));
}

/// A graph of 3000 packets through an app in a sandbox, whose `push` has this in its loop.
fn graph(in_loop: &str, options: &str) -> Output {
    let folder = Scratch::new();
    let lua = folder.path("pass.lua");
    let text = format!(
        "local Pass = {{ config = {{ least = {{ default = 0 }} }} }}\nfunction Pass:new (conf)\n\
         return setmetatable({{ n = 0, least = conf.least }}, {{ __index = Pass }}) end\nfunction Pass:push ()\n\
         local i, o = self.input.input, self.output.output\nwhile not link.empty(i) do\nlocal p = link.receive(i)\n\
         self.n = self.n + 1\n{in_loop}\nend\nend\nreturn Pass\n"
    );
    std::fs::write(&lua, text).expect("a file");
    let toml = folder.path("net.toml");
    let text = format!(
        "links = [\"from.output -> pass.input\", \"pass.output -> to.input\"]\n[app.from]\ntype = \"source\"\ncount = 3000\n\
         [app.pass]\ntype = \"lua\"\nfile = {lua:?}\nsandbox = true\n{options}\n[app.to]\ntype = \"sink\"\n"
    );
    std::fs::write(&toml, text).expect("a file");
    sluss(&["run", toml.to_str().expect("UTF-8"), "--duration", "2s"]).output().expect("the command starts")
}

/// A worker's thread has a smaller stack than a program.
#[test]
fn an_app_of_a_graph_that_calls_itself_without_end_raises_an_error() {
    for calls in [
        "local s = ('x'):rep(10) local function f () return (s:gsub('x', f)) end",
        "local function f () coroutine.wrap(function () f() end)() end",
        "local function f () table.sort({ 1, 2 }, f) end",
    ] {
        let once = format!(
            "if self.n == 7 then {calls} local ok, why = pcall(f)\n\
             if ok or not tostring(why):find('stack overflow') then error(why) end end link.transmit(o, p)"
        );
        let output = graph(&once, "");
        let text = stdout(&output);
        assert_eq!((code(&output), stderr(&output).as_str()), (0, ""), "{calls}: {text}");
        assert!(text.contains("3,000") && text.contains("every packet accounted for"), "{text}");
    }
}

#[test]
fn an_app_of_a_graph_can_be_confined() {
    let output = graph(
        "if self.n % 3 == self.least then packet.free(p) else link.transmit(o, p) end",
        "args = { least = 1 }",
    );
    let text = stdout(&output);
    assert_eq!((code(&output), stderr(&output).as_str()), (0, ""), "{text}");
    assert!(text.contains("2,000") && text.contains("every packet accounted for"), "{text}");
    for (in_loop, options, told) in [
        ("io.open('/etc/passwd')", "", "`io` is not there in a sandbox"),
        ("link.transmit(o, p) p[0] = 1", "", "or one that was transmitted or freed"),
        (
            "while true do end",
            "sandbox_turn_ms = 50",
            "pass.lua:9: its turn takes too long: the sandbox gives it 50ms",
        ),
        (
            "local t = {} while true do t[#t + 1] = {} end",
            "sandbox_memory_mb = 2",
            "not enough memory: the sandbox gives it 2000000 bytes",
        ),
    ] {
        let output = graph(in_loop, options);
        assert!(stderr(&output).contains(told), "{in_loop}: {}", stderr(&output));
        assert!(stdout(&output).contains("every packet accounted for"), "{in_loop}: {}", stdout(&output));
    }
    let output = graph("packet.free(p)", "sandbox_turn_ms = 0");
    assert!(code(&output) == 2 && stderr(&output).contains("sandbox_turn_ms"), "{}", stderr(&output));
}

/// Its file and its `new` are turns of its own, which end.
#[test]
fn an_app_of_a_graph_does_not_run_an_engine() {
    let class = "local A = {}\nfunction A:new () return setmetatable({}, { __index = A }) end\nfunction A:push () end\n";
    for text in [
        format!("engine.main {{ no_report = true }}\n{class}return A\n"),
        format!("while true do engine.breathe() end\n{class}return A\n"),
        format!("{class}function A:new () while true do engine.configure(config.new()) end end\nreturn A\n"),
    ] {
        let folder = Scratch::new();
        std::fs::write(folder.path("app.lua"), &text).expect("a file");
        let graph = format!(
            "links = ['source.output -> app.input']\n[app.source]\ntype = 'source'\n\
             [app.app]\ntype = 'lua'\nfile = '{}'\nsandbox = true\n",
            folder.path("app.lua").display()
        );
        std::fs::write(folder.path("graph.toml"), graph).expect("a file");
        let file = folder.path("graph.toml");
        let output =
            sluss(&["run", "--duration", "1s", file.to_str().expect("UTF-8")]).output().expect("it ends");
        let told = stderr(&output);
        assert!(code(&output) != 0 && told.contains("an app does not run the engine"), "{text}: {told}");
    }
}

/// If the program got out, it could start no other, and reach nobody.
#[test]
fn the_process_cannot_start_programs_or_open_sockets() {
    let folder = Scratch::new();
    let file = folder.path("program.lua");
    std::fs::write(&file, "engine.main { duration = 60 }").expect("a file");
    let mut child = sluss(&["run", "--sandbox", file.to_str().expect("UTF-8")])
        .env("SNABB_SHM_ROOT", folder.path("shm"))
        .env_remove("SLUSS_SNABB")
        .spawn()
        .expect("the command starts");
    let mode = || {
        let status = std::fs::read_to_string(format!("/proc/{}/status", child.id())).expect("it runs");
        status.lines().find_map(|line| Some(line.strip_prefix("Seccomp:")?.trim().to_owned()))
    };
    let begin = std::time::Instant::now();
    while mode().is_some_and(|mode| mode != "2") && begin.elapsed().as_secs() < 20 {
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    let mode = mode();
    child.kill().expect("it runs");
    child.wait().expect("it ends");
    match mode {
        None => common::say("SKIPPED: whether a sandbox is under seccomp: this kernel does not say"),
        Some(mode) => assert_eq!(mode, "2"),
    }
}
