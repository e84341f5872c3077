-- The class that hash functions inherit from. A subclass sets `_size`, the size of its result in bits (a multiple of 32), and
-- defines hash(data, length, seed), which stores the result in `self.h` and returns that. `h` is a union of the arrays
-- u8, i8, u32, i32 and, for multiples of 64 bits, u64 and i64.

require("lib.lua.class")
local ffi = require("ffi")

local hash = subClass(nil)
hash._name = "hash function"

-- One ctype for each size: code compiled for one instance then fits all others of the same size.
local result_t = setmetatable({}, { __index = function (known, size)
   local members = {}
   for _, bits in ipairs({ 8, 32, 64 }) do
      if size % bits == 0 then
         table.insert(members, ("uint%d_t u%d[%d]; int%d_t i%d[%d];"):format(bits, bits, size / bits, bits, bits, size / bits))
      end
   end
   known[size] = ffi.typeof("union { "..table.concat(members, " ").." }")
   return known[size]
end })

function hash:new ()
   assert(self ~= hash, "Can't instantiate abstract class hash")
   local o = hash:superClass().new(self)
   assert(o._size and o._size > 0 and o._size % 32 == 0, "the size of a hash is a multiple of 32 bits")
   o.h = result_t[o._size]()
   return o
end

-- In bits.
function hash:size ()
   return self._size
end

return hash
