local ffi = require('ffi')
local sum = 0
for i = 1, 3e6 do
   sum = sum + ffi.sizeof(ffi.new('uint8_t[?]', 16 + i % 2)) -- here
end
-- instead
local ffi = require('ffi')
local buffer, sum = ffi.new('uint8_t[17]'), 0
for i = 1, 2e8 do
   local length = 16 + i % 2
   buffer[length - 1] = 1
   sum = sum + length
end
