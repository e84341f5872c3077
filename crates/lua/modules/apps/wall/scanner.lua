-- The class that scanners inherit from: they follow flows, and say what each speaks.
--
-- A subclass defines scan_packet(p, time), which returns whether the flow is identified, and the flow; get_flow(p); flows(); and
-- protocol_name(protocol). A flow has at least `protocol`, `packets` and `last_seen`.

require("lib.lua.class")
local ffi = require("ffi")
local bit = require("bit")
local const = require("apps.wall.constants")
local util = require("apps.wall.util")
local rd16 = util.rd16

local M = {}

local Scanner = subClass(nil)
Scanner._name = "SnabbWall base packet Scanner"
M.Scanner = Scanner

-- The keys of flows: the lower address and the lower port first, ports in network byte order. An address and its port are ordered apart, so
-- that the four values make one key whichever way they are read.
local function key_type (address_bytes, eth_type)
   local size = 4 + 2 * address_bytes + 4
   local words_t = ffi.typeof("const uint32_t *")
   local methods = {}
   methods.__index = methods

   function methods:eth_type ()
      return eth_type
   end

   -- A 32-bit number, the same for equal keys, in every run.
   function methods:hash ()
      local words = ffi.cast(words_t, self)
      local h = 0x9e3779b9
      for i = 0, size / 4 - 1 do
         h = bit.bxor(h, words[i])
         h = bit.tobit(bit.rol(h, 13) * 5 + 0x6b64)
         h = bit.bxor(h, bit.rshift(h, 15))
      end
      return h
   end

   return ffi.metatype(ffi.typeof([[
      struct {
         uint16_t vlan_id;
         uint8_t unused, ip_proto;
         uint8_t lo_addr[$], hi_addr[$];
         uint16_t lo_port, hi_port;
      } __attribute__((packed))
   ]], address_bytes, address_bytes), methods)
end

local families = {
   [const.ETH_TYPE_IPv4] = {
      key_t = key_type(4, const.ETH_TYPE_IPv4), bytes = 4, compare = util.ipv4_addr_cmp,
      header = 20, src = const.IPv4_SRC_ADDR_OFFSET, dst = const.IPv4_DST_ADDR_OFFSET,
   },
   [const.ETH_TYPE_IPv6] = {
      key_t = key_type(16, const.ETH_TYPE_IPv6), bytes = 16, compare = util.ipv6_addr_cmp,
      header = 40, src = const.IPv6_SRC_ADDR_OFFSET, dst = const.IPv6_DST_ADDR_OFFSET,
   },
}
M.families = families

-- Protocol and offset of what follows an IPv4 header; nothing of a fragment that is not the first.
local function above_ipv4 (data, offset)
   local first = bit.band(data[offset + 6], 0x1f) == 0 and data[offset + 7] == 0
   local after = offset + bit.band(data[offset], 15) * 4
   return data[offset + const.IPv4_PROTO_OFFSET], first and after or nil
end

-- How long the extension headers of IPv6 are, by their second byte.
local function in_eights (n) return 8 + 8 * n end
local extensions = {
   [const.IPv6_NEXTHDR_HOPBYHOP] = in_eights,
   [const.IPv6_NEXTHDR_ROUTING] = in_eights,
   [const.IPv6_NEXTHDR_DSTOPTS] = in_eights,
   [const.IPv6_NEXTHDR_FRAGMENT] = function () return 8 end,
   [const.IPv6_NEXTHDR_AH] = function (n) return 8 + 4 * n end,
}

-- The same for IPv6, past extension headers.
local function above_ipv6 (data, offset, length)
   local protocol = data[offset + const.IPv6_NEXTHDR_OFFSET]
   local at = offset + const.IPv6_MIN_HEADER_SIZE
   while extensions[protocol] do
      if at + 8 > length then return protocol, nil end
      if protocol == const.IPv6_NEXTHDR_FRAGMENT and (data[at + 2] ~= 0 or bit.band(data[at + 3], 0xf8) ~= 0) then
         return data[at], nil
      end
      protocol, at = data[at], at + extensions[protocol](data[at + 1])
   end
   return protocol, at
end

-- What identifies the flow of an IPv4 or IPv6 packet: a key of its own; the offset of the IP header; source address and port, destination address and
-- port. Addresses point into the packet; ports are in network byte order, and nil if there are none. Returns nil for other packets.
function Scanner:extract_packet_info (p)
   local data, length = p.data, p.length
   if length < const.ETH_HEADER_SIZE then return nil end
   local eth_type, offset, vlan = rd16(data + const.ETH_TYPE_OFFSET), const.ETH_HEADER_SIZE, 0
   while eth_type == const.ETH_TYPE_VLAN and offset + 4 <= length do
      vlan, eth_type = rd16(data + offset), rd16(data + offset + 2)
      offset = offset + 4
   end
   local family = families[eth_type]
   if not family or offset + family.header > length then return nil end

   local src, dst = data + offset + family.src, data + offset + family.dst
   local protocol, at
   if eth_type == const.ETH_TYPE_IPv4 then
      protocol, at = above_ipv4(data, offset)
   else
      protocol, at = above_ipv6(data, offset, length)
   end
   local src_port, dst_port
   if at and at + 4 <= length and (protocol == const.IPv4_PROTO_TCP or protocol == const.IPv4_PROTO_UDP) then
      src_port, dst_port = rd16(data + at), rd16(data + at + 2)
   end

   local key = family.key_t()
   local low, high = src, dst
   if family.compare(src, dst) > 0 then low, high = dst, src end
   ffi.copy(key.lo_addr, low, family.bytes)
   ffi.copy(key.hi_addr, high, family.bytes)
   key.vlan_id, key.ip_proto = vlan, protocol
   if src_port then
      key.lo_port, key.hi_port = math.min(src_port, dst_port), math.max(src_port, dst_port)
   end
   return key, offset, src, src_port, dst, dst_port
end

local function must_be_defined (name)
   Scanner[name] = function () error("a scanner must define "..name) end
end
must_be_defined("get_flow")
must_be_defined("flows")
must_be_defined("scan_packet")

function Scanner:protocol_name (protocol)
   return tostring(protocol)
end

return M
