local ffi = require('ffi')
ffi.cdef[[ typedef struct { int quot, rem; } div_t; div_t div(int a, int b); ]]
local function rem(i)
   return ffi.C.div(i, 7).rem -- here
end
local sum = 0
for i = 1, 3e6 do sum = sum + rem(i) end
-- instead
local ffi = require('ffi')
ffi.cdef[[ typedef struct { int quot, rem; } div_t; div_t div(int a, int b); ]]
local div = require('sluss.ffi').byref(ffi.C.div)
local result, sum = ffi.new('div_t'), 0
for i = 1, 1e8 do
   div(i, 7, result)
   sum = sum + result.rem
end
