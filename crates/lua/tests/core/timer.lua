timer.ticks = 0
local calls = {}
local function note (t) calls[#calls + 1] = t.name end
timer.activate(timer.new("once", note, 3e6))
local repeated = timer.new("again", note, 2e6, "repeating")
timer.activate(repeated)
local cancelled = timer.new("never", note, 1e6)
timer.activate(cancelled)
assert(timer.cancel(cancelled) and not timer.cancel(cancelled))
assert(not pcall(timer.activate, repeated), "it is active")
timer.run_to_time(6e6)
assert(table.concat(calls, " ") == "again once again again", table.concat(calls, " "))
assert(timer.cancel(repeated))

-- A timer may cancel another that is due with it, and start one that is due at once.
calls = {}
local victim = timer.new("victim", note, 1e6)
timer.activate(timer.new("first", function (t)
   note(t)
   timer.cancel(victim)
   timer.activate(timer.new("at once", note, 0))
end, 1e6))
timer.activate(victim)
timer.run_to_time(9e6)
assert(table.concat(calls, " ") == "first,at once" or table.concat(calls, ",") == "first,at once", table.concat(calls, ","))

-- The engine runs them.
timer.ticks, timer.timers = false, {}
local fired = 0
timer.activate(timer.new("engine", function () fired = fired + 1 end, 5e6, "repeating"))
local began = engine.now()
engine.main { duration = 0.1, no_report = true }
-- One more for each end.
assert(fired >= 1 and fired <= (engine.now() - began) / 5e-3 + 2, fired)
fired = 0
engine.main { duration = 0.02, no_timers = true, no_report = true }
assert(fired == 0)
