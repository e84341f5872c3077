local ffi = require('ffi')
local bytes, sum = ffi.new('uint8_t[4096]'), 0
for round = 1, 4e4 do
   for i = 0, 4095 do
      local j = i / 2 -- here
      j = j - j % 1
      sum = sum + bytes[j]
   end
end
-- instead
local ffi = require('ffi')
local bytes, sum = ffi.new('uint8_t[4096]'), 0
local rshift = bit.rshift
for round = 1, 4e4 do
   for i = 0, 4095 do
      local j = rshift(i, 1)
      sum = sum + bytes[j]
   end
end
