-- Lets the packets through that a filter in tcpdump's language matches, and discards the others.
--
-- Options: `filter`, the text; `state_table`, the name of a table of connections: packets of a connection of which one packet has matched
-- pass as well, in this filter and in all others that name the same table. Links: `input` or `rx`, `output` or `tx`.

local counter = require("core.counter")
local link = require("core.link")
local packet = require("core.packet")
local conntrack = require("apps.packet_filter.conntrack")
local pf = require("pf")

local M = {}

local PcapFilter = {}
PcapFilter.__index = PcapFilter
M.PcapFilter = PcapFilter

function PcapFilter:new (conf)
   assert(conf.filter, "PcapFilter conf.filter parameter missing")
   conntrack.define(conf.state_table)
   return setmetatable({
      accept_fn = pf.compile_filter(conf.filter, { native = conf.native or false }),
      state_table = conf.state_table or false,
      shm = { rxerrors = { counter }, sessions_established = { counter } },
   }, self)
end

local function push_stateless (self, i, o)
   local accept, dropped = self.accept_fn, 0
   for _ = 1, link.nreadable(i) do
      local p = link.receive(i)
      if accept(p.data, p.length) then
         link.transmit(o, p)
      else
         packet.free(p)
         dropped = dropped + 1
      end
   end
   return dropped
end

local function push_stateful (self, i, o)
   local accept, name, dropped = self.accept_fn, self.state_table, 0
   for _ = 1, link.nreadable(i) do
      local p = link.receive(i)
      local spec = conntrack.spec(p.data, p.length)
      local passes = spec and spec:check(name)
      if not passes and accept(p.data, p.length) then
         passes = true
         if spec then
            spec:track(name)
            counter.add(self.shm.sessions_established)
         end
      end
      if passes then
         link.transmit(o, p)
      else
         packet.free(p)
         dropped = dropped + 1
      end
   end
   return dropped
end

function PcapFilter:push ()
   local i = assert(self.input.input or self.input.rx, "input port not found")
   local o = assert(self.output.output or self.output.tx, "output port not found")
   local dropped = (self.state_table and push_stateful or push_stateless)(self, i, o)
   if dropped > 0 then counter.add(self.shm.rxerrors, dropped) end
end

return M
