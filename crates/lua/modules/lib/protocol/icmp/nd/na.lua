-- Neighbour advertisements (RFC 4861, section 4.4).

local ffi = require("ffi")
local nd = require("lib.protocol.icmp.nd.header")
local fields = require("lib.protocol.fields")

local na = subClass(nd)
na._name = "neighbor advertisement"
na._ulp = { method = nil }
na:init({ ffi.typeof("struct { uint32_t flags; uint8_t target[16]; } __attribute__((packed))") })

-- The flags take 0, 1, false and true, and return 0 or 1. Also target_eq(address).
fields.define(na, [[
   target     bytes  target 16  returns
   router     flag   flags:32 0
   solicited  flag   flags:32 1
   override   flag   flags:32 2
]])

function na:new (target, router, solicited, override)
   local o = na:superClass().new(self)
   o:target(target)
   o:router(router)
   o:solicited(solicited)
   o:override(override)
   return o
end

return na
