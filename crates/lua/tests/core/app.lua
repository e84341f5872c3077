-- Classes that count their calls.
local trace
local function class (methods)
   local c = {}
   c.__index = c
   function c:new (arg) return setmetatable({ arg = arg, calls = {} }, c) end
   for _, name in ipairs(methods) do
      c[name] = function (self, ...)
         self.calls[#self.calls + 1] = { name, ... }
         if trace then trace[#trace + 1] = self.appname.."."..name end
      end
   end
   return c
end
local function breathe_traced ()
   trace = {}
   engine.breathe()
   local text = table.concat(trace, " ")
   trace = nil
   return text
end

local Source, Through = class { "pull" }, class { "push" }

-- Pulls by name, pushes once for each link, upstream first; the same app twice in a row is called once.
local c = config.new()
config.app(c, "z", Source)
config.app(c, "a", Source)
config.app(c, "first", Through)
config.app(c, "last", Through)
config.link(c, "z.out -> first.x")
config.link(c, "a.out -> last.direct")
config.link(c, "first.out -> last.y")
engine.configure(c)
local order = breathe_traced()
assert(order:match("^a%.pull z%.pull "), order)
assert(order:find("first.push", 1, true) < order:find("last.push", #order - 9, true), order)
assert(engine.configs.c == 1)

-- An app that stays keeps its links; another argument restarts it, unless its class has `reconfig`.
local apps, links = engine.app_table, engine.link_table
local old_first, old_link = apps.first, links["z.out -> first.x"]
config.app(c, "first", Through, { size = 1 })
engine.configure(c)
assert(apps.first ~= old_first and apps.first.arg.size == 1)
assert(apps.first.input.x == old_link and apps.first.input[1] == old_link)
local Adaptable = class { "push", "reconfig", "stop" }
config.app(c, "last", Adaptable, 1)
engine.configure(c)
local last = apps.last
config.app(c, "last", Adaptable, 2)
engine.configure(c)
assert(apps.last == last and last.calls[1][1] == "reconfig" and last.calls[1][2] == 2)

-- The actions of a change are data.
local smaller = config.new()
config.app(smaller, "z", Source)
local actions = {}
for _, action in ipairs(engine.compute_config_actions(engine.configuration, smaller)) do
   actions[action[1]] = (actions[action[1]] or 0) + 1
end
assert(actions.stop_app == 3 and actions.free_link == 3 and actions.unlink_input == 3 and not actions.start_app)
engine.configure(smaller)
assert(last.calls[#last.calls][1] == "stop" and apps.last == nil and next(links) == nil)
assert(not pcall(function ()
   config.link(smaller, "z.out -> nobody.x")
   engine.configure(smaller)
end))
engine.stop()
assert(next(apps) == nil)

-- `link` and `unlink` are told; `push_link` takes the place of `push`.
local Linked = class { "push", "link", "unlink" }
Linked.push_link = { special = function (self, l) self.special = l end }
c = config.new()
config.app(c, "source", Source)
config.app(c, "linked", Linked)
config.link(c, "source.a -> linked.special")
config.link(c, "source.b -> linked.plain")
engine.configure(c)
engine.breathe()
local linked = apps.linked
assert(linked.special == linked.input.special)
local names = {}
for _, call in ipairs(linked.calls) do names[call[1]] = (names[call[1]] or 0) + 1 end
assert(names.link == 2 and names.push == 1)
local without = config.new()
config.app(without, "source", Source)
config.app(without, "linked", Linked)
engine.configure(without)
assert(linked.calls[#linked.calls][1] == "unlink" and #linked.input == 0)

-- Time stands still in a breath. Counters of an app are files, with the time of its start.
local shm = require("core.shm")
local counter = require("core.counter")
local Timely = {}
function Timely:new () return setmetatable({ shm = { seen = { counter, 3 } } }, { __index = Timely }) end
function Timely:pull ()
   local now = engine.now()
   for _ = 1, 1e5 do assert(engine.now() == now) end
   counter.add(self.shm.seen)
end
function Timely:tick () self.ticks = (self.ticks or 0) + 1 end
c = config.new()
config.app(c, "timely", Timely)
engine.configure(c)
local start = engine.now()
engine.main { duration = 0.1, no_report = true }
assert(engine.now() - start >= 0.1)
assert(apps.timely.ticks >= 1 and apps.timely.ticks <= 110)
assert(counter.read(apps.timely.shm.seen) >= 4)
assert(shm.exists("apps/timely/seen.counter") and shm.exists("apps/timely/dtime.counter"))
engine.stop()
assert(not shm.exists("apps/timely"))

-- `done` ends a run; the breath in which an app raises an error raises it.
local n = 0
engine.main { done = function () n = n + 1 return n == 3 end, no_report = true }
assert(n == 3)
local Failing = {}
function Failing:new () return setmetatable({}, { __index = Failing }) end
function Failing:pull () error({ code = 7 }) end
c = config.new()
config.app(c, "failing", Failing)
engine.configure(c)
local ok, value = pcall(engine.breathe)
assert(not ok and value.code == 7)
engine.stop()

-- A graph may change in the middle of a breath.
local Changing = {}
function Changing:new () return setmetatable({}, { __index = Changing }) end
function Changing:pull () engine.configure(config.new()) end
c = config.new()
config.app(c, "changing", Changing)
config.app(c, "other", Source)
engine.configure(c)
engine.breathe()
assert(next(apps) == nil)

-- Names of programs.
engine.claim_name("test-program")
assert(engine.enumerate_named_programs()["test-program"])
engine.unclaim_name()
assert(not engine.enumerate_named_programs()["test-program"] and not engine.program_name)
assert(not pcall(engine.unclaim_name))
