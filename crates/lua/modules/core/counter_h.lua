-- A counter: 64 bits.
require("ffi").cdef[[ struct counter { uint64_t c; }; ]]
return true
