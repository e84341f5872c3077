local ffi = require('ffi')
ffi.cdef[[ struct foo { uint8_t a[4]; }; ]]
local foo, sum = ffi.typeof('struct foo'), 0
for i = 1, 3e6 do
   local one = ffi.new(foo, {{1, 2, 3, 4}}) -- here
   sum = sum + one.a[1]
end
-- instead
local ffi = require('ffi')
ffi.cdef[[ struct foo { uint8_t a[4]; }; ]]
local foo, sum = ffi.typeof('struct foo'), 0
for i = 1, 2e8 do
   local one = ffi.new(foo)
   one.a[0], one.a[1], one.a[2], one.a[3] = 1, 2, 3, 4
   sum = sum + one.a[1]
end
