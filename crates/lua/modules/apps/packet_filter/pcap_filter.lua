-- Lets the packets through that a filter in tcpdump's language matches, and discards the others.
--
-- Options: `filter`, the text; `state_table`, the name of a table of connections: packets of a connection of which one packet has matched
-- pass as well, in this filter and in all others that name the same table. Links: `input` or `rx`, `output` or `tx`.

local ffi = require("ffi")
local counter = require("core.counter")
local native = require("core.native")
local link = require("core.link")
local packet = require("core.packet")
local conntrack = require("apps.packet_filter.conntrack")
local compiler = require("pf.compiler")
local C, core = ffi.C, native.core

ffi.cdef("uint32_t sluss_lua_sift (struct sluss_core *, const void *code, struct link *from, struct link *to);")

local M = {}

local PcapFilter = {}
PcapFilter.__index = PcapFilter
M.PcapFilter = PcapFilter

function PcapFilter:new (conf)
   assert(conf.filter, "PcapFilter conf.filter parameter missing")
   conntrack.define(conf.state_table)
   local compiled = compiler.compile(conf.filter, "EN10MB", "code")
   return setmetatable({
      accept_fn = compiler.predicate(compiled, conf.filter),
      -- Where there is machine code, and packets are not looked at but by the filter, one call moves all of a link.
      code = not conf.state_table and compiled.code,
      owner = compiled.owner,
      state_table = conf.state_table or false,
      shm = { rxerrors = { counter }, sessions_established = { counter } },
   }, self)
end

-- Returns how many packets the filter rejects, as the call for all of a link.
local function push_each (self, i, o)
   local accept, name, dropped = self.accept_fn, self.state_table, 0
   for _ = 1, link.nreadable(i) do
      local p = link.receive(i)
      local spec = name and conntrack.spec(p.data, p.length)
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
   if link.empty(i) then return end
   local code = self.code
   local dropped = code and C.sluss_lua_sift(core, code, i, o) or push_each(self, i, o)
   if dropped > 0 then counter.add(self.shm.rxerrors, dropped) end
end

return M
