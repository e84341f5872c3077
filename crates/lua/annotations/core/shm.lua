---@meta core.shm

---@class core.shm
---@field root string
---@field types table
---@field mappings table
local shm = {}

---@param name string
---@return string
function shm.resolve(name) end
---@param name string
---@return string
function shm.path(name) end
---@param name string
function shm.mkdir(name) end
---@param name string
---@param kind string|ffi.ctype*
---@return ffi.cdata*
function shm.create(name, kind, ...) end
---@param name string
---@param kind string|ffi.ctype*
---@param readonly? any
---@return ffi.cdata*
function shm.open(name, kind, readonly, ...) end
---@param pointer ffi.cdata*
---@return number
function shm.pointer_to_number(pointer) end
---@param pointer ffi.cdata*
function shm.unmap(pointer) end
---@param name string
---@return boolean
function shm.exists(name) end
---@param name string
---@return boolean
function shm.unlink(name) end
---@param name string
---@return string[]
function shm.children(name) end
---@param name string
---@param target string
function shm.alias(name, target) end
---@param suffix string
---@param module table
---@return string
function shm.register(suffix, module) end
---@param path string
---@param specs table
---@return table
function shm.create_frame(path, specs) end
---@param path string
---@return table
function shm.open_frame(path) end
---@param frame table
function shm.delete_frame(frame) end

return shm
