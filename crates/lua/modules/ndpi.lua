-- The interface of ljndpi, a binding of nDPI 1.8, over our identification and, where nDPI is installed in any version that we support, nDPI in a
-- process of its own.
--
--     local detector = ndpi.detection_module(1000):set_protocol_bitmask(ndpi.protocol_bitmask():set_all())
--     local master, protocol = detector:process_packet(ndpi.flow(), ip_data, length, time, ndpi.id(), ndpi.id())
--     print(ndpi.protocol[protocol])                       -- "PROTOCOL_HTTP"
--
-- Flows are told apart by addresses and ports of the packets, not by the objects of ndpi.flow() and ndpi.id(), which are empty. The bitmask of
-- protocols is kept, and has no effect. Times are in seconds, whatever the resolution that detection_module() is given.

local ffi = require("ffi")
local bit = require("bit")
local detection = require("ndpi.detection")
local c = require("ndpi.c")

local M = { lib_version = c.version }

local empty_t = ffi.typeof("struct { uint64_t unused; }")
function M.flow () return empty_t() end
function M.id () return empty_t() end

function M.detection_module ()
   return detection.new("auto", true)
end

local methods = detection.methods

function methods:set_protocol_bitmask () return self end
function methods:load_protocols_file (path)
   error("protocol files of nDPI are not supported: "..tostring(path))
end

function methods:process_packet (_, data, length, time)
   local protocol, master = self:look(data, length, true, time)
   return master, protocol
end

-- Ports alone do not say what a flow speaks: it stays unknown.
function methods:guess_undetected_protocol () return 0, 0 end
function methods:find_port_based_protocol () return 0, 0 end

-- The number of a name of nDPI, or nil.
function methods:get_protocol_id (name)
   return rawget(M.protocol, "PROTOCOL_"..name:upper())
end

function methods:dump_protocols ()
   local number = 0
   while detection.name(number) do
      print(number, detection.name(number))
      number = number + 1
   end
end

-- From number to name, and from name to number. nDPI may report protocols that are named while the program runs.
M.protocol = setmetatable({}, { __index = function (_, number)
   local name = type(number) == "number" and detection.name(number)
   return name and "PROTOCOL_"..name or nil
end })
do
   local number = 0
   while detection.name(number) do
      local name = M.protocol[number]
      rawset(M.protocol, number, name)
      rawset(M.protocol, name, number)
      number = number + 1
   end
   M.protocol.PROTOCOL_NO_MASTER_PROTO = 0
end

-- Sets of protocols.
local BITS = 512
local mask = {}
mask.__index = mask
local mask_t

local function place (n)
   assert(n >= 0 and n < BITS, "no such protocol: "..tostring(n))
   return math.floor(n / 32), bit.lshift(1, n % 32)
end
function mask:add (n) local i, b = place(n); self.fds_bits[i] = bit.bor(self.fds_bits[i], b); return self end
function mask:del (n) local i, b = place(n); self.fds_bits[i] = bit.band(self.fds_bits[i], bit.bnot(b)); return self end
function mask:is_set (n) local i, b = place(n); return bit.band(self.fds_bits[i], b) ~= 0 end
function mask:reset () ffi.fill(self, ffi.sizeof(self)); return self end
function mask:set_all () ffi.fill(self, ffi.sizeof(self), 0xff); return self end
function mask:set (other) ffi.copy(self, other, ffi.sizeof(self)); return self end
function mask:__tostring ()
   local words = {}
   for i = 0, BITS / 32 - 1 do table.insert(words, ("%08X"):format(bit.band(self.fds_bits[i], -1) % 2^32)) end
   return "ndpi.protocol_bitmask<"..table.concat(words, " ")..">"
end
mask_t = ffi.metatype(ffi.typeof("struct { uint32_t fds_bits[$]; }", BITS / 32), mask)

function M.protocol_bitmask () return mask_t() end

return M
