---@meta lib.protocol.header

---A header of a protocol: a view of bytes.
---@class lib.protocol.header
local header = {}

---@param mem ffi.cdata*
---@param size integer
---@return self? header `nil` if there are not enough bytes.
function header:new_from_mem(mem, size) end
---@return ffi.cdata*
function header:header() end
---@return ffi.cdata*
function header:header_ptr() end
---@return ffi.ctype*
function header:ctype() end
---@return integer
function header:sizeof() end
---@param other lib.protocol.header
---@return boolean
function header:eq(other) end
---@param dst ffi.cdata*
---@param relocate? boolean
function header:copy(dst, relocate) end
---@return self
function header:clone() end
---@return lib.protocol.header? class
function header:upper_layer() end

return header
