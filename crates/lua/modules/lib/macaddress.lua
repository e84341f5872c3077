-- MAC addresses as values: compared with ==, printed with tostring().
--
--     local mac = require("lib.macaddress")
--     local a = mac:new("52:54:00:00:00:01")
--
-- `bits` is the address as a 64-bit integer, whose lowest byte is the first of the address; `bytes` its six bytes.

local ffi = require("ffi")
local bit = require("bit")

local mac = {}
mac.__index = mac
local mac_t = ffi.typeof("union { int64_t bits; uint8_t bytes[6]; }")

-- From text, any six pairs of hexadecimal digits; or from an integer; or from an address, which is returned.
-- Nil and a message if the text is not an address.
function mac:new (from)
   if ffi.istype(mac_t, from) then return from end
   local address = mac_t()
   if type(from) ~= "string" then
      address.bits = from
      return address
   end
   local n = 0
   for digits in from:gmatch("%x%x") do
      if n < 6 then address.bytes[n] = tonumber(digits, 16) end
      n = n + 1
   end
   if n ~= 6 then return nil, "malformed MAC address: "..from end
   return address
end

-- From six bytes in memory.
function mac:from_bytes (bytes)
   local address = mac_t()
   ffi.copy(address.bytes, bytes, 6)
   return address
end

function mac:__tostring ()
   local b = self.bytes
   return ("%02X:%02X:%02X:%02X:%02X:%02X"):format(b[0], b[1], b[2], b[3], b[4], b[5])
end

function mac.__eq (a, b)
   return a.bits == b.bits
end

-- Bits `from` to `to`, the latter excluded, as a number.
function mac:subbits (from, to)
   local mask = bit.bnot(bit.lshift(0xffffffffffffLL, to - from))
   return tonumber(bit.band(bit.rshift(self.bits, from), mask))
end

mac_t = ffi.metatype(mac_t, mac)
return mac_t
