-- Options of neighbour discovery (RFC 4861, section 4.6): type, length, value. Known are the link-layer addresses of the source (1)
-- and of the target (2).

require("lib.lua.class")
local ffi = require("ffi")

local base_t = ffi.typeof("struct { uint8_t type, length; }")
local HEAD = ffi.sizeof(base_t)

local tlv = subClass(nil)
tlv._name = "unknown"

local lladdr = "lib.protocol.icmp.nd.options.lladdr"
tlv._types = {
   [1] = { name = "src_ll_addr", class = lladdr },
   [2] = { name = "tgt_ll_addr", class = lladdr },
}

-- An option of `size` bytes in all.
local shape_t = setmetatable({}, { __index = function (known, size)
   known[size] = ffi.typeof("struct { $ tlv; uint8_t data[$]; }", base_t, size - HEAD)
   return known[size]
end })

local function known (type)
   local entry = tlv._types[type]
   assert(entry, "tlv: unsupported type")
   return entry
end

local function view (self, option, type, size)
   local entry = known(type)
   self._name = entry.name
   self._tlv = option
   self._option = require(entry.class):new_from_mem(option.data, size - HEAD)
   return self
end

-- An option of its own memory; `data` is a struct or array whose size and two bytes more make a multiple of eight.
function tlv:new (type, data)
   known(type)
   local size = HEAD + ffi.sizeof(data)
   assert(size % 8 == 0, "tlv: the length of an option is a multiple of 8")
   local option = shape_t[size]()
   option.tlv.type, option.tlv.length = type, size / 8
   ffi.copy(option.data, data, ffi.sizeof(data))
   return view(tlv:superClass().new(self), option, type, size)
end

-- A view of the option at `mem`, of at most `size` bytes.
function tlv:new_from_mem (mem, size)
   assert(size >= HEAD, "corrupt ND options")
   local option = ffi.cast(ffi.typeof("$ *", shape_t[size]), mem)
   return view(tlv:superClass().new(self), option, option.tlv.type, size)
end

function tlv:name ()
   return self._name
end

function tlv:type (type)
   if type ~= nil then
      known(type)
      self._tlv.tlv.type = type
   end
   return self._tlv.tlv.type
end

-- In units of eight bytes.
function tlv:length ()
   return self._tlv.tlv.length
end

function tlv:data ()
   return self._tlv.data
end

function tlv:tlv ()
   return self._tlv
end

-- The value, an instance of the class for this type.
function tlv:option ()
   return self._option
end

return tlv
