-- Counts the packets of a capture by what they carry:
--
--     sluss run count.lua IN.pcap

local pcap = require("apps.pcap.pcap")
local link = require("core.link")
local packet = require("core.packet")
local match = require("pf.match")

local Count = {}
Count.__index = Count

function Count:new ()
   local o = setmetatable({ counts = {}, bytes = 0 }, self)
   -- One program decides; each clause calls a method of this app.
   o.dispatch = match.compile([[match {
      tcp => tcp
      udp => udp
      icmp or icmp6 => icmp
      arp => arp
      otherwise => other
   }]])
   return o
end

for _, name in ipairs({ "tcp", "udp", "icmp", "arp", "other" }) do
   Count[name] = function (self, _, length)
      self.counts[name] = (self.counts[name] or 0) + 1
      self.bytes = self.bytes + length
   end
end

function Count:push ()
   local i = self.input.input
   for _ = 1, link.nreadable(i) do
      local p = link.receive(i)
      self.dispatch(self, p.data, p.length)
      packet.free(p)
   end
end

local from = main.parameters[1]
if not from then
   print("usage: count.lua IN.pcap")
   main.exit(2)
end

local c = config.new()
config.app(c, "reader", pcap.PcapReader, from)
config.app(c, "count", Count)
config.link(c, "reader.output -> count.input")
engine.configure(c)
engine.main({ no_report = true, done = function () return engine.app_table.reader.done end })

local count = engine.app_table.count
for _, name in ipairs({ "tcp", "udp", "icmp", "arp", "other" }) do
   print(("%-6s %d"):format(name, count.counts[name] or 0))
end
print(("bytes  %d"):format(count.bytes))
