-- Apps that most networks are made of, and tests.

local ffi = require("ffi")
local engine = require("core.app")
local native = require("core.native")
local link = require("core.link")
local packet = require("core.packet")
local C, core = ffi.C, native.core

ffi.cdef[[
uint32_t sluss_lua_send_copies (struct sluss_core *, struct packet *, struct link *to, int32_t count);
void sluss_lua_free_all (struct sluss_core *, struct link *from);
]]

local receive, transmit, empty, nreadable = link.receive, link.transmit, link.empty, link.nreadable
local clone, free = packet.clone, packet.free

local M = {}

-- A class whose instances are what `make(arg)` returns.
local function app (name, make)
   local class = {}
   class.__index = class
   M[name] = class
   function class:new (arg)
      return setmetatable(make(arg), self)
   end
   return class
end

-- Fills each output with packets of `size` zero bytes, 60 by default.
local Source = app("Source", function (size)
   size = tonumber(size) or 60
   return { size = size, packet = packet.from_pointer(ffi.new("uint8_t[?]", size), size) }
end)

function Source:pull ()
   for _, o in ipairs(self.output) do
      -- Without memory for more packets, `allocate` raises the error that says so.
      if C.sluss_lua_send_copies(core, self.packet, o, engine.pull_npackets) > 0 then packet.allocate() end
   end
end

function Source:stop ()
   free(self.packet)
end

-- Sends what comes in at any input to the link `output`.
local Join = app("Join", function () return {} end)

function Join:push ()
   local inputs, o = self.input, self.output.output
   for i = 1, #inputs do
      local l = inputs[i]
      for _ = 1, nreadable(l) do
         transmit(o, receive(l))
      end
   end
end

-- Sends what comes in at any input to the first output; what that has no room for, to the next.
local Split = app("Split", function () return {} end)

function Split:push ()
   local inputs, outputs = self.input, self.output
   for i = 1, #inputs do
      local l = inputs[i]
      for j = 1, #outputs do
         local o = outputs[j]
         local n = nreadable(l)
         if j < #outputs then n = math.min(n, link.nwritable(o)) end
         for _ = 1, n do
            transmit(o, receive(l))
         end
      end
   end
end

-- Discards what comes in.
local Sink = app("Sink", function () return {} end)

function Sink:push ()
   for _, l in ipairs(self.input) do
      -- PERF: a turn without packets stays in Lua.
      if not empty(l) then C.sluss_lua_free_all(core, l) end
   end
end

-- Sends each packet to all outputs. Without outputs, packets stay where they are.
local Tee = app("Tee", function () return {} end)

function Tee:push ()
   local inputs, outputs = self.input, self.output
   local last = #outputs
   if last == 0 then return end
   for i = 1, #inputs do
      local l = inputs[i]
      for _ = 1, nreadable(l) do
         local p = receive(l)
         for k = 1, last - 1 do
            transmit(outputs[k], clone(p))
         end
         transmit(outputs[last], p)
      end
   end
end

-- Collects what comes in at `input`, and sends all of it to `output` over and over, in order.
local Repeater = app("Repeater", function () return { index = 1, packets = {} } end)

function Repeater:push ()
   local i, o, packets = self.input.input, self.output.output, self.packets
   for _ = 1, nreadable(i) do
      packets[#packets + 1] = receive(i)
   end
   local count = #packets
   if count == 0 then return end
   local index = self.index
   for _ = 1, engine.pull_npackets do
      transmit(o, clone(packets[index]))
      index = index < count and index + 1 or 1
   end
   self.index = index
end

function Repeater:stop ()
   for _, p in ipairs(self.packets) do free(p) end
   self.packets, self.index = {}, 1
end

-- Cuts packets to `n` bytes, or pads them with zeros.
local Truncate = app("Truncate", function (n) return { n = n } end)

function Truncate:push ()
   local i, o, n = self.input.input, self.output.output, self.n
   for _ = 1, nreadable(i) do
      transmit(o, packet.resize(receive(i), n))
   end
end

-- Lets every n-th packet through, and discards the others.
local Sample = app("Sample", function (n) return { n = n, seen = 1 } end)

function Sample:push ()
   local i, o, n, seen = self.input.input, self.output.output, self.n, self.seen
   for _ = 1, nreadable(i) do
      local p = receive(i)
      if seen == n then
         transmit(o, p)
         seen = 1
      else
         free(p)
         seen = seen + 1
      end
   end
   self.seen = seen
end

return M
