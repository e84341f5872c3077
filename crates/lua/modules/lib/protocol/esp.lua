-- ESP headers (RFC 4303).

local ffi = require("ffi")
local header = require("lib.protocol.header")
local fields = require("lib.protocol.fields")

local esp = subClass(header)
esp._name = "esp"
esp._ulp = { method = nil }
esp:init({ ffi.typeof("struct { uint32_t spi, seq_no; } __attribute__((packed))") })

fields.define(esp, [[
   spi     u32  spi
   seq_no  u32  seq_no
]])

function esp:new (config)
   local o = esp:superClass().new(self)
   o:spi(config.spi)
   o:seq_no(config.seq_no)
   return o
end

return esp
