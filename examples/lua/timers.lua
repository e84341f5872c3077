-- Functions that are called after a time, once and again and again, while packets flow:
--
--     sluss run timers.lua

local basic = require("apps.basic.basic_apps")
local timer = require("core.timer")

local c = config.new()
config.app(c, "source", basic.Source)
config.app(c, "sink", basic.Sink)
config.link(c, "source.output -> sink.input")
engine.configure(c)

local ticks, over = 0, false
local every = timer.new("every 10 ms", function ()
   ticks = ticks + 1
end, 10e6, "repeating")
timer.activate(every)
timer.activate(timer.new("after 100 ms", function ()
   timer.cancel(every)
   over = true
end, 100e6))

engine.main({ no_report = true, done = function () return over end })
print(("the repeating timer ran between 5 and 10 times: %s"):format(tostring(ticks >= 5 and ticks <= 10)))
