-- The value of an option of neighbour discovery that is a MAC address.

require("lib.lua.class")
local ffi = require("ffi")

local address_t = ffi.typeof("struct { uint8_t lladdr[6]; }")
local address_ptr_t = ffi.typeof("$ *", address_t)

local lladdr = subClass(nil)
lladdr._name = "ll_addr"

function lladdr:new (address)
   local o = lladdr:superClass().new(self)
   o._lladdr = address_t()
   ffi.copy(o._lladdr, address, 6)
   return o
end

function lladdr:new_from_mem (mem, size)
   assert(size >= ffi.sizeof(address_t), "corrupt ND options")
   local o = lladdr:superClass().new(self)
   o._lladdr = ffi.cast(address_ptr_t, mem)
   return o
end

-- Sets the address if one is given, and returns it.
function lladdr:addr (address)
   if address ~= nil then
      ffi.copy(self._lladdr, address, 6)
   end
   return self._lladdr.lladdr
end

return lladdr
