-- apps.packet_filter: filters, and connections that pass once one packet of them has.
require("lib.lua.class")
local ffi = require("ffi")
local pcap_filter = require("apps.packet_filter.pcap_filter")
local conntrack = require("apps.packet_filter.conntrack")
local counter = require("core.counter")
local datagram = require("lib.protocol.datagram")
local ethernet = require("lib.protocol.ethernet")
local ipv4 = require("lib.protocol.ipv4")
local ipv6 = require("lib.protocol.ipv6")
local tcp = require("lib.protocol.tcp")
local udp = require("lib.protocol.udp")

local function eq (got, expected)
   if got ~= expected then error(("expected %s, got %s"):format(tostring(expected), tostring(got)), 2) end
end

local protocols = { [6] = tcp, [17] = udp }
-- A frame between two ends, "10.0.0.1 80" or with addresses of IPv6.
local function frame (protocol, from, to)
   local src, sport = from:match("(%S+) (%d+)")
   local dst, dport = to:match("(%S+) (%d+)")
   local six = src:match(":")
   local ip = six and ipv6 or ipv4
   local d = datagram:new()
   d:push(protocols[protocol]:new({ src_port = tonumber(sport), dst_port = tonumber(dport), seq_num = 1, ack_num = 1, window_size = 1 }))
   d:push(ip:new({ src = ip:pton(src), dst = ip:pton(dst), protocol = protocol, next_header = protocol, ttl = 9 }))
   d:push(ethernet:new({ src = ethernet:pton("02:00:00:00:00:01"), dst = ethernet:pton("02:00:00:00:00:02"), type = six and 0x86dd or 0x0800 }))
   local p = d:packet()
   local text = ffi.string(p.data, p.length)
   packet.free(p)
   return text
end

-- Gives frames in order to filters, each of which is one breath: returns which pass, as 1 and 0.
local Give, Take = {}, {}
Give.__index, Take.__index = Give, Take
function Give:new () return setmetatable({}, Give) end
function Give:pull ()
   for name, text in pairs(self.send or {}) do link.transmit(self.output[name], packet.from_string(text)) end
   self.send = nil
end
function Take:new () return setmetatable({ n = 0 }, Take) end
function Take:push ()
   for _, l in ipairs(self.input) do
      while not link.empty(l) do self.n = self.n + 1; packet.free(link.receive(l)) end
   end
end
local function network (filters)
   engine.configure(config.new())
   local c = config.new()
   config.app(c, "give", Give)
   config.app(c, "take", Take)
   for name, conf in pairs(filters) do
      config.app(c, name, pcap_filter.PcapFilter, conf)
      config.link(c, ("give.%s -> %s.%s"):format(name, name, name == "rx" and "rx" or "input"))
      config.link(c, ("%s.%s -> take.%s"):format(name, name == "rx" and "tx" or "output", name))
   end
   engine.configure(c)
   return function (filter, text)
      engine.app_table.give.send = { [filter] = text }
      local before = engine.app_table.take.n
      engine.main({ no_report = true, done = function () return true end })
      return engine.app_table.take.n - before
   end
end

local send = network({ a = { filter = "tcp dst port 80" }, rx = { filter = "udp or ip6" } })
eq(send("a", frame(6, "10.0.0.1 1024", "10.0.0.2 80")), 1)
eq(send("a", frame(6, "10.0.0.2 80", "10.0.0.1 1024")), 0)
eq(send("a", frame(17, "10.0.0.1 1024", "10.0.0.2 80")), 0)
eq(send("rx", frame(17, "10.0.0.1 1024", "10.0.0.2 80")), 1)
eq(send("rx", frame(6, "::1 1024", "::2 80")), 1)
eq(tonumber(counter.read(engine.app_table.a.shm.rxerrors)), 2)

-- Bursts: the order stays, and each packet is counted: rejected, sent, or dropped at a full link.
local Burst, Full, Look = {}, {}, {}
Burst.__index, Full.__index, Look.__index = Burst, Full, Look
function Burst:new (count) return setmetatable({ left = count }, Burst) end
function Burst:pull ()
   for i = 1, self.left do
      local p = packet.resize(packet.allocate(), 50 + i % 40)
      p.data[0], p.data[1], p.data[2] = i % 4, i % 256, i / 256
      link.transmit(self.output.output, p)
   end
   self.left = 0
end
function Full:new () return setmetatable({}, Full) end
function Look:new () return setmetatable({ seen = {} }, Look) end
function Look:push ()
   while not link.empty(self.input.input) do
      local p = link.receive(self.input.input)
      table.insert(self.seen, p.data[1] + 256 * p.data[2])
      packet.free(p)
   end
end
local function pass (sink, count, rounds)
   engine.configure(config.new())
   local c = config.new()
   config.app(c, "give", Burst, 0)
   config.app(c, "filter", pcap_filter.PcapFilter, { filter = "ether[0] & 3 != 1 and greater 53" })
   config.app(c, "sink", sink)
   config.link(c, "give.output -> filter.input")
   config.link(c, "filter.output -> sink.input")
   engine.configure(c)
   local counted = {}
   for _, name in ipairs({ "frees", "freebytes", "freebits" }) do counted[name] = tonumber(counter.read(engine[name])) end
   for _ = 1, rounds do
      engine.app_table.give.left = count
      engine.main({ no_report = true, done = function () return true end })
   end
   for name, before in pairs(counted) do counted[name] = tonumber(counter.read(engine[name])) - before end
   return counted, link.stats(engine.link_table["filter.output -> sink.input"]), tonumber(counter.read(engine.app_table.filter.shm.rxerrors))
end
-- What the filter rejects of a round of `count`, as a list of those that pass, and the sums of the others.
local function expected (count)
   local passing, others = {}, { frees = 0, freebytes = 0, freebits = 0 }
   for i = 1, count do
      local length = 50 + i % 40
      if i % 4 ~= 1 and length >= 53 then
         table.insert(passing, { i = i, length = length })
      else
         others.frees, others.freebytes = others.frees + 1, others.freebytes + length
         others.freebits = others.freebits + (math.max(length, 60) + 24) * 8
      end
   end
   return passing, others
end
for _, count in ipairs({ 1, 63, 64, 65, 200, 1000 }) do
   local passing, others = expected(count)
   local _, stats, rejected = pass(Look, count, 1)
   eq(rejected, others.frees)
   eq(stats.txpackets, #passing)
   eq(#engine.app_table.sink.seen, #passing)
   for k, one in ipairs(passing) do eq(engine.app_table.sink.seen[k], one.i) end
end
local passing, others = expected(1000)
local counted, stats, rejected = pass(Full, 1000, 2)
eq(rejected, 2 * others.frees)
eq(stats.txpackets, 1023)
eq(stats.txdrop, 2 * #passing - 1023)
local freed = { frees = 2 * others.frees, freebytes = 2 * others.freebytes, freebits = 2 * others.freebits }
for k = 1023 - #passing + 1, #passing do
   freed.frees, freed.freebytes = freed.frees + 1, freed.freebytes + passing[k].length
   freed.freebits = freed.freebits + (math.max(passing[k].length, 60) + 24) * 8
end
for name, value in pairs(freed) do eq(counted[name], value) end

-- Connections: out is filtered, back passes what belongs to what went out.
send = network({ out = { filter = "tcp dst port 80 or ip6", state_table = "t" }, back = { filter = "less 1", state_table = "t" },
                 other = { filter = "less 1", state_table = "u" } })
local there, here = "10.0.0.2 80", "10.0.0.1 1024"
eq(send("back", frame(6, there, here)), 0)
eq(send("out", frame(6, here, there)), 1)
eq(send("back", frame(6, there, here)), 1)
eq(send("back", frame(6, here, there)), 1)
eq(send("out", frame(6, there, here)), 1)
eq(send("back", frame(6, there, "10.0.0.1 1025")), 0)
eq(send("back", frame(17, there, here)), 0)
eq(send("back", frame(6, "10.0.0.3 80", here)), 0)
eq(send("other", frame(6, there, here)), 0)
eq(send("out", frame(17, "fe80::1 5", "fe80::2 6")), 1)
eq(send("back", frame(17, "fe80::2 6", "fe80::1 5")), 1)
eq(send("back", frame(17, "fe80::2 6", "fe80::1 6")), 0)
eq(tonumber(counter.read(engine.app_table.out.shm.sessions_established)), 2)
assert(not pcall(pcap_filter.PcapFilter.new, pcap_filter.PcapFilter, {}))

-- The tables by themselves
conntrack.clear()
conntrack.define("x")
local text = frame(6, here, there)
local data = ffi.new("uint8_t[?]", #text)
ffi.copy(data, text, #text)
local spec = conntrack.spec(data)
eq(not spec:check("x"), true)
spec:track("x")
eq(not not conntrack.spec(data):check("x"), true)
data[12] = 9
eq(conntrack.spec(data), nil)
eq(conntrack.spec(nil), nil)
engine.configure(config.new())
print("packet_filter ok")
