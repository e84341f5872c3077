//! Code that is not trusted: what it can do, what it tries to do, and what it is told.

use lua::{Error, Failure, Options, Sandbox, Vm};
use std::time::Duration;
use testkit::files::Scratch;

/// Runs text in a sandbox, as the file `try.lua` of a folder of its own.
fn run_in(folder: &Scratch, text: &str, sandbox: Sandbox) -> Result<(), Failure> {
    let registry = apps::registry();
    let options = Options {
        shm_root: Some(folder.path("shm")),
        sandbox: Some(sandbox),
        registry,
        ..Options::default()
    };
    let file = folder.path("try.lua");
    std::fs::write(&file, text).expect("a file");
    match Vm::new(&options).expect("a state").run_file(file.as_ref(), &[]) {
        Ok(()) => Ok(()),
        Err(Error::Raised(failure)) => Err(failure),
        Err(error) => panic!("{error}"),
    }
}

fn run(text: &str) -> Result<(), Failure> {
    run_in(&Scratch::new(), text, Sandbox::default())
}

/// What a program that does not end without an error is told.
fn told(text: &str) -> String {
    match run(text) {
        Ok(()) => panic!("no error: {text}"),
        Err(failure) => failure.message,
    }
}

/// Ways out, and what is said to each.
const ESCAPES: &[(&str, &str)] = &[
    // Modules of the system and of LuaJIT.
    ("require('ffi')", "`ffi` is not there in a sandbox: packets have methods"),
    ("local ffi = ffi", "`ffi` is not there in a sandbox"),
    ("io.open('/etc/passwd')", "`io` is not there in a sandbox"),
    ("os.execute('true')", "`os.execute` is not there in a sandbox"),
    ("os.getenv('HOME')", "`os.getenv` is not there in a sandbox"),
    ("os.exit(0)", "`os.exit` is not there in a sandbox"),
    ("os.remove('x')", "`os.remove` is not there in a sandbox"),
    ("debug.getregistry()", "`debug` is not there in a sandbox"),
    ("require('debug').getinfo(1)", "`debug` is not there in a sandbox"),
    ("jit.off()", "`jit` is not there in a sandbox"),
    ("require('jit.util')", "`jit.util` is not there in a sandbox"),
    ("require('jit.opt').start('hotloop=1')", "`jit.opt` is not there in a sandbox"),
    ("package.loadlib('libc.so.6', 'system')", "`package` is not there in a sandbox"),
    ("package.loaded.ffi = 1", "`package` is not there in a sandbox"),
    ("module('x', 1)", "`module` is not there in a sandbox"),
    ("dofile('/etc/passwd')", "`dofile` is not there in a sandbox"),
    ("loadfile('/etc/passwd')", "`loadfile` is not there in a sandbox"),
    ("require('string.buffer')", "module `string.buffer` is not there in a sandbox"),
    ("require('core.shm')", "module `core.shm` is not there in a sandbox"),
    ("require('core.native')", "module `core.native` is not there in a sandbox"),
    ("require('core.sandbox')", "module `core.sandbox` is not there in a sandbox"),
    ("require('syscall')", "module `syscall` is not there in a sandbox"),
    // Files elsewhere.
    ("require('/etc/passwd')", "is no name of a module in a sandbox"),
    ("require('..secret')", "is no name of a module in a sandbox"),
    ("require('sub...secret')", "is no name of a module in a sandbox"),
    ("require('way_out')", "module `way_out` is not there in a sandbox"),
    // Other globals.
    ("getfenv(0).io.open('x')", "`getfenv` is not there in a sandbox"),
    ("setfenv(1, {})", "`setfenv` is not there in a sandbox"),
    ("newproxy(true)", "`newproxy` is not there in a sandbox"),
    ("collectgarbage('stop')", "`collectgarbage` does no `stop` in a sandbox"),
    ("collectgarbage('setpause', 1e9)", "`collectgarbage` does no `setpause` in a sandbox"),
    ("setmetatable(_G, {})", "cannot change a protected metatable"),
    // Strings share a metatable with everything.
    ("getmetatable('').__index.rep = error", "in a sandbox, `getmetatable` is for tables"),
    ("getmetatable(print)", "in a sandbox, `getmetatable` is for tables"),
    ("getmetatable(1LL).__index = print", "in a sandbox, `getmetatable` is for tables"),
    ("setmetatable('', {})", "table expected, got string"),
    // Bytecode, which LuaJIT does not check.
    ("string.dump(function () end)", "`string.dump` is not there in a sandbox"),
    ("(''):dump()", "`string.dump` is not there in a sandbox"),
    ("assert(load('\\27LJ\\2\\0'))", "bytecode is not loaded in a sandbox"),
    ("assert(loadstring('\\27LJ\\2\\0'))", "bytecode is not loaded in a sandbox"),
    ("assert(load('return 1', 'x', 'b'))", "bytecode is not loaded in a sandbox"),
    (
        "local n = 0 assert(load(function () n = n + 1 return ({'\\27', 'LJ\\2'})[n] end))",
        "bytecode is not loaded in a sandbox",
    ),
    ("load('io.open(1)')()", "`io` is not there in a sandbox"),
    ("load('return _G', 'x', 't', nil)", "the environment of `load` is a table"),
    ("loadstring('return getfenv()')()", "`getfenv` is not there in a sandbox"),
    ("coroutine.wrap(function () return debug.sethook end)()", "`debug` is not there in a sandbox"),
    // Packets and links that are none, or not there any more.
    ("packet.free({ _slot = 0, _use = 0 })", "this is no packet"),
    ("packet.free({ _slot = -1, _use = 0 })", "this is no packet"),
    ("packet.free({ _slot = 0/0, _use = 0/0 })", "this is no packet"),
    ("packet.length(1LL)", "this is no packet"),
    ("link.receive({ _end = 1 })", "this is no link"),
    (
        "link.transmit(setmetatable({}, { __index = function () return 1 end }), packet.allocate())",
        "this is no link",
    ),
    ("local p = packet.allocate() p:free() p:free()", "or one that was transmitted or freed"),
    ("local p = packet.allocate() p:free() return p.length", "or one that was transmitted or freed"),
    ("setmetatable(packet.allocate(), {})", "cannot change a protected metatable"),
    // Bytes beside a packet.
    ("return packet.from_string('abc').data[3]", "1 byte at 3 of a packet of 3 bytes"),
    ("return packet.from_string('abc').data[-1]", "1 byte at -1 of a packet of 3 bytes"),
    ("return packet.from_string('abc')[1.5]", "1 byte at 1.5 of a packet of 3 bytes"),
    ("return packet.from_string('abc')[0/0]", "1 byte at nan of a packet of 3 bytes"),
    ("packet.from_string('abc')[10000] = 1", "1 byte at 10000 of a packet of 3 bytes"),
    ("return packet.from_string('abc'):u16(2)", "2 bytes at 2 of a packet of 3 bytes"),
    ("return packet.from_string('abc'):u32(2^53)", "4 bytes at"),
    ("packet.from_string('abcd'):set_u32(0, 2^32)", "must be a whole number from 0 to 4294967295"),
    ("packet.from_string('abc'):write(2, 'xy')", "2 bytes at 2 of a packet of 3 bytes"),
    ("return packet.from_string('abc'):bytes(1, 3)", "3 bytes at 1 of a packet of 3 bytes"),
    ("return packet.from_string('abc'):bytes(1, -1)", "must be a whole number"),
    ("packet.allocate().length = 10241", "must be a whole number from 0 to 10240"),
    ("packet.allocate():resize(-1)", "must be a whole number from 0 to 10240"),
    ("packet.from_string('abc'):shiftleft(4)", "must be a whole number from 0 to 3"),
    ("packet.from_string('abc'):shiftright(10240)", "must be a whole number from 0 to 10237"),
    ("packet.allocate():append(('x'):rep(10241))", "a packet has room for 10240 bytes"),
    ("packet.allocate():append('x', 100)", "must be a whole number from 0 to 1"),
    ("packet.from_string(('x'):rep(10241))", "at most 10240 bytes"),
    // What the engine does for the program.
    ("config.app(config.new(), '../x', {})", "the name of an app has letters"),
    ("config.app(config.new(), ('x'):rep(61), {})", "and at most 60 of them"),
    ("engine.configure({ apps = { [('x'):rep(61)] = { class = {} } }, links = {} })", "this is no app"),
    (
        "config.link(config.new(), ('x'):rep(61) .. '.o -> b.i')",
        "names of apps and ports have at most 60 letters",
    ),
    (
        "config.link(config.new(), 'a.o' .. (' '):rep(1e6) .. '-> b.i')",
        "names of apps and ports have at most 60 letters",
    ),
    (
        "engine.configure({ apps = {}, links = { ['a.o -> b.' .. ('x'):rep(61)] = true } })",
        "names of apps and ports have at most 60 letters",
    ),
    (
        "local c = config.new() config.app(c, 's', require('sluss.apps').sink, { x = ('x'):rep(4e6) }) engine.configure(c)",
        "have 4000000 bytes at most",
    ),
    ("config.app(config.new(), 'x', { config = { a = {} } }, 'io.open(1)')", "are a table in a sandbox"),
    ("return require('sluss.apps').af_packet", "the native app `af_packet` is not there in a sandbox"),
    ("return require('sluss.apps').router", "the native app `router` is not there in a sandbox"),
    (
        "local c = config.new() config.app(c, 'r', require('sluss.apps').filter, { filter = 'host in {@/etc/passwd}' }) engine.configure(c)",
        "no `@` in a sandbox",
    ),
    ("engine.configure({ apps = { x = 1 }, links = {} })", "this is no app"),
    ("engine.main({ done = 1 })", "`done` is a function"),
    (
        "local apps, c = require('sluss.apps'), config.new() for i = 1, 257 do config.app(c, 'a'..i, apps.sink) end engine.configure(c)",
        "at most 256 apps",
    ),
    ("local all = {} while true do all[#all + 1] = packet.allocate() end", "has them all"),
];

#[test]
fn every_escape_is_told_why_it_fails() {
    let folder = Scratch::new();
    std::fs::write(folder.path("secret.lua"), "return 'secret'").expect("a file");
    let inside = Scratch::new();
    std::os::unix::fs::symlink(folder.path("secret.lua"), inside.path("way_out.lua")).expect("a link");
    for (text, why) in ESCAPES {
        match run_in(&inside, text, Sandbox::default()) {
            Ok(()) => panic!("it went through: {text}"),
            Err(failure) => assert!(failure.message.contains(why), "{text}\n{}", failure.message),
        }
    }
}

/// What can be reached from the globals of the sandbox, by tables, metatables and the calls of iterators.
#[test]
fn nothing_of_the_engine_can_be_reached() {
    let text = r#"
        local p = packet.from_string('abc')
        local App = {}
        function App:new () return setmetatable({}, { __index = App }) end
        function App:push () end
        local c = config.new()
        config.app(c, 'a', App) config.app(c, 'b', App)
        config.app(c, 's', require('sluss.apps').source)
        config.link(c, 'a.o -> b.i') config.link(c, 's.output -> a.i')
        engine.configure(c)
        engine.breathe()
        local seen = {}
        local function look (value, path)
           local kind = type(value)
           assert(kind ~= 'cdata' and kind ~= 'userdata' and kind ~= 'thread', path .. ' is a ' .. kind)
           if kind ~= 'table' or seen[value] then return end
           seen[value] = true
           for key, field in next, value do
              look(key, path .. '.key')
              look(field, path .. '.' .. tostring(key))
           end
           local mt = getmetatable(value)
           assert(mt == nil or type(mt) == 'string' or mt.__index == App, path .. ' has a metatable')
        end
        look(_G, '_G')
        look(p, 'p')
        for _, name in ipairs { 'core.app', 'core.config', 'core.link', 'core.packet', 'core.lib', 'core.counter', 'core.timer', 'core.main',
           'sluss.apps', 'bit', 'os' } do look(require(name), name) end
        for name, f in pairs(string) do assert(f == ('')[name] or name == 'dump', name) end
        assert(tostring(engine.app_table.b.input.i):find('^link ') and #engine.app_table.b.input == 1)
        assert(load('return x', 'x', 't', { x = 7 })() == 7 and load('y = 8') and load('y = 8')() == nil and y == 8)
    "#;
    run(text).expect("all is closed");
}

#[test]
fn packets_have_what_programs_need() {
    let text = r#"
        local p = packet.from_string('0123456789')
        assert(p.length == 10 and #p == 10 and p[0] == 48 and p.data[9] == 57 and p:u8(1) == 49)
        assert(p:u16(0) == 0x3031 and p:u32(2) == 0x32333435 and p:bytes(8) == '89' and p:bytes(2, 3) == '234')
        p[0], p.data[1] = 65, 66
        p:set_u16(2, 0x4344) p:set_u32(4, 0xff464748) p:write(8, 'IJ') p:set_u8(4, 0x45)
        assert(p:bytes() == 'ABCDEFGHIJ')
        local q = p:clone()
        p.length = 12
        assert(p:bytes(10) == '\0\0' and q.length == 10 and q:resize(3):bytes() == 'ABC')
        assert(packet.shiftleft(q, 1):bytes() == 'BC' and packet.prepend(q, 'xyz'):bytes() == 'xyzBC')
        assert(packet.append(q, 'D1', 1):bytes() == 'xyzBCD' and q:shiftright(2).length == 8 and tostring(q) == 'packet of 8 bytes')
        assert(q:shiftright(1000).length == 1008 and q:shiftleft(1002):bytes() == 'xyzBCD')
        p:free() packet.free(q)
        -- As many as there is room for, again and again.
        for round = 1, 3 do
           local all = {}
           for i = 1, 10000 do all[i] = packet.allocate() end
           for i = 1, 10000 do packet.free(all[i]) end
        end
    "#;
    run(text).expect("packets");
}

/// The lesser of two limits holds: that of the program, and that of its sandbox.
#[test]
fn a_program_has_as_many_packets_as_both_limits_allow() {
    let text = b"local n = 0
        local ok, why = pcall(function () while true do packet.allocate() n = n + 1 end end)
        assert(n == 2000 and why:find(arg[1], 1, true), n .. why)";
    for (ours, sandboxes, why) in [(2000, 4000, "no memory for more packets"), (4000, 2000, "has them all")] {
        let folder = Scratch::new();
        let options = Options {
            shm_root: Some(folder.path("shm")),
            packets: Some(ours),
            sandbox: Some(Sandbox { packets: sandboxes, ..Sandbox::default() }),
            ..Options::default()
        };
        let vm = Vm::new(&options).expect("a state");
        vm.run_text(text, "=limits", &[why.to_owned()]).unwrap_or_else(|error| panic!("{ours}: {error}"));
    }
}

#[test]
fn a_graph_of_untrusted_and_native_apps_runs() {
    let text = r#"
        local counter = require('core.counter')
        local apps = require('sluss.apps')
        local Odd = { config = { step = { default = 2 } } }
        Odd.__index = Odd
        function Odd:new (conf) return setmetatable({ n = 0, step = conf.step, shm = { seen = { counter } } }, Odd) end
        function Odd:push (l)
           local i, o = self.input.input, self.output.output
           assert(l == i)
           for _ = 1, link.nreadable(i) do
              local p = link.receive(i)
              counter.add(self.shm.seen)
              self.n = self.n + 1
              if self.n % self.step == 0 then p:free() else link.transmit(o, p) end
           end
        end
        local Both = { push_link = {}, at = {} }
        function Both:new () return setmetatable({}, { __index = Both }) end
        for _, port in ipairs { 'a', 'b' } do
           Both.push_link[port] = function (self, l)
              while not link.empty(l) do link.receive(l):free() Both.at[port] = (Both.at[port] or 0) + 1 end
           end
        end
        local c = config.new()
        config.app(c, 'source', apps.source, { count = 1000 })
        config.app(c, 'odd', Odd)
        config.app(c, 'tee', apps.tee)
        config.app(c, 'both', Both)
        config.link(c, 'source.output -> odd.input')
        config.link(c, 'odd.output -> tee.input')
        config.link(c, 'tee.x -> both.a')
        config.link(c, 'tee.y -> both.b')
        engine.configure(c)
        local ticks = 0
        timer.activate(timer.new('t', function () ticks = ticks + 1 end, 1e6, 'repeating'))
        local odd = engine.app_table.odd
        engine.main { no_report = true, done = function () return Both.at.b == 500 and ticks > 2 end }
        assert(odd.n == 1000 and counter.read(odd.shm.seen) == 1000 and Both.at.a == 500 and odd.appname == 'odd')
        assert(link.stats(engine.link_table['odd.output -> tee.input']).rxpackets == 500)
        local input = odd.input.input
        engine.configure(config.new())
        assert(next(engine.app_table) == nil)
        local ok, why = pcall(link.empty, input)
        assert(not ok and why:find('one that is gone'))
        -- The native tee and the source have no packets left; all others are free again.
        local wrong = config.new()
        config.app(wrong, 'a', Odd)
        config.app(wrong, 'b', Both)
        config.link(wrong, 'a.output -> b.a')
        engine.configure(wrong)
        local ok, why = pcall(link.receive, engine.app_table.a.output.output)
        assert(not ok and why:find('received from inputs'), why)
        local ok, why = pcall(link.transmit, engine.app_table.b.input.a, packet.allocate())
        assert(not ok and why:find('transmitted from outputs'), why)
    "#;
    run(text).expect("a graph");
}

#[test]
fn modules_beside_the_program_are_found_and_are_not_trusted() {
    let folder = Scratch::new();
    std::fs::create_dir(folder.path("sub")).expect("a folder");
    std::fs::write(
        folder.path("sub/one.lua"),
        "return { name = ..., io = pcall(function () return io end) }",
    )
    .expect("a file");
    std::fs::write(folder.path("loop.lua"), "require('loop')").expect("a file");
    std::fs::write(folder.path("code.lua"), b"\x1bLJ\x02").expect("a file");
    let text = "local one = require('sub.one') assert(one.name == 'sub.one' and one.io == false and require('sub.one') == one)
        local ok, why = pcall(require, 'loop') assert(not ok and why:find('requires itself'), why)
        local ok, why = pcall(require, 'code') assert(not ok and why:find('bytecode is not loaded'), why)";
    run_in(&folder, text, Sandbox::default()).expect("modules");
}

/// Loops that a hook alone would not end, and errors that are caught.
#[test]
fn a_turn_that_takes_too_long_is_ended_with_its_line() {
    for text in [
        "\nwhile true do end",
        "local n = 0\nwhile true do n = n + 1 if n % 7 == 0 then n = n + 2 end end",
        "local t = {}\nwhile true do t[#t % 100 + 1] = #t end",
        "\nwhile true do pcall(function () while true do end end) end",
        "\nxpcall(function () while true do end end, function () while true do end end)",
        "local co = coroutine.wrap(function () while true do end end)\nwhile true do pcall(co) end",
        "local function f () return f() end\nf()",
        // In code of the engine, which is left alone for a while.
        "local forever = setmetatable({}, { __pairs = function () return unpack, { 1, 1 }, 1 end })\nrequire('core.lib').bits(forever)",
        "local p = packet.from_string('abc')\nwhile true do p[0] = p:u8(1) end",
        "\nfor _ in pairs(setmetatable({}, { __pairs = function () return function () return 1 end end })) do end",
    ] {
        let sandbox = Sandbox { turn: Duration::from_millis(100), ..Sandbox::default() };
        let failure = run_in(&Scratch::new(), text, sandbox).expect_err(text);
        let why = ": its turn takes too long: the sandbox gives it 100ms of CPU time";
        let is_placed = failure.message.contains("try.lua:") || text.contains("core.lib");
        assert!(is_placed && failure.message.ends_with(why), "{text}: {}", failure.message);
    }
}

/// Each breath is a turn of its own, and so is what a program does between them.
#[test]
fn many_turns_may_take_longer_than_one() {
    let text = "
        local Busy = {}
        function Busy:new () return setmetatable({ n = 0 }, { __index = Busy }) end
        function Busy:pull () local t = os.clock() while os.clock() - t < 0.02 do end self.n = self.n + 1 end
        local c = config.new() config.app(c, 'busy', Busy) engine.configure(c)
        engine.main { done = function () return engine.app_table.busy.n == 20 end, no_report = true }
        Busy.forever = function () while true do end end
        function Busy:tick () if self.n > 25 then Busy.forever() end end
        engine.app_table.busy.n = 0
        engine.configure(config.new()) engine.configure(c)
        engine.main { duration = 60, no_report = true }";
    let sandbox = Sandbox { turn: Duration::from_millis(200), ..Sandbox::default() };
    let failure = run_in(&Scratch::new(), text, sandbox).expect_err("it loops in the end");
    assert_eq!(failure.app.as_deref(), Some("busy"));
    assert!(failure.message.contains("try.lua:7: its turn takes too long"), "{}", failure.message);
    assert!(failure.traceback.contains("in function 'forever'"), "{}", failure.traceback);
}

#[test]
fn memory_ends_at_the_limit_whatever_takes_it() {
    for text in [
        "local t = {} for i = 1, 1e9 do t[i] = { i } end",
        "local s = ('x'):rep(1e5) while true do s = s .. s end",
        "local t = {} for i = 1, 99 do t[i] = ('x'):rep(1e6) .. i end",
        "local t = {} for i = 1, 1e9 do t[i] = function () return i end end",
        "local t = {} for i = 1, 1e9 do t[i] = coroutine.create(print) end",
        "local t = {} for i = 1, 1e9 do t[i] = ('%d'):format(i) end",
        "local text = {} for i = 1, 1e7 do text[i] = 'x=1 ' end load(table.concat(text))",
        "local t = {} for i = 1, 1e9 do pcall(function () t[i] = ('y'):rep(i) end) end error('not enough memory: caught')",
    ] {
        let sandbox = Sandbox { memory_bytes: 8_000_000, turn: Duration::from_secs(5), ..Sandbox::default() };
        let failure = run_in(&Scratch::new(), text, sandbox).expect_err(text);
        let is_told = failure.message.starts_with("not enough memory")
            || failure.message.contains("too large")
            || failure.message.contains("too long")
            || failure.message.contains("not enough memory");
        assert!(is_told, "{text}: {}", failure.message);
    }
    // What is let go of is not counted, however much it is.
    let text = "for i = 1, 2e5 do local s = ('x'):rep(1000) .. i end";
    run_in(&Scratch::new(), text, Sandbox { memory_bytes: 8_000_000, ..Sandbox::default() })
        .expect("garbage");
}

/// Memory that ends in the middle of what LuaJIT's compiler, or a function on packets, does: neither leaves anything half done.
#[test]
fn a_shortage_of_memory_breaks_nothing() {
    let text = "
        engine.configure(config.new())
        local how = 'HOW'
        local packets, kept, small, n = {}, {}, {}, 0
        for i = 1, 64 do packets[i] = packet.from_string(('\\255'):rep(2000)) end
        for i = 1, 3000 do small[i] = false end
        -- Little is left, in pieces of less and less.
        local function keep (size) n = n + 1 kept[n] = ('x'):rep(size) end
        local size = 1e6
        while size >= 1000 do
           if not pcall(keep, size + n) then size = math.floor(size / 2) end
        end
        for i = 1, math.min(n, 12) do kept[n] = nil n = n - 1 end
        collectgarbage()
        for k = 1, #packets do
           engine.breathe()
           local c = 1
           local function fill (with) while c < 3000 do small[c] = (k * 7919 + c) .. with c = c + 1 end end
           pcall(fill, ('z'):rep(4000))
           pcall(fill, ('y'):rep(13 + 9 * k))
           local p, before = packets[k], packets[k].length
           local done = pcall(function ()
              if how == 'left' then p:shiftleft(1) elseif how == 'right' then p:shiftright(1) else p:prepend('\\255') end
           end)
           for i = 1, c do small[i] = false end
           collectgarbage()
           local wanted = before + (done and (how == 'left' and -1 or 1) or 0)
           if p.length ~= wanted and p.length ~= before then error('length ' .. p.length) end
        end";
    for how in ["left", "right", "prepend"] {
        for megabytes in 4..9 {
            let sandbox = Sandbox {
                memory_bytes: megabytes * 1_000_000,
                turn: Duration::from_secs(20),
                ..Sandbox::default()
            };
            // It may end for want of memory.
            if let Err(failure) = run_in(&Scratch::new(), &text.replace("HOW", how), sandbox) {
                assert!(failure.message.contains("not enough memory"), "{how}: {}", failure.message);
            }
        }
    }
}

/// What an error says is asked of the program nowhere outside of its limits.
#[test]
fn an_error_that_is_no_text_runs_no_code() {
    for text in [
        "error(setmetatable({}, { __tostring = function () while true do end end }))",
        "error(setmetatable({}, { __tostring = function () local t = {} while true do t[#t + 1] = {} end end }))",
    ] {
        assert_eq!(told(text), "an error that is no text");
    }
}

#[test]
fn an_app_cannot_run_the_engine_inside_of_it() {
    let text = "
        local App = {}
        function App:new () return setmetatable({}, { __index = App }) end
        function App:pull () while true do engine.breathe() end end
        local c = config.new() config.app(c, 'app', App) engine.configure(c) engine.main { duration = 1 }";
    assert!(told(text).contains("an app does not run the engine"), "{}", told(text));
}

/// Calls that C functions make, each of which takes some of the thread's stack. The smallest is that of a worker.
#[test]
fn what_calls_back_is_counted_whatever_it_changes() {
    // What a later argument does to an earlier one.
    run("local function f ()
             local first = {}
             local second = setmetatable({}, { __tostring = function ()
                 setmetatable(first, { __tostring = f })
                 return 'b'
             end })
             return ('%s%s'):format(first, second)
         end
         assert(f():find('^table: 0x%x+b$'), f())")
    .unwrap_or_else(|failure| panic!("{failure}"));
    // A call of the engine is over before another begins: a coroutine that goes on later would be as deep as where it was left.
    run("local A = {}
         function A:new () coroutine.yield() return setmetatable({}, { __index = A }) end
         local c = config.new()
         config.app(c, 'a', A)
         local co = coroutine.create(function () engine.configure(c) end)
         coroutine.resume(co)
         assert(coroutine.status(co) == 'dead')")
    .unwrap_or_else(|failure| panic!("{failure}"));
}

#[test]
fn functions_that_call_back_without_end_raise_an_error() {
    for text in [
        "local s = ('x'):rep(10) local function f () return (s:gsub('x', f)) end f()",
        "local t t = setmetatable({}, { __index = function () return (('x'):gsub('x', t)) end }) return t.x",
        "local function f () coroutine.wrap(function () f() end)() end f()",
        "local function f () assert(coroutine.resume(coroutine.create(f))) end f()",
        "local function f () table.sort({ 1, 2 }, f) end f()",
        "local mt = {} local function t () return setmetatable({}, mt) end function mt.__lt () table.sort({ t(), t() }) end mt.__lt()",
        "local t = setmetatable({}, { __tostring = function (t) return ('%s'):format(t) end }) tostring(t)",
        "local t t = setmetatable({}, { __index = function () return os.time(t) end }) os.time(t)",
        "local function done () engine.main { done = done, no_report = true } end done()",
        "local A = {} function A:new () local c = config.new() config.app(c, 'a', A) engine.configure(c) end A:new()",
    ] {
        assert!(told(text).contains("stack overflow"), "{text}: {}", told(text));
        // Caught, again and again, it is an error that leaves nothing behind.
        let caught = format!(
            "for _ = 1, 3 do
                local ok, why = pcall(function () {text} end)
                assert(not ok and tostring(why):find('stack overflow'), why)
            end
            table.sort({{ 2, 1 }}, function (a, b) return a < b end)
            assert(coroutine.wrap(function () return 7 end)() == 7)"
        );
        run(&caught).unwrap_or_else(|failure| panic!("{text}: {failure}"));
        // The first worker that ends, ends the engine of all.
        if text.contains("engine.") {
            continue;
        }
        let folder = Scratch::new();
        let file = folder.path("try.lua");
        std::fs::write(&file, &caught).expect("a file");
        let options = Options {
            shm_root: Some(folder.path("shm")),
            sandbox: Some(Sandbox::default()),
            ..Options::default()
        };
        Vm::run_file_on_workers(&options, 2, &file, &[]).unwrap_or_else(|error| panic!("{text}: {error}"));
    }
}

/// What of Lua's libraries calls back is made anew in a sandbox, and does the same.
#[test]
fn functions_that_call_back_do_what_those_of_lua_do() {
    let text = r#"
        local function same (text, pattern, by, most, expected, count)
           local result, n = text:gsub(pattern, by, most)
           assert(result == expected and n == count, result .. ' ' .. n)
        end
        same('hello', 'l', function (c) return c:upper() end, nil, 'heLLo', 2)
        same('hello', '(h)(e)', function (a, b) return b .. a end, nil, 'ehllo', 1)
        same('abc', '%w*', function () return 'x' end, nil, 'xx', 2)
        same('abc', '', function () return '-' end, nil, '-a-b-c-', 4)
        same('aab', '^a', { a = 'x' }, nil, 'xab', 1)
        same('a b', '()%w', function (at) return at end, nil, '1 3', 2)
        same('aaa', 'a', function () return 'b' end, 2, 'bba', 2)
        same('aXb', '%u', { X = false }, nil, 'aXb', 1)
        same('the fox', '%f[%a]%a+', { the = 'a' }, nil, 'a fox', 2)
        assert(('x'):gsub('x', '%0%0') == 'xx' and not pcall(string.gsub, 'x', 'x', function () return {} end))
        local named = setmetatable({}, { __tostring = function () return 'name' end })
        assert(('%s %d %s'):format(named, 4, nil) == 'name 4 nil')
        assert(os.time { year = 2020, month = 1, day = 2 } - os.time { year = 2020, month = 1, day = 1 } == 86400)
        local t = { 3, 1, 2 }
        table.sort(t, function (a, b) return a > b end)
        assert(table.concat(t) == '321' and not pcall(table.sort, { 1, 'x' }))
        local numbers = coroutine.wrap(function (n) for i = 1, n do coroutine.yield(i) end end)
        assert(numbers(2) == 1 and numbers() == 2 and numbers() == nil and not pcall(numbers))
    "#;
    run(text).expect("the same");
}
