-- ESP trailers (RFC 4303): what stands behind the padding.

local ffi = require("ffi")
local header = require("lib.protocol.header")
local fields = require("lib.protocol.fields")

local esp_tail = subClass(header)
esp_tail._name = "esp_tail"
esp_tail._ulp = { method = nil }
esp_tail:init({ ffi.typeof("struct { uint8_t pad_length, next_header; } __attribute__((packed))") })

fields.define(esp_tail, [[
   pad_length   u8  pad_length
   next_header  u8  next_header
]])

function esp_tail:new (config)
   local o = esp_tail:superClass().new(self)
   o:pad_length(config.pad_length)
   o:next_header(config.next_header)
   return o
end

return esp_tail
