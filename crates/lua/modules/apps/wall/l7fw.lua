-- Accepts, drops or rejects packets by what their flows speak, as a scanner has found that an l7spy in front of this app uses.
--
-- Packets come in at `input`; accepted ones leave at `output`, answers to rejected ones at `reject`. Options:
--
--     scanner        the one of the l7spy
--     rules          a table from protocol, or "default", to "accept", "drop", "reject", or a pfmatch program, whose handlers are these three and which
--                    may name `flow_count`, the packets that the flow has had; without a rule for it a packet is accepted
--     local_ipv4, local_ipv6, local_macaddr     this machine: where ICMP answers come from, and frames; by default, where the rejected packet went
--     logging        "on": tell the system's log of dropped and rejected packets

local ffi = require("ffi")
local link = require("core.link")
local packet = require("core.packet")
local datagram = require("lib.protocol.datagram")
local ethernet = require("lib.protocol.ethernet")
local icmp = require("lib.protocol.icmp.header")
local ipv4 = require("lib.protocol.ipv4")
local ipv6 = require("lib.protocol.ipv6")
local tcp = require("lib.protocol.tcp")
local match = require("pf.match")

ffi.cdef("void sluss_lua_syslog (int priority, const char *format, ...) __asm__(\"syslog\");")

local LOG_USER_INFO = 8 + 6
local TCP, ICMP, ICMPV6 = 6, 1, 58

local M = {}

local L7Fw = {}
L7Fw.__index = L7Fw
M.L7Fw = L7Fw

function L7Fw:new (conf)
   local logging = conf.logging or "off"
   assert(logging == "on" or logging == "off", "invalid log level: "..tostring(logging))
   return setmetatable({
      scanner = conf.scanner, rules = conf.rules,
      local_ipv4 = conf.local_ipv4, local_ipv6 = conf.local_ipv6, local_macaddr = conf.local_macaddr,
      logging = logging,
      handler_map = {}, -- compiled programs by their text
      accepted = 0, rejected = 0, dropped = 0, total = 0,
   }, self)
end

-- What becomes of `current_packet`; programs call these.
function L7Fw:accept ()
   self.accepted = self.accepted + 1
   link.transmit(self.output.output, self.current_packet)
end

function L7Fw:drop ()
   self.dropped = self.dropped + 1
   if self.logging == "on" then self:log_packet("DROP") end
   packet.free(self.current_packet)
end

function L7Fw:reject ()
   self.rejected = self.rejected + 1
   local answer = self:make_reject_response()
   if answer then link.transmit(self.output.reject, answer) end
   if self.logging == "on" then self:log_packet("REJECT") end
   packet.free(self.current_packet)
end

local actions = { accept = L7Fw.accept, drop = L7Fw.drop, reject = L7Fw.reject }

local function judge (self, p, flow)
   local name = self.scanner:protocol_name(flow.protocol)
   local policy = self.rules[name] or self.rules.default or "accept"
   self.current_protocol = name
   local action = actions[policy]
   if action then return action(self) end
   local program = self.handler_map[policy]
   if not program then
      program = match.compile(policy, { extra_args = { "flow_count" } })
      self.handler_map[policy] = program
   end
   local before = self.accepted + self.rejected + self.dropped
   program(self, p.data, p.length, flow.packets)
   -- A program without a clause for the packet says nothing: it is dropped, and counted.
   if self.accepted + self.rejected + self.dropped == before then self:drop() end
end

function L7Fw:push ()
   local i = assert(self.input.input, "input port not found")
   assert(self.output.output, "output port not found")
   assert(self.output.reject, "output port for reject policy not found")
   for _ = 1, link.nreadable(i) do
      local p = link.receive(i)
      self.current_packet, self.total = p, self.total + 1
      local flow = self.scanner:get_flow(p)
      if flow then
         judge(self, p, flow)
      else
         self:accept()
      end
   end
end

function L7Fw:report ()
   local function line (what, n)
      print(("%-17s %d (%d%%)"):format(what.." packets:", n, self.total > 0 and math.ceil(n / self.total * 100) or 0))
   end
   line("Accepted", self.accepted)
   line("Rejected", self.rejected)
   line("Dropped", self.dropped)
end

local IPV4, IPV6 = 0x0800, 0x86dd
local families = {
   [IPV4] = { class = ipv4 },
   [IPV6] = { class = ipv6 },
}

-- The headers of the current packet: Ethernet, IP, what follows the IP header, and how many bytes. Nil if it is not IP.
local function parse (p)
   local eth = ethernet:new_from_mem(p.data, p.length)
   local family = eth and families[eth:type()]
   if not family then return nil end
   local start = eth:sizeof()
   local ip = family.class:new_from_mem(p.data + start, p.length - start)
   if not ip then return nil end
   local header = ip:sizeof()
   local length = p.length - start
   if family.class == ipv4 then
      header = ip:ihl() * 4
      length = math.min(length, ip:total_length())
   else
      length = math.min(length, header + ip:payload_length())
   end
   if header < ip:sizeof() or header > length then return nil end
   return eth, ip, family, p.data + start + header, length - header, header
end

function L7Fw:log_packet (what)
   local eth, ip, family = parse(self.current_packet)
   local from, to, mac = "?", "?", "?"
   if eth then
      from, to, mac = family.class:ntop(ip:src()), family.class:ntop(ip:dst()), ethernet:ntop(eth:src())
   end
   ffi.C.sluss_lua_syslog(LOG_USER_INFO, "%s", ("[Snabbwall %s] PROTOCOL=%s MAC=%s SRC=%s DST=%s"):format(what,
      tostring(self.current_protocol), mac, from, to))
end

-- A reset for the sender of a TCP segment, from where it was sent to: so the sender believes it (RFC 9293, 3.10.7.1).
local function make_reset (segment, bytes)
   local seen = tcp:new_from_mem(segment, bytes)
   if not seen or seen:rst() == 1 then return nil end
   local answer = { src_port = seen:dst_port(), dst_port = seen:src_port(), offset = 5, rst = 1, window_size = 0 }
   if seen:ack() == 1 then
      answer.seq_num, answer.ack_num = seen:ack_num(), 0
   else
      local payload = math.max(bytes - seen:offset() * 4, 0)
      answer.seq_num, answer.ack = 0, 1
      answer.ack_num = (seen:seq_num() + payload + seen:syn() + seen:fin()) % 2^32
   end
   return tcp:new(answer)
end

local nothing = ffi.new("uint8_t[1]")

-- A packet for the sender of the current one: a reset, or "port unreachable" (IPv4), or "administratively prohibited" (IPv6). Nil if none is to be sent.
function L7Fw:make_reject_response ()
   local p = self.current_packet
   local eth, ip, family, above, bytes, header = parse(p)
   if not eth or ethernet:is_mcast(eth:src()) then return nil end
   local v4 = family.class == ipv4
   local protocol = v4 and ip:protocol() or not v4 and ip:next_header()
   local d = datagram:new()
   local src, upper = ip:dst(), TCP
   local reset
   if protocol == TCP then
      reset = make_reset(above, bytes)
      if not reset then
         packet.free(d:packet())
         return nil
      end
   else
      upper = v4 and ICMP or ICMPV6
      local configured = v4 and self.local_ipv4 or not v4 and self.local_ipv6
      if configured then
         src = assert(family.class:pton(configured))
      end
   end
   local answer = family.class:new({ src = src, dst = ip:src(), protocol = upper, next_header = upper, ttl = 64, hop_limit = 64 })

   if reset then
      reset:checksum(nothing, 0, answer)
      d:push(reset)
   else
      -- Four unused bytes, and the packet: its header and eight bytes (RFC 792), or as much as fits into 1280 bytes (RFC 4443).
      local message = v4 and icmp:new(3, 3) or icmp:new(1, 1)
      d:payload(ffi.new("uint8_t[4]"), 4)
      local quoted = header + math.min(bytes, v4 and 8 or 1280 - 40 - 8 - header)
      d:payload(above - header, quoted)
      local payload, length = d:payload()
      message:checksum(payload, length, not v4 and answer or nil)
      d:push(message)
   end

   local _, length = d:data()
   if v4 then
      answer:total_length(answer:sizeof() + length)
      answer:checksum()
   else
      answer:payload_length(length)
   end
   d:push(answer)
   local mac = self.local_macaddr
   d:push(ethernet:new({ dst = eth:src(), src = mac and ethernet:pton(mac) or eth:dst(), type = eth:type() }))
   return d:packet()
end

return M
