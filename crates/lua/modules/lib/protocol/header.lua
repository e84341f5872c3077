-- The class that all protocol headers inherit from.
--
-- A header is either of its own memory (`new`) or a view of memory elsewhere, of a packet mostly (`new_from_mem`).
-- A protocol is a class that sets, and then calls init() once:
--
--     _name    its name, for people
--     _ulp     { method = NAME, class_map = { [value] = MODULE } }: the method whose result says which protocol is carried, and
--              the module of each; { method = nil } if nothing is
--     init     with a list of ctypes, one for each shape that the header can have; the first one must fit the start of all others
--
-- For protocols with several shapes, as GRE, the subclass chooses: it lets its own constructor set `_header` to the entry
-- of `_headers` that fits. An entry has the ctype `t`, the pointer type `ptr_t`, the type of a one-pointer array `box_t`,
-- and in instances `data` (memory of that type) and `box`, whose element is the pointer to the header as it is now.

require("lib.lua.class")
local ffi = require("ffi")

local header = subClass(nil)
header._name = "protocol header"

-- Declares the shapes of a class. Class methods sizeof() and ctype() answer for the first one.
function header:init (ctypes)
   assert(ctypes and #ctypes > 0, "a protocol needs at least one header type")
   self._singleton_p = #ctypes == 1
   self._headers = {}
   for i, t in ipairs(ctypes) do
      local shape = { t = t, ptr_t = ffi.typeof("$ *", t), box_t = ffi.typeof("$ *[1]", t) }
      shape.meta = { __index = shape }
      self._headers[i] = shape
   end
   self._header = self._headers[1]
end

local function instance (self)
   local o = header:superClass().new(self)
   if not o._recycled then
      -- Memory for every shape, once: a recycled instance allocates nothing.
      local shapes = {}
      for i, shape in ipairs(self._headers) do
         shapes[i] = setmetatable({ data = shape.t(), box = shape.box_t() }, shape.meta)
      end
      o._headers = shapes
   end
   o._header = o._headers[1]
   return o
end

-- A header of its own memory, all bytes zero.
function header:new ()
   local o = instance(self)
   local shape = o._header
   ffi.fill(shape.data, ffi.sizeof(shape.t))
   shape.box[0] = ffi.cast(shape.ptr_t, shape.data)
   return o
end

-- A view of the memory at `mem`, or nil if its `size` in bytes is too small for the header.
function header:new_from_mem (mem, size)
   local o = instance(self)
   local shape = o._header
   if size < ffi.sizeof(shape.t) then
      o:free()
      return nil
   end
   shape.box[0] = ffi.cast(shape.ptr_t, mem)
   return o
end

-- The header's struct, as a reference, and as a pointer.
function header:header ()
   return self._header.box[0][0]
end

function header:header_ptr ()
   return self._header.box[0]
end

function header:ctype ()
   return self._header.t
end

-- Its size in bytes.
function header:sizeof ()
   return ffi.sizeof(self._header.t)
end

-- Whether the other is of the same type and has the same bytes.
function header:eq (other)
   if self:ctype() ~= other:ctype() then return false end
   local n = self:sizeof()
   return ffi.string(self:header_ptr(), n) == ffi.string(other:header_ptr(), n)
end

-- Copies the bytes to `dst`, which must have room. With `relocate` the instance is a view of `dst` from then on.
function header:copy (dst, relocate)
   ffi.copy(dst, self:header_ptr(), self:sizeof())
   if relocate then
      local shape = self._header
      shape.box[0] = ffi.cast(shape.ptr_t, dst)
   end
end

-- An independent copy. It allocates: not for code that runs for each packet.
function header:clone ()
   local n = self:sizeof()
   local memory = self:ctype()()
   ffi.copy(memory, self:header_ptr(), n)
   local copy = self:class():new_from_mem(memory, n)
   if copy then
      copy._clone_memory = memory -- keeps the memory alive as long as the copy
   end
   return copy
end

-- The class of the protocol carried, or nil if there is none or it is not known.
function header:upper_layer ()
   local ulp = self._ulp
   local method = ulp and ulp.method
   if not method then return nil end
   local name = ulp.class_map[self[method](self)]
   if not name then return nil end
   return package.loaded[name] or require(name)
end

return header
