local ffi = require('ffi')
ffi.cdef[[ struct point { double x, y; }; ]]
local point, kept, sum = ffi.typeof('struct point'), {}, 0
for i = 1, 2e7 do
   local p = point(i, i); kept[i % 10 + 1] = p -- here
end
-- instead
local ffi = require('ffi')
ffi.cdef[[ struct point { double x, y; }; ]]
local p, sum = ffi.new('struct point'), 0
for i = 1, 2e8 do
   p.x, p.y = i, i
   sum = sum + p.y
end
