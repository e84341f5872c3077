-- IPv4 headers without options, and IPv4 addresses.

local ffi = require("ffi")
local lib = require("core.lib")
local ipsum = require("lib.checksum").ipsum
local header = require("lib.protocol.header")
local fields = require("lib.protocol.fields")
local htons, ntohs = lib.htons, lib.ntohs

local AF_INET = 2

-- What TCP and UDP sum besides themselves.
local pseudo_t = ffi.typeof([[
   struct { uint8_t src_ip[4], dst_ip[4], ulp_zero, ulp_protocol; uint16_t ulp_length; } __attribute__((packed))
]])

local ipv4 = subClass(header)
ipv4._name = "ipv4"
ipv4._ulp = {
   method = "protocol",
   class_map = {
      [1]  = "lib.protocol.icmp.header",
      [6]  = "lib.protocol.tcp",
      [17] = "lib.protocol.udp",
      [47] = "lib.protocol.gre",
      [58] = "lib.protocol.icmp.header",
   },
}
ipv4:init({ ffi.typeof([[
   struct {
      uint16_t ihl_v_tos;
      uint16_t total_length;
      uint16_t id;
      uint16_t frag_off;
      uint8_t  ttl;
      uint8_t  protocol;
      uint16_t checksum;
      uint8_t  src_ip[4];
      uint8_t  dst_ip[4];
   } __attribute__((packed))
]]) })

require("lib.protocol.address").define(ipv4, "IPv4", AF_INET, 4)

-- Lengths in bytes, except `ihl`, in 32-bit words, and `frag_off`, in 8 bytes. Also src_eq(address) and dst_eq(address).
fields.define(ipv4, [[
   version       bits   ihl_v_tos:16  0   4
   ihl           bits   ihl_v_tos:16  4   4
   dscp          bits   ihl_v_tos:16  8   6
   ecn           bits   ihl_v_tos:16  14  2
   total_length  u16    total_length
   id            u16    id
   flags         bits   frag_off:16   0   3
   frag_off      bits   frag_off:16   3   13
   ttl           u8     ttl
   protocol      u8     protocol
   src           bytes  src_ip        4
   dst           bytes  dst_ip        4
]])

-- A header with the fields that the table gives; `protocol` is 255 and the others are 0 by default. Its total length is that
-- of the header alone, and its checksum is set.
function ipv4:new (config)
   local o = ipv4:superClass().new(self)
   if not o._ph then o._ph = pseudo_t() end
   o:version(4)
   o:ihl(o:sizeof() / 4)
   o:total_length(o:sizeof())
   for _, field in ipairs({ "dscp", "ecn", "id", "flags", "frag_off", "ttl" }) do
      o[field](o, config[field] or 0)
   end
   o:protocol(config.protocol or 0xff)
   o:src(config.src)
   o:dst(config.dst)
   o:checksum()
   return o
end

function ipv4:new_from_mem (mem, size)
   local o = ipv4:superClass().new_from_mem(self, mem, size)
   if o and not o._ph then o._ph = pseudo_t() end
   return o
end

-- Computes, sets and returns the checksum of the header.
function ipv4:checksum ()
   local h = self:header()
   h.checksum = 0
   h.checksum = htons(ipsum(ffi.cast("uint8_t *", h), self:sizeof(), 0))
   return ntohs(h.checksum)
end

-- Whether both are parts of the same packet: same addresses, protocol, identification and header length.
function ipv4:eq (other)
   return self:ihl() == other:ihl() and self:id() == other:id() and self:protocol() == other:protocol()
      and self:src_eq(other:src()) and self:dst_eq(other:dst())
end

-- The pseudo header for the checksum of `length` bytes of the protocol `proto`. It belongs to this instance, and is
-- overwritten by the next call.
function ipv4:pseudo_header (length, proto)
   local h, pseudo = self:header(), self._ph
   ffi.copy(pseudo.src_ip, h.src_ip, 8) -- both addresses, which are adjacent in both structs
   pseudo.ulp_zero = 0
   pseudo.ulp_protocol = proto
   pseudo.ulp_length = htons(length)
   return pseudo
end

return ipv4
