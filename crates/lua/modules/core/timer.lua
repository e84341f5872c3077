-- Timers: functions that are called after a time, once or again and again, with a resolution of a millisecond. The engine runs them between breaths.
local ffi = require("ffi")
local native = require("core.native")
local C, core = ffi.C, native.core

local timer = {
   ticks = false,      -- The time up to which timers have run, in ticks; false until one is activated.
   ns_per_tick = 1e6,
   timers = {},        -- By tick: an array of timers.
   running = false,    -- The tick whose timers are being called.
}

function timer.new (name, fn, nanoseconds, mode)
   return { name = name, fn = fn, ticks = math.ceil(nanoseconds / timer.ns_per_tick), repeating = mode == "repeating" }
end

function timer.activate (t)
   assert(t.next_tick == nil, "timer already activated")
   if not timer.ticks then
      timer.ticks = math.floor(tonumber(C.get_time_ns()) / timer.ns_per_tick)
      core.timers = 1
   end
   local tick = timer.ticks + t.ticks
   -- One that is due at once is due at the next tick, if a timer activates it.
   if tick == timer.running then tick = tick + 1 end
   local due = timer.timers[tick]
   if due then due[#due + 1] = t else timer.timers[tick] = { t } end
   t.next_tick = tick
end

-- Returns true if the timer was active.
function timer.cancel (t)
   if not t.next_tick then return end
   local due = timer.timers[t.next_tick]
   t.next_tick = nil
   for i, other in ipairs(due or {}) do
      if other == t then
         table.remove(due, i)
         break
      end
   end
   return true
end

-- Runs what is due now.
function timer.run ()
   if timer.ticks then timer.run_to_time(tonumber(C.get_time_ns())) end
end

-- Runs what is due until a time in nanoseconds, tick by tick.
function timer.run_to_time (ns)
   local timers = timer.timers
   for tick = timer.ticks, math.floor(tonumber(ns) / timer.ns_per_tick) do
      timer.ticks = tick
      local due = timers[tick]
      if due then
         timers[tick], timer.running = nil, tick
         for _, t in ipairs(due) do
            -- Unless an earlier timer has cancelled it.
            if t.next_tick == tick then
               t.next_tick = nil
               t.fn(t)
               if t.repeating then timer.activate(t) end
            end
         end
         timer.running = false
      end
   end
end

function timer.init () error("timer.init() is gone: timers need no preparation") end

return timer
