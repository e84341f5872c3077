-- GRE headers (RFC 2784), with the optional checksum and key (RFC 2890). Sequence numbers are not supported.

local ffi = require("ffi")
local lib = require("core.lib")
local ipsum = require("lib.checksum").ipsum
local header = require("lib.protocol.header")
local fields = require("lib.protocol.fields")
local bit = require("bit")
local htons, ntohs, htonl, ntohl = lib.htons, lib.ntohs, lib.htonl, lib.ntohl
local band, bor, bnot = bit.band, bit.bor, bit.bnot

-- Bits of the first 16, in the host's order.
local CHECKSUM, KEY = 0x8000, 0x2000

local base_t = ffi.typeof("struct { uint16_t bits, protocol; }")

local gre = subClass(header)
gre._name = "gre"
gre._ulp = {
   method = "protocol",
   class_map = {
      [0x0800] = "lib.protocol.ipv4",
      [0x6558] = "lib.protocol.ethernet",
      [0x86dd] = "lib.protocol.ipv6",
   },
}
gre:init({
   ffi.typeof("struct { $ h; }", base_t),
   ffi.typeof("struct { $ h; uint32_t key; }", base_t),
   ffi.typeof("struct { $ h; uint16_t csum, reserved1; }", base_t),
   ffi.typeof("struct { $ h; uint16_t csum, reserved1; uint32_t key; }", base_t),
})

-- Which of them has these parts.
local function shape (checksum, key)
   return 1 + (key and 1 or 0) + (checksum and 2 or 0)
end

fields.define(gre, [[
   protocol  u16  h.protocol  returns
]])

-- Makes this an instance of the shape for these parts, at `mem` or in its own memory.
local function take_shape (self, checksum, key, mem)
   local chosen = self._headers[shape(checksum, key)]
   if not mem then
      mem = chosen.data
      ffi.fill(mem, ffi.sizeof(chosen.t))
   end
   chosen.box[0] = ffi.cast(chosen.ptr_t, mem)
   self._header = chosen
   self._checksum, self._key = checksum, key
end

-- A header for `protocol`; with `checksum` it has room for one, with `key` it carries that number.
function gre:new (config)
   config = config or { protocol = 0 }
   local o = gre:superClass().new(self)
   local checksum, key = config.checksum and true or false, config.key ~= nil
   take_shape(o, checksum, key)
   o:header().h.bits = htons(bor(checksum and CHECKSUM or 0, key and KEY or 0))
   if key then o:key(config.key) end
   o:protocol(config.protocol)
   return o
end

-- Nil also if a bit is set that must be zero, or that of the sequence number.
function gre:new_from_mem (mem, size)
   local o = gre:superClass().new_from_mem(self, mem, size)
   if not o then return nil end
   local bits = ntohs(o:header().h.bits)
   local checksum, key = band(bits, CHECKSUM) ~= 0, band(bits, KEY) ~= 0
   if band(bits, 0x1fff) ~= 0 or size < ffi.sizeof(o._headers[shape(checksum, key)].t) then
      o:free()
      return nil
   end
   take_shape(o, checksum, key, mem)
   return o
end

-- The checksum of header and payload. That of the header counts as zero.
local function sum (h, payload, length)
   local stored = h.csum
   h.csum, h.reserved1 = 0, 0
   local of_header = ipsum(ffi.cast("uint8_t *", h), ffi.sizeof(h), 0)
   h.csum = stored
   return ipsum(payload, length, bnot(of_header))
end

-- With a payload, sets the checksum. Returns the one in the header then, or nil if the header has none.
function gre:checksum (payload, length)
   if not self._checksum then return nil end
   local h = self:header()
   if payload ~= nil then
      h.csum = htons(sum(h, payload, length))
   end
   return ntohs(h.csum)
end

-- Whether the checksum is right. A header without one passes.
function gre:checksum_check (payload, length)
   if not self._checksum then return true end
   local h = self:header()
   return sum(h, payload, length) == ntohs(h.csum)
end

-- Sets the key, or returns it. Nil if the header has none.
function gre:key (key)
   if not self._key then return nil end
   local h = self:header()
   if key == nil then return ntohl(h.key) end
   h.key = htonl(key)
end

return gre
