local ffi = require('ffi')
local bytes, sum = ffi.new('uint8_t[64]'), 0
for i = 1, 2e6 do
   local words = ffi.typeof('uint32_t *') -- here
   sum = sum + ffi.cast(words, bytes + i % 8)[0]
end
-- instead
local ffi = require('ffi')
local bytes, sum = ffi.new('uint8_t[64]'), 0
local words = ffi.typeof('uint32_t *')
for i = 1, 2e8 do
   sum = sum + ffi.cast(words, bytes + i % 8)[0]
end
