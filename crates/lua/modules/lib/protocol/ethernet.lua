-- Ethernet II headers and MAC addresses.

local ffi = require("ffi")
local header = require("lib.protocol.header")
local fields = require("lib.protocol.fields")
local band = require("bit").band

local address_t = ffi.typeof("uint8_t[6]")

local ethernet = subClass(header)
ethernet._name = "ethernet"
ethernet._ulp = {
   method = "type",
   class_map = {
      [0x0800] = "lib.protocol.ipv4",
      [0x86dd] = "lib.protocol.ipv6",
      [0x8100] = "lib.protocol.dot1q",
   },
}
ethernet:init({ ffi.typeof([[
   struct { uint8_t ether_dhost[6], ether_shost[6]; uint16_t ether_type; } __attribute__((packed))
]]) })

-- Also src_eq(address) and dst_eq(address).
fields.define(ethernet, [[
   src   bytes  ether_shost  6
   dst   bytes  ether_dhost  6
   type  u16    ether_type
]])

-- A header with the addresses `dst` and `src` and the number `type` of the table, each optional.
function ethernet:new (config)
   local o = ethernet:superClass().new(self)
   o:dst(config.dst)
   o:src(config.src)
   o:type(config.type)
   return o
end

-- Exchanges source and destination.
function ethernet:swap ()
   local h = self:header()
   local dst = address_t()
   ffi.copy(dst, h.ether_dhost, 6)
   ffi.copy(h.ether_dhost, h.ether_shost, 6)
   ffi.copy(h.ether_shost, dst, 6)
end

-- "00:1b:21:3c:4d:5e" as six bytes. Anything else is an error.
function ethernet:pton (text)
   local bytes = { text:match("^(%x%x):(%x%x):(%x%x):(%x%x):(%x%x):(%x%x)$") }
   if #bytes ~= 6 then error("invalid mac address "..text) end
   local address = address_t()
   for i = 1, 6 do
      address[i - 1] = tonumber(bytes[i], 16)
   end
   return address
end

function ethernet:ntop (a)
   return ("%02x:%02x:%02x:%02x:%02x:%02x"):format(a[0], a[1], a[2], a[3], a[4], a[5])
end

-- The MAC address of an IPv6 multicast address (RFC 2464, section 7): 33:33 and the last four bytes.
function ethernet:ipv6_mcast (ip)
   local bytes = ffi.cast("const uint8_t *", ip)
   if bytes[0] ~= 0xff then
      error("invalid multicast address: "..require("lib.protocol.ipv6"):ntop(ip))
   end
   local address = address_t(0x33, 0x33)
   ffi.copy(address + 2, bytes + 12, 4)
   return address
end

-- Whether the group bit is set: multicast and broadcast.
function ethernet:is_mcast (a)
   return band(a[0], 1) == 1
end

function ethernet:is_bcast (a)
   return band(a[0], a[1], a[2], a[3], a[4], a[5]) == 0xff
end

return ethernet
