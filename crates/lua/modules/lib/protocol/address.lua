-- Internet addresses between text and bytes, for the classes of IPv4 and IPv6.

local ffi = require("ffi")
local C = ffi.C

ffi.cdef([[
   int inet_pton (int family, const char *text, void *address);
   const char *inet_ntop (int family, const void *address, char *text, uint32_t size);
]])

local text_t = ffi.typeof("char[48]")

local M = {}

-- Adds pton, ntop and pton_cidr to `class`. `family` is AF_INET or AF_INET6, `size` that of an address in bytes.
function M.define (class, name, family, size)
   local address_t = ffi.typeof("uint8_t[$]", size)

   -- The address as bytes, or false and a message.
   function class:pton (text)
      local address = address_t()
      if C.inet_pton(family, text, address) ~= 1 then
         return false, "malformed "..name.." address: "..text
      end
      return address
   end

   function class:ntop (address)
      local text = text_t()
      return ffi.string(C.inet_ntop(family, address, text, ffi.sizeof(text)))
   end

   -- "ADDRESS/LENGTH" as address and number.
   function class:pton_cidr (text)
      local prefix, length = text:match("^([^/]*)/(%d*)")
      if not prefix then error("malformed "..name.." prefix: "..text) end
      return class:pton(prefix), assert(tonumber(length), "Invalid length "..length)
   end
end

return M
