-- Internet checksums (RFC 1071).

local ffi = require("ffi")
local bit = require("bit")
local lib = require("core.lib")
local band, bnot, lshift, rshift = bit.band, bit.bnot, bit.lshift, bit.rshift
local htons = lib.htons
local C = ffi.C

ffi.cdef([[
   uint16_t sluss_lua_checksum (const void *data, size_t length, uint32_t initial);
   uint16_t cksum_generic (unsigned char *data, size_t length, uint16_t initial);
   void checksum_update_incremental_16 (uint16_t *checksum, uint16_t *value, uint16_t new_value);
   void checksum_update_incremental_32 (uint16_t *checksum, uint32_t *value, uint32_t new_value);
]])

local bytes_t = ffi.typeof("const uint8_t *")
local cells_t = ffi.typeof("uint16_t *")

local M = {}

-- Adds the carries above 16 bits back in.
local function fold (sum)
   while sum > 0xffff do
      sum = sum % 0x10000 + math.floor(sum / 0x10000)
   end
   return sum
end

-- The checksum of `length` bytes at `pointer`, in the host's order. `initial` is a 16-bit sum to begin with, also in the host's
-- order: the checksum of other data complemented, to continue it; or a checksum to verify, which then makes the result 0.
function M.ipsum (pointer, length, initial)
   return C.sluss_lua_checksum(pointer, length, initial)
end

local ipsum = M.ipsum

-- Computes the checksum of `length` bytes at `buf`, and stores it `offset` bytes behind `buf`.
function M.finish_packet (buf, length, offset)
   ffi.cast(cells_t, buf + offset)[0] = htons(ipsum(buf, length, 0))
end

local IPV4, IPV6, TCP, UDP = 4, 6, 6, 17

-- Of an IP packet of `length` bytes at `buf`: the sum of the pseudo header of TCP or UDP, and the length of the IP header.
-- Nil for another protocol; false if the IPv4 header's own checksum is wrong.
local function pseudo_header_sum (buf, length)
   buf = ffi.cast(bytes_t, buf)
   local version = rshift(buf[0], 4)
   if version ~= IPV4 and version ~= IPV6 then return nil end
   local v4 = version == IPV4
   local protocol = v4 and buf[9] or buf[6]
   if protocol ~= TCP and protocol ~= UDP then return nil end
   local header = v4 and band(buf[0], 15) * 4 or 40
   local payload, addresses
   if v4 then
      if ipsum(buf, header, 0) ~= 0 then return false end
      payload, addresses = band(length - header, 0xffff), band(bnot(ipsum(buf + 12, 8, 0)), 0xffff)
   else
      payload, addresses = buf[4] * 256 + buf[5], band(bnot(ipsum(buf + 8, 32, 0)), 0xffff)
   end
   return fold(addresses + payload + protocol), header, protocol
end

-- Whether the checksums of an IP packet are right. Nil if it carries neither TCP nor UDP.
function M.verify_packet (buf, length)
   local sum, header = pseudo_header_sum(buf, length)
   if not sum then return sum end
   return ipsum(buf + header, length - header, sum) == 0
end

-- Stores the sum of the pseudo header where TCP or UDP have their checksum, as hardware that computes the rest expects. Returns
-- where that computation starts, and where behind it the checksum is; or nothing.
local function prepare (buf, length)
   local sum, header, protocol = pseudo_header_sum(buf, length)
   if not sum then return nil, nil end
   local offset = protocol == TCP and 16 or 6
   ffi.cast(cells_t, buf)[(header + offset) / 2] = htons(sum)
   return header, offset
end

-- As prepare(), after setting the checksum of the IPv4 header.
function M.prepare_packet4 (buf, length)
   local cells = ffi.cast(cells_t, buf)
   cells[5] = 0
   cells[5] = htons(ipsum(buf, lshift(band(buf[0], 15), 2), 0))
   return prepare(buf, length)
end

M.prepare_packet6 = prepare

return M
