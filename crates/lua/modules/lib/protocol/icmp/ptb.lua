-- ICMPv6 "packet too big" (RFC 4443, section 3.2). The packet that was too big follows, as payload.

local ffi = require("ffi")
local header = require("lib.protocol.header")
local fields = require("lib.protocol.fields")

local ptb = subClass(header)
ptb._name = "packet too big"
ptb._ulp = { method = nil }
ptb:init({ ffi.typeof("struct { uint32_t mtu; } __attribute__((packed))") })

fields.define(ptb, [[
   mtu  u32  mtu  returns
]])

function ptb:new (mtu)
   local o = ptb:superClass().new(self)
   o:mtu(mtu)
   return o
end

return ptb
