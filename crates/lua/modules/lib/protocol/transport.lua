-- What the classes of TCP and UDP share: the checksum over pseudo header, header and payload.

local ffi = require("ffi")
local lib = require("core.lib")
local ipsum = require("lib.checksum").ipsum
local bnot = require("bit").bnot
local htons, ntohs = lib.htons, lib.ntohs

local bytes_t = ffi.typeof("uint8_t *")

local M = {}

-- Adds checksum() to `class`, a protocol of IP number `number`.
function M.define_checksum (class, number)
   -- With `length` bytes of payload, sets the checksum; with `ip`, the header in front, it includes the pseudo header.
   -- Returns the checksum that is in the header then, in any case.
   function class:checksum (payload, length, ip)
      local h = self:header()
      if payload then
         local sum = 0
         if ip then
            local pseudo = ip:pseudo_header(length + self:sizeof(), number)
            sum = ipsum(ffi.cast(bytes_t, pseudo), ffi.sizeof(pseudo), 0)
         end
         h.checksum = 0
         sum = ipsum(ffi.cast(bytes_t, h), self:sizeof(), bnot(sum))
         h.checksum = htons(ipsum(payload, length, bnot(sum)))
      end
      return ntohs(h.checksum)
   end
end

return M
