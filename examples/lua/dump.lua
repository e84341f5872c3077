-- Prints the headers of the packets of a capture, a line each:
--
--     sluss run dump.lua IN.pcap [FILTER]

local pcap = require("apps.pcap.pcap")
local PcapFilter = require("apps.packet_filter.pcap_filter").PcapFilter
local link = require("core.link")
local packet = require("core.packet")
local datagram = require("lib.protocol.datagram")
local ethernet = require("lib.protocol.ethernet")

local Dump = {}
Dump.__index = Dump

function Dump:new ()
   return setmetatable({ datagram = datagram:new(packet.allocate()), number = 0 }, self)
end

-- What is shown of a header, by the name of its class.
local shown = {
   ethernet = function (h) return ("%s > %s type 0x%04x"):format(h:ntop(h:src()), h:ntop(h:dst()), h:type()) end,
   dot1q = function (h) return ("vlan %d"):format(h:id() % 4096) end,
   ipv4 = function (h) return ("%s > %s ttl %d"):format(h:ntop(h:src()), h:ntop(h:dst()), h:ttl()) end,
   ipv6 = function (h) return ("%s > %s hops %d"):format(h:ntop(h:src()), h:ntop(h:dst()), h:hop_limit()) end,
   tcp = function (h) return ("tcp %d > %d flags 0x%02x"):format(h:src_port(), h:dst_port(), h:flags()) end,
   udp = function (h) return ("udp %d > %d"):format(h:src_port(), h:dst_port()) end,
   icmp = function (h) return ("icmp type %d code %d"):format(h:type(), h:code()) end,
}

function Dump:push ()
   local i = self.input.input
   for _ = 1, link.nreadable(i) do
      local p = link.receive(i)
      self.number = self.number + 1
      -- The headers that stand behind one another, as far as they are known.
      local d, parts = self.datagram:new(p, ethernet), {}
      local header = d:parse()
      while header do
         local show = shown[header:name()]
         table.insert(parts, show and show(header) or header:name())
         header = d:parse()
      end
      local _, rest = d:payload()
      print(("%d  %s | %d bytes"):format(self.number, table.concat(parts, " | "), rest))
      packet.free(p)
   end
end

local from, filter = unpack(main.parameters)
if not from then
   print("usage: dump.lua IN.pcap [FILTER]")
   main.exit(2)
end

local c = config.new()
config.app(c, "reader", pcap.PcapReader, from)
config.app(c, "filter", PcapFilter, { filter = filter or "" })
config.app(c, "dump", Dump)
config.link(c, "reader.output -> filter.input")
config.link(c, "filter.output -> dump.input")
engine.configure(c)
engine.main({ no_report = true, done = function () return engine.app_table.reader.done end })
