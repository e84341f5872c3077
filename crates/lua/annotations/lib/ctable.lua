---@meta lib.ctable

---@class lib.ctable
local ctable = {}

---A hash table whose keys and values are C values.
---@class lib.ctable.CTable
local CTable = {}
ctable.CTable = CTable

---@class lib.ctable.params
---@field key_type ffi.ctype*
---@field value_type ffi.ctype*
---@field initial_size? integer
---@field max_occupancy_rate? number
---@field min_occupancy_rate? number
---@field max_displacement_limit? integer
---@field resize_callback? fun(table: lib.ctable.CTable, old_size: integer)

---@param params lib.ctable.params
---@return lib.ctable.CTable
function ctable.new(params) end
---@param stream table
---@param params lib.ctable.params
---@return lib.ctable.CTable
function ctable.load(stream, params) end

---@param size integer
function CTable:resize(size) end
---@param key ffi.cdata*
---@param value ffi.cdata*
---@param updates_allowed? boolean|"required"
function CTable:add(key, value, updates_allowed) end
---@param key ffi.cdata*
---@param value ffi.cdata*
function CTable:update(key, value) end
---@param key ffi.cdata*
---@return ffi.cdata*? entry With `key` and `value`.
function CTable:lookup_ptr(key) end
---@param key ffi.cdata*
---@param entry ffi.cdata*
---@return boolean
function CTable:lookup_and_copy(key, entry) end
---@param entry ffi.cdata*
function CTable:remove_ptr(entry) end
---@param key ffi.cdata*
---@param missing_allowed? boolean
---@return boolean
function CTable:remove(key, missing_allowed) end
---@return fun(): ffi.cdata*?
function CTable:iterate() end
---@param width integer
---@return table
function CTable:make_lookup_streamer(width) end
function CTable:selfcheck() end
function CTable:dump() end

return ctable
