local ffi = require('ffi')
local bytes, sum = ffi.new('uint8_t[4096]'), 0
for i = 0, 4095 do bytes[i] = (i * 2654435761) % 256 end
local function class(b)
   if b < 16 then return 1 elseif b < 32 then return 2 elseif b < 48 then return 3 elseif b < 64 then return 4
   elseif b < 80 then return 5 elseif b < 96 then return 6 elseif b < 112 then return 7 elseif b < 128 then return 8
   elseif b < 144 then return 9 elseif b < 160 then return 10 elseif b < 176 then return 11 end
   return 12
end
for round = 1, 3e4 do
   for i = 0, 4095 do -- here
      sum = sum + class(bytes[i])
   end
end
-- instead
local ffi = require('ffi')
local bytes, class, sum = ffi.new('uint8_t[4096]'), ffi.new('uint8_t[256]'), 0
for i = 0, 4095 do bytes[i] = (i * 2654435761) % 256 end
for b = 0, 255 do class[b] = b < 176 and (b - b % 16) / 16 + 1 or 12 end
for round = 1, 3e4 do
   for i = 0, 4095 do
      sum = sum + class[bytes[i]]
   end
end
