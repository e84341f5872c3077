-- VLAN tags (IEEE 802.1Q), as they stand behind the type 0x8100 of an Ethernet header.

local ffi = require("ffi")
local header = require("lib.protocol.header")
local fields = require("lib.protocol.fields")

local dot1q = subClass(header)
dot1q._name = "dot1q"
dot1q.TPID = 0x8100
dot1q._ulp = {
   method = "type",
   class_map = {
      [0x0800] = "lib.protocol.ipv4",
      [0x86dd] = "lib.protocol.ipv6",
   },
}
dot1q:init({ ffi.typeof([[
   struct { uint16_t pcp_dei_vid, ether_type; } __attribute__((packed))
]]) })

-- `id` is all 16 bits: priority, drop eligibility, VLAN.
fields.define(dot1q, [[
   id    u16  pcp_dei_vid
   type  u16  ether_type
]])

function dot1q:new (config)
   local o = dot1q:superClass().new(self)
   o:id(config.id)
   o:type(config.type)
   return o
end

return dot1q
