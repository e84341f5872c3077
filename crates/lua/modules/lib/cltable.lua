-- Tables whose keys are FFI values, compared by their bytes, and whose values are Lua's.
--
--     local cltable = require("lib.cltable")
--     local names = cltable.new({ key_type = ffi.typeof("uint8_t[4]") })
--     names[ipv4:pton("10.0.0.1")] = "router"
--     for address, name in cltable.pairs(names) do … end
--
-- `keys` is a table of lib.ctable from key to an index in the array `values`.

local ffi = require("ffi")
local ctable = require("lib.ctable")

local M = {}

local function get (self, key)
   local entry = self.keys:lookup_ptr(key)
   if entry then return self.values[entry.value] end
end

local function set (self, key, value)
   local keys, values = self.keys, self.values
   local entry = keys:lookup_ptr(key)
   if entry then
      values[entry.value] = value
      if value == nil then keys:remove_ptr(entry) end
   elseif value ~= nil then
      local index = #values + 1 -- in a table with holes, some index that is free
      values[index] = value
      keys:add(key, index)
   end
end

local behaviour = { __index = get, __newindex = set }

-- A table of keys that map to indexes, and of the values at these indexes.
function M.build (keys, values)
   return setmetatable({ keys = keys, values = values }, behaviour)
end

-- Options are those of lib.ctable, without `value_type`.
function M.new (params)
   assert(not params.value_type, "the values of a cltable have no type")
   local copy = { value_type = ffi.typeof("uint32_t") }
   for name, value in pairs(params) do copy[name] = value end
   return M.build(ctable.new(copy), {})
end

M.get, M.set = get, set

function M.pairs (self)
   local next_entry, last, entry = self.keys:iterate()
   return function ()
      entry = next_entry(last, entry)
      if entry then return entry.key, self.values[entry.value] end
   end
end

return M
