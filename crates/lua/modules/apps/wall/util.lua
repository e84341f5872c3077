-- Building blocks of firewalls: loads, comparisons of addresses, and an app between two networks.

local ffi = require("ffi")
local link = require("core.link")
local packet = require("core.packet")

local u16_t, u32_t = ffi.typeof("const uint16_t *"), ffi.typeof("const uint32_t *")

local M = {}

-- Numbers in this machine's byte order, at any address.
function M.rd16 (at) return ffi.cast(u16_t, at)[0] end
function M.rd32 (at) return ffi.cast(u32_t, at)[0] end

-- A function that compares two arrays of bytes, of a length, as memcmp(3) does.
local function comparison (length)
   return function (a, b)
      for i = 0, length - 1 do
         if a[i] ~= b[i] then return a[i] - b[i] end
      end
      return 0
   end
end

M.ipv4_addr_cmp, M.ipv6_addr_cmp = comparison(4), comparison(16)

-- An app with the links `south` and `north`, each in both directions, that passes packets from one to the other. A subclass looks at them:
--
--     local MyApp = setmetatable({}, SouthAndNorth)
--     MyApp.__index = MyApp
--     function MyApp:on_southbound_packet (p) … end      -- comes from north
--     function MyApp:on_northbound_packet (p) … end      -- comes from south
--
-- These return false to discard the packet; another packet, to send that and free this one; the packet, or nothing, to send it on.
local SouthAndNorth = {}
SouthAndNorth.__index = SouthAndNorth
M.SouthAndNorth = SouthAndNorth

local function pass (self, i, o, look)
   if not i then return end
   -- What the output has no room for waits. Without an output, all is looked at and freed.
   local n = link.nreadable(i)
   if o then n = math.min(n, link.nwritable(o)) end
   for _ = 1, n do
      local p = link.receive(i)
      local result
      if look then result = look(self, p) end
      if result == nil then result = p end
      if result ~= p then packet.free(p) end
      if result and o then
         link.transmit(o, result)
      elseif result then
         packet.free(result)
      end
   end
end

function SouthAndNorth:push_southbound ()
   pass(self, self.input.north, self.output.south, self.on_southbound_packet)
end

function SouthAndNorth:push_northbound ()
   pass(self, self.input.south, self.output.north, self.on_northbound_packet)
end

function SouthAndNorth:push ()
   self:push_northbound()
   self:push_southbound()
end

return M
