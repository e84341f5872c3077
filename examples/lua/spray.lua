-- Drops every other packet of a capture:
--
--     sluss run spray.lua IN.pcap OUT.pcap

local pcap = require("apps.pcap.pcap")
local link = require("core.link")
local packet = require("core.packet")

local Spray = {}
Spray.__index = Spray

function Spray:new ()
   return setmetatable({ keep = true, dropped = 0 }, self)
end

function Spray:push ()
   local i, o = self.input.input, self.output.output
   for _ = 1, link.nreadable(i) do
      local p = link.receive(i)
      if self.keep then
         link.transmit(o, p)
      else
         packet.free(p)
         self.dropped = self.dropped + 1
      end
      self.keep = not self.keep
   end
end

-- The engine calls this when a program ends.
function Spray:report ()
   print(("dropped %d packets"):format(self.dropped))
end

local from, to = unpack(main.parameters)
if not to then
   print("usage: spray.lua IN.pcap OUT.pcap")
   main.exit(2)
end

local c = config.new()
config.app(c, "reader", pcap.PcapReader, from)
config.app(c, "spray", Spray)
config.app(c, "writer", pcap.PcapWriter, to)
config.link(c, "reader.output -> spray.input")
config.link(c, "spray.output -> writer.input")
engine.configure(c)
engine.main({ done = function () return engine.app_table.reader.done end, report = { showapps = true } })
