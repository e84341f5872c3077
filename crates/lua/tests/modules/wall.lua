-- apps.wall.*, ndpi: flows, what they speak, building blocks, rules, answers to rejected packets.
require("lib.lua.class")
local ffi = require("ffi")
local lib = require("core.lib")
local util = require("apps.wall.util")
local const = require("apps.wall.constants")
local base = require("apps.wall.scanner")
local NdpiScanner = require("apps.wall.scanner.ndpi")
local ndpi = require("ndpi")
local datagram = require("lib.protocol.datagram")
local ethernet = require("lib.protocol.ethernet")
local ipv4 = require("lib.protocol.ipv4")
local ipv6 = require("lib.protocol.ipv6")
local tcp = require("lib.protocol.tcp")
local udp = require("lib.protocol.udp")
local pf = require("pf")

local function eq (got, expected)
   if got ~= expected then error(("expected %s, got %s"):format(tostring(expected), tostring(got)), 2) end
end
local function fails (...) return not pcall(...) end

-- A frame of TCP (6) or UDP (17) with a payload. Ends are "ADDRESS PORT".
local function frame (protocol, from, to, payload, fields)
   local src, sport = from:match("(%S+) (%d+)")
   local dst, dport = to:match("(%S+) (%d+)")
   local six = src:match(":")
   local ip = six and ipv6 or ipv4
   local d = datagram:new()
   d:payload(payload or "", #(payload or ""))
   local f = { src_port = tonumber(sport), dst_port = tonumber(dport), seq_num = 100, ack_num = 200, window_size = 9, offset = 5 }
   for name, value in pairs(fields or { ack = 1 }) do f[name] = value end
   local above = (protocol == 6 and tcp or udp):new(f)
   if protocol == 17 then above:length(8 + #(payload or "")) end
   d:push(above)
   local _, length = d:data()
   local header = ip:new({ src = ip:pton(src), dst = ip:pton(dst), protocol = protocol, next_header = protocol, ttl = 9 })
   if six then header:payload_length(length) else header:total_length(20 + length); header:checksum() end
   d:push(header)
   d:push(ethernet:new({ src = ethernet:pton("02:00:00:00:00:01"), dst = ethernet:pton("02:00:00:00:00:02"), type = six and 0x86dd or 0x0800 }))
   return d:packet()
end
local client, server = "10.0.0.1 40000", "10.0.0.2 80"
local get = "GET / HTTP/1.1\r\nHost: example.org\r\nUser-Agent: test\r\n\r\n"
local query = "\18\52\1\0\0\1\0\0\0\0\0\0\7example\3org\0\0\1\0\1"

-- Comparisons, loads
local a, b = ffi.new("uint8_t[16]", 1, 2, 3), ffi.new("uint8_t[16]", 1, 2, 4)
eq(util.ipv4_addr_cmp(a, a), 0); assert(util.ipv4_addr_cmp(a, b) < 0 and util.ipv6_addr_cmp(b, a) > 0)
eq(util.rd16(a), 0x0201); eq(util.rd32(a), 0x00030201)

-- Keys
local s = NdpiScanner:new(1000, { dpi = "own" })
local p = frame(6, client, server)
local key, offset, src, sport, dst, dport = s:extract_packet_info(p)
eq(key:eth_type(), const.ETH_TYPE_IPv4); eq(offset, 14); eq(key.vlan_id, 0); eq(key.ip_proto, 6)
eq(ipv4:ntop(src), "10.0.0.1"); eq(ipv4:ntop(dst), "10.0.0.2"); eq(ipv4:ntop(key.lo_addr), "10.0.0.1"); eq(ipv4:ntop(key.hi_addr), "10.0.0.2")
eq(lib.ntohs(sport), 40000); eq(lib.ntohs(dport), 80); eq(key.lo_port, math.min(sport, dport)); eq(key.hi_port, math.max(sport, dport))
local hash = key:hash()
local back = frame(6, server, client)
eq((s:extract_packet_info(back)):hash(), hash)
assert((s:extract_packet_info(frame(6, "10.0.0.1 40001", server))):hash() ~= hash)
assert((s:extract_packet_info(frame(17, client, server))):hash() ~= hash)
key = s:extract_packet_info(frame(17, "2001:db8::1 53", "2001:db8::2 1053"))
eq(key:eth_type(), const.ETH_TYPE_IPv6); eq(ipv6:ntop(key.lo_addr), "2001:db8::1"); eq(key.ip_proto, 17)
local arp = packet.from_string(("x"):rep(12).."\8\6"..("y"):rep(28))
eq(s:extract_packet_info(arp), nil)
eq(s:extract_packet_info(packet.from_string("short")), nil)

-- Scanning
eq(s:get_flow(p), nil)
local done, flow = s:scan_packet(p, 1)
assert(done == false and flow.packets == 1 and flow.last_seen == 1)
eq(s:protocol_name(flow.protocol), "UNKNOWN")
done, flow = s:scan_packet(frame(6, client, server, get), 2)
eq(done, true); eq(flow.packets, 2); eq(s:protocol_name(flow.protocol), "HTTP"); eq(flow.last_seen, 2)
s:scan_packet(back, 3)
eq(s:get_flow(p), flow); eq(flow.packets, 3)
done, flow = s:scan_packet(frame(17, "10.0.0.1 5300", "10.0.0.9 53", query), 4)
eq(done, true); eq(s:protocol_name(flow.protocol), "DNS")
eq(select("#", s:scan_packet(arp, 5)), 2); eq(s:scan_packet(arp, 5), false)
local names = {}
for f in s:flows() do table.insert(names, s:protocol_name(f.protocol)..f.packets) end
eq(table.concat(names, " "), "HTTP3 DNS1")

-- A subclass of Scanner, as its documentation has it: by ports.
local PortScanner = subClass(base.Scanner)
function PortScanner:new () local o = PortScanner:superClass().new(self); o.seen = {}; return o end
function PortScanner:get_flow (packet) local k = self:extract_packet_info(packet); return k and self.seen[k:hash()] end
function PortScanner:scan_packet (packet, time)
   local k, _, _, from, _, to = self:extract_packet_info(packet)
   if not k then return false, nil end
   local f = self.seen[k:hash()] or { packets = 0, protocol = lib.ntohs(from) < lib.ntohs(to) and lib.ntohs(from) or lib.ntohs(to) }
   f.packets, f.last_seen = f.packets + 1, time
   self.seen[k:hash()] = f
   return true, f
end
local ports = PortScanner:new()
eq(select(2, ports:scan_packet(p, 1)).protocol, 80); eq(ports:protocol_name(80), "80")
assert(fails(base.Scanner.get_flow, base.Scanner) and fails(ports.flows, ports))

-- ndpi
local detector = ndpi.detection_module(1000):set_protocol_bitmask(ndpi.protocol_bitmask():set_all())
local request = frame(6, client, server, get)
local _, protocol = detector:process_packet(ndpi.flow(), request.data + 14, request.length - 14, 1, ndpi.id(), ndpi.id())
eq(ndpi.protocol[protocol], "PROTOCOL_HTTP"); eq(ndpi.protocol.PROTOCOL_HTTP, protocol); eq(ndpi.protocol.PROTOCOL_UNKNOWN, 0)
eq(ndpi.protocol[0], "PROTOCOL_UNKNOWN"); assert(ndpi.protocol.PROTOCOL_MAIL_IMAP and ndpi.protocol.PROTOCOL_POSTGRES)
local mask = ndpi.protocol_bitmask():add(42):add(7):del(42)
assert(mask:is_set(7) and not mask:is_set(42) and ndpi.protocol_bitmask():set(mask):is_set(7) and not mask:reset():is_set(7))

-- Apps
local Give = {}
Give.__index = Give
function Give:new (list) return setmetatable({ list = list }, Give) end
function Give:pull ()
   for _, packets in ipairs(self.list) do link.transmit(self.output.output, packet.clone(packets)) end
   self.list = {}
end
local Take = {}
Take.__index = Take
function Take:new () return setmetatable({ got = {} }, Take) end
function Take:push ()
   for name, l in pairs(self.input) do
      if type(name) == "string" then
         self.got[name] = self.got[name] or {}
         while not link.empty(l) do table.insert(self.got[name], link.receive(l)) end
      end
   end
end
local function run (c)
   engine.configure(config.new())
   engine.configure(c)
   local left = 3
   engine.main({ no_report = true, done = function () left = left - 1; return left == 0 end })
   return engine.app_table
end

-- The app of SnabbWall's README
local DiscardBigPackets = setmetatable({}, util.SouthAndNorth)
DiscardBigPackets.__index = DiscardBigPackets
function DiscardBigPackets:new (max)
   return setmetatable({ max_packet_length = max, discarded_packets = 0, forwarded_packets = 0 }, self)
end
function DiscardBigPackets:on_northbound_packet (pkt)
   if pkt.length > self.max_packet_length then
      self.discarded_packets = self.discarded_packets + 1
      return false
   end
   self.forwarded_packets = self.forwarded_packets + 1
end
DiscardBigPackets.on_southbound_packet = DiscardBigPackets.on_northbound_packet
local c = config.new()
config.app(c, "give", Give, { packet.from_string(("a"):rep(10)), packet.from_string(("b"):rep(100)) })
config.app(c, "discard", DiscardBigPackets, 50)
config.app(c, "take", Take)
config.link(c, "give.output -> discard.north")
config.link(c, "discard.south -> take.south")
local t = run(c)
eq(t.discard.discarded_packets, 1); eq(t.discard.forwarded_packets, 1); eq(#t.take.got.south, 1); eq(t.take.got.south[1].length, 10)

-- The firewall
local l7spy, l7fw = require("apps.wall.l7spy").L7Spy, require("apps.wall.l7fw").L7Fw
local function firewall (rules, packets, conf)
   conf = conf or {}
   conf.scanner, conf.rules = NdpiScanner:new(nil, { dpi = "own" }), rules
   c = config.new()
   config.app(c, "give", Give, packets)
   config.app(c, "spy", l7spy, { scanner = conf.scanner })
   config.app(c, "fw", l7fw, conf)
   config.app(c, "take", Take)
   config.link(c, "give.output -> spy.south")
   config.link(c, "spy.north -> fw.input")
   config.link(c, "fw.output -> take.output")
   config.link(c, "fw.reject -> take.reject")
   t = run(c)
   local fw = t.fw
   eq(fw.total, fw.accepted + fw.dropped + fw.rejected)
   return ("%d/%d/%d"):format(fw.accepted, fw.rejected, fw.dropped), t.take.got.reject
end
local web = { frame(6, client, server), frame(6, client, server, get), frame(6, server, client) }
local dns = frame(17, "10.0.0.1 5300", "10.0.0.9 53", query)
local web6 = frame(6, "2001:db8::1 40000", "2001:db8::2 80", get)
local all = { web[1], web[2], web[3], dns, arp }
eq(firewall({}, all), "5/0/0")
eq(firewall({ HTTP = "drop" }, all), "2/0/3")
eq(firewall({ default = "drop", DNS = "accept" }, all), "2/0/3")
eq(firewall({ HTTP = "match { flow_count > 2 => drop; otherwise => accept }", default = "accept" }, all), "2/0/3")
eq(firewall({ HTTP = "match { src host 10.0.0.2 => reject; dst port 80 => accept }" }, { web[1], web[2], web[3] }), "2/1/0")
local counts, answers = firewall({ default = "reject" }, { web[2], dns, web6 }, { local_ipv4 = "192.168.42.42", local_ipv6 = "2001:db8::42",
   local_macaddr = "02:00:00:00:00:42" })
eq(counts, "0/3/0"); eq(#answers, 3)
local function is (p, filter) assert(pf.compile_filter(filter)(p.data, p.length), filter) end
-- The segment acknowledged 200: a reset with that number, from where it was sent to.
is(answers[1], "ip and tcp src port 80 and dst port 40000 and src host 10.0.0.2 and dst host 10.0.0.1")
is(answers[1], "tcp[13] = 4 and tcp[4:4] = 200 and ether src 02:00:00:00:00:42 and ether dst 02:00:00:00:00:01")
is(answers[2], "icmp[icmptype] = 3 and icmp[icmpcode] = 3 and src host 192.168.42.42 and dst host 10.0.0.1")
eq(answers[2].length, 14 + 20 + 8 + 28)
is(answers[3], "ip6 and tcp src port 80 and dst host 2001:db8::1 and src host 2001:db8::2")
local checksum = require("lib.checksum")
eq(checksum.verify_packet(answers[1].data + 14, answers[1].length - 14), true)
eq(checksum.verify_packet(answers[3].data + 14, answers[3].length - 14), true)
-- A SYN is answered with an acknowledgement; a reset is not answered.
counts, answers = firewall({ default = "reject" }, { frame(6, client, server, "", { syn = 1, ack_num = 0 }), frame(6, client, server, "", { rst = 1 }) })
eq(counts, "0/2/0"); eq(#answers, 1)
is(answers[1], "tcp[13] = 20 and tcp[8:4] = 101 and tcp[4:4] = 0")
local six = frame(17, "2001:db8::1 5300", "2001:db8::2 53", query)
counts, answers = firewall({ default = "reject" }, { six })
is(answers[1], "icmp6 and dst host 2001:db8::1 and src host 2001:db8::2")
local icmp = require("lib.protocol.icmp.header"):new_from_mem(answers[1].data + 54, answers[1].length - 54)
eq(icmp:type(), 1); eq(icmp:code(), 1)
eq(icmp:checksum_check(answers[1].data + 58, answers[1].length - 58, ipv6:new_from_mem(answers[1].data + 14, 40)), true)
assert(fails(l7fw.new, l7fw, { logging = "sometimes" }))
engine.configure(config.new())
print("wall ok")
