local ffi = require('ffi')
local bytes, sum = ffi.new('uint8_t[64]'), 0
local kept
for i = 1, 3e7 do
   local word = ffi.cast('uint32_t *', bytes + i % 8) -- here
   kept = word
   sum = sum + word[0]
end
-- instead
local ffi = require('ffi')
local bytes, sum = ffi.new('uint8_t[64]'), 0
for i = 1, 2e8 do
   local word = ffi.cast('uint32_t *', bytes + i % 8)
   sum = sum + word[0]
end
