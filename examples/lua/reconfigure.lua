-- Changes a network while it runs. Apps that stay as they were keep running; those whose configuration has changed are told, or started anew:
--
--     sluss run reconfigure.lua

local basic = require("apps.basic.basic_apps")
local link = require("core.link")
local packet = require("core.packet")

-- Frees packets and counts them. It can take a new label without being started anew.
local Labelled = {}
Labelled.__index = Labelled

function Labelled:new (label)
   print("start with label "..label)
   return setmetatable({ label = label, count = 0 }, self)
end

function Labelled:reconfig (label)
   print(("label %s becomes %s"):format(self.label, label))
   self.label = label
end

function Labelled:push ()
   local i = self.input.input
   for _ = 1, link.nreadable(i) do
      packet.free(link.receive(i))
      self.count = self.count + 1
   end
end

function Labelled:stop ()
   print("stop with label "..self.label)
end

local function network (label, with_tee)
   local c = config.new()
   config.app(c, "source", basic.Source)
   config.app(c, "labelled", Labelled, label)
   if with_tee then
      config.app(c, "tee", basic.Tee)
      config.app(c, "sink", basic.Sink)
      config.link(c, "source.output -> tee.input")
      config.link(c, "tee.first -> labelled.input")
      config.link(c, "tee.second -> sink.input")
   else
      config.link(c, "source.output -> labelled.input")
   end
   return c
end

local function breathe (breaths)
   engine.main({ no_report = true, done = function ()
      breaths = breaths - 1
      return breaths == 0
   end })
end

engine.configure(network("one"))
local app = engine.app_table.labelled
breathe(10)
engine.configure(network("two"))
breathe(10)
engine.configure(network("two", true))
breathe(10)
print("still the same app: "..tostring(engine.app_table.labelled == app))
print("packets in each part: "..tostring(app.count >= 30 * 100))
engine.configure(config.new())
