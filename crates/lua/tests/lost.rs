//! What becomes of the packets that an app has when it fails, and of the app.

use lua::{Error, Options, Restarts, Sandbox, Vm};
use std::time::Duration;
use testkit::files::Scratch;

/// An app that fails in every turn, with 300 packets, and one that goes on.
const APPS: &str = "
local starts = 0
local Hoard, Steady = {}, {}
function Hoard:new () starts = starts + 1 return setmetatable({}, { __index = Hoard }) end
function Hoard:pull ()
   self.kept = {}
   for i = 1, 300 do self.kept[i] = packet.allocate() end
   error('full')
end
function Steady:new () return setmetatable({ n = 0 }, { __index = Steady }) end
function Steady:pull () packet.free(packet.allocate()) self.n = self.n + 1 end
local c = config.new()
config.app(c, 'hoard', Hoard)
config.app(c, 'steady', Steady)
engine.configure(c)
";

/// How often apps have failed in a program that has 4000 packets.
fn failures(text: &str, sandbox: Option<Sandbox>) -> u64 {
    let folder = Scratch::new();
    let millisecond = Duration::from_millis(1);
    let options = Options {
        shm_root: Some(folder.folder().into()),
        restarts: Some(Restarts { first: millisecond, max: millisecond }),
        packets: Some(4000),
        sandbox,
        ..Options::default()
    };
    let vm = Vm::new(&options).expect("a state");
    match vm.run_text(text.as_bytes(), "=lost", &[]) {
        Err(Error::Apps(failures)) => failures,
        other => panic!("{other:?}"),
    }
}

#[test]
fn an_app_that_loses_packets_again_and_again_stays_down() {
    let text = "
        local counter = require('core.counter')
        local function lost () return tonumber(counter.read(engine.lost)) end
        -- Of 4000 packets, 1200 are more than a quarter.
        engine.main { done = function () return lost() == 1200 end, no_report = true }
        local n = engine.app_table.steady.n
        engine.main { duration = 0.05, no_report = true }
        assert(starts == 4 and lost() == 1200 and engine.app_table.steady.n > n, starts)
        local kept = {}
        local ok, why = pcall(function () while true do kept[#kept + 1] = packet.allocate() end end)
        assert(#kept == 2800, #kept)
        assert(why:find('packet: no memory for more packets; apps that failed have lost 1200', 1, true), why)
        local printed = {}
        print = function (text) printed[#printed + 1] = text end
        engine.report({})
        assert(printed[1] == 'lost with failed apps: 1,200 packets', printed[1])";
    assert_eq!(failures(&format!("{APPS}{text}"), None), 4);
}

#[test]
fn a_field_native_of_an_app_in_lua_does_not_hide_what_it_loses() {
    let apps = APPS.replace("({}, { __index = Hoard })", "({ native = 1 }, { __index = Hoard })");
    assert!(apps.contains("native = 1"));
    let text = "
        engine.main { done = function () return starts == 4 end, no_report = true }
        engine.main { duration = 0.05, no_report = true }
        assert(starts == 4 and tonumber(require('core.counter').read(engine.lost)) == 1200, starts)";
    assert_eq!(failures(&format!("{apps}{text}"), None), 4);
}

/// An app that takes 3000 packets, which another app or a timer frees, and then fails twice.
const SHARED: &str = "
local starts, taken, shared = 0, 0, {}
local function free_all ()
   for i = #shared, 1, -1 do packet.free(table.remove(shared)) end
end
local Give, Take = {}, {}
function Give:new () starts = starts + 1 return setmetatable({}, { __index = Give }) end
function Give:pull ()
   if taken < 3000 then
      for _ = 1, 100 do table.insert(shared, packet.allocate()) end
      taken = taken + 100
   elseif #shared == 0 and starts < 3 then
      error('done')
   end
end
function Take:new () return setmetatable({}, { __index = Take }) end
function Take:pull () if BY_APP then free_all() end end
if not BY_APP then timer.activate(timer.new('free', free_all, 1e6, 'repeating')) end
local c = config.new()
config.app(c, 'give', Give)
config.app(c, 'take', Take)
engine.configure(c)
local give_up = engine.now() + 20
engine.main { done = function () return starts == 3 or engine.now() > give_up end, no_report = true }
assert(starts == 3 and tonumber(require('core.counter').read(engine.lost)) == 0, starts)
";

/// 3000 packets are more than a quarter, but none of them is gone.
#[test]
fn packets_that_others_have_freed_are_not_lost() {
    for by_app in ["true", "false"] {
        assert_eq!(failures(&SHARED.replace("BY_APP", by_app), None), 2);
    }
}

/// An app that fails when it is started again, with 300 packets.
const STARTS: &str = "
local starts = 0
local App = {}
function App:new ()
   starts = starts + 1
   if starts > 1 then
      local kept = {}
      for i = 1, 300 do kept[i] = packet.allocate() end
      error('not now')
   end
   return setmetatable({ p = packet.allocate() }, { __index = App })
end
function App:pull () error('first') end
function App:stop () packet.free(self.p) end
local c = config.new()
config.app(c, 'app', App)
engine.configure(c)
";

#[test]
fn what_an_app_takes_as_it_starts_and_frees_as_it_stops_is_counted() {
    let text = "
        local counter = require('core.counter')
        local function lost () return tonumber(counter.read(engine.lost)) end
        engine.main { done = function () return lost() == 1200 end, no_report = true }
        engine.main { duration = 0.05, no_report = true }
        assert(starts == 5 and lost() == 1200, starts)";
    assert_eq!(failures(&format!("{STARTS}{text}"), None), 5);
    let text = "engine.main { done = function () return starts >= 30 end, no_report = true }";
    let sandbox = Sandbox { packets: 4000, ..Sandbox::default() };
    assert!(failures(&format!("{STARTS}{text}"), Some(sandbox)) >= 29);
}

/// An app that fails when it is told of its link, as it is started again: with 300 packets, of which it frees one as it stops.
const LINKS: &str = "
local counter = require('core.counter')
local starts, stops = 0, 0
local Give, Take = {}, {}
function Give:new () return setmetatable({}, { __index = Give }) end
function Give:pull () link.transmit(self.output.output, packet.allocate()) end
function Take:new ()
   starts = starts + 1
   return setmetatable({ kept = {}, is_first = starts == 1, shm = { seen = { counter } } }, { __index = Take })
end
function Take:link ()
   if self.is_first then return end
   for i = 1, 300 do self.kept[i] = packet.allocate() end
   error('not now')
end
function Take:push () error('first') end
function Take:stop ()
   stops = stops + 1
   if not self.is_first then packet.free(self.kept[1]) end
end
local c = config.new()
config.app(c, 'give', Give)
config.app(c, 'take', Take)
config.link(c, 'give.output -> take.input')
engine.configure(c)
";

#[test]
fn what_an_app_takes_as_it_is_linked_is_counted() {
    let text = "
        engine.main { done = function () return starts == 5 end, no_report = true }
        engine.main { duration = 0.05, no_report = true }
        local lost = tonumber(counter.read(engine.lost))
        assert(starts == 5 and stops == 5 and lost == 4 * 299, lost)
        assert(not require('core.shm').exists('apps/take'))";
    assert_eq!(failures(&format!("{LINKS}{text}"), None), 5);
    let text = "
        engine.main { done = function () return starts >= 30 end, no_report = true }
        assert(stops >= 29)
        local kept = {}
        pcall(function () while true do kept[#kept + 1] = packet.allocate() end end)
        assert(#kept > 3900, #kept)";
    let sandbox = Sandbox { packets: 4000, ..Sandbox::default() };
    assert!(failures(&format!("{LINKS}{text}"), Some(sandbox)) >= 29);
}

/// An app that takes 900 packets as it is started again. Between these, other apps fail to start, start, run and stop, which take and free packets, too.
#[test]
fn what_an_app_takes_as_it_starts_is_counted_also_after_others_have_run() {
    let text = "
        local starts, kept = 0, {}
        local function keep (count) for _ = 1, count do kept[#kept + 1] = packet.allocate() end end
        local App, Guest, Bad = {}, {}, {}
        local alone, with_guest, with_bad = config.new(), config.new(), config.new()
        function Guest:new () keep(20) return setmetatable({}, { __index = Guest }) end
        function Guest:pull () keep(7) end
        function Guest:stop () packet.free(table.remove(kept)) end
        function Bad:new () keep(50) error('never') end
        function App:new ()
           starts = starts + 1
           if starts == 2 then
              keep(300)
              local ok, why = pcall(engine.configure, with_bad)
              assert(not ok and why:find('never', 1, true), why)
              keep(300)
              engine.configure(with_guest)
              engine.breathe()
              keep(200)
              engine.main { done = function () return true end, no_report = true }
              keep(100)
              engine.configure(alone)
              error('not now')
           end
           return setmetatable({}, { __index = App })
        end
        function App:pull () if starts == 1 then error('first') end end
        for _, c in ipairs { alone, with_guest, with_bad } do config.app(c, 'app', App) end
        config.app(with_guest, 'guest', Guest)
        config.app(with_bad, 'bad', Bad)
        engine.configure(alone)
        engine.main { done = function () return starts == 3 end, no_report = true }
        local lost = tonumber(require('core.counter').read(engine.lost))
        assert(#kept == 900 + 50 + 20 + 7 + 7 - 1 and lost == 900, #kept..' '..lost)";
    assert_eq!(failures(text, None), 2);
}

/// An app that takes 900 packets as it is started again, starts another app meanwhile, fails to start a third, and then fails itself.
#[test]
fn in_a_sandbox_only_the_app_that_fails_to_start_loses_its_packets() {
    let text = "
        local starts, kept, whose = 0, {}, nil
        local function keep () for _ = 1, 300 do kept[#kept + 1] = packet.allocate() end end
        local App, Guest, Bad = {}, {}, {}
        local alone, with_guest, with_bad = config.new(), config.new(), config.new()
        function Guest:new () whose = packet.from_string('guest') return setmetatable({}, { __index = Guest }) end
        function Bad:new () error('never') end
        function App:new ()
           starts = starts + 1
           if starts == 2 then
              keep()
              local ok, why = pcall(engine.configure, with_bad)
              assert(not ok and why:find('never', 1, true), why)
              keep()
              engine.configure(with_guest)
              keep()
              error('not now')
           end
           return setmetatable({}, { __index = App })
        end
        function App:pull () if starts == 1 then error('first') end end
        for _, c in ipairs { alone, with_guest, with_bad } do config.app(c, 'app', App) end
        config.app(with_guest, 'guest', Guest)
        config.app(with_bad, 'bad', Bad)
        engine.configure(alone)
        engine.main { done = function () return starts == 3 end, no_report = true }
        assert(packet.length(whose) == 5 and #kept == 900, #kept)
        for i, p in ipairs(kept) do assert(not pcall(packet.length, p), i) end";
    assert_eq!(failures(text, Some(Sandbox { packets: 4000, ..Sandbox::default() })), 2);
}

#[test]
fn in_a_sandbox_the_packets_of_an_app_that_failed_are_used_again() {
    let text = "
        engine.main { done = function () return starts >= 30 end, no_report = true }
        local kept = {}
        pcall(function () while true do kept[#kept + 1] = packet.allocate() end end)
        assert(#kept >= 3700, #kept)
        -- A packet that another was given in a variable is gone with the app that has taken it.
        for _, p in ipairs(kept) do p:free() end
        local Give, given = {}, nil
        function Give:new () return setmetatable({}, { __index = Give }) end
        function Give:pull () given = packet.from_string('x') error('gone') end
        local c = config.new()
        config.app(c, 'give', Give)
        engine.configure(c)
        engine.main { done = function () return given end, no_report = true }
        local ok, why = pcall(packet.length, given)
        assert(not ok and why:find('this is no packet, or one that was transmitted or freed', 1, true), why)";
    let text = format!("{APPS}{text}");
    assert!(failures(&text, Some(Sandbox { packets: 4000, ..Sandbox::default() })) >= 30);
}
