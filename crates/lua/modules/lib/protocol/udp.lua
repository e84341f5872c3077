-- UDP headers.

local ffi = require("ffi")
local header = require("lib.protocol.header")
local fields = require("lib.protocol.fields")
local transport = require("lib.protocol.transport")

local udp = subClass(header)
udp._name = "udp"
udp._ulp = { method = nil }
udp:init({ ffi.typeof([[
   struct { uint16_t src_port, dst_port, len, checksum; } __attribute__((packed))
]]) })

-- `length` is that of header and payload, in bytes.
fields.define(udp, [[
   src_port  u16  src_port  returns
   dst_port  u16  dst_port  returns
   length    u16  len       returns
]])

transport.define_checksum(udp, 17)

-- A header with the ports `src_port` and `dst_port` of the table, of a datagram without payload.
function udp:new (config)
   local o = udp:superClass().new(self)
   o:src_port(config.src_port)
   o:dst_port(config.dst_port)
   o:length(o:sizeof())
   return o
end

-- Whether ports and length are the same.
function udp:eq (other)
   return self:src_port() == other:src_port() and self:dst_port() == other:dst_port() and self:length() == other:length()
end

return udp
