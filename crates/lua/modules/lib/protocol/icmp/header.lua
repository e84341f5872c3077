-- ICMP and ICMPv6 headers: type, code, checksum. The two have the same header, and different numbers; the protocols above are
-- those of ICMPv6.

local ffi = require("ffi")
local lib = require("core.lib")
local ipsum = require("lib.checksum").ipsum
local header = require("lib.protocol.header")
local fields = require("lib.protocol.fields")
local bnot = require("bit").bnot

local ICMPV6 = 58

local icmp = subClass(header)
icmp._name = "icmp"
icmp._ulp = {
   method = "type",
   class_map = {
      [2]   = "lib.protocol.icmp.ptb",
      [135] = "lib.protocol.icmp.nd.ns",
      [136] = "lib.protocol.icmp.nd.na",
   },
}
icmp:init({ ffi.typeof("struct { uint8_t type, code; int16_t checksum; } __attribute__((packed))") })

fields.define(icmp, [[
   type  u8  type
   code  u8  code
]])

function icmp:new (type, code)
   local o = icmp:superClass().new(self)
   o:type(type)
   o:code(code)
   return o
end

-- The checksum of header and payload, with the pseudo header of `ipv6` if given. The one in the header counts as zero.
local function sum (h, payload, length, ipv6)
   local sofar = 0
   if ipv6 then
      local pseudo = ipv6:pseudo_header(length + ffi.sizeof(h), ICMPV6)
      sofar = ipsum(ffi.cast("uint8_t *", pseudo), ffi.sizeof(pseudo), 0)
   end
   local stored = h.checksum
   h.checksum = 0
   sofar = ipsum(ffi.cast("uint8_t *", h), ffi.sizeof(h), bnot(sofar))
   h.checksum = stored
   return ipsum(payload, length, bnot(sofar))
end

-- Sets the checksum for `length` bytes of payload. `ipv6` is the IPv6 header in front, if there is one.
function icmp:checksum (payload, length, ipv6)
   local h = self:header()
   h.checksum = lib.htons(sum(h, payload, length, ipv6))
end

function icmp:checksum_check (payload, length, ipv6)
   local h = self:header()
   return sum(h, payload, length, ipv6) == lib.ntohs(h.checksum)
end

return icmp
