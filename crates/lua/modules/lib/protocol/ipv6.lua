-- IPv6 headers, and IPv6 addresses.

local ffi = require("ffi")
local lib = require("core.lib")
local header = require("lib.protocol.header")
local fields = require("lib.protocol.fields")
local htons = lib.htons

local AF_INET6 = 10

-- What the protocols above sum besides themselves.
local pseudo_t = ffi.typeof([[
   struct { char src_ip[16], dst_ip[16]; uint16_t ulp_zero, ulp_length; uint8_t zero[3], next_header; } __attribute__((packed))
]])

local ipv6 = subClass(header)
ipv6._name = "ipv6"
ipv6._ulp = {
   method = "next_header",
   class_map = {
      [6]   = "lib.protocol.tcp",
      [17]  = "lib.protocol.udp",
      [47]  = "lib.protocol.gre",
      [58]  = "lib.protocol.icmp.header",
      [115] = "lib.protocol.keyed_ipv6_tunnel",
   },
}
ipv6:init({ ffi.typeof([[
   struct {
      uint32_t v_tc_fl;
      uint16_t payload_length;
      uint8_t  next_header;
      uint8_t  hop_limit;
      uint8_t  src_ip[16];
      uint8_t  dst_ip[16];
   } __attribute__((packed))
]]) })

require("lib.protocol.address").define(ipv6, "IPv6", AF_INET6, 16)

-- `dscp` and `ecn` are the two parts of `traffic_class`. Also src_eq(address) and dst_eq(address).
fields.define(ipv6, [[
   version         bits   v_tc_fl:32  0   4
   traffic_class   bits   v_tc_fl:32  4   8
   dscp            bits   v_tc_fl:32  4   6
   ecn             bits   v_tc_fl:32  10  2
   flow_label      bits   v_tc_fl:32  12  20
   payload_length  u16    payload_length
   next_header     u8     next_header
   hop_limit       u8     hop_limit
   src             bytes  src_ip  16
   dst             bytes  dst_ip  16
]])

local NO_NEXT_HEADER = 59

-- A header with the fields that the table gives. By default `next_header` is 59 (none), `hop_limit` 64, the others 0.
function ipv6:new (config)
   local o = ipv6:superClass().new(self)
   if not o._ph then o._ph = pseudo_t() end
   o:version(6)
   o:traffic_class(config.traffic_class or 0)
   o:flow_label(config.flow_label or 0)
   o:next_header(config.next_header or NO_NEXT_HEADER)
   o:hop_limit(config.hop_limit or 64)
   o:src(config.src)
   o:dst(config.dst)
   return o
end

function ipv6:new_from_mem (mem, size)
   local o = ipv6:superClass().new_from_mem(self, mem, size)
   if o and not o._ph then o._ph = pseudo_t() end
   return o
end

-- The solicited-node multicast address of an address: ff02::1:ff00:0/104 and the last 24 bits (RFC 4291, section 2.7.1).
function ipv6:solicited_node_mcast (address)
   local group = self:pton("ff02::1:ff00:0")
   ffi.copy(group + 13, ffi.cast("const uint8_t *", address) + 13, 3)
   return group
end

-- The pseudo header for the checksum of `length` bytes of the protocol `next_header`, which is not the next header of
-- this one if extensions stand between. It belongs to this instance, and is overwritten by the next call.
function ipv6:pseudo_header (length, next_header)
   local h, pseudo = self:header(), self._ph
   ffi.copy(pseudo.src_ip, h.src_ip, 32) -- both addresses, which are adjacent in both structs
   pseudo.ulp_zero = 0
   pseudo.ulp_length = htons(length)
   pseudo.next_header = next_header
   return pseudo
end

return ipv6
