-- Neighbour solicitations (RFC 4861, section 4.3).

local ffi = require("ffi")
local nd = require("lib.protocol.icmp.nd.header")
local fields = require("lib.protocol.fields")

local ns = subClass(nd)
ns._name = "neighbor solicitation"
ns._ulp = { method = nil }
ns:init({ ffi.typeof("struct { uint32_t reserved; uint8_t target[16]; } __attribute__((packed))") })

-- Also target_eq(address).
fields.define(ns, [[
   target  bytes  target 16  returns
]])

function ns:new (target)
   local o = ns:superClass().new(self)
   o:target(target)
   return o
end

return ns
